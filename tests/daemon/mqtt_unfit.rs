//! Brokers that are no good to us: what is said of each names the cause and the remedy. Each is what such a broker
//! answers on the wire; mosquitto stands for itself.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::BrokerUrl,
    mqtt::{Topics, look::holder},
    sim::pty::Pty,
};

use crate::{
    broker::{Mosquitto, PATIENCE, free_port},
    certificates::certificates,
    hall::fixture,
    station::broker as plain,
};

/// Something that answers whoever connects with `answer`, and hangs up.
fn answering(answer: &'static [u8]) -> BrokerUrl {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mqtt://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer);
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
    });
    url.parse().unwrap()
}

/// What `check --connect` hears of a broker.
async fn refusal(url: &BrokerUrl) -> Result<(), String> {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let broker = plain(vec![url.clone()]);
    let found = holder(&broker, url, &topics, Duration::from_secs(20)).await;
    found.map(|_| ())
}

const HTTP: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request";

/// Brokers that are no good: who they are, what they answer to a connection, and what is said of them.
pub const UNFIT: [(&str, &[u8], &[&str]); 10] = [
    ("NATS", &[0x20, 2, 0, 1], &["MQTT 3.1.1 only", "needs MQTT 5"]),
    ("RabbitMQ 3.10", &[], &["MQTT 3.1.1 only", "needs MQTT 5"]),
    (
        "a web server",
        HTTP,
        &[
            "a web server answers at port",
            "`urls` under [broker] names a wrong",
        ],
    ),
    ("version", &[0x20, 3, 0, 0x84, 0], &["MQTT 3.1.1 only"]),
    (
        "retain refused",
        &[0x20, 3, 0, 0x9a, 0],
        &["RetainNotSupported", "allow `retain`"],
    ),
    (
        "QoS 1 refused",
        &[0x20, 3, 0, 0x9b, 0],
        &["QoSNotSupported", "allow QoS 1"],
    ),
    ("no retain", &[0x20, 5, 0, 0, 2, 0x25, 0], &["allow `retain`"]),
    ("no QoS 1", &[0x20, 5, 0, 0, 2, 0x24, 0], &["allow QoS 1"]),
    (
        "packets of 20 bytes",
        &[0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 20],
        &["no packets above 20 bytes", "allow 4096", "`max_packet_size`"],
    ),
    ("busy", &[0x20, 3, 0, 0x89, 0], &["too much to do"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_says_what_is_wrong_and_what_to_do() {
    for (name, answer, words) in UNFIT {
        let url = answering(answer);
        let said = refusal(&url).await.expect_err(name);
        for word in words {
            assert!(said.contains(word), "{name}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_allows_no_retain_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "retain_available false\n");
    let url = mosquitto.url();
    assert!(
        refusal(&url)
            .await
            .expect_err("no use")
            .contains("allow `retain` there")
    );
}

/// Not even the last short form of an event has room there.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_takes_too_small_packets_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start_with(folder.path(), "allow_anonymous true\nmax_packet_size 300", "");
    let said = refusal(&mosquitto.url()).await.expect_err("no use");
    for words in ["no packets above 300 bytes", "allow 4096", "`max_packet_size`"] {
        assert!(said.contains(words), "{said}");
    }
}

/// mosquitto with a certificate of `folder`, in a folder of its own.
fn server(folder: &Path, certificate: &str, more: &str) -> Mosquitto {
    let at = |name: &str| folder.join(name).display().to_string();
    let own = folder.join(format!("{certificate}{}", more.len()));
    fs::create_dir(&own).unwrap();
    let (chain, key) = (
        at(&format!("{certificate}.pem")),
        at(&format!("{certificate}.key")),
    );
    let listener = format!("cafile {}\ncertfile {chain}\nkeyfile {key}\n{more}", at("ca.pem"));
    Mosquitto::start(&own, &listener)
}

/// What the log of a daemon says of its broker, at the level that it has by default.
fn log_line(folder: &Path, port: u16, ca: &str) -> String {
    let own = tempfile::tempdir_in(folder).unwrap();
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtts://localhost:{port}\"]\nca_file = \"{}\"\n[journal]\npath = \"j.sqlite\"\n\
         [[board]]\nid = \"1\"\nport = \"usb:1\"\n",
        folder.join(ca).display()
    );
    let config = own.path().join("dgt2mqtt.toml");
    fs::write(&config, text).unwrap();
    let log = own.path().join("log");
    let mut daemon = daemon(&mut Command::new(env!("CARGO_BIN_EXE_dgt2mqtt")), &config, &log);
    let found = |text: &str| {
        let mut lines = text.lines();
        lines
            .find(|line| line.contains("no broker at"))
            .map(str::to_owned)
    };
    let said = said(&log, &mut daemon, |text| found(text).is_some());
    found(&said).unwrap_or_else(|| panic!("nothing of its broker:\n{said}"))
}

#[test]
fn a_certificate_that_is_wrong_is_named_in_the_log_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let (good, elsewhere, over, guarded) = (
        server(folder.path(), "good", ""),
        server(folder.path(), "elsewhere", ""),
        server(folder.path(), "over", ""),
        server(folder.path(), "good", "require_certificate true\n"),
    );
    for (port, ca, words) in [
        (
            good.port,
            "stranger.pem",
            [
                "was not signed by an authority of `ca_file`",
                "put the certificate of the authority",
            ],
        ),
        (
            elsewhere.port,
            "ca.pem",
            ["another name than that in its address", "write a name there"],
        ),
        (over.port, "ca.pem", ["has expired", "renew it"]),
        (
            guarded.port,
            "ca.pem",
            ["wants a certificate of ours", "`client_cert` and `client_key`"],
        ),
    ] {
        let said = log_line(folder.path(), port, ca);
        println!("{said}");
        assert!(
            said.contains("WARN") && words.iter().all(|word| said.contains(word)),
            "{said}"
        );
    }
}

/// The daemon, started by `command`.
fn daemon(command: &mut Command, config: &Path, log: &Path) -> Child {
    let command = command
        .args(["run", "--config"])
        .arg(config)
        .stdout(Stdio::null());
    command.stderr(fs::File::create(log).unwrap()).spawn().unwrap()
}

/// The log of `daemon` once it has what is looked for, or when there is no hope; then it is ended.
fn said(log: &Path, daemon: &mut Child, has: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    let said = loop {
        let said = fs::read_to_string(log).unwrap();
        if has(&said) || Instant::now() > deadline || daemon.try_wait().unwrap().is_some() {
            break said;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let _ = daemon.kill();
    let _ = daemon.wait();
    said
}

/// A process and all that it starts; gone with the value.
struct Group(Child);

impl Group {
    fn start(command: &mut Command, log: &Path) -> Self {
        let log = fs::File::create(log).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.process_group(0).spawn().unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

fn is_there(program: &str) -> bool {
    let is_there = Path::new(program).exists();
    if !is_there {
        skipped!("there is no {program}");
    }
    is_there
}

/// What `check --connect` and `run` say of the broker at `port`, once it listens.
fn said_of(folder: &Path, port: u16) -> [String; 2] {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let log = fs::read_to_string(folder.join("broker.log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "nothing listens on {port}: {log}");
        thread::sleep(Duration::from_millis(50));
    }
    let config = folder.join("dgt2mqtt.toml");
    let capture = fixture("castling-rook-first");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:{port}\"]\n[journal]\npath = \"j.sqlite\"\n[[board]]\nid = \"1\"\nport = \"capture:{}\"\n",
        capture.display()
    );
    fs::write(&config, text).unwrap();
    let program = || Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
    let check = program()
        .args(["check", "--connect", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    assert!(!check.status.success());
    let log = folder.join("log");
    let daemon = Group::start(program().args(["run", "--config"]).arg(&config), &log);
    let said = loop {
        let said = fs::read_to_string(&log).unwrap();
        if said.contains("no broker at") {
            break said;
        }
        assert!(Instant::now() < deadline, "{said}");
        thread::sleep(Duration::from_millis(50));
    };
    drop(daemon);
    let check = [check.stdout, check.stderr].concat();
    [String::from_utf8(check).unwrap(), said]
}

fn is_told_as_older(folder: &Path, port: u16) {
    for said in said_of(folder, port) {
        assert!(
            said.contains("the broker speaks MQTT 3.1.1 only: dgt2mqtt needs MQTT 5"),
            "{said}"
        );
    }
}

#[test]
fn nats_of_the_distribution_speaks_mqtt_3_1_1_only() {
    const PROGRAM: &str = "/usr/sbin/nats-server";
    if !is_there(PROGRAM) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (port, client) = (free_port(), free_port());
    let config = folder.path().join("nats.conf");
    let text = format!(
        "host: 127.0.0.1\nport: {client}\nserver_name: test\njetstream {{ store_dir: \"{}\" }}\nmqtt {{ host: 127.0.0.1, port: {port} }}\n",
        folder.path().display()
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new(PROGRAM);
    let _nats = Group::start(command.arg("-c").arg(&config), &folder.path().join("broker.log"));
    is_told_as_older(folder.path(), port);
}

#[test]
fn rabbitmq_of_the_distribution_speaks_mqtt_3_1_1_only() {
    const VERSION: &str = "/usr/lib/rabbitmq/lib/rabbitmq_server-3.10.8/sbin/rabbitmq-server";
    if !is_there(VERSION) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [port, amqp, between_nodes, names] = [(); 4].map(|()| free_port());
    let place = |name: &str| folder.path().join(name);
    fs::write(place("plugins"), "[rabbitmq_mqtt].").unwrap();
    let text = format!("listeners.tcp.1 = 127.0.0.1:{amqp}\nmqtt.listeners.tcp.1 = 127.0.0.1:{port}\n");
    fs::write(place("rabbit.conf"), text).unwrap();
    // It would start its own, which stays.
    let mut epmd = Command::new("epmd");
    epmd.args(["-address", "127.0.0.1", "-port", &names.to_string()]);
    let _epmd = Group::start(&mut epmd, &place("epmd.log"));
    let mut command = Command::new(VERSION);
    command
        .env("HOME", folder.path())
        .env("RABBITMQ_NODENAME", format!("t{port}@localhost"))
        .env("RABBITMQ_MNESIA_BASE", place("mnesia"))
        .env("RABBITMQ_LOG_BASE", place("logs"))
        .env("RABBITMQ_CONFIG_FILE", place("rabbit.conf"))
        .env("RABBITMQ_CONF_ENV_FILE", place("none"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", place("plugins"))
        .env("RABBITMQ_PID_FILE", place("pid"))
        .env("RABBITMQ_DIST_PORT", between_nodes.to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("ERL_EPMD_PORT", names.to_string());
    let _rabbit = Group::start(&mut command, &place("broker.log"));
    is_told_as_older(folder.path(), port);
}

/// What a daemon says that has few descriptors, of a port and of its broker.
#[test]
fn a_daemon_without_descriptors_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("dgt2mqtt.toml");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let terminals: Vec<_> = (0..10).map(|_| Pty::open(None).unwrap()).collect();
    let serial = terminals.iter().zip(20..).map(|(terminal, n)| {
        format!(
            "[[board]]\nid = \"{n}\"\nport = \"{}\"\n",
            terminal.path().display()
        )
    });
    let boards: String = (0..20)
        .map(|n| {
            format!("[[board]]\nid = \"{n}\"\nport = \"tcp://127.0.0.1:9\"\n")
                .replace(":9\"", &format!(":{}\"", 20_000 + n))
        })
        .chain(serial)
        .collect();
    let listeners: Vec<_> = (20_000..20_020)
        .filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok())
        .collect();
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[journal]\npath = \"j.sqlite\"\n{boards}"
    );
    fs::write(&config, text).unwrap();
    let log = folder.path().join("log");
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--nofile=24:24", env!("CARGO_BIN_EXE_dgt2mqtt")]);
    let mut daemon = daemon(&mut prlimit, &config, &log);
    // Thirty boards, and what a gateway needs besides.
    let meant = "too many open files: limit 24, needed about 70";
    // A terminal that cannot be opened for want of a descriptor is none without a serial line.
    let is_of_terminal = |line: &str| line.contains(meant) && line.contains("/dev/pts/");
    let said = said(&log, &mut daemon, |text| text.lines().any(is_of_terminal));
    drop(listeners);
    assert!(said.contains("LimitNOFILE"), "{said}");
    assert!(!said.contains("not one with a serial line"), "{said}");
}
