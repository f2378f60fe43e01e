//! Neither the disk nor the broker vouches for the numbers of a journal: its boards go on where nobody can have come to.

use std::{collections::BTreeMap, path::Path, time::Duration};

use dgt2mqtt::journal::{Journal, KnownNumbers, StandBy, Written};

use crate::{
    disk::ImageDisk,
    faults_numbers::copy,
    journal_faults::{codes, open},
    journal_place::append,
};

/// No process comes to such numbers one by one.
const FAR: u64 = 1_000_000_000;

/// The broker shows `last` of board 7, or with none nothing. Returns the notices on numbers that jump.
async fn compared(journal: &Journal, last: Option<u64>) -> Vec<&'static str> {
    let known = last.map(|last| KnownNumbers {
        last,
        ..KnownNumbers::default()
    });
    let known = known.map(|known| ("7".to_owned(), known));
    let settled = journal.reconcile(known.into_iter().collect()).await;
    let mut disputed = journal.disputed();
    let dispute = async { disputed.wait_for(|is| *is).await.is_ok() };
    tokio::select! {
        answer = settled => {
            answer.unwrap();
            return Vec::new();
        }
        is_disputed = dispute => assert!(is_disputed),
    }
    codes(&journal.lift().await)
}

/// The broker has taken a game of board 7 with that last number.
async fn show(journal: &Journal, last: u64) {
    let mut shown = BTreeMap::from([("7".to_owned(), last)]);
    while !shown.is_empty() {
        journal.try_shown(&mut shown);
        tokio::task::yield_now().await;
    }
}

/// A process of the boot id `first`, of which the broker has shown number 5, gives out number 6 and is killed. The next one has `second`.
async fn killed(folder: &Path) -> Journal {
    let here = folder.join("killed");
    let (journal, _) = open(&here.join("j.sqlite"));
    journal.set_boot("first").await;
    assert_eq!(
        compared(&journal, None).await,
        [""; 0],
        "a journal of which nothing was sent"
    );
    append(&journal, "7", 1..=5).await;
    show(&journal, 5).await;
    append(&journal, "7", [6]).await;
    let next = folder.join("next");
    copy(&here, &next);
    journal.close().await;
    std::fs::remove_dir_all(here).unwrap();
    let (journal, _) = open(&next.join("j.sqlite"));
    journal.set_boot("second").await;
    journal
}

#[tokio::test]
async fn a_broker_that_does_not_know_the_end_of_the_last_run_or_shows_less_than_it_did_vouches_for_nothing() {
    let brokers = [
        (None, None),
        (Some("before"), Some(5)),
        (None, Some(5)),
        (Some("first"), Some(4)),
        (Some("first"), None),
    ];
    for (seen_off, last) in brokers {
        let folder = tempfile::tempdir().unwrap();
        let journal = killed(folder.path()).await;
        append(&journal, "7", [7]).await;
        if let Some(boot) = seen_off {
            journal.seen_off(boot).await;
        }
        assert_eq!(
            compared(&journal, last).await,
            ["journal_unsure"],
            "{seen_off:?}, {last:?}"
        );
        let rows = journal.unacked(0, 100).await;
        let seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
        assert_eq!(
            seqs[..6],
            [1, 2, 3, 4, 5, 6],
            "what the disk has keeps its number"
        );
        assert!(seqs[6] > FAR, "{seqs:?}");
        assert_eq!(journal.resume("7").await.last_seq, seqs[6]);
        let stranger = journal.resume("9").await;
        assert_eq!(
            (stranger.last_seq > FAR, codes(&stranger.untold)),
            (
                seen_off != Some("first"),
                if seen_off == Some("first") {
                    vec![]
                } else {
                    vec!["journal_unsure"]
                }
            ),
            "a board may have come on a disk that took no writes"
        );
        assert_eq!(
            compared(&journal, None).await,
            [""; 0],
            "this process knows its numbers"
        );
        journal.close().await;
    }
}

#[tokio::test]
async fn a_broker_that_saw_the_end_of_the_last_run_vouches_for_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = killed(folder.path()).await;
    journal.seen_off("first").await;
    assert_eq!(compared(&journal, Some(5)).await, [""; 0]);
    assert_eq!(journal.resume("7").await.last_seq, 6);
}

/// Its ceiling may be one of before, too.
#[tokio::test]
async fn a_broker_that_may_have_forgotten_is_not_believed_where_it_knows_more_than_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = killed(folder.path()).await;
    let known = KnownNumbers {
        last: 8,
        ceiling: 64,
        ..KnownNumbers::default()
    };
    let settled = journal.reconcile(BTreeMap::from([("7".to_owned(), known)])).await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    assert_eq!(codes(&journal.lift().await), ["journal_behind"]);
    settled.await.unwrap();
    assert!(journal.resume("7").await.last_seq > FAR);
}

/// Its states were taken from the broker, because it is not configured any more.
#[tokio::test]
async fn of_a_board_that_was_taken_from_the_broker_nothing_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = killed(folder.path()).await;
    journal.seen_off("first").await;
    compared(&journal, Some(5)).await;
    show(&journal, 0).await;
    journal.tick().await;
    let copied = folder.path().join("copied");
    copy(&folder.path().join("next"), &copied);
    let (next, _) = open(&copied.join("j.sqlite"));
    next.seen_off("second").await;
    assert_eq!(compared(&next, None).await, [""; 0]);
}

#[tokio::test]
async fn a_journal_of_a_process_that_ended_in_order_vouches_for_itself_but_no_copy_of_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let journal = killed(folder.path()).await;
    compared(&journal, Some(5)).await;
    journal.close().await;
    let (here, copied) = (folder.path().join("next"), folder.path().join("copied"));
    copy(&here, &copied);
    let (journal, _) = open(&here.join("j.sqlite"));
    assert_eq!(compared(&journal, None).await, [""; 0]);
    let (other, _) = open(&copied.join("j.sqlite"));
    assert_eq!(
        compared(&other, None).await,
        ["journal_unsure"],
        "it may be an old one"
    );
}

/// Its predecessor was killed, and may have sent more than the journal has.
#[tokio::test]
async fn a_process_that_never_asked_a_broker_neither_vouches_for_the_one_before_nor_takes_its_place() {
    for (seen_off, said) in [("first", &[] as &[&str]), ("second", &["journal_unsure"])] {
        let folder = tempfile::tempdir().unwrap();
        let journal = killed(folder.path()).await;
        journal.close().await;
        let (journal, _) = open(&folder.path().join("next/j.sqlite"));
        journal.seen_off(seen_off).await;
        assert_eq!(compared(&journal, Some(5)).await, said);
    }
}

/// Another gateway of our name has given out numbers, and a broker that has none at all has forgotten them.
#[tokio::test]
async fn where_another_gave_out_numbers_a_broker_without_any_vouches_for_nothing() {
    let why = |has_rival| StandBy {
        was_sending: true,
        has_rival,
    };
    for is_anew in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        let (mut journal, _) = open(&path);
        compared(&journal, None).await;
        append(&journal, "7", 1..=3).await;
        journal.stand_by(why(true)).await;
        append(&journal, "7", [4]).await;
        if is_anew {
            journal.close().await;
            journal = open(&path).0;
        }
        assert_eq!(compared(&journal, None).await, ["journal_unsure"]);
        // It goes to another broker, as the operator wishes.
        journal.stand_by(why(false)).await;
        assert_eq!(compared(&journal, None).await, [""; 0]);
    }
}

/// A board whose first cable comes in between: it was never on the disk, and yet may have sent something.
#[tokio::test]
async fn a_board_that_comes_while_numbers_are_compared_begins_far_away_too() {
    let folder = tempfile::tempdir().unwrap();
    let journal = killed(folder.path()).await;
    let settled = journal.reconcile(BTreeMap::new()).await;
    append(&journal, "9", [1, 2]).await;
    assert_eq!(codes(&journal.lift().await), ["journal_unsure"; 2]);
    settled.await.unwrap();
    let rows = journal.unacked(0, 100).await;
    let new = rows.iter().filter(|row| row.board == "9");
    let new: Vec<_> = new.map(|row| row.seq).collect();
    assert!(new.len() == 2 && new[0] > FAR && new[1] == new[0] + 1, "{new:?}");
}

/// The spare one gave out a number or two, at a broker that had forgotten those of the first.
#[tokio::test]
async fn what_another_gave_out_does_not_vouch_for_what_we_sent() {
    let folder = tempfile::tempdir().unwrap();
    let journal = killed(folder.path()).await;
    journal.seen_off("another").await;
    journal
        .stand_by(StandBy {
            was_sending: false,
            has_rival: true,
        })
        .await;
    assert_eq!(compared(&journal, Some(2)).await.len(), 1);
    assert!(journal.resume("7").await.last_seq > FAR);
}

/// The operator names another broker, which is not there yet, and ends the program.
#[tokio::test]
async fn another_broker_is_no_other_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    compared(&journal, None).await;
    append(&journal, "7", [1]).await;
    journal
        .stand_by(StandBy {
            was_sending: true,
            has_rival: false,
        })
        .await;
    append(&journal, "7", [2]).await;
    journal.close().await;
    let (journal, _) = open(&path);
    assert_eq!(compared(&journal, None).await, [""; 0]);
}

fn meta(path: &Path, key: &str) -> Option<String> {
    let file = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT value FROM meta WHERE key = ?1";
    file.query_row(sql, [key], |row| row.get(0)).ok()
}

/// A daemon that is killed before it has sent anything takes nothing from what its predecessor left.
#[tokio::test]
async fn a_journal_says_that_it_has_all_until_something_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    journal.set_boot("one").await;
    compared(&journal, None).await;
    append(&journal, "7", [1]).await;
    journal.close().await;
    let (journal, _) = open(&path);
    journal.set_boot("two").await;
    append(&journal, "7", [2]).await;
    assert!(meta(&path, "ended").is_some_and(|ended| ended.ends_with(" two")));
    compared(&journal, None).await;
    assert_eq!(meta(&path, "ended"), None);
    assert_eq!(meta(&path, "sender").as_deref(), Some("two"));
    journal.close().await;
    // An older program knows nothing of the note, and leaves its boot id.
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("UPDATE meta SET value = 'old' WHERE key = 'boot'", [])
        .unwrap();
    drop(file);
    let (journal, _) = open(&path);
    assert_eq!(compared(&journal, None).await, ["journal_unsure"]);
}

/// It takes the name when this process has ended, and the broker forgets all.
#[tokio::test]
async fn nor_does_a_journal_whose_numbers_another_may_have_given_out_since() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    for (meets, said) in [(false, &[] as &[&str]), (true, &["journal_unsure"])] {
        let (journal, _) = open(&path);
        compared(&journal, None).await;
        let last = journal.resume("7").await.last_seq;
        append(&journal, "7", [last + 1]).await;
        assert!(!meets || journal.try_meet_rival());
        journal.close().await;
        let (journal, _) = open(&path);
        assert_eq!(compared(&journal, None).await, said);
        journal.close().await;
    }
}

/// Nobody can note on such a disk that numbers are sent.
#[tokio::test]
async fn a_process_that_begins_on_a_disk_without_writes_leaves_the_numbers_of_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    let path = at("disk").join("j.sqlite");
    disk.set_read_only(true);
    let (journal, _) = open(&path);
    append(&journal, "7", [1]).await;
    assert_eq!(
        compared(&journal, None).await,
        ["journal_unsure"],
        "nor that there was any"
    );
    assert!(journal.resume("7").await.last_seq > FAR);
    journal.close().await;
    disk.set_read_only(false);
    let (journal, _) = open(&path);
    compared(&journal, None).await;
    append(&journal, "7", 1..=3).await;
    journal.close().await;
    disk.set_read_only(true);
    let (journal, _) = open(&path);
    assert_eq!(append(&journal, "7", [4]).await, Written::Memory);
    assert_eq!(compared(&journal, Some(3)).await, ["journal_unsure"]);
    assert!(journal.resume("7").await.last_seq > FAR);
    assert_eq!(compared(&journal, Some(3)).await, [""; 0], "once");
    journal.close().await;
    disk.set_read_only(false);
    let (journal, _) = open(&path);
    assert_eq!(compared(&journal, None).await, [""; 0]);
    let last = journal.resume("7").await.last_seq;
    assert_eq!(last, 3, "nobody told it of the other, whose numbers are far away");
    // Where the disk takes writes again meanwhile, it has them.
    journal.close().await;
    disk.set_read_only(true);
    let (journal, _) = open(&path);
    append(&journal, "7", [4]).await;
    assert_eq!(compared(&journal, None).await, ["journal_unsure"]);
    let last = journal.resume("7").await.last_seq;
    append(&journal, "7", [last + 1]).await;
    disk.set_read_only(false);
    let written = async {
        while journal.tick().await.in_memory > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(90), written)
        .await
        .unwrap();
    journal.close().await;
    let (journal, _) = open(&path);
    assert_eq!(journal.resume("7").await.last_seq, last + 1);
}
