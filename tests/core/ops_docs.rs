//! The documentation says what is true: links lead somewhere, examples are what the program gives,
//! the configuration shown is good, the commands named exist.

use std::{collections::BTreeSet, fs, path::Path};

use assert_cmd::Command;
use dgt2mqtt::{
    config::{Config, Env},
    event::{Body, Event, notice},
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const README: &str = include_str!("../../README.md");

fn pages() -> Vec<(std::path::PathBuf, String)> {
    let markdown = |folder: &Path| {
        let entries = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path());
        entries
            .filter(|path| path.extension().is_some_and(|end| end == "md"))
            .collect::<Vec<_>>()
    };
    let mut paths = markdown(Path::new(ROOT));
    paths.extend(markdown(&Path::new(ROOT).join("docs")));
    paths.extend(markdown(&Path::new(ROOT).join("docs/decisions")));
    assert!(paths.len() > 5);
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).expect("text")))
        .collect()
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block.to_owned())
        .collect()
}

#[test]
fn links_lead_somewhere() {
    for (path, text) in pages() {
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let file = path.parent().expect("a folder").join(target);
            assert!(file.exists(), "{}: no {target}", path.display());
        }
    }
}

#[test]
fn the_event_of_the_readme_is_an_event() {
    let block = &blocks(README, "json")[0];
    let event: Event = serde_json::from_str(block).expect("an event");
    let Body::Irregularity(irregularity) = &event.body else {
        panic!("{event:?}")
    };
    assert_eq!(event.id, format!("hall/{}/{}", event.board, event.seq));
    assert_eq!(
        irregularity.ruling.target_fen.as_ref(),
        Some(&irregularity.fen_before)
    );
    // No field of the example is unknown, and none that the program writes is missing.
    let shown: serde_json::Value = serde_json::from_str(block).expect("JSON");
    assert_eq!(serde_json::to_value(&event).expect("JSON"), shown);
}

/// The example must be chess: the position arises, and the move is illegal for the reason given.
#[test]
fn the_example_of_the_readme_is_chess() {
    use shakmaty::{CastlingMode, Chess, EnPassantMode, Position, fen::Fen, san::San, uci::UciMove};
    let event: Event = serde_json::from_str(&blocks(README, "json")[0]).expect("an event");
    let Body::Irregularity(irregularity) = event.body else {
        panic!("no irregularity")
    };
    let mut game = Chess::default();
    for san in ["e4", "e5", "Nf3", "d6", "Bb5+"] {
        let legal = san.parse::<San>().expect(san).to_move(&game).expect(san);
        game = game.play(legal).expect(san);
    }
    assert_eq!(
        Fen::from_position(&game, EnPassantMode::Legal).to_string(),
        irregularity.fen_before
    );
    assert_eq!(irregularity.ply, 6);
    let act: UciMove = irregularity.act.expect("a move").parse().expect("UCI");
    assert!(game.is_check() && act.to_move(&game).is_err());
    let after: Fen = format!("{} w - - 0 1", irregularity.placement)
        .parse()
        .expect("a placement");
    let exposed = after
        .into_position::<Chess>(CastlingMode::Standard)
        .expect_err("Black's king is in check");
    assert!(exposed.to_string().contains("check"), "{exposed}");
}

#[test]
fn configurations_in_the_documentation_are_good() {
    let env = Env::from([("HOME", "/home/anna")]);
    let mut seen = 0;
    for (path, text) in pages() {
        // Fragments show some keys only; whole files begin with the gateway.
        for block in blocks(&text, "toml")
            .into_iter()
            .filter(|block| block.starts_with("[gateway]"))
        {
            Config::from_text(&block, Path::new("t.toml"), &env)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

#[test]
fn commands_in_the_readme_exist() {
    let named: Vec<_> = README
        .lines()
        .filter_map(|line| line.strip_prefix("| `dgt2mqtt ")?.split('`').next())
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(help(name).contains(&format!("dgt2mqtt {name}")), "{name}");
    }
}

/// The Rust files of the library, as one text.
fn sources(folder: &Path) -> String {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let text = |path: &std::path::PathBuf| {
        if path.is_dir() {
            sources(path)
        } else {
            fs::read_to_string(path).expect("text")
        }
    };
    paths.iter().map(text).collect()
}

/// The words in quotes that could be codes.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    let is_code = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    text.split('"')
        .skip(1)
        .step_by(2)
        .filter(is_code)
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// What an error or a notice calls itself is explained, and nothing is explained that nobody says.
#[test]
fn codes_are_explained() {
    let sources = sources(&Path::new(ROOT).join("src"));
    let manual = include_str!("../../docs/troubleshooting.md");
    let explained: Vec<_> = manual
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut said: Vec<String> = Vec::new();
    for body in sources.split("fn code(&self) -> &'static str {").skip(1) {
        said.extend(quoted(body.split("\n    }\n").next().unwrap_or_default()));
    }
    said.extend(notice::ALL.iter().map(|code| (*code).to_owned()));
    said.retain(|code| !explained.contains(&code.as_str()));
    assert_eq!(said, [""; 0], "missing in docs/troubleshooting.md");
    let stale: Vec<_> = explained
        .iter()
        .filter(|code| !sources.contains(&format!("\"{code}\"")))
        .collect();
    assert_eq!(
        stale, [&""; 0],
        "explained in docs/troubleshooting.md, but nothing in src says it"
    );
}

/// What a command says of itself, at length; no command: what the program says.
fn help(command: &str) -> String {
    let output = Command::cargo_bin("dgt2mqtt")
        .expect("built")
        .args([command, "--help"].iter().filter(|word| !word.is_empty()))
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The names of all commands, as the program lists them.
fn commands() -> Vec<String> {
    let all = help("");
    let list = all
        .split("Commands:")
        .nth(1)
        .and_then(|rest| rest.split("Options:").next());
    let names = list.expect("a list").lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_owned())
    });
    let names: Vec<_> = names.collect();
    assert_eq!(names.len(), 20, "{names:?}");
    names
}

#[test]
fn help_is_plain_text() {
    for command in commands() {
        let help = help(&command);
        assert!(!help.contains('`'), "{command}: backticks\n{help}");
    }
}

/// The long options that a text names.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    let options = words.filter(|word| word.starts_with("--") && word.len() > 3);
    let own = |word: &&str| !["--help", "--version"].contains(word);
    options.filter(own).map(str::to_owned).collect()
}

/// Every command has its section in the manual, and every option its row there.
#[test]
fn every_option_is_explained() {
    let page = include_str!("../../docs/commands.md");
    for command in commands() {
        let section = page
            .split("\n## ")
            .find(|part| part.lines().next() == Some(&*command));
        let section = section.unwrap_or_else(|| panic!("docs/commands.md has nothing on {command}"));
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let explained = options(&rows.collect::<Vec<_>>().join(" "));
        assert_eq!(explained, options(&help(&command)), "docs/commands.md: {command}");
    }
}

/// A notice gets its code from the list of codes: none is made up where it is said.
#[test]
fn no_notice_has_a_code_of_its_own() {
    let sources = sources(&Path::new(ROOT).join("src"));
    let mut said = 0;
    for call in ["Notice::new(", "Body::notice(", ".notice(ctx,", "handle_notice("] {
        for rest in sources.split(call).skip(1) {
            let argument = rest.split(',').find(|argument| !argument.contains("now()"));
            let argument = argument.unwrap_or_default().trim();
            assert!(!argument.starts_with('"'), "{call}{argument}: use event::notice");
            said += usize::from(argument.starts_with("notice::"));
        }
    }
    assert!(said >= notice::ALL.len() - 1, "{said} calls name a code");
}

#[test]
fn the_trade_mark_notice_is_there() {
    for part in [
        "not affiliated with or endorsed by Digital Game Technology",
        "DGT is a trade mark of",
        "GPL-3.0-or-later",
    ] {
        assert!(README.replace('\n', " ").contains(part), "{part}");
    }
}
