//! A number that was sent is not given to another event, whatever the disk has of it and whoever asked the broker meanwhile.

use std::{collections::BTreeMap, path::Path, time::Duration};

use dgt2mqtt::{
    event::Event,
    journal::{
        Journal, KnownNumbers, OutboxRow, Shift, Shifts,
        backup::{Restore, copy},
    },
};
use tokio_util::bytes::Bytes;

use crate::{
    journal_faults::{codes, open},
    journal_leave::{FAR, behind_ten, can_send, card, compared, dying, leave_on_disk, seqs},
    journal_place::{append, event, said},
};

fn known(last: u64, left: Option<Shifts>) -> Option<KnownNumbers> {
    Some(KnownNumbers {
        last,
        ceiling: last + 64,
        left,
        ..KnownNumbers::default()
    })
}

fn json(rows: &[OutboxRow]) -> Vec<Bytes> {
    rows.iter().map(|row| row.json.clone()).collect()
}

async fn waiting(journal: &Journal) -> Vec<OutboxRow> {
    journal.unacked(0, 100).await
}

/// On its first day the card dies before any broker could be asked.
#[tokio::test]
async fn what_a_journal_has_that_was_never_compared_keeps_the_numbers_under_which_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=3).await;
    disk.fail();
    assert_eq!(said(&journal).await, ["journal_failing"]);
    assert_eq!(compared(&journal, None).await, ["journal_unsecured"]);
    let sent = waiting(&journal).await;
    assert!(sent.len() == 3 && sent[0].seq > FAR, "{sent:?}");
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    compared(&journal, known(sent[2].seq, sent[2].unsecured.clone())).await;
    assert_eq!(json(&waiting(&journal).await), json(&sent));
    journal.close().await;
    drop(disk);
}

/// The next run takes what the disk has of before for unsent, because the disk does not know of the comparison.
#[tokio::test]
async fn a_card_that_takes_all_but_the_comparison_secures_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.close().await;
    let (journal, _) = open(&path);
    append(&journal, "7", 11..=13).await;
    disk.fail();
    assert_eq!(compared(&journal, None).await, ["journal_unsecured"]);
    let sent = behind_ten(&journal).await;
    let is_far = |row: &OutboxRow| row.seq > FAR && row.unsecured.is_some();
    assert!(sent.len() == 3 && sent.iter().all(is_far), "{sent:?}");
    journal.close().await;
    drop(disk);
}

/// The next run takes what this one has sent for unsent, because the disk does not know that it was to be sent.
#[tokio::test]
async fn nor_does_one_that_takes_the_comparison_and_not_that_events_are_to_be_sent() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.close().await;
    let (journal, _) = open(&path);
    append(&journal, "7", 11..=13).await;
    journal.reconcile(Some(BTreeMap::new())).await.await.unwrap();
    assert!(!journal.sends());
    disk.fail();
    assert_eq!(codes(&can_send(&journal).await), ["journal_unsecured"]);
    let sent = behind_ten(&journal).await;
    let is_far = |row: &OutboxRow| row.seq > FAR && row.unsecured.is_some();
    assert!(sent.len() == 3 && sent.iter().all(is_far), "{sent:?}");
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    assert_eq!(seqs(&behind_ten(&journal).await), [11, 12, 13]);
    compared(&journal, known(sent[2].seq, sent[2].unsecured.clone())).await;
    assert_eq!(json(&behind_ten(&journal).await), json(&sent));
    journal.close().await;
    drop(disk);
}

/// The connection ends before the boards stand still for other numbers, and the next broker knows nothing.
#[tokio::test]
async fn a_comparison_whose_connection_ended_changes_no_number_that_was_sent_since() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=3).await;
    compared(&journal, None).await;
    journal.close().await;
    let (journal, _) = open(&path);
    append(&journal, "7", 4..=5).await;
    let beyond = known(70, None).unwrap();
    let asked = BTreeMap::from([("7".to_owned(), beyond)]);
    drop(journal.reconcile(Some(asked)).await);
    journal.disputed().wait_for(|is| *is).await.unwrap();
    journal.reconcile(Some(BTreeMap::new())).await.await.unwrap();
    assert!(!*journal.disputed().borrow());
    let sent = waiting(&journal).await;
    assert_eq!(seqs(&sent), [1, 2, 3, 4, 5]);
    assert_eq!(codes(&journal.lift().await), [""; 0]);
    assert_eq!(json(&waiting(&journal).await), json(&sent));
    journal.close().await;
}

/// A new journal without a board has nothing to say of the jump, and its disk fails just then.
#[tokio::test]
async fn a_board_that_comes_after_numbers_have_left_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    let settled = journal.reconcile(None).await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    disk.fail();
    while *journal.disputed().borrow() {
        journal.lift().await;
    }
    settled.await.unwrap();
    let last_seq = journal.resume("7").await.last_seq;
    append(&journal, "7", [last_seq + 1]).await;
    assert_eq!(seqs(&waiting(&journal).await), [last_seq + 1]);
    assert!(last_seq > FAR);
    journal.close().await;
    drop(disk);
}

/// What tells the time since the last comparison of the journal at `path` from any other.
fn era(path: &Path) -> String {
    let file = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT value FROM meta WHERE key = 'era'";
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Somebody put an image of the card in its place, which is older than the events that left their range.
#[tokio::test]
async fn what_this_run_took_has_no_number_of_an_event_that_an_older_disk_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.close().await;
    let base = 200_000_000_000;
    let left = Shifts {
        eras: vec![era(&path)],
        shifts: vec![Shift {
            floor: 10,
            base,
            sent: 10,
            stored: 13,
        }],
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 11..=13).await;
    let said = compared(&journal, known(base + 3, Some(left))).await;
    assert_eq!(said, ["journal_behind"]);
    let rows = behind_ten(&journal).await;
    assert!(rows.len() == 3 && rows[0].seq > base + 67, "{rows:?}");
    journal.close().await;
}

/// The card dies in two runs, and only the second one had given the disk events that had to leave.
#[tokio::test]
async fn what_a_later_run_sent_under_other_numbers_keeps_those() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    dying(&disk, &journal).await;
    journal.lift().await;
    let first = behind_ten(&journal).await;
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    append(&journal, "7", 11..=13).await;
    disk.fail();
    assert_eq!(said(&journal).await, ["journal_failing"]);
    let left = known(first[1].seq, first[1].unsecured.clone());
    assert_eq!(compared(&journal, left).await, ["journal_behind"]);
    let second = behind_ten(&journal).await;
    let left = second[2].unsecured.clone();
    assert_eq!(left.as_ref().unwrap().shifts.len(), 2);
    assert!(second.len() == 3 && second[0].seq > first[1].seq, "{second:?}");
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    compared(&journal, known(second[2].seq, left)).await;
    assert_eq!(json(&behind_ten(&journal).await), json(&second));
    journal.close().await;
    drop(disk);
}

/// Overwrites what nobody needs to read the rest.
fn damage_an_index(path: &Path) {
    let file = rusqlite::Connection::open(path).unwrap();
    let pragma =
        "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = 'commands_ref'";
    let (page, size): (usize, usize) = file
        .query_row(pragma, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    drop(file);
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * size..page * size].fill(0xa5);
    std::fs::write(path, bytes).unwrap();
}

/// Another gateway of the name has given its number to an event, and then the journal was damaged.
#[tokio::test]
async fn what_a_damaged_journal_had_not_sent_has_no_number_that_another_gave_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=2).await;
    compared(&journal, None).await;
    journal.acked(vec![1, 2]).await;
    journal.close().await;
    let (journal, _) = open(&path);
    append(&journal, "7", 3..=5).await;
    // A board that is new.
    append(&journal, "8", 1..=2).await;
    journal.close().await;
    damage_an_index(&path);
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), ["journal_damaged"]);
    let numbers = |last| known(last, None).unwrap();
    let others = BTreeMap::from([("7".to_owned(), numbers(4)), ("8".to_owned(), numbers(1))]);
    let settled = journal.reconcile(Some(others)).await;
    let mut disputed = journal.disputed();
    let is_disputed = disputed.wait_for(|is| *is);
    tokio::time::timeout(Duration::from_secs(10), is_disputed)
        .await
        .expect("they are another's")
        .unwrap();
    journal.lift().await;
    settled.await.unwrap();
    let rows = waiting(&journal).await;
    assert!(
        rows.len() == 5 && rows.iter().all(|row| row.seq > FAR),
        "{rows:?}"
    );
    let last_seqs = [journal.resume("7").await, journal.resume("8").await].map(|resume| resume.last_seq);
    assert!(last_seqs[0] >= rows[2].seq && last_seqs[1] >= rows[4].seq);
    journal.close().await;
}

/// What the broker has of numbers that left their range behind number 10 a minute ago, or a minute ahead of a clock that is behind.
fn left(path: &Path, is_clock_behind: bool) -> Shifts {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let at = if is_clock_behind { now + 60 } else { now - 60 };
    Shifts {
        eras: vec![era(path)],
        shifts: vec![Shift {
            floor: 10,
            base: at * 64_000,
            sent: 10,
            stored: 10,
        }],
    }
}

/// Ten events at `path` that a broker has, and what a refused write has left there besides.
async fn an_evening(path: &Path, landed: Option<u64>) {
    let (journal, _) = open(path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.acked((1..=10).collect()).await;
    journal.close().await;
    if let Some(seq) = landed {
        leave_on_disk(path, &event("7", seq));
    }
}

/// Holds that the journal at `path`, which goes on in a range of its own, gives no number to another event that was sent from memory, and
/// that an event which was sent so keeps its number.
async fn goes_on_above_what_memory_sent(path: &Path, left: Shifts, landed: Option<u64>) {
    let base = left.shifts[0].base;
    let (journal, _) = open(path);
    let first = journal.resume("7").await.last_seq + 1;
    append(&journal, "7", [first]).await;
    compared(&journal, known(base + 3, Some(left))).await;
    let rows = waiting(&journal).await;
    let (again, new) = rows.split_at(rows.len() - 1);
    let sent: Vec<u64> = landed.map(|seq| base + seq - 10).into_iter().collect();
    assert_eq!(seqs(again), sent, "{rows:?}");
    assert!(new[0].seq > base + 67, "{rows:?}");
    assert_eq!(journal.resume("7").await.last_seq, new[0].seq);
    assert!(journal.resume("8").await.last_seq > FAR);
    journal.close().await;
}

/// The card dies, events go out from memory, and the repaired file is damaged. The machine has no battery for its clock.
#[tokio::test]
async fn a_damaged_journal_gives_no_number_again_that_was_sent_from_memory() {
    let cases = [(false, None), (true, None), (false, Some(11)), (true, Some(11))];
    for (is_clock_behind, landed) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        an_evening(&path, landed).await;
        let left = left(&path, is_clock_behind);
        damage_an_index(&path);
        goes_on_above_what_memory_sent(&path, left, landed).await;
    }
}

/// The same where a backup of that evening goes on a new card.
#[tokio::test]
async fn nor_does_a_restored_one() {
    let cases = [(false, None), (true, None), (false, Some(11)), (true, Some(11))];
    for (is_clock_behind, landed) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        an_evening(&path, landed).await;
        let left = left(&path, is_clock_behind);
        let restored = folder.path().join("restored.sqlite");
        let restore = Restore::begin(&restored).unwrap();
        copy(&path, &restore.fresh()).unwrap();
        restore.check().unwrap();
        restore.finish().unwrap();
        goes_on_above_what_memory_sent(&restored, left, landed).await;
    }
}

/// A copy is made of a gateway that waits for the name, or has not asked the broker. It is restored where another still has the name, or
/// after it has taken the name and has sent what it had with other numbers, also where the broker has lost those since.
#[tokio::test]
async fn what_a_copy_had_not_sent_has_no_number_that_another_gave_out() {
    let far = 200_000_000_000;
    for (is_anothers, last) in [(true, 20), (true, far), (false, far), (false, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (journal, _) = open(&at("j.sqlite"));
        append(&journal, "7", 1..=3).await;
        let restore = Restore::begin(&at("restored.sqlite")).unwrap();
        copy(&at("j.sqlite"), &restore.fresh()).unwrap();
        journal.close().await;
        restore.check().unwrap();
        restore.finish().unwrap();
        // The first process after the restore ends before it has asked.
        let (journal, _) = open(&at("restored.sqlite"));
        let first = journal.resume("7").await.last_seq + 1;
        append(&journal, "7", [first]).await;
        journal.close().await;
        let (journal, _) = open(&at("restored.sqlite"));
        if is_anothers {
            journal.stand_by(false).await;
        }
        compared(&journal, known(last, None).filter(|_| last > 0)).await;
        let rows = waiting(&journal).await;
        let had = names_of_before(&rows);
        let unsent_as = [1, 2, 3, first].map(|seq| (None, Some(format!("gw/7/{seq}"))));
        assert_eq!(had, unsent_as, "{is_anothers} {last}");
        assert!(
            rows[0].seq > last + 64 && rows.is_sorted_by_key(|row| row.seq),
            "{rows:?}"
        );
        journal.close().await;
    }
}

/// What `formerly` and `unsent_as` say of these events.
fn names_of_before(rows: &[OutboxRow]) -> Vec<(Option<String>, Option<String>)> {
    let events = rows.iter();
    let events = events.map(|row| serde_json::from_slice::<Event>(&row.json).unwrap());
    events.map(|event| (event.formerly, event.unsent_as)).collect()
}

/// The network is out as the copy is made, and another goes on from an older one. Or the broker has lost all since.
#[tokio::test]
async fn what_a_copy_had_under_way_comes_after_the_numbers_of_another() {
    for (last, is_kept) in [(200_000_000_000, false), (0, false), (3, true), (40, true)] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (journal, _) = open(&at("j.sqlite"));
        append(&journal, "7", 1..=3).await;
        compared(&journal, None).await;
        journal.acked(vec![1]).await;
        journal.tick().await;
        let restore = Restore::begin(&at("restored.sqlite")).unwrap();
        copy(&at("j.sqlite"), &restore.fresh()).unwrap();
        journal.close().await;
        restore.check().unwrap();
        restore.finish().unwrap();
        let (journal, _) = open(&at("restored.sqlite"));
        let first = journal.resume("7").await.last_seq + 1;
        append(&journal, "7", [first]).await;
        let numbers = KnownNumbers {
            last,
            ..KnownNumbers::default()
        };
        compared(&journal, Some(numbers)).await;
        let rows = waiting(&journal).await;
        if is_kept {
            assert_eq!(seqs(&rows), [2, 3, first], "{last}");
        } else {
            assert!(
                rows[0].seq > last.max(first) && rows.is_sorted_by_key(|row| row.seq),
                "{rows:?}"
            );
            let [two, three, first] = [2, 3, first].map(|seq| Some(format!("gw/7/{seq}")));
            let had = [(two, None), (three, None), (None, first)];
            assert_eq!(names_of_before(&rows), had, "{last}");
        }
        journal.close().await;
    }
}

/// The broker has some of what the copy had not sent, and none that anybody else sent.
#[tokio::test]
async fn what_a_copy_had_not_sent_keeps_its_numbers_where_the_broker_goes_on_from_there() {
    for (last, ceiling) in [(2, 0), (3, 0), (40, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (journal, _) = open(&at("j.sqlite"));
        append(&journal, "7", 1..=3).await;
        let restore = Restore::begin(&at("restored.sqlite")).unwrap();
        copy(&at("j.sqlite"), &restore.fresh()).unwrap();
        journal.close().await;
        restore.check().unwrap();
        restore.finish().unwrap();
        let (journal, _) = open(&at("restored.sqlite"));
        let first = journal.resume("7").await.last_seq + 1;
        append(&journal, "7", [first]).await;
        let known = KnownNumbers {
            last,
            ceiling,
            ..KnownNumbers::default()
        };
        assert_eq!(compared(&journal, Some(known)).await, [""; 0], "{last}");
        assert_eq!(seqs(&waiting(&journal).await), [1, 2, 3, first]);
        journal.close().await;
    }
}
