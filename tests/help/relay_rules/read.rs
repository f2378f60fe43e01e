//! How lichess reads a pushed text: what becomes a game, and what an error.

use shakmaty::{
    CastlingMode, Chess, EnPassantMode, KnownOutcome, Outcome, Position, Role, Square, fen::Fen, san::San,
    san::SanPlus, uci::UciMove,
};

/// The games of a push that are read; the others are left out without a word.
pub const MOST_GAMES: usize = 100;
/// Half-moves of a game that are read.
const MOST_PLIES: usize = 600;
/// The tags that are kept. What others say is not shown.
const KEPT: [&str; 26] = [
    "White",
    "WhiteElo",
    "WhiteTitle",
    "WhiteTeam",
    "WhiteFideId",
    "WhiteCountry",
    "WhiteClock",
    "Black",
    "BlackElo",
    "BlackTitle",
    "BlackTeam",
    "BlackFideId",
    "BlackCountry",
    "BlackClock",
    "TimeControl",
    "Variant",
    "Result",
    "Termination",
    "Site",
    "Event",
    "Round",
    "Board",
    "Annotator",
    "FEN",
    "GameId",
    "Opening",
];

/// Tags in their order.
pub type Tags = Vec<(String, String)>;

/// A half-move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub uci: String,
    /// The position after it.
    pub fen: String,
    /// Seconds left to the player who made it.
    pub clock: Option<u32>,
}

/// A game that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    pub tags: Tags,
    pub start: String,
    pub moves: Vec<Made>,
    /// The result; none while the game goes on.
    pub over: Option<String>,
    /// True where the last move was left out, because it sets a king in the centre against the rules.
    pub dropped: bool,
}

/// A game that is not taken. Nothing of it is updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub tags: Tags,
    pub error: String,
}

/// The value of a tag.
pub fn value<'a>(tags: &'a Tags, name: &str) -> Option<&'a str> {
    let found = tags.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// The games of a push, in their order. A game begins after an empty line, with a bracket.
pub fn games(pushed: &str) -> Vec<Result<Game, Refusal>> {
    let text = pushed.replace('\r', "");
    let mut parts: Vec<String> = Vec::new();
    for part in text.split("\n\n") {
        match parts.last_mut() {
            Some(last) if !part.starts_with('[') => *last += &format!("\n\n{part}"),
            _ => parts.push(part.to_owned()),
        }
    }
    let games = parts.iter().filter(|part| !part.is_empty());
    games.take(MOST_GAMES).map(|part| game(part)).collect()
}

fn game(text: &str) -> Result<Game, Refusal> {
    let lines: Vec<&str> = text.trim_start().lines().collect();
    let head = lines.iter().take_while(|line| line.starts_with('[')).count();
    let told: Tags = lines[..head].iter().filter_map(|line| tag(line)).collect();
    let refused = |tags: &Tags, error: String| {
        Err(Refusal {
            tags: tags.clone(),
            error,
        })
    };
    let words = match words(&lines[head..].join("\n")) {
        Ok(words) => words,
        Err(error) => return refused(&Tags::new(), error),
    };
    let (chess960, fen) = (is_chess960(&told), value(&told, "FEN").unwrap_or_default());
    let mode = CastlingMode::from_chess960(chess960);
    let start = match fen {
        "" => Some(Chess::default()),
        fen => fen
            .parse::<Fen>()
            .ok()
            .and_then(|fen| fen.into_position(mode).ok()),
    };
    let Some(start) = start else {
        return refused(&told, format!("no position: {fen}"));
    };
    let control = value(&told, "TimeControl").and_then(time_control);
    let (moves, end, failed) = played(&words, start.clone(), mode, control);
    if let Some(error) = failed.filter(|_| is_fatal(&words, moves.len())) {
        return refused(&told, error);
    }
    let dropped = moves.len() < words.len().min(MOST_PLIES);
    let over = over(value(&told, "Result"), &end);
    let mut game = Game {
        tags: kept(told, over.is_some()),
        start: fen_of(&start),
        moves,
        over,
        dropped,
    };
    apply_tag_clocks(&mut game, start.turn().is_white());
    Ok(game)
}

fn tag(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix('[')?.split_once(" \"")?;
    let value = value.trim_end().strip_suffix("\"]")?;
    Some((name.to_owned(), value.replace("\\\"", "\"").replace("\\\\", "\\")))
}

/// A move of the text, with its comments.
struct Word {
    san: San,
    comments: Vec<String>,
}

/// The moves of a move text. What is no move, number or result makes the whole of it unreadable.
fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words: Vec<Word> = Vec::new();
    for (i, part) in text.split(['{', '}']).enumerate() {
        if i % 2 == 1 {
            if let Some(word) = words.last_mut() {
                word.comments.push(part.to_owned());
            }
            continue;
        }
        for word in part.split_whitespace() {
            if ["*", "1-0", "0-1", "1/2-1/2"].contains(&word) || word.starts_with('$') {
                continue;
            }
            let bare = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            if bare.is_empty() {
                continue;
            }
            let Ok(SanPlus { san, .. }) = bare.parse() else {
                return Err(format!("cannot read {word}"));
            };
            let comments = Vec::new();
            words.push(Word { san, comments });
        }
    }
    Ok(words)
}

/// Plays as many of the moves as are legal; then the position after them, and why no more are.
fn played(
    words: &[Word],
    mut position: Chess,
    mode: CastlingMode,
    control: Option<(u32, u32)>,
) -> (Vec<Made>, Chess, Option<String>) {
    let mut moves: Vec<Made> = Vec::new();
    // What each side had before its next move, White first.
    let mut left = [control.map(|(limit, _)| limit); 2];
    for word in words.iter().take(MOST_PLIES) {
        let Ok(made) = word.san.to_move(&position) else {
            return (moves, position, Some(format!("cannot play {}", word.san)));
        };
        let side = usize::from(position.turn().is_black());
        let told = |name| word.comments.iter().find_map(|comment| time(comment, name));
        let guessed = || {
            let left = left[side]? + control.map_or(0, |(_, increment)| increment);
            left.checked_sub(told("emt")?)
        };
        let clock = told("clk").or_else(guessed).filter(|clock| *clock > 0);
        left[side] = clock;
        let uci = UciMove::from_move(made, mode).to_string();
        position.play_unchecked(made);
        let fen = fen_of(&position);
        moves.push(Made { uci, fen, clock });
    }
    (moves, position, None)
}

/// False where only the last move fails, and that is a king's to the centre: kings show the result there. Castling
/// at the end is never held against a game.
fn is_fatal(words: &[Word], legal: usize) -> bool {
    match words.last().map(|word| &word.san) {
        Some(San::Normal { role, to, .. }) => {
            let is_centre = [Square::D4, Square::D5, Square::E4, Square::E5].contains(to);
            legal + 1 < words.len() || *role != Role::King || !is_centre
        }
        _ => false,
    }
}

fn fen_of(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

fn is_chess960(tags: &Tags) -> bool {
    let name = value(tags, "Variant").unwrap_or_default().to_lowercase();
    ["chess960", "chess 960", "fischerandom", "fischerrandom"].contains(&name.as_str())
}

/// Limit and increment in seconds. A limit up to 180 is taken for minutes, and periods are not understood.
fn time_control(text: &str) -> Option<(u32, u32)> {
    let bare = text.replace('/', "");
    let (limit, increment) = bare.split_once('+').unwrap_or((&bare, "0"));
    let limit: u32 = limit.parse().ok()?;
    let limit = if limit > 180 { limit } else { limit * 60 };
    Some((limit, increment.parse().ok()?))
}

/// The seconds of `[%clk 1:23:45]` and the like.
fn time(comment: &str, name: &str) -> Option<u32> {
    let (_, rest) = comment.split_once(&format!("[%{name}"))?;
    seconds(rest.split_once(']')?.0.trim())
}

fn seconds(text: &str) -> Option<u32> {
    let parts = text.split(':').map(str::parse::<u32>);
    let parts = parts.collect::<Result<Vec<_>, _>>().ok()?;
    Some(parts.iter().fold(0, |sum, part| sum * 60 + part))
}

/// The result by the tag, and where that has none by the position.
fn over(result: Option<&str>, end: &Chess) -> Option<String> {
    let told = match result.map(|result| result.replace('½', "1/2")).as_deref() {
        Some(known @ ("1-0" | "0-1" | "1/2-1/2" | "0-0" | "1/2-0" | "0-1/2")) => Some(known.to_owned()),
        _ => None,
    };
    told.or_else(|| match end.outcome() {
        Outcome::Known(KnownOutcome::Decisive { winner }) if winner.is_white() => Some("1-0".to_owned()),
        Outcome::Known(KnownOutcome::Decisive { .. }) => Some("0-1".to_owned()),
        Outcome::Known(KnownOutcome::Draw) => Some("1/2-1/2".to_owned()),
        Outcome::Unknown => None,
    })
}

/// The tags that say something. Players of one letter, or called unknown, are none.
fn kept(told: Tags, is_over: bool) -> Tags {
    let says_something = |(name, value): &(String, String)| {
        let is_player = name == "White" || name == "Black";
        let is_nobody = is_player && (value.chars().count() < 2 || value.eq_ignore_ascii_case("unknown"));
        let is_blank = ["", "?", "unknown"].contains(&value.as_str());
        let is_passed = name == "Result" && value == "*" && is_over;
        KEPT.contains(&name.as_str()) && !is_blank && !is_nobody && !is_passed
    };
    let trimmed = told
        .into_iter()
        .map(|(name, value)| (name, value.trim().to_owned()));
    trimmed.filter(says_something).collect()
}

/// Gives the last move of each side the time of the tags, where it has none.
fn apply_tag_clocks(game: &mut Game, white_begins: bool) {
    let of = |name| value(&game.tags, name).and_then(seconds);
    let clocks = [of("WhiteClock"), of("BlackClock")];
    let count = game.moves.len();
    for (i, made) in game.moves.iter_mut().enumerate().skip(count.saturating_sub(2)) {
        let is_white = white_begins == (i % 2 == 0);
        let told = clocks[usize::from(!is_white)];
        made.clock = made.clock.or(told);
    }
}
