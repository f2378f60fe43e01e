//! Holds lines until the reader takes them. If the reader takes none, lines are dropped, and a later line tells how
//! many. A task that logs never waits.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How many lines may wait.
const MOST: usize = 1024;
/// The longest line in bytes.
const LONGEST: usize = 8 << 10;

/// The queue's end that takes lines.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    lines: SyncSender<Item>,
    dropped: Arc<AtomicU64>,
}

enum Item {
    Line(Vec<u8>),
    /// So many lines were dropped between the one before and the one after.
    Gap(u64),
    /// A mark whose sender hears when all lines before it are written.
    Mark(SyncSender<()>),
}

impl Queue {
    /// Starts a thread that hands lines to `write`, which may block; `gap` makes a line from the number of dropped
    /// lines.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(
        write: impl FnMut(&[u8]) + Send + 'static,
        gap: fn(u64) -> Vec<u8>,
    ) -> io::Result<Self> {
        let (lines, items) = sync_channel(MOST);
        let dropped = Arc::<AtomicU64>::default();
        let count = Arc::clone(&dropped);
        let run = move || run(&items, write, &count, gap);
        thread::Builder::new().name("log".to_owned()).spawn(run)?;
        Ok(Self { lines, dropped })
    }

    /// Waits until all lines so far are written, but not longer than `bound`.
    pub(super) fn flush(&self, bound: Duration) {
        let until = Instant::now() + bound;
        let (mark, reached) = sync_channel(1);
        while self.lines.try_send(Item::Mark(mark.clone())).is_err() {
            if Instant::now() >= until {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The program ends in either case.
        let _ = reached.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

fn run(items: &Receiver<Item>, mut write: impl FnMut(&[u8]), dropped: &AtomicU64, gap: fn(u64) -> Vec<u8>) {
    let say = |count: u64, write: &mut dyn FnMut(&[u8])| {
        if count > 0 {
            write(&gap(count));
        }
    };
    loop {
        let item = match items.try_recv() {
            Ok(item) => item,
            Err(TryRecvError::Empty) => {
                // What was dropped since comes after all that waited, and no later line may come for long.
                say(dropped.swap(0, Ordering::Relaxed), &mut write);
                match items.recv() {
                    Ok(item) => item,
                    Err(_) => return,
                }
            }
            Err(TryRecvError::Disconnected) => return,
        };
        match item {
            Item::Line(line) => write(&line),
            Item::Gap(count) => say(count, &mut write),
            Item::Mark(mark) => {
                say(dropped.swap(0, Ordering::Relaxed), &mut write);
                // The sender may have stopped waiting.
                let _ = mark.try_send(());
            }
        }
    }
}

/// Each write is one line: `tracing` calls it so.
impl io::Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut kept = line.to_vec();
        if kept.len() > LONGEST {
            kept.truncate(LONGEST);
            kept.push(b'\n');
        }
        // The first line for which there is room again comes after a word of those for which there was none.
        let before = self.dropped.swap(0, Ordering::Relaxed);
        if before > 0 && self.lines.try_send(Item::Gap(before)).is_err() {
            self.dropped.fetch_add(before + 1, Ordering::Relaxed);
        } else if self.lines.try_send(Item::Line(kept)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Mutex, mpsc::channel},
    };

    use super::*;

    #[test]
    fn what_nobody_reads_is_dropped_and_counted() {
        let (reads, may_read) = channel::<()>();
        let (takes, taken) = channel::<()>();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&seen);
        let write = move |line: &[u8]| {
            let _ = takes.send(());
            // This waits while there is no reader. The end of the test lets all lines through.
            let _ = may_read.recv();
            kept.lock()
                .unwrap()
                .push(String::from_utf8(line.to_vec()).unwrap());
        };
        let mut queue = Queue::start(write, |count| format!("{count} dropped").into_bytes()).unwrap();
        queue.write_all(b"0").unwrap();
        // The first line is on its way to the reader, and leaves its place to another.
        taken.recv().unwrap();
        for n in 1..MOST + 100 {
            queue.write_all(format!("{n}").as_bytes()).unwrap();
        }
        queue.write_all(&vec![b'x'; 2 * LONGEST]).unwrap();
        drop(reads);
        Queue::flush(&queue, Duration::from_secs(60));
        let seen = seen.lock().unwrap();
        assert_eq!(seen[..3], ["0", "1", "2"]);
        assert_eq!(seen.last().map(String::as_str), Some("100 dropped"));
        assert_eq!(seen.len(), MOST + 2);
    }

    #[test]
    fn a_gap_is_told_where_the_lines_are_lacking() {
        let (reads, may_read) = channel::<()>();
        let (sees, seen) = channel::<String>();
        let write = move |line: &[u8]| {
            let _ = may_read.recv();
            let _ = sees.send(String::from_utf8(line.to_vec()).unwrap());
        };
        let mut queue = Queue::start(write, |count| format!("{count} dropped").into_bytes()).unwrap();
        for n in 0..MOST + 100 {
            queue.write_all(format!("{n}").as_bytes()).unwrap();
        }
        // Room for some, and another line comes.
        for _ in 0..10 {
            reads.send(()).unwrap();
            seen.recv().unwrap();
        }
        queue.write_all(b"after").unwrap();
        drop(reads);
        Queue::flush(&queue, Duration::from_secs(60));
        drop(queue);
        let rest: Vec<_> = seen.iter().collect();
        let [.., before, gap, after] = &rest[..] else {
            panic!("{rest:?}");
        };
        let lacking: usize = gap.strip_suffix(" dropped").unwrap().parse().unwrap();
        assert_eq!(before.parse::<usize>().unwrap() + 1 + lacking, MOST + 100);
        assert_eq!(after, "after");
    }
}
