//! A hall of two boards that a test moves itself, its daemon, the arbiter's page and a browser.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    browser::{Browser, checker},
    hall::{Daemon, journal, until},
    page::{Server, http},
    seated::Players,
};

const TOKEN: &str = "0123456789abcdef";

/// Keys, as WebDriver names them.
const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";
pub const ESCAPE: &str = "\u{e00c}";
pub const RIGHT: &str = "\u{e014}";
const DOWN: &str = "\u{e015}";

/// A hall of two boards, its daemon, a page and a browser.
pub struct Evening {
    folder: tempfile::TempDir,
    broker: Mosquitto,
    daemon: Option<Daemon>,
    page: Option<Server>,
    pub browser: Browser,
    pub boards: [Players; 2],
}

impl Evening {
    pub fn begin() -> Option<Self> {
        Self::begin_with("")
    }

    /// `tables` are further tables of the configuration.
    pub fn begin_with(tables: &str) -> Option<Self> {
        let browser = Browser::start(&json!({}))?;
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "");
        let boards = [1, 2].map(Players::sit_down);
        let mut text = format!(
            "[gateway]\nname = \"gw\"\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[journal]\npath = \"journal.sqlite\"\n{tables}",
            broker.port
        );
        let names = [["Reti, R", "Tartakower, S"], ["Menchik, V", "Thomas, G"]];
        for (i, (players, [white, black])) in boards.iter().zip(names).enumerate() {
            text += &format!(
                "[[board]]\nid = \"{}\"\nport = \"{}\"\ntable = {{ white = \"{white}\", black = \"{black}\" }}\n",
                i + 1,
                players.port
            );
        }
        fs::write(folder.path().join("dgt2mqtt.toml"), text).unwrap();
        let mut evening = Self {
            folder,
            broker,
            daemon: None,
            page: None,
            browser,
            boards,
        };
        evening.start();
        evening.browser.resize(1280, 1000);
        Some(evening)
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("dgt2mqtt.toml")
    }

    /// Daemon and page, anew.
    pub fn start(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
        self.page = None;
        let before = self.log().len();
        self.daemon = Some(Daemon::start(&self.config()));
        self.page = Some(Server::start(self.broker.port, free_port(), &[]));
        for (board, players) in ["1", "2"].into_iter().zip(&self.boards) {
            let answers = format!("board {board}: it answers");
            until("the board", PATIENCE, || {
                // Of a daemon that was killed the broker retains that its boards are online.
                let is_heard = self.log().get(before..)?.contains(&answers);
                let seen = self.get(&format!("board/gw/{board}"))?;
                let is_read = seen["online"] == true && seen["placement"].is_string();
                (is_heard && is_read && players.are_watched()).then_some(())
            });
        }
    }

    fn server(&self) -> &Server {
        self.page.as_ref().unwrap()
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        let (status, body) = http(
            self.server().port,
            "GET",
            &format!("/api/{path}"),
            "",
            &Value::Null,
        );
        (status == 200).then(|| serde_json::from_str(&body).unwrap())
    }

    /// Another arbiter says something, at another tablet with a link of her own.
    pub fn anna(&self, board: &str, verb: &str, fields: &Value) -> Value {
        fs::write(self.folder.path().join("anna-token"), TOKEN).unwrap();
        let config = self.folder.path().join("page.toml");
        let people = "[[dashboard.people]]\nname = \"Anna Ivanova\"\nrole = \"arbiter\"\ntoken_file = \"anna-token\"\n";
        fs::write(&config, people).unwrap();
        let tablet = Server::start(
            self.broker.port,
            free_port(),
            &["--config", config.to_str().unwrap()],
        );
        let body = json!({ "gateway": "gw", "board": board, "verb": verb, "fields": fields });
        let link = format!("Authorization: Bearer {TOKEN}\r\n");
        // It was just started: the broker is not there at once.
        until("an answer", PATIENCE, || {
            let (status, said) = http(tablet.port, "POST", "/api/command", &link, &body);
            (status == 200).then(|| serde_json::from_str(&said).unwrap())
        })
    }

    /// What an arbiter says without the page.
    pub fn command(&self, board: &str, verb: &str, fields: &Value) -> Value {
        let body = json!({ "gateway": "gw", "board": board, "verb": verb, "fields": fields });
        let (_, said) = http(self.server().port, "POST", "/api/command", "", &body);
        serde_json::from_str(&said).unwrap()
    }

    /// What an arbiter says of the round without the page.
    pub fn round(&self, verb: &str, fields: &Value) -> Value {
        let body = json!({ "gateway": "gw", "verb": verb, "fields": fields });
        let (_, said) = http(self.server().port, "POST", "/api/round", "", &body);
        serde_json::from_str(&said).unwrap()
    }

    /// The half-moves of a game as the page has them.
    pub fn moves(&self, board: &str, game: u32) -> String {
        let game = self.get(&format!("game/gw/{board}/{game}")).unwrap_or_default();
        let moves = game["moves"].as_array().cloned().unwrap_or_default();
        let moves: Vec<_> = moves.iter().map(|made| made["uci"].as_str().unwrap()).collect();
        moves.join(" ")
    }

    /// Waits until the page has these half-moves.
    pub fn recorded(&self, board: &str, game: u32, moves: &str) {
        let mut got = String::new();
        let deadline = Instant::now() + PATIENCE;
        while got != moves {
            assert!(
                Instant::now() < deadline,
                "board {board}, game {game}: {got}, not {moves}; events: {:#?}",
                journal(&self.config(), board)
            );
            std::thread::sleep(Duration::from_millis(50));
            got = self.moves(board, game);
        }
    }

    /// What the public is shown of a board, where the folder `open` is for it.
    pub fn public(&self, board: u32) -> String {
        let file = self.folder.path().join(format!("open/round-1/game-{board}.pgn"));
        fs::read_to_string(file).unwrap_or_default()
    }

    /// What the daemon has said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("daemon.log")).unwrap_or_default()
    }

    pub fn open(&self, page: &str) {
        self.browser.open(&self.server().url(page));
    }

    pub fn sees(&self, what: &str, script: &str) -> Value {
        self.browser.until(what, &format!("return {script}"))
    }

    /// Presses a button, and waits for the question.
    pub fn asks(&self, selector: &str) {
        // Not below the bar at the top.
        self.browser.run(&format!(
            "document.getElementById('toasts').replaceChildren(); document.querySelector('{selector}')?.scrollIntoView({{ block: 'center' }})"
        ));
        self.browser.click(selector);
        self.sees("a question", "document.querySelector('dialog').open");
    }

    /// Fills fields of the question.
    pub fn fill(&self, field: &str, value: &str) {
        self.browser.run(&format!(
            "const field = document.querySelector('dialog [name={field}]'); field.value = '{value}'; field.dispatchEvent(new Event('change'))"
        ));
    }

    /// Sends the answer, and waits for the gateway's.
    pub fn sends(&self) {
        self.browser.click("dialog .primary");
        self.sees("the reply", "document.querySelector('.toast.good')");
    }

    pub fn cancels(&self) {
        self.browser.click("dialog .plain");
        self.sees("no question", "!document.querySelector('dialog').open");
    }

    /// Clicks a square of the diagram.
    pub fn square(&self, name: &str) {
        self.browser.run(&format!(
            "const board = document.querySelector('.game .board'), file = 'abcdefgh'.indexOf('{name}'[0]), row = 8 - Number('{name}'[1]);
             board.scrollIntoView({{ block: 'center' }});
             const at = new DOMPoint(file * 45 + 22, row * 45 + 22).matrixTransform(board.getScreenCTM());
             document.elementFromPoint(at.x, at.y).dispatchEvent(new MouseEvent('click', {{ bubbles: true, clientX: at.x, clientY: at.y }}))"
        ));
    }

    /// Chooses a legal half-move from the list of the editor.
    pub fn choose(&self, san: &str) {
        self.sees(
            &format!("{san} offered"),
            &format!("[...document.querySelectorAll('.editor select option')].some((one) => one.textContent === '{san}')"),
        );
        self.browser.run(&format!(
            "const list = document.querySelector('.editor select');
             list.value = [...list.options].find((one) => one.textContent === '{san}').value"
        ));
        self.browser.click(".editor [data-act=put]");
    }

    pub fn enters(&self) {
        self.browser
            .run("document.getElementById('toasts').replaceChildren()");
        self.browser.click(".editor [data-send]");
    }

    /// Enters what was played in the editor; the first game has these half-moves then, and the page lists `named` among them.
    pub fn entered(&self, moves: &str, named: &str) {
        self.enters();
        self.sees(
            "that it is done",
            "document.querySelector('.toast.good') && !document.querySelector('.editor select')",
        );
        self.recorded("1", 1, moves);
        self.sees(
            named,
            &format!("[...document.querySelectorAll('.moves .half')].some((half) => half.textContent.startsWith('{named}'))"),
        );
    }

    pub fn no_barriers(&self) {
        let Some(checker) = checker() else { return };
        for theme in ["dark", "light"] {
            self.browser
                .run(&format!("document.documentElement.dataset.theme = '{theme}'"));
            let serious = self.browser.barriers(&checker);
            assert!(serious.is_empty(), "{theme}: {serious:#?}");
        }
    }

    /// Goes on by the key Tab until something has the focus.
    pub fn tab_to(&self, selector: &str) {
        let has_it = format!("return Boolean(document.activeElement?.matches('{selector}'))");
        let deadline = Instant::now() + PATIENCE;
        while self.browser.run(&has_it) != true {
            assert!(Instant::now() < deadline, "no key leads to {selector}");
            self.browser.press(TAB);
        }
    }

    /// Goes to a button by keys, and presses it.
    pub fn presses(&self, selector: &str) {
        self.tab_to(selector);
        self.browser.press(ENTER);
    }

    /// Chooses in the list that has the focus, by the arrow, until `is_it` holds of the chosen `option`.
    pub fn arrows_to(&self, is_it: &str) {
        let chosen = format!(
            "const option = document.activeElement.selectedOptions?.[0]; return Boolean(option && {is_it})"
        );
        let deadline = Instant::now() + PATIENCE;
        while self.browser.run(&chosen) != true {
            assert!(Instant::now() < deadline, "no arrow leads to {is_it}");
            self.browser.press(DOWN);
        }
    }

    /// A picture, where pictures are wanted: `scripts/screenshots.sh`.
    pub fn picture(&self, name: &str) {
        if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
            self.browser.picture(&PathBuf::from(folder).join(name));
        }
    }
}
