//! Takes the messages of the board as they come: single squares, dumps, frames of the clock. Each reading
//! goes to where the hypotheses look for it. Notes when the link to the board comes and goes.

use shakmaty::Bitboard;

use super::{
    Core,
    glimpse::look_before,
    phase::Phase,
    presses::pressed,
    reread::{explain, reread, tick_lines},
};
use crate::{
    board::{Code, Sensed},
    dgt::{Battery, ClockReading, Identity, Message, PieceCode, Squares},
    event::Body,
    time::Millis,
    watcher::{
        MOST_GATHERED_MS,
        clock::LastShown,
        game::{Game, touch::ReadAt},
        outbox::Heard,
    },
};

/// If the clock was not heard for longer, nobody knows when what waited meanwhile happened, in milliseconds: its last frame before
/// may be a second old.
const SHORT_MS: i64 = 1000 + MOST_GATHERED_MS as i64;

impl Core {
    pub(in crate::watcher) fn link_down(&mut self, now: Millis, reason: &str) {
        let left = self.contact.link_down(&mut self.play.out.changed, reason);
        self.unheard();
        if let Some(left) = left {
            self.emit(now, left);
        }
    }

    /// Nobody reads the board from now on, until the next dump.
    pub(in crate::watcher) fn unheard(&mut self) {
        self.world.board.unheard(self.now);
        self.world.clock.gap();
        self.each(|_, play| {
            if let Phase::Game(game) = &mut play.phase {
                (game.gap.is_open, game.gap.restarts) = (true, false);
                game.presses.clear();
            }
        });
    }

    /// The squares in the board's order that the watcher knew before nobody read the board, and what the clock showed if it ran. None
    /// where somebody reads the board, or nobody ever has.
    pub(in crate::watcher) fn known_before_gap(&self) -> Option<(&Squares, Option<ClockReading>)> {
        let squares = self
            .world
            .board
            .raw
            .as_ref()
            .filter(|_| self.world.board.gap.is_some())?;
        Some((squares, self.world.clock.shown().and_then(LastShown::running)))
    }

    /// What the board tells from `now` to `until` is all that happened since nobody read it.
    pub(in crate::watcher) fn go_on(&mut self, now: Millis, until: Millis) {
        self.world.board.gap = None;
        let unheard = self
            .play
            .out
            .wall_ms(&self.world.settings, now)
            .zip(self.world.clock.heard_at_ms());
        let is_short = unheard.is_some_and(|(now, then)| (0..=SHORT_MS).contains(&(now - then)));
        self.world.clock.miss_nothing();
        // The times of a lump are no line's that gathers.
        self.world.timing.lump_until(until);
        // Nobody measured when it happened.
        let missed = (!is_short).then_some(until);
        self.each(|_, play| match &mut play.phase {
            Phase::Game(game) => {
                game.gap.is_open = false;
                game.gap.missed_until = missed.or(game.gap.missed_until);
            }
            Phase::Waiting(setup) => setup.missed_until = missed.or(setup.missed_until),
        });
    }

    /// Takes one message of the board.
    pub(in crate::watcher) fn message(&mut self, now: Millis, message: &Message<'_>, identity: &Identity) {
        self.hear(now, identity, matches!(message, Message::Dump(_)));
        if self.is_of_another_board(now, message) {
            return;
        }
        if let Message::EventLog(payload) = message {
            let (orientation, raw) = (self.world.board.orientation, self.world.board.raw);
            if let Some((game, mut ctx)) = self.play.game_and_ctx(&self.world, now) {
                game.log_told(&mut ctx, payload, orientation, raw);
            }
            return;
        }
        if let Some(game) = self.play.phase.game_mut() {
            game.gap.recall.spoken(now);
        }
        match message {
            Message::Dump(squares) => self.dump(now, squares),
            Message::Field { square, piece } => self.field(now, *square, *piece),
            Message::Clock(reading) => {
                if self.world.clock.attached != Some(true) {
                    self.emit(now, Body::ClockConnected);
                }
                let changed = &mut self.play.out.changed;
                if let Some(low) = self.hardware.clock_battery(changed, reading.battery_low) {
                    self.emit(now, low);
                }
                let at_ms = self.play.out.wall_ms(&self.world.settings, now);
                self.world.clock.heard(now, *reading, at_ms);
                self.play.out.changed.clock = true;
                self.clock_events();
                self.missed_press(now);
            }
            Message::NoClock => {
                if self.world.clock.attached == Some(true) {
                    self.emit(now, Body::ClockDisconnected);
                }
                self.hardware.clock_gone(&mut self.play.out.changed);
                self.world.clock.gone();
                self.play.out.changed.clock = true;
                self.clock_gone(now);
            }
            Message::Battery(battery) => self.battery(now, *battery),
            lost if *lost == Message::LOST => {
                self.world.board.apart = false;
                self.world.board.sensed.put_maybe_lost(Some(now));
            }
            apart if *apart == Message::APART => self.world.board.apart = true,
            _ => {}
        }
    }

    /// The clock is gone, so no press is to be expected.
    fn clock_gone(&mut self, now: Millis) {
        self.each(|_, play| {
            if let Phase::Game(game) = &mut play.phase {
                game.course.lines.thaw(now);
                game.course.lines.set_clock_runs(false);
                game.presses.judged = None;
            }
        });
    }

    /// `message` comes in a lump. Finds out what the game would report had the board stood still before it. If the
    /// game is over, the same goes for the copy that is watched in its place.
    pub(in crate::watcher) fn glimpse(&mut self, now: Millis, message: &Message<'_>) {
        self.each(|world, play| look_before(world, play, now, message));
    }

    /// The board answers, and has told `identity` of itself. `shows` says whether it sends all its squares.
    fn hear(&mut self, now: Millis, identity: &Identity, shows: bool) {
        let changed = &mut self.play.out.changed;
        if let Some(connected) = self.contact.hear(changed, identity, shows) {
            self.emit(now, connected);
        }
    }

    /// Takes a message of another board than that of the game. Returns false for one of the game's own board: it counts.
    fn is_of_another_board(&mut self, now: Millis, message: &Message<'_>) -> bool {
        let (contact, lies) = (&mut self.contact, self.world.board.orientation);
        let answers = &contact.identity;
        let Some(foreign) = contact
            .played_on
            .foreign(&self.play.phase, lies, answers, message)
        else {
            return false;
        };
        if let Some(told) = foreign.told {
            self.unheard();
            self.emit(now, told);
        }
        if let Some(squares) = foreign.shown {
            self.dump(now, &squares);
        }
        true
    }

    /// A person's command begins another game, or sets the position: the board that answers is meant.
    pub(super) fn take_board_as_meant(&mut self, now: Millis) {
        let contact = &mut self.contact;
        if let Some(squares) = contact.played_on.take_as_meant(&contact.identity) {
            // What stands there has stood there, and no hand put it there just now.
            self.world.board.raw = None;
            self.dump(now, &squares);
        }
    }

    /// Takes a message of the board about its battery.
    pub(in crate::watcher) fn battery(&mut self, now: Millis, told: Battery) {
        if let Some(low) = self.hardware.battery(&mut self.play.out.changed, told) {
            self.emit(now, low);
        }
    }

    /// Takes all squares of a board that tells whole positions.
    pub(in crate::watcher) fn whole_board(
        &mut self,
        now: Millis,
        squares: &[PieceCode; 64],
        identity: &Identity,
    ) {
        self.hear(now, identity, true);
        if self.world.board.raw.is_none() || self.world.board.gap.is_some() {
            self.dump(now, squares);
            return;
        }
        let squares = self.world.board.means(now, &self.play.phase, squares);
        if self.world.board.raw.replace(squares) != Some(squares) {
            self.scan(now, &squares);
        }
    }

    /// Takes the changes of a whole position.
    fn scan(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        if self.step(|world, play| world.board.orient(&mut play.phase)) {
            return;
        }
        let placement = self.world.board.orientation.placement(squares);
        self.each(|world, play| tick_lines(&mut play.phase, &world.board.sensed, now));
        let changed = self.world.board.sensed.update(now, &placement);
        self.play.out.changed.position = true;
        self.each(|world, play| explain(&world.board.sensed, play, now, changed));
    }

    pub(super) fn dump(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        let squares = &self.world.board.means(now, &self.play.phase, squares);
        let first = self.world.board.raw.replace(*squares).is_none();
        let found = std::mem::take(&mut self.found);
        if first {
            self.step(|world, play| found.take_up(world, play, now));
        }
        self.step(|world, play| world.board.orient(&mut play.phase));
        let placement = self.world.board.orientation.placement(squares);
        self.play.out.changed.position = true;
        self.each(|world, play| tick_lines(&mut play.phase, &world.board.sensed, now));
        let before = self.world.board.sensed.placement().clone();
        // A board that tells nothing although both players press is as good as not read.
        let is_silent = self.play.phase.game().is_some_and(Game::is_silent);
        let silent_since = is_silent.then(|| self.world.board.sensed.last_told());
        let changed = self.world.board.sensed.replace(now, &placement);
        if first {
            self.world.board.sensed = Sensed::settled(&placement);
        }
        if let Some(since) = self.world.board.gap.or(silent_since) {
            self.world.board.sensed.was_unheard(changed, since, now);
        }
        let gap = self.world.board.gap.take().is_some();
        let missed = std::mem::take(&mut self.world.board.gap_changed) || !changed.is_empty();
        if !first && !gap {
            self.world.board.sensed.expect_updates(changed);
            // A first dump shows no lost updates.
            self.hardware.lost_updates += u64::from(!changed.is_empty());
        }
        self.each(|world, play| {
            if let Phase::Game(game) = &mut play.phase
                && !first
                && !gap
            {
                game.presses.stood_at_press(&before, &placement);
            }
            reread(world, play, now, gap.then_some(missed), &before, changed);
        });
        self.missed_press(now);
    }

    /// Takes in a press of which the clock tells after a gap, once the board was read, too.
    fn missed_press(&mut self, now: Millis) {
        if self.world.board.gap.is_some() {
            return;
        }
        if let Phase::Waiting(setup) = &mut self.play.phase
            && let Some(midway) = &mut setup.midway
        {
            if let Some(missed) = self.world.clock.take_missed() {
                midway.missed_presses(now, &self.world.board.sensed, missed);
                if missed.once.is_some() {
                    self.play.heard(Heard::Press);
                }
            }
            return;
        }
        let Some(player) = self.world.clock.take_missed_press() else {
            return;
        };
        self.play.heard(Heard::Press);
        self.each(|world, play| {
            if let Phase::Game(game) = &mut play.phase {
                game.gap.missed_until = Some(now);
            }
            pressed(world, play, now, player);
        });
    }

    fn field(&mut self, now: Millis, square: u8, piece: PieceCode) {
        let apart = std::mem::take(&mut self.world.board.apart);
        // Before the first dump, the other squares are not known.
        let Some(raw) = &self.world.board.raw else {
            self.play.dump_wanted = true;
            return;
        };
        // Nor what changed since they were known: the dump shows that together with this, or that it changed back.
        if self.world.board.gap.is_some() {
            self.world.board.gap_changed = true;
            return;
        }
        let square = square & 63;
        let idle = self.play.phase.is_idle();
        for (square, piece) in self.world.board.chips.field(now, idle, raw, square, piece) {
            self.square(now, square, piece, apart);
        }
    }

    /// Takes what stands on a square.
    fn square(&mut self, now: Millis, square: u8, piece: PieceCode, apart: bool) {
        if let Some(raw) = &mut self.world.board.raw {
            raw[usize::from(square)] = piece;
        }
        if self.step(|world, play| world.board.orient(&mut play.phase)) {
            return;
        }
        let square = self.world.board.orientation.square(square);
        let (old, new) = (self.world.board.sensed.at(square), Code(piece.0));
        let read = ReadAt {
            now,
            within: self.world.timing.within,
            apart,
        };
        let by_update = self.world.board.sensed.seen_at(square).is_some();
        self.each(|world, play| {
            tick_lines(&mut play.phase, &world.board.sensed, now);
            if let Phase::Game(game) = &mut play.phase
                && world.clock.stopped_at.is_none()
            {
                game.hands.seen(read, square, old, new);
            }
        });
        if self.world.board.sensed.set(now, square, new) {
            self.play.out.changed.position = true;
            let changed = Bitboard::from_square(square);
            self.each(|world, play| explain(&world.board.sensed, play, now, changed));
        } else if new.is_empty() && by_update {
            self.each(|world, play| {
                if let Phase::Game(game) = &mut play.phase {
                    game.course.lines.left_unseen(now, &world.board.sensed, square);
                }
            });
        }
    }
}
