//! The facts of a case, as the Laws need them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::terms::{IrregularityKind, Side};

/// Who took an irregularity up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RaisedBy {
    /// The arbiter saw it.
    #[default]
    Arbiter,
    /// The opponent claimed it.
    Opponent,
    /// Neither.
    Nobody,
}

/// What a press without a move answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseTo {
    /// The player's own earlier move, which he had not pressed for (6.2.2).
    OwnUnpressedMove,
    /// An illegal move of the opponent.
    OpponentIllegalMove,
    /// Pieces that the opponent displaced (1997: 7.3).
    OpponentDisplacedPieces,
}

/// Whose flag fell first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstFlag {
    /// White's.
    White,
    /// Black's.
    Black,
    /// It cannot be established.
    #[default]
    Unknown,
}

impl FirstFlag {
    /// The player whose flag fell first, where it is known.
    #[must_use]
    pub fn side(self) -> Option<Side> {
        match self {
            Self::White => Some(Side::White),
            Self::Black => Some(Side::Black),
            Self::Unknown => None,
        }
    }
}

/// The impossible position that an arbiter came upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// Both kings are attacked.
    BothKingsInCheck,
    /// A pawn stands on the rank where it should have been replaced.
    PawnOnLastRank,
}

/// Completed moves of each player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with the counts of `white` and `black`"
)]
pub struct MovesCompleted {
    /// White's.
    pub white: u32,
    /// Black's.
    pub black: u32,
}

impl MovesCompleted {
    /// The moves that `side` has completed.
    #[must_use]
    pub fn by(self, side: shakmaty::Color) -> u32 {
        side.fold_wb(self.white, self.black)
    }

    /// The moves that *each* player has completed: of 10 and 9 moves it is nine.
    #[must_use]
    pub fn by_each(self) -> u32 {
        self.white.min(self.black)
    }
}

fn yes() -> bool {
    true
}

/// What happened: the irregularity and everything that changes the ruling.
///
/// Fields without a default must be given in JSON, even where they are null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// What happened.
    pub irregularity: IrregularityKind,
    /// Who did it; for a claim the claimant, for a flag whose flag fell; none when nobody or unknown.
    #[serde(deserialize_with = "Option::deserialize")]
    pub offender: Option<Side>,
    /// Number of this act among the offender's completed illegal-move-type acts that were acted
    /// upon, itself included; 0 where the notion does not apply.
    pub offence_number: u32,
    /// The opponent has released his next move after the act, pressed or not.
    pub opponent_has_replied: bool,
    /// Completed moves of each player.
    pub moves_completed: MovesCompleted,
    /// The offender's opponent can mate by some series of legal moves, judged in the position that
    /// the article puts on the board.
    pub opponent_can_mate: bool,
    /// The position immediately before the irregularity is known.
    pub last_legal_position_known: bool,
    /// The offender pressed after the act.
    #[serde(default = "yes")]
    pub clock_pressed: bool,
    /// Who took it up.
    #[serde(default)]
    pub raised_by: RaisedBy,
    /// The game had already ended when this was found.
    #[serde(default)]
    pub game_over: bool,
    /// The move was legal under Article 3 and ended the game (mate, stalemate, dead position).
    #[serde(default)]
    pub move_ends_game: bool,
    /// Further irregularities in the very same act.
    #[serde(default)]
    pub concurrent: Vec<IrregularityKind>,
    /// Both players agree to correct it.
    #[serde(default)]
    pub players_agree: bool,
    /// What a press without a move answered.
    #[serde(default)]
    pub response_to: Option<ResponseTo>,
    /// The opponent has touched a piece meaning to move it (4.8).
    #[serde(default)]
    pub opponent_touched_piece: bool,
    /// The moves of the period were complete when the flag fell (6.4).
    #[serde(default)]
    pub prescribed_moves_done: bool,
    /// Whose flag fell first, where both are down.
    #[serde(default)]
    pub first_flag: FirstFlag,
    /// All remaining moves had to be made in this period.
    #[serde(default)]
    pub last_period: bool,
    /// Whether a draw claim is right; none when nobody claimed.
    #[serde(default)]
    pub claim_correct: Option<bool>,
    /// The five occurrences were consecutive.
    #[serde(default)]
    pub consecutive: bool,
    /// What the arbiter came upon.
    #[serde(default)]
    pub observed: Option<Observed>,
    /// Since then a move has been completed.
    #[serde(default)]
    pub next_move_completed: bool,
    /// The position is still impossible after it.
    #[serde(default)]
    pub illegal_position_persists: bool,
    /// What the pawn was promoted to. Information only.
    #[serde(default)]
    pub promoted_as: Option<Value>,
    /// What was wrong with the move. Information only.
    #[serde(default)]
    pub illegal_kind: Option<Value>,
    /// The move claimed to mate. Information only.
    #[serde(default)]
    pub claimed_mate: Option<Value>,
    /// An earlier irregularity stands on the board. Information only.
    #[serde(default)]
    pub prior_irregularity_stands: Option<Value>,
}

impl Facts {
    /// The plainest facts of an irregularity: it was completed by a press just now, in a known position, and the
    /// material suffices for mate.
    #[must_use]
    pub fn new(irregularity: IrregularityKind, offender: Option<Side>) -> Self {
        Self {
            irregularity,
            offender,
            offence_number: 0,
            opponent_has_replied: false,
            moves_completed: MovesCompleted::default(),
            opponent_can_mate: true,
            last_legal_position_known: true,
            clock_pressed: true,
            raised_by: RaisedBy::Arbiter,
            game_over: false,
            move_ends_game: false,
            concurrent: Vec::new(),
            players_agree: false,
            response_to: None,
            opponent_touched_piece: false,
            prescribed_moves_done: false,
            first_flag: FirstFlag::Unknown,
            last_period: false,
            claim_correct: None,
            consecutive: false,
            observed: None,
            next_move_completed: false,
            illegal_position_persists: false,
            promoted_as: None,
            illegal_kind: None,
            claimed_mate: None,
            prior_irregularity_stands: None,
        }
    }

    /// The irregularity, and the others of the same act.
    pub fn acts(&self) -> impl Iterator<Item = IrregularityKind> + '_ {
        std::iter::once(self.irregularity).chain(self.concurrent.iter().copied())
    }
}
