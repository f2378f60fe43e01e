//! The rounds of a broadcast when it begins, or begins again. They follow from the configuration, and from what the
//! folder tells of the time before.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use super::{
    by_hand::ByHand,
    index::{RoundCount, TournamentFile},
    kept::KeptFile,
    mark::{self, Marks},
    note::{self, RoundNote},
    past::{before, ended, is_to_come, put_right},
    round::Round,
    rounds::Rounds,
};
use crate::{
    config::{Broadcast, Lichess},
    files::shared,
    tournament::Tournament,
};

/// How long after the beginning of a round the broadcast waits for the one before it, besides the delay: its last games
/// may go on, and arbiters may enter results late.
const FORMER_FOR: Duration = Duration::from_secs(12 * 3600);

/// A broadcast that begins.
pub(super) struct OpenedRounds {
    pub(super) rounds: Rounds,
    /// The round on lichess of the former round.
    pub(super) lichess: Option<Lichess>,
    /// The notes of these rounds, as they are in the folder.
    pub(super) notes: Vec<RoundNote>,
}

/// The rounds at `now_ms`.
///
/// The configuration names one round. The round before it goes on if any of its files may still change, because the
/// public is behind, or because its last game may not be over.
pub(super) fn open(settings: &Broadcast, gateway: &str, now_ms: i64) -> OpenedRounds {
    let root = &settings.folder;
    let mut noted = note::read_all(root);
    let own = noted.remove(&settings.tournament.round);
    let noted_ms = own.as_ref().map(|own| own.tournament.since_ms);
    let since_ms = settings.begins_ms.or(noted_ms).unwrap_or(now_ms);
    forget_later(root, &mut noted, since_ms);
    let put_right = put_right(root, &mut noted, &settings.others, now_ms);
    let goes_by_time = settings.begins_ms.is_some();
    if !goes_by_time {
        put_before(&mut noted, since_ms, now_ms);
    }

    let mut by_hand = own
        .as_ref()
        .map_or_else(ByHand::default, |own| own.by_hand.clone());
    by_hand.put_before(now_ms);
    by_hand.take(&settings.pairings, now_ms);
    let current = RoundNote {
        tournament: Tournament {
            since_ms,
            until_ms: None,
            ..settings.tournament.clone()
        },
        pairings: settings.pairings.clone(),
        boards: settings.boards.iter().map(|board| full(gateway, board)).collect(),
        lichess: settings.lichess.as_ref().map(|lichess| lichess.round.clone()),
        by_hand,
    };
    if own.as_ref() != Some(&current)
        && let Err(error) = note::write(root, &current)
    {
        tracing::error!("broadcast: {error}");
    }
    let mut notes = vec![current.clone()];
    let marks = marks(root);
    let current = round(root, current, &marks, goes_by_time);
    let (mut former, mut older, mut lichess) = (None, Vec::new(), None);
    let mut until_ms = since_ms;
    for note in before(noted, since_ms) {
        let is_last = until_ms == since_ms;
        let is_shown = put_right.contains(&note.tournament.round) || is_to_come(&note, now_ms);
        let this_until_ms = std::mem::replace(&mut until_ms, note.tournament.since_ms);
        let is_open = is_shown || is_last && is_awaited(&note, since_ms, now_ms);
        if !is_open {
            continue;
        }
        notes.push(note.clone());
        if is_last {
            lichess = former_lichess(&note, settings);
            former = Some(round(root, ended(note, this_until_ms), &marks, goes_by_time));
        } else {
            older.push(round(root, ended(note, this_until_ms), &marks, goes_by_time));
        }
    }
    OpenedRounds {
        rounds: Rounds::new(current, former, older, counts(root)),
        lichess,
        notes,
    }
}

/// The name `GATEWAY/BOARD` of a board that the configuration may name without its gateway.
fn full(gateway: &str, board: &str) -> String {
    match board.contains('/') {
        true => board.to_owned(),
        false => format!("{gateway}/{board}"),
    }
}

fn is_awaited(note: &RoundNote, until_ms: i64, now_ms: i64) -> bool {
    let patience = i64::try_from(FORMER_FOR.as_millis()).unwrap_or(i64::MAX);
    now_ms
        < until_ms
            .saturating_add(note.tournament.delay.ms)
            .saturating_add(patience)
}

/// Removes the notes of rounds that somebody began by mistake: no game of such a round has begun, and an earlier round
/// is played again. Its note would keep the time of that mistake as its beginning.
fn forget_later(root: &Path, noted: &mut BTreeMap<u32, RoundNote>, since_ms: i64) {
    noted.retain(|round, note| {
        let is_mistake = note.tournament.since_ms > since_ms && kept(root, *round).is_empty();
        if is_mistake && let Err(error) = note::remove(root, *round) {
            tracing::warn!("broadcast: the note of round {round} cannot be taken away: {error}");
        }
        !is_mistake
    });
}

/// Has the rounds that seem to begin only after `now_ms` begin before `since_ms`: somebody has set the wall clock back.
fn put_before(noted: &mut BTreeMap<u32, RoundNote>, since_ms: i64, now_ms: i64) {
    for note in noted.values_mut() {
        if note.tournament.since_ms > now_ms {
            note.tournament.since_ms = since_ms.saturating_sub(1);
        }
    }
}

/// The round on lichess of the former round. The token is that of the present round.
fn former_lichess(note: &RoundNote, settings: &Broadcast) -> Option<Lichess> {
    let present = settings.lichess.as_ref()?;
    let round = note.lichess.clone().filter(|round| *round != present.round)?;
    Some(Lichess {
        round,
        ..present.clone()
    })
}

fn round(root: &Path, note: RoundNote, marks: &BTreeMap<u32, Marks>, goes_by_time: bool) -> Round {
    let number = note.tournament.round;
    let mut round = Round::new(note.tournament, note.pairings, note.boards);
    round.enter(note.by_hand);
    let own = marks.get(&number).cloned().unwrap_or_default();
    let elsewhere = marks.iter().filter(|(other, _)| **other != number);
    let elsewhere = elsewhere.flat_map(|(_, marks)| marks.clone()).collect();
    round.remember(own, elsewhere, goes_by_time);
    for (game, kept) in kept(root, number) {
        round.keep(game, kept);
    }
    round
}

/// What was public of each round.
fn marks(root: &Path) -> BTreeMap<u32, Marks> {
    let folders = fs::read_dir(root).into_iter().flatten().flatten();
    let rounds = folders.filter_map(|folder| {
        let name = folder.file_name();
        name.to_str()?.strip_prefix("round-")?.parse().ok()
    });
    rounds.map(|round| (round, mark::read(root, round))).collect()
}

/// The games of a round that have begun, according to the folder.
fn kept(root: &Path, round: u32) -> BTreeMap<usize, KeptFile> {
    let files = fs::read_dir(root.join(format!("round-{round}")));
    let games = files.into_iter().flatten().flatten().filter_map(|file| {
        let name = file.file_name();
        let game = name.to_str()?.strip_prefix("game-")?.strip_suffix(".pgn")?;
        let text = shared::read(root, &format!("round-{round}/{name}", name = name.to_str()?)).ok()?;
        Some((game.parse().ok()?, KeptFile::new(text)?))
    });
    games.collect()
}

/// How many games the rounds have, according to the folder, which cannot tell whether any of them is being played.
fn counts(root: &Path) -> BTreeMap<u32, RoundCount> {
    let text = shared::read(root, "tournament.json").unwrap_or_default();
    let rounds =
        serde_json::from_str::<TournamentFile>(&text).map_or_else(|_| Vec::new(), |file| file.rounds);
    let over = |known: RoundCount| RoundCount { live: 0, ..known };
    (1..).zip(rounds.into_iter().map(over)).collect()
}

#[cfg(test)]
mod tests {
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
}
