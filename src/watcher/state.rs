//! The states of a board. The broker keeps the last value of each.

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
    /// The board does not answer.
    #[default]
    Offline,
}

/// The kind of board, as far as serial number and protocol tell. Nobody asks for its name.
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
    /// The model with this serial number (protocol reference, section 5).
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

/// The board itself, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardInfo {
    /// The kind of board, where it is known.
    pub model: Option<Model>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its firmware, `main.sub`.
    pub firmware: Option<String>,
    /// The port to which it is attached.
    pub port: Option<String>,
    /// Its battery, where it has told of one.
    pub battery: Option<BatteryView>,
    /// Whether the clock says that its battery is low; null without a clock.
    pub clock_battery_low: Option<bool>,
}

/// A board's own battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatteryView {
    /// Its charge, in percent.
    pub percent: u8,
    /// Whether it is being charged.
    pub charging: bool,
}

/// A board's hardware, as far as it is known, for the gateway's `health`.
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
    /// How often a dump showed a change that no update had told, since the daemon's start.
    pub lost_updates: u64,
    /// Squares that read nothing in the present game.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub squares_not_read: Vec<String>,
    /// Pieces that are not read in the present game, as letters of a FEN.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces_not_read: Vec<String>,
}

impl HardwareView {
    /// True if there is anything to tell besides the firmware.
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

/// The position on the board now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PositionView {
    /// Placement field of a FEN, as the sensors say; null before the first reading.
    pub placement: Option<String>,
    /// Full FEN, when the board shows the position of the game.
    pub fen: Option<String>,
    /// Why it is not the position of the game: squares that differ, open irregularities.
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
