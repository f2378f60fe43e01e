//! Overrides by the environment.

use std::{path::Path, time::Duration};

use dgt2mqtt::{
    config::{Config, Env},
    laws::Edition,
};

use super::{SMALL, problems_with};

#[test]
fn the_environment_overrides_the_file() {
    let env = Env::from([
        ("HOME", "/home/anna"),
        ("DGT2MQTT__GATEWAY__NAME", "123"),
        ("DGT2MQTT__GATEWAY__COMMANDS", "true"),
        ("DGT2MQTT__EVENT__LAWS", "2018"),
        ("DGT2MQTT__BOARD__0__PORT", "usb:B7"),
        ("DGT2MQTT__BROKER__URLS__0", "mqtt://broker"),
        ("DGT2MQTT__BROKER__PASSWORD_IN_CLEAR", "true"),
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
