//! Which rooms the pure ones know, as `ARCHITECTURE.md` says: none of the shell.

use std::{fs, path::Path};

const PURE: [&str; 9] = [
    "dgt", "families", "board", "game", "laws", "mate", "event", "capture", "watcher",
];
const SHELL: [&str; 11] = [
    "alert",
    "link",
    "journal",
    "mqtt",
    "broadcast",
    "dashboard",
    "door",
    "config",
    "gateway",
    "sim",
    "cli",
];
/// What else they may not do with: the runtime, and sockets and files.
const FOREIGN: [&str; 5] = ["tokio::", "std::fs", "std::net", "std::thread", "rusqlite::"];

/// The sources at or below `path` without their tests.
fn sources(path: &Path, found: &mut Vec<(String, String)>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            sources(&entry.unwrap().path(), found);
        }
    } else if path.file_name().unwrap() != "tests.rs" {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        found.push((path.display().to_string(), code.collect::<Vec<_>>().join("\n")));
    }
}

/// The rooms that `code` names: after `crate::`, also within the braces of a `use`.
fn rooms(code: &str) -> Vec<&str> {
    let mut rooms = Vec::new();
    for named in code.split("crate::").skip(1) {
        let Some(list) = named.strip_prefix('{') else {
            rooms.extend(named.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            continue;
        };
        let mut depth = 1;
        let mut start = 0;
        for (i, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || depth == 1 && c == ',' {
                rooms.extend(list[start..i].trim().split(':').next());
                start = i + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    rooms
}

#[test]
fn the_pure_rooms_know_none_of_the_shell() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for room in PURE {
        let mut found = Vec::new();
        let file = src.join(format!("{room}.rs"));
        sources(&if file.exists() { file } else { src.join(room) }, &mut found);
        assert!(!found.is_empty(), "{room} is gone");
        for (path, code) in found {
            for known in rooms(&code) {
                assert!(!SHELL.contains(&known), "{path} knows {known}");
            }
            for foreign in FOREIGN {
                assert!(!code.contains(foreign), "{path} uses {foreign}");
            }
        }
    }
}

#[test]
fn rooms_are_seen_wherever_they_are_named() {
    let code = "use crate::{\n    board::{Line, Lines},\n    time::Millis,\n};\nuse crate::link::file;\ncrate::mqtt::x()";
    assert_eq!(rooms(code), ["board", "time", "", "link", "mqtt"]);
}
