//! Tells events to somebody who sees them for the first time.

use std::fmt::Write;

use crate::{
    event::{Body, ClockState, Event, Irregularity, MoveMade, Resolution},
    laws::Side,
};

/// Turns events into text, with colours for a terminal.
pub(super) struct Narrator {
    pub(super) colours: bool,
    /// Ids and titles of the irregularities so far.
    open: Vec<(String, String)>,
}

impl Narrator {
    pub(super) fn new(colours: bool) -> Self {
        Self {
            colours,
            open: Vec::new(),
        }
    }

    /// The text of `event`, with its line end.
    pub(super) fn tell(&mut self, event: &Event) -> String {
        let gap = if matches!(event.body, Body::Irregularity(_)) {
            "\n"
        } else {
            ""
        };
        let mut text = format!("{gap}{:7.1} s  ", event.t);
        match &event.body {
            Body::Move(mv) => text += &tell_move(mv),
            Body::Irregularity(it) => {
                text += &self.tell_irregularity(it);
                self.open.push((event.id.clone(), title(it)));
            }
            Body::IrregularityResolved { irregularity, how } => {
                let title = self
                    .open
                    .iter()
                    .find(|(id, _)| id == irregularity)
                    .map_or("", |(_, title)| title);
                let line = format!("{}: {title}", resolved(*how));
                text += &self.paint(GREEN, &line);
            }
            body => text += &self.paint(BOLD, &tell_plain(body)),
        }
        text.push('\n');
        text
    }

    fn tell_irregularity(&self, it: &Irregularity) -> String {
        let certainty = format!("{:?}", it.certainty).to_lowercase();
        let mut text = self.paint(RED, &format!("IRREGULARITY ({certainty}): {}", title(it)));
        let words = it.text.get("en").map_or("", |words| &words.advice);
        for line in wrapped(words, 92) {
            let _ = write!(text, "\n{INDENT}{line}");
        }
        let target = it
            .ruling
            .target_fen
            .as_deref()
            .and_then(|fen| fen.split(' ').next());
        let there = diagram(&it.placement, &it.squares);
        let wanted = target.filter(|t| *t != it.placement).map(|t| diagram(t, &[]));
        text.push('\n');
        match wanted {
            None => there.iter().for_each(|line| {
                let _ = write!(text, "\n{INDENT}{line}");
            }),
            Some(wanted) => {
                let _ = write!(text, "\n{INDENT}  {:28}  is to stand", "stands");
                for (left, right) in there.iter().zip(&wanted) {
                    let _ = write!(text, "\n{INDENT}{left}    {right}");
                }
            }
        }
        text.push('\n');
        text
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

const INDENT: &str = "           ";
const BOLD: &str = "1";
const RED: &str = "1;31";
const GREEN: &str = "32";

fn title(it: &Irregularity) -> String {
    it.text
        .get("en")
        .map_or_else(|| format!("{:?}", it.kind), |words| words.title.clone())
}

fn resolved(how: Resolution) -> &'static str {
    match how {
        Resolution::Restored => "Put right",
        Resolution::Stands => "Stands as it is",
        Resolution::Dismissed => "Dismissed",
        Resolution::Superseded => "Overtaken",
    }
}

fn tell_move(mv: &MoveMade) -> String {
    let number = mv.ply.div_ceil(2);
    let dots = if mv.ply % 2 == 1 { "." } else { "..." };
    let name = mv.san.as_deref().unwrap_or(&mv.uci);
    let clock = mv.clock.as_ref().map(times).unwrap_or_default();
    format!("{:12}{clock}", format!("{number}{dots} {name}"))
}

fn tell_plain(body: &Body) -> String {
    match body {
        Body::BoardConnected { serial, firmware, .. } => {
            let known = [("serial number", serial), ("firmware", firmware)];
            known.iter().fold(
                "The board answers".to_owned(),
                |text, (what, value)| match value {
                    Some(value) => format!("{text}, {what} {value}"),
                    None => text,
                },
            )
        }
        Body::BoardDisconnected { reason } => format!("The board is gone: {reason}"),
        Body::ClockConnected => "A clock is attached".to_owned(),
        Body::ClockDisconnected => "The clock was unplugged".to_owned(),
        Body::GameStarted { .. } => "A game begins".to_owned(),
        Body::NamesCorrected { white, black, .. } => {
            let [white, black] = [white, black].map(|name| name.as_deref().unwrap_or("?"));
            format!("The names are corrected: {white} - {black}")
        }
        Body::MovesRetracted { to_ply, reason, .. } => format!("Taken back to half-move {to_ply}: {reason}"),
        Body::GameEnded { result, reason, .. } => {
            format!("The game is over: {} by {reason}", result.as_str())
        }
        Body::GameResumed { .. } => "The result is taken back".to_owned(),
        Body::IrregularityReopened { irregularity, .. } => format!("Taken up again: {irregularity}"),
        Body::CaseNoted {
            irregularity, note, ..
        } => format!(
            "Noted on {irregularity}: {}",
            note.as_deref().unwrap_or("a penalty")
        ),
        Body::Notice { message, .. } => format!("Notice: {message}"),
        Body::RulingAmended(amendment) => {
            let words = amendment.text.get("en");
            format!("Ruling: {}", words.map_or("amended", |words| &words.advice))
        }
        Body::Move(_) | Body::Irregularity(_) | Body::IrregularityResolved { .. } => String::new(),
    }
}

fn times(clock: &ClockState) -> String {
    let time = |ms: u64| {
        let s = ms / 1000;
        format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    };
    let mark = |side| if clock.running == Some(side) { "*" } else { " " };
    let (white, black) = (time(clock.white_ms), time(clock.black_ms));
    format!(
        "White {white}{}  Black {black}{}",
        mark(Side::White),
        mark(Side::Black)
    )
}

/// The placement field of a FEN as eight lines and a line of files, with `marked` squares in brackets.
fn diagram(placement: &str, marked: &[String]) -> Vec<String> {
    let mut lines = Vec::with_capacity(9);
    for (rank, row) in (1..=8).rev().zip(placement.split('/')) {
        let mut line = format!("{rank} ");
        let mut file = b'a';
        let expanded = row.chars().flat_map(|c| match c.to_digit(10) {
            Some(empty) => vec!['.'; empty as usize],
            None => vec![c],
        });
        for piece in expanded {
            let square = format!("{}{rank}", char::from(file));
            let (open, close) = if marked.contains(&square) {
                ('[', ']')
            } else {
                (' ', ' ')
            };
            line.extend([open, figure(piece), close]);
            file = file.saturating_add(1);
        }
        lines.push(line);
    }
    lines.push("   a  b  c  d  e  f  g  h ".to_owned());
    lines
}

fn figure(letter: char) -> char {
    match letter {
        'K' => '♔',
        'Q' => '♕',
        'R' => '♖',
        'B' => '♗',
        'N' => '♘',
        'P' => '♙',
        'k' => '♚',
        'q' => '♛',
        'r' => '♜',
        'b' => '♝',
        'n' => '♞',
        'p' => '♟',
        _ => '·',
    }
}

/// Lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagram_marks_squares() {
        let lines = diagram(
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR",
            &["e4".to_owned()],
        );
        assert_eq!(lines[0], "8  ♜  ♞  ♝  ♛  ♚  ♝  ♞  ♜ ");
        assert_eq!(lines[4], "4  ·  ·  ·  · [♙] ·  ·  · ");
        assert_eq!(lines.len(), 9);
        diagram("9999999999/😀", &[]); // nonsense does not panic
    }

    #[test]
    fn a_move_is_numbered_as_players_do() {
        let mut mv = MoveMade {
            ply: 12,
            uci: "d8a5".to_owned(),
            san: Some("Qa5+".to_owned()),
            fen: String::new(),
            completed_by: crate::event::CompletedBy::Clock,
            clock: Some(ClockState {
                white_ms: 5_431_000,
                black_ms: 59_000,
                running: Some(Side::White),
            }),
            illegal: false,
        };
        assert_eq!(tell_move(&mv), "6... Qa5+   White 1:30:31*  Black 0:00:59 ");
        mv.ply = 13;
        assert!(tell_move(&mv).starts_with("7. "));
    }

    #[test]
    fn long_advice_is_wrapped() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
    }
}
