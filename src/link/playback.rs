//! A capture as a link: plays in real time what the board said when the capture was made.

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

/// A capture and how far it was played. `! down` ends a link as a pulled cable does. The next opening goes on after it,
/// and is silent until `! up`.
#[derive(Clone, Debug)]
pub struct Playback {
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Debug, Default)]
struct Tape {
    /// When second 0 of the capture was; none before the first opening.
    start: Option<Instant>,
    records: Vec<Record>,
    /// The index of the next record.
    next: usize,
    offset: usize,
}

impl Playback {
    /// A playback that has not begun.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            tape: Arc::default(),
        }
    }

    /// The path of the capture.
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

/// The fields are plain numbers, so a task that panicked left them in order.
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
    /// Puts the bytes that are due into `buf`.
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

/// The player drops what the host says, because the capture has the board's answers.
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
