//! The configuration as a person meets it: the example file, mistakes and what is said to them,
//! overrides by the environment, passwords that stay where they belong.

use std::{fs, path::Path, time::Duration};

use dgt2mqtt::{
    config::{Config, ConfigError, Env, Place, Problems, Role},
    laws::{Edition, Supervision, TimeControl},
    watcher::{ClockSideSetting, OrientationSetting},
};

const EXAMPLE: &str = include_str!("../../docs/dgt2mqtt.example.toml");
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
        Place::File { line, column, .. } => (*line, *column, problem.to_string()),
        place => panic!("{place:?}"),
    }
}

/// The example with its settings in force: a `#` with no space after it hides a setting.
fn uncommented() -> String {
    let setting = |line: &str| {
        line.strip_prefix('#')
            .filter(|rest| rest.starts_with(|first: char| first.is_alphabetic() || first == '['))
            .map(str::to_owned)
    };
    EXAMPLE
        .lines()
        .map(|line| setting(line).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect()
}

fn without_comments(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect()
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
fn the_example_holds_as_it_stands_and_without_comments() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let as_it_stands = Config::from_text(EXAMPLE, &path, &home()).expect("good");
    let bare = Config::from_text(&without_comments(EXAMPLE), &path, &home()).expect("good");
    assert_eq!(as_it_stands, bare);
    assert_eq!(as_it_stands.gateway.as_str(), "hall");
    let urls: Vec<String> = as_it_stands.broker.urls.iter().map(ToString::to_string).collect();
    assert_eq!(
        urls,
        ["mqtt://localhost:1883"],
        "as distributions install a broker"
    );
}

const LINE: &str = "[gateway]\nname = \"g\"\n[[line]]\nname = \"hall\"\nport = \"/dev/ttyUSB7\"\nboards = [\"01026\", \"01027\"]\n";

#[test]
fn boards_of_a_line_have_places_at_it() {
    let own = "[[board]]\nid = \"7\"\nline = \"hall\"\nserial = \"1025\"\ntime_control = \"blitz\"\n";
    let config = good(&format!("{LINE}{own}"));
    let places: Vec<_> = config
        .boards
        .iter()
        .map(|board| (board.id.as_str(), board.port.as_str()))
        .collect();
    let wanted = [
        ("7", "bus:1025@/dev/ttyUSB7"),
        ("01026", "bus:01026@/dev/ttyUSB7"),
        ("01027", "bus:01027@/dev/ttyUSB7"),
    ];
    assert_eq!(places, wanted);
    assert!(
        config
            .boards
            .iter()
            .all(|board| (300..600).contains(&board.gathered_ms))
    );
    let known = good(&format!("{LINE}{own}gathered_ms = 900\n"));
    assert_eq!(
        (known.boards[0].gathered_ms, known.boards[1].gathered_ms),
        (900, config.boards[1].gathered_ms)
    );
}

#[test]
fn what_is_wrong_with_a_line_is_said() {
    let said = |more: &str| problems(&format!("{LINE}{more}")).to_string();
    for (board, words) in [
        ("line = \"hal\"\nserial = \"1\"", "there is no line \"hal\""),
        ("line = \"hall\"", "told from the others by its serial number"),
        (
            "line = \"hall\"\nserial = \"x\"",
            "no place where a board can be attached",
        ),
        ("line = \"hall\"\nserial = \"17410\"", "have one address"),
        (
            "line = \"hall\"\nserial = \"1\"\nport = \"/dev/ttyS0\"",
            "has a port and is on a line",
        ),
        (
            "line = \"hall\"\nserial = \"1\"\nprotocol = \"occ1\"",
            "only DGT boards share a line",
        ),
        (
            "serial = \"1\"\nport = \"/dev/ttyS0\"",
            "says nothing of a board with a port of its own",
        ),
        ("port = \"/dev/ttyUSB7\"", "the port of the line is the port"),
    ] {
        let said = said(&format!("[[board]]\nid = \"7\"\n{board}\n"));
        assert!(said.contains(words), "{board}: {said}");
    }
}

#[test]
fn the_commented_settings_of_the_example_are_the_defaults() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    fs::write(&path, uncommented()).expect("a file");
    let full = Config::load(&path, &home()).unwrap_or_else(|error| panic!("{error}"));
    let default = Config::from_text(EXAMPLE, &path, &home()).expect("good");

    assert_eq!(full.base_topic, default.base_topic);
    assert_eq!(full.commands, default.commands);
    assert_eq!(full.limits, default.limits);
    assert_eq!(
        (full.journal.max_size, full.journal.max_age),
        (default.journal.max_size, default.journal.max_age)
    );
    assert_eq!(full.broker.keep_alive, default.broker.keep_alive);
    assert_eq!(full.broker.client_id, default.broker.client_id);
    let (a, b) = (&full.boards[0], &default.boards[0]);
    assert_eq!((a.orientation, a.clock_side), (b.orientation, b.clock_side));
    assert_eq!(a.gathered_ms, b.gathered_ms);
    assert_eq!(a.rules.laws, b.rules.laws);
    assert_eq!(a.rules.time_control, b.rules.time_control);
    assert_eq!(a.rules.supervision, b.rules.supervision);
    // What has no default is an example.
    assert_eq!(a.table.white.as_deref(), Some("Anna Ivanova"));
    let tls = full.broker.tls.as_ref().expect("mqtts");
    assert_eq!(tls.ca_file, folder.path().join("ca.pem"));
    assert!(tls.client.is_some());
    assert_eq!(full.journal.path, folder.path().join("journal.sqlite"));
}

/// A key that the example forgets is a key that nobody knows of.
#[test]
fn the_example_and_the_manual_name_every_key() {
    let manual = include_str!("../../docs/configuration.md");
    for (table, prefix) in [
        ("gateway", "[gateway]\n"),
        ("event", "[event]\n"),
        ("board", "[[board]]\n"),
        ("line", "[[line]]\n"),
        ("broker", "[broker]\n"),
        ("journal", "[journal]\n"),
        ("limits", "[limits]\n"),
        ("broadcast", "[broadcast]\n"),
        ("home_assistant", "[home_assistant]\n"),
        ("dashboard", "[dashboard]\n"),
        ("alert", "[[alert]]\n"),
        ("dashboard.people", "[[dashboard.people]]\n"),
        ("broadcast.lichess", "[broadcast.lichess]\n"),
    ] {
        // The parser itself lists what it knows.
        let (_, _, said) = problem(&format!("{prefix}zzzzzzzzzzzzzzzz = 1\n"));
        let keys = said.split("possible are: ").nth(1).expect("a list");
        for key in keys.trim().split(", ") {
            let starts = [format!("{key} = "), format!("[[{table}.{key}]]")];
            let named = EXAMPLE.lines().any(|line| {
                starts
                    .iter()
                    .any(|start| line.trim_start_matches('#').starts_with(start))
            });
            let hidden = ["password", "server"].contains(&key);
            let inline = table == "broadcast.lichess" && EXAMPLE.contains(&format!(" {key} = "));
            assert!(
                named || hidden || inline,
                "{table}.{key} is missing in the example"
            );
            assert!(
                manual.contains(&format!("`{key}`")),
                "{table}.{key} is missing in docs/configuration.md"
            );
        }
    }
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
fn a_line_that_gathers_is_told_to_the_watcher() {
    let with = |line: &str| format!("{SMALL}{line}\n");
    let config = good(&with("gathered_ms = 1000"));
    assert_eq!(config.settings(&config.boards[0]).gathered_ms, 1000);
    let config = good(SMALL);
    assert_eq!(config.settings(&config.boards[0]).gathered_ms, 0);
    let (line, _, said) = problem(&with("gathered_ms = 2001"));
    assert!(line == 6 && said.contains("0 to 2000 ms"), "{said}");
    let (line, _, said) = problem(&with("protocol = \"occ1\"\ngathered_ms = 500"));
    assert!(line == 7 && said.contains("leave `gathered_ms` out"), "{said}");
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
        (one.laws, one.time_control, one.supervision),
        (Edition::Laws2018, TimeControl::Rapid, Supervision::Adequate)
    );
    assert_eq!(
        (two.laws, two.time_control, two.supervision),
        (Edition::Laws2018, TimeControl::Blitz, Supervision::NotAdequate)
    );
    assert_eq!((one.periods[0].minutes, two.periods[0].minutes), (15, 3));
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
         [broker]\nurls = [\"http://x\"]\nkeep_alive = 4\n[journal]\nmax_age_days = 0\n",
    );
    let lines: Vec<_> = all
        .iter()
        .map(|problem| match &problem.place {
            Place::File { line, .. } => *line,
            place => panic!("{place:?}"),
        })
        .collect();
    assert_eq!(lines, [2, 3, 4, 6, 7, 10, 12, 16, 18, 19, 21], "{all}");
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
fn the_environment_overrides_the_file() {
    let env = Env::from([
        ("HOME", "/home/anna"),
        ("DGT2MQTT__GATEWAY__NAME", "123"),
        ("DGT2MQTT__GATEWAY__COMMANDS", "true"),
        ("DGT2MQTT__EVENT__LAWS", "2018"),
        ("DGT2MQTT__BOARD__0__PORT", "usb:B7"),
        ("DGT2MQTT__BROKER__URLS__0", "mqtt://broker"),
        ("DGT2MQTT__BROKER__USERNAME", "anna"),
        ("DGT2MQTT__BROKER__PASSWORD", "true"),
        ("DGT2MQTT__BROKER__KEEP_ALIVE", "20"),
    ]);
    let config =
        Config::from_text(SMALL, Path::new("t.toml"), &env).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(config.gateway.as_str(), "123");
    assert!(config.commands);
    assert_eq!(config.boards[0].rules.laws, Edition::Laws2018);
    assert_eq!(config.boards[0].port.as_str(), "usb:B7");
    let broker = &config.broker;
    assert_eq!(broker.urls[0].host, "broker");
    assert_eq!(broker.keep_alive, Duration::from_secs(20));
    let login = broker.login.as_ref().expect("a login");
    assert_eq!(login.username, "anna");
    assert_eq!(login.password.as_ref().expect("a password").reveal(), "true");
}

/// A container may have no file worth mentioning.
#[test]
fn the_environment_can_say_everything() {
    let mut variables: Vec<(String, String)> = (0..12)
        .flat_map(|n| {
            let key = |key| format!("DGT2MQTT__BOARD__{n}__{key}");
            [(key("ID"), n.to_string()), (key("PORT"), format!("usb:A{n}"))]
        })
        .collect();
    for (name, value) in [
        ("HOME", "/home/anna"),
        ("DGT2MQTT__GATEWAY__NAME", "hall"),
        ("DGT2MQTT__EVENT__PERIODS__0__MINUTES", "15"),
        ("DGT2MQTT__EVENT__PERIODS__0__INCREMENT", "10"),
    ] {
        variables.push((name.to_owned(), value.to_owned()));
    }
    let env: Env = variables.into_iter().collect();
    let config = Config::from_text("", Path::new("t.toml"), &env).unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<_> = config
        .boards
        .iter()
        .map(|board| board.id.as_str().to_owned())
        .collect();
    assert_eq!(ids, (0..12).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(config.boards[11].rules.periods[0].increment, 10);
}

proptest::proptest! {
    /// Whatever a slip of the keyboard makes of a good file, there is an answer, and it says where.
    #[test]
    fn slips_are_answered(at in 0..4000_usize, delete in 0..40_usize, insert in "[\\PC\n\"\\[\\]={}#]{0,6}") {
        let text = uncommented();
        let from = text.floor_char_boundary(at.min(text.len()));
        let to = text.floor_char_boundary((from + delete).min(text.len()));
        let slipped = format!("{}{insert}{}", &text[..from], &text[to..]);
        if let Err(error) = Config::from_text(&slipped, Path::new("t.toml"), &home()) {
            let said = error.to_string();
            proptest::prop_assert!(said.starts_with("t.toml"), "{}", said);
        }
    }
}

#[test]
fn mistakes_in_the_environment_name_the_variable() {
    for (name, value, why) in [
        ("DGT2MQTT__EVENT__LAW", "2023", "did you mean `laws`?"),
        ("DGT2MQTT__EVENT__LAWS", "2022", "possible are"),
        ("DGT2MQTT__BROKER__KEEP_ALIVE", "soon", "whole number"),
        ("DGT2MQTT__BOARD__7__PORT", "usb:1", "from 0"),
        ("DGT2MQTT__BROKER__URLS__1", "mqtt://a", "from 0"),
        ("DGT2MQTT__GATEWAY__NAME__X", "a", "leads to no key"),
        ("DGT2MQTT__GATEWAY__NAME", "A", "cannot be an id"),
    ] {
        let all = problems_with(SMALL, &Env::from([("HOME", "/"), (name, value)]));
        assert_eq!(all.len(), 1, "{all}");
        let said = all.to_string();
        assert!(
            said.starts_with(&format!("environment variable {name}: ")),
            "{said}"
        );
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn passwords_come_from_files_and_are_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pw"), "hunter2\n").expect("a file");
    let path = folder.path().join("dgt2mqtt.toml");
    let text =
        format!("{SMALL}[broker]\nurls = [\"mqtt://b\"]\nusername = \"anna\"\npassword_file = \"pw\"\n");
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

#[test]
fn a_broadcast_is_checked_with_its_pairings() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let read =
        |broadcast: &str| Config::from_text(&format!("{SMALL}[broadcast]\n{broadcast}"), &path, &home());
    let good = read(
        "folder = \"out\"\npairings = \"pairings.csv\"\ndelay_minutes = 15\nround = 3\nbegins = \"2026-11-21T14:00:00+01:00\"\n",
    );
    let broadcast = good
        .unwrap_or_else(|error| panic!("{error}"))
        .broadcast
        .expect("one");
    assert_eq!(broadcast.folder, folder.path().join("out"));
    assert_eq!(broadcast.tournament.delay.ms, 15 * 60_000);
    assert_eq!(broadcast.begins_ms, Some(1_795_266_000_000));
    assert_eq!((broadcast.tournament.round, broadcast.tournament.rounds), (3, 3));
    assert_eq!(broadcast.boards, ["1"]);
    assert_eq!(broadcast.pairings.boards.len(), 1);
    for (text, told) in [
        ("", "the broadcast has no folder"),
        ("folder = \"out\"\nboards = [\"2\"]", "there is no board \"2\""),
        ("folder = \"out\"\nboards = [\"1\", \"1\"]", "comes twice"),
        ("folder = \"out\"\nboards = [\"a/B\"]", "names no board"),
        ("folder = \"out\"\npairings = \"none.csv\"", "none.csv"),
        ("folder = \"out\"\ndelay_minutes = 601", "out of bounds"),
        (
            "folder = \"out\"\nbegins = \"2026-11-21 14:00\"",
            "write day, time and offset from UTC",
        ),
        (
            "folder = \"out\"\nlichess = { round = \"a1B2c3D4\", token_file = \"lichess-token\", ca_file = \"none.pem\" }",
            "none.pem",
        ),
        (
            "folder = \"out\"\nlichess = { round = \"abc\", token_file = \"lichess-token\" }",
            "no round of lichess",
        ),
        (
            "folder = \"out\"\nlichess = { round = \"a1B2c3D4\" }",
            "needs `round` and `token_file`",
        ),
        (
            "folder = \"out\"\nlisten = \"8065\"",
            "\"8065\" is no address with a port",
        ),
        ("folder = \"out\"\ndelay_seconds = 3601", "out of bounds"),
        (
            "folder = \"out\"\nlichess = { round = \"a1B2c3D4\", token_file = \"lichess-token\", server = \"ftp://x\" }",
            "no server",
        ),
        (
            "folder = \"out\"\nlichess = { round = \"a1B2c3D4\", token_file = \"lichess-token\", server = \"http://lichess.example\" }",
            "the token would go to \"http://lichess.example\" unencrypted",
        ),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[test]
fn every_mistake_in_the_pairings_is_told() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let table = "board,white,white_elo,black\n1,A,2l00,B\n1,C,,A\n9,D,,E\n3,2100,F,G\n";
    fs::write(folder.path().join("pairings.csv"), table).expect("a file");
    let text = format!("{SMALL}[broadcast]\nfolder = \"out\"\npairings = \"pairings.csv\"\n");
    let error = Config::from_text(&text, &path, &home()).expect_err("mistakes");
    for told in [
        "line 2: the rating \"2l00\"",
        "line 3: line 2 has board 1 already",
        "line 3: \"A\" plays in line 2 already",
        "line 4: board 9 does not exist",
        "line 5: \"2100\" stands in the column \"white\"",
    ] {
        assert!(error.to_string().contains(told), "{told}: {error}");
    }
}

/// A collector has no boards of its own; a gateway's file serves it as well.
#[test]
fn a_collector_needs_neither_name_nor_boards() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let read = |text: &str| {
        fs::write(&path, text).expect("a file");
        Config::load_collector(&path, &home())
    };
    let collector = read("[broadcast]\nfolder = \"out\"\nboards = [\"a/1\", \"b/1\"]\n").expect("good");
    assert_eq!(collector.broadcast.expect("one").boards, ["a/1", "b/1"]);
    assert_eq!(collector.brokers[0].client_id, "dgt2mqtt-dashboard");
    let own = read(&format!("{SMALL}[broadcast]\nfolder = \"out\"\n")).expect("good");
    assert_eq!(own.broadcast.expect("one").boards, ["hall/1"]);
    assert!(read("[broadcast]\nfolder = \"out\"\n").is_err(), "which boards?");
}

/// Each has a name, a role and a token of his own.
#[test]
fn people_of_the_page() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    fs::write(folder.path().join("bert-token"), "fedcba9876543210\n").expect("a file");
    fs::write(folder.path().join("short"), "0123456789abcde\n").expect("a file");
    fs::write(folder.path().join("spaces"), "0123 4567 89ab cdef\n").expect("a file");
    let read = |people: &[&str]| {
        let tables: Vec<String> = people
            .iter()
            .map(|one| format!("[[dashboard.people]]\n{one}\n"))
            .collect();
        Config::from_text(&(SMALL.to_owned() + &tables.concat()), &path, &home())
    };
    let anna = "name = \"Anna\"\nrole = \"arbiter\"\ntoken_file = \"anna-token\"";
    let screen = "name = \"hall screen\"\nrole = \"read_only\"\ntoken_file = \"bert-token\"";
    let people = read(&[anna, screen]).expect("good").people;
    let told: Vec<_> = people
        .iter()
        .map(|one| (one.name.as_str(), one.role, one.token.reveal()))
        .collect();
    assert_eq!(
        told,
        [
            ("Anna", Role::Arbiter, "0123456789abcdef"),
            ("hall screen", Role::ReadOnly, "fedcba9876543210")
        ]
    );
    for (other, told) in [
        (
            "name = \"Anna\"\nrole = \"operator\"\ntoken_file = \"bert-token\"",
            "two people are called \"Anna\"",
        ),
        (
            "name = \"Eve\"\nrole = \"operator\"\ntoken_file = \"anna-token\"",
            "\"Eve\" has the token of somebody else",
        ),
        (
            "name = \"Eve\"\nrole = \"king\"\ntoken_file = \"bert-token\"",
            "operator",
        ),
        (
            "name = \"Eve\"\nrole = \"operator\"\ntoken_file = \"short\"",
            "could be guessed",
        ),
        (
            "name = \"Eve\"\nrole = \"operator\"\ntoken_file = \"spaces\"",
            "could be guessed",
        ),
        (
            "name = \"Eve\"\nrole = \"operator\"\ntoken_file = \"none\"",
            "cannot read",
        ),
        (
            "name = \"Eve\"\nrole = \"operator\"",
            "needs `name`, `role` and `token_file`",
        ),
        (
            "name = \" \"\nrole = \"operator\"\ntoken_file = \"bert-token\"",
            "is no name",
        ),
        (
            "name = \"E\\nve\"\nrole = \"operator\"\ntoken_file = \"bert-token\"",
            "is no name",
        ),
        (
            "name = \"Eve\"\nrole = \"operator\"\ntoken = \"fedcba9876543210\"",
            "possible are: name, role, token_file",
        ),
    ] {
        let error = read(&[anna, other]).expect_err(other).to_string();
        assert!(error.contains(told), "{other}: {error}");
        assert!(!error.contains("0123456789abcde"), "{error}");
    }
}

#[test]
fn an_alert_is_refused_with_what_to_do_and_without_its_address() {
    let told = |lines: &str| problem(&format!("{SMALL}[[alert]]\n{lines}"));
    for (lines, what) in [
        ("form = \"ntfy\"\n", "needs `form` and `url`"),
        ("form = \"ntfy\"\nurl = \"https://ntfy.sh\"\n", "no address"),
        ("form = \"ntfy\"\nurl = \"ntfy.sh/s3cret\"\n", "no address"),
        (
            "form = \"webhook\"\nurl = \"https://anna:s3cret@host/\"\n",
            "no address",
        ),
        (
            "form = \"webhook\"\nurl = \"http://192.0.2.1/s3cret\"\ntoken_file = \"token\"\n",
            "unencrypted",
        ),
        (
            "form = \"webhook\"\nurl = \"http://host/\"\nkinds = [\"ilegal\"]\n",
            "\"ilegal\" is nothing",
        ),
        (
            "form = \"webhook\"\nurl = \"http://host/a\"\n[[alert]]\nform = \"ntfy\"\nurl = \"http://host/a\"\n",
            "told already",
        ),
    ] {
        let (_, _, said) = told(lines);
        assert!(said.contains(what), "{lines}: {said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
    let config = good(&format!(
        "{SMALL}[[alert]]\nform = \"webhook\"\nurl = \"http://hook\"\n"
    ));
    let alert = &config.alerts[0];
    assert_eq!((&*alert.server, &*alert.path), ("http://hook", "/"));
    assert!(alert.wants("notice") && alert.wants("two_hands"));
}
