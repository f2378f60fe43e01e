//! Cables that are out for four to eight half-moves, on boards that keep no log: the game goes on under its number.

use dgt2mqtt::sim::{
    mess::{self, FaultRates},
    rehearsal::{rehearse, verdict::Judgement},
};

/// What comes of so many made-up games in which this goes wrong.
fn played(faults: &str) -> Judgement {
    let faults: FaultRates = faults.parse().unwrap();
    let mut all = Judgement::default();
    for seed in 1..=60 {
        let game = mess::play(&faults, seed);
        all += Judgement::of(&game.truth, &rehearse(&game).events);
    }
    println!("{faults}: {} of {} half-moves followed", all.followed, all.asked);
    all
}

#[test]
fn half_moves_after_a_gap_are_followed() {
    let all = played("gap-long=0.03");
    assert!(all.followed * 100 >= all.asked * 99, "{:#?}", all.faults);
    assert_eq!(all.accused_falsely, 0, "{:#?}", all.faults);
}

#[test]
fn they_are_past_squares_that_read_nothing() {
    let all = played("gap-long=0.02,dead-squares=1");
    assert!(all.followed * 100 >= all.asked * 95, "{:#?}", all.faults);
    assert_eq!(all.accused_falsely, 0, "{:#?}", all.faults);
}
