//! An event that the watcher keeps back until an arbiter says that it counts. Hundreds may wait so. Each is kept
//! without what the outbox gives it when it goes out.

use shakmaty::{san::SanPlus, uci::UciMove};

use crate::{
    event::{Body, ClockState, CompletedBy, Event, MoveMade},
    time::Millis,
    watcher::{Settings, outbox::event_id},
};

/// Numbers from here on belong to events that are kept back.
pub(super) const FIRST_UNSAID: u64 = 1 << 40;

/// An event that is kept back.
#[derive(Debug)]
pub(super) struct Unsaid {
    /// Its number until it goes out.
    seq: u64,
    pub(super) game: Option<u32>,
    /// When the act happened, by the daemon's time.
    pub(super) at: Millis,
    kept: Kept,
}

/// What the event says. Most events say a half-move.
#[derive(Debug)]
enum Kept {
    Move(KeptMove),
    Other(Box<Body>),
}

/// A half-move, with names that need no room of their own.
#[derive(Debug)]
struct KeptMove {
    ply: u32,
    uci: UciMove,
    san: Option<SanPlus>,
    fen: Box<str>,
    completed_by: CompletedBy,
    clock: Option<ClockState>,
    illegal: bool,
}

impl KeptMove {
    /// None if the names are written otherwise than we write them.
    fn of(made: &MoveMade) -> Option<Self> {
        let uci: UciMove = made.uci.parse().ok()?;
        let san: Option<SanPlus> = made.san.as_deref().map(str::parse).transpose().ok()?;
        let as_written = uci.to_string() == made.uci && san.map(|san| san.to_string()) == made.san;
        as_written.then(|| Self {
            ply: made.ply,
            uci,
            san,
            fen: made.fen.as_str().into(),
            completed_by: made.completed_by,
            clock: made.clock,
            illegal: made.illegal,
        })
    }

    fn told(self) -> MoveMade {
        MoveMade {
            ply: self.ply,
            uci: self.uci.to_string(),
            san: self.san.map(|san| san.to_string()),
            fen: self.fen.into(),
            completed_by: self.completed_by,
            clock: self.clock,
            illegal: self.illegal,
        }
    }
}

impl Unsaid {
    /// Its id until it goes out.
    pub(super) fn id(&self, settings: &Settings) -> String {
        event_id(settings, self.seq)
    }

    /// True for events that tell the record.
    pub(super) fn is_of_record(&self) -> bool {
        match &self.kept {
            Kept::Move(_) => true,
            Kept::Other(body) => matches!(**body, Body::Move(_) | Body::MovesRetracted { .. }),
        }
    }

    /// What it says, to be changed; none if that is a half-move.
    pub(super) fn other(&mut self) -> Option<&mut Body> {
        match &mut self.kept {
            Kept::Move(_) => None,
            Kept::Other(body) => Some(body),
        }
    }

    /// What it says.
    pub(super) fn into_body(self) -> Body {
        match self.kept {
            Kept::Move(made) => Body::Move(made.told()),
            Kept::Other(body) => *body,
        }
    }
}

impl From<Event> for Unsaid {
    fn from(event: Event) -> Self {
        let made = match &event.body {
            Body::Move(made) => KeptMove::of(made),
            _ => None,
        };
        Self {
            seq: event.seq,
            game: event.game,
            // Events tell the daemon's time, in seconds.
            at: Millis((event.at.unwrap_or(event.t) * 1000.0).round() as u64),
            kept: made.map_or_else(|| Kept::Other(Box::new(event.body)), Kept::Move),
        }
    }
}

/// True where the event of this id is kept back.
pub(super) fn is_unsaid(id: &str) -> bool {
    let seq = id.rsplit('/').next().and_then(|seq| seq.parse::<u64>().ok());
    seq.is_some_and(|seq| seq > FIRST_UNSAID)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(uci: &str, san: Option<&str>) -> MoveMade {
        MoveMade {
            ply: 3,
            uci: uci.to_owned(),
            san: san.map(str::to_owned),
            fen: "8/8/8/8/8/8/8/K1k5 w - - 0 1".to_owned(),
            completed_by: CompletedBy::Clock,
            clock: None,
            illegal: san.is_none(),
        }
    }

    #[test]
    fn a_half_move_is_told_as_it_was_kept() {
        let names = [
            ("e1g1", Some("O-O")),
            ("e7d8q", Some("exd8=Q#")),
            ("a1a2", None),
            ("0000", None),
        ];
        for (uci, san) in names {
            let made = made(uci, san);
            let told = KeptMove::of(&made).map(KeptMove::told);
            assert_eq!(told, Some(made), "{uci}");
        }
    }

    #[test]
    fn a_half_move_with_other_names_is_no_half_move_of_ours() {
        assert!(KeptMove::of(&made("e1g1", Some("0-0"))).is_none());
        assert!(KeptMove::of(&made("castles", None)).is_none());
    }
}
