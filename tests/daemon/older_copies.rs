//! An older copy of the journal, or an image of the card, that goes on where another copy has: the broker knows which run was the last.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Duration,
};

use dgt2mqtt::mqtt::{BoardState, Topics};
use serde_json::Value;

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, Simulator, one_board},
    numbered::numbered,
    proxy::{Fault, Proxy},
};

const PARTS: [&str; 4] = ["", "-wal", "-shm", ".lock"];

struct Scene {
    broker: Mosquitto,
    subscriber: Subscriber,
    _simulator: Simulator,
    config: PathBuf,
    folder: tempfile::TempDir,
}

impl Scene {
    /// A board has told something, and the daemon has ended as it was told to.
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path(), "");
        let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
        let (simulator, config) = one_board(folder.path(), broker.port);
        let scene = Self {
            broker,
            subscriber,
            _simulator: simulator,
            config,
            folder,
        };
        let daemon = Daemon::start(&scene.config);
        scene.more(3).await;
        daemon.stop();
        scene
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.sqlite")
    }

    fn events(&self) -> Vec<Value> {
        let got = self.subscriber.all().into_iter();
        got.filter(|got| got.topic.contains("/event/"))
            .map(|got| got.json())
            .collect()
    }

    /// The configurations of the machine, which has its broker behind `proxy`, and of a spare one with an image of its card.
    fn two_machines(&self, proxy: &Proxy) -> [PathBuf; 2] {
        let text = fs::read_to_string(&self.config).unwrap();
        let [first, spare] = ["first.toml", "spare.toml"].map(|name| self.config.with_file_name(name));
        let direct = self.broker.url().to_string();
        let direct = direct.trim_end_matches('/');
        assert!(text.contains(direct), "{text}");
        fs::write(&first, text.replace(direct, &proxy.url.to_string())).unwrap();
        fs::copy(self.journal(), self.folder.path().join("image.sqlite")).unwrap();
        fs::write(&spare, text.replace("journal.sqlite", "image.sqlite")).unwrap();
        [first, spare]
    }

    /// Waits for so many more events.
    async fn more(&self, count: usize) {
        let before = self.events().len();
        self.subscriber
            .until("events", || self.events().len() >= before + count)
            .await;
    }

    /// Waits until the board has named a jump: what it took while the daemon asked for the name goes before.
    async fn named(&self) {
        let is_named = || {
            self.events()
                .iter()
                .any(|event| event["code"] == "journal_behind")
        };
        self.subscriber.until("the jump's name", is_named).await;
    }

    fn assert_right(&self) {
        let told = numbered(&self.events(), "1").unwrap();
        assert!(told.len() > 6);
    }

    /// Where the broker has the board's game, and what it has of it.
    fn game(&self) -> (String, Vec<u8>) {
        let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
        let topic = topics.board_state(&"1".parse().unwrap(), BoardState::Game);
        let got = self.subscriber.all().into_iter().rfind(|got| got.topic == topic);
        (topic, got.unwrap().payload)
    }
}

fn put(copy: &Path, journal: &Path) {
    for part in PARTS {
        let mut name = journal.as_os_str().to_owned();
        name.push(part);
        let _ = fs::remove_file(name);
    }
    fs::copy(copy, journal).unwrap();
}

/// The daemon is killed when an event has gone out and `game` has not followed.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_gives_no_number_twice_though_no_state_tells_the_last_one() {
    let scene = Scene::new().await;
    let copy = scene.folder.path().join("copy");
    fs::copy(scene.journal(), &copy).unwrap();
    let (topic, game) = scene.game();
    let daemon = Daemon::start(&scene.config);
    scene.more(1).await;
    daemon.kill();
    scene.subscriber.publish(&topic, true, game, None).await;
    put(&copy, &scene.journal());
    let daemon = Daemon::start(&scene.config);
    scene.more(4).await;
    daemon.stop();
    scene.assert_right();
}

/// The network of the first machine breaks as it tells who has the name, and the machine dies. The spare one goes on, and in the end the
/// first one comes back: what it had taken was not sent.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_one_where_the_first_machine_ended_before_the_broker_knew_of_it() {
    let scene = Scene::new().await;
    let before = scene.events().len();
    let proxy = Proxy::before(
        scene.broker.port,
        &[Fault::HangsUpOn(&["/gw/info"])],
        Fault::Refuse,
    )
    .await;
    let [first, spare] = scene.two_machines(&proxy);
    let daemon = Daemon::start(&first);
    let has_refused = || proxy.injected.load(Ordering::Relaxed) > 1;
    scene.subscriber.until("another connection", has_refused).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    daemon.kill();
    assert_eq!(scene.events().len(), before, "no event goes before `info`");
    let daemon = Daemon::start(&spare);
    scene.more(4).await;
    daemon.kill();
    proxy.then(Fault::None);
    let daemon = Daemon::start(&first);
    scene.named().await;
    scene.more(1).await;
    daemon.stop();
    scene.assert_right();
    let were_unsent = scene.events().iter().any(|event| event["unsent_as"].is_string());
    assert!(were_unsent, "the first machine took nothing without its network");
}

/// The network of the first machine is away when it dies. The spare one goes on, and in the end the first one comes back.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_on_a_spare_machine_gives_no_number_twice() {
    let scene = Scene::new().await;
    let proxy = Proxy::before(scene.broker.port, &[], Fault::None).await;
    let [first, spare] = scene.two_machines(&proxy);
    let daemon = Daemon::start(&first);
    scene.more(1).await;
    proxy.stand_still(true);
    tokio::time::sleep(Duration::from_secs(3)).await;
    daemon.kill();
    proxy.stand_still(false);
    let daemon = Daemon::start(&spare);
    scene.more(4).await;
    // Nobody can name it later: the spare one is not started again.
    scene.named().await;
    daemon.kill();
    let daemon = Daemon::start(&first);
    scene.more(4).await;
    daemon.stop();
    scene.assert_right();
}
