//! Tells in sentences what a configuration means.

use std::fmt::Write as _;

use super::outward::{describe_alerts, describe_broadcast, describe_people};
use crate::{
    config::{BoardConfig, BrokerConfig, BrokerUrl, Collector, Config, PortName, Rules},
    laws::TimeControl,
    watcher::{ClockSideSetting, OrientationSetting},
};

/// The configuration in sentences.
pub(super) fn describe(config: &Config) -> String {
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
    if config.announce {
        text.push_str(
            "It announces its name, topics, boards and broker to everybody in the local network.\n",
        );
    }
    for board in &config.boards {
        describe_board(&mut text, board, &config.players(board));
    }
    describe_broker(&mut text, &config.broker);
    if let [language] = config.broker.languages[..] {
        let _ = writeln!(
            text,
            "Texts of irregularities are in {:?} alone.",
            language.as_str()
        );
    }
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

/// What the dashboard does with its configuration, in sentences.
pub(super) fn describe_collector(collector: &Collector) -> String {
    let mut text = format!("The page listens below {}.\n", collector.base_topic);
    for broker in &collector.brokers {
        describe_broker(&mut text, broker);
    }
    for broadcast in &collector.broadcasts {
        describe_broadcast(&mut text, broadcast);
    }
    describe_people(&mut text, &collector.people);
    text
}

fn describe_board(text: &mut String, board: &BoardConfig, players: &[Option<String>; 2]) {
    let _ = writeln!(
        text,
        "\nBoard {:?}: {}.",
        board.id.as_str(),
        port_words(&board.port)
    );
    let _ = writeln!(text, "  Rules: {}.", board.rules.in_words());
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

fn port_words(port: &PortName) -> String {
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

/// The words on what looks like an oversight: periods that belong to another time control. The Laws count the main time
/// and sixty increments (A.1, B.1).
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

fn describe_broker(text: &mut String, broker: &BrokerConfig) {
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
            && broker.urls.iter().any(BrokerUrl::is_readable) =>
        {
            let _ = writeln!(
                text,
                "  Note: the password crosses the network unencrypted, as `password_in_clear` allows; mqtts:// would encrypt it."
            );
        }
        None => {}
    }
}
