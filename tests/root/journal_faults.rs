//! The journal under kill, damage, a full disk, and its limits.

mod full_disk;
mod kills;

use std::path::Path;

use dgt2mqtt::{
    event::{Body, Event},
    journal::{
        AppendError, CommandRecord, Entry, Journal, JournalError, JournalSettings, Notice, Written,
        query::{Filter, each_event},
    },
};

fn event(board: &str, seq: u64, message: &str) -> Event {
    Event {
        v: 1,
        formerly: None,
        unsent_as: None,
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

/// A journal, and what it has to say as it is opened.
pub fn open(path: &Path) -> (Journal, Vec<Notice>) {
    Journal::open(JournalSettings::at(path), "gw").unwrap()
}

pub fn codes(notices: &[Notice]) -> Vec<&'static str> {
    notices.iter().map(|notice| notice.code).collect()
}

/// The numbers of the events of a board, which its ids have as well.
pub fn seqs(path: &Path, board: &str) -> Vec<u64> {
    let mut seqs = Vec::new();
    let filter = Filter {
        board: Some(board.to_owned()),
        ..Filter::default()
    };
    each_event(path, &filter, |kept| {
        let event = serde_json::from_str::<Event>(kept.json).unwrap();
        assert_eq!(event.id, format!("gw/{board}/{}", event.seq));
        seqs.push(event.seq);
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
