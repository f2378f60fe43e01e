//! From the raw shape to values that mean something.

use std::{
    collections::HashSet,
    fs::File,
    hash::Hash,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use toml::Spanned;

use super::{
    BaseTopic, Board, Broker, BrokerUrl, ClientCertificate, Config, Env, Id, Journal, Limits, Login, Rules,
    Secret, Table, Tls,
    raw::{RawBoard, RawBroker, RawConfig, RawJournal, RawLimits},
    read::Document,
    value::ValueError,
};
use crate::watcher::Period;

/// Where distributions keep the certificates of public authorities.
const SYSTEM_AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What the shape means; none when something without a default is missing or wrong. Every problem
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
    };
    let boards = boards(raw.board, &event, document);
    let client_id = gateway
        .as_ref()
        .map_or_else(String::new, |id| format!("dgt2mqtt-{id}"));
    let brokers = brokers(raw.broker, &client_id, document);
    let journal = journal(raw.journal, document, env);
    let limits = limits(&raw.limits, document);
    Some(Config {
        gateway: gateway?,
        base_topic: base_topic?,
        commands: raw.gateway.commands.unwrap_or(true),
        boards,
        brokers,
        journal: journal?,
        limits,
    })
}

/// Reads a value, or notes why it cannot be one.
fn parse<T: FromStr<Err = ValueError>>(text: Spanned<String>, document: &mut Document<'_>) -> Option<T> {
    let span = text.span();
    match text.into_inner().parse() {
        Ok(value) => Some(value),
        Err(ValueError { what, help }) => {
            document.problem(span, what, help);
            None
        }
    }
}

/// A number within bounds, or its default.
fn within(
    number: Option<&Spanned<u32>>,
    default: u32,
    bounds: RangeInclusive<u32>,
    unit: &str,
    document: &mut Document<'_>,
) -> u32 {
    let Some(number) = number else {
        return default;
    };
    let value = *number.get_ref();
    if bounds.contains(&value) {
        return value;
    }
    document.problem(
        number.span(),
        format!("{value} is out of bounds"),
        format!(
            "possible are {} to {} {unit}; left out, it is {default}",
            bounds.start(),
            bounds.end()
        ),
    );
    default
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

fn boards(list: Vec<Spanned<RawBoard>>, event: &Rules, document: &mut Document<'_>) -> Vec<Board> {
    if list.is_empty() {
        document.missing(
            None,
            "there is no board",
            "add a table [[board]] with `id` and `port`; `dgt2mqtt ports` lists what is attached",
        );
    }
    let mut ids = Seen::default();
    let mut ports = Seen::default();
    let mut boards = Vec::with_capacity(list.len());
    for raw in list {
        let span = raw.span();
        boards.extend(board(
            raw.into_inner(),
            &span,
            event,
            (&mut ids, &mut ports),
            document,
        ));
    }
    boards
}

fn board(
    raw: RawBoard,
    span: &Range<usize>,
    event: &Rules,
    (ids, ports): (&mut Seen<Id>, &mut Seen<super::Port>),
    document: &mut Document<'_>,
) -> Option<Board> {
    let id = match raw.id {
        Some(id) => ids.parse_new(
            id,
            "two boards have the id",
            "give each board its own id",
            document,
        ),
        None => {
            document.missing(
                Some(span.clone()),
                "the board has no id",
                "write `id = \"...\"`, for example the number of its table",
            );
            None
        }
    };
    let port = match raw.port {
        Some(port) => ports.parse_new(
            port,
            "two boards are on the port",
            "give each board its own port",
            document,
        ),
        None => {
            document.missing(
                Some(span.clone()),
                "the board has no port",
                "write `port = \"...\"`; `dgt2mqtt ports` lists what is attached",
            );
            None
        }
    };
    let rules = Rules {
        laws: raw.laws.unwrap_or(event.laws),
        time_control: raw.time_control.unwrap_or(event.time_control),
        supervision: raw.supervision.unwrap_or(event.supervision),
        periods: raw
            .periods
            .map_or_else(|| event.periods.clone(), |list| periods(list, document)),
    };
    Some(Board {
        id: id?,
        port: port?,
        rules,
        orientation: raw.orientation,
        clock_side: raw.clock_side,
        table: Table {
            white: raw.table.white,
            black: raw.table.black,
        },
    })
}

/// Values that may be given once only.
struct Seen<T>(HashSet<T>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: FromStr<Err = ValueError> + Clone + Eq + Hash + std::fmt::Display> Seen<T> {
    fn parse_new(
        &mut self,
        text: Spanned<String>,
        what: &str,
        help: &str,
        document: &mut Document<'_>,
    ) -> Option<T> {
        let span = text.span();
        let value: T = parse(text, document)?;
        if !self.0.insert(value.clone()) {
            document.problem(span, format!("{what} {:?}", value.to_string()), help);
            return None;
        }
        Some(value)
    }
}

fn brokers(list: Vec<Spanned<RawBroker>>, client_id: &str, document: &mut Document<'_>) -> Vec<Broker> {
    if list.is_empty() {
        return vec![Broker {
            url: BrokerUrl::default(),
            client_id: client_id.to_owned(),
            login: None,
            tls: None,
            keep_alive: Duration::from_secs(15),
        }];
    }
    let mut brokers = Vec::with_capacity(list.len());
    for raw in list {
        let span = raw.span();
        brokers.extend(broker(raw.get_ref(), &span, client_id, document));
    }
    brokers
}

fn broker(
    raw: &RawBroker,
    span: &Range<usize>,
    client_id: &str,
    document: &mut Document<'_>,
) -> Option<Broker> {
    let login = login(raw, span, document);
    let client_id = match &raw.client_id {
        Some(id)
            if id.get_ref().is_empty()
                || id.get_ref().len() > 64
                || id.get_ref().chars().any(char::is_control) =>
        {
            document.problem(
                id.span(),
                "no name for a session",
                "use 1 to 64 letters, digits, _ and -",
            );
            return None;
        }
        Some(id) => id.get_ref().clone(),
        None => client_id.to_owned(),
    };
    let keep_alive = match &raw.keep_alive {
        Some(seconds) if *seconds.get_ref() < 5 => {
            document.problem(
                seconds.span(),
                "the broker would be pinged too often",
                "`keep_alive` counts seconds: 5 at least, 15 if left out",
            );
            15
        }
        Some(seconds) => *seconds.get_ref(),
        None => 15,
    };
    let Some(url) = &raw.url else {
        document.missing(
            Some(span.clone()),
            "the broker has no address",
            "write `url = \"mqtt://HOST\"`, or mqtts:// for TLS",
        );
        return None;
    };
    let url: BrokerUrl = parse(url.clone(), document)?;
    let tls = if url.tls {
        Some(tls(raw, span, document)?)
    } else {
        let given = [&raw.ca_file, &raw.client_cert, &raw.client_key];
        if let Some(file) = given.into_iter().flatten().next() {
            document.problem(
                file.span(),
                "a certificate for a connection without TLS",
                "begin `url` with mqtts://, or leave the certificate out",
            );
        }
        None
    };
    Some(Broker {
        url,
        client_id,
        login,
        tls,
        keep_alive: Duration::from_secs(u64::from(keep_alive)),
    })
}

fn login(raw: &RawBroker, span: &Range<usize>, document: &mut Document<'_>) -> Option<Login> {
    let mut password = None;
    if let Some(direct) = &raw.password {
        if !document.is_variable(&direct.span()) {
            document.problem(
                direct.span(),
                "a password does not belong into this file, which is shown around",
                "put it into a file of its own that only the daemon may read, and name that in `password_file`",
            );
        } else if raw.password_file.is_none() {
            password = Some(direct.get_ref().clone());
        } else {
            document.problem(
                direct.span(),
                "there is a `password_file`, too",
                "give one of the two",
            );
        }
    }
    if let Some(file) = &raw.password_file {
        password = read_password(file, document);
    }
    if let Some(username) = &raw.username {
        return Some(Login {
            username: username.clone(),
            password,
        });
    }
    if raw.password.is_some() || raw.password_file.is_some() {
        document.missing(
            Some(span.clone()),
            "there is a password without a user",
            "write `username = \"...\"`",
        );
    }
    None
}

fn read_password(file: &Spanned<PathBuf>, document: &mut Document<'_>) -> Option<Secret> {
    let path = document.resolve(file.get_ref());
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim_end_matches(['\r', '\n']).is_empty() => {
            document.problem(
                file.span(),
                format!("{} is empty", path.display()),
                "write the password into it",
            );
            None
        }
        // Editors end the last line, passwords do not.
        Ok(text) => Some(Secret::new(text.trim_end_matches(['\r', '\n']))),
        Err(error) => {
            unreadable(file, &path, &error, document);
            None
        }
    }
}

fn unreadable(file: &Spanned<PathBuf>, path: &Path, error: &std::io::Error, document: &mut Document<'_>) {
    document.problem(
        file.span(),
        format!("cannot read {}: {error}", path.display()),
        "check the name, and that the user of the daemon may read the file and enter its folders",
    );
}

fn tls(raw: &RawBroker, span: &Range<usize>, document: &mut Document<'_>) -> Option<Tls> {
    let ca_file = match &raw.ca_file {
        Some(file) => readable(file, document),
        None => {
            let system = SYSTEM_AUTHORITIES
                .iter()
                .map(PathBuf::from)
                .find(|path| path.exists());
            if system.is_none() {
                document.problem(
                    span.clone(),
                    "this machine has no list of certificate authorities",
                    "name one in `ca_file`, or install the package ca-certificates",
                );
            }
            system
        }
    };
    let client = match (&raw.client_cert, &raw.client_key) {
        (Some(certificate), Some(key)) => Some(ClientCertificate {
            certificate: readable(certificate, document)?,
            key: readable(key, document)?,
        }),
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => {
            document.problem(
                one.span(),
                "a certificate and its key go together",
                "give both `client_cert` and `client_key`, or neither",
            );
            None
        }
    };
    Some(Tls {
        ca_file: ca_file?,
        client,
    })
}

/// The path of a file that can be opened.
fn readable(file: &Spanned<PathBuf>, document: &mut Document<'_>) -> Option<PathBuf> {
    let path = document.resolve(file.get_ref());
    match File::open(&path).and_then(|file| file.metadata()) {
        Ok(kind) if kind.is_file() => Some(path),
        Ok(_) => {
            document.problem(
                file.span(),
                format!("{} is no file", path.display()),
                "name a PEM file",
            );
            None
        }
        Err(error) => {
            unreadable(file, &path, &error, document);
            None
        }
    }
}

fn journal(raw: RawJournal, document: &mut Document<'_>, env: &Env) -> Option<Journal> {
    let size = within(raw.max_size_mib.as_ref(), 256, 1..=1_048_576, "MiB", document);
    let age = within(raw.max_age_days.as_ref(), 90, 1..=36_500, "days", document);
    let path = match raw.path {
        Some(path) => Some(document.resolve(&path)),
        None => env.default_journal(),
    };
    if path.is_none() {
        document.missing(
            None,
            "it is not known where the journal may be kept: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set",
            "write `path = \"...\"` under [journal]",
        );
    }
    Some(Journal {
        path: path?,
        max_size: u64::from(size) * 1024 * 1024,
        max_age: DAY * age,
    })
}

fn limits(raw: &RawLimits, document: &mut Document<'_>) -> Limits {
    // The upper bound is what the daemon lets a packet have, less its topic and properties.
    let command = within(
        raw.command_bytes.as_ref(),
        16_384,
        256..=196_608,
        "bytes",
        document,
    );
    let clock = within(
        raw.clock_interval_ms.as_ref(),
        1000,
        100..=60_000,
        "milliseconds",
        document,
    );
    let health = within(raw.health_interval_s.as_ref(), 30, 5..=3600, "seconds", document);
    let shutdown = within(raw.shutdown_timeout_s.as_ref(), 10, 1..=60, "seconds", document);
    Limits {
        command_bytes: usize::try_from(command).unwrap_or(usize::MAX),
        clock_interval: Duration::from_millis(u64::from(clock)),
        health_interval: Duration::from_secs(u64::from(health)),
        shutdown_timeout: Duration::from_secs(u64::from(shutdown)),
    }
}
