//! Names that two have: of two gateways of one name at one broker one publishes, the other says so and waits; of two boards
//! of one serial number neither gets the other's game.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    capture::Capture,
    link::file::read_capture,
    sim::{
        board::SimulatedIdentity,
        player::{Pace, PlayedBoard},
        port::Socket,
        serve::{Serving, Station},
    },
};
use fastrand::Rng;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber, free_port},
    hall::{Daemon, Seat, Simulator, as_published, configure, fixture, journal, playing, replay},
    numbered::numbered,
    offences::FROM_THE_ARRAY,
    page::Server,
    proxy::{Fault, Proxy},
    replayed::{Played, taped},
    retold::{Retold, Tally},
    seed::in_rounds,
    wiring::{Restless, Wiring},
};

/// By then a game is over, or something of it is not told.
const OVER: Duration = Duration::from_secs(45);
/// How many rounds at a time: mostly they wait.
const AT_ONCE: usize = 4;
/// The board of each gateway on which a game is played. Of the game of the one gateway the other tells nothing.
const GAME: &str = "1";

/// A gateway in a folder of its own.
struct Gateway {
    config: PathBuf,
    boards: Restless,
    /// Who plays a game, and what `replay` tells of it.
    game: Option<(Simulator, Vec<Value>)>,
    child: Option<Child>,
}

impl Gateway {
    fn prepare(folder: &Path, broker: u16) -> Self {
        Self::wired(folder, broker, Wiring::Alone)
    }

    fn wired(folder: &Path, broker: u16, wiring: Wiring) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let boards = wiring.restless(folder);
        let text = format!(
            "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\n[journal]\npath = \"{}\"\n{}",
            folder.join("journal.sqlite").display(),
            boards.tables
        );
        let config = folder.join("dgt2mqtt.toml");
        std::fs::write(&config, text).unwrap();
        Self {
            config,
            boards,
            game: None,
            child: None,
        }
    }

    fn start(&mut self) {
        let log = self.log();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
            .args(["run", "--config"])
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
    }

    /// Has one board more, on which a fixture is played.
    fn with_game(mut self, name: &str, wiring: Wiring) -> Self {
        let path = fixture(name);
        let simulator = Simulator::start(wiring.options(), std::slice::from_ref(&path));
        let mut config = std::fs::read_to_string(&self.config).unwrap();
        config += &format!("[[board]]\nid = \"{GAME}\"\nport = \"{}\"\n", simulator.ports[0]);
        std::fs::write(&self.config, config).unwrap();
        self.game = Some((simulator, replay(&path, GAME)));
        self
    }

    /// All its boards.
    fn ids(&self) -> impl Iterator<Item = &str> {
        let game = self.game.as_ref().map(|_| GAME);
        self.boards.ids.iter().map(String::as_str).chain(game)
    }

    /// What it has told of its game.
    fn retold(&self) -> Retold {
        let (_, meant) = self.game.as_ref().unwrap();
        Retold::new(&journal(&self.config, GAME), meant)
    }

    /// Waits for the end of its game, if that is told, and until all that it has on disk is published under the numbers that it has
    /// there.
    async fn tells_all(&self, subscriber: &Subscriber) {
        let (deadline, over) = (Instant::now() + PATIENCE, Instant::now() + OVER);
        loop {
            let heard = as_published(events(subscriber));
            let kept = self.ids().flat_map(|id| journal(&self.config, id)).collect();
            let missing = as_published(kept)
                .into_iter()
                .find(|event| !heard.contains(event));
            let retold = self.game.as_ref().map(|_| self.retold());
            let is_over = retold.as_ref().is_none_or(|told| told.is_over) || Instant::now() > over;
            if is_over && missing.is_none() {
                return;
            }
            assert!(Instant::now() < deadline, "{retold:?}; {missing:?} is missing");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn log(&self) -> PathBuf {
        self.config.with_file_name("daemon.log")
    }

    async fn says(&self, what: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = std::fs::read_to_string(self.log()).unwrap_or_default();
            if log.contains(what) {
                return;
            }
            assert!(Instant::now() < deadline, "{what:?} is not said:\n{log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What `check --connect` says of the broker, and whether all is well.
    fn check(&self) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
            .args(["check", "--connect", "--config"])
            .arg(&self.config)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.contains(" broker ")).unwrap();
        (output.status.success(), line.to_owned())
    }

    fn signal(&self, name: &str) {
        let child = self.child.as_ref().unwrap();
        let status = Command::new("kill")
            .args(["-s", name, &child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    }

    /// Ends it by a kill, or as a service manager does.
    fn end(&mut self, kill: bool) {
        if let Some(mut child) = self.child.take() {
            if kill {
                child.kill().unwrap();
            } else {
                let status = Command::new("kill").arg(child.id().to_string()).status();
                assert!(status.unwrap().success());
            }
            child.wait().unwrap();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.end(true);
        if std::thread::panicking() {
            println!("{}", std::fs::read_to_string(self.log()).unwrap_or_default());
        }
    }
}

fn events(subscriber: &Subscriber) -> Vec<Value> {
    let got = subscriber.all().into_iter();
    got.filter(|got| got.topic.contains("/event/"))
        .map(|got| got.json())
        .collect()
}

async fn more(subscriber: &Subscriber, count: usize, rng: &mut Rng) {
    let before = events(subscriber).len();
    subscriber
        .until("more events", || events(subscriber).len() >= before + count)
        .await;
    tokio::time::sleep(Duration::from_millis(rng.u64(0..700))).await;
}

fn status(subscriber: &Subscriber) -> String {
    let mut words = subscriber
        .all()
        .into_iter()
        .filter(|got| got.topic == "dgt2mqtt/gw/status");
    words.next_back().unwrap().text()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_gateways_of_one_name_one_publishes_and_the_other_takes_over() {
    Tally::of_rounds(AT_ONCE, |rng, tally| two_have_one_name(Wiring::Alone, rng, tally)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_with_two_gateways_that_have_a_line_of_many_boards_each() {
    Tally::of_rounds(AT_ONCE, |rng, tally| two_have_one_name(Wiring::Line, rng, tally)).await;
}

async fn two_have_one_name(wiring: Wiring, mut rng: Rng, tally: &Tally) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let mut gateway = |name| {
        let game = FROM_THE_ARRAY[rng.usize(..FROM_THE_ARRAY.len())];
        Gateway::wired(&folder.path().join(name), mosquitto.port, wiring).with_game(game, wiring)
    };
    let (mut first, mut second) = (gateway("first"), gateway("second"));
    first.start();
    more(&subscriber, 3, &mut rng).await;
    second.start();
    second.says("another gateway has our name").await;
    first.says("another gateway of our name").await;
    more(&subscriber, 4, &mut rng).await;
    assert_eq!(status(&subscriber), "online");
    // It leaves without a word of its own, or its will is set right.
    second.end(rng.bool());
    more(&subscriber, 2, &mut rng).await;
    subscriber
        .until("the right status", || status(&subscriber) == "online")
        .await;
    second.start();
    tokio::time::sleep(Duration::from_millis(rng.u64(0..5000))).await;
    first.end(rng.bool());
    more(&subscriber, 4, &mut rng).await;
    first.start();
    more(&subscriber, 4, &mut rng).await;
    second.end(rng.bool());
    more(&subscriber, 4, &mut rng).await;
    assert_eq!(status(&subscriber), "online");
    // What each has on disk was published, as soon as it has the name.
    first.tells_all(&subscriber).await;
    first.end(false);
    second.start();
    second.tells_all(&subscriber).await;
    second.end(false);
    let told = events(&subscriber);
    for id in first.ids() {
        numbered(&told, id).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    for gateway in [&first, &second] {
        // A game is over for the one when the other has told later ones.
        let kept = journal(&gateway.config, GAME);
        let is_taken_up = kept.iter().any(|event| event["code"] == "journal_behind");
        tally.take("two of one name", &gateway.retold(), is_taken_up);
    }
}

/// Nothing breaks: the holder's connection stands still, and goes on before the broker would give it up.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_stands_still_while_another_of_the_name_comes_gives_no_number_twice() {
    Tally::of_rounds(AT_ONCE, a_link_stands_still).await;
}

async fn a_link_stands_still(mut rng: Rng, tally: &Tally) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let proxy = Proxy::before(mosquitto.port, &[], Fault::None).await;
    let mut gateway = |name, port| {
        let game = FROM_THE_ARRAY[rng.usize(..FROM_THE_ARRAY.len())];
        Gateway::prepare(&folder.path().join(name), port).with_game(game, Wiring::Alone)
    };
    let mut first = gateway("first", proxy.url.port);
    let mut second = gateway("second", mosquitto.port);
    first.start();
    more(&subscriber, 3, &mut rng).await;
    proxy.stand_still(true);
    second.start();
    tokio::time::sleep(Duration::from_millis(rng.u64(3000..7000))).await;
    proxy.stand_still(false);
    second.says("another gateway has our name").await;
    first.says("another gateway of our name").await;
    more(&subscriber, 4, &mut rng).await;
    let infos = subscriber
        .all()
        .into_iter()
        .filter(|got| got.topic == "dgt2mqtt/gw/info");
    let boots: BTreeSet<_> = infos.map(|got| got.json()["boot_id"].to_string()).collect();
    assert_eq!(boots.len(), 1, "both had the name");
    first.tells_all(&subscriber).await;
    first.end(false);
    second.tells_all(&subscriber).await;
    second.end(false);
    let told = events(&subscriber);
    for id in first.ids() {
        numbered(&told, id).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    for gateway in [&first, &second] {
        let kept = journal(&gateway.config, GAME);
        let is_taken_up = kept.iter().any(|event| event["code"] == "journal_behind");
        tally.take("a link that stands still", &gateway.retold(), is_taken_up);
    }
}

/// A machine sleeps, and the other gateway takes the name when the broker has noticed, or would have.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_slept_while_another_took_its_name_asks_before_it_sends() {
    in_rounds(|rng| async move {
        tokio::join!(one_sleeps(rng.clone(), false), one_sleeps(rng, true));
    })
    .await;
}

async fn one_sleeps(mut rng: Rng, is_other_gone: bool) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let [mut first, mut second] =
        ["first", "second"].map(|name| Gateway::prepare(&folder.path().join(name), mosquitto.port));
    for gateway in [&first, &second] {
        let config = std::fs::read_to_string(&gateway.config).unwrap();
        let config = config.replace("[broker]\n", "[broker]\nkeep_alive = 5\n");
        std::fs::write(&gateway.config, config).unwrap();
    }
    first.start();
    more(&subscriber, 3, &mut rng).await;
    first.signal("STOP");
    second.start();
    more(&subscriber, 3, &mut rng).await;
    // One that is killed before it has named its jump leaves that to nobody.
    for id in first.ids() {
        let place = format!("/board/{id}/event/notice");
        let names_it = |got: &Got| got.topic.ends_with(&place) && got.json()["code"] == "journal_behind";
        subscriber.wait("the jump", names_it).await;
    }
    if is_other_gone {
        second.end(rng.bool());
    }
    first.signal("CONT");
    if !is_other_gone {
        first.says("another gateway has our name").await;
        more(&subscriber, 2, &mut rng).await;
        second.end(false);
    }
    first.tells_all(&subscriber).await;
    first.end(false);
    let told = events(&subscriber);
    for id in first.ids() {
        numbered(&told, id).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// What the page is told of gateways, until it fits.
fn page_says(port: u16, fits: impl Fn(&str) -> bool) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.find(|line| fits(line)).expect("the page's stream goes on")
}

#[tokio::test(flavor = "multi_thread")]
async fn check_and_the_page_know_that_two_have_one_name() {
    in_rounds(it_is_known_that_two_have_one_name).await;
}

async fn it_is_known_that_two_have_one_name(mut random: Rng) {
    let game = Played::by_chance(&mut random);
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let mut first = Gateway::prepare(&folder.path().join("first"), mosquitto.port);
    let mut second = Gateway::prepare(&folder.path().join("second"), mosquitto.port);
    // The first has a board at which people play.
    let (_simulator, config) = playing(&folder.path().join("first"), mosquitto.port, "7", &game.path, &[]);
    assert_eq!(config, first.config);
    taped(&config);
    let (is_well, said) = second.check();
    assert!(is_well && said.ends_with("the broker lets us in"), "{said}");
    first.start();
    let info = subscriber
        .wait("info", |got| got.topic == "dgt2mqtt/gw/info")
        .await
        .json();
    subscriber
        .wait("a game", |got| got.topic == "dgt2mqtt/gw/board/7/game")
        .await;
    let page = Server::start(mosquitto.port, free_port(), &[]);
    page_says(page.port, |line| line.contains("\"rival\":null"));
    game.some_instant(&subscriber, "7", &mut random).await;
    let (_, said) = first.check();
    assert!(
        said.starts_with("ok") && said.contains("the daemon of this configuration is online"),
        "{said}"
    );
    let (is_well, said) = second.check();
    assert!(!is_well && said.starts_with("FAILED"), "{said}");
    let host = info["host"].as_str().unwrap();
    for word in [
        host,
        info["boot_id"].as_str().unwrap(),
        "give this one another `name`",
    ] {
        assert!(said.contains(word), "{word:?} is missing in {said}");
    }
    assert_eq!(status(&subscriber), "online", "nobody noticed");

    tokio::time::sleep(Duration::from_millis(random.u64(0..3000))).await;
    second.start();
    let rival = format!("\"rival\":\"{host}\"");
    page_says(page.port, |line| line.contains(&rival));
    // Its own daemon stands by: the one that is online is not that.
    let (is_well, said) = second.check();
    assert!(
        !is_well && said.contains("another gateway named \"gw\""),
        "{said}"
    );
    second.end(random.bool());
    game.is_over(&subscriber, "7").await;
    first.end(false);
    game.is_whole(&first.config, &subscriber, "7").await;
}

/// Boards on terminals that all say the same number, and where they are.
async fn twins<const N: usize>(boards: &mut JoinSet<()>, captures: [Capture; N]) -> [String; N] {
    let mut ports = [const { String::new() }; N];
    for (port, capture) in ports.iter_mut().zip(captures) {
        let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(7), Pace::default());
        let serving = Serving {
            slow_line: false,
            linger: None,
        };
        let station = Station::new(player, Socket::Pty(None), serving).await.unwrap();
        *port = station.name();
        boards.spawn(async { station.run().await.unwrap() });
    }
    ports
}

/// The second comes in the middle of the first one's game.
#[tokio::test(flavor = "multi_thread")]
async fn games_on_two_boards_of_one_serial_number_are_not_mixed() {
    in_rounds(two_boards_of_one_number_play).await;
}

async fn two_boards_of_one_number_play(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let games = [(); 2].map(|()| Played::by_chance(&mut random));
    let captures = games.each_ref().map(|game| read_capture(&game.path).unwrap());
    let mut boards = JoinSet::new();
    let ports = twins(&mut boards, captures.clone()).await;
    let seat = |n: usize| Seat {
        id: (n + 1).to_string(),
        port: &ports[n],
        capture: &captures[n],
    };
    let config = configure(folder.path(), mosquitto.port, &[seat(0)]);
    taped(&config);
    let daemon = Daemon::start(&config);
    games[0].some_instant(&subscriber, "1", &mut random).await;
    configure(folder.path(), mosquitto.port, &[seat(0), seat(1)]);
    taped(&config);
    daemon.signal("HUP");
    subscriber
        .wait("the notice in health", |got| {
            got.topic.ends_with("/gw/health") && got.text().contains("serial_doubled")
        })
        .await;
    for (board, game) in ["1", "2"].into_iter().zip(&games) {
        game.is_over(&subscriber, board).await;
    }
    assert!(daemon.stop());
    for (board, game) in ["1", "2"].into_iter().zip(&games) {
        game.is_whole(&config, &subscriber, board).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_boards_of_one_serial_number_are_told_and_not_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let mut boards = JoinSet::new();
    let idle = Capture::parse(b"# dgtcap 1\n0.1 < 8e 00 05 34 00\n").unwrap();
    let [first, second] = twins(&mut boards, [idle.clone(), idle]).await;
    let mut gateway = Gateway::prepare(&folder.path().join("gateway"), mosquitto.port);
    let text = std::fs::read_to_string(&gateway.config).unwrap();
    let (text, _) = text.split_once("[[board]]").unwrap();
    let board = |id: u8, port: &str| format!("[[board]]\nid = \"{id}\"\nport = \"{port}\"\n");
    let configure = |boards: &str| std::fs::write(&gateway.config, format!("{text}{boards}")).unwrap();
    let check = || {
        let program = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
            .args(["check", "--connect", "--config"])
            .arg(&gateway.config)
            .output();
        String::from_utf8(program.unwrap().stdout).unwrap()
    };
    // Looked for by the number neither is taken.
    configure(&board(1, &format!("board:90007@{first},{second}")));
    let said = check();
    assert!(
        said.contains("FAILED board 1") && said.contains("neither is taken"),
        "{said}"
    );
    // Each by its port, both are.
    configure(&(board(1, &first) + &board(2, &second)));
    let said = check();
    assert!(
        said.contains("ok     board 2") && said.contains("Board 1 says the same number"),
        "{said}"
    );
    gateway.start();
    subscriber
        .wait("the notice in health", |got| {
            got.topic.ends_with("/gw/health") && got.text().contains("serial_doubled")
        })
        .await;
    for (id, port) in [("1", first), ("2", second)] {
        let topic = format!("dgt2mqtt/gw/board/{id}/event/board_connected");
        let event = subscriber.wait(&topic, |got| got.topic == topic).await.json();
        assert_eq!(
            (&event["serial"], &event["port"]),
            (&"90007".into(), &port.into())
        );
    }
    gateway
        .says("boards 1 and 2 say the same serial number 90007")
        .await;
    let log = std::fs::read_to_string(gateway.log()).unwrap();
    assert_eq!(log.matches("say the same serial number").count(), 1, "{log}");
    gateway.end(false);
}
