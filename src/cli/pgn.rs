//! `dgt2mqtt pgn`: the games kept on this machine, from the events of the journal.

use std::{collections::BTreeMap, io::Write, path::Path};

use anyhow::Context;

use super::journal;
use crate::{
    event::{Body, Event},
    game::{Pgn, PgnMove, PgnStart},
    journal::query::Filter,
};

/// Writes the games that `filter` lets through to `out`, by board and number.
///
/// # Errors
/// When the journal is missing or cannot be read, or `out` cannot be written.
pub(super) fn print(path: &Path, filter: &Filter, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut games = BTreeMap::new();
    journal::each(path, filter, |json| {
        let event = serde_json::from_str(json).context("an event of the journal cannot be read")?;
        take(&mut games, event);
        Ok(())
    })?;
    for game in games.values() {
        writeln!(out, "{}", game.text()).context("cannot write the games")?;
    }
    Ok(())
}

/// Adds what an event says to its game.
fn take(games: &mut BTreeMap<(String, u32), Pgn>, event: Event) {
    let Some(number) = event.game else { return };
    let key = (event.board.clone(), number);
    if let Body::GameStarted { .. } = &event.body {
        if let Some(pgn) = started(&key, &event) {
            games.insert(key, pgn);
        }
        return;
    }
    let Some(pgn) = games.get_mut(&key) else { return };
    match event.body {
        Body::Move(made) => {
            let white = made.ply.is_multiple_of(2) == pgn.black_begins;
            pgn.moves.truncate(made.ply as usize - 1);
            pgn.moves.push(PgnMove {
                san: made.san,
                uci: made.uci,
                fen: made.fen,
                clock_ms: made
                    .clock
                    .map(|clock| if white { clock.white_ms } else { clock.black_ms }),
            });
        }
        Body::MovesRetracted { to_ply, .. } => pgn.moves.truncate(to_ply as usize),
        Body::GameEnded { result, .. } => pgn.result = result.as_str().into(),
        _ => {}
    }
}

fn started((board, number): &(String, u32), event: &Event) -> Option<Pgn> {
    let Body::GameStarted {
        fen,
        chess960,
        white,
        black,
    } = &event.body
    else {
        return None;
    };
    Some(Pgn::begun(&PgnStart {
        board,
        number: *number,
        time: event.time.as_deref(),
        players: [white.as_deref(), black.as_deref()],
        fen,
        chess960: *chess960,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::GameResult;

    #[test]
    fn events_become_games() {
        let mut games = BTreeMap::new();
        let event = |seq, body| Event {
            v: 1,
            id: format!("gw/7/{seq}"),
            seq,
            body,
            board: "7".into(),
            game: Some(1),
            t: 0.0,
            at: None,
            time: Some("2026-11-21T14:00:00.000Z".into()),
        };
        let made = |ply, san: &str| {
            let body = format!(
                r#"{{"type":"move","ply":{ply},"uci":"e2e4","san":"{san}","fen":"-","completed_by":"clock",
                "clock":{{"white_ms":60000,"black_ms":59000,"running":null}}}}"#
            );
            serde_json::from_str::<Body>(&body).unwrap()
        };
        let start = Body::GameStarted {
            fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".into(),
            chess960: false,
            white: Some("Zimmer, A.".into()),
            black: None,
        };
        take(&mut games, event(1, start));
        take(&mut games, event(2, made(1, "e4")));
        take(&mut games, event(3, made(2, "e5")));
        take(
            &mut games,
            event(
                4,
                Body::MovesRetracted {
                    to_ply: 1,
                    reason: "correction".into(),
                },
            ),
        );
        take(&mut games, event(5, made(2, "c5")));
        let ended = Body::GameEnded {
            result: GameResult::Draw,
            reason: "arbiter".into(),
        };
        take(&mut games, event(6, ended));
        let text = games.values().next().unwrap().text();
        assert!(text.contains("[Date \"2026.11.21\"]\n[Round \"7.1\"]"), "{text}");
        assert!(text.contains("[White \"Zimmer, A.\"]\n[Black \"?\"]"), "{text}");
        assert!(
            text.ends_with("\n1. e4 {[%clk 0:01:00]} 1... c5 {[%clk 0:00:59]} 1/2-1/2\n"),
            "{text}"
        );
    }
}
