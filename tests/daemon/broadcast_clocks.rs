//! The public sees time that is added to a clock while a player thinks, and not only with the next half-move.

use std::{fs, time::Duration};

use dgt2mqtt::{game::pgn::tag, link::file::read_capture};

use crate::{
    broker::{Mosquitto, free_port},
    hall::{Daemon, fixture, journal, playing, save, until},
    page::Server,
    reader::read_by_others,
};

/// How long whatever must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

#[test]
fn time_that_is_added_between_half_moves_is_public_before_the_next() {
    time_is_added(false);
}

/// The page's program hears of clocks from the broker.
#[test]
fn so_it_is_where_the_page_broadcasts() {
    time_is_added(true);
}

fn time_is_added(by_page: bool) {
    let folder = tempfile::tempdir().unwrap();
    // White's time runs down after 2... Nc6, and the clock adds half an hour. White then thinks for 15 s more.
    let mut capture = read_capture(&fixture("flag-at-the-end-of-a-period")).unwrap();
    for record in &mut capture.records {
        if record.at.0 >= 16_900 {
            record.at = record.at + 15_000;
        }
    }
    let slower = save(folder.path(), "slower", &capture);
    let cast = "[broadcast]\nfolder = \"open\"\ndelay_seconds = 2\n";
    let broker = by_page.then(|| Mosquitto::start(folder.path(), ""));
    let page = broker.as_ref().map(|broker| {
        let config = folder.path().join("page.toml");
        fs::write(&config, format!("{cast}boards = [\"gw/1\"]\n")).unwrap();
        Server::start(broker.port, free_port(), &["--config", config.to_str().unwrap()])
    });
    // Nothing listens at port 1: the daemon's own broadcast needs no broker.
    let port = broker.as_ref().map_or(1, |broker| broker.port);
    let (_simulator, config) = playing(folder.path(), port, "1", &slower, &[]);
    if !by_page {
        let rest = fs::read_to_string(&config).unwrap();
        fs::write(&config, rest + cast).unwrap();
    }
    let daemon = Daemon::start(&config);
    let game = folder.path().join("open/round-1/game-1.pgn");
    let read = || fs::read_to_string(&game).unwrap_or_default();

    let text = until("half an hour more", PATIENCE, || {
        let text = read();
        assert!(!text.contains("Bb5"), "too late: {text}");
        let white = tag(&text, "WhiteClock")?;
        (white.starts_with("0:29:5") || white == "0:30:00").then_some(text)
    });
    let line = text.replace('\n', " ");
    assert!(line.contains("2... Nc6") && line.ends_with("* "), "{text}");
    assert!(
        line.contains("2. Nf3 {[%clk 0:00:1"),
        "its half-moves as they were: {text}"
    );
    assert!(tag(&text, "BlackClock").unwrap().starts_with("0:00:1"), "{text}");
    assert!(!text.contains("ReferenceTime"), "{text}");
    let told = journal(&config, "1");
    let is_move = |event: &&serde_json::Value| event["type"] == "move";
    assert_eq!(told.iter().filter(is_move).count(), 4, "no half-move has told it");
    // The next clock changes the file while they read one after the other.
    let then = folder.path().join("then");
    fs::create_dir(&then).unwrap();
    fs::write(then.join("game-1.pgn"), &text).unwrap();
    if let Some(games) = read_by_others(&then) {
        assert_eq!(games[0]["errors"], serde_json::json!([]));
    }
    until("the next half-move", PATIENCE, || {
        read().contains("Bb5").then_some(())
    });
    assert!(daemon.stop());
    drop(page);
}
