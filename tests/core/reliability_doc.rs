//! The tests that `docs/reliability.md` and `docs/security.md` speak of are there.

use std::{fs, path::Path};

/// What stands between backquotes.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

/// All tests below a folder: the text of each file by its name.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(extension) if extension == "rs" => {
            let name = path.file_name().unwrap().to_str().unwrap();
            vec![(name.to_owned(), fs::read_to_string(&path).unwrap())]
        }
        _ => Vec::new(),
    });
    found.collect()
}

#[test]
fn every_test_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources(&root.join("tests"));
    let mut named = 0;
    for page in ["docs/reliability.md", "docs/security.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for line in text.lines().filter(|line| line.starts_with('|')) {
            for word in quoted(line) {
                if word.ends_with(".rs") {
                    let is_there = if word.contains('/') {
                        root.join(word).exists()
                    } else {
                        sources.iter().any(|(name, _)| name == word)
                    };
                    assert!(is_there, "{page}: {word} is not there");
                    named += 1;
                } else if let Some(target) = word.strip_prefix("fuzz ") {
                    assert!(
                        root.join("fuzz/fuzz_targets")
                            .join(format!("{target}.rs"))
                            .exists(),
                        "{page}: {word}"
                    );
                } else if word.matches('_').count() > 3
                    && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
                    && !word.starts_with("dgt2mqtt_")
                {
                    let test = format!("fn {word}(");
                    assert!(
                        sources.iter().any(|(_, text)| text.contains(&test)),
                        "{page}: no test {word}"
                    );
                    named += 1;
                }
            }
        }
    }
    assert!(named > 40, "{named}");
}
