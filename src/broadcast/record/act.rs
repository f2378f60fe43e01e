//! An act at a board: what an event tells of a game for the public.

use crate::{
    broadcast::runs::Moment,
    event::{Body, CompletedBy, Event, GameResult, MoveMade, Source, notice},
};

#[derive(Clone, Debug)]
pub(super) struct PublicAct {
    /// The number of its event.
    pub(super) seq: u64,
    /// When it became known.
    pub(super) known: Moment,
    /// When it happened, which is before the daemon was sure of it.
    pub(super) at: Moment,
    pub(super) game: u32,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Started(Start),
    /// The names were corrected.
    Named(Names),
    Moved {
        made: Box<MoveMade>,
        /// True where a person entered it: nobody measured when it was played.
        entered: bool,
    },
    Retracted {
        to_ply: u32,
        /// True where the half-moves that follow are told again.
        corrected: bool,
        /// Where the game counts from another start position now.
        fen: Option<String>,
        /// True where it counts from there as one of Chess960.
        chess960: bool,
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

impl What {
    /// What a game's event tells of it; none where the public does not hear of that.
    pub(super) fn of(told: &Event) -> Option<Self> {
        Some(match &told.body {
            Body::GameStarted {
                fen,
                chess960,
                white,
                black,
                event,
                round,
            } => Self::Started(Start {
                fen: fen.clone(),
                chess960: *chess960,
                names: Names {
                    players: [white.clone(), black.clone()],
                    event: event.clone(),
                    round: *round,
                },
                time: told.time.clone(),
            }),
            Body::NamesCorrected {
                white,
                black,
                event,
                round,
            } => Self::Named(Names {
                players: [white.clone(), black.clone()],
                event: event.clone(),
                round: *round,
            }),
            Body::Move(made) => Self::Moved {
                made: Box::new(made.clone()),
                entered: told.source == Some(Source::Arbiter)
                    && (made.clock.is_none() || made.completed_by == CompletedBy::Ruling),
            },
            Body::MovesRetracted {
                to_ply,
                reason,
                fen,
                chess960,
            } => Self::Retracted {
                to_ply: *to_ply,
                chess960: *chess960,
                corrected: reason == "corrected_by_arbiter" || fen.is_some(),
                fen: fen.clone(),
            },
            Body::GameEnded { result, .. } => Self::Ended { result: *result },
            Body::GameResumed { .. } => Self::Resumed,
            Body::Notice { code, .. } if code == notice::RESULT_CONTRADICTS => Self::Questioned,
            Body::Notice { code, .. } if code == notice::SET_UP_WITHOUT_RESULT => Self::Parked,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) players: [Option<String>; 2],
    pub(super) event: Option<String>,
    pub(super) round: Option<u32>,
}

/// When an event was decided, and when that happened of which it tells.
#[derive(Clone, Copy, Debug)]
pub(in crate::broadcast) struct Noted {
    pub(super) known: Moment,
    pub(super) at: Moment,
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) fen: String,
    pub(super) chess960: bool,
    pub(super) names: Names,
    /// What the wall clock showed.
    pub(super) time: Option<String>,
}
