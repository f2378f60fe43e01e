//! What the Laws speak of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened: the irregularities, endings and claims that the Laws speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IrregularityKind {
    /// A move against 3.1-3.9, completed (7.5.1).
    IllegalMove,
    /// A pawn on the last rank not replaced (7.5.2).
    PromotionNotReplaced,
    /// The clock pressed without a move (7.5.3).
    PressWithoutMove,
    /// Two hands for one move (7.5.4).
    TwoHands,
    /// A wrong initial position (7.2.1).
    InitialPositionWrong,
    /// The board placed wrongly (7.2.2).
    BoardOrientationWrong,
    /// Begun with colours reversed (7.3).
    ColoursReversed,
    /// A player displaced pieces (7.4).
    PiecesDisplaced,
    /// A piece is found off its square (7.6).
    DisplacedPieceFound,
    /// An upside-down rook put on as a queen (4.4.4).
    InvertedRookPromotion,
    /// A promotion to a piece of the wrong colour (3.7).
    WrongColourPromotion,
    /// Castling with the rook left behind (4.7.2).
    CastlingIncomplete,
    /// One piece touched, another moved (4.3).
    TouchMove,
    /// The rook touched first in castling (4.4.2).
    RookFirstCastling,
    /// A move by the side that did not have it (Article 12).
    MovedOutOfTurn,
    /// The clock pressed with the other hand (6.2.3).
    PressWithOtherHand,
    /// A flag has fallen (6.9).
    FlagFall,
    /// Both flags have fallen (III.3.1).
    BothFlags,
    /// Neither side can mate (5.2.2).
    DeadPosition,
    /// A claim of threefold repetition (9.2).
    ThreefoldClaim,
    /// A claim of fifty moves (9.3).
    FiftyClaim,
    /// Fivefold repetition (9.6.1).
    Fivefold,
    /// Seventy-five moves (9.6.2).
    SeventyFive,
    /// An arbiter comes upon an impossible position (A.5.4).
    IllegalPositionObserved,
    /// A wrong setting of the clock (6.10.2).
    ClockSettingWrong,
    /// The clock stopped without reason (6.11.4).
    PauseWithoutReason,
    /// A claim resting on a display alone (6.12.2).
    ClaimFromScreen,
    /// A player arrives after the game was to begin (6.7).
    LateArrival,
    /// An electronic device in the playing venue that nobody allowed (11.3.2).
    ElectronicDevice,
    /// A player does not record the moves (8.1).
    NotRecording,
    /// The opponent is distracted or annoyed (11.5).
    Disturbing,
    /// A draw is offered otherwise than between move and press (9.1.2).
    DrawOfferIrregular,
    /// Anything else that an arbiter writes down.
    Other,
}

impl IrregularityKind {
    /// All of them, in the order of the enum.
    pub const ALL: [Self; 33] = [
        Self::IllegalMove,
        Self::PromotionNotReplaced,
        Self::PressWithoutMove,
        Self::TwoHands,
        Self::InitialPositionWrong,
        Self::BoardOrientationWrong,
        Self::ColoursReversed,
        Self::PiecesDisplaced,
        Self::DisplacedPieceFound,
        Self::InvertedRookPromotion,
        Self::WrongColourPromotion,
        Self::CastlingIncomplete,
        Self::TouchMove,
        Self::RookFirstCastling,
        Self::MovedOutOfTurn,
        Self::PressWithOtherHand,
        Self::FlagFall,
        Self::BothFlags,
        Self::DeadPosition,
        Self::ThreefoldClaim,
        Self::FiftyClaim,
        Self::Fivefold,
        Self::SeventyFive,
        Self::IllegalPositionObserved,
        Self::ClockSettingWrong,
        Self::PauseWithoutReason,
        Self::ClaimFromScreen,
        Self::LateArrival,
        Self::ElectronicDevice,
        Self::NotRecording,
        Self::Disturbing,
        Self::DrawOfferIrregular,
        Self::Other,
    ];

    /// True for what a player does beside the board: no half-move brings it about, and no position puts it right.
    #[must_use]
    pub fn is_conduct(self) -> bool {
        matches!(
            self,
            Self::LateArrival
                | Self::ElectronicDevice
                | Self::NotRecording
                | Self::Disturbing
                | Self::DrawOfferIrregular
                | Self::Other
        )
    }

    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IllegalMove => "illegal_move",
            Self::PromotionNotReplaced => "promotion_not_replaced",
            Self::PressWithoutMove => "press_without_move",
            Self::TwoHands => "two_hands",
            Self::InitialPositionWrong => "initial_position_wrong",
            Self::BoardOrientationWrong => "board_orientation_wrong",
            Self::ColoursReversed => "colours_reversed",
            Self::PiecesDisplaced => "pieces_displaced",
            Self::DisplacedPieceFound => "displaced_piece_found",
            Self::InvertedRookPromotion => "inverted_rook_promotion",
            Self::WrongColourPromotion => "wrong_colour_promotion",
            Self::CastlingIncomplete => "castling_incomplete",
            Self::TouchMove => "touch_move",
            Self::RookFirstCastling => "rook_first_castling",
            Self::MovedOutOfTurn => "moved_out_of_turn",
            Self::PressWithOtherHand => "press_with_other_hand",
            Self::FlagFall => "flag_fall",
            Self::BothFlags => "both_flags",
            Self::DeadPosition => "dead_position",
            Self::ThreefoldClaim => "threefold_claim",
            Self::FiftyClaim => "fifty_claim",
            Self::Fivefold => "fivefold",
            Self::SeventyFive => "seventy_five",
            Self::IllegalPositionObserved => "illegal_position_observed",
            Self::ClockSettingWrong => "clock_setting_wrong",
            Self::PauseWithoutReason => "pause_without_reason",
            Self::ClaimFromScreen => "claim_from_screen",
            Self::LateArrival => "late_arrival",
            Self::ElectronicDevice => "electronic_device",
            Self::NotRecording => "not_recording",
            Self::Disturbing => "disturbing",
            Self::DrawOfferIrregular => "draw_offer_irregular",
            Self::Other => "other",
        }
    }
}
