//! The example file holds, and names every key.

use std::{fs, path::Path};

use dgt2mqtt::config::Config;

use super::{certificates, home, problem};

const EXAMPLE: &str = include_str!("../../../docs/dgt2mqtt.example.toml");

/// The example with its settings in force: a `#` with no space after it hides a setting.
fn uncommented() -> String {
    let setting = |line: &str| {
        line.strip_prefix('#')
            .filter(|rest| rest.starts_with(|first: char| first.is_alphabetic() || first == '['))
            .map(str::to_owned)
    };
    EXAMPLE
        .lines()
        .map(|line| setting(line).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect()
}

fn without_comments(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_example_holds_as_it_stands_and_without_comments() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let as_it_stands = Config::from_text(EXAMPLE, &path, &home()).expect("good");
    let bare = Config::from_text(&without_comments(EXAMPLE), &path, &home()).expect("good");
    assert_eq!(as_it_stands, bare);
    assert_eq!(as_it_stands.gateway.as_str(), "hall");
    let urls: Vec<String> = as_it_stands.broker.urls.iter().map(ToString::to_string).collect();
    assert_eq!(
        urls,
        ["mqtt://localhost:1883"],
        "as distributions install a broker"
    );
}

#[test]
fn the_commented_settings_of_the_example_are_the_defaults() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    fs::write(&path, uncommented()).expect("a file");
    let full = Config::load(&path, &home()).unwrap_or_else(|error| panic!("{error}"));
    let default = Config::from_text(EXAMPLE, &path, &home()).expect("good");

    assert_eq!(full.base_topic, default.base_topic);
    assert_eq!(full.commands, default.commands);
    assert_eq!(full.limits, default.limits);
    assert_eq!(
        (full.journal.max_size, full.journal.max_age),
        (default.journal.max_size, default.journal.max_age)
    );
    assert_eq!(full.broker.keep_alive, default.broker.keep_alive);
    assert_eq!(full.broker.languages, default.broker.languages);
    assert_eq!(full.broker.client_id, default.broker.client_id);
    let (a, b) = (&full.boards[0], &default.boards[0]);
    assert_eq!((a.orientation, a.clock_side), (b.orientation, b.clock_side));
    assert_eq!(a.gathered_ms, b.gathered_ms);
    assert_eq!(a.rules.laws, b.rules.laws);
    assert_eq!(a.rules.time_control, b.rules.time_control);
    assert_eq!(a.rules.supervision, b.rules.supervision);
    // What has no default is an example.
    assert_eq!(a.table.white.as_deref(), Some("Anna Ivanova"));
    let tls = full.broker.tls.as_ref().expect("mqtts");
    assert_eq!(tls.ca_file, folder.path().join("ca.pem"));
    assert!(tls.client.is_some());
    assert_eq!(full.journal.path, folder.path().join("journal.sqlite"));
}

/// A key that the example forgets is a key that nobody knows of.
#[test]
fn the_example_and_the_manual_name_every_key() {
    let manual = include_str!("../../../docs/configuration.md");
    for (table, prefix) in [
        ("gateway", "[gateway]\n"),
        ("event", "[event]\n"),
        ("board", "[[board]]\n"),
        ("line", "[[line]]\n"),
        ("broker", "[broker]\n"),
        ("journal", "[journal]\n"),
        ("limits", "[limits]\n"),
        ("broadcast", "[broadcast]\n"),
        ("home_assistant", "[home_assistant]\n"),
        ("dashboard", "[dashboard]\n"),
        ("alert", "[[alert]]\n"),
        ("archive", "[archive]\n"),
        ("dashboard.people", "[[dashboard.people]]\n"),
        ("broadcast.lichess", "[broadcast.lichess]\n"),
    ] {
        // The parser itself lists what it knows.
        let (_, _, said) = problem(&format!("{prefix}zzzzzzzzzzzzzzzz = 1\n"));
        let keys = said.split("possible are: ").nth(1).expect("a list");
        for key in keys.trim().split(", ") {
            let starts = [format!("{key} = "), format!("[[{table}.{key}]]")];
            let named = EXAMPLE.lines().any(|line| {
                starts
                    .iter()
                    .any(|start| line.trim_start_matches('#').starts_with(start))
            });
            let hidden = ["password", "server"].contains(&key);
            let inline = table == "broadcast.lichess" && EXAMPLE.contains(&format!(" {key} = "));
            assert!(
                named || hidden || inline,
                "{table}.{key} is missing in the example"
            );
            assert!(
                manual.contains(&format!("`{key}`")),
                "{table}.{key} is missing in docs/configuration.md"
            );
        }
    }
}

proptest::proptest! {
    /// Whatever a slip of the keyboard makes of a good file, there is an answer, and it says where.
    #[test]
    fn slips_are_answered(at in 0..4000_usize, delete in 0..40_usize, insert in "[\\PC\n\"\\[\\]={}#]{0,6}") {
        let text = uncommented();
        let from = text.floor_char_boundary(at.min(text.len()));
        let to = text.floor_char_boundary((from + delete).min(text.len()));
        let slipped = format!("{}{insert}{}", &text[..from], &text[to..]);
        if let Err(error) = Config::from_text(&slipped, Path::new("t.toml"), &home()) {
            let said = error.to_string();
            proptest::prop_assert!(said.starts_with("t.toml"), "{}", said);
        }
    }
}
