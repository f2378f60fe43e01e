//! What must survive a restart in mid-game: opaque to the journal, which keeps it as JSON.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Color, fen::Fen, uci::UciMove};

use super::{
    clock::Presses,
    core::{Core, Phase},
    flags::Flags,
    game::{Game, Made, Open},
    matter::Matter,
    memory::{squares_of_text, squares_to_text},
    recall::Whole,
    start::is_full_array,
    trail::SavedTrail,
};
use crate::{
    board::{Act, Bill, Item, Line, Orientation, PlyKind, Sensed, Stand, weight},
    dgt::ClockSide,
    event::{ClockState, CompletedBy, GameResult},
    laws::{IrregularityKind, Side},
    time::Millis,
};

/// See the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The last `seq` given out.
    pub seq: u64,
    #[serde(default)]
    games: u32,
    #[serde(default)]
    orientation: Orientation,
    /// True when White's side of the clock is the left one.
    #[serde(default)]
    white_left: Option<bool>,
    #[serde(default)]
    game: Option<SavedGame>,
    /// When it was taken, and what was heard since the board last stood as the game says.
    #[serde(default)]
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trail: Option<SavedTrail>,
}

impl Snapshot {
    /// The watcher's time when it was taken, in milliseconds.
    pub(super) fn taken_at(&self) -> u64 {
        self.at
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedGame {
    start: String,
    chess960: bool,
    plies: Vec<SavedPly>,
    open: Vec<SavedOpen>,
    #[serde(default)]
    closed: Vec<SavedOpen>,
    offences: [u32; 2],
    result: Option<GameResult>,
    #[serde(default)]
    flags: Flags,
    clock_used: bool,
    /// What stood on the board when the record was last whole: half-moves then, and the squares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<(usize, String)>,
    /// The last presses before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pressed: Option<SavedPresses>,
}

/// Presses: whether the last was on the left; of each side, left first, the seconds shown before and after.
type SavedPresses = (bool, [Option<(u32, u32)>; 2]);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedPly {
    uci: String,
    how: How,
    completed_by: CompletedBy,
    clock: Option<ClockState>,
    /// What an illegal act left on the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    act: Option<Act>,
    /// The position that an arbiter accepted after it, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<String>,
    /// Nothing was read where the piece went: where it stands is a guess.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    guessed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Legal,
    Ruled,
    Recovered,
    Illegal,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedOpen {
    id: String,
    kind: IrregularityKind,
    offender: Option<Side>,
    ply: usize,
    target: Option<String>,
    ruled: Option<String>,
    act: Option<Act>,
    counted: bool,
    may_stand: bool,
    matter: Box<Matter>,
}

impl Core {
    pub(super) fn snapshot(&self) -> Snapshot {
        let game = match &self.phase {
            Phase::Game(game) => Some(game),
            Phase::Waiting(_) => None,
        };
        Snapshot {
            seq: self.out.seq,
            games: self.games,
            orientation: self.orientation,
            white_left: self.clock.white_side().map(|side| side == ClockSide::Left),
            at: self.now.0,
            trail: game.and_then(|game| self.trail.save(game)),
            game: game.map(|game| SavedGame::of(game)),
        }
    }

    /// Goes on from `snapshot`. What was played since is found when the board is read.
    pub(super) fn resume(&mut self, snapshot: Snapshot) {
        self.out.seq = snapshot.seq;
        self.games = snapshot.games;
        if self.settings.orientation == super::OrientationSetting::Auto {
            self.orientation = snapshot.orientation;
        }
        if let Some(left) = snapshot.white_left {
            self.clock
                .found(if left { ClockSide::Left } else { ClockSide::Right });
        }
        self.now = Millis(snapshot.at);
        let Some(saved) = snapshot.game else { return };
        let heard = snapshot.trail.is_some_and(|trail| {
            self.take_up(saved.clone(), snapshot.orientation) && self.hear_again(&trail)
        });
        if !heard {
            self.raw = None;
            self.sensed = Sensed::default();
            self.take_up(saved, snapshot.orientation);
        }
        if let Phase::Game(game) = &mut self.phase {
            game.gap = true;
            self.out.questions.extend(game.open_questions());
            self.mark_gap();
        }
    }

    /// The game goes on as it was saved. Returns false when what was saved makes no sense.
    fn take_up(&mut self, saved: SavedGame, orientation: Orientation) -> bool {
        self.phase = Phase::Waiting(Box::default());
        let Some(game) = saved.restore(self.games) else {
            return false;
        };
        // An array has shown how the board lies, whatever is configured.
        if is_full_array(game.start.placement()) {
            self.orientation = orientation;
        }
        self.phase = Phase::Game(Box::new(game));
        true
    }
}

impl SavedGame {
    fn of(game: &Game) -> Self {
        Self {
            start: game.start.fen(),
            chess960: game.mode == CastlingMode::Chess960,
            plies: game.record.iter().map(SavedPly::of).collect(),
            open: game
                .open
                .iter()
                .map(|open| SavedOpen::of(open, game.mode))
                .collect(),
            closed: game
                .closed
                .iter()
                .map(|open| SavedOpen::of(open, game.mode))
                .collect(),
            offences: game.offences,
            result: game.result,
            flags: game.flags.clone(),
            clock_used: game.clock_used,
            whole: game
                .recall
                .whole
                .as_ref()
                .map(|whole| (whole.plies, squares_to_text(&whole.squares))),
            pressed: game
                .recall
                .whole
                .as_ref()
                .and_then(|whole| whole.pressed)
                .map(|pressed| (pressed.last == ClockSide::Left, pressed.times)),
        }
    }

    /// The game as it was; none when what was saved makes no sense.
    fn restore(self, number: u32) -> Option<Game> {
        let mode = if self.chess960 {
            CastlingMode::Chess960
        } else {
            CastlingMode::Standard
        };
        let start = Arc::new(Stand::of_start(self.start.parse().ok()?, mode));
        let unread = Sensed::default();
        let mut game = Game::new(number, start, &unread, Millis(0));
        for saved in &self.plies {
            let made = saved.restore(game.stand(), mode)?;
            game.record.push(made);
        }
        game.open = self
            .open
            .into_iter()
            .map(|open| open.restore(&game, mode))
            .collect();
        game.closed = self
            .closed
            .into_iter()
            .map(|open| open.restore(&game, mode))
            .collect();
        game.offences = self.offences;
        game.result = self.result;
        game.flags = self.flags;
        game.clock_used = self.clock_used;
        game.recall.whole = self.whole.and_then(|(plies, squares)| {
            let squares = squares_of_text(&squares)?;
            let pressed = self.pressed.map(|(left, times)| Presses {
                last: if left { ClockSide::Left } else { ClockSide::Right },
                times,
            });
            Some(Whole {
                plies,
                squares,
                pressed,
            })
        });
        game.gap = true;
        game.lines_after_restart(&unread);
        Some(game)
    }
}

impl Game {
    /// The lines as they were when the last irregularity was said, or from the record alone.
    fn lines_after_restart(&mut self, unread: &Sensed) {
        let now = Millis(0);
        self.base = self.plies();
        let stand = self.stand().clone();
        let line = Line::new(stand.clone(), unread, now);
        let next = self.plies() + 1;
        let mut nothing_done = line.clone();
        if self
            .open
            .iter()
            .any(|open| open.ply == next && open.act.is_some())
        {
            // The press that completed the act was found to be no empty one.
            nothing_done.charge(Item::EmptyPress, weight::EMPTY_PRESS);
        }
        let mut lines = vec![nothing_done];
        for open in self.open.iter().filter(|open| open.ply == next) {
            if let (Some(mv), Some(target)) = (open.ruled, &open.target) {
                lines.push(line.played(PlyKind::Ruled(mv), target.clone(), unread, now, &Bill::default()));
            }
            if let Some(act) = &open.act {
                let left = Arc::new(stand.left_as(&act.placement()));
                lines.push(line.played(
                    PlyKind::Illegal(Box::new(act.clone())),
                    left,
                    unread,
                    now,
                    &Bill::default(),
                ));
            }
        }
        self.lines.frozen = true;
        self.lines.reset(now, unread, lines);
        self.lines.frozen = false;
    }
}

impl SavedPly {
    fn of(made: &Made) -> Self {
        let (how, act) = match &made.kind {
            PlyKind::Legal(_) => (How::Legal, None),
            PlyKind::Ruled(_) => (How::Ruled, None),
            PlyKind::Recovered(_) => (How::Recovered, None),
            PlyKind::Illegal(act) | PlyKind::Suspect(act) => (How::Illegal, Some((**act).clone())),
        };
        Self {
            uci: made.uci.clone(),
            how,
            completed_by: made.completed_by,
            clock: made.clock,
            act,
            guessed: !made.landed,
            accepted: made.accepted.then(|| made.stand.fen()),
        }
    }

    fn restore(&self, before: &Arc<Stand>, mode: CastlingMode) -> Option<Made> {
        let (kind, stand) = match (self.how, &self.act) {
            (How::Illegal, act) => {
                let act = act.clone()?;
                let stand = before.left_as(&act.placement());
                (PlyKind::Illegal(Box::new(act)), stand)
            }
            (how, _) => {
                let candidate = before.candidates().find(|c| uci(c.mv, mode) == self.uci)?;
                let kind = match how {
                    How::Ruled => PlyKind::Ruled(candidate.mv),
                    How::Recovered => PlyKind::Recovered(candidate.mv),
                    _ => PlyKind::Legal(candidate.mv),
                };
                (kind, before.after(&candidate))
            }
        };
        let (_, san) = super::game::names(before, &kind, mode);
        let stand = match &self.accepted {
            Some(fen) => stand_of_fen(fen, mode)?,
            None => stand,
        };
        Some(Made {
            kind,
            uci: self.uci.clone(),
            san,
            stand: Arc::new(stand),
            completed_by: self.completed_by,
            clock: self.clock,
            at: Millis(0),
            accepted: self.accepted.is_some(),
            landed: !self.guessed,
        })
    }
}

impl SavedOpen {
    fn of(open: &Open, mode: CastlingMode) -> Self {
        Self {
            id: open.id.clone(),
            kind: open.kind,
            offender: open.offender.map(Into::into),
            ply: open.ply,
            target: open.target.as_ref().map(|stand| stand.fen()),
            ruled: open.ruled.map(|mv| uci(mv, mode)),
            act: open.act.clone(),
            counted: open.counted,
            may_stand: open.may_stand,
            matter: open.matter.clone(),
        }
    }

    fn restore(self, game: &Game, mode: CastlingMode) -> Open {
        let before = game.stand_at(self.ply.saturating_sub(1).min(game.plies()));
        let move_of = |text: &str| before.moves().iter().copied().find(|mv| uci(*mv, mode) == text);
        let target = self.target.and_then(|fen| stand_of_fen(&fen, mode)).map(Arc::new);
        Open {
            id: self.id,
            kind: self.kind,
            offender: self.offender.map(Color::from),
            ply: self.ply,
            ruled: self.ruled.as_deref().and_then(move_of),
            target,
            act: self.act,
            counted: self.counted,
            may_stand: self.may_stand,
            said: Millis(0),
            matter: self.matter,
        }
    }
}

fn uci(mv: shakmaty::Move, mode: CastlingMode) -> String {
    UciMove::from_move(mv, mode).to_string()
}

/// The position of a FEN, playable or not.
pub(super) fn stand_of_fen(fen: &str, mode: CastlingMode) -> Option<Stand> {
    let fen: Fen = fen.parse().ok()?;
    Some(Stand::of_setup(fen.into_setup(), mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::{
        dgt::{Lever, Message, PieceCode},
        watcher::{
            ClockSideSetting, Settings, Watcher,
            testing::{after_e4, clock, hear, initial_men},
        },
    };

    fn resumed(text: &str) -> Watcher {
        let snapshot = serde_json::from_str(text).unwrap();
        Watcher::new(Settings::default(), Some(snapshot))
    }

    #[test]
    fn a_game_goes_on_where_it_was() {
        let watcher = after_e4();
        let text = serde_json::to_string(&watcher.snapshot()).unwrap();
        assert_eq!(resumed(&text).game(), watcher.game());
        assert_eq!(serde_json::to_string(&resumed(&text).snapshot()).unwrap(), text);
    }

    /// Whose time runs is known, so the game begins before anybody has seen how the pawn came there.
    #[test]
    fn a_game_that_begins_with_a_capture_en_passant_goes_on_too() {
        let settings = Settings {
            clock_side: ClockSideSetting::WhiteLeft,
            ..Settings::default()
        };
        let mut watcher = Watcher::new(settings, None);
        watcher.handle_link_up(Millis(0), "port");
        let mut squares = [PieceCode::EMPTY; 64];
        for (square, man) in [(4, 11), (60, 5), (27, 7), (28, 1), (29, 7)] {
            squares[square] = PieceCode(man);
        }
        hear(&mut watcher, 100, Message::Dump(&squares));
        hear(&mut watcher, 200, clock(Lever::LeftHigh));
        hear(&mut watcher, 4000, clock(Lever::LeftHigh));
        let start = |watcher: &Watcher| watcher.game().start_fen.unwrap_or_default();
        assert_eq!(start(&watcher), "4k3/8/8/3pPp2/8/8/8/4K3 w - - 0 1");
        let again = |watcher: &Watcher| resumed(&serde_json::to_string(&watcher.snapshot()).unwrap());
        for mut watcher in [again(&watcher), watcher] {
            watcher.handle_link_up(Millis(5000), "port");
            hear(&mut watcher, 5100, Message::Dump(&squares));
            hear(&mut watcher, 5200, clock(Lever::LeftHigh));
            for (at, square, man) in [(6000, 28, 0), (6400, 21, 1), (6800, 29, 0)] {
                let piece = PieceCode(man);
                hear(&mut watcher, at, Message::Field { square, piece });
            }
            hear(&mut watcher, 7000, clock(Lever::RightHigh));
            hear(&mut watcher, 12_000, clock(Lever::RightHigh));
            assert_eq!(watcher.game().moves, ["e5f6"]);
            assert_eq!(start(&watcher), "4k3/8/8/3pPp2/8/8/8/4K3 w - f6 0 1");
            assert_eq!(again(&watcher).game(), watcher.game());
        }
    }

    #[test]
    fn the_numbering_goes_on_even_without_a_game() {
        let mut watcher = resumed(r#"{"seq": 41}"#);
        watcher.handle_link_up(Millis(0), "port");
        hear(&mut watcher, 100, Message::Dump(&[PieceCode::EMPTY; 64]));
        assert_eq!(watcher.poll_event().map(|event| event.seq), Some(42));
    }

    /// Black has pressed without a move, and it is not said yet.
    #[test]
    fn what_was_not_said_yet_is_said_after_a_restart() {
        let mut watcher = after_e4();
        hear(&mut watcher, 6000, clock(Lever::LeftHigh));
        let text = serde_json::to_string(&watcher.snapshot()).unwrap();
        let said = |text: &str| {
            let mut watcher = resumed(text);
            let (mut squares, mut found) = (initial_men(), Vec::new());
            (squares[52], squares[36]) = (PieceCode::EMPTY, PieceCode(1));
            watcher.handle_link_up(Millis(0), "port");
            hear(&mut watcher, 100, Message::Dump(&squares));
            hear(&mut watcher, 200, clock(Lever::LeftHigh));
            hear(&mut watcher, 9000, clock(Lever::LeftHigh));
            while let Some(event) = watcher.poll_event() {
                assert!(event.t <= 9.0, "the time of the new daemon: {event:?}");
                found.push(event.body.type_name().to_owned());
            }
            found
        };
        assert_eq!(
            said(&text),
            ["board_connected", "clock_connected", "irregularity"]
        );
        // Without the trail, or with one that makes no sense, it is not known that there was a press.
        let mut saved: serde_json::Value = serde_json::from_str(&text).unwrap();
        saved["trail"]["squares"] = "zz".into();
        assert_eq!(said(&saved.to_string()), ["board_connected", "clock_connected"]);
    }

    #[test]
    fn a_game_that_makes_no_sense_is_dropped() {
        let mut saved = serde_json::to_value(after_e4().snapshot()).unwrap();
        saved["game"]["plies"][0]["uci"] = "e2e5".into();
        let watcher = resumed(&saved.to_string());
        assert!(watcher.game().moves.is_empty());
        assert_eq!(watcher.snapshot().seq, saved["seq"]);
    }
}
