//! What a board speaks: bytes in, readings for the core and words for the board out.

use serde::{Deserialize, Serialize};

use super::{
    LinkWish,
    backlog::Backlog,
    core::Core,
    late::{Late, Sort},
};
use crate::{
    dgt::{self, Decoder, Identity, Session, Wish},
    occ1::{self, Silence},
    time::Millis,
};

/// The protocol that a board speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// That of DGT boards: pieces, a clock, questions and answers.
    #[default]
    Dgt,
    /// Lines that say which squares are occupied: `docs/occ1.md`.
    Occ1,
}

/// The wire of one board.
#[derive(Debug)]
pub(super) enum Wire {
    Dgt(Box<Dgt>),
    Occ1(Occ1),
}

/// A DGT board: it is spoken with.
#[derive(Debug)]
pub(super) struct Dgt {
    decoder: Decoder,
    session: Session,
    backlog: Backlog,
    late: Late,
}

/// A board that only ever speaks.
#[derive(Debug, Default)]
pub(super) struct Occ1 {
    decoder: occ1::Decoder,
    silence: Silence,
    wish: Option<LinkWish>,
}

impl Wire {
    /// Of a board that speaks `protocol` over a line that is known to gather its bytes for `gathered` milliseconds.
    pub(super) fn new(protocol: Protocol, gathered: u64) -> Self {
        match protocol {
            Protocol::Dgt => Self::Dgt(Box::new(Dgt {
                decoder: Decoder::new(),
                session: Session::new(),
                backlog: Backlog::default(),
                late: Late::new(gathered),
            })),
            Protocol::Occ1 => Self::Occ1(Occ1::default()),
        }
    }

    pub(super) fn link_up(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => {
                dgt.decoder.clear();
                dgt.backlog.end();
                dgt.late.end();
                dgt.session.link_up(dgt.backlog.on_line(now));
            }
            Self::Occ1(occ1) => *occ1 = Occ1::default(),
        }
    }

    pub(super) fn link_down(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => {
                dgt.decoder.clear();
                dgt.backlog.end();
                dgt.late.end();
                dgt.session.link_down(dgt.backlog.on_line(now));
            }
            Self::Occ1(occ1) => *occ1 = Occ1::default(),
        }
    }

    /// Bytes from the board, in any split. The core looks at everything after each message, so that
    /// how the bytes were split does not matter. Returns by how many milliseconds the core's time is further
    /// ahead than before.
    pub(super) fn bytes(&mut self, now: Millis, bytes: &[u8], core: &mut Core) -> u64 {
        match self {
            Self::Dgt(dgt) => dgt.bytes(now, bytes, core),
            Self::Occ1(Occ1 { decoder, silence, .. }) => {
                decoder.push(bytes, &mut |reading| {
                    silence.heard(now, reading);
                    core.occupied(now, reading);
                    core.review(now);
                });
                0
            }
        }
    }

    /// Time passes. Returns by how many milliseconds the core's time is further ahead than before.
    pub(super) fn handle_timeout(&mut self, now: Millis, core: &mut Core) -> u64 {
        match self {
            Self::Dgt(dgt) => {
                let line = dgt.backlog.on_line(now);
                dgt.session.handle_timeout(line);
                let due = dgt.late.is_due(line);
                let ahead = if due { dgt.release(core) } else { 0 };
                let known = dgt.known(now + ahead);
                core.review(known.max(core.now));
                ahead
            }
            Self::Occ1(occ1) => {
                if occ1.silence.is_over(now) {
                    occ1.wish = Some(LinkWish::Reopen);
                }
                core.review(now);
                0
            }
        }
    }

    /// What came and was held is taken: something else happens. Returns by how many milliseconds the core's time is further
    /// ahead than before.
    pub(super) fn release(&mut self, core: &mut Core) -> u64 {
        match self {
            Self::Dgt(dgt) => dgt.release(core),
            Self::Occ1(_) => 0,
        }
    }

    /// When to call [`Self::handle_timeout`], where the core wants to decide at `deadline`.
    pub(super) fn poll_timeout(&self, deadline: Option<Millis>) -> Option<Millis> {
        match self {
            Self::Dgt(dgt) => {
                let in_core = |due| dgt.backlog.in_core(due);
                let deadline = deadline.and_then(|due| dgt.late.known_at(dgt.backlog.on_line(due)));
                let deadline = deadline.map(in_core);
                let line = [dgt.session.poll_timeout(), dgt.late.due()];
                line.into_iter().flatten().map(in_core).chain(deadline).min()
            }
            Self::Occ1(occ1) => occ1.silence.due().into_iter().chain(deadline).min(),
        }
    }

    /// The whole board is to be read; a board that cannot be asked says it all in each line.
    pub(super) fn request_dump(&mut self, now: Millis) {
        if let Self::Dgt(dgt) = self {
            dgt.session.request_dump(dgt.backlog.on_line(now));
        }
    }

    /// The board is to tell its log; one that cannot be asked has none.
    pub(super) fn request_event_log(&mut self, now: Millis) {
        if let Self::Dgt(dgt) = self {
            dgt.session.request_event_log(dgt.backlog.on_line(now));
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<dgt::Command> {
        match self {
            Self::Dgt(dgt) => dgt.session.poll_transmit(),
            Self::Occ1(_) => None,
        }
    }

    pub(super) fn poll_wish(&mut self) -> Option<LinkWish> {
        match self {
            Self::Dgt(dgt) => dgt.session.poll_wish().map(|Wish::Reopen| LinkWish::Reopen),
            Self::Occ1(occ1) => occ1.wish.take(),
        }
    }
}

impl Dgt {
    fn bytes(&mut self, now: Millis, bytes: &[u8], core: &mut Core) -> u64 {
        let now = self.backlog.on_line(now);
        if self.late.holds(now, bytes) {
            return 0;
        }
        // What was held before comes before.
        let ahead = self.release(core);
        ahead + self.hear(now, bytes, core, &mut std::iter::repeat(now))
    }

    /// Takes what is held, each message at the time at which it happened.
    fn release(&mut self, core: &mut Core) -> u64 {
        let held = self.late.take();
        let (mut decoder, mut came) = (self.decoder.clone(), Vec::new());
        for (now, bytes) in &held {
            decoder.push(*now, bytes, &mut |message| came.push((*now, Sort::of(&message))));
        }
        let happened = self.late.times(&came);
        core.catches_up = came.iter().map(|(came, _)| came).ne(&happened);
        if core.catches_up {
            core.unmeasured();
        }
        let mut happened = happened.into_iter();
        let mut ahead = 0;
        for (now, bytes) in &held {
            ahead += self.hear(*now, bytes, core, &mut happened);
            self.late.heard_at(*now);
        }
        core.catches_up = false;
        ahead
    }

    /// Bytes that came at `now`, of messages that `happened` then.
    fn hear(
        &mut self,
        now: Millis,
        bytes: &[u8],
        core: &mut Core,
        happened: &mut impl Iterator<Item = Millis>,
    ) -> u64 {
        let Self {
            decoder,
            session,
            backlog,
            late,
        } = self;
        let mut ahead = 0;
        decoder.push(now, bytes, &mut |message| {
            session.heard(now, &message);
            if session.take_gap() {
                core.unheard();
            }
            let at = happened.next().unwrap_or(now);
            core.sensed.is_told_within(late.gathered());
            late.note(now, at, &message);
            let waited = backlog.heard(now, &message);
            let then = backlog.in_core(at).max(core.now);
            if waited > 0 {
                ahead += waited;
                core.out.before += waited;
                // What became due meanwhile comes first.
                core.review(then);
            } else if at < now {
                core.pass(then);
            }
            core.message(then, &message, session.identity());
            core.review(then);
        });
        session.check_line(now, decoder.stats());
        ahead
    }

    /// Time passes. Returns until when it is known what came.
    fn known(&mut self, now: Millis) -> Millis {
        let now = self.backlog.on_line(now);
        self.late.tick(now);
        self.backlog.in_core(self.late.known(now))
    }
}

impl Core {
    /// A board said which of its squares are occupied.
    fn occupied(&mut self, now: Millis, reading: occ1::Occupancy) {
        let squares = reading.squares();
        self.whole_board(now, &squares, &Identity::default());
    }
}
