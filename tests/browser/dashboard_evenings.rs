//! Evenings at boards with a public folder: what nobody knows yet asks the arbiter, and the public does not see it before
//! he has answered.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shakmaty::{Color, Square};

use crate::{
    broker::PATIENCE,
    evening::Evening,
    hall::{accusations, journal, until},
};

const PUBLIC: &str = "[broadcast]\nfolder = \"open\"\nname = \"Vienna\"\nhold_results_seconds = 4\n";

#[test]
fn what_is_not_known_yet_is_asked_and_not_public() {
    let Some(mut evening) = Evening::begin_with(PUBLIC) else {
        return;
    };
    half_moves_that_nobody_saw(&mut evening);
    a_post_mortem_before_the_result(&mut evening);
    kings_that_contradict_a_ruling(&mut evening);
    the_journal_is_gone(&evening);
    assert_eq!(evening.browser.complaints(), [""; 0]);
}

/// Letters of the two languages in what the page says, but for names.
fn letters(text: &Value) -> (usize, usize) {
    let text = text.as_str().unwrap();
    let cyrillic = text.chars().filter(|c| ('а'..='я').contains(c)).count();
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    (cyrillic, latin)
}

/// Black has made no half-move: an arbiter who reads Russian is told so in Russian.
fn a_report_that_makes_no_sense_yet(evening: &Evening) {
    evening.sees("the board", "document.querySelector('[data-verb=report]')");
    evening.browser.click(".tongue");
    evening.asks("[data-verb=report]");
    evening.fill("kind", "two_hands");
    evening.fill("offender", "black");
    evening.browser.click("dialog .primary");
    let told = evening.sees("the refusal", "document.querySelector('.toast.bad')?.innerText");
    assert_eq!(
        told,
        "Отказано (refused): этот игрок ещё не сделал в партии ни одного полухода"
    );
    evening.browser.click(".tongue");
}

/// What is wrong with the gateway is told in the language of the page.
fn the_journal_is_gone(evening: &Evening) {
    let journal = evening.config().with_file_name("journal.sqlite");
    std::fs::rename(&journal, journal.with_extension("aside")).unwrap();
    let line = "[...document.querySelectorAll('#outage:not([hidden])')].map((line) => line.innerText).find((text) => text.startsWith('gw: '))";
    let english = evening.sees("the trouble", line);
    assert!(letters(&english).0 == 0, "{english}");
    evening.browser.click(".tongue");
    let russian = evening.sees(
        "the same in Russian",
        &format!("({line})?.includes('журнал') && {line}"),
    );
    let (cyrillic, latin) = letters(&russian);
    assert!(cyrillic > 40 && latin == "gw".len(), "{russian}");
    evening.browser.click(".tongue");
}

/// What the public is shown of a board when it has `text`.
fn public(evening: &Evening, board: u32, text: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let shown = evening.public(board);
        assert!(!shown.contains("1-0"), "a result that was a mistake: {shown}");
        if shown.contains(text) {
            return shown;
        }
        assert!(
            Instant::now() < deadline,
            "no {text} in what is public: {shown}; the daemon says: {}",
            evening.log()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The half-moves of what the public is shown, without numbers and clocks.
fn half_moves(pgn: &str) -> Vec<&str> {
    let text = pgn.split("\n\n").nth(1).unwrap_or_default();
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == 'O');
    // In braces stand clocks.
    let outside = text.split(['{', '}']).step_by(2);
    outside.flat_map(str::split_whitespace).filter(is_name).collect()
}

/// The cable is out while eight half-moves are played. The arbiter stops the clock, and they are entered; the game goes on.
fn half_moves_that_nobody_saw(evening: &mut Evening) {
    evening.open("#/board/gw/1");
    let begin = "e2e4 e7e5 g1f3 b8c6 f1c4";
    let missed = "f8c5 e1g1 g8f6 d2d3 d7d6 c1g5 h7h6 g5h4 a7a6 a2a3";
    evening.boards[0].play("e2e4");
    evening.recorded("1", 1, "e2e4");
    a_report_that_makes_no_sense_yet(evening);
    evening.boards[0].play(begin.strip_prefix("e2e4 ").unwrap());
    evening.recorded("1", 1, begin);
    // A slip of the finger, taken back before the public hears of it.
    let slip = evening.command("1", "result", &json!({ "result": "1-0" }));
    assert_eq!(slip["ok"], true, "{slip}");
    assert_eq!(evening.command("1", "resume", &json!({}))["ok"], true);
    evening.boards[0].pull_out();
    evening.boards[0].play(missed);
    evening.boards[0].plug_in();
    evening.boards[0].stop_clock();
    evening.sees(
        "that moves were missed",
        "/Moves were missed/.test(document.querySelector('.asks')?.innerText)",
    );
    evening.no_barriers();
    evening.picture("missed.png");
    evening.browser.click(".tongue");
    evening.sees(
        "the same in Russian",
        "/Часть ходов пропущена/.test(document.querySelector('aside').innerText)",
    );
    evening.no_barriers();
    evening.browser.click(".tongue");
    // Whatever was taken for them meanwhile makes way.
    let entered: Vec<&str> = missed.split(' ').collect();
    let fields = json!({ "ply": 6, "insert": entered, "drop_rest": true });
    let answer = evening.command("1", "correct", &fields);
    assert_eq!(answer["ok"], true, "{answer}");
    evening.recorded("1", 1, &format!("{begin} {missed}"));
    // What the sensors say goes on from there.
    evening.sees(
        "nothing is asked",
        "document.querySelector('.acts') && !document.querySelector('.asks')",
    );
    evening.boards[0].play("g7g5 h4g3");
    evening.recorded("1", 1, &format!("{begin} {missed} g7g5 h4g3"));
    let shown = public(evening, 1, "Bg3");
    assert_eq!(
        half_moves(&shown).join(" "),
        "e4 e5 Nf3 Nc6 Bc4 Bc5 O-O Nf6 d3 d6 Bg5 h6 Bh4 a6 a3 g5 Bg3"
    );
    let events = journal(&evening.config(), "1");
    let said = accusations(&events);
    assert!(said.is_empty(), "nobody did wrong: {said:?}");
}

/// The players set up the pieces and analyse, and only then say how it ended.
fn a_post_mortem_before_the_result(evening: &mut Evening) {
    let played = "d2d4 d7d5 c2c4";
    evening.boards[1].play(played);
    evening.recorded("2", 1, played);
    public(evening, 2, "c4");
    evening.open("#/board/gw/2");
    evening.boards[1].set_up();
    evening.sees(
        "a question of the gateway",
        "/no result/.test(document.querySelector('.asks')?.innerText)",
    );
    evening.boards[1].show("e2e4 c7c5 g1f3 d7d6");
    until("that it stands on the board", PATIENCE, || {
        let placement = evening.get("board/gw/2")?["placement"].as_str()?.to_owned();
        placement
            .starts_with("rnbqkbnr/pp2pppp/3p4/2p5/4P3/5N2")
            .then_some(())
    });
    assert_eq!(evening.moves("2", 1), played);
    evening.asks(".asks [data-verb=result]");
    let asked = evening.sees("who played", "document.querySelector('dialog').innerText");
    assert!(asked.as_str().unwrap().contains("Menchik, V wins"), "{asked}");
    evening.fill("result", "1/2-1/2");
    evening.sends();
    let shown = public(evening, 2, "[Result \"1/2-1/2\"]");
    assert_eq!(half_moves(&shown), ["d4", "d5", "c4"]);
    // They analyse on, and set up for the next game.
    evening.boards[1].show("d2d4 c5d4");
    evening.boards[1].set_up();
    until("the next array", PATIENCE, || {
        (evening.get("board/gw/2")?["problems"] == json!([])).then_some(())
    });
    evening.boards[1].play("e2e4");
    evening.recorded("2", 2, "e2e4");
    assert_eq!(evening.moves("2", 1), played);
    let told: Vec<_> = journal(&evening.config(), "2")
        .into_iter()
        .filter(|event| event["type"] == "move")
        .map(|event| event["uci"].clone())
        .collect();
    assert_eq!(told, ["d2d4", "d7d5", "c2c4", "e2e4"], "nothing of the analysis");
}

/// The flag of White has fallen; then the kings say that White has won.
fn kings_that_contradict_a_ruling(evening: &mut Evening) {
    evening.open("#/board/gw/1");
    let fallen = json!({ "kind": "flag_fall", "offender": "white", "confirmed": true });
    let reported = evening.command("1", "report", &fallen);
    assert_eq!(reported["ok"], true, "{reported}");
    evening.boards[0].stop_clock();
    for (square, color, centre) in [
        (Square::G1, Color::White, Square::D5),
        (Square::E8, Color::Black, Square::E4),
    ] {
        evening.boards[0].lift(square);
        evening.boards[0].put(centre, color.king());
    }
    evening.sees(
        "a question of the gateway",
        "/contradicts the last ruling/.test(document.querySelector('.asks')?.innerText)",
    );
    evening.no_barriers();
    evening.picture("contradicts.png");
    // What is told after it is public: the result is not.
    let later = json!({ "game": 1, "ply": 4, "insert": ["e7e6"] });
    assert_eq!(evening.command("2", "correct", &later)["ok"], true);
    public(evening, 2, "e6");
    let shown = evening.public(1);
    assert!(shown.contains("[Result \"*\"]"), "{shown}");
    evening.asks(".asks [data-verb=result]");
    evening.fill("result", "0-1");
    evening.sends();
    public(evening, 1, "[Result \"0-1\"]");
    evening.sees("that it is answered", "!document.querySelector('.asks')");
    // The sheet of the flag has round and times of its game.
    let flag = journal(&evening.config(), "1").into_iter().rev();
    let flag = flag
        .into_iter()
        .find(|event| event["kind"] == "flag_fall")
        .unwrap()["id"]
        .clone();
    evening.open(&format!("#/report/{}", flag.as_str().unwrap()));
    evening.sees("the sheet", "document.querySelector('.report .three')");
    let sheet = evening.sees(
        "its text",
        "document.querySelector('.report > div:last-child').innerText",
    );
    let sheet = sheet.as_str().unwrap();
    assert!(sheet.contains("round 1, game 1"), "{sheet}");
    let times = "/Game begun\\s+.*\\d\\d:\\d\\d:\\d\\d/.test(document.querySelector('.report').innerText)";
    evening.sees("when the game began", times);
    let results: Vec<Value> = journal(&evening.config(), "1")
        .into_iter()
        .filter(|event| event["type"] == "game_ended")
        .map(|event| event["result"].clone())
        .collect();
    assert_eq!(results.last(), Some(&json!("0-1")), "{results:?}");
}
