//! The arbiter's desk: it checks pairings, puts them in force, closes rounds and begins the next.
//!
//! A change is on the disk before anybody is told of it. It goes before the configuration, until that names a later
//! round.

mod games;
mod misnumbered;
mod next;
mod put;
mod renumber;
mod results;
mod tables;

use std::path::Path;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::{
    config::Config,
    mqtt::{CommandReply, ReplyTo},
    tournament::{InForce, Pairings, PairingsError, TablesWrong, tables as order},
};

pub(super) use misnumbered::Misnumbered;

/// Why a command about rounds is refused.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
enum Refused {
    #[error("the pairings are not put in force: {0}")]
    Wrong(String),
    #[error("round {0} is not closed: `next_round` says which boards are without a result, and closes it")]
    Open(u32),
    #[error(
        "round {present} is in force, and not round {asked}: only the number of the round in force can be put right, to another one"
    )]
    NotInForce { asked: u32, present: u32 },
    #[error("round {0} has games or results of its own, so no other round can get its number")]
    Taken(u32),
    #[error("the configuration says round {0}, and goes before an earlier one: change `round` there")]
    Older(u32),
    #[error("no round is in force: put its pairings in force with `pairings`")]
    NoRound,
    #[error("round {present} is in force, and round {asked} does not follow it: begin round {}", .present + 1)]
    NotNext { asked: u32, present: u32 },
    #[error(
        "round {present} is in force: look at its games again, and give `round`, the number of the round that the results are of. One that was in force before takes them as well, without leaving round {present}"
    )]
    NotPresent { present: u32 },
    #[error(
        "round {present} is in force, and nothing is known here of round {asked}: results are of the present round or of one before it. If round {asked} is over, put its pairings right with `pairings` and send the results again: round {present} goes on meanwhile"
    )]
    NotKnown { asked: u32, present: u32 },
    #[error("game {0} is not in the pairings of round {1}")]
    NoGame(usize, u32),
    #[error("round {0} cannot begin: {1}; or put its pairings in force with `pairings`")]
    Unpaired(u32, PairingsError),
    #[error("{0:?} is no position to begin with: {1}; write the FEN of the position before the first move")]
    Start(String, String),
    #[error(
        "the games go to lichess: give `lichess`, the last part of the address of round {0} there, eight letters and digits"
    )]
    Lichess(u32),
    #[error(
        "it cannot be kept ({0}), so nothing was changed: see to the disk of the journal and send it again"
    )]
    NotKept(String),
    #[error(transparent)]
    Tables(TablesWrong),
    #[error(
        "they have played in round {1} and keep their tables until the next one is in force: {0}; a game that was only tried is given up with `new_game`"
    )]
    Played(String, u32),
    #[error("{0}")]
    Unreadable(String),
}

impl Refused {
    fn code(&self) -> &'static str {
        match self {
            Self::Wrong(_) => "pairings_wrong",
            Self::Open(_) => "round_open",
            Self::Older(_) => "round_older",
            Self::NoRound => "no_round",
            Self::NotInForce { .. } => "round_not_in_force",
            Self::Taken(_) => "round_taken",
            Self::NotNext { .. } => "round_not_next",
            Self::NotPresent { .. } | Self::NotKnown { .. } => "round_not_present",
            Self::NoGame(..) => "game_not_paired",
            Self::Unpaired(..) => "round_unpaired",
            Self::Start(..) => "start_wrong",
            Self::Lichess(_) => "lichess_round_missing",
            Self::NotKept(_) => "not_kept",
            Self::Tables(_) => "tables_wrong",
            Self::Played(..) => "boards_played",
            Self::Unreadable(_) => "journal_unreadable",
        }
    }
}

/// What a command puts in force.
#[derive(Debug)]
enum Change {
    Round(Box<InForce>),
    /// The boards by table; none for the configured order.
    Tables(Option<Vec<String>>),
}

/// The result of a command: the change, if there is one, and the answer.
#[derive(Debug)]
pub(super) struct Done {
    change: Option<Change>,
    reply: CommandReply,
}

/// The arbiter's desk.
pub(super) struct Desk {
    /// The configuration as it was read from the file.
    configured: Config,
    in_force: Option<InForce>,
    /// The boards by table, as a command bound them.
    bound: Option<Vec<String>>,
    /// The command under way. There is at most one, so that what it was judged by still holds when it is done.
    work: JoinSet<Done>,
}

impl Desk {
    /// A desk with what was in force before the daemon ended.
    pub(super) fn open(configured: Config) -> Self {
        let in_force = InForce::kept(&configured.journal.path).unwrap_or_else(|error| {
            tracing::error!(
                "the round that was put in force cannot be read ({error}): that of the configuration counts; put the pairings in force again"
            );
            None
        });
        let bound = order::kept(&configured.journal.path).unwrap_or_else(|error| {
            tracing::error!(
                "which boards were bound to which tables cannot be read ({error}): the order of the configuration counts; bind them again"
            );
            None
        });
        let desk = Self {
            configured,
            in_force,
            bound,
            work: JoinSet::new(),
        };
        desk.look_at_tables();
        desk
    }

    /// The configuration, with what is in force.
    pub(super) fn config(&self) -> Config {
        self.config_with(self.bound.as_deref())
    }

    /// The configuration, if the boards were bound as in `bound`.
    fn config_with(&self, bound: Option<&[String]>) -> Config {
        let mut config = self.configured.clone();
        if let Some(in_force) = &self.in_force {
            config.put_in_force(in_force);
        }
        if let Some(bound) = bound {
            config.bind(bound);
        }
        config
    }

    /// The configuration as it was read from the file.
    pub(super) fn configured(&self) -> &Config {
        &self.configured
    }

    /// Takes over another configuration, and what its file of pairings says of the round in force.
    pub(super) fn reconfigure(&mut self, config: Config) {
        let former = self.config().round().map(|round| (round, self.as_read(round)));
        self.configured = config;
        self.read_again(former);
        self.look_at_tables();
    }

    /// Waits for the next command to be done.
    pub(super) async fn done(&mut self) -> Option<Result<Done, tokio::task::JoinError>> {
        self.work.join_next().await
    }

    /// Takes over the result of a command. True when the round changes or is closed, or when boards have other tables.
    pub(super) fn take(&mut self, done: Done) -> (bool, CommandReply) {
        let changed = done.change.is_some();
        match done.change {
            Some(Change::Round(in_force)) => self.in_force = Some(*in_force),
            Some(Change::Tables(bound)) => self.bound = bound,
            None => {}
        }
        (changed, done.reply)
    }

    /// The present round as it is left when another one comes in force: somebody may still put it right.
    fn leaving(&self, config: &Config) -> Option<InForce> {
        let round = config.round()?;
        let mut leaving = self.present_or_new(round);
        leaving.pairings = Some(self.as_read(round));
        Some(leaving)
    }

    /// What is in force of the present round, perhaps nothing but its number, and what is known of others.
    fn present_or_new(&self, round: u32) -> InForce {
        let new = InForce {
            round,
            ..InForce::default()
        };
        match self.in_force.clone() {
            Some(in_force) if in_force.round == round => in_force,
            Some(before) => new.after(before),
            None => new,
        }
    }

    /// The pairings of the present round without what a person entered.
    fn as_read(&self, round: u32) -> Pairings {
        let put = self.present(round).and_then(|present| present.pairings.clone());
        let configured = self.configured.broadcast.as_ref();
        let configured = configured.map(|broadcast| broadcast.pairings.clone());
        put.or(configured).unwrap_or_default()
    }

    /// What is in force of the present round.
    fn present(&self, round: u32) -> Option<&InForce> {
        self.in_force.as_ref().filter(|in_force| in_force.round == round)
    }

    fn is_closed(&self, round: u32) -> bool {
        self.present(round).is_some_and(|in_force| in_force.closed)
    }
}

fn refused(answer: &ReplyTo, refused: &Refused) -> Done {
    Done {
        change: None,
        reply: answer.refused(refused.code(), refused),
    }
}

/// Writes the change to the disk before anybody hears of it.
fn finish(path: &Path, in_force: InForce, answer: &ReplyTo, state: Value) -> Done {
    match in_force.keep(path) {
        Ok(()) => Done {
            change: Some(Change::Round(Box::new(in_force))),
            reply: answer.done(state),
        },
        Err(error) => refused(answer, &Refused::NotKept(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Env, mqtt::PairingsAsked};

    /// A configuration of these boards.
    fn hall(folder: &Path, boards: &[&str], broadcast: &str) -> Config {
        let tables = boards
            .iter()
            .map(|id| format!("[[board]]\nid = \"{id}\"\nport = \"/dev/{id}\"\n"));
        let text = format!(
            "[gateway]\nname = \"gw\"\n[journal]\npath = \"journal.sqlite\"\n{}{broadcast}",
            tables.collect::<String>()
        );
        let config = Config::from_text(&text, &folder.join("dgt2mqtt.toml"), &Env::default());
        config.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn boards_are_bound_for_every_round_and_void_when_one_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let bound = ["b".to_owned(), "a".to_owned()];
        order::keep(&folder.join("journal.sqlite"), &bound).unwrap();
        let mut two = Desk::open(hall(folder, &["a", "b"], ""));
        assert_eq!(two.config().tables(), bound);
        put(&mut two, 4, None);
        let paired = two.config().paired();
        assert_eq!(
            paired.keys().collect::<Vec<_>>(),
            ["b"],
            "the first table has board b"
        );
        // A broadcast that is configured later has its boards in the same order, and so has its next round.
        for round in [5, 6] {
            let cast = format!("[broadcast]\nfolder = \"open\"\nround = {round}\n");
            two.reconfigure(hall(folder, &["a", "b"], &cast));
            let config = two.config();
            assert_eq!(
                (config.tables(), config.broadcast.unwrap().boards),
                (bound.to_vec(), bound.to_vec())
            );
        }

        let more = Desk::open(hall(folder, &["a", "b", "c"], "")).config();
        assert_eq!(more.tables(), ["b", "a", "c"]);
        let gone = Desk::open(hall(folder, &["a", "c"], "")).config();
        assert_eq!(gone.tables(), ["a", "c"]);
        assert_eq!(gone.bound, None);
    }

    /// A desk of one board whose round 3 goes to lichess.
    fn desk(folder: &Path) -> Desk {
        std::fs::write(folder.join("token"), "lip_secret").unwrap();
        let text = "[gateway]\nname = \"gw\"\n[journal]\npath = \"journal.sqlite\"\n[[board]]\nid = \"1\"\nport = \"/dev/x\"\n\
                    table = { white = \"Somebody\", black = \"Else\" }\n\
                    [broadcast]\nfolder = \"open\"\nround = 3\nlichess = { round = \"a1B2c3D3\", token_file = \"token\" }\n";
        let path = folder.join("dgt2mqtt.toml");
        let config = Config::from_text(text, &path, &Env::default());
        Desk::open(config.unwrap_or_else(|error| panic!("{error}")))
    }

    fn asked(round: u32, lichess: Option<&str>) -> PairingsAsked {
        PairingsAsked {
            text: "board,white,black\n1,A,B\n".into(),
            round,
            put: true,
            back: false,
            lichess: lichess.map(str::to_owned),
            start: None,
        }
    }

    fn why_not(desk: &Desk, round: u32, lichess: Option<&str>) -> Option<&'static str> {
        let refused = desk.why_not(&asked(round, lichess), &desk.config());
        refused.map(|refused| refused.code())
    }

    /// Puts a round in force as a command does.
    fn put(desk: &mut Desk, round: u32, lichess: Option<&str>) {
        desk.in_force = Some(InForce {
            round,
            pairings: Pairings::parse(&asked(round, lichess).text, round).ok(),
            lichess: lichess.map(str::to_owned),
            since_ms: 7,
            ..InForce::default()
        });
    }

    #[test]
    fn no_game_goes_to_the_round_of_another_on_lichess() {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = desk(folder.path());
        assert_eq!(why_not(&desk, 2, None), Some("round_older"));
        assert_eq!(why_not(&desk, 3, None), None);
        assert_eq!(why_not(&desk, 4, None), Some("lichess_round_missing"));
        assert_eq!(why_not(&desk, 4, Some("a/b")), Some("lichess_round_missing"));
        assert_eq!(why_not(&desk, 4, Some("a1B2c3D4")), None);
        put(&mut desk, 4, Some("a1B2c3D4"));
        let broadcast = desk.config().broadcast.unwrap();
        assert_eq!(broadcast.lichess.unwrap().round, "a1B2c3D4");
        assert_eq!((broadcast.tournament.round, broadcast.begins_ms), (4, Some(7)));
        // Later corrections of names need not name lichess again. The next round needs this one closed.
        assert_eq!(why_not(&desk, 4, None), None);
        assert_eq!(why_not(&desk, 5, Some("a1B2c3D5")), Some("round_open"));
        put(&mut desk, 4, None);
        assert_eq!(desk.config().broadcast.unwrap().lichess, None);
    }

    #[test]
    fn a_later_round_has_its_own_array_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let array = "bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w KQkq - 0 1";
        let other = "rkqbbnnr/pppppppp/8/8/8/8/PPPPPPPP/RKQBBNNR w KQkq - 0 1";
        let cast = format!("[broadcast]\nfolder = \"open\"\nround = 3\nstart = \"{array}\"\n");
        let mut desk = Desk::open(hall(folder.path(), &["1"], &cast));
        let start = |desk: &Desk| desk.config().broadcast.unwrap().tournament.start;
        assert_eq!(start(&desk).as_deref(), Some(array));
        put(&mut desk, 3, None);
        assert_eq!(start(&desk).as_deref(), Some(array), "names were corrected");
        put(&mut desk, 4, None);
        assert_eq!(start(&desk), None);
        desk.in_force.as_mut().unwrap().start = Some(other.into());
        assert_eq!(start(&desk).as_deref(), Some(other));
        let wrong = PairingsAsked {
            start: Some("nonsense".into()),
            ..asked(4, None)
        };
        let refused = desk.why_not(&wrong, &desk.config()).unwrap();
        assert_eq!(refused.code(), "start_wrong");
    }

    #[test]
    fn pairings_that_were_put_in_force_go_before_the_names_of_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = desk(folder.path());
        let white = |desk: &Desk| {
            let config = desk.config();
            let seats = config.seats(&config.boards[0]);
            (seats.players[0].clone().unwrap(), seats.round.unwrap())
        };
        assert_eq!(white(&desk), ("Somebody".into(), 3));
        put(&mut desk, 4, None);
        assert_eq!(white(&desk), ("A".into(), 4));
        // The configuration names a later round, which goes first.
        put(&mut desk, 2, None);
        assert_eq!(white(&desk), ("Somebody".into(), 3));
    }
}
