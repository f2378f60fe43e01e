use std::path::Path;

use super::*;
use crate::{
    event::{Body, Event},
    journal::open,
};

fn first_event() -> Entry {
    let event = Event {
        v: 1,
        formerly: None,
        unsent_as: None,
        id: "gw/7/1".to_owned(),
        seq: 1,
        body: Body::Notice {
            code: "test".to_owned(),
            message: "m".to_owned(),
        },
        board: "7".to_owned(),
        game: None,
        t: 0.0,
        at: None,
        time: None,
        source: None,
        by: None,
    };
    Entry {
        board: "7".to_owned(),
        events: vec![event],
        ..Entry::default()
    }
}

/// A writer, and a receiver that wakes up at its news.
pub(super) fn writer(path: &Path) -> (JournalWriter, watch::Receiver<u64>) {
    writer_of(path, open::open(&JournalSettings::at(path), "gw").unwrap())
}

fn writer_of(path: &Path, ready: Ready) -> (JournalWriter, watch::Receiver<u64>) {
    let settings = JournalSettings::at(path);
    let (news, told) = watch::channel(0);
    let tells = Tells {
        news,
        trouble: watch::channel(Vec::new()).0,
        unsecured: watch::channel(false).0,
        disputed: watch::channel(false).0,
    };
    let writer = JournalWriter::new(ready, settings, "gw".to_owned(), tells).unwrap();
    (writer, told)
}

/// Holds that an event in one group with `other` wakes the publisher.
fn is_told_beside(other: JournalRequest) {
    let folder = tempfile::tempdir().unwrap();
    let (writer, told) = writer(&folder.path().join("journal.sqlite"));
    let (requests, receiver) = mpsc::channel(4);
    let (answer, mut committed) = oneshot::channel();
    requests
        .try_send(JournalRequest::Append(first_event(), answer))
        .ok()
        .unwrap();
    requests.try_send(other).ok().unwrap();
    drop(requests);
    writer.run(receiver);
    assert_eq!(committed.try_recv().unwrap().unwrap(), Written::Disk);
    assert_eq!(*told.borrow(), 1);
}

#[test]
fn an_event_is_told_that_came_just_before_housekeeping() {
    is_told_beside(JournalRequest::Tick(oneshot::channel().0));
}

#[test]
fn an_event_is_told_that_came_just_before_another_took_the_name() {
    is_told_beside(JournalRequest::StandBy(true));
}

/// Each time boards would stand still for other numbers.
#[test]
fn a_disk_that_refuses_again_and_again_is_left_alone_for_longer() {
    let folder = tempfile::tempdir().unwrap();
    let (mut writer, _) = writer(&folder.path().join("journal.sqlite"));
    let waits = [(); 8].map(|()| {
        writer.fail(Notice::new(notice::DISK_FULL, "no room"));
        writer.fail(Notice::new(notice::DISK_FULL, "no room still"));
        let wait = writer.retry;
        writer.recover();
        wait.as_secs()
    });
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    writer.recovered_at = Instant::now().checked_sub(MOST_RETRY);
    writer.fail(Notice::new(notice::DISK_FULL, "no room"));
    assert_eq!(writer.retry, RETRY);
}

/// A journal at `path` with one event that no broker has acknowledged, and its bytes.
fn written(path: &Path) -> Vec<u8> {
    let (mut before, _) = writer(path);
    before.accept(first_event()).unwrap();
    assert_eq!(before.flush(), Written::Disk);
    drop(before);
    std::fs::read(path).unwrap()
}

/// Nobody has read it when somebody takes it away; boards that come later do not begin anew.
#[test]
fn a_journal_that_is_taken_away_unread_leaves_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    written(&path);
    std::fs::write(&path, [7; 9000]).unwrap();
    let ready = open::open_read_only(&path, "gw", true).unwrap();
    let base = ready.seq_base;
    std::fs::remove_file(&path).unwrap();
    let (writer, _) = writer_of(&path, ready);
    assert_eq!(
        writer.trouble.borrow().last().unwrap().code,
        notice::JOURNAL_UNREAD
    );
    drop(writer);
    let next = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert_eq!((next.seq_base, base > 1_000_000), (base, true));
    assert_eq!(next.jumps.untold("9", base)[0].code, notice::JOURNAL_UNREAD);
}

/// A disk that was full when the new journal began left a file without tables, or none.
#[test]
fn a_journal_of_which_no_table_is_left_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    written(&path);
    std::fs::remove_file(&path).unwrap();
    let read_only = open::open_read_only(&path, "gw", true).unwrap();
    assert!(read_only.seq_base > 1_000_000);
    assert_eq!(read_only.notices[0].code, notice::JOURNAL_MISSING);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("CREATE TABLE t (n); DROP TABLE t;").unwrap();
    drop(file);
    assert!(std::fs::metadata(&path).unwrap().len() > 0);
    let next = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert!(next.seq_base > 1_000_000);
    assert_eq!(next.notices[0].code, notice::JOURNAL_MISSING);
}

/// The journal is there and cannot be read; when it can, the daemon has given out numbers already.
#[test]
fn a_journal_that_cannot_be_read_at_the_start_is_set_aside_and_its_numbers_are_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let whole = written(&path);
    std::fs::write(&path, [7; 9000]).unwrap();
    let ready = open::open_read_only(&path, "gw", true).unwrap();
    assert_eq!(ready.notices[0].code, notice::JOURNAL_UNREAD);
    std::fs::write(&path, whole).unwrap();
    let (mut writer, _) = writer_of(&path, ready);
    let healed = writer.trouble.borrow().last().unwrap().message.clone();
    assert!(healed.contains("1 of its events were never sent"), "{healed}");
    let resume = writer.resume("7");
    assert!(resume.last_seq > 1_000_000, "{}", resume.last_seq);
    assert_eq!(
        writer.jumps.untold("7", resume.last_seq)[0].code,
        notice::JOURNAL_UNREAD
    );
    let mut entry = first_event();
    entry.events[0].seq = resume.last_seq + 1;
    writer.accept(entry).unwrap();
    assert_eq!(writer.flush(), Written::Disk);
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let aside = names.filter(|name| name.contains(".unread-")).min().unwrap();
    let kept = Store::open_read_only(&folder.path().join(aside)).unwrap();
    assert_eq!(kept.outbox().unwrap(), 1, "what was not sent is kept");
    drop(writer);
    let next = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert_eq!(next.resumes["7"].last_seq, resume.last_seq + 1);
    assert_eq!(
        next.seq_base, resume.last_seq,
        "nor are those of boards that come later"
    );
}
