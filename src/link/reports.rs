//! The node of a HID device, `/dev/hidrawN`: each read of it gives one report, and each write makes one.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::fs::OFlags;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd};

/// The node of a HID device. A reader's buffer must hold a report, 64 bytes: the system drops what does not fit.
#[derive(Debug)]
pub(super) struct Reports {
    file: AsyncFd<File>,
    /// Bytes to write that do not make a whole report yet.
    begun: Vec<u8>,
}

/// How many bytes of a report come before those that it counts: its kind, and the count.
const HEAD: usize = 2;

impl Reports {
    /// Opens the node at `path`. The caller must be within the runtime's context.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::options()
            .read(true)
            .write(true)
            // The flags of the system are few and positive, so they fit.
            .custom_flags(flags.bits() as i32)
            .open(path)?;
        if !file.metadata()?.file_type().is_char_device() {
            return Err(io::Error::other(
                "it is no device; a board by Chessnut is a /dev/hidraw, and `dgt2mqtt ports` lists those",
            ));
        }
        Ok(Self {
            file: register(file)?,
            begun: Vec::new(),
        })
    }
}

#[expect(
    deprecated,
    reason = "the successor is unsafe, which is forbidden here; a `File` is what it asks for"
)]
fn register(file: File) -> io::Result<AsyncFd<File>> {
    AsyncFd::with_interest(file, Interest::READABLE | Interest::WRITABLE)
}

impl AsyncRead for Reports {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.file.poll_read_ready(cx))?;
            let read = guard.try_io(|file| Ok(rustix::io::read(file.get_ref(), buf.initialize_unfilled())?));
            match read {
                Ok(read) => {
                    buf.advance(read?);
                    return Poll::Ready(Ok(()));
                }
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Reports {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // The writer does not know of reports, so this puts its bytes together until a report is whole.
        let mut report = self.begun.clone();
        let missing = missing(&report, buf);
        report.extend(&buf[..missing.min(buf.len())]);
        if missing > buf.len() {
            self.begun = report;
            return Poll::Ready(Ok(buf.len()));
        }
        loop {
            let mut guard = ready!(self.file.poll_write_ready(cx))?;
            match guard.try_io(|file| Ok(rustix::io::write(file.get_ref(), &report)?)) {
                Ok(written) => {
                    drop(guard);
                    written?;
                    self.begun.clear();
                    return Poll::Ready(Ok(missing));
                }
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// How many bytes of `coming` belong to the report of which `begun` is the beginning.
fn missing(begun: &[u8], coming: &[u8]) -> usize {
    let count = begun.iter().chain(coming).nth(HEAD - 1);
    let length = HEAD + usize::from(count.copied().unwrap_or(0));
    if count.is_none() {
        return HEAD - begun.len();
    }
    length.saturating_sub(begun.len())
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_report_ends_where_it_says() {
        let two = [0x21, 1, 0, 0x29, 1, 0];
        assert_eq!(missing(&[], &two), 3);
        assert_eq!(missing(&[0x21], &two[1..]), 2);
        assert_eq!(missing(&[0x21, 1], &[0]), 1);
        assert_eq!((missing(&[], &[0x21]), missing(&[0x21], &[])), (2, 1));
    }
}
