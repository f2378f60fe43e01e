//! Bytes that come late: a board at a `tcp://` port behind a network that stands still for a while and then hands on all in one
//! lump, and behind a server that gathers; and the same at a `tcp+cap://` port, where the bytes carry the times at which they were
//! read. `watcher_props/late.rs` and `gathered.rs` have all fixtures in virtual time. `DGT2MQTT_FULL=1`: 20 rounds each.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dgt2mqtt::link::file::read_capture;
use fastrand::Rng;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    forward::Forwarder,
    hall::{Daemon, Seat, Simulator, configure, fixture, moves},
    offences::OFFENCES,
    replayed::{Played, assert_as_replayed, tape, taped, told},
    seed::{in_rounds_at_once, rounds},
};

/// How many boards play at a time: for most of it they wait.
const AT_ONCE: usize = 5;
/// In a lump after no longer a silence than this, no half-move is told otherwise.
const SHORT_MS: u64 = 10_000;
/// What is still to be said when all that `replay` tells is told.
const REST: Duration = Duration::from_secs(3);

/// The games of which something else is told after a long silence, as it is to who reads the bytes as they came.
static OTHERWISE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The games with an offence that a lump hides: who reads the bytes as they came cannot tell it either.
static HIDDEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How bytes pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As they come.
    Prompt,
    /// Those of the board are held back, and what is said to it, too, where `both` ways stand still.
    StandsStill { both: bool },
}

/// A serial port server and the network before it: one client at a time has the board, which notices nothing of who comes and goes.
struct Network {
    port: u16,
    way: watch::Sender<Way>,
    /// So many clients hung up.
    hung_up: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Network {
    /// Before the board at `board`, an address with a port. Where `gathers` is some time, what the board says is handed on once in
    /// each such time.
    async fn before(board: &str, gathers: Option<Duration>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (way, ways) = watch::channel(Way::Prompt);
        let hung_up = Arc::new(AtomicUsize::new(0));
        let line = Line {
            board: TcpStream::connect(board).await.unwrap().into_split(),
            gathers,
            ways,
            hung_up: Arc::clone(&hung_up),
        };
        Self {
            port,
            way,
            hung_up,
            task: tokio::spawn(serve(listener, line)),
        }
    }

    /// Stands still for a while, one way or both.
    async fn stands_still(&self, ms: u64, both: bool) {
        self.way.send_replace(Way::StandsStill { both });
        sleep(Duration::from_millis(ms)).await;
        self.way.send_replace(Way::Prompt);
        // Who hangs up just now does so before he has heard what waited.
        sleep(Duration::from_millis(500)).await;
    }

    /// True while no client has hung up.
    fn is_kept(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Line {
    board: (OwnedReadHalf, OwnedWriteHalf),
    gathers: Option<Duration>,
    ways: watch::Receiver<Way>,
    hung_up: Arc<AtomicUsize>,
}

async fn serve(listener: TcpListener, mut line: Line) {
    let mut nothing = [0; 512];
    loop {
        tokio::select! {
            accepted = listener.accept() => line.carry(accepted.unwrap().0).await,
            // What the board says while nobody is there is lost.
            read = line.board.0.read(&mut nothing) => if read.unwrap_or(0) == 0 {
                return;
            },
        }
    }
}

impl Line {
    /// Carries what is said from and to a client until it has gone. What is held for it then is lost.
    async fn carry(&mut self, client: TcpStream) {
        client.set_nodelay(true).unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let mut period = interval(self.gathers.unwrap_or(PATIENCE));
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut held, mut words, mut has_gone) = (Vec::new(), Vec::new(), false);
        let (mut told, mut asked) = ([0; 512], [0; 512]);
        loop {
            let mut is_due = self.gathers.is_none();
            tokio::select! {
                read = self.board.0.read(&mut told) => match read {
                    Ok(count @ 1..) => held.extend_from_slice(&told[..count]),
                    _ => return,
                },
                read = from_client.read(&mut asked), if !has_gone => match read {
                    Ok(count @ 1..) => words.extend_from_slice(&asked[..count]),
                    _ => {
                        self.hung_up.fetch_add(1, Ordering::Relaxed);
                        has_gone = true;
                    }
                },
                _ = period.tick(), if self.gathers.is_some() => is_due = true,
                changed = self.ways.changed() => if changed.is_err() {
                    return;
                },
            }
            let way = *self.ways.borrow();
            if way != (Way::StandsStill { both: true }) {
                let _ = self.board.1.write_all(&std::mem::take(&mut words)).await;
                if has_gone {
                    return;
                }
            }
            if way == Way::Prompt && is_due {
                // Who has gone is noticed when he is read.
                let _ = to_client.write_all(&std::mem::take(&mut held)).await;
            }
        }
    }
}

/// A game with an offence.
fn game(random: &mut Rng) -> Played {
    match random.bool() {
        true => Played::by_chance(random),
        false => Played::of(fixture(random.choice(OFFENCES).unwrap())),
    }
}

/// How long a network stands still: seconds, and in full up to a minute. The daemon waits for what is on its way.
fn some_time(random: &mut Rng) -> u64 {
    match (rounds() > 1, random.bool()) {
        (false, _) => random.u64(1000..=4000),
        (true, false) => random.u64(1000..=8000),
        (true, true) => random.u64(8000..=60_000),
    }
}

/// How long a network stands still that carries times: the daemon knows that its questions had not come to the board yet.
fn some_longer_time(random: &mut Rng) -> u64 {
    let most = if rounds() > 1 { 60_000 } else { 15_000 };
    random.u64(most / 2..=most)
}

/// A hall in which a game is played at a board behind a network.
struct Scene {
    game: Played,
    network: Network,
    subscriber: Subscriber,
    config: PathBuf,
    daemon: Daemon,
    _parts: (tempfile::TempDir, Mosquitto, Simulator, Option<Forwarder>),
}

impl Scene {
    /// `gathers` is for how long the bytes are gathered, and whether the configuration says so. Where `is_timed`, `forward` stands
    /// before the network.
    async fn new(game: Played, gathers: Option<(u64, bool)>, is_timed: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mosquitto = Mosquitto::start(folder.path(), "");
        let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
        let simulator = Simulator::start(&["--listen", "127.0.0.1:0"], std::slice::from_ref(&game.path));
        let forwarder = is_timed.then(|| Forwarder::start(&simulator.ports[0]));
        let (scheme, address) = match &forwarder {
            Some(forwarder) => ("tcp+cap", forwarder.address.clone()),
            None => ("tcp", simulator.ports[0].replace("tcp://", "")),
        };
        let network = Network::before(&address, gathers.map(|(ms, _)| Duration::from_millis(ms))).await;
        let seat = Seat {
            id: "1".into(),
            port: &format!("{scheme}://127.0.0.1:{}", network.port),
            capture: &read_capture(&game.path).unwrap(),
        };
        let config = configure(folder.path(), mosquitto.port, &[seat]);
        if let Some((ms, true)) = gathers {
            let text = fs::read_to_string(&config).unwrap();
            fs::write(&config, format!("{text}gathered_ms = {ms}\n")).unwrap();
        }
        if !is_timed {
            taped(&config);
        }
        let daemon = Daemon::start(&config);
        Self {
            game,
            network,
            subscriber,
            config,
            daemon,
            _parts: (folder, mosquitto, simulator, forwarder),
        }
    }

    /// The network stands still at a random instant of the game.
    async fn stands_still(&self, ms: u64, random: &mut Rng) {
        self.game.some_instant(&self.subscriber, "1", random).await;
        let both = random.bool();
        self.network.stands_still(ms, both).await;
        let ways = if both { "both ways" } else { "one way" };
        println!("{}: stood still for {ms} ms {ways}", self.game.path.display());
        assert!(self.network.is_kept(), "the daemon connected anew");
    }

    /// All half-moves are told, all offences are said, or suspected, and nobody is accused besides.
    async fn holds_whole(self) {
        self.game.is_over(&self.subscriber, "1").await;
        sleep(REST).await;
        assert!(self.daemon.stop());
        self.game.is_whole(&self.config, &self.subscriber, "1").await;
    }

    /// The same; an offence may be hidden by the lump, and after a long silence a half-move. `replay` of the bytes as the daemon heard them
    /// does not tell it then either.
    async fn holds_but_for_what_is_hidden(self, ms: u64) {
        let missing = self.game.missing_in_the_end(&self.subscriber, "1").await;
        let Some(missing) = missing else {
            return self.holds_whole().await;
        };
        assert!(self.daemon.stop());
        let events = told(&self.config, &self.subscriber, "1").await;
        self.game.accuses_nobody_besides(&events);
        assert_as_replayed(&events, &tape(&self.config, "1"), true);
        if moves(&events) != self.game.moves() {
            let said = format!("{}, {ms} ms: {missing}", self.game.path.display());
            println!("{said}");
            assert!(ms > SHORT_MS, "{said}");
            return OTHERWISE.lock().unwrap().push(said);
        }
        let said = format!("{}: hidden by the lump: {missing}", self.game.path.display());
        println!("{said}");
        HIDDEN.lock().unwrap().push(said);
    }
}

/// What comes in a lump has waited, and nobody measured when it happened.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_stands_still_has_nobody_accused() {
    in_rounds_at_once(AT_ONCE, a_network_stands_still).await;
    let otherwise = OTHERWISE.lock().unwrap();
    assert!(otherwise.len() <= rounds() / 10, "{otherwise:#?}");
    // Of the offences in a lump one in a hundred is hidden.
    let hidden = HIDDEN.lock().unwrap();
    assert!(hidden.len() <= 1, "{hidden:#?}");
}

async fn a_network_stands_still(mut random: Rng) {
    let scene = Scene::new(game(&mut random), None, false).await;
    let ms = some_time(&mut random);
    scene.stands_still(ms, &mut random).await;
    scene.holds_but_for_what_is_hidden(ms).await;
}

/// A serial port server that packs; the configuration says so, or does not.
#[tokio::test(flavor = "multi_thread")]
async fn nor_has_a_server_that_gathers_all_the_time() {
    in_rounds_at_once(AT_ONCE, a_server_gathers).await;
}

async fn a_server_gathers(mut random: Rng) {
    let (ms, is_said) = (*random.choice(&[200, 500, 1000]).unwrap(), random.bool());
    let game = game(&mut random);
    let known = if is_said { "known" } else { "not known" };
    println!("{}: gathered for {ms} ms, {known}", game.path.display());
    Scene::new(game, Some((ms, is_said)), false)
        .await
        .holds_whole()
        .await;
}

/// Bytes that carry their times are as good as at the board, also where they are gathered all the time. Once the daemon sent one alone
/// of the questions that came up within a lump, and such a board never told its changes.
#[tokio::test(flavor = "multi_thread")]
async fn times_that_come_with_the_bytes_are_those_of_the_board() {
    in_rounds_at_once(AT_ONCE, bytes_carry_their_times).await;
}

async fn bytes_carry_their_times(mut random: Rng) {
    let ms = *random.choice(&[200, 500, 1000]).unwrap();
    let scene = Scene::new(game(&mut random), Some((ms, false)), true).await;
    scene
        .stands_still(some_longer_time(&mut random), &mut random)
        .await;
    scene.game.is_over(&scene.subscriber, "1").await;
    sleep(REST).await;
    assert!(scene.daemon.stop());
    let events = told(&scene.config, &scene.subscriber, "1").await;
    println!("{} events compared", events.len());
    assert_as_replayed(&events, &scene.game.path, true);
}
