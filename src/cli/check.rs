//! `dgt2mqtt check`: says in words what a configuration means, and on request tries what it names.

mod outward;

use std::{
    fmt::Write as _,
    io,
    net::{TcpStream, ToSocketAddrs},
    path::Path,
    time::Duration,
};

use anyhow::bail;

use super::in_force;
use crate::{
    config::{Board, Broker, BrokerUrl, Config, Env, Id, Port, Rules},
    game::Period,
    laws::{Edition, Supervision, TimeControl},
    link::same_number,
    watcher::{ClockSideSetting, OrientationSetting},
};
use outward::{describe_alerts, describe_broadcast, describe_people};

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How `--connect` tries what a connection alone does not tell. The answer is a sentence for a
/// person: what was found, or what is wrong and what to do.
pub(super) struct Reach<'a> {
    /// Opens a port and asks the board who it is.
    pub(super) port: &'a dyn Fn(&Board) -> Result<Found, String>,
    /// Opens an MQTT session at an address that accepts connections, and looks who has our name there.
    pub(super) session: &'a dyn Fn(&Config, &BrokerUrl) -> Result<String, String>,
}

/// What was found at a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// For a person.
    pub(super) words: String,
    /// The serial numbers that a board says, short and long.
    pub(super) serials: Vec<String>,
}

/// Checks the configuration and tells `out` what it means; with `reach` also what could be reached.
///
/// # Errors
/// `ConfigError` with all mistakes of the configuration; an error with the number of things that
/// could not be reached; an error of `out`.
pub(super) fn check(
    file: Option<&Path>,
    env: &Env,
    reach: Option<&Reach<'_>>,
    out: &mut dyn io::Write,
) -> anyhow::Result<()> {
    let path = Config::find(file, env)?;
    let mut config = Config::load(&path, env)?;
    writeln!(out, "{} is a good configuration.\n", path.display())?;
    in_force::take(&mut config, out)?;
    out.write_all(describe(&config).as_bytes())?;
    let Some(reach) = reach else {
        return Ok(());
    };
    match connect(&config, reach, out)? {
        0 => Ok(()),
        1 => bail!("one port or broker could not be reached"),
        failed => bail!("{failed} ports and brokers could not be reached"),
    }
}

/// Tries every port and broker; how many failed.
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

/// A word on a board that says the same serial number, if one of those that are `known` does.
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

/// Whether something listens at the address of a broker.
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

/// The configuration in sentences.
fn describe(config: &Config) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "Gateway {:?} publishes below {}/{}.",
        config.gateway.as_str(),
        config.base_topic,
        config.gateway
    );
    let _ = writeln!(
        text,
        "Commands of arbiters are {}.",
        if config.commands {
            "obeyed"
        } else {
            "not subscribed to"
        }
    );
    for board in &config.boards {
        describe_board(&mut text, board, &config.players(board));
    }
    describe_broker(&mut text, &config.broker);
    let journal = &config.journal;
    let _ = writeln!(
        text,
        "\nJournal {}: up to {} MiB and {} days; events that were not delivered are kept in any case.",
        journal.path.display(),
        journal.max_size / (1024 * 1024),
        journal.max_age.as_secs() / 86_400,
    );
    if let Some(broadcast) = &config.broadcast {
        describe_broadcast(&mut text, broadcast);
    }
    describe_people(&mut text, &config.people);
    describe_alerts(&mut text, &config.alerts);
    let limits = &config.limits;
    let _ = writeln!(
        text,
        "Clocks at most every {:?}, health every {:?}; a stop takes up to {:?}.",
        limits.clock_interval, limits.health_interval, limits.shutdown_timeout,
    );
    text
}

fn describe_board(text: &mut String, board: &Board, players: &[Option<String>; 2]) {
    let _ = writeln!(
        text,
        "\nBoard {:?}: {}.",
        board.id.as_str(),
        port_words(&board.port)
    );
    let _ = writeln!(text, "  Rules: {}.", rules_words(&board.rules));
    if let Some(family) = board.protocol.family() {
        let tells = if family.knows_pieces {
            "what stands on each square"
        } else {
            "only which squares are occupied; what stands there follows from the game"
        };
        let _ = writeln!(
            text,
            "  It speaks {}: {tells}. It has no clock (docs/boards.md).",
            family.name
        );
    }
    if board.gathered_ms > 0 {
        let _ = writeln!(
            text,
            "  What it says is gathered for {} ms on its way: times are uncertain by that much.",
            board.gathered_ms
        );
    }
    let orientation = match board.orientation {
        OrientationSetting::Auto if !board.protocol.knows_pieces() => {
            "which way round it lies is found from White's first move"
        }
        OrientationSetting::Auto => "which way round it lies is found from the start position",
        OrientationSetting::Normal => "the connector is at the a-file",
        OrientationSetting::Turned => "it lies turned by 180 degrees",
    };
    let clock = match board.clock_side {
        ClockSideSetting::Auto => "which side of the clock is White's is found when the game begins",
        ClockSideSetting::WhiteLeft => "White's time is on the left of the clock's front",
        ClockSideSetting::WhiteRight => "White's time is on the right of the clock's front",
    };
    let _ = writeln!(text, "  Table: {orientation}; {clock}.");
    if let [white, black] = players
        && (white.is_some() || black.is_some())
    {
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".to_owned());
        let _ = writeln!(text, "  Players: {} - {}.", name(white), name(black));
    }
    if let Some(doubt) = doubt(&board.rules) {
        let _ = writeln!(text, "  Note: {doubt}.");
    }
}

fn port_words(port: &Port) -> String {
    let text = port.as_str();
    if let Some((serial, line)) = port.shared() {
        return format!("with the serial number {serial} on the line at {line}");
    }
    match text.split_once(':') {
        Some(("usb", serial)) => format!("on the USB adapter with the serial number {serial}"),
        Some(("board", serial)) => format!("wherever the board with the serial number {serial} answers"),
        Some(("tcp", _)) => format!("over the network at {}", text.trim_start_matches("tcp://")),
        Some(("tcp+cap", _)) => format!(
            "over the network at {}, with the times of where it is attached",
            text.trim_start_matches("tcp+cap://")
        ),
        Some(("capture", file)) => format!("played from the recording {file}"),
        _ => format!("on the device {text}"),
    }
}

fn rules_words(rules: &Rules) -> String {
    let laws = match rules.laws {
        Edition::Laws1997 => "Laws of 1997 (as reprinted with Fritz)",
        Edition::Laws2014 => "Laws of 2014",
        Edition::Proposal2017 => "the Rules Commission's proposal of 2017",
        Edition::Laws2018 => "Laws of 2018",
        Edition::Laws2023 => "Laws of 2023",
    };
    let control = match rules.time_control {
        TimeControl::Standard => "standard chess",
        TimeControl::Rapid => "rapid chess",
        TimeControl::Blitz => "blitz",
    };
    let supervision = match (rules.time_control, rules.supervision) {
        (TimeControl::Standard, _) => "",
        (_, Supervision::Adequate) => " under the Competition Rules",
        (_, Supervision::NotAdequate) => " without enough arbiters for the Competition Rules",
    };
    let periods: Vec<_> = rules.periods.iter().map(period_words).collect();
    let periods = if periods.is_empty() {
        "periods unknown".to_owned()
    } else {
        periods.join(", then ")
    };
    format!("{laws}, {control}{supervision}, {periods}")
}

fn period_words(period: &Period) -> String {
    let mut words = match period.moves {
        Some(moves) => format!("{moves} moves in {} minutes", period.minutes),
        None => format!("{} minutes", period.minutes),
    };
    if period.increment > 0 {
        let _ = write!(words, " with {} seconds a move", period.increment);
    }
    words
}

/// What looks like an oversight: periods that belong to another time control. The Laws count the
/// main time and sixty increments (A.1, B.1).
fn doubt(rules: &Rules) -> Option<String> {
    if rules.periods.is_empty() {
        return None;
    }
    let minutes: u32 = rules
        .periods
        .iter()
        .map(|period| period.minutes + period.increment)
        .sum();
    let fits = match minutes {
        0..=10 => TimeControl::Blitz,
        11..=59 => TimeControl::Rapid,
        _ => TimeControl::Standard,
    };
    let name = |control| match control {
        TimeControl::Standard => "standard",
        TimeControl::Rapid => "rapid",
        TimeControl::Blitz => "blitz",
    };
    (fits != rules.time_control).then(|| {
        format!(
            "{minutes} minutes for 60 moves would be {}, but time_control is {}",
            name(fits),
            name(rules.time_control)
        )
    })
}

fn describe_broker(text: &mut String, broker: &Broker) {
    let urls: Vec<_> = broker.urls.iter().map(ToString::to_string).collect();
    let login = match &broker.login {
        None => "without a user name".to_owned(),
        Some(login) => {
            let password = if login.password.is_some() {
                "a password"
            } else {
                "no password"
            };
            format!("as user {:?} with {password}", login.username)
        }
    };
    let _ = writeln!(
        text,
        "\nBroker {} {login}, session {:?}, pinged after {} seconds of silence.",
        urls.join(", then "),
        broker.client_id,
        broker.keep_alive.as_secs()
    );
    match &broker.tls {
        Some(tls) => {
            let own = if tls.client.is_some() {
                ", with a certificate of our own"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "  Encrypted; its certificate is checked against {}{own}.",
                tls.ca_file.display()
            );
        }
        None if broker
            .login
            .as_ref()
            .is_some_and(|login| login.password.is_some())
            && !broker.urls.iter().all(|url| is_local(&url.host)) =>
        {
            let _ = writeln!(
                text,
                "  Note: the password crosses the network unencrypted; mqtts:// would encrypt it."
            );
        }
        None => {}
    }
}

fn is_local(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::{fs, net::TcpListener};

    use super::*;
    use crate::config::ConfigError;

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
        let closed = TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .local_addr()
            .expect("its address");
        let text = format!(
            "[gateway]\nname = \"a\"\n[[board]]\nid = \"1\"\nport = \"usb:1\"\n[[board]]\nid = \"2\"\nport = \"usb:2\"\n\
             [broker]\nurls = [\"mqtt://{}\", \"mqtt://{closed}\"]\n",
            open.local_addr().expect("its address"),
        );
        let reach = Reach {
            port: &|board| match board.port.as_str() {
                "usb:1" => Ok(Found {
                    words: "board 12345 answers".to_owned(),
                    ..Found::default()
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
