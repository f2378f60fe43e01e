//! Games that may go on under another number. The broker retains what the board told last of its game, so no half-move is lost with a
//! card that died. And where another gateway has told later games, the watcher's own game goes on after those. The watcher takes
//! up the one that the board shows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Move};

use super::{
    super::{begin::start_game, play::Play, world::World},
    record::{fen, stand},
};
use crate::{
    board::{Bill, Line, Orientation, Placement, PlyKind, Sensed, Stand},
    event::{CompletedBy, GameResult, notice},
    time::Millis,
    watcher::{OrientationSetting, Rules, game::Game},
};

/// If more squares than these are other ones, the board shows another game.
const MOST_APART: usize = 8;

/// Games of which one may go on.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher::core) struct FoundGames {
    pub(super) own: Option<OwnGame>,
    /// What others have kept.
    pub(super) others: Vec<FoundGame>,
}

/// A game that the watcher has seen itself, and the rules by which it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnGame {
    game: FoundGame,
    rules: Rules,
}

/// A game with what was published of it (`game`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FoundGame {
    start_fen: String,
    chess960: bool,
    moves: Vec<String>,
    fen: String,
    result: GameResult,
}

/// Where a game began, and its half-moves, each with the position after it.
struct Played {
    start: Arc<Stand>,
    plies: Vec<(Move, Arc<Stand>)>,
}

impl Played {
    fn last(&self) -> &Placement {
        let last = self.plies.last();
        last.map_or(&self.start, |(_, after)| after).placement()
    }
}

impl OwnGame {
    /// The game, if it goes on.
    pub(super) fn of(game: &Game) -> Option<Self> {
        let record = &game.course.record;
        let own = FoundGame {
            start_fen: record.start.fen(),
            chess960: record.mode() == CastlingMode::Chess960,
            moves: record.iter().map(|made| made.uci.to_string()).collect(),
            fen: record.stand().fen(),
            result: game.outcome.result.unwrap_or(GameResult::Open),
        };
        (own.goes_on() && record.plies() > 0).then(|| Self {
            game: own,
            rules: (*game.rules).clone(),
        })
    }
}

impl FoundGames {
    /// Takes up the game that the board, which lies in some way and was just read for the first time, shows best, if it shows one that
    /// goes on. It is a game of its own: the events of the one before are known no more.
    pub(in crate::watcher::core) fn take_up(&self, world: &mut World, play: &mut Play, now: Millis) {
        let own = self.own.iter().map(|own| (&own.game, Some(&own.rules)));
        let all = own.chain(self.others.iter().map(|game| (game, None)));
        let shown = all.filter_map(|(game, rules)| {
            let played = game.played()?;
            let (way, apart) = shown(world, played.last())?;
            Some((game.goes_on(), rules, played, way, apart))
        });
        // Of two that go on and are shown as well the first is the watcher's own.
        let best = shown.min_by_key(|(goes_on, .., apart)| (*apart, *goes_on));
        let Some((true, rules, played, way, apart)) = best else {
            return;
        };
        let target = played.last().clone();
        let Played { start, plies } = played;
        if way != world.board.orientation {
            world.board.turn_to(&mut play.phase, way);
        }
        world.board.orientation_shown = true;
        world.board.sensed = Sensed::settled(&target);
        // What differs was played while nobody listened.
        world.board.gap.get_or_insert(now);
        start_game(world, play, now, start);
        let runs = world.clock.runs();
        let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
            return;
        };
        if let Some(rules) = rules {
            game.rules = Arc::new(rules.clone());
        }
        let message = message(rules.is_some(), !plies.is_empty());
        for (mv, after) in plies {
            let before = Line::new(game.course.record.stand().clone(), ctx.sensed, now);
            // It was read and pressed for, and this watcher has only not heard it.
            let line = before.played(PlyKind::Legal(mv), after, ctx.sensed, now, &Bill::default());
            if let Some(mut ply) = line.plies.last().cloned() {
                (ply.landed, ply.at) = (true, now);
                game.course.announce(&mut ctx, &ply, CompletedBy::Recovered);
            }
        }
        game.course.restart_lines(&ctx);
        game.course.lines.set_clock_runs(runs);
        game.course.clock_used = runs;
        game.doubt.shaken = true;
        let to_move = game.course.to_move();
        game.course.notice(&mut ctx, notice::GAME_FOUND, &message);
        // Each half-move since then has changed two squares or so, and was pressed for.
        let is_even = apart.div_ceil(2).is_multiple_of(2);
        world.clock.runs_for(if is_even { to_move } else { !to_move });
    }
}

impl FoundGame {
    /// Parses what somebody else has kept, without what makes no sense or has no half-moves. One that is over does not go on, nor does
    /// another then that stands as well on the board.
    pub(super) fn read(kept: serde_json::Value) -> Vec<Self> {
        let kept = match kept {
            serde_json::Value::Array(kept) => kept,
            // An older program kept one.
            one => vec![one],
        };
        let games = kept
            .into_iter()
            .filter_map(|game| serde_json::from_value(game).ok());
        games.filter(|game: &Self| !game.moves.is_empty()).collect()
    }

    fn goes_on(&self) -> bool {
        self.result == GameResult::Open
    }

    /// Where the game began, and its half-moves. Where one of them cannot be played, it begins with the last position.
    fn played(&self) -> Option<Played> {
        let mode = CastlingMode::from_chess960(self.chess960);
        let start = Arc::new(Stand::of_start(fen(&self.start_fen).ok()?, mode));
        let mut plies: Vec<(Move, Arc<Stand>)> = Vec::new();
        for text in &self.moves {
            let before = plies.last().map_or(&start, |(_, after)| after);
            let Some(candidate) = before.named(text) else {
                let start = Arc::new(stand(&self.fen, mode).ok()?);
                let plies = Vec::new();
                return Some(Played { start, plies });
            };
            let after = Arc::new(before.after(&candidate));
            plies.push((candidate.mv, after));
        }
        Some(Played { start, plies })
    }
}

/// What a person is told of a game that goes on under another number.
fn message(is_own: bool, has_half_moves: bool) -> String {
    let whose = if is_own {
        "Another gateway, or another journal, has told later games of this board. The game that stands on it goes on as a game of its own"
    } else {
        "The journal has nothing of the game that stands on the board. It goes on as a game of its own"
    };
    let how = match (is_own, has_half_moves) {
        (true, true) => "with its half-moves",
        (false, true) => "with the half-moves that the broker has kept",
        (_, false) => "from its last position: a half-move before that cannot be played again",
    };
    format!(
        "{whose}, {how}. Offences that were counted and irregularities that were open are in the events of the game before: count on from there."
    )
}

/// Which way round the board lies if it shows `target`, or nearly so, and on how many squares it differs.
fn shown(world: &World, target: &Placement) -> Option<(Orientation, usize)> {
    let raw = world.board.raw.as_ref()?;
    let is_auto = world.settings.orientation == OrientationSetting::Auto;
    let ways = Orientation::ALL
        .into_iter()
        .filter(|way| is_auto || *way == world.board.orientation);
    let apart = |way: Orientation| (way, way.placement(raw).differing(target).count());
    let (way, apart) = ways.map(apart).min_by_key(|(_, apart)| *apart)?;
    // A board on which the next game is set up shows that.
    let is_set_up = way.placement(raw).differing(&Placement::ARRAY).count() <= apart;
    (apart <= MOST_APART && !is_set_up).then_some((way, apart))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        dgt::{Message, PieceCode},
        watcher::{Settings, Snapshot, Watcher, testing::hear},
    };

    fn found(moves: &[&str], result: &str) -> serde_json::Value {
        json!({ "game": 3, "start_fen": "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "chess960": false, "moves": moves,
            "fen": "4k3/8/8/8/4P3/8/8/4K3 b - - 0 1", "result": result, "last_seq": 9 })
    }

    fn squares(pieces: [(usize, u8); 3]) -> [PieceCode; 64] {
        let mut squares = [PieceCode::EMPTY; 64];
        for (square, code) in pieces {
            squares[square] = PieceCode(code);
        }
        squares
    }

    /// Two gateways of one name had a board each. The one that gets the name again goes on with the game on its own board, whatever
    /// the other told under that number; or with the broker's, where its journal is older.
    #[test]
    fn of_the_own_game_and_the_brokers_that_goes_on_which_the_board_shows() {
        let [e4, e4_e7] = [4, 12].map(|king| squares([(king, 11), (36, 1), (60, 5)]));
        let before = json!({ "seq": 0, "games": 3, "found": [found(&["e2e4"], "*")] }).to_string();
        let mut watcher = Watcher::new(Settings::default(), Some(Snapshot::kept(Some(&before), 9)));
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&e4));
        let kept = serde_json::to_value(watcher.snapshot()).unwrap();
        let cases = [
            (["e2e3"].as_slice(), e4, ["e2e4"].as_slice()),
            (&["e2e4", "e8e7"], e4_e7, &["e2e4", "e8e7"]),
        ];
        for (theirs, board, moves) in cases {
            let mut lifted = kept.clone();
            lifted["games"] = json!(7);
            lifted["weighed"] = json!(null);
            lifted["found"] = json!([found(theirs, "*")]);
            let lifted = Snapshot::kept(Some(&lifted.to_string()), 50);
            let mut watcher = Watcher::new(Settings::default(), Some(lifted));
            assert_eq!(watcher.game().game, None, "it is over under its number");
            watcher.handle_link_up(Millis(0), "port");
            hear(&mut watcher, 100, Message::Dump(&board));
            assert_eq!(watcher.game().game, Some(8));
            assert_eq!(watcher.game().moves, moves);
        }
    }

    /// The other gateway took the game up, and told its end: the board shows both, and nothing begins.
    #[test]
    fn what_others_have_ended_does_not_begin_again() {
        let e4 = squares([(4, 11), (36, 1), (60, 5)]);
        let of = |theirs: serde_json::Value| {
            let kept = json!({ "seq": 0, "games": 3, "found": [found(&["e2e4"], "*")] }).to_string();
            let mut watcher = Watcher::new(Settings::default(), Some(Snapshot::kept(Some(&kept), 9)));
            watcher.handle_link_up(Millis(0), "port");
            hear(&mut watcher, 100, Message::Dump(&e4));
            let mut lifted = serde_json::to_value(watcher.snapshot()).unwrap();
            lifted["games"] = json!(7);
            lifted["found"] = json!([theirs]);
            let lifted = Snapshot::kept(Some(&lifted.to_string()), 50);
            // It is as it was over another restart.
            let again = Snapshot::kept(Some(&serde_json::to_string(&lifted).unwrap()), 50);
            let mut watcher = Watcher::new(Settings::default(), Some(again));
            watcher.handle_link_up(Millis(0), "port");
            hear(&mut watcher, 100, Message::Dump(&e4));
            watcher.game().moves
        };
        assert_eq!(of(found(&["e2e4"], "1-0")), [""; 0]);
        assert_eq!(of(found(&["e2e3"], "1-0")), ["e2e4"]);
    }

    /// The board answers, its clock is silent, and the daemon is killed: whose side is whose is open after it, too.
    #[test]
    fn whose_time_runs_is_open_over_a_restart_while_the_clock_is_silent() {
        let squares = squares([(4, 11), (36, 1), (60, 5)]);
        let kept = json!({ "seq": 0, "games": 3, "found": [found(&["e2e4"], "*")] }).to_string();
        let mut watcher = Watcher::new(Settings::default(), Some(Snapshot::kept(Some(&kept), 9)));
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&squares));
        assert_eq!(watcher.game().moves, ["e2e4"]);
        let kept = serde_json::to_value(watcher.snapshot()).unwrap();
        assert_eq!(
            [&kept["white_runs"], &kept["side_guessed"]],
            [&json!(false), &json!(true)]
        );
        let back = Snapshot::kept(Some(&kept.to_string()), kept["seq"].as_u64().unwrap());
        let again = serde_json::to_value(Watcher::new(Settings::default(), Some(back)).snapshot()).unwrap();
        assert_eq!(again, kept);
    }

    #[test]
    fn a_game_that_is_over_or_makes_no_sense_is_not_taken_up() {
        let goes_on = |game| FoundGame::read(json!([game])).iter().any(FoundGame::goes_on);
        assert!(goes_on(found(&["e2e4"], "*")));
        assert!(!goes_on(found(&["e2e4"], "1-0")));
        assert!(!goes_on(found(&[], "*")), "nothing is lost with it");
        for kept in [json!([{ "game": 3 }]), json!(7), json!([{ "moves": {} }, 7])] {
            assert!(FoundGame::read(kept.clone()).is_empty());
            let kept = json!({ "seq": 0, "games": 3, "found": kept }).to_string();
            let snapshot = Snapshot::kept(Some(&kept), 9);
            assert_eq!((snapshot.lost(), snapshot.seq), (&[][..], 9));
        }
    }

    #[test]
    fn a_game_with_a_half_move_that_cannot_be_played_goes_on_from_its_position() {
        let played = |moves: &[&str]| {
            let played = FoundGame::read(json!([found(moves, "*")]))[0].played().unwrap();
            (played.start.fen(), played.plies.len())
        };
        assert_eq!(
            played(&["e2e4", "e8e7"]),
            ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1".to_owned(), 2)
        );
        assert_eq!(
            played(&["e2e4", "e8e6"]),
            ("4k3/8/8/8/4P3/8/8/4K3 b - - 0 1".to_owned(), 0)
        );
        let mut kept = found(&["e2e5"], "*");
        kept["fen"] = json!("no position");
        assert!(FoundGame::read(json!([kept]))[0].played().is_none());
    }
}
