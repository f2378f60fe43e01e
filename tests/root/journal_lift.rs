//! Events get other numbers, because a broker knows numbers that the journal does not.

use std::{collections::BTreeMap, time::Duration};

use dgt2mqtt::{
    event::Event,
    journal::{
        Entry, Journal, KnownNumbers, Written,
        backup::{Restore, copy},
        query::{Filter, each_event},
    },
};

use crate::{
    disk::ImageDisk,
    journal_faults::{codes, open},
    journal_leave::{can_send, compared},
    journal_place::{append, event, said},
};

/// The broker knows events of board 7 up to number `last`: what was not sent is lifted.
async fn lifted(journal: &Journal, last: u64) -> Vec<String> {
    let known = KnownNumbers {
        last,
        ..KnownNumbers::default()
    };
    let settled = journal
        .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
        .await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    let notices = journal.lift().await;
    settled.await.unwrap();
    notices.into_iter().map(|notice| notice.message).collect()
}

async fn unsent(journal: &Journal) -> Vec<Event> {
    let rows = journal.unacked(0, 100).await;
    rows.iter()
        .map(|row| serde_json::from_slice(&row.json).unwrap())
        .collect()
}

/// A process that is killed before any event tells why numbers are missing leaves that to the next one.
#[tokio::test]
async fn a_jump_is_named_by_the_next_process_where_none_has_named_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    for has_unsent in [false, true] {
        let (journal, _) = open(&path);
        let last = journal.resume("7").await.last_seq;
        if has_unsent {
            append(&journal, "7", [last + 1, last + 2]).await;
        }
        let known = KnownNumbers {
            last: last + 90,
            ..KnownNumbers::default()
        };
        let settled = journal
            .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
            .await;
        journal.disputed().wait_for(|is| *is).await.unwrap();
        let said = journal.lift().await;
        assert_eq!(codes(&said), ["journal_behind"]);
        settled.await.unwrap();
        journal.close().await;

        let (journal, _) = open(&path);
        let resume = journal.resume("7").await;
        assert_eq!(resume.untold, said, "nothing was told since");
        append(&journal, "7", [resume.last_seq + 1]).await;
        journal.close().await;
        let (journal, _) = open(&path);
        let untold = journal.resume("7").await.untold;
        assert_eq!(codes(&untold), [""; 0], "the next event was the notice");
        journal.close().await;
    }
}

/// A journal that was restored, or lost, gives no game a number under which another one was told.
#[tokio::test]
async fn games_that_were_told_since_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let game = |seq, game| Event {
        game: Some(game),
        ..event("7", seq)
    };
    let entry = |event: Event| Entry {
        board: "7".to_owned(),
        snapshot: Some(format!(
            "{{\"seq\":{},\"games\":{},\"game\":{{}}}}",
            event.seq,
            event.game.unwrap()
        )),
        events: vec![event],
        command: None,
    };
    for is_lost in [false, true] {
        let path = folder.path().join(format!("{is_lost}.sqlite"));
        if !is_lost {
            let (journal, _) = open(&path);
            journal.append(entry(game(1, 2))).await.await.unwrap();
            journal.close().await;
        }
        let (journal, _) = open(&path);
        let last = journal.resume("7").await.last_seq;
        // The next game begins before the broker was asked, which knows of the numbers of events no more than the journal does.
        let next = if is_lost { 1 } else { 3 };
        journal.append(entry(game(last + 1, next))).await.await.unwrap();
        let known = KnownNumbers {
            last: 0,
            ceiling: 0,
            game: 4,
            ..KnownNumbers::default()
        };
        let settled = journal
            .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
            .await;
        journal.disputed().wait_for(|is| *is).await.unwrap();
        let notices = journal.lift().await;
        assert_eq!(codes(&notices), ["journal_behind"]);
        assert!(
            notices[0].message.contains("its next game has number 5"),
            "{notices:?}"
        );
        settled.await.unwrap();
        let resume = journal.resume("7").await;
        assert_eq!(resume.last_seq, last + 1, "events keep their numbers");
        let state: serde_json::Value = serde_json::from_str(&resume.snapshot.unwrap()).unwrap();
        assert!(state["games"] == 5 && state["game"].is_object(), "{state}");
        can_send(&journal).await;
        journal.close().await;
        let mut told = Vec::new();
        let filter = Filter {
            game: Some(5),
            ..Filter::default()
        };
        each_event(&path, &filter, |kept| {
            told.push(serde_json::from_str::<Event>(kept.json).unwrap());
            true
        })
        .unwrap();
        assert_eq!(
            told,
            [Event {
                game: Some(5),
                ..event("7", last + 1)
            }]
        );

        // It is told once: what was taken since is known.
        let (journal, _) = open(&path);
        let known = KnownNumbers {
            last: last + 1,
            ceiling: 0,
            game: 5,
            ..KnownNumbers::default()
        };
        let settled = journal
            .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
            .await;
        settled.await.unwrap();
        assert!(!*journal.disputed().borrow());
        journal.close().await;
    }
}

/// Nobody can know whether a broker has what was under way when another took the name over: it comes after the other's
/// numbers, and says which it had.
#[tokio::test]
async fn what_nobody_acknowledged_comes_after_the_numbers_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=4).await;
    compared(&journal, None).await;
    let rows = journal.unacked(0, 100).await;
    journal.acked(rows[..2].iter().map(|row| row.n).collect()).await;
    journal.close().await;
    let (journal, _) = open(&path);
    journal.stand_by(false).await;
    append(&journal, "7", [5]).await;
    let known = KnownNumbers {
        last: 9_000_000_000,
        ceiling: 0,
        game: 0,
        ..KnownNumbers::default()
    };
    let settled = journal
        .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
        .await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    assert_eq!(codes(&journal.lift().await), ["journal_behind"]);
    settled.await.unwrap();
    let unsent: Vec<Event> = journal
        .unacked(0, 100)
        .await
        .iter()
        .map(|row| serde_json::from_slice(&row.json).unwrap())
        .collect();
    let formerly: Vec<_> = unsent.iter().map(|event| event.formerly.as_deref()).collect();
    assert_eq!(formerly, [Some("gw/7/3"), Some("gw/7/4"), None]);
    assert_eq!(
        unsent[2].unsent_as.as_deref(),
        Some("gw/7/5"),
        "the other may have an event of that number"
    );
    assert!(unsent.iter().all(|event| event.seq > 9_000_000_000), "{unsent:?}");
    assert!(unsent.is_sorted_by_key(|event| event.seq));
    journal.close().await;
}

/// Another gateway of the name has given the first of these numbers to events of its own, and is gone again.
#[tokio::test]
async fn nor_does_it_keep_numbers_that_another_has_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=6).await;
    compared(&journal, None).await;
    let rows = journal.unacked(0, 100).await;
    journal.acked(rows[..2].iter().map(|row| row.n).collect()).await;
    let identity = journal.identity().to_owned();
    journal.close().await;
    let (journal, _) = open(&path);
    assert_eq!(journal.identity(), identity);
    journal.stand_by(false).await;
    let known = KnownNumbers {
        last: 4,
        ceiling: 4,
        game: 0,
        ..KnownNumbers::default()
    };
    let settled = journal
        .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
        .await;
    let mut disputed = journal.disputed();
    let is_disputed = disputed.wait_for(|is| *is);
    tokio::time::timeout(Duration::from_secs(10), is_disputed)
        .await
        .expect("numbers 3 and 4 are another's")
        .unwrap();
    journal.lift().await;
    settled.await.unwrap();
    let rows = journal.unacked(0, 100).await;
    let unsent: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    let first = unsent[0];
    assert!(first > 6, "above all that anybody has given out");
    assert_eq!(unsent, (first..first + 4).collect::<Vec<_>>());
    journal.close().await;
    std::fs::remove_file(&path).unwrap();
    let (other, _) = open(&path);
    assert_ne!(other.identity(), identity);
    other.close().await;
}

/// The disk fails, and another gateway takes the name: what lies on the disk must not be sent with numbers that are the other's by
/// now. When the disk takes writes again, it has what was sent.
#[tokio::test]
async fn what_a_disk_cannot_take_back_is_sent_with_other_numbers_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    let path = at("disk").join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=4).await;
    compared(&journal, None).await;
    let rows = journal.unacked(0, 100).await;
    journal.acked(rows[..2].iter().map(|row| row.n).collect()).await;
    journal.close().await;
    disk.set_read_only(true);
    let (journal, _) = open(&path);
    assert_eq!(said(&journal).await, ["journal_failing"]);
    assert_eq!(append(&journal, "7", [5]).await, Written::Memory);
    let mut last = 9_000;
    for is_again in [false, true] {
        journal.stand_by(is_again).await;
        lifted(&journal, last).await;
        let told = unsent(&journal).await;
        assert!(told.iter().all(|event| event.seq > last), "{told:?}");
        assert!(told.is_sorted_by_key(|event| event.seq));
        let formerly: Vec<_> = told
            .iter()
            .filter_map(|event| event.formerly.as_deref())
            .collect();
        assert_eq!(formerly[..2], ["gw/7/3", "gw/7/4"]);
        assert_eq!(told[2].unsent_as.as_deref(), Some("gw/7/5"));
        last = told[2].seq + 50;
    }
    let told = unsent(&journal).await;
    disk.set_read_only(false);
    until_written(&journal, told[2].seq + 1).await;
    journal.close().await;
    let (journal, _) = open(&path);
    let kept = unsent(&journal).await;
    assert_eq!(kept[..3], told);
    assert_eq!(kept[3].seq, told[2].seq + 1);
    journal.close().await;
}

/// Appends an event, and waits until the disk has it.
async fn until_written(journal: &Journal, seq: u64) {
    append(journal, "7", [seq]).await;
    let written = async {
        while journal.tick().await.in_memory > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(90), written)
        .await
        .expect("the disk takes writes");
}

/// The first gateway sends what it lifted, and is killed before it has named the jump. The other takes the name. When the first is
/// started again, it names its own jump, with a number above all that was told meanwhile.
#[tokio::test]
async fn a_jump_that_another_gateway_came_upon_is_named_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=2).await;
    let rows = journal.unacked(0, 100).await;
    journal.acked(rows.iter().map(|row| row.n).collect()).await;
    journal.stand_by(true).await;
    append(&journal, "7", [3, 4]).await;
    let said = lifted(&journal, 90).await;
    let sent = unsent(&journal).await;
    assert!(
        said[0].contains(&format!("jump from 2 to {}", sent[0].seq)),
        "{said:?}"
    );
    journal.close().await;

    let (journal, _) = open(&path);
    let resume = journal.resume("7").await;
    let untold: Vec<_> = resume.untold.iter().map(|notice| &notice.message).collect();
    assert_eq!(untold, [&said[0]]);
    journal.stand_by(false).await;
    append(&journal, "7", [resume.last_seq + 1]).await;
    let rows = journal.unacked(0, 100).await;
    journal.acked(rows[..2].iter().map(|row| row.n).collect()).await;
    let others = resume.last_seq + 5_000_000_000;
    lifted(&journal, others).await;
    let told = unsent(&journal).await;
    assert!(told[0].seq > others, "{told:?}");
    assert_eq!(told[0].unsent_as, Some(format!("gw/7/{}", resume.last_seq + 1)));
    journal.close().await;
}

/// The copy is of a moment before anything was sent, and all of it was sent since.
#[tokio::test]
async fn what_was_sent_since_the_backup_keeps_its_numbers_though_the_backup_says_that_it_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (journal, _) = open(&at("j.sqlite"));
    append(&journal, "7", 1..=3).await;
    let beside = rusqlite::Connection::open(at("j.sqlite")).unwrap();
    beside
        .execute("INSERT INTO meta VALUES ('unsecured', '1')", [])
        .unwrap();
    drop(beside);
    let restore = Restore::begin(&at("restored.sqlite")).unwrap();
    copy(&at("j.sqlite"), &restore.fresh()).unwrap();
    assert_eq!(compared(&journal, None).await, [""; 0]);
    append(&journal, "7", [4, 5]).await;
    journal.close().await;
    restore.check().unwrap();
    restore.finish().unwrap();
    let (journal, notices) = open(&at("restored.sqlite"));
    assert_eq!(codes(&notices), ["journal_restored"]);
    let last = journal.resume("7").await.last_seq;
    append(&journal, "7", [last + 1]).await;
    let known = KnownNumbers {
        last: 5,
        ..KnownNumbers::default()
    };
    assert_eq!(compared(&journal, Some(known)).await, [""; 0]);
    let unsent = unsent(&journal).await;
    let seqs: Vec<_> = unsent.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [1, 2, 3, last + 1]);
    assert!(unsent.iter().all(|event| event.unsent_as.is_none()));
    journal.close().await;
}
