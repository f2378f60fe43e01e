//! Pairings from a TRF16 or TRF26 file (FIDE Handbook C.04.A): fixed columns, a line a player.
//!
//! The file does not number the boards. Their order is that of C.04.2, D.9: by the score of the
//! higher-ranked player of the pair, the sum of both scores, the rank of the higher-ranked player. Where teams are paired,
//! their matches have this order, and each match has its boards together.

mod teams;

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    MAX_BOARDS, Pairing, Player,
    check::{Seated, is_name},
    filled,
    mistake::{Mistake, MistakeKind},
};
use crate::game::Period;
use teams::Teams;

/// The column at which the first round begins, from 0, and the columns of each round.
const ROUNDS: (usize, usize) = (91, 10);

struct Entry {
    line: usize,
    player: Player,
    /// The earlier rounds: the opponent's number, if there was one, and the half points.
    before: Vec<(Option<u32>, u32)>,
    game: Option<Game>,
}

impl Entry {
    /// Half points before the round.
    fn score(&self) -> u32 {
        self.before.iter().map(|(_, half_points)| half_points).sum()
    }
}

/// A player's game of the round.
#[derive(Clone, Copy)]
struct Game {
    /// The opponent's number.
    opponent: u32,
    /// True where the player has White.
    white: bool,
    /// The code of the result; blank while there is none.
    result: char,
}

/// Name and place of the tournament.
pub(super) fn tournament(text: &str) -> (Option<String>, Option<String>) {
    let of = |code: &str| {
        let line = text.lines().find(|line| line.starts_with(code))?;
        filled(line.get(4..).unwrap_or_default())
    };
    (of("012"), of("022"))
}

/// The time control of the line `222`; empty where there is none, or one that periods of whole minutes cannot say.
pub(super) fn periods(text: &str) -> Vec<Period> {
    let line = text.lines().find_map(|line| line.strip_prefix("222 "));
    let periods = line.map(|line| line.trim().split(':').map(period).collect::<Option<Vec<_>>>());
    periods.flatten().unwrap_or_default()
}

/// A period: `40/6000+30`, in moves and seconds.
fn period(text: &str) -> Option<Period> {
    let (moves, time) = match text.split_once('/') {
        Some((moves, time)) => (Some(moves.parse().ok()?), time),
        None => (None, text),
    };
    let (seconds, increment) = time.split_once('+').unwrap_or((time, "0"));
    let seconds: u32 = seconds.parse().ok()?;
    seconds.is_multiple_of(60).then_some(Period {
        moves,
        minutes: seconds / 60,
        increment: increment.parse().ok()?,
    })
}

/// The games of `round`, as far as they can be read.
pub(super) fn read(text: &str, round: u32, wrong: &mut Vec<Mistake>) -> Vec<Seated> {
    let mut entries: BTreeMap<u32, Entry> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.get(..3) != Some("001") {
            continue;
        }
        // A column is a character, and names have letters beyond ASCII.
        let chars: Vec<char> = text.chars().collect();
        let Some((number, entry)) = entry(line, &chars, round) else {
            wrong.push(Mistake::at(line, MistakeKind::LineNoPlayer));
            continue;
        };
        if !is_name(&entry.player.name) {
            let (column, text) = ("15-47".to_owned(), entry.player.name);
            wrong.push(Mistake::at(line, MistakeKind::ColumnShifted { column, text }));
        } else if let Some(first) = entries.get(&number).map(|entry| entry.line) {
            wrong.push(Mistake::at(line, MistakeKind::NumberTwice { number, first }));
        } else {
            entries.insert(number, entry);
        }
    }
    if wrong.is_empty() {
        wrong.extend(
            entries
                .iter()
                .filter_map(|(number, entry)| elsewhere(*number, entry, &entries)),
        );
    }
    let teams = Teams::read(text, round);
    for (number, entry) in &mut entries {
        entry.player.team = teams.of(*number).map(|team| team.name.clone());
    }
    boards(&entries, &teams)
}

/// The mistake if the opponent of `entry` names another opponent, or does not exist.
fn elsewhere(number: u32, entry: &Entry, entries: &BTreeMap<u32, Entry>) -> Option<Mistake> {
    let Game { opponent, white, .. } = entry.game.filter(|game| game.opponent != 0)?;
    let theirs = entries.get(&opponent).and_then(|entry| entry.game);
    let theirs = theirs.map(|game| (game.opponent, game.white));
    let what = MistakeKind::OpponentElsewhere {
        player: entry.player.name.clone(),
        opponent,
    };
    (theirs != Some((number, !white))).then(|| Mistake::at(entry.line, what))
}

fn entry(at: usize, line: &[char], round: u32) -> Option<(u32, Entry)> {
    let field = |from: usize, to: usize| {
        let to = to.min(line.len());
        filled(&line.get(from - 1..to)?.iter().collect::<String>())
    };
    let start = |round: u32| ROUNDS.0 + 1 + ROUNDS.1 * (round as usize - 1);
    let number = field(5, 8)?.parse().ok()?;
    let opponent = |round: u32| {
        let number = field(start(round), start(round) + 3)?.parse::<u32>().ok()?;
        (number != 0).then_some(number)
    };
    let code = |round: u32| field(start(round) + 7, start(round) + 7).and_then(|code| code.chars().next());
    let before = (1..round).map(|round| (opponent(round), code(round).map_or(0, half_points)));
    let round = round.max(1);
    let white = match field(start(round) + 5, start(round) + 5).as_deref() {
        Some("w") => Some(true),
        Some("b") => Some(false),
        _ => None,
    };
    let game = white.zip(opponent(round)).map(|(white, opponent)| Game {
        opponent,
        white,
        result: code(round).unwrap_or(' '),
    });
    let player = Player {
        name: field(15, 47)?,
        title: field(11, 13).map(|title| official(&title)),
        elo: field(49, 52).filter(|elo| elo != "0"),
        fide_id: field(58, 68).filter(|id| id != "0"),
        federation: field(54, 56),
        team: None,
    };
    let entry = Entry {
        line: at,
        player,
        before: before.collect(),
        game,
    };
    Some((number, entry))
}

/// The official form of a title, which some files shorten.
fn official(title: &str) -> String {
    match title {
        "g" => "GM",
        "m" => "IM",
        "f" => "FM",
        "c" => "CM",
        "wg" => "WGM",
        "wm" => "WIM",
        "wf" => "WFM",
        "wc" => "WCM",
        other => other,
    }
    .to_owned()
}

/// The half points for a result code: two for a win, played or not, and for a full-point or pairing-allocated bye; one
/// for a draw and for a half-point bye; else none.
fn half_points(result: char) -> u32 {
    match result.to_ascii_uppercase() {
        '1' | '+' | 'W' | 'F' | 'U' => 2,
        '=' | 'D' | 'H' => 1,
        _ => 0,
    }
}

/// The result of a game by the codes of both players; none while there is none.
fn result(white: char, black: char) -> Option<String> {
    let written = match (white.to_ascii_uppercase(), black.to_ascii_uppercase()) {
        ('+', _) => "+/-",
        (_, '+') => "-/+",
        ('-', '-') => "-/-",
        ('1' | 'W', _) => "1-0",
        (_, '1' | 'W') => "0-1",
        ('=' | 'D', '=' | 'D') => "1/2-1/2",
        ('0' | 'L', '0' | 'L') => "0-0",
        _ => return None,
    };
    Some(written.to_owned())
}

fn boards(entries: &BTreeMap<u32, Entry>, teams: &Teams) -> Vec<Seated> {
    let games = entries.iter().filter_map(|(number, entry)| {
        let game = entry.game.filter(|game| game.white)?;
        entries
            .contains_key(&game.opponent)
            .then_some((*number, game.opponent))
    });
    let mut games: Vec<(u32, u32)> = games.collect();
    if !teams.order(&mut games, entries) {
        games.sort_by_key(|game| by_score(*game, entries));
    }
    games.truncate(MAX_BOARDS);
    let seated = |(board, (white, black)): (usize, (u32, u32))| {
        let (white, black) = (entries.get(&white)?, entries.get(&black)?);
        let code = |entry: &Entry| entry.game.map_or(' ', |game| game.result);
        Some(Seated {
            line: white.line,
            black_line: black.line,
            board,
            pairing: Pairing {
                white: white.player.clone(),
                black: black.player.clone(),
                result: result(code(white), code(black)),
                start: None,
            },
        })
    };
    (1..).zip(games).filter_map(seated).collect()
}

/// The place of a pair among others.
type Place = (Reverse<u32>, Reverse<u32>, u32);

/// The place of a game among games of players.
fn by_score((white, black): (u32, u32), entries: &BTreeMap<u32, Entry>) -> Place {
    let score = |number: u32| entries.get(&number).map_or(0, Entry::score);
    place((score(white), white), (score(black), black))
}

/// The place of two sides, each with its score and its number. The side with the higher score ranks higher. With equal
/// scores it is the one with the lower number.
fn place(one: (u32, u32), other: (u32, u32)) -> Place {
    let higher = if (one.0, other.1) >= (other.0, one.1) {
        one
    } else {
        other
    };
    (Reverse(higher.0), Reverse(one.0 + other.0), higher.1)
}

#[cfg(test)]
mod tests;
