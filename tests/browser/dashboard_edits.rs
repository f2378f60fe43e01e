//! The editor of the record as an arbiter uses it at the board of a game that goes on: what a pawn became, a half-move
//! that was missed in mid-game, and results of games that nobody came to.

use serde_json::json;

use crate::{
    browser::Browser,
    evening::Evening,
    hall::{self, journal},
};

#[test]
fn a_promotion_a_missed_half_move_and_forfeits() {
    let Some(mut evening) = Evening::begin() else {
        return;
    };
    a_pawn_becomes_a_knight(&mut evening);
    half_moves_are_put_in(&evening);
    nobody_came(&evening);
    beginning_and_times(&evening);
    assert_eq!(evening.browser.complaints(), [""; 0]);
    on_a_phone(&mut evening);
}

/// A pawn became a knight; the players put up a queen, and meant the knight.
fn a_pawn_becomes_a_knight(evening: &mut Evening) {
    let opening = "e2e4 d7d5 e4d5 c7c6 d5c6 a7a6 c6b7 a6a5";
    evening.boards[0].play(&format!("{opening} b7a8q"));
    evening.recorded("1", 1, &format!("{opening} b7a8q"));
    evening.open("#/game/gw/1/1");
    evening.sees(
        "the last half-move",
        "/half-move 9/.test(document.querySelector('[data-act=change]')?.textContent)",
    );
    evening.browser.click("[data-act=change]");
    evening.sees(
        "the moves",
        "document.querySelectorAll('.editor select option').length > 20",
    );
    evening.square("b7");
    evening.square("a8");
    let ways = evening.sees(
        "what it may become",
        "[...document.querySelectorAll('.ways button')].map((one) => one.textContent).join(' ')",
    );
    for way in ["bxa8=Q", "bxa8=R", "bxa8=B", "bxa8=N"] {
        assert!(ways.as_str().unwrap().contains(way), "{ways}");
    }
    let asked = "document.querySelector('.editor p').textContent";
    evening.sees(
        "the question",
        &format!("{asked} === 'What does the pawn become?'"),
    );
    evening.no_barriers();
    evening.picture("promotion.png");
    evening.browser.click(".ways [data-way=b7a8n]");
    evening.sees(
        "it is shown",
        "/To be entered: 5\\. bxa8=N/.test(document.querySelector('.editor').innerText)",
    );
    evening.entered(&format!("{opening} b7a8n"), "bxa8=N");
}

/// Two half-moves that nobody saw come before the fifth; all that follows stays.
fn half_moves_are_put_in(evening: &Evening) {
    evening.browser.click("[data-ply='5']");
    evening.browser.click("[data-act=insert]");
    evening.sees(
        "the position before it",
        "document.querySelectorAll('.editor select option').length > 20 && /half-move 5/i.test(document.querySelector('.table figcaption').textContent)",
    );
    evening.square("h2");
    evening.square("h3");
    evening.choose("h6");
    evening.sees(
        "both are shown",
        "/To be entered: 3\\. h3 3… h6/.test(document.querySelector('.editor').innerText)",
    );
    evening.picture("insert.png");
    let moves = "e2e4 d7d5 e4d5 c7c6 h2h3 h7h6 d5c6 a7a6 c6b7 a6a5 b7a8n";
    evening.entered(moves, "h3");
    // It is in the record: who follows the events has it, and it is told who said so.
    let events = journal(&evening.config(), "1");
    assert_eq!(hall::moves(&events).join(" "), moves);
    let put = |event: &&serde_json::Value| event["type"] == "move" && event["uci"] == "h2h3";
    let told: Vec<_> = events.iter().filter(put).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["ply"], &told[0]["source"]),
        (&json!(5), &json!("arbiter"))
    );
}

/// The game began from another position, and the sides of the clock were taken for each other.
fn beginning_and_times(evening: &Evening) {
    let last_told = |kind: &str| {
        let events = journal(&evening.config(), "1");
        events.into_iter().rfind(|event| event["type"] == kind).unwrap()
    };
    let before = last_told("move");
    evening.open("#/game/gw/1/1/0");
    let acts = "[...document.querySelectorAll('[data-act]')].map((one) => one.dataset.act).join(' ')";
    evening.sees("the start", &format!("{acts}.includes('beginning exchange')"));
    evening.asks("[data-act=exchange]");
    evening.no_barriers();
    evening.sends();
    let exchanged = |clock: &serde_json::Value| [clock["black_ms"].clone(), clock["white_ms"].clone()];
    hall::until(
        "the times are exchanged",
        std::time::Duration::from_secs(30),
        || {
            let clock = &last_told("move")["clock"];
            let now = [clock["white_ms"].clone(), clock["black_ms"].clone()];
            (now == exchanged(&before["clock"])).then_some(())
        },
    );

    let array = "rnbqkbnr/pppppppp/8/8/8/8/1PPPPPPP/1NBQKBNR w Kkq - 0 1";
    evening.asks("[data-act=beginning]");
    evening.fill("fen", array);
    evening.fill("moves", "1. g3 {slowly} g6 *");
    evening.no_barriers();
    evening.sends();
    evening.sees(
        "the half-moves are two more",
        "document.querySelector('[data-ply=\"13\"]')",
    );
    assert_eq!(last_told("moves_retracted")["fen"], array);

    evening.browser.click("[data-ply='2']");
    evening.sees(
        "the half-move",
        "/half-move 2…/.test(document.querySelector('[data-act=clock]')?.textContent)",
    );
    evening.asks("[data-act=clock]");
    evening.fill("white", "1:29:30");
    evening.fill("black", "1:28:05");
    evening.no_barriers();
    evening.sends();
    hall::until("the times are told", std::time::Duration::from_secs(30), || {
        let events = journal(&evening.config(), "1");
        let mut told = events.iter().rev().filter(|event| event["type"] == "move");
        let clock = &told.find(|event| event["ply"] == 2)?["clock"];
        (clock["white_ms"] == 5_370_000 && clock["black_ms"] == 5_285_000).then_some(())
    });
}

/// At the other board nobody plays: Black did not come to this game, White not to the next one.
fn nobody_came(evening: &Evening) {
    evening.open("#/board/gw/2");
    evening.asks(".games [data-act=forfeit]");
    let between = "document.querySelector('dialog').innerText.includes('Menchik, V – Thomas, G')";
    evening.sees("the players, whom no game has named yet", between);
    let ways = evening.sees(
        "the results",
        "[...document.querySelectorAll('dialog [name=result] option')].map((one) => one.value).join(' ')",
    );
    for way in ["+/-", "-/+", "-/-"] {
        assert!(ways.as_str().unwrap().contains(way), "{ways}");
    }
    evening.no_barriers();
    evening.picture("forfeit.png");
    evening.fill("result", "+/-");
    evening.sends();
    evening.sees(
        "the forfeit in the list",
        "/Game 1.*\\+\\/-/.test([...document.querySelectorAll('.games li')].map((line) => line.innerText).join(' '))",
    );
    evening.asks(".games [data-act=forfeit]");
    evening.fill("result", "-/+");
    evening.sends();
    evening.sees(
        "the next one",
        "/Game 2.*-\\/\\+/.test([...document.querySelectorAll('.games li')].map((line) => line.innerText).join(' '))",
    );
    let ended: Vec<_> = journal(&evening.config(), "2")
        .into_iter()
        .filter(|event| event["type"] == "game_ended")
        .map(|event| (event["game"].clone(), event["result"].clone()))
        .collect();
    assert_eq!(ended, [(json!(1), json!("+/-")), (json!(2), json!("-/+"))]);
}

/// What happened is read, and put right, on a screen as small as a hand.
fn on_a_phone(evening: &mut Evening) {
    let seen = json!({ "kind": "two_hands", "offender": "white", "ply": 1 });
    let reported = evening.command("1", "report", &seen);
    assert_eq!(reported["ok"], true, "{reported}");
    let phone =
        json!({ "mobileEmulation": { "deviceMetrics": { "width": 390, "height": 844, "pixelRatio": 1.0 } } });
    evening.browser = Browser::start(&phone).unwrap();
    evening.open("#/history");
    evening.sees(
        "when, where, what, how certain and what became of it, all within the screen",
        "[...document.querySelectorAll('.history tbody td')].filter((cell) => {
            const { left, right, width } = cell.getBoundingClientRect();
            return width > 0 && left >= 0 && right <= innerWidth;
        }).length === 5",
    );
    evening.no_barriers();
    evening.picture("phone-history.png");

    evening.open("#/game/gw/1/1");
    for button in ["[data-ply='1']", "[data-act=change]"] {
        let it = format!("document.querySelector(\"{button}\")");
        evening.sees(button, &it);
        evening
            .browser
            .run(&format!("{it}.scrollIntoView({{ block: 'center' }})"));
        evening.browser.click(button);
    }
    evening.sees(
        "the whole diagram, below the bar",
        "(() => {
            const bar = document.querySelector('.bar').getBoundingClientRect();
            const { top, bottom } = document.querySelector('.game figure').getBoundingClientRect();
            return document.querySelector('.editor select') && top >= bar.bottom && bottom <= innerHeight;
        })()",
    );
    evening.picture("phone-editor.png");
}
