//! Groups of an event in one broadcast.

use std::fs;

use dgt2mqtt::config::{Collector, Config, ConfigError};

use super::{SMALL, certificates, home};

const COMMON: &str = "[broadcast]\nfolder = \"open\"\nname = \"Olympiad\"\nround = 2\ndelay_minutes = 15\nlichess = { token_file = \"lichess-token\" }\n";
const OPEN: &str = "[broadcast.groups.open]\nboards = [\"a/1\", \"b/1\"]\nlichess.broadcast = \"OpenOpen\"\n";
const WOMEN: &str = "[broadcast.groups.women]\nname = \"Women's Olympiad\"\nfolder = \"elsewhere\"\nboards = [\"a/2\"]\ndelay_minutes = 5\nlichess.broadcast = \"WomenWom\"\n";

fn read(text: &str) -> Result<Collector, ConfigError> {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    fs::write(&path, text).expect("a file");
    Collector::load(&path, &home())
}

#[test]
fn each_has_what_is_common_and_what_it_has_for_itself() {
    let collector = read(&format!("{COMMON}{OPEN}{WOMEN}")).unwrap_or_else(|error| panic!("{error}"));
    let [open, women] = &collector.broadcasts[..] else {
        panic!("two: {:?}", collector.broadcasts)
    };
    assert_eq!(
        [&open.group, &women.group],
        [&Some("open".into()), &Some("women".into())]
    );
    assert!(open.folder.ends_with("open/open"), "{}", open.folder.display());
    assert!(women.folder.ends_with("elsewhere"), "{}", women.folder.display());
    assert_eq!(open.tournament.name.as_deref(), Some("Olympiad, open"));
    assert_eq!(women.tournament.name.as_deref(), Some("Women's Olympiad"));
    assert_eq!([open.tournament.round, women.tournament.round], [2, 2]);
    assert_eq!(
        [open.tournament.delay.ms, women.tournament.delay.ms],
        [900_000, 300_000]
    );
    assert_eq!(open.boards, ["a/1", "b/1"]);
    let on_lichess =
        |of: &dgt2mqtt::config::Broadcast| of.lichess.as_ref().map(|lichess| lichess.round.clone());
    assert_eq!(on_lichess(open).as_deref(), Some("OpenOpen#2"));
    assert_eq!(on_lichess(women).as_deref(), Some("WomenWom#2"));
}

#[test]
fn what_only_one_can_have_is_refused() {
    for (text, told) in [
        (format!("{COMMON}boards = [\"a/1\"]\n{OPEN}"), "each group has `boards` for itself"),
        (format!("{COMMON}pairings = \"p.csv\"\n{OPEN}"), "each group has `pairings` for itself"),
        (format!("{COMMON}listen = \"0.0.0.0:8065\"\n{OPEN}"), "each group has `listen` for itself"),
        (
            "[broadcast]\nfolder = \"open\"\nlichess.broadcast = \"OpenOpen\"\n[broadcast.groups.a]\nboards = [\"a/1\"]\n".into(),
            "each group has `broadcast` for itself",
        ),
        (format!("{COMMON}groups = 3\n"), "expected a table for each group"),
        (format!("{COMMON}[broadcast.groups]\n"), "expected a table for each group"),
        (format!("{COMMON}groups.open = 3\n"), "expected a table for each group"),
        (format!("{COMMON}[broadcast.groups.\"../x\"]\nboards = [\"a/1\"]\n"), "cannot be the name of a group"),
        (format!("{COMMON}[broadcast.groups.open]\nlichess.broadcast = \"OpenOpen\"\n"), "the broadcast has no boards"),
        (format!("{COMMON}{OPEN}[broadcast.groups.open.groups.x]\n"), "groups"),
        (format!("{COMMON}{OPEN}{}", WOMEN.replace("a/2", "b/1")), "open and women have the board \"b/1\" together"),
        (format!("{COMMON}{OPEN}{}", WOMEN.replace("WomenWom", "OpenOpen")), "have the games of OpenOpen on lichess together"),
        (format!("{COMMON}{OPEN}{}", WOMEN.replace("elsewhere", "open/open")), "have the folder"),
        (
            format!("{COMMON}{OPEN}listen = \"127.0.0.1:1\"\n{WOMEN}listen = \"127.0.0.1:1\"\n"),
            "open and women have the address 127.0.0.1:1 together",
        ),
        (
            format!("{COMMON}{}", OPEN.replace("lichess.broadcast = \"OpenOpen\"\n", "")),
            "needs `round` or `broadcast`",
        ),
        (format!("{COMMON}{OPEN}{}", WOMEN.replace("delay_minutes = 5", "delay_minutes = 601")), "out of bounds"),
    ] {
        let error = read(&text).expect_err(&text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[test]
fn a_mistake_in_what_is_common_is_told_once() {
    let text = format!("{COMMON}{OPEN}{WOMEN}").replace("round = 2", "round = 200");
    let Err(ConfigError::Invalid(problems)) = read(&text) else {
        panic!("a mistake")
    };
    assert_eq!(problems.len(), 1, "{problems}");
}

/// The daemons of a hall leave a broadcast with groups to the dashboard, so that one file serves both.
#[test]
fn a_daemon_leaves_groups_to_the_dashboard() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let text = format!("{SMALL}{COMMON}{OPEN}");
    let config = Config::from_text(&text, &path, &home()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(config.broadcast, None);
}
