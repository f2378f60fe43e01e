//! Gateways that announce themselves in the local network, and those who look for them: processes that meet by
//! multicast, at the port that everybody uses.

use std::{
    fs,
    net::{Ipv4Addr, UdpSocket},
    path::PathBuf,
    process,
    time::Duration,
};

use serde_json::Value;

use crate::hall::{Daemon, program, until};

/// Probing, announcing and asking take some seconds, and a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(90);
const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);

/// Whether a message to the group comes back.
fn has_multicast() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let port = socket.local_addr().unwrap().port();
    let comes_back = socket.join_multicast_v4(&GROUP, &Ipv4Addr::UNSPECIFIED).is_ok()
        && socket.send_to(b"hello", (GROUP, port)).is_ok()
        && socket.recv(&mut [0; 8]).is_ok();
    if !comes_back {
        skipped!("no network of this machine takes multicast");
    }
    comes_back
}

struct Gateway {
    folder: tempfile::TempDir,
    name: String,
    daemon: Option<Daemon>,
}

impl Gateway {
    fn start(name: &str, boards: usize, announce: bool) -> Self {
        let gateway = Self {
            folder: tempfile::tempdir().unwrap(),
            name: name.to_owned(),
            daemon: None,
        };
        gateway.write(boards, announce);
        let daemon = Some(Daemon::start(&gateway.config()));
        Self { daemon, ..gateway }
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("dgt2mqtt.toml")
    }

    fn write(&self, boards: usize, announce: bool) {
        let password = self.folder.path().join("password");
        fs::write(&password, "hunter2").unwrap();
        let mut text = format!(
            "[gateway]\nname = \"{}\"\nbase_topic = \"open/a\"\nannounce = {announce}\n[journal]\npath = \"journal.sqlite\"\n\
             [limits]\nshutdown_timeout_s = 1\n\
             [broker]\nurls = [\"mqtt://127.0.0.1:1\", \"mqtt://other.example\"]\nusername = \"anna\"\npassword_file = \"password\"\npassword_in_clear = true\n",
            self.name
        );
        for board in 0..boards {
            text += &format!("[[board]]\nid = \"{board}\"\nport = \"usb:nowhere-{board}\"\n");
        }
        fs::write(self.config(), text).unwrap();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("daemon.log")).unwrap()
    }

    fn daemon(&mut self) -> Daemon {
        self.daemon.take().unwrap()
    }
}

/// What is listed of gateways of this name, and all that was said.
fn listed(name: &str) -> (Vec<Value>, String) {
    let output = program()
        .args(["gateways", "--json", "--seconds", "2"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = String::from_utf8(output.stderr).unwrap();
    (lines.filter(|line| line["name"] == name).collect(), text + &said)
}

fn boards(name: &str) -> Vec<u64> {
    let (lines, _) = listed(name);
    lines
        .iter()
        .map(|line| line["boards"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_gateway_is_found_while_it_wants_to_be() {
    if !has_multicast() {
        return;
    }
    let name = format!("found-{}", process::id());
    let silent_name = format!("silent-{}", process::id());
    let mut gateway = Gateway::start(&name, 2, true);
    let mut silent = Gateway::start(&silent_name, 1, false);
    let (line, said) = until("an announcement", PATIENCE, || {
        let (lines, said) = listed(&name);
        lines.first().cloned().map(|line| (line, said))
    });
    assert_eq!(line["base_topic"], "open/a");
    assert_eq!(line["broker"], "mqtt://127.0.0.1:1");
    assert_eq!(line["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(line["boards"], 2);
    assert!(!line["addresses"].as_array().unwrap().is_empty(), "{line}");
    assert!(!said.contains("hunter") && !said.contains("anna"), "{said}");
    assert!(!said.contains(&silent_name), "{said}");

    // A reload takes over how many boards there are, and that it is enough.
    let daemon = gateway.daemon();
    gateway.write(3, true);
    daemon.signal("HUP");
    until("three boards", PATIENCE, || (boards(&name) == [3]).then_some(()));
    gateway.write(3, false);
    daemon.signal("HUP");
    until("silence", PATIENCE, || boards(&name).is_empty().then_some(()));
    assert!(
        gateway.log().contains("taken over: gateway.announce"),
        "{}",
        gateway.log()
    );
    gateway.write(3, true);
    daemon.signal("HUP");
    until("an announcement again", PATIENCE, || {
        (boards(&name) == [3]).then_some(())
    });

    assert!(daemon.stop());
    until("a farewell", PATIENCE, || boards(&name).is_empty().then_some(()));
    assert!(silent.daemon().stop());
}

#[test]
fn a_second_gateway_of_a_name_is_told() {
    if !has_multicast() {
        return;
    }
    let name = format!("twin-{}", process::id());
    let first = Gateway::start(&name, 1, true);
    until("the first", PATIENCE, || (boards(&name) == [1]).then_some(()));
    let second = Gateway::start(&name, 2, true);
    until("a warning", PATIENCE, || {
        let told = format!("another gateway is announced as {name}");
        second.log().contains(&told).then_some(())
    });
    until("both", PATIENCE, || {
        let (lines, said) = listed(&name);
        (lines.len() == 2 && said.contains(&format!("two gateways are called {name}"))).then_some(())
    });
    assert!(!first.log().contains("another gateway"), "{}", first.log());
}
