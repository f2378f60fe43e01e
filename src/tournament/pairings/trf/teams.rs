//! The teams of a file, and the order of the boards where they are paired.
//!
//! TRF16 names teams in lines `013`, TRF26 in lines `310`. Lines `300` of TRF26 say in which order a team plays in a round,
//! where that is not the order of its own line.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use super::super::filled;
use super::{Entry, place};

/// A team.
pub(super) struct Team {
    /// Its pairing number; the place of its line where that has none.
    number: u32,
    pub(super) name: String,
    /// Starting numbers of its players in the order of the boards.
    players: Vec<u32>,
}

/// The teams of a file.
#[derive(Default)]
pub(super) struct Teams {
    teams: Vec<Team>,
    /// The players of a team in a round, by the team's number; 0 where nobody sits at a board.
    lineups: BTreeMap<u32, Vec<u32>>,
    /// Match points of a team without an opponent, and the numbers of the teams by round.
    byes: (u32, Vec<u32>),
}

/// The text in columns `from` to `to`, counted from 1.
fn columns(line: &[char], from: usize, to: usize) -> Option<String> {
    let to = to.min(line.len());
    filled(&line.get(from - 1..to)?.iter().collect::<String>())
}

/// The numbers from column `from`, four columns each and one between them. Some programs write them with other gaps.
fn numbers(line: &[char], from: usize) -> Vec<u32> {
    let rest = line.get(from - 1..).unwrap_or_default();
    let cells = rest.chunks(5).map(|cell| cell.iter().collect::<String>());
    let cells = cells.filter(|cell| !cell.trim().is_empty());
    let by_columns: Result<Vec<u32>, _> = cells.map(|cell| cell.trim().parse()).collect();
    by_columns.unwrap_or_else(|_| {
        let text: String = rest.iter().collect();
        text.split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect()
    })
}

impl Teams {
    /// Reads the teams with what holds in `round`.
    pub(super) fn read(text: &str, round: u32) -> Self {
        let mut teams = Self::default();
        for line in text.lines() {
            let chars: Vec<char> = line.chars().collect();
            match line.get(..4) {
                Some("013 ") => {
                    let number = u32::try_from(teams.teams.len() + 1).unwrap_or(u32::MAX);
                    teams.add(Some(number), columns(&chars, 5, 36), numbers(&chars, 37));
                }
                Some("310 ") => {
                    let number = columns(&chars, 5, 7).and_then(|number| number.parse().ok());
                    teams.add(number, columns(&chars, 9, 40), numbers(&chars, 74));
                }
                Some("300 ") => teams.line_up(&chars, round),
                Some("320 ") => {
                    let points = columns(&chars, 5, 8).and_then(|points| points.parse::<f32>().ok());
                    // Points have one digit behind the dot, and are few.
                    let points = (points.unwrap_or_default() * 2.0).clamp(0.0, 200.0) as u32;
                    let by_round = chars.get(14..).unwrap_or_default().chunks(4);
                    let by_round = by_round.map(|cell| cell.iter().collect::<String>());
                    let by_round = by_round.map(|cell| cell.trim().parse().unwrap_or_default());
                    teams.byes = (points, by_round.collect());
                }
                _ => {}
            }
        }
        teams
    }

    fn add(&mut self, number: Option<u32>, name: Option<String>, players: Vec<u32>) {
        if let (Some(number), Some(name)) = (number, name) {
            // A file may name its teams in both ways.
            self.teams.retain(|team| team.name != name);
            self.teams.push(Team {
                number,
                name,
                players,
            });
        }
    }

    fn line_up(&mut self, line: &[char], round: u32) {
        let number = |from: usize| columns(line, from, from + 2).and_then(|number| number.parse().ok());
        if let (true, Some(team)) = (number(5) == Some(round), number(9)) {
            self.lineups.insert(team, numbers(line, 17));
        }
    }

    /// The team of a player.
    pub(super) fn of(&self, player: u32) -> Option<&Team> {
        self.teams.iter().find(|team| team.players.contains(&player))
    }

    fn by_number(&self, number: u32) -> Option<&Team> {
        self.teams.iter().find(|team| team.number == number)
    }

    /// Puts the games, each White's and Black's number, in the order of the matches and their boards. False where
    /// players are paired and not teams.
    pub(super) fn order(&self, games: &mut [(u32, u32)], entries: &BTreeMap<u32, Entry>) -> bool {
        let matches: Option<BTreeMap<(u32, u32), (u32, u32)>> = games
            .iter()
            .map(|game| Some((*game, self.of_game(*game)?)))
            .collect();
        let Some(matches) = matches else { return false };
        let pairs: BTreeSet<(u32, u32)> = matches.values().copied().collect();
        let teams: BTreeSet<u32> = pairs.iter().flat_map(|(one, other)| [*one, *other]).collect();
        // Each team meets one other, at several boards.
        if pairs.len() == matches.len() || teams.len() != 2 * pairs.len() {
            return false;
        }
        games.sort_by_cached_key(|game| {
            let pair = matches.get(game).copied().unwrap_or_default();
            let side = |number| (self.match_points(number, entries), number);
            (place(side(pair.0), side(pair.1)), self.board(*game, pair))
        });
        true
    }

    /// The numbers of the teams that meet in a game, the lower one first.
    fn of_game(&self, (white, black): (u32, u32)) -> Option<(u32, u32)> {
        let (white, black) = (self.of(white)?.number, self.of(black)?.number);
        Some((white.min(black), white.max(black)))
    }

    /// The place of a game in its match. A team that plays in its own order knows it by the order of its players.
    fn board(&self, (white, black): (u32, u32), (one, other): (u32, u32)) -> usize {
        let of = |players: &Vec<u32>| players.iter().position(|player| [white, black].contains(player));
        let lined_up = [one, other]
            .into_iter()
            .find_map(|team| of(self.lineups.get(&team)?));
        let by_default = || of(&self.by_number(one)?.players);
        lined_up.or_else(by_default).unwrap_or(usize::MAX)
    }

    /// Twice the match points of a team before the round: two for a match won, one for a draw.
    fn match_points(&self, number: u32, entries: &BTreeMap<u32, Entry>) -> u32 {
        let Some(team) = self.by_number(number) else {
            return 0;
        };
        let rounds = entries.values().map(|entry| entry.before.len()).max();
        let points = |round: usize| {
            let own = players(team, entries, round);
            let met = own.iter().find_map(|(opponent, _)| self.of((*opponent)?));
            let sum = |games: &[(Option<u32>, u32)]| games.iter().map(|(_, points)| points).sum::<u32>();
            match met.map(|met| sum(&own).cmp(&sum(&players(met, entries, round)))) {
                Some(Ordering::Greater) => 4,
                Some(Ordering::Equal) => 2,
                Some(Ordering::Less) => 0,
                None if self.byes.1.get(round) == Some(&number) => self.byes.0,
                None => 0,
            }
        };
        (0..rounds.unwrap_or_default()).map(points).sum()
    }
}

/// Opponents and half points of a team's players in an earlier round, counted from 0.
fn players(team: &Team, entries: &BTreeMap<u32, Entry>, round: usize) -> Vec<(Option<u32>, u32)> {
    let players = team.players.iter().filter_map(|player| entries.get(player));
    players
        .filter_map(|entry| entry.before.get(round).copied())
        .collect()
}
