//! A board's task at its end.

use super::*;

use std::{path::Path, sync::Arc};

use crate::{
    config::{Config, Env, Language},
    dgt::{Lever, Message, PieceCode},
    event::{Body, notice},
    gateway::heartbeat::Heartbeat,
    journal::{JournalSettings, Written},
    mqtt::{Publisher, PublisherSettings, rumqtt::RumqttDial},
    watcher::testing::clock,
};

/// The context of a task whose broker is never called.
fn shared(journal: Journal) -> BoardContext {
    let text = "[gateway]\nname = \"gw\"\n[[board]]\nid = \"7\"\nport = \"usb:1\"\n[journal]\npath = \"j\"\n";
    let config = Config::from_text(text, Path::new("t.toml"), &Env::default()).unwrap();
    let topics = Topics::new(&config.base_topic, &config.gateway);
    let settings = PublisherSettings {
        urls: Vec::new(),
        boot_id: "b".to_owned(),
        journal_at: None,
        keep_alive: Duration::from_secs(15),
        commands: false,
        languages: Language::ALL.to_vec(),
        ack_timeout: Duration::from_secs(30),
        stop_bound: Duration::from_secs(1),
    };
    let (_publisher, publisher) = Publisher::new(
        RumqttDial::new(config.broker, topics.status(), Duration::from_secs(5)),
        settings,
        topics.clone(),
        Vec::new(),
        journal.clone(),
        mpsc::channel(1).0,
        Arc::new(|| {}),
    );
    BoardContext {
        clock: Timebase::start(),
        journal,
        journal_path: config.journal.path,
        captures: false,
        publisher,
        topics,
        ports: Ports::default(),
        serials: Serials::default(),
        hardware: HardwareViews::default(),
        clock_interval: Duration::from_secs(1),
        mates: Turn::default(),
        tables: watch::channel(Default::default()).1,
        standings: Standings::default(),
        clocks: NewestClocks::default(),
        losses: Losses::default(),
    }
}

async fn task(shared: &BoardContext) -> BoardTask {
    task_at(shared, "usb:1").await
}

async fn task_at(shared: &BoardContext, source: &str) -> BoardTask {
    let plan = BoardPlan {
        id: "7".parse().unwrap(),
        source: source.parse().unwrap(),
        settings: Settings {
            gateway: "gw".to_owned(),
            board: "7".to_owned(),
            ..Settings::default()
        },
    };
    let pulse = Heartbeat::new(shared.clock).pulse("board 7");
    let (_, notices) = broadcast::channel(8);
    BoardTask::new(plan, shared.clone(), pulse, notices).await
}

/// The notice says of numbers that jump why they do, and so nothing comes before it.
#[tokio::test]
async fn what_befell_the_journal_is_told_before_what_the_board_says() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let settings = JournalSettings::at(folder.path().join("j.sqlite"));
        let (journal, _) = Journal::open(settings.clone(), "gw").unwrap();
        journal.close().await;
        std::fs::remove_file(&settings.path).unwrap();
        let (journal, _) = Journal::open(settings, "gw").unwrap();
        let squares = squares(false).map(|piece| format!("{:02x}", piece.0)).join(" ");
        let capture = folder.path().join("board.dgtcap");
        std::fs::write(&capture, format!("# dgtcap 1\n0.000 < 86 00 43 {squares}\n")).unwrap();
        let source = format!("capture:{}", capture.display());
        let task = task_at(&shared(journal.clone()), &source).await;
        let stop = CancellationToken::new();
        let (_commands, mut heard) = mpsc::channel(1);
        let (running, ended) = (stop.clone(), stop.clone().drop_guard());
        let stopped = tokio::spawn(async move { task.run(&mut heard, &running).await });
        while journal.tick().await.depth < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(ended);
        stopped.await.unwrap().unwrap();
        let kinds: Vec<_> = journal
            .unacked(0, 2)
            .await
            .into_iter()
            .map(|row| row.kind)
            .collect();
        assert_eq!(kinds, ["notice", "board_connected"]);
        journal.close().await;
    }
}

/// The initial array, before or after 1.e4.
fn squares(after_e4: bool) -> [PieceCode; 64] {
    let mut squares = [PieceCode::EMPTY; 64];
    for (i, piece) in [8, 9, 10, 12, 11, 10, 9, 8].into_iter().enumerate() {
        (squares[i], squares[8 + i]) = (PieceCode(piece), PieceCode(7));
        (squares[56 + i], squares[48 + i]) = (PieceCode(piece - 6), PieceCode(1));
    }
    if after_e4 {
        squares.swap(52, 36);
    }
    squares
}

/// Gives the watcher a message of the board, and lets it do all that is due by `until`.
fn hear(watcher: &mut Watcher, at: u64, message: Message<'_>, until: u64) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    watcher.handle_bytes(Millis(at), &bytes);
    watcher.catch_up(Millis(until));
}

/// The clock had been silent. So its press, of a player who had not moved, is held when the daemon stops.
#[tokio::test]
async fn a_press_that_is_held_when_the_daemon_stops_is_judged_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = JournalSettings::at(folder.path().join("j.sqlite"));
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let shared = shared(journal.clone());
    let mut first = task(&shared).await;
    let watcher = &mut first.watcher;
    watcher.handle_link_up(Millis(0), "port");
    hear(watcher, 100, Message::Dump(&squares(false)), 200);
    hear(watcher, 1500, clock(Lever::LeftHigh), 3000);
    for (at, square, piece) in [(3000, 52, PieceCode::EMPTY), (3300, 36, PieceCode(1))] {
        hear(watcher, at, Message::Field { square, piece }, at + 60);
    }
    hear(watcher, 3600, clock(Lever::RightHigh), 4000);
    hear(watcher, 5000, clock(Lever::RightHigh), 6000);
    assert_eq!(watcher.game().moves, ["e2e4"]);
    hear(watcher, 8000, clock(Lever::LeftHigh), 8000);
    first.finish().await.unwrap();

    let mut second = task(&shared).await;
    let watcher = &mut second.watcher;
    watcher.handle_link_up(Millis(0), "port");
    hear(watcher, 100, Message::Dump(&squares(true)), 200);
    hear(watcher, 200, clock(Lever::LeftHigh), 1000);
    hear(watcher, 9000, clock(Lever::LeftHigh), 9100);
    let events = std::iter::from_fn(|| watcher.poll_event());
    let accused = events.filter(|event| matches!(event.body, Body::Irregularity(_)));
    assert_eq!(accused.count(), 1);
    journal.close().await;
}

/// Whether a task tells of lost events once the disk has an entry of it.
async fn tells_of_losses(task: &mut BoardTask) -> bool {
    task.watcher
        .handle_notice(Millis(0), notice::JOURNAL_FAILING, "the disk is full");
    task.drain().await;
    task.committed(Ok(Written::Disk)).unwrap();
    let mut events = std::iter::from_fn(|| task.watcher.poll_event());
    events.any(|event| matches!(event.body, Body::Notice { code, .. } if code == notice::EVENTS_LOST))
}

/// Numbers that leave their range, a new configuration and a failure begin the task anew.
#[tokio::test]
async fn what_one_task_lost_the_next_one_tells() {
    let folder = tempfile::tempdir().unwrap();
    let settings = JournalSettings::at(folder.path().join("j.sqlite"));
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let shared = shared(journal.clone());
    let mut first = task(&shared).await;
    first
        .watcher
        .handle_notice(Millis(0), notice::JOURNAL_FAILING, "the disk is full");
    first.drain().await;
    first.committed(Err(AppendError::MemoryFull(1))).unwrap();
    drop(first);

    let mut second = task(&shared).await;
    assert!(tells_of_losses(&mut second).await);
    // It ends before the journal has the notice.
    drop(second);
    let mut third = task(&shared).await;
    assert!(tells_of_losses(&mut third).await);
    assert!(!tells_of_losses(&mut third).await, "once");
    drop(third);
    assert!(!tells_of_losses(&mut task(&shared).await).await);
    journal.close().await;
}

/// Somebody takes the journal away, and what he has of it goes on elsewhere.
#[tokio::test]
async fn the_states_follow_what_is_told_in_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let settings = JournalSettings::at(folder.path().join("j.sqlite"));
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let shared = shared(journal.clone());
    let mut task = task(&shared).await;
    task.watcher
        .handle_notice(Millis(0), notice::JOURNAL_MISSING, "it was removed");
    task.finish().await.unwrap();
    let states = &shared.publisher.states;
    let game = states.value(&shared.topics, &"7".parse().unwrap(), BoardState::Game);
    let game: serde_json::Value = serde_json::from_slice(&game.unwrap()).unwrap();
    assert_eq!(game["last_seq"], 1);
    journal.close().await;
}
