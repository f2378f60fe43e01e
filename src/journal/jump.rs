//! Jumps of numbers that a board has not told yet.
//!
//! A notice says of each jump why numbers are missing, and a board tells it before anything else. A process that ends before
//! that leaves it to the next one: a jump is kept with the number at which its board stands after it. As long as the board
//! stands there, it has told nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::Notice;
use crate::event::notice;

/// Stands for the boards of which the journal has nothing.
const OTHERS: &str = "";
/// How many jumps of a board are kept: so many processes have ended before the board could tell.
const MOST: usize = 16;

/// A jump of a board's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Jump {
    /// The last number of the board after it, and after those that followed it.
    last_seq: u64,
    /// The notice of it.
    code: String,
    message: String,
}

impl Jump {
    /// The notice that `board` has to tell; none of a code that this version does not know.
    fn notice(&self, board: &str) -> Option<Notice> {
        let code = notice::ALL.iter().find(|code| **code == self.code)?;
        Some(Notice {
            board: Some(board.to_owned()),
            ..Notice::new(code, self.message.clone())
        })
    }
}

/// The jumps that boards may not have told yet, by board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Jumps(BTreeMap<String, Vec<Jump>>);

impl Jumps {
    /// Notes that the numbers of `board` jump from `from` to `to`, as `notice` says. What it has not told before that still
    /// waits.
    pub(crate) fn note(&mut self, board: &str, [from, to]: [u64; 2], notice: &Notice) {
        let mut jumps = self.standing(board, from);
        for jump in &mut jumps {
            jump.last_seq = to;
        }
        let jump = Jump {
            last_seq: to,
            code: notice.code.to_owned(),
            message: notice.message.clone(),
        };
        if !jumps.contains(&jump) {
            jumps.push(jump);
        }
        let too_many = jumps.len().saturating_sub(MOST);
        self.0.insert(board.to_owned(), jumps.split_off(too_many));
    }

    /// Notes that boards of which the journal has nothing go on from `to`.
    pub(crate) fn note_others(&mut self, [from, to]: [u64; 2], notice: &Notice) {
        self.note(OTHERS, [from, to], notice);
    }

    /// What `board` has to tell before anything else, if `last_seq` is its last number.
    pub(crate) fn untold(&self, board: &str, last_seq: u64) -> Vec<Notice> {
        let standing = self.standing(board, last_seq).into_iter();
        standing.filter_map(|jump| jump.notice(board)).collect()
    }

    fn standing(&self, board: &str, last_seq: u64) -> Vec<Jump> {
        let own = self.0.get(board).or_else(|| self.0.get(OTHERS));
        let jumps = own.into_iter().flatten();
        jumps.filter(|jump| jump.last_seq == last_seq).cloned().collect()
    }

    /// Forgets what was told: `last_seqs` are the last numbers of boards, and `others` is that of all the others.
    pub(crate) fn forget_told(&mut self, last_seqs: &BTreeMap<&str, u64>, others: u64) {
        self.0.retain(|board, jumps| {
            let last_seq = last_seqs.get(board.as_str()).copied().unwrap_or(others);
            jumps.retain(|jump| jump.last_seq == last_seq);
            !jumps.is_empty()
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use std::path::Path;

    use super::*;
    use crate::journal::{Entry, Journal, JournalSettings};

    fn said(jumps: &Jumps, board: &str, last_seq: u64) -> Vec<String> {
        let untold = jumps.untold(board, last_seq).into_iter();
        untold.map(|notice| notice.message).collect()
    }

    fn lost(message: &str) -> Notice {
        Notice::new(notice::EVENTS_LOST, message)
    }

    #[test]
    fn a_jump_waits_until_its_board_tells_something_and_over_other_jumps() {
        let mut jumps = Jumps::default();
        jumps.note("7", [3, 10], &lost("one"));
        jumps.note("7", [3, 10], &lost("one"));
        jumps.note("7", [10, 20], &lost("two"));
        assert_eq!(said(&jumps, "7", 20), ["one", "two"]);
        assert_eq!(said(&jumps, "7", 21), [""; 0], "it has told");
        jumps.note("7", [21, 30], &lost("three"));
        assert_eq!(said(&jumps, "7", 30), ["three"]);
        assert_eq!(said(&jumps, "8", 30), [""; 0]);
    }

    #[test]
    fn a_board_of_which_the_journal_has_nothing_tells_what_befell_all() {
        let mut jumps = Jumps::default();
        jumps.note_others([0, 500], &lost("gone"));
        assert_eq!(said(&jumps, "7", 500), ["gone"]);
        jumps.note("7", [500, 900], &lost("sent"));
        assert_eq!(said(&jumps, "7", 900), ["gone", "sent"]);
        assert_eq!(said(&jumps, "8", 500), ["gone"]);
    }

    #[test]
    fn the_list_stays_short() {
        let mut jumps = Jumps::default();
        for jump in 0..40 {
            jumps.note("7", [jump, jump + 1], &lost(&jump.to_string()));
            jumps.note("8", [jump, jump + 1], &lost("eight"));
        }
        assert_eq!(said(&jumps, "7", 40).len(), MOST);
        jumps.note_others([0, 9], &lost("all"));
        jumps.forget_told(&BTreeMap::from([("7", 40), ("8", 41)]), 9);
        assert_eq!(jumps.0.keys().collect::<Vec<_>>(), ["", "7"]);
        jumps.forget_told(&BTreeMap::from([("7", 41)]), 10);
        assert_eq!(jumps, Jumps::default());
    }

    /// The last number of board 7 in the journal, and what it has to tell.
    async fn found(journal: &Journal) -> (u64, Vec<&'static str>) {
        let resume = journal.resume("7").await;
        let untold = resume.untold.iter().map(|notice| notice.code);
        (resume.last_seq, untold.collect())
    }

    async fn tell(journal: &Journal, after: u64) {
        let seq = after + 1;
        let event = serde_json::json!({
            "v": 1, "id": format!("gw/7/{seq}"), "seq": seq, "board": "7", "game": null, "t": 0.0, "time": null,
            "type": "clock_connected"
        });
        let entry = Entry {
            board: "7".to_owned(),
            events: vec![serde_json::from_value(event).unwrap()],
            ..Entry::default()
        };
        journal.append(entry).await.await.unwrap();
    }

    /// A daemon that is killed before a board tells of it leaves it to the next one, and that to the one after it.
    #[tokio::test]
    async fn what_befell_the_journal_is_told_however_often_the_daemon_is_killed_before() {
        let garble = |path: &Path| std::fs::write(path, [7; 9000]).unwrap();
        let remove = |path: &Path| std::fs::remove_file(path).unwrap();
        let restore = |path: &Path| {
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(
                "UPDATE snapshots SET last_seq = 5000; INSERT OR REPLACE INTO meta VALUES ('restored', '5000');",
            )
            .unwrap();
        };
        type Harm<'a> = (&'a dyn Fn(&Path), &'a str, &'a str);
        let harms: [Harm<'_>; 4] = [
            (&remove, "gw", notice::JOURNAL_MISSING),
            (&garble, "gw", notice::JOURNAL_DAMAGED),
            (&restore, "gw", notice::JOURNAL_RESTORED),
            (&|_| (), "other", notice::GATEWAY_RENAMED),
        ];
        for (harm, gateway, code) in harms {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("journal.sqlite");
            let open = |gateway: &str| Journal::open(JournalSettings::at(&path), gateway).unwrap().0;
            let journal = open("gw");
            tell(&journal, 0).await;
            assert_eq!(found(&journal).await, (1, vec![]), "{code}");
            journal.close().await;
            harm(&path);
            let mut last = None;
            for _ in 0..3 {
                let journal = open(gateway);
                let (last_seq, untold) = found(&journal).await;
                assert_eq!(untold, [code]);
                assert!(last.is_none_or(|last| last == last_seq), "{code}: it jumps once");
                last = Some(last_seq);
                journal.close().await;
            }
            if gateway == "gw" {
                let journal = open(gateway);
                tell(&journal, last.unwrap()).await;
                assert_eq!(found(&journal).await.1, [""; 0], "{code}");
                journal.close().await;
                let journal = open(gateway);
                assert_eq!(found(&journal).await.1, [""; 0], "{code}: once");
                journal.close().await;
            }
        }
    }
}
