//! A log that nobody reads stops nothing: neither a pipe at standard error nor the journal of systemd.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Child, Command, Stdio},
    time::Instant,
};

use fastrand::Rng;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::{
    broker::{Mosquitto, PATIENCE, Subscriber},
    hall::{journal, program, until, vienna},
    replayed::assert_as_replayed,
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
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

async fn game_over(subscriber: &Subscriber) {
    subscriber
        .wait("the end of the game", |got| {
            got.topic.ends_with("/1/event/game_ended")
        })
        .await;
}

/// What is in the journal is what `replay` says.
fn is_whole(config: &Path, wiring: Wiring) {
    assert_as_replayed(&journal(config, "1"), &vienna(), wiring == Wiring::Alone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standard_error_that_nobody_reads() {
    in_rounds(|random| nobody_reads_standard_error(Wiring::Alone, random)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standard_error_that_nobody_reads_beside_a_line_of_many_boards() {
    in_rounds(|random| nobody_reads_standard_error(Wiring::Line, random)).await;
}

async fn nobody_reads_standard_error(wiring: Wiring, mut random: Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let (_simulator, config) = wiring.playing(folder.path(), mosquitto.port, &vienna(), &[]);
    let (mut log, mut out) = std::io::pipe().unwrap();
    // So nearly full that some line has no room: at the start, or later.
    let flags = fcntl_getfl(&out).unwrap();
    fcntl_setfl(&out, flags | OFlags::NONBLOCK).unwrap();
    while out.write(&[b'x'; 512]).is_ok() {}
    fcntl_setfl(&out, flags).unwrap();
    let mut room = vec![0; random.usize(..4000)];
    log.read_exact(&mut room).unwrap();
    let mut command = program();
    command
        .args(["run", "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(out);
    let mut daemon = Running(command.spawn().unwrap());
    drop(command);
    game_over(&subscriber).await;
    // At last somebody reads.
    let mut said = Vec::new();
    let mut part = [0; 65_536];
    while !String::from_utf8_lossy(&said).contains("it answers") {
        let count = log.read(&mut part).unwrap();
        assert!(count > 0, "the log ended");
        said.extend_from_slice(&part[..count]);
    }
    stop(&mut daemon);
    is_whole(&config, wiring);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_of_systemd_that_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir_all(run.join("systemd/journal")).unwrap();
    let socket = UnixDatagram::bind(run.join("systemd/journal/socket")).unwrap();
    let inside = |command: &str| {
        let mut unshare = Command::new("unshare");
        unshare
            .args([
                "-m",
                "sh",
                "-c",
                &format!("mount --bind \"$0\" /run && {command}"),
            ])
            .arg(&run);
        unshare
    };
    if !inside("true")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        skipped!("no mounts of our own here (that needs root)");
        return;
    }
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "dgt2mqtt/gw/board/1/event/#").await;
    let (_simulator, config) = Wiring::Alone.playing(folder.path(), mosquitto.port, &vienna(), &[]);
    let mut command = inside("exec \"$1\" run --config \"$2\"");
    command
        .arg(env!("CARGO_BIN_EXE_dgt2mqtt"))
        .arg(&config)
        .env("JOURNAL_STREAM", "8:1");
    let another = UnixDatagram::unbound().unwrap();
    another.set_nonblocking(true).unwrap();
    while another
        .send_to(b"MESSAGE=x\n", run.join("systemd/journal/socket"))
        .is_ok()
    {}
    let mut daemon = Running(command.stdout(Stdio::null()).spawn().unwrap());
    game_over(&subscriber).await;
    let mut heard = String::new();
    until("the lines that waited", PATIENCE, || {
        let mut entry = [0; 65_536];
        let count = socket.recv(&mut entry).unwrap();
        heard += std::str::from_utf8(&entry[..count]).unwrap();
        let wanted = [
            "\nMESSAGE=connected to the broker",
            "\nDGT_BOARD=1\n",
            "\nDGT_GAME=1\n",
            "\nDGT_PLY=13\n",
            "\nDGT_KIND=illegal_move\n",
            "\nDGT_EVENT=gw/1/",
        ];
        wanted.iter().all(|field| heard.contains(field)).then_some(())
    });
    let form = "PRIORITY=5\nSYSLOG_IDENTIFIER=dgt2mqtt\nTARGET=dgt2mqtt::";
    assert!(heard.contains(form), "{heard}");
    stop(&mut daemon);
    is_whole(&config, Wiring::Alone);
}
