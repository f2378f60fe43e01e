//! Whatever happens to the journal while games are played, `health` says it within seconds, however seldom `health` comes.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    disk::ImageDisk,
    faults_numbers::{Scene, copy, restore},
    seed::rng,
    wiring::Wiring,
};

/// How long it may take until it is said.
const SOON: Duration = Duration::from_secs(10);

/// A hall whose gateway sends `health` every half minute, as it does unless somebody changes it.
async fn scene(state: &str) -> Scene {
    let scene = Scene::new(Wiring::Alone, &mut rng(), |folder| folder.join(state)).await;
    let text = std::fs::read_to_string(&scene.config).unwrap();
    assert!(text.contains("health_interval_s = 5\n"));
    std::fs::write(&scene.config, text.replace("health_interval_s = 5\n", "")).unwrap();
    scene
}

/// Waits until `health` has the code; it must have it soon after `since`, and not before.
async fn assert_is_said_soon(scene: &Scene, code: &str, since: Instant) {
    let said = scene.subscriber.wait(code, |got| {
        let is_health = got.topic.ends_with("gw/health");
        is_health
            && got.json()["notices"]
                .as_array()
                .unwrap()
                .iter()
                .any(|notice| notice["code"] == code)
    });
    let at = said.await.at;
    assert!(at >= since, "{code} was said before anything happened");
    let took = at - since;
    println!("{code}: said after {took:.1?}");
    assert!(took <= SOON, "{code} was said after {took:?}");
}

/// Waits until `health` comes in its own time only.
async fn settled(scene: &Scene) {
    scene.more(4, &mut rng()).await;
    tokio::time::sleep(Duration::from_secs(13)).await;
}

/// What a person does to the folder of the journal while the daemon writes.
async fn is_found(harm: impl Fn(&Path), code: &str) {
    let scene = scene("state").await;
    let state = scene.folder.path().join("state");
    let daemon = scene.start();
    scene.more(4, &mut rng()).await;
    copy(&state, &state.with_extension("backup"));
    settled(&scene).await;
    let since = Instant::now();
    harm(&state);
    assert_is_said_soon(&scene, code, since).await;
    daemon.stop();
}

#[tokio::test]
async fn a_journal_that_is_removed_is_said_within_seconds() {
    is_found(|state| std::fs::remove_dir_all(state).unwrap(), "journal_missing").await;
}

#[tokio::test]
async fn so_is_one_that_is_replaced() {
    is_found(restore, "journal_replaced").await;
}

#[tokio::test]
async fn so_is_one_that_takes_no_writes() {
    let scene = scene("disk").await;
    let at = |name: &str| scene.folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    let daemon = scene.start();
    settled(&scene).await;
    let since = Instant::now();
    disk.fail();
    assert_is_said_soon(&scene, "journal_failing", since).await;
    daemon.stop();
}

#[tokio::test]
async fn so_is_one_that_comes_from_a_backup() {
    let scene = scene("state").await;
    let archive = scene.folder.path().join("archive");
    let call = |verb: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
        command
            .args([verb, "--config"])
            .arg(&scene.config)
            .arg(&archive)
            .args(options);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let daemon = scene.start();
    scene.more(4, &mut rng()).await;
    call("backup", &[]);
    scene.more(4, &mut rng()).await;
    daemon.stop();
    call("restore", &["--force"]);
    let since = Instant::now();
    let daemon = scene.start();
    assert_is_said_soon(&scene, "journal_restored", since).await;
    daemon.stop();
}
