//! The broadcast: the folder of its files, the pairings, and how far the public is behind.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    net::SocketAddr,
    path::PathBuf,
};

use serde::Deserialize;
use toml::Spanned;

use super::{
    Id, Secret,
    checked::{readable, secret_file, within},
    host::is_this_machine,
    lichess::{is_id, lichess_rounds, round_of_broadcast},
    read::Document,
};
use crate::{
    game::Period,
    tournament::{self, Delay, InForce, Pairings, PairingsError, Player, Tournament},
};

/// Games for the public.
#[derive(Clone, Debug, PartialEq)]
pub struct Broadcast {
    /// The group of the event that it is of, where the event has groups.
    pub group: Option<String>,
    /// The folder of the tournament.
    pub folder: PathBuf,
    /// The fields that are the same for all games of the round. The time since which it is played is found out later.
    pub tournament: Tournament,
    /// Wrong numbers that the round had before.
    pub formerly: BTreeSet<u32>,
    /// The pairings of the round.
    pub pairings: Pairings,
    /// The pairings of other rounds, by their numbers, as far as somebody may have put them right.
    pub others: BTreeMap<u32, Pairings>,
    /// The file that they are from.
    pub pairings_file: Option<PathBuf>,
    /// Boards in the order of the pairings: `BOARD`, or `GATEWAY/BOARD`.
    pub boards: Vec<String>,
    /// When the round begins, as Unix time in milliseconds; none for the time at which it is first broadcast.
    pub begins_ms: Option<i64>,
    /// A round on lichess to push to.
    pub lichess: Option<Lichess>,
    /// The address of the public's view, if it is wanted.
    pub listen: Option<SocketAddr>,
}

impl Broadcast {
    /// The players by the pairings, White and Black, by the board's name in `boards`.
    #[must_use]
    pub fn players(&self) -> BTreeMap<String, [Option<String>; 2]> {
        seated(&self.boards, &self.pairings)
    }

    /// Takes over a round that was put in force. False where the configuration names a later one.
    pub fn put_in_force(&mut self, in_force: &InForce) -> bool {
        let tournament = &mut self.tournament;
        let goes_before = in_force.goes_before(tournament.round);
        if in_force.round < tournament.round && !goes_before {
            return false;
        }
        if goes_before {
            tournament.round = in_force.round;
            tournament.rounds = tournament.rounds.max(in_force.round);
            // The configured array is that of the configured round.
            tournament.start = None;
            self.begins_ms = Some(in_force.since_ms);
            // A configured round on lichess is of another round, and takes no games of this one.
            self.lichess
                .take_if(|lichess| in_force.lichess.is_none() && lichess.broadcast.is_none());
            if let Some(lichess) = &mut self.lichess
                && let Some(broadcast) = &lichess.broadcast
            {
                lichess.round = round_of_broadcast(broadcast, in_force.round);
            }
        }
        self.formerly.clone_from(&in_force.formerly);
        if in_force.start.is_some() {
            tournament.start.clone_from(&in_force.start);
        }
        if let Some(pairings) = &in_force.pairings {
            self.pairings.clone_from(pairings);
        }
        in_force.results.put_into(&mut self.pairings);
        self.others = in_force.pairings_of_others();
        if let (Some(lichess), Some(round)) = (&mut self.lichess, &in_force.lichess) {
            lichess.round.clone_from(round);
        }
        true
    }
}

/// The players by `pairings`, White and Black, at the boards named in `boards`.
pub(super) fn seated(boards: &[String], pairings: &Pairings) -> BTreeMap<String, [Option<String>; 2]> {
    let name = |player: &Player| Some(player.name.clone()).filter(|name| !name.is_empty());
    let pairs = boards.iter().zip(&pairings.boards);
    pairs
        .filter_map(|(board, pairing)| {
            let pairing = pairing.as_ref()?;
            Some((board.clone(), [name(&pairing.white), name(&pairing.black)]))
        })
        .collect()
}

/// Broadcast rounds on lichess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lichess {
    /// The rounds as they are written ([`lichess_target`](super::lichess::lichess_target)).
    pub round: String,
    /// The broadcast of which each round is found or made, by its number. It has the last part of the broadcast's address.
    pub broadcast: Option<String>,
    /// Token with the scope `study:write`.
    pub token: Secret,
    /// `http://` or `https://`, host and perhaps port.
    pub server: String,
    /// PEM file with the authorities that may have signed the server's certificate; none for this system's own.
    pub ca_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawBroadcast {
    folder: Option<Spanned<PathBuf>>,
    name: Option<String>,
    site: Option<String>,
    round: Option<Spanned<u32>>,
    rounds: Option<Spanned<u32>>,
    begins: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    pairings: Option<Spanned<PathBuf>>,
    boards: Option<Vec<Spanned<String>>>,
    delay_minutes: Option<Spanned<u32>>,
    delay_seconds: Option<Spanned<u32>>,
    delay_moves: Option<Spanned<u32>>,
    hold_results_seconds: Option<Spanned<u32>>,
    listen: Option<Spanned<String>>,
    combined: Option<bool>,
    lichess: Option<RawLichess>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawLichess {
    round: Option<Spanned<String>>,
    broadcast: Option<Spanned<String>>,
    token_file: Option<Spanned<PathBuf>>,
    server: Option<Spanned<String>>,
    ca_file: Option<Spanned<PathBuf>>,
}

/// Reads the table `[broadcast]`; `known` are the boards that it may name without their gateway. With `own`, the name of a
/// gateway, it is the broadcast of that gateway's boards alone.
pub(super) fn broadcast(
    raw: &Spanned<RawBroadcast>,
    known: &[String],
    own: Option<&Id>,
    periods: &[Period],
    document: &mut Document<'_>,
) -> Option<Broadcast> {
    let span = raw.span();
    let raw = raw.get_ref();
    let round = within(raw.round.as_ref(), 1, 1..=99, "", document);
    let rounds = within(raw.rounds.as_ref(), round, 1..=99, "", document).max(round);
    let minutes = within(raw.delay_minutes.as_ref(), 0, 0..=600, "minutes", document);
    let seconds = within(raw.delay_seconds.as_ref(), 0, 0..=3600, "seconds", document);
    let moves = within(raw.delay_moves.as_ref(), 0, 0..=100, "moves", document);
    let hold = within(
        raw.hold_results_seconds.as_ref(),
        0,
        0..=3600,
        "seconds",
        document,
    );
    let begins_ms = match &raw.begins {
        Some(begins) => Some(moment(begins, document)?),
        None => None,
    };
    let start = match &raw.start {
        Some(start) => Some(array(start, document)?),
        None => None,
    };
    let boards = boards(raw.boards.as_deref(), known, own, document);
    let listen = match &raw.listen {
        Some(listen) => Some(place(listen, document)?),
        None => None,
    };
    let pairings = match &raw.pairings {
        None => Some(Pairings::default()),
        Some(file) => {
            let boards = boards.as_ref().map(Vec::len);
            pairings(file, round, boards, document)
        }
    };
    let lichess = match &raw.lichess {
        None => None,
        Some(raw) => Some(lichess(raw, round, &span, document)?),
    };
    let Some(folder) = &raw.folder else {
        document.missing(
            Some(span),
            "the broadcast has no folder",
            "write `folder = \"...\"`, a folder that the daemon's user may write",
        );
        return None;
    };
    Some(Broadcast {
        group: None,
        folder: document.resolve(folder.get_ref()),
        tournament: Tournament {
            name: raw.name.clone(),
            site: raw.site.clone(),
            round,
            rounds,
            periods: periods.to_vec(),
            start,
            delay: Delay {
                ms: i64::from(minutes) * 60_000 + i64::from(seconds) * 1000,
                moves,
                result_ms: i64::from(hold) * 1000,
            },
            combined: raw.combined.unwrap_or(true),
            since_ms: 0,
            until_ms: None,
        },
        pairings: pairings?,
        others: BTreeMap::new(),
        formerly: BTreeSet::new(),
        pairings_file: raw.pairings.as_ref().map(|file| document.resolve(file.get_ref())),
        boards: boards?,
        begins_ms,
        lichess,
        listen,
    })
}

/// The FEN of the position with which the games begin.
fn array(text: &Spanned<String>, document: &mut Document<'_>) -> Option<String> {
    let array = tournament::array(text.get_ref());
    if let Err(error) = &array {
        let what = format!("{:?} is no position to begin with: {error}", text.get_ref());
        let help = "write the FEN of the position before the first move, as \"bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w KQkq - 0 1\"";
        document.problem(text.span(), what, help);
    }
    array.ok()
}

/// The address of the public's view.
fn place(text: &Spanned<String>, document: &mut Document<'_>) -> Option<SocketAddr> {
    let place = text.get_ref().parse::<SocketAddr>();
    if place.is_err() {
        document.problem(
            text.span(),
            format!("{:?} is no address with a port", text.get_ref()),
            "write \"0.0.0.0:8065\" for everybody on the network, or \"127.0.0.1:8065\" for a web server on this machine",
        );
    }
    place.ok()
}

/// The pairings of `round` in `file`. Every mistake in the file is a problem of its own.
fn pairings(
    file: &Spanned<PathBuf>,
    round: u32,
    boards: Option<usize>,
    document: &mut Document<'_>,
) -> Option<Pairings> {
    let help = "docs/broadcast.md shows how pairings are written";
    match Pairings::load(&document.resolve(file.get_ref()), round, boards) {
        Ok(pairings) => return Some(pairings),
        Err(PairingsError::Wrong(mistakes)) => {
            for mistake in mistakes {
                document.problem(file.span(), format!("the pairings do not fit: {mistake}"), help);
            }
        }
        Err(error) => document.problem(file.span(), format!("the pairings do not fit: {error}"), help),
    }
    None
}

/// Unix time in milliseconds of a moment that is written with its offset.
fn moment(text: &Spanned<String>, document: &mut Document<'_>) -> Option<i64> {
    let moment = text.get_ref().parse::<jiff::Timestamp>();
    if moment.is_err() {
        document.problem(
            text.span(),
            format!("{:?} is no moment", text.get_ref()),
            "write day, time and offset from UTC, as \"2026-11-21T14:00:00+01:00\"",
        );
    }
    moment.ok().map(jiff::Timestamp::as_millisecond)
}

fn boards(
    list: Option<&[Spanned<String>]>,
    known: &[String],
    own: Option<&Id>,
    document: &mut Document<'_>,
) -> Option<Vec<String>> {
    let Some(list) = list else {
        if known.is_empty() {
            document.missing(
                None,
                "the broadcast has no boards",
                "write `boards = [\"GATEWAY/BOARD\", ...]` under [broadcast], in the order of the pairings",
            );
            return None;
        }
        return Some(known.to_vec());
    };
    let mut seen = HashSet::new();
    let mut fit = true;
    for board in list {
        let name = board.get_ref();
        let problem = match name.split_once('/') {
            None if !known.contains(name) => Some((
                format!("there is no board {name:?}"),
                match own {
                    Some(_) => "name a board by its `id`",
                    None => "name a board as \"GATEWAY/BOARD\"",
                },
            )),
            Some((gateway, id)) if gateway.parse::<Id>().is_err() || id.parse::<Id>().is_err() => Some((
                format!("{name:?} names no board"),
                "write \"BOARD\" or \"GATEWAY/BOARD\"",
            )),
            // The journal, from which a daemon broadcasts, has no others.
            Some((gateway, _)) if own.is_some_and(|own| own.as_str() != gateway) => Some((
                format!("{name:?} is a board of another gateway, and a daemon broadcasts its own boards"),
                "leave it out, or have `dgt2mqtt dashboard` write the broadcast of the whole hall (docs/broadcast.md)",
            )),
            Some((_, id)) if own.is_some() && !known.iter().any(|known| known == id) => {
                Some((format!("there is no board {name:?}"), "name a board by its `id`"))
            }
            _ if !seen.insert(name) => Some((
                format!("the board {name:?} comes twice"),
                "each board plays one game of the round",
            )),
            _ => None,
        };
        if let Some((what, help)) = problem {
            document.problem(board.span(), what, help);
            fit = false;
        }
    }
    fit.then(|| list.iter().map(|board| board.get_ref().clone()).collect())
}

fn lichess(
    raw: &RawLichess,
    number: u32,
    span: &std::ops::Range<usize>,
    document: &mut Document<'_>,
) -> Option<Lichess> {
    let round = match (&raw.round, &raw.broadcast) {
        (Some(round), None) => named_rounds(round, document)?,
        (None, Some(broadcast)) => round_of_broadcast(id_of_broadcast(broadcast, document)?, number),
        (Some(_), Some(broadcast)) => {
            let help = "`round` names the rounds themselves; with `broadcast` they are found or made by their numbers";
            document.problem(
                broadcast.span(),
                "[broadcast.lichess] takes `round` or `broadcast`, not both",
                help,
            );
            return None;
        }
        (None, None) => return nothing_named(span, document),
    };
    let Some(file) = &raw.token_file else {
        return nothing_named(span, document);
    };
    let server = match &raw.server {
        None => "https://lichess.org".to_owned(),
        Some(server) => {
            let text = server.get_ref().trim_end_matches('/');
            let host = text
                .strip_prefix("https://")
                .or_else(|| text.strip_prefix("http://"));
            if host.is_none_or(|host| host.is_empty() || host.contains(['/', '@', ' '])) {
                let help = "write \"https://HOST\" or \"http://HOST:PORT\"";
                document.problem(server.span(), format!("{text:?} is no server"), help);
                return None;
            }
            // Without encryption the token is open to whoever listens on the network.
            if text
                .strip_prefix("http://")
                .is_some_and(|host| !is_this_machine(host))
            {
                document.problem(
                    server.span(),
                    format!("the token would go to {text:?} unencrypted, for anybody on the network to read"),
                    "write \"https://HOST\"; \"http://\" is for a server on this machine only",
                );
                return None;
            }
            text.to_owned()
        }
    };
    let ca_file = match &raw.ca_file {
        Some(file) => Some(readable(file, document)?),
        None => None,
    };
    Some(Lichess {
        round,
        broadcast: raw
            .broadcast
            .as_ref()
            .map(|broadcast| broadcast.get_ref().clone()),
        token: secret_file(file, document)?,
        server,
        ca_file,
    })
}

fn nothing_named(span: &std::ops::Range<usize>, document: &mut Document<'_>) -> Option<Lichess> {
    document.missing(
        Some(span.clone()),
        "[broadcast.lichess] needs `round` or `broadcast`, and `token_file`",
        "`round` is the last part of the round's address, and `broadcast` that of the broadcast's: eight letters and digits; the token needs the scope study:write",
    );
    None
}

/// `round`, if it names rounds.
fn named_rounds(round: &Spanned<String>, document: &mut Document<'_>) -> Option<String> {
    if let Err(error) = lichess_rounds(round.get_ref()) {
        let help =
            "write \"a1B2c3D4\", or \"a1B2c3D4 1-100, e5F6g7H8 101-180\" for more games than one round takes";
        document.problem(round.span(), error.to_string(), help);
        return None;
    }
    Some(round.get_ref().clone())
}

fn id_of_broadcast<'a>(broadcast: &'a Spanned<String>, document: &mut Document<'_>) -> Option<&'a str> {
    let id = broadcast.get_ref();
    if !is_id(id) {
        let help = "write the last part of the broadcast's address, eight letters and digits";
        document.problem(
            broadcast.span(),
            format!("{id:?} is no broadcast of lichess"),
            help,
        );
        return None;
    }
    Some(id)
}
