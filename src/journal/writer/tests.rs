use std::path::Path;

use super::{trouble::MOST_RETRY, *};
use crate::{
    event::{Body, Event, notice},
    journal::{JournalError, entry::CommandRecord, lock, open},
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

/// The first events of a board.
pub(super) fn first_events(count: u64) -> Entry {
    let mut entry = first_event();
    let first = entry.events.remove(0);
    let event = |seq| Event {
        id: format!("gw/7/{seq}"),
        seq,
        ..first.clone()
    };
    entry.events = (1..=count).map(event).collect();
    entry
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
        sending: watch::channel(false).0,
        era: watch::channel(None).0,
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

/// On a busy machine a process may be killed after it took the lock and before it made the tables: no number was given out.
#[test]
fn a_process_that_is_killed_before_its_first_journal_begins_has_lost_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    drop(JournalLock::take_as_it_is(&path).unwrap());
    let first = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert_eq!((first.seq_base, first.notices.len()), (0, 0));
    drop(first);
    std::fs::remove_file(&path).unwrap();
    let next = open::open(&JournalSettings::at(&path), "gw").unwrap();
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

/// A writer at `path` whose disk has three events that no broker has acknowledged.
fn writer_of_three(path: &Path) -> JournalWriter {
    let (mut writer, _) = writer(path);
    writer.accept(first_events(3)).unwrap();
    assert_eq!(writer.flush(), Written::Disk);
    writer
}

fn unsent(writer: &JournalWriter) -> Vec<u64> {
    writer.unacked(0, 10).iter().map(|row| row.seq).collect()
}

/// The process dies when the new file is in its place, and before it writes into it.
#[test]
fn a_journal_that_is_made_anew_knows_its_numbers_before_anything_is_written_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let mut writer = writer_of_three(&path);
    let (identity, era) = ("one of its own".to_owned(), "an era".to_owned());
    (writer.identity, writer.era) = (identity.clone(), era.clone());
    writer
        .jumps
        .note("7", [3, 3], &Notice::new(notice::EVENTS_LOST, "untold"));
    let fresh = folder.path().join("fresh.sqlite");
    writer.write_what_is_known(&fresh).unwrap();
    drop(writer);
    std::fs::rename(&fresh, &path).unwrap();
    let next = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert_eq!(next.resumes["7"].last_seq, 3);
    assert_eq!(next.store.outbox().unwrap(), 3);
    assert_eq!((next.identity, next.store.era().unwrap()), (identity, Some(era)));
    assert_eq!(next.jumps.untold("7", 3).len(), 1);
}

#[test]
fn one_event_that_cannot_be_read_takes_no_other_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let (mut writer, _told) = writer(&path);
    writer.accept(first_events(4)).unwrap();
    assert_eq!(writer.flush(), Written::Disk);
    let other = rusqlite::Connection::open(&path).unwrap();
    let harm = "UPDATE events SET json = x'ff', acked = seq = 1 WHERE seq IN (1, 3)";
    assert_eq!(other.execute(harm, []).unwrap(), 2);
    drop(other);
    assert!(writer.mend());
    assert_eq!(unsent(&writer), [2, 4]);
    assert_eq!(writer.resume("7").last_seq, 4);
}

/// Ports may have other names then. Where nobody noted it, as an older program, nobody knows.
#[test]
fn a_board_is_told_whether_the_machine_was_started_since() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let is_after_start = || {
        let (mut writer, _) = writer(&path);
        writer.begin_run("run".to_owned());
        writer.is_after_start
    };
    assert_eq!([(); 3].map(|()| is_after_start()), [true, false, false]);
    Store::open(&path).unwrap().set_machine("another").unwrap();
    assert_eq!([(); 2].map(|()| is_after_start()), [true, false]);
}

/// A file that was taken away is open still. It is the only one until another is in its place.
#[test]
fn a_journal_that_cannot_be_put_in_its_place_at_once_is_put_there_whole_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let mut writer = writer_of_three(&path);
    let log = folder.path().join("journal.sqlite-wal");
    for file in [&path, &log] {
        std::fs::remove_file(file).unwrap();
    }
    std::fs::create_dir(&log).unwrap();
    assert!(!writer.is_at_home());
    assert_eq!(unsent(&writer), [1, 2, 3], "they are sent meanwhile");
    std::fs::remove_dir(&log).unwrap();
    assert!(writer.is_at_home());
    assert_eq!(unsent(&writer), [1, 2, 3]);
    drop(writer);
    let next = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert_eq!(next.store.outbox().unwrap(), 3);
}

/// The lock of a running daemon looks like a leftover.
#[test]
fn a_lock_that_somebody_removes_is_put_back_before_another_process_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.sqlite");
    let mut writer = writer_of_three(&path);
    std::fs::remove_file(lock::of(&path)).unwrap();
    writer.tick();
    let second = open::open(&JournalSettings::at(&path), "gw");
    assert!(matches!(second, Err(JournalError::Locked { .. })), "{second:?}");
    std::fs::remove_file(lock::of(&path)).unwrap();
    let second = open::open(&JournalSettings::at(&path), "gw").unwrap();
    assert!(!writer.is_at_home(), "another process was quicker");
    assert_eq!(writer.trouble.borrow()[0].code, notice::JOURNAL_FAILING);
    drop(second);
    assert!(writer.is_at_home());
}

/// Who may send commands can send any number, and none of them needs to lead to an event.
#[test]
fn of_the_commands_that_come_while_the_disk_refuses_memory_keeps_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let (mut writer, _told) = writer(&folder.path().join("journal.sqlite"));
    writer.failing_since = Some(Instant::now());
    let refused = |n: u64| Entry {
        board: "7".to_owned(),
        command: Some(CommandRecord {
            reference: Some(n.to_string()),
            verb: "result".to_owned(),
            payload: "{}".to_owned(),
            reply: "{}".to_owned(),
        }),
        ..Entry::default()
    };
    for n in 1..=1_500 {
        writer.accept(refused(n)).unwrap();
    }
    assert_eq!(writer.pending.commands.len(), 1_000);
    let is_known = |n: u64| writer.command("7", &n.to_string()).is_some();
    assert_eq!([500, 501, 1_500].map(is_known), [false, true, true]);
}
