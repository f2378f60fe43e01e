//! What an arbiter must hear of reaches a phone: by a webhook or by ntfy, again where it is not taken, once where it is.

use std::{fs, sync::mpsc::Receiver};

use serde_json::Value;

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::{self, Daemon, fixture, playing, until},
    lichess::{self, Got},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";
const WRONG: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 17\r\n\r\nno topic s3cr3t-x";

fn body(got: &Got) -> Value {
    serde_json::from_str(&got.body).unwrap()
}

/// The next message.
fn next(place: &Receiver<Got>) -> Got {
    place.recv_timeout(PATIENCE).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_irregularity_reaches_every_phone_that_wants_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let path = fixture("illegal-stands-rapid");
    // One is busy at first, and hangs up then; one takes all; one has moved; one wants notices alone.
    let (webhook, hooked) = lichess::server(vec![BUSY, "", OK], None);
    let (ntfy, phoned) = lichess::server(vec![OK], None);
    let (gone, refused) = lichess::server(vec![WRONG], None);
    let (quiet, unasked) = lichess::server(vec![OK], None);
    fs::write(folder.path().join("ntfy-token"), "tk_hunter2\n").unwrap();
    let (simulator, config) = playing(folder.path(), mosquitto.port, "7", &path, &["--speed", "4"]);
    let text = fs::read_to_string(&config).unwrap();
    let text = format!(
        "{text}[[alert]]\nform = \"webhook\"\nurl = \"http://127.0.0.1:{webhook}/hook?x=1\"\ncertainty = \"certain\"\nkinds = [\"illegal_move\"]\n\
         [[alert]]\nform = \"ntfy\"\nurl = \"http://127.0.0.1:{ntfy}/sub/hall-9\"\ntoken_file = \"ntfy-token\"\nlanguage = \"ru\"\n\
         [[alert]]\nform = \"ntfy\"\nurl = \"http://127.0.0.1:{gone}/s3cr3t-x\"\nkinds = [\"illegal_move\"]\n\
         [[alert]]\nform = \"webhook\"\nurl = \"http://127.0.0.1:{quiet}/\"\nkinds = [\"notice\"]\n"
    );
    fs::write(&config, &text).unwrap();
    let daemon = Daemon::start(&config);
    let published = subscriber
        .wait("the irregularity", |got| {
            got.topic.ends_with("/7/event/irregularity")
        })
        .await
        .json();

    // A phone is told the whole, as the journal has it.
    let case = hall::journal(&config, "7")
        .into_iter()
        .find(|event| event["id"] == published["id"])
        .unwrap();

    let attempts = [next(&hooked), next(&hooked), next(&hooked)];
    assert!(
        attempts
            .iter()
            .all(|got| got.body == attempts[0].body && got.head[0] == "post /hook?x=1 http/1.1")
    );
    let told = body(&attempts[2]);
    assert_eq!(told["event"], case);
    assert_eq!(
        (&told["kind"], &told["board"], &told["certainty"]),
        (&"illegal_move".into(), &"7".into(), &"certain".into())
    );
    assert_eq!(
        told["title"],
        format!("Board 7: {}", case["text"]["en"]["title"].as_str().unwrap())
    );
    assert_eq!(told["text"], case["text"]["en"]["advice"]);

    let got = next(&phoned);
    assert_eq!(got.head[0], "post /sub http/1.1");
    assert!(
        got.head.contains(&"authorization: bearer tk_hunter2".to_owned()),
        "{:?}",
        got.head
    );
    let told = body(&got);
    assert_eq!((&told["topic"], &told["priority"]), (&"hall-9".into(), &4.into()));
    assert_eq!(
        told["title"],
        format!("Доска 7: {}", case["text"]["ru"]["title"].as_str().unwrap())
    );

    assert_eq!(body(&next(&refused))["topic"], "s3cr3t-x");
    let log = || fs::read_to_string(folder.path().join("daemon.log")).unwrap();
    until("what the server says", PATIENCE, || {
        log()
            .contains("answers 404 Not Found: no topic ...")
            .then_some(())
    });
    until("the end of the trouble", PATIENCE, || {
        log().contains("takes messages again").then_some(())
    });
    // One line for the trouble of each, whatever was tried, and no secret in any.
    assert_eq!(log().matches("a message is not taken").count(), 2, "{}", log());
    assert!(!log().contains("s3cr3t") && !log().contains("hunter2") && !log().contains("/hook"));

    // After a kill the same is not told again; what is new is, to those who want it.
    subscriber.played("7", 5).await;
    // What each place was told is on the disk: a kill before that has it told again.
    let noted = || {
        let files = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let notes = files.filter(|path| path.to_string_lossy().contains(".alerted-"));
        notes
            .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
            .filter(|position| *position >= case["seq"].as_u64().unwrap())
            .count()
    };
    until("three notes", PATIENCE, || (noted() >= 3).then_some(()));
    daemon.kill();
    drop(simulator);
    let daemon = Daemon::start(&config);
    let report = |reference: &str| format!("{{\"ref\":\"{reference}\",\"kind\":\"illegal_move\",\"ply\":1}}");
    subscriber
        .wait("the daemon again", |_| {
            let births = subscriber
                .all()
                .into_iter()
                .filter(|got| got.topic == "dgt2mqtt/gw/status" && got.text() == "online");
            births.count() == 2
        })
        .await;
    subscriber
        .publish("dgt2mqtt/gw/board/7/cmd/report", false, report("a"), None)
        .await;
    let second = subscriber
        .wait("another irregularity", |got| {
            got.topic.ends_with("/7/event/irregularity") && got.json()["id"] != case["id"]
        })
        .await
        .json();
    assert_eq!(body(&next(&hooked))["event"], second);
    assert!(daemon.stop());
    let rest: Vec<_> = unasked
        .try_iter()
        .chain(refused.try_iter().skip(1))
        .map(|got| got.body)
        .collect();
    assert_eq!(rest, [""; 0]);
}
