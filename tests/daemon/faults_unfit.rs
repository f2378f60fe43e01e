//! In the middle of a game the broker becomes one that is no good, or the daemon may open nothing any more; later all is well again.
//! Nothing of the game is missing then.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use fastrand::Rng;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber, free_port},
    certificates::{certificates, openssl},
    hall::{Daemon, Simulator, playing, until},
    mqtt_unfit::UNFIT,
    replayed::{Played, with_tape},
    seed::in_rounds,
};

/// A game, and the daemon that tells of it.
struct Evening {
    game: Played,
    subscriber: Subscriber,
    config: PathBuf,
    daemon: Daemon,
    _simulator: Simulator,
}

impl Evening {
    /// `change` is made to the daemon's configuration.
    async fn begin(
        folder: &Path,
        broker: u16,
        random: &mut Rng,
        change: impl FnOnce(String) -> String,
    ) -> Self {
        let game = Played::by_chance(random);
        let subscriber = Subscriber::new(broker, "dgt2mqtt/gw/#").await;
        let (simulator, config) = playing(folder, broker, "1", &game.path, &[]);
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, change(text)).unwrap();
        Self {
            game,
            subscriber,
            daemon: Daemon::start(&config),
            config,
            _simulator: simulator,
        }
    }

    async fn some_instant(&self, random: &mut Rng) {
        self.game.some_instant(&self.subscriber, "1", random).await;
    }

    fn says(&self, words: &[&str]) {
        let log = self.config.with_file_name("daemon.log");
        until(&format!("{words:?} in the log"), PATIENCE, || {
            let said = fs::read_to_string(&log).unwrap();
            let mut lines = said.lines();
            lines
                .any(|line| words.iter().all(|word| line.contains(word)))
                .then_some(())
        });
    }

    /// All is told, as `replay` tells it.
    async fn ends_whole(self) {
        self.game.is_over(&self.subscriber, "1").await;
        assert!(self.daemon.stop());
        self.game.is_whole(&self.config, &self.subscriber, "1").await;
    }
}

async fn a_while(random: &mut Rng) {
    tokio::time::sleep(Duration::from_millis(random.u64(0..4000))).await;
}

/// Answers whoever connects with what it is told, and hangs up.
struct Foreign(JoinHandle<()>);

impl Foreign {
    async fn at(port: u16, answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        Self(tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(answer).await;
                let _ = stream.shutdown().await;
            }
        }))
    }

    /// Its port is free then.
    async fn end(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_no_good_for_a_while_costs_no_event() {
    in_rounds(another_broker_stands_there).await;
}

async fn another_broker_stands_there(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    let evening = Evening::begin(folder.path(), mosquitto.port, &mut random, |text| {
        with_tape(&text)
    })
    .await;
    evening.some_instant(&mut random).await;
    let (name, answer, words) = random.choice(UNFIT).unwrap();
    println!("{name} stands there");
    mosquitto.stop();
    let foreign = Foreign::at(mosquitto.port, answer).await;
    evening.says(words);
    a_while(&mut random).await;
    foreign.end().await;
    mosquitto.resume();
    evening.ends_whole().await;
}

/// How a broker's certificate goes wrong, with what is said of it.
const CERTIFICATES: [(&str, &[&str]); 4] = [
    ("elsewhere", &["another name than that in its address"]),
    ("over", &["has expired"]),
    ("strange", &["was not signed by an authority of `ca_file`"]),
    ("asks for ours", &["wants a certificate of ours"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_goes_wrong_for_a_while_costs_no_event() {
    in_rounds(the_certificate_goes_wrong).await;
}

async fn the_certificate_goes_wrong(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name);
    // One like the good one, by another authority.
    openssl(
        folder.path(),
        "x509 -req -in good.csr -CA stranger.pem -CAkey stranger.key -CAcreateserial -days 2 -extfile san -out strange.pem",
    );
    fs::copy(at("good.key"), at("strange.key")).unwrap();
    let take = |name: &str| {
        for kind in ["pem", "key"] {
            fs::copy(at(&format!("{name}.{kind}")), at(&format!("served.{kind}"))).unwrap();
        }
    };
    take("good");
    let port = free_port();
    let tls = format!(
        "listener {port} 127.0.0.1\ncafile {}\ncertfile {}\nkeyfile {}\n",
        at("ca.pem").display(),
        at("served.pem").display(),
        at("served.key").display()
    );
    let mut mosquitto = Mosquitto::start(folder.path(), &tls);
    let evening = Evening::begin(folder.path(), mosquitto.port, &mut random, |text| {
        let plain = format!("[\"mqtt://127.0.0.1:{}\"]", mosquitto.port);
        let guarded = format!("[\"mqtts://localhost:{port}\"]\nca_file = \"ca.pem\"");
        assert!(text.contains(&plain));
        with_tape(&text).replace(&plain, &guarded)
    })
    .await;
    evening.some_instant(&mut random).await;
    let (wrong, words) = random.choice(CERTIFICATES).unwrap();
    println!("the certificate: {wrong}");
    mosquitto.stop();
    let conf = at("mosquitto.conf");
    let good = fs::read_to_string(&conf).unwrap();
    match wrong {
        "asks for ours" => fs::write(
            &conf,
            good.replace(&tls, &(tls.clone() + "require_certificate true\n")),
        )
        .unwrap(),
        name => take(name),
    }
    mosquitto.resume();
    evening.says(words);
    a_while(&mut random).await;
    mosquitto.stop();
    take("good");
    fs::write(&conf, good).unwrap();
    mosquitto.resume();
    evening.ends_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_that_run_out_for_a_while_cost_no_event() {
    in_rounds(descriptors_run_out).await;
}

/// The daemon may have so many open files and sockets; those that are open stay.
fn limit(daemon: &Daemon, files: u32) {
    let mut prlimit = Command::new("prlimit");
    prlimit.args([&format!("--pid={}", daemon.id()), &format!("--nofile={files}:")]);
    assert!(prlimit.status().unwrap().success());
}

async fn descriptors_run_out(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mut mosquitto = Mosquitto::start(folder.path(), "");
    // Without descriptors no tape is written either.
    let evening = Evening::begin(folder.path(), mosquitto.port, &mut random, |text| text).await;
    evening.some_instant(&mut random).await;
    limit(&evening.daemon, 3);
    a_while(&mut random).await;
    mosquitto.stop();
    mosquitto.resume();
    evening.says(&["limit 3"]);
    a_while(&mut random).await;
    limit(&evening.daemon, 1024);
    evening.ends_whole().await;
}
