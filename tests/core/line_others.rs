//! Another program on the line asks for changes, which are told only once: what it takes away may be missed, and nobody is accused
//! because of it. Made-up games in virtual time.

use std::env;

use dgt2mqtt::{
    sim::{
        line::Troubles,
        mess::Fault,
        rehearsal::{
            kinds::{self, GameKind},
            line::LineRehearsal,
            verdict::Judgement,
        },
    },
    time::Millis,
};

use crate::line_games::troubles_seed;

/// Games of these kinds on one line that somebody else asks for a while in their midst, and who is said to be at fault in them.
fn play(kinds: &[GameKind], seed: u64) -> (Judgement, u64) {
    let games: Vec<_> = kinds.iter().map(|kind| kind.game(seed).1).collect();
    let mut hall = LineRehearsal::of_games(&games, Troubles::default(), troubles_seed());
    hall.is_asked_by_another(seed, Millis(60_000), Millis(400_000));
    hall.run(Millis(8 * 3_600_000));
    let mut all = Judgement::default();
    for ((kind, game), seat) in kinds.iter().zip(&games).zip(&hall.seats) {
        let mut verdict = Judgement::of(&game.truth, &seat.events);
        for fault in &mut verdict.faults {
            *fault = format!("{} {seed}: {fault}", kind.name);
        }
        all += verdict;
    }
    (all, hall.figures().unasked)
}

#[test]
fn nobody_is_accused_because_another_program_asks_for_changes() {
    let is_full = env::var_os("DGT2MQTT_FULL").is_some();
    let kinds: Vec<_> = kinds::all();
    // A line of many boards gathers of itself.
    let kinds: Vec<_> = kinds
        .into_iter()
        .filter(|kind| kind.fault != Some(Fault::Gathered) && !kind.on_line)
        .collect();
    let (mut all, mut unasked) = (Judgement::default(), 0);
    for seed in if is_full { 100..108 } else { 100..101 } {
        for kinds in kinds.chunks(12).take(if is_full { usize::MAX } else { 2 }) {
            let (verdict, heard) = play(kinds, seed);
            all += verdict;
            unasked += heard;
        }
    }
    eprintln!("{all:#?}, {unasked} answers to another program");
    assert!(unasked > 500);
    // What is promised of games that nobody disturbs; a few games are none.
    let falsely = 1e4 * all.accused_falsely as f64 / all.plies as f64;
    assert!(
        all.advice < 2 * all.games,
        "a suspicion is said once: {}",
        all.advice
    );
    assert!(falsely < 1.0, "{falsely:.1} in 10,000: {:#?}", all.faults);
}
