//! The folder of a broadcast: written by the daemon from boards, read by a program of others, and
//! of the shape that other recorders give it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use dgt2mqtt::{
    broadcast::{Folder, Round},
    event::{Body, Event},
    tournament::{Delay, Pairings, Tournament},
};
use serde_json::Value;

use crate::{
    broker::Mosquitto,
    hall::{Daemon, one_board, program, until},
    reader::{read_by_others, recorded},
};

fn replayed(capture: &Path) -> Vec<Event> {
    said(program().arg("replay").arg(capture))
}

/// The events that a command prints.
fn said(command: &mut Command) -> Vec<Event> {
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn captures_of_our_own() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut captures: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dgtcap"))
        .collect();
    captures.sort();
    captures
}

/// Illegal moves that stand, kings in the centre, retractions, strange starts: all of it is read
/// without an error, and the moves are those of the game.
#[test]
fn every_fixture_gives_a_file_that_others_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for (i, capture) in captures_of_our_own().iter().enumerate() {
        let events = replayed(capture);
        let Some(first) = events.first() else { continue };
        let table = first.id.rsplit_once('/').unwrap().0.to_owned();
        let tournament = Tournament {
            round: 1,
            rounds: 1,
            ..Tournament::default()
        };
        let mut round = Round::new(tournament, Pairings::default(), vec![table]);
        for event in events
            .iter()
            .filter(|event| event.game.is_none_or(|game| game == 1))
        {
            round.take(event, 0);
        }
        let root = folder.path().join(format!("{i:03}"));
        Folder::new(root).write(round.files(i64::MAX)).unwrap();
        expected.push((capture.clone(), recorded(&events, 1)));
    }
    assert!(expected.len() > 20, "{}", expected.len());
    let Some(games) = read_by_others(folder.path()) else {
        return;
    };
    assert_eq!(games.len(), expected.len());
    for (game, (capture, (moves, result))) in games.iter().zip(expected) {
        let name = capture.display();
        assert_eq!(game["errors"], Value::Array(Vec::new()), "{name}");
        assert_eq!(game["headers"]["Result"], result.as_str(), "{name}");
        let chess960 = game["headers"].get("Variant").is_some();
        // Castling is written in another way there.
        if !chess960 {
            assert_eq!(game["moves"], serde_json::to_value(moves).unwrap(), "{name}");
        }
    }
}

/// Teams, an array known before the first move, and a result that somebody entered.
#[test]
fn what_is_known_before_a_round_is_read_by_others() {
    let array = "bbrkqrnn/pppppppp/8/8/8/8/PPPPPPPP/BBRKQRNN w CFcf - 0 1";
    let table = "board,white,white_fide_id,white_federation,white_team,black,black_title,black_team,result\n\
                 1,\"Reti, R\",1503014,TCH,Prag A,\"Löwe, Ä\",WGM,Wien,\n2,\"Tal, C\",,,Wien,\"Moss, M\",,Prag,½-½\n";
    let tournament = Tournament {
        name: Some("Mitropa".into()),
        round: 2,
        start: Some(array.into()),
        ..Tournament::default()
    };
    let mut round = Round::new(tournament, Pairings::parse(table, 2).unwrap(), Vec::new());
    let folder = tempfile::tempdir().unwrap();
    Folder::new(folder.path().to_owned())
        .write(round.files(0))
        .unwrap();
    let Some(games) = read_by_others(folder.path()) else {
        return;
    };
    assert_eq!(games.len(), 2);
    for (game, tags) in games.iter().zip([
        [
            ("White", "Reti, R"),
            ("WhiteFideId", "1503014"),
            ("WhiteCountry", "TCH"),
            ("WhiteTeam", "Prag A"),
            ("Black", "Löwe, Ä"),
            ("BlackTitle", "WGM"),
            ("BlackTeam", "Wien"),
            ("Result", "*"),
        ],
        [
            ("White", "Tal, C"),
            ("WhiteTeam", "Wien"),
            ("Black", "Moss, M"),
            ("BlackTeam", "Prag"),
            ("Round", "2.2"),
            ("Event", "Mitropa"),
            ("Variant", "Chess960"),
            ("Result", "1/2-1/2"),
        ],
    ]) {
        assert_eq!(game["errors"], Value::Array(Vec::new()));
        assert_eq!(game["headers"]["FEN"], array);
        for (name, value) in tags {
            assert_eq!(game["headers"][name], value, "{name}: {game}");
        }
    }
}

/// A daemon that is killed in the middle of a game goes on with it in the same file.
#[test]
fn the_daemon_writes_the_folder_and_goes_on_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    fs::write(
        folder.path().join("pairings.csv"),
        "board,white,black\n1,\"Reti, R\",\"Tartakower, S\"\n",
    )
    .unwrap();
    let text = fs::read_to_string(&config).unwrap()
        + "[broadcast]\nfolder = \"open\"\nname = \"Vienna\"\nround = 2\npairings = \"pairings.csv\"\n";
    fs::write(&config, text).unwrap();
    let game = folder.path().join("open/round-2/game-1.pgn");
    let read = || fs::read_to_string(&game).unwrap_or_default();

    let daemon = Daemon::start(&config);
    until("the fourth move", Duration::from_secs(150), || {
        read().contains("4. ").then_some(())
    });
    daemon.kill();
    let daemon = Daemon::start(&config);
    until("the result", Duration::from_secs(150), || {
        let text = read();
        assert!(text.contains("4. "), "what was public went back: {text}");
        text.trim_end().ends_with("1-0").then_some(())
    });
    assert!(daemon.stop());

    let events = said(program().args(["journal", "--config"]).arg(&config));
    let (moves, _) = recorded(&events, 1);
    assert!(moves.len() > 15, "{moves:?}");
    let lacks_clock = |event: &&Event| matches!(&event.body, Body::Move(made) if made.clock.is_none());
    let without_clock = events.iter().filter(lacks_clock).count();
    if let Some(games) = read_by_others(&folder.path().join("open")) {
        assert_eq!(games.len(), 2, "by itself and in games.pgn");
        for game in &games {
            assert_eq!(game["moves"], serde_json::to_value(&moves).unwrap());
            assert_eq!(game["headers"]["White"], "Reti, R");
            assert_eq!(game["headers"]["Event"], "Vienna");
            // A move that was made while nobody listened has none.
            let clocks = game["clocks"].as_array().unwrap();
            let missing = clocks.iter().filter(|clock| clock.is_null()).count();
            assert!(missing <= without_clock, "{clocks:?}");
            assert!(game["used"].as_array().unwrap()[1..].iter().all(Value::is_number));
        }
    }
    // The same game from the journal, whatever is broadcast.
    let kept = folder.path().join("kept");
    fs::create_dir(&kept).unwrap();
    let printed = program().args(["pgn", "--config"]).arg(&config).output().unwrap();
    fs::write(kept.join("kept.pgn"), printed.stdout).unwrap();
    if let Some(games) = read_by_others(&kept) {
        assert_eq!(games[0]["moves"], serde_json::to_value(&moves).unwrap());
        assert_eq!(games[0]["headers"]["Result"], "1-0");
    }
    let index: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("open/round-2/index.json")).unwrap())
            .unwrap();
    assert_eq!(index["pairings"][0]["result"], "1-0");
    assert_eq!(index["pairings"][0]["live"], false);
}

/// What another recorder writes for a tournament, we write for the same pairings and results.
#[test]
fn the_shape_is_that_of_other_recorders() {
    let corpus = std::env::var_os("DGT2MQTT_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    let theirs = corpus.join("livechess-folder/tournament-2");
    if !theirs.exists() {
        skipped!("no folder of another recorder in {}", corpus.display());
        return;
    }
    let json = |path: &Path| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let index = json(&theirs.join("round-1/index.json"));
    let tournament = json(&theirs.join("tournament.json"));
    let mut csv = "board,white,black\n".to_owned();
    let name = |player: &Value| {
        let part = |name: &str| player[name].as_str().unwrap_or_default().to_owned();
        format!("\"{}, {}\"", part("lname"), part("fname"))
    };
    for (i, pairing) in (1..).zip(index["pairings"].as_array().unwrap()) {
        csv += &format!("{i},{},{}\n", name(&pairing["white"]), name(&pairing["black"]));
    }
    let settings = Tournament {
        name: tournament["name"].as_str().map(str::to_owned),
        round: 1,
        rounds: 6,
        delay: Delay::default(),
        combined: true,
        ..Tournament::default()
    };
    let mut round = Round::new(settings, Pairings::parse(&csv, 1).unwrap(), Vec::new());
    let ours = tempfile::tempdir().unwrap();
    Folder::new(ours.path().to_owned()).write(round.files(0)).unwrap();

    let names = |root: &Path| -> BTreeSet<String> {
        let of = |folder: &Path| {
            fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
        };
        of(root)
            .chain(of(&root.join("round-1")))
            .map(|name| name.into_string().unwrap())
            .collect()
    };
    assert_eq!(names(ours.path()), names(&theirs));
    let our_index = json(&ours.path().join("round-1/index.json"));
    for (ours, theirs) in our_index["pairings"]
        .as_array()
        .unwrap()
        .iter()
        .zip(index["pairings"].as_array().unwrap())
    {
        assert_eq!(
            (&ours["white"], &ours["black"]),
            (&theirs["white"], &theirs["black"])
        );
        let keys = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(keys(ours), keys(theirs));
    }
    let our_tournament = json(&ours.path().join("tournament.json"));
    assert_eq!(our_tournament["name"], tournament["name"]);
    assert_eq!(
        our_tournament["rounds"][0]["count"],
        tournament["rounds"][0]["count"]
    );
    let tags = |path: PathBuf| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let tags = text.lines().filter(|line| line.starts_with('['));
        tags.map(|line| line[1..].split(' ').next().unwrap().to_owned())
            .collect()
    };
    let ours = tags(ours.path().join("round-1/game-1.pgn"));
    for tag in tags(theirs.join("round-1/game-1.pgn")) {
        // What names the other program, and what depends on knowing more than names.
        let apart = ["ePGN", "TimeControl", "BlackElo", "WhiteElo"].contains(&tag.as_str());
        assert!(apart || ours.contains(&tag), "{tag} is missing");
    }
}

/// The collector starts in the middle of a game: what it missed it asks for.
#[test]
fn the_dashboard_writes_the_folder_of_a_gateway_that_it_met_late() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = one_board(folder.path(), broker.port);
    // What began before the round was first broadcast would not belong to it.
    fs::create_dir_all(folder.path().join("open/round-1")).unwrap();
    fs::write(folder.path().join("open/round-1/.begun"), "0\n").unwrap();
    let _daemon = Daemon::start(&config);
    std::thread::sleep(Duration::from_secs(8));
    let collector = folder.path().join("collector.toml");
    let text = format!(
        "[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[broadcast]\nfolder = \"open\"\nboards = [\"gw/1\"]\n",
        broker.port
    );
    fs::write(&collector, text).unwrap();
    let mut dashboard = program()
        .args(["dashboard", "--listen", "127.0.0.1:0", "--config"])
        .arg(&collector)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let game = folder.path().join("open/round-1/game-1.pgn");
    until("the result", Duration::from_secs(150), || {
        let text = fs::read_to_string(&game).unwrap_or_default();
        text.trim_end().ends_with("1-0").then_some(())
    });
    dashboard.kill().unwrap();
    dashboard.wait().unwrap();
    let events = said(program().args(["journal", "--config"]).arg(&config));
    let (moves, _) = recorded(&events, 1);
    if let Some(games) = read_by_others(&folder.path().join("open")) {
        assert_eq!(games[0]["moves"], serde_json::to_value(&moves).unwrap());
    }
}
