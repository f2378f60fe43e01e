//! The words in English.

use shakmaty::Role;

use super::{ActMove, IllegalReason, Language, Occurrence, clock_face};
use crate::{
    event::{Certainty, ClockFrom, ClockState},
    laws::Edition,
    terms::{
        IrregularityKind::{self, *},
        Penalty, PenaltyKind, PositionRuling, Side,
    },
};

pub(super) struct English;

fn side(side: Side) -> &'static str {
    match side {
        Side::White => "White",
        Side::Black => "Black",
    }
}

fn player(offender: Option<Side>) -> &'static str {
    offender.map_or("The player", side)
}

fn piece(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}

fn described(act: ActMove) -> String {
    let name = act.piece.map_or("piece", piece);
    format!("{name} {}-{}", act.from, act.to)
}

fn list(items: &[String]) -> String {
    items.join(", ")
}

fn name(kind: IrregularityKind) -> &'static str {
    match kind {
        IllegalMove => "Illegal move",
        PromotionNotReplaced => "Pawn not replaced",
        PressWithoutMove => "Clock pressed without a move",
        TwoHands => "Two hands used",
        InitialPositionWrong => "Wrong initial position",
        BoardOrientationWrong => "Board turned the wrong way",
        ColoursReversed => "Colours reversed",
        PiecesDisplaced => "Pieces displaced",
        DisplacedPieceFound => "Piece on a wrong square",
        InvertedRookPromotion => "Upside-down rook",
        WrongColourPromotion => "Promoted piece of the wrong colour",
        CastlingIncomplete => "Castling not finished",
        TouchMove => "Touch-move",
        RookFirstCastling => "Rook touched before the king",
        MovedOutOfTurn => "Move out of turn",
        PressWithOtherHand => "Clock pressed with the other hand",
        FlagFall => "Flag fall",
        BothFlags => "Both flags down",
        DeadPosition => "Dead position",
        ThreefoldClaim => "Threefold repetition",
        FiftyClaim => "Fifty-move rule",
        Fivefold => "Fivefold repetition",
        SeventyFive => "Seventy-five-move rule",
        IllegalPositionObserved => "Illegal position",
        ClockSettingWrong => "Wrong clock setting",
        PauseWithoutReason => "Clock paused without reason",
        ClaimFromScreen => "Claim based on a display",
        LateArrival => "Late arrival",
        ElectronicDevice => "Electronic device",
        NotRecording => "Moves not recorded",
        Disturbing => "Opponent disturbed",
        DrawOfferIrregular => "Irregular draw offer",
        Other => "Other irregularity",
    }
}

fn reason_name(reason: IllegalReason) -> &'static str {
    match reason {
        IllegalReason::KingLeftInCheck => "king left in check",
        IllegalReason::PieceCannotMoveSo => "the piece does not move so",
        IllegalReason::CastlingNotAllowed => "castling not allowed",
        IllegalReason::CastledOtherwise => "not castled as the Laws say",
        IllegalReason::OpponentsPieceMoved => "a piece of the opponent's was moved",
        IllegalReason::OwnPieceCaptured => "a piece of the player's own was taken",
        IllegalReason::KingCaptured => "the king was taken",
        IllegalReason::Unexplained => "no legal move leads to this position",
    }
}

fn illegal_fact(o: &Occurrence<'_>) -> String {
    let who = player(o.offender);
    match (o.reason, o.act) {
        (Some(IllegalReason::KingLeftInCheck), _) => format!(
            "After the move the king of {} can be captured.",
            o.offender.map_or("the player", side)
        ),
        (
            Some(IllegalReason::PieceCannotMoveSo),
            Some(ActMove {
                piece: Some(role),
                from,
                to,
            }),
        ) => {
            format!("The {} cannot go from {from} to {to}.", piece(role))
        }
        (Some(IllegalReason::PieceCannotMoveSo), _) => "The piece cannot move that way.".to_owned(),
        (Some(IllegalReason::CastlingNotAllowed), _) => {
            format!("{who} castled without having the right to do so now.")
        }
        (Some(IllegalReason::CastledOtherwise), _) => {
            format!("{who} moved king and rook, and not as castling moves them (3.8.2).")
        }
        (Some(IllegalReason::OpponentsPieceMoved), _) => format!("{who} moved a piece of the opponent's."),
        (Some(IllegalReason::OwnPieceCaptured), _) => {
            format!("{who} put a piece on a square held by a piece of the same colour.")
        }
        (Some(IllegalReason::KingCaptured), _) => {
            "The enemy king was taken off, which is itself an illegal move.".to_owned()
        }
        (Some(IllegalReason::Unexplained), _) if !o.squares.is_empty() => {
            format!(
                "The clock was pressed and no legal move explains the board; compare {}.",
                list(o.squares)
            )
        }
        (Some(IllegalReason::Unexplained), _) => {
            "The clock was pressed and no legal move explains the board.".to_owned()
        }
        (None, _) => "The move breaks the rules of piece movement and the clock has been pressed.".to_owned(),
    }
}

fn duration(seconds: u32) -> String {
    match (seconds / 60, seconds % 60) {
        (1, 0) => "1 minute".to_owned(),
        (m, 0) if m > 0 => format!("{m} minutes"),
        _ => format!("{seconds} seconds"),
    }
}

/// Both times, and whose clock is to run.
fn faces(clock: &ClockState) -> String {
    let times = format!(
        "White {}, Black {}",
        clock_face(clock.white_ms),
        clock_face(clock.black_ms)
    );
    match clock.running {
        Some(s) => format!("{times}; {}'s clock running", side(s)),
        None => times,
    }
}

/// How the proposed times come about.
fn origin(o: &Occurrence<'_>) -> String {
    let Some(working) = &o.advice.clock_working else {
        return String::new();
    };
    let mut parts = match working.from {
        ClockFrom::Press if working.returned_ms + working.increment_ms == 0 => return String::new(),
        ClockFrom::Press => vec!["those of the press".to_owned()],
        ClockFrom::Position => vec!["those recorded in the position put back".to_owned()],
        ClockFrom::Now => vec!["the present ones".to_owned()],
    };
    if working.increment_ms > 0 {
        parts.push(format!("less the {} s it gave", working.increment_ms / 1000));
    }
    if working.returned_ms > 0 {
        parts.push(format!("{} s lost since given back", working.returned_ms / 1000));
    }
    format!(" ({})", parts.join(", "))
}

/// Why play goes on, and on which condition.
fn goes_on(o: &Occurrence<'_>, kind: IrregularityKind) -> &'static str {
    match kind {
        FlagFall | BothFlags if o.cites("6.4") || o.cites("6.3") => {
            "The moves of the period were made; play continues."
        }
        FlagFall if o.cites("B6") => "Play continues unless the opponent claims the flag.",
        FlagFall => "Play continues until the flag is noticed or claimed.",
        BothFlags if o.cites("III.3.1.1") || o.cites("III.3.1") => {
            "Play continues; in the last period the game would be drawn."
        }
        BothFlags => "Play continues.",
        TouchMove | RookFirstCastling if o.cites("B5") => "Play continues unless a player asks for it.",
        TouchMove | RookFirstCastling => "Play continues: it can no longer be claimed.",
        InitialPositionWrong => "Play continues; a misplaced king or rook may not castle.",
        IllegalPositionObserved => {
            "Wait until the next move is completed; if the position is still illegal then, the game is drawn."
        }
        ClockSettingWrong if o.advice.penalty.kind == PenaltyKind::Arbiter => {
            "Correct the clock; play continues."
        }
        ThreefoldClaim | FiftyClaim if o.is_wrong_claim() => {
            "Play continues; a move announced with the claim has to be made."
        }
        NotRecording if o.is_not_required() => "Play continues; in this game the moves need not be recorded.",
        DrawOfferIrregular if o.cites("9.1.2") => {
            "Play continues; where the event allows offers, this one is valid until it is rejected."
        }
        _ => "Play continues from the present position.",
    }
}

fn ordinal(n: u32) -> String {
    match n {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        n => format!("{n}th"),
    }
}

impl Language for English {
    fn title(&self, o: &Occurrence<'_>) -> String {
        let mut title = if o.is_wrong_claim() {
            format!("Incorrect draw claim ({})", name(o.kind).to_lowercase())
        } else {
            name(o.kind).to_owned()
        };
        match (o.kind, o.offender) {
            (TouchMove | TwoHands, Some(s)) if o.certainty == Certainty::Suspected => {
                title = format!("{title}? ({})", side(s));
            }
            (_, Some(s)) => title = format!("{title}: {}", side(s)),
            (_, None) => {}
        }
        if let Some(act) = o.act {
            title = format!("{title}, {}", described(act));
        } else if !o.squares.is_empty() {
            title = format!("{title}, {}", list(o.squares));
        }
        match o.reason {
            Some(reason) if o.kind == IllegalMove => format!("{title} ({})", reason_name(reason)),
            _ => title,
        }
    }

    fn doubt(&self, o: &Occurrence<'_>) -> Option<String> {
        match o.certainty {
            Certainty::Certain => None,
            Certainty::Probable => Some("Probable, not certain: please look at the board first.".to_owned()),
            Certainty::Suspected => Some(
                "Only a hint from the sensors: nothing is established unless a person confirms it."
                    .to_owned(),
            ),
        }
    }

    fn doubt_in_a_word(&self, certainty: Certainty) -> &'static str {
        match certainty {
            Certainty::Certain => "",
            Certainty::Probable => "Probable.",
            Certainty::Suspected => "Only suspected.",
        }
    }

    fn fact(&self, o: &Occurrence<'_>) -> String {
        let who = player(o.offender);
        let at = if o.squares.is_empty() {
            String::new()
        } else {
            format!(" ({})", list(o.squares))
        };
        match o.kind {
            IllegalMove => illegal_fact(o),
            PromotionNotReplaced => format!(
                "A pawn has reached the last rank{at}, the clock is pressed and no new piece has been put on."
            ),
            PressWithoutMove => format!("{who} pressed the clock although no move had been made."),
            TwoHands if o.certainty == Certainty::Suspected => {
                format!(
                    "Two pieces{at} were off the board at once, as when both hands are used for one move."
                )
            }
            TwoHands => format!("{who} used both hands for one move."),
            InitialPositionWrong => format!("The pieces were not set up correctly at the start{at}."),
            BoardOrientationWrong => "The corner square on each player's right is not light.".to_owned(),
            ColoursReversed if o.certainty == Certainty::Certain => {
                "The players are playing with each other's colours.".to_owned()
            }
            ColoursReversed => {
                "The armies stand the other way round than the board is configured: see whether the players have each \
                 other's colours."
                    .to_owned()
            }
            PiecesDisplaced => format!(
                "Pieces were knocked off their squares{at} and are to be put back in the offender's own time."
            ),
            DisplacedPieceFound => format!("The board differs from the game where no move was made{at}."),
            InvertedRookPromotion => "A rook placed upside down counts as a rook.".to_owned(),
            WrongColourPromotion => format!("The new piece{at} is of the opponent's colour."),
            CastlingIncomplete => {
                "The king has moved two squares, the rook stays at home, and the clock is pressed.".to_owned()
            }
            TouchMove if o.certainty == Certainty::Suspected => {
                format!(
                    "A piece{at} was lifted and put back, then another was moved; adjusting looks the same."
                )
            }
            TouchMove => format!("Another piece was moved than the one touched first{at}."),
            RookFirstCastling => format!("{who} touched the rook before the king in castling."),
            MovedOutOfTurn => format!("{who} moved without having the move; this is not an illegal move."),
            PressWithOtherHand => "Move and press were made with different hands.".to_owned(),
            FlagFall => format!("The time of {} has run out.", o.offender.map_or("a player", side)),
            BothFlags => match o.first_flag {
                Some(s) => format!("Both flags are down; that of {} fell first.", side(s)),
                None => "Both flags are down; which fell first is not known.".to_owned(),
            },
            DeadPosition => "Neither side can ever mate, whatever legal moves follow.".to_owned(),
            ThreefoldClaim | FiftyClaim if o.is_wrong_claim() => "The claim is not confirmed.".to_owned(),
            ThreefoldClaim | FiftyClaim if o.advice.penalty.kind == PenaltyKind::Draw => {
                "The claim is confirmed.".to_owned()
            }
            ThreefoldClaim => {
                "The position has occurred for the third time; a draw needs a player's claim.".to_owned()
            }
            FiftyClaim => {
                "Fifty moves by each side without a capture or pawn move; a draw needs a player's claim."
                    .to_owned()
            }
            Fivefold => "The position has occurred at least five times.".to_owned(),
            SeventyFive => "Seventy-five moves by each side without a capture or pawn move.".to_owned(),
            IllegalPositionObserved => format!("No series of legal moves leads to this position{at}."),
            ClockSettingWrong => "Time or increment on the clock differs from the regulations.".to_owned(),
            PauseWithoutReason => "The clock was paused and no valid reason is known.".to_owned(),
            ClaimFromScreen => "A claim may not rest only on what a display shows.".to_owned(),
            LateArrival if o.cites("6.7") => {
                format!("{who} arrived late. After the default time the game is lost, unless the arbiter decides otherwise.")
            }
            LateArrival => {
                format!("{who} arrived late. After more than an hour the game is lost, unless the rules of the event or the arbiter decide otherwise.")
            }
            ElectronicDevice => format!("{who} had an electronic device in the playing venue that was not allowed."),
            NotRecording => format!("{who} did not record the moves."),
            Disturbing => format!("{who} distracted or annoyed the opponent."),
            DrawOfferIrregular => format!("{who} offered a draw otherwise than after a move and before the press."),
            Other => "The arbiter has written down an irregularity of another kind.".to_owned(),
        }
    }

    fn note(&self, note: &str) -> String {
        format!("Note: “{note}”.")
    }

    fn position(&self, o: &Occurrence<'_>) -> String {
        let who = o.offender.map_or("the player", side);
        match (o.advice.position, o.kind) {
            (PositionRuling::ReinstateBefore, PressWithoutMove) => {
                format!("The board stays as it is and {who} is still to move.")
            }
            (PositionRuling::ReinstateBefore, IllegalMove) => {
                format!(
                    "Restore the position just before; {who} then moves the piece touched, if it has a legal move."
                )
            }
            (PositionRuling::ReinstateBefore, TouchMove) => {
                "Restore the position just before; the piece touched first has to move if it can.".to_owned()
            }
            (PositionRuling::ReinstateBefore, RookFirstCastling) => {
                "Restore the position just before; the rook has to move if it can, and there is no castling on that side."
                    .to_owned()
            }
            (PositionRuling::ReinstateBefore, PiecesDisplaced) => {
                "Put the pieces back on their squares.".to_owned()
            }
            (PositionRuling::ReinstateBefore, MovedOutOfTurn) => "Take the move back.".to_owned(),
            (PositionRuling::ReinstateBefore, _) => "Restore the position just before.".to_owned(),
            (PositionRuling::LastIdentifiable, _) => {
                "Continue from the last position that can be identified.".to_owned()
            }
            (PositionRuling::Continue, kind) => goes_on(o, kind).to_owned(),
            (PositionRuling::NewGame, _) => "Cancel this game and start a new one.".to_owned(),
            (PositionRuling::Transfer, _) => {
                "Move the position to a board placed correctly and go on.".to_owned()
            }
            (PositionRuling::ReplaceWithQueen, _) => match o.squares.first() {
                Some(square) => format!("Put a queen of the pawn's colour on {square}."),
                None => "Put a queen of the pawn's colour in its place.".to_owned(),
            },
            (PositionRuling::Stands, _) => "The position stands.".to_owned(),
        }
    }

    fn penalty(&self, o: &Occurrence<'_>, penalty: &Penalty) -> String {
        let of_offender = o.offender.map_or("the player", side);
        match (penalty.kind, penalty.to) {
            (PenaltyKind::Time, Some(to)) => {
                let added = format!("Add {} to the clock of {}", duration(penalty.seconds), side(to));
                match o.offence_number {
                    0 => format!("{added}."),
                    n => format!("{added}: {} completed illegal move by {of_offender}.", ordinal(n)),
                }
            }
            (PenaltyKind::Loss, Some(to)) if matches!(o.kind, FlagFall | BothFlags) => {
                let so_far = if o.advice.provisional { " if" } else { ";" };
                format!(
                    "The game is lost by {}{so_far} {} can still mate.",
                    side(to.opponent()),
                    side(to)
                )
            }
            (PenaltyKind::Loss, Some(to)) if o.kind == ElectronicDevice => format!(
                "The game is lost by {}, unless the rules of the event specify a less severe penalty.",
                side(to.opponent())
            ),
            (PenaltyKind::Loss, Some(to)) => {
                let loser = side(to.opponent());
                match o.offence_number {
                    0 => format!("The game is lost by {loser}."),
                    n => format!(
                        "The game is lost by {loser}: {} completed illegal move.",
                        ordinal(n)
                    ),
                }
            }
            (PenaltyKind::Draw, _) if o.draw_needs_no_mate() => {
                "The game is drawn: no series of legal moves lets the opponent mate.".to_owned()
            }
            (PenaltyKind::Draw, _) => "The game is drawn.".to_owned(),
            (PenaltyKind::Arbiter, _) => "The Laws leave the penalty to the arbiter.".to_owned(),
            (PenaltyKind::Time | PenaltyKind::Loss, None) => {
                "The arbiter establishes who is concerned.".to_owned()
            }
            (PenaltyKind::None, _) => "The Laws provide no penalty here.".to_owned(),
        }
    }

    fn times(&self, o: &Occurrence<'_>, clock: &ClockState) -> String {
        let mut said = format!("Proposed times: {}{}.", faces(clock), origin(o));
        if let Some(other) = &o.advice.clock_alternative {
            said = format!("{said} Or the present times: {}.", faces(other));
        }
        match o.advice.clock_working.map_or(0, |w| w.move_counter) {
            0 => said,
            n => format!("{said} Move counter: {n:+}.").replace('-', "\u{2212}"),
        }
    }

    fn origin(&self, o: &Occurrence<'_>) -> String {
        origin(o)
    }

    fn provisional(&self) -> &'static str {
        "Provisional: it is still being checked whether the opponent can mate."
    }

    fn mate_undetermined(&self) -> &'static str {
        "Whether the opponent can mate could not be established; it is for the arbiter to decide."
    }

    fn articles(&self, articles: &[String], edition: Edition) -> String {
        let of = match edition {
            Edition::Laws2023 => "",
            Edition::Laws2018 => " of the Laws of 2018",
            Edition::Proposal2017 => " of the proposal of 2017",
            Edition::Laws2014 => " of the Laws of 2014",
            Edition::Laws1997 => " of the Laws of 1997",
        };
        match articles {
            [one] => format!("Article {one}{of}."),
            many => format!("Articles {}{of}.", list(many)),
        }
    }

    fn if_confirmed(&self) -> &'static str {
        "If confirmed:"
    }

    fn raised_by_system(&self) -> &'static str {
        "The system noticed this, not a person; whether to act is for the arbiter."
    }
}
