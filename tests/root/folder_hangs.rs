//! The folder of a broadcast lies on a share that does not answer. Boards and broker do not wait for it.

use std::{fs, time::Duration};

use crate::{
    broker::{Got, Mosquitto, Subscriber},
    disk::ImageDisk,
    hall::{Daemon, fixture, playing, until},
    ops_notify::Frozen,
};

const SLOW: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_share_that_hangs_delays_the_public_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("share");
    let Some(_disk) = ImageDisk::make(&folder.path().join("image"), &at) else {
        return;
    };
    let mosquitto = Mosquitto::start(folder.path(), "");
    let here = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let (_simulator, config) = playing(
        folder.path(),
        mosquitto.port,
        "1",
        &fixture("vienna-1910"),
        &["--speed", "2"],
    );
    let text = fs::read_to_string(&config).unwrap();
    let with_round = |round: u32| {
        let cast = format!("[broadcast]\nfolder = \"share/open\"\nround = {round}\nrounds = 3\n");
        fs::write(&config, text.clone() + &cast).unwrap();
    };
    with_round(1);
    let is_ply = |ply: u32| move |got: &Got| got.topic.ends_with("/event/move") && got.json()["ply"] == ply;

    // The share is away when the daemon starts.
    let frozen = Frozen::new(&at);
    if frozen.is_none() {
        skipped!("fsfreeze is needed");
        return;
    }
    let daemon = Daemon::start(&config);
    here.wait("moves before the share is there", is_ply(2)).await;
    let log = || fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    until("the log says so", SLOW, || {
        log().contains("has not answered for 10 s").then_some(())
    });
    drop(frozen);
    let file = at.join("open/round-1/game-1.pgn");
    until("the game is public", SLOW, || fs::read_to_string(&file).ok());

    // It is away when the next round begins. Nothing is under way there, so nothing waits for it already.
    std::thread::sleep(Duration::from_secs(1));
    let frozen = Frozen::new(&at);
    with_round(2);
    daemon.signal("HUP");
    until("the next round", SLOW, || {
        log().contains("taken over: [broadcast]").then_some(())
    });
    let heard = here
        .all()
        .iter()
        .filter(|got| got.topic.ends_with("/event/move"))
        .count() as u32;
    here.wait("moves while the share hangs", is_ply(heard + 2)).await;
    drop(frozen);
    until("the round is public", SLOW, || {
        fs::read_to_string(at.join("open/round-2/index.json")).ok()
    });
    assert!(daemon.stop());
}
