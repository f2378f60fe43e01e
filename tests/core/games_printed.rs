//! `pgn` as a user runs it, on a journal that a daemon has left.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assert_cmd::cargo::CommandCargoExt;
use dgt2mqtt::{
    event::Event,
    journal::{Entry, Journal, JournalSettings},
};
use serde_json::{Value, json};

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const DAY: &str = "2026-11-21T14:00:00Z";

/// A journal to be written.
#[derive(Default)]
struct Told(Vec<Event>);

impl Told {
    fn say(&mut self, board: &str, game: u32, time: Option<&str>, fields: &Value) {
        let seq = self.0.iter().filter(|event| event.board == board).count() + 1;
        let mut event = json!({ "v": 1, "id": format!("gw/{board}/{seq}"), "seq": seq, "board": board, "game": game, "t": 0.0,
            "time": time });
        event
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        self.0.push(serde_json::from_value(event).unwrap());
    }

    /// A game of one half-move, which ends for `reason`.
    fn game(&mut self, board: &str, game: u32, time: Option<&str>, result: &str, reason: &str) {
        let started = json!({ "type": "game_started", "fen": INITIAL, "chess960": false, "white": "Moss", "black": "Tal",
            "event": "Open", "round": 1 });
        let made = json!({ "type": "move", "ply": 1, "uci": "e2e4", "san": "e4", "fen": "-", "completed_by": "clock", "clock": null });
        let ended = json!({ "type": "game_ended", "result": result, "reason": reason });
        for fields in [started, made, ended] {
            self.say(board, game, time, &fields);
        }
    }

    /// Writes it into a folder, with a configuration beside it.
    async fn write(self, folder: &Path) -> PathBuf {
        let config = folder.join("dgt2mqtt.toml");
        let text = "[gateway]\nname = \"gw\"\n[journal]\npath = \"journal.sqlite\"\n[[board]]\nid = \"7\"\nport = \"/dev/none\"\n";
        fs::write(&config, text).unwrap();
        let settings = JournalSettings::at(folder.join("journal.sqlite"));
        let (journal, _) = Journal::open(settings, "gw").unwrap();
        for event in self.0 {
            let entry = Entry {
                board: event.board.clone(),
                events: vec![event],
                snapshot: None,
                command: None,
            };
            journal.append(entry).await.await.unwrap();
        }
        journal.close().await;
        config
    }
}

/// What the program prints, and what else it says.
fn pgn(config: &Path, options: &[&str]) -> [String; 2] {
    let mut program = Command::cargo_bin("dgt2mqtt").unwrap();
    let pgn = program.args(["pgn", "--config"]).arg(config).args(options);
    let output = pgn.output().unwrap();
    let [text, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{said}");
    [text, said]
}

/// The value of a tag of a game.
fn tag<'a>(game: &'a str, name: &str) -> &'a str {
    let value = game.split(&format!("[{name} \"")).nth(1).unwrap();
    value.split('"').next().unwrap()
}

/// Round and result of the games that are printed, and what else is said.
fn printed(config: &Path, options: &[&str]) -> (Vec<[String; 2]>, String) {
    let [text, said] = pgn(config, options);
    let games = text.split("[Event ").skip(1);
    let games = games.map(|game| ["Round", "Result"].map(|name| tag(game, name).to_owned()));
    (games.collect(), said)
}

#[tokio::test]
async fn games_that_somebody_gave_up_are_named_and_printed_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    for board in ["7", "8"] {
        told.game(board, 1, Some(DAY), "*", "arbiter");
        told.game(board, 2, Some(DAY), "1-0", "arbiter");
    }
    told.game("9", 1, Some(DAY), "1/2-1/2", "arbiter");
    let config = told.write(folder.path()).await;
    let games = |games: &[(&str, &str)]| {
        let games = games.iter();
        games
            .map(|(board, result)| [format!("1.{board}"), (*result).to_owned()])
            .collect::<Vec<_>>()
    };
    let left_out = |named: &str| {
        format!("left out, because somebody gave them up for another one: {named} (--all prints them)\n")
    };

    let real = games(&[("7", "1-0"), ("8", "1-0"), ("9", "1/2-1/2")]);
    let named = left_out("game 1 of board 7, game 1 of board 8");
    assert_eq!(printed(&config, &[]), (real, named));
    assert_eq!(
        printed(&config, &["--board", "7"]),
        (games(&[("7", "1-0")]), left_out("game 1 of board 7"))
    );
    let all = games(&[
        ("7", "*"),
        ("7", "1-0"),
        ("8", "*"),
        ("8", "1-0"),
        ("9", "1/2-1/2"),
    ]);
    assert_eq!(printed(&config, &["--all"]), (all, String::new()));
    let trials = games(&[("7", "*"), ("8", "*"), ("9", "1/2-1/2")]);
    assert_eq!(printed(&config, &["--game", "1"]), (trials, String::new()));
    assert_eq!(
        printed(&config, &["--board", "8", "--game", "1"]),
        (games(&[("8", "*")]), String::new())
    );
}

/// The small computer learned the time when the game was over.
#[tokio::test]
async fn a_game_has_the_same_day_alone_as_among_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    told.game("7", 1, None, "1-0", "arbiter");
    told.game("7", 2, Some(DAY), "0-1", "arbiter");
    let config = told.write(folder.path()).await;
    for options in [&[][..], &["--game", "1"]] {
        let [text, _] = pgn(&config, options);
        assert_eq!(tag(&text, "Date"), "2026.11.21", "{options:?}: {text}");
    }
}
