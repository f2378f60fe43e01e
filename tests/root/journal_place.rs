//! The journal whose file is removed, replaced, damaged or made read-only while it is in use.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use dgt2mqtt::{
    event::{Body, Event},
    journal::{Entry, Journal, KnownNumbers, Written},
};

use crate::{
    disk::ImageDisk,
    journal_faults::{codes, open, seqs},
    journal_leave::compared,
};

pub fn event(board: &str, seq: u64) -> Event {
    Event {
        v: 1,
        formerly: None,
        unsent_as: None,
        id: format!("gw/{board}/{seq}"),
        seq,
        body: Body::Notice {
            code: "test".to_owned(),
            message: format!("event {seq}"),
        },
        board: board.to_owned(),
        game: Some(1),
        t: 0.0,
        at: None,
        time: None,
        source: None,
        by: None,
    }
}

pub async fn append(journal: &Journal, board: &str, seqs: impl IntoIterator<Item = u64>) -> Written {
    let entry = Entry {
        board: board.to_owned(),
        events: seqs.into_iter().map(|seq| event(board, seq)).collect(),
        snapshot: Some(format!("{{\"board\":{board:?}}}")),
        command: None,
    };
    journal.append(entry).await.await.unwrap()
}

/// Ticks until the journal says what is wrong.
pub async fn said(journal: &Journal) -> Vec<&'static str> {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        journal.tick().await;
        let said = codes(&journal.trouble().borrow());
        if !said.is_empty() {
            return said;
        }
        assert!(Instant::now() < deadline, "nothing is said");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// As a kill leaves it: the handle is forgotten, and what it had written stays as it is.
fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
}

/// What does harm to the journal in a folder, and what is said of it.
type Harm = (&'static str, fn(&Path), &'static str);

fn remove(folder: &Path, ending: &str) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.to_string_lossy().ends_with(ending) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

const HARMS: [Harm; 4] = [
    (
        "the folder",
        |folder| std::fs::remove_dir_all(folder).unwrap(),
        "journal_missing",
    ),
    ("the file", |folder| remove(folder, "j.sqlite"), "journal_missing"),
    (
        "the write-ahead log",
        |folder| remove(folder, "-wal"),
        "journal_missing",
    ),
    (
        "a backup in its place",
        |folder| {
            remove(folder, "j.sqlite");
            remove(folder, "-wal");
            let backup = folder.parent().unwrap().join("backup");
            std::fs::copy(backup.join("j.sqlite"), folder.join("j.sqlite")).unwrap();
            std::fs::copy(backup.join("j.sqlite-wal"), folder.join("j.sqlite-wal")).unwrap();
        },
        "journal_replaced",
    ),
];

#[tokio::test]
async fn a_journal_that_is_taken_away_is_made_anew_and_no_number_comes_twice() {
    for (what, harm, code) in HARMS {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let path = state.join("j.sqlite");
        let (journal, _) = open(&path);
        append(&journal, "7", 1..=10).await;
        append(&journal, "8", 1..=3).await;
        journal.tick().await;
        copied(&state, &folder.path().join("backup"));
        append(&journal, "7", 11..=20).await;
        let rows = journal.unacked(0, 5).await;
        journal.acked(rows.iter().map(|row| row.n).collect()).await;
        harm(&state);
        assert_eq!(said(&journal).await, [code], "{what}");
        assert_eq!(append(&journal, "7", 21..=25).await, Written::Disk, "{what}");
        let waiting = journal.unacked(0, 100).await.len();
        assert_eq!(waiting, 23, "{what}");
        // Another process would find this.
        let killed = folder.path().join("killed");
        copied(&state, &killed);
        let (after, _) = open(&killed.join("j.sqlite"));
        assert_eq!(after.resume("7").await.last_seq, 25, "{what}");
        assert_eq!(after.resume("8").await.last_seq, 3, "{what}");
        assert!(after.resume("7").await.snapshot.is_some(), "{what}");
        after.close().await;
        journal.close().await;
        let (again, notices) = open(&path);
        assert_eq!(codes(&notices), [""; 0], "{what}");
        assert_eq!(again.resume("7").await.last_seq, 25, "{what}");
        again.close().await;
        assert_eq!(seqs(&path, "7"), (1..=25).collect::<Vec<_>>(), "{what}");
    }
}

#[tokio::test]
async fn a_journal_that_is_overwritten_begins_anew_and_no_number_comes_twice() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    for seq in 1..=200 {
        append(&journal, "7", [seq]).await;
    }
    journal.tick().await;
    for name in ["j.sqlite", "j.sqlite-wal"] {
        let file = std::fs::File::options()
            .write(true)
            .open(folder.path().join(name))
            .unwrap();
        let size = usize::try_from(file.metadata().unwrap().len()).unwrap();
        file.write_all_at(&vec![0xa5; size], 0).unwrap();
    }
    assert_eq!(said(&journal).await, ["journal_damaged"]);
    assert_eq!(append(&journal, "7", [201]).await, Written::Disk);
    journal.close().await;
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), [""; 0]);
    assert_eq!(journal.resume("7").await.last_seq, 201);
    journal.close().await;
    assert_eq!(seqs(&path, "7").last(), Some(&201));
}

#[tokio::test]
async fn a_disk_that_takes_no_writes_is_said_without_an_event_and_numbers_are_not_secured() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    let path = at("disk").join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, "7", 1..=10).await;
    compared(&journal, None).await;
    disk.fail();
    assert_eq!(said(&journal).await, ["journal_failing"]);
    assert_eq!(append(&journal, "7", 11..=12).await, Written::Memory);
    assert_eq!(codes(&journal.lift().await), ["journal_unsecured"]);
    let secured: Vec<bool> = journal
        .unacked(0, 100)
        .await
        .iter()
        .map(|row| row.unsecured.is_none())
        .collect();
    assert_eq!(secured, [[true; 10].as_slice(), &[false; 2]].concat());
    assert!(*journal.unsecured().borrow());
    journal.close().await;
    let disk = disk.repair();
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), [""; 0], "the disk knows nothing of it");
    assert_eq!(journal.resume("7").await.last_seq, 10);
    // What was taken before the broker was asked gets other numbers.
    append(&journal, "7", 11..=13).await;
    append(&journal, "8", 1..=2).await;
    let known = KnownNumbers {
        last: 12,
        ceiling: 75,
        game: 0,
        ..KnownNumbers::default()
    };
    let mut settled = journal
        .reconcile(Some(BTreeMap::from([("7".to_owned(), known)])))
        .await;
    journal.disputed().wait_for(|is| *is).await.unwrap();
    assert!(settled.try_recv().is_err(), "not before it is lifted");
    assert_eq!(codes(&journal.lift().await), ["journal_behind"]);
    settled.await.unwrap();
    let last = journal.resume("7").await.last_seq;
    assert!(last > 78, "{last}");
    assert_eq!(append(&journal, "7", [last + 1]).await, Written::Disk);
    assert_eq!(append(&journal, "8", [3]).await, Written::Disk);
    journal.close().await;
    let expected = (1..=10).chain(last - 2..=last + 1);
    assert_eq!(seqs(&path, "7"), expected.collect::<Vec<_>>());
    drop(disk);
}

#[tokio::test]
async fn a_start_on_a_disk_that_takes_no_writes_works_from_memory_until_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let Some(disk) = ImageDisk::make(&at("image"), &at("disk")) else {
        return;
    };
    for state in ["closed", "killed", "none"] {
        disk.set_read_only(false);
        let place = at("disk").join(state);
        let path = place.join("j.sqlite");
        let last = if state == "none" { 0 } else { 10 };
        if state != "none" {
            let (journal, _) = open(&at(state).join("j.sqlite"));
            append(&journal, "7", 1..=10).await;
            compared(&journal, None).await;
            if state == "closed" {
                journal.close().await;
            }
            copied(&at(state), &place);
        }
        disk.set_read_only(true);
        let (journal, _) = open(&path);
        assert_eq!(codes(&journal.trouble().borrow()), ["journal_failing"], "{state}");
        let resume = journal.resume("7").await;
        assert_eq!(
            (resume.last_seq, resume.snapshot.is_some()),
            (last, last > 0),
            "{state}"
        );
        assert_eq!(append(&journal, "7", last + 1..=last + 2).await, Written::Memory);
        assert_eq!(journal.unacked(0, 100).await.len() as u64, last, "{state}");
        assert_eq!(compared(&journal, None).await, ["journal_unsecured"], "{state}");
        let rows = journal.unacked(0, 100).await;
        let told: Vec<_> = rows.iter().map(|row| row.seq).collect();
        assert!(
            told.len() as u64 == last + 2 && told.is_sorted(),
            "{state}: {told:?}"
        );
        assert!(told[told.len() - 2] > 1_000_000_000, "{state}: {told:?}");
        disk.set_read_only(false);
        let deadline = Instant::now() + Duration::from_secs(90);
        while journal.tick().await.in_memory > 0 {
            assert!(
                Instant::now() < deadline,
                "{state}: {:?}",
                journal.trouble().borrow()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        journal.close().await;
        assert_eq!(seqs(&path, "7"), told, "{state}");
    }
}
