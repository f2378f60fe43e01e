//! The demo runs by itself, and what it prints is what its game contains.
#![cfg(feature = "demo")]

use std::{path::Path, process::Command};

use assert_cmd::cargo::CommandCargoExt;
use dgt2mqtt::sim::{
    games::from_pgn,
    story::{IRREGULARITIES, PGN},
};
use shakmaty::{Chess, Position, san::SanPlus};

#[test]
fn the_printed_events_are_those_of_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::cargo_bin("dgt2mqtt")
        .unwrap()
        .args(["demo", "--speed", "1.5"])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );

    // Every move, in order, numbered as players do.
    let mut position = Chess::default();
    let mut rest = said.as_str();
    for (ply, mv) in (1u32..).zip(&from_pgn(PGN).unwrap()[0]) {
        let dots = if ply % 2 == 1 { "." } else { "..." };
        let san = SanPlus::from_move_and_play_unchecked(&mut position, *mv);
        let wanted = format!("{}{dots} {san} ", ply.div_ceil(2));
        let found = rest
            .find(&wanted)
            .unwrap_or_else(|| panic!("{wanted:?} is missing:\n{said}"));
        rest = &rest[found..];
    }
    assert!(position.is_checkmate());
    assert!(rest.contains("1-0"), "{said}");

    let count = |text: &str| said.matches(text).count();
    assert_eq!(count("IRREGULARITY"), IRREGULARITIES.len(), "{said}");
    assert_eq!(count("Put right"), IRREGULARITIES.len(), "{said}");
    for title in [
        "Clock pressed without a move",
        "Pieces displaced",
        "Illegal move",
        "out of turn",
    ] {
        assert!(said.contains(title), "{title:?} is missing:\n{said}");
    }
    assert!(said.contains("[♗]"), "the square of the illegal move is marked");
    // Nothing is left behind.
    assert_eq!(Path::new(folder.path()).read_dir().unwrap().count(), 0);
}
