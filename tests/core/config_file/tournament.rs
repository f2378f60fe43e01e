//! Broadcast, pairings, people of the page and alerts.

use std::fs;

use dgt2mqtt::config::{Collector, Config, Role};

use super::{SMALL, certificates, good, home, problem};

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
            "needs `round` or `broadcast`, and `token_file`",
        ),
        (
            "folder = \"out\"\nlichess = { token_file = \"lichess-token\" }",
            "needs `round` or `broadcast`, and `token_file`",
        ),
        (
            "folder = \"out\"\nlichess = { broadcast = \"abc\", token_file = \"lichess-token\" }",
            "\"abc\" is no broadcast of lichess",
        ),
        (
            "folder = \"out\"\nlichess = { round = \"a1B2c3D4\", broadcast = \"a1B2c3D4\", token_file = \"lichess-token\" }",
            "takes `round` or `broadcast`, not both",
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

/// However the address is spelled, a token goes unencrypted to this machine only.
#[test]
fn a_token_goes_unencrypted_to_this_machine_only() {
    let folder = certificates();
    let path = folder.path().join("dgt2mqtt.toml");
    let read = |server: &str| {
        let lichess =
            format!("{{ round = \"a1B2c3D4\", token_file = \"lichess-token\", server = \"{server}\" }}");
        let text = format!("{SMALL}[broadcast]\nfolder = \"out\"\nlichess = {lichess}\n");
        Config::from_text(&text, &path, &home())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    for server in [
        "https://lichess.org",
        "https://lichess.org/",
        "http://localhost",
        "http://localhost:8000/",
        "http://127.0.0.1:80",
        "http://127.9.9.9",
        "http://[::1]",
        "http://[::1]:8000",
    ] {
        assert_eq!(read(server), Ok(()), "{server}");
    }
    for server in [
        "http://lichess.org",
        "HTTP://lichess.org",
        "Http://LICHESS.ORG",
        "http://lichess.org:80/",
        "http://127.0.0.1@lichess.org",
        "http://localhost:80@lichess.org",
        "http://anna:secret@localhost",
        "http://localhost/@lichess.org",
        "http://localhost.lichess.org",
        "http://127.0.0.1.nip.io",
        "http://localhost:x.lichess.org",
        "http://localhost#.lichess.org",
        "http://localhost?.lichess.org",
        "http://[::2]",
        "http://[::ffff:192.0.2.1]:80",
        "http://[::1].lichess.org",
        "http://0.0.0.0",
        "http://10.0.0.1",
        "http://2130706433",
        "http:lichess.org",
        "//lichess.org",
        "lichess.org",
        " http://lichess.org",
        "",
    ] {
        let said = read(server).expect_err(server);
        assert!(
            said.contains("unencrypted") || said.contains("is no server"),
            "{server}: {said}"
        );
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
        Collector::load(&path, &home())
    };
    let collector = read("[broadcast]\nfolder = \"out\"\nboards = [\"a/1\", \"b/1\"]\n").expect("good");
    assert_eq!(collector.broadcasts[0].boards, ["a/1", "b/1"]);
    assert_eq!(collector.brokers[0].client_id, "dgt2mqtt-dashboard");
    let own = read(&format!("{SMALL}[broadcast]\nfolder = \"out\"\n")).expect("good");
    assert_eq!(own.broadcasts[0].boards, ["hall/1"]);
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
