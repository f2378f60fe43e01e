//! A log that nobody reads from some instant on stops nothing: neither a pipe at standard error nor the journal of systemd.

use std::{
    fs,
    io::{PipeReader, Read, Write},
    os::{
        fd::AsRawFd,
        unix::{fs::OpenOptionsExt, net::UnixDatagram},
    },
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use rustix::fs::OFlags;

use crate::{
    broker::{Got, Mosquitto, PATIENCE, Subscriber},
    hall::{program, until},
    replayed::{Played, taped},
    seed::in_rounds,
    wiring::Wiring,
};

/// Gone with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// SIGTERM; it ends though nobody reads its last words either.
fn stop(Running(daemon): &mut Running) {
    let pid = daemon.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    let deadline = Instant::now() + PATIENCE;
    while daemon.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it does not end");
        thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standard_error_that_nobody_reads() {
    in_rounds(|random| nobody_reads_standard_error(Wiring::Alone, random)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standard_error_that_nobody_reads_beside_a_line_of_many_boards() {
    in_rounds(|random| nobody_reads_standard_error(Wiring::Line, random)).await;
}

/// Reads the log until `is_left`, and returns it.
fn read_for_a_while(mut log: PipeReader, is_left: Arc<AtomicBool>) -> thread::JoinHandle<PipeReader> {
    thread::spawn(move || {
        let mut part = [0; 4096];
        while !is_left.load(Ordering::Relaxed) && log.read(&mut part).unwrap() > 0 {}
        log
    })
}

/// So many commands that each is told in the log: more than wait for a reader.
const PINGS: usize = 1_500;
/// So many of them are under way at a time.
const AT_ONCE: usize = 25;
/// What a line of the log on one of them has.
const OF_A_PING: &str = "Publish. Topic = dgt2mqtt/gw/reply/ping";

/// Has the daemon log more than it keeps for a reader.
async fn more_is_said_than_is_kept(broker: u16) {
    let replies = Subscriber::new(broker, "dgt2mqtt/gw/reply/+").await;
    let log = "dgt2mqtt/gw/cmd/log";
    replies
        .publish(log, false, r#"{"filter":"info,rumqttc=debug"}"#, None)
        .await;
    let answer = replies
        .wait("the answer", |got| got.topic.ends_with("/log"))
        .await
        .json();
    assert_eq!(answer["ok"], true, "{answer}");
    let pings = || {
        let all = replies.all().into_iter();
        all.filter(|got| got.topic.ends_with("/ping")).count()
    };
    // Some at a time, so that each is answered.
    for sent in (0..PINGS).step_by(AT_ONCE) {
        for _ in 0..AT_ONCE {
            replies.publish("dgt2mqtt/gw/cmd/ping", false, "{}", None).await;
        }
        replies.until("the answers", || pings() == sent + AT_ONCE).await;
    }
    replies.publish(log, false, "{}", None).await;
    let is_second = |_: &Got| {
        let all = replies.all().into_iter();
        all.filter(|got| got.topic.ends_with("/log")).count() == 2
    };
    replies.wait("the answer", is_second).await;
}

/// Asserts that a log that was read late says how many lines it lacks, of which those are that nobody else accounts for.
fn says_what_is_dropped(log: &str) {
    let told = log.lines().filter(|line| line.contains(OF_A_PING)).count();
    let gaps = log.lines().filter_map(|line| {
        let (before, _) = line.split_once(" lines of the log were dropped here: nobody read them in time")?;
        before.rsplit([' ', '=']).next()?.parse::<usize>().ok()
    });
    let gaps: Vec<_> = gaps.collect();
    let dropped: usize = gaps.iter().sum();
    println!("{told} lines of {PINGS} pings are left, {gaps:?} lines were dropped");
    assert!(told < PINGS, "nothing was dropped");
    // That is said where they are lacking: after what had waited for the reader.
    let waited = log.split("lines of the log were dropped here").next().unwrap();
    let waited = waited.lines().filter(|line| line.contains(OF_A_PING)).count();
    assert!(waited > 900, "{waited} of {told} lines stand before the gap");
    assert!(
        told + dropped >= PINGS,
        "{told} lines of {PINGS} pings, and {dropped} were dropped"
    );
}

async fn nobody_reads_standard_error(wiring: Wiring, mut random: Rng) {
    let game = Played::by_chance(&mut random);
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &game.path, &[]);
    taped(&config);
    let (log, out) = std::io::pipe().unwrap();
    // The same pipe, opened anew: that we do not wait for room does not hold for the daemon.
    let mut ours = fs::OpenOptions::new();
    ours.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    let mut ours = ours.open(format!("/proc/self/fd/{}", out.as_raw_fd())).unwrap();
    let mut command = program();
    command
        .args(["run", "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(out);
    let is_left = Arc::new(AtomicBool::new(false));
    let reader = read_for_a_while(log, is_left.clone());
    let mut daemon = Running(command.spawn().unwrap());
    drop(command);
    game.some_instant(&subscriber, "1", &mut random).await;
    is_left.store(true, Ordering::Relaxed);
    // What is written wakes the reader, who goes then.
    until("the reader has gone", PATIENCE, || {
        let _ = ours.write(&[b'x'; 512]);
        reader.is_finished().then_some(())
    });
    let mut log = reader.join().unwrap();
    while ours.write(&[b'x'; 512]).is_ok() {}
    game.is_over(&subscriber, "1").await;
    more_is_said_than_is_kept(mosquitto.port).await;
    assert!(ours.write(&[b'x'; 512]).is_err(), "somebody reads");
    // At last somebody reads.
    drop(ours);
    let drain = thread::spawn(move || {
        let mut said = Vec::new();
        log.read_to_end(&mut said).map(|_| said)
    });
    stop(&mut daemon);
    let said = drain.join().unwrap().unwrap();
    says_what_is_dropped(&String::from_utf8_lossy(&said));
    game.is_whole(&config, &subscriber, "1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_of_systemd_that_nobody_reads() {
    in_rounds(nobody_reads_the_journal).await;
}

/// Runs `command` where /run is the folder `run`.
fn inside(run: &Path, command: &str) -> Command {
    let mut unshare = Command::new("unshare");
    let script = format!("mount --bind \"$0\" /run && {command}");
    unshare.args(["-m", "sh", "-c", &script]).arg(run);
    unshare
}

async fn nobody_reads_the_journal(mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir_all(run.join("systemd/journal")).unwrap();
    let place = run.join("systemd/journal/socket");
    let socket = UnixDatagram::bind(&place).unwrap();
    let mut mount = inside(&run, "true");
    if !mount
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|ended| ended.success())
    {
        skipped!("no mounts of our own here (that needs root)");
        return;
    }
    let game = Played::by_chance(&mut random);
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let (_simulator, config) = Wiring::Alone.playing(folder.path(), mosquitto.port, &game.path, &[]);
    taped(&config);
    let mut command = inside(&run, "exec \"$1\" run --config \"$2\"");
    command
        .arg(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .arg(&config)
        .env("JOURNAL_STREAM", "8:1");
    let mut daemon = Running(command.stdout(Stdio::null()).spawn().unwrap());
    let is_left = Arc::new(AtomicBool::new(false));
    let reader = listen_for_a_while(socket, is_left.clone());
    game.some_instant(&subscriber, "1", &mut random).await;
    is_left.store(true, Ordering::Relaxed);
    let (socket, mut heard) = reader.join().unwrap();
    let another = UnixDatagram::unbound().unwrap();
    another.set_nonblocking(true).unwrap();
    while another.send_to(b"MESSAGE=x\n", &place).is_ok() {}
    game.is_over(&subscriber, "1").await;
    more_is_said_than_is_kept(mosquitto.port).await;
    // At last somebody reads, and the lines that waited come, and a word of those that did not wait.
    until("the lines that waited", PATIENCE, || {
        heard.extend(std::iter::from_fn(|| entry(&socket)));
        let wanted = [
            "\nMESSAGE=connected to the broker",
            "\nDGT_BOARD=1\n",
            "\nDGT_GAME=1\n",
            "\nDGT_PLY=",
            "\nDGT_KIND=",
            "\nDGT_EVENT=gw/1/",
            "lines of the log were dropped here",
        ];
        wanted.iter().all(|field| heard.contains(field)).then_some(())
    });
    let form = "PRIORITY=5\nSYSLOG_IDENTIFIER=dgt2mqtt\nTARGET=dgt2mqtt::";
    assert!(heard.contains(form), "{heard}");
    says_what_is_dropped(&heard);
    stop(&mut daemon);
    game.is_whole(&config, &subscriber, "1").await;
}

/// The next entry of a journal, if one comes soon.
fn entry(socket: &UnixDatagram) -> Option<String> {
    let mut entry = [0; 65_536];
    let count = socket.recv(&mut entry).ok()?;
    Some(String::from_utf8(entry[..count].to_vec()).unwrap())
}

/// Reads a journal until `is_left`, and returns it with what was in it.
fn listen_for_a_while(
    socket: UnixDatagram,
    is_left: Arc<AtomicBool>,
) -> thread::JoinHandle<(UnixDatagram, String)> {
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    thread::spawn(move || {
        let mut heard = String::new();
        while !is_left.load(Ordering::Relaxed) {
            heard += &entry(&socket).unwrap_or_default();
        }
        (socket, heard)
    })
}
