//! Types for values of the configuration, which check a value when they are made.

use std::{fmt, path::Path, str::FromStr};

use serde::Deserialize;

use super::host::is_this_machine;
use crate::link::LinkSource;

/// Why a text is no such value, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {help}")]
pub struct ValueError {
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub help: String,
}

fn refuse<T>(what: impl Into<String>, help: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError {
        what: what.into(),
        help: help.into(),
    })
}

/// Name of a gateway or a board: 1 to 32 of `a-z`, `0-9`, `_`, `-`. Fit for a level of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Id {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        if (1..=32).contains(&text.len()) && text.chars().all(fits) {
            return Ok(Self(text.to_owned()));
        }
        refuse(
            format!("{text:?} cannot be an id, because ids become levels of topics"),
            "use 1 to 32 of the characters a-z, 0-9, _ and -",
        )
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first levels of every topic: `dgt2mqtt`, or `club/chess`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseTopic(String);

impl BaseTopic {
    /// The levels as text, without a slash at either end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for BaseTopic {
    fn default() -> Self {
        Self("dgt2mqtt".to_owned())
    }
}

impl FromStr for BaseTopic {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let level_fits = |level: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            !level.is_empty() && level.chars().all(fits)
        };
        if text.len() <= 128 && text.split('/').all(level_fits) {
            return Ok(Self(text.to_owned()));
        }
        refuse(
            format!("{text:?} cannot begin a topic"),
            "use levels of letters, digits, _, - and . separated by single slashes, 128 characters at most, \
             for example \"club/chess\"",
        )
    }
}

impl fmt::Display for BaseTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The port of a board, in a form that a link understands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortName(String);

impl PortName {
    /// The text, as `link::Source` reads it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The capture that is played, if the port is one.
    pub(super) fn capture(&self) -> Option<&Path> {
        self.0.strip_prefix("capture:").map(Path::new)
    }

    /// True where the port is found by the serial number that the board itself tells.
    pub(super) fn is_board_serial(&self) -> bool {
        self.0.starts_with("board:")
    }

    /// The serial number of a board and the port of its line, if the board shares one.
    #[must_use]
    pub fn shared(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix("bus:")?.split_once('@')
    }

    /// The device behind the name: this follows links, if the device is there.
    pub(super) fn device(&self) -> String {
        match Path::new(&self.0).canonicalize() {
            Ok(device) => device.display().to_string(),
            Err(_) => self.0.clone(),
        }
    }

    pub(super) fn from_capture(file: &Path) -> Self {
        Self(format!("capture:{}", file.display()))
    }
}

impl FromStr for PortName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let bare = text.trim();
        if bare != text {
            return refuse(
                format!("{text:?} has spaces around it"),
                format!("write it without them: {bare:?}"),
            );
        }
        let fits = match text.split_once(':') {
            Some(("usb" | "board" | "capture", rest)) => !rest.trim().is_empty(),
            Some(("bus", rest)) => text.parse::<LinkSource>().is_ok() && rest.contains('@'),
            Some(("tcp" | "tcp+cap", rest)) => rest
                .strip_prefix("//")
                .is_some_and(|address| split_port(address).is_ok_and(|(_, port)| port.is_some())),
            // By-id names contain colons, too.
            _ => text.starts_with('/') && !text.ends_with('/'),
        };
        if fits {
            return Ok(Self(text.to_owned()));
        }
        refuse(
            format!("{text:?} is no place where a board can be attached"),
            "write a device (\"/dev/serial/by-id/...\"), \"usb:SERIAL\", \"board:SERIAL\", \"bus:SERIAL@PORT\", \"tcp://HOST:PORT\", \
             \"tcp+cap://HOST:PORT\" or \"capture:FILE\"; `dgt2mqtt ports` lists what is there",
        )
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Address of a broker: `mqtt://HOST[:PORT]`, or `mqtts://` for TLS.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BrokerUrl {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// 1883, or 8883 for TLS, unless the address says otherwise.
    pub port: u16,
}

impl BrokerUrl {
    /// True where what goes to the broker crosses a network unencrypted, for anybody there to read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        !self.tls && !is_this_machine(&self.host)
    }
}

impl Default for BrokerUrl {
    fn default() -> Self {
        Self {
            tls: false,
            host: "localhost".to_owned(),
            port: 1883,
        }
    }
}

impl FromStr for BrokerUrl {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        const HELP: &str = "write \"mqtt://HOST\", \"mqtt://HOST:PORT\", or the same with mqtts:// for TLS";
        if text.contains('@') {
            // The message leaves the text out, because it may hold a password.
            return refuse(
                "the address of a broker holds a user name or password",
                "put them into `username` and `password_file`",
            );
        }
        let (tls, address) = match text.split_once("://") {
            Some(("mqtt", address)) => (false, address),
            Some(("mqtts", address)) => (true, address),
            Some((scheme, _)) => return refuse(format!("brokers are not reached by {scheme}://"), HELP),
            None => return refuse(format!("{text:?} is no address of a broker"), HELP),
        };
        let address = address.strip_suffix('/').unwrap_or(address);
        match split_port(address) {
            Ok((host, port)) => Ok(Self {
                tls,
                host: host.to_owned(),
                port: port.unwrap_or(if tls { 8883 } else { 1883 }),
            }),
            Err(what) => refuse(format!("{text:?} is no address of a broker: {what}"), HELP),
        }
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

/// Splits `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`.
fn split_port(address: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, rest) = if let Some(bracketed) = address.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']').ok_or("a bracket is not closed")?;
        if host.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("what is in brackets is no IPv6 address");
        }
        (host, rest)
    } else {
        let end = address.find(':').unwrap_or(address.len());
        let (host, rest) = address.split_at(end);
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || "/?#[]".contains(c)) {
            return Err("the host is missing or holds characters that no host has");
        }
        (host, rest)
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => return Err("the port is no number from 1 to 65535"),
            Ok(port) => Some(port),
        },
        None if rest.is_empty() => None,
        None => return Err("only a port can follow the host"),
    };
    Ok((host, port))
}

/// A password. Printing it never shows its text.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from logs.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, only for the server that asks for it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_fit_for_topics() {
        for good in ["a", "7", "table-1_b", &"x".repeat(32)] {
            assert_eq!(good.parse::<Id>().expect("a good id").as_str(), good);
        }
        for bad in [
            "",
            "A",
            "a b",
            "a/b",
            "+",
            "#",
            "..",
            "a\0",
            "\u{430}",
            &"x".repeat(33),
        ] {
            assert!(bad.parse::<Id>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn base_topics_hold_no_wildcards() {
        for good in ["dgt2mqtt", "club/chess", "a.b/C"] {
            assert!(good.parse::<BaseTopic>().is_ok(), "{good:?}");
        }
        for bad in ["", "/a", "a/", "a//b", "a/+", "#", "$SYS", "a b"] {
            assert!(bad.parse::<BaseTopic>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_of_brokers() {
        let cases = [
            ("mqtt://localhost", "mqtt://localhost:1883"),
            ("mqtts://broker.club.example/", "mqtts://broker.club.example:8883"),
            ("mqtt://10.0.0.7:2883", "mqtt://10.0.0.7:2883"),
            ("mqtt://[::1]", "mqtt://[::1]:1883"),
            ("mqtts://[fe80::7]:9", "mqtts://[fe80::7]:9"),
        ];
        for (text, shown) in cases {
            assert_eq!(text.parse::<BrokerUrl>().expect(text).to_string(), shown);
        }
        let bad = [
            "",
            "localhost",
            "http://a",
            "mqtt://",
            "mqtt://:1883",
            "mqtt://a:0",
            "mqtt://a:65536",
            "mqtt://a:x",
            "mqtt://a/b",
            "mqtt://[::1",
            "mqtt://[a]",
            "mqtt://[::1]x",
            "mqtt://a b",
            "mqtt://::1",
        ];
        for text in bad {
            assert!(text.parse::<BrokerUrl>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_repeated() {
        let error = "mqtt://anna:hunter2@host"
            .parse::<BrokerUrl>()
            .expect_err("refused");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn ports() {
        let good = [
            "/dev/ttyUSB0",
            "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0",
            "usb:A100XYZ",
            "board:3000147740",
            "tcp://10.0.0.7:4001",
            "tcp://[::1]:4001",
            "capture:games/one.dgtcap",
        ];
        for text in good {
            assert_eq!(text.parse::<PortName>().expect(text).as_str(), text);
        }
        for text in [
            "",
            "ttyUSB0",
            "COM3",
            "usb:",
            "board: ",
            "tcp://host",
            "tcp:host:1",
            "tcp://:1",
            "capture:",
            "/dev/",
        ] {
            assert!(text.parse::<PortName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        assert!(!format!("{:?}", Secret::new("hunter2")).contains("hunter2"));
    }
}
