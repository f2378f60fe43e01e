use crate::{
    dgt::{ClockReading, Lever, Message, PieceCode},
    event::Certainty,
    time::Millis,
    watcher::{
        Settings, Watcher,
        testing::{certainties, clock, hear, initial_pieces},
    },
};

/// White plays the knight on g1, whose chip says `code`, to f3, and presses. The chips of `others` are wrong, too.
fn knight_that_says(code: u8, others: &[(usize, u8)]) -> Vec<Certainty> {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = initial_pieces();
    for (square, code) in others.iter().chain(&[(62, code)]) {
        squares[*square] = PieceCode(*code);
    }
    hear(&mut watcher, 100, Message::Dump(&squares));
    hear(&mut watcher, 1500, clock(Lever::LeftHigh));
    for (at, square, code) in [(4000, 62, 0), (4300, 45, code)] {
        let piece = PieceCode(code);
        hear(&mut watcher, at, Message::Field { square, piece });
    }
    for at in (4600..9000).step_by(1000) {
        hear(&mut watcher, at, clock(Lever::RightHigh));
    }
    certainties(&mut watcher)
}

#[test]
fn a_piece_with_the_chip_of_another_is_only_suspected() {
    assert_eq!(knight_that_says(3, &[]), [], "a knight");
    assert_eq!(knight_that_says(4, &[]), [], "a knight with the chip of a bishop");
    assert_eq!(
        knight_that_says(4, &[(1, 10), (6, 10)]),
        [Certainty::Certain, Certainty::Suspected],
        "more chips than are mended: the wrong array, and a bishop of which a set has two"
    );
}

/// White leaves a pawn on the last rank and presses, and Black replies: that is an offence, and the record has what stands there.
/// Then White makes an illegal move. Nothing is in doubt.
#[test]
fn an_offence_after_an_answered_one_is_certain() {
    let mut watcher = Watcher::new(Settings::default(), None);
    watcher.handle_link_up(Millis(0), "port");
    let mut squares = [PieceCode::EMPTY; 64];
    for (square, code) in [(8, 1), (15, 11), (55, 5)] {
        squares[square] = PieceCode(code);
    }
    let change = |watcher: &mut Watcher, at, square, code| {
        let piece = PieceCode(code);
        hear(watcher, at, Message::Field { square, piece });
    };
    hear(&mut watcher, 100, Message::Dump(&squares));
    let standing = ClockReading::of_seconds(600, 600, false, Lever::LeftHigh);
    hear(&mut watcher, 200, Message::Clock(standing));
    hear(&mut watcher, 1200, clock(Lever::LeftHigh));
    let half_moves = [
        [(55, 0), (54, 5)],
        [(15, 0), (23, 11)],
        [(8, 0), (0, 1)],
        [(23, 0), (22, 11)],
        [(54, 0), (38, 5)],
    ];
    let mut now = 2000;
    for (i, [left, came]) in half_moves.into_iter().enumerate() {
        change(&mut watcher, now, left.0, left.1);
        change(&mut watcher, now + 250, came.0, came.1);
        let lever = if i % 2 == 0 {
            Lever::RightHigh
        } else {
            Lever::LeftHigh
        };
        for after in [550, 1550, 2550] {
            hear(&mut watcher, now + after, clock(lever));
        }
        now += 3500;
    }
    assert_eq!(
        certainties(&mut watcher),
        [Certainty::Certain, Certainty::Certain]
    );
}
