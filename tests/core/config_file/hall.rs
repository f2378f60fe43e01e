//! One file for all gateways of a hall.

use std::{fs, path::Path};

use dgt2mqtt::{
    config::{Collector, Config, ConfigError, Env, Problems},
    laws::TimeControl,
};

use super::home;

/// Line 10 begins the table of row-1, line 17 that of row-2.
const HALL: &str = r#"[broker]
urls = ["mqtt://broker.hall.example"]
keep_alive = 20
[gateway]
base_topic = "open"
[event]
time_control = "rapid"
[limits]
health_interval_s = 20
[gateways.row-1]
limits.health_interval_s = 60
gateway.commands = true
[[gateways.row-1.board]]
id = "1"
port = "usb:A1"
time_control = "blitz"
[gateways.row-2]
metrics.listen = "127.0.0.1:9469"
[[gateways.row-2.board]]
id = "2"
port = "usb:A1"
[[gateways.row-2.board]]
id = "3"
port = "usb:A3"
"#;

fn named(name: &str) -> Env {
    Env::from([("HOME", "/home/anna"), ("DGT2MQTT_GATEWAY", name)])
}

fn read(text: &str, env: &Env) -> Result<Config, ConfigError> {
    Config::from_text(text, Path::new("t.toml"), env)
}

fn good(env: &Env) -> Config {
    read(HALL, env).unwrap_or_else(|error| panic!("{error}"))
}

fn problems(text: &str, env: &Env) -> Problems {
    match read(text, env) {
        Err(ConfigError::Invalid(problems)) => problems,
        other => panic!("no problems: {other:?}"),
    }
}

/// The only problem, as a person reads it.
fn problem(text: &str, env: &Env) -> String {
    let problems = problems(text, env);
    assert_eq!(problems.len(), 1, "{problems}");
    problems.to_string()
}

#[test]
fn the_figures_are_for_this_machine_only() {
    let listening = |listen: &str| format!("{}[metrics]\nlisten = \"{listen}\"\n", super::SMALL);
    for ours in ["127.0.0.1:9469", "[::1]:9469"] {
        assert!(super::good(&listening(ours)).metrics.is_some(), "{ours}");
    }
    for others in [
        "0.0.0.0:9469",
        "192.168.1.7:9469",
        "[::]:9469",
        "hall.example:9469",
    ] {
        assert!(problem(&listening(others), &home()).contains(others), "{others}");
    }
}

#[test]
fn a_gateway_has_what_is_common_and_what_is_its_own() {
    let (one, two) = (good(&named("row-1")), good(&named("row-2")));
    for config in [&one, &two] {
        assert_eq!(config.base_topic.to_string(), "open");
        assert_eq!(config.broker.urls[0].host, "broker.hall.example");
        assert_eq!(config.broker.keep_alive.as_secs(), 20);
        assert_eq!(config.broker.client_id, format!("dgt2mqtt-{}", config.gateway));
    }
    assert_eq!((one.gateway.as_str(), two.gateway.as_str()), ("row-1", "row-2"));
    assert_eq!((one.commands, two.commands), (true, false));
    assert_eq!(one.limits.health_interval.as_secs(), 60);
    assert_eq!(two.limits.health_interval.as_secs(), 20);
    assert_eq!((one.metrics.is_some(), two.metrics.is_some()), (false, true));
    let ids = |config: &Config| {
        config
            .boards
            .iter()
            .map(|board| board.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(&one), ids(&two)),
        (vec!["1".to_owned()], vec!["2".to_owned(), "3".to_owned()])
    );
    assert_eq!(one.boards[0].rules.time_control, TimeControl::Blitz);
    assert_eq!(two.boards[0].rules.time_control, TimeControl::Rapid);
}

#[test]
fn a_file_of_a_hall_is_read_as_the_files_of_its_gateways_would_be() {
    let own = "[gateway]\nname = \"row-2\"\nbase_topic = \"open\"\n[broker]\nurls = [\"mqtt://broker.hall.example\"]\nkeep_alive = 20\n\
               [event]\ntime_control = \"rapid\"\n[limits]\nhealth_interval_s = 20\n[metrics]\nlisten = \"127.0.0.1:9469\"\n\
               [[board]]\nid = \"2\"\nport = \"usb:A1\"\n[[board]]\nid = \"3\"\nport = \"usb:A3\"\n";
    let own = read(own, &home()).expect("good");
    assert_eq!(own, good(&named("row-2")));
}

#[test]
fn the_name_of_the_machine_says_which_gateway_it_is_unless_one_is_named() {
    assert_eq!(
        good(&home().on_machine("row-2.hall.example")).gateway.as_str(),
        "row-2"
    );
    assert_eq!(
        good(&named("row-1").on_machine("row-2")).gateway.as_str(),
        "row-1"
    );
    let flag = named("row-1").of_gateway(Some("row-2"));
    assert_eq!(good(&flag).gateway.as_str(), "row-2");
    let said = problem(HALL, &home().on_machine("laptop"));
    for part in ["t.toml: ", "\"laptop\"", "--gateway NAME", "row-1, row-2"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = problem(HALL, &named("row-3").on_machine("row-1"));
    assert!(
        said.contains("no gateway \"row-3\"") && said.contains("row-1, row-2"),
        "{said}"
    );
}

#[test]
fn mistakes_are_told_with_their_line_in_the_file() {
    let edited = |from: &str, to: &str| problem(&HALL.replacen(from, to, 1), &named("row-1"));
    let said = edited("port = \"usb:A1\"", "prot = \"usb:A1\"");
    assert!(
        said.starts_with("t.toml:15:1: ") && said.contains("did you mean `port`"),
        "{said}"
    );
    let said = edited("keep_alive = 20", "keep_alive = 2");
    assert!(said.starts_with("t.toml:3:14: "), "{said}");
    let said = edited("gateway.commands = true", "gateway.name = \"other\"");
    assert!(
        said.starts_with("t.toml:12:9: ") && said.contains("that of its table"),
        "{said}"
    );
    let said = edited("[gateways.row-1]", "[gateways.row-1]\nbroadcats.folder = \"x\"");
    assert!(
        said.starts_with("t.toml:11:1: ") && said.contains("`broadcast`"),
        "{said}"
    );
    // A gateway without boards is told at its table.
    let bare = HALL.to_owned() + "[gateways.row-3]\n";
    let said = problem(&bare, &named("row-3"));
    assert!(said.starts_with("t.toml:25:11: there is no board"), "{said}");
    let said = problem(&(bare.clone() + "[[board]]\nid = \"9\"\n"), &named("row-1"));
    assert!(
        said.starts_with("t.toml:26:1: ") && said.contains("[[gateways.NAME.board]]"),
        "{said}"
    );
    let said = problem(&(bare + "[gateways.Row]\nlimits = {}\n"), &named("Row"));
    assert!(said.starts_with("t.toml:26:11: "), "{said}");
    let said = problem("gateways = 3\n", &named("row-1"));
    assert!(said.starts_with("t.toml:1:1: "), "{said}");
    let said = problem("gateways.row-1 = 3\n", &named("row-1"));
    assert!(said.starts_with("t.toml:1:10: "), "{said}");
    // The mistakes of one gateway are no matter of another.
    assert!(
        read(
            &HALL.replacen("port = \"usb:A3\"", "prot = 3", 1),
            &named("row-1")
        )
        .is_ok()
    );
}

/// A daemon reads its own journal, so boards of others would stay empty in its broadcast.
#[test]
fn a_daemon_broadcasts_no_boards_of_others() {
    let cast =
        |boards: &str| format!("{HALL}[gateways.row-2.broadcast]\nfolder = \"open\"\nboards = [{boards}]\n");
    let said = problem(&cast("\"2\", \"row-1/1\""), &named("row-2"));
    assert!(
        said.contains("\"row-1/1\" is a board of another gateway") && said.contains("dgt2mqtt dashboard"),
        "{said}"
    );
    let said = problem(&cast("\"row-2/1\""), &named("row-2"));
    assert!(said.contains("there is no board \"row-2/1\""), "{said}");
    let own = read(&cast("\"row-2/3\", \"2\""), &named("row-2"));
    let own = own.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(own.broadcast.expect("a broadcast").boards, ["row-2/3", "2"]);
}

#[test]
fn a_file_of_one_gateway_is_of_no_other() {
    let text = "[gateway]\nname = \"hall\"\n[[board]]\nid = \"1\"\nport = \"usb:1\"\n";
    assert!(read(text, &named("hall")).is_ok());
    assert!(read(text, &home().on_machine("row-1")).is_ok());
    let said = problem(text, &named("row-1"));
    assert!(
        said.starts_with("t.toml:2:8: ") && said.contains("\"row-1\" is wanted"),
        "{said}"
    );
}

#[test]
fn without_a_name_all_gateways_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hall.toml");
    fs::write(&path, HALL).expect("written");
    let names = |env: &Env| -> Vec<String> {
        let all = Config::load_all(&path, env).unwrap_or_else(|error| panic!("{error}"));
        all.iter().map(|config| config.gateway.to_string()).collect()
    };
    assert_eq!(names(&home()), ["row-1", "row-2"]);
    assert_eq!(names(&home().on_machine("laptop")), ["row-1", "row-2"]);
    assert_eq!(names(&home().on_machine("row-2")), ["row-2"]);
    assert_eq!(names(&named("row-1")), ["row-1"]);
    let mistakes = HALL
        .replacen("keep_alive = 20", "keep_alive = 2", 1)
        .replacen("usb:A3", "A3", 1);
    fs::write(&path, mistakes).expect("written");
    let Err(ConfigError::Invalid(problems)) = Config::load_all(&path, &home()) else {
        panic!("mistakes")
    };
    // That of the common table comes once.
    assert_eq!(problems.len(), 2, "{problems}");
}

#[test]
fn a_collector_takes_what_is_common_and_the_boards_of_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hall.toml");
    fs::write(&path, HALL.to_owned() + "[broadcast]\nfolder = \"open\"\n").expect("written");
    let collector = Collector::load(&path, &home()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(collector.base_topic.to_string(), "open");
    assert_eq!(collector.broadcasts[0].boards, ["row-1/1", "row-2/2", "row-2/3"]);
}
