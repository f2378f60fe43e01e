//! The model of lichess' rules (`help/relay_rules`), held against the cases of lila's own tests (RelayPushTest,
//! RelayGameTest, RelayUpdatePlanTest, RelayFetchTest), told anew.

use crate::relay_rules::{
    Chapter, Game, Plan, Round, Tags, answer, games, is_same_by_tags, is_same_so_far, plan, value,
};

/// The one game of a push.
fn game(text: &str) -> Game {
    let mut read = games(text);
    assert_eq!(read.len(), 1, "{read:?}");
    read.remove(0).unwrap()
}

fn error(text: &str) -> String {
    let mut read = games(text);
    assert_eq!(read.len(), 1, "{read:?}");
    read.remove(0).unwrap_err().error
}

#[test]
fn only_a_king_to_the_centre_at_the_very_end_is_forgiven() {
    assert_eq!(game("1. e4 e5").moves.len(), 2);
    for square in ["e4", "e5", "d4", "d5"] {
        let forgiven = game(&format!("1. e4 K{square}"));
        assert_eq!((forgiven.moves.len(), forgiven.dropped), (1, true));
        assert!(error(&format!("1. e4 e5 2. e3 K{square}")).contains("e3"));
    }
    assert!(error("1. e4 e5 2. e3").contains("e3"));
    assert!(error("1. e4 Kc5").contains("Kc5"));
    // One that is legal is shown as a move.
    let legal = game("[FEN \"8/8/8/3k4/8/3K4/8/8 b - - 0 1\"]\n\n1... Ke5 *");
    assert_eq!((legal.moves.len(), legal.dropped), (1, false));
}

#[test]
fn the_times_of_the_tags_are_those_of_the_last_moves_without_their_own() {
    let head = "[WhiteClock \"00:33:51\"]\n[BlackClock \"01:23:54\"]\n\n";
    let clocks = |text: &str| -> Vec<Option<u32>> {
        let game = game(&format!("{head}{text}"));
        game.moves.iter().map(|made| made.clock).collect()
    };
    let (white, black) = (33 * 60 + 51, 3600 + 23 * 60 + 54);
    assert_eq!(clocks("1. d4 Nf6"), [Some(white), Some(black)]);
    assert_eq!(
        clocks("1. d4 {[%clk 1:00:00]} Nf6 2. c4"),
        [Some(3600), Some(black), Some(white)]
    );
    assert_eq!(
        clocks("1. d4 {[%clk\n1:00:00]} Nf6 {[%clk 0:59:00]}"),
        [Some(3600), Some(3540)]
    );
    assert_eq!(clocks("1. d4"), [Some(white)]);
}

/// A time used is taken from what was left before, unless the time left is told.
#[test]
fn a_time_used_stands_in_for_a_time_left() {
    let clocks = |head: &str| -> Vec<Option<u32>> {
        let game = game(&format!(
            "[TimeControl \"{head}\"]\n\n1. d4 {{[%emt 0:01:00]}} Nf6 {{[%clk 0:59:00]}} {{[%emt 0:00:05]}}"
        ));
        game.moves.iter().map(|made| made.clock).collect()
    };
    assert_eq!(clocks("5400+30"), [Some(5370), Some(3540)]);
    assert_eq!(clocks("90+30"), [Some(5370), Some(3540)], "minutes");
    assert_eq!(clocks("40/5400+30:1800+30"), [None, Some(3540)], "periods");
}

#[test]
fn a_tag_that_says_nothing_is_none() {
    let tags = |text: &str| -> Vec<String> {
        let game = game(&format!("{text}\n\n1. e4 *"));
        game.tags.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(
        tags("[Event \"?\"]\n[Site \"\"]\n[Date \"2026.11.21\"]\n[ECO \"C20\"]"),
        [""; 0]
    );
    assert_eq!(
        tags("[White \"A\"]\n[Black \"Unknown\"]\n[WhiteTeam \"A\"]"),
        ["WhiteTeam"]
    );
    assert_eq!(
        tags("[White \"Ab\"]\n[Black \"Moss, M\"]\n[Result \"*\"]"),
        ["White", "Black", "Result"]
    );
}

#[test]
fn mate_ends_a_game_whatever_the_tag_says() {
    let mate = game("[Result \"*\"]\n\n1. f3 e5 2. g4 Qh4# *");
    assert_eq!(mate.over.as_deref(), Some("0-1"));
    assert_eq!(value(&mate.tags, "Result"), None);
    let told = game("[Result \"1/2-1/2\"]\n\n1. e4 1/2-1/2");
    assert_eq!(told.over.as_deref(), Some("1/2-1/2"));
    assert_eq!(game("[Result \"*\"]\n\n1. e4 *").over, None);
}

#[test]
fn an_array_of_chess960_is_played_from() {
    let array = "[Variant \"Chess960\"]\n[SetUp \"1\"]\n[FEN \"bbrkqrnn/pppppppp/8/8/8/8/PPPPPPPP/BBRKQRNN w KQkq - 0 1\"]";
    let read = game(&format!("{array}\n\n1. d4 d5 2. Nf3 *"));
    assert_eq!(read.moves.len(), 3);
    assert!(error(&array.replace("bbrk", "bbrr")).contains("no position"));
}

/// Five games of a round.
fn five() -> Vec<Game> {
    let moves = ["1. c4 g6", "1. e4 c5", "1. c4 e6", "1. Nf3 Nf6", "1. d4 f5"];
    let one = |(i, moves): (usize, &&str)| {
        let n = i + 1;
        game(&format!(
            "[Event \"June\"]\n[Site \"Riga\"]\n[Round \"9.{n}\"]\n[White \"W{n}\"]\n[Black \"B{n}\"]\n[WhiteFideId \"10{n}\"]\n[BlackFideId \"20{n}\"]\n\n{moves}"
        ))
    };
    moves.iter().enumerate().map(one).collect()
}

fn chapters(games: &[Game]) -> Vec<Chapter> {
    let chapter = |game: &Game| Chapter {
        tags: game.tags.clone(),
        start: game.start.clone(),
        moves: game.moves.clone(),
    };
    games.iter().map(chapter).collect()
}

/// A plan in short: reorder, updates, appended, orphans.
fn planned(
    reorder: Option<&[usize]>,
    update: &[(usize, usize)],
    append: &[usize],
    orphans: &[usize],
) -> Plan {
    Plan {
        reorder: reorder.map(<[usize]>::to_vec),
        update: update.to_vec(),
        append: append.to_vec(),
        orphans: orphans.to_vec(),
    }
}

#[test]
fn games_become_chapters_and_are_known_again_in_any_order() {
    let games = five();
    let all = chapters(&games);
    let initial = Round::new().chapters;
    let turned = |count: usize| -> Vec<Game> { games[..count].iter().rev().cloned().collect() };
    for (chapters, games, expected) in [
        (&all[..0], games[..0].to_vec(), planned(None, &[], &[], &[])),
        (&all[..0], games[..1].to_vec(), planned(None, &[], &[0], &[])),
        (
            &all[..0],
            games.clone(),
            planned(None, &[], &[0, 1, 2, 3, 4], &[]),
        ),
        (&initial[..], games[..0].to_vec(), planned(None, &[], &[], &[0])),
        (
            &initial[..],
            games[..1].to_vec(),
            planned(None, &[(0, 0)], &[], &[]),
        ),
        (
            &initial[..],
            games.clone(),
            planned(None, &[(0, 0)], &[1, 2, 3, 4], &[]),
        ),
        (&all[..1], games[..1].to_vec(), planned(None, &[(0, 0)], &[], &[])),
        (&all[..1], games[1..2].to_vec(), planned(None, &[], &[0], &[0])),
        (
            &all[..1],
            games.clone(),
            planned(None, &[(0, 0)], &[1, 2, 3, 4], &[]),
        ),
        (
            &all[..],
            games.clone(),
            planned(None, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)], &[], &[]),
        ),
        (
            &all[..2],
            turned(2),
            planned(Some(&[1, 0]), &[(1, 0), (0, 1)], &[], &[]),
        ),
        (
            &all[..],
            turned(5),
            planned(
                Some(&[4, 3, 2, 1, 0]),
                &[(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)],
                &[],
                &[],
            ),
        ),
        (
            &all[..],
            turned(2),
            planned(None, &[(1, 0), (0, 1)], &[], &[2, 3, 4]),
        ),
        (
            &all[..2],
            turned(3),
            planned(Some(&[1, 0]), &[(1, 1), (0, 2)], &[0], &[]),
        ),
    ] {
        assert_eq!(plan(chapters, &games), expected, "{chapters:?} {games:?}");
    }
}

fn named(board: u32, white: &str, black: &str, moves: &str) -> Game {
    game(&format!(
        "[White \"{white}\"]\n[Black \"{black}\"]\n[Round \"1.{board}\"]\n\n{moves}"
    ))
}

#[test]
fn the_same_players_at_several_boards_are_several_games() {
    let games = [
        named(1, "Banh", "Yaniv", "1. c4 g6"),
        named(2, "Banh", "Yaniv", "1. e4 c5"),
        named(3, "Banh", "Yaniv", "1. c4 e6"),
        named(1, "Pap", "Misa", "1. Nf3 Nf6"),
        named(2, "Pap", "Misa", "1. d4 f5"),
    ];
    let expected = planned(None, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)], &[], &[]);
    assert_eq!(plan(&chapters(&games), &games), expected);
}

#[test]
fn games_that_change_their_boards_are_known_by_their_moves() {
    let long = "1. e4 e5 2. Nf3 Nc6 3. Nc3 Bb4";
    let before = [
        named(1, "AA", "BB", long),
        named(2, "CC", "DD", "1. e4 c5"),
        named(3, "EE", "FF", "1. c4 e6"),
    ];
    let after = [
        named(1, "EE", "FF", "1. c4 e6"),
        named(2, "CC", "DD", "1. e4 c5"),
        named(3, "AA", "BB", long),
    ];
    let expected = planned(Some(&[2, 1, 0]), &[(2, 0), (1, 1), (0, 2)], &[], &[]);
    assert_eq!(plan(&chapters(&before), &after), expected);
}

#[test]
fn event_round_board_and_players_make_a_game() {
    let tags = |more: &[(&str, &str)]| -> Tags {
        let names = [("White", "aa"), ("Black", "bb")];
        let all = names.iter().chain(more);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let same = |one: &[(&str, &str)], other: &[(&str, &str)]| is_same_by_tags(&tags(one), &tags(other));
    assert!(same(&[], &[]));
    assert!(same(&[("Round", "1.1")], &[("Round", "1.1")]));
    assert!(same(&[("Round", "1")], &[("Round", "1")]));
    assert!(same(&[("Round", "1.1")], &[("Round", "1"), ("Board", "1")]));
    assert!(!same(&[("Round", "1.1")], &[]));
    assert!(!same(&[("Round", "1")], &[("Round", "2")]));
    assert!(!same(&[("Round", "1.1")], &[("Round", "1.2")]));
    assert!(!same(
        &[("Round", "1"), ("Board", "1")],
        &[("Round", "1"), ("Board", "2")]
    ));
    assert!(!same(&[("Event", "one")], &[("Event", "two")]));
    let (mut one, other) = (tags(&[]), tags(&[]));
    one[1].1 = "cc".into();
    assert!(!is_same_by_tags(&one, &other));
    let ids = [("WhiteFideId", "1"), ("BlackFideId", "2")];
    let (mut one, other) = (tags(&ids), tags(&ids));
    one[1].1 = "cc".into();
    assert!(is_same_by_tags(&one, &other), "ids go before names");
}

#[test]
fn the_shorter_of_two_games_decides_whether_they_are_one_so_far() {
    let same = |one: &str, other: &str| {
        let (one, other) = (game(one), game(other));
        is_same_so_far((&one.start, &one.moves), (&other.start, &other.moves))
    };
    assert!(same("1. e4 e5 *", "1. e4 e5 *"));
    assert!(same("1. e4 e5 *", "1. e4 *"));
    assert!(same("1. e4 e5 *", "*"), "nothing played is like any game");
    assert!(same("1. e4 d6 *", "1. e4 *"));
    assert!(!same("1. e3 d6 *", "1. e4 *"));
    assert!(!same("1. e4 e5 2. d4 *", "1. e4 e5 2. d3 *"));
}

/// Why a game that becomes known late is sent behind the others.
#[test]
fn a_game_without_moves_takes_the_place_of_one_that_comes_after_it() {
    let later = named(3, "EE", "FF", "1. c4 e6");
    let chapters = chapters(std::slice::from_ref(&later));
    let first = named(1, "AA", "BB", "*");
    let before = plan(&chapters, &[first.clone(), later.clone()]);
    assert_eq!(before, planned(None, &[(0, 0)], &[1], &[]));
    let behind = plan(&chapters, &[later, first]);
    assert_eq!(behind, planned(None, &[(0, 0)], &[1], &[]));
}

#[test]
fn a_game_without_both_players_is_answered_and_not_shown() {
    let mut round = Round::new();
    let text = "[Round \"1.1\"]\n[White \"AA\"]\n[Black \"?\"]\n\n1. e4 *\n\n[Round \"1.2\"]\n[White \"BB\"]\n[Black \"CC\"]\n\n1. d4 *\n";
    let answers = round.push(text);
    assert_eq!(answer(&answers)["games"][0]["moves"], 1);
    assert_eq!(answer(&answers)["games"][1]["tags"]["White"], "BB");
    assert_eq!(round.chapters.len(), 1);
    assert_eq!(value(&round.chapters[0].tags, "White"), Some("BB"));
}

/// One game that fails holds back nothing but itself, and is shown as it was before.
#[test]
fn a_game_that_fails_stays_as_it_was() {
    let mut round = Round::new();
    let push = |round: &mut Round, first: &str, second: &str| {
        let text = format!(
            "[White \"AA\"]\n[Black \"BB\"]\n[Result \"*\"]\n\n{first}\n\n[White \"CC\"]\n[Black \"DD\"]\n\n{second}\n"
        );
        round.push(&text)
    };
    push(&mut round, "1. e4 *", "1. d4 *");
    let answers = push(&mut round, "1. e4 Ke5 2. d4 1-0", "1. d4 d5 *");
    assert!(answer(&answers)["games"][0]["error"].is_string());
    let lengths: Vec<usize> = round.chapters.iter().map(|chapter| chapter.moves.len()).collect();
    assert_eq!(lengths, [1, 2]);
    round.has_source = true;
    assert_eq!(answer(&round.push("1. e4"))["games"].as_array().unwrap().len(), 1);
}
