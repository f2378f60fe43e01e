//! What a board of another family would have told of a game that was recorded on a DGT board, or made up for
//! one. Such a board has no clock.

use super::{
    player::{Cue, Delivery},
    shown::ShownBoard,
};
use crate::{
    capture::{Act, Capture, Flaw, Header, Record},
    dgt::Squares,
    families::Family,
    time::Millis,
};

/// A board that has told nothing for this long tells again what stands on it.
const REPEAT_MS: u64 = 1000;

/// The capture as a board of `family` would have made it.
///
/// # Errors
/// If the capture's header names a protocol already.
pub fn told_by(family: &Family, capture: &Capture) -> Result<Capture, Flaw> {
    let mut header = Header::default();
    header.push("protocol", family.name)?;
    for (key, value) in capture.header.lines() {
        header.push(key, value)?;
    }
    let cues = capture
        .records
        .iter()
        .cloned()
        .map(Cue::plain)
        .collect::<Vec<_>>();
    let records = cues_of(family, &cues).into_iter().map(|cue| cue.record);
    Ok(Capture {
        header,
        records: records.collect(),
    })
}

/// The cues of a DGT board as those of a board of `family`.
#[must_use]
pub fn cues_of(family: &Family, cues: &[Cue]) -> Vec<Cue> {
    let mut teller = Teller {
        board: (family.board)(),
        shown: ShownBoard::default(),
        told: None,
        followed: false,
        cues: Vec::new(),
    };
    for cue in cues {
        teller.play(cue);
    }
    if let Some(last) = cues.last() {
        teller.repeat(last.record.at);
    }
    teller.cues
}

struct Teller {
    board: Box<dyn crate::families::BoardEnd>,
    shown: ShownBoard,
    told: Option<(Millis, Squares)>,
    /// The cues tell what happened while the cable was out.
    followed: bool,
    cues: Vec<Cue>,
}

impl Teller {
    fn play(&mut self, cue: &Cue) {
        let at = cue.record.at;
        match &cue.record.act {
            Act::FromBoard(bytes) if !bytes.is_empty() && cue.way != Delivery::Noise => {
                self.followed |= self.shown.hear(at, bytes);
                self.repeat(at);
                // What a lost update changed is told with the next change.
                let changed = self.told.is_none_or(|(_, told)| told != self.shown.squares);
                if changed && cue.way == Delivery::Plain {
                    self.say(at);
                }
            }
            Act::FromBoard(_) => {
                self.repeat(at);
                self.cues.push(cue.clone());
            }
            Act::ToBoard(_) => {}
            Act::LinkDown | Act::LinkUp => {
                self.repeat(at);
                self.cues.push(cue.clone());
                // A board that is plugged in again says what stands on it.
                self.told = None;
                if cue.record.act == Act::LinkUp && self.followed {
                    self.say(at);
                }
                self.followed = false;
            }
        }
    }

    /// Tells once more what was told last, as often as it is due until `until`.
    fn repeat(&mut self, until: Millis) {
        while let Some((at, told)) = self.told.filter(|(at, _)| until.since(*at) > REPEAT_MS) {
            self.tell(at + REPEAT_MS, told);
        }
    }

    fn say(&mut self, at: Millis) {
        self.tell(at, self.shown.squares);
    }

    fn tell(&mut self, at: Millis, squares: Squares) {
        self.told = Some((at, squares));
        let act = Act::FromBoard(self.board.tell(&squares));
        self.cues.push(Cue::plain(Record { at, act }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Protocol;

    #[test]
    fn changes_are_told_at_once_and_the_position_again_every_second() {
        let mut text = String::from("# dgtcap 1\n# board: 7\n0.100 < 86 00 43");
        for raw in 0..64 {
            text += if (16..48).contains(&raw) { " 00" } else { " 01" };
        }
        text += "\n0.500 < 8e 00 05 34 00\n2.200 < 8e 00 05 24 01\n2.300 ! down\n";
        let occ1 = Protocol::Occ1.family().unwrap();
        let capture = told_by(occ1, &Capture::parse(text.as_bytes()).unwrap()).unwrap();
        let said: Vec<_> = capture
            .records
            .iter()
            .filter_map(|record| match &record.act {
                Act::FromBoard(bytes) => Some((record.at.0, str::from_utf8(bytes).unwrap().trim())),
                _ => None,
            })
            .collect();
        assert_eq!(
            said,
            [
                (100, "FFFF00000000FFFF"),
                (500, "FFFF00000000F7FF"),
                (1500, "FFFF00000000F7FF"),
                (2200, "FFFF00000800F7FF"),
            ]
        );
        assert_eq!(capture.header.board(), Some("7"));
    }
}
