//! A capture as a link: what the board said then, said again in real time.

use std::{
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::{OpenError, Opened, file::read_capture};
use crate::capture::{Act, Record};

/// A capture and how far it has been played. `! down` ends a link as a pulled cable does; the next
/// opening goes on behind it, and what comes before `! up` is waited for in silence.
#[derive(Clone, Debug)]
pub struct Playback {
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Debug, Default)]
struct Tape {
    /// When second 0 was; none before the first opening.
    start: Option<Instant>,
    records: Vec<Record>,
    /// The next record, and how many of its bytes have been read.
    next: usize,
    offset: usize,
}

impl Playback {
    /// Not yet begun.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            tape: Arc::default(),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open(&self) -> Result<Opened, OpenError> {
        let mut tape = lock(&self.tape);
        if tape.start.is_none() {
            tape.records = read_capture(&self.path)?.records;
            tape.start = Some(Instant::now());
        }
        if tape.next == tape.records.len() {
            return Err(OpenError::CaptureOver(self.path.clone()));
        }
        Ok(Opened {
            io: Box::new(Player {
                tape: Arc::clone(&self.tape),
                sleep: Box::pin(sleep_until(Instant::now())),
            }),
            name: format!("capture:{}", self.path.display()),
        })
    }
}

/// A poisoned tape is still in order: its fields are plain numbers.
fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Player {
    tape: Arc<Mutex<Tape>>,
    sleep: Pin<Box<Sleep>>,
}

enum Step {
    Wait(Instant),
    Read,
    Gone,
}

impl Tape {
    /// Puts what is due into `buf`.
    fn play(&mut self, buf: &mut ReadBuf<'_>) -> Step {
        let Some(start) = self.start else {
            return Step::Gone;
        };
        while let Some(record) = self.records.get(self.next) {
            let due = start + Duration::from_millis(record.at.0);
            if due > Instant::now() {
                return Step::Wait(due);
            }
            match &record.act {
                Act::FromBoard(bytes) => {
                    let rest = &bytes[self.offset..];
                    let now = rest.len().min(buf.remaining());
                    buf.put_slice(&rest[..now]);
                    self.offset += now;
                    if self.offset == bytes.len() {
                        self.next += 1;
                        self.offset = 0;
                    }
                    return Step::Read;
                }
                Act::LinkDown => {
                    self.next += 1;
                    return Step::Gone;
                }
                Act::LinkUp | Act::ToBoard(_) => self.next += 1,
            }
        }
        Step::Gone
    }
}

impl AsyncRead for Player {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let step = lock(&self.tape).play(buf);
            match step {
                Step::Read | Step::Gone => return Poll::Ready(Ok(())),
                Step::Wait(due) => {
                    self.sleep.as_mut().reset(due);
                    if self.sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

/// What the host says goes nowhere: the board's answers are on record.
impl AsyncWrite for Player {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
