//! What must hold of each family's wire for any bytes.

use dgt2mqtt::{
    dgt::{PieceCode, Wish},
    families::{Driver, Family, Protocol, Told},
    time::Millis,
};

/// What a driver keeps, written out, is no longer than this, however much it hears.
const KEPT: usize = 2000;
/// A board that is silent for so long is gone (milliseconds).
const GONE_MS: u64 = 60_000;

/// Asserts every property for these bytes.
///
/// # Panics
/// When one does not hold.
pub(crate) fn family(protocol: Protocol, data: &[u8]) {
    let Some(family) = protocol.family() else { return };
    let whole = told_by(family, [data]);
    assert_eq!(
        told_by(family, split(data)),
        whole,
        "another split, another meaning"
    );
    for told in &whole.0 {
        if let Told::Squares(squares) = told {
            assert!(
                squares.iter().all(|piece| piece.0 <= PieceCode::UNKNOWN.0),
                "{squares:?}"
            );
            let board = (family.board)();
            let again = told_by(family, [&board.tell(squares)[..]]).0;
            assert_eq!(again, [*told], "what was written is read differently");
        }
    }
    comes_back_in_step(family, data);
    deadlines(family, data);
    the_other_end(family, data);
}

/// What a board says a second after any bytes is read, and nothing else besides.
fn comes_back_in_step(family: &Family, data: &[u8]) {
    let mut driver = (family.driver)();
    let mut told = Vec::new();
    driver.link_up(Millis(0));
    driver.bytes(Millis(0), data, &mut |what| told.push(what));
    let before = told.len();
    assert!(format!("{driver:?}").len() <= KEPT, "what is kept grows");
    let squares = std::array::from_fn(|square| match square {
        0..16 if family.knows_pieces => PieceCode(7 + square as u8 % 6),
        0..16 => PieceCode::UNKNOWN,
        _ => PieceCode::EMPTY,
    });
    let frame = (family.board)().tell(&squares);
    // Where lines end and nothing else tells a frame from the next, what has begun takes the first with it.
    let frames = if family.knows_pieces { 1 } else { 2 };
    for _ in 0..frames {
        driver.bytes(Millis(1000), &frame, &mut |what| told.push(what));
    }
    assert_eq!(
        told.last(),
        Some(&Told::Squares(squares)),
        "the next frame is lost"
    );
    assert!(told.len() <= before + frames, "what nobody said is told");
}

/// The board's end takes anything as well, and does not answer without measure.
fn the_other_end(family: &Family, data: &[u8]) {
    let (mut board, squares) = ((family.board)(), [PieceCode::EMPTY; 64]);
    let mut answers = Vec::new();
    board.hear(data, &squares, &mut answers);
    assert!(
        answers.len() <= data.len() * board.tell(&squares).len(),
        "too much is answered"
    );
    assert!(format!("{board:?}").len() <= KEPT, "what a board keeps grows");
}

/// Chunks of a size that the data themselves choose.
fn split(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let size = usize::from(*rest.first()?) % 13 + 1;
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        Some(chunk)
    })
}

/// All that bytes tell that come at once.
pub(super) fn all(protocol: Protocol, data: &[u8]) -> Vec<Told> {
    let family = protocol.family();
    family.map(|family| told_by(family, [data]).0).unwrap_or_default()
}

/// What the bytes tell, and how often they tell nothing.
fn told_by<'a>(family: &Family, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Told>, u64) {
    let (mut driver, mut told) = ((family.driver)(), Vec::new());
    driver.link_up(Millis(0));
    for chunk in chunks {
        driver.bytes(Millis(0), chunk, &mut |what| told.push(what));
    }
    (told, driver.garbled())
}

/// Whatever a driver hears and whenever: its deadlines pass, it says nothing that may harm a board, and a board that can be asked
/// and is silent is given up.
fn deadlines(family: &Family, data: &[u8]) {
    let mut driver = (family.driver)();
    let mut now = Millis(0);
    driver.link_up(now);
    for chunk in split(data) {
        now = now + u64::from(chunk[0]) * 20;
        driver.bytes(now, chunk, &mut |_| {});
        passes(family, driver.as_mut(), now);
    }
    let end = now + GONE_MS;
    let mut is_given_up = false;
    while let Some(due) = driver.poll_timeout().filter(|due| *due <= end && !is_given_up) {
        is_given_up = passes(family, driver.as_mut(), due) == Some(Wish::Reopen);
    }
    assert!(
        is_given_up || (family.commands)().is_empty(),
        "a silent board is waited for"
    );
}

/// Time comes to `now`. Returns what is wished.
fn passes(family: &Family, driver: &mut dyn Driver, now: Millis) -> Option<Wish> {
    driver.handle_timeout(now);
    assert!(
        driver.poll_timeout().is_none_or(|next| next > now),
        "a deadline that does not pass"
    );
    while let Some(command) = driver.poll_transmit() {
        assert!(family.protocol.may_be_said(&command), "{command:?} is said");
    }
    driver.poll_wish()
}
