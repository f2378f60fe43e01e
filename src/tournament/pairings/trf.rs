//! Pairings from a TRF16 file (FIDE Handbook C.04.A, Annex 2): fixed columns, a line a player.
//!
//! The file does not number the boards. Their order is that of C.04.2, D.9: by the score of the
//! higher-ranked player of the pair, the sum of both scores, the rank of the higher-ranked player.

use std::collections::BTreeMap;

use super::{
    MAX_BOARDS, Pairing, Player,
    check::{Seated, is_name},
    filled,
    mistake::{Mistake, MistakeKind},
};

/// The column at which the first round begins, from 0, and the columns of each round.
const ROUNDS: (usize, usize) = (91, 10);

struct Entry {
    line: usize,
    player: Player,
    /// Points before the round, in half points.
    score: u32,
    /// Number of the opponent in the round, and true where the player has White.
    game: Option<(u32, bool)>,
}

/// Name and place of the tournament.
pub(super) fn tournament(text: &str) -> (Option<String>, Option<String>) {
    let of = |code: &str| {
        let line = text.lines().find(|line| line.starts_with(code))?;
        filled(line.get(4..).unwrap_or_default())
    };
    (of("012"), of("022"))
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
    for (player, team) in teams(text) {
        if let Some(entry) = entries.get_mut(&player) {
            entry.player.team = Some(team);
        }
    }
    boards(&entries)
}

/// The starting numbers of players in teams, each with the name of the team: lines `013`, the name in columns 5-36, then the
/// players.
fn teams(text: &str) -> Vec<(u32, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("013 "));
    lines
        .flat_map(|line| {
            let name: String = line.chars().take(32).collect();
            let players: String = line.chars().skip(32).collect();
            let players: Vec<u32> = players
                .split_whitespace()
                .filter_map(|number| number.parse().ok())
                .collect();
            let name = filled(&name);
            players
                .into_iter()
                .filter_map(move |player| Some((player, name.clone()?)))
        })
        .collect()
}

/// The mistake if the opponent of `entry` names another opponent, or does not exist.
fn elsewhere(number: u32, entry: &Entry, entries: &BTreeMap<u32, Entry>) -> Option<Mistake> {
    let (opponent, white) = entry.game.filter(|(opponent, _)| *opponent != 0)?;
    let theirs = entries.get(&opponent).and_then(|entry| entry.game);
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
    let score = (1..round)
        .filter_map(|round| field(start(round) + 7, start(round) + 7))
        .map(|result| half_points(&result))
        .sum();
    let from = start(round.max(1));
    let opponent = field(from, from + 3).and_then(|number| number.parse::<u32>().ok());
    let colour = field(from + 5, from + 5);
    let game = match colour.as_deref() {
        Some("w") => opponent.map(|opponent| (opponent, true)),
        Some("b") => opponent.map(|opponent| (opponent, false)),
        _ => None,
    };
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
        score,
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
fn half_points(result: &str) -> u32 {
    match result {
        "1" | "+" | "W" | "w" | "F" | "f" | "U" | "u" => 2,
        "=" | "D" | "d" | "H" | "h" => 1,
        _ => 0,
    }
}

fn boards(entries: &BTreeMap<u32, Entry>) -> Vec<Seated> {
    let mut games: Vec<_> = entries
        .iter()
        .filter_map(|(number, white)| {
            let (opponent, true) = white.game? else {
                return None;
            };
            let black = entries.get(&opponent)?;
            // The player with the higher score ranks higher. With equal scores it is the one with the lower number.
            let higher = if (white.score, opponent) >= (black.score, *number) {
                (white.score, *number)
            } else {
                (black.score, opponent)
            };
            let order = (
                std::cmp::Reverse(higher.0),
                std::cmp::Reverse(white.score + black.score),
                higher.1,
            );
            let pairing = Pairing {
                white: white.player.clone(),
                black: black.player.clone(),
                result: None,
                start: None,
            };
            Some((order, white.line, black.line, pairing))
        })
        .collect();
    games.sort_by_key(|(order, ..)| *order);
    games.truncate(MAX_BOARDS);
    let seated = |(board, (_, line, black_line, pairing))| Seated {
        line,
        black_line,
        board,
        pairing,
    };
    (1..).zip(games).map(seated).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{MistakeKind, Pairings, PairingsError};

    fn parse(text: &str, round: u32) -> Result<Pairings, PairingsError> {
        Pairings::parse(text, round)
    }

    /// A player's line with games as (opponent, colour, result).
    fn line(number: u32, name: &str, title: &str, elo: u32, games: &[(u32, char, char)]) -> String {
        let mut line = format!(
            "001 {number:4} m{title:>3} {name:33} {elo:4} GER 1234567{number:04} 1990/01/01  0.0 {number:4}  "
        );
        for (opponent, colour, result) in games {
            line += &format!("{opponent:4} {colour} {result}  ");
        }
        line
    }

    #[test]
    fn teams_have_their_players() {
        let team = |name: &str, players: &str| format!("013 {name:32}{players}");
        let text = [
            line(1, "A", "", 2500, &[(2, 'w', ' ')]),
            line(2, "B", "", 2400, &[(1, 'b', ' ')]),
            team("Riga II", "   1    7"),
            team("Tromsø", "   2"),
        ];
        let game = parse(&text.join("\n"), 1).unwrap().boards[0].clone().unwrap();
        assert_eq!(game.white.team.as_deref(), Some("Riga II"));
        assert_eq!(game.black.team.as_deref(), Some("Tromsø"));
    }

    fn file() -> String {
        [
            "012 Spring Open".to_owned(),
            "022 Vienna".to_owned(),
            line(1, "Löwe, Änne", "g", 2500, &[(3, 'w', '0'), (4, 'b', ' ')]),
            line(2, "Berg, B", "", 2400, &[(4, 'b', '='), (3, 'w', ' ')]),
            line(3, "Tal, C", "WIM", 2300, &[(1, 'b', '1'), (2, 'b', ' ')]),
            line(4, "Dorn, D", "", 0, &[(2, 'w', '='), (1, 'w', ' ')]),
            line(5, "Frei, F", "", 0, &[(0, '-', 'U'), (0, '-', 'H')]),
        ]
        .join("\n")
    }

    #[test]
    fn a_round_in_the_order_of_the_boards() {
        let pairings = parse(&file(), 2).unwrap();
        assert_eq!(pairings.name.as_deref(), Some("Spring Open"));
        assert_eq!(pairings.site.as_deref(), Some("Vienna"));
        let names: Vec<_> = pairings
            .boards
            .iter()
            .flatten()
            .map(|p| (p.white.name.as_str(), p.black.name.as_str()))
            .collect();
        assert_eq!(
            names,
            [("Berg, B", "Tal, C"), ("Dorn, D", "Löwe, Änne")],
            "the leader first"
        );
        let first = parse(&file(), 1).unwrap();
        let white = &first.boards[0].as_ref().unwrap().white;
        assert_eq!(white.name, "Löwe, Änne", "without scores the first number first");
        assert_eq!(white.title.as_deref(), Some("GM"));
        assert_eq!(white.elo.as_deref(), Some("2500"));
        assert_eq!(white.fide_id.as_deref(), Some("12345670001"));
        assert_eq!(white.federation.as_deref(), Some("GER"));
        assert_eq!(first.boards.len(), 2, "a bye has no board");
    }

    #[test]
    fn a_line_cut_short_is_told() {
        let error = parse("001    x", 1).unwrap_err();
        assert!(error.to_string().starts_with("line 1: no line of a player"));
        assert!(parse("001    1", 1).is_err());
    }

    #[test]
    fn every_mistake_of_a_file_is_named_with_its_line() {
        let wrong = |first: &str, second: &str| {
            let text = format!("012 Open\n{first}\n{second}\n");
            let mut wrong = Pairings::check(&text, 1, Some(1)).wrong;
            assert_eq!(wrong.len(), 1, "{wrong:?}");
            let mistake = wrong.remove(0);
            (mistake.line, mistake.what)
        };
        let white = |name: &str| line(1, name, "", 2100, &[(2, 'w', ' ')]);
        let black = |number, name: &str, opponent| line(number, name, "", 0, &[(opponent, 'b', ' ')]);
        let (line, what) = wrong(
            &white("A"),
            &black(2, "a", 1).replace("12345670002", "           "),
        );
        assert!(
            line == Some(3) && matches!(what, MistakeKind::PlayerTwice { first: 2, .. }),
            "{what:?}"
        );
        let (line, what) = wrong(&white("2100"), &black(2, "B", 0));
        assert!(
            line == Some(2) && matches!(what, MistakeKind::ColumnShifted { .. }),
            "{what:?}"
        );
        let (line, what) = wrong(&white("A"), &black(1, "B", 1));
        assert!(
            line == Some(3) && matches!(what, MistakeKind::NumberTwice { first: 2, .. }),
            "{what:?}"
        );
        let (line, what) = wrong(&white("A"), &black(2, "B", 0));
        assert!(
            line == Some(2) && matches!(what, MistakeKind::OpponentElsewhere { opponent: 2, .. }),
            "{what:?}"
        );
        let (line, what) = wrong(&white("A").replace("2100", "21OO"), &black(2, "B", 1));
        assert!(
            line == Some(2) && matches!(what, MistakeKind::RatingNoNumber { .. }),
            "{what:?}"
        );
    }
}
