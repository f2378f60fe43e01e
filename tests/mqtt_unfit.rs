//! Brokers that are no good to us: what is said of each names the cause and the remedy. Each is what such a broker
//! answers on the wire; mosquitto stands for itself.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, dead_code)] // a test, with tasks of its own.

mod broker;

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use broker::{Mosquitto, PATIENCE, broker as plain};
use dgt2mqtt::{config::BrokerUrl, mqtt::rumqtt::probe};

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
        let said = probe(&plain(vec![url.clone()]), &url, Duration::from_secs(20)).await;
        let said = said.expect_err(name);
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
    let said = probe(&plain(vec![url.clone()]), &url, Duration::from_secs(20)).await;
    assert!(said.expect_err("no use").contains("allow `retain` there"));
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
    let mut daemon = Command::new("prlimit")
        .arg("--nofile=24:24")
        .arg(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .args(["run", "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    let said = loop {
        let said = fs::read_to_string(&log).unwrap();
        if said.contains("its limit is 24")
            || Instant::now() > deadline
            || daemon.try_wait().unwrap().is_some()
        {
            break said;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let _ = daemon.kill();
    let _ = daemon.wait();
    drop(listeners);
    assert!(
        said.contains("its limit is 24") && said.contains("LimitNOFILE"),
        "{said}"
    );
}
