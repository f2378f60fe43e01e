//! Which room knows which: exactly as the arrows of `ARCHITECTURE.md` say, and never in a circle. The core knows nothing that does I/O.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A module: the names on the way to it.
type Module = Vec<String>;

/// What a file names.
#[derive(Default)]
struct Named {
    /// Paths as they are written.
    paths: Vec<Module>,
    /// Paths that the file hands on, by the name under which it does.
    handed_on: BTreeMap<String, Module>,
}

/// The tokens without what is compiled for tests alone.
pub fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        let is_test = matches!(&token, TokenTree::Group(group) if group.to_string() == "[cfg (test)]");
        if !is_test {
            kept.push(token);
            continue;
        }
        kept.pop(); // the `#` before it
        // The item that it is about ends with its body or a semicolon.
        tokens.find(|token| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        });
    }
    kept
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// The path that begins at `tokens[0]`, an identifier, after `prefix`: calls `found` with each that its braces make of it.
/// Returns how many tokens it has.
fn path(tokens: &[TokenTree], prefix: &[String], found: &mut dyn FnMut(Module, Option<String>)) -> usize {
    let mut names = prefix.to_vec();
    let mut i = 0;
    loop {
        match &tokens[i] {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut at = 0;
                while at < inner.len() {
                    at += match &inner[at] {
                        TokenTree::Ident(_) => path(&inner[at..], &names, found),
                        _ => 1,
                    };
                }
                return i + 1;
            }
            TokenTree::Punct(punct) if punct.as_char() == '*' => names.push("*".to_owned()),
            _ => break,
        }
        i += 1;
        if !(is_punct(tokens.get(i), ':') && is_punct(tokens.get(i + 1), ':') && i + 2 < tokens.len()) {
            break;
        }
        i += 2;
    }
    let mut called = None;
    if let (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(name))) = (tokens.get(i), tokens.get(i + 1))
        && word == "as"
    {
        called = Some(name.to_string());
        i += 2;
    }
    if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
        names.pop();
    }
    found(names, called);
    i.max(1)
}

/// Notes all that `tokens` name.
fn note(tokens: &[TokenTree], named: &mut Named) {
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "pub");
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            TokenTree::Ident(word) if word == "use" && i + 1 < tokens.len() => {
                // `pub use`, `pub(crate) use`: the name is to be had from here as well.
                let hands_on = tokens[i.saturating_sub(2)..i].iter().any(is_pub);
                i += 1;
                i += path(&tokens[i..], &[], &mut |names, called| {
                    if let Some(name) = called.or_else(|| names.last().cloned()).filter(|_| hands_on) {
                        named.handed_on.insert(name, names.clone());
                    }
                    named.paths.push(names);
                });
            }
            TokenTree::Ident(_) => {
                i += path(&tokens[i..], &[], &mut |names, _| {
                    if names.len() > 1 {
                        named.paths.push(names);
                    }
                });
            }
            TokenTree::Group(group) => {
                note(&without_tests(group.stream()), named);
                i += 1;
            }
            _ => i += 1,
        }
    }
}

/// All modules of `src` with what they name, without their tests.
fn modules() -> BTreeMap<Module, Named> {
    fn add(folder: &Path, at: &[String], found: &mut BTreeMap<Module, Named>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_root = at.is_empty() && ["lib", "main"].contains(&name.as_str());
            if name == "tests" || name.ends_with("_tests") || is_root {
                continue;
            }
            let mut module = at.to_vec();
            if name != "mod" {
                module.push(name);
            }
            if path.is_dir() {
                add(&path, &module, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let mut named = Named::default();
                note(&without_tests(text.parse().unwrap()), &mut named);
                found.insert(module, named);
            }
        }
    }
    let mut found = BTreeMap::new();
    add(&Path::new(ROOT).join("src"), &[], &mut found);
    found
}

/// The module where that lies which `path` names in `module`; none outside of the crate. What is handed on lies where it comes from.
fn home(modules: &BTreeMap<Module, Named>, module: &[String], path: &[String], depth: u32) -> Option<Module> {
    let child = |name: &String| modules.contains_key(&[module, std::slice::from_ref(name)].concat());
    let mut full: Module = match path[0].as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ if child(&path[0]) => module.to_vec(),
        _ => return None,
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(full.pop()),
            _ => full.push(name.clone()),
        }
    }
    let length = (1..=full.len())
        .rev()
        .find(|&length| modules.contains_key(&full[..length]))?;
    let (at, rest) = full.split_at(length);
    let further = rest.first().and_then(|name| modules[at].handed_on.get(name));
    let further = further.filter(|_| depth > 0).and_then(|path| {
        let path = [path, &rest[1..]].concat();
        home(modules, at, &path, depth - 1)
    });
    Some(further.unwrap_or_else(|| at.to_vec()))
}

/// Who knows whom among the neighbours in each folder, by the way to it: what lies below a neighbour counts as the neighbour.
/// A file and what lies in the folder of its name are one thing, and may know each other.
fn arrows() -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
    let modules = modules();
    let mut arrows: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, named) in &modules {
        arrows
            .entry(Vec::new())
            .or_default()
            .entry(module[0].clone())
            .or_default();
        for known in named
            .paths
            .iter()
            .filter_map(|path| home(&modules, module, path, 6))
        {
            let shared = module.iter().zip(&known).take_while(|(a, b)| a == b).count();
            if let (Some(knows), Some(known)) = (module.get(shared), known.get(shared)) {
                let folder = arrows.entry(module[..shared].to_vec()).or_default();
                folder.entry(knows.clone()).or_default().insert(known.clone());
            }
        }
    }
    arrows
}

/// The circles: each the names that reach each other.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<&str>> {
    let reached = |from: &str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(name) = open.pop() {
            let known = arrows.get(&name).into_iter().flatten();
            open.extend(known.filter(|known| reached.insert((*known).clone())).cloned());
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<String>> =
        arrows.keys().map(|name| (name.as_str(), reached(name))).collect();
    let circle = |name: &str| {
        let with = reach
            .iter()
            .filter(|(other, from)| from.contains(name) && reach[name].contains(**other));
        with.map(|(other, _)| *other).collect()
    };
    reach
        .keys()
        .map(|name| circle(name))
        .filter(|circle: &Vec<_>| !circle.is_empty())
        .collect()
}

/// The block of `ARCHITECTURE.md` under `heading`: each line a room and the rooms that it knows.
fn written(heading: &str) -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
    let block = text.split_once(heading).unwrap().1.split("```").nth(1).unwrap();
    let line = |line: &str| {
        let (room, known) = line.split_once("->").unwrap_or((line, ""));
        let known = known.split_whitespace().map(str::to_owned).collect();
        (room.trim().to_owned(), known)
    };
    block.lines().skip(1).map(line).collect()
}

#[test]
fn arrows_are_as_they_are_drawn_and_all_point_up() {
    let real = &arrows()[&Vec::new()];
    let written = written("## Arrows");
    let mut above = BTreeSet::new();
    for (room, known) in &written {
        assert_eq!(Some(known), real.get(room), "what {room} knows");
        let below: Vec<_> = known.difference(&above).collect();
        assert!(
            below.is_empty(),
            "{room} knows {below:?}, which does not stand above it"
        );
        above.insert(room.clone());
    }
    assert!(real.keys().eq(&above), "the rooms that are drawn: {above:?}");
}

#[test]
fn files_know_each_other_in_no_circle() {
    for (folder, arrows) in &arrows() {
        let circles = circles(arrows);
        assert!(circles.is_empty(), "in {}: {circles:?}", folder.join("/"));
    }
}

/// The crates that are named in what `cargo tree` says of the crate without its features.
fn tree_of_core(arguments: &[&str]) -> BTreeSet<String> {
    let told = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--no-default-features",
            "--prefix=none",
        ])
        .args(arguments)
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).unwrap();
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    told.lines().map(name).filter(|name| name != "dgt2mqtt").collect()
}

#[test]
fn the_core_brings_nothing_that_does_io() {
    let own = tree_of_core(&["--edges=normal", "--depth=1"]);
    let expected = [
        "chasolver",
        "chess",
        "fastrand",
        "jiff",
        "schemars",
        "serde",
        "serde_json",
        "shakmaty",
        "thiserror",
    ];
    assert!(own.iter().eq(&expected), "{own:?}");
    let all = tree_of_core(&["--edges=normal,build"]);
    for foreign in [
        "axum",
        "clap",
        "hyper",
        "libsqlite3-sys",
        "mio",
        "openssl",
        "ring",
        "rumqttc",
        "rusqlite",
        "rustix",
        "rustls",
        "serialport",
        "socket2",
        "tokio",
        "tracing",
    ] {
        assert!(!all.contains(foreign), "{foreign} in {all:?}");
    }
}

/// What the compiler does not forbid the core: the standard library has files and sockets, too.
#[test]
fn the_core_touches_no_file_no_socket_and_no_thread() {
    let lib = fs::read_to_string(Path::new(ROOT).join("src/lib.rs")).unwrap();
    let sim = fs::read_to_string(Path::new(ROOT).join("src/sim/mod.rs")).unwrap();
    let is_gated = |text: &str, module: &str| {
        let gated = |kind| format!("#[cfg(feature = \"daemon\")]\n{kind} {module};");
        text.contains(&gated("pub mod")) || text.contains(&gated("mod"))
    };
    for (module, named) in modules() {
        if is_gated(&lib, &module[0])
            || module[0] == "sim" && module.get(1).is_some_and(|part| is_gated(&sim, part))
        {
            continue;
        }
        for path in &named.paths {
            let foreign = ["fs", "net", "thread", "process", "env", "os", "io"];
            let is_foreign = path[0] == "std" && foreign.contains(&path[1].as_str());
            assert!(!is_foreign, "{} names {}", module.join("/"), path.join("::"));
        }
    }
}

#[test]
fn what_is_named_is_seen_wherever_it_is_named() {
    let code = r##"
        pub use crate::link::file as tape;
        use crate::{board::{Line, Lines as Many}, time::Millis};
        fn f() { crate::mqtt::x(" crate::no::such()"); g::<super::A>(self::b::C) } // crate::not::this
        #[cfg(test)] mod tests { use crate::gateway::Daemon; }
        fn h(_: crate::after::Tests) {}
    "##;
    let mut named = Named::default();
    note(&without_tests(code.parse().unwrap()), &mut named);
    let paths: Vec<_> = named.paths.iter().map(|path| path.join("::")).collect();
    let expected = [
        "crate::link::file",
        "crate::board::Line",
        "crate::board::Lines",
        "crate::time::Millis",
        "crate::mqtt::x",
        "super::A",
        "self::b::C",
        "crate::after::Tests",
    ];
    assert_eq!(paths, expected);
    assert_eq!(named.handed_on["tape"].join("::"), "crate::link::file");
}
