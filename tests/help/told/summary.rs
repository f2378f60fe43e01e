//! Events in one line of words: what a person says should come out of a fixture.

use dgt2mqtt::event::{Advice, Body, Certainty, CompletedBy, Event, Resolution};

/// The events that matter to a game, one word each. See `fixtures/README.md`.
pub(crate) fn summary(events: &[Event]) -> Vec<String> {
    let mut said: Vec<(String, String)> = Vec::new();
    let mut words = Vec::new();
    for event in events {
        let word = match &event.body {
            Body::BoardConnected { .. } | Body::ClockConnected => continue,
            Body::BoardDisconnected { .. } => "cable-out".into(),
            Body::ClockDisconnected => "clock-out".into(),
            Body::GameStarted { fen, chess960, .. } => started(fen, *chess960),
            Body::Move(made) => {
                let by = match made.completed_by {
                    CompletedBy::Clock => "",
                    CompletedBy::Reply => "(reply)",
                    CompletedBy::Stillness => "(stillness)",
                    CompletedBy::Recovered => "(recovered)",
                    CompletedBy::Ruling => "(ruling)",
                };
                format!("{}{}{by}", made.uci, if made.illegal { "!" } else { "" })
            }
            Body::MovesRetracted { to_ply, .. } => format!("back:{to_ply}"),
            Body::Irregularity(it) => {
                let kind = word_of(&it.kind);
                let side = it.offender.map_or_else(|| "nobody".into(), |side| word_of(&side));
                let doubt = match it.certainty {
                    Certainty::Certain => "",
                    Certainty::Probable => "?",
                    Certainty::Suspected => "??",
                };
                let reason = it.reason.as_ref().map(|r| format!("[{r}]")).unwrap_or_default();
                said.push((event.id.clone(), format!("{kind}@{}", it.ply)));
                format!("{kind}:{side}@{}{reason}{doubt}", it.ply)
            }
            Body::RulingAmended(amendment) => {
                let what = said.iter().find(|(id, _)| *id == amendment.irregularity);
                let what = what.map_or("unknown", |(_, name)| name);
                format!("{}:{what}", word_of(&amendment.why))
            }
            Body::IrregularityResolved { irregularity, how } => {
                let what = said.iter().find(|(id, _)| id == irregularity);
                let what = what.map_or("unknown", |(_, name)| name);
                let how = match how {
                    Resolution::Restored => "restored",
                    Resolution::Stands => "stands",
                    Resolution::Dismissed => "dismissed",
                    Resolution::Superseded => "superseded",
                };
                format!("{how}:{what}")
            }
            Body::GameEnded { result, reason, .. } => format!("{}({reason})", result.as_str()),
            Body::GameResumed { .. } => "resumed".to_owned(),
            Body::IrregularityReopened { irregularity, open } => {
                let what = said.iter().find(|(id, _)| id == irregularity);
                let what = what.map_or("unknown", |(_, name)| name);
                format!("{}:{what}", if *open { "reopened" } else { "counts_again" })
            }
            Body::CaseNoted { irregularity, .. } => {
                let what = said.iter().find(|(id, _)| id == irregularity);
                format!("noted:{}", what.map_or("unknown", |(_, name)| name))
            }
            Body::NamesCorrected { .. } => "names-corrected".to_owned(),
            Body::Notice { code, .. } => format!("notice:{code}"),
        };
        words.push(word);
    }
    words
}

/// What the Laws say of each irregularity, one line each: `illegal_move@3 time:120:black
/// reinstate_before 7.5.1 7.5.5`. See `fixtures/README.md`.
pub(crate) fn rulings(events: &[Event]) -> Vec<String> {
    let of = |event: &Event| {
        let Body::Irregularity(it) = &event.body else {
            return None;
        };
        Some(ruling(&format!("{}@{}", word_of(&it.kind), it.ply), &it.ruling))
    };
    events.iter().filter_map(of).collect()
}

fn ruling(what: &str, advice: &Advice) -> String {
    let penalty = &advice.penalty;
    let to = penalty.to.map(|side| format!(":{}", word_of(&side)));
    let seconds = (penalty.seconds > 0).then(|| format!(":{}", penalty.seconds));
    format!(
        "{what} {}{}{} {} {}",
        word_of(&penalty.kind),
        seconds.unwrap_or_default(),
        to.unwrap_or_default(),
        word_of(&advice.position),
        advice.articles.join(" ")
    )
    .trim()
    .to_owned()
}

fn started(fen: &str, chess960: bool) -> String {
    if fen.starts_with("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w") {
        return "game".into();
    }
    let mut fields = fen.split(' ');
    let (placement, turn) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
    let rights = fields.next().unwrap_or("");
    let kind = if chess960 { "game960" } else { "game" };
    format!("{kind}[{placement},{turn},{rights}]")
}

fn word_of(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}
