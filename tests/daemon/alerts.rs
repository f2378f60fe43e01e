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
    let (simulator, config) = playing(folder.path(), mosquitto.port, "7", &path, &["--speed", "2"]);
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
            .filter_map(|path| fs::read_to_string(path).ok())
            .filter(|note| !note.contains("\"refused\""))
            .filter_map(|note| note.lines().next()?.parse::<u64>().ok())
            .filter(|position| *position >= case["seq"].as_u64().unwrap())
            .count()
    };
    until("three notes", PATIENCE, || (noted() >= 3).then_some(()));
    daemon.kill();
    drop(simulator);
    let daemon = Daemon::start(&config);
    let report = |reference: &str| format!("{{\"ref\":\"{reference}\",\"kind\":\"illegal_move\",\"ply\":1}}");
    subscriber
        .until("the daemon again", || {
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

/// Whoever was alerted hears that it is off, over a kill of the daemon too, and nobody else does.
#[tokio::test(flavor = "multi_thread")]
async fn a_phone_hears_that_what_it_was_told_is_off() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/#").await;
    let path = fixture("illegal-second-loses");
    let (webhook, hooked) = lichess::server(vec![OK], None);
    let (ntfy, phoned) = lichess::server(vec![OK], None);
    let (other, unasked) = lichess::server(vec![OK], None);
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "7", &path, &["--speed", "4"]);
    let text = fs::read_to_string(&config).unwrap();
    let text = format!(
        "{text}[[alert]]\nform = \"webhook\"\nurl = \"http://127.0.0.1:{webhook}/hook\"\n\
         [[alert]]\nform = \"ntfy\"\nurl = \"http://127.0.0.1:{ntfy}/hall-9\"\nlanguage = \"ru\"\nkinds = [\"illegal_move\", \"press_without_move\"]\n\
         [[alert]]\nform = \"webhook\"\nurl = \"http://127.0.0.1:{other}/\"\nkinds = [\"two_hands\"]\n"
    );
    fs::write(&config, &text).unwrap();
    let daemon = Daemon::start(&config);
    let case = |seen: Vec<Value>| {
        let subscriber = &subscriber;
        async move {
            let found = subscriber.wait("an irregularity", move |got| {
                got.topic.ends_with("/7/event/irregularity") && !seen.contains(&got.json()["id"])
            });
            found.await.json()["id"].clone()
        }
    };
    let irregularities = |place: &Receiver<Got>| loop {
        let told = body(&next(place));
        if told["irregularity"].is_string() || told["topic"].is_string() {
            return told;
        }
    };
    let first = case(vec![]).await;
    let alerted = irregularities(&hooked);
    assert_eq!(
        (&alerted["irregularity"], &alerted["event"]["id"]),
        (&first, &first)
    );
    let phone = irregularities(&phoned);
    assert_eq!(phone["tags"][1], first);
    let send = |verb: &str, payload: String| {
        let topic = format!("dgt2mqtt/gw/board/7/cmd/{verb}");
        let subscriber = &subscriber;
        async move { subscriber.publish(&topic, false, payload, None).await }
    };

    // A second illegal move loses. That the first was put right is no news.
    let second = case(vec![first.clone()]).await;
    let loss = irregularities(&hooked);
    assert_eq!(
        (&loss["irregularity"], &loss["event"]["ruling"]["penalty"]["kind"]),
        (&second, &"loss".into())
    );
    assert_eq!(irregularities(&phoned)["tags"][1], second);

    let noted = || {
        let files = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let notes = files.filter(|path| path.to_string_lossy().contains(".alerted-"));
        let id = second.as_str().unwrap();
        notes
            .filter(|path| fs::read_to_string(path).unwrap_or_default().contains(id))
            .count()
    };
    until("two notes", PATIENCE, || (noted() >= 2).then_some(()));
    daemon.kill();
    let daemon = Daemon::start(&config);
    subscriber
        .until("the daemon again", || {
            let births = subscriber.all().into_iter();
            births
                .filter(|got| got.topic == "dgt2mqtt/gw/status" && got.text() == "online")
                .count()
                == 2
        })
        .await;
    send(
        "dismiss",
        format!(r#"{{"ref":"b","irregularity":{first},"sender":"Anna"}}"#),
    )
    .await;
    // Of the first it is off, of the second the penalty is another: there was one illegal move.
    let mut told = [irregularities(&hooked), irregularities(&hooked)];
    told.sort_by_key(|told| told["kind"].to_string());
    assert_eq!(
        told.each_ref().map(|told| (&told["kind"], &told["irregularity"])),
        [
            (&"irregularity_resolved".into(), &first),
            (&"ruling_amended".into(), &second)
        ]
    );
    let title = |told: &Value| told["title"].as_str().unwrap().to_owned();
    assert_eq!(title(&told[0]), title(&alerted).replace("7: ", "7: Off: "));
    assert!(
        told[0]["text"]
            .as_str()
            .unwrap()
            .ends_with("does not count. By Anna."),
        "{}",
        told[0]
    );
    assert!(
        title(&told[1]).starts_with("Board 7: Other penalty: "),
        "{}",
        told[1]
    );
    let penalty = &told[1]["event"]["ruling"]["penalty"];
    assert_eq!(
        (&penalty["kind"], &penalty["seconds"]),
        (&"time".into(), &120.into())
    );
    let phones = [irregularities(&phoned), irregularities(&phoned)];
    let mut titles = phones.each_ref().map(title);
    titles.sort();
    assert!(titles[0].starts_with("Доска 7: Другое наказание: "), "{titles:?}");
    assert_eq!(titles[1], title(&phone).replace("7: ", "7: Снято: "));

    // It was no mistake after all.
    send("reopen", format!(r#"{{"ref":"c","irregularity":{first}}}"#)).await;
    assert_eq!(
        title(&irregularities(&hooked)),
        title(&alerted).replace("7: ", "7: Again: ")
    );
    assert!(daemon.stop());
    let rest: Vec<_> = unasked.try_iter().map(|got| got.body).collect();
    assert_eq!(rest, [""; 0]);
}
