//! Puts the answers of one visit in the order in which things happened.
//!
//! A visit asks for the clock, for a dump where one is wanted, and then for the changes. So everything that
//! the first two answers show happened before the board told its changes, and each of the two goes between
//! those changes where it fits. The records have moves of the lever in order with the squares, with the time
//! of the side that stopped. Each such record becomes a frame of the clock.

use crate::dgt::{
    clock::{ClockReading, ClockSide, Lever},
    eventlog::{LogRecord, LogRecords},
    message::{Message, PieceCode, Squares},
};

/// Of more that happened before the first dump a watcher is told nothing: its line is no wider, and the board is searched.
const MOST_TOLD: usize = 200;

/// An answer about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockSaid {
    /// The clock shows this.
    Reading(ClockReading),
    /// There is no clock.
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

/// The answers of one visit.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// The clock, which the master asks for first.
    pub(super) clock: Option<ClockSaid>,
    /// The dump, which it asks for next.
    pub(super) dump: Option<Box<Squares>>,
    /// The records of changes, which it asks for last.
    pub(super) changes: Vec<u8>,
    /// What the board had told last before it was asked for the first time. Its watcher may know that.
    pub(super) repeated: Vec<u8>,
    /// The visit came so late that the clock may have been started and stopped since the one before.
    pub(super) is_overdue: bool,
}

impl Answers {
    /// Whether `press` shows that the clock ran before it, whatever it does by now: it has changed a time that `before` has
    /// by what a player thinks or gains. No records tell when a clock was started or stopped. In a visit that is in time,
    /// only an arbiter does both, who sets times.
    fn shows_that_it_ran(&self, before: &ClockReading, press: Option<(ClockSide, u32)>) -> bool {
        self.is_overdue && press.is_some_and(|(side, seconds)| before.is_played_on(side, seconds))
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// A square changed. `apart` says that it changed a quarter of a second or more after the change before;
    /// only some boards tell that.
    Field {
        square: u8,
        piece: PieceCode,
        apart: bool,
    },
    /// The clock shows this.
    Clock(ClockSaid),
    /// The board was read as a whole.
    Dump(Box<Squares>),
    /// What follows is told for the first time.
    Since,
}

impl Happened {
    /// Appends the frame that a board on a line of its own would send.
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
            Self::Since => Message::SINCE,
        }
        .encode(out);
    }
}

/// What the master knows of a board from its answers so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BoardModel {
    /// Its squares; none where they are not known.
    pub(super) squares: Option<Box<Squares>>,
    /// The last answer about its clock.
    pub(super) clock: Option<ClockSaid>,
    /// The last dump fitted nowhere, and was set aside.
    set_aside: bool,
    /// The board has marked a change as soon after another. Boards with old firmware never do.
    tells_soon: bool,
}

/// The outcome of a visit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VisitOutcome {
    /// What happened, in order.
    pub(super) happened: Vec<Happened>,
    /// The board was without power, so nothing that was known of it holds.
    pub(super) powered_up: bool,
    /// Something does not fit, so the master has to ask for a dump.
    pub(super) is_odd: bool,
    /// A dump showed changes that the board had never told.
    pub(super) lost: bool,
}

impl BoardModel {
    /// Puts the answers of a visit in order.
    pub(super) fn take(&mut self, answers: &Answers) -> VisitOutcome {
        let mut told = VisitOutcome::default();
        let is_first = self.squares.is_none();
        let mut records = Vec::new();
        let mut is_since_power_up = false;
        for record in LogRecords::new(&answers.changes) {
            match record {
                LogRecord::Field { .. } | LogRecord::Time { .. } => records.push(record),
                LogRecord::PowerUp if is_first => {
                    is_since_power_up = true;
                    records.clear();
                }
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
        if is_first && !is_since_power_up {
            self.repeat(answers, &mut told.happened);
        }
        let dump_at = answers
            .dump
            .as_deref()
            .and_then(|dump| self.place_of_dump(dump, &records, &mut told));
        let clock_at = answers
            .clock
            .and_then(|clock| self.place_of_clock(clock, &records));
        if let Some(started) = self.started(answers, &records) {
            self.clock = Some(started);
            told.happened.push(Happened::Clock(started));
        }
        for place in 0..=records.len() {
            if let Some(record) = place.checked_sub(1).and_then(|index| records.get(index)) {
                let rest = records.get(place..).unwrap_or_default();
                told.happened.extend(self.record(record, answers, rest));
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
        if is_first && told.happened.len() > MOST_TOLD {
            past(&mut told.happened);
        }
        told
    }

    /// What the board had told last before it was asked for the first time.
    fn repeat(&mut self, answers: &Answers, happened: &mut Vec<Happened>) {
        let mut records: Vec<_> = LogRecords::new(&answers.repeated).collect();
        let powered = records.iter().rposition(|record| *record == LogRecord::PowerUp);
        records.drain(..powered.map_or(0, |place| place + 1));
        for (place, record) in (1..).zip(&records) {
            happened.extend(self.record(record, answers, records.get(place..).unwrap_or_default()));
        }
        if !happened.is_empty() {
            happened.push(Happened::Since);
        }
    }

    /// The frame of a clock that was started since the last visit. No record says when it was started, so
    /// that was before any half-move. None if the first record is a press that shows nothing of it, for then
    /// that press started it.
    fn started(&self, answers: &Answers, records: &[LogRecord]) -> Option<ClockSaid> {
        let before = self.clock?.reading().filter(|before| !before.running)?;
        let now = answers.clock?.reading()?;
        let press = next_press(records);
        let by_press = matches!(records.first()?, LogRecord::Time { .. });
        if !(now.running && !by_press || answers.shows_that_it_ran(&before, press)) {
            return None;
        }
        let lever = press.map_or(now.lever, |(side, _)| Lever::after_press(side.other()));
        Some(ClockSaid::Reading(ClockReading {
            running: true,
            lever,
            ..before
        }))
    }

    /// What happened by `record`, before the `rest` of the records. A press becomes a frame of the clock.
    fn record(&mut self, record: &LogRecord, answers: &Answers, rest: &[LogRecord]) -> Option<Happened> {
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
                let now = answers.clock.and_then(ClockSaid::reading);
                let mut pressed = pressed(before.or(now)?, now, side, seconds);
                pressed.running |= answers.shows_that_it_ran(&pressed, next_press(rest));
                let said = ClockSaid::Reading(pressed);
                self.clock = Some(said);
                Some(Happened::Clock(said))
            }
            _ => None,
        }
    }

    /// After how many of `records` the board was read as a whole: the last place where the dump fits.
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
        // The dump may show a state between two changes that the log tells as one. If a second dump does not
        // fit either, that is not the reason.
        let is_sure = records.is_empty() || self.set_aside;
        self.set_aside = !is_sure;
        told.is_odd = !is_sure;
        told.lost = is_sure;
        is_sure.then_some(records.len())
    }

    /// After how many of `records` the clock was read; none if its answer fits nowhere.
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

/// Removes what happened before the first dump, except the last frame of the clock.
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

/// The frame of a clock on which `side` was pressed with `seconds` left. It runs if the clock runs `now`, or,
/// if that is not known, if it ran `before`.
fn pressed(before: ClockReading, now: Option<ClockReading>, side: ClockSide, seconds: u32) -> ClockReading {
    let mut reading = ClockReading {
        lever: Lever::after_press(side),
        running: now.map_or(before.running, |now| now.running),
        ..before
    };
    reading.time_mut(side).seconds = seconds;
    reading
}

/// The first press of `records`: the side that stopped, and the seconds that it had left.
fn next_press(records: &[LogRecord]) -> Option<(ClockSide, u32)> {
    records.iter().find_map(|record| match *record {
        LogRecord::Time { side, seconds } => Some((side, seconds)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
