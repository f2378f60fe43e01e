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

/// The part of a page below a heading.
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.find(heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let rest = &page[from + heading.len()..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// Whether a word between backquotes has the form of a test's name.
fn is_test(word: &&str) -> bool {
    word.matches('_').count() > 1 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Each of `entries` names tests, all of which are there.
fn assert_held<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = sources(&root.join("tests"));
    sources.extend(self::sources(&root.join("src")));
    let is_there = |test: &str| {
        let declared = format!("fn {test}(");
        sources.iter().any(|(_, text)| text.contains(&declared))
    };
    let mut count = 0;
    for (what, by) in entries {
        let tests: Vec<_> = quoted(by).filter(is_test).collect();
        let by_fuzzing = quoted(by).any(|word| word.starts_with("fuzz "));
        assert!(!tests.is_empty() || by_fuzzing, "no test holds: {what}");
        for test in tests {
            assert!(is_there(test), "{what}: no test {test}");
        }
        count += 1;
    }
    count
}

fn reliability() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md");
    fs::read_to_string(page).unwrap()
}

#[test]
fn each_promise_is_held_by_tests_that_are_there() {
    let page = reliability();
    let promises = part(&page, "\n## The promises\n");
    let promises = promises.split("\n\ndgt2mqtt does not promise").next().unwrap();
    let numbered = (1..).map_while(|number| {
        let from = promises.find(&format!("\n{number}. **"))?;
        let next = promises.find(&format!("\n{}. **", number + 1));
        Some(&promises[from..next.unwrap_or(promises.len())])
    });
    let held = numbered.map(|promise| promise.split_once("*Held by*").unwrap_or((promise, "")));
    assert_eq!(assert_held(held), 6);
}

#[test]
fn each_figure_of_the_results_has_its_test() {
    let page = reliability();
    let rows = part(&page, "\n## The results\n").lines();
    let rows = rows.filter(|line| line.starts_with("| ") && !line.starts_with("| injected"));
    let held = rows.map(|row| row.trim_end_matches(" |").rsplit_once(" | ").unwrap());
    assert!(assert_held(held) > 20);
}
