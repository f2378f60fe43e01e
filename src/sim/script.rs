//! Scripts: what hands, clock and cables do at a table, and what should come out. `fixtures/README.md` describes the notation.

use std::num::NonZero;

use shakmaty::{CastlingMode, Color, Square, fen::Fen};

use super::{
    gathered::gathered,
    hand::figure::code,
    tabletop::{Manner, TableSetting, Tabletop, codes_of},
    whole::told_by,
};
use crate::{
    board::Orientation,
    capture::{Capture, Flaw, Header},
    dgt::{ClockSide, PieceCode, Squares},
    families::FAMILIES,
};

/// A situation that is written down.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Its name, which is the name of its fixture.
    pub name: String,
    /// `key: value` lines.
    pub keys: Vec<(String, String)>,
    /// What is done, in order.
    pub acts: Vec<String>,
    /// The events that should come out, a word for each.
    pub expected: Vec<String>,
    /// What the Laws say of each irregularity, in order. Empty if the script does not say.
    pub rulings: Vec<String>,
    /// What happens, for a reader.
    pub story: String,
}

/// A script that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// An act cannot be done.
    #[error("{0}: `{1}` cannot be done")]
    Act(String, String),
    /// A key has a value that it cannot have.
    #[error("{0}: the key `{1}` has no such value")]
    Key(String, String),
    /// The capture's header cannot be written.
    #[error(transparent)]
    Header(#[from] Flaw),
}

/// The scripts of a text. A script is `== name`, then lines of story (`"`), keys, acts and what is expected
/// (`=>`, `=!`). A script whose key `laws` names several editions gives a script for each edition.
#[must_use]
pub fn parse(text: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("== ") {
            let name = name.to_owned();
            scripts.push(Script {
                name,
                ..Script::default()
            });
        } else if let Some(script) = scripts.last_mut() {
            script.read(line);
        }
    }
    scripts.into_iter().flat_map(Script::in_each_edition).collect()
}

impl Script {
    fn read(&mut self, line: &str) {
        let words = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        if let Some(ruling) = line.strip_prefix("=!") {
            self.rulings.push(ruling.trim().to_owned());
        } else if let Some(expected) = line.strip_prefix("=>") {
            self.expected.extend(words(expected));
        } else if let Some(story) = line.strip_prefix('"') {
            self.story = format!("{} {}", self.story, story.trim()).trim().to_owned();
        } else if let Some((key, value)) = line.split_once(": ") {
            self.keys.push((key.to_owned(), value.trim().to_owned()));
        } else {
            self.acts.extend(words(line));
        }
    }

    /// A script with the same acts for each edition of `laws: OF-ITS-DAY TODAY`. The script of the first
    /// edition keeps the name, and the others have their edition added to it. Rulings begin with the edition
    /// to which they belong.
    fn in_each_edition(self) -> Vec<Self> {
        let laws = self.key("laws").unwrap_or("");
        let editions: Vec<String> = laws.split_whitespace().map(str::to_owned).collect();
        if editions.len() < 2 {
            return vec![self];
        }
        let under = |(i, edition): (usize, &String)| {
            let mut script = self.clone();
            script.keys.retain(|(key, _)| key != "laws");
            script.keys.push(("laws".into(), edition.clone()));
            let own = |ruling: String| Some(ruling.strip_prefix(edition)?.trim().to_owned());
            script.rulings = self.rulings.iter().cloned().filter_map(own).collect();
            let only = |word: &String| match word.split_once('/') {
                Some((of, rest)) if editions.iter().any(|e| e == of) => {
                    (of == edition.as_str()).then(|| rest.to_owned())
                }
                _ => Some(word.clone()),
            };
            script.expected = self.expected.iter().filter_map(only).collect();
            if i > 0 {
                script.name = format!("{}-{edition}", self.name);
            }
            script
        };
        editions.iter().enumerate().map(under).collect()
    }

    fn key(&self, name: &str) -> Option<&str> {
        let mut keys = self.keys.iter();
        keys.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What `read` makes of the value of a key. None if the script has no such key.
    fn value<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, ScriptError> {
        let Some(value) = self.key(name) else {
            return Ok(None);
        };
        let wrong = || ScriptError::Key(self.name.clone(), name.to_owned());
        read(value).map(Some).ok_or_else(wrong)
    }

    /// What a board tells of the script when it is played in this manner.
    ///
    /// # Errors
    /// Names the first key or act that cannot be done.
    pub fn play(&self, manner: Manner) -> Result<Capture, ScriptError> {
        let mut header = Header::default();
        header.push("board", self.key("board").unwrap_or("1"))?;
        if !self.story.is_empty() {
            header.push("story", &self.story)?;
        }
        for key in ["gathered", "laws", "time-control", "supervision", "periods"] {
            if let Some(value) = self.key(key) {
                header.push(key, value)?;
            }
        }
        let mut table = Tabletop::new(self.setting(manner)?);
        for act in &self.acts {
            do_act(&mut table, act).ok_or_else(|| ScriptError::Act(self.name.clone(), act.clone()))?;
        }
        let mut capture = table.finish(header);
        if let Some(ms) = self.value("gathers", |ms| ms.parse().ok())? {
            capture = gathered(&capture, ms);
        }
        let family = self.value("protocol", |name| {
            FAMILIES.iter().find(|family| family.name == name)
        })?;
        Ok(match family {
            Some(family) => told_by(family, &capture)?,
            None => capture,
        })
    }

    fn setting(&self, manner: Manner) -> Result<TableSetting, ScriptError> {
        let from = |mode| move |fen: &str| fen.parse::<Fen>().ok()?.into_position(mode).ok();
        let position = match self.value("chess960", from(CastlingMode::Chess960))? {
            Some(position) => position,
            None => self
                .value("position", from(CastlingMode::Standard))?
                .unwrap_or_default(),
        };
        let seconds = |text: &str| Some(text.parse::<NonZero<u64>>().ok()?.get() * 1000);
        let clock = self.value("clock", |text| match text.split_once('+') {
            None => (text == "none").then_some(None),
            Some((each, "0")) => Some(Some((seconds(each)?, 0))),
            Some((each, bonus)) => Some(Some((seconds(each)?, seconds(bonus)?))),
        })?;
        let standard = TableSetting::default();
        Ok(TableSetting {
            manner,
            stands: self
                .value("pieces", codes_in)?
                .unwrap_or_else(|| codes_of(&position)),
            position,
            chips: [self.value("mute", mute)?, self.value("chips", chips)?]
                .into_iter()
                .flatten()
                .flatten()
                .collect(),
            orientation: self.value("turned", lies)?.unwrap_or_default(),
            clock: clock.unwrap_or(standard.clock),
            next_period_ms: self.value("next-period", seconds)?.unwrap_or_default(),
            white: self.value("white", side)?.unwrap_or(standard.white),
        })
    }
}

fn lies(degrees: &str) -> Option<Orientation> {
    Some(match degrees {
        "180" => Orientation::Turned,
        "90" => Orientation::QuarterLeft,
        "270" => Orientation::QuarterRight,
        _ => return None,
    })
}

fn side(name: &str) -> Option<ClockSide> {
    Some(match name {
        "left" => ClockSide::Left,
        "right" => ClockSide::Right,
        _ => return None,
    })
}

/// What stands on the squares of a FEN, a1 first.
fn codes_in(fen: &str) -> Option<Squares> {
    let board = fen.parse::<Fen>().ok()?.into_setup().board;
    Some(std::array::from_fn(|i| {
        code(board.piece_at(Square::new(i as u32)))
    }))
}

/// Does one act. None if it cannot be done.
fn do_act(table: &mut Tabletop, act: &str) -> Option<()> {
    if let Some(ms) = act.strip_prefix('+') {
        table.wait(ms.parse().ok()?);
    } else if let Some(uci) = act.strip_prefix('=') {
        table.track(table.legal(uci)?).ok()?;
    } else if let Some((verb, with)) = act.split_once(':') {
        do_with(table, verb, with)?;
    } else if act.starts_with(['-', '~']) || act.contains('@') {
        for one in act.split(',') {
            put(table, one)?;
            table.wait(10);
        }
        table.wait(190);
    } else {
        match act {
            "press" => table.press(),
            "stop" => table.stop(),
            "dump" => table.dump(),
            "cable-out" => table.cable(false),
            "cable-in" => table.cable(true),
            "clock-out" => table.clock_cable(true),
            "clock-in" => table.clock_cable(false),
            "put-back" => table.put_back(),
            _ => move_or_carry(table, act)?,
        }
    }
    Some(())
}

/// Squares whose pieces have no working chip.
fn mute(squares: &str) -> Option<Vec<(Square, PieceCode)>> {
    let mut squares = squares.split_whitespace();
    squares.try_fold(Vec::new(), |mut chips, on| {
        chips.push((on.parse().ok()?, PieceCode::EMPTY));
        Some(chips)
    })
}

/// Squares whose pieces have the chips of other pieces.
fn chips(pieces: &str) -> Option<Vec<(Square, PieceCode)>> {
    let chip = |word| piece_at(word).map(|(piece, on)| (on, piece));
    pieces.split_whitespace().map(chip).collect()
}

fn do_with(table: &mut Tabletop, verb: &str, with: &str) -> Option<()> {
    match verb {
        "start" => start(table, with),
        "blind" => table.read_as(with.parse().ok()?, Some(PieceCode::EMPTY)),
        "reads" => {
            let (piece, on) = piece_at(with)?;
            table.read_as(on, Some(piece));
        }
        "sees" => table.read_as(with.parse().ok()?, None),
        "mute" => table.exchange_chip(with.parse().ok()?, PieceCode::EMPTY),
        "chip" => {
            let (piece, on) = piece_at(with)?;
            table.exchange_chip(on, piece);
        }
        "spare" => {
            let slips = super::hand::Slips {
                spare_piece: true,
                ..Default::default()
            };
            table.pause(700, THINK_MS);
            table.make_with(table.legal(with)?, slips).ok()?;
            table.pause(300, PRESS_MS);
            table.press();
        }
        "back" => return table.take_back(with.parse().ok()?).then_some(()),
        "pieces" => table.set_up(&codes_in(with)?),
        "game" => table.begin_anew(),
        _ => return None,
    }
    Some(())
}

/// How long people think before a half-move, in milliseconds.
const THINK_MS: std::ops::Range<u64> = 550..650;
/// How long a hand takes from the board to the clock, in milliseconds.
const PRESS_MS: std::ops::Range<u64> = 80..350;

/// `-e2` lifts a piece, `P@e4` puts one down. With `~` before it the update is lost.
fn put(table: &mut Tabletop, act: &str) -> Option<()> {
    let (is_unseen, act) = act.strip_prefix('~').map_or((false, act), |act| (true, act));
    let (piece, on) = match act.strip_prefix('-') {
        Some(on) => (PieceCode::EMPTY, on.parse().ok()?),
        None => piece_at(act)?,
    };
    if is_unseen {
        table.put_unseen(on, piece);
    } else {
        table.put(on, piece);
    }
    Some(())
}

/// `e2e4` is played and pressed for. With `-` at its end it is not pressed for. With `!` the piece is carried
/// there, legal or not.
fn move_or_carry(table: &mut Tabletop, act: &str) -> Option<()> {
    let (act, is_pressed) = act.strip_suffix('-').map_or((act, true), |act| (act, false));
    table.pause(700, THINK_MS);
    match act.strip_suffix('!') {
        Some(act) => table.carry(act.get(..2)?.parse().ok()?, act.get(2..)?.parse().ok()?),
        None => table.make(table.legal(act)?).ok()?,
    }
    if is_pressed {
        table.pause(300, PRESS_MS);
        table.press();
    }
    Some(())
}

/// `start:w`, `start:b+120` (White's time), `start:w/120` (Black's).
fn start(table: &mut Tabletop, with: &str) {
    let color = Color::from_white(!with.starts_with('b'));
    let seconds = |sign: char| -> u64 {
        let text = with.split_once(sign).map_or("0", |(_, text)| text);
        text.parse().unwrap_or(0)
    };
    table.start(color, seconds('+'), seconds('/'));
}

/// `P@e4`: `P` is White's pawn, `p` Black's; `=`, `<`, `>` are the special pieces for a draw, White's and
/// Black's win.
fn piece_at(text: &str) -> Option<(PieceCode, Square)> {
    let (piece, on) = text.split_once('@')?;
    let index = "PRNBKQprnbkq=<>".find(piece).filter(|_| piece.len() == 1)?;
    Some((PieceCode(index as u8 + 1), on.parse().ok()?))
}
