//! Turns the raw shape into checked values.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    ops::Range,
    time::Duration,
};

use toml::Spanned;

use super::{
    ArchiveConfig, BaseTopic, BoardConfig, Collector, Config, Env, Id, JournalConfig, LimitsConfig, PortName,
    Rules, TableConfig, alert, archive,
    broadcast::broadcast,
    broker,
    checked::{parse, within},
    dashboard,
    line::{self, LinePorts, Places},
    raw::{RawBoard, RawConfig, RawHomeAssistant, RawJournal, RawLimits},
    read::Document,
};
use crate::{
    game::Period,
    watcher::{MOST_GATHERED_MS, Protocol},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The configuration that the shape stands for; none where a value without a default is missing or wrong. Every problem
/// is noted in `document`.
pub(super) fn validate(raw: RawConfig, document: &mut Document<'_>, env: &Env) -> Option<Config> {
    let gateway = match raw.gateway.name {
        Some(name) => parse::<Id>(name, document),
        None => {
            document.missing(
                None,
                "the gateway has no name",
                "write `name = \"...\"` under [gateway]; events keep it in their ids, so no two gateways of a broker may share one",
            );
            None
        }
    };
    let base_topic = match raw.gateway.base_topic {
        Some(topic) => parse(topic, document),
        None => Some(BaseTopic::default()),
    };
    let event = Rules {
        laws: raw.event.laws.unwrap_or_default(),
        time_control: raw.event.time_control.unwrap_or_default(),
        supervision: raw.event.supervision.unwrap_or_default(),
        periods: raw
            .event
            .periods
            .map_or_else(Vec::new, |list| periods(list, document)),
        contested: raw.event.contested.unwrap_or_default(),
    };
    let (lines, listed) = line::lines(raw.line, document);
    let list = raw.board.into_iter().chain(listed).collect();
    let mut boards = boards(list, &lines, &event, document);
    line::share(&mut boards);
    let client_id = gateway
        .as_ref()
        .map_or_else(String::new, |id| format!("dgt2mqtt-{id}"));
    let broker = broker::broker(&raw.broker, &client_id, document);
    let journal = journal(raw.journal, document, env);
    let limits = limits(&raw.limits, document);
    let metrics = raw.metrics.listen.and_then(|listen| metrics(&listen, document));
    let known: Vec<String> = boards.iter().map(|board| board.id.to_string()).collect();
    let broadcast = match &raw.broadcast {
        Some(raw) => Some(broadcast(
            raw,
            &known,
            gateway.as_ref(),
            &event.periods,
            document,
        )?),
        None => None,
    };
    let people = dashboard::people(&raw.dashboard, document);
    let alerts = alert::alerts(&raw.alert, document);
    let home_assistant = match raw.home_assistant {
        Some(RawHomeAssistant { prefix: Some(prefix) }) => Some(parse::<BaseTopic>(prefix, document)?),
        Some(RawHomeAssistant { prefix: None }) => "homeassistant".parse().ok(),
        None => None,
    };
    Some(Config {
        gateway: gateway?,
        base_topic: base_topic?,
        commands: raw.gateway.commands.unwrap_or(false),
        announce: raw.gateway.announce.unwrap_or(false),
        boards,
        searched: lines.searched,
        broker: broker?,
        journal: journal?,
        limits,
        metrics,
        broadcast,
        people,
        alerts: alerts?,
        in_force: None,
        bound: None,
        home_assistant,
    })
}

/// The configuration of a collector; `boards` are those of the gateways of a whole hall, as `GATEWAY/BOARD`. The rest of the shape is read and not checked.
pub(super) fn collector(
    raw: RawConfig,
    mut boards: Vec<String>,
    document: &mut Document<'_>,
) -> Option<Collector> {
    let base_topic = match raw.gateway.base_topic {
        Some(topic) => parse(topic, document),
        None => Some(BaseTopic::default()),
    };
    let gateway = raw.gateway.name.and_then(|name| parse::<Id>(name, document));
    let broker = broker::broker(&raw.broker, "dgt2mqtt-dashboard", document);
    let periods = raw
        .event
        .periods
        .map_or_else(Vec::new, |list| periods(list, document));
    let own = raw.board.iter().filter_map(|board| board.get_ref().id.as_ref());
    if let Some(gateway) = &gateway {
        boards.extend(own.map(|id| format!("{gateway}/{}", id.get_ref())));
    }
    let broadcast = match &raw.broadcast {
        Some(raw) => Some(broadcast(raw, &boards, None, &periods, document)?),
        None => None,
    };
    let people = dashboard::people(&raw.dashboard, document);
    Some(Collector {
        base_topic: base_topic?,
        brokers: vec![broker?],
        broadcasts: broadcast.into_iter().collect(),
        people,
    })
}

/// The configuration of an archive. The rest of the shape is read and not checked: it may name files that the archive's
/// user cannot read.
pub(super) fn archive(raw: RawConfig, document: &mut Document<'_>) -> Option<ArchiveConfig> {
    let base_topic = match raw.gateway.base_topic {
        Some(topic) => parse(topic, document),
        None => Some(BaseTopic::default()),
    };
    let broker = broker::broker(&raw.broker, "dgt2mqtt-archive", document);
    let (database, tournament) = archive::archive(raw.archive.as_ref(), document)?;
    Some(ArchiveConfig {
        base_topic: base_topic?,
        brokers: vec![broker?],
        database,
        tournament,
    })
}

fn periods(list: Vec<Spanned<Period>>, document: &mut Document<'_>) -> Vec<Period> {
    let last = list.len().saturating_sub(1);
    let mut periods = Vec::with_capacity(list.len());
    for (index, period) in list.into_iter().enumerate() {
        let span = period.span();
        let period = period.into_inner();
        match period.moves {
            Some(0) => document.problem(
                span.clone(),
                "a period of no moves",
                "leave `moves` out for the rest of the game",
            ),
            None if index < last => document.problem(
                span.clone(),
                "a period for the rest of the game is followed by another",
                "give `moves` in every period but the last",
            ),
            Some(_) | None => {}
        }
        if period.minutes == 0 && period.increment == 0 {
            document.problem(
                span.clone(),
                "a period without time",
                "give `minutes`, or seconds of `increment`",
            );
        }
        if period.minutes > 600 || period.increment > 3600 {
            document.problem(
                span,
                "a period longer than any game",
                "`minutes` counts minutes, 600 at most; `increment` counts seconds, 3600 at most",
            );
        }
        periods.push(period);
    }
    periods
}

fn boards(
    list: Vec<Spanned<RawBoard>>,
    lines: &LinePorts,
    event: &Rules,
    document: &mut Document<'_>,
) -> Vec<BoardConfig> {
    if list.is_empty() {
        document.missing(
            None,
            "there is no board",
            "add a table [[board]] with `id` and `port`; `dgt2mqtt ports` lists what is attached",
        );
    }
    let mut taken = Taken::default();
    let mut boards = Vec::with_capacity(list.len());
    for raw in list {
        let span = raw.span();
        boards.extend(board(raw.into_inner(), &span, lines, event, &mut taken, document));
    }
    boards
}

fn board(
    mut raw: RawBoard,
    span: &Range<usize>,
    lines: &LinePorts,
    event: &Rules,
    taken: &mut Taken,
    document: &mut Document<'_>,
) -> Option<BoardConfig> {
    let is_on_line = raw.line.is_some();
    let place = lines.port(&mut raw, span, document);
    let id = taken.id(raw.id, span, document);
    let port = match place {
        // The problem of its line was noted.
        None if is_on_line => None,
        place => taken.port(place, span, document),
    };
    let name = raw.protocol.name();
    if raw.protocol != Protocol::Dgt
        && let Some(port) = port.as_ref().filter(|port| port.is_board_serial())
    {
        document.problem(
            span.clone(),
            format!("{port} is looked for by asking boards for their serial number, and boards that speak {name} cannot be asked"),
            "name the device, \"usb:SERIAL\" or \"tcp://HOST:PORT\"; `dgt2mqtt ports` lists what is there",
        );
    }
    let most = MOST_GATHERED_MS as u32;
    let gathered = within(raw.gathered_ms.as_ref(), 0, 0..=most, "ms", document);
    if let Some(raw_ms) = raw.gathered_ms.filter(|_| raw.protocol != Protocol::Dgt) {
        document.problem(
            raw_ms.span(),
            format!("a board that speaks {name} tells no times that gathering could spoil"),
            "leave `gathered_ms` out",
        );
    }
    let rules = Rules {
        laws: raw.laws.unwrap_or(event.laws),
        time_control: raw.time_control.unwrap_or(event.time_control),
        supervision: raw.supervision.unwrap_or(event.supervision),
        periods: raw
            .periods
            .map_or_else(|| event.periods.clone(), |list| periods(list, document)),
        contested: raw.contested.unwrap_or(event.contested),
    };
    Some(BoardConfig {
        id: id?,
        port: port?,
        protocol: raw.protocol,
        gathered_ms: gathered.into(),
        boards_on_line: 0,
        rules,
        orientation: raw.orientation,
        clock_side: raw.clock_side,
        table: TableConfig {
            white: raw.table.white,
            black: raw.table.black,
        },
    })
}

/// The ids and ports so far: no two boards may share one.
#[derive(Default)]
struct Taken {
    ids: HashSet<Id>,
    /// The names of ports, by the device behind each, since a port may have several names.
    ports: HashMap<String, PortName>,
    places: Places,
}

impl Taken {
    fn id(
        &mut self,
        raw: Option<Spanned<String>>,
        board: &Range<usize>,
        document: &mut Document<'_>,
    ) -> Option<Id> {
        let Some(raw) = raw else {
            let help = "write `id = \"...\"`, for example the number of its table";
            document.missing(Some(board.clone()), "the board has no id", help);
            return None;
        };
        let span = raw.span();
        let id: Id = parse(raw, document)?;
        if self.ids.insert(id.clone()) {
            return Some(id);
        }
        let what = format!("two boards have the id {:?}", id.as_str());
        document.problem(span, what, "give each board its own id");
        None
    }

    fn port(
        &mut self,
        raw: Option<Spanned<String>>,
        board: &Range<usize>,
        document: &mut Document<'_>,
    ) -> Option<PortName> {
        let Some(raw) = raw else {
            let help = "write `port = \"...\"`; `dgt2mqtt ports` lists what is attached";
            document.missing(Some(board.clone()), "the board has no port", help);
            return None;
        };
        let span = raw.span();
        let mut port: PortName = parse(raw, document)?;
        if let Some(file) = port.capture() {
            port = PortName::from_capture(&document.resolve(file));
        }
        if let Some((serial, line)) = port.shared() {
            return self.place(serial, line, &port, span, document);
        }
        let device = port.device();
        if self.places.has(&device) {
            let what = format!("{:?} is the port of a line", port.as_str());
            document.problem(
                span,
                what,
                "a board on a line has `line` and `serial` in place of `port`",
            );
            return None;
        }
        let Some(other) = self.ports.insert(device.clone(), port.clone()) else {
            return Some(port);
        };
        let what = if other == port {
            format!("two boards are on the port {:?}", port.as_str())
        } else {
            format!(
                "two boards are on one port: {:?} and {:?} are both {device}",
                other.as_str(),
                port.as_str()
            )
        };
        document.problem(span, what, "give each board its own port");
        None
    }
}

impl Taken {
    /// Takes a place at a line: no other board may have the line's port, and each address belongs to one board.
    fn place(
        &mut self,
        serial: &str,
        line: &str,
        port: &PortName,
        span: Range<usize>,
        document: &mut Document<'_>,
    ) -> Option<PortName> {
        let device = parse::<PortName>(Spanned::new(span.clone(), line.to_owned()), document)?.device();
        if let Some(other) = self.ports.get(&device) {
            let what = format!(
                "the port of the line is the port {:?} of a board, too",
                other.as_str()
            );
            document.problem(
                span,
                what,
                "a board on a line has `line` and `serial` in place of `port`",
            );
            return None;
        }
        match self.places.take(device, serial) {
            Ok(()) => Some(port.clone()),
            Err(other) => {
                let what = format!("the boards {other} and {serial} have one address on their line");
                let help = "an address is what is left of a serial number divided by 16384: put one of them on another line";
                document.problem(span, what, help);
                None
            }
        }
    }
}

fn journal(raw: RawJournal, document: &mut Document<'_>, env: &Env) -> Option<JournalConfig> {
    let size = within(raw.max_size_mib.as_ref(), 256, 1..=1_048_576, "MiB", document);
    let age = within(raw.max_age_days.as_ref(), 90, 1..=36_500, "days", document);
    let path = match raw.path {
        Some(path) => Some(document.resolve(&path)),
        None => env.default_journal(document.path()),
    };
    if path.is_none() {
        document.missing(
            None,
            "it is not known where the journal may be kept: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set",
            "write `path = \"...\"` under [journal]",
        );
    }
    Some(JournalConfig {
        path: path?,
        max_size: u64::from(size) * 1024 * 1024,
        max_age: DAY * age,
        captures: raw.captures.unwrap_or(false),
    })
}

/// The address for the figures. It must be on this computer, because the figures need no token.
fn metrics(listen: &Spanned<String>, document: &mut Document<'_>) -> Option<SocketAddr> {
    const HELP: &str = "write for instance \"127.0.0.1:9469\"; from elsewhere let a proxy fetch it";
    match listen.get_ref().parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Some(address),
        Ok(address) => {
            let what = format!("{address} could be reached from other computers, and anybody may ask there");
            document.problem(listen.span(), what, HELP);
            None
        }
        Err(_) => {
            let what = format!("{:?} is no address with a port", listen.get_ref());
            document.problem(listen.span(), what, HELP);
            None
        }
    }
}

fn limits(raw: &RawLimits, document: &mut Document<'_>) -> LimitsConfig {
    let clock = within(
        raw.clock_interval_ms.as_ref(),
        1000,
        100..=60_000,
        "milliseconds",
        document,
    );
    let health = within(raw.health_interval_s.as_ref(), 30, 5..=3600, "seconds", document);
    let shutdown = within(raw.shutdown_timeout_s.as_ref(), 10, 1..=60, "seconds", document);
    LimitsConfig {
        clock_interval: Duration::from_millis(u64::from(clock)),
        health_interval: Duration::from_secs(u64::from(health)),
        shutdown_timeout: Duration::from_secs(u64::from(shutdown)),
    }
}
