//! Checks the games of a round, whatever file they come from: boards, players, ratings.

use std::collections::BTreeMap;

use super::{
    MAX_BOARDS, Pairing, Player,
    mistake::{Mistake, MistakeKind},
};

/// A game with its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Seated {
    /// Line of the game; in a TRF file the line of White.
    pub(super) line: usize,
    /// Line of Black.
    pub(super) black_line: usize,
    /// Number of the board, from 1.
    pub(super) board: usize,
    pub(super) pairing: Pairing,
}

/// The games by board, from the first. Of two rows for a board the first counts.
pub(super) fn by_board(seated: Vec<Seated>, wrong: &mut Vec<Mistake>) -> Vec<Option<Pairing>> {
    let mut lines: BTreeMap<usize, usize> = BTreeMap::new();
    let mut boards = Vec::new();
    for Seated {
        line, board, pairing, ..
    } in seated
    {
        if let Some(first) = lines.get(&board).copied() {
            wrong.push(Mistake::at(line, MistakeKind::BoardTwice { board, first }));
            continue;
        }
        lines.insert(board, line);
        if boards.len() < board {
            boards.resize(board.min(MAX_BOARDS), None);
        }
        if let Some(place) = boards.get_mut(board - 1) {
            *place = Some(pairing);
        }
    }
    boards
}

/// Notes players who sit at two boards, and ratings that are no numbers.
pub(super) fn players(seated: &[Seated], wrong: &mut Vec<Mistake>) {
    let mut names: BTreeMap<String, Vec<(usize, Option<&str>)>> = BTreeMap::new();
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    for game in seated {
        let sides = [
            (game.line, &game.pairing.white),
            (game.black_line, &game.pairing.black),
        ];
        for (line, player) in sides {
            if let Some(rating) = player.elo.as_ref().filter(|rating| !is_rating(rating)) {
                let what = MistakeKind::RatingNoNumber {
                    player: player.name.clone(),
                    rating: rating.clone(),
                };
                wrong.push(Mistake::at(line, what));
            }
            if is_nobody(&player.name) {
                continue;
            }
            let id = player.fide_id.as_deref();
            let known = names.entry(as_compared(&player.name)).or_default();
            // Two players of one name are different where their FIDE ids differ.
            let same = known
                .iter()
                .find(|(_, other)| id.is_none() || other.is_none() || *other == id);
            let first = same.map(|(line, _)| *line).or_else(|| ids.get(id?).copied());
            if let Some(first) = first {
                wrong.push(Mistake::at(line, twice(player, line, first)));
            }
            known.push((line, id));
            if let Some(id) = id {
                ids.entry(id).or_insert(line);
            }
        }
    }
}

fn twice(player: &Player, line: usize, first: usize) -> MistakeKind {
    let player = player.name.clone();
    match line == first {
        true => MistakeKind::PlayerHimself { player },
        false => MistakeKind::PlayerTwice { player, first },
    }
}

/// Notes boards that do not exist, if there are known to be `boards`. A tournament may have more games than boards that
/// tell moves. Then its boards are numbered without a gap, and a number beyond that is a mistake.
pub(super) fn boards(seated: &[Seated], boards: usize, wrong: &mut Vec<Mistake>) -> Option<Mistake> {
    let most = boards.max(seated.len());
    let mut without: Option<(usize, usize)> = None;
    for Seated { line, board, .. } in seated.iter().filter(|game| game.board > boards) {
        if *board > most {
            let what = MistakeKind::BoardUnknown {
                board: *board,
                boards: most,
            };
            wrong.push(Mistake::at(*line, what));
        } else {
            let (from, to) = without.unwrap_or((*board, *board));
            without = Some((from.min(*board), to.max(*board)));
        }
    }
    without.map(|(from, to)| Mistake::of_all(MistakeKind::BoardsWithoutMoves { from, to }))
}

/// True for a text with a letter, of whatever script.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

fn is_rating(text: &str) -> bool {
    (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for what pairing programs write in place of an absent opponent.
fn is_nobody(name: &str) -> bool {
    matches!(as_compared(name).as_str(), "bye" | "spielfrei" | "свободен")
}

/// A name in the form in which names are compared, without differences of case and spaces.
pub(in crate::tournament) fn as_compared(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").to_lowercase()
}
