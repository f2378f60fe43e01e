//! Takes the messages of the board as they come: single squares, dumps, frames of the clock. Each reading
//! goes to where the hypotheses look for it. Notes when the link to the board comes and goes.

use shakmaty::Bitboard;

use super::{Core, Phase, TOLD_APART_MS, silence, start::Setup};
use crate::{
    board::{Code, Orientation, Placement, Sensed, bridge},
    dgt::{Battery, ClockReading, Identity, Message, PieceCode, Squares},
    event::Body,
    time::Millis,
    watcher::{
        MOST_GATHERED_MS,
        clock::LastShown,
        game::{gap, touch::ReadAt},
        outbox::Heard,
    },
};

/// If more squares than these changed while nobody read the board, somebody may have turned it.
const STILL_THE_SAME: usize = 10;

/// If the clock was not heard for longer, nobody knows when what waited meanwhile happened, in milliseconds: its last frame before
/// may be a second old.
const SHORT_MS: i64 = 1000 + MOST_GATHERED_MS as i64;

impl Core {
    pub(in crate::watcher) fn link_up(&mut self, port: &str) {
        self.link = Some(port.to_string());
        self.out.changed.info = true;
    }

    /// True, once, if a game goes on, or may begin, that another daemon watched until now. Its board may report changes all the time.
    pub(in crate::watcher) fn take_succession(&mut self) -> bool {
        std::mem::take(&mut self.succeeds)
            && match &self.phase {
                Phase::Game(game) => game.is_watched(),
                Phase::Waiting(setup) => setup.is_worth_keeping(),
            }
    }

    /// The board was asked for a dump before it was greeted.
    pub(in crate::watcher) fn expect_before_greeting(&mut self) {
        self.before_greeting = true;
    }

    pub(in crate::watcher) fn link_down(&mut self, now: Millis, reason: &str) {
        self.link = None;
        self.unheard();
        if std::mem::take(&mut self.connected) {
            self.emit(
                now,
                Body::BoardDisconnected {
                    reason: reason.into(),
                },
            );
            self.out.changed.status = true;
        }
    }

    /// Nobody reads the board from now on, until the next dump.
    pub(in crate::watcher) fn unheard(&mut self) {
        self.gap.get_or_insert(self.now);
        self.gap_changed = false;
        self.apart = false;
        self.clock.gap();
        self.each(|core| {
            if let Phase::Game(game) = &mut core.phase {
                (game.gap.is_open, game.gap.restarts) = (true, false);
                game.presses.clear();
            }
        });
    }

    /// The squares in the board's order that the watcher knew before nobody read the board, and what the clock showed if it ran. None
    /// where somebody reads the board, or nobody ever has.
    pub(in crate::watcher) fn known_before_gap(&self) -> Option<(&Squares, Option<ClockReading>)> {
        let squares = self.raw.as_ref().filter(|_| self.gap.is_some())?;
        Some((squares, self.clock.shown().and_then(LastShown::running)))
    }

    /// What the board tells from `now` to `until` is all that happened since nobody read it.
    pub(in crate::watcher) fn go_on(&mut self, now: Millis, until: Millis) {
        self.gap = None;
        let unheard = self
            .out
            .wall_ms(&self.settings, now)
            .zip(self.clock.heard_at_ms());
        let is_short = unheard.is_some_and(|(now, then)| (0..=SHORT_MS).contains(&(now - then)));
        self.clock.miss_nothing();
        // The times of a lump are no line's that gathers.
        self.lumped = self.lumped.max(Some(until + TOLD_APART_MS));
        // Nobody measured when it happened.
        let missed = (!is_short).then_some(until);
        self.each(|core| match &mut core.phase {
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
        match message {
            Message::EventLog(payload) => {
                let (orientation, raw) = (self.orientation, self.raw);
                if let Some((game, mut ctx)) = self.game_and_ctx(now) {
                    game.log_told(&mut ctx, payload, orientation, raw);
                }
                return;
            }
            _ => {
                if let Some(game) = self.phase.game_mut() {
                    game.gap.recall.spoken(now);
                }
            }
        }
        match message {
            Message::Dump(squares) => self.dump(now, squares),
            Message::Field { square, piece } => self.field(now, *square, *piece),
            Message::Clock(reading) => {
                if self.clock.attached != Some(true) {
                    self.emit(now, Body::ClockConnected);
                }
                let changed = &mut self.out.changed;
                if let Some(low) = self.hardware.clock_battery(changed, reading.battery_low) {
                    self.emit(now, low);
                }
                let at_ms = self.out.wall_ms(&self.settings, now);
                self.clock.heard(now, *reading, at_ms);
                self.out.changed.clock = true;
                self.clock_events();
                self.missed_press(now);
            }
            Message::NoClock => {
                if self.clock.attached == Some(true) {
                    self.emit(now, Body::ClockDisconnected);
                }
                self.hardware.clock_gone(&mut self.out.changed);
                self.clock.gone();
                self.out.changed.clock = true;
                self.thaw(now);
            }
            Message::Battery(battery) => self.battery(now, *battery),
            lost if *lost == Message::LOST => {
                self.apart = false;
                self.sensed.may_have_lost(now);
            }
            apart if *apart == Message::APART => self.apart = true,
            _ => {}
        }
    }

    /// Takes a message of the board about its battery.
    pub(in crate::watcher) fn battery(&mut self, now: Millis, told: Battery) {
        if let Some(low) = self.hardware.battery(&mut self.out.changed, told) {
            self.emit(now, low);
        }
    }

    /// The board answers. It counts as connected once it has sent all its squares: by then it has identified
    /// itself, if it ever does.
    fn hear(&mut self, now: Millis, identity: &Identity, shows: bool) {
        self.identified(identity);
        let shows = shows && !self.is_before_greeting();
        if shows && !self.connected && self.link.is_some() {
            self.connected = true;
            self.out.changed.status = true;
            let firmware = self.identity.firmware.map(|(main, sub)| format!("{main}.{sub}"));
            let body = Body::BoardConnected {
                serial: self.identity.serial().map(str::to_string),
                firmware,
                port: self.link.clone(),
            };
            self.emit(now, body);
        }
    }

    /// True, once, for a dump that came before the board identified itself, because the greeting could wait.
    fn is_before_greeting(&mut self) -> bool {
        std::mem::take(&mut self.before_greeting) && self.identity.serial().is_none()
    }

    /// Takes what the board has told of itself.
    pub(in crate::watcher) fn identified(&mut self, identity: &Identity) {
        if self.identity != *identity {
            self.identity = identity.clone();
            self.out.changed.info = true;
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
        if self.raw.is_none() || self.gap.is_some() {
            self.dump(now, squares);
            return;
        }
        let squares = self.means(now, squares);
        if self.raw.replace(squares) != Some(squares) {
            self.scan(now, &squares);
        }
    }

    /// Takes the changes of a whole position.
    fn scan(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        if self.orient() {
            return;
        }
        let placement = self.orientation.placement(squares);
        self.each(|core| core.tick_lines(now));
        let changed = self.sensed.update(now, &placement);
        self.out.changed.position = true;
        self.each(|core| core.explain(now, changed));
    }

    fn tick_lines(&mut self, now: Millis) {
        if let Phase::Game(game) = &mut self.phase {
            game.course.lines.tick(now, &self.sensed);
        }
    }

    pub(super) fn dump(&mut self, now: Millis, squares: &[PieceCode; 64]) {
        let squares = &self.means(now, squares);
        let first = self.raw.replace(*squares).is_none();
        self.orient();
        let placement = self.orientation.placement(squares);
        self.out.changed.position = true;
        self.each(|core| core.tick_lines(now));
        let before = self.sensed.placement().clone();
        let silent_since = silence::since(&self.phase, &self.sensed);
        let changed = self.sensed.replace(now, &placement);
        if first {
            self.sensed = Sensed::settled(&placement);
        }
        if let Some(since) = self.gap.or(silent_since) {
            self.sensed.was_unheard(changed, since, now);
        }
        let gap = self.gap.take().is_some();
        let missed = std::mem::take(&mut self.gap_changed) || !changed.is_empty();
        if !first && !gap {
            self.sensed.expect_updates(changed);
            // A first dump shows no lost updates.
            self.hardware.lost_updates += u64::from(!changed.is_empty());
        }
        self.each(|core| {
            if let Phase::Game(game) = &mut core.phase
                && !first
                && !gap
            {
                game.presses.stood_at_press(&before, &placement);
            }
            core.reread(now, gap.then_some(missed), &before, changed);
        });
        self.missed_press(now);
    }

    /// Takes in a press of which the clock tells after a gap, once the board was read, too.
    fn missed_press(&mut self, now: Millis) {
        if self.gap.is_some() {
            return;
        }
        if let Phase::Waiting(setup) = &mut self.phase
            && let Some(midway) = &mut setup.midway
        {
            if let Some(missed) = self.clock.take_missed() {
                midway.missed_presses(now, &self.sensed, missed);
                if missed.once.is_some() {
                    self.heard(Heard::Press);
                }
            }
            return;
        }
        let Some(player) = self.clock.take_missed_press() else {
            return;
        };
        self.heard(Heard::Press);
        self.each(|core| {
            if let Phase::Game(game) = &mut core.phase {
                game.gap.missed_until = Some(now);
            }
            core.pressed(now, player);
        });
    }

    /// The board sent a dump that differs from the known readings in `changed`. `gap` tells, where nobody read the board
    /// before it, whether anything was missed.
    fn reread(&mut self, now: Millis, gap: Option<bool>, before: &Placement, changed: Bitboard) {
        if let Phase::Game(game) = &mut self.phase
            && let Some(missed) = gap
        {
            game.gap.is_open = missed;
            game.gap.read_since = now;
            if missed {
                game.gap.missed_until = Some(now);
                game.presses.clear();
            } else {
                game.gap.recall.stands_as_before(game.course.clock_used);
            }
        }
        let gap = gap == Some(true);
        if let Phase::Waiting(setup) = &mut self.phase
            && gap
        {
            let unknown = self.clock.may_have_missed(self.settings.rules.periods.first());
            setup.missed_changes(now, &self.sensed, before, unknown);
            self.orientation_shown &= changed.count() <= STILL_THE_SAME;
        }
        if gap
            && let Some((game, ctx)) = self.game_and_ctx(now)
            && gap::waits_for_clock(&ctx, &game.positions())
        {
            game.course.lines.frozen = true;
        }
        if let Some((game, mut ctx)) = self.game_and_ctx(now)
            && std::mem::take(&mut game.gap.restarts)
            && ctx.clock.runs()
            && !game.gap.is_open
            && game.is_watched()
        {
            // As nothing was missed, the game goes on from what was put up beside the clock that stood.
            game.started_again(&mut ctx);
        }
        let was_silent = !changed.is_empty() && silence::take(&mut self.phase);
        self.recovering(gap || was_silent);
        self.explain(now, changed);
        if gap || was_silent {
            self.after_gap(now);
            self.recovering(false);
        } else if !changed.is_empty() {
            self.lost_updates(now);
        } else if let Phase::Game(game) = &self.phase
            && game.course.record.stand().placement() == self.sensed.placement()
        {
            self.sensed.misses_nothing(now);
        }
    }

    fn field(&mut self, now: Millis, square: u8, piece: PieceCode) {
        let apart = std::mem::take(&mut self.apart);
        // Before the first dump, the other squares are not known.
        let Some(raw) = &self.raw else {
            self.dump_wanted = true;
            return;
        };
        // Nor what changed since they were known: the dump shows that together with this, or that it changed back.
        if self.gap.is_some() {
            self.gap_changed = true;
            return;
        }
        let square = square & 63;
        let idle = self.phase.is_idle();
        if !idle && !self.chips.are_wrong() {
            self.square(now, square, piece, apart);
            return;
        }
        for (square, piece) in self.chips.field(now, idle, raw, square, piece) {
            self.square(now, square, piece, apart);
        }
    }

    /// What stands on the squares where the board reads `squares`.
    fn means(&mut self, now: Millis, squares: &Squares) -> Squares {
        self.chips
            .dump(now, self.phase.is_idle(), self.raw.as_ref(), squares)
    }

    /// Takes what stands on a square.
    fn square(&mut self, now: Millis, square: u8, piece: PieceCode, apart: bool) {
        if let Some(raw) = &mut self.raw {
            raw[usize::from(square)] = piece;
        }
        if self.orient() {
            return;
        }
        let square = self.orientation.square(square);
        let (old, new) = (self.sensed.at(square), Code(piece.0));
        let read = ReadAt {
            now,
            within: self.within,
            apart,
        };
        let by_update = self.sensed.seen_at(square).is_some();
        self.each(|core| {
            core.tick_lines(now);
            if let Phase::Game(game) = &mut core.phase
                && core.clock.stopped_at.is_none()
            {
                game.hands.seen(read, square, old, new);
            }
        });
        if self.sensed.set(now, square, new) {
            self.out.changed.position = true;
            self.each(|core| core.explain(now, Bitboard::from_square(square)));
        } else if new.is_empty() && by_update {
            self.each(|core| {
                if let Phase::Game(game) = &mut core.phase {
                    game.course.lines.left_unseen(now, &core.sensed, square);
                }
            });
        }
    }

    /// Finds out which way round the board lies while no game goes on. Returns true when the board was read
    /// anew for that.
    pub(super) fn orient(&mut self) -> bool {
        let (true, Some(raw)) = (self.phase.is_idle(), &self.raw) else {
            return false;
        };
        // The pieces decide, and not the configuration. If they are set up the other way round, that is for
        // the arbiter (7.2.2, 7.3), and the watcher follows the game all the same.
        let Some(found) = Orientation::of_start(raw) else {
            return false;
        };
        self.orientation_shown = true;
        if found == self.orientation {
            return false;
        }
        self.turn_to(found);
        true
    }

    /// Notes that the board lies another way than the watcher thought, and reads it anew.
    pub(super) fn turn_to(&mut self, orientation: Orientation) {
        self.orientation = orientation;
        if let Some(raw) = &self.raw {
            self.sensed = Sensed::settled(&orientation.placement(raw));
        }
        self.each(|core| {
            if let Phase::Waiting(setup) = &mut core.phase {
                **setup = Setup {
                    in_doubt: setup.in_doubt,
                    absent: setup.absent,
                    ..Setup::default()
                };
            }
        });
    }

    /// Lets the hypotheses explain the squares that changed.
    fn explain(&mut self, now: Millis, changed: Bitboard) {
        if changed.is_empty() {
            return;
        }
        self.heard(Heard::Update);
        match &mut self.phase {
            Phase::Game(game) => {
                game.silence.end();
                game.unread.read_again(&game.course, changed, &self.sensed);
                game.course.lines.changed(now, &self.sensed, changed);
            }
            Phase::Waiting(setup) => {
                if let Some(lines) = &mut setup.lines {
                    lines.changed(now, &self.sensed, changed);
                }
                if let Some(midway) = &mut setup.midway {
                    midway.changed(now, &self.sensed, changed);
                }
            }
        }
    }

    /// The board is read again after the link was down. Finds what was played meanwhile.
    fn after_gap(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        game.gap.is_open = false;
        game.unread.hide_as_before(&ctx, &mut game.course);
        if !game.is_watched() {
            return;
        }
        game.look_after_gap(&mut ctx);
    }

    /// Tells the hypotheses whether half-moves that they find now were made unseen.
    fn recovering(&mut self, yes: bool) {
        match &mut self.phase {
            Phase::Game(game) => game.course.lines.recovering = yes,
            Phase::Waiting(setup) => {
                if let Some(midway) = &mut setup.midway {
                    midway.recovering(yes);
                }
            }
        }
    }

    /// A dump differs from what the updates told, so some were lost. Searches for the half-moves that it
    /// shows.
    fn lost_updates(&mut self, now: Millis) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        if !game.is_watched() || game.course.lines.frozen {
            return;
        }
        let limits = bridge::Limits {
            plies: 3,
            nodes: 20_000,
            most: 8,
        };
        game.gap
            .bridge(&mut ctx, &mut game.course, &mut game.doubt, limits);
    }
}
