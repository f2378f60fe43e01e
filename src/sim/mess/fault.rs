//! What can go wrong at a board, by name, and how often it does.

use std::{collections::BTreeMap, fmt, str::FromStr};

/// A kind of mess or offence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// Pieces are dragged over squares on their way.
    Drag,
    /// The captured piece is swept over a neighbouring square.
    Swept,
    /// A piece stands on its new square before the old one is empty.
    PlaceFirst,
    /// Castling in all orders.
    Castling,
    /// Promotions in all orders, also to other pieces than a queen.
    Promotion,
    /// Captures en passant in all orders.
    EnPassant,
    /// A move is taken back and another made before the press.
    SecondThoughts,
    /// A piece is centred on its square.
    Adjust,
    /// The reply begins before the press.
    Overlap,
    /// The press comes before the board has told the last change.
    EarlyPress,
    /// The press is forgotten.
    ForgottenPress,
    /// Pieces are knocked over and put back before the press.
    Knocked,
    /// A square reads nothing, or another piece, for a while or for ever.
    DeadSquare,
    /// A square reads something else for a moment.
    Misread,
    /// The update of one change of a half-move is lost.
    LostUpdate,
    /// A scan takes twice as long and messages wait, as over Bluetooth.
    SlowScan,
    /// The board's cable is out for one to six half-moves.
    CableOut,
    /// The clock's cable is out for a while.
    ClockOut,
    /// Somebody stops the clock and forgets to start it again. The players play on for two to eight half-moves.
    ClockForgotten,
    /// White sits at the right of the clock.
    ClockSwapped,
    /// The board is turned by 180 degrees.
    Turned,
    /// No clock is on the table.
    NoClock,
    /// A frame of the clock comes again after the press that made it old.
    StaleFrame,
    /// Garbage on the line.
    Garbage,
    /// A rapid game.
    Rapid,
    /// A blitz game.
    Blitz,
    /// A bullet game.
    Bullet,
    /// Chess960.
    Chess960,
    /// The game is under way when the board is switched on.
    MidGame,
    /// The players put the kings in the centre to tell the result.
    Kings,
    /// A takeback to which both players agree.
    Takeback,
    /// A piece has no working chip: it is never read, and is moved all the same.
    DeadChip,
    /// From some half-move on a piece has no working chip.
    ChipDies,
    /// A piece of the initial position has the chip of another of its colour, of which a set has no more.
    WrongChip,
    /// The queen that comes for a pawn is of another set and is never read.
    SpareQueen,
    /// One square, or two, never read anything.
    DeadSquares,
    /// The board's cable is out for four to eight half-moves, and the board keeps no event log.
    GapLong,
    /// What the board says is held back for some seconds, and comes in one lump.
    Late,
    /// What the board says is gathered throughout the game, and comes once in a second or so.
    Gathered,
    /// The board lies sideways.
    Sideways,
    /// Two pieces are exchanged in the initial position.
    WrongStart,
    /// A piece is moved as it cannot move.
    IllegalMove,
    /// The king is left in check.
    KingInCheck,
    /// Castling without the right to castle.
    IllegalCastling,
    /// A piece of one's own is captured.
    OwnCaptured,
    /// A piece of the opponent's is moved.
    OpponentsPiece,
    /// An illegal move to which the opponent replies.
    IllegalStands,
    /// The clock is pressed without a move.
    PressWithoutMove,
    /// A pawn is left on the last rank.
    PawnLeft,
    /// Pieces are displaced when the clock is pressed.
    Displaced,
    /// Pieces that the mover's sleeve took along have fallen off their squares when the clock is pressed.
    Fallen,
}

/// Each kind with its name, how often it happens by default, and whether it is an irregularity by the Laws.
/// The chance is one for each game. For what hands do, and for what fails for a while, it is one for each
/// half-move where the fault can happen. For garbage it is one for each second.
const KINDS: [(Fault, &str, f64, bool); 51] = [
    (Fault::Drag, "drag", 0.5, false),
    (Fault::Swept, "swept", 0.6, false),
    (Fault::PlaceFirst, "place-first", 0.4, false),
    (Fault::Castling, "castling", 1.0, false),
    (Fault::Promotion, "promotion", 1.0, false),
    (Fault::EnPassant, "en-passant", 1.0, false),
    (Fault::SecondThoughts, "second-thoughts", 0.08, false),
    (Fault::Adjust, "adjust", 0.15, false),
    (Fault::Overlap, "overlap", 0.35, false),
    (Fault::EarlyPress, "early-press", 0.5, false),
    (Fault::ForgottenPress, "forgotten-press", 0.08, false),
    (Fault::Knocked, "knocked", 0.08, false),
    (Fault::DeadSquare, "dead-square", 0.06, false),
    (Fault::Misread, "misread", 0.4, false),
    (Fault::LostUpdate, "lost-update", 0.04, false),
    (Fault::SlowScan, "slow-scan", 1.0, false),
    (Fault::CableOut, "cable-out", 0.03, false),
    (Fault::ClockOut, "clock-out", 0.03, false),
    (Fault::ClockForgotten, "clock-forgotten", 0.03, false),
    (Fault::ClockSwapped, "clock-swapped", 1.0, false),
    (Fault::Turned, "turned", 1.0, false),
    (Fault::NoClock, "no-clock", 1.0, false),
    (Fault::StaleFrame, "stale-frame", 0.1, false),
    (Fault::Garbage, "garbage", 0.05, false),
    (Fault::Rapid, "rapid", 1.0, false),
    (Fault::Blitz, "blitz", 1.0, false),
    (Fault::Bullet, "bullet", 1.0, false),
    (Fault::Chess960, "chess960", 1.0, false),
    (Fault::MidGame, "mid-game", 1.0, false),
    (Fault::Kings, "kings", 1.0, false),
    (Fault::Takeback, "takeback", 0.04, false),
    (Fault::DeadChip, "dead-chip", 1.0, false),
    (Fault::ChipDies, "chip-dies", 1.0, false),
    (Fault::WrongChip, "wrong-chip", 1.0, false),
    (Fault::SpareQueen, "spare-queen", 1.0, false),
    (Fault::DeadSquares, "dead-squares", 1.0, false),
    (Fault::GapLong, "gap-long", 0.03, false),
    (Fault::Late, "late", 0.03, false),
    (Fault::Gathered, "gathered", 1.0, false),
    (Fault::Sideways, "sideways", 1.0, true),
    (Fault::WrongStart, "wrong-start", 1.0, true),
    (Fault::IllegalMove, "illegal-move", 0.03, true),
    (Fault::KingInCheck, "king-in-check", 0.2, true),
    (Fault::IllegalCastling, "illegal-castling", 0.2, true),
    (Fault::OwnCaptured, "own-captured", 0.03, true),
    (Fault::OpponentsPiece, "opponents-piece", 0.03, true),
    (Fault::IllegalStands, "illegal-stands", 0.03, true),
    (Fault::PressWithoutMove, "press-without-move", 0.03, true),
    (Fault::PawnLeft, "pawn-left", 0.5, true),
    (Fault::Displaced, "displaced", 0.03, true),
    (Fault::Fallen, "fallen", 0.05, true),
];

impl Fault {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|kind| kind.0)
    }

    /// The kind of this name. What comes late comes in a *lump*, which is a name for it too.
    fn named(name: &str) -> Option<Self> {
        let name = if name == "lump" { Self::Late.name() } else { name };
        Self::all().find(|fault| fault.name() == name)
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().1
    }

    /// How often the fault happens by default.
    #[must_use]
    pub fn usual(self) -> f64 {
        self.kind().2
    }

    /// Whether the fault is hardware that stays broken.
    #[must_use]
    pub fn is_broken_hardware(self) -> bool {
        matches!(
            self,
            Self::DeadChip | Self::ChipDies | Self::WrongChip | Self::SpareQueen | Self::DeadSquares
        )
    }

    /// Whether an arbiter should hear of the fault.
    #[must_use]
    pub fn is_offence(self) -> bool {
        self.kind().3
    }

    fn kind(self) -> &'static (Self, &'static str, f64, bool) {
        // The test `all_kinds_stand_in_their_order` holds that the order is the same.
        &KINDS[self as usize]
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often each fault happens. By default none does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultRates(BTreeMap<Fault, f64>);

impl FaultRates {
    /// How often `fault` happens, 0 to 1.
    #[must_use]
    pub fn of(&self, fault: Fault) -> f64 {
        self.0.get(&fault).copied().unwrap_or(0.0)
    }

    /// These rates with `fault` as often as usual.
    #[must_use]
    pub fn with(self, fault: Fault) -> Self {
        self.with_chance(fault, fault.usual())
    }

    /// These rates with `fault` in `chance` of the cases, 0 to 1.
    #[must_use]
    pub fn with_chance(mut self, fault: Fault, chance: f64) -> Self {
        self.0.insert(fault, chance);
        self
    }

    /// The faults that can happen at all.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> + '_ {
        Fault::all().filter(|&fault| self.of(fault) > 0.0)
    }
}

/// A list of faults that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no such kind.
    #[error("there is no fault {name:?}; there are {}", names())]
    Unknown {
        /// What was written.
        name: String,
    },
    /// The chance is no number from 0 to 1.
    #[error("{chance:?} is no chance for {fault}: write a number from 0 to 1, as in {fault}={}", fault.usual())]
    Chance {
        /// The fault that was given the chance.
        fault: Fault,
        /// What was written.
        chance: String,
    },
}

fn names() -> String {
    let names: Vec<_> = Fault::all().map(Fault::name).collect();
    names.join(", ")
}

/// `KIND[=CHANCE],...`
impl FromStr for FaultRates {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let mut faults = Self::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, chance) = item
                .split_once('=')
                .map_or((item, None), |(n, c)| (n.trim(), Some(c.trim())));
            let fault = Fault::named(name).ok_or_else(|| FaultError::Unknown {
                name: name.to_owned(),
            })?;
            let chance = match chance {
                None => fault.usual(),
                Some(text) => text
                    .parse()
                    .ok()
                    .filter(|chance| (0.0..=1.0).contains(chance))
                    .ok_or_else(|| FaultError::Chance {
                        fault,
                        chance: text.to_owned(),
                    })?,
            };
            faults = faults.with_chance(fault, chance);
        }
        Ok(faults)
    }
}

/// The list as [`FromStr`] reads it.
impl fmt::Display for FaultRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.kinds().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{fault}={}", self.of(fault))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_stand_in_their_order() {
        for (index, fault) in Fault::all().enumerate() {
            assert_eq!(fault as usize, index, "{fault}");
        }
    }

    #[test]
    fn a_lump_is_what_comes_late() {
        let lump: FaultRates = "lump=0.1".parse().unwrap();
        assert_eq!(lump, FaultRates::default().with_chance(Fault::Late, 0.1));
        assert!("lumps".parse::<FaultRates>().is_err());
    }

    #[test]
    fn a_list_of_faults_is_read_as_it_is_written() {
        let faults: FaultRates = "drag, lost-update=0.25,blitz".parse().unwrap();
        assert_eq!(faults.of(Fault::Drag), Fault::Drag.usual());
        assert_eq!(faults.of(Fault::LostUpdate), 0.25);
        assert_eq!(faults.of(Fault::Knocked), 0.0);
        assert_eq!(faults.to_string().parse(), Ok(faults));
        assert_eq!("".parse(), Ok(FaultRates::default()));
    }

    #[test]
    fn a_list_that_cannot_be_read_is_refused_with_the_reason() {
        let error = "dragg".parse::<FaultRates>().unwrap_err().to_string();
        assert!(
            error.contains("\"dragg\"") && error.contains("place-first"),
            "{error}"
        );
        let error = "drag=2".parse::<FaultRates>().unwrap_err().to_string();
        assert!(error.contains("from 0 to 1"), "{error}");
    }
}
