//! A journal that cannot be written is on the page within seconds, and gone from it when somebody has mended it.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    broker::{Mosquitto, free_port},
    browser::Browser,
    hall::{Daemon, one_board},
    page::Server,
};

/// How long it may take until it is shown.
const SOON: Duration = Duration::from_secs(10);
/// What was mended stays for a minute, so that somebody sees it.
const MENDED: Duration = Duration::from_secs(100);

#[test]
fn a_fault_of_the_journal_is_shown_within_seconds_and_gone_when_it_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace("\"journal.sqlite\"", "\"state/journal.sqlite\""),
    )
    .unwrap();
    let _daemon = Daemon::start(&config);
    let server = Server::start(broker.port, free_port(), &[]);
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    browser.open(&server.url("?lang=en"));
    browser.until(
        "the board",
        "return document.querySelectorAll('.card').length === 1",
    );
    // From here on `health` comes in its own time, every half minute.
    std::thread::sleep(Duration::from_secs(13));
    browser.until(
        "nothing to say",
        "return document.getElementById('outage').hidden",
    );
    let shows = |words: &str| {
        let text = browser.run("return document.getElementById('outage').innerText");
        text.as_str().unwrap().contains(words)
    };
    let takes = |what: &str, patience: Duration, is_so: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < patience, "{what}: not after {patience:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
        println!("{what}: after {:.1?}", start.elapsed());
    };

    // Nothing can be written where a file is in the folder's place.
    let state = folder.path().join("state");
    fs::remove_dir_all(&state).unwrap();
    fs::write(&state, "").unwrap();
    takes("the fault is shown", SOON, &|| shows("cannot be written"));

    fs::remove_file(&state).unwrap();
    let is_mended = || !shows("cannot be written") && shows("a new one begins");
    takes("it is mended, and what happened is told", SOON, &is_mended);
    takes("nothing is left to say", MENDED, &|| {
        browser.run("return document.getElementById('outage').hidden") == true
    });
    assert!(state.join("journal.sqlite").exists());
}
