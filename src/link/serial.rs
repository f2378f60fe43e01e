//! Serial ports, and the nodes of HID devices.

use std::{
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_serial::{DataBits, FlowControl, Parity, SerialPort, SerialStream, StopBits};

use super::{
    Io, OpenError, Opened,
    denied::Denied,
    enumerate::{self, PortKind},
    reports::Reports,
};
use crate::{descriptors, families::Attachment};

/// A serial port whose `flush` and `shutdown` do nothing. Those of the library wait in the kernel until all bytes are
/// sent, which blocks the whole runtime when an adapter hangs. Bytes are sent without them.
#[derive(Debug)]
struct Port(SerialStream);

impl AsyncRead for Port {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Port {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Opens the port at `path` so that no other program can.
pub(super) async fn open(path: PathBuf, line: Attachment) -> Result<Opened, OpenError> {
    // In some drivers opening waits for the device, so another thread does it. `SerialStream::open` registers the port
    // with the runtime at the end and needs the runtime's context, which `spawn_blocking` has.
    let wanted = path.clone();
    let opened = tokio::task::spawn_blocking(move || open_blocking(&wanted, line)).await;
    let port = opened.unwrap_or_else(|panic| {
        Err(OpenError::Port {
            path: path.clone(),
            reason: panic.to_string(),
        })
    })?;
    Ok(Opened {
        io: port,
        name: path.display().to_string(),
    })
}

fn open_blocking(path: &Path, line: Attachment) -> Result<Box<dyn Io>, OpenError> {
    match line {
        Attachment::Serial { baud, dtr } => Ok(Box::new(open_serial(path, baud, dtr)?)),
        Attachment::Reports => match Reports::open(path) {
            Ok(reports) => Ok(Box::new(reports)),
            Err(error) => Err(explain_node(path, &error)),
        },
    }
}

fn open_serial(path: &Path, baud: u32, dtr: Option<bool>) -> Result<Port, OpenError> {
    let builder = tokio_serial::new(path.to_string_lossy(), baud)
        .data_bits(DataBits::Eight)
        .parity(Parity::None)
        .stop_bits(StopBits::One)
        .flow_control(FlowControl::None)
        .timeout(Duration::ZERO);
    let mut port = SerialStream::open(&builder).map_err(|error| explain(path, &error))?;
    if let Some(dtr) = dtr {
        // A pseudo terminal has no such line, and a board behind one needs none.
        let _ = port.write_data_terminal_ready(dtr);
    }
    Ok(Port(port))
}

fn explain_node(path: &Path, error: &io::Error) -> OpenError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Box::new(Denied::gather(path.to_owned())).into(),
        io::ErrorKind::NotFound => OpenError::NotFound(path.display().to_string()),
        io::ErrorKind::ResourceBusy => OpenError::Busy(path.to_owned()),
        _ => OpenError::Port {
            path: path.to_owned(),
            reason: out_of_files().unwrap_or_else(|| error.to_string()),
        },
    }
}

fn explain(path: &Path, error: &serialport::Error) -> OpenError {
    match error.kind() {
        serialport::ErrorKind::Io(io::ErrorKind::PermissionDenied) => {
            Box::new(Denied::gather(path.to_owned())).into()
        }
        serialport::ErrorKind::Io(io::ErrorKind::NotFound) => OpenError::NotFound(path.display().to_string()),
        // The system gives this error both for a port that another program holds and for a device that is just leaving.
        serialport::ErrorKind::NoDevice if path.exists() => OpenError::Busy(path.to_owned()),
        serialport::ErrorKind::NoDevice => OpenError::NotFound(path.display().to_string()),
        _ => OpenError::Port {
            path: path.to_owned(),
            reason: out_of_files()
                .or_else(|| not_serial(path))
                .unwrap_or_else(|| error.to_string()),
        },
    }
}

/// The error when no more files can be opened, which the library does not tell apart from others.
fn out_of_files() -> Option<String> {
    descriptors::remedy(&std::fs::File::open("/dev/null").err()?)
}

/// What is at `path`, if it cannot be a serial port.
fn not_serial(path: &Path) -> Option<String> {
    let kind = path.metadata().ok()?.file_type();
    let what = if kind.is_dir() {
        "a folder"
    } else if kind.is_file() {
        "an ordinary file"
    } else if kind.is_char_device() {
        // The system opens any device. Only then does it show that the device has no line settings.
        "a device, but not one with a serial line"
    } else {
        "no device"
    };
    Some(format!(
        "it is {what}; a board is on a serial port, and `dgt2mqtt ports` lists those (a capture is named capture:PATH)"
    ))
}

/// Opens the port of the USB device with this serial number.
pub(super) async fn open_usb(number: &str, line: Attachment) -> Result<Opened, OpenError> {
    let mut ports = list(&format!("usb:{number}")).await?;
    ports.retain(|port| port.is_hid() == (line == Attachment::Reports));
    let mut matching: Vec<PathBuf> = ports
        .into_iter()
        .filter(|port| matches!(&port.kind, PortKind::Usb(usb) | PortKind::Hid(usb) if usb.serial.as_deref() == Some(number)))
        .map(|port| port.path)
        .collect();
    match matching.len() {
        1 => open(matching.remove(0), line).await,
        0 => Err(OpenError::NotFound(format!("of the USB device {number}"))),
        _ => Err(OpenError::Ambiguous {
            number: number.to_owned(),
            ports: matching.iter().map(|p| p.display().to_string()).collect(),
        }),
    }
}

/// The ports of the machine; `what` is the board that the caller looks for.
pub(super) async fn list(what: &str) -> Result<Vec<enumerate::Port>, OpenError> {
    enumerate::ports_async().await.map_err(|error| OpenError::Port {
        path: what.into(),
        reason: error.to_string(),
    })
}
