//! The players at the board and the round. The settings give them before the game, and a change of the round
//! gives the next ones while the daemon runs.

use std::collections::BTreeSet;

use super::{beside::Beside, phase::Phase, play::Play, take_over::leave_parked, world::World};
use crate::{
    event::GameResult,
    time::Millis,
    watcher::{Settings, Table},
};

/// Sets the players and the round from the next game on. The present game takes corrected names if it is
/// of the same round; otherwise it keeps its own. A parked game of another round ends. What was played
/// since is the next game, unless the players only analysed. With `paired` each board plays one game in
/// a round.
pub(super) fn set_table(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    table: Table,
    paired: bool,
) {
    let Table {
        players,
        event,
        round,
    } = table;
    (world.settings.players, world.settings.event, world.settings.round) = (players, event, round);
    if put_names_right(&world.settings, play, paired) {
        play.emit(&world.settings, now, Table::of(&world.settings).corrected());
    }
    beside.step(world, play.out.before, |world, copy| {
        put_names_right(&world.settings, copy, paired);
    });
    let waits = matches!(&play.phase, Phase::Game(game) if game.outcome.parked && game.table.round != round);
    if !waits {
        return;
    }
    if let Some((game, mut ctx)) = play.game_and_ctx(world, now) {
        game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
    }
    leave_parked(world, play, beside, now);
}

/// Gives the present game the right number of its round, where it has one of the `former` ones.
pub(super) fn renumber(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
    former: &BTreeSet<u32>,
    round: Option<u32>,
) {
    let renumbered = |play: &mut Play| {
        let Phase::Game(game) = &mut play.phase else {
            return None;
        };
        game.table.round.filter(|round| former.contains(round))?;
        game.table.round = round;
        play.out.changed.game = true;
        Some(game.table.clone())
    };
    if let Some(table) = renumbered(play) {
        play.emit(&world.settings, now, table.corrected());
    }
    beside.step(world, play.out.before, |_, copy| {
        renumbered(copy);
    });
}

/// Gives the game the names of the settings if it is of their round. True where it had others.
fn put_names_right(settings: &Settings, play: &mut Play, paired: bool) -> bool {
    let table = Table::of(settings);
    let Phase::Game(game) = &mut play.phase else {
        return false;
    };
    // Without pairings, two players may play a second game in the same round, with exchanged colours.
    let [white, black] = &game.table.players;
    let is_exchanged = white != black && table.players == [black.clone(), white.clone()];
    let is_next = game.outcome.result.is_some() && is_exchanged && !paired;
    let is_same_round = table.round.is_some() && game.table.round == table.round;
    if !is_same_round || game.table == table || is_next {
        return false;
    }
    game.table = table;
    play.out.changed.game = true;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dgt::{ClockReading, Lever, Message, PieceCode},
        event::{Body, Event},
        watcher::{
            Command, Settings, Snapshot, Watcher,
            testing::{after_e4_under, clock, hear, initial_pieces},
        },
    };

    fn table(white: &str, round: u32) -> Table {
        Table {
            players: [Some(white.into()), Some("Tal".into())],
            event: Some("Open".into()),
            round: Some(round),
        }
    }

    fn first_round() -> Watcher {
        let Table {
            players,
            event,
            round,
        } = table("Moss", 1);
        let settings = Settings {
            players,
            event,
            round,
            ..Settings::default()
        };
        let mut watcher = after_e4_under(settings);
        drained(&mut watcher);
        watcher
    }

    fn drained(watcher: &mut Watcher) -> Vec<Event> {
        std::iter::from_fn(|| watcher.poll_event()).collect()
    }

    /// Puts the pawn back, so that the initial position stands. If `plays` is true, a game begins with the
    /// same half-move.
    fn set_up_and_play(watcher: &mut Watcher, at: u64, plays: bool) {
        let (none, pawn) = (PieceCode::EMPTY, PieceCode(1));
        let Message::Clock(reading) = clock(Lever::RightHigh) else {
            unreachable!("it is a reading of the clock")
        };
        let stopped = ClockReading {
            running: false,
            ..reading
        };
        hear(watcher, at - 500, Message::Clock(stopped));
        let mut show = |at, square, piece| hear(watcher, at, Message::Field { square, piece });
        show(at, 36, none);
        show(at + 300, 52, pawn);
        hear(watcher, at + 6000, Message::Dump(&initial_pieces()));
        if plays {
            hear(watcher, at + 10_000, clock(Lever::LeftHigh));
            for (after, square, piece) in [(11_000, 52, none), (11_300, 36, pawn)] {
                hear(watcher, at + after, Message::Field { square, piece });
            }
            hear(watcher, at + 11_600, clock(Lever::RightHigh));
            hear(watcher, at + 13_000, clock(Lever::RightHigh));
        }
    }

    /// The events in short, each with the number of its game.
    fn told(events: &[Event]) -> Vec<String> {
        let told = |event: &Event| {
            let game = event.game.unwrap_or_default();
            match &event.body {
                Body::GameStarted { white, round, .. } => {
                    format!("{game} begins: {} {}", white.as_deref().unwrap(), round.unwrap())
                }
                Body::GameEnded { result, reason, .. } => format!("{game} {} {reason}", result.as_str()),
                Body::Move(made) => format!("{game} {}", made.uci),
                Body::Notice { code, .. } => format!("{game} {code}"),
                Body::NamesCorrected { white, .. } => format!("{game} is of {}", white.as_deref().unwrap()),
                _ => String::new(),
            }
        };
        events.iter().map(told).filter(|told| !told.is_empty()).collect()
    }

    #[test]
    fn a_game_that_waits_for_its_result_ends_when_the_next_round_is_paired() {
        let mut watcher = first_round();
        set_up_and_play(&mut watcher, 10_000, true);
        assert_eq!(told(&drained(&mut watcher)), ["1 set_up_without_result"]);
        // Corrected names in the same round are told.
        watcher.take_changed();
        watcher.set_table(Millis(30_000), table("Mosse", 1));
        assert_eq!(told(&drained(&mut watcher)), ["1 is of Mosse"]);
        watcher.set_table(Millis(30_100), table("Mosse", 1));
        assert_eq!(told(&drained(&mut watcher)), [""; 0], "once");
        assert!(watcher.take_changed().game);
        assert!(watcher.pgn().unwrap().contains("[White \"Mosse\"]"));
        watcher.set_table(Millis(31_000), table("Berg", 2));
        let events = drained(&mut watcher);
        assert_eq!(
            told(&events),
            ["1 * pieces_set_up_anew", "2 begins: Berg 2", "2 e2e4"]
        );
        assert!(watcher.pgn().unwrap().contains("[White \"Berg\"]"));
    }

    #[test]
    fn colours_that_were_exchanged_in_the_pairings_are_put_right_after_the_result_too() {
        let exchanged = || Table {
            players: [Some("Tal".into()), Some("Moss".into())],
            ..table("Moss", 1)
        };
        for paired in [false, true] {
            let mut watcher = first_round();
            let ended = Command::Result {
                result: GameResult::Draw,
                game: None,
                reason: None,
            };
            watcher.handle_command(Millis(9_000), ended).unwrap();
            drained(&mut watcher);
            if paired {
                watcher.pair(Millis(9_500), exchanged());
            } else {
                watcher.set_table(Millis(9_500), exchanged());
            }
            let expected: &[&str] = if paired { &["1 is of Tal"] } else { &[] };
            assert_eq!(told(&drained(&mut watcher)), expected);
            let pgn = watcher.pgn().unwrap();
            assert_eq!(pgn.contains("[White \"Tal\"]"), paired, "{pgn}");
        }
    }

    #[test]
    fn a_game_keeps_its_names_over_a_restart() {
        let mut watcher = first_round();
        watcher.set_table(Millis(10_000), table("Berg", 2));
        let text = serde_json::to_string(&watcher.snapshot()).unwrap();
        let Table {
            players,
            event,
            round,
        } = table("Berg", 2);
        let settings = Settings {
            players,
            event,
            round,
            ..Settings::default()
        };
        let mut again = Watcher::new(settings, Some(Snapshot::kept(Some(&text), 20)));
        again.set_table(Millis(0), table("Berg", 2));
        for watcher in [&watcher, &again] {
            let pgn = watcher.pgn().unwrap();
            assert!(pgn.contains("[White \"Moss\"]"), "{pgn}");
            assert!(pgn.contains("[Round \"1"), "{pgn}");
        }
        assert_eq!(told(&drained(&mut again)), [""; 0]);
        // Players who set up the pieces now do so for the next round, so no notice asks.
        set_up_and_play(&mut watcher, 20_000, true);
        let events = told(&drained(&mut watcher));
        assert_eq!(events, ["1 * pieces_set_up_anew", "2 begins: Berg 2", "2 e2e4"]);
    }

    #[test]
    fn a_round_put_in_force_before_a_crash_ends_the_parked_game_after_it() {
        let mut watcher = first_round();
        set_up_and_play(&mut watcher, 10_000, false);
        drained(&mut watcher);
        let text = serde_json::to_string(&watcher.snapshot()).unwrap();
        let mut again = Watcher::new(Settings::default(), Some(Snapshot::kept(Some(&text), 20)));
        again.set_table(Millis(0), table("Berg", 2));
        assert_eq!(told(&drained(&mut again)), ["1 * pieces_set_up_anew"]);
    }
}
