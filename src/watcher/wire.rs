//! What a board speaks: bytes in, readings for the core and words for the board out.

use serde::{Deserialize, Serialize};

use super::{LinkWish, backlog::Backlog, core::Core};
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
}

/// A board that only ever speaks.
#[derive(Debug, Default)]
pub(super) struct Occ1 {
    decoder: occ1::Decoder,
    silence: Silence,
    wish: Option<LinkWish>,
}

impl Wire {
    pub(super) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Dgt => Self::Dgt(Box::new(Dgt {
                decoder: Decoder::new(),
                session: Session::new(),
                backlog: Backlog::default(),
            })),
            Protocol::Occ1 => Self::Occ1(Occ1::default()),
        }
    }

    pub(super) fn link_up(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => {
                dgt.decoder.clear();
                dgt.backlog.end();
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

    pub(super) fn handle_timeout(&mut self, now: Millis) {
        match self {
            Self::Dgt(dgt) => dgt.session.handle_timeout(dgt.backlog.on_line(now)),
            Self::Occ1(occ1) => {
                if occ1.silence.is_over(now) {
                    occ1.wish = Some(LinkWish::Reopen);
                }
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        match self {
            Self::Dgt(dgt) => dgt.session.poll_timeout().map(|due| dgt.backlog.in_core(due)),
            Self::Occ1(occ1) => occ1.silence.due(),
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
        let Self {
            decoder,
            session,
            backlog,
        } = self;
        let now = backlog.on_line(now);
        let mut ahead = 0;
        decoder.push(now, bytes, &mut |message| {
            session.heard(now, &message);
            let waited = backlog.heard(now, &message);
            let then = backlog.in_core(now);
            if waited > 0 {
                ahead += waited;
                core.out.before += waited;
                // What became due meanwhile comes first.
                core.review(then);
            }
            core.message(then, &message, session.identity());
            core.review(then);
        });
        session.check_line(now, decoder.stats());
        ahead
    }
}

impl Core {
    /// A board said which of its squares are occupied.
    fn occupied(&mut self, now: Millis, reading: occ1::Occupancy) {
        let squares = reading.squares();
        self.whole_board(now, &squares, &Identity::default());
    }
}
