//! The archive beside daemons, brokers and a PostgreSQL: whatever dies in between, each event of the journals is in the
//! table once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    certificates::certificates,
    database::Postgres,
    hall::{Daemon, configure, journal, program, until},
    seed::{rng, rounds},
    station::{Station, broker},
    wiring::{Restless, Wiring},
};

/// The board of [`Wiring::restless`].
const RESTLESS: &str = "7";

/// The program under test; what it says goes to `archive.log` beside its configuration.
pub struct Archive {
    child: Child,
}

impl Archive {
    /// For the tournament `Spring Open`, in `database`, with more lines of `[archive]`.
    pub fn configure(folder: &Path, broker: u16, database: &str, more: &str) -> PathBuf {
        let path = folder.join("archive.toml");
        let text = format!(
            "[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\nkeep_alive = 5\n[archive]\ndatabase = \"{database}\"\nevent = \"Spring Open\"\n{more}\n"
        );
        fs::write(&path, text).unwrap();
        path
    }

    pub fn start(config: &Path) -> Self {
        Self::start_at(config, &[])
    }

    /// The same, with brokers of the command line.
    pub fn start_at(config: &Path, brokers: &[u16]) -> Self {
        let path = config.with_file_name("archive.log");
        let log = fs::OpenOptions::new().create(true).append(true).open(path);
        let mut command = program();
        command.args(["archive", "--config"]).arg(config);
        for broker in brokers {
            command.args(["--broker", &format!("mqtt://127.0.0.1:{broker}")]);
        }
        let child = command.stdout(Stdio::null()).stderr(log.unwrap()).spawn();
        Self {
            child: child.unwrap(),
        }
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM; whether it ended well.
    pub fn stop(mut self) -> bool {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(kill.unwrap().success());
        until("its end", PATIENCE, || self.child.try_wait().unwrap()).success()
    }
}

/// SIGKILL.
impl Drop for Archive {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log(config: &Path) -> String {
    fs::read_to_string(config.with_file_name("archive.log")).unwrap_or_default()
}

fn wait_for_log(config: &Path, words: &str) {
    until(words, PATIENCE, || log(config).contains(words).then_some(()));
}

/// A broker, a database, a gateway with a board that always has something to tell, and the configurations of its daemon
/// and of an archive.
struct Hall {
    folder: TempDir,
    mosquitto: Mosquitto,
    postgres: Postgres,
    gateway: PathBuf,
    archive: PathBuf,
    _restless: Restless,
}

impl Hall {
    fn open() -> Option<Self> {
        let postgres = Postgres::start()?;
        let folder = tempfile::tempdir().unwrap();
        let mosquitto = Mosquitto::start(folder.path(), "");
        let restless = Wiring::Alone.restless(folder.path());
        let gateway = configure(folder.path(), mosquitto.port, &[]);
        let text = fs::read_to_string(&gateway).unwrap();
        fs::write(&gateway, text + &restless.tables).unwrap();
        let archive = Archive::configure(folder.path(), mosquitto.port, &postgres.url(), "");
        Some(Self {
            folder,
            mosquitto,
            postgres,
            gateway,
            archive,
            _restless: restless,
        })
    }

    /// Lets the gateway tell the first events of the restless board while nobody listens.
    async fn tell(&self, count: u64) {
        let station = Station::start(self.folder.path(), broker(vec![self.mosquitto.url()]));
        station.feed(RESTLESS, 1..=count).await;
        station.delivered().await;
        station.shut_down().await;
    }

    /// How many events the database has of a board.
    fn count(&self, board: &str) -> usize {
        self.postgres.events("gw", board).map_or(0, |events| events.len())
    }

    /// Waits until the database has more events of the restless board.
    fn goes_on(&self) {
        let before = self.count(RESTLESS);
        until("more events", PATIENCE, || {
            (self.count(RESTLESS) > before + 2).then_some(())
        });
    }

    /// Waits until the database has all that the journal has of a board, once, and how many events that is. The daemon
    /// is at rest.
    fn is_whole(&self, board: &str) -> usize {
        let told = journal(&self.gateway, board);
        assert!(!told.is_empty());
        until(
            &format!("all {} events of board {board}", told.len()),
            PATIENCE,
            || (self.postgres.events("gw", board)? == told).then_some(()),
        );
        told.len()
    }
}

/// It is killed while it asks for what was told before, and while it hears what is told.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_kills_the_archive_each_event_is_there_once() {
    let Some(hall) = Hall::open() else { return };
    hall.tell(3_000).await;
    let mut rng = rng();
    let daemon = Daemon::start(&hall.gateway);
    let kills = 12 * rounds();
    let mut had = Vec::new();
    for _ in 0..kills {
        let archive = Archive::start(&hall.archive);
        std::thread::sleep(Duration::from_millis(rng.u64(0..3_000)));
        drop(archive);
        had.push(hall.count(RESTLESS));
    }
    let archive = Archive::start(&hall.archive);
    hall.goes_on();
    // What the daemon says at its end is told by nobody else.
    assert!(daemon.stop());
    let back = Daemon::start(&hall.gateway);
    hall.goes_on();
    back.kill();
    // A gateway that is there answers.
    let asked = Daemon::start(&hall.gateway);
    hall.goes_on();
    assert!(asked.stop());
    let count = hall.is_whole(RESTLESS);
    println!("{kills} kills, after which there were {had:?}; {count} events, none lost, none twice");
    assert!(archive.stop());
    assert!(!log(&hall.archive).contains("panicked"), "{}", log(&hall.archive));
}

#[test]
fn a_database_that_dies_and_comes_back_has_all() {
    let Some(hall) = Hall::open() else { return };
    let daemon = Daemon::start(&hall.gateway);
    // The archive begins without a database.
    hall.postgres.stop();
    let archive = Archive::start(&hall.archive);
    wait_for_log(&hall.archive, "the database takes no events");
    hall.postgres.resume();
    hall.goes_on();
    for _ in 0..3 * rounds() {
        hall.postgres.stop();
        let told = journal(&hall.gateway, RESTLESS).len();
        until("more events", PATIENCE, || {
            (journal(&hall.gateway, RESTLESS).len() > told + 2).then_some(())
        });
        hall.postgres.resume();
        hall.goes_on();
    }
    // The archive is killed while the database is away: what waited in it comes by `history`.
    hall.postgres.stop();
    drop(archive);
    hall.postgres.resume();
    let archive = Archive::start(&hall.archive);
    hall.goes_on();
    assert!(daemon.stop());
    println!("{} events", hall.is_whole(RESTLESS));
    assert!(archive.stop());
    assert!(!log(&hall.archive).contains("panicked"), "{}", log(&hall.archive));
}

/// Two thousand events were told before there was an archive, and the journal has lost the first of them.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_comes_late_asks_for_all_that_there_was() {
    let Some(hall) = Hall::open() else { return };
    hall.tell(2_000).await;
    let journal_file = rusqlite::Connection::open(hall.folder.path().join("journal.sqlite")).unwrap();
    journal_file
        .execute("DELETE FROM events WHERE seq <= 40 OR seq = 1000", [])
        .unwrap();
    drop(journal_file);
    let daemon = Daemon::start(&hall.gateway);
    let archive = Archive::start(&hall.archive);
    let holes = || {
        hall.postgres
            .ask("select first, last, why from dgt2mqtt.hole order by first")
    };
    let found = until("two holes", PATIENCE, || holes().filter(|holes| holes.len() == 2));
    let why = "the journal does not have them".to_owned();
    let row = |first: &str, last: &str| vec![first.to_owned(), last.to_owned(), why.clone()];
    assert_eq!(found, [row("1", "40"), row("1000", "1000")]);
    hall.goes_on();
    assert!(daemon.stop());
    assert!(hall.is_whole(RESTLESS) > 1_959);
    assert!(archive.stop());
    // The next one knows what it has, and what nobody has.
    let said = log(&hall.archive);
    assert_eq!(said.matches("cannot be had").count(), 2, "{said}");
    let asked = hall
        .postgres
        .rows("select count(*) from dgt2mqtt.event where asked");
    let daemon = Daemon::start(&hall.gateway);
    let archive = Archive::start(&hall.archive);
    hall.goes_on();
    assert!(daemon.stop());
    hall.is_whole(RESTLESS);
    assert!(archive.stop());
    assert_eq!(log(&hall.archive).matches("cannot be had").count(), 2);
    let now = hall
        .postgres
        .rows("select count(*) from dgt2mqtt.event where asked");
    let number = |rows: &[Vec<String>]| rows[0][0].parse::<u64>().unwrap();
    assert!(
        number(&asked) >= 1_959 && number(&now) < number(&asked) + 50,
        "{asked:?} {now:?}"
    );
}

/// The second broker repeats all that the first has, and a person sends events again.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_twice_is_kept_once() {
    let Some(hall) = Hall::open() else { return };
    let place = tempfile::tempdir().unwrap();
    let bridge = format!(
        "connection first\naddress 127.0.0.1:{}\ntopic # both 1\n",
        hall.mosquitto.port
    );
    let second = Mosquitto::start(place.path(), &bridge);
    let subscriber = Subscriber::new(second.port, "dgt2mqtt/+/board/+/event/+").await;
    let archive = Archive::start_at(&hall.archive, &[hall.mosquitto.port, second.port]);
    let daemon = Daemon::start(&hall.gateway);
    hall.goes_on();
    until("events over the bridge", PATIENCE, || {
        (subscriber.all().len() > 4).then_some(())
    });
    for got in subscriber.all() {
        for _ in 0..3 {
            subscriber
                .publish(&got.topic, false, got.payload.clone(), None)
                .await;
        }
    }
    hall.goes_on();
    assert!(daemon.stop());
    let count = hall.is_whole(RESTLESS);
    // The table has no constraint over tournaments; nor has it repeats.
    let rows = hall
        .postgres
        .rows("select count(*), count(distinct id) from dgt2mqtt.event");
    assert_eq!(rows, [[count.to_string(), count.to_string()]]);
    assert!(archive.stop());
    // Under another tournament nothing is kept again.
    let config = fs::read_to_string(&hall.archive).unwrap();
    fs::write(
        &hall.archive,
        config.replace("Spring Open", "Autumn's \\\"Open\\\""),
    )
    .unwrap();
    let archive = Archive::start(&hall.archive);
    let daemon = Daemon::start(&hall.gateway);
    hall.goes_on();
    assert!(daemon.stop());
    hall.is_whole(RESTLESS);
    let rows = hall
        .postgres
        .rows("select tournament, count(*) = count(distinct id) from dgt2mqtt.event group by 1 order by 1");
    assert_eq!(rows, [["Autumn's \"Open\"", "t"], ["Spring Open", "t"]]);
    assert!(archive.stop());
}

/// As with the other commands: the place, what is wrong, and an exit code on which the unit does not start again.
#[test]
fn a_mistake_of_the_configuration_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let config = Archive::configure(
        folder.path(),
        1883,
        "postgres://archive@db.example/chess?sslmode=disable",
        "",
    );
    let mut command = program();
    let output = command
        .args(["archive", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let place = format!(
        "dgt2mqtt: {}:5:12: the database is on another machine",
        config.display()
    );
    assert!(said.starts_with(&place), "{said}");
    assert_eq!(output.status.code(), Some(78));
}

#[test]
fn a_password_goes_to_another_machine_over_tls_only() {
    let Some(postgres) = Postgres::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    certificates(folder.path());
    fs::write(folder.path().join("password"), "open sesame").unwrap();
    // A name that is not of this machine, at an address that is.
    let at = |name: &str| {
        let database = format!(
            "host={name} hostaddr=127.0.0.1 port={} user=archive dbname=postgres",
            postgres.port
        );
        let more = "password_file = \"password\"\nca_file = \"ca.pem\"";
        Archive::configure(folder.path(), mosquitto.port, &database, more)
    };
    let config = at("broker.example");
    let archive = Archive::start(&config);
    wait_for_log(&config, "the database takes no events: ");
    assert!(
        log(&config).contains("server does not support TLS"),
        "{}",
        log(&config)
    );
    drop(archive);
    let put = |name: &str| postgres.write(name, &fs::read_to_string(folder.path().join(name)).unwrap());
    let (key, certificate) = (put("elsewhere.key"), put("elsewhere.pem"));
    let who = postgres.write("who", "hostssl all all 127.0.0.1/32 scram-sha-256\n");
    postgres.rows("alter role archive password 'open sesame'");
    postgres.stop();
    postgres.configure(&format!(
        "ssl = on\nssl_key_file = '{key}'\nssl_cert_file = '{certificate}'\nhba_file = '{who}'\n"
    ));
    postgres.resume();
    // The certificate is made out for broker.example.
    let wrong = at("db.example");
    let archive = Archive::start(&wrong);
    wait_for_log(&wrong, "its certificate is made out for another name");
    drop(archive);
    let archive = Archive::start(&at("broker.example"));
    wait_for_log(&config, "the database takes the events of \"Spring Open\"");
    assert!(archive.stop());
    assert!(!log(&config).contains("sesame"));
}
