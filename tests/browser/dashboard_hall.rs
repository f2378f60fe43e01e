//! What the page says of everything around the boards: gateways that are away, several brokers, the
//! broadcast.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use dgt2mqtt::link::file::read_capture;
use serde_json::{Value, json};

use crate::{
    broker::{self, Mosquitto, Subscriber, free_port},
    browser::{Browser, checker},
    hall::{self, Daemon, Seat, Simulator, configure, fixture, journal, program, save, shortened, vienna},
    lichess::{GOOD, server},
    page::{Server, http},
};

const TOKEN: &str = "lip_not-for-everybody";

/// A game that stands still after an illegal move. What is played on while nobody hears it may put the move right, or hide it.
fn overlooked(folder: &Path) -> PathBuf {
    let path = fixture("famous-gevorgyan-cornette-2019-2023");
    save(folder, "overlooked", &shortened(&path, 60_000, 20_500, 1))
}

/// Boards and the configuration of their gateway, beside the simulator that they live in.
fn boards(folder: &Path, broker: u16, captures: &[PathBuf]) -> (Simulator, PathBuf) {
    let simulator = Simulator::start(&["--speed", "3"], captures);
    let read: Vec<_> = captures.iter().map(|path| read_capture(path).unwrap()).collect();
    let seats = (1..).zip(simulator.ports.iter().zip(&read));
    let seats: Vec<_> = seats
        .map(|(number, (port, capture))| Seat {
            id: number.to_string(),
            port,
            capture,
        })
        .collect();
    let config = configure(folder, broker, &seats);
    (simulator, config)
}

fn change(config: &Path, change: impl Fn(String) -> String) {
    let text = fs::read_to_string(config).unwrap();
    fs::write(config, change(text)).unwrap();
}

fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    hall::until(what, broker::PATIENCE, look)
}

/// The JSON of a path of the page's server.
fn get(server: &Server, path: &str) -> Option<Value> {
    let (status, body) = http(server.port, "GET", path, "", &Value::Null);
    (status == 200).then(|| serde_json::from_str(&body).unwrap())
}

/// A picture, where pictures are wanted: `scripts/screenshots.sh`.
fn picture(browser: &Browser, name: &str) {
    if let Some(folder) = std::env::var_os("DGT2MQTT_SHOTS") {
        browser.picture(&PathBuf::from(folder).join(name));
    }
}

/// Nothing that is shown here is hard for anybody, light or dark.
fn no_barriers(browser: &Browser) {
    let Some(checker) = checker() else { return };
    for theme in ["dark", "light"] {
        browser.run(&format!("document.documentElement.dataset.theme = '{theme}'"));
        let serious = browser.barriers(&checker);
        assert!(serious.is_empty(), "{theme}: {serious:#?}");
    }
}

fn lichess_table(port: u16) -> String {
    format!(
        "lichess = {{ round = \"a1B2c3D4\", token_file = \"lichess-token\", server = \"http://127.0.0.1:{port}\" }}\n"
    )
}

/// The gateway's health on the broker, when lichess has taken games.
fn health(broker: u16) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let subscriber = Subscriber::new(broker, "dgt2mqtt/gw/health").await;
        let got = subscriber
            .wait("lichess in health", |got| {
                got.json()["lichess"]["taken"].is_string()
            })
            .await;
        got.json()
    })
}

#[test]
fn what_lichess_says_is_in_health_and_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    // It takes the first game and not the second.
    let (port, _got) = server(vec![GOOD], None);
    let (_simulator, config) = boards(folder.path(), broker.port, &[vienna(), fixture("castling-long")]);
    fs::write(folder.path().join("lichess-token"), TOKEN).unwrap();
    fs::write(
        folder.path().join("pairings.csv"),
        "board,white,black\n1,\"Reti, R\",\"Tartakower, S\"\n2,\"Menchik, V\",\"Thomas, G\"\n",
    )
    .unwrap();
    change(&config, |text| {
        text + "[limits]\nhealth_interval_s = 5\n[broadcast]\nfolder = \"open\"\npairings = \"pairings.csv\"\n"
            + &lichess_table(port)
    });
    let _daemon = Daemon::start(&config);

    let health = health(broker.port);
    let lichess = &health["lichess"];
    assert_eq!(
        (&lichess["round"], &lichess["error"]),
        (&json!("a1B2c3D4"), &Value::Null)
    );
    assert_eq!(
        lichess["games"],
        json!([
            { "board": "gw/1", "game": 1, "moves": 1, "error": null },
            { "board": "gw/2", "game": 2, "moves": null, "error": "illegal" },
        ])
    );
    let page = Server::start(broker.port, free_port(), &[]);
    let of = |board: &str| {
        until("what lichess says", || {
            let detail = get(&page, &format!("/api/board/gw/{board}"))?;
            (!detail["lichess"].is_null()).then_some(detail)
        })
    };
    assert_eq!(of("1")["lichess"]["moves"], 1);
    assert_eq!(of("2")["lichess"]["error"], "illegal");
    let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    assert!(log.contains("does not take game 2: illegal"), "{log}");
    for text in [log, health.to_string(), of("1").to_string()] {
        assert!(!text.contains(TOKEN), "{text}");
    }

    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    browser.resize(1280, 900);
    browser.open(&page.url(""));
    browser.until(
        "the push",
        "return /a1B2c3D4.*games taken: 1.*Not taken: board 2/.test(document.querySelector('.casts')?.textContent)",
    );
    picture(&browser, "broadcast.png");
    no_barriers(&browser);
    assert_eq!(
        of("2")["players"],
        json!(["Menchik, V", "Thomas, G"]),
        "by the pairings"
    );
    let marked = "return [...document.querySelectorAll('.card')].filter((card) => !card.querySelector('.cast').hidden).map((card) => card.hash)";
    assert_eq!(browser.run(marked), json!(["#/board/gw/2"]));
    browser.open(&page.url("#/board/gw/1"));
    browser.until(
        "its own answer",
        "return /lichess took it at \\d+:\\d+:\\d+, moves: 1\\./.test(document.querySelector('aside')?.textContent)",
    );
    browser.open(&page.url("#/board/gw/2"));
    browser.until(
        "its own answer",
        "return /does not take it: illegal.*game-2\\.pgn/.test(document.querySelector('aside')?.textContent)",
    );
    picture(&browser, "broadcast-board.png");
    no_barriers(&browser);
    browser.click(".tongue");
    browser.until(
        "Russian",
        "return /Трансляция/.test(document.querySelector('aside')?.textContent)",
    );
}

#[test]
fn the_page_tells_of_a_broadcast_of_its_own_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    let (port, _got) = server(vec![refusal], None);
    fs::write(folder.path().join("lichess-token"), TOKEN).unwrap();
    fs::write(
        folder.path().join("pairings.csv"),
        "board,white,black\n1,\"Reti, R\",\"Tartakower, S\"\n",
    )
    .unwrap();
    let config = folder.path().join("collector.toml");
    let text = "[broadcast]\nfolder = \"open\"\npairings = \"pairings.csv\"\nboards = [\"gw/1\"]\n";
    fs::write(&config, text.to_owned() + &lichess_table(port)).unwrap();
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let page = Server::start(1, free_port(), &["--config", config.to_str().unwrap()]);
    browser.open(&page.url(""));
    browser.until(
        "the trouble",
        "return /nothing is taken: .*401.*`token_file`/.test(document.querySelector('.casts.bad')?.textContent)",
    );
    browser.click(".tongue");
    browser.until(
        "the same in Russian",
        "return /ничего не принято: \\S+ отвечает 401.*ключ недействителен/.test(document.querySelector('.casts.bad')?.textContent)",
    );
    browser.click(".tongue");
    // It says at which round it is.
    browser.click(".rounds-button");
    let own = browser.until(
        "whose round it is",
        "return document.querySelector('.rounds .own:not([hidden])')?.textContent",
    );
    assert!(own.as_str().unwrap().contains("is at round 1,"), "{own}");
    fs::write(&config, text.to_owned() + "round = 2\n").unwrap();
    let pid = page.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-HUP", &pid])
            .status()
            .unwrap()
            .success()
    );
    browser.until(
        "the next round",
        "return document.querySelector('.rounds .own').textContent.includes('is at round 2,')",
    );
    fs::write(&config, "").unwrap();
    assert!(
        Command::new("kill")
            .args(["-HUP", &pid])
            .status()
            .unwrap()
            .success()
    );
    browser.until(
        "no broadcast",
        "return document.querySelector('.rounds .own').hidden",
    );
}

/// What is retained is shown, and what is not known is not passed over.
#[test]
fn a_page_that_is_opened_while_the_gateway_is_away_says_so_and_asks_later() {
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = boards(folder.path(), broker.port, &[overlooked(folder.path())]);
    let daemon = Daemon::start(&config);
    let page = Server::start(broker.port, free_port(), &[]);
    until("an irregularity", || {
        let detail = get(&page, "/api/board/gw/1")?;
        (detail["open"].as_array()?.len() == 1 && detail["plies"].as_u64()? > 4).then_some(())
    });
    drop(page);
    daemon.kill();

    let page = Server::start(broker.port, free_port(), &[]);
    browser.resize(1280, 900);
    browser.open(&page.url("#/board/gw/1"));
    browser.until(
        "the moves",
        "return document.querySelectorAll('.moves li').length > 2",
    );
    browser.until(
        "what is not known",
        "return /The gateway is away/.test(document.querySelector('.past .unknown')?.textContent)",
    );
    browser.until(
        "an open irregularity",
        "return /known when the gateway is back/.test(document.querySelector('.case')?.textContent)",
    );
    picture(&browser, "gateway-away.png");
    no_barriers(&browser);
    browser.open(&page.url("#/history"));
    browser.until(
        "what is not known",
        "return document.querySelector('.history .unknown')",
    );

    let _daemon = Daemon::start(&config);
    browser.until(
        "the history",
        "return document.querySelector('.history tbody tr')",
    );
    browser.until(
        "that it is all",
        "return !document.querySelector('.history .unknown')",
    );
    browser.open(&page.url("#/board/gw/1"));
    browser.until(
        "the details",
        "return /^Illegal move/.test(document.querySelector('.case h2')?.textContent)",
    );
    browser.until(
        "that it is all",
        "return !document.querySelector('.past .unknown')",
    );
    assert!(!journal(&config, "1").is_empty());
}

/// A gateway that takes no commands cannot be asked: the page says that, too.
#[test]
fn a_gateway_that_takes_no_commands_tells_no_past() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = boards(folder.path(), broker.port, &[vienna()]);
    change(&config, |text| {
        text.replace("commands = true", "commands = false")
    });
    let _daemon = Daemon::start(&config);
    // A journal that is only being made cannot be read yet.
    until("some moves", || {
        let read = program()
            .args(["journal", "--config"])
            .arg(&config)
            .output()
            .unwrap();
        let count = String::from_utf8_lossy(&read.stdout).lines().count();
        (read.status.success() && count > 5).then_some(())
    });
    let page = Server::start(broker.port, free_port(), &[]);
    let past = || Some(get(&page, "/api/board/gw/1")?["past"].as_str()?.to_owned());
    until("a question", || (past()? == "asked").then_some(()));
    // Three questions are asked, twenty seconds apart.
    hall::until("the end of asking", Duration::from_secs(200), || {
        (past()? == "untold").then_some(())
    });
}

#[test]
fn one_page_shows_the_gateways_of_several_brokers() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut brokers: Vec<_> = folders
        .iter()
        .map(|folder| Mosquitto::start(folder.path(), ""))
        .collect();
    let mut halls = Vec::new();
    for (i, folder) in folders.iter().enumerate() {
        let (simulator, config) = boards(folder.path(), brokers[i].port, &[vienna()]);
        change(&config, |text| {
            text.replace("name = \"gw\"", &format!("name = \"hall-{i}\""))
        });
        halls.push((simulator, Daemon::start(&config), config));
    }
    let second = format!("mqtt://127.0.0.1:{}", brokers[1].port);
    let page = Server::start(brokers[0].port, free_port(), &["--broker", &second]);
    for hall in ["hall-0", "hall-1"] {
        until(hall, || {
            let detail = get(&page, &format!("/api/board/{hall}/1"))?;
            (detail["plies"].as_u64()? > 0 && detail["past"] == "told").then_some(())
        });
    }
    let resync = |hall: &str| {
        let command = json!({ "gateway": hall, "board": "1", "verb": "resync" });
        http(page.port, "POST", "/api/command", "", &command)
    };
    for hall in ["hall-0", "hall-1"] {
        let (status, said) = resync(hall);
        assert!(status == 200 && said.contains("\"ok\":true"), "{hall}: {said}");
    }
    // A gateway goes over to the other broker: what it says and hears there is what counts.
    let (_simulator, daemon, config) = halls.remove(0);
    assert!(daemon.stop());
    until("that it is away", || {
        let detail = get(&page, "/api/board/hall-0/1")?;
        (detail["online"] == false).then_some(())
    });
    let [first, other] = [brokers[0].port, brokers[1].port].map(|port| format!("127.0.0.1:{port}"));
    change(&config, |text| text.replace(&first, &other));
    let daemon = Daemon::start(&config);
    until("that it is back", || {
        let detail = get(&page, "/api/board/hall-0/1")?;
        (detail["online"] == true && resync("hall-0").0 == 200).then_some(())
    });
    assert!(daemon.stop());
    change(&config, |text| text.replace(&other, &first));
    let _daemon = Daemon::start(&config);
    until("that it is where it was", || {
        let detail = get(&page, "/api/board/hall-0/1")?;
        (detail["online"] == true && resync("hall-0").0 == 200).then_some(())
    });

    brokers[1].stop();
    until("no broker for the second hall", || {
        (resync("hall-1").0 == 504).then_some(())
    });
    assert_eq!(resync("hall-0").0, 200);
    let Some(browser) = Browser::start(&json!({})) else {
        return;
    };
    browser.open(&page.url(""));
    browser.until(
        "two boards",
        "return document.querySelectorAll('.card').length === 2",
    );
    let away = format!("return document.getElementById('outage').textContent.includes('{second}')");
    browser.until("which one is away", &away);
    browser.run("location.hash = '#/board/hall-0/1'");
    browser.until(
        "its name",
        "return document.querySelector('h1')?.textContent === 'Board 1 · hall-0'",
    );
}

/// A computer hangs, another one takes its place at another broker; the first broker notices when nothing has come for
/// long enough.
#[test]
fn a_gateway_is_found_at_another_broker_though_the_first_thinks_it_there() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = folders
        .each_ref()
        .map(|folder| Mosquitto::start(folder.path(), ""));
    let (_simulator, config) = boards(folders[0].path(), first.port, &[vienna()]);
    let other = format!("mqtt://127.0.0.1:{}", second.port);
    let page = Server::start(first.port, free_port(), &["--broker", &other]);
    let hangs = Daemon::start(&config);
    until("that it is there", || {
        let detail = get(&page, "/api/board/gw/1")?;
        (detail["online"] == true).then_some(())
    });
    let stopped = Command::new("kill")
        .args(["-STOP", &hangs.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    let text = fs::read_to_string(&config).unwrap();
    let moved = folders[1].path().join("dgt2mqtt.toml");
    fs::write(
        &moved,
        text.replace(&format!("mqtt://127.0.0.1:{}", first.port), &other),
    )
    .unwrap();
    let _moved = Daemon::start(&moved);
    until("that it answers", || {
        let command = json!({ "gateway": "gw", "board": "1", "verb": "resync" });
        (http(page.port, "POST", "/api/command", "", &command).0 == 200).then_some(())
    });
}

/// The addresses of one broker are tried in turn.
#[test]
fn a_broker_with_several_addresses_is_found_at_the_one_that_answers() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let (_simulator, config) = boards(folder.path(), broker.port, &[vienna()]);
    let _daemon = Daemon::start(&config);
    change(&config, |text| {
        text.replace("urls = [", "urls = [\"mqtt://127.0.0.1:1\", ")
    });
    let port = free_port();
    let child = program()
        .args(["dashboard", "--listen", &format!("127.0.0.1:{port}"), "--config"])
        .arg(&config)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let page = Server { child, port };
    until("the page", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    until("its board", || {
        let detail = get(&page, "/api/board/gw/1")?;
        (detail["online"] == true).then_some(())
    });
}
