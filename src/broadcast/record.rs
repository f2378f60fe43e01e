//! The acts at one board that a broadcast shows, and the game as it was at an earlier time.
//!
//! A delayed broadcast is the fold over the acts that are old enough. Result, retraction and new game are acts like
//! moves, so none of them shows before its time.

use jiff::Timestamp;
use shakmaty::{CastlingMode, Chess, Color, fen::Fen, san::SanPlus, uci::UciMove};

use super::clocks::{Readings, TimedClock};
use crate::{
    event::{Body, Event, GameResult, MoveMade, Source, notice},
    game::{Pgn, PgnMove, PgnStart},
    terms::Side,
    tournament::Delay,
};

/// The most games of which acts are kept: the shown game and those begun after it. The oldest go first.
const MAX_GAMES: usize = 3;
/// The most acts of a board. An evening stays far below; moves and retractions without end go no further.
const MAX_ACTS: usize = 4_000;

/// The acts at one board, and the readings of its clock between half-moves.
#[derive(Clone, Debug, Default)]
pub struct PublicRecord {
    acts: Vec<Act>,
    last_seq: u64,
    readings: Readings,
}

/// What tells one public state of a board from others: the number of the last event, the number of public acts, and the
/// time of the newest reading of the clock that is old enough.
pub(super) type PublicState = (u64, usize, Option<i64>);

#[derive(Clone, Debug)]
struct Act {
    /// When it became known, as Unix time in milliseconds.
    known_ms: i64,
    /// When it happened, as Unix time in milliseconds, which is before the daemon was sure of it.
    at_ms: i64,
    game: u32,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Started(Start),
    Moved {
        made: Box<MoveMade>,
        /// True where a person entered it: nobody measured when it was played.
        entered: bool,
    },
    Retracted {
        to_ply: u32,
        /// True where the half-moves that follow are told again.
        corrected: bool,
        /// Where the game counts from another start position now, of standard chess.
        fen: Option<String>,
    },
    Ended {
        result: GameResult,
    },
    Resumed,
    /// The daemon asks an arbiter, because the next result contradicts what is known.
    Questioned,
    /// The pieces were set up anew without a result, so the clock is not that of the game any more.
    Parked,
}

#[derive(Clone, Debug)]
struct Start {
    fen: String,
    chess960: bool,
    players: [Option<String>; 2],
    event: Option<String>,
    round: Option<u32>,
}

/// A game as the public sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownGame {
    /// Number on its board.
    pub number: u32,
    /// Names of White and of Black, from the event that began the game.
    pub players: [Option<String>; 2],
    /// Name of the tournament, from the same event.
    pub event: Option<String>,
    /// Number of the round, from the same event.
    pub round: Option<u32>,
    /// Day on which it began, `YYYY.MM.DD`.
    pub date: Option<String>,
    /// Moves and result; no tags of an event or of players.
    pub pgn: Pgn,
    /// True while it is being played.
    pub live: bool,
}

impl PublicRecord {
    /// Takes an event, unless one with its number was taken before. `now_ms` is its time if it has none itself. True
    /// when a game changed.
    pub fn take(&mut self, event: &Event, now_ms: i64) -> bool {
        if event.seq <= self.last_seq {
            return false;
        }
        self.last_seq = event.seq;
        let Some(game) = event.game else { return false };
        let what = match &event.body {
            Body::GameStarted {
                fen,
                chess960,
                white,
                black,
                event,
                round,
            } => What::Started(Start {
                fen: fen.clone(),
                chess960: *chess960,
                players: [white.clone(), black.clone()],
                event: event.clone(),
                round: *round,
            }),
            Body::Move(made) => What::Moved {
                made: Box::new(made.clone()),
                entered: event.source == Some(Source::Arbiter) && made.clock.is_none(),
            },
            Body::MovesRetracted { to_ply, reason, fen } => What::Retracted {
                to_ply: *to_ply,
                corrected: reason == "corrected_by_arbiter" || fen.is_some(),
                fen: fen.clone(),
            },
            Body::GameEnded { result, .. } => What::Ended { result: *result },
            Body::GameResumed { .. } => What::Resumed,
            Body::Notice { code, .. } if code == notice::RESULT_CONTRADICTS => What::Questioned,
            Body::Notice { code, .. } if code == notice::SET_UP_WITHOUT_RESULT => What::Parked,
            _ => return false,
        };
        // The events of a game that began before, or in another round, do not belong here.
        if !matches!(what, What::Started(_)) && !self.acts.iter().rev().any(|act| act.game == game) {
            return false;
        }
        if self.acts.len() >= MAX_ACTS && matches!(what, What::Moved { .. } | What::Retracted { .. }) {
            return false;
        }
        let stamp = event.time.as_deref().and_then(|time| time.parse().ok());
        let known_ms = stamp.map_or(now_ms, Timestamp::as_millisecond);
        // These are the seconds of an evening, so the product is far from any limit.
        let late_ms = event.at.map_or(0, |at| ((event.t - at).max(0.0) * 1000.0) as i64);
        self.acts.push(Act {
            known_ms,
            at_ms: known_ms - late_ms,
            game,
            what,
        });
        self.forget_the_oldest();
        true
    }

    /// Takes a reading of the clock. Returns when it becomes public at the earliest, as Unix time in milliseconds; none
    /// if it never does.
    ///
    /// Where half-moves are held back by their number, no reading is shown while the game goes on: it would tell how long
    /// players think about half-moves that are not public.
    pub fn take_clock(&mut self, clock: TimedClock, delay: Delay) -> Option<i64> {
        if delay.moves > 0 {
            return None;
        }
        let moves = || {
            let acts = self.acts.iter().rev();
            acts.filter_map(|act| match &act.what {
                What::Moved { made, .. } => Some((act, made)),
                _ => None,
            })
        };
        let is_public = |act: &Act| act.known_ms.saturating_add(delay.ms) <= clock.at_ms;
        let public = moves().find(|(act, _)| is_public(act)).map(|(act, _)| act.at_ms);
        let moved = moves().find_map(|(act, made)| {
            Some(TimedClock {
                game: act.game,
                clock: made.clock?,
                at_ms: act.at_ms,
            })
        });
        self.readings.forget_before(public.unwrap_or(i64::MIN));
        Some(self.readings.take(clock, moved).saturating_add(delay.ms))
    }

    fn forget_the_oldest(&mut self) {
        let starts = |act: &Act| matches!(act.what, What::Started(_));
        // A finished game stays shown whatever comes after it, so the later games go.
        while self.acts.iter().filter(|act| starts(act)).count() > MAX_GAMES {
            let shown = self.shown(i64::MAX, Delay::default()).map(|shown| shown.number);
            let old = self
                .acts
                .iter()
                .find(|act| starts(act) && Some(act.game) != shown);
            let Some(old) = old.map(|act| act.game) else { break };
            self.acts.retain(|act| act.game != old);
        }
    }

    /// The game as the public sees it at `now_ms`; none before the first.
    ///
    /// A game that ended with a result is shown until the end of the round, whatever is set up after it.
    #[must_use]
    pub fn shown(&self, now_ms: i64, delay: Delay) -> Option<ShownGame> {
        let mut game: Option<Unfolding> = None;
        for (_, act) in self.by_time(delay).filter(|(public_ms, _)| *public_ms <= now_ms) {
            match (&act.what, &mut game) {
                (What::Started(_), Some(game)) if game.is_decided() => {}
                (What::Started(start), _) => game = Some(Unfolding::new(act, start)),
                (what, Some(game)) if act.game == game.number => game.take(what, act.at_ms),
                _ => {}
            }
        }
        let mut readings = self.readings.due(now_ms.saturating_sub(delay.ms));
        let held_ms = self.held_since_ms(now_ms, delay);
        game.map(|game| {
            let clock = readings.find(|clock| clock.at_ms < held_ms && game.has(clock));
            game.shown(delay.moves, clock)
        })
    }

    /// Since when something is held back at `now_ms`, as Unix time in milliseconds. Clocks that were read since then
    /// would betray it.
    fn held_since_ms(&self, now_ms: i64, delay: Delay) -> i64 {
        let held = self.by_time(delay).filter(|(public_ms, _)| *public_ms > now_ms);
        held.map(|(_, act)| act.known_ms).min().unwrap_or(i64::MAX)
    }

    /// A number for what is public at `now_ms`, which no other state of the game has.
    #[must_use]
    pub(super) fn picture(&self, now_ms: i64, delay: Delay) -> PublicState {
        let public = self.by_time(delay).filter(|(public_ms, _)| *public_ms <= now_ms);
        let read = self.readings.due(now_ms.saturating_sub(delay.ms)).next();
        (self.last_seq, public.count(), read.map(|clock| clock.at_ms))
    }

    /// The acts, each with the Unix time in milliseconds at which it becomes public.
    fn by_time(&self, delay: Delay) -> impl Iterator<Item = (i64, &Act)> {
        let mut ended: Option<i64> = None;
        self.acts.iter().map(move |act| {
            if matches!(act.what, What::Ended { .. }) {
                ended = Some(act.known_ms);
            }
            // An act after a result that is held back would betray the result, or take its place.
            let held = ended.filter(|ended| act.known_ms >= *ended);
            let held_ms = held.map_or(act.known_ms, |ended| ended.saturating_add(delay.result_ms));
            (act.known_ms.max(held_ms).saturating_add(delay.ms), act)
        })
    }

    /// When the next act or reading becomes public, as Unix time in milliseconds; none when all are.
    #[must_use]
    pub fn next_change_ms(&self, now_ms: i64, delay: Delay) -> Option<i64> {
        let times = self.by_time(delay).map(|(public_ms, _)| public_ms);
        let read = self.readings.next_due_ms(now_ms.saturating_sub(delay.ms));
        let read = read.map(|due_ms| due_ms.saturating_add(delay.ms));
        times.filter(|at| *at > now_ms).chain(read).min()
    }
}

/// A game while the acts are folded.
struct Unfolding {
    number: u32,
    start: Start,
    date: Option<String>,
    /// The moves with their Unix times in milliseconds, where known.
    moves: Vec<(MoveMade, Option<i64>)>,
    result: GameResult,
    ended: bool,
    /// True while the next result waits for an arbiter's word.
    questioned: bool,
    /// Half-moves that a correction took out. Those that come again keep their times.
    taken_out: Vec<(MoveMade, Option<i64>)>,
    /// Since when the position stands, as Unix time in milliseconds.
    since_ms: i64,
    parked: bool,
}

impl Unfolding {
    fn new(act: &Act, start: &Start) -> Self {
        let date = Timestamp::from_millisecond(act.at_ms).ok();
        Self {
            number: act.game,
            start: start.clone(),
            date: date.map(|at| at.strftime("%Y.%m.%d").to_string()),
            moves: Vec::new(),
            result: GameResult::Open,
            ended: false,
            questioned: false,
            taken_out: Vec::new(),
            since_ms: act.at_ms,
            parked: false,
        }
    }

    fn is_decided(&self) -> bool {
        self.result.is_forfeit() || self.result != GameResult::Open && !self.moves.is_empty()
    }

    fn take(&mut self, what: &What, at_ms: i64) {
        if let What::Moved { .. } | What::Retracted { .. } | What::Resumed = what {
            (self.since_ms, self.parked) = (at_ms, false);
        }
        match what {
            What::Started(_) => {}
            What::Moved { made, entered } => {
                self.moves.truncate((made.ply as usize).saturating_sub(1));
                let same =
                    |(old, _): &(MoveMade, Option<i64>)| old.uci == made.uci && old.clock == made.clock;
                let before = self
                    .taken_out
                    .iter()
                    .position(same)
                    .map(|i| self.taken_out.remove(i).1);
                let seen = (!entered).then_some(at_ms);
                self.moves.push(((**made).clone(), before.unwrap_or(seen)));
            }
            What::Retracted {
                to_ply,
                corrected,
                fen,
            } => {
                if let Some(fen) = fen {
                    self.start.fen.clone_from(fen);
                    self.start.chess960 = false;
                }
                let from = self.moves.len().min(*to_ply as usize);
                let taken_out = self.moves.split_off(from);
                self.taken_out = if *corrected { taken_out } else { Vec::new() };
            }
            What::Ended { .. } if std::mem::take(&mut self.questioned) => {}
            What::Ended { result } => {
                self.result = *result;
                self.ended = *result != GameResult::Open;
            }
            What::Resumed => {
                self.result = GameResult::Open;
                self.ended = false;
            }
            // A result that was public before is not held back.
            What::Questioned => self.questioned = !self.ended,
            What::Parked => self.parked = true,
        }
    }

    /// True where the clock shows the times of the present position. After a press that belongs to no half-move yet it
    /// does not. When a game is over, people set its clock for the next.
    fn has(&self, clock: &TimedClock) -> bool {
        let goes_on = !self.ended && !self.parked && clock.game == self.number;
        goes_on
            && clock.at_ms >= self.since_ms
            && clock.clock.running.is_none_or(|side| side == self.to_move())
    }

    fn to_move(&self) -> Side {
        let setup = self.start.fen.parse::<Fen>().unwrap_or_default();
        let turn = Side::from(setup.as_setup().turn);
        if self.moves.len().is_multiple_of(2) {
            turn
        } else {
            turn.opponent()
        }
    }

    /// The game with its clocks: as they were read last, or else as they were at the last half-move.
    fn shown(mut self, hidden_moves: u32, read: Option<&TimedClock>) -> ShownGame {
        if !self.ended {
            let hidden = 2 * hidden_moves as usize;
            self.moves.truncate(self.moves.len().saturating_sub(hidden));
        }
        let last = self.moves.last().and_then(|(made, _)| made.clock);
        let last = read.map(|read| read.clock).or(last);
        let pgn = Pgn {
            tags: Vec::new(),
            moves: self.readable(),
            clocks: last.map(|clock| [clock.white_ms, clock.black_ms]),
            ..Pgn::begun(&PgnStart {
                board: "",
                number: self.number,
                time: None,
                players: [None, None],
                event: None,
                round: None,
                fen: &self.start.fen,
                chess960: self.start.chess960,
            })
        }
        .ended(self.result);
        ShownGame {
            number: self.number,
            players: self.start.players,
            event: self.start.event,
            round: self.start.round,
            date: self.date,
            pgn,
            live: !self.ended,
        }
    }

    /// The half-moves for a reader of PGN. Their names are made by playing them; one that cannot be played has none.
    fn readable(&self) -> Vec<PgnMove> {
        let setup = self.start.fen.parse::<Fen>().unwrap_or_default();
        let turn = setup.as_setup().turn;
        let mode = CastlingMode::from_chess960(self.start.chess960);
        let mut position = setup.into_position::<Chess>(mode).ok();
        let mut before: Option<i64> = None;
        let mut moves = Vec::with_capacity(self.moves.len());
        for (i, (made, at_ms)) in self.moves.iter().enumerate() {
            let named = position.take().and_then(|here| played(here, made));
            let (san, after) = named.unzip();
            // After an illegal move that stands, readers go on from the position after it.
            position = after.or_else(|| made.fen.parse::<Fen>().ok()?.into_position(mode).ok());
            let white = (turn == Color::White) == i.is_multiple_of(2);
            let clock = |made: &MoveMade| {
                made.clock
                    .map(|clock| if white { clock.white_ms } else { clock.black_ms })
            };
            moves.push(PgnMove {
                san,
                uci: made.uci.clone(),
                fen: made.fen.clone(),
                clock_ms: clock(made),
                // Somebody may have set the wall clock back meanwhile.
                used_ms: before
                    .zip(*at_ms)
                    .map(|(before, at_ms)| u64::try_from(at_ms - before).unwrap_or(0)),
            });
            before = *at_ms;
        }
        moves
    }
}

/// The name of a move in `position`, and the position after it; none for one that is not legal there.
fn played(position: Chess, made: &MoveMade) -> Option<(String, Chess)> {
    if made.illegal {
        return None;
    }
    let uci: UciMove = made.uci.parse().ok()?;
    let mv = uci.to_move(&position).ok()?;
    let mut next = position;
    let san = SanPlus::from_move_and_play_unchecked(&mut next, mv).to_string();
    Some((san, next))
}

#[cfg(test)]
mod tests;
