//! A game that somebody else has kept while the journal was lost: the broker retains what the board told last of its game. The watcher
//! takes it up where the board shows it, so that no half-move is lost with a card that died.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Move};

use super::{
    super::{begin::start_game, play::Play, world::World},
    record::{fen, stand, uci},
};
use crate::{
    board::{Bill, Line, Orientation, Placement, PlyKind, Sensed, Stand},
    event::{CompletedBy, GameResult, notice},
    time::Millis,
    watcher::OrientationSetting,
};

/// If more squares than these are other ones, the board shows another game.
const MOST_APART: usize = 8;

/// The last game of the board, as it was published (`game`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::watcher::core) struct FoundGame {
    start_fen: String,
    chess960: bool,
    moves: Vec<String>,
    fen: String,
    result: GameResult,
}

/// A half-move, and the position after it.
type Played = (Move, Arc<Stand>);

impl FoundGame {
    /// Parses what somebody else has kept; none where that is no game that goes on.
    pub(super) fn read(kept: serde_json::Value) -> Option<Self> {
        let found: Self = serde_json::from_value(kept).ok()?;
        (found.result == GameResult::Open && !found.moves.is_empty()).then_some(found)
    }

    /// Takes the game up if the board, which lies in some way and was just read for the first time, shows it. It is a game of its own:
    /// the events of the one before are known no more.
    pub(in crate::watcher::core) fn take_up(&self, world: &mut World, play: &mut Play, now: Millis) {
        let Some((start, plies)) = self.played() else {
            return;
        };
        let target = plies
            .last()
            .map_or(&start, |(_, after)| after)
            .placement()
            .clone();
        let Some((way, apart)) = shown(world, &target) else {
            return;
        };
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
        game.course.notice(&mut ctx, notice::GAME_FOUND, MESSAGE);
        // Each half-move since then has changed two squares or so, and was pressed for.
        let is_even = apart.div_ceil(2).is_multiple_of(2);
        world.clock.runs_for(if is_even { to_move } else { !to_move });
    }

    /// Where the game began, and its half-moves. Where one of them cannot be played, it begins with the last position.
    fn played(&self) -> Option<(Arc<Stand>, Vec<Played>)> {
        let mode = if self.chess960 {
            CastlingMode::Chess960
        } else {
            CastlingMode::Standard
        };
        let start = Arc::new(Stand::of_start(fen(&self.start_fen).ok()?, mode));
        let mut plies: Vec<Played> = Vec::new();
        for text in &self.moves {
            let before = plies.last().map_or(&start, |(_, after)| after);
            let Some(candidate) = before.candidates().find(|c| uci(c.mv, mode) == *text) else {
                return Some((Arc::new(stand(&self.fen, mode).ok()?), Vec::new()));
            };
            let after = Arc::new(before.after(&candidate));
            plies.push((candidate.mv, after));
        }
        Some((start, plies))
    }
}

const MESSAGE: &str = "The journal has nothing of the game that stands on the board. Its half-moves are those that the broker has kept, and it goes on as a game of its \
                       own. Offences that were counted and irregularities that were open are in the events of the game before: count on from there.";

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

    /// The board answers, its clock is silent, and the daemon is killed: whose side is whose is open after it, too.
    #[test]
    fn whose_time_runs_is_open_over_a_restart_while_the_clock_is_silent() {
        let mut squares = [PieceCode::EMPTY; 64];
        for (square, code) in [(4, 11), (36, 1), (60, 5)] {
            squares[square] = PieceCode(code);
        }
        let kept = json!({ "seq": 0, "games": 3, "found": found(&["e2e4"], "*") }).to_string();
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
        assert!(FoundGame::read(found(&["e2e4"], "*")).is_some());
        assert!(FoundGame::read(found(&["e2e4"], "1-0")).is_none());
        assert!(
            FoundGame::read(found(&[], "*")).is_none(),
            "nothing is lost with it"
        );
        for kept in [json!({ "game": 3 }), json!(7), json!({ "moves": {} })] {
            assert!(FoundGame::read(kept.clone()).is_none());
            let kept = json!({ "seq": 0, "games": 3, "found": kept }).to_string();
            let snapshot = Snapshot::kept(Some(&kept), 9);
            assert_eq!((snapshot.lost(), snapshot.seq), (&[][..], 9));
        }
    }

    #[test]
    fn a_game_with_a_half_move_that_cannot_be_played_goes_on_from_its_position() {
        let played = |moves: &[&str]| {
            let (start, plies) = FoundGame::read(found(moves, "*")).unwrap().played().unwrap();
            (start.fen(), plies.len())
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
        assert!(FoundGame::read(kept).unwrap().played().is_none());
    }
}
