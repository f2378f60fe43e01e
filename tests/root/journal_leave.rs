//! Numbers leave their range where no disk secures them: a later process cannot come to those of events that were sent from memory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use dgt2mqtt::{
    event::Event,
    journal::{Journal, KnownNumbers, Notice, OutboxRow, Written},
};

use crate::{
    disk::ImageDisk,
    journal_faults::{codes, open},
    journal_place::{append, event, said},
};

/// Above all numbers that a board has come to one by one.
pub const FAR: u64 = 1_000_000_000;

/// A card of its own, and the place of the journal on it.
pub fn card(folder: &Path) -> Option<(ImageDisk, PathBuf)> {
    let at = folder.join("disk");
    let disk = ImageDisk::make(&folder.join("image"), &at)?;
    Some((disk, at.join("j.sqlite")))
}

/// A broker that knows nothing, or this of board 7, is asked, and events can be sent from then on.
pub async fn compared(journal: &Journal, known: Option<KnownNumbers>) -> Vec<&'static str> {
    let known = known.map(|known| ("7".to_owned(), known));
    let mut settled = journal
        .reconcile(Some(known.into_iter().collect::<BTreeMap<_, _>>()))
        .await;
    let mut said = Vec::new();
    let mut disputed = journal.disputed();
    loop {
        tokio::select! {
            _ = &mut settled => break,
            // The boards stand still as often as the journal asks for it.
            _ = async { drop(disputed.wait_for(|is| *is).await) } => said.extend(codes(&journal.lift().await)),
        }
    }
    said.extend(codes(&can_send(journal).await));
    said
}

/// Events can be sent from now on. Returns why numbers have left their range for it.
pub async fn can_send(journal: &Journal) -> Vec<Notice> {
    assert!(journal.try_begin_to_send());
    // Whoever is answered comes after that.
    journal.resume("7").await;
    let mut said = Vec::new();
    while !journal.sends() {
        assert!(*journal.disputed().borrow(), "nobody would end this wait");
        said.extend(journal.lift().await);
    }
    said
}

pub fn seqs(rows: &[OutboxRow]) -> Vec<u64> {
    rows.iter().map(|row| row.seq).collect()
}

fn read(row: &OutboxRow) -> Event {
    serde_json::from_slice(&row.json).unwrap()
}

/// What waits to be sent behind number 10.
pub async fn behind_ten(journal: &Journal) -> Vec<OutboxRow> {
    let mut rows = journal.unacked(0, 100).await;
    rows.retain(|row| row.seq > 10);
    rows
}

/// Ten events of board 7 on a disk that fails, and two more in memory, for which numbers are left.
pub async fn dying(disk: &ImageDisk, journal: &Journal) {
    assert_eq!(append(journal, "7", 1..=10).await, Written::Disk);
    assert_eq!(compared(journal, None).await, [""; 0]);
    disk.fail();
    assert_eq!(said(journal).await, ["journal_failing"]);
    assert_eq!(append(journal, "7", 11..=12).await, Written::Memory);
    assert!(*journal.disputed().borrow());
    assert_eq!(behind_ten(journal).await, [], "nothing is told before");
}

/// What is on the disk after a write that the disk refused.
pub fn leave_on_disk(path: &Path, event: &Event) {
    let file = rusqlite::Connection::open(path).unwrap();
    let json = serde_json::to_string(event).unwrap();
    file.execute(
        "INSERT INTO events (n, board, seq, id, type, game, json, created_ms) VALUES (?1, ?2, ?1, ?3, 'notice', ?4, ?5, 0)",
        rusqlite::params![event.seq, event.board, event.id, event.game, json],
    )
    .unwrap();
    file.execute("UPDATE snapshots SET last_seq = ?1", [event.seq])
        .unwrap();
}

/// SQLite may have written what the disk did not acknowledge.
#[tokio::test]
async fn what_a_refused_write_left_on_the_disk_has_the_number_under_which_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    dying(&disk, &journal).await;
    assert_eq!(codes(&journal.lift().await), ["journal_unsecured"]);
    let sent = behind_ten(&journal).await;
    let left = sent[0].unsecured.clone().unwrap();
    let base = left.shifts[0].base;
    assert_eq!(seqs(&sent), [base + 1, base + 2]);
    assert_eq!(left.shifts[0].floor, 10);
    let unsent_as: Vec<_> = sent.iter().map(|row| read(row).unsent_as.unwrap()).collect();
    assert_eq!(unsent_as, ["gw/7/11", "gw/7/12"]);
    journal.close().await;

    let disk = disk.repair();
    leave_on_disk(&path, &event("7", 11));
    let (journal, _) = open(&path);
    append(&journal, "7", [12]).await;
    let known = |era: &str| KnownNumbers {
        last: base + 2,
        ceiling: base + 66,
        left: Some(dgt2mqtt::journal::Shifts {
            eras: vec![era.to_owned()],
            ..left.clone()
        }),
        ..KnownNumbers::default()
    };
    assert_eq!(
        compared(&journal, Some(known(&left.eras[0]))).await,
        ["journal_behind"]
    );
    let rows = behind_ten(&journal).await;
    assert_eq!(rows[0].json, sent[0].json, "it is the same event");
    let next = rows[1].seq;
    assert!(rows.len() == 2 && next > base + 66, "{rows:?}");
    let untold = journal.resume("7").await.untold;
    assert_eq!(codes(&untold), ["journal_unsecured", "journal_behind"]);
    journal.close().await;
    let (journal, _) = open(&path);
    append(&journal, "7", [next + 1]).await;
    assert_eq!(seqs(&behind_ten(&journal).await), [base + 1, next, next + 1]);
    // Whoever had another journal had other events under these numbers.
    let higher = KnownNumbers {
        ceiling: next + 1_000,
        ..known("another")
    };
    assert_eq!(compared(&journal, Some(higher)).await, ["journal_behind"]);
    let rows = behind_ten(&journal).await;
    assert_eq!(seqs(&rows[..2]), [base + 1, next]);
    assert!(rows.len() == 3 && rows[2].seq > next + 1_000, "{rows:?}");
    drop(disk);
}

#[tokio::test]
async fn on_a_disk_that_takes_no_writes_at_the_start_numbers_jump_once_for_all_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.close().await;
    for (last, appended) in [(0, true), (70, true), (70, false)] {
        disk.set_read_only(true);
        let (journal, _) = open(&path);
        if appended {
            append(&journal, "7", [11]).await;
        }
        assert_eq!(behind_ten(&journal).await, []);
        let known = KnownNumbers {
            last,
            ceiling: last,
            ..KnownNumbers::default()
        };
        let code = if last == 0 {
            "journal_unsecured"
        } else {
            "journal_behind"
        };
        assert_eq!(compared(&journal, Some(known)).await, [code]);
        let last_seq = journal.resume("7").await.last_seq;
        assert!(last_seq > FAR);
        append(&journal, "7", [last_seq + 1]).await;
        append(&journal, "8", [journal.resume("8").await.last_seq + 1]).await;
        let rows = behind_ten(&journal).await;
        assert_eq!(rows.len(), 2 + usize::from(appended));
        assert!(rows.iter().all(|row| row.seq > FAR && row.unsecured.is_some()));
        journal.close().await;
        disk.set_read_only(false);
    }
}

#[tokio::test]
async fn a_disk_that_takes_writes_again_before_anything_was_sent_keeps_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.close().await;
    disk.set_read_only(true);
    let (journal, _) = open(&path);
    assert_eq!(append(&journal, "7", [11]).await, Written::Memory);
    assert_eq!(behind_ten(&journal).await, []);
    disk.set_read_only(false);
    while journal.tick().await.in_memory > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(compared(&journal, None).await, [""; 0]);
    assert_eq!(seqs(&behind_ten(&journal).await), [11]);
    journal.close().await;
    drop(disk);
}

/// The disk may begin to refuse while boards stand still for another reason: nothing is told under numbers that it does not have.
#[tokio::test]
async fn a_disk_that_fails_while_numbers_jump_has_them_jump_on() {
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
    let known = KnownNumbers {
        last: 70,
        ceiling: 70,
        ..KnownNumbers::default()
    };
    let settled = journal
        .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
        .await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    disk.fail();
    let said = journal.lift().await;
    assert_eq!(codes(&said), ["journal_behind", "journal_unsecured"]);
    settled.await.unwrap();
    assert!(!*journal.disputed().borrow());
    let rows = behind_ten(&journal).await;
    assert!(rows.len() == 3 && rows.iter().all(|row| row.seq > FAR && row.unsecured.is_some()));
    let last_seq = journal.resume("7").await.last_seq;
    assert_eq!(last_seq, rows[2].seq);
    append(&journal, "7", [last_seq + 1]).await;
    assert_eq!(behind_ten(&journal).await.len(), 4);
    drop(disk);
}

/// A run before this one could write and not ask the broker: what it took is no write that the disk refused.
#[tokio::test]
async fn what_was_taken_before_the_broker_was_asked_has_no_number_that_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    dying(&disk, &journal).await;
    journal.lift().await;
    let sent = behind_ten(&journal).await;
    let left = sent[0].unsecured.clone();
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    append(&journal, "7", [11]).await;
    journal.close().await;
    let (journal, _) = open(&path);
    let known = KnownNumbers {
        last: sent[1].seq,
        ceiling: sent[1].seq + 64,
        left,
        ..KnownNumbers::default()
    };
    assert_eq!(compared(&journal, Some(known)).await, ["journal_behind"]);
    let rows = behind_ten(&journal).await;
    assert!(rows.len() == 1 && rows[0].seq > sent[1].seq + 64, "{rows:?}");
    journal.close().await;
    drop(disk);
}

/// A disk that refuses and writes all the same trails what was given out since, also where it takes writes before the broker is asked.
#[tokio::test]
async fn a_disk_that_took_far_numbers_and_refused_them_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    for is_read_only in [false, true] {
        let (journal, _) = open(&path);
        let last_seq = journal.resume("7").await.last_seq;
        append(&journal, "7", [last_seq + 1]).await;
        compared(&journal, None).await;
        journal.close().await;
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute("INSERT INTO meta VALUES ('unsecured', '1')", [])
            .unwrap();
        drop(file);
        disk.set_read_only(is_read_only);
        let (journal, _) = open(&path);
        append(&journal, "7", [last_seq + 2]).await;
        disk.set_read_only(false);
        while journal.tick().await.in_memory > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(
            compared(&journal, None).await,
            ["journal_unsecured"],
            "{is_read_only}"
        );
        let resume = journal.resume("7").await;
        assert!(resume.last_seq > FAR.max(last_seq + 2));
        journal.close().await;
        let (journal, _) = open(&path);
        assert_eq!(compared(&journal, None).await, [""; 0]);
        journal.close().await;
    }
}

/// The card died before the broker was asked, and what it has was sent with other numbers.
#[tokio::test]
async fn what_the_disk_has_of_before_the_comparison_has_the_numbers_under_which_it_was_sent() {
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
    assert_eq!(said(&journal).await, ["journal_failing"]);
    append(&journal, "7", [14]).await;
    assert_eq!(compared(&journal, None).await, ["journal_unsecured"]);
    let sent = behind_ten(&journal).await;
    assert_eq!(sent.len(), 4);
    let left = sent[3].unsecured.clone();
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    let last = sent[3].seq;
    append(&journal, "7", [14]).await;
    let known = KnownNumbers {
        last,
        ceiling: last + 64,
        left,
        ..KnownNumbers::default()
    };
    assert_eq!(compared(&journal, Some(known)).await, ["journal_behind"]);
    let again = behind_ten(&journal).await;
    let json = |rows: &[OutboxRow]| rows.iter().map(|row| row.json.clone()).collect::<Vec<_>>();
    assert_eq!(json(&again[..3]), json(&sent[..3]));
    assert!(again.len() == 4 && again[3].seq > last + 64, "{again:?}");
    journal.close().await;
    drop(disk);
}

/// The journal knows nothing of a board whose first events came from memory.
#[tokio::test]
async fn numbers_do_not_double_however_often_a_dead_card_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "8", [1]).await;
    compared(&journal, None).await;
    journal.close().await;
    disk.set_read_only(true);
    let mut last = 5;
    for _ in 0..5 {
        let (journal, _) = open(&path);
        let known = KnownNumbers {
            last,
            ..KnownNumbers::default()
        };
        assert!(compared(&journal, Some(known)).await.contains(&"journal_behind"));
        let resume = journal.resume("7").await;
        assert!(resume.last_seq > last && resume.last_seq < 1 << 48, "{resume:?}");
        assert!(codes(&resume.untold).contains(&"journal_behind"));
        last = resume.last_seq;
        journal.close().await;
    }
    drop(disk);
}

/// A board that is switched off while the numbers of a new journal jump tells its first event in a later run.
#[tokio::test]
async fn of_a_new_journal_at_a_broker_that_tells_nothing_all_boards_begin_far_above() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", [1]).await;
    let settled = journal.reconcile(None).await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    assert_eq!(codes(&journal.lift().await), ["numbers_unknown"]);
    settled.await.unwrap();
    journal.close().await;
    let (journal, _) = open(&path);
    let settled = journal.reconcile(None).await;
    settled.await.unwrap();
    let resumes = [journal.resume("7").await, journal.resume("8").await];
    assert!(resumes.iter().all(|resume| resume.last_seq > FAR), "{resumes:?}");
    assert_eq!(codes(&resumes[1].untold), ["numbers_unknown"]);
    journal.close().await;
}

/// The topics of a board that was taken out of the configuration were cleared, and now it is configured again.
#[tokio::test]
async fn nor_does_a_board_of_which_the_broker_has_nothing_begin_anew_where_it_has_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "8", [1]).await;
    let known = KnownNumbers {
        last: 6,
        ..KnownNumbers::default()
    };
    let said = compared(&journal, Some(known)).await;
    assert_eq!(said, ["journal_behind", "numbers_unknown"]);
    let rows = journal.unacked(0, 100).await;
    assert!(rows.len() == 1 && rows[0].seq > FAR, "{rows:?}");
    let resumes = [journal.resume("7").await, journal.resume("9").await];
    assert!(resumes.iter().all(|resume| resume.last_seq > FAR), "{resumes:?}");
    journal.close().await;
}

/// A disk that takes writes again in time does not make a new journal know its numbers.
#[tokio::test]
async fn nor_does_a_disk_that_takes_writes_again_tell_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    disk.set_read_only(true);
    let (journal, _) = open(&path);
    append(&journal, "7", [1]).await;
    let settled = journal.reconcile(None).await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    disk.set_read_only(false);
    while journal.tick().await.in_memory > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(codes(&journal.lift().await), ["numbers_unknown"]);
    settled.await.unwrap();
    let rows = journal.unacked(0, 100).await;
    assert!(rows.len() == 1 && rows[0].seq > FAR, "{rows:?}");
    journal.close().await;
}

/// Another gateway takes the name just then, and gives out our numbers.
#[tokio::test]
async fn what_was_kept_back_keeps_no_number_that_another_may_have_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    dying(&disk, &journal).await;
    journal.acked((1..=10).collect()).await;
    journal.stand_by(true).await;
    assert_eq!(
        codes(&journal.lift().await),
        [""; 0],
        "the other has not told its numbers"
    );
    let known = KnownNumbers {
        last: 12,
        ..KnownNumbers::default()
    };
    assert_eq!(compared(&journal, Some(known)).await, ["journal_behind"]);
    let rows = journal.unacked(0, 100).await;
    assert!(rows.len() == 2 && rows[0].seq > FAR, "{rows:?}");
    let unsent_as: Vec<_> = rows.iter().map(|row| read(row).unsent_as.unwrap()).collect();
    assert_eq!(unsent_as, ["gw/7/11", "gw/7/12"]);
    drop(disk);
}

/// What another gateway's numbers drove out of its place says which it had, also where the next run reads it from the disk.
#[tokio::test]
async fn what_says_its_former_number_says_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some((disk, path)) = card(folder.path()) else {
        return;
    };
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    journal.acked((1..=8).collect()).await;
    disk.fail();
    assert_eq!(said(&journal).await, ["journal_failing"]);
    journal.stand_by(true).await;
    let another = KnownNumbers {
        last: 12,
        ..KnownNumbers::default()
    };
    assert_eq!(compared(&journal, Some(another)).await, ["journal_behind"]);
    let sent = behind_ten(&journal).await;
    let formerly: Vec<_> = sent.iter().map(|row| read(row).formerly.unwrap()).collect();
    assert_eq!(formerly, ["gw/7/9", "gw/7/10"]);
    let (left, last) = (sent[1].unsecured.clone(), sent[1].seq);
    assert!(left.is_some());
    journal.close().await;
    let disk = disk.repair();
    let (journal, _) = open(&path);
    let known = KnownNumbers {
        last,
        ceiling: last + 64,
        left,
        ..KnownNumbers::default()
    };
    compared(&journal, Some(known)).await;
    let again = behind_ten(&journal).await;
    let json = |rows: &[OutboxRow]| rows.iter().map(|row| row.json.clone()).collect::<Vec<_>>();
    assert_eq!(json(&again), json(&sent));
    journal.close().await;
    drop(disk);
}
