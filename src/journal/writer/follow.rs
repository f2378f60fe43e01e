//! Looks at the run that had our name last.

use std::collections::BTreeMap;

use super::{JournalWriter, leave::Leaving};
use crate::journal::{entry::KnownNumbers, machine::run_of_machine, runs::LastRun};

impl JournalWriter {
    /// Begins the run with this boot id.
    pub(super) fn begin_run(&mut self, boot: String) {
        let machine = run_of_machine().map_or(Ok(()), |machine| self.store.set_machine(&machine));
        // Another notice tells of a disk that takes no writes.
        if let Err(error) = machine.and_then(|()| self.store.set_boot(&boot)) {
            tracing::debug!(%error, "cannot leave the boot id in the journal");
        }
        self.boot = Some(boot);
    }

    /// Looks at the run that had our name last, before the numbers are compared with what is `known`. If it had another journal, what nobody
    /// has acknowledged cannot come after its numbers. If this journal does not know it, the last numbers that it gave out are known to
    /// nobody: the states at a broker follow the events. So are those of a gateway for which this one stood by, and of which this broker may
    /// know nothing at all: it may be another broker.
    pub(super) fn look_at_last_run(&mut self, known: Option<&BTreeMap<String, KnownNumbers>>) {
        if std::mem::take(&mut self.has_stood_by) {
            self.leave(Leaving::Behind);
        }
        let Some(last) = self.last_run.take() else {
            return;
        };
        let is_of_another = last
            .journal
            .as_ref()
            .is_some_and(|theirs| *theirs != self.identity);
        let is_strange = self.is_strange(&last) && !self.has_left_from_here(known);
        // A restored journal has sent since its copy was made: `copy.rs` looks at what that had not sent.
        let is_restored = !self.copied.is_empty();
        if is_of_another || is_strange && !is_restored {
            self.stand_by(false);
        }
        if is_strange {
            self.leave(Leaving::Behind);
            self.followed = Some(last.boot);
        }
    }

    /// True of a run that this journal does not know, and above whose numbers its boards are not yet.
    fn is_strange(&self, last: &LastRun) -> bool {
        let boot = Some(&last.boot);
        let is_ours = self.boot.as_ref() == boot || self.runs.may_know(last);
        !is_ours && self.followed.as_ref() != boot
    }

    /// True where the last run had this journal as it is, and could not write it: the broker says what became of its numbers.
    fn has_left_from_here(&self, known: Option<&BTreeMap<String, KnownNumbers>>) -> bool {
        let mut left = known
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter_map(|known| known.left.as_ref());
        left.any(|left| left.eras.contains(&self.era))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use std::path::{Path, PathBuf};

    use tokio::sync::oneshot;

    use super::*;
    use crate::{
        event::{Event, notice},
        journal::{
            backup::{Restore, copy},
            entry::{Shift, Shifts},
            request::JournalRequest,
            writer::tests::{first_events, writer},
        },
    };

    fn run(boot: &str, journal: Option<&str>) -> LastRun {
        LastRun {
            boot: boot.to_owned(),
            journal: journal.map(str::to_owned),
            era: None,
        }
    }

    /// Compares with a broker that knows nothing but which run was the last.
    fn compare(writer: &mut JournalWriter, last: Option<LastRun>) {
        writer.last_run = last;
        writer.reconcile(Some(BTreeMap::new()), oneshot::channel().0);
    }

    /// Compares with a broker that knows the events of board 7 up to number `told`.
    fn compare_at(writer: &mut JournalWriter, last: LastRun, told: u64) {
        writer.last_run = Some(last);
        let known = KnownNumbers {
            last: told,
            ..KnownNumbers::default()
        };
        let known = BTreeMap::from([("7".to_owned(), known)]);
        writer.reconcile(Some(known), oneshot::channel().0);
    }

    /// A journal of which one event may have been sent by the run with this boot id.
    fn sent_by(boot: Option<&str>, path: &Path) {
        let (mut writer, _told) = writer(path);
        if let Some(boot) = boot {
            writer.begin_run(boot.to_owned());
        }
        writer.accept(first_events(1)).unwrap();
        compare(&mut writer, None);
        writer.begin_to_send();
        assert!(*writer.sending.borrow());
    }

    #[test]
    fn who_wrote_another_journal_was_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(None, &path);
        let may_be_sent_again = |journal: fn(&str) -> Option<&str>| {
            let (mut writer, _told) = writer(&path);
            let identity = writer.identity.clone();
            writer.last_run = Some(run("a", journal(&identity)));
            writer.look_at_last_run(None);
            assert_eq!(writer.leaving, None, "this journal knows no run");
            writer.unanswered.get("7").copied()
        };
        assert_eq!(may_be_sent_again(|_| Some("theirs")), Some(1));
        assert_eq!(may_be_sent_again(|ours| Some(ours)), None);
        assert_eq!(
            may_be_sent_again(|_| None),
            None,
            "an older program does not tell"
        );
    }

    /// It has an older copy of this journal, or this is one. What it gave out last may not even be in the states at the broker.
    #[test]
    fn above_a_run_that_the_journal_does_not_know_all_numbers_leave_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        let (mut writer, _told) = writer(&path);
        writer.begin_run("two".to_owned());
        let identity = writer.identity.clone();
        let of = |boot| Some(run(boot, Some(&identity)));
        for known in ["one", "two"] {
            compare(&mut writer, of(known));
            assert!(writer.is_compared && writer.unanswered.is_empty());
        }
        compare(&mut writer, of("three"));
        assert!(!writer.is_compared && *writer.disputed.borrow());
        let said = writer.lift();
        assert_eq!(
            said.iter().map(|said| said.code).collect::<Vec<_>>(),
            [notice::JOURNAL_BEHIND]
        );
        let last = writer.resume("7").last_seq;
        assert!(last > 1_000_000 && writer.is_compared, "{last}");
        // The connection ended before the broker had learned of this run.
        compare(&mut writer, of("three"));
        assert!(writer.is_compared);
        assert_eq!(writer.resume("7").last_seq, last);
    }

    /// The card took no writes, so it does not know that run. The broker says that it was one of this journal as it is.
    #[test]
    fn a_run_that_could_not_write_the_journal_is_no_strange_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        let (mut writer, _told) = writer(&path);
        writer.begin_run("three".to_owned());
        let left = |era: &str| {
            let left = Some(Shifts {
                eras: vec![era.to_owned()],
                shifts: Vec::<Shift>::new(),
            });
            let known = KnownNumbers {
                left,
                ..KnownNumbers::default()
            };
            BTreeMap::from([("7".to_owned(), known)])
        };
        for (era, leaving) in [
            (writer.era.clone(), None),
            ("another".to_owned(), Some(Leaving::Behind)),
        ] {
            writer.last_run = Some(run("two", Some(&writer.identity)));
            writer.look_at_last_run(Some(&left(&era)));
            assert_eq!(writer.leaving, leaving);
        }
    }

    /// It ended before a broker told which run had the name, so nothing tells whose numbers it would have gone on with.
    #[test]
    fn a_run_that_compared_nothing_makes_no_other_strange() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        for boot in ["two", "three"] {
            let (mut writer, _told) = writer(&path);
            writer.begin_run(boot.to_owned());
            writer.last_run = Some(run("one", Some(&writer.identity)));
            writer.look_at_last_run(None);
            assert_eq!(writer.leaving, None, "{boot}");
        }
    }

    /// Both brokers of the configuration are asked in turn. The second one has nothing.
    #[test]
    fn after_another_had_the_name_numbers_leave_where_the_broker_tells_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        for is_new in [true, false] {
            let path = folder.path().join(format!("{is_new}.sqlite"));
            if !is_new {
                sent_by(Some("one"), &path);
            }
            let (mut writer, _told) = writer(&path);
            writer.begin_run("two".to_owned());
            if is_new {
                writer.accept(first_events(1)).unwrap();
            }
            writer.take(JournalRequest::StandBy(false), &mut Vec::new());
            compare(&mut writer, None);
            assert!(!writer.is_compared && *writer.disputed.borrow(), "{is_new}");
            assert_eq!(writer.lift()[0].code, notice::JOURNAL_BEHIND);
            let last = writer.resume("7").last_seq;
            assert!(last > 1_000_000 && writer.is_compared, "{last}");
            compare(&mut writer, None);
            assert_eq!(
                (writer.is_compared, writer.resume("7").last_seq),
                (true, last),
                "once"
            );
        }
    }

    /// An image of the card was made before the program was updated, on both machines.
    #[test]
    fn a_journal_of_an_older_program_knows_no_run_of_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute("DELETE FROM meta WHERE key = 'runs'", []).unwrap();
        drop(file);
        let left = |boot: &str, journal: Option<&str>| {
            let (mut writer, _told) = writer(&path);
            writer.last_run = Some(run(boot, journal));
            writer.look_at_last_run(None);
            writer.leaving
        };
        assert_eq!(left("before", None), None, "it was updated in its place");
        assert_eq!(left("one", Some("ours")), None);
        assert_eq!(left("three", Some("ours")), Some(Leaving::Behind));
    }

    /// The power cut that took the machine away damaged its card. A spare machine had the name meanwhile.
    #[test]
    fn a_damaged_journal_knows_its_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        damage_an_index(&path);
        let (mut writer, _told) = writer(&path);
        let identity = writer.identity.clone();
        writer.last_run = Some(run("one", Some(&identity)));
        writer.look_at_last_run(None);
        assert_eq!((writer.leaving, writer.unanswered.len()), (None, 0));
        compare(&mut writer, Some(run("spare", Some(&identity))));
        writer.lift();
        let rows = writer.unacked(0, 10);
        assert!(rows.len() == 1 && rows[0].seq > 1_000_000, "{rows:?}");
        let event: Event = serde_json::from_slice(&rows[0].json).unwrap();
        assert_eq!(event.formerly.as_deref(), Some("gw/7/1"));
    }

    /// Overwrites what nobody needs to read the rest.
    fn damage_an_index(path: &Path) {
        let file = rusqlite::Connection::open(path).unwrap();
        let sql =
            "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = 'commands_ref'";
        let place = file.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let (page, size): (usize, usize) = place.unwrap();
        drop(file);
        let mut bytes = std::fs::read(path).unwrap();
        bytes[(page - 1) * size..page * size].fill(0xa5);
        std::fs::write(path, bytes).unwrap();
    }

    /// Restores a copy of the journal that `sent_by` makes, of which nobody had acknowledged the event.
    fn restored(folder: &Path) -> PathBuf {
        let (path, place) = (folder.join("j.sqlite"), folder.join("restored.sqlite"));
        sent_by(Some("one"), &path);
        let restore = Restore::begin(&place).unwrap();
        copy(&path, &restore.fresh()).unwrap();
        restore.check().unwrap();
        restore.finish().unwrap();
        place
    }

    /// It ended as it had compared its numbers, and before the broker had learned of it. An image of the card had the name meanwhile.
    #[test]
    fn what_a_run_took_that_no_broker_knew_was_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        for is_known in [false, true] {
            let path = folder.path().join(format!("{is_known}.sqlite"));
            sent_by(Some("one"), &path);
            let (mut writer, _told) = writer(&path);
            let identity = writer.identity.clone();
            writer.begin_run("two".to_owned());
            let mut second = first_events(2);
            second.events.remove(0);
            writer.accept(second).unwrap();
            compare(&mut writer, Some(run("one", Some(&identity))));
            assert!(writer.is_compared && !*writer.sending.borrow());
            if is_known {
                writer.begin_to_send();
            }
            drop(writer);
            let (mut writer, _told) = self::writer(&path);
            writer.begin_run("three".to_owned());
            compare(&mut writer, Some(run("image", Some(&identity))));
            writer.lift();
            let rows = writer.unacked(0, 10);
            let events = rows.iter().map(|row| serde_json::from_slice(&row.json).unwrap());
            let said = events.map(|event: Event| (event.formerly, event.unsent_as));
            let id = |seq| Some(format!("gw/7/{seq}"));
            let second = if is_known { (id(2), None) } else { (None, id(2)) };
            assert_eq!(said.collect::<Vec<_>>(), [(id(1), None), second]);
        }
    }

    /// The card takes writes again just as another gateway takes the name.
    #[test]
    fn a_disk_that_learns_of_the_comparison_late_learns_what_was_sent_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        let (mut writer, _told) = writer(&path);
        writer.begin_run("two".to_owned());
        writer.failing_since = Some(std::time::Instant::now());
        writer.last_try = writer.failing_since;
        compare(&mut writer, None);
        writer.lift();
        writer.begin_to_send();
        assert!(*writer.sending.borrow());
        let sent = writer.resume("7").last_seq;
        writer.last_try = None;
        // The second write is refused.
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch(
            "CREATE TABLE written (n);
             CREATE TRIGGER refuses BEFORE INSERT ON meta WHEN new.key = 'floors' AND EXISTS (SELECT * FROM written)
             BEGIN SELECT RAISE(ABORT, 'full'); END;
             CREATE TRIGGER notes AFTER INSERT ON meta WHEN new.key = 'floors'
             BEGIN INSERT INTO written VALUES (1); END;",
        )
        .unwrap();
        writer.take(JournalRequest::StandBy(true), &mut Vec::new());
        let floors = writer.store.floors().unwrap().unwrap();
        assert_eq!(floors["7"], sent);
    }

    /// A backup was restored once for a hall of spares, and the card copied before its first start.
    #[test]
    fn a_copy_of_a_restored_journal_knows_no_run_of_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let first = restored(folder.path());
        let second = folder.path().join("image.sqlite");
        std::fs::copy(&first, &second).unwrap();
        let (mut writer, _told) = writer(&first);
        let identity = writer.identity.clone();
        let of = |boot| run(boot, Some(&identity));
        writer.begin_run("first".to_owned());
        compare_at(&mut writer, of("one"), 1);
        assert!(writer.is_compared, "its copy knows that run");
        let base = writer.resume("7").last_seq;
        drop(writer);
        let (mut writer, _told) = self::writer(&second);
        writer.begin_run("second".to_owned());
        compare_at(&mut writer, of("first"), 1);
        assert!(!writer.is_compared);
        writer.lift();
        assert!(writer.is_compared && writer.resume("7").last_seq > base);
    }

    /// A run since the copy was made is of this journal, too, and has sent what the copy had not.
    #[test]
    fn what_a_restored_journal_had_not_sent_keeps_its_number_after_another_run_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, _told) = writer(&restored(folder.path()));
        let last = run("two", Some(&writer.identity));
        compare_at(&mut writer, last, 3);
        writer.lift();
        assert_eq!(writer.unacked(0, 10)[0].seq, 1);
    }

    /// Its card went bad before it could ask a broker.
    #[test]
    fn a_damaged_journal_knows_that_it_was_restored() {
        let folder = tempfile::tempdir().unwrap();
        let path = restored(folder.path());
        damage_an_index(&path);
        let (writer, _told) = writer(&path);
        let copied = writer.copied["7"];
        assert!(
            copied.last == 1 && copied.base == writer.resume("7").last_seq,
            "{copied:?}"
        );
        drop(writer);
        assert_eq!(self::writer(&path).0.copied["7"], copied, "nor does it forget it");
    }

    /// Somebody imaged the running card, before the run lost the name and took it again.
    #[test]
    fn a_copy_that_was_made_within_a_run_knows_it_only_up_to_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        let (mut writer, _told) = writer(&path);
        writer.begin_run("two".to_owned());
        let identity = writer.identity.clone();
        compare(&mut writer, Some(run("one", Some(&identity))));
        let before = writer.told_era.borrow().clone();
        let image = folder.path().join("image.sqlite");
        copy(&path, &image).unwrap();
        writer.take(JournalRequest::StandBy(true), &mut Vec::new());
        compare(&mut writer, None);
        writer.lift();
        let after = writer.told_era.borrow().clone();
        assert!(writer.is_compared && before != after);
        drop(writer);
        for (file, era, leaving) in [
            (&image, &before, None),
            (&image, &None, None),
            (&image, &after, Some(Leaving::Behind)),
            (&path, &before, None),
            (&path, &after, None),
        ] {
            let (mut writer, _told) = self::writer(file);
            writer.last_run = Some(LastRun {
                era: era.clone(),
                ..run("two", Some(&identity))
            });
            writer.look_at_last_run(None);
            assert_eq!(writer.leaving, leaving, "{} {era:?}", file.display());
        }
    }

    /// The card takes a write before the boards have other numbers.
    #[test]
    fn a_strange_run_is_not_forgotten_as_the_disk_takes_writes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.sqlite");
        sent_by(Some("one"), &path);
        let (mut writer, _told) = writer(&path);
        writer.leave_unsecured();
        let strange = run("three", Some(&writer.identity));
        compare(&mut writer, Some(strange));
        writer.stay();
        assert_eq!(writer.leaving, Some(Leaving::Behind));
    }
}
