use crate::{
    dgt::{Lever, Message, PieceCode},
    time::Millis,
    watcher::{
        Watcher,
        testing::{after_e4, clock, hear, initial_pieces},
    },
};

fn play(watcher: &mut Watcher, at: u64, (from, to, code): (u8, u8, u8), lever: Lever) {
    for (at, square, code) in [(at, from, 0), (at + 300, to, code)] {
        let piece = PieceCode(code);
        hear(watcher, at, Message::Field { square, piece });
    }
    hear(watcher, at + 600, clock(lever));
    hear(watcher, at + 1600, clock(lever));
}

/// 1.e4 e6 2.d4 d5 3.exd5 exd5: of the exchange the board tells nothing, and only a dump shows that a pawn of each player is gone.
#[test]
fn an_exchange_is_found_by_the_pieces_that_both_players_lack() {
    let mut watcher = after_e4();
    play(&mut watcher, 6000, (12, 20, 7), Lever::LeftHigh);
    play(&mut watcher, 9000, (51, 35, 1), Lever::RightHigh);
    play(&mut watcher, 12_000, (11, 27, 7), Lever::LeftHigh);
    hear(&mut watcher, 15_000, clock(Lever::RightHigh));
    hear(&mut watcher, 15_400, clock(Lever::LeftHigh));
    let mut squares = initial_pieces();
    for (square, code) in [(52, 0), (12, 0), (51, 0), (35, 1), (11, 0), (27, 7)] {
        squares[square] = PieceCode(code);
    }
    hear(&mut watcher, 15_600, Message::Dump(&squares));
    hear(&mut watcher, 25_000, clock(Lever::LeftHigh));
    let moves = watcher.game().moves;
    assert_eq!(moves, ["e2e4", "e7e6", "d2d4", "d7d5", "e4d5", "e6d5"]);
    let said = std::iter::from_fn(|| watcher.poll_event());
    let accused = said.filter(|event| matches!(event.body, crate::event::Body::Irregularity(_)));
    assert_eq!(accused.count(), 0);
    assert!(watcher.poll_timeout().is_none_or(|due| due > Millis(25_000)));
}
