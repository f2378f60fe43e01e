//! One name, one meaning: what `ARCHITECTURE.md` says of words, held against the names of types.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};

use crate::rooms::without_tests;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The types that a file declares and that others can name.
fn declared(tokens: &[TokenTree]) -> Vec<String> {
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(word)) => word.to_string(),
        _ => String::new(),
    };
    let declares = |at: usize| {
        let is_item = ["enum", "struct", "trait", "type"].contains(&word(at).as_str());
        // `pub`, or `pub` and who may see it.
        let is_seen = (1..=2).any(|before| at >= before && word(at - before) == "pub");
        (is_item && is_seen).then(|| word(at + 1))
    };
    (0..tokens.len()).filter_map(declares).collect()
}

/// The files that declare a type, by its name. A file is named without `mod` and its ending.
fn types() -> BTreeMap<String, BTreeSet<String>> {
    fn add(folder: &Path, room: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if name == "tests" || name.ends_with("_tests") {
                continue;
            }
            let place = match (room, name) {
                (_, "mod" | "lib" | "main") => room.to_owned(),
                ("", _) => name.to_owned(),
                _ => format!("{room}/{name}"),
            };
            if path.is_dir() {
                add(&path, &place, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for name in declared(&without_tests(text.parse().unwrap())) {
                    found.entry(name).or_default().insert(place.clone());
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    add(&Path::new(ROOT).join("src"), "", &mut found);
    found
}

/// The words of all identifiers: `case_file`, `CaseFile` and `CASE_FILE` have the same two.
fn words_of(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                for part in name.to_string().split('_') {
                    let is_constant = !part.contains(char::is_lowercase);
                    let mut word = String::new();
                    for letter in part.chars() {
                        if letter.is_uppercase() && !is_constant {
                            found.insert(mem::take(&mut word));
                        }
                        word.extend(letter.to_lowercase());
                    }
                    found.insert(word);
                }
            }
            TokenTree::Group(group) => words_of(group.stream(), found),
            _ => {}
        }
    }
}

/// Calls `with` for each file of Rust below `folder`.
fn each_file(folder: &Path, with: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, with);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            with(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

/// The rows of the table under `heading`, as the words in backticks of their first two cells.
fn table(heading: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
    let section = text.split_once(heading).unwrap().1;
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let code = |cell: &str| -> BTreeSet<String> {
        let quoted = cell.split('`').skip(1).step_by(2);
        quoted.map(str::to_owned).collect()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let name = code(cells[1])
            .pop_first()
            .unwrap_or_else(|| panic!("no name in {row}"));
        (name, code(cells[2]))
    })
    .collect()
}

#[test]
fn no_two_types_share_a_name_unless_the_table_says_why() {
    let mut shared = types();
    shared.retain(|_, files| files.len() > 1);
    assert_eq!(shared, table("### Names that types share"));
}

#[test]
fn each_type_of_the_table_of_words_is_where_it_says() {
    let types = types();
    let words = table("## Words");
    assert!(words.len() > 20, "{words:?}");
    for (name, files) in words {
        assert_eq!(types.get(&name), Some(&files), "{name}");
    }
}

#[test]
fn no_name_has_a_word_that_another_word_replaced() {
    let replaced = table("### Words that no name has");
    assert!(replaced.contains_key("matter"), "{replaced:?}");
    let mut files = 0;
    for folder in ["src", "tests", "examples", "benches"] {
        each_file(&Path::new(ROOT).join(folder), &mut |path, text| {
            files += 1;
            let mut words = BTreeSet::new();
            words_of(text.parse().unwrap(), &mut words);
            for (word, instead) in &replaced {
                assert!(
                    !words.contains(word),
                    "{}: {word}: write {instead:?}",
                    path.display()
                );
            }
        });
    }
    assert!(files > 500, "{files}");
}

#[test]
fn a_name_has_the_words_it_is_made_of() {
    let mut words = BTreeSet::new();
    let code = "fn case_file(a: CaseFile) { [MOST_MOVES]; \"left\" } // out";
    words_of(code.parse().unwrap(), &mut words);
    words.retain(|word| word.len() > 2);
    assert_eq!(Vec::from_iter(words), ["case", "file", "most", "moves"]);
}

#[test]
fn a_type_is_seen_however_it_is_declared() {
    let code = "pub struct A; pub(super) enum B {} pub(in crate::x) type C = u8; trait D {} pub fn e() -> A {} struct F;
        impl A { pub const G: u8 = 0; } #[cfg(test)] pub struct H;";
    assert_eq!(declared(&without_tests(code.parse().unwrap())), ["A", "B", "C"]);
}
