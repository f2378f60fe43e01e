//! The configuration: a TOML file and environment variables in, a checked [`Config`] out.
//!
//! Three steps, each in its own file: `read` turns text and environment into the raw
//! shape, `validate` turns the shape into values that mean something, and both collect every
//! problem they meet, so that a person corrects the file once. What is in a [`Config`] needs no
//! further check: an [`Id`] is fit for a topic, a password has been read, a file was readable.
//!
//! The keys are described in `docs/configuration.md`; `docs/dgt2mqtt.example.toml` shows them all.

mod alert;
mod archive;
mod broadcast;
mod broker;
mod checked;
mod collector;
mod dashboard;
mod env;
mod group;
mod hall;
mod hint;
mod host;
pub mod lichess;
mod line;
mod overlay;
mod problem;
mod raw;
mod read;
mod validate;
mod value;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

pub use crate::watcher::Rules;
pub use alert::{AlertConfig, AlertForm, Language};
pub use archive::{ArchiveConfig, DatabaseConfig};
pub use broadcast::{Broadcast, Lichess};
pub use checked::system_authorities;
pub(crate) use collector::IsAlone;
pub use dashboard::{MAX_NAME, Person, Role, is_name, is_token};
pub use env::Env;
pub(crate) use env::{OF_THE_UNIT, STATE_OF_THE_UNIT};
pub use problem::{ConfigError, Problem, ProblemPlace, Problems};
pub use value::{BaseTopic, BrokerUrl, Id, PortName, Secret, ValueError};

use crate::{
    files::plain,
    tournament::{InForce, Pairings, tables},
    watcher::{ClockSideSetting, OrientationSetting, Protocol, Settings, Table as Seats},
};

/// A configuration in which everything has been checked that can be checked without a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of this gateway: part of topics and of event ids, so unique among the gateways of a broker.
    pub gateway: Id,
    /// First levels of every topic.
    pub base_topic: BaseTopic,
    /// True where the daemon subscribes to commands.
    pub commands: bool,
    /// True where the daemon announces itself in the local network.
    pub announce: bool,
    /// The boards, at least one, with distinct ids and ports.
    pub boards: Vec<BoardConfig>,
    /// Ports of lines on which the daemon also looks for boards that are not configured.
    pub searched: Vec<String>,
    /// The broker.
    pub broker: BrokerConfig,
    /// The journal of events.
    pub journal: JournalConfig,
    /// Bounds and intervals.
    pub limits: LimitsConfig,
    /// The loopback address at which figures for Prometheus are served, if any.
    pub metrics: Option<SocketAddr>,
    /// Games for the public, if wanted.
    pub broadcast: Option<Broadcast>,
    /// People who may open the arbiter's page with a token of their own.
    pub people: Vec<Person>,
    /// The places that get messages for phones.
    pub alerts: Vec<AlertConfig>,
    /// The round that a command put in force, of which the file has nothing.
    pub in_force: Option<InForce>,
    /// The boards by table, as a command bound them; none where the order is the configured one.
    pub bound: Option<Vec<String>>,
    /// The topic prefix at which Home Assistant looks for entities, if it is to know of the boards.
    pub home_assistant: Option<BaseTopic>,
}

/// The configuration of `dgt2mqtt dashboard`.
#[derive(Clone, Debug, PartialEq)]
pub struct Collector {
    /// First levels of every topic.
    pub base_topic: BaseTopic,
    /// The brokers; one in a configuration.
    pub brokers: Vec<BrokerConfig>,
    /// Games for the public: one broadcast, or one for each group of the event.
    pub broadcasts: Vec<Broadcast>,
    /// People who may open the page with a token of their own.
    pub people: Vec<Person>,
}

/// One board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardConfig {
    /// Its id in topics and events.
    pub id: Id,
    /// The port that it is attached to.
    pub port: PortName,
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// How many milliseconds a device between the board and us may gather the board's bytes; 0 if unknown.
    pub gathered_ms: u64,
    /// How many boards share its line; 0 where the board has it to itself.
    pub boards_on_line: u64,
    /// The rules of its game: those of the event, with what the board overrides.
    pub rules: Rules,
    /// Which way round the board lies.
    pub orientation: OrientationSetting,
    /// Which side of the clock is White's.
    pub clock_side: ClockSideSetting,
    /// The names of its players.
    pub table: TableConfig,
}

/// The players at a board, for the tags of its PGN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableConfig {
    /// White's name.
    pub white: Option<String>,
    /// Black's name.
    pub black: Option<String>,
}

/// The broker: one session, at whichever of its addresses answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerConfig {
    /// The addresses, tried in turn. There is at least one, and either all of them use TLS or none.
    pub urls: Vec<BrokerUrl>,
    /// The client id of the session.
    pub client_id: String,
    /// User name and password, where the broker wants them.
    pub login: Option<Login>,
    /// Certificates, present exactly if the addresses begin with `mqtts://`.
    pub tls: Option<Tls>,
    /// How long the connection may be silent before a ping; at least 5 seconds.
    pub keep_alive: Duration,
    /// The languages of the texts in events; at least one. Journal and history have all.
    pub languages: Vec<Language>,
}

/// User name and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub username: String,
    /// The password; none for a user without one.
    pub password: Option<Secret>,
}

/// Certificates for a connection over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// PEM file with the authorities that may have signed the broker's certificate.
    pub ca_file: PathBuf,
    /// The daemon's own certificate, if the broker asks for one.
    pub client: Option<ClientCertificate>,
}

/// A certificate that proves who the daemon is, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM file with the certificate chain.
    pub certificate: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
}

/// Where the journal is and how much it may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalConfig {
    /// The SQLite file.
    pub path: PathBuf,
    /// Above this size in bytes the oldest acknowledged events are dropped.
    pub max_size: u64,
    /// Acknowledged events older than this are dropped.
    pub max_age: Duration,
    /// True where the journal's folder also keeps captures of the boards' lines for a while.
    pub captures: bool,
}

/// Bounds and intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// The least time between two clock states of a board.
    pub clock_interval: Duration,
    /// The time between two health messages.
    pub health_interval: Duration,
    /// How long a stop may take to hand over what is still in the outbox.
    pub shutdown_timeout: Duration,
}

impl Default for Collector {
    /// The broker of this machine.
    fn default() -> Self {
        Self {
            base_topic: BaseTopic::default(),
            brokers: vec![BrokerConfig {
                urls: vec![BrokerUrl::default()],
                client_id: "dgt2mqtt-dashboard".to_owned(),
                login: None,
                tls: None,
                keep_alive: Duration::from_secs(15),
                languages: Language::ALL.to_vec(),
            }],
            broadcasts: Vec::new(),
            people: Vec::new(),
        }
    }
}

impl Config {
    /// The configuration file: the given one, or the first of [`Env::config_candidates`] that exists.
    ///
    /// # Errors
    /// [`ConfigError::NotFound`] lists the files that were tried.
    pub fn find(explicit: Option<&Path>, env: &Env) -> Result<PathBuf, ConfigError> {
        if let Some(path) = explicit {
            return Ok(path.to_owned());
        }
        // A file that a variable names must exist. To take another one instead would surprise the operator.
        if let Some(path) = env.get("DGT2MQTT_CONFIG") {
            return Ok(PathBuf::from(path));
        }
        let searched = env.config_candidates();
        match searched.iter().find(|path| path.exists()) {
            Some(path) => Ok(path.clone()),
            None => Err(ConfigError::NotFound { searched }),
        }
    }

    /// Reads and checks a configuration file and the files that it names.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`] when the file cannot be read, [`ConfigError::Invalid`] with
    /// every problem that was found in it or in the environment.
    pub fn load(path: &Path, env: &Env) -> Result<Self, ConfigError> {
        Self::from_text(&read_file(path)?, path, env)
    }

    /// Reads and checks as [`Self::load`] the text of the file at `path`. Messages and relative paths refer to that
    /// path.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with every problem that was found.
    pub fn from_text(text: &str, path: &Path, env: &Env) -> Result<Self, ConfigError> {
        let mut document = read::Document::new(text, path);
        let raw = hall::read(&mut document, env);
        let config = raw.and_then(|raw| validate::validate(raw, &mut document, env));
        finish(config, document)
    }

    /// Reads and checks as [`Self::load`], of the file of a whole hall all gateways. One alone is read where `env` names
    /// one, or where one has the name of the machine.
    ///
    /// # Errors
    /// As [`Self::load`]. A problem that several gateways share comes once.
    pub fn load_all(path: &Path, env: &Env) -> Result<Vec<Self>, ConfigError> {
        let text = read_file(path)?;
        let names = hall::names(&text);
        let is_one = env.gateway().is_some() || names.iter().any(|name| Some(name.as_str()) == env.host());
        if names.is_empty() || is_one {
            return Ok(vec![Self::from_text(&text, path, env)?]);
        }
        let (mut configs, mut problems) = (Vec::new(), Problems::default());
        for name in names {
            match Self::from_text(&text, path, &env.clone().of_gateway(Some(&name))) {
                Ok(config) => configs.push(config),
                Err(ConfigError::Invalid(found)) => problems.add(found),
                Err(error) => return Err(error),
            }
        }
        match problems.is_empty() {
            true => Ok(configs),
            false => Err(ConfigError::Invalid(problems)),
        }
    }

    /// Reads what an archive needs from the file at `path`: broker, topics and database.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_archive(path: &Path, env: &Env) -> Result<ArchiveConfig, ConfigError> {
        let text = read_file(path)?;
        let mut document = read::Document::new(&text, path);
        let raw = hall::read_common(&mut document, env, None);
        let archive = raw.and_then(|(raw, _)| validate::archive(raw, &mut document));
        finish(archive, document)
    }

    /// Takes over a round that was put in force, unless the configuration names a later one.
    pub fn put_in_force(&mut self, in_force: &InForce) {
        let counts = match &mut self.broadcast {
            Some(broadcast) => broadcast.put_in_force(in_force),
            None => true,
        };
        if counts {
            self.in_force = Some(in_force.clone());
        }
    }

    /// Number of the present round, if there are rounds.
    #[must_use]
    pub fn round(&self) -> Option<u32> {
        let configured = self
            .broadcast
            .as_ref()
            .map(|broadcast| broadcast.tournament.round);
        configured.or_else(|| self.in_force.as_ref().map(|in_force| in_force.round))
    }

    /// Wrong numbers that the present round had before.
    #[must_use]
    pub fn formerly(&self) -> BTreeSet<u32> {
        let in_force = self.in_force.as_ref();
        in_force.map(|round| round.formerly.clone()).unwrap_or_default()
    }

    /// Takes over the boards by table as a command bound them. False where one of them is not configured any more; then
    /// the order is the configured one.
    pub fn bind(&mut self, bound: &[String]) -> bool {
        self.bound = tables::ordered(&self.tables(), bound);
        if let (Some(broadcast), Some(order)) = (&mut self.broadcast, &self.bound) {
            broadcast.boards.clone_from(order);
        }
        self.bound.is_some()
    }

    /// The boards in the order of the pairings, by table from the first: `BOARD`, or `GATEWAY/BOARD`.
    #[must_use]
    pub fn tables(&self) -> Vec<String> {
        match (&self.broadcast, &self.bound) {
            (Some(broadcast), _) => broadcast.boards.clone(),
            (None, Some(bound)) => bound.clone(),
            (None, None) => self.boards.iter().map(|board| board.id.to_string()).collect(),
        }
    }

    /// The pairings of the present round, with the results that a person entered.
    #[must_use]
    pub fn pairings(&self) -> Pairings {
        if let Some(broadcast) = &self.broadcast {
            return broadcast.pairings.clone();
        }
        let in_force = self.in_force.as_ref();
        let mut pairings = in_force
            .and_then(|round| round.pairings.clone())
            .unwrap_or_default();
        if let Some(in_force) = in_force {
            in_force.results.put_into(&mut pairings);
        }
        pairings
    }

    /// The players at this gateway's boards by the pairings, White and Black, by the board's id.
    #[must_use]
    pub fn paired(&self) -> BTreeMap<String, [Option<String>; 2]> {
        let paired = broadcast::seated(&self.tables(), &self.pairings());
        let own = paired
            .into_iter()
            .filter_map(|(board, players)| Some((self.own(&board)?.to_owned(), players)));
        own.collect()
    }

    /// The id of one of this gateway's boards that is named as in [`Self::tables`]; none for a board of another
    /// gateway.
    #[must_use]
    pub fn own<'n>(&self, name: &'n str) -> Option<&'n str> {
        match name.split_once('/') {
            None => Some(name),
            Some((gateway, board)) => (gateway == self.gateway.as_str()).then_some(board),
        }
    }

    /// The players at `board`, White and Black: by pairings that were put in force, else by the board's table, else by
    /// the pairings of the round.
    #[must_use]
    pub fn players(&self, board: &BoardConfig) -> [Option<String>; 2] {
        self.seated(board).0
    }

    /// True where the players at `board` are those of pairings.
    #[must_use]
    pub fn is_paired(&self, board: &BoardConfig) -> bool {
        self.seated(board).1
    }

    fn seated(&self, board: &BoardConfig) -> ([Option<String>; 2], bool) {
        let named = [board.table.white.clone(), board.table.black.clone()];
        let paired = self.paired().remove(board.id.as_str());
        let is_put = self
            .in_force
            .as_ref()
            .is_some_and(|round| round.pairings.is_some());
        match paired {
            Some(paired) if is_put || named.iter().all(Option::is_none) => (paired, true),
            _ => (named, false),
        }
    }

    /// The players at `board`, and the round and event that they play in.
    #[must_use]
    pub fn seats(&self, board: &BoardConfig) -> Seats {
        let tournament = self.broadcast.as_ref().map(|broadcast| &broadcast.tournament);
        let in_force = self.in_force.as_ref();
        let named = || in_force?.pairings.as_ref()?.name.clone();
        Seats {
            players: self.players(board),
            event: tournament
                .and_then(|tournament| tournament.name.clone())
                .or_else(named),
            round: tournament
                .map(|tournament| tournament.round)
                .or_else(|| in_force.map(|round| round.round)),
        }
    }

    /// The settings for the watcher of `board`. The daemon sets the wall clock later.
    #[must_use]
    pub fn settings(&self, board: &BoardConfig) -> Settings {
        let Seats {
            players,
            event,
            round,
        } = self.seats(board);
        Settings {
            gateway: self.gateway.to_string(),
            board: board.id.to_string(),
            protocol: board.protocol,
            gathered_ms: board.gathered_ms,
            boards_on_line: board.boards_on_line,
            rules: board.rules.clone(),
            orientation: board.orientation,
            clock_side: board.clock_side,
            players,
            event,
            round,
            epoch_ms: None,
        }
    }
}

fn read_file(path: &Path) -> Result<String, ConfigError> {
    plain::text(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// The result of reading, or all problems that were noted.
fn finish<T>(read: Option<T>, document: read::Document<'_>) -> Result<T, ConfigError> {
    let problems = document.into_problems();
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => Err(ConfigError::Invalid(problems)),
    }
}
