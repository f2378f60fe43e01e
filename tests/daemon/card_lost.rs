//! A card dies in the middle of a game, and the daemon is started with a new one. The broker has what was published, and the game goes on
//! with all its half-moves.

use std::{collections::BTreeSet, fs};

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, program},
    reader::half_moves,
    seated::Players,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_game_goes_on_with_all_half_moves_where_the_journal_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let players = Players::sit_down(1);
    let state = folder.path().join("state");
    let config = players.configure(folder.path(), &broker.url());
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
    let daemon = Daemon::start(&config);
    subscriber
        .wait("the board", |got| got.topic.ends_with("/event/board_connected"))
        .await;
    players.play("e2e4 e7e5 g1f3 b8c6");
    subscriber.played("1", 4).await;
    let has_all = |got: &crate::broker::Got| {
        got.topic.ends_with("/board/1/game")
            && got.json()["moves"].as_array().is_some_and(|all| all.len() == 4)
    };
    subscriber.wait("the state", has_all).await;
    daemon.kill();
    fs::remove_dir_all(&state).unwrap();
    fs::create_dir(&state).unwrap();
    players.play("f1b5");
    let daemon = Daemon::start(&config);
    subscriber.played("1", 5).await;
    players.play("a7a6");
    subscriber.played("1", 6).await;
    assert!(daemon.stop());

    let told = subscriber.all();
    let events = told.iter().filter(|got| got.topic.contains("/board/1/event/"));
    let numbers: Vec<_> = events
        .clone()
        .map(|got| got.json()["seq"].as_u64().unwrap())
        .collect();
    let once: BTreeSet<_> = numbers.iter().collect();
    assert_eq!(once.len(), numbers.len(), "a number comes twice: {numbers:?}");
    let accused = events.filter(|got| got.topic.ends_with("/irregularity")).count();
    assert_eq!(accused, 0);
    let pgn = program().args(["pgn", "--config"]).arg(&config).output().unwrap();
    let pgn = String::from_utf8(pgn.stdout).unwrap();
    assert_eq!(half_moves(&pgn), ["e4", "e5", "Nf3", "Nc6", "Bb5", "a6"], "{pgn}");
}
