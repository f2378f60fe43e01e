//! `dgt2mqtt check`: says in words what a configuration means, and on request tries the ports and brokers that it
//! names.

mod describe;
mod hall;
mod outward;

use std::{
    io,
    net::{TcpStream, ToSocketAddrs},
    path::Path,
    time::Duration,
};

use anyhow::bail;

use super::in_force;
use crate::{
    config::{BoardConfig, BrokerUrl, Collector, Config, ConfigError, Env, Id, IsAlone},
    link::same_number,
};
use describe::{describe, describe_collector};
use outward::describe_groups;

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The tries of `--connect` that need more than a TCP connection. Each answers with a sentence for a person: what it
/// found, or what is wrong and what to do.
pub(super) struct Reach<'a> {
    /// Opens a port and asks the board who it is.
    pub(super) port: &'a dyn Fn(&BoardConfig) -> Result<PortFinding, String>,
    /// Opens an MQTT session at an address that accepts connections, and looks which gateway has our name there.
    pub(super) session: &'a dyn Fn(&Config, &BrokerUrl) -> Result<String, String>,
}

/// The result of trying a port.
#[derive(Clone, Debug, Default)]
pub(super) struct PortFinding {
    /// The words for a person.
    pub(super) words: String,
    /// The serial numbers that the board tells, short and long.
    pub(super) serials: Vec<String>,
}

/// Checks the configuration and tells `out` what it means. With `reach` it also tries the ports and brokers.
///
/// # Errors
/// `ConfigError` with all mistakes of the configuration, the number of things that could not be reached, or an error of
/// `out`.
pub(super) fn check(
    file: Option<&Path>,
    env: &Env,
    reach: Option<&Reach<'_>>,
    out: &mut dyn io::Write,
) -> anyhow::Result<()> {
    let path = Config::find(file, env)?;
    let of_dashboard = Collector::of_dashboard(&path, env)?;
    if let Some((collector, IsAlone(true))) = &of_dashboard {
        return check_dashboard(&path, collector, reach.is_some(), out);
    }
    let mut gateways = Config::load_all(&path, env)?;
    let groups = of_dashboard.map_or_else(String::new, |(collector, _)| describe_groups(&collector));
    let [config] = &mut gateways[..] else {
        return check_hall(&path, &gateways, &groups, reach.is_some(), out);
    };
    writeln!(out, "{} is a good configuration.\n", path.display())?;
    in_force::take(config, out)?;
    out.write_all(describe(config).as_bytes())?;
    out.write_all(groups.as_bytes())?;
    let Some(reach) = reach else {
        return Ok(());
    };
    match connect(config, reach, out)? {
        0 => Ok(()),
        1 => bail!("one port or broker could not be reached"),
        failed => bail!("{failed} ports and brokers could not be reached"),
    }
}

/// Tells `out` of a file that is for the dashboard alone.
fn check_dashboard(
    path: &Path,
    collector: &Collector,
    connect: bool,
    out: &mut dyn io::Write,
) -> anyhow::Result<()> {
    writeln!(
        out,
        "{} is a good configuration for `dgt2mqtt dashboard`; no gateway is in it.\n",
        path.display()
    )?;
    out.write_all(describe_collector(collector).as_bytes())?;
    if connect {
        bail!("--connect tries the ports and brokers of a gateway, and the file has none");
    }
    Ok(())
}

/// Tells `out` of all gateways of a hall.
fn check_hall(
    path: &Path,
    gateways: &[Config],
    groups: &str,
    connect: bool,
    out: &mut dyn io::Write,
) -> anyhow::Result<()> {
    let conflicts = hall::conflicts(gateways);
    if !conflicts.is_empty() {
        bail!(ConfigError::Between {
            path: path.to_owned(),
            conflicts,
        });
    }
    writeln!(out, "{} is a good configuration.\n", path.display())?;
    out.write_all(hall::describe(gateways).as_bytes())?;
    out.write_all(groups.as_bytes())?;
    if connect {
        bail!(
            "--connect tries the ports and brokers of one gateway, from its machine: name it by --gateway NAME"
        );
    }
    Ok(())
}

/// Tries every port and broker, and returns how many failed.
fn connect(config: &Config, reach: &Reach<'_>, out: &mut dyn io::Write) -> io::Result<usize> {
    let mut failed = 0;
    let mut tell = |what: String, outcome: Result<String, String>| {
        let (mark, sentence) = match outcome {
            Ok(found) => ("ok    ", found),
            Err(wrong) => {
                failed += 1;
                ("FAILED", wrong)
            }
        };
        writeln!(out, "{mark} {what}: {sentence}")
    };
    let mut known: Vec<(&Id, Vec<String>)> = Vec::new();
    for board in &config.boards {
        let found = (reach.port)(board).map(|found| {
            let words = found.words + &doubled(&known, &found.serials);
            known.push((&board.id, found.serials));
            words
        });
        tell(format!("board {} on {}", board.id, board.port), found)?;
    }
    for url in &config.broker.urls {
        let outcome = connect_tcp(url).and_then(|()| (reach.session)(config, url));
        tell(format!("broker {url}"), outcome)?;
    }
    Ok(failed)
}

/// The words on another board that tells the same serial number, if one of `known` does.
fn doubled(known: &[(&Id, Vec<String>)], serials: &[String]) -> String {
    let says = |serial: &String, others: &[String]| others.iter().any(|other| same_number(other, serial));
    let pair = serials.iter().find_map(|serial| {
        let (other, _) = known.iter().find(|(_, others)| says(serial, others))?;
        Some((serial, other))
    });
    pair.map_or_else(String::new, |(serial, other)| {
        format!(
            ". Board {other} says the same number: name both by their ports, not as `board:{serial}`, and do not exchange their cables"
        )
    })
}

/// True where something listens at the address of a broker.
pub(super) fn connect_tcp(url: &BrokerUrl) -> Result<(), String> {
    let addresses = (url.host.as_str(), url.port).to_socket_addrs().map_err(|error| {
        format!(
            "the name {} leads nowhere ({error}); check its spelling and the DNS",
            url.host
        )
    })?;
    let mut last = format!("the name {} has no address", url.host);
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                last = format!("nothing listens at {address}; check that the broker runs, and its port");
            }
            Err(error) => {
                last = format!("no answer from {address} ({error}); check the network and firewalls");
            }
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::{fs, net::TcpListener};

    use tokio::net::TcpSocket;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.toml");
        fs::write(&path, text).expect("a file");
        (folder, path)
    }

    fn home() -> Env {
        Env::from([("HOME", "/home/anna")])
    }

    fn said(text: &str, reach: Option<&Reach<'_>>) -> (anyhow::Result<()>, String) {
        let (_folder, path) = file(text);
        let mut out = Vec::new();
        let result = check(Some(&path), &home(), reach, &mut out);
        (result, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn tells_what_a_configuration_means() {
        let (result, words) = said(
            "[gateway]\nname = \"hall\"\n[event]\ntime_control = \"rapid\"\n\
             periods = [{ moves = 40, minutes = 15, increment = 10 }, { minutes = 5 }]\n\
             [[board]]\nid = \"7\"\nport = \"board:3000147740\"\nclock_side = \"white_left\"\ngathered_ms = 500\ntable = { white = \"Anna\" }\n\
             [broker]\nurls = [\"mqtt://10.0.0.9\"]\n",
            None,
        );
        result.expect("good");
        for part in [
            "publishes below dgt2mqtt/hall",
            "the board with the serial number 3000147740",
            "Laws of 2023, rapid chess under the Competition Rules, 40 moves in 15 minutes with 10 seconds a move, then 5 minutes",
            "White's time is on the left",
            "gathered for 500 ms",
            "Anna - ?",
            "mqtt://10.0.0.9:1883 without a user name",
        ] {
            assert!(words.contains(part), "{part:?} is missing in\n{words}");
        }
        assert!(!words.contains("Note"), "{words}");
    }

    #[test]
    fn tells_who_broadcasts_groups_and_what_a_file_of_the_dashboard_means() {
        let groups = "[broadcast]\nfolder = \"open\"\n[broadcast.groups.women]\nboards = [\"hall/7\"]\n";
        let daemon = "[gateway]\nname = \"hall\"\n[[board]]\nid = \"7\"\nport = \"usb:1\"\n";
        let (result, words) = said(&format!("{daemon}{groups}"), None);
        result.expect("good");
        assert!(words.contains("publishes below dgt2mqtt/hall"), "{words}");
        assert!(
            words.contains("no daemon does:\nBroadcast of \"women\", round 1 from 1 boards"),
            "{words}"
        );
        let (result, words) = said(groups, None);
        result.expect("good");
        assert!(
            words.contains("for `dgt2mqtt dashboard`; no gateway is in it"),
            "{words}"
        );
        assert!(words.contains("Broker mqtt://localhost:1883"), "{words}");
        assert!(words.contains("Broadcast of \"women\", round 1"), "{words}");
        let (result, _) = said(&groups.replace("hall/7", "7"), None);
        assert!(result.is_err(), "a mistake is told there as well");
    }

    #[test]
    fn tells_who_may_look_and_when() {
        let token = tempfile::NamedTempFile::new().expect("a file");
        fs::write(token.path(), "0123456789abcdef").expect("written");
        let (result, words) = said(
            &format!(
                "[gateway]\nname = \"hall\"\n[[board]]\nid = \"7\"\nport = \"usb:1\"\n\
                 [broadcast]\nfolder = \"open\"\ndelay_minutes = 1\ndelay_seconds = 30\ndelay_moves = 2\nlisten = \"127.0.0.1:8065\"\n\
                 [[dashboard.people]]\nname = \"Anna\"\nrole = \"read_only\"\ntoken_file = \"{}\"\n",
                token.path().display()
            ),
            None,
        );
        result.expect("good");
        for part in [
            "1 minutes and 30 seconds and 2 moves later",
            "Anybody may look at it at http://127.0.0.1:8065/",
            "\"Anna\" may open the arbiter's page to read only",
        ] {
            assert!(words.contains(part), "{part:?} is missing in\n{words}");
        }
        assert!(!words.contains("0123456789abcdef"), "{words}");
    }

    #[test]
    fn doubts_periods_of_another_time_control() {
        let (_, words) = said(
            "[gateway]\nname = \"a\"\n[event]\nperiods = [{ minutes = 3, increment = 2 }]\n[[board]]\nid = \"1\"\nport = \"usb:1\"\n",
            None,
        );
        assert!(
            words.contains("5 minutes for 60 moves would be blitz, but time_control is standard"),
            "{words}"
        );
    }

    #[test]
    fn a_bad_configuration_is_told_apart_from_other_failures() {
        let (result, words) = said("[gateway]\n", None);
        let error = result.expect_err("bad");
        assert!(error.downcast_ref::<ConfigError>().is_some(), "{error}");
        assert_eq!(words, "");
    }

    #[test]
    fn connect_tries_everything_and_counts() {
        let open = TcpListener::bind("127.0.0.1:0").expect("a port");
        // It keeps the port, and listens to nobody.
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind("127.0.0.1:0".parse().expect("an address"))
            .expect("a port");
        let closed = socket.local_addr().expect("its address");
        let text = format!(
            "[gateway]\nname = \"a\"\n[[board]]\nid = \"1\"\nport = \"usb:1\"\n[[board]]\nid = \"2\"\nport = \"usb:2\"\n\
             [broker]\nurls = [\"mqtt://{}\", \"mqtt://{closed}\"]\n",
            open.local_addr().expect("its address"),
        );
        let reach = Reach {
            port: &|board| match board.port.as_str() {
                "usb:1" => Ok(PortFinding {
                    words: "board 12345 answers".to_owned(),
                    ..PortFinding::default()
                }),
                _ => Err("no such adapter; plug it in".to_owned()),
            },
            session: &|_, _| Ok("welcomes us".to_owned()),
        };
        let (result, words) = said(&text, Some(&reach));
        assert_eq!(
            result.expect_err("two fail").to_string(),
            "2 ports and brokers could not be reached"
        );
        assert!(
            words.contains("ok     board 1 on usb:1: board 12345 answers"),
            "{words}"
        );
        assert!(
            words.contains("FAILED board 2 on usb:2: no such adapter"),
            "{words}"
        );
        assert!(words.contains("welcomes us"), "{words}");
        assert!(words.contains("nothing listens at"), "{words}");
    }
}
