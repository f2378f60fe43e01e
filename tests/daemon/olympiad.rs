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
/// How many half-moves each has.
const PLIES: [usize; 4] = [4, 7, 13, 11];
const TOKEN: &str = "lip_olympiad";
const BROADCASTS: [&str; 4] = ["Group001", "Group002", "Group003", "Group004"];
/// How far the public is behind.
const DELAY: Duration = Duration::from_secs(10);
const ROUNDS: u32 = 2;

/// The game of a board in a round.
fn game(board: usize, round: u32) -> usize {
    (board + round as usize) % GAMES.len()
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
        let mut hall = Self {
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
        hall.configure(1);
        hall
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("hall.toml")
    }

    /// Writes the hall's one file, and the pairings of the round.
    fn configure(&self, round: u32) {
        let mut text = format!(
            "[broker]\nurls = [\"mqtt://127.0.0.1:{}\"]\n[event]\ntime_control = \"rapid\"\n[broadcast]\nround = {round}\nrounds = {ROUNDS}\ndelay_seconds = {}\nfolder = \"unused\"\n",
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
            fs::write(
                self.path(&format!("pairings-{group}.csv")),
                self.pairings(group, round),
            )
            .unwrap();
        }
        fs::write(self.config(), text).unwrap();
    }

    fn pairings(&self, group: usize, round: u32) -> String {
        let mut text = String::from("board,white,white_team,black,black_team\n");
        for board in 1..=self.boards {
            let matched = board.div_ceil(4);
            text += &format!(
                "{board},W{group}-{board}-{round},Home {matched},B{group}-{board}-{round},Guests {matched}\n"
            );
        }
        text
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
            let turned: Vec<&str> = (0..GAMES.len()).map(|board| GAMES[game(board, round)]).collect();
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

    /// Whether no file and no round on the server shows what is younger than the delay.
    fn holds_back(&self, round: u32, seen: &mut Told) {
        let now = jiff::Timestamp::now().as_millisecond();
        let shown: Vec<(usize, usize, usize)> = (1..=self.groups)
            .flat_map(|group| (1..=self.boards).map(move |board| (group, board)))
            .map(|(group, board)| (group, board, half_moves(&self.public(group, board, round))))
            .collect();
        let pushed = self.pushed();
        self.told(seen);
        for (group, board, count) in shown {
            let name = format!("W{group}-{board}-{round}");
            let count = count.max(pushed.get(&name).copied().unwrap_or(0));
            let moves = seen
                .moves
                .get(&(format!("group-{group}/{board}"), u64::from(round)));
            let old = |time: &&i64| **time + (DELAY.as_millis() as i64) <= now + 200;
            let due = moves.map_or(0, |moves| moves.iter().filter(old).count());
            assert!(
                count <= due,
                "board {board} of group {group}: {count} half-moves are public, {due} may be"
            );
        }
    }

    /// Half-moves on the server, by White's name.
    fn pushed(&self) -> BTreeMap<String, usize> {
        let mut pushed = BTreeMap::new();
        for round in self.relay.rounds().values() {
            for game in round.pgn.split("[Event ").skip(1) {
                pushed.insert(tag(game, "White"), half_moves(&format!("[Event {game}")));
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
                let file = self.public(group, board, round);
                let due = PLIES[game(board - 1, round)];
                let on_server = pushed.get(&format!("W{group}-{board}-{round}")).copied();
                if half_moves(&file) != due || tag(&file, "Result") == "*" || on_server != Some(due) {
                    open.push(format!(
                        "{group}/{board}: {} and {on_server:?} of {due}",
                        half_moves(&file)
                    ));
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
            // The one word of the operator: the round in the hall's file, and a reload.
            hall.configure(round);
            for daemon in &hall.daemons {
                daemon.signal("HUP");
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
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
            let index =
                fs::read_to_string(hall.path(&format!("open-{group}/round-{round}/index.json"))).unwrap();
            assert!(index.contains("Guests 1"), "{index}");
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
