//! What the public sees of a game, read from the game's file.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use axum::body::Bytes;
use serde::Serialize;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position, fen::Fen, san::SanPlus, uci::UciMove};

use crate::{broadcast::Published, event::GameResult, game::pgn::tag};

/// All pages that a browser can ask for, ready to be sent.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The list of all games, as JSON.
    pub(super) round: Page,
    /// `games.pgn`.
    pub(super) pgn: Page,
    /// Each game in full, as JSON, in their order.
    pub(super) games: Vec<(Arc<str>, Arc<PublicGame>, Page)>,
}

/// A body with the tag that tells it from others.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    pub(super) body: Bytes,
    pub(super) etag: String,
}

impl Page {
    pub(super) fn new(body: String) -> Self {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        Self {
            etag: format!("\"{:016x}\"", hasher.finish()),
            body: body.into(),
        }
    }

    fn json(value: &impl Serialize) -> Self {
        // The value holds texts and numbers, all of which JSON can say.
        Self::new(serde_json::to_string(value).unwrap_or_default())
    }
}

/// The list of all games.
#[derive(Serialize)]
struct Round<'a> {
    event: Option<String>,
    games: Vec<&'a Short>,
}

/// A game in a list of games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Short {
    /// The number of the game and of its file, from 1.
    number: usize,
    /// The names of White and of Black.
    players: [Option<String>; 2],
    result: String,
    /// True while it is being played.
    live: bool,
    plies: usize,
    /// The last move with its number, as people write it: `12... Nf6`.
    last: Option<String>,
    uci: Option<String>,
    /// The placement of the pieces, as in a FEN.
    placement: String,
    /// Seconds that White and Black had left when their clocks were last read, or after the last move of each.
    clocks: [Option<u32>; 2],
}

/// A game with its moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PublicGame {
    #[serde(flatten)]
    short: Short,
    start: String,
    moves: Vec<Made>,
    /// Why the moves end before the game does.
    note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Made {
    /// The move's number, as people write it: `12.` or `12...`.
    number: String,
    san: String,
    uci: String,
    placement: String,
    clock: Option<u32>,
}

impl Pages {
    /// The pages of `games`. Games that have not changed since `before` are not read again.
    pub(super) fn new(games: &[Published], before: &Self) -> Self {
        let read = |(i, game): (usize, &Published)| match before.games.get(i) {
            Some(known) if *known.0 == *game.pgn => known.clone(),
            _ => {
                let read = PublicGame::read(i + 1, &game.pgn);
                let page = Page::json(&read);
                (game.pgn.as_str().into(), Arc::new(read), page)
            }
        };
        let read: Vec<_> = games.iter().enumerate().map(read).collect();
        let texts: Vec<&str> = games.iter().map(|game| game.pgn.as_str()).collect();
        let event = texts.first().and_then(|text| tag(text, "Event"));
        let round = Round {
            event: event.filter(|event| event != "?"),
            games: read.iter().map(|(_, game, _)| &game.short).collect(),
        };
        Self {
            round: Page::json(&round),
            pgn: Page::new(texts.join("\n")),
            games: read,
        }
    }
}

impl PublicGame {
    /// Reads a game from a file that the broadcast wrote.
    fn read(number: usize, pgn: &str) -> Self {
        let name = |side| tag(pgn, side).filter(|name| name != "?");
        let result = tag(pgn, "Result").unwrap_or_else(|| GameResult::Open.as_str().to_owned());
        // The broadcast writes the date when the game begins.
        let has_begun = tag(pgn, "Date").is_some_and(|date| !date.contains('?'));
        let mode = CastlingMode::from_chess960(tag(pgn, "Variant").is_some());
        let fen = tag(pgn, "FEN").and_then(|fen| fen.parse::<Fen>().ok());
        let start = fen
            .unwrap_or_default()
            .into_position::<Chess>(mode)
            .unwrap_or_default();
        let text = pgn.split_once("\n\n").map_or("", |(_, text)| text);
        let (moves, note) = moves(text, start.clone(), mode);
        let of = |white: bool| {
            let begins = start.turn().is_white();
            let own = moves
                .iter()
                .enumerate()
                .filter(move |(i, _)| (begins == white) == i.is_multiple_of(2));
            own.filter_map(|(_, made)| made.clock).next_back()
        };
        let read = |white| {
            let name = if white { "WhiteClock" } else { "BlackClock" };
            seconds(&tag(pgn, name)?)
        };
        let last = moves.last();
        let start = placement(&start);
        Self {
            short: Short {
                number,
                players: [name("White"), name("Black")],
                live: has_begun && result == GameResult::Open.as_str(),
                result,
                plies: moves.len(),
                last: last.map(|made| format!("{} {}", made.number, made.san)),
                uci: last.map(|made| made.uci.clone()),
                placement: last.map_or_else(|| start.clone(), |made| made.placement.clone()),
                clocks: [true, false].map(|white| read(white).or_else(|| of(white))),
            },
            start,
            moves,
            note,
        }
    }
}

/// The moves of a move text, as far as they can be played, and the note in words.
fn moves(text: &str, mut position: Chess, mode: CastlingMode) -> (Vec<Made>, Option<String>) {
    let (mut moves, mut note): (Vec<Made>, _) = (Vec::new(), None);
    for (i, part) in text.split(['{', '}']).enumerate() {
        if !i.is_multiple_of(2) {
            match clock(part) {
                Some(clock) => moves
                    .last_mut()
                    .into_iter()
                    .for_each(|made| made.clock = Some(clock)),
                None if part.starts_with("[%") => {}
                None => note = Some(part.split_whitespace().collect::<Vec<_>>().join(" ")),
            }
            continue;
        }
        for word in part.split_whitespace().filter(|word| !word.ends_with('.')) {
            let Ok(san) = word.parse::<SanPlus>() else {
                continue;
            };
            let Ok(made) = san.san.to_move(&position) else {
                return (moves, note);
            };
            let dots = if position.turn().is_white() { "." } else { "..." };
            let number = format!("{}{dots}", position.fullmoves());
            let uci = UciMove::from_move(made, mode).to_string();
            position.play_unchecked(made);
            moves.push(Made {
                number,
                san: word.to_owned(),
                uci,
                placement: placement(&position),
                clock: None,
            });
        }
    }
    (moves, note)
}

/// The seconds of a comment such as `[%clk 1:23:45]`.
fn clock(comment: &str) -> Option<u32> {
    let text = comment
        .strip_prefix("[%clk ")
        .or_else(|| comment.strip_prefix("[%clk\n"))?;
    seconds(text.strip_suffix(']')?)
}

/// The seconds of a time such as `1:23:45`.
fn seconds(text: &str) -> Option<u32> {
    let parts = text.split(':').map(str::parse::<u32>);
    let [h, m, s] = parts.collect::<Result<Vec<_>, _>>().ok()?[..] else {
        return None;
    };
    h.checked_mul(3600)?
        .checked_add(m.checked_mul(60)?)?
        .checked_add(s)
}

fn placement(position: &Chess) -> String {
    let fen = Fen::from_position(position, EnPassantMode::Legal).to_string();
    fen.split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Pgn, PgnMove};

    fn made(san: Option<&str>, uci: &str, clock_ms: u64) -> PgnMove {
        PgnMove {
            san: san.map(str::to_owned),
            uci: uci.into(),
            fen: "8/8/8/8/8/8/8/8 w - - 0 1".into(),
            clock_ms: Some(clock_ms),
            used_ms: Some(5_000),
        }
    }

    #[test]
    fn what_the_writer_writes_is_read() {
        let tags = [
            ("Event", "Open \"A\""),
            ("Date", "2026.11.21"),
            ("White", "Moss, M"),
            ("Black", "?"),
        ];
        let pgn = Pgn {
            tags: tags
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            first_number: 1,
            moves: vec![
                made(Some("e4"), "e2e4", 5_400_000),
                made(Some("e5"), "e7e5", 5_399_000),
                made(Some("Nf3"), "g1f3", 4_000_000),
                made(None, "a7a4", 1_000),
            ],
            result: "*".into(),
            ..Pgn::default()
        };
        let mut later = pgn.clone();
        later.clocks = Some([4_000_000, 5_340_000]);
        let later = PublicGame::read(1, &later.text());
        assert_eq!(later.short.clocks, [Some(4_000), Some(5_340)], "as last read");
        let published = Published {
            board: None,
            pgn: pgn.text(),
        };
        let pages = Pages::new(&[published], &Pages::default());
        let PublicGame {
            short, moves, note, ..
        } = &*pages.games[0].1;
        assert_eq!(short.players, [Some("Moss, M".to_owned()), None]);
        assert_eq!(
            (short.plies, short.last.as_deref(), short.live),
            (3, Some("2. Nf3"), true)
        );
        assert_eq!(short.clocks, [Some(4_000), Some(5_399)]);
        assert_eq!(
            short.placement,
            "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R"
        );
        let sans: Vec<_> = moves
            .iter()
            .map(|made| format!("{}{}", made.number, made.san))
            .collect();
        assert_eq!(sans, ["1.e4", "1...e5", "2.Nf3"]);
        assert!(
            note.as_ref().unwrap().starts_with("Illegal move a7a4 stands"),
            "{note:?}"
        );
        let round = String::from_utf8(pages.round.body.to_vec()).unwrap();
        assert!(round.contains(r#""event":"Open \"A\"""#), "{round}");
    }

    #[test]
    fn what_is_no_game_of_ours_is_shown_as_far_as_it_goes() {
        for text in [
            "",
            "x",
            "[FEN \"nonsense\"]\n\n1. e4 Ke2 {",
            "[Result \"*\"]\n\n1. O-O {[%clk 1:2]} {[%clk 9999999:0:0]} *",
        ] {
            let game = PublicGame::read(1, text);
            assert!(game.moves.len() <= 1, "{text}: {game:?}");
        }
    }
}
