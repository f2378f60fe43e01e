//! Finds boards, lines of boards, and brokers.
//!
//! A port that nobody named is asked only if it looks like a DGT board's, and only in the language of those. A device
//! at another port may take a question for an order. If a person names a silent port, or agrees, this also asks for a
//! line and for boards of other makers.

use std::{fmt::Display, fs, str::FromStr};

use anyhow::Context;

use crate::{
    cli::{check::connect_tcp, ports, reach},
    config::{BrokerUrl, PortName},
    families::{Attachment, FAMILIES, Protocol},
    link::{
        LinkSource, PortMatch,
        enumerate::{self, ports},
        same_number,
    },
};

/// What is at a port, or may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AtPort {
    /// A board that has the port for itself.
    Board(Protocol),
    /// Boards that share the port, by their addresses.
    Line(Vec<u16>),
}

/// The word that a person writes for a line, where other ports have the name of a protocol.
const LINE: &str = "line";

/// A port that a person named: `PORT`, or `WHAT=PORT` with what is there.
#[derive(Clone, Debug)]
pub(super) struct Named {
    what: Option<AtPort>,
    port: PortName,
}

impl FromStr for Named {
    type Err = <PortName as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let said = text.split_once('=').and_then(|(word, port)| {
            let family = FAMILIES.iter().find(|family| family.name == word);
            let protocol = family.map(|family| family.protocol);
            let protocol = protocol.or_else(|| (word == Protocol::Dgt.name()).then_some(Protocol::Dgt));
            let line = (word == LINE).then(|| AtPort::Line(Vec::new()));
            Some((protocol.map(AtPort::Board).or(line)?, port))
        });
        let (what, port) = said.map_or((None, text), |(what, port)| (Some(what), port));
        Ok(Self {
            what,
            port: port.parse()?,
        })
    }
}

/// A port that may lead to a board.
#[derive(Debug)]
pub(super) struct PortCandidate {
    /// The name of the port in the configuration.
    pub(super) port: PortName,
    /// What is at the port.
    pub(super) what: AtPort,
    /// For a person: what the board told, or why it told nothing.
    pub(super) said: String,
    /// True where a board answers.
    pub(super) answers: bool,
    /// True where the port opens and nothing answers.
    pub(super) is_silent: bool,
}

impl PortCandidate {
    fn of(port: PortName, what: AtPort, found: Result<Option<String>, String>) -> Self {
        let is_silent = matches!(found, Ok(None));
        let answers = matches!(found, Ok(Some(_)));
        let said = match found {
            Ok(Some(words)) | Err(words) => words,
            Ok(None) => "the port opens, but no board answers: is it switched on?".to_owned(),
        };
        Self {
            port,
            what,
            said,
            answers,
            is_silent,
        }
    }

    /// Asks for boards that share this port, and for a board of another maker.
    pub(super) fn ask_others(&mut self) {
        let Ok(source) = self.port.as_str().parse::<LinkSource>() else {
            return;
        };
        let whats = [AtPort::Line(Vec::new())].into_iter().chain(
            FAMILIES
                .iter()
                .filter(|family| family.line != Attachment::Reports)
                .map(|family| AtPort::Board(family.protocol)),
        );
        for what in whats {
            let place = asked(self.port.clone(), &source, &what);
            if place.answers {
                *self = place;
                return;
            }
        }
        self.said += " Nobody there speaks as a line or as a board of another maker does";
        self.is_silent = false;
    }
}

/// The ports that look like a board's, each under a name that stays. It leaves all others alone.
///
/// # Errors
/// When the system does not list its ports.
pub(super) fn attached() -> anyhow::Result<Vec<PortCandidate>> {
    let ports = ports().context("cannot list the serial ports")?;
    let looks_so = |port: &&enumerate::Port| port.may_be_board() || port.is_hid();
    let mut found = Vec::new();
    let mut serials = Vec::new();
    for port in ports.iter().filter(looks_so) {
        let path: PortName = port.path.to_string_lossy().parse()?;
        let what = AtPort::Board(if port.is_hid() {
            Protocol::Chessnut
        } else {
            Protocol::Dgt
        });
        let source: LinkSource = path.as_str().parse()?;
        let (place, says) = match what {
            AtPort::Board(Protocol::Dgt) => dgt(path, &source),
            what => (asked(path, &source, &what), Vec::new()),
        };
        serials.extend(says.clone());
        found.push((port, place, says));
    }
    found
        .into_iter()
        .map(|(port, place, says)| {
            let name = stable_name(port, &ports, &says, &serials);
            let port = name.parse()?;
            Ok(PortCandidate { port, ..place })
        })
        .collect()
}

/// A port that a person named. If the person did not say what is there, this finds out.
pub(super) fn given(named: &Named) -> PortCandidate {
    let port = named.port.clone();
    let source: LinkSource = match port.as_str().parse() {
        Ok(source) => source,
        Err(error) => return PortCandidate::of(port, AtPort::Board(Protocol::Dgt), Err(format!("{error}"))),
    };
    if let Some(what) = &named.what {
        return asked(port, &source, what);
    }
    if is_hid_node(&source) {
        return asked(port, &source, &AtPort::Board(Protocol::Chessnut));
    }
    let mut place = dgt(port, &source).0;
    let may_be_another = matches!(
        source,
        LinkSource::Serial(PortMatch::Path(_) | PortMatch::Usb(_)) | LinkSource::Tcp(_)
    );
    if place.is_silent && may_be_another {
        eprintln!(
            "{}: no DGT board answers; asking for a line of boards and for boards of other makers, which takes some seconds...",
            place.port
        );
        place.ask_others();
    }
    place
}

/// True for the node of a HID device, which takes no questions of a serial line.
fn is_hid_node(source: &LinkSource) -> bool {
    let LinkSource::Serial(PortMatch::Path(path)) = source else {
        return false;
    };
    let node = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    node.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("hidraw"))
}

/// Asks for a DGT board that has the port for itself; returns its serial numbers as well.
fn dgt(port: PortName, source: &LinkSource) -> (PortCandidate, Vec<String>) {
    let found = reach::spoken(source);
    let serials = found.as_ref().ok().and_then(Option::as_ref);
    let serials = serials.map(|found| found.serials.clone()).unwrap_or_default();
    let words = found.map(|found| found.map(|found| found.words));
    (
        PortCandidate::of(port, AtPort::Board(Protocol::Dgt), words),
        serials,
    )
}

/// Asks only in the language of `what`.
fn asked(port: PortName, source: &LinkSource, what: &AtPort) -> PortCandidate {
    match what {
        &AtPort::Board(protocol) => match protocol.family() {
            None => dgt(port, source).0,
            Some(family) => {
                let words = reach::heard(source, family).map(|words| {
                    // A person knows the board by its maker's name.
                    words.map(|words| format!("{words} ({})", family.name))
                });
                PortCandidate::of(port, AtPort::Board(protocol), words)
            }
        },
        AtPort::Line(_) => match reach::line(source) {
            Ok(found) if !found.boards.is_empty() => {
                let mut words = format!(
                    "a line that {} boards share; a number above 16383 shows as what is left of it divided by 16384: write what stands on the board",
                    found.boards.len()
                );
                if !found.doubled.is_empty() {
                    words += &format!(
                        "; two boards have the address {}: put one of them on another line",
                        addresses(&found.doubled).join(", ")
                    );
                }
                PortCandidate::of(port, AtPort::Line(found.boards), Ok(Some(words)))
            }
            Ok(_) => PortCandidate::of(port, AtPort::Line(Vec::new()), Ok(None)),
            Err(wrong) => PortCandidate::of(port, AtPort::Line(Vec::new()), Err(wrong)),
        },
    }
}

/// Addresses in the form of the boards' serial numbers.
pub(super) fn addresses(addresses: &[u16]) -> Vec<String> {
    addresses.iter().map(|address| format!("{address:05}")).collect()
}

/// The name of the port. If another adapter has the same name, it is the board's serial number where no other board
/// tells that, and else the device node.
fn stable_name(
    port: &enumerate::Port,
    ports: &[enumerate::Port],
    says: &[String],
    serials: &[String],
) -> String {
    if !ports::is_shared(port, ports) {
        return ports::stable_name(port);
    }
    let is_own = |serial: &&String| {
        let same = serials.iter().filter(|other| same_number(other, serial));
        same.count() == 1
    };
    match says.iter().find(is_own) {
        Some(serial) => format!("board:{serial}"),
        None => port.path.display().to_string(),
    }
}

/// The addresses of a broker on this machine, plain and with TLS.
pub(super) const BROKERS_HERE: [&str; 2] = ["mqtt://localhost", "mqtts://localhost"];
/// The usual addresses of other brokers: on Home Assistant, and in a network of containers.
pub(super) const BROKERS_ELSEWHERE: [&str; 4] = [
    "mqtt://core-mosquitto",
    "mqtt://homeassistant.local",
    "mqtt://broker",
    "mqtt://mosquitto",
];

/// The addresses of `places` at which something listens. Nothing is sent to it.
pub(super) fn brokers(places: &[impl Display]) -> Vec<BrokerUrl> {
    let urls = places.iter().filter_map(|place| place.to_string().parse().ok());
    urls.filter(|url| connect_tcp(url).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tokio::net::TcpSocket;

    use super::*;

    #[test]
    fn a_port_may_be_named_with_what_is_there() {
        let read = |text: &str| {
            let Named { what, port } = text.parse().expect(text);
            (what, port.as_str().to_owned())
        };
        assert_eq!(read("/dev/ttyUSB0"), (None, "/dev/ttyUSB0".to_owned()));
        // The name of a device may have the sign in it.
        assert_eq!(read("/dev/x=y"), (None, "/dev/x=y".to_owned()));
        assert_eq!(read("line=usb:A5").0, Some(AtPort::Line(Vec::new())));
        for name in Protocol::NAMES {
            let (what, port) = read(&format!("{name}=/dev/ttyS0"));
            assert!(matches!(what, Some(AtPort::Board(protocol)) if protocol.name() == name));
            assert_eq!(port, "/dev/ttyS0");
        }
        "line=".parse::<Named>().expect_err("no port");
    }

    #[test]
    fn a_broker_is_where_something_listens() {
        let broker = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = broker.local_addr().expect("an address").port();
        // It keeps the port, and listens to nobody.
        let closed = TcpSocket::new_v4().expect("a socket");
        closed
            .bind("127.0.0.1:0".parse().expect("an address"))
            .expect("a port");
        let shut = closed.local_addr().expect("an address").port();
        let there = format!("mqtt://127.0.0.1:{port}");
        let places = [
            format!("mqtt://127.0.0.1:{shut}"),
            "mqtt://no-such-machine.invalid".to_owned(),
            there.clone(),
        ];
        assert_eq!(brokers(&places), [there.parse().expect("an address")]);
        for place in BROKERS_HERE.into_iter().chain(BROKERS_ELSEWHERE) {
            place.parse::<BrokerUrl>().expect(place);
        }
    }
}
