//! Tells in sentences who sees the games and who hears of them.

use std::fmt::Write as _;

use crate::{
    config::{AlertConfig, AlertForm, Broadcast, Collector, Person, Role},
    tournament::Delay,
};

pub(super) fn describe_people(text: &mut String, people: &[Person]) {
    for person in people {
        let role = match person.role {
            Role::Arbiter => "as an arbiter",
            Role::Operator => "as an operator",
            Role::ReadOnly => "to read only",
        };
        let _ = writeln!(text, "{:?} may open the arbiter's page {role}.", person.name);
    }
}

/// The broadcasts that the dashboard writes, one for each group.
pub(super) fn describe_groups(collector: &Collector) -> String {
    let mut text =
        "The broadcast has groups, so `dgt2mqtt dashboard` writes it, and no daemon does:\n".to_owned();
    for broadcast in &collector.broadcasts {
        describe_broadcast(&mut text, broadcast);
    }
    text
}

pub(super) fn describe_broadcast(text: &mut String, broadcast: &Broadcast) {
    let tournament = &broadcast.tournament;
    let Delay { ms, moves, result_ms } = tournament.delay;
    let mut parts = Vec::new();
    for (count, unit) in [
        (ms / 60_000, "minutes"),
        (ms / 1000 % 60, "seconds"),
        (i64::from(moves), "moves"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {unit}"));
        }
    }
    let delay = if parts.is_empty() {
        "at once".to_owned()
    } else {
        format!("{} later", parts.join(" and "))
    };
    let games = broadcast.pairings.boards.iter().flatten().count();
    let group = broadcast.group.as_ref();
    let _ = writeln!(
        text,
        "Broadcast of {}round {} from {} boards into {}, {delay}; {games} of them paired.",
        group.map_or_else(String::new, |group| format!("{group:?}, ")),
        tournament.round,
        broadcast.boards.len(),
        broadcast.folder.display(),
    );
    if result_ms > 0 {
        let _ = writeln!(text, "  Results are held for {} seconds more.", result_ms / 1000);
    }
    if let Some(listen) = broadcast.listen {
        let _ = writeln!(text, "  Anybody may look at it at http://{listen}/.");
    }
    if let Some(lichess) = &broadcast.lichess {
        let to = match &lichess.broadcast {
            Some(broadcast) => format!("the rounds of broadcast {broadcast}, found by their names or made,"),
            None => format!("the round {}", lichess.round),
        };
        let _ = writeln!(text, "  Pushed to {to} on {}.", lichess.server);
    }
}

/// The sentences on alerts. They leave out the path of each address, which may be as good as a password.
pub(super) fn describe_alerts(text: &mut String, alerts: &[AlertConfig]) {
    for alert in alerts {
        let form = match alert.form {
            AlertForm::Ntfy => "a topic of ntfy",
            AlertForm::Webhook => "a webhook",
        };
        let kinds = match alert.kinds.as_slice() {
            [] => "every kind".to_owned(),
            kinds => kinds.join(", "),
        };
        let _ = writeln!(
            text,
            "Pushed to {form} at {}: {kinds}; irregularities that are {} at least.",
            alert.server,
            alert.certainty.in_words()
        );
    }
}
