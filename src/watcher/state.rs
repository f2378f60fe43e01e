//! The states of a board that are kept as last values on the broker.

use std::ops::BitOrAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::{ClockState, GameResult},
    laws::Side,
};

/// Which states have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSet {
    /// [`Status`].
    pub status: bool,
    /// [`BoardInfo`].
    pub info: bool,
    /// [`PositionView`].
    pub position: bool,
    /// [`GameView`] and the PGN.
    pub game: bool,
    /// [`ClockView`].
    pub clock: bool,
}

impl BitOrAssign for StateSet {
    fn bitor_assign(&mut self, more: Self) {
        self.status |= more.status;
        self.info |= more.info;
        self.position |= more.position;
        self.game |= more.game;
        self.clock |= more.clock;
    }
}

/// Whether the board answers. Published as the bare word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The board answers.
    Online,
    /// It does not.
    #[default]
    Offline,
}

/// What kind of board, as far as what it says of itself tells: its name is not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// A board with a serial number of five digits.
    Classic,
    /// A newer board, with a serial number of ten digits.
    Newer,
    /// A robotic board, whose serial number begins with a firmware version, as `3.25`.
    Revelation,
    /// A board that speaks the line protocol `occ1`.
    Occ1,
    /// A board with Millennium's ChessLink.
    Chesslink,
    /// A board by Chessnut.
    Chessnut,
}

impl Model {
    /// By the serial number (protocol reference, section 5).
    pub(super) fn of_serial(serial: &str) -> Self {
        if serial.contains('.') {
            Self::Revelation
        } else if serial.len() > 5 {
            Self::Newer
        } else {
            Self::Classic
        }
    }
}

/// What is known of the board itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardInfo {
    /// What kind of board, as far as it can be told.
    pub model: Option<Model>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its firmware, `main.sub`.
    pub firmware: Option<String>,
    /// Where it is attached.
    pub port: Option<String>,
    /// Its battery, where it has told of one.
    pub battery: Option<BatteryView>,
    /// Whether the clock says that its battery is low; null without a clock.
    pub clock_battery_low: Option<bool>,
}

/// A board's own battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatteryView {
    /// What is left, in percent.
    pub percent: u8,
    /// Whether it is being charged.
    pub charging: bool,
}

/// What is known of a board's hardware, for the gateway's `health`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HardwareView {
    /// Its firmware, `main.sub`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Its battery, where it has told of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery: Option<BatteryView>,
    /// Whether the clock says that its battery is low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_battery_low: Option<bool>,
    /// Bytes and messages that came over the line and could not be read, since the daemon's start.
    pub line_errors: u64,
    /// How often a reading of the whole board told what no change had told, since the daemon's start.
    pub lost_updates: u64,
    /// Squares that read nothing in the present game.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub squares_not_read: Vec<String>,
    /// Pieces that are not read in the present game, as letters of a FEN.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces_not_read: Vec<String>,
}

impl HardwareView {
    /// Whether there is anything to tell besides the firmware.
    #[must_use]
    pub fn is_worth_telling(&self) -> bool {
        let rest = Self {
            firmware: None,
            clock_battery_low: self.clock_battery_low.filter(|low| *low),
            ..self.clone()
        };
        rest != Self::default()
    }
}

/// What stands on the board now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PositionView {
    /// Placement field of a FEN, as the sensors say; null before the first reading.
    pub placement: Option<String>,
    /// Full FEN when the board stands as the game does.
    pub fen: Option<String>,
    /// What keeps it from being the game's position: squares that differ, open irregularities.
    pub problems: Vec<String>,
}

/// The game as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GameView {
    /// Number of the game on this board; null before the first.
    pub game: Option<u32>,
    /// Start position.
    pub start_fen: Option<String>,
    /// True for Chess960.
    pub chess960: bool,
    /// Moves as UCI.
    pub moves: Vec<String>,
    /// Moves as SAN; null where an illegal move stands.
    pub san: Vec<Option<String>>,
    /// Position after the last move.
    pub fen: Option<String>,
    /// Whose move it is.
    pub to_move: Option<Side>,
    /// Result, `*` while it is open.
    pub result: Option<GameResult>,
    /// Ids of open irregularities.
    pub open_irregularities: Vec<String>,
    /// The last `seq` given out on this board.
    pub last_seq: u64,
}

/// The clock as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockView {
    /// Both times and the running side; null without a clock.
    pub clock: Option<ClockState>,
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn serial_numbers_tell_generations_apart() {
        for (serial, model) in [
            ("23946", Model::Classic),
            ("3000147740", Model::Newer),
            ("3.25012345", Model::Revelation),
        ] {
            assert_eq!(Model::of_serial(serial), model);
        }
    }
}
