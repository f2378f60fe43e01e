//! The table of constants in `docs/recognition.md` and the code say the same. `UPDATE_GOLDEN=1` writes
//! the values of the code into the table and drops what is gone; a new constant needs its row, and its reason, by hand.

use std::{collections::BTreeMap, env, fs, path::Path};

const FILES: [&str; 71] = [
    "board/chips.rs",
    "board/weight.rs",
    "board/line.rs",
    "board/evidence.rs",
    "board/occupancy.rs",
    "board/line/cost.rs",
    "board/lines.rs",
    "board/lines/grow.rs",
    "board/presses.rs",
    "board/lever.rs",
    "board/sensed.rs",
    "board/sensed/hops.rs",
    "board/suspect.rs",
    "board/fall.rs",
    "board/sleeve.rs",
    "board/row.rs",
    "watcher/game/positions.rs",
    "watcher/game/silence.rs",
    "watcher/game/reported.rs",
    "watcher/at_rest.rs",
    "watcher/clock.rs",
    "watcher/clock/first_times.rs",
    "watcher/clock/missed.rs",
    "watcher/ctx.rs",
    "watcher/backlog.rs",
    "watcher/since.rs",
    "watcher/gathers.rs",
    "watcher/core/glimpse.rs",
    "watcher/game/glimpse.rs",
    "watcher/late.rs",
    "watcher/game/settle.rs",
    "watcher/game/flags.rs",
    "watcher/game/mod.rs",
    "watcher/game/judge.rs",
    "watcher/game/bounced.rs",
    "watcher/game/waits.rs",
    "watcher/game/accuse.rs",
    "watcher/game/displaced.rs",
    "watcher/game/after.rs",
    "watcher/game/array.rs",
    "watcher/game/unclocked.rs",
    "watcher/game/victim.rs",
    "watcher/game/exchanged.rs",
    "watcher/game/replaced.rs",
    "watcher/game/overruled.rs",
    "watcher/core/begin.rs",
    "watcher/core/lifecycle.rs",
    "watcher/core/meanwhile.rs",
    "watcher/arrays.rs",
    "watcher/core/next_game.rs",
    "watcher/game/finish.rs",
    "watcher/game/gap.rs",
    "watcher/game/gap/search.rs",
    "watcher/core/mod.rs",
    "watcher/core/world.rs",
    "watcher/core/take_over.rs",
    "watcher/core/snapshot/record.rs",
    "watcher/game/press.rs",
    "watcher/game/record.rs",
    "watcher/core/start.rs",
    "watcher/midway.rs",
    "watcher/game/touch.rs",
    "watcher/game/unread.rs",
    "watcher/game/doubt.rs",
    "watcher/game/trust.rs",
    "watcher/game/fallen.rs",
    "watcher/core/occupancy.rs",
    "watcher/game/felt.rs",
    "watcher/onboard_log.rs",
    "watcher/game/recall.rs",
    "watcher/game/sure.rs",
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
            if let ("u32" | "u64" | "i64" | "f32" | "usize", Some(value)) = (kind, value.strip_suffix(';')) {
                // The file of a folder goes by the folder's name.
                let name_of_file = file.strip_suffix("/mod.rs").map(|folder| format!("{folder}.rs"));
                let file = name_of_file.as_deref().unwrap_or(file);
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
    // One line for each difference, as a row to be written.
    let rows =
        |from: &BTreeMap<(String, String), String>, other: &BTreeMap<(String, String), String>| -> String {
            let missing = from.iter().filter(|(key, value)| other.get(*key) != Some(*value));
            missing
                .map(|((file, name), value)| format!("| `{file}` | `{name}` | {value} | unit | why |\n"))
                .collect()
        };
    let (lacks, has) = (rows(&constants, &documented), rows(&documented, &constants));
    assert!(
        lacks.is_empty() && has.is_empty(),
        "docs/recognition.md lacks (UPDATE_GOLDEN=1 writes values, but no rows):\n{lacks}and has:\n{has}"
    );
}
