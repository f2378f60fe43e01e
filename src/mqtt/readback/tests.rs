use super::*;
use crate::journal::{Entry, JournalSettings};

fn arrived(topic: String, payload: &'static str) -> Arrived {
    Arrived {
        topic,
        payload: payload.into(),
        retain: true,
        response_topic: None,
        correlation: None,
        speaker: None,
    }
}

fn game(board: &str) -> Arrived {
    let topic = format!("dgt2mqtt/gw/board/{board}/game");
    arrived(topic, r#"{"last_seq":5,"game":1}"#)
}

/// How many connections in a row that end in the question have a message to ourselves.
fn echoes(readback: &mut ReadBack) -> usize {
    (0..10).take_while(|_| readback.begin(Instant::now())).count()
}

#[test]
fn a_broker_that_let_us_hear_ourselves_is_asked_again_though_a_connection_ended() {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let echo = arrived(topics.echo(), "");
    assert_eq!(
        echoes(&mut ReadBack::default()),
        1,
        "it may hang up on the message"
    );
    let mut readback = ReadBack::default();
    readback.begin(Instant::now());
    readback.take(&topics, &echo, &[], Instant::now());
    assert_eq!(echoes(&mut readback), 8, "until it goes on");
    readback.finish();
    assert_eq!(
        echoes(&mut readback),
        8,
        "a connection lasted without the message"
    );
    readback.take(&topics, &echo, &[], Instant::now());
    readback.do_without_echo();
    assert_eq!(echoes(&mut readback), 0, "it said that it was the message");
}

/// A line may stand still just after the broker has accepted the connection, and just after it has acknowledged.
#[test]
fn the_wait_for_ourselves_begins_when_the_broker_has_acknowledged_and_ends_with_its_answer() {
    let start = Instant::now();
    let late = start + 20 * SILENCE;
    let mut readback = ReadBack::default();
    assert!(readback.begin(start));
    readback.subscribed(late);
    assert!(!readback.asks(late + SILENCE), "the session leaves");
    readback.echoed(late);
    assert!(!readback.asks(late + SILENCE / 2));
    assert!(readback.asks(late + SILENCE) && !readback.has_heard(late + SILENCE));
    readback.asked(late + SILENCE);
    assert!(!readback.asks(late + 9 * SILENCE) && !readback.has_heard(late + 9 * SILENCE));
    assert_eq!(readback.owes_since(), Some(late + SILENCE), "the session leaves");
    readback.answered();
    assert!(readback.has_heard(late + SILENCE) && readback.is_deaf);
    let mut without = ReadBack::default();
    without.do_without_echo();
    assert!(!without.begin(start) && !without.asks(late));
    without.subscribed(late);
    assert!(without.asks(late + SILENCE));
    without.asked(late + SILENCE);
    without.answered();
    assert!(without.has_heard(late + SILENCE) && !without.is_deaf);
}

/// It keeps back what it retains beyond so many messages, until we have acknowledged those.
#[test]
fn what_comes_before_the_brokers_answer_puts_the_end_off() {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let start = Instant::now();
    let later = |silences| start + silences * SILENCE;
    let mut readback = ReadBack::default();
    readback.begin(start);
    readback.subscribed(start);
    readback.echo_refused(start);
    assert!(!readback.has_heard(start), "a refusal ends nothing");
    readback.asked(later(1));
    readback.take(&topics, &game("7"), &[], later(2));
    readback.answered();
    assert!(!readback.has_heard(later(2)) && !readback.asks(later(2)));
    readback.asked(later(3));
    readback.answered();
    assert!(readback.has_heard(later(3)));
    assert_eq!(readback.finish().numbers().len(), 1);
    readback.begin(later(4));
    readback.echo_refused(later(4));
    assert!(readback.asks(later(4)), "it has waited for that once");
}

/// It has boards of which it does not tell, for all that we know.
#[tokio::test]
async fn a_broker_that_refuses_a_subscription_is_not_taken_for_one_that_has_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    for (is_refused, code) in [(true, Some("numbers_unknown")), (false, None)] {
        let settings = JournalSettings::at(folder.path().join(format!("{is_refused}.sqlite")));
        let (journal, _) = Journal::open(settings, "gw").unwrap();
        let event = serde_json::json!({
            "v": 1, "id": "gw/7/1", "seq": 1, "board": "7", "game": null, "t": 0.0, "time": null,
            "type": "clock_connected"
        });
        let entry = Entry {
            board: "7".to_owned(),
            events: vec![serde_json::from_value(event).unwrap()],
            ..Entry::default()
        };
        journal.append(entry).await.await.unwrap();
        let mut readback = ReadBack::default();
        readback.begin(Instant::now());
        if is_refused {
            readback.refused(Instant::now());
        }
        let info = arrived(topics.info(), r#"{"boot_id":"a"}"#);
        for told in [info, arrived(topics.echo(), "")] {
            readback.take(&topics, &told, &[], Instant::now());
        }
        assert!(readback.has_heard(Instant::now()));
        readback.compare(&journal, None);
        let mut disputed = journal.disputed();
        let said = tokio::select! {
            _ = readback.settled() => Vec::new(),
            _ = async { drop(disputed.wait_for(|is| *is).await) } => journal.lift().await,
        };
        assert_eq!(said.first().map(|notice| notice.code), code);
        journal.close().await;
    }
}

/// Where it tells of all boards before, nobody waits.
#[test]
fn what_a_broker_tells_just_after_our_own_message_counts() {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let boards: [Id; 2] = ["7".parse().unwrap(), "8".parse().unwrap()];
    let echo = arrived(topics.echo(), "");
    let info = arrived(topics.info(), r#"{"boot_id":"a"}"#);
    let start = Instant::now();
    let later = |ms| start + Duration::from_millis(ms);
    let mut readback = ReadBack::default();
    readback.begin(start);
    readback.take(&topics, &game("7"), &boards, start);
    readback.take(&topics, &echo, &boards, start);
    assert!(!readback.has_heard(later(900)), "it has not told of board 8");
    readback.take(&topics, &game("8"), &boards, later(900));
    assert!(!readback.has_heard(later(1_800)), "it may tell of more");
    assert_eq!(readback.due(), Some(later(1_900)));
    assert!(readback.has_heard(later(1_900)));
    assert_eq!(readback.finish().numbers().len(), 2);
    readback.begin(start);
    readback.take(&topics, &echo, &boards, start);
    assert!(readback.has_heard(start), "the numbers are compared");

    readback.forget();
    readback.begin(start);
    readback.take(&topics, &game("7"), &boards, start);
    readback.take(&topics, &game("8"), &boards, start);
    readback.take(&topics, &info, &boards, start);
    readback.take(&topics, &echo, &boards, start);
    assert!(readback.has_heard(start), "it has told of all");

    readback.begin(start);
    readback.take(&topics, &game("7"), &boards, start);
    readback.take(&topics, &game("8"), &boards, start);
    readback.take(&topics, &echo, &boards, start);
    assert!(
        !readback.has_heard(later(400)),
        "it has not told who had the name last"
    );
    readback.take(&topics, &info, &boards, later(400));
    assert!(readback.has_heard(later(1_400)));

    readback.begin(start);
    readback.take(&topics, &echo, &boards, start);
    for ms in (0..=30_000).step_by(500) {
        readback.take(&topics, &game("7"), &boards, later(ms));
    }
    assert!(
        readback.has_heard(later(30_000)),
        "somebody publishes all the time"
    );
}

#[test]
fn what_comes_after_the_comparison_is_not_kept() {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let mut readback = ReadBack::default();
    readback.begin(Instant::now());
    let hears = |readback: &mut ReadBack, board: &str| {
        let game = game(board);
        readback.take(&topics, &game, &[], Instant::now());
    };
    hears(&mut readback, "7");
    assert_eq!(readback.finish().numbers().len(), 1);
    hears(&mut readback, "8");
    assert!(readback.known.numbers().is_empty());
}

/// Another broker may not know them.
#[test]
fn the_highest_numbers_of_our_boards_are_remembered_from_connection_to_connection() {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let boards: [Id; 1] = ["7".parse().unwrap()];
    let mut readback = ReadBack::default();
    let told = |readback: &mut ReadBack, board: &str, payload| {
        readback.begin(Instant::now());
        let game = arrived(format!("dgt2mqtt/gw/board/{board}/game"), payload);
        readback.take(&topics, &game, &boards, Instant::now());
    };
    told(&mut readback, "7", r#"{"last_seq":50,"game":1}"#);
    told(&mut readback, "7", r#"{"last_seq":5,"game":1}"#);
    told(
        &mut readback,
        "nobody configured it",
        r#"{"last_seq":70,"game":1}"#,
    );
    told(&mut readback, "8", r#"{"last_seq":70,"game":1}"#);
    readback.at_another();
    readback.begin(Instant::now());
    assert_eq!(readback.heard, BTreeMap::from([("7".to_owned(), 50)]));
}
