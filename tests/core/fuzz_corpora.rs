//! The seeds of the fuzz targets, and inputs made from them by damage, at the doors that take what others wrote. The
//! same checks run under coverage guidance: `fuzz/README.md`. `DGT2MQTT_FULL=1`: a hundred times as many.

use std::{fs, path::Path};

use fastrand::Rng;

use crate::checks;

use crate::seed::seed;

/// Bytes that mean something at some door.
const SPICE: &[&[u8]] = &[
    b"{",
    b"}",
    b"\"",
    b":",
    b",",
    b"[",
    b"]",
    b"\n",
    b"\t",
    b"\0",
    b"\\u0000",
    b"-1",
    b"1e999",
    b"null",
    b"18446744073709551615",
    b"0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"<",
    b">",
    b"!",
    b"# ",
    b"dgt2mqtt/gw/board/1/cmd/",
    b"ref",
    b" w KQkq - 0 1",
    b"8e 00 05 34 00",
    b"[64,0]",
];

fn seeds(door: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(door);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds in {}", folder.display());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Some bytes fall out, come in, change, or come from another seed.
fn damaged(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.choice(seeds).unwrap().clone();
    for _ in 0..rng.usize(1..6) {
        let place = rng.usize(..=bytes.len());
        let end = (place + rng.usize(0..20)).min(bytes.len());
        match rng.u8(0..5) {
            0 => drop(bytes.drain(place..end)),
            1 => drop(bytes.splice(place..place, rng.choice(SPICE).unwrap().iter().copied())),
            2 => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << rng.u8(0..8);
                }
            }
            3 => {
                let other = rng.choice(seeds).unwrap();
                let from = rng.usize(..=other.len());
                let to = (from + rng.usize(0..60)).min(other.len());
                bytes.splice(place..end, other[from..to].iter().copied());
            }
            _ => {
                let again = bytes[place..end].to_vec();
                bytes.splice(place..place, again);
            }
        }
    }
    bytes
}

#[test]
fn no_input_at_any_door_panics() {
    let seed = seed();
    let rounds = if std::env::var_os("DGT2MQTT_FULL").is_some() {
        50_000
    } else {
        500
    };
    for (door, check) in checks::DOORS {
        let seeds = seeds(door);
        let mut rng = Rng::with_seed(seed);
        for seed in &seeds {
            check(seed);
        }
        for round in 0..rounds {
            let bytes = damaged(&seeds, &mut rng);
            let held = std::panic::catch_unwind(|| check(&bytes));
            assert!(
                held.is_ok(),
                "{door}, round {round}: {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
        println!("{door}: {} seeds, {rounds} made from them", seeds.len());
    }
}
