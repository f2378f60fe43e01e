//! A daemon that is started while somebody plays: it accuses nobody, and what it tells are half-moves of the game.

use dgt2mqtt::{
    event::{Body, Certainty, Event},
    time::Millis,
};

use crate::{
    late::is_full,
    play::{fixtures, play_late, recorded},
    restarts::besides,
};

/// The pieces were arranged after the board had shown which way round it lies, and the daemon came later: it takes the board for
/// one that lies the other way round, and pawns for pieces that go backwards.
#[test]
fn nor_does_one_that_takes_the_board_for_turned() {
    let fixture = recorded("famous-rook-to-e1");
    for at in [2241, 2979, 3062, 4113, 4318, 4796] {
        let got = play_late(&fixture.capture, Millis(at));
        let said: Vec<_> = besides(&fixture, &got).iter().map(|one| one.ply).collect();
        assert!(said.is_empty(), "started at {at}: {said:?}");
        let suspected = |event: &Event| matches!(&event.body, Body::Irregularity(said) if said.certainty == Certainty::Suspected);
        assert!(
            got.events.iter().any(suspected),
            "started at {at}: it is looked at, and told"
        );
    }
}

/// White has castled by now, and the pieces stand no more as in any array: Black may castle by the rule of Chess960 all the same.
#[test]
fn nor_does_one_that_comes_when_one_player_has_castled_in_chess960() {
    let fixture = recorded("chess960");
    for at in [1825, 2000, 2150, 2300] {
        let got = play_late(&fixture.capture, Millis(at));
        let said: Vec<_> = besides(&fixture, &got).iter().map(|one| one.ply).collect();
        assert!(said.is_empty(), "started at {at}: {said:?}");
    }
}

/// True where `told` are half-moves of the game in a row. Pieces that were put down in one lump may be told in another order.
fn are_of(told: &[String], all: &[String]) -> bool {
    let sorted = |part: &[String]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part
    };
    told.is_empty() || all.windows(told.len()).any(|part| sorted(part) == sorted(told))
}

/// Nobody knows what was played before, nor whose side of the clock is whose.
#[test]
fn nor_does_one_that_is_started_in_the_middle() {
    let seeds = if is_full() { 1..21 } else { 1..2 };
    let (mut tried, mut wrong) = (0, Vec::new());
    let (mut told, mut other) = (0, Vec::new());
    for fixture in fixtures() {
        for seed in seeds.clone() {
            let mut random = fastrand::Rng::with_seed(seed ^ fixture.capture.end().0);
            let at = random.u64(..fixture.capture.end().0.max(1));
            tried += 1;
            let got = play_late(&fixture.capture, Millis(at));
            for one in besides(fixture, &got) {
                wrong.push(format!("{}, started at {at}: {one:?}", fixture.name));
            }
            told += got.moves.len();
            if !are_of(&got.moves, &fixture.whole().moves) {
                other.push(format!(
                    "{}, started at {at}: {:?} of {:?}",
                    fixture.name,
                    got.moves,
                    fixture.whole().moves
                ));
            }
        }
    }
    println!(
        "{tried} late starts, {told} half-moves, {} games otherwise",
        other.len()
    );
    let of = format!("{} of {tried} wrong:", wrong.len());
    assert!(wrong.is_empty(), "{of}\n{}", wrong.join("\n"));
    // Among the games are those whose record is no row of half-moves: acts that were let stand, or taken back.
    assert!(
        told >= 2 * tried && other.len() * 20 <= tried,
        "{}",
        other.join("\n")
    );
}
