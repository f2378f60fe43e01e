//! The journal of a process that is killed, and of a machine whose power goes.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{codes, entry, open, seqs};
use crate::{disk::ImageDisk, seed::rng};

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

/// A process that writes until it is killed, and says what is kept.
fn writer(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "journal_faults::kills::writes_until_killed",
            "--ignored",
            "--nocapture",
        ])
        .env("JOURNAL_UNDER_TEST", path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn what_was_said_to_be_kept_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.sqlite");
    let mut rng = rng();
    for round in 0..5 {
        let mut child = writer(&path);
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
    let mut rng = rng();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rounds = if std::env::var_os("DGT2MQTT_FULL").is_some() {
        40
    } else {
        4
    };
    // A quick machine writes a megabyte in each round.
    let Some(mut disk) = ImageDisk::make_of(16 + 2 * rounds, &at("image-0"), &at("disk-0")) else {
        return;
    };
    let mut compared = 0;
    for round in 1..=rounds {
        let path = at(&format!("disk-{}", round - 1)).join("j.sqlite");
        let mut child = writer(&path);
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
