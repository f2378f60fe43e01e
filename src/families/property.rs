//! What must hold of each family's wire for any bytes: shared by the fuzz target and the normal tests.

use super::{Family, Protocol, Told};
use crate::{dgt::PieceCode, time::Millis};

/// Asserts every property for these bytes.
///
/// # Panics
/// When one does not hold.
pub fn fuzz(protocol: Protocol, data: &[u8]) {
    let Some(family) = protocol.family() else { return };
    let whole = told(family, [data]);
    assert_eq!(told(family, split(data)), whole, "another split, another meaning");
    for told in &whole.0 {
        if let Told::Squares(squares) = told {
            assert!(
                squares.iter().all(|piece| piece.0 <= PieceCode::MAN.0),
                "{squares:?}"
            );
            let board = (family.board)();
            let again = self::told(family, [&board.tell(squares)[..]]).0;
            assert_eq!(again, [*told], "what was written is read differently");
        }
    }
    deadlines(family, data);
    // The board's end takes anything as well.
    let mut answers = Vec::new();
    (family.board)().hear(data, &[PieceCode::EMPTY; 64], &mut answers);
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

/// What the bytes tell, and how often they tell nothing.
fn told<'a>(family: &Family, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Told>, u64) {
    let (mut driver, mut told) = ((family.driver)(), Vec::new());
    driver.link_up(Millis(0));
    for chunk in chunks {
        driver.bytes(Millis(0), chunk, &mut |what| told.push(what));
    }
    (told, driver.garbled())
}

/// Whatever a driver hears and whenever: its deadlines pass.
fn deadlines(family: &Family, data: &[u8]) {
    let mut driver = (family.driver)();
    let mut now = Millis(0);
    driver.link_up(now);
    for chunk in split(data) {
        now = now + u64::from(chunk[0]) * 20;
        driver.bytes(now, chunk, &mut |_| {});
        driver.handle_timeout(now);
        assert!(
            driver.poll_timeout().is_none_or(|next| next > now),
            "a deadline that does not pass"
        );
        driver.poll_transmit();
        driver.poll_wish();
    }
}
