//! A place that is away, and one that does not want what it is told.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};
use tokio::{net::TcpSocket, time::timeout};

use super::*;
use crate::{
    config::{AlertForm, Language},
    event::{Certainty, Event},
    journal::{Entry, Journal, JournalSettings, KnownNumbers},
};

/// The quarter of an hour in the time of these tests.
const OLDEST: i64 = 1_500;
const PATIENCE: Duration = Duration::from_secs(60);

const TAKEN: &str = "200 OK";
const BROKEN: &str = "500 Internal Server Error";

/// Answers each message with the status that `answer` has for its kind, and tells the messages that came.
fn webhook(
    listener: TcpListener,
    mut answer: impl FnMut(&str) -> &'static str + Send + 'static,
) -> Receiver<Value> {
    let (sender, messages) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            let status = answer(message["kind"].as_str().unwrap());
            // Before the answer: whoever has that finds the message.
            if sender.send(message).is_err() {
                return;
            }
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.get_mut().write_all(head.as_bytes()).unwrap();
        }
    });
    messages
}

/// The kinds of the messages that came.
fn kinds(messages: &Receiver<Value>) -> Vec<String> {
    let messages = messages.try_iter();
    messages
        .map(|message| message["kind"].as_str().unwrap().to_owned())
        .collect()
}

fn teller(folder: &Path, port: u16) -> Teller {
    let alert = AlertConfig {
        form: AlertForm::Webhook,
        server: format!("http://127.0.0.1:{port}"),
        path: "/".to_owned(),
        token: None,
        ca_file: None,
        certainty: Certainty::Suspected,
        kinds: Vec::new(),
        language: Language::En,
    };
    let began = Instant::now().into_std();
    Teller {
        key: alert.key(),
        place: Recipient::new(&alert),
        alert,
        path: folder.join("journal.sqlite"),
        position: 0,
        told: ToldAlerts::default(),
        refused: RefusedAlerts::default(),
        began,
        taken: Taken::begin(began, wall_ms(), 0),
        written: 0,
        news: watch::channel(0).1,
        oldest_ms: OLDEST,
        failing: false,
        stale: 0,
    }
}

/// What the journal has of an event at a position, since just now.
fn news(position: u64, event: &Event) -> AlertNews {
    let about = event.body.concerns().unwrap_or(&event.id);
    AlertNews {
        position,
        written_ms: wall_ms(),
        event: event.clone(),
        about: Some(about.to_owned()),
    }
}

/// An irregularity.
fn said() -> Event {
    let text = include_str!("../../fixtures/illegal-stands-rapid.jsonl");
    let mut events = text
        .lines()
        .map(|line| serde_json::from_str::<Event>(line).unwrap());
    events
        .find(|event| matches!(event.body, Body::Irregularity(_)))
        .unwrap()
}

/// The same as the first event of its board.
fn said_first() -> Event {
    Event {
        seq: 1,
        id: "gw/1/1".to_owned(),
        ..said()
    }
}

/// What became of one.
fn became(of: &Event, fields: &Value) -> Event {
    let mut event = json!({ "v": 1, "id": "gw/1/99", "seq": 99, "board": "1", "game": 1, "t": 9.0, "time": null,
        "irregularity": of.id });
    let object = event.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(event).unwrap()
}

fn dismissed(of: &Event) -> Event {
    became(
        of,
        &json!({ "type": "irregularity_resolved", "how": "dismissed" }),
    )
}

/// Sends again what was refused, until all of that is taken or given up.
async fn to_the_end(teller: &mut Teller) {
    let all = async {
        while !teller.refused.is_empty() {
            until(teller.refused.due()).await;
            teller.try_again().await;
        }
    };
    assert!(timeout(PATIENCE, all).await.is_ok(), "it is sent again and again");
}

#[tokio::test]
async fn a_message_that_a_place_refuses_holds_up_no_other_and_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut teller = teller(folder.path(), listener.local_addr().unwrap().port());
    // A busy machine sends it twice in that time, too.
    teller.oldest_ms = 4 * OLDEST;
    let messages = webhook(listener, |kind| match kind {
        "irregularity_resolved" => BROKEN,
        _ => TAKEN,
    });
    let said = said();
    teller.consider(news(1, &said)).await;
    teller.consider(news(2, &dismissed(&said))).await;
    let other = Event {
        id: "gw/1/100".to_owned(),
        ..said
    };
    teller.consider(news(3, &other)).await;
    assert_eq!(
        kinds(&messages),
        ["illegal_move", "irregularity_resolved", "illegal_move"],
        "the other one does not wait"
    );
    to_the_end(&mut teller).await;
    let again = kinds(&messages);
    assert!(!again.is_empty(), "the first refusal is not the last word");
    assert!(
        again.iter().all(|kind| kind == "irregularity_resolved"),
        "{again:?}"
    );
}

#[tokio::test]
async fn of_one_irregularity_a_place_hears_in_order_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut broken = 2;
    let messages = webhook(listener, move |kind| {
        let is_broken = kind == "irregularity_resolved" && broken > 0;
        broken -= i32::from(is_broken);
        if is_broken { BROKEN } else { TAKEN }
    });
    let (journal, _) = Journal::open(JournalSettings::at(&path), "gw").unwrap();
    let said = said_first();
    let reopened = became(&said, &json!({ "type": "irregularity_reopened", "open": true }));
    let events = [said.clone(), dismissed(&said), reopened];
    let events = (1..).zip(events).map(|(seq, event)| Event {
        seq,
        id: format!("gw/1/{seq}"),
        ..event
    });
    write(&journal, events.collect()).await;

    let mut first = teller(folder.path(), port);
    for news in read::batch(&path, 0, BATCH).unwrap() {
        first.consider(news).await;
    }
    assert_eq!(kinds(&messages), ["illegal_move", "irregularity_resolved"]);
    drop(first);
    let mut second = teller(folder.path(), port);
    second.oldest_ms = OLDEST_MS;
    assert_eq!(second.begin(3).await, 3, "the file says what was told");
    to_the_end(&mut second).await;
    assert_eq!(
        kinds(&messages),
        [
            "irregularity_resolved",
            "irregularity_resolved",
            "irregularity_reopened"
        ]
    );
}

#[tokio::test]
async fn a_place_hears_what_is_written_before_a_busy_machine_comes_to_telling() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let alert = teller(folder.path(), listener.local_addr().unwrap().port()).alert;
    let messages = webhook(listener, |_| TAKEN);
    let (journal, _) = Journal::open(JournalSettings::at(&path), "gw").unwrap();
    let stop = CancellationToken::new();
    let telling = tell(alert, path, journal.news(), stop.clone());
    write(&journal, vec![said_first()]).await;
    let telling = tokio::spawn(telling);
    let heard = tokio::task::spawn_blocking(move || messages.recv_timeout(PATIENCE));
    let heard = heard.await.unwrap().expect("a message");
    assert_eq!(heard["kind"], "illegal_move");
    stop.cancel();
    telling.await.unwrap();
}

async fn write(journal: &Journal, events: Vec<Event>) {
    let entry = Entry {
        board: "1".to_owned(),
        events,
        ..Entry::default()
    };
    journal.append(entry).await.await.unwrap();
}

#[tokio::test]
async fn a_place_hears_of_an_irregularity_whose_number_has_jumped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut teller = teller(folder.path(), listener.local_addr().unwrap().port());
    let messages = webhook(listener, |_| TAKEN);
    let (journal, _) = Journal::open(JournalSettings::at(&path), "gw").unwrap();
    let said = said_first();
    write(&journal, vec![said]).await;
    for news in read::batch(&path, 0, BATCH).unwrap() {
        teller.consider(news).await;
    }
    // Phones are faster than the broker. That knows higher numbers: the journal was restored.
    let known = KnownNumbers {
        last: 40,
        ..KnownNumbers::default()
    };
    let settled = journal
        .reconcile(Some(BTreeMap::from([("1".to_owned(), known)])))
        .await;
    journal.lift().await;
    settled.await.unwrap();
    let lifted = read::batch(&path, 0, BATCH).unwrap().remove(0);
    assert_ne!(lifted.event.id, "gw/1/1");
    let seq = journal.resume("1").await.last_seq + 1;
    let dismissed = Event {
        seq,
        id: format!("gw/1/{seq}"),
        ..dismissed(&lifted.event)
    };
    write(&journal, vec![dismissed]).await;
    for news in read::batch(&path, lifted.position, BATCH).unwrap() {
        teller.consider(news).await;
    }
    let told: Vec<_> = messages
        .try_iter()
        .map(|message| (message["kind"].clone(), message["irregularity"].clone()))
        .collect();
    let first = json!("gw/1/1");
    assert_eq!(
        told,
        [
            (json!("illegal_move"), first.clone()),
            (json!("irregularity_resolved"), first)
        ]
    );
}

/// The journal was lost, and another irregularity has the number of one that was told.
#[tokio::test]
async fn what_becomes_of_an_irregularity_is_not_told_of_another_that_had_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut teller = teller(folder.path(), listener.local_addr().unwrap().port());
    let messages = webhook(listener, |_| TAKEN);
    let said = said();
    teller.consider(news(1, &said)).await;
    let mut other = said.clone();
    let Body::Irregularity(irregularity) = &mut other.body else {
        panic!("{other:?}")
    };
    irregularity.certainty = Certainty::Suspected;
    teller.alert.certainty = Certainty::Probable;
    teller.consider(news(1, &other)).await;
    teller.consider(news(2, &dismissed(&other))).await;
    assert_eq!(
        kinds(&messages),
        ["illegal_move"],
        "the place was not told of the other"
    );
}

#[tokio::test]
async fn a_place_that_was_away_hears_what_changed_however_late() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody else gets its port before it comes.
    let place = TcpSocket::new_v4().unwrap();
    place.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut teller = teller(folder.path(), place.local_addr().unwrap().port());
    let said = said();
    teller.told.note(&news(1, &said), Language::En);
    let comes = async {
        sleep(Duration::from_millis(2 * OLDEST.unsigned_abs())).await;
        let listener = place.listen(16).unwrap().into_std().unwrap();
        listener.set_nonblocking(false).unwrap();
        webhook(listener, |_| TAKEN)
    };
    let long_ago = AlertNews {
        written_ms: wall_ms() - 10 * OLDEST,
        ..news(2, &dismissed(&said))
    };
    let considered = timeout(PATIENCE, teller.consider(long_ago));
    let (considered, messages) = tokio::join!(considered, comes);
    assert!(considered.is_ok(), "it does not come");
    assert_eq!(kinds(&messages), ["irregularity_resolved"]);
}

#[tokio::test]
async fn a_wall_clock_that_is_set_makes_no_message_older() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut teller = teller(folder.path(), listener.local_addr().unwrap().port());
    let messages = webhook(listener, |_| TAKEN);
    let said = said();
    // When the machine came up it did not know the day.
    let day_unknown = 978_307_200_000;
    (teller.taken, teller.written) = (Taken::begin(teller.began, day_unknown, 7), 7);
    let at = |position, written_ms| AlertNews {
        written_ms,
        ..news(position, &said)
    };
    teller.consider(at(7, day_unknown - 10 * OLDEST)).await;
    assert!(kinds(&messages).is_empty(), "it was old at the start");
    teller.consider(at(8, day_unknown)).await;
    assert_eq!(kinds(&messages), ["illegal_move"]);
}
