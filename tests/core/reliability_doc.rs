//! The tests that `docs/reliability.md` and `docs/security.md` speak of are there, in the files that the pages name, and they run.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// A file with tests: their names, and which of them run only where somebody asks for them.
struct Source {
    /// Below the root of the project.
    path: PathBuf,
    text: String,
    is_ignored: BTreeMap<String, bool>,
}

/// All files below `tests` and `src`.
static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut sources = Vec::new();
    for folder in ["tests", "src"] {
        gather(Path::new(folder), &mut sources);
    }
    sources
});

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Reads the files below a folder.
fn gather(folder: &Path, into: &mut Vec<Source>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = folder.join(entry.unwrap().file_name());
        if root().join(&path).is_dir() {
            gather(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = read(&path);
            let is_ignored = tests_of(&text);
            into.push(Source {
                path,
                text,
                is_ignored,
            });
        }
    }
}

/// The tests of a file, and whether each is ignored: functions with such an attribute just above them.
fn tests_of(text: &str) -> BTreeMap<String, bool> {
    let mut tests = BTreeMap::new();
    let (mut is_test, mut is_ignored, mut open) = (false, false, 0);
    for line in text.lines().map(str::trim) {
        // Brackets of an attribute that are still open.
        let opens = line.matches('[').count() as i32 - line.matches(']').count() as i32;
        if open > 0 {
            open += opens;
        } else if line.starts_with("#[") {
            is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
            is_ignored |= line.starts_with("#[ignore");
            open = opens;
        } else if !line.is_empty() && !line.starts_with("//") {
            let declared = line.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
            if let Some((name, _)) = declared.filter(|_| is_test) {
                tests.insert(name.to_owned(), is_ignored);
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    tests
}

#[test]
fn a_test_is_known_by_its_attribute() {
    let text = "#[test]\nfn one() {}\n\nfn helper() {}\n// #[test]\n// fn gone() {}\n#[test]\n#[ignore = \"long\"] // why\nfn two() {}\n\
                #[tokio::test(\n    flavor = \"x\"\n)]\nasync fn three() {}\nconst X: u8 = 1;\nfn four() {}\n";
    let tests: Vec<_> = tests_of(text).into_iter().collect();
    let named = |name: &str, is_ignored| (name.to_owned(), is_ignored);
    assert_eq!(
        tests,
        [named("one", false), named("three", false), named("two", true)]
    );
}

/// What stands between backquotes.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

/// Whether a word between backquotes has the form of a test's name.
fn is_test(word: &str) -> bool {
    word.matches('_').count() > 1
        && word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Whether the program itself has such a word: a code, a field, a figure.
fn is_of_the_program(word: &str) -> bool {
    // A figure has its prefix and the ending of a counter only where it is printed.
    let word = match word.strip_prefix("dgt2mqtt_") {
        Some(figure) => figure.strip_suffix("_total").unwrap_or(figure),
        None => word,
    };
    let has_it = |text: &str| {
        text.match_indices(word).any(|(at, _)| {
            let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
            is_edge(text[..at].chars().next_back()) && is_edge(text[at + word.len()..].chars().next())
        })
    };
    let mut sources = SOURCES.iter();
    sources.any(|source| source.path.starts_with("src") && has_it(&source.text))
}

/// Whether a word is the name of a test, or has the form of one and is no word of the program.
fn is_meant_as_test(word: &str) -> bool {
    let is_one = || SOURCES.iter().any(|source| source.is_ignored.contains_key(word));
    is_test(word) && (is_one() || !is_of_the_program(word))
}

/// The files that a page means by `word`: those of this name or at this path, with the modules that lie in the folder of that name.
fn files(word: &str) -> Vec<&'static Source> {
    let is_meant = |path: &Path| match word.contains('/') {
        true => path == Path::new(word),
        false => path.starts_with("tests") && path.file_name().is_some_and(|name| name == word),
    };
    let folder_of = |path: &Path| path.parent().map(|folder| folder.with_extension("rs"));
    let found = SOURCES.iter().filter(|source| {
        is_meant(&source.path) || folder_of(&source.path).is_some_and(|folder| is_meant(&folder))
    });
    found.collect()
}

/// Asserts that a file of a program of tests is compiled with it.
fn assert_is_in_its_program(source: &Source) {
    let (Some(program), Some(stem)) = (source.path.parent(), source.path.file_stem()) else {
        return;
    };
    let main = program.join("main.rs");
    if program.starts_with("tests") && root().join(&main).exists() {
        let declared = format!("\nmod {};\n", stem.to_str().unwrap());
        let path = source.path.display();
        assert!(
            read(&main).contains(&declared),
            "{} leaves out {path}",
            main.display()
        );
    }
}

/// Asserts that `test` is one of `files` and that it runs, or that `text` says how it is run.
fn assert_runs<'a>(files: impl IntoIterator<Item = &'a Source>, test: &str, text: &str) {
    let found: Vec<_> = files
        .into_iter()
        .filter_map(|source| Some((source, *source.is_ignored.get(test)?)))
        .collect();
    assert!(!found.is_empty(), "no test {test} where this says: {text}");
    for (source, is_ignored) in found {
        assert_is_in_its_program(source);
        assert!(
            !is_ignored || text.contains("--ignored"),
            "{test} is ignored, and nothing says how to run it: {text}"
        );
    }
}

/// Asserts that what a row of a table names is there: each test is one of the file before it, and a file of which no test is named
/// has some. Returns how many files and tests those are.
fn assert_row(row: &str) -> usize {
    let (mut in_files, mut is_empty, mut named) = (Vec::new(), false, 0);
    for word in quoted(row) {
        if word.ends_with(".rs") {
            assert!(!is_empty, "the file before {word} has no test: {row}");
            in_files = files(word);
            assert!(!in_files.is_empty(), "{word} is not there: {row}");
            is_empty = in_files.iter().all(|source| source.is_ignored.is_empty());
            in_files
                .iter()
                .for_each(|source| assert_is_in_its_program(source));
            named += 1;
        } else if let Some(target) = word.strip_prefix("fuzz ") {
            let path = root().join("fuzz/fuzz_targets").join(format!("{target}.rs"));
            assert!(path.exists(), "{word} is not there: {row}");
            named += 1;
        } else if is_meant_as_test(word) {
            assert_runs(in_files.iter().copied(), word, row);
            named += 1;
        }
    }
    assert!(!is_empty, "the last file has no test: {row}");
    named
}

/// The part of a page below a heading.
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.find(heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let rest = &page[from + heading.len()..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// The rows of the tables of a part, without their heads.
fn rows(part: &str) -> impl Iterator<Item = &str> {
    let is_head = |lines: &[&str]| lines[1].starts_with("|---");
    let lines: Vec<_> = part.lines().chain([""]).collect();
    let rows: Vec<_> = lines
        .windows(2)
        .filter(|lines| lines[0].starts_with("| ") && !is_head(lines))
        .map(|lines| lines[0])
        .collect();
    rows.into_iter()
}

#[test]
fn each_fault_names_tests_that_are_there() {
    let page = read("docs/reliability.md");
    let mut count = 0;
    for row in rows(part(&page, "\n## The faults\n")) {
        assert!(assert_row(row) > 0, "no test: {row}");
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn so_does_each_harm() {
    let page = read("docs/security.md");
    let (mut count, mut tested) = (0, 0);
    for row in rows(part(&page, "\n## What could happen\n")) {
        count += 1;
        tested += usize::from(assert_row(row) > 0);
    }
    assert!(count > 40, "{count}");
    assert_eq!(tested, count, "a row names no test");
}

/// Asserts that each of `entries` names tests, all of which are there. Returns how many there are.
fn assert_held<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    let mut count = 0;
    for (what, by) in entries {
        let tests: Vec<_> = quoted(by).filter(|word| is_test(word)).collect();
        let mut targets = quoted(by).filter(|word| word.starts_with("fuzz "));
        assert!(
            !tests.is_empty() || targets.next().is_some(),
            "no test holds: {what}"
        );
        for test in tests {
            assert_runs(SOURCES.iter(), test, &format!("{what}{by}"));
        }
        count += 1;
    }
    count
}

#[test]
fn each_promise_is_held_by_tests_that_are_there() {
    let page = read("docs/reliability.md");
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
    let page = read("docs/reliability.md");
    let rows = rows(part(&page, "\n## The results\n"));
    let held = rows.map(|row| row.trim_end_matches(" |").rsplit_once(" | ").unwrap());
    assert!(assert_held(held) > 20);
}

/// Whatever else has the form of a name, anywhere on the pages, is a test that runs or a word of the program.
#[test]
fn whatever_is_named_is_there() {
    let mut named = 0;
    for page in ["docs/reliability.md", "docs/security.md"] {
        for text in read(page).split('\n') {
            for word in quoted(text).filter(|word| is_meant_as_test(word)) {
                named += 1;
                assert_runs(SOURCES.iter(), word, text);
            }
        }
    }
    assert!(named > 200, "{named}");
}
