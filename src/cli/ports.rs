//! `dgt2mqtt ports`: tells what is plugged in, and what to write into the configuration.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;

use crate::link::{
    LinkSource, PortMatch,
    enumerate::{Port, PortKind, UsbDevice, board_ids, ports},
    line::{Found, discover},
};

/// List serial ports and boards by Chessnut, what is known about each, and the name to configure.
#[derive(Debug, Args)]
pub(super) struct PortsArgs {
    /// Ask which boards share the line at this port; stop the daemon before
    #[arg(long, value_name = "PORT")]
    line: Option<LinkSource>,
}

impl PortsArgs {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if let Some(line) = &self.line {
            return list_line(line);
        }
        let mut ports = ports().context("cannot list the serial ports")?;
        // Ports that may be boards come first.
        ports.sort_by_key(|port| !(port.may_be_board() || port.is_hid()));
        if ports.is_empty() {
            eprintln!(
                "No serial ports. Is the board plugged in, and is this not a container without its devices?"
            );
        }
        let mut out = io::stdout().lock();
        for port in &ports {
            writeln!(out, "{}", describe(port, is_shared(port, &ports))).context("cannot write the list")?;
        }
        Ok(())
    }
}

/// Asks the boards of a line for their addresses, and tells what to configure.
fn list_line(line: &LinkSource) -> anyhow::Result<()> {
    eprintln!("Asking the boards on {line}, which takes some seconds...");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let Found { boards, doubled } =
        runtime.block_on(async { Ok::<_, crate::link::OpenError>(discover(line.open().await?).await) })?;
    for address in &doubled {
        eprintln!("Two boards have the address {address}: put one of them on another line.");
    }
    if boards.is_empty() {
        anyhow::bail!(
            "no board answers on {line}: are they switched on, and is this the port of their line?"
        );
    }
    let serials: Vec<String> = boards.iter().map(|address| format!("\"{address:05}\"")).collect();
    let text = format!("[[line]]\nport = \"{line}\"\nboards = [{}]", serials.join(", "));
    writeln!(io::stdout(), "{text}").context("cannot write the list")?;
    eprintln!(
        "{} boards. A serial number above 16383 shows as what is left of it divided by 16384: write what stands on the board.",
        boards.len()
    );
    Ok(())
}

/// True where another port has the same USB serial number, as cheap converters do.
pub(super) fn is_shared(port: &Port, ports: &[Port]) -> bool {
    let number = |port: &Port| match &port.kind {
        PortKind::Usb(usb) | PortKind::Hid(usb) => usb.serial.clone(),
        PortKind::Bluetooth | PortKind::BuiltIn => None,
    };
    let same = |other: &&Port| number(other) == number(port) && other.is_hid() == port.is_hid();
    number(port).is_some() && ports.iter().filter(same).count() > 1
}

/// The port, its kind, and the line for the configuration. A shared serial number names no port.
fn describe(port: &Port, is_shared: bool) -> String {
    let what = match &port.kind {
        PortKind::Usb(usb) => describe_usb(usb, board_ids(usb.id).unwrap_or("no board that is known")),
        PortKind::Hid(usb) => describe_usb(usb, "board by Chessnut"),
        PortKind::Bluetooth => "Bluetooth; a board if you paired one".to_owned(),
        PortKind::BuiltIn => "built in; a board only if you wired one to it".to_owned(),
    };
    let path = port.path.display();
    if is_shared {
        return format!(
            "{path}\n    {what}\n    port = \"{path}\"\n    another port has this serial number as well: better a link below /dev/serial/by-path, which names the socket it is plugged into"
        );
    }
    let name = stable_name(port);
    let protocol = if port.is_hid() {
        "\n    protocol = \"chessnut\""
    } else {
        ""
    };
    format!("{path}\n    {what}\n    port = \"{name}\"{protocol}")
}

fn describe_usb(usb: &UsbDevice, guess: &str) -> String {
    let (vendor, product) = usb.id;
    let name = usb.product.as_deref().unwrap_or("unnamed");
    let serial = usb
        .serial
        .as_deref()
        .map(|s| format!(", serial number {s}"))
        .unwrap_or_default();
    format!("USB {vendor:04x}:{product:04x} {name}{serial}: {guess}")
}

/// The link that follows the device. Else it is the USB serial number, or the node, which may be another one tomorrow.
pub(super) fn stable_name(port: &Port) -> String {
    if let Some(link) = &port.by_id {
        return link.display().to_string();
    }
    match &port.kind {
        PortKind::Usb(UsbDevice {
            serial: Some(serial), ..
        })
        | PortKind::Hid(UsbDevice {
            serial: Some(serial), ..
        }) => LinkSource::Serial(PortMatch::Usb(serial.clone())).to_string(),
        _ => port.path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_name_is_the_one_that_stays() {
        let mut port = Port {
            path: "/dev/ttyUSB0".into(),
            by_id: Some("/dev/serial/by-id/usb-x".into()),
            kind: PortKind::Usb(UsbDevice {
                id: (0x0403, 0x6001),
                serial: Some("A5".into()),
                product: Some("FT232R".into()),
            }),
        };
        assert_eq!(
            describe(&port, false),
            "/dev/ttyUSB0\n    USB 0403:6001 FT232R, serial number A5: older USB board, or any FTDI converter\n    \
             port = \"/dev/serial/by-id/usb-x\""
        );
        let twin = Port {
            path: "/dev/ttyUSB1".into(),
            ..port.clone()
        };
        let ports = [port.clone(), twin];
        assert!(ports.iter().all(|port| is_shared(port, &ports)) && !is_shared(&port, &ports[..1]));
        let said = describe(&ports[1], true);
        assert!(
            said.contains("port = \"/dev/ttyUSB1\"\n    another port has this serial number"),
            "{said}"
        );
        port.by_id = None;
        assert_eq!(stable_name(&port), "usb:A5");
        port.kind = PortKind::Hid(UsbDevice {
            id: (0x2d80, 0x8003),
            serial: None,
            product: Some("Chessnut Air".into()),
        });
        port.path = "/dev/hidraw1".into();
        assert_eq!(
            describe(&port, false),
            "/dev/hidraw1\n    USB 2d80:8003 Chessnut Air: board by Chessnut\n    port = \"/dev/hidraw1\"\n    protocol = \"chessnut\""
        );
        (port.kind, port.path) = (PortKind::BuiltIn, "/dev/ttyUSB0".into());
        assert_eq!(stable_name(&port), "/dev/ttyUSB0");
        assert!(stable_name(&port).parse::<LinkSource>().is_ok());
    }
}
