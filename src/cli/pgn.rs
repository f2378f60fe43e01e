//! `dgt2mqtt pgn`: the games kept on this machine, from the events of the journal.

use std::{collections::BTreeMap, io::Write, path::Path};

use anyhow::Context;

use super::journal;
use crate::{broadcast::PublicRecord, event::Event, journal::query::Filter, tournament::Delay};

/// Writes the games that `filter` lets through to `out`, by board and number.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut games = BTreeMap::new();
    journal::each(path, filter, |json| {
        let event = serde_json::from_str(json).context("an event of the journal cannot be read")?;
        take(&mut games, &event);
        Ok(())
    })?;
    for (key, game) in &games {
        if let Some(text) = text(key, game) {
            writeln!(out, "{text}").context("cannot write the games")?;
        }
    }
    Ok(())
}

/// A board and the number of a game on it.
type Key = (String, u32);

/// Adds an event to its game.
fn take(games: &mut BTreeMap<Key, PublicRecord>, event: &Event) {
    let Some(number) = event.game else { return };
    let game = games.entry((event.board.clone(), number)).or_default();
    game.take(event, 0);
}

fn text((board, number): &Key, game: &PublicRecord) -> Option<String> {
    let shown = game.shown(i64::MAX, Delay::default())?;
    let known = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
    let [white, black] = &shown.players;
    let mut pgn = shown.pgn;
    pgn.tags = [
        ("Event", known(&shown.event)),
        ("Site", "?".into()),
        ("Date", shown.date.unwrap_or_else(|| "????.??.??".into())),
        (
            "Round",
            match shown.round {
                Some(round) => format!("{round}.{board}"),
                None => format!("{board}.{number}"),
            },
        ),
        ("White", known(white)),
        ("Black", known(black)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    Some(pgn.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Body, GameResult};

    #[test]
    fn events_become_games() {
        let mut games = BTreeMap::new();
        let event = |seq, body| Event {
            v: 1,
            formerly: None,
            id: format!("gw/7/{seq}"),
            seq,
            body,
            board: "7".into(),
            game: Some(1),
            t: 0.0,
            at: None,
            time: Some("2026-11-21T14:00:00.000Z".into()),
            source: None,
            by: None,
        };
        let made = |ply, san: &str| {
            let uci = match san {
                "e4" => "e2e4",
                "e5" => "e7e5",
                _ => "c7c5",
            };
            let body = format!(
                r#"{{"type":"move","ply":{ply},"uci":"{uci}","san":"{san}","fen":"-","completed_by":"clock",
                "clock":{{"white_ms":60000,"black_ms":59000,"running":null}}}}"#
            );
            serde_json::from_str::<Body>(&body).unwrap()
        };
        let start = Body::GameStarted {
            fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".into(),
            chess960: false,
            white: Some("Zimmer, A.".into()),
            black: None,
            event: None,
            round: None,
        };
        take(&mut games, &event(1, start));
        take(&mut games, &event(2, made(1, "e4")));
        take(&mut games, &event(3, made(2, "e5")));
        take(
            &mut games,
            &event(
                4,
                Body::MovesRetracted {
                    to_ply: 1,
                    reason: "correction".into(),
                    fen: None,
                    chess960: false,
                },
            ),
        );
        take(&mut games, &event(5, made(2, "c5")));
        let ended = Body::GameEnded {
            result: GameResult::Draw,
            reason: "arbiter".into(),
            note: None,
        };
        take(&mut games, &event(6, ended));
        let (key, game) = games.first_key_value().unwrap();
        let text = text(key, game).unwrap();
        assert!(text.contains("[Date \"2026.11.21\"]\n[Round \"7.1\"]"), "{text}");
        assert!(text.contains("[White \"Zimmer, A.\"]\n[Black \"?\"]"), "{text}");
        assert!(
            text.ends_with("\n1. e4 {[%clk 0:01:00]} 1... c5 {[%clk 0:00:59]} {[%emt 0:00:00]} 1/2-1/2\n"),
            "{text}"
        );
    }
}
