//! Games to be played by simulated hands: from PGN, or made up.

use fastrand::Rng;
use shakmaty::{Chess, Color, Move, Position, san::San};

use super::tabletop::{Manner, NotLegal, TableSetting, Tabletop};
use crate::{
    board::Orientation,
    capture::{Capture, Header},
};

/// The most half-moves of a game that is made up.
const LONGEST: usize = 120;

/// A game that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("game {game}: {token:?} is no legal move")]
pub struct PgnError {
    /// Number of the game in the text, from 1.
    pub game: usize,
    /// The word that cannot be read.
    pub token: String,
}

/// The main lines of the games in a PGN text.
///
/// # Errors
/// Names the first move that is not legal in its game. Games must begin with the initial position.
pub fn from_pgn(text: &str) -> Result<Vec<Vec<Move>>, PgnError> {
    let mut games = Vec::new();
    let (mut position, mut moves) = (Chess::default(), Vec::new());
    for token in tokens(text) {
        match token {
            "1-0" | "0-1" | "1/2-1/2" | "*" => {
                games.push(std::mem::take(&mut moves));
                position = Chess::default();
            }
            token => {
                let bad = || PgnError {
                    game: games.len() + 1,
                    token: token.to_owned(),
                };
                let san: San = token.trim_end_matches(['!', '?']).parse().map_err(|_| bad())?;
                let mv = san.to_move(&position).map_err(|_| bad())?;
                moves.push(mv);
                position.play_unchecked(mv);
            }
        }
    }
    if !moves.is_empty() {
        games.push(moves);
    }
    Ok(games)
}

/// Moves and results; tags, comments, variations, glyphs and numbers are left out.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let mut comment = false;
    let lines = text.lines().filter(|line| !line.starts_with(['[', '%']));
    lines
        .flat_map(|line| {
            line.split(';')
                .next()
                .unwrap_or_default()
                .split_inclusive([' ', '\t', '{', '}', '(', ')', '.'])
        })
        .filter_map(move |piece| {
            let word = piece.trim_end_matches([' ', '\t', '{', '}', '(', ')', '.']);
            let shown = !comment && depth == 0;
            match piece.as_bytes().last() {
                Some(b'{') => comment = true,
                Some(b'}') => comment = false,
                Some(b'(') if !comment => depth += 1,
                Some(b')') if !comment => depth = depth.saturating_sub(1),
                _ => {}
            }
            let number = word.bytes().all(|b| b.is_ascii_digit());
            (shown && !number && !word.starts_with('$')).then_some(word)
        })
}

/// A game of random legal moves.
#[must_use]
pub fn made_up(rng: &mut Rng) -> Vec<Move> {
    let (mut position, mut moves) = (Chess::default(), Vec::new());
    while moves.len() < LONGEST && !position.is_game_over() {
        let legal = position.legal_moves();
        let Some(&mv) = rng.choice(&legal) else { break };
        moves.push(mv);
        position.play_unchecked(mv);
    }
    moves
}

/// What a board tells of a game that hands play with some seconds for each move.
///
/// # Errors
/// When the moves are not legal.
pub fn play(moves: &[Move], header: Header, seed: u64) -> Result<Capture, NotLegal> {
    let mut rng = Rng::with_seed(seed);
    let mut table = Tabletop::new(TableSetting {
        manner: Manner::human(seed),
        clock: Some((25 * 60_000, 10_000)),
        orientation: if rng.bool() {
            Orientation::Turned
        } else {
            Orientation::Normal
        },
        ..TableSetting::default()
    });
    table.wait(rng.u64(1000..4000));
    table.start(Color::White, 0, 0);
    for mv in moves {
        table.wait(rng.u64(1500..12_000));
        table.play(*mv)?;
    }
    table.wait(2000);
    table.stop();
    Ok(table.finish(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_variations_and_marks_in_a_pgn_are_left_out() {
        let text = "[Event \"?\"]\n\n1.e4 {best (by test)} e5 2. Nf3! (2. f4 exf4) 2... Nc6 $1 ; so\n3.Bb5 1-0\n\n\
                    [Event \"?\"]\n1. d4 d5 *";
        let games = from_pgn(text).unwrap();
        assert_eq!(games.iter().map(Vec::len).collect::<Vec<_>>(), [5, 2]);
        assert_eq!(from_pgn("1. e4 Ke3").unwrap_err().token, "Ke3");
    }

    #[test]
    fn the_same_seed_gives_the_same_game() {
        let game = |seed| {
            let moves = made_up(&mut Rng::with_seed(seed));
            play(&moves, Header::default(), seed).unwrap().to_string()
        };
        assert_eq!(game(3), game(3));
        assert_ne!(game(3), game(4));
        assert!(Capture::parse(game(3).as_bytes()).is_ok());
    }
}
