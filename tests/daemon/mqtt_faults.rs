//! Brokers that refuse, say nothing, cut in mid-packet or acknowledge nothing; TLS; passwords; the will.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use dgt2mqtt::{
    config::{BrokerUrl, Login, Secret, Tls},
    mqtt::{Topics, look::holder},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    seed,
    station::{Station, broker as plain},
};

/// CONNACK: accepted; receive maximum 4.
const ACCEPT: [u8; 8] = [0x20, 0x06, 0x00, 0x00, 0x03, 0x21, 0x00, 0x04];
/// CONNACK: not authorised.
const REFUSE: [u8; 5] = [0x20, 0x03, 0x00, 0x87, 0x00];

/// A broker that says one thing to each connection and then nothing more.
async fn mute(first_words: &'static [u8]) -> BrokerUrl {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url(&listener);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(first_words).await.unwrap();
            open.push(stream);
        }
    });
    url
}

fn url(listener: &TcpListener) -> BrokerUrl {
    format!("mqtt://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap()
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn from_a_broker_that_refuses_and_one_that_never_answers_to_one_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let urls = vec![mute(&REFUSE).await, mute(&[]).await, mosquitto.url()];
    let station = Station::start(folder.path(), plain(urls));
    station.feed("7", 1..=3).await;
    station.delivered().await;
    assert_eq!(station.handle.figures().broker, Some(mosquitto.url().to_string()));
    station.shut_down().await;
}

#[tokio::test]
async fn a_refusal_is_told_so_that_a_person_can_act() {
    let folder = tempfile::tempdir().unwrap();
    let station = Station::start(folder.path(), plain(vec![mute(&REFUSE).await]));
    until("the refusal", || station.handle.figures().last_error.is_some()).await;
    let error = station.handle.figures().last_error.unwrap();
    assert!(
        error.contains("NotAuthorized") && error.contains("password"),
        "{error}"
    );
    station.shut_down().await;
}

#[tokio::test]
async fn a_broker_that_acknowledges_nothing_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let url = mute(&ACCEPT).await;
    let station = Station::start_patient(folder.path(), plain(vec![url]), Duration::from_secs(1));
    station.feed("7", 1..=3).await;
    until("a second connection", || station.handle.figures().connects >= 2).await;
    assert_eq!(station.journal.tick().await.depth, 3, "kept");
    station.shut_down().await;
}

/// Stands before a broker and cuts each of the first connections after a few more bytes.
async fn cutter(target: u16, cuts: Vec<usize>) -> BrokerUrl {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url(&listener);
    tokio::spawn(async move {
        let mut cuts = cuts.into_iter();
        while let Ok((mut client, _)) = listener.accept().await {
            let mut left = cuts.next().unwrap_or(usize::MAX);
            let mut server = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
            tokio::spawn(async move {
                let (mut up, mut down) = ([0; 512], [0; 512]);
                loop {
                    tokio::select! {
                        count = client.read(&mut up) => match count {
                            Ok(count @ 1..) => {
                                let count = count.min(left);
                                left -= count;
                                if server.write_all(&up[..count]).await.is_err() || left == 0 {
                                    return;
                                }
                            }
                            _ => return,
                        },
                        count = server.read(&mut down) => match count {
                            Ok(count @ 1..) => {
                                if client.write_all(&down[..count]).await.is_err() {
                                    return;
                                }
                            }
                            _ => return,
                        },
                    }
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn cuts_in_mid_packet_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/+/event/#").await;
    let mut rng = seed::rng();
    // In the handshake, and among the events.
    let cuts = (0..6)
        .map(|i| {
            if i % 3 == 0 {
                rng.usize(20..400)
            } else {
                rng.usize(400..6000)
            }
        })
        .collect();
    let station = Station::start(folder.path(), plain(vec![cutter(mosquitto.port, cuts).await]));
    station.feed("7", 1..=120).await;
    station.delivered().await;
    subscriber
        .wait("the last event", |got| got.json()["seq"] == 120)
        .await;
    assert_eq!(subscriber.numbers("7"), (1..=120).collect::<Vec<_>>());
    station.shut_down().await;
}

#[tokio::test]
async fn the_will_speaks_when_the_daemon_dies() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/status").await;
    let station = Station::start(folder.path(), plain(vec![mosquitto.url()]));
    subscriber.wait("online", |got| got.text() == "online").await;
    station.task.abort();
    subscriber.wait("offline", |got| got.text() == "offline").await;
}

#[tokio::test]
async fn a_probe_tells_whether_the_broker_takes_us_and_says_nothing_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let broker = plain(vec![]);
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let works = holder(&broker, &mosquitto.url(), &topics, PATIENCE).await;
    assert_eq!(works, Ok(None));
    let refused = holder(&broker, &mute(&REFUSE).await, &topics, PATIENCE)
        .await
        .unwrap_err();
    assert!(refused.contains("NotAuthorized"), "{refused}");
    let short = Duration::from_secs(2);
    let silent = holder(&broker, &mute(&[]).await, &topics, short)
        .await
        .unwrap_err();
    assert!(silent.contains("in time"), "{silent}");
    assert!(subscriber.all().is_empty());
}

#[tokio::test]
async fn user_and_password() {
    let folder = tempfile::tempdir().unwrap();
    let passwords = folder.path().join("passwords");
    let made = Command::new("mosquitto_passwd")
        .args(["-b", "-c"])
        .arg(&passwords)
        .args(["hall", "correct horse"])
        .status();
    assert!(made.unwrap().success());
    let access = format!("allow_anonymous false\npassword_file {}", passwords.display());
    let mosquitto = Mosquitto::start_with(folder.path(), &access, "");
    let login = |password: &str| Login {
        username: "hall".to_owned(),
        password: Some(Secret::new(password)),
    };
    let mut wrong = plain(vec![mosquitto.url()]);
    wrong.login = Some(login("wrong"));
    let station = Station::start(folder.path(), wrong);
    until("the refusal", || station.handle.figures().last_error.is_some()).await;
    let error = station.handle.figures().last_error.unwrap();
    assert!(error.contains("refused") && !error.contains("wrong"), "{error}");
    station.shut_down().await;
    let mut right = plain(vec![mosquitto.url()]);
    right.login = Some(login("correct horse"));
    let station = Station::start(folder.path(), right);
    station.connected().await;
    station.shut_down().await;
}

fn openssl(folder: &Path, args: &str) {
    let status = Command::new("openssl")
        .args(args.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::null())
        .status();
    assert!(
        status.expect("these tests need openssl").success(),
        "openssl {args}"
    );
}

/// An authority of our own, a server and a client certificate by it.
fn certificates(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    std::fs::write(folder.join("san"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
    for ca in ["ca", "other"] {
        openssl(
            folder,
            &format!("req -x509 {key} -days 2 -keyout {ca}.key -out {ca}.pem -subj /CN={ca}"),
        );
    }
    for name in ["server", "client"] {
        openssl(
            folder,
            &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"),
        );
        openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san -out {name}.pem"
            ),
        );
    }
}

#[tokio::test]
async fn tls_with_our_own_authority_and_not_with_another() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name);
    let listener = format!(
        "cafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate true",
        at("ca.pem").display(),
        at("server.pem").display(),
        at("server.key").display()
    );
    let mosquitto = Mosquitto::start(folder.path(), &listener);
    let tls = |ca: &str| {
        let mut broker = plain(vec![
            format!("mqtts://localhost:{}", mosquitto.port).parse().unwrap(),
        ]);
        broker.tls = Some(Tls {
            ca_file: at(ca),
            client: Some(dgt2mqtt::config::ClientCertificate {
                certificate: at("client.pem"),
                key: at("client.key"),
            }),
        });
        broker
    };
    let station = Station::start(folder.path(), tls("other.pem"));
    until("the refusal", || station.handle.figures().last_error.is_some()).await;
    let error = station.handle.figures().last_error.unwrap();
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(station.handle.figures().connects, 0);
    station.shut_down().await;
    let station = Station::start(folder.path(), tls("ca.pem"));
    station.feed("7", 1..=3).await;
    station.delivered().await;
    station.shut_down().await;
    let mut without = tls("ca.pem");
    without.tls.as_mut().unwrap().client = None;
    let station = Station::start(folder.path(), without);
    until("the refusal", || station.handle.figures().last_error.is_some()).await;
    station.shut_down().await;
}
