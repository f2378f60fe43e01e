//! The port of a simulated board: a pseudo terminal or a TCP server.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use tokio::net::{TcpListener, TcpStream};

use super::pty::Pty;

/// A place to attach a board to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// A pseudo terminal, with a link to it if one is given.
    Pty(Option<PathBuf>),
    /// A TCP server; port 0 takes a free one.
    Tcp(SocketAddr),
}

/// A plugged-in cable.
#[derive(Debug)]
pub enum Plug {
    /// A pseudo terminal.
    Pty(Pty),
    /// A TCP server and its one client.
    Tcp(TcpListener, Option<TcpStream>),
}

impl Plug {
    /// Plugs the cable in. A TCP place that took a free port keeps it.
    ///
    /// # Errors
    /// What the system says.
    pub async fn plug(place: &mut Socket) -> io::Result<Self> {
        match place {
            Socket::Pty(link) => Ok(Self::Pty(Pty::open(link.as_deref())?)),
            Socket::Tcp(address) => {
                let listener = TcpListener::bind(*address).await?;
                *address = listener.local_addr()?;
                Ok(Self::Tcp(listener, None))
            }
        }
    }

    /// What a host is to open.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Pty(pty) => show(pty.path()),
            Self::Tcp(listener, _) => listener
                .local_addr()
                .map_or_else(|_| "tcp://?".to_owned(), |address| format!("tcp://{address}")),
        }
    }

    /// Waits for a host and returns what it has said already. Nobody can tell whether a new pseudo terminal
    /// has been opened, so it counts as opened.
    ///
    /// # Errors
    /// What the system says.
    pub async fn connect(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Pty(pty) => {
                pty.host_back().await?;
                Ok(pty.take_early())
            }
            Self::Tcp(listener, client) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                *client = Some(stream);
                Ok(Vec::new())
            }
        }
    }

    /// Reads bytes from the host. Returns 0 when the host is gone.
    ///
    /// # Errors
    /// What the system says.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pty(pty) => pty.read(buffer).await,
            Self::Tcp(_, None) => Ok(0),
            Self::Tcp(_, Some(stream)) => loop {
                stream.readable().await?;
                match stream.try_read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(0),
                    other => return other,
                }
            },
        }
    }

    /// Sends a part of `bytes` and returns how many.
    ///
    /// # Errors
    /// What the system says.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Pty(pty) => pty.write(bytes).await,
            Self::Tcp(_, None) => Ok(bytes.len()),
            Self::Tcp(_, Some(stream)) => loop {
                stream.writable().await?;
                match stream.try_write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            },
        }
    }
}

fn show(path: &Path) -> String {
    path.display().to_string()
}
