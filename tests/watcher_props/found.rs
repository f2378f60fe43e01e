//! The journal is lost in mid-game: a card died. The broker has kept what was published of the game, and it goes on from there.

use dgt2mqtt::{
    event::{Body, notice},
    time::Millis,
};

use crate::{
    late::{instants_of, is_full},
    play::{Fixture, fixtures, play_lost, recorded},
    said::{accused_besides, said},
};

/// How long the daemon is away, in milliseconds.
const AWAY_MS: u64 = 300;

/// What became of games whose journal was lost.
#[derive(Debug, Default)]
struct Lost {
    games: usize,
    /// They have all half-moves.
    whole: usize,
    /// Offences that were pressed for while the daemon listened.
    offences: usize,
    /// Those that it neither says nor suspects.
    silent: usize,
    /// Who is accused of what he did not do.
    wrong: Vec<String>,
}

/// The journal of each fixture is lost at random instants.
fn lost() -> Lost {
    let mut lost = Lost::default();
    let seeds = if is_full() { 1..21 } else { 1..3 };
    for (fixture, seed) in fixtures()
        .iter()
        .flat_map(|fixture| seeds.clone().map(move |seed| (fixture, seed)))
    {
        let Fixture { name, capture, .. } = fixture;
        let at = instants_of(name, seed).u64(..capture.end().0.max(1));
        let Some(got) = play_lost(capture, Millis(at), AWAY_MS) else {
            continue;
        };
        let whole = fixture.whole();
        lost.games += 1;
        lost.whole += usize::from(got.moves == whole.moves);
        let told = said(&got.events);
        let heard = said(&whole.events).into_iter();
        let heard: Vec<_> = heard
            .filter(|it| !it.is_suspicion() && it.at > at + AWAY_MS)
            .collect();
        let is_told = |it: &&crate::said::Said| {
            let mut told = told.iter();
            told.any(|other| other.what.kind == it.what.kind && other.what.offender == it.what.offender)
        };
        lost.offences += heard.len();
        lost.silent += heard.len() - heard.iter().filter(is_told).count();
        let besides = accused_besides(&got.events, &whole.events, true);
        lost.wrong.extend(
            besides
                .into_iter()
                .map(|it| format!("{name}, lost at {at}: {it}")),
        );
    }
    println!(
        "{} games, {} with all half-moves, {} of {} offences neither said nor suspected",
        lost.games, lost.whole, lost.silent, lost.offences
    );
    lost
}

#[test]
fn a_game_whose_journal_was_lost_goes_on_from_what_the_broker_has() {
    let lost = lost();
    assert_eq!(lost.wrong, [""; 0]);
    assert!(lost.whole * 100 >= lost.games * 85, "{lost:?}");
    assert!(lost.silent * 3 <= lost.offences, "{lost:?}");
}

/// The pieces were set up for the next game meanwhile.
#[test]
fn a_game_that_does_not_stand_on_the_board_is_not_taken_up() {
    let fixture = recorded("vienna-1910");
    let mut capture = fixture.capture.clone();
    let next = recorded("illegal-stands-rapid").capture;
    let until = 20_000;
    capture.records.retain(|record| record.at.0 < until);
    let later = next.records.into_iter().map(|mut record| {
        record.at = record.at + until + AWAY_MS;
        record
    });
    capture.records.extend(later);
    let got = play_lost(&capture, Millis(until), 2 * AWAY_MS).unwrap();
    let first = got.events.iter().find_map(|event| match &event.body {
        Body::Move(made) => Some((made.ply, made.uci.clone())),
        _ => None,
    });
    assert_eq!(first, Some((1, "e2e4".to_owned())));
    assert!(
        !got.events
            .iter()
            .any(|event| matches!(&event.body, Body::Notice { code, .. } if code == notice::GAME_FOUND))
    );
}
