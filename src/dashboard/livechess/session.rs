//! One client of the WebSocket: its calls, its feeds, and the messages to it. Pure: texts in, texts out.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position, fen::Fen, uci::UciMove};

use super::shapes::{LivechessClock, Now, clock, eboard, eboards, serial};
use crate::{
    dashboard::{Board, BoardKey, Hall},
    watcher::GameView,
};

/// How many feeds a client may have; a page needs one.
const MAX_FEEDS: usize = 256;

/// The longest name that a client may give a call or a feed.
const MAX_ID: usize = 128;
/// The longest position that a client may give.
const MAX_FEN: usize = 128;

/// What a client has asked for.
#[derive(Debug, Default)]
pub(crate) struct LivechessSession {
    /// The feeds, by the number that the client gave each, as JSON text.
    feeds: BTreeMap<String, Feed>,
}

#[derive(Debug)]
struct Feed {
    id: Value,
    serial: String,
    start: Option<String>,
    flipped: bool,
    told: Option<Picture>,
}

/// What a feed says of its board.
#[derive(Clone, Debug, PartialEq)]
struct Picture {
    board: Option<String>,
    clock: Option<LivechessClock>,
    /// Half-moves since the start, and true where the board stands as after them.
    game: Option<(Vec<String>, bool)>,
}

impl LivechessSession {
    /// Answers a call, and adds what follows from it.
    pub(crate) fn call(&mut self, text: &str, hall: &Hall, now: Now) -> Vec<String> {
        let Ok(call) = serde_json::from_str::<Value>(text) else {
            return vec![message(
                "error",
                &Value::Null,
                &json!({ "message": "this is not JSON" }),
                now,
            )];
        };
        let id = &call["id"];
        let param = &call["param"];
        if [id, &param["id"]].iter().any(|id| !is_short(id)) {
            let why = json!({ "message": "an id is a text, a number or null, and short" });
            return vec![message("error", &Value::Null, &why, now)];
        }
        let answer = match call["call"].as_str() {
            Some("eboards") => Ok(json!(eboards(hall, now))),
            Some("subscribe") => self.subscribe(param, hall),
            Some("unsubscribe") => {
                self.feeds.remove(&param["id"].to_string());
                Ok(Value::Null)
            }
            Some("call") => self.method(param),
            _ => Err("there is no such call"),
        };
        match answer {
            Ok(result) => {
                let mut out = vec![message("call", id, &result, now)];
                out.extend(self.changes(hall, now));
                out
            }
            Err(why) => vec![message("error", id, &json!({ "message": why }), now)],
        }
    }

    /// What has changed for the feeds since the last message.
    pub(crate) fn changes(&mut self, hall: &Hall, now: Now) -> Vec<String> {
        let mut out = Vec::new();
        for feed in self.feeds.values_mut() {
            let Some((key, board)) = find(hall, &feed.serial) else {
                continue;
            };
            let picture = feed.picture(hall, key, board, now);
            if feed.told.as_ref() != Some(&picture) {
                out.push(feed.tell(&picture, now));
                feed.told = Some(picture);
            }
        }
        out
    }

    fn subscribe(&mut self, param: &Value, hall: &Hall) -> Result<Value, &'static str> {
        if param["feed"] != "eboardevent" {
            return Err("there is no such feed; known is eboardevent");
        }
        let serial = param["param"]["serialnr"]
            .as_str()
            .ok_or("the feed needs a serialnr")?;
        if find(hall, serial).is_none() {
            return Err("there is no board with this serialnr");
        }
        let is_new = !self.feeds.contains_key(&param["id"].to_string());
        if is_new && self.feeds.len() >= MAX_FEEDS {
            return Err("too many feeds");
        }
        let feed = Feed {
            id: param["id"].clone(),
            serial: serial.to_owned(),
            start: None,
            flipped: false,
            told: None,
        };
        self.feeds.insert(param["id"].to_string(), feed);
        Ok(Value::Null)
    }

    fn method(&mut self, param: &Value) -> Result<Value, &'static str> {
        let feed = self
            .feeds
            .get_mut(&param["id"].to_string())
            .ok_or("there is no feed with this id")?;
        let given = &param["param"];
        match param["method"].as_str() {
            Some("setup" | "flip") if given["flip"].is_boolean() => feed.flipped = given["flip"] == true,
            Some("setup") => {
                let fen = given["fen"].as_str().filter(|fen| fen.len() <= MAX_FEN);
                let fen = fen.filter(|fen| fen.parse::<Fen>().is_ok());
                feed.start = Some(fen.ok_or("setup needs a fen")?.to_owned());
            }
            _ => return Err("there is no such method; known are setup and flip"),
        }
        feed.told = None;
        Ok(Value::Null)
    }
}

impl Feed {
    fn picture(&self, hall: &Hall, key: &BoardKey, board: &Board, now: Now) -> Picture {
        let seen = eboard(hall, key, board, now).board;
        let game = self.start.as_ref().map(|start| match since(&board.game, start) {
            Some((san, placement)) => (san, seen.as_deref() == Some(&placement)),
            None => (Vec::new(), seen.as_deref() == start.split(' ').next()),
        });
        Picture {
            board: seen,
            clock: clock(board, now),
            game,
        }
    }

    /// The fields that differ from the last message, and always all half-moves.
    fn tell(&self, picture: &Picture, now: Now) -> String {
        let mut param = json!({ "serialnr": self.serial, "flipped": self.flipped });
        let told = self.told.as_ref();
        if told.is_none_or(|told| told.board != picture.board) {
            param["board"] = json!(picture.board);
        }
        if told.is_none_or(|told| told.clock != picture.clock) {
            param["clock"] = json!(picture.clock);
        }
        if let (Some(start), Some((san, fits))) = (&self.start, &picture.game) {
            param["start"] = json!(start);
            param["san"] = json!(san);
            param["match"] = json!(fits);
        }
        message("feed", &self.id, &param, now)
    }
}

/// True for an id that is short enough to be repeated with every message.
fn is_short(id: &Value) -> bool {
    match id {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= MAX_ID,
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn find<'h>(hall: &'h Hall, name: &str) -> Option<(&'h BoardKey, &'h Board)> {
    hall.boards.iter().find(|(key, board)| serial(key, board) == name)
}

/// Half-moves of the game after its last position that is `start`, and the position after them; none where the game has
/// not come to `start`.
fn since(game: &GameView, start: &str) -> Option<(Vec<String>, String)> {
    let mode = CastlingMode::from_chess960(game.chess960);
    let fen = game.start_fen.as_deref()?.parse::<Fen>().ok()?;
    let mut position = fen.into_position::<Chess>(mode).ok()?;
    let wanted = start.parse::<Fen>().ok()?.into_setup();
    let is_start = |position: &Chess| {
        let here = position.to_setup(EnPassantMode::Legal);
        here.board == wanted.board && here.turn == wanted.turn
    };
    let mut from = is_start(&position).then_some(0);
    let mut names = Vec::new();
    for (uci, san) in game.moves.iter().zip(&game.san) {
        let (Some(san), Ok(uci)) = (san, uci.parse::<UciMove>()) else {
            break;
        };
        let Ok(made) = uci.to_move(&position) else { break };
        position.play_unchecked(made);
        names.push(san.clone());
        if is_start(&position) {
            from = Some(names.len());
        }
    }
    let placement = Fen::from_position(&position, EnPassantMode::Legal).to_string();
    let placement = placement.split(' ').next().unwrap_or_default().to_owned();
    Some((names.split_off(from?), placement))
}

fn message(kind: &str, id: &Value, param: &Value, now: Now) -> String {
    json!({ "response": kind, "id": id, "param": param, "time": now.unix_ms }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR";
    const NOW: Now = Now {
        hall_ms: 1_500,
        unix_ms: 1_000_000,
    };

    fn hall(moves: &Value, san: &Value, placement: &str) -> Hall {
        let mut hall = Hall::default();
        let mut take = |topic: &str, payload: String| {
            hall.take(topic, payload.as_bytes(), 1_000);
        };
        take("gw/status", "online".into());
        take("gw/board/1/status", "online".into());
        take(
            "gw/board/1/info",
            json!({"model":null,"serial":"40001","firmware":null,"port":"/dev/x"}).to_string(),
        );
        take(
            "gw/board/1/position",
            json!({"placement":placement,"fen":null,"problems":[]}).to_string(),
        );
        take(
            "gw/board/1/clock",
            json!({"clock":{"white_ms":61_900,"black_ms":59_000,"running":"black"}}).to_string(),
        );
        let game = json!({"game":1,"start_fen":INITIAL,"chess960":false,"moves":moves,"san":san,"fen":null,
            "to_move":null,"result":"*","open_irregularities":[],"last_seq":1});
        take("gw/board/1/game", game.to_string());
        take("gw/board/0/status", "offline".into());
        hall
    }

    fn said(texts: &[String]) -> Vec<Value> {
        texts
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect()
    }

    #[test]
    fn a_page_finds_the_board_sets_up_and_gets_moves() {
        let before = hall(&json!([]), &json!([]), INITIAL.split(' ').next().unwrap());
        let mut session = LivechessSession::default();
        let out = said(&session.call(r#"{"id":1,"call":"eboards"}"#, &before, NOW));
        assert_eq!(out[0]["response"], "call");
        assert_eq!(out[0]["id"], 1);
        let first = &out[0]["param"][0];
        assert_eq!(
            (&first["serialnr"], &first["state"]),
            (&json!("40001"), &json!("ACTIVE")),
            "those that are there first"
        );
        assert_eq!(
            first["clock"],
            json!({"white":61,"black":59,"run":false,"time":999_500})
        );
        let out = said(&session.call(
            r#"{"id":2,"call":"subscribe","param":{"feed":"eboardevent","id":7,"param":{"serialnr":"40001"}}}"#,
            &before,
            NOW,
        ));
        assert_eq!(
            out[0],
            json!({"response":"call","id":2,"param":null,"time":1_000_000})
        );
        assert_eq!((&out[1]["response"], &out[1]["id"]), (&json!("feed"), &json!(7)));
        assert!(out[1]["param"].get("san").is_none(), "no moves before a setup");
        let setup = format!(
            r#"{{"id":3,"call":"call","param":{{"id":7,"method":"setup","param":{{"fen":"{INITIAL}"}}}}}}"#
        );
        let out = said(&session.call(&setup, &before, NOW));
        assert_eq!(
            (&out[1]["param"]["san"], &out[1]["param"]["match"]),
            (&json!([]), &json!(true))
        );
        assert!(session.changes(&before, NOW).is_empty());

        let after = hall(&json!(["e2e4"]), &json!(["e4"]), AFTER_E4);
        let out = said(&session.changes(&after, NOW));
        assert_eq!(out[0]["param"]["san"], json!(["e4"]));
        assert_eq!(out[0]["param"]["board"], AFTER_E4);
        assert!(out[0]["param"].get("clock").is_none(), "the clock is the same");
        assert!(session.changes(&after, NOW).is_empty());
    }

    #[test]
    fn a_setup_in_mid_game_counts_from_there() {
        let hall = hall(&json!(["e2e4", "e7e5"]), &json!(["e4", "e5"]), AFTER_E4);
        let game = &hall.boards.values().nth(1).unwrap().game;
        let start = format!("{AFTER_E4} b KQkq - 0 1");
        assert_eq!(since(game, &start).unwrap().0, ["e5"]);
        assert_eq!(since(game, "8/8/8/8/8/8/8/K1k5 w - - 0 1"), None);
    }

    #[test]
    fn what_cannot_be_done_is_answered() {
        let hall = hall(&json!([]), &json!([]), "8/8/8/8/8/8/8/8");
        let mut session = LivechessSession::default();
        for call in [
            "{",
            r#"{"id":1}"#,
            r#"{"id":1,"call":"explode"}"#,
            r#"{"id":1,"call":"subscribe","param":{"feed":"eboardevent","id":1,"param":{"serialnr":"9"}}}"#,
            r#"{"id":1,"call":"call","param":{"id":1,"method":"setup","param":{"fen":"x"}}}"#,
        ] {
            let out = said(&session.call(call, &hall, NOW));
            assert_eq!(out[0]["response"], "error", "{call}");
            assert!(out[0]["param"]["message"].is_string());
        }
    }
}
