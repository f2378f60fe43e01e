//! The table of constants in `docs/recognition.md` and the code say the same. `UPDATE_GOLDEN=1` writes
//! the values of the code into the table and drops what is gone; a new constant needs its row, and its reason, by hand.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

/// What tells nothing of how moves are recognised: formats, what commands and printouts may hold, what a computation needs.
const OTHERS: [(&str, &str); 12] = [
    ("account.rs", "TOLD"),
    ("before_game.rs", "MOST_WAITING"),
    ("bill.rs", "ITEMS"),
    ("command.rs", "MOST_WORDS"),
    ("correct.rs", "MOST_INSERTED"),
    ("kept.rs", "MOST_WAYS"),
    ("outbox.rs", "ROOM"),
    ("outbox.rs", "UPDATES_MS"),
    ("placement.rs", "LOW"),
    ("snapshot.rs", "VERSION"),
    ("stand.rs", "LONGEST_FEN"),
    ("unsaid.rs", "FIRST_UNSAID"),
];

/// The files of the recogniser.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_of_tests = ["tests", "tests.rs", "testing.rs"]
            .iter()
            .any(|name| path.ends_with(name));
        if path.is_dir() && !is_of_tests {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !is_of_tests {
            found.push(path);
        }
    }
}

/// File and name of each constant that is a number, with its value.
fn constants() -> BTreeMap<(String, String), String> {
    let mut constants = BTreeMap::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&src.join("board"), &mut found);
    files(&src.join("watcher"), &mut found);
    for path in found {
        let file = path.to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            // What follows is for tests.
            if line == "#[cfg(test)]" {
                break;
            }
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
                if !OTHERS.contains(&(&file, name)) {
                    constants.insert((file, name.to_owned()), value.to_owned());
                }
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
