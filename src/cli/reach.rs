//! The tries of `check --connect`: whether a board answers at a port, and whether a broker accepts us.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::check::PortFinding;
use crate::{
    board::Orientation,
    config::{BoardConfig, BrokerUrl, Config},
    dgt::PieceCode,
    families::{Family, occ1::Occupancy},
    journal::query::boot,
    link::{LinkSource, OpenError, ask, hear_position, line},
    mqtt::{
        Topics,
        look::{Holder, holder},
    },
};

/// How long a session may take to open.
const PATIENCE: Duration = Duration::from_secs(8);

fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
}

/// Opens the port and asks the board for its serial numbers. It only listens to a board that cannot be asked.
pub(super) fn port(board: &BoardConfig) -> Result<PortFinding, String> {
    let source: LinkSource = board.port.as_str().parse().map_err(|error| format!("{error}"))?;
    let is_heard = !matches!(source, LinkSource::Capture(_) | LinkSource::Timed(_));
    if let Some(family) = board.protocol.family().filter(|_| is_heard) {
        return heard(&source, family)?.map(words).ok_or_else(|| {
            format!(
                "the port opens, but nothing is said there that {} knows: is it the right port, and is the board switched on? \
                 (docs/boards.md)",
                family.name
            )
        });
    }
    spoken(&source)?.ok_or_else(|| "the port opens, but no board answers: is it switched on?".to_owned())
}

/// Opens the source and waits for a board of `family` to tell its position; none where nothing comes that the family
/// knows.
pub(super) fn heard(source: &LinkSource, family: &Family) -> Result<Option<String>, String> {
    let squares = runtime()?.block_on(hear_position(source, family));
    let squares = squares.map_err(|error| full(&error))?;
    Ok(squares.map(|squares| shown(family, &squares)))
}

/// Opens the source and asks which boards share the line there.
pub(super) fn line(source: &LinkSource) -> Result<line::Found, String> {
    runtime()?
        .block_on(async { Ok(line::discover(source.open().await?).await) })
        .map_err(|error: OpenError| full(&error))
}

/// Opens the source and asks the board there for its serial numbers; none where the board does not answer.
pub(super) fn spoken(source: &LinkSource) -> Result<Option<PortFinding>, String> {
    if let LinkSource::Capture(playback) = source {
        let known = crate::link::file::read_capture(playback.path());
        return known
            .map(|_| Some(words("a capture that can be read".to_owned())))
            .map_err(|e| full(&e));
    }
    if matches!(source, LinkSource::Timed(_)) {
        // Another listener would take the daemon's place there.
        return Ok(Some(words("not tried: only one can listen there".to_owned())));
    }
    match runtime()?.block_on(ask(source)) {
        Ok(numbers) if numbers.is_empty() => Ok(None),
        Ok(serials) => Ok(Some(PortFinding {
            words: format!("a board with the serial number {}", serials.join(" and ")),
            serials,
        })),
        Err(error) => Err(full(&error)),
    }
}

/// The position that a board tells, in its own numbering.
fn shown(family: &Family, squares: &[PieceCode; 64]) -> String {
    if family.knows_pieces {
        format!(
            "a board on which {} stands",
            Orientation::Normal.placement(squares).fen()
        )
    } else {
        format!("a board that says {}", Occupancy::of(squares))
    }
}

/// A finding with words and no serial number.
fn words(words: String) -> PortFinding {
    PortFinding {
        words,
        serials: Vec::new(),
    }
}

/// Opens an MQTT session under a client id of its own, so that a running daemon keeps its session. Then it looks
/// whether another gateway has our name.
pub(super) fn session(config: &Config, url: &BrokerUrl) -> Result<String, String> {
    let topics = Topics::new(&config.base_topic, &config.gateway);
    let found = runtime()?.block_on(holder(&config.broker, url, &topics, PATIENCE))?;
    let Some(Holder { boot_id, host }) = found else {
        return Ok("the broker lets us in".to_owned());
    };
    if boot(&config.journal.path).is_some_and(|own| own == boot_id) {
        return Ok("the broker lets us in, and the daemon of this configuration is online there".to_owned());
    }
    let whose = match host.as_str() {
        "" => "it does not say on which machine".to_owned(),
        host => format!("on the machine {host}, boot {boot_id}"),
    };
    // After so long a silence the broker ends a connection.
    let gives_up = config.broker.keep_alive * 3 / 2;
    Err(format!(
        "the broker lets us in, but another gateway named {:?} is online there ({whose}), and of two of one name one publishes \
         nothing: give this one another `name` under [gateway], or stop the other. After a power cut it may be this one, until the \
         broker has noticed, {} s later",
        config.gateway.as_str(),
        gives_up.as_secs_f64().ceil()
    ))
}

/// An error with its causes.
fn full(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
