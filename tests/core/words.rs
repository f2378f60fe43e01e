//! One name, one meaning: what `ARCHITECTURE.md` says of words, held against the names of types.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proc_macro2::TokenTree;

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
fn a_type_is_seen_however_it_is_declared() {
    let code = "pub struct A; pub(super) enum B {} pub(in crate::x) type C = u8; trait D {} pub fn e() -> A {} struct F;
        impl A { pub const G: u8 = 0; } #[cfg(test)] pub struct H;";
    assert_eq!(declared(&without_tests(code.parse().unwrap())), ["A", "B", "C"]);
}
