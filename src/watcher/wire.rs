//! The wire of one board: bytes come in, readings go to the core, and commands to the board.

use super::{
    LinkWish, Settings,
    backlog::Backlog,
    core::Core,
    late::{Late, Sort},
    since::Since,
    talk_time::TalkTime,
    whole::Whole,
};
use crate::{
    dgt::{CommandBytes, Decoder, Message, Session, Squares, Wish},
    time::Millis,
};

/// How bytes come, and what that proves.
#[derive(Debug)]
enum Comes {
    /// Bytes come as they are sent. Everything that was sent before has come.
    InTime,
    /// Several messages come at once. Each may have been late, and everything has come once all of them have.
    Together,
    /// Bytes come after a silence. Their messages happened roughly at these times.
    Late(std::vec::IntoIter<Millis>),
}

impl Comes {
    /// When the next message happened; none if it happened when it came.
    fn happened(&mut self) -> Option<Millis> {
        match self {
            Self::Late(times) => times.next(),
            Self::InTime | Self::Together => None,
        }
    }
}

/// The wire of one board.
#[derive(Debug)]
pub(super) enum Wire {
    Dgt(Box<Dgt>),
    Whole(Whole),
}

/// The wire of a DGT board, with which the watcher holds a conversation.
#[derive(Debug)]
pub(super) struct Dgt {
    decoder: Decoder,
    session: Session,
    talk: TalkTime,
    backlog: Backlog,
    late: Late,
    /// What came before the first dump of a link to a shared line, until that comes.
    since: Option<Since>,
}

impl Wire {
    /// The wire of a board with these settings.
    pub(super) fn new(settings: &Settings) -> Self {
        match settings.protocol.family() {
            None => Self::Dgt(Box::new(Dgt {
                decoder: Decoder::new(),
                session: Session::on_line_of(settings.boards_on_line),
                talk: TalkTime::default(),
                backlog: Backlog::default(),
                late: Late::new(settings.gathered_ms, settings.boards_on_line > 0),
                since: None,
            })),
            Some(family) => Self::Whole(Whole::new(family)),
        }
    }

    pub(super) fn link_up(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => {
                dgt.decoder.clear();
                dgt.backlog.end();
                dgt.late.end();
                let line = dgt.backlog.on_line(now);
                dgt.talk.stand(line, false);
                dgt.session.link_up(dgt.talk.at(line));
                dgt.since = dgt.session.is_on_shared_line().then(Since::default);
            }
            Self::Whole(whole) => whole.link_up(now),
        }
    }

    pub(super) fn link_down(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => {
                dgt.decoder.clear();
                dgt.backlog.end();
                dgt.late.end();
                dgt.session.link_down(dgt.on_talk(now));
                dgt.since = None;
            }
            Self::Whole(whole) => whole.link_down(),
        }
    }

    /// Takes bytes from the board, in any split. The core reviews everything after each message, so that the
    /// split does not matter. Returns by how many milliseconds the core's time is further ahead than before.
    pub(super) fn bytes(&mut self, now: Millis, bytes: &[u8], core: &mut Core) -> u64 {
        match self {
            Self::Dgt(dgt) => dgt.bytes(now, bytes, core),
            Self::Whole(whole) => {
                whole.bytes(now, bytes, core);
                0
            }
        }
    }

    /// Time passes. Returns by how many milliseconds the core's time is further ahead than before.
    pub(super) fn handle_timeout(&mut self, now: Millis, core: &mut Core) -> u64 {
        match self {
            Self::Dgt(dgt) => {
                let line = dgt.backlog.on_line(now);
                dgt.session.handle_timeout(dgt.talk.at(line));
                let due = dgt.late.is_due(line);
                let ahead = if due { dgt.release(core) } else { 0 };
                let known = dgt.known(now + ahead).max(core.now);
                core.world.timing.told = dgt.backlog.in_core(dgt.late.told(line)).min(known);
                core.review(known);
                ahead
            }
            Self::Whole(whole) => {
                whole.handle_timeout(now, core);
                0
            }
        }
    }

    /// Works off the held bytes before something else happens. Returns by how many milliseconds the core's
    /// time is further ahead than before.
    pub(super) fn release(&mut self, core: &mut Core) -> u64 {
        match self {
            Self::Dgt(dgt) => dgt.release(core),
            Self::Whole(_) => 0,
        }
    }

    /// When to call [`Self::handle_timeout`], where the core wants to decide at `deadline`.
    pub(super) fn poll_timeout(&self, deadline: Option<Millis>) -> Option<Millis> {
        match self {
            Self::Dgt(dgt) => {
                let in_core = |due| dgt.backlog.in_core(due);
                let deadline = deadline.and_then(|due| dgt.late.known_at(dgt.backlog.on_line(due)));
                let deadline = deadline.map(in_core);
                let talk = dgt.talk.due(dgt.session.poll_timeout());
                let line = Millis::earliest([talk, dgt.late.due()]);
                Millis::earliest([line.map(in_core), deadline])
            }
            Self::Whole(whole) => Millis::earliest([whole.poll_timeout(), deadline]),
        }
    }

    /// The board cannot have heard yet what was asked, or can by now: see [`TalkTime`].
    pub(super) fn hold_talk(&mut self, now: Millis, hold: bool) {
        match self {
            Self::Dgt(dgt) => dgt.talk.stand(dgt.backlog.on_line(now), hold),
            Self::Whole(whole) => whole.talk.stand(now, hold),
        }
    }

    /// The caller stood still, and what waited comes by `until`. A board that tells whole positions tells what stands there.
    pub(super) fn stood_still(&mut self, since: Millis, until: Millis) {
        if let Self::Dgt(dgt) = self {
            let [since, until] = [since, until].map(|at| dgt.backlog.on_line(at));
            dgt.late.stand_still(since, until);
        }
    }

    /// Asks for a dump. A board that tells whole positions does so each time.
    pub(super) fn request_dump(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => dgt.session.request_dump(dgt.on_talk(now)),
            Self::Whole(whole) => whole.read_anew(),
        }
    }

    /// Asks for changes and position before the greeting. False for a board that needs no greeting.
    pub(super) fn make_haste(&mut self, now: Millis) -> bool {
        match self {
            Self::Dgt(dgt) => {
                dgt.session.make_haste(dgt.on_talk(now));
                true
            }
            Self::Whole(_) => false,
        }
    }

    /// Asks the board to send anything, so that everything it sent before is known to have come. A board that
    /// tells whole positions sends them all the time.
    pub(super) fn request_sign(&mut self, now: Millis) {
        if let Self::Dgt(dgt) = self {
            dgt.session.request_sign(dgt.on_talk(now));
        }
    }

    /// Asks the board for its log. Only a DGT board has one.
    pub(super) fn request_event_log(&mut self, now: Millis) {
        if let Self::Dgt(dgt) = self {
            dgt.session.request_event_log(dgt.on_talk(now));
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<CommandBytes> {
        match self {
            Self::Dgt(dgt) => dgt.session.poll_transmit().map(|command| command.bytes()),
            Self::Whole(whole) => whole.driver.poll_transmit(),
        }
    }

    pub(super) fn poll_wish(&mut self) -> Option<LinkWish> {
        let wish = match self {
            Self::Dgt(dgt) => dgt.session.poll_wish(),
            Self::Whole(whole) => whole.driver.poll_wish(),
        };
        wish.map(|Wish::Reopen| LinkWish::Reopen)
    }
}

impl Dgt {
    /// The time of the conversation at `now` of the core.
    fn on_talk(&self, now: Millis) -> Millis {
        self.talk.at(self.backlog.on_line(now))
    }

    fn bytes(&mut self, now: Millis, bytes: &[u8], core: &mut Core) -> u64 {
        // No bytes prove nothing.
        if bytes.is_empty() {
            return 0;
        }
        let now = self.backlog.on_line(now);
        if self.late.holds(now, bytes, core.wants_sign()) {
            return 0;
        }
        // The held bytes come first.
        let ahead = self.release(core);
        ahead + self.hear(now, bytes, core, &mut Comes::InTime)
    }

    /// Works off the held bytes, each message at the time at which it happened.
    fn release(&mut self, core: &mut Core) -> u64 {
        let was_silent = self.late.was_silent();
        let held = self.late.take();
        if held.is_empty() {
            return 0;
        }
        let (mut decoder, mut came) = (self.decoder.clone(), Vec::new());
        for (now, bytes) in &held {
            decoder.push(*now, bytes, &mut |message| came.push((*now, Sort::of(&message))));
        }
        // Bytes that were awaited and do not come after a silence come nearly when they happened.
        let happened = if was_silent {
            self.late.times(&came)
        } else {
            came.iter().map(|(at, _)| *at).collect()
        };
        if came.iter().map(|(came, _)| came).ne(&happened) {
            let [first, last] = [happened.iter().min(), happened.iter().max()]
                .map(|at| at.map_or(core.now, |at| self.backlog.in_core(*at)));
            self.late.begin(&came);
            core.world.board.sensed.is_told_within(self.late.slack());
            core.catch_up(first, last);
            let (since, until) = (self.late.since(&came), came.last());
            let within = since.zip(until.map(|(came, _)| *came));
            let within = within.map(|(from, to)| (self.backlog.in_core(from), self.backlog.in_core(to)));
            core.world.timing.within = within;
            if let Some((from, until)) = within {
                core.world.board.sensed.is_unmeasured(from, until);
            }
        }
        if self.late.coincide(&came) {
            core.world.timing.coincided = came.last().map(|(at, _)| self.backlog.in_core(*at));
        }
        let mut comes = match (was_silent, came.len()) {
            (true, _) => Comes::Late(happened.into_iter()),
            (false, 0 | 1) => Comes::InTime,
            (false, _) => Comes::Together,
        };
        let mut ahead = 0;
        for (now, bytes) in &held {
            ahead += self.hear(*now, bytes, core, &mut comes);
            self.late.heard_at(*now);
        }
        self.late.read();
        core.world.timing.catches_up = false;
        core.world.timing.within = None;
        if matches!(comes, Comes::Together) {
            core.world.timing.told = core.now;
            core.review(core.now);
        }
        ahead
    }

    /// Takes bytes that came at `now`.
    fn hear(&mut self, now: Millis, bytes: &[u8], core: &mut Core, comes: &mut Comes) -> u64 {
        let Self {
            decoder,
            session,
            talk,
            backlog,
            late,
            since,
        } = self;
        let mut ahead = 0;
        let on_talk = talk.at(now);
        decoder.push(now, bytes, &mut |message| {
            session.heard(on_talk, &message);
            if session.take_gap() {
                core.unheard();
            }
            let at = comes.happened().unwrap_or(now);
            if since.as_mut().is_some_and(|since| since.keeps(&message)) {
                return;
            }
            let mut ear = Ear {
                session,
                backlog,
                late,
                core,
            };
            if let Message::Dump(squares) = &message
                && let Some(since) = since.take()
            {
                ahead += ear.catch_up(now, &since, squares);
            }
            ahead += ear.take(now, at, &message, comes);
        });
        session.check_line(on_talk, decoder.stats());
        core.hardware.line_errors = decoder.stats().damage();
        ahead
    }

    /// Time passes. Returns the time until which it is known what has come.
    fn known(&mut self, now: Millis) -> Millis {
        let now = self.backlog.on_line(now);
        self.late.tick(now);
        self.backlog.in_core(self.late.known(now))
    }
}

/// What takes in messages one by one.
struct Ear<'a> {
    session: &'a Session,
    backlog: &'a mut Backlog,
    late: &'a mut Late,
    core: &'a mut Core,
}

impl Ear<'_> {
    /// Takes in what the board kept `since` nobody asked it, where that leads to the dump, as if it had waited in a lump.
    fn catch_up(&mut self, now: Millis, since: &Since, dump: &Squares) -> u64 {
        let known = self.core.known_before_gap();
        let Some(told) = known.and_then(|(squares, clock)| since.leading(squares, clock, dump)) else {
            let last = since.last_of_clock();
            return last.map_or(0, |last| self.take(now, now, last, &mut Comes::Together));
        };
        let from = self.backlog.in_core(now).max(self.core.now);
        let until = from + self.backlog.waited(now, &told);
        self.core.go_on(from, until);
        // The dump may be a part of a lump itself.
        let before = self.core.world.timing;
        self.core.catch_up(from, until);
        let world = &mut self.core.world;
        world.timing.within = Some((from, until));
        world.board.sensed.is_unmeasured(from, until);
        world.clock.was_unheard(until);
        let ahead = told
            .iter()
            .map(|message| self.take(now, now, message, &mut Comes::Together))
            .sum();
        self.core.world.timing.go_on_with_lump(&before);
        self.backlog.end();
        self.core.world.timing.told = self.core.now;
        ahead
    }

    /// Takes in a message that came at `now` and happened at `at`.
    fn take(&mut self, now: Millis, at: Millis, message: &Message<'_>, comes: &mut Comes) -> u64 {
        let Self {
            session,
            backlog,
            late,
            core,
        } = self;
        core.world.board.sensed.is_told_within(late.slack());
        late.note(now, at, message);
        core.world.timing.gathered_until = late.gathers.unmeasured(core.world.timing.gathered_until);
        let waited = backlog.heard(now, message);
        let then = backlog.in_core(at).max(core.now);
        if at < now {
            core.world.timing.told = then;
        }
        // Messages of one instant keep their order.
        let then = if late.has_waited() || core.world.timing.gathered_until == Some(now) {
            then.max(core.now + 1)
        } else {
            then
        };
        if late.has_waited() {
            core.unmeasured(then);
        }
        if waited > 0 {
            core.play.out.before += waited;
            // Decisions that became due meanwhile come first.
            core.review(then);
        } else if at < now {
            core.pass(then);
        }
        if matches!(comes, Comes::InTime) {
            core.tell_until(then);
        }
        if core.world.timing.catches_up || late.has_waited() {
            core.glimpse(then, message);
        }
        core.message(then, message, session.identity());
        if !matches!(comes, Comes::Together) {
            core.world.timing.told = then;
        }
        core.review(then);
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after_e4, clock, hear};
    use crate::{
        dgt::{Lever, Message, PieceCode},
        event::Body,
        time::Millis,
    };

    const KNIGHT: PieceCode = PieceCode(9);

    /// Black puts the knight of g8 on g6, where it may not go, and presses. The next messages of the board,
    /// `said`, come at `at` in one piece. Returns true if the watcher accuses Black.
    fn accuses(at: u64, said: &[Message<'_>]) -> bool {
        let mut watcher = after_e4();
        let field = |square, piece| Message::Field { square, piece };
        hear(&mut watcher, 5600, field(6, PieceCode::EMPTY));
        hear(&mut watcher, 5800, field(22, KNIGHT));
        hear(&mut watcher, 6000, clock(Lever::LeftHigh));
        watcher.catch_up(Millis(at));
        let mut bytes = Vec::new();
        said.iter().for_each(|message| message.encode(&mut bytes));
        watcher.handle_bytes(Millis(at), &bytes);
        watcher.catch_up(Millis(at + 100));
        let mut events = std::iter::from_fn(|| watcher.poll_event());
        events.any(|event| matches!(event.body, Body::Irregularity(_)))
    }

    #[test]
    fn nobody_is_accused_while_a_reading_that_excuses_may_be_on_its_way() {
        let ticks = clock(Lever::LeftHigh);
        assert!(!accuses(6950, &[]), "nothing came since the press");
        assert!(accuses(7000, &[ticks]), "the clock sends its frame in time");
        // The line stood still for less than a second. Black had put the knight on a legal square by then.
        let square = |square, piece| Message::Field { square, piece };
        let excuse = [square(22, PieceCode::EMPTY), square(21, KNIGHT), ticks];
        assert!(!accuses(7100, &excuse));
    }
}
