//! Games in PGN as others read them, and what they should have read.
#![allow(dead_code)] // shared by several test programs.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use dgt2mqtt::event::{Body, Event, GameResult, MoveMade};
use serde_json::Value;
use shakmaty::{CastlingMode, Chess, Position, fen::Fen, uci::UciMove};

/// Reads every PGN below the folder with python-chess and prints one JSON object a game.
const READER: &str = r#"
import sys, json, pathlib, chess.pgn
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.pgn")):
    with open(path, encoding="utf-8") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            nodes = list(game.mainline())
            print(json.dumps({
                "file": path.name,
                "headers": dict(game.headers),
                "errors": [str(error) for error in game.errors],
                "moves": [node.move.uci() for node in nodes],
                "clocks": [node.clock() for node in nodes],
                "used": [node.emt() for node in nodes],
            }))
"#;

/// The games below `folder` as python-chess reads them; none, with a message, where it is not installed. Where chessops is
/// installed, the library of lichess, it reads the same.
pub fn read_by_others(folder: &Path) -> Option<Vec<Value>> {
    let has_it = Command::new("python3")
        .args(["-c", "import chess.pgn"])
        .stderr(Stdio::null())
        .status();
    if !has_it.is_ok_and(|status| status.success()) {
        skipped!("python-chess is not installed (pip install chess)");
        return None;
    }
    let games = games_printed(Command::new("python3").args(["-c", READER]).arg(folder));
    if let Some(by_lichess) = read_by_lichess(folder) {
        assert_eq!(by_lichess.len(), games.len());
        for (game, same) in games.iter().zip(&by_lichess) {
            for field in ["file", "headers", "errors", "moves"] {
                assert_eq!(same[field], game[field], "{field} as lichess reads it, of {game}");
            }
            for field in ["clocks", "used"] {
                let (told, seconds) = (seconds(&same[field]), seconds(&game[field]));
                assert_eq!(told, seconds, "{field} as lichess reads it, of {game}");
            }
        }
    }
    Some(games)
}

/// Times of a game's half-moves; none where a half-move has no time.
fn seconds(times: &Value) -> Vec<Option<f64>> {
    times.as_array().unwrap().iter().map(Value::as_f64).collect()
}

fn read_by_lichess(folder: &Path) -> Option<Vec<Value>> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = project.join("target/tools/node_modules/chessops");
    if !library.exists() {
        skipped!("no chessops (npm install --prefix target/tools chessops)");
        return None;
    }
    let script = project.join("tests/help/chessops.mjs");
    let mut node = Command::new("node");
    Some(games_printed(node.arg(script).arg(library).arg(folder)))
}

/// What a reader prints, one JSON object a line.
fn games_printed(reader: &mut Command) -> Vec<Value> {
    let read = reader.output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let text = String::from_utf8(read.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Moves of a game as they stand at its end, those after the last illegal one where readers take up the position after it;
/// and its result.
pub fn recorded(events: &[Event], game: u32) -> (Vec<String>, GameResult) {
    let (mut moves, mut result): (Vec<MoveMade>, _) = (Vec::new(), GameResult::Open);
    for event in events.iter().filter(|event| event.game == Some(game)) {
        match &event.body {
            Body::Move(made) => {
                moves.truncate(made.ply as usize - 1);
                moves.push(made.clone());
            }
            Body::MovesRetracted { to_ply, .. } => moves.truncate(*to_ply as usize),
            Body::GameEnded { result: ended, .. } => result = *ended,
            Body::GameResumed { .. } => result = GameResult::Open,
            _ => {}
        }
    }
    let position = |fen: &str| -> Option<Chess> {
        let fen: Fen = fen.parse().ok()?;
        let standard = fen.clone().into_position(CastlingMode::Standard).ok();
        standard.or_else(|| fen.into_position(CastlingMode::Chess960).ok())
    };
    let is_taken_up = |made: &MoveMade| position(&made.fen).is_some();
    // A displaced piece was moved on from where it stood.
    let is_led_to = |before: &MoveMade, made: &MoveMade| {
        let (Some(here), Some(after)) = (position(&before.fen), position(&made.fen)) else {
            return true;
        };
        let mv = made
            .uci
            .parse::<UciMove>()
            .ok()
            .and_then(|uci| uci.to_move(&here).ok());
        let played = mv.and_then(|mv| here.play(mv).ok());
        played.is_some_and(|played| played.board() == after.board())
    };
    let apart = moves.windows(2).rposition(|two| !is_led_to(&two[0], &two[1]));
    let illegal = moves.iter().rposition(|made| made.illegal);
    let illegal = illegal.max(apart.map(|before| before + 1));
    let from = illegal.and_then(|illegal| {
        let after = moves[illegal..].iter().position(is_taken_up)?;
        Some(illegal + after + 1)
    });
    let followed = moves.split_off(from.unwrap_or_default());
    let legal = followed.into_iter().take_while(|made| !made.illegal);
    (legal.map(|made| made.uci).collect(), result)
}

/// The half-moves of a PGN as it writes them.
pub fn half_moves(pgn: &str) -> Vec<String> {
    let mut depth = 0;
    let mut bare = String::new();
    for c in pgn
        .lines()
        .filter(|line| !line.starts_with('['))
        .flat_map(|line| line.chars().chain([' ']))
    {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth == 0 && c != '}' {
            bare.push(c);
        }
    }
    let is_move = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    bare.split_whitespace()
        .map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
        .filter(is_move)
        .map(str::to_owned)
        .collect()
}
