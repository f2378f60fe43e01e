use super::*;
use crate::{
    broadcast::Folder,
    event::Event,
    tournament::{Delay, Pairings},
};

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const MINUTE: i64 = 60_000;
/// 2026-11-21T14:00:00Z
const T0: i64 = 1_795_269_600_000;

fn settings(root: &Path, round: u32) -> Broadcast {
    let names = format!("board,white,black\n1,White{round},Black{round}\n2,X{round},Y{round}\n");
    Broadcast {
        group: None,
        folder: root.to_owned(),
        tournament: Tournament {
            round,
            rounds: 9,
            delay: Delay {
                ms: 15 * MINUTE,
                ..Delay::default()
            },
            combined: true,
            ..Tournament::default()
        },
        pairings: Pairings::parse(&names, round).unwrap(),
        others: BTreeMap::new(),
        pairings_file: None,
        formerly: BTreeSet::new(),
        boards: vec!["7".into(), "8".into()],
        begins_ms: None,
        lichess: Some(Lichess {
            round: format!("a1B2c3D{round}"),
            broadcast: None,
            token: crate::config::Secret::new("lip_secret"),
            server: "https://lichess.org".into(),
            ca_file: None,
        }),
        listen: None,
    }
}

/// A hall with its journal, which the broadcast reads again after each beginning.
struct Hall {
    root: tempfile::TempDir,
    journal: Vec<Event>,
}

impl Hall {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            journal: Vec::new(),
        }
    }

    fn say(&mut self, minute: i64, game: u32, body: &str) {
        let seq = self.journal.len() + 1;
        let time = jiff::Timestamp::from_millisecond(T0 + minute * MINUTE).unwrap();
        let t = minute * 60;
        let json = format!(
            r#"{{"v":1,"id":"gw/7/{seq}","seq":{seq},"board":"7","game":{game},"t":{t}.0,"time":"{time}",{body}}}"#
        );
        self.journal.push(serde_json::from_str(&json).unwrap());
    }

    fn start(&mut self, minute: i64, game: u32) {
        let body = format!(r#""type":"game_started","fen":"{INITIAL}","chess960":false"#);
        self.say(minute, game, &body);
    }

    fn play(&mut self, minute: i64, game: u32, ply: u32, uci: &str) {
        let body = format!(
            r#""type":"move","ply":{ply},"uci":"{uci}","san":"?","fen":"-","completed_by":"clock","clock":null"#
        );
        self.say(minute, game, &body);
    }

    fn end(&mut self, minute: i64, game: u32) {
        self.say(
            minute,
            game,
            r#""type":"game_ended","result":"1-0","reason":"board""#,
        );
    }

    /// Begins the program at `minute` with `round` configured, tells it all events so far, and returns what it
    /// writes.
    fn begin(&self, minute: i64, round: u32) -> Rounds {
        let settings = settings(self.root.path(), round);
        let mut rounds = open(&settings, "gw", T0 + minute * MINUTE).rounds;
        for event in &self.journal {
            rounds.take(event, 0);
        }
        self.write(&mut rounds, minute);
        rounds
    }

    fn write(&self, rounds: &mut Rounds, minute: i64) {
        let files = rounds.picture(T0 + minute * MINUTE).files;
        Folder::new(self.root.path().to_owned()).write(files).unwrap();
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join(name)).unwrap_or_default()
    }
}

#[test]
fn what_is_held_back_of_a_round_is_written_after_the_next_has_begun() {
    let mut hall = Hall::new();
    let mut rounds = hall.begin(0, 3);
    hall.start(1, 1);
    hall.play(2, 1, 1, "e2e4");
    hall.play(20, 1, 2, "e7e5");
    for event in &hall.journal {
        rounds.take(event, 0);
    }
    hall.write(&mut rounds, 21);
    let third = || hall.file("round-3/game-1.pgn");
    assert!(third().contains("1. e4 *"), "{}", third());

    // The next round begins while the game goes on, and the first game of that round begins.
    let mut hall = hall;
    hall.begin(22, 4);
    hall.play(23, 1, 3, "g1f3");
    hall.end(24, 1);
    hall.start(30, 2);
    hall.play(31, 2, 1, "d2d4");
    // A restart of the program in between makes no difference.
    let mut rounds = hall.begin(32, 4);
    let third = hall.file("round-3/game-1.pgn");
    assert!(third.contains("1. e4 *"), "still held back: {third}");
    assert_eq!(rounds.numbers(), (4, Some(3)));
    assert_eq!(rounds.next_change_ms(T0 + 32 * MINUTE), Some(T0 + 35 * MINUTE));
    hall.write(&mut rounds, 60);
    let third = hall.file("round-3/game-1.pgn");
    assert!(third.contains("White3") && third.contains("Nf3"), "{third}");
    assert!(third.ends_with("1-0\n") && !third.contains("d4"), "{third}");
    let fourth = hall.file("round-4/game-1.pgn");
    assert!(
        fourth.contains("White4") && fourth.ends_with("1. d4 *\n"),
        "{fourth}"
    );
    let counts: serde_json::Value = serde_json::from_str(&hall.file("tournament.json")).unwrap();
    let count = |round: usize| {
        (
            &counts["rounds"][round - 1]["count"],
            &counts["rounds"][round - 1]["live"],
        )
    };
    assert_eq!(count(3), (&2.into(), &0.into()));
    assert_eq!(count(4), (&2.into(), &1.into()));
}

#[test]
fn the_former_round_keeps_its_names_delay_and_round_on_lichess() {
    let hall = Hall::new();
    hall.begin(0, 3);
    let mut next = settings(hall.root.path(), 4);
    next.tournament.delay.ms = 0;
    let OpenedRounds {
        mut rounds, lichess, ..
    } = open(&next, "gw", T0 + 5 * MINUTE);
    assert_eq!(lichess.map(|lichess| lichess.round).as_deref(), Some("a1B2c3D3"));
    let games = rounds.picture(T0 + 5 * MINUTE);
    assert_eq!(games.former[0].board.as_deref(), Some("gw/7"));
    assert!(games.former[0].pgn.contains("White3"));
    assert!(games.current[0].pgn.contains("White4"));
    let note = hall.file("round-4/.begun");
    assert!(!note.contains("lip_secret"), "{note}");
}

#[test]
fn what_was_public_stays_where_its_source_is_lost() {
    let mut hall = Hall::new();
    let mut rounds = hall.begin(0, 3);
    hall.start(1, 1);
    hall.play(2, 1, 1, "e2e4");
    hall.end(3, 1);
    for event in &hall.journal {
        rounds.take(event, 0);
    }
    hall.write(&mut rounds, 30);
    let before = hall.file("round-3/games.pgn");
    assert!(before.contains("1. e4 1-0"), "{before}");
    hall.journal.clear();
    hall.begin(31, 3);
    assert_eq!(hall.file("round-3/games.pgn"), before);
    assert!(hall.file("round-3/index.json").contains("\"1-0\""));
    hall.begin(40, 4);
    assert_eq!(hall.file("round-3/games.pgn"), before);
}

#[test]
fn a_result_by_hand_keeps_its_time_when_the_program_begins_again() {
    let hall = Hall::new();
    let mut settings = settings(hall.root.path(), 3);
    settings.tournament.delay.result_ms = MINUTE;
    hall_with(&settings, 0);
    settings.pairings.boards[1].as_mut().unwrap().result = Some("1-0".into());
    hall_with(&settings, 10);
    let mut rounds = hall_with(&settings, 20);
    assert_eq!(rounds.next_change_ms(T0 + 20 * MINUTE), Some(T0 + 26 * MINUTE));
    hall.write(&mut rounds, 25);
    assert!(hall.file("round-3/game-2.pgn").ends_with("\n*\n"));
    hall.write(&mut rounds, 26);
    assert!(hall.file("round-3/game-2.pgn").ends_with("\n1-0\n"));
    // It is corrected. The next round begins before that is public.
    settings.pairings.boards[1].as_mut().unwrap().result = Some("0-1".into());
    hall_with(&settings, 30);
    let mut rounds = hall.begin(40, 4);
    assert!(hall.file("round-3/game-2.pgn").ends_with("\n1-0\n"));
    hall.write(&mut rounds, 46);
    assert!(hall.file("round-3/game-2.pgn").ends_with("\n0-1\n"));
}

#[test]
fn a_round_long_over_is_put_right_and_the_present_one_goes_on() {
    let mut hall = Hall::new();
    hall.begin(0, 3);
    hall.start(1, 1);
    hall.play(2, 1, 1, "e2e4");
    hall.end(3, 1);
    hall.begin(60, 3);
    hall.begin(1000, 4);
    hall.begin(2000, 5);
    let mut settings = settings(hall.root.path(), 5);
    let names = "board,white,black,result\n1,Right,Black3,\n2,X3,Y3,0-1\n";
    let third = Pairings::parse(names, 3).unwrap();
    settings.others.insert(3, third);
    for minute in [2010, 2100] {
        let mut rounds = open(&settings, "gw", T0 + minute * MINUTE).rounds;
        for event in &hall.journal {
            rounds.take(event, 0);
        }
        hall.write(&mut rounds, minute + 15);
        assert_eq!(rounds.numbers(), (5, Some(4)));
        let first = hall.file("round-3/game-1.pgn");
        assert!(
            first.contains("Right") && first.ends_with("1. e4 1-0\n"),
            "{first}"
        );
        assert!(hall.file("round-3/game-2.pgn").ends_with("\n0-1\n"));
        assert!(hall.file("round-5/game-1.pgn").contains("White5"));
    }
}

fn hall_with(settings: &Broadcast, minute: i64) -> Rounds {
    open(settings, "gw", T0 + minute * MINUTE).rounds
}

#[test]
fn a_round_that_was_named_by_mistake_leaves_nothing() {
    let mut hall = Hall::new();
    hall.begin(0, 3);
    hall.begin(10, 4);
    hall.begin(11, 3);
    hall.start(20, 1);
    hall.play(21, 1, 1, "e2e4");
    hall.begin(60, 3);
    assert!(hall.file("round-3/game-1.pgn").contains("1. e4"));
    hall.begin(90, 4);
    let fourth = hall.file("round-4/game-1.pgn");
    assert!(fourth.contains("????.??.??"), "it begins now: {fourth}");
}

#[test]
fn a_round_may_begin_before_it_is_named_and_after() {
    let mut hall = Hall::new();
    hall.begin(0, 3);
    hall.start(1, 1);
    hall.play(2, 1, 1, "e2e4");
    // Somebody tries a board in the evening, and the configuration names the next round too late.
    hall.start(20, 2);
    hall.play(21, 2, 1, "h2h4");
    hall.end(22, 2);
    hall.start(60, 3);
    hall.play(61, 3, 1, "d2d4");
    hall.begin(65, 3);
    let begin = |minute: i64, begins: i64| {
        let mut settings = settings(hall.root.path(), 4);
        settings.begins_ms = Some(T0 + begins * MINUTE);
        let mut rounds = open(&settings, "gw", T0 + minute * MINUTE).rounds;
        for event in &hall.journal {
            rounds.take(event, 0);
        }
        hall.write(&mut rounds, minute);
    };
    begin(90, 100);
    assert!(!hall.file("round-4/game-1.pgn").contains("1. "), "not yet");
    begin(91, 55);
    let fourth = hall.file("round-4/game-1.pgn");
    assert!(
        fourth.contains("White4") && fourth.ends_with("1. d4 *\n"),
        "{fourth}"
    );
    begin(92, 15);
    let third = hall.file("round-3/game-1.pgn");
    assert!(
        third.contains("White3") && third.ends_with("1. e4 *\n"),
        "{third}"
    );
}

/// By the wall clock the round began at a time that comes only now, and its game in the round after it.
#[test]
fn games_stay_in_their_rounds_when_the_wall_clock_is_set_back() {
    let mut hall = Hall::new();
    let mut rounds = hall.begin(120, 3);
    hall.start(121, 1);
    hall.play(122, 1, 1, "e2e4");
    for event in &hall.journal {
        rounds.take(event, 0);
    }
    hall.write(&mut rounds, 140);
    let public = hall.file("round-3/game-1.pgn");
    assert!(public.contains("1. e4 *"), "{public}");
    hall.begin(20, 3);
    assert_eq!(hall.file("round-3/game-1.pgn"), public);
    hall.begin(30, 4);
    assert_eq!(hall.file("round-3/game-1.pgn"), public);
    let next = hall.file("round-4/game-1.pgn");
    assert!(!next.contains("1. e4"), "{next}");
    // What is held back of the round before still comes.
    hall.play(24, 1, 2, "e7e5");
    let mut rounds = hall.begin(31, 4);
    assert_eq!(rounds.numbers(), (4, Some(3)));
    hall.write(&mut rounds, 200);
    let public = hall.file("round-3/game-1.pgn");
    assert!(public.contains("1. e4 e5 *"), "{public}");
}

#[test]
fn a_round_of_long_ago_is_left_alone() {
    let hall = Hall::new();
    hall.begin(0, 3);
    hall.begin(60, 4);
    assert_eq!(hall.begin(61, 4).numbers(), (4, Some(3)));
    assert_eq!(hall.begin(60 + 15 + 12 * 60, 4).numbers(), (4, None));
}
