//! The serial ports of this machine and what is known about each.

use std::{
    fs, panic,
    path::{Path, PathBuf},
};

use serialport::{SerialPortInfo, SerialPortType, UsbPortInfo};

/// A port and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The device node; its number can change when it is plugged in again.
    pub path: PathBuf,
    /// The link to it that keeps its name: what to configure.
    pub by_id: Option<PathBuf>,
    /// How it is attached.
    pub kind: Kind,
}

/// How a port is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// By USB.
    Usb(UsbDevice),
    /// By Bluetooth.
    Bluetooth,
    /// On the main board.
    BuiltIn,
}

/// What a USB device says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbDevice {
    /// Vendor and product id.
    pub id: (u16, u16),
    /// Serial number of the device: of its converter, not of the board.
    pub serial: Option<String>,
    /// Product name.
    pub product: Option<String>,
}

impl Port {
    /// Whether boards are known to appear so: see [`board_ids`]. Other devices do as well.
    #[must_use]
    pub fn may_be_board(&self) -> bool {
        matches!(&self.kind, Kind::Usb(usb) if board_ids(usb.id).is_some())
    }
}

/// What kind of board appears under these USB ids (protocol reference, section 5). All but the last
/// are shared with unrelated devices.
#[must_use]
pub fn board_ids(id: (u16, u16)) -> Option<&'static str> {
    match id {
        (0x0403, 0x6001) => Some("older USB board, or any FTDI converter"),
        (0x045b, 0x8111) => Some("newer USB board, or another Renesas device"),
        (0x04d8, 0x000a) => Some("USB board, or another Microchip device"),
        (0x2d80, _) => Some("newer USB board"),
        _ => None,
    }
}

/// All serial ports, in the order of their names. Pseudo terminals are not among them. Blocks for some
/// milliseconds.
///
/// # Errors
/// What the system says when it cannot list them.
pub fn ports() -> Result<Vec<Port>, serialport::Error> {
    // The library takes this folder for granted and panics in a container that has none.
    if !Path::new("/sys/class/tty").is_dir() {
        return Ok(Vec::new());
    }
    let mut listed = serialport::available_ports();
    if listed.is_err() {
        // A device that vanished during the scan fails the whole list: look once more.
        listed = serialport::available_ports();
    }
    let links = by_id_links(Path::new("/dev/serial/by-id"));
    let mut ports: Vec<Port> = listed?.into_iter().map(|info| port(info, &links)).collect();
    ports.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(ports)
}

/// [`ports`] from within the runtime.
///
/// # Errors
/// As [`ports`]; a panic of the library is an error as well.
pub async fn ports_async() -> Result<Vec<Port>, serialport::Error> {
    tokio::task::spawn_blocking(|| panic::catch_unwind(ports))
        .await
        .ok()
        .and_then(Result::ok)
        .unwrap_or_else(|| {
            Err(serialport::Error::new(
                serialport::ErrorKind::Unknown,
                "the list of ports could not be read",
            ))
        })
}

fn port(info: SerialPortInfo, links: &[(PathBuf, PathBuf)]) -> Port {
    let path = PathBuf::from(info.port_name);
    let by_id = links
        .iter()
        .find(|(_, device)| *device == path)
        .map(|(link, _)| link.clone());
    let kind = match info.port_type {
        SerialPortType::UsbPort(usb) => Kind::Usb(usb_device(usb)),
        SerialPortType::BluetoothPort => Kind::Bluetooth,
        SerialPortType::PciPort | SerialPortType::Unknown => Kind::BuiltIn,
    };
    Port { path, by_id, kind }
}

fn usb_device(usb: UsbPortInfo) -> UsbDevice {
    UsbDevice {
        id: (usb.vid, usb.pid),
        serial: usb.serial_number,
        product: usb.product,
    }
}

/// The links and the devices that they lead to.
fn by_id_links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new(); // udev makes the folder with the first such device
    };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), fs::canonicalize(entry.path()).ok()?)))
        .collect()
}
