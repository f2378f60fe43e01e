//! Keeps captures of a board's line beside the journal for a while, for reports of mistakes.
//!
//! Each board has two bounded files, the present one and the one before. Another thread writes them from time to time,
//! so no board waits for them. If a disk refuses, only lines of these files are lost.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::{
    capture::{Act, Record, RulesChange, StoodStill, replay::header_of, write_header, write_record},
    journal,
    time::Millis,
    watcher::{Rules, Settings},
};

/// The longest file in characters, some hours of a game.
const MOST: usize = 1 << 20;
/// How many characters may wait for the disk.
const MOST_WAITING: usize = 256 << 10;
/// After this many standstills another file begins. A capture may have 10,000 lines with `#`.
const MOST_STANDSTILLS: usize = 4500;
/// How often the waiting characters are written.
const EVERY: Duration = Duration::from_secs(20);

/// The captures of one board.
#[derive(Debug)]
pub(super) struct Tape {
    path: PathBuf,
    settings: Settings,
    /// When the present file began; none before its first record.
    began: Option<Millis>,
    /// The time of the last record.
    last: Millis,
    /// The time of the last one that the watcher took: it did before what was due.
    taken: Millis,
    /// The characters of the present file.
    size: usize,
    /// How often the present file says that the gateway stood still.
    standstills: usize,
    waiting: String,
    written: Millis,
    writing: JoinSet<io::Result<()>>,
    failing: bool,
    /// By which rules `replay` judges the present game after what was taken down.
    rules: Rules,
    /// The rules that wait for the next game, according to what was taken down.
    next: Rules,
}

impl Tape {
    /// A tape for the board with these settings, beside the journal at `journal`.
    pub(super) fn new(journal: &Path, settings: &Settings) -> Self {
        Self {
            path: journal::captures(journal, &settings.board)[0].clone(),
            settings: settings.clone(),
            began: None,
            last: Millis(0),
            taken: Millis(0),
            size: 0,
            standstills: 0,
            waiting: String::new(),
            written: Millis(0),
            writing: JoinSet::new(),
            failing: false,
            rules: settings.rules.clone(),
            next: settings.rules.clone(),
        }
    }

    /// Takes down what happened at `now`. A file that begins names the `rules`, by which the present game is judged.
    pub(super) fn take(&mut self, now: Millis, act: &Act, rules: &Rules) {
        self.make_room();
        let Some(began) = self.began else {
            // A file begins with a line that is up.
            if *act == Act::LinkDown {
                return;
            }
            self.began = Some(now);
            (self.last, self.taken) = (now, now);
            (self.size, self.standstills) = (0, 0);
            self.waiting = self.head(rules);
            (self.rules, self.next) = (rules.clone(), rules.clone());
            return self.put(now, act, now);
        };
        if *rules == self.next {
            // They have waited for this game.
            self.rules.clone_from(rules);
        } else {
            self.rules_taken(now, rules);
        }
        if self.waiting.len() < MOST_WAITING {
            self.put(now, act, began);
        }
    }

    /// Takes down, at `now`, that what was due since `since` is done at `until`. Returns since when the file says so: nothing in it goes
    /// back in time.
    pub(super) fn stood_still(&mut self, since: Millis, until: Millis, now: Millis) -> Millis {
        self.make_room();
        let since = self.taken.max(since);
        // A file that begins later has nothing that waited.
        let Some(began) = self.began else { return since };
        self.taken = self.taken.max(now);
        if self.waiting.len() < MOST_WAITING && self.standstills < 2 * MOST_STANDSTILLS {
            let [since, until] = [since, until.max(since)].map(|at| Millis(at.since(began)));
            let stood = StoodStill { since, until };
            let _ = writeln!(self.waiting, "# stood-still: {stood}");
            self.standstills += 1;
        }
        since
    }

    /// Has another file begin with the next record, if the present one is full. What waits belongs to the present one.
    fn make_room(&mut self) {
        let is_full = self.size > MOST || self.standstills > MOST_STANDSTILLS;
        if is_full && self.waiting.is_empty() {
            self.began = None;
        }
    }

    /// Takes down that these rules wait for the next game.
    pub(super) fn rules_wait(&mut self, now: Millis, rules: &Rules) {
        if *rules != self.next {
            self.put_rules(now, rules, false);
        }
    }

    /// Takes down that the present game goes by these rules, if it has gone by others.
    pub(super) fn rules_taken(&mut self, now: Millis, rules: &Rules) {
        if *rules != self.rules {
            self.put_rules(now, rules, true);
            self.rules.clone_from(rules);
        }
    }

    fn put_rules(&mut self, now: Millis, rules: &Rules, of_game: bool) {
        // A file that begins later names them in its header.
        let Some(began) = self.began else { return };
        self.last = self.last.max(now);
        self.taken = self.last;
        let change = RulesChange {
            at: Millis(self.last.since(began)),
            of_game,
            rules: rules.clone(),
        };
        let _ = writeln!(self.waiting, "# rules-change: {change}");
        self.next.clone_from(rules);
    }

    fn put(&mut self, now: Millis, act: &Act, began: Millis) {
        self.last = self.last.max(now);
        if !matches!(act, Act::ToBoard(_)) {
            self.taken = self.last;
        }
        let record = Record {
            at: Millis(self.last.since(began)),
            act: act.clone(),
        };
        // A file begins with a line that is up. Writing into a string cannot fail.
        if *act != Act::LinkUp || record.at > Millis(0) {
            let _ = write_record(&mut self.waiting, &record);
        }
    }

    fn head(&self, rules: &Rules) -> String {
        let now = Timestamp::now();
        let mut head = String::new();
        // A setting that a header cannot express is left out. Writing into a string cannot fail.
        let _ = write_header(&mut head, &header_of(&self.settings, rules).unwrap_or_default());
        let _ = writeln!(head, "# start: {now:.3}");
        head
    }

    /// Hands the waiting characters to the disk, if it is time and the disk has taken the last ones.
    pub(super) fn save(&mut self, now: Millis) {
        while let Some(written) = self.writing.try_join_next() {
            self.look(written.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
        let is_due = now.since(self.written) >= EVERY.as_millis() as u64;
        if is_due && self.writing.is_empty() && !self.waiting.is_empty() {
            self.written = now;
            let (path, text, is_new) = self.hand_over();
            self.writing.spawn_blocking(move || write(&path, &text, is_new));
        }
    }

    fn hand_over(&mut self) -> (PathBuf, String, bool) {
        let text = std::mem::take(&mut self.waiting);
        let is_new = self.size == 0;
        self.size += text.len();
        (self.path.clone(), text, is_new)
    }

    /// Hands all characters to the disk.
    pub(super) async fn finish(&mut self) {
        while let Some(written) = self.writing.join_next().await {
            self.look(written.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
        let (path, text, is_new) = self.hand_over();
        if !text.is_empty() {
            self.writing.spawn_blocking(move || write(&path, &text, is_new));
            while self.writing.join_next().await.is_some() {}
        }
    }

    fn look(&mut self, written: io::Result<()>) {
        let Err(error) = written else {
            self.failing = false;
            return;
        };
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(
                "the capture {} cannot be written ({error}): another one begins when it can",
                self.path.display()
            );
        }
        // What comes after the gap does not go on from what was before it, so it needs a file of its own.
        self.began = None;
        self.size = 0;
        self.waiting.clear();
    }
}

/// Adds to the present file, or begins a new one. In that case the present file becomes the one before.
fn write(path: &Path, text: &str, is_new: bool) -> io::Result<()> {
    if is_new {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match fs::rename(path, journal::former(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let mut file = options.open(path)?;
    let before = file.metadata()?.len();
    file.write_all(text.as_bytes()).inspect_err(|_| {
        // Half a line would spoil the present file, and an empty file would displace the one before.
        let _ = match before {
            0 => fs::remove_file(path),
            _ => file.set_len(before),
        };
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{game::periods, link::file::read_capture};

    #[tokio::test]
    async fn a_write_that_fails_spoils_nothing_that_comes_after() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.sqlite");
        let settings = Settings {
            board: "7".to_owned(),
            ..Settings::default()
        };
        let mut tape = Tape::new(&journal, &settings);
        let (captures, away) = (folder.path().join("captures"), folder.path().join("away"));
        for second in 1..=4 {
            let now = Millis(second * 60_000);
            match second {
                2 => {
                    fs::rename(&captures, &away).unwrap();
                    fs::write(&captures, "in the way").unwrap();
                }
                3 => {
                    fs::remove_file(&captures).unwrap();
                    fs::rename(&away, &captures).unwrap();
                }
                _ => {}
            }
            tape.take(now, &Act::FromBoard(vec![0x8d]), &settings.rules);
            tape.save(now);
            while let Some(written) = tape.writing.join_next().await {
                tape.look(written.unwrap());
            }
        }
        tape.finish().await;
        let records = |path: &Path| {
            let capture = read_capture(path).unwrap();
            assert_eq!(capture.header.board(), Some("7"));
            capture.records.len()
        };
        assert_eq!(
            journal::captures(&journal, "7").map(|path| records(&path)),
            [2, 1]
        );
    }

    #[test]
    fn rules_are_taken_down_where_they_are_others() {
        let settings = Settings::default();
        let [former, later] = ["90+30", "15+10"].map(|periods| Rules {
            periods: periods::parse(periods).unwrap(),
            ..Rules::default()
        });
        let mut tape = Tape::new(Path::new("journal.sqlite"), &settings);
        let told = |tape: &Tape| {
            let lines = tape.waiting.lines();
            let changes = lines.filter_map(|line| line.strip_prefix("# rules-change: "));
            changes.map(str::to_owned).collect::<Vec<_>>()
        };
        tape.take(Millis(1_000), &Act::LinkUp, &former);
        // Somebody sends `rules`, and nothing has changed.
        tape.rules_taken(Millis(2_000), &former);
        assert_eq!(told(&tape), [""; 0]);
        tape.rules_wait(Millis(3_000), &later);
        // Now others wait, and the command is refused for another reason.
        tape.rules_taken(Millis(4_000), &former);
        let waits = "2.000 next 2023 standard adequate 15+10";
        assert_eq!(told(&tape), [waits]);
        for _ in 0..2 {
            tape.rules_taken(Millis(5_000), &later);
            assert_eq!(told(&tape), [waits, "4.000 game 2023 standard adequate 15+10"]);
        }
    }

    #[tokio::test]
    async fn two_files_of_a_bounded_size_are_kept_and_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.sqlite");
        let settings = Settings {
            board: "7".to_owned(),
            rules: Rules {
                periods: periods::parse("40/90+30, 15").unwrap(),
                ..Rules::default()
            },
            ..Settings::default()
        };
        let mut tape = Tape::new(&journal, &settings);
        tape.take(Millis(5_000), &Act::LinkUp, &settings.rules);
        for second in 5..40_000 {
            let now = Millis(second * 1000);
            tape.take(
                now,
                &Act::FromBoard(vec![0x8d, 0, 10, 0, 0, 0, 0, 0, 0, 0]),
                &settings.rules,
            );
            tape.save(now);
            tokio::task::yield_now().await;
            // A disk would have time to write during a day of board time, so the test waits for it.
            while let Some(written) = tape.writing.join_next().await {
                written.unwrap().unwrap();
            }
        }
        tape.take(Millis(40_000_000), &Act::LinkDown, &settings.rules);
        tape.finish().await;
        let [present, before] = journal::captures(&journal, "7");
        for path in [&present, &before] {
            let capture = read_capture(path).unwrap();
            assert_eq!(capture.header.board(), Some("7"));
            assert_eq!(capture.header.periods(), settings.rules.periods);
            assert!(capture.header.laws().is_some() && capture.header.epoch_ms().is_some());
            let size = fs::metadata(path).unwrap().len() as usize;
            assert!(size <= MOST + MOST_WAITING, "{size}");
        }
        let last = read_capture(&present).unwrap().records.pop().unwrap();
        assert_eq!(last.act, Act::LinkDown);
        assert_eq!(fs::read_dir(present.parent().unwrap()).unwrap().count(), 2);
        // A new run makes the last file the one before.
        let mut tape = Tape::new(&journal, &settings);
        tape.take(Millis(100), &Act::LinkUp, &settings.rules);
        tape.take(Millis(200), &Act::ToBoard(vec![0x42]), &settings.rules);
        tape.finish().await;
        assert_eq!(read_capture(&present).unwrap().records.len(), 1);
        assert_eq!(read_capture(&before).unwrap().records.pop(), Some(last));
    }
}
