//! How far a reader can follow a game who has its first position and the names of its half-moves.

use shakmaty::{CastlingMode, Chess, Position, fen::Fen, san::San, uci::UciMove};

/// The names of half-moves before the first that a reader cannot follow: an illegal one has no name, and one of a piece that went on
/// from where it had been displaced to is not legal in the position that the reader has, or is another one there. `moves` are the same
/// half-moves as UCI. Without `start_fen`, or where it is no legal position, all that have names.
pub(super) fn followed<'a>(
    start_fen: Option<&str>,
    chess960: bool,
    moves: &[String],
    names: &'a [Option<String>],
) -> Vec<&'a str> {
    let named = names.iter().map_while(Option::as_deref);
    let mode = CastlingMode::from_chess960(chess960);
    let start = start_fen.and_then(|fen| fen.parse::<Fen>().ok()?.into_position::<Chess>(mode).ok());
    let Some(mut position) = start else {
        return named.collect();
    };
    let is_followed = |(name, uci): &(&str, &String)| {
        let mv = name
            .parse::<San>()
            .ok()
            .and_then(|san| san.to_move(&position).ok());
        let mv = mv.filter(|mv| UciMove::from_move(*mv, mode).to_string() == **uci);
        mv.inspect(|mv| position.play_unchecked(*mv)).is_some()
    };
    let followed = named.zip(moves).take_while(is_followed);
    followed.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    fn count(fen: Option<&str>, played: &[(&str, Option<&str>)]) -> usize {
        let moves: Vec<_> = played.iter().map(|(uci, _)| (*uci).to_owned()).collect();
        let names: Vec<_> = played.iter().map(|(_, name)| name.map(str::to_owned)).collect();
        followed(fen, false, &moves, &names).len()
    }

    #[test]
    fn a_list_ends_before_a_half_move_that_no_reader_could_follow() {
        let begun = [("e2e4", Some("e4")), ("e7e5", Some("e5"))];
        let then = |uci, name| [begun[0], begun[1], (uci, name), ("b8c6", Some("Nc6"))];
        assert_eq!(count(Some(ARRAY), &then("g1f3", Some("Nf3"))), 4);
        // The knight had been knocked from g1 to h1, or to h2, from where another one could not be told.
        assert_eq!(count(Some(ARRAY), &then("h1g3", Some("Ng3"))), 2);
        assert_eq!(count(Some(ARRAY), &then("h2f3", Some("Nf3"))), 2);
        assert_eq!(count(Some(ARRAY), &then("g1e2", None)), 2);
        // Nobody knows what stood there.
        for unknown in [None, Some("8/8/8/8/8/8/8/8 w - - 0 1")] {
            assert_eq!(count(unknown, &then("h1g3", Some("Ng3"))), 4);
        }
    }
}
