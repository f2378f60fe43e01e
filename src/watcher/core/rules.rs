//! The rules of the event may change while the daemon runs, or while it does not. A game goes on by those under which it
//! began, unless an arbiter says that it goes by the new ones.

use std::sync::Arc;

use super::{beside::Beside, phase::Phase, play::Play, world::World};
use crate::{
    event::notice,
    time::Millis,
    watcher::{Rules, Settings, command::CommandError, not_now::NotNow},
};

/// The rules by which the present game is judged; between games, those of the next one.
pub(super) fn present<'a>(settings: &'a Settings, phase: &'a Phase) -> &'a Rules {
    phase.game().map_or(&settings.rules, |game| &game.rules)
}

/// Says once that other rules wait for the next game.
pub(super) fn tell_that_wait(world: &World, play: &mut Play, now: Millis) {
    let configured = world.settings.rules.clone();
    let Some((game, mut ctx)) = play.game_and_ctx(world, now) else {
        return;
    };
    if *game.rules == configured {
        game.rules_waiting = None;
    } else if game.outcome.result.is_none() && game.rules_waiting.as_ref() != Some(&configured) {
        let message = format!(
            "The configured rules have changed. Game {} goes on by those under which it began: {}. The others wait for the next \
             game: {}. If this game is to go by them, too, send `rules`.",
            game.course.number,
            game.rules.in_words(),
            configured.in_words()
        );
        game.course.notice(&mut ctx, notice::RULES_WAIT, &message);
        game.rules_waiting = Some(configured);
    }
}

/// Judges the present game by the configured rules: it began under others by mistake.
pub(super) fn take_configured(
    world: &mut World,
    play: &mut Play,
    beside: &mut Beside,
    now: Millis,
) -> Result<(), CommandError> {
    let configured = Arc::new(world.settings.rules.clone());
    let (game, mut ctx) = play.game_and_ctx(world, now).ok_or(CommandError::NoGame)?;
    if game.rules == configured {
        return Err(NotNow::SameRules.into());
    }
    let number = game.course.number;
    game.go_by(&mut ctx, configured.clone());
    beside.step(world, play.out.before, |world, play| {
        if let Some((copy, mut ctx)) = play.game_and_ctx(world, now)
            && copy.course.number == number
        {
            copy.put_under(&mut ctx, configured);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Body, Event, Why},
        laws::{Edition, IrregularityKind, Side, Supervision, TimeControl},
        watcher::{Command, Report, Settings, Snapshot, Watcher, testing::after_e4_under},
    };

    fn blitz_of_2018() -> Settings {
        Settings {
            rules: Rules {
                laws: Edition::Laws2018,
                time_control: TimeControl::Blitz,
                supervision: Supervision::NotAdequate,
                ..Rules::default()
            },
            ..Settings::default()
        }
    }

    fn drained(watcher: &mut Watcher) -> Vec<Event> {
        std::iter::from_fn(|| watcher.poll_event()).collect()
    }

    fn notices(events: &[Event]) -> Vec<&str> {
        let codes = events.iter().filter_map(|event| match &event.body {
            Body::Notice { code, .. } => Some(code.as_ref()),
            _ => None,
        });
        codes.collect()
    }

    /// The edition and the time control by which White's illegal half-move is ruled on, if it is reported at `at`.
    fn ruled_by(watcher: &mut Watcher, at: u64) -> [Option<String>; 2] {
        let report = Report::of(IrregularityKind::IllegalMove, Some(Side::White));
        let report = Report {
            confirmed: Some(true),
            ..report
        };
        watcher
            .handle_command(Millis(at), Command::Report(report))
            .unwrap();
        let events = drained(watcher);
        let said = events.iter().find_map(|event| match &event.body {
            Body::Irregularity(said) => Some(said.ruling.clone()),
            _ => None,
        });
        let ruling = said.unwrap();
        [ruling.laws, ruling.time_control]
    }

    fn named(laws: &str, time_control: &str) -> [Option<String>; 2] {
        [laws, time_control].map(|name| Some(name.to_owned()))
    }

    fn restarted(text: &str, settings: Settings) -> (Watcher, Vec<Event>) {
        let mut again = Watcher::new(settings, Some(Snapshot::kept(Some(text), 20)));
        again.set_table(Millis(0), crate::watcher::Table::default());
        let told = drained(&mut again);
        (again, told)
    }

    #[test]
    fn a_game_keeps_its_rules_over_a_restart_until_an_arbiter_says_otherwise() {
        let first = after_e4_under(blitz_of_2018());
        let text = serde_json::to_string(&first.snapshot()).unwrap();
        let (mut again, told) = restarted(&text, Settings::default());
        assert_eq!(notices(&told), [notice::RULES_WAIT]);
        assert_eq!(ruled_by(&mut again, 1_000), named("2018", "blitz"));

        // A second restart says nothing new, and the same rules as before nothing at all.
        let text = serde_json::to_string(&again.snapshot()).unwrap();
        let (mut again, told) = restarted(&text, Settings::default());
        assert_eq!(notices(&told), [""; 0]);
        again.set_rules(Millis(500), Rules::default());
        assert_eq!(notices(&drained(&mut again)), [""; 0]);
        assert_eq!(ruled_by(&mut again, 1_000), named("2018", "blitz"));

        again.handle_command(Millis(2_000), Command::Rules).unwrap();
        let told = drained(&mut again);
        assert_eq!(notices(&told), [notice::RULES_TAKEN]);
        let amended: Vec<_> = told
            .iter()
            .filter_map(|event| match &event.body {
                Body::RulingAmended(amended) => Some((amended.why, amended.ruling.laws.as_deref())),
                _ => None,
            })
            .collect();
        assert_eq!(amended, [(Why::Rules, Some("2023")); 2]);
        assert_eq!(ruled_by(&mut again, 3_000), named("2023", "standard"));
        let refused = again.handle_command(Millis(4_000), Command::Rules).unwrap_err();
        assert_eq!(refused.reason(), Some("same_rules"));
        // They outlive the daemon, too.
        let text = serde_json::to_string(&again.snapshot()).unwrap();
        let (mut again, told) = restarted(&text, blitz_of_2018());
        assert_eq!(notices(&told), [notice::RULES_WAIT]);
        assert_eq!(ruled_by(&mut again, 1_000), named("2023", "standard"));
    }

    #[test]
    fn rules_that_change_while_the_daemon_runs_wait_for_the_next_game() {
        let mut watcher = after_e4_under(blitz_of_2018());
        drained(&mut watcher);
        watcher.set_rules(Millis(10_000), Rules::default());
        assert_eq!(notices(&drained(&mut watcher)), [notice::RULES_WAIT]);
        assert_eq!(ruled_by(&mut watcher, 11_000), named("2018", "blitz"));
        watcher.handle_command(Millis(20_000), Command::NewGame).unwrap();
        drained(&mut watcher);
        let report = Report::of(IrregularityKind::LateArrival, Some(Side::White));
        watcher
            .handle_command(Millis(21_000), Command::Report(report))
            .unwrap();
        let told = drained(&mut watcher);
        let Some(Body::Irregularity(said)) = told.first().map(|event| &event.body) else {
            panic!("{told:?}")
        };
        assert_eq!(said.ruling.laws.as_deref(), Some("2023"));
    }

    #[test]
    fn a_snapshot_without_rules_takes_those_of_the_configuration() {
        let first = after_e4_under(blitz_of_2018());
        let mut kept = serde_json::to_value(first.snapshot()).unwrap();
        assert!(kept["game"].as_object_mut().unwrap().remove("rules").is_some());
        let (mut again, told) = restarted(&kept.to_string(), Settings::default());
        assert_eq!(notices(&told), [""; 0]);
        assert_eq!(ruled_by(&mut again, 1_000), named("2023", "standard"));
    }
}
