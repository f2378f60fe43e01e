//! A clock that says nothing once the line is there again holds up nothing for long.

use dgt2mqtt::{
    capture::{Act, Capture, Record},
    time::Millis,
};

use crate::{
    play::{play_whole, recorded},
    said::accused_besides,
};

/// White has moved a black knight and pressed; it is put right, and two half-moves are played.
const OFFENCE: &str = "illegal-opponents-piece";
/// For so long the same stands on the board, in milliseconds.
const LONG_MS: u64 = 45_000;

/// After so long a silence the daemon gives up a line, in milliseconds.
const GIVEN_UP_MS: u64 = 11_000;

/// A game, whose line says nothing from `out` on, is given up, and is there again after its end. The clock says nothing since then.
fn without_clock(game: &Capture, out: Millis) -> Capture {
    let mut capture = game.clone();
    let stands = capture.records.last().unwrap().act.clone();
    let up = capture.end() + GIVEN_UP_MS;
    capture.records.retain(|record| record.at <= out);
    let since = [
        (out + GIVEN_UP_MS, Act::LinkDown),
        (up, Act::LinkUp),
        (up + 100, stands.clone()),
        (up + LONG_MS, stands),
    ];
    let since = since.into_iter().map(|(at, act)| Record { at, act });
    capture.records.extend(since);
    capture
}

/// The line falls silent before anybody told the offence, and after it was told. The clock ran then.
#[test]
fn what_was_played_on_unseen_is_told_beside_a_clock_that_says_nothing() {
    let fixture = recorded(OFFENCE);
    let whole = fixture.whole();
    for out in [5500, 6800] {
        let got = play_whole(&without_clock(&fixture.capture, Millis(out)));
        assert_eq!(got.moves, whole.moves, "silent from {out} on");
        assert_eq!(
            accused_besides(&got.events, &whole.events, true),
            [""; 0],
            "{out}"
        );
    }
}
