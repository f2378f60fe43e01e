//! A game as PGN, with the clock after each half-move.

use shakmaty::{CastlingMode, Chess, Color, Position, Setup, fen::Fen, san::San};

use crate::event::GameResult;

/// A half-move to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgnMove {
    /// SAN; none where an illegal move stands.
    pub san: Option<String>,
    /// UCI of the half-move.
    pub uci: String,
    /// The position after it, with which readers can go on after an illegal move.
    pub fen: String,
    /// Milliseconds left to the player who made it.
    pub clock_ms: Option<u64>,
    /// Milliseconds that the player took for it, if known.
    pub used_ms: Option<u64>,
}

/// A game to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pgn {
    /// Tags in the order in which they are written, besides those that follow from the game.
    pub tags: Vec<(String, String)>,
    /// FEN of the start, if it is not the initial array.
    pub start_fen: Option<String>,
    /// True for Chess960.
    pub chess960: bool,
    /// True when Black made the first half-move.
    pub black_begins: bool,
    /// Number of the first move.
    pub first_number: u32,
    /// The half-moves.
    pub moves: Vec<PgnMove>,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
    /// How the game ended, if the result does not tell.
    pub termination: Option<&'static str>,
    /// Milliseconds on the clocks, White's and Black's, at the last half-move or later, if they are to be written. Readers
    /// take them for what the clocks show now.
    pub clocks: Option<[u64; 2]>,
}

/// What is known of a game when it begins.
#[derive(Clone, Copy, Debug)]
pub struct PgnStart<'a> {
    /// The board's id.
    pub board: &'a str,
    /// Number of the game on its board.
    pub number: u32,
    /// When it began (RFC 3339), if known.
    pub time: Option<&'a str>,
    /// Names of White and of Black, if known.
    pub players: [Option<&'a str>; 2],
    /// Name of the event, if known.
    pub event: Option<&'a str>,
    /// Number of the round, if known.
    pub round: Option<u32>,
    /// FEN of the start.
    pub fen: &'a str,
    /// True for Chess960.
    pub chess960: bool,
}

/// The value of a tag of a PGN.
#[must_use]
pub fn tag(pgn: &str, name: &str) -> Option<String> {
    let start = format!("[{name} \"");
    let mut tags = pgn.lines().take_while(|line| line.starts_with('['));
    let value = tags
        .find_map(|line| line.strip_prefix(&start))?
        .strip_suffix("\"]")?;
    Some(value.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// The PGN with another value of a tag that it has.
#[must_use]
pub fn with_tag(pgn: &str, name: &str, value: &str) -> String {
    let start = format!("[{name} \"");
    let is_it = |line: &str| line.starts_with(&start);
    let lines = pgn.split_inclusive('\n');
    let tags = lines.clone().take_while(|line| line.starts_with('[')).count();
    let changed = lines.enumerate().map(|(i, line)| match i < tags && is_it(line) {
        true => tag_line(name, value),
        false => line.to_owned(),
    });
    changed.collect()
}

/// The line of a tag. A line break would end the tag, and readers would take what follows for another one.
fn tag_line(name: &str, value: &str) -> String {
    let value = value.replace(char::is_control, " ");
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[{name} \"{value}\"]\n")
}

/// Longest line of the move text (PGN standard, section 4.3 of the export format).
const LINE: usize = 79;

impl Pgn {
    /// A game in which nothing has been played, with the tags of the seven tag roster.
    #[must_use]
    pub fn begun(start: &PgnStart<'_>) -> Self {
        let date = start.time.and_then(|time| time.get(..10));
        let date = date.map_or_else(|| "????.??.??".to_owned(), |date| date.replace('-', "."));
        let [white, black] = start.players.map(|name| name.unwrap_or("?"));
        // Within a round a board plays one game. Without rounds, this number tells the games of a board apart.
        let round = match start.round {
            Some(round) => format!("{round}.{}", start.board),
            None => format!("{}.{}", start.board, start.number),
        };
        let tags = [
            ("Event", start.event.unwrap_or("?")),
            ("Site", "?"),
            ("Date", &date),
            ("Round", &round),
            ("White", white),
            ("Black", black),
        ];
        let setup = start.fen.parse::<Fen>().map(Fen::into_setup).unwrap_or_default();
        Self {
            tags: tags
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            start_fen: (setup != Setup::default()).then(|| start.fen.to_owned()),
            chess960: start.chess960,
            black_begins: setup.turn == Color::Black,
            first_number: setup.fullmoves.get(),
            moves: Vec::new(),
            result: "*".to_owned(),
            termination: None,
            clocks: None,
        }
    }

    /// The game with its result, and with the termination for what PGN's four results do not tell.
    #[must_use]
    pub fn ended(mut self, result: GameResult) -> Self {
        self.result = result.in_pgn().to_owned();
        self.termination = result.termination();
        self
    }

    /// The text: tags, an empty line, moves. Readers of PGN do not know illegal moves, nor pieces that were displaced. So where an
    /// illegal move stands, or a half-move was made from where a piece had been displaced to, the written game begins at a position
    /// after it, and a comment has the earlier half-moves. If readers can take neither that position nor a later one, the move text
    /// ends before an illegal move, with a comment.
    #[must_use]
    pub fn text(&self) -> String {
        match self.taken_up_at() {
            Some(ply) => self.taken_up(ply).written(&[self.before(ply)]),
            None => self.written(&[]),
        }
    }

    /// The number of half-moves after which readers can take the game up, if an illegal one stands.
    fn taken_up_at(&self) -> Option<usize> {
        let illegal = self.moves.iter().rposition(|made| made.san.is_none());
        let illegal = illegal.max(self.made_from_elsewhere())?;
        let mode = CastlingMode::from_chess960(self.chess960);
        let is_taken = |made: &PgnMove| {
            let fen = made.fen.parse::<Fen>().ok();
            fen.is_some_and(|fen| fen.into_position::<Chess>(mode).is_ok())
        };
        let after = self.moves[illegal..].iter().position(is_taken)?;
        Some(illegal + after + 1)
    }

    /// The last half-move that was not made in the position after the one before: pieces had been displaced, and nobody had put them
    /// back. No reader can follow there.
    fn made_from_elsewhere(&self) -> Option<usize> {
        let mode = CastlingMode::from_chess960(self.chess960);
        let position = |fen: &str| -> Option<Chess> { fen.parse::<Fen>().ok()?.into_position(mode).ok() };
        let is_led_to = |two: &[PgnMove]| {
            let (before, after) = (position(&two[0].fen), position(&two[1].fen));
            let made = two[1].san.as_ref().and_then(|san| san.parse::<San>().ok());
            let (Some(before), Some(after), Some(made)) = (before, after, made) else {
                return true;
            };
            let played = made.to_move(&before).ok().and_then(|mv| before.play(mv).ok());
            played.is_some_and(|played| played.board() == after.board())
        };
        let apart = self.moves.windows(2).rposition(|two| !is_led_to(two))?;
        Some(apart + 1)
    }

    /// The game, begun after `ply` half-moves.
    fn taken_up(&self, ply: usize) -> Self {
        let fen = &self.moves[ply - 1].fen;
        let setup = fen.parse::<Fen>().map(Fen::into_setup).unwrap_or_default();
        Self {
            start_fen: Some(fen.clone()),
            black_begins: setup.turn == Color::Black,
            first_number: setup.fullmoves.get(),
            moves: self.moves[ply..].to_vec(),
            ..self.clone()
        }
    }

    /// The half-moves before the written game, as a comment.
    fn before(&self, ply: usize) -> String {
        let mut words = Vec::new();
        for (i, made) in self.moves[..ply].iter().enumerate() {
            let (number, white) = self.number(i);
            if white || i == 0 {
                words.push(format!("{number}{}", if white { "." } else { "..." }));
            }
            match &made.san {
                Some(san) => words.push(san.clone()),
                None => words.push(format!("{} (illegal, it stands)", made.uci)),
            }
        }
        format!("{{Before this position: {}}}", words.join(" "))
    }

    /// The number of the move to which half-move `i` belongs, and whether it is White's.
    fn number(&self, i: usize) -> (u32, bool) {
        let ply = i as u32 + u32::from(self.black_begins);
        (self.first_number.saturating_add(ply / 2), ply.is_multiple_of(2))
    }

    fn written(&self, first: &[String]) -> String {
        let mut text = String::new();
        for (name, value) in self.tags.iter().cloned().chain(self.own_tags()) {
            text.push_str(&tag_line(&name, &value));
        }
        text.push('\n');
        text.push_str(&self.move_text(first));
        text
    }

    fn own_tags(&self) -> Vec<(String, String)> {
        let mut tags = vec![("Result".to_string(), self.result.clone())];
        if let Some(termination) = self.termination {
            tags.push(("Termination".into(), termination.into()));
        }
        if self.chess960 {
            tags.push(("Variant".into(), "Chess960".into()));
        }
        if let Some(fen) = &self.start_fen {
            tags.push(("SetUp".into(), "1".into()));
            tags.push(("FEN".into(), fen.clone()));
        }
        if let Some([white, black]) = self.clocks {
            tags.push(("WhiteClock".into(), clock(white)));
            tags.push(("BlackClock".into(), clock(black)));
        }
        tags
    }

    fn move_text(&self, first: &[String]) -> String {
        let mut words = first.to_vec();
        let mut number_due = true;
        for (i, made) in self.moves.iter().enumerate() {
            let (number, white) = self.number(i);
            let Some(san) = &made.san else {
                words.push(format!(
                    "{{Illegal move {} stands; the position after it is {}.}}",
                    made.uci, made.fen
                ));
                break;
            };
            if white {
                words.push(format!("{number}."));
            } else if number_due {
                words.push(format!("{number}..."));
            }
            words.push(san.clone());
            // Two comments, as other recorders of boards write them.
            let times = [("clk", made.clock_ms), ("emt", made.used_ms)];
            number_due = times.iter().any(|(_, ms)| ms.is_some());
            for (name, ms) in times {
                words.extend(ms.map(|ms| format!("{{[%{name} {}]}}", clock(ms))));
            }
        }
        words.push(self.result.clone());
        wrap(&words)
    }
}

/// A time as `h:mm:ss`, the form that readers expect.
fn clock(ms: u64) -> String {
    let s = ms / 1000;
    format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

fn wrap(words: &[String]) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in words.iter().flat_map(|w| w.split(' ')) {
        if column > 0 && column + 1 + word.len() > LINE {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(san: &str, clock_ms: Option<u64>) -> PgnMove {
        PgnMove {
            san: Some(san.into()),
            uci: String::new(),
            fen: String::new(),
            clock_ms,
            used_ms: None,
        }
    }

    fn game(moves: Vec<PgnMove>) -> Pgn {
        Pgn {
            first_number: 1,
            moves,
            result: "*".into(),
            ..Pgn::default()
        }
    }

    #[test]
    fn numbers_and_clocks() {
        let pgn = game(vec![
            made("e4", Some(5_399_000)),
            made("e5", None),
            made("Nf3", None),
        ]);
        assert!(
            pgn.text()
                .ends_with("\n1. e4 {[%clk 1:29:59]} 1... e5 2. Nf3 *\n"),
            "{}",
            pgn.text()
        );
    }

    #[test]
    fn a_game_goes_on_from_where_a_displaced_piece_stood() {
        // The knight of g1 was knocked onto g3, and went on from there.
        let fens = [
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
            "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
            "rnbqkbnr/pppp1ppp/8/4pN2/4P3/8/PPPP1PPP/RNBQKB1R b KQkq - 0 2",
            "rnbqkbnr/ppp2ppp/3p4/4pN2/4P3/8/PPPP1PPP/RNBQKB1R w KQkq - 0 3",
        ];
        let moves = ["e4", "e5", "Nf5", "d6"].into_iter().zip(fens);
        let mut pgn = game(
            moves
                .map(|(san, fen)| PgnMove {
                    fen: fen.into(),
                    ..made(san, None)
                })
                .collect(),
        );
        let text = pgn.text();
        assert!(text.contains(&format!("[FEN \"{}\"]", fens[2])), "{text}");
        assert!(
            text.contains("{Before this position: 1. e4 e5 2. Nf5} 2... d6 *"),
            "{text}"
        );
        pgn.moves.truncate(2);
        assert!(pgn.text().ends_with("\n1. e4 e5 *\n"), "{}", pgn.text());
    }

    #[test]
    fn the_time_used_is_a_comment_of_its_own() {
        let mut pgn = game(vec![made("e4", Some(60_000)), made("e5", None)]);
        pgn.moves[0].used_ms = Some(3_000);
        let text = pgn.text();
        assert!(
            text.ends_with("1. e4 {[%clk 0:01:00]} {[%emt 0:00:03]} 1... e5 *\n"),
            "{text}"
        );
    }

    #[test]
    fn black_begins() {
        let pgn = Pgn {
            black_begins: true,
            first_number: 7,
            ..game(vec![made("Kd7", None), made("Ke2", None)])
        };
        assert!(pgn.text().ends_with("7... Kd7 8. Ke2 *\n"), "{}", pgn.text());
    }

    #[test]
    fn an_illegal_move_ends_the_move_text() {
        let illegal = PgnMove {
            san: None,
            uci: "a1c7".into(),
            fen: "8/8 w - - 0 1".into(),
            clock_ms: None,
            used_ms: None,
        };
        let text = game(vec![made("e4", None), illegal, made("d5", None)]).text();
        assert!(
            text.contains("Illegal move a1c7") && !text.contains("d5"),
            "{text}"
        );
    }

    #[test]
    fn after_an_illegal_move_the_game_goes_on_from_the_position() {
        let illegal = PgnMove {
            san: None,
            uci: "e8e6".into(),
            fen: "rnbq1bnr/pppp1ppp/4k3/4p3/4P3/8/PPPP1PPP/RNBQKBNR w - - 1 3".into(),
            clock_ms: None,
            used_ms: None,
        };
        let moves = vec![
            made("e4", Some(60_000)),
            illegal,
            made("Nf3", Some(50_000)),
            made("Nf6", None),
        ];
        let text = game(moves).text();
        assert!(
            text.contains(
                "[SetUp \"1\"]\n[FEN \"rnbq1bnr/pppp1ppp/4k3/4p3/4P3/8/PPPP1PPP/RNBQKBNR w - - 1 3\"]"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("\n{Before this position: 1. e4 e8e6 (illegal, it stands)} 3. Nf3 {[%clk 0:00:50]}\n3... Nf6 *\n"),
            "{text}"
        );
    }

    #[test]
    fn quotes_in_tags_are_escaped_and_lines_are_short() {
        let mut pgn = game((0..60).map(|_| made("Nf3", Some(1000))).collect());
        pgn.tags.push(("Event".into(), "the \"Open\"".into()));
        let text = pgn.text();
        assert!(text.starts_with("[Event \"the \\\"Open\\\"\"]\n"));
        assert!(text.lines().all(|line| line.len() <= LINE));
    }

    #[test]
    fn a_tag_gets_another_value_and_nothing_else_changes() {
        let mut pgn = game(vec![made("e4", None)]);
        for (name, value) in [("Date", "2024.02.29"), ("White", "A \"B\"")] {
            pgn.tags.push((name.into(), value.into()));
        }
        let before = pgn.text();
        let text = with_tag(&before, "Date", "2026.11.21");
        assert_eq!(text, before.replace("2024.02.29", "2026.11.21"));
        assert_eq!(with_tag(&before, "White", "A \"B\""), before);
        assert_eq!(with_tag(&before, "Black", "C"), before);
    }

    #[test]
    fn a_line_break_in_a_name_makes_no_tag() {
        let mut pgn = game(Vec::new());
        pgn.tags
            .push(("White".into(), "A\r\n[Result \"1-0\"]\n\n1. e4\u{85}B".into()));
        let text = pgn.text();
        assert_eq!(text.matches("\n[Result ").count(), 1, "{text}");
        assert!(
            text.contains("[White \"A  [Result \\\"1-0\\\"]  1. e4 B\"]\n"),
            "{text}"
        );
    }
}
