//! A pseudo terminal with a board at its far end.

use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::symlink},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    pty::{OpenptFlags, openpt, ptsname, unlockpt},
    termios::{OptionalActions, tcgetattr, tcsetattr},
};
use tokio::io::{Interest, unix::AsyncFd};

/// How often to look whether a host is back.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The board's end. Dropping it pulls the cable: the device node vanishes.
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    /// The same end, as the runtime watches it.
    ready: AsyncFd<OwnedFd>,
    /// What the host said while [`Self::host_back`] looked whether it is there.
    early: Vec<u8>,
    path: PathBuf,
    link: Option<PathBuf>,
}

impl Pty {
    /// A new terminal, with a link to it at `link`. The terminal after it has another name, and is found by
    /// the same link.
    ///
    /// # Errors
    /// What the system says. Outside of a tokio runtime no terminal can be made.
    pub fn open(link: Option<&Path>) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        unlockpt(&master)?;
        // The line discipline would echo what the board says and translate line ends.
        let mut settings = tcgetattr(&master)?;
        settings.make_raw();
        tcsetattr(&master, OptionalActions::Now, &settings)?;
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        let path = PathBuf::from(OsStr::from_bytes(ptsname(&master, Vec::new())?.as_bytes()));
        if let Some(link) = link {
            replace_link(&path, link).map_err(|error| {
                let text = format!("cannot make the link {}: {error}", link.display());
                io::Error::new(error.kind(), text)
            })?;
        }
        Ok(Self {
            ready: register(&master)?,
            master,
            early: Vec::new(),
            path,
            link: link.map(Path::to_owned),
        })
    }

    /// What a host is to open: the link, or the terminal itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.path)
    }

    /// Reads bytes from the host. Returns 0 when the host has closed the terminal; then [`Self::host_back`]
    /// waits for the next.
    ///
    /// # Errors
    /// What the system says.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.ready.readable().await?;
            // The runtime keeps a hang-up for ever, even if the next host came before this looked.
            if ready.ready().is_read_closed() {
                return Ok(0);
            }
            match rustix::io::read(&self.master, &mut *buffer) {
                Err(Errno::AGAIN) => ready.clear_ready(),
                // Nobody has the other end open.
                Err(Errno::IO) => return Ok(0),
                other => return Ok(other?),
            }
        }
    }

    /// What the host said before its return was noticed.
    pub fn take_early(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.early)
    }

    /// Sends a part of `bytes` and returns how many. This waits while the host does not read.
    ///
    /// # Errors
    /// What the system says.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.ready.writable().await?;
            if ready.ready().is_write_closed() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            match rustix::io::write(&self.master, bytes) {
                Err(Errno::AGAIN) => ready.clear_ready(),
                other => return Ok(other?),
            }
        }
    }

    /// Waits until a host has the terminal open again, after [`Self::read`] gave 0.
    ///
    /// # Errors
    /// What the system says.
    pub async fn host_back(&mut self) -> io::Result<()> {
        // No event tells that a hang-up is over, so this tries again and again.
        while self.is_hung_up()? {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        // The runtime takes a hang-up for final. Only a new registration is woken again.
        self.ready = register(&self.master)?;
        Ok(())
    }

    fn is_hung_up(&mut self) -> io::Result<bool> {
        let mut early = [0; 64];
        match rustix::io::read(&self.master, &mut early) {
            Err(Errno::IO) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
            Ok(n) => {
                self.early.extend_from_slice(&early[..n]);
                Ok(false)
            }
        }
    }
}

#[expect(
    deprecated,
    reason = "the successor is unsafe, which is forbidden here; an `OwnedFd` is what it asks for"
)]
fn register(master: &OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    AsyncFd::with_interest(master.try_clone()?, interest)
}

impl Drop for Pty {
    fn drop(&mut self) {
        if let Some(link) = &self.link
            && fs::read_link(link).is_ok_and(|target| target == self.path)
        {
            let _ = fs::remove_file(link); // nothing else can be done about it
        }
    }
}

/// Puts a link in place in one step. It replaces nothing but a link, for `--link` may be mistyped.
fn replace_link(target: &Path, link: &Path) -> io::Result<()> {
    if fs::symlink_metadata(link).is_ok_and(|meta| !meta.file_type().is_symlink()) {
        let text = "something that is no link is there";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    let mut name = link.as_os_str().to_owned();
    name.push(".new");
    let _ = fs::remove_file(&name); // of a run that was killed
    symlink(target, &name)?;
    fs::rename(&name, link)
}
