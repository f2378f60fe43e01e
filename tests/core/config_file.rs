//! The configuration as a person meets it: the example file, mistakes and what is said to them,
//! overrides by the environment, passwords that stay where they belong.

mod example;
mod groups;
mod hall;
mod lines;
mod tournament;

use std::{fs, path::Path};

use dgt2mqtt::{
    config::{Config, ConfigError, Env, ProblemPlace, Problems},
    laws::{Edition, Supervision, TimeControl},
    watcher::{ClockSideSetting, OrientationSetting},
};

const SMALL: &str = "[gateway]\nname = \"hall\"\n[[board]]\nid = \"1\"\nport = \"/dev/ttyUSB0\"\n";

fn home() -> Env {
    Env::from([("HOME", "/home/anna")])
}

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::from_text(text, Path::new("/etc/dgt2mqtt/dgt2mqtt.toml"), &home())
}

fn good(text: &str) -> Config {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn problems(text: &str) -> Problems {
    problems_with(text, &home())
}

fn problems_with(text: &str, env: &Env) -> Problems {
    match Config::from_text(text, Path::new("t.toml"), env) {
        Err(ConfigError::Invalid(problems)) => problems,
        other => panic!("no problems in {text:?}: {other:?}"),
    }
}

/// The only problem: where, and all that is said.
fn problem(text: &str) -> (usize, usize, String) {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems}");
    let problem = problems.iter().next().expect("one");
    match &problem.place {
        ProblemPlace::File { line, column, .. } => (*line, *column, problem.to_string()),
        place => panic!("{place:?}"),
    }
}

fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["mqtt-password", "ca.pem", "client.pem", "client.key"] {
        fs::write(folder.path().join(name), "secret\n").expect("a file");
    }
    fs::write(folder.path().join("lichess-token"), "lip_abc\n").expect("a file");
    fs::write(folder.path().join("anna-token"), "0123456789abcdef\n").expect("a file");
    fs::write(folder.path().join("ntfy-token"), "tk_abc\n").expect("a file");
    fs::write(folder.path().join("pairings.csv"), "board,white,black\n1,A,B\n").expect("a file");
    folder
}

#[test]
fn little_is_enough() {
    let config = good(SMALL);
    assert_eq!(config.base_topic.as_str(), "dgt2mqtt");
    assert_eq!(config.broker.urls[0].to_string(), "mqtt://localhost:1883");
    assert_eq!(config.broker.client_id, "dgt2mqtt-hall");
    assert_eq!(
        config.journal.path,
        Path::new("/home/anna/.local/state/dgt2mqtt/journal.sqlite")
    );
    assert!(
        !config.commands,
        "commands are taken only where they are asked for"
    );
    let board = &config.boards[0];
    assert_eq!(
        (board.orientation, board.clock_side),
        (OrientationSetting::Auto, ClockSideSetting::Auto)
    );
    assert_eq!(board.rules.laws, Edition::Laws2023);
}

#[test]
fn a_board_overrides_the_event() {
    let config = good(
        "[gateway]\nname = \"hall\"\n[event]\nlaws = \"2018\"\ntime_control = \"rapid\"\nperiods = [{ minutes = 15, increment = 10 }]\n\
         [[board]]\nid = \"1\"\nport = \"usb:A1\"\n\
         [[board]]\nid = \"2\"\nport = \"usb:A2\"\ntime_control = \"blitz\"\nsupervision = \"not_adequate\"\nperiods = [{ minutes = 3, increment = 2 }]\n",
    );
    let [first, second] = &config.boards[..] else {
        panic!("{config:?}")
    };
    let (one, two) = (config.settings(first), config.settings(second));
    assert_eq!((one.gateway.as_str(), one.board.as_str()), ("hall", "1"));
    assert_eq!(
        (one.rules.laws, one.rules.time_control, one.rules.supervision),
        (Edition::Laws2018, TimeControl::Rapid, Supervision::Adequate)
    );
    assert_eq!(
        (two.rules.laws, two.rules.time_control, two.rules.supervision),
        (Edition::Laws2018, TimeControl::Blitz, Supervision::NotAdequate)
    );
    assert_eq!(
        (one.rules.periods[0].minutes, two.rules.periods[0].minutes),
        (15, 3)
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_a_suggestion() {
    let (line, column, said) = problem(&format!("{SMALL}\n[event]\n  time-control = \"rapid\"\n"));
    assert_eq!((line, column), (8, 3));
    assert!(
        said.starts_with("t.toml:8:3: the key `time-control` is unknown here"),
        "{said}"
    );
    assert!(said.contains("did you mean `time_control`?"), "{said}");

    let (line, _, said) = problem(&format!("{SMALL}[brokers]\nurls = [\"mqtt://a\"]\n"));
    assert_eq!(line, 6);
    assert!(said.contains("did you mean `broker`?"), "{said}");

    let (_, _, said) = problem(&format!("{SMALL}[event]\ncolour = 1\n"));
    assert!(!said.contains("did you mean"), "{said}");
    assert!(said.contains("possible are: laws, time_control"), "{said}");
}

#[test]
fn an_unknown_value_is_refused_with_a_suggestion() {
    let (line, column, said) = problem(&format!("{SMALL}[event]\ntime_control = \"blits\"\n"));
    assert_eq!((line, column), (7, 16));
    assert!(said.contains("did you mean `blitz`?"), "{said}");
    let (_, _, said) = problem(&format!("{SMALL}[event]\nlaws = \"2022\"\n"));
    assert!(said.contains("1997-fritz"), "{said}");
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let all = problems(
        "[gateway]\nname = \"The Hall\"\nbase_topic = \"a/#\"\ncommands = \"yes\"\n\
         [event]\nlwas = \"2023\"\ntime_control = \"slow\"\n\
         [[board]]\nid = \"1\"\nport = \"COM3\"\n[[board]]\nid = \"1\"\nport = \"usb:2\"\n\
         [[board]]\nid = \"2\"\nport = \"usb:2\"\n\
         [broker]\nurls = [\"http://x\"]\nkeep_alive = 4\nlanguages = []\n[journal]\nmax_age_days = 0\n",
    );
    let lines: Vec<_> = all
        .iter()
        .map(|problem| match &problem.place {
            ProblemPlace::File { line, .. } => *line,
            place => panic!("{place:?}"),
        })
        .collect();
    assert_eq!(lines, [2, 3, 4, 6, 7, 10, 12, 16, 18, 19, 20, 22], "{all}");
    assert!(all.iter().all(|problem| !problem.help.is_empty()));
}

#[test]
fn what_is_missing_is_named() {
    let said = problems("").to_string();
    assert!(said.starts_with("t.toml: the gateway has no name"), "{said}");
    let (line, _, said) = problem("[gateway]\nname = \"a\"\n[[board]]\nport = \"usb:1\"\n");
    assert_eq!(line, 3);
    assert!(said.contains("the board has no id"), "{said}");
    assert!(
        problems("[gateway]\nname = \"a\"\n")
            .to_string()
            .contains("there is no board")
    );
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let all = problems("[gateway]\nname = hall\n[event\n");
    let first = all.iter().next().expect("a problem").to_string();
    assert!(first.starts_with("t.toml:2:"), "{first}");
}

#[test]
fn wrong_types_are_told_in_words() {
    let (line, _, said) = problem(&format!("{SMALL}[limits]\nhealth_interval_s = \"many\"\n"));
    assert_eq!(line, 7);
    assert!(said.contains("expected a whole number"), "{said}");
    let (_, _, said) = problem(&format!("{SMALL}[event]\nperiods = [{{ increment = 3 }}]\n"));
    assert!(said.contains("minutes"), "{said}");
}

#[test]
fn a_text_without_quotes_is_answered_with_the_quotes() {
    for (key, value) in [("laws", "2023"), ("time_control", "true")] {
        let (line, _, said) = problem(&format!("{SMALL}[event]\n{key} = {value}\n"));
        assert_eq!(line, 7);
        assert!(
            said.contains(&format!("write it in quotes: \"{value}\"")),
            "{said}"
        );
    }
    let text = "[gateway]\nname = 7\n[[board]]\nid = \"1\"\nport = \"usb:1\"\n";
    let (_, _, said) = problem(text);
    assert!(said.contains("write it in quotes: \"7\""), "{said}");
}

#[test]
fn two_names_of_one_device_are_one_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let (device, link) = (folder.path().join("ttyUSB0"), folder.path().join("by-id"));
    fs::write(&device, "").expect("a file");
    std::os::unix::fs::symlink(&device, &link).expect("a link");
    let two = |first: &Path, second: &Path| {
        format!(
            "[gateway]\nname = \"a\"\n[[board]]\nid = \"1\"\nport = \"{}\"\n[[board]]\nid = \"2\"\nport = \"{}\"\n",
            first.display(),
            second.display()
        )
    };
    let (line, _, said) = problem(&two(&device, &link));
    assert_eq!(line, 8);
    assert!(said.contains("are both") && said.contains("by-id"), "{said}");
    // A device that is not there now cannot be asked where it leads.
    good(&two(&device, &folder.path().join("other")));
}

#[test]
fn periods_must_make_sense() {
    let event = |periods: &str| format!("{SMALL}[event]\nperiods = {periods}\n");
    assert_eq!(
        good(&event("[{ moves = 40, minutes = 120 }, { minutes = 30 }]")).boards[0]
            .rules
            .periods
            .len(),
        2
    );
    for (periods, why) in [
        ("[{ minutes = 90 }, { minutes = 30 }]", "followed by another"),
        ("[{ moves = 0, minutes = 90 }]", "no moves"),
        ("[{ minutes = 0 }]", "without time"),
        ("[{ minutes = 5400 }]", "longer than any game"),
    ] {
        let (_, _, said) = problem(&event(periods));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn passwords_come_from_files_and_are_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pw"), "hunter2\n").expect("a file");
    let path = folder.path().join("dgt2mqtt.toml");
    let text =
        format!("{SMALL}[broker]\nurls = [\"mqtts://b\"]\nusername = \"anna\"\npassword_file = \"pw\"\n");
    let config = Config::from_text(&text, &path, &home()).unwrap_or_else(|error| panic!("{error}"));
    let password = config
        .broker
        .login
        .as_ref()
        .and_then(|login| login.password.as_ref());
    assert_eq!(password.expect("a password").reveal(), "hunter2");
    assert!(!format!("{config:?}").contains("hunter2"));

    let (_, _, said) = problem(&format!(
        "{SMALL}[broker]\nurls = [\"mqtt://b\"]\nusername = \"a\"\npassword = \"hunter2\"\n"
    ));
    assert!(
        said.contains("password_file") && !said.contains("hunter2"),
        "{said}"
    );
    let (_, _, said) = problem(&format!("{SMALL}[broker]\nurls = [\"mqtt://a:hunter2@b\"]\n"));
    assert!(!said.contains("hunter2"), "{said}");
    let env = Env::from([("HOME", "/"), ("DGT2MQTT__BROKER__PASSWORT", "hunter2")]);
    assert!(!problems_with(SMALL, &env).to_string().contains("hunter2"));
    assert!(!format!("{env:?}").contains("hunter2"));
}

/// However it is given, a password goes unencrypted to this machine only, unless the operator says so.
#[test]
fn a_password_goes_unencrypted_to_this_machine_only() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pw"), "hunter2\n").expect("a file");
    let path = folder.path().join("dgt2mqtt.toml");
    let read = |broker: &str, env: &Env| {
        let text = format!("{SMALL}[broker]\nusername = \"anna\"\n{broker}\n");
        Config::from_text(&text, &path, env)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let in_env = Env::from([("HOME", "/"), ("DGT2MQTT__BROKER__PASSWORD", "hunter2")]);
    for (given, env) in [("password_file = \"pw\"", &home()), ("", &in_env)] {
        for urls in [
            "",
            "urls = [\"mqtt://localhost\"]",
            "urls = [\"mqtt://127.9.9.9:2883\", \"mqtt://[::1]\"]",
            "urls = [\"mqtts://broker.example\"]",
            "urls = [\"mqtt://broker.example\"]\npassword_in_clear = true",
        ] {
            assert_eq!(read(&format!("{given}\n{urls}"), env), Ok(()), "{urls}");
        }
        for urls in [
            "urls = [\"mqtt://broker.example\"]",
            "urls = [\"mqtt://localhost\", \"mqtt://10.0.0.1\"]",
            "urls = [\"mqtt://localhost.example\"]",
            "urls = [\"mqtt://127.0.0.1.nip.io\"]",
            "urls = [\"mqtt://0.0.0.0\"]",
            "urls = [\"mqtt://[::ffff:192.0.2.1]\"]",
            "urls = [\"mqtt://2130706433\"]",
            "urls = [\"mqtt://broker.example\"]\npassword_in_clear = false",
        ] {
            let said = read(&format!("{given}\n{urls}"), env).expect_err(urls);
            assert!(
                said.contains("unencrypted") && !said.contains("hunter2"),
                "{urls}: {said}"
            );
        }
    }
    // Without a password there is nothing to hide.
    assert_eq!(read("urls = [\"mqtt://broker.example\"]", &home()), Ok(()));
}

#[test]
fn brokers_must_be_consistent() {
    for (broker, why) in [
        ("urls = []", "no address"),
        ("urls = [\"mqtt://b\", \"mqtts://b\"]", "protect nothing"),
        (
            "urls = [\"mqtt://b\"]\npassword_file = \"nowhere\"\nusername = \"a\"",
            "cannot read",
        ),
        ("urls = [\"mqtt://b\"]\nca_file = \"ca.pem\"", "without TLS"),
        ("urls = [\"mqtts://b\"]\nca_file = \"nowhere.pem\"", "nowhere.pem"),
        ("urls = [\"mqtt://b\"]\nclient_id = \"\"", "session"),
    ] {
        let (_, _, said) = problem(&format!("{SMALL}[broker]\n{broker}\n"));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn the_file_is_searched_for_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().to_str().expect("text");
    let env = Env::from([("XDG_CONFIG_HOME", home)]);
    let file = folder.path().join("dgt2mqtt/dgt2mqtt.toml");
    match Config::find(None, &env) {
        Err(ConfigError::NotFound { searched }) => assert!(searched.contains(&file), "{searched:?}"),
        other => panic!("{other:?}"),
    }
    fs::create_dir(folder.path().join("dgt2mqtt")).expect("a folder");
    fs::write(&file, SMALL).expect("a file");
    assert_eq!(Config::find(None, &env).expect("found"), file);
    let named = Env::from([("XDG_CONFIG_HOME", home), ("DGT2MQTT_CONFIG", "/x.toml")]);
    assert_eq!(Config::find(None, &named).expect("named"), Path::new("/x.toml"));
    assert_eq!(
        Config::find(Some(Path::new("/y.toml")), &named).expect("named"),
        Path::new("/y.toml")
    );

    let error = Config::load(Path::new("/nowhere/x.toml"), &env).expect_err("missing");
    assert!(error.to_string().contains("/nowhere/x.toml"), "{error}");
}
