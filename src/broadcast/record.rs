//! The acts at one board that a broadcast shows, and the game as it was at an earlier time.
//!
//! A delayed broadcast is the fold over the acts that are old enough. Result, retraction and new game are acts like
//! moves, so none of them shows before its time.

mod act;
mod choice;

use shakmaty::{
    CastlingMode, Chess, Color,
    fen::Fen,
    san::{San, SanPlus},
    uci::UciMove,
};

use act::{Noted, PublicAct, Start, What};
use choice::GameChoice;

use super::{
    clocks::{Readings, TimedClock},
    mark::{PublicMark, Ranges},
    runs::{HeardAt, Moment, Runs, Starts},
};
use crate::{
    event::{Event, GameResult, MoveMade},
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
    acts: Vec<PublicAct>,
    last_seq: u64,
    /// The highest number in each range.
    highest: Ranges,
    readings: Readings,
    runs: Runs,
    /// What was public before this process.
    mark: Option<PublicMark>,
    /// The last event that was public. What was published stays, whatever is set since: a clock, or the delay.
    public: Ranges,
}

/// What tells one public state of a board from others: the number of the last event, the number of public acts, and the
/// time of the newest reading of the clock that is old enough.
pub(super) type PublicState = (u64, usize, Option<i64>);

/// A game as the public sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownGame {
    /// Number on its board.
    pub number: u32,
    /// Names of White and of Black, from the event that began the game, or from one that corrected them.
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
    /// Notes when an event was heard, unless one with its number was. Returns when it was decided, by the time of the
    /// broadcast, and what [`Self::take_noted`] needs.
    pub(super) fn note(&mut self, event: &Event, heard: HeardAt) -> Option<(i64, Noted)> {
        if self.highest.has(event.seq) {
            return None;
        }
        self.highest.take(event.seq);
        self.last_seq = event.seq;
        let (known, at) = self.runs.note(event, heard);
        self.runs.forget_before(self.acts.first().map(|act| act.known));
        Some((self.runs.starts().ms(known), Noted { known, at }))
    }

    /// Takes an event, unless one with its number was taken before. True when a game changed.
    pub fn take(&mut self, event: &Event, heard: impl Into<HeardAt>) -> bool {
        let noted = self.note(event, heard.into());
        noted.is_some_and(|(_, noted)| self.take_noted(event, noted))
    }

    /// Takes of an event only when it was: it is of no game or of another, and may tell the day of `game`, which is over.
    pub fn take_time(&mut self, game: u32, event: &Event) {
        if !self.runs.know_the_day_of(game) {
            self.note(event, 0.into());
        }
    }

    /// Takes an event that was noted. True when a game changed.
    pub(super) fn take_noted(&mut self, event: &Event, noted: Noted) -> bool {
        let Some((game, what)) = event.game.zip(What::of(event)) else {
            return false;
        };
        // The events of a game that began before, or in another round, do not belong here.
        if !matches!(what, What::Started(_)) && !self.acts.iter().rev().any(|act| act.game == game) {
            return false;
        }
        if self.acts.len() >= MAX_ACTS && matches!(what, What::Moved { .. } | What::Retracted { .. }) {
            return false;
        }
        let is_marked =
            matches!(&what, What::Started(start) if self.has_mark_of(game, start.time.as_deref()));
        if let Some(mark) = self.mark.take_if(|_| is_marked) {
            self.public = mark.public();
        }
        let Noted { known, at } = noted;
        self.acts.push(PublicAct {
            seq: event.seq,
            known,
            at,
            game,
            what,
        });
        self.forget_the_oldest();
        true
    }

    /// Takes what was public before.
    pub(super) fn remember(&mut self, mark: PublicMark) {
        self.mark = Some(mark);
    }

    /// True where a game was public before this process that began at `time` according to its event.
    pub(super) fn has_mark_of(&self, game: u32, time: Option<&str>) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.is_of(game, time))
    }

    /// True once a game of the mark has come: what comes now is later.
    pub(super) fn is_past_its_mark(&self) -> bool {
        self.public != Ranges::default()
    }

    /// What is public at `now_ms`, with `shown` as the game, for the time after a restart. It stays public from now on.
    pub(super) fn mark(&mut self, shown: Option<u32>, now_ms: i64, delay: Delay) -> Option<PublicMark> {
        let mut public = self.public;
        let shown_by_now = self.by_time(delay).filter(|(public_ms, _)| *public_ms <= now_ms);
        shown_by_now.for_each(|(_, act)| public.take(act.seq));
        self.public = public;
        let start = self.acts.iter().find_map(|act| match &act.what {
            What::Started(start) if Some(act.game) == shown => Some((act.game, start)),
            _ => None,
        });
        let mark = start.map(|(game, start)| PublicMark {
            game,
            began: start.time.clone(),
            seq: self.public.0[0],
            far: [self.public.0[1], self.public.0[2]],
        });
        mark.or_else(|| self.mark.clone())
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
        let starts = self.runs.starts();
        let is_public = |act: &PublicAct| starts.ms(act.known).saturating_add(delay.ms) <= clock.at_ms;
        let public = moves().find(|(act, _)| is_public(act));
        let public = public.map(|(act, _)| starts.ms(act.at));
        let moved = moves().find_map(|(act, made)| {
            Some(TimedClock {
                game: act.game,
                clock: made.clock?,
                at_ms: starts.ms(act.at),
            })
        });
        self.readings.forget_before(public.unwrap_or(i64::MIN));
        Some(self.readings.take(clock, moved).saturating_add(delay.ms))
    }

    fn forget_the_oldest(&mut self) {
        let starts = |act: &PublicAct| matches!(act.what, What::Started(_));
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
    #[must_use]
    pub fn shown(&self, now_ms: i64, delay: Delay) -> Option<ShownGame> {
        let starts = self.runs.starts();
        let mut choice = GameChoice::default();
        for (_, act) in self.by_time(delay).filter(|(public_ms, _)| *public_ms <= now_ms) {
            choice.take(act);
        }
        let mut readings = self.readings.due(now_ms.saturating_sub(delay.ms));
        let held_ms = self.held_since_ms(now_ms, delay);
        choice.into_shown().map(|game| {
            let clock = readings.find(|clock| clock.at_ms < held_ms && game.has(clock, &starts));
            game.shown(delay.moves, clock, &self.runs)
        })
    }

    /// Since when something is held back at `now_ms`, as Unix time in milliseconds. Clocks that were read since then
    /// would betray it.
    fn held_since_ms(&self, now_ms: i64, delay: Delay) -> i64 {
        let starts = self.runs.starts();
        let held = self.by_time(delay).filter(|(public_ms, _)| *public_ms > now_ms);
        held.map(|(_, act)| starts.ms(act.known))
            .min()
            .unwrap_or(i64::MAX)
    }

    /// A number for what is public at `now_ms`, which no other state of the game has.
    #[must_use]
    pub(super) fn picture(&self, now_ms: i64, delay: Delay) -> PublicState {
        let public = self.by_time(delay).filter(|(public_ms, _)| *public_ms <= now_ms);
        let read = self.readings.due(now_ms.saturating_sub(delay.ms)).next();
        (self.last_seq, public.count(), read.map(|clock| clock.at_ms))
    }

    /// The acts, each with the Unix time in milliseconds at which it becomes public: none before those that came before
    /// it.
    fn by_time(&self, delay: Delay) -> impl Iterator<Item = (i64, &PublicAct)> {
        let starts = self.runs.starts();
        let mut ended: Option<i64> = None;
        let mut latest = i64::MIN;
        self.acts.iter().map(move |act| {
            let known_ms = starts.ms(act.known);
            if matches!(act.what, What::Ended { .. }) {
                ended = Some(known_ms);
            }
            // An act after a result that is held back would betray the result, or take its place.
            let held = ended.filter(|ended| known_ms >= *ended);
            let held_ms = held.map_or(known_ms, |ended| ended.saturating_add(delay.result_ms));
            let public_ms = known_ms.max(held_ms).saturating_add(delay.ms);
            if !self.public.has(act.seq) {
                latest = latest.max(public_ms);
            }
            (latest, act)
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
    began: Moment,
    /// The moves with their times, where known.
    moves: Vec<(MoveMade, Option<Moment>)>,
    result: GameResult,
    ended: bool,
    /// True while the next result waits for an arbiter's word.
    questioned: bool,
    /// Half-moves that a correction took out. Those that come again keep their times.
    taken_out: Vec<(MoveMade, Option<Moment>)>,
    /// Since when the position stands.
    since: Moment,
    parked: bool,
}

impl Unfolding {
    fn new(act: &PublicAct, start: &Start) -> Self {
        Self {
            number: act.game,
            start: start.clone(),
            began: act.at,
            moves: Vec::new(),
            result: GameResult::Open,
            ended: false,
            questioned: false,
            taken_out: Vec::new(),
            since: act.at,
            parked: false,
        }
    }

    fn is_decided(&self) -> bool {
        self.result.is_forfeit() || self.result != GameResult::Open && !self.moves.is_empty()
    }

    fn take(&mut self, what: &What, at: Moment) {
        if let What::Moved { .. } | What::Retracted { .. } | What::Resumed = what {
            (self.since, self.parked) = (at, false);
        }
        match what {
            What::Started(_) => {}
            What::Named(names) => self.start.names = names.clone(),
            What::Moved { made, entered } => {
                self.moves.truncate((made.ply as usize).saturating_sub(1));
                let before = self.told_before(made);
                let seen = (!entered).then_some(at);
                self.moves.push(((**made).clone(), before.unwrap_or(seen)));
            }
            What::Retracted {
                to_ply,
                corrected,
                fen,
                chess960,
            } => {
                if let Some(fen) = fen {
                    self.start.fen.clone_from(fen);
                    self.start.chess960 = *chess960;
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

    /// When the half-move was made, where a correction tells it again; perhaps with another number, or with other times.
    fn told_before(&mut self, made: &MoveMade) -> Option<Option<Moment>> {
        let find = |is_it: &dyn Fn(&MoveMade) -> bool| {
            let mut taken_out = self.taken_out.iter();
            taken_out.position(|(old, _)| old.uci == made.uci && is_it(old))
        };
        let found = find(&|old| old.clock == made.clock).or_else(|| find(&|old| old.ply == made.ply))?;
        Some(self.taken_out.remove(found).1)
    }

    /// True where the clock shows the times of the present position. After a press that belongs to no half-move yet it
    /// does not. When a game is over, people set its clock for the next.
    fn has(&self, clock: &TimedClock, starts: &Starts) -> bool {
        let goes_on = !self.ended && !self.parked && clock.game == self.number;
        goes_on
            && clock.at_ms >= starts.ms(self.since)
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
    fn shown(mut self, hidden_moves: u32, read: Option<&TimedClock>, runs: &Runs) -> ShownGame {
        if !self.ended {
            let hidden = 2 * hidden_moves as usize;
            self.moves.truncate(self.moves.len().saturating_sub(hidden));
        }
        let last = self.moves.last().and_then(|(made, _)| made.clock);
        let last = read.map(|read| read.clock).or(last);
        let pgn = Pgn {
            tags: Vec::new(),
            moves: self.readable(runs),
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
            players: self.start.names.players,
            event: self.start.names.event,
            round: self.start.names.round,
            date: runs.date(self.number, self.began),
            pgn,
            live: !self.ended,
        }
    }

    /// The half-moves for a reader of PGN. Their names are made by playing them; one that cannot be played has the name of its
    /// event, or none.
    fn readable(&self, runs: &Runs) -> Vec<PgnMove> {
        let setup = self.start.fen.parse::<Fen>().unwrap_or_default();
        let turn = setup.as_setup().turn;
        let mode = CastlingMode::from_chess960(self.start.chess960);
        let mut position = setup.into_position::<Chess>(mode).ok();
        let mut before: Option<Moment> = None;
        let mut moves = Vec::with_capacity(self.moves.len());
        for (i, (made, at)) in self.moves.iter().enumerate() {
            let here = position.take();
            let named = here.clone().and_then(|here| played(here, made));
            let (san, after) = named.unzip();
            // From where a displaced piece stands it is another half-move than from where it belongs.
            let is_name = |san: &String| here.is_some() && san.parse::<San>().is_ok();
            let san = san.or_else(|| made.san.clone().filter(is_name));
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
                used_ms: before
                    .zip(*at)
                    .and_then(|(before, at)| runs.between(self.number, before, at)),
            });
            before = *at;
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
#[cfg(test)]
mod wall_clock;
