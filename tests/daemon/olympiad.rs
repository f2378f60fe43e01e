//! An Olympiad: groups with a gateway each, all of one configuration file, played round by round to folders and to
//! broadcasts on a server with the limits of lichess.
//!
//! `DGT2MQTT_FULL=1`: four groups of 250 boards, two rounds.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::{Daemon, Simulator},
    reader::half_moves,
    relay::Relay,
};

/// Games that end in mate, so that nobody need say how.
const GAMES: [&str; 4] = [
    "1. f3 e5 2. g4 Qh4# 0-1",
    "1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0",
    "1. e4 e5 2. Nf3 d6 3. Bc4 Bg4 4. Nc3 g6 5. Nxe5 Bxd1 6. Bxf7+ Ke7 7. Nd5# 1-0",
    "1. e4 c6 2. d4 d5 3. Nc3 dxe4 4. Nxe4 Nd7 5. Qe2 Ngf6 6. Nd6# 1-0",
];
const TOKEN: &str = "lip_olympiad";
const BROADCASTS: [&str; 4] = ["Group001", "Group002", "Group003", "Group004"];
/// How far the public is behind.
const DELAY: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 2;

/// The game of a board in a round, with its result.
fn game(board: usize, round: u32) -> (&'static str, &'static str) {
    GAMES[(board + round as usize) % GAMES.len()]
        .rsplit_once(' ')
        .unwrap()
}

struct Olympiad {
    groups: usize,
    boards: usize,
    speed: &'static str,
    folder: tempfile::TempDir,
    broker: Mosquitto,
    subscriber: Subscriber,
    relay: Relay,
    daemons: Vec<Daemon>,
    players: Vec<Simulator>,
}

impl Olympiad {
    async fn open(groups: usize, boards: usize, speed: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "set_tcp_nodelay true\n");
        let subscriber = Subscriber::new(broker.port, "dgt2mqtt/+/board/+/event/+").await;
        let relay = Relay::start(TOKEN, &BROADCASTS[..groups]);
        fs::write(folder.path().join("token"), TOKEN).unwrap();
        let hall = Self {
            groups,
            boards,
            speed,
            folder,
            broker,
            subscriber,
            relay,
            daemons: Vec::new(),
            players: Vec::new(),
        };
        hall.configure();
        hall
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("hall.toml")
    }

    /// Writes the hall's one file, and the pairings of all rounds.
    fn configure(&self) {
        let mut text = format!(
            "[gateway]\ncommands = true\n[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[event]\ntime_control = \"rapid\"\n[broadcast]\nrounds = {ROUNDS}\ndelay_seconds = {}\nfolder = \"unused\"\n",
            self.broker.port,
            DELAY.as_secs()
        );
        for group in 1..=self.groups {
            text += &format!(
                "[gateways.group-{group}]\n[gateways.group-{group}.journal]\npath = \"group-{group}.sqlite\"\n[gateways.group-{group}.broadcast]\nfolder = \"open-{group}\"\nname = \"Group {group}\"\npairings = \"pairings-{group}.csv\"\nlichess = {{ broadcast = \"{}\", token_file = \"token\", server = \"http://127.0.0.1:{}\" }}\n",
                BROADCASTS[group - 1],
                self.relay.port
            );
            for board in 1..=self.boards {
                let port = self.port(group, board);
                text += &format!(
                    "[[gateways.group-{group}.board]]\nid = \"{board}\"\nport = \"{}\"\n",
                    port.display()
                );
            }
            fs::write(self.path(&format!("pairings-{group}.csv")), self.pairings(group)).unwrap();
        }
        fs::write(self.config(), text).unwrap();
    }

    fn pairings(&self, group: usize) -> String {
        let mut text = String::from("round,board,white,white_team,black,black_team\n");
        for round in 1..=ROUNDS {
            for board in 1..=self.boards {
                let matched = board.div_ceil(4);
                text += &format!(
                    "{round},{board},W{group}-{board}-{round},Home {matched},B{group}-{board}-{round},Guests {matched}\n"
                );
            }
        }
        text
    }

    /// The one word of the operator, as the button of the page says it to all gateways.
    async fn begin(&self, round: u32) {
        let answers = Subscriber::new(self.broker.port, "dgt2mqtt/+/reply/next_round").await;
        for group in 1..=self.groups {
            let word = json!({ "ref": format!("begin-{round}"), "begin": round }).to_string();
            let topic = format!("dgt2mqtt/group-{group}/cmd/next_round");
            answers.publish(&topic, false, word, None).await;
        }
        for group in 1..=self.groups {
            let topic = format!("dgt2mqtt/group-{group}/reply/next_round");
            let answer = answers
                .wait("the next round", |got| got.topic == topic)
                .await
                .json();
            assert_eq!(answer["state"]["begun"], true, "{answer}");
        }
    }

    /// The stable name of a board's port.
    fn port(&self, group: usize, board: usize) -> PathBuf {
        match board {
            1 => self.path(&format!("line-{group}")),
            _ => self.path(&format!("line-{group}-{board}")),
        }
    }

    /// People sit down and play.
    fn play(&mut self, round: u32) {
        self.players.clear();
        for group in 1..=self.groups {
            let turned: Vec<&str> = (1..=GAMES.len())
                .map(|board| GAMES[(board + round as usize) % GAMES.len()])
                .collect();
            let file = self.path(&format!("games-{group}-{round}.pgn"));
            fs::write(&file, turned.join("\n\n")).unwrap();
            let link = self.path(&format!("line-{group}"));
            let options = [
                "--games",
                file.to_str().unwrap(),
                "--link",
                link.to_str().unwrap(),
                "--speed",
                self.speed,
            ];
            self.players.push(Simulator::made_up(&options, self.boards));
        }
    }

    /// The file of a board's game.
    fn public(&self, group: usize, board: usize, round: u32) -> String {
        let file = format!("open-{group}/round-{round}/game-{board}.pgn");
        fs::read_to_string(self.path(&file)).unwrap_or_default()
    }

    /// When each half-move of a round was told, in milliseconds of the day, by group and board.
    fn told(&self, seen: &mut Told) {
        for got in self.subscriber.all().drain(seen.taken..) {
            seen.taken += 1;
            if got.topic.ends_with("/event/move") {
                let event = got.json();
                let key = (
                    event["id"]
                        .as_str()
                        .unwrap()
                        .rsplit_once('/')
                        .unwrap()
                        .0
                        .to_owned(),
                    event["game"].as_u64().unwrap(),
                );
                let time: jiff::Timestamp = event["time"].as_str().unwrap().parse().unwrap();
                seen.moves.entry(key).or_default().push(time.as_millisecond());
            }
        }
    }

    /// Asserts that neither a file nor a round on the server shows what is younger than the delay.
    fn holds_back(&self, round: u32, seen: &mut Told) {
        let now = jiff::Timestamp::now().as_millisecond();
        let mut shown = self.pushed();
        for group in 1..=self.groups {
            let index = self.index(group, round);
            for board in 1..=self.boards {
                let name = format!("W{group}-{board}-{round}");
                let (moves, result) = shown.entry(name).or_insert_with(|| (Vec::new(), "*".to_owned()));
                let file = self.public(group, board, round);
                let of_file = half_moves(&file);
                if of_file.len() > moves.len() {
                    *moves = of_file;
                }
                let listed = index["pairings"][board - 1]["result"].as_str().unwrap_or("*");
                for other in [tag(&file, "Result").as_str(), listed] {
                    if other.contains('-') {
                        other.clone_into(result);
                    }
                }
            }
        }
        self.told(seen);
        let is_old = |time: &&i64| **time + (DELAY.as_millis() as i64) <= now + 200;
        for group in 1..=self.groups {
            for board in 1..=self.boards {
                let (moves, result) = &shown[&format!("W{group}-{board}-{round}")];
                let told = seen
                    .moves
                    .get(&(format!("group-{group}/{board}"), u64::from(round)));
                let due = told.map_or(0, |times| times.iter().filter(is_old).count());
                assert!(
                    moves.len() <= due,
                    "board {board} of group {group}: {moves:?} is public, {due} may be"
                );
                assert!(
                    result == "*" || due == half_moves(game(board, round).0).len(),
                    "board {board} of group {group}: {result} is public after {due} half-moves"
                );
            }
        }
    }

    fn index(&self, group: usize, round: u32) -> Value {
        let file = self.path(&format!("open-{group}/round-{round}/index.json"));
        serde_json::from_str(&fs::read_to_string(file).unwrap_or_default()).unwrap_or_default()
    }

    /// Half-moves and results on the server, by White's name.
    fn pushed(&self) -> BTreeMap<String, (Vec<String>, String)> {
        let mut pushed = BTreeMap::new();
        for round in self.relay.rounds().values() {
            for game in round.pgn.split("[Event ").skip(1) {
                let shown = (half_moves(&format!("[Event {game}")), tag(game, "Result"));
                pushed.insert(tag(game, "White"), shown);
            }
        }
        pushed
    }

    /// Boards whose game is not public as a whole.
    fn open_games(&self, round: u32) -> Vec<String> {
        let pushed = self.pushed();
        let mut open = Vec::new();
        for group in 1..=self.groups {
            for board in 1..=self.boards {
                let (played, result) = game(board, round);
                let due = (half_moves(played), result.to_owned());
                let file = self.public(group, board, round);
                let file = (half_moves(&file), tag(&file, "Result"));
                let on_server = pushed.get(&format!("W{group}-{board}-{round}"));
                if file != due || on_server != Some(&due) {
                    open.push(format!("{group}/{board}: {file:?} and {on_server:?} of {due:?}"));
                }
            }
        }
        open
    }
}

/// What was told.
#[derive(Default)]
struct Told {
    taken: usize,
    /// Times of half-moves, by `GATEWAY/BOARD` and game.
    moves: BTreeMap<(String, u64), Vec<i64>>,
}

fn tag(pgn: &str, name: &str) -> String {
    let value = pgn
        .lines()
        .find_map(|line| line.strip_prefix(&format!("[{name} \"")));
    value
        .and_then(|value| value.strip_suffix("\"]"))
        .unwrap_or_default()
        .to_owned()
}

fn start(config: &Path, group: usize) -> Daemon {
    let name = format!("group-{group}");
    Daemon::start_with(config, |command| {
        command.args(["--gateway", &name]);
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_olympiad_is_public_as_a_whole_and_never_too_early() {
    let is_full = std::env::var_os("DGT2MQTT_FULL").is_some();
    let (groups, boards, speed) = if is_full { (4, 250, "0.5") } else { (2, 5, "3") };
    let mut hall = Olympiad::open(groups, boards, speed).await;
    // Somebody has made a round on the server by hand.
    hall.relay.has("byHand01", BROADCASTS[0], "round 2");
    let mut seen = Told::default();
    for round in 1..=ROUNDS {
        if round == 1 {
            hall.daemons = (1..=groups).map(|group| start(&hall.config(), group)).collect();
        } else {
            hall.begin(round).await;
        }
        hall.play(round);
        let begun = Instant::now();
        let mut left = hall.open_games(round);
        while !left.is_empty() {
            assert!(
                begun.elapsed() < 4 * PATIENCE,
                "round {round}: {} games are not whole: {:?}",
                left.len(),
                &left[..left.len().min(9)]
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
            hall.holds_back(round, &mut seen);
            left = hall.open_games(round);
        }
        println!(
            "round {round}: {} games are public as a whole after {:.0} s",
            groups * boards,
            begun.elapsed().as_secs_f64()
        );
        for group in 1..=groups {
            let index = hall.index(group, round);
            assert_eq!(
                index["matches"].as_array().map(Vec::len),
                Some(boards.div_ceil(4)),
                "{index}"
            );
        }
    }
    let rounds = hall.relay.rounds();
    for (id, round) in &rounds {
        println!(
            "  {id} {:?} of {}: {} games, {} pushes",
            round.name,
            round.broadcast,
            round.pgn.matches("[Event ").count(),
            round.pushes
        );
    }
    assert_eq!(rounds.len(), groups * ROUNDS as usize * boards.div_ceil(100));
    assert!(rounds["byHand01"].pgn.contains("W1-1-2"), "what is there is used");
    assert_eq!(
        hall.relay.refused(),
        [""; 0],
        "the server was never asked for too much"
    );
    for daemon in hall.daemons {
        assert!(daemon.stop());
    }
    let told: usize = seen.moves.values().map(Vec::len).sum();
    println!("{told} half-moves, none public before its time");
}
