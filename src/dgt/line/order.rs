//! What the answers of one visit say, in the order in which it happened.
//!
//! A visit asks for the clock, for the whole board where that is wanted, and then for the changes. So all that the first two
//! answers show has happened before the changes were told, and each of them is put between those changes where it fits. The
//! records of changes have the lever in order with the squares, with the time of the side that stopped: that is a frame of the clock
//! which nobody sent.

use crate::dgt::{
    clock::{ClockReading, ClockSide, Lever},
    eventlog::{LogRecord, LogRecords},
    message::{Message, PieceCode, Squares},
};

/// What a clock says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockSaid {
    /// It shows this.
    Reading(ClockReading),
    /// There is none.
    Absent,
}

impl ClockSaid {
    fn reading(self) -> Option<ClockReading> {
        match self {
            Self::Reading(reading) => Some(reading),
            Self::Absent => None,
        }
    }
}

/// What the answers of one visit are.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// The clock, asked first.
    pub(super) clock: Option<ClockSaid>,
    /// The whole board, asked next.
    pub(super) dump: Option<Box<Squares>>,
    /// The changes, asked last: records.
    pub(super) changes: Vec<u8>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// A square changed, a quarter of a second or more after the one before, where the board is known to tell that.
    Field {
        square: u8,
        piece: PieceCode,
        apart: bool,
    },
    /// The clock shows this.
    Clock(ClockSaid),
    /// The whole board was read.
    Dump(Box<Squares>),
}

impl Happened {
    /// Appends the frame with which a board on a line of its own would say it.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Field { square, piece, apart } => {
                if *apart {
                    Message::APART.encode(out);
                }
                Message::Field {
                    square: *square,
                    piece: *piece,
                }
            }
            Self::Clock(ClockSaid::Reading(reading)) => Message::Clock(*reading),
            Self::Clock(ClockSaid::Absent) => Message::NoClock,
            Self::Dump(squares) => Message::Dump(squares),
        }
        .encode(out);
    }
}

/// What is known of a board from what it said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BoardModel {
    /// What stands on it; none where that is not known.
    pub(super) squares: Option<Box<Squares>>,
    /// What its clock said last.
    pub(super) clock: Option<ClockSaid>,
    /// The last whole board fitted nowhere and was set aside.
    set_aside: bool,
    /// It has told of a change that it came soon after another: boards of old firmware never do.
    tells_soon: bool,
}

/// What a visit came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VisitOutcome {
    /// In the order in which it happened.
    pub(super) happened: Vec<Happened>,
    /// The board was without power: nothing that was known of it holds.
    pub(super) powered_up: bool,
    /// Something does not fit: the whole board is to be read.
    pub(super) is_odd: bool,
    /// A whole board showed changes that were never told.
    pub(super) lost: bool,
}

impl BoardModel {
    /// Puts the answers of a visit in order.
    pub(super) fn take(&mut self, answers: &Answers) -> VisitOutcome {
        let mut told = VisitOutcome::default();
        let is_first = self.squares.is_none();
        let mut records = Vec::new();
        for record in LogRecords::new(&answers.changes) {
            match record {
                LogRecord::Field { .. } | LogRecord::Time { .. } => records.push(record),
                // Who has not seen the board yet does not miss what was before.
                LogRecord::PowerUp if is_first => records.clear(),
                LogRecord::PowerUp => told.powered_up = true,
                LogRecord::Watchdog | LogRecord::Unknown(_) => told.is_odd = true,
                LogRecord::FourRows
                | LogRecord::Empty
                | LogRecord::Downloaded
                | LogRecord::StartPosition { .. }
                | LogRecord::StartTag => {}
            }
        }
        if told.powered_up {
            *self = Self::default();
            return told;
        }
        let dump_at = answers
            .dump
            .as_deref()
            .and_then(|dump| self.place_of_dump(dump, &records, &mut told));
        let clock_at = answers
            .clock
            .and_then(|clock| self.place_of_clock(clock, &records));
        if let Some(started) = self.started(answers.clock, &records) {
            self.clock = Some(started);
            told.happened.push(Happened::Clock(started));
        }
        for place in 0..=records.len() {
            if let Some(record) = place.checked_sub(1).and_then(|index| records.get(index)) {
                told.happened.extend(self.record(record, answers.clock));
            }
            if let Some(clock) = answers.clock.filter(|_| clock_at == Some(place)) {
                self.clock = Some(clock);
                told.happened.push(Happened::Clock(clock));
            }
            if let Some(dump) = answers.dump.as_ref().filter(|_| dump_at == Some(place)) {
                self.squares = Some(dump.clone());
                told.happened.push(Happened::Dump(dump.clone()));
            }
        }
        if is_first {
            past(&mut told.happened);
        }
        told
    }

    /// A clock that was standing and runs now was started before anything was played on it: no record tells when. A press before which
    /// nothing was played is what has started it.
    fn started(&self, clock: Option<ClockSaid>, records: &[LogRecord]) -> Option<ClockSaid> {
        let before = self.clock?.reading().filter(|before| !before.running)?;
        let now = clock?.reading().filter(|now| now.running)?;
        if matches!(records.first()?, LogRecord::Time { .. }) {
            return None;
        }
        let pressed = records.iter().find_map(|record| match record {
            LogRecord::Time { side, .. } => Some(side.other()),
            _ => None,
        });
        Some(ClockSaid::Reading(ClockReading {
            running: true,
            lever: pressed.map_or(now.lever, Lever::after_press),
            ..before
        }))
    }

    /// What a record says happened. A press is a frame of the clock; `clock` is what it shows in this visit, where it was asked.
    fn record(&mut self, record: &LogRecord, clock: Option<ClockSaid>) -> Option<Happened> {
        match *record {
            LogRecord::Field {
                square,
                piece,
                soon_after,
            } => {
                self.tells_soon |= soon_after;
                let apart = self.tells_soon && !soon_after;
                if let Some(place) = self
                    .squares
                    .as_mut()
                    .and_then(|all| all.get_mut(usize::from(square)))
                {
                    *place = piece;
                }
                Some(Happened::Field { square, piece, apart })
            }
            LogRecord::Time { side, seconds } => {
                let before = self.clock.and_then(ClockSaid::reading);
                let now = clock.and_then(ClockSaid::reading);
                let pressed = pressed(before.or(now)?, now, side, seconds);
                self.clock = Some(pressed);
                Some(Happened::Clock(pressed))
            }
            _ => None,
        }
    }

    /// After how many of `records` the whole board was read: the last place where it fits.
    fn place_of_dump(
        &mut self,
        dump: &Squares,
        records: &[LogRecord],
        told: &mut VisitOutcome,
    ) -> Option<usize> {
        let mut squares = self.squares.clone();
        let mut touched = Vec::new();
        let mut last = None;
        for place in 0..=records.len() {
            let record = place.checked_sub(1).and_then(|index| records.get(index));
            if let Some(LogRecord::Field { square, piece, .. }) = record {
                touched.retain(|(other, _)| other != square);
                touched.push((*square, *piece));
                if let Some(place) = squares.as_mut().and_then(|all| all.get_mut(usize::from(*square))) {
                    *place = *piece;
                }
            }
            let fits = match &squares {
                Some(squares) => **squares == *dump,
                None => touched
                    .iter()
                    .all(|(square, piece)| dump.get(usize::from(*square)) == Some(piece)),
            };
            last = if fits { Some(place) } else { last };
        }
        if last.is_some() {
            self.set_aside = false;
            return last;
        }
        // A change between two that the log tells as one may be in it. A second that does not fit is no such thing.
        let is_sure = records.is_empty() || self.set_aside;
        self.set_aside = !is_sure;
        told.is_odd = !is_sure;
        told.lost = is_sure;
        is_sure.then_some(records.len())
    }

    /// After how many of `records` the clock was read; none where it fits nowhere.
    fn place_of_clock(&self, clock: ClockSaid, records: &[LogRecord]) -> Option<usize> {
        let presses = records
            .iter()
            .any(|record| matches!(record, LogRecord::Time { .. }));
        let Some(reading) = clock.reading().filter(|_| presses) else {
            return Some(records.len());
        };
        let mut stopped = self.clock.and_then(ClockSaid::reading).map(|before| {
            let side = before.lever.pressed();
            (side, before.time(side).seconds)
        });
        let (mut exact, mut by_lever) = (None, None);
        for place in 0..=records.len() {
            if let Some(LogRecord::Time { side, seconds }) =
                place.checked_sub(1).and_then(|index| records.get(index))
            {
                stopped = Some((*side, *seconds));
            }
            let Some((side, seconds)) = stopped.filter(|(side, _)| *side == reading.lever.pressed()) else {
                continue;
            };
            by_lever = Some(place);
            if reading.time(side).seconds == seconds {
                exact = Some(place);
            }
        }
        exact.or(by_lever)
    }
}

/// Leaves out what happened before the whole board was read for the first time, but for what the clock showed last.
fn past(happened: &mut Vec<Happened>) {
    let is_dump = |one: &Happened| matches!(one, Happened::Dump(_));
    let seen = happened.iter().position(is_dump).unwrap_or(happened.len());
    let clock = happened[..seen]
        .iter()
        .rposition(|one| matches!(one, Happened::Clock(_)));
    let mut place = 0;
    happened.retain(|_| {
        place += 1;
        place > seen || clock == Some(place - 1)
    });
}

/// What a clock shows when `side` was pressed with `seconds` left. It ran if it runs `now`; whether it did `before` tells else.
fn pressed(before: ClockReading, now: Option<ClockReading>, side: ClockSide, seconds: u32) -> ClockSaid {
    let mut reading = ClockReading {
        lever: Lever::after_press(side),
        running: now.map_or(before.running, |now| now.running),
        ..before
    };
    let stopped = match side {
        ClockSide::Left => &mut reading.left,
        ClockSide::Right => &mut reading.right,
    };
    stopped.seconds = seconds;
    ClockSaid::Reading(reading)
}

#[cfg(test)]
mod tests;
