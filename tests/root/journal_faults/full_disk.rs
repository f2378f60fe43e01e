//! The journal on a full disk.

use std::time::Duration;

use dgt2mqtt::journal::{AppendError, Entry, Journal, JournalSettings, Written};

use super::{append, codes, entry, event, open, seqs};
use crate::{disk::SmallDisk, journal_leave::compared};

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

#[tokio::test]
async fn a_full_disk_is_bridged_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    let last = fill(&journal).await;
    assert_eq!(codes(&journal.trouble().borrow()), ["disk_full"]);
    let sendable: Vec<u64> = journal
        .unacked(0, 10_000)
        .await
        .iter()
        .map(|row| row.seq)
        .collect();
    assert_eq!(
        sendable,
        (1..=last).collect::<Vec<_>>(),
        "the broker gets them all"
    );
    let rows = journal.unacked(0, 10).await;
    journal.acked(rows.iter().map(|row| row.n).collect()).await;
    disk.grow();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let stats = journal.tick().await;
    assert_eq!(stats.in_memory, 0);
    assert_eq!(stats.depth, last - 10);
    assert_eq!(codes(&journal.trouble().borrow()), [""; 0]);
    assert_eq!(append(&journal, entry("7", [last + 1])).await, Ok(Written::Disk));
    journal.close().await;
    assert_eq!(seqs(&path, "7"), (1..=last + 1).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_death_on_a_full_disk_gives_no_number_twice() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        return;
    };
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    let last = fill(&journal).await;
    journal.close().await;
    disk.grow();
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), ["events_lost"]);
    let given_out = journal.resume("7").await.last_seq;
    assert!(given_out >= last);
    journal.close().await;
    let (journal, _) = open(&path);
    let untold = journal.resume("7").await.untold;
    assert_eq!(codes(&untold), ["events_lost"], "no event has told of it");
    assert_eq!(
        append(&journal, entry("7", [given_out + 1])).await,
        Ok(Written::Disk)
    );
    journal.close().await;
    let (journal, notices) = open(&path);
    let untold = journal.resume("7").await.untold;
    assert_eq!([codes(&notices), codes(&untold)], [[""; 0]; 2], "said once");
    journal.close().await;
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
