//! The configuration that `init` writes, with comments for whoever opens it later.

use std::{
    fmt::{Display, Write},
    path::PathBuf,
};

use super::find::{AtPort, PortCandidate, addresses};
use crate::{
    config::{BrokerUrl, Id},
    families::{Attachment, Protocol},
};

/// The content of the configuration.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: Id,
    pub(super) boards: Vec<PortCandidate>,
    /// Ports at which no board answered. The file names them in comments, and no board there is watched.
    pub(super) silent: Vec<PortCandidate>,
    pub(super) time_control: String,
    pub(super) brokers: Vec<BrokerUrl>,
    pub(super) username: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    /// The password may go to a broker without TLS on another machine.
    pub(super) password_in_clear: bool,
    pub(super) commands: bool,
}

impl Wanted {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "# Written by dgt2mqtt init. dgt2mqtt.example.toml shows every key with its default.\n\
             # After a change: dgt2mqtt check && sudo systemctl reload dgt2mqtt\n\n\
             [gateway]\n\
             # Name of this gateway in topics and event ids. It should not change once events have been published.\n\
             name = {}\n\
             # Whether arbiters may send commands: results, new games, answers to irregularities.\n\
             commands = {}\n\n\
             [event]\n\
             # Which rules apply: \"standard\", \"rapid\" or \"blitz\".\n\
             time_control = {}\n\
             # The periods of the time control, so that a flag that falls can be judged.\n\
             #periods = [{{ moves = 40, minutes = 90, increment = 30 }}, {{ minutes = 30, increment = 30 }}]\n\n",
            quoted(&self.name),
            self.commands,
            quoted(&self.time_control),
        );
        let mut id = 0;
        let silent = self.silent.iter().map(|place| (place, "#"));
        for (place, mark) in self.boards.iter().map(|place| (place, "")).chain(silent) {
            // What a port told may have several lines, each of which becomes a comment.
            for line in place.said.lines() {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "# {line}");
            }
            match &place.what {
                AtPort::Line(boards) => line(&mut text, place, boards, mark),
                AtPort::Board(protocol) => {
                    id += 1;
                    board(&mut text, id, place, *protocol, mark);
                }
            }
        }
        self.broker(&mut text);
        text
    }

    /// True where a board is a HID device, which the unit opens only with a drop-in.
    pub(super) fn has_hid(&self) -> bool {
        let is_hid = |place: &PortCandidate| matches!(place.what, AtPort::Board(protocol) if protocol.line() == Attachment::Reports);
        self.boards.iter().any(is_hid)
    }

    fn broker(&self, text: &mut String) {
        let urls: Vec<_> = self.brokers.iter().map(quoted).collect();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "[broker]\n# Addresses, tried in turn: mqtt://HOST[:PORT], or mqtts:// for TLS.\nurls = [{}]\n",
            urls.join(", ")
        );
        let _ = match &self.username {
            Some(username) => writeln!(text, "username = {}", quoted(username)),
            None => writeln!(
                text,
                "# Who we are there, and the file that holds the password alone.\n#username = \"dgt2mqtt\""
            ),
        };
        let _ = match &self.password_file {
            Some(file) => writeln!(text, "password_file = {}", quoted(file.display())),
            None => writeln!(text, "#password_file = \"mqtt-password\""),
        };
        if self.password_in_clear {
            text.push_str(
                "# The password goes to a broker without TLS. Nobody else may enter that network.\npassword_in_clear = true\n",
            );
        }
    }
}

/// The table of a board, each line behind `mark`.
fn board(text: &mut String, id: usize, place: &PortCandidate, protocol: Protocol, mark: &str) {
    let _ = write!(
        text,
        "{mark}[[board]]\n{mark}id = \"{id}\"\n{mark}port = {}\n",
        quoted(place.port.as_str())
    );
    if protocol != Protocol::Dgt {
        let _ = writeln!(text, "{mark}protocol = {}", quoted(protocol.name()));
    }
    let _ = write!(text, "{mark}#table = {{ white = \"\", black = \"\" }}\n\n");
}

/// The table of a line that boards share, each line behind `mark`.
fn line(text: &mut String, place: &PortCandidate, boards: &[u16], mark: &str) {
    let boards: Vec<_> = addresses(boards).iter().map(quoted).collect();
    let _ = write!(
        text,
        "{mark}[[line]]\n{mark}port = {}\n# Serial numbers, which are the ids as well.\n{mark}boards = [{}]\n\n",
        quoted(place.port.as_str()),
        boards.join(", ")
    );
}

/// A text in the form of TOML, whatever characters it has.
fn quoted(value: impl Display) -> String {
    toml::Value::String(value.to_string()).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Config, Env};

    fn place(port: &str, said: &str) -> PortCandidate {
        PortCandidate {
            port: port.parse().expect(port),
            what: AtPort::Board(Protocol::Dgt),
            said: said.to_owned(),
            answers: true,
            is_silent: false,
        }
    }

    fn other(port: &str, what: AtPort) -> PortCandidate {
        PortCandidate {
            what,
            ..place(port, "said")
        }
    }

    /// Holds that the file gives back what was found and told, whatever characters that has.
    #[test]
    fn what_is_written_is_a_good_configuration() {
        let password = tempfile::NamedTempFile::with_suffix("\"quoted\" word").expect("a file");
        std::fs::write(password.path(), "secret").expect("written");
        let wanted = Wanted {
            name: "hall".parse().expect("an id"),
            boards: vec![
                place("/dev/serial/by-id/usb-\\x20\"x\"", "a board\nwith [[two]] lines"),
                place("board:12345", "a board"),
                other("/dev/ttyS1", AtPort::Board(Protocol::Chesslink)),
                other("/dev/ttyS2", AtPort::Line(vec![1025, 7])),
            ],
            silent: vec![place("usb:A5", "no board answers")],
            time_control: "blitz".to_owned(),
            brokers: vec!["mqtt://[::1]:1884".parse().expect("an address")],
            username: Some("an \"arbiter\"".to_owned()),
            password_file: Some(password.path().to_owned()),
            password_in_clear: false,
            commands: true,
        };
        let text = wanted.text();
        let env = Env::from([("HOME", "/home/anna")]);
        let config = Config::from_text(&text, Path::new("t.toml"), &env)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let boards: Vec<_> = config
            .boards
            .iter()
            .map(|board| (board.id.as_str(), board.port.as_str()))
            .collect();
        assert_eq!(
            boards,
            [
                ("1", "/dev/serial/by-id/usb-\\x20\"x\""),
                ("2", "board:12345"),
                ("3", "/dev/ttyS1"),
                ("01025", "bus:01025@/dev/ttyS2"),
                ("00007", "bus:00007@/dev/ttyS2")
            ]
        );
        assert_eq!(config.boards[2].protocol, Protocol::Chesslink);
        assert!(!wanted.has_hid());
        assert!(config.commands);
        assert_eq!(config.broker.urls, wanted.brokers);
        let login = config.broker.login.expect("a login");
        assert_eq!(login.username, "an \"arbiter\"");
        assert!(
            text.contains("#[[board]]\n#id = \"4\"\n#port = \"usb:A5\""),
            "{text}"
        );
    }

    /// Holds that the lines in comments are valid too when somebody takes the signs away.
    #[test]
    fn what_is_commented_out_is_good_as_well() {
        let wanted = Wanted {
            name: "hall".parse().expect("an id"),
            boards: vec![place("usb:1", "a board")],
            silent: vec![
                place("usb:2", "silent"),
                other("usb:3", AtPort::Board(Protocol::Chessnut)),
                other("usb:4", AtPort::Line(Vec::new())),
            ],
            time_control: "standard".to_owned(),
            brokers: vec![BrokerUrl::default()],
            username: None,
            password_file: None,
            password_in_clear: false,
            commands: false,
        };
        let shown: Vec<_> = wanted
            .text()
            .lines()
            .filter(|line| !line.contains("password_file"))
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with([' ', '#']) => rest.to_owned(),
                _ => line.to_owned(),
            })
            .collect();
        let env = Env::from([("HOME", "/home/anna")]);
        let config = Config::from_text(&shown.join("\n"), Path::new("t.toml"), &env).expect("good");
        assert_eq!(config.boards.len(), 3);
        assert_eq!(config.boards[2].protocol, Protocol::Chessnut);
        assert_eq!(config.boards[0].rules.periods.len(), 2);
    }
}
