//! Scripts: what hands, clock and cable do in a fixture, and what should come out.

use std::{fs, path::Path};

use dgt2mqtt::{
    capture::{Capture, Header},
    families::Protocol,
    sim::{gathered::gathered, whole::told_by},
};
use shakmaty::{CastlingMode, Chess, Color, FromSetup, Setup, Square, fen::Fen};

use super::{Place, Table, men_of};

/// One fixture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) name: String,
    /// `key: value` lines.
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) acts: Vec<String>,
    pub(crate) expected: Vec<String>,
    /// What the Laws say of each irregularity, in order; empty where the script does not say.
    pub(crate) rulings: Vec<String>,
    /// What happens, for a reader.
    pub(crate) story: String,
}

/// The scripts of a folder, in the order of the files' names.
pub(crate) fn read_all(folder: &Path) -> Vec<Script> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| parse(&fs::read_to_string(file).unwrap()))
        .flat_map(Script::in_each_edition)
        .collect()
}

/// `== name`, then lines of story (`"`), keys, acts and what is expected (`=>`).
pub(crate) fn parse(text: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("== ") {
            scripts.push(Script {
                name: name.into(),
                ..Script::default()
            });
            continue;
        }
        let Some(script) = scripts.last_mut() else {
            continue;
        };
        if let Some(ruling) = line.strip_prefix("=!") {
            script.rulings.push(ruling.trim().to_owned());
        } else if let Some(words) = line.strip_prefix("=>") {
            script
                .expected
                .extend(words.split_whitespace().map(str::to_owned));
        } else if let Some(story) = line.strip_prefix('"') {
            script.story = format!("{} {}", script.story, story.trim()).trim().to_owned();
        } else if let Some((key, value)) = line.split_once(": ") {
            script.keys.push((key.into(), value.trim().into()));
        } else {
            script.acts.extend(line.split_whitespace().map(str::to_owned));
        }
    }
    scripts
}

impl Script {
    /// The same acts under each edition of `laws: OF-ITS-DAY TODAY`: the first keeps the name, the
    /// others carry theirs. Rulings begin with the edition that they belong to.
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
        self.keys
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, v)| v.as_str())
    }

    /// Plays the script.
    pub(crate) fn capture(&self) -> Capture {
        let mut header = Header::default();
        header.push("board", "1").unwrap();
        header.push("story", &self.story).unwrap();
        for key in ["gathered", "laws", "time-control", "supervision", "periods"] {
            if let Some(value) = self.key(key) {
                header.push(key, value).unwrap();
            }
        }
        let mut table = Table::new(self.place());
        for act in &self.acts {
            self.act(&mut table, act);
        }
        let mut capture = table.finish(header);
        if let Some(ms) = self.key("gathers") {
            capture = gathered(&capture, ms.parse().unwrap());
        }
        let protocol = self
            .key("protocol")
            .map_or(Protocol::Dgt, |name| serde_json::from_value(name.into()).unwrap());
        match protocol.family() {
            Some(family) => told_by(family, &capture).unwrap(),
            None => capture,
        }
    }

    fn place(&self) -> Place {
        let chess960 = self.key("chess960").is_some();
        let mode = if chess960 {
            CastlingMode::Chess960
        } else {
            CastlingMode::Standard
        };
        let fen = self.key("chess960").or_else(|| self.key("position"));
        let position = fen.map_or_else(Chess::default, |fen| {
            let setup: Fen = fen.parse().unwrap_or_else(|e| panic!("{}: {e}", self.name));
            Chess::from_setup(setup.into_setup(), mode).unwrap_or_else(|e| panic!("{}: {e}", self.name))
        });
        let men = self
            .key("men")
            .map_or_else(|| men_of(&position), |men| self.men(men));
        let clock = match self.key("clock") {
            Some("none") => None,
            Some(text) => {
                let (each, bonus) = text.split_once('+').unwrap();
                let ms = |text: &str| text.parse::<u64>().unwrap() * 1000;
                Some((ms(each), ms(bonus)))
            }
            None => Some((5_400_000, 30_000)),
        };
        Place {
            men,
            mute: self.key("mute").map_or_else(Vec::new, |on| {
                on.split_whitespace().map(|s| s.parse().unwrap()).collect()
            }),
            position,
            mode,
            raw: std::array::from_fn(|i| raw(i as u32, self.key("turned").unwrap_or("0"))),
            clock,
            next_period: self
                .key("next-period")
                .map_or(0, |s| s.parse::<u64>().unwrap() * 1000),
            swapped: self.key("white") == Some("right"),
        }
    }

    fn men(&self, fen: &str) -> [u8; 64] {
        let fen: Fen = fen
            .parse()
            .unwrap_or_else(|e| panic!("{}: {fen}: {e}", self.name));
        let setup: Setup = fen.into_setup();
        std::array::from_fn(|i| {
            let piece = setup.board.piece_at(Square::new(i as u32));
            piece.map_or(0, |piece| super::code(piece.role, piece.color))
        })
    }

    fn act(&self, table: &mut Table, act: &str) {
        let wrong = |what: &str| -> ! { panic!("{}: {what} in `{act}`", self.name) };
        let square = |text: &str| -> Square { text.parse().unwrap_or_else(|_| wrong("no square")) };
        if let Some(ms) = act.strip_prefix('+') {
            return table.wait(ms.parse().unwrap_or_else(|_| wrong("no time")));
        }
        if let Some(uci) = act.strip_prefix('=') {
            let mv = table.legal(uci).unwrap_or_else(|| wrong("not legal"));
            return table.track(mv);
        }
        if let Some((verb, with)) = act.split_once(':') {
            return match verb {
                "start" => start(table, with),
                "blind" => table.read_as(square(with), Some(0)),
                "reads" => {
                    let (man, on) = with.split_once('@').unwrap_or_else(|| wrong("no `@`"));
                    table.read_as(square(on), Some(man_of(man).unwrap_or_else(|| wrong("no man"))));
                }
                "sees" => table.read_as(square(with), None),
                "mute" => table.mute(square(with)),
                "spare" => {
                    table.wait(700);
                    let mv = table.legal(with).unwrap_or_else(|| wrong("not legal"));
                    table.promote_to_spare(mv);
                    table.wait(300);
                    table.press();
                }
                "back" => {
                    let ply: usize = with.parse().unwrap_or_else(|_| wrong("no ply"));
                    let position = table.past[ply].clone();
                    table.past.truncate(ply);
                    table.set_up(&men_of(&position));
                    table.position = position;
                }
                "men" => table.set_up(&self.men(with)),
                "game" => {
                    table.past.clear();
                    table.position = Chess::default();
                    table.set_up(&men_of(&Chess::default()));
                }
                _ => wrong("no such act"),
            };
        }
        match act {
            "press" => return table.press(),
            "stop" => return table.stop(),
            "dump" => return table.dump(),
            "cable-out" => return table.cable(false),
            "cable-in" => return table.cable(true),
            "clock-out" => return table.clock_cable(true),
            "clock-in" => return table.clock_cable(false),
            "put-back" => {
                let men = men_of(&table.position.clone());
                return table.set_up(&men);
            }
            _ => {}
        }
        if act.starts_with(['-', '~']) || act.contains('@') {
            for one in act.split(',') {
                let (unseen, one) = one.strip_prefix('~').map_or((false, one), |one| (true, one));
                let (man, on) = match one.strip_prefix('-') {
                    Some(on) => (0, square(on)),
                    None => {
                        let (man, on) = one.split_once('@').unwrap_or_else(|| wrong("no `@`"));
                        (man_of(man).unwrap_or_else(|| wrong("no man")), square(on))
                    }
                };
                if unseen {
                    table.put_unseen(on, man);
                } else {
                    table.put(on, man);
                }
                table.wait(10);
            }
            return table.wait(190);
        }
        move_or_carry(table, act).unwrap_or_else(|| wrong("no legal move"));
    }
}

/// `e2e4` is played and pressed; with `-` at its end not pressed; with `!` carried without a look at the Laws.
fn move_or_carry(table: &mut Table, act: &str) -> Option<()> {
    let (act, pressed) = act.strip_suffix('-').map_or((act, true), |act| (act, false));
    table.wait(700);
    if let Some(act) = act.strip_suffix('!') {
        table.carry(act.get(..2)?.parse().ok()?, act.get(2..)?.parse().ok()?);
    } else {
        let mv = table.legal(act)?;
        table.make(mv);
    }
    if pressed {
        table.wait(300);
        table.press();
    }
    Some(())
}

/// `start:w`, `start:b+120` (White's time), `start:w/120` (Black's).
fn start(table: &mut Table, with: &str) {
    let color = if with.starts_with('b') {
        Color::Black
    } else {
        Color::White
    };
    let seconds = |sign: char| -> u64 {
        let text = with.split_once(sign).map_or("0", |(_, text)| text);
        text.parse().unwrap_or(0)
    };
    table.start(color, seconds('+'), seconds('/'));
}

/// `P` is White's pawn, `p` Black's; `=`, `<`, `>` are the special pieces for a draw, White's and
/// Black's win.
fn man_of(text: &str) -> Option<u8> {
    let index = "PRNBKQprnbkq=<>".find(text)?;
    (text.len() == 1).then_some(index as u8 + 1)
}

/// The board's own number of a square when the board is turned by so many degrees.
fn raw(square: u32, turned: &str) -> u8 {
    let (file, rank) = (square % 8, square / 8);
    let (row, col) = match turned {
        "180" => (rank, 7 - file),
        "90" => (file, rank),
        "270" => (7 - file, 7 - rank),
        _ => (7 - rank, file),
    };
    (row * 8 + col) as u8
}
