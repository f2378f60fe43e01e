//! Messy games on boards that tell whole positions and have no clock: nobody is accused, and the half-moves are right.
//! `DGT2MQTT_FULL=1` plays ten times as many; `DGT2MQTT_SOAK_SEED` gives the first seed, `DGT2MQTT_SOAK_DIR` keeps what went wrong.

use std::{env, fs, path::PathBuf, thread};

use dgt2mqtt::{
    families::{FAMILIES, Protocol},
    sim::{
        mess::{self, Fault, FaultRates},
        rehearsal::{rehearse_on, verdict::Judgement},
    },
};
use fastrand::Rng;

/// What hands do in every game.
const USUAL: &str =
    "no-clock,drag=0.12,swept=0.1,place-first=0.05,overlap=0.03,adjust=0.02,second-thoughts=0.005";
/// What happens besides, in turn two of them.
const BESIDES: [Fault; 16] = [
    Fault::Drag,
    Fault::Swept,
    Fault::PlaceFirst,
    Fault::Castling,
    Fault::Promotion,
    Fault::EnPassant,
    Fault::SecondThoughts,
    Fault::Adjust,
    Fault::Knocked,
    Fault::DeadSquare,
    Fault::Misread,
    Fault::LostUpdate,
    Fault::SlowScan,
    Fault::Turned,
    Fault::Chess960,
    Fault::Garbage,
];
/// Games of each family.
const GAMES: u64 = 50;
/// Percent of the half-moves that are right.
const LEAST_RIGHT: f64 = 99.8;

fn faults(seed: u64) -> FaultRates {
    let mut faults: FaultRates = USUAL.parse().unwrap();
    for fault in Rng::with_seed(seed).choose_multiple(BESIDES, 2) {
        let chance = if fault.usual() < 1.0 {
            fault.usual() / 2.0
        } else {
            1.0
        };
        let chance = chance.max(faults.of(fault));
        faults = faults.with_chance(fault, chance);
    }
    faults
}

fn game(protocol: Protocol, seed: u64) -> Judgement {
    let faults = faults(seed);
    let game = mess::play(&faults, seed);
    let rehearsal = rehearse_on(protocol, &game);
    let mut verdict = Judgement::of(&game.truth, &rehearsal.events);
    if let Some(directory) = env::var_os("DGT2MQTT_SOAK_DIR")
        && !verdict.faults.is_empty()
    {
        let mut capture = rehearsal.capture.to_string();
        if protocol != Protocol::Dgt {
            capture = capture.replacen('\n', &format!("\n# protocol: {}\n", protocol.name()), 1);
        }
        let name = PathBuf::from(directory).join(format!("{}-{seed}", protocol.name()));
        fs::write(name.with_extension("dgtcap"), capture).unwrap();
        let moves: Vec<String> = game
            .truth
            .moves
            .iter()
            .map(|made| format!("{} {}", made.at, made.uci))
            .collect();
        fs::write(
            name.with_extension("txt"),
            format!("{faults}\n{:#?}\n{}", verdict.faults, moves.join("\n")),
        )
        .unwrap();
    }
    for fault in &mut verdict.faults {
        *fault = format!("{} {seed} ({faults}): {fault}", protocol.name());
    }
    verdict
}

fn play(protocol: Protocol) -> Judgement {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = number("DGT2MQTT_SOAK_SEED").unwrap_or(1);
    let games = if env::var_os("DGT2MQTT_FULL").is_some() {
        GAMES * 10
    } else {
        GAMES
    };
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let mut all = Judgement::default();
    thread::scope(|scope| {
        let part = |part: u64| {
            let seeds = (first..first + games).filter(move |seed| seed % threads == part);
            scope.spawn(move || seeds.map(|seed| game(protocol, seed)).collect::<Vec<_>>())
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        for verdict in parts.into_iter().flat_map(|part| part.join().unwrap()) {
            all += verdict;
        }
    });
    let right = 100.0 * all.right as f64 / all.plies as f64;
    println!(
        "{}: {} games, {} half-moves, {right:.2} % right, {} games right, {} accused, {} corrections",
        protocol.name(),
        all.games,
        all.plies,
        all.exact,
        all.accused_falsely,
        all.corrections
    );
    for fault in &all.faults {
        println!("{fault}");
    }
    all
}

fn are_followed(protocol: Protocol) {
    let all = play(protocol);
    assert_eq!(all.accused_falsely, 0, "nobody offends");
    let right = 100.0 * all.right as f64 / all.plies as f64;
    assert!(right >= LEAST_RIGHT, "{right:.2} % of the half-moves are right");
}

#[test]
fn messy_games_on_each_family_that_knows_pieces_are_followed() {
    for family in FAMILIES.iter().filter(|family| family.knows_pieces) {
        are_followed(family.protocol);
    }
}

/// What the same games come to on a DGT board without a clock: to compare.
#[test]
#[ignore = "a figure, no claim"]
fn messy_games_on_dgt_without_a_clock() {
    play(Protocol::Dgt);
}
