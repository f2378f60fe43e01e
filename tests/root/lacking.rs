//! A test that cannot run here says so, with what it lacks.

use std::process::Command;

/// A test, what is taken from it, and what it says then.
const LACKING: [(&str, (&str, &str), &str); 4] = [
    (
        "faults_numbers::nor_does_one_that_is_removed_while_the_clock_shows_a_year_before_1970",
        ("DGT2MQTT_FAKETIME", "/nowhere"),
        "skipped: needs libfaketime",
    ),
    (
        "journal_place::a_disk_that_takes_no_writes_is_said_without_an_event_and_numbers_are_not_secured",
        ("PATH", "/nowhere"),
        "skipped: mkfs.ext4 is needed",
    ),
    (
        "journal_faults::full_disk::a_full_disk_is_bridged_in_memory",
        ("PATH", "/nowhere"),
        "skipped: a small file system cannot be mounted here (that needs root)",
    ),
    (
        "ops_notify::a_disk_that_hangs_does_not_end_the_daemon",
        ("PATH", "/nowhere"),
        "skipped: mkfs.ext4 is needed",
    ),
];

#[test]
fn a_test_that_cannot_run_here_says_what_it_lacks() {
    for (test, (name, value), reason) in LACKING {
        let program = std::env::current_exe().unwrap();
        let done = Command::new(program)
            .args(["--exact", test])
            .env(name, value)
            .output()
            .unwrap();
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("running 1 test"), "{test}: {said}");
        assert!(done.status.success() && said.contains(reason), "{test}: {said}");
    }
}

/// Nor does any other keep its word back, as what a test prints is kept back if it passes.
#[test]
fn no_test_is_skipped_unheard() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let found = Command::new("grep")
        .args(["-rnE", "println!\\(.?\"skipped"])
        .arg(folder)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
