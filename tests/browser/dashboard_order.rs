//! Answers of the server that come in another order than the page asked for them: what is shown is the newest.

use crate::evening::Evening;

/// Holds back the next answer to an address that begins with `path`, until `window.release()`.
fn hold(evening: &Evening, path: &str) {
    evening.browser.run(&format!(
        "window.unheld ??= window.fetch;
         window.held = false;
         window.fetch = async (path, options) => {{
           const answer = await window.unheld(path, options);
           if (window.held || !String(path).startsWith('{path}')) return answer;
           window.held = true;
           const body = await answer.json();
           await new Promise((go) => {{ window.release = go; }});
           return {{ status: answer.status, json: async () => body }};
         }}"
    ));
}

/// The answer that was held back comes, and the page has made of it what it makes of it.
fn release(evening: &Evening) {
    evening
        .browser
        .run("window.release(); return new Promise((drawn) => setTimeout(drawn, 100))");
}

#[test]
fn an_answer_that_comes_late_undoes_nothing_on_the_page() {
    let Some(evening) = Evening::begin() else {
        return;
    };
    let shows = |san: &str| {
        evening.sees(
            san,
            &format!("document.querySelector('.moves')?.innerText.includes('{san}')"),
        )
    };
    let is_shown = |san: &str| {
        let script = format!("return document.querySelector('.moves').innerText.includes('{san}')");
        assert_eq!(evening.browser.run(&script), true, "{san} is gone again");
    };
    let held = || evening.sees("an answer on its way", "window.held && Boolean(window.release)");
    evening.open("#/board/gw/1");
    evening.boards[0].play("e2e4");
    shows("e4");
    hold(&evening, "/api/board/");
    evening.boards[0].play("e7e5");
    held();
    evening.boards[0].play("g1f3");
    shows("Nf3");
    release(&evening);
    is_shown("Nf3");

    // The same on the page of a game.
    evening.browser.click("a.edit");
    evening.sees("the game", "document.querySelector('.game [data-step=first]')");
    shows("Nf3");
    evening.browser.run("delete window.release");
    hold(&evening, "/api/game/");
    evening.boards[0].play("b8c6");
    held();
    evening.boards[0].play("f1b5");
    shows("Bb5");
    release(&evening);
    is_shown("Bb5");
    assert_eq!(evening.browser.complaints(), [""; 0]);
}
