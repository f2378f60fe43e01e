//! The journal under kill, damage, a full disk, and its limits.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use dgt2mqtt::{
    event::{Body, Event},
    journal::{
        AppendError, CommandRecord, Entry, Journal, JournalError, JournalSettings, Notice, Written,
        query::{Filter, each_event},
    },
};

use crate::disk::{ImageDisk, SmallDisk};

fn event(board: &str, seq: u64, message: &str) -> Event {
    Event {
        v: 1,
        formerly: None,
        id: format!("gw/{board}/{seq}"),
        seq,
        body: Body::Notice {
            code: "test".to_owned(),
            message: message.to_owned(),
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

fn entry(board: &str, seqs: impl IntoIterator<Item = u64>) -> Entry {
    Entry {
        board: board.to_owned(),
        events: seqs.into_iter().map(|seq| event(board, seq, "m")).collect(),
        snapshot: Some(format!("{{\"board\":{board:?}}}")),
        command: None,
    }
}

async fn append(journal: &Journal, entry: Entry) -> Result<Written, AppendError> {
    journal.append(entry).await.await
}

fn open(path: &Path) -> (Journal, Vec<Notice>) {
    Journal::open(JournalSettings::at(path), "gw").unwrap()
}

fn codes(notices: &[Notice]) -> Vec<&'static str> {
    notices.iter().map(|notice| notice.code).collect()
}

fn seqs(path: &Path, board: &str) -> Vec<u64> {
    let mut seqs = Vec::new();
    let filter = Filter {
        board: Some(board.to_owned()),
        ..Filter::default()
    };
    each_event(path, &filter, |kept| {
        let json = kept.json;
        seqs.push(serde_json::from_str::<Event>(json).unwrap().seq);
        true
    })
    .unwrap();
    seqs
}

#[tokio::test]
async fn numbers_go_on_and_nothing_is_taken_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), [""; 0]);
    assert_eq!(append(&journal, entry("7", 1..=3)).await, Ok(Written::Disk));
    assert!(matches!(
        append(&journal, entry("7", [3])).await,
        Err(AppendError::OutOfSequence { last: 3, got: 3, .. })
    ));
    assert!(matches!(
        append(&journal, entry("7", [5])).await,
        Err(AppendError::OutOfSequence { .. })
    ));
    let mut foreign = entry("7", [4]);
    foreign.events[0].board = "8".to_owned();
    assert!(matches!(
        append(&journal, foreign).await,
        Err(AppendError::OtherBoard { .. })
    ));
    // A bad event takes its whole entry with it.
    assert!(append(&journal, entry("7", [4, 6])).await.is_err());
    assert_eq!(append(&journal, entry("8", [1])).await, Ok(Written::Disk));
    let rows = journal.unacked(0, 100).await;
    assert_eq!(rows.iter().map(|r| r.seq).collect::<Vec<_>>(), [1, 2, 3, 1]);
    journal.acked(vec![rows[0].n, rows[1].n]).await;
    assert_eq!(journal.unacked(0, 100).await.len(), 2);
    journal.close().await;
    let (journal, _) = open(&path);
    assert_eq!(
        journal.unacked(0, 100).await.len(),
        2,
        "acknowledgements are kept"
    );
    let resume = journal.resume("7").await;
    assert_eq!(resume.last_seq, 3);
    assert_eq!(resume.snapshot.as_deref(), Some(r#"{"board":"7"}"#));
    assert_eq!(append(&journal, entry("7", [4])).await, Ok(Written::Disk));
    journal.close().await;
    assert_eq!(seqs(&path, "7"), [1, 2, 3, 4]);
}

#[tokio::test]
async fn the_journal_can_be_read_beside_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, entry("7", 1..=5)).await.unwrap();
    append(&journal, entry("8", 1..=2)).await.unwrap();
    let ids = |filter: Filter| {
        let mut ids = Vec::new();
        each_event(&path, &filter, |kept| {
            let json = kept.json;
            ids.push(serde_json::from_str::<Event>(json).unwrap().id);
            true
        })
        .unwrap();
        ids
    };
    assert_eq!(ids(Filter::default()).len(), 7);
    let filter = Filter {
        board: Some("7".to_owned()),
        game: Some(1),
        kind: Some("notice".to_owned()),
        since_seq: Some(2),
        last: Some(2),
        ..Filter::default()
    };
    assert_eq!(ids(filter), ["gw/7/4", "gw/7/5"]);
    let other = Filter {
        game: Some(2),
        ..Filter::default()
    };
    assert_eq!(ids(other), [""; 0]);
    let between = Filter {
        board: Some("7".to_owned()),
        before_seq: Some(3),
        after: Some(1),
        ..Filter::default()
    };
    assert_eq!(ids(between), ["gw/7/2"]);
    assert!(each_event(Path::new("/nowhere"), &Filter::default(), |_| true).is_err());
    journal.close().await;
}

#[tokio::test]
async fn two_daemons_cannot_share_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    let refused = Journal::open(JournalSettings::at(&path), "gw").unwrap_err();
    assert!(matches!(refused, JournalError::Locked { .. }), "{refused}");
    assert!(refused.to_string().contains(&std::process::id().to_string()));
    journal.close().await;
    assert!(Journal::open(JournalSettings::at(&path), "gw").is_ok());
}

#[tokio::test]
async fn a_repeated_reference_finds_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, _) = open(&folder.path().join("j.sqlite"));
    let record = CommandRecord {
        reference: Some("\"r1\"".to_owned()),
        verb: "result".to_owned(),
        payload: "{}".to_owned(),
        reply: "{\"ok\":true}".to_owned(),
    };
    let mut with_command = entry("7", [1]);
    with_command.command = Some(record.clone());
    append(&journal, with_command).await.unwrap();
    assert_eq!(journal.command("7", "\"r1\"").await, Some(record));
    assert_eq!(journal.command("8", "\"r1\"").await, None);
    assert_eq!(journal.command("7", "\"r2\"").await, None);
    journal.close().await;
}

#[tokio::test]
async fn limits_drop_what_was_acknowledged_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let settings = JournalSettings {
        max_bytes: 300_000,
        ..JournalSettings::at(&path)
    };
    let (journal, _) = Journal::open(settings, "gw").unwrap();
    let long = "x".repeat(1000);
    for seq in 1..=1000 {
        let big = Entry {
            board: "7".to_owned(),
            events: vec![event("7", seq, &long)],
            ..Entry::default()
        };
        append(&journal, big).await.unwrap();
    }
    let stats = journal.tick().await;
    assert_eq!((stats.depth, stats.pruned), (1000, 0), "nothing is acknowledged");
    assert_eq!(codes(&journal.trouble().borrow()), ["outbox_filling"]);
    let rows = journal.unacked(0, 950).await;
    journal.acked(rows.iter().map(|row| row.n).collect()).await;
    let stats = journal.tick().await;
    assert!(stats.bytes <= 300_000 && stats.pruned >= 600, "{stats:?}");
    assert_eq!(stats.depth, 50);
    assert_eq!(codes(&journal.trouble().borrow()), [""; 0]);
    let left: Vec<u64> = journal.unacked(0, 1000).await.iter().map(|row| row.seq).collect();
    assert_eq!(left, (951..=1000).collect::<Vec<_>>());
    journal.close().await;
}

fn damage(path: &Path, from: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let from = from.min(bytes.len() / 2);
    bytes[from..].iter_mut().for_each(|byte| *byte = 0xa5);
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_no_number_comes_twice() {
    for from in [0, 5_000, 20_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        let (journal, _) = open(&path);
        for seq in 1..=200 {
            append(&journal, entry("7", [seq])).await.unwrap();
        }
        journal.close().await;
        damage(&path, from);
        let (journal, notices) = open(&path);
        assert_eq!(codes(&notices), ["journal_damaged"], "from {from}");
        let aside = std::fs::read_dir(folder.path()).unwrap().filter(|file| {
            let name = file.as_ref().unwrap().file_name();
            name.to_string_lossy().contains(".damaged-")
        });
        assert!(aside.count() >= 1);
        for board in ["7", "never-seen"] {
            let resume = journal.resume(board).await;
            assert!(resume.last_seq > 1_000_000, "{board}: {}", resume.last_seq);
            let next = resume.last_seq + 1;
            assert_eq!(append(&journal, entry(board, [next])).await, Ok(Written::Disk));
        }
        journal.close().await;
        let seqs = seqs(&path, "7");
        assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
        let (_, notices) = open(&path);
        assert_eq!(codes(&notices), [""; 0], "it is sound again");
    }
}

#[tokio::test]
async fn a_journal_that_is_gone_does_not_start_the_numbers_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let (journal, _) = open(&path);
    append(&journal, entry("7", 1..=3)).await.unwrap();
    journal.close().await;
    std::fs::remove_file(&path).unwrap();
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), ["journal_missing"]);
    assert!(journal.resume("7").await.last_seq > 1_000_000);
    journal.close().await;
}

#[test]
fn files_that_are_not_ours_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.sqlite");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    let refused = Journal::open(JournalSettings::at(&path), "gw").unwrap_err();
    assert!(matches!(refused, JournalError::Foreign { .. }), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let path = folder.path().join("newer.sqlite");
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer
        .execute_batch("CREATE TABLE t (x); PRAGMA user_version = 99")
        .unwrap();
    drop(newer);
    let refused = Journal::open(JournalSettings::at(&path), "gw").unwrap_err();
    assert!(
        matches!(refused, JournalError::Newer { found: 99, .. }),
        "{refused}"
    );
}

/// Not a test of its own: the process that is killed below.
#[tokio::test]
#[ignore = "started by what_was_said_to_be_kept_survives_a_kill"]
async fn writes_until_killed() {
    let Some(path) = std::env::var_os("JOURNAL_UNDER_TEST") else {
        return;
    };
    let (journal, _) = open(Path::new(&path));
    let mut rng = fastrand::Rng::with_seed(1);
    let mut next = Vec::new();
    for board in ["1", "2", "3"] {
        next.push((board, journal.resume(board).await.last_seq + 1));
    }
    loop {
        let mut waiting = Vec::new();
        for (board, seq) in &mut next {
            let end = *seq + rng.u64(0..3);
            waiting.push((*board, end, journal.append(entry(board, *seq..=end)).await));
            *seq = end + 1;
        }
        for (board, end, committed) in waiting {
            committed.await.unwrap();
            println!("kept {board} {end}");
        }
    }
}

fn seed() -> u64 {
    let seed = std::env::var("DGT2MQTT_SEED").map_or(1, |text| text.parse().unwrap());
    println!("seed {seed}");
    seed
}

#[tokio::test]
async fn what_was_said_to_be_kept_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let mut rng = fastrand::Rng::with_seed(seed());
    for round in 0..5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "journal_faults::writes_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env("JOURNAL_UNDER_TEST", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (writes, all_boards) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut kept = std::collections::BTreeMap::new();
            for line in stdout.lines().map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                if let ["kept", board, seq] = words[..] {
                    kept.insert(board.to_owned(), seq.parse::<u64>().unwrap());
                    if kept.len() == 3 {
                        let _ = writes.send(());
                    }
                }
            }
            kept
        });
        let began = all_boards.recv_timeout(Duration::from_secs(90));
        assert!(began.is_ok(), "round {round}: it did not write");
        std::thread::sleep(Duration::from_millis(rng.u64(0..400)));
        child.kill().unwrap();
        child.wait().unwrap();
        let kept = reader.join().unwrap();
        let (journal, notices) = open(&path);
        assert_eq!(codes(&notices), [""; 0]);
        for (board, seq) in &kept {
            let last = journal.resume(board).await.last_seq;
            assert!(
                last >= *seq,
                "round {round}, board {board}: {last} after {seq} was said"
            );
            let on_disk = seqs(&path, board);
            assert_eq!(on_disk, (1..=last).collect::<Vec<_>>(), "round {round}");
        }
        journal.close().await;
    }
}

/// The power goes at random instants: on the disk is what was written through by then, and nothing of what lay in the
/// page cache. `DGT2MQTT_FULL=1`: forty times.
#[tokio::test]
async fn what_was_said_to_be_kept_survives_a_power_cut() {
    let mut rng = fastrand::Rng::with_seed(seed());
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rounds = if std::env::var_os("DGT2MQTT_FULL").is_some() {
        40
    } else {
        4
    };
    let Some(mut disk) = ImageDisk::make(&at("image-0"), &at("disk-0")) else {
        return;
    };
    let mut compared = 0;
    for round in 1..=rounds {
        let path = at(&format!("disk-{}", round - 1)).join("j.sqlite");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "journal_faults::writes_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env("JOURNAL_UNDER_TEST", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let deadline = std::time::Instant::now() + Duration::from_millis(rng.u64(200..900));
        let mut kept = std::collections::BTreeMap::new();
        let mut line = String::new();
        while std::time::Instant::now() < deadline || kept.len() < 3 {
            line.clear();
            assert!(
                stdout.read_line(&mut line).unwrap() > 0,
                "round {round}: the writer ended"
            );
            if let ["kept", board, seq] = line.split_whitespace().collect::<Vec<_>>()[..] {
                kept.insert(board.to_owned(), seq.parse::<u64>().unwrap());
            }
        }
        // What it said up to here was kept when it said so. It stands still, wherever it is, while the file is read.
        let halt = Command::new("kill")
            .args(["-STOP", &child.id().to_string()])
            .status();
        assert!(halt.unwrap().success());
        let image = at(&format!("image-{round}"));
        disk.cut(&image);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(disk);
        disk = ImageDisk::mount(&image, &at(&format!("disk-{round}"))).unwrap();
        let path = at(&format!("disk-{round}")).join("j.sqlite");
        let (journal, notices) = open(&path);
        assert_eq!(codes(&notices), [""; 0], "round {round}");
        for (board, seq) in &kept {
            let last = journal.resume(board).await.last_seq;
            assert!(
                last >= *seq,
                "round {round}, board {board}: {last} after {seq} was said"
            );
            assert_eq!(
                seqs(&path, board),
                (1..=last).collect::<Vec<_>>(),
                "round {round}"
            );
            compared += last;
        }
        journal.close().await;
    }
    println!("{rounds} power cuts, {compared} events compared, 0 lost");
}

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
    assert!(journal.resume("7").await.last_seq >= last);
    journal.close().await;
    let (journal, notices) = open(&path);
    assert_eq!(codes(&notices), [""; 0], "said once");
    journal.close().await;
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
