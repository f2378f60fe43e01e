//! Games that go on for as long as the Laws let them: fifty and seventy-five moves (9.3, 9.6.2).

use std::collections::HashSet;

use dgt2mqtt::sim::script::parse;
use shakmaty::{Chess, Move, Position, Role, uci::UciMove};

use crate::told::{events, played, summary::summary};

/// True for a half-move that takes nothing, moves no pawn and says nothing to the other king.
fn is_quiet(at: &Chess, by: &Move) -> bool {
    let mut after = at.clone();
    after.play_unchecked(*by);
    !by.is_zeroing() && !by.is_castle() && by.role() != Role::King && !after.is_check()
}

/// Half-moves of pieces behind their pawns, in which no position comes twice.
fn quiet_game(plies: usize) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(75);
    let (mut at, mut seen, mut game) = (Chess::default(), HashSet::new(), Vec::new());
    while game.len() < plies {
        let is_new = |by: &Move| {
            let mut after = at.clone();
            after.play_unchecked(*by);
            is_quiet(&at, by) && !seen.contains(&(after.board().clone(), after.turn()))
        };
        let moves: Vec<Move> = at.legal_moves().into_iter().filter(is_new).collect();
        let by = *random.choice(&moves).expect("the seed leads into no corner");
        game.push(by.to_uci(at.castles().mode()).to_string());
        at.play_unchecked(by);
        seen.insert((at.board().clone(), at.turn()));
    }
    game
}

/// What is said beside half-moves, with the number of those before it.
fn said_under(laws: &str, game: &[String]) -> Vec<(usize, String)> {
    let text = format!("== quiet\nlaws: {laws}\nstart:w {}\n", game.join(" "));
    let script = parse(&text).remove(0);
    let mut plies = 0;
    let mut beside = Vec::new();
    for word in summary(&events(&played(&script), "quiet")) {
        if word.parse::<UciMove>().is_ok() {
            plies += 1;
        } else {
            beside.push((plies, word));
        }
    }
    beside
}

#[test]
fn fifty_moves_are_told_and_seventy_five_end_the_game_where_the_laws_have_them() {
    let game = quiet_game(152);
    let told = |ply: usize, word: &str| (ply, word.to_owned());
    let today = [
        told(0, "game"),
        told(100, "notice:fifty_moves"),
        told(150, "1/2-1/2(seventy_five_moves)"),
    ];
    assert_eq!(said_under("2023", &game), today);
    assert_eq!(said_under("2014", &game), today);
    assert_eq!(
        said_under("1997-fritz", &game),
        today[..2],
        "nothing ends it in 1997"
    );
}
