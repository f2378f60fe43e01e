//! Brokers that are no good to us: what is said of each names the cause and the remedy. Each is what such a broker
//! answers on the wire; mosquitto stands for itself.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, dead_code)] // a test, with tasks of its own.

mod broker;
mod certificates;

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use broker::{Mosquitto, PATIENCE, broker as plain};
use certificates::certificates;
use dgt2mqtt::{
    config::BrokerUrl,
    mqtt::{Topics, look::holder},
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

#[tokio::test(flavor = "multi_thread")]
async fn each_says_what_is_wrong_and_what_to_do() {
    const HTTP: &[u8] =
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request";
    let cases: [(&str, &[u8], &[&str]); 9] = [
        ("NATS", &[0x20, 2, 0, 1], &["MQTT 3.1.1 only", "needs MQTT 5"]),
        ("RabbitMQ 3.10", &[], &["MQTT 3.1.1 only", "needs MQTT 5"]),
        ("a web server", HTTP, &["web server", "needs MQTT 5"]),
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
        ("busy", &[0x20, 3, 0, 0x89, 0], &["too much to do"]),
    ];
    for (name, answer, words) in cases {
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

/// What a daemon says that has few descriptors, of a port and of its broker.
#[test]
fn a_daemon_without_descriptors_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("dgt2mqtt.toml");
    let boards: String = (0..30)
        .map(|n| {
            format!("[[board]]\nid = \"{n}\"\nport = \"tcp://127.0.0.1:9\"\n")
                .replace(":9\"", &format!(":{}\"", 20_000 + n))
        })
        .collect();
    let listeners: Vec<_> = (20_000..20_030)
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
    let said = said(&log, &mut daemon, |text| text.contains("its limit is 24"));
    drop(listeners);
    assert!(
        said.contains("its limit is 24") && said.contains("LimitNOFILE"),
        "{said}"
    );
}
