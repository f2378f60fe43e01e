//! The journal on a full disk.

use std::{path::Path, time::Duration};

use dgt2mqtt::journal::{AppendError, Entry, Journal, JournalSettings, KnownNumbers, OutboxRow, Written};

use super::{append, codes, entry, event, open, seqs};
use crate::{
    disk::SmallDisk,
    journal_leave::{FAR, compared},
};

/// Fills the disk; returns the last number given out.
async fn fill(journal: &Journal) -> u64 {
    let long = "x".repeat(3000);
    for seq in 1..=2000 {
        let big = Entry {
            board: "7".to_owned(),
            events: vec![event("7", seq, &long)],
            ..Entry::default()
        };
        if append(journal, big).await.unwrap() == Written::Memory {
            for more in seq + 1..=seq + 20 {
                assert_eq!(append(journal, entry("7", [more])).await, Ok(Written::Memory));
            }
            return seq + 20;
        }
    }
    panic!("the disk does not fill");
}

/// A compared journal on a disk that is full by now, with what is told of it, and how many events the disk has.
async fn full(path: &Path) -> (Journal, Vec<OutboxRow>, usize) {
    let (journal, _) = open(path);
    assert_eq!(compared(&journal, None).await, [""; 0]);
    let last = fill(&journal).await;
    assert_eq!(codes(&journal.trouble().borrow()), ["disk_full"]);
    let kept = journal.unacked(0, 10_000).await;
    let first_in_memory = last - 20;
    assert_eq!(
        kept.last().unwrap().seq,
        first_in_memory - 1,
        "what is in memory is told under numbers that no later run has"
    );
    assert_eq!(codes(&journal.lift().await), ["journal_unsecured"]);
    let told = journal.unacked(0, 10_000).await;
    let (before, since) = told.split_at(kept.len());
    assert_eq!((before, since.len()), (&kept[..], 21), "the broker gets them all");
    let far = since[0].seq;
    assert!(far > FAR && since.iter().map(|row| row.seq).eq(far..far + 21));
    assert!(since.iter().all(|row| row.unsecured.is_some()));
    let in_disk = kept.len();
    (journal, told, in_disk)
}

#[tokio::test]
async fn a_full_disk_is_bridged_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    let (journal, told, _) = full(&path).await;
    journal.acked(told[..10].iter().map(|row| row.n).collect()).await;
    disk.grow();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let stats = journal.tick().await;
    assert_eq!(stats.in_memory, 0);
    assert_eq!(stats.depth, told.len() as u64 - 10);
    assert_eq!(codes(&journal.trouble().borrow()), [""; 0]);
    let mut numbers: Vec<u64> = told.iter().map(|row| row.seq).collect();
    let next = numbers.last().unwrap() + 1;
    assert_eq!(append(&journal, entry("7", [next])).await, Ok(Written::Disk));
    journal.close().await;
    numbers.push(next);
    assert_eq!(seqs(&path, "7"), numbers);
}

#[tokio::test]
async fn a_death_on_a_full_disk_gives_no_number_twice() {
    for is_forgotten in [false, true] {
        die_on_a_full_disk(is_forgotten).await;
    }
}

/// Nothing on the disk tells of the numbers, so there is nothing that somebody could take away. The broker may forget them as well.
async fn die_on_a_full_disk(is_forgotten: bool) {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    let (journal, told, in_disk) = full(&path).await;
    journal.close().await;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap().path();
        if !file.to_string_lossy().contains("j.sqlite-") && file != path {
            std::fs::remove_file(file).unwrap();
        }
    }
    disk.grow();
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), [""; 0]);
    let resume = journal.resume("7").await;
    assert_eq!(resume.last_seq, told[in_disk - 1].seq);
    append(&journal, entry("7", [resume.last_seq + 1])).await.unwrap();
    let last = told.last().unwrap();
    let known = KnownNumbers {
        last: last.seq,
        ceiling: last.seq + 64,
        left: last.unsecured.clone(),
        ..KnownNumbers::default()
    };
    let said = compared(&journal, (!is_forgotten).then_some(known)).await;
    let rows = journal.unacked(0, 10_000).await;
    assert_eq!(rows[..in_disk], told[..in_disk]);
    let next = rows[in_disk].seq;
    if is_forgotten {
        assert_eq!((said, next), (vec![], resume.last_seq + 1));
    } else {
        assert_eq!(said, ["journal_behind"]);
        assert!(next > last.seq + 64);
    }
    assert!(told.iter().all(|row| row.seq != next));
    journal.close().await;
}

/// A former version kept a file for the numbers that it gave out while the disk was full.
#[tokio::test]
async fn what_a_former_version_gave_out_on_a_full_disk_is_not_given_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let mark = folder.path().join("j.sqlite.mark");
    for (left, said) in [
        ("{}     ", None),
        (r#"{"7":300}   "#, Some("journal_unsecured")),
        ("\0\0", Some("journal_unsecured")),
        ("", Some("journal_unsecured")),
    ] {
        let (journal, _) = open(&path);
        let last_seq = journal.resume("7").await.last_seq;
        append(&journal, entry("7", [last_seq + 1])).await.unwrap();
        compared(&journal, None).await;
        journal.close().await;
        std::fs::write(&mark, left).unwrap();
        for said in [said, None] {
            let (journal, _) = open(&path);
            assert!(!mark.exists());
            let said: Vec<_> = said.into_iter().collect();
            assert_eq!(compared(&journal, None).await, said, "{left}");
            let far = journal.resume("7").await.last_seq > FAR.max(last_seq + 1);
            assert!(far || said.is_empty(), "{left}");
            journal.close().await;
        }
    }
}

/// Nobody has had a journal there, and none can be made.
#[tokio::test]
async fn on_its_first_evening_a_full_disk_misses_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    disk.fill();
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), [""; 0]);
    assert_eq!(journal.resume("7").await.last_seq, 0);
    disk.clear();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    append(&journal, entry("7", [1])).await.unwrap();
    journal.close().await;
    assert_eq!(seqs(&path, "7"), [1]);
}

#[tokio::test]
async fn a_start_on_a_full_disk_works_from_memory_until_there_is_room() {
    for is_index_gone in [false, true] {
        start_on_a_full_disk(is_index_gone).await;
    }
}

/// As after a kill: the write-ahead log is there, and its index may be.
async fn start_on_a_full_disk(is_index_gone: bool) {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    let elsewhere = tempfile::tempdir().unwrap();
    let (journal, _) = open(&elsewhere.path().join("j.sqlite"));
    append(&journal, entry("7", 1..=10)).await.unwrap();
    compared(&journal, None).await;
    for file in std::fs::read_dir(elsewhere.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    journal.close().await;
    if is_index_gone {
        std::fs::remove_file(folder.path().join("j.sqlite-shm")).unwrap();
    }
    disk.fill();
    let (journal, _) = open(&path);
    assert_eq!(codes(&journal.trouble().borrow()), ["journal_failing"]);
    assert_eq!(journal.resume("7").await.last_seq, 10);
    assert_eq!(append(&journal, entry("7", 11..=15)).await, Ok(Written::Memory));
    assert_eq!(
        journal.unacked(0, 100).await.len(),
        10,
        "what is on the disk is told, and the rest once its numbers are such that no later run has them"
    );
    assert_eq!(compared(&journal, None).await, ["journal_unsecured"]);
    let rows = journal.unacked(0, 100).await;
    let told: Vec<_> = rows.iter().map(|row| row.seq).collect();
    assert!(told.len() == 15 && told[10] > 1_000_000_000, "{told:?}");
    disk.grow();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(journal.tick().await.in_memory, 0);
    assert_eq!(codes(&journal.trouble().borrow()), [""; 0]);
    journal.close().await;
    assert_eq!(seqs(&path, "7"), told);
}

#[tokio::test]
async fn what_neither_disk_nor_memory_takes_leaves_a_gap_and_the_board_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    let settings = JournalSettings {
        max_in_memory: 30,
        ..JournalSettings::at(&path)
    };
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let last = fill(&journal).await;
    let mut lost = entry("7", last + 1..=last + 20);
    lost.snapshot = Some("{\"after\":\"the lost\"}".to_owned());
    assert!(matches!(
        append(&journal, lost).await,
        Err(AppendError::MemoryFull(_))
    ));
    assert_eq!(journal.tick().await.refused, 20);
    let next = last + 21;
    assert!(
        append(&journal, entry("7", [last + 1])).await.is_err(),
        "a lost number is not given out again"
    );
    let resume = journal.resume("7").await;
    assert_eq!(resume.last_seq, last + 20);
    assert_eq!(resume.snapshot.as_deref(), Some("{\"after\":\"the lost\"}"));
    disk.grow();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(append(&journal, entry("7", [next])).await, Ok(Written::Disk));
    journal.close().await;
    let kept: Vec<u64> = (1..=last).chain([next]).collect();
    assert_eq!(seqs(&path, "7"), kept);
}
