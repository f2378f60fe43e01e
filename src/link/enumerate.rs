//! The ports of this machine that a board may be on.

use std::{
    fs, panic,
    path::{Path, PathBuf},
};

use serialport::{SerialPortInfo, SerialPortType, UsbPortInfo};

/// A port, with what the system tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The device node. Its number can change when the device is plugged in again.
    pub path: PathBuf,
    /// The link to the node that keeps its name, which the configuration should use.
    pub by_id: Option<PathBuf>,
    /// How it is attached.
    pub kind: PortKind,
}

/// How a port is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortKind {
    /// A serial port by USB.
    Usb(UsbDevice),
    /// By Bluetooth: a node `rfcomm`.
    Bluetooth,
    /// On the main board.
    BuiltIn,
    /// A HID device, by USB: no serial port.
    Hid(UsbDevice),
}

/// What a USB device tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbDevice {
    /// Vendor and product id.
    pub id: (u16, u16),
    /// Serial number of the device: that of the converter, not of the board.
    pub serial: Option<String>,
    /// Product name.
    pub product: Option<String>,
}

impl Port {
    /// True where DGT boards are known to show these ids: see [`board_ids`]. Other devices show them as well.
    #[must_use]
    pub fn may_be_board(&self) -> bool {
        matches!(&self.kind, PortKind::Usb(usb) if board_ids(usb.id).is_some())
    }

    /// Whether it is the node of a HID device.
    #[must_use]
    pub fn is_hid(&self) -> bool {
        matches!(self.kind, PortKind::Hid(_))
    }
}

/// The kind of DGT board that shows these USB ids (protocol reference, section 5). Unrelated devices share all of them.
#[must_use]
pub fn board_ids(id: (u16, u16)) -> Option<&'static str> {
    match id {
        (0x0403, 0x6001) => Some("older USB board, or any FTDI converter"),
        (0x045b, 0x8111) => Some("newer USB board, or another Renesas device"),
        (0x04d8, 0x000a) => Some("USB board, or another Microchip device"),
        _ => None,
    }
}

/// True where a HID device with these USB ids is a board by Chessnut. Other makers use the vendor id as well.
#[must_use]
pub fn is_chessnut(id: (u16, u16)) -> bool {
    matches!(id, (0x2d80, 0x8000..=0x86ff))
}

/// All serial ports, and the boards among the HID devices, in the order of their names. Pseudo terminals are left out.
/// Blocks for some milliseconds.
///
/// # Errors
/// The system's error when it cannot list the ports.
pub fn ports() -> Result<Vec<Port>, serialport::Error> {
    let mut ports = serial_ports()?;
    ports.extend(hid_boards(Path::new("/sys/class/hidraw"), Path::new("/dev")));
    ports.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(ports)
}

fn serial_ports() -> Result<Vec<Port>, serialport::Error> {
    // The library panics if this folder is missing, as in some containers.
    if !Path::new("/sys/class/tty").is_dir() {
        return Ok(Vec::new());
    }
    let mut listed = serialport::available_ports();
    if listed.is_err() {
        // A device that vanishes during the scan makes the whole list fail, so one more scan follows.
        listed = serialport::available_ports();
    }
    let links = by_id_links(Path::new("/dev/serial/by-id"));
    Ok(listed?.into_iter().map(|info| port(info, &links)).collect())
}

/// The boards among the HID devices in `class`, with their nodes in `devices`. Other HID devices, keyboards among them,
/// are left out.
fn hid_boards(class: &Path, devices: &Path) -> Vec<Port> {
    let Ok(entries) = fs::read_dir(class) else {
        return Vec::new(); // a machine or a container without any
    };
    let board = |entry: fs::DirEntry| {
        let said = fs::read_to_string(entry.path().join("device/uevent")).ok()?;
        let usb = hid_device(&said).filter(|usb| is_chessnut(usb.id))?;
        Some(Port {
            path: devices.join(entry.file_name()),
            by_id: None,
            kind: PortKind::Hid(usb),
        })
    };
    entries.flatten().filter_map(board).collect()
}

/// Reads a HID device's bus, vendor and product as the kernel gives them: `HID_ID=0003:00002D80:00008003`.
fn hid_device(uevent: &str) -> Option<UsbDevice> {
    let said = |key: &str| {
        let value = uevent
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.filter(|value| !value.is_empty())
    };
    let mut ids = said("HID_ID")?.split(':').map(|id| u32::from_str_radix(id, 16));
    let (_bus, vendor, product) = (ids.next()?, ids.next()?.ok()?, ids.next()?.ok()?);
    Some(UsbDevice {
        id: (vendor.try_into().ok()?, product.try_into().ok()?),
        serial: said("HID_UNIQ").map(str::to_owned),
        product: said("HID_NAME").map(str::to_owned),
    })
}

/// [`ports`] for callers within the runtime.
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
        SerialPortType::UsbPort(usb) => PortKind::Usb(usb_device(usb)),
        SerialPortType::BluetoothPort => PortKind::Bluetooth,
        SerialPortType::PciPort | SerialPortType::Unknown => PortKind::BuiltIn,
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

/// The links in `folder`, each with the device that it leads to.
fn by_id_links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new(); // udev makes the folder with the first such device
    };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), fs::canonicalize(entry.path()).ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_among_the_hid_devices_is_found_and_nothing_else() {
        let class = tempfile::tempdir().unwrap();
        let devices = [
            ("hidraw0", "HID_ID=0003:0000046D:0000C31C\nHID_NAME=A keyboard\n"),
            (
                "hidraw1",
                "DRIVER=hid-generic\nHID_ID=0003:00002D80:00008003\nHID_NAME=Chessnut Air\nHID_UNIQ=7A01\n",
            ),
            (
                "hidraw2",
                "HID_ID=0003:00002D80:00003013\nHID_NAME=A tablet of the same vendor id\n",
            ),
            ("hidraw3", "nonsense\n"),
        ];
        for (name, uevent) in devices {
            let device = class.path().join(name).join("device");
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("uevent"), uevent).unwrap();
        }
        let found = hid_boards(class.path(), Path::new("/dev"));
        let usb = UsbDevice {
            id: (0x2d80, 0x8003),
            serial: Some("7A01".into()),
            product: Some("Chessnut Air".into()),
        };
        let wanted = Port {
            path: "/dev/hidraw1".into(),
            by_id: None,
            kind: PortKind::Hid(usb),
        };
        assert_eq!(found, [wanted]);
        assert!(!found[0].may_be_board(), "it is never asked as DGT boards are");
        assert_eq!(hid_boards(Path::new("/nowhere"), Path::new("/dev")), []);
    }
}
