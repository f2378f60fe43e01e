//! What must hold of any bytes that a ChessLink may have said.

use super::family::{all, family};
use dgt2mqtt::families::{Protocol, Told};

/// Bytes of a position and of a version, and their letters.
const POSITION: (u8, usize) = (b's', 67);
const VERSION: (u8, usize) = (b'v', 7);

/// Asserts what holds of each family, and that all is told whose parity and sum are right, and nothing else.
///
/// # Panics
/// When one does not hold.
pub(crate) fn chesslink(data: &[u8]) {
    family(Protocol::Chesslink, data);
    let told = all(Protocol::Chesslink, data);
    let is_position = |told: &&Told| matches!(told, Told::Squares(_));
    let positions = told.iter().filter(is_position).count();
    assert_eq!(positions, right(data, POSITION), "positions");
    assert_eq!(told.len() - positions, right(data, VERSION), "versions");
}

/// How many frames of this letter and length are right. They cannot overlap: neither letter is a piece or a digit.
fn right(data: &[u8], (letter, length): (u8, usize)) -> usize {
    let frames = data.windows(length);
    frames
        .filter(|frame| frame[0] & 0x7f == letter && is_right(frame))
        .count()
}

fn is_right(frame: &[u8]) -> bool {
    let text: Vec<u8> = frame.iter().map(|c| c & 0x7f).collect();
    let (body, check) = text.split_at(text.len() - 2);
    let is_body = |c: &u8| match body[0] {
        b's' => b".PRNBKQprnbkq".contains(c),
        _ => c.is_ascii_hexdigit(),
    };
    let sum = format!("{:02X}", body.iter().fold(0, |sum, c| sum ^ c));
    let parity = frame.iter().all(|c| c.count_ones() % 2 == 1) || frame == text;
    parity && body[1..].iter().all(is_body) && check.eq_ignore_ascii_case(sum.as_bytes())
}
