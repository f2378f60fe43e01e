use super::*;

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

fn event(board: &str, seq: u64, time: &str, body: &str) -> Event {
    let t = time.parse::<jiff::Timestamp>().unwrap().as_second();
    let json = format!(
        r#"{{"v":1,"id":"gw/{board}/{seq}","seq":{seq},"board":"{board}","game":1,"t":{t}.0,"time":"{time}",{body}}}"#
    );
    serde_json::from_str(&json).unwrap()
}

fn round() -> Round {
    let tournament = Tournament {
        name: Some("Spring \"Open\"".into()),
        round: 3,
        rounds: 5,
        periods: vec![
            Period {
                moves: Some(40),
                minutes: 90,
                increment: 30,
            },
            Period {
                moves: None,
                minutes: 30,
                increment: 30,
            },
        ],
        combined: true,
        since_ms: "2026-11-21T14:00:00Z"
            .parse::<jiff::Timestamp>()
            .unwrap()
            .as_millisecond(),
        ..Tournament::default()
    };
    let text = "board,white,white_elo,white_title,black,black_federation\n1,\"Moss, M\",2100,FM,\"Tufteland, V\",NOR\n";
    let pairings = Pairings::parse(text, 3).unwrap();
    Round::new(tournament, pairings, vec!["gw/7".into(), "gw/8".into()])
}

fn start(board: &str, time: &str) -> Event {
    let body = format!(r#""type":"game_started","fen":"{INITIAL}","chess960":false,"white":"X","black":"Y""#);
    event(board, 1, time, &body)
}

#[test]
fn before_the_first_move_every_game_is_there_with_its_tags() {
    let files = round().files(0);
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "round-3/game-1.pgn",
            "round-3/game-2.pgn",
            "round-3/games.pgn",
            "round-3/index.json",
            "tournament.json"
        ]
    );
    let game = &files["round-3/game-1.pgn"];
    assert!(
        game.starts_with("[Event \"Spring \\\"Open\\\"\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"3.1\"]\n[White \"Moss, M\"]\n[Black \"Tufteland, V\"]\n[TimeControl \"40/5400+30:1800+30\"]\n[WhiteTitle \"FM\"]\n[WhiteElo \"2100\"]\n[BlackCountry \"NOR\"]\n[Result \"*\"]\n"),
        "{game}"
    );
    assert!(game.ends_with("]\n\n*\n"), "{game}");
    assert!(
        files["round-3/game-2.pgn"].contains("[Board \"2\"]"),
        "told apart"
    );
    assert_eq!(
        files["round-3/games.pgn"],
        format!("{game}\n{}", files["round-3/game-2.pgn"])
    );
}

#[test]
fn what_is_known_before_the_first_move_is_there() {
    let array = "bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w KQkq - 0 1";
    let text = "board,white,white_team,black,black_team,result\n1,A,Riga,B,Oslo,\n2,C,Oslo,D,Riga,\n3,E,Riga,F,Oslo,1/2\n";
    let tournament = Tournament {
        round: 1,
        start: Some(array.into()),
        ..Tournament::default()
    };
    let pairings = Pairings::parse(text, 1).unwrap();
    let mut round = Round::new(tournament, pairings, vec!["gw/7".into(), "gw/8".into()]);
    let files = round.files(0);
    let of_array = format!("[Variant \"Chess960\"]\n[SetUp \"1\"]\n[FEN \"{array}\"]\n");
    let game = &files["round-1/game-1.pgn"];
    assert!(
        game.contains("[WhiteTeam \"Riga\"]\n[BlackTeam \"Oslo\"]\n"),
        "{game}"
    );
    assert!(
        game.ends_with(&format!("[Result \"*\"]\n{of_array}\n*\n")),
        "{game}"
    );
    // There is no third board: somebody enters the result.
    assert!(files["round-1/game-3.pgn"].ends_with("\n1/2-1/2\n"));
    let index: serde_json::Value = serde_json::from_str(&files["round-1/index.json"]).unwrap();
    let stands =
        serde_json::json!([{ "teams": ["Riga", "Oslo"], "points": [0.5, 0.5], "over": 1, "games": 3 }]);
    assert_eq!(index["matches"], stands);
}

#[test]
fn a_result_by_hand_is_held_back_as_all_results_are() {
    let text = |result: &str| {
        let text = format!("board,white,white_team,black,black_team,result\n1,A,Riga,B,Oslo,{result}\n");
        Pairings::parse(&text, 1).unwrap()
    };
    let tournament = Tournament {
        round: 1,
        delay: Delay {
            ms: 600,
            moves: 3,
            result_ms: 50,
        },
        combined: true,
        ..Tournament::default()
    };
    let mut by_hand = ByHand::default();
    by_hand.take(&text(""), 0);
    let none = Round::new(tournament.clone(), text(""), Vec::new()).files(0);
    by_hand.take(&text("1-0"), 1_000);
    by_hand.take(&text("1-0"), 1_500);
    by_hand.take(&text("0-1"), 2_000);
    by_hand.take(&text(""), 3_000);
    let mut round = Round::new(tournament, text(""), Vec::new());
    round.enter(by_hand);
    assert_eq!(round.files(1_649), none, "no file betrays it");
    let says = |round: &mut Round, now_ms: i64| {
        let files = round.files(now_ms);
        let index: serde_json::Value = serde_json::from_str(&files["round-1/index.json"]).unwrap();
        let result = index["pairings"][0]["result"].as_str().unwrap().to_owned();
        assert!(files["round-1/game-1.pgn"].ends_with(&format!("\n{result}\n")));
        assert!(files["round-1/games.pgn"].contains(&format!("[Result \"{result}\"]")));
        (result, index["matches"][0]["points"].clone())
    };
    let points = |white: f32, black: f32| serde_json::json!([white, black]);
    for (now_ms, result, stand) in [
        (1_650, "1-0", points(1.0, 0.0)),
        (2_650, "0-1", points(0.0, 1.0)),
        (3_650, "*", points(0.0, 0.0)),
    ] {
        assert_eq!(round.next_change_ms(now_ms - 1), Some(now_ms));
        assert_eq!(says(&mut round, now_ms), (result.to_owned(), stand), "{now_ms}");
    }
    assert_eq!(round.next_change_ms(3_650), None);
}

#[test]
fn a_game_has_its_own_array_or_that_of_the_round() {
    let initial = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let other = "rkqbbnnr/pppppppp/8/8/8/8/PPPPPPPP/RKQBBNNR w KQkq - 0 1";
    let mut pairings = Pairings::parse("board,white,black\n1,A,B\n2,C,D\n3,E,F\n", 1).unwrap();
    pairings.boards[1].as_mut().unwrap().start = Some(other.into());
    pairings.boards[2].as_mut().unwrap().start = Some(initial.into());
    let tournament = Tournament {
        round: 1,
        start: Some("bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w KQkq - 0 1".into()),
        ..Tournament::default()
    };
    let files = Round::new(tournament, pairings, Vec::new()).files(0);
    assert!(files["round-1/game-1.pgn"].contains("[FEN \"bbqnrkrn/"));
    assert!(files["round-1/game-2.pgn"].contains("[FEN \"rkqbbnnr/"));
    assert!(!files["round-1/game-3.pgn"].contains("FEN"));
}

#[test]
fn the_clocks_are_those_of_the_last_half_move_that_is_shown() {
    let mut round = round();
    round.take(&start("7", "2026-11-21T14:10:00Z"), 0);
    assert!(!round.files(i64::MAX)["round-3/game-1.pgn"].contains("Clock"));
    let moved = r#""type":"move","ply":1,"uci":"e2e4","san":"e4","fen":"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1","completed_by":"clock","clock":{"white_ms":5429000,"black_ms":3600000,"running":"black"}"#;
    round.take(&event("7", 2, "2026-11-21T14:11:00Z", moved), 0);
    let game = &round.files(i64::MAX)["round-3/game-1.pgn"];
    assert!(
        game.contains("[WhiteClock \"1:30:29\"]\n[BlackClock \"1:00:00\"]\n"),
        "{game}"
    );
}

#[test]
fn index_and_tournament_follow_the_games() {
    let mut round = round();
    round.take(&start("7", "2026-11-21T14:10:00Z"), 0);
    let value = |round: &mut Round, name: &str| -> serde_json::Value {
        serde_json::from_str(&round.files(i64::MAX)[name]).unwrap()
    };
    let index = value(&mut round, "round-3/index.json");
    assert_eq!(index["pairings"][0]["live"], true);
    assert_eq!(index["pairings"][0]["white"]["lname"], "Moss");
    assert_eq!(index["pairings"][0]["white"]["fname"], "M");
    assert_eq!(index["pairings"][0]["black"]["federation"], "NOR");
    assert_eq!(value(&mut round, "tournament.json")["rounds"][2]["live"], 1);
    assert_eq!(
        value(&mut round, "tournament.json")["rounds"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    let ended = event(
        "7",
        2,
        "2026-11-21T15:00:00Z",
        r#""type":"game_ended","result":"0-1","reason":"arbiter""#,
    );
    round.take(&ended, 0);
    let index = value(&mut round, "round-3/index.json");
    assert_eq!(
        (&index["pairings"][0]["live"], &index["pairings"][0]["result"]),
        (&false.into(), &"0-1".into())
    );
    assert!(round.files(i64::MAX)["round-3/game-1.pgn"].ends_with("\n0-1\n"));
}

#[test]
fn a_game_of_an_earlier_round_is_not_of_this_one() {
    let mut round = round();
    assert!(!round.take(&start("7", "2026-11-21T13:59:00Z"), 0));
    assert!(
        !round.take(&start("9", "2026-11-21T14:10:00Z"), 0),
        "no such board"
    );
    assert!(round.files(i64::MAX)["round-3/game-1.pgn"].contains("????"));
}

#[test]
fn without_pairings_the_names_are_those_of_the_board() {
    let mut round = round();
    round.take(&start("8", "2026-11-21T14:10:00Z"), 0);
    let game = &round.files(i64::MAX)["round-3/game-2.pgn"];
    assert!(game.contains("[Date \"2026.11.21\"]\n[Round \"3.2\"]\n[White \"X\"]\n[Black \"Y\"]"));
}

#[test]
fn every_column_of_a_table_arrives_where_it_belongs() {
    let text = "round,board,white,white_elo,white_title,white_fide_id,white_federation,white_team,\
                black,black_elo,black_title,black_fide_id,black_federation,black_team,result\n\
                3,1,\"Moss, M\",2101,FM,1503014,NOR,Bergen,\"Tal, C\",2302,WIM,4100018,LAT,Riga,0-1\n";
    let pairings = Pairings::parse(text, 3).unwrap();
    let tournament = Tournament {
        round: 3,
        ..Tournament::default()
    };
    let files = Round::new(tournament, pairings, Vec::new()).files(0);
    let game = &files["round-3/game-1.pgn"];
    let expected = [
        ("Round", "3.1"),
        ("White", "Moss, M"),
        ("WhiteElo", "2101"),
        ("WhiteTitle", "FM"),
        ("WhiteFideId", "1503014"),
        ("WhiteCountry", "NOR"),
        ("WhiteTeam", "Bergen"),
        ("Black", "Tal, C"),
        ("BlackElo", "2302"),
        ("BlackTitle", "WIM"),
        ("BlackFideId", "4100018"),
        ("BlackCountry", "LAT"),
        ("BlackTeam", "Riga"),
        ("Result", "0-1"),
    ];
    for (name, value) in expected {
        assert_eq!(
            crate::game::pgn::tag(game, name).as_deref(),
            Some(value),
            "{name}: {game}"
        );
    }
    assert!(game.ends_with("\n\n0-1\n"), "{game}");
    let index: serde_json::Value = serde_json::from_str(&files["round-3/index.json"]).unwrap();
    let player = |lname, fname, title, federation, team| serde_json::json!({"fname": fname, "mname": null, "lname": lname, "title": title, "federation": federation, "team": team});
    let expected = serde_json::json!({
        "pairings": [{
            "white": player("Moss", "M", "FM", "NOR", "Bergen"),
            "black": player("Tal", "C", "WIM", "LAT", "Riga"),
            "result": "0-1",
            "live": false,
        }],
        "matches": [{"teams": ["Bergen", "Riga"], "points": [0.0, 1.0], "over": 1, "games": 1}],
    });
    assert_eq!(index, expected);
}

#[test]
fn the_time_control_of_the_file_counts_where_none_is_configured() {
    let line = |number: u32, opponent: u32, colour: char| {
        format!(
            "001 {number:4} m    {:33} {:4}{:39}{opponent:4} {colour}",
            format!("P{number}"),
            "",
            ""
        )
    };
    let text = format!(
        "222 40/6000+30:900+30\n{}\n{}\n",
        line(1, 2, 'w'),
        line(2, 1, 'b')
    );
    let pairings = Pairings::parse(&text, 1).unwrap();
    let control = |periods| {
        let tournament = Tournament {
            round: 1,
            periods,
            ..Tournament::default()
        };
        let files = Round::new(tournament, pairings.clone(), Vec::new()).files(0);
        crate::game::pgn::tag(&files["round-1/game-1.pgn"], "TimeControl").unwrap()
    };
    assert_eq!(control(Vec::new()), "40/6000+30:900+30");
    let own = Period {
        moves: None,
        minutes: 15,
        increment: 10,
    };
    assert_eq!(control(vec![own]), "900+10");
}
