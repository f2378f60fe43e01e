//! A board's port, as the configuration names it.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{net::TcpStream, time::timeout};

use super::{OpenError, Opened, line, playback::Playback, probe, serial};
use crate::{descriptors, dgt::bus::Address, families::Attachment};

/// The beginning of the address of a [`LinkSource::Timed`].
const TIMED: &str = "tcp+cap";
/// How long a TCP connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Where a board's bytes come from.
///
/// Written as `/dev/ttyUSB0`, `/dev/serial/by-id/...`, `usb:SERIAL`, `board:SERIAL`,
/// `board:SERIAL@/dev/ttyS0,/dev/ttyS1`, `bus:SERIAL@PORT`, `tcp://host:port`, `tcp+cap://host:port` or `capture:PATH`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LinkSource {
    /// A serial port, or the node of a HID device.
    Serial(PortMatch),
    /// `host:port` of a bridge to a serial line (ser2net, Bluetooth).
    Tcp(String),
    /// `host:port` of a `dgt2mqtt forward`: it sends a capture while it writes it, with the times at which it read the
    /// bytes.
    Timed(String),
    /// A board on a line that boards share.
    Shared(LineMember),
    /// A capture, played in real time. Clones go on where another one stopped.
    Capture(Playback),
}

/// A board on a line that boards share.
#[derive(Clone, Debug)]
pub struct LineMember {
    /// Its serial number.
    pub serial: String,
    /// Its address on the line: the same number.
    pub address: Address,
    /// The port of the line.
    pub port: Box<LinkSource>,
    /// Its place at the line, if a hub holds the port for all boards; none where the port is opened for this board
    /// alone.
    pub place: Option<line::LinePlace>,
}

impl LineMember {
    /// Reads `SERIAL@PORT`.
    fn parse(text: &str) -> Option<Self> {
        let (serial, port) = text.split_once('@')?;
        let port: LinkSource = port.parse().ok()?;
        let is_line = matches!(
            port,
            LinkSource::Serial(PortMatch::Path(_) | PortMatch::Usb(_)) | LinkSource::Tcp(_)
        );
        is_line.then_some(Self {
            serial: serial.to_owned(),
            address: Address::of_serial(serial)?,
            port: Box::new(port),
            place: None,
        })
    }

    async fn open(&self, name: String) -> Result<Opened, OpenError> {
        if let Some(place) = &self.place {
            return place.open().await;
        }
        let port = Box::pin(self.port.open()).await?;
        line::alone((self.address, self.serial.clone()), name, port).await
    }
}

/// How the configuration names a serial port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortMatch {
    /// A device node, or a link to one (`/dev/serial/by-id/...`), which every opening follows.
    Path(PathBuf),
    /// The serial number of the USB device.
    Usb(String),
    /// The serial number that the board itself reports.
    Board {
        /// The number, with or without leading zeros.
        serial: String,
        /// The ports that may be asked. None stands for all ports whose USB ids are known from boards. Nothing is ever
        /// written to others, because a device there may take a question for an order.
        candidates: Vec<PathBuf>,
    },
}

/// A text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no port: write /dev/ttyUSB0, /dev/serial/by-id/..., usb:SERIAL, board:SERIAL, bus:SERIAL@PORT, \
     tcp://host:port, tcp+cap://host:port or capture:PATH"
)]
pub struct SourceSyntaxError(pub String);

impl LinkSource {
    /// Finds and opens the source, with the settings of a DGT board.
    ///
    /// # Errors
    /// Says what is missing and what to do; [`OpenError::code`] is stable.
    pub async fn open(&self) -> Result<Opened, OpenError> {
        self.open_as(Attachment::DGT).await
    }

    /// Finds and opens the source, with the settings `line`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_as(&self, line: Attachment) -> Result<Opened, OpenError> {
        match self {
            Self::Serial(PortMatch::Path(path)) => serial::open(path.clone(), line).await,
            Self::Serial(PortMatch::Usb(number)) => serial::open_usb(number, line).await,
            Self::Serial(PortMatch::Board { serial, candidates }) => probe::open(serial, candidates).await,
            Self::Tcp(address) => tcp(address, "tcp").await,
            Self::Timed(address) => tcp(address, TIMED).await,
            Self::Shared(shared) => shared.open(self.to_string()).await,
            Self::Capture(playback) => playback.open(),
        }
    }
}

async fn tcp(address: &str, scheme: &str) -> Result<Opened, OpenError> {
    let unreachable = |source: std::io::Error| OpenError::Unreachable {
        address: address.to_owned(),
        source: match descriptors::remedy(&source) {
            Some(remedy) => std::io::Error::other(remedy),
            None => source,
        },
    };
    let stream = timeout(CONNECT, TcpStream::connect(address))
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(unreachable)?;
    // Commands are single bytes, which waiting for a full packet would only delay.
    stream.set_nodelay(true).map_err(unreachable)?;
    Ok(Opened {
        io: Box::new(stream),
        name: format!("{scheme}://{address}"),
    })
}

/// `address`, if it has the form `host:port`.
fn host_and_port(address: &str) -> Option<String> {
    let (host, port) = address.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok()).then(|| address.to_owned())
}

impl FromStr for LinkSource {
    type Err = SourceSyntaxError;

    fn from_str(text: &str) -> Result<Self, SourceSyntaxError> {
        let bad = || SourceSyntaxError(text.to_owned());
        let non_empty = |s: &str| {
            if s.is_empty() {
                Err(bad())
            } else {
                Ok(s.to_owned())
            }
        };
        if let Some(address) = text.strip_prefix("tcp://") {
            return host_and_port(address).map(Self::Tcp).ok_or_else(bad);
        }
        if let Some(address) = text.strip_prefix("tcp+cap://") {
            return host_and_port(address).map(Self::Timed).ok_or_else(bad);
        }
        if let Some(shared) = text.strip_prefix("bus:") {
            return LineMember::parse(shared).map(Self::Shared).ok_or_else(bad);
        }
        if let Some(path) = text.strip_prefix("capture:") {
            return Ok(Self::Capture(Playback::new(non_empty(path)?.into())));
        }
        if let Some(serial) = text.strip_prefix("usb:") {
            return Ok(Self::Serial(PortMatch::Usb(non_empty(serial)?)));
        }
        if let Some(rest) = text.strip_prefix("board:") {
            let (serial, ports) = rest.split_once('@').unwrap_or((rest, ""));
            let candidates = ports
                .split(',')
                .filter(|p| !p.is_empty())
                .map(PathBuf::from)
                .collect();
            return Ok(Self::Serial(PortMatch::Board {
                serial: non_empty(serial)?,
                candidates,
            }));
        }
        if text.starts_with('/') {
            return Ok(Self::Serial(PortMatch::Path(text.into())));
        }
        Err(bad())
    }
}

impl fmt::Display for LinkSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(PortMatch::Path(path)) => write!(f, "{}", path.display()),
            Self::Serial(PortMatch::Usb(serial)) => write!(f, "usb:{serial}"),
            Self::Serial(PortMatch::Board { serial, candidates }) => {
                write!(f, "board:{serial}")?;
                for (i, path) in candidates.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { '@' } else { ',' }, path.display())?;
                }
                Ok(())
            }
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Timed(address) => write!(f, "{TIMED}://{address}"),
            Self::Shared(shared) => write!(f, "bus:{}@{}", shared.serial, shared.port),
            Self::Capture(playback) => write!(f, "capture:{}", playback.path().display()),
        }
    }
}

impl TryFrom<String> for LinkSource {
    type Error = SourceSyntaxError;

    fn try_from(text: String) -> Result<Self, SourceSyntaxError> {
        text.parse()
    }
}

impl From<LinkSource> for String {
    fn from(source: LinkSource) -> Self {
        source.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        for text in [
            "/dev/ttyUSB0",
            "/dev/serial/by-id/usb-0403_board-if00-port0",
            "usb:A50285BI",
            "board:01025",
            "board:3000000001@/dev/ttyS0,/dev/pts/3",
            "bus:01025@/dev/ttyUSB0",
            "bus:3000000001@tcp://ser2net.hall:2000",
            "tcp://[::1]:2000",
            "tcp://ser2net.hall:2000",
            "tcp+cap://pi.hall:2000",
            "capture:fixtures/a.dgtcap.zst",
        ] {
            assert_eq!(text.parse::<LinkSource>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "ttyUSB0",
            "usb:",
            "board:",
            "board:@/dev/x",
            "bus:01025",
            "bus:x@/dev/ttyUSB0",
            "bus:16384@/dev/ttyUSB0",
            "bus:01025@capture:a",
            "bus:01025@bus:01026@/dev/ttyUSB0",
            "tcp://",
            "tcp://host",
            "tcp://host:99999",
            "tcp://:1",
            "tcp+cap://host",
            "capture:",
            "COM3",
        ] {
            assert_eq!(
                text.parse::<LinkSource>().unwrap_err(),
                SourceSyntaxError(text.to_owned())
            );
        }
    }
}
