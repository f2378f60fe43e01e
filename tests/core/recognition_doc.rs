//! The table of constants in `docs/recognition.md` and the code say the same. `UPDATE_GOLDEN=1` writes
//! the values of the code into the table and drops what is gone; a new constant needs its row, and its reason, by hand.

use std::{collections::BTreeMap, env, fs, path::Path};

const FILES: [&str; 37] = [
    "board/weight.rs",
    "board/line.rs",
    "board/evidence.rs",
    "board/occupancy.rs",
    "board/lines.rs",
    "board/grow.rs",
    "board/presses.rs",
    "board/lever.rs",
    "board/sensed.rs",
    "board/suspect.rs",
    "board/fall.rs",
    "watcher/arbiter.rs",
    "watcher/backlog.rs",
    "watcher/gathers.rs",
    "watcher/late.rs",
    "watcher/settle.rs",
    "watcher/flags.rs",
    "watcher/judge.rs",
    "watcher/accuse.rs",
    "watcher/displaced.rs",
    "watcher/after.rs",
    "watcher/overruled.rs",
    "watcher/lifecycle.rs",
    "watcher/finish.rs",
    "watcher/gap.rs",
    "watcher/core.rs",
    "watcher/game.rs",
    "watcher/start.rs",
    "watcher/midway.rs",
    "watcher/touch.rs",
    "watcher/unread.rs",
    "watcher/doubt.rs",
    "watcher/fallen.rs",
    "watcher/occupancy.rs",
    "watcher/onboard_log.rs",
    "watcher/recall.rs",
    "watcher/sure.rs",
];

/// File and name of each constant that is a number, with its value.
fn constants() -> BTreeMap<(String, String), String> {
    let mut constants = BTreeMap::new();
    for file in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("const ") else {
                continue;
            };
            let Some((name, rest)) = rest.split_once(": ") else {
                continue;
            };
            let Some((kind, value)) = rest.split_once(" = ") else {
                continue;
            };
            if let ("u64" | "f32" | "usize", Some(value)) = (kind, value.strip_suffix(';')) {
                let file = file.rsplit('/').next().unwrap().to_owned();
                constants.insert((file, name.to_owned()), value.to_owned());
            }
        }
    }
    constants
}

#[test]
fn the_table_says_what_the_code_does() {
    let constants = constants();
    assert!(constants.len() > 40);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recognition.md");
    let page = fs::read_to_string(&path).unwrap();
    let updating = env::var_os("UPDATE_GOLDEN").is_some();
    let mut documented = BTreeMap::new();
    let mut written = String::new();
    for line in page.lines() {
        let cells: Vec<_> = line.split(" | ").collect();
        let row = line.starts_with("| `").then_some(&cells[..]);
        if let Some([file, name, value, rest @ ..]) = row {
            let key = (
                file.trim_matches(['|', ' ', '`']).to_owned(),
                name.trim_matches('`').to_owned(),
            );
            if updating && !constants.contains_key(&key) {
                continue;
            }
            let code = constants.get(&key).map_or(*value, String::as_str);
            written += &format!("{file} | {name} | {code} | {}\n", rest.join(" | "));
            documented.insert(key, (*value).to_owned());
        } else {
            written += &format!("{line}\n");
        }
    }
    if updating {
        fs::write(&path, written).unwrap();
        documented = documented
            .into_keys()
            .map(|key| (key.clone(), constants.get(&key).cloned().unwrap_or_default()))
            .collect();
    }
    assert_eq!(documented, constants, "UPDATE_GOLDEN=1 writes values, not rows");
}
