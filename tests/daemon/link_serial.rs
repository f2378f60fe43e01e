//! Links against simulated boards on pseudo terminals and TCP.

use std::{
    fs::Permissions,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use dgt2mqtt::{
    capture::Capture,
    families::{Attachment, Protocol},
    link::{LinkSource, OpenError, Opened, PortMatch, ask},
    sim::{
        board::SimulatedIdentity,
        player::{Pace, PlayedBoard},
        port::Socket,
        serve::{Serving, Station},
    },
};
use rustix::{
    pty::{OpenptFlags, openpt, ptsname, unlockpt},
    termios::{ControlModes, tcgetattr},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

/// How long whatever must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const GAP: &str = "# dgtcap 1\n0.1 < 8e 00 05 34 00\n0.2 ! down\n0.6 ! up\n0.7 < 8e 00 05 24 01\n";

/// A board that goes on for ever, and its name.
async fn board(boards: &mut JoinSet<()>, number: u16, capture: &str, place: Socket) -> String {
    let capture = Capture::parse(capture.as_bytes()).unwrap();
    let player = PlayedBoard::new(capture, SimulatedIdentity::synthetic(number), Pace::default());
    let serving = Serving {
        slow_line: false,
        linger: None,
    };
    let station = Station::new(player, place, serving).await.unwrap();
    let name = station.name();
    boards.spawn(async { station.run().await.unwrap() });
    name
}

async fn read(opened: &mut Opened) -> Vec<u8> {
    let mut buffer = [0; 256];
    let n = timeout(PATIENCE, opened.io.read(&mut buffer))
        .await
        .unwrap()
        .unwrap_or(0);
    buffer[..n].to_vec()
}

/// Opens a source that may not be there yet.
async fn open_soon(source: &LinkSource) -> Opened {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Ok(opened) = source.open().await {
            return opened;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("{source} does not come back");
}

async fn follow_through_a_gap(source: LinkSource) {
    let mut link = source.open().await.unwrap();
    link.io.write_all(b"K").await.unwrap();
    assert_eq!(read(&mut link).await, [0x8e, 0, 5, 0x34, 0]);
    assert!(
        read(&mut link).await.is_empty(),
        "a pulled cable is seen as the end"
    );
    drop(link);
    let mut link = open_soon(&source).await;
    link.io.write_all(b"K").await.unwrap();
    assert_eq!(read(&mut link).await, [0x8e, 0, 5, 0x24, 1]);
}

#[tokio::test]
async fn a_port_that_comes_back_under_another_number_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("board");
    let mut boards = JoinSet::new();
    let name = board(&mut boards, 1, GAP, Socket::Pty(Some(link.clone()))).await;
    assert_eq!(name, link.to_str().unwrap());
    // Another one takes the number that becomes free, if it can.
    follow_through_a_gap(name.parse().unwrap()).await;
    drop(boards);
}

#[tokio::test]
async fn tcp_does_the_same() {
    let mut boards = JoinSet::new();
    let name = board(&mut boards, 1, GAP, Socket::Tcp("127.0.0.1:0".parse().unwrap())).await;
    follow_through_a_gap(name.parse().unwrap()).await;
}

#[tokio::test]
async fn a_port_is_opened_alone_and_says_when_it_is_busy() {
    let mut boards = JoinSet::new();
    let source: LinkSource = board(&mut boards, 1, GAP, Socket::Pty(None))
        .await
        .parse()
        .unwrap();
    let held = source.open().await.unwrap();
    let error = source.open().await.unwrap_err();
    assert_eq!(error.code(), "port_busy", "{error}");
    drop(held);
    assert!(source.open().await.is_ok());
}

#[tokio::test]
async fn a_board_is_found_by_the_number_that_it_reports() {
    let mut boards = JoinSet::new();
    let mut candidates = Vec::new();
    for number in [1, 2, 3] {
        candidates.push(PathBuf::from(
            board(&mut boards, number, GAP, Socket::Pty(None)).await,
        ));
    }
    let by_number = |serial: &str| {
        LinkSource::Serial(PortMatch::Board {
            serial: serial.to_owned(),
            candidates: candidates.clone(),
        })
    };
    let second = open_soon(&by_number("90002")).await;
    assert_eq!(second.name, candidates[1].to_str().unwrap());
    // Others are found while that one is held.
    let third = open_soon(&by_number("090003")).await;
    assert_eq!(third.name, candidates[2].to_str().unwrap());
    // A board that is slow on a busy machine has not answered.
    let mut error = by_number("12345").open().await.unwrap_err();
    let deadline = Instant::now() + PATIENCE;
    while error.to_string().contains("no answer") && Instant::now() < deadline {
        error = by_number("12345").open().await.unwrap_err();
    }
    let OpenError::NoSuchBoard { asked, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(asked.len(), 3, "{error}");
    assert!(
        asked.iter().filter(|said| said.contains("port_busy")).count() == 2,
        "{error}"
    );
    assert!(error.to_string().contains("90001"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_opened_has_a_code() {
    let codes = [
        ("/dev/no-such-port", "port_not_found"),
        ("usb:NO-SUCH-NUMBER", "port_not_found"),
        ("tcp://127.0.0.1:1", "tcp_unreachable"),
        ("capture:/no/such.dgtcap", "capture_unreadable"),
        ("/proc/self/status", "port_unusable"),
        ("board:1@/dev/no-such-port", "board_not_found"),
    ];
    for (source, code) in codes {
        let error = source.parse::<LinkSource>().unwrap().open().await.unwrap_err();
        assert_eq!(error.code(), code, "{source}: {error}");
    }
}

#[tokio::test]
async fn a_port_is_opened_as_its_board_speaks() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let source: LinkSource = name.to_str().unwrap().parse().unwrap();
    for (protocol, baud) in [(Protocol::Dgt, 9600), (Protocol::Chesslink, 38_400)] {
        let _held = source.open_as(protocol.line()).await.unwrap();
        let settings = tcgetattr(&master).unwrap();
        assert_eq!(settings.output_speed(), baud, "{protocol:?}");
        let modes = settings.control_modes;
        assert!(modes.contains(ControlModes::CS8) && !modes.contains(ControlModes::PARENB));
    }
}

#[tokio::test]
async fn what_is_no_hid_device_has_a_code() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (path, code) in [
        ("/dev/no-such-hidraw", "port_not_found"),
        (file.path().to_str().unwrap(), "port_unusable"),
    ] {
        let source: LinkSource = path.parse().unwrap();
        let error = source.open_as(Attachment::Reports).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[tokio::test]
async fn of_two_boards_that_say_one_number_neither_is_taken() {
    let mut boards = JoinSet::new();
    let mut candidates = Vec::new();
    for number in [17, 18, 17] {
        candidates.push(PathBuf::from(
            board(&mut boards, number, GAP, Socket::Pty(None)).await,
        ));
    }
    let source = |serial: &str, candidates: &[PathBuf]| {
        LinkSource::Serial(PortMatch::Board {
            serial: serial.to_owned(),
            candidates: candidates.to_vec(),
        })
    };
    // A board that is slow on a busy machine has not answered.
    let deadline = Instant::now() + PATIENCE;
    let error = loop {
        match source("90017", &candidates).open().await {
            Err(error) if error.code() == "board_doubled" => break error,
            _ => assert!(Instant::now() < deadline, "one of two is taken"),
        }
    };
    for path in [&candidates[0], &candidates[2]] {
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    assert!(
        error.to_string().contains("configure each by its port"),
        "{error}"
    );
    assert!(
        source("90017", &candidates).open().await.is_err(),
        "nor is it later"
    );
    // The third is another board's, and one by itself is taken.
    assert_eq!(
        open_soon(&source("90018", &candidates)).await.name,
        candidates[1].to_str().unwrap()
    );
    let alone = open_soon(&source("90017", &candidates[1..])).await;
    assert_eq!(alone.name, candidates[2].to_str().unwrap());
}

/// The error of the first hour, as somebody sees it who is not in the group.
#[test]
fn a_port_that_one_may_not_open_says_who_may_and_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        skipped!("only root can become somebody else");
        return;
    }
    // Where nobody may look as well.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("dgt2mqtt");
    std::fs::copy(env!("CARGO_BIN_EXE_dgt2mqtt"), &program).unwrap();
    let port = folder.path().join("ttyUSB0");
    std::fs::write(&port, "").unwrap();
    for (group, mode, expected) in [
        (20, 0o660, "join the group: `sudo usermod -aG "),
        (20, 0o600, "no group that you could join may read and write it"),
        (0, 0o660, "no group that you could join may read and write it"),
    ] {
        std::os::unix::fs::chown(&port, Some(0), Some(group)).unwrap();
        std::fs::set_permissions(&port, Permissions::from_mode(mode)).unwrap();
        let output = Command::new(&program)
            .args(["record", "--port"])
            .arg(&port)
            .arg("-o")
            .arg(folder.path().join("new.dgtcap"))
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in [
            &format!("may not open {}: owner root, group", port.display()),
            expected,
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[tokio::test]
async fn silence_is_no_number_and_flushing_does_not_wait() {
    // A terminal behind which nobody reads.
    let deaf = dgt2mqtt::sim::pty::Pty::open(None).unwrap();
    let source: LinkSource = deaf.path().to_str().unwrap().parse().unwrap();
    assert!(ask(&source).await.unwrap().is_empty());
    let mut link = source.open().await.unwrap();
    link.io.write_all(b"M").await.unwrap();
    let before = Instant::now();
    link.io.flush().await.unwrap();
    link.io.shutdown().await.unwrap();
    // Whoever waited would do so until somebody reads.
    assert!(before.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_capture_is_played_in_real_time_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gap.dgtcap");
    std::fs::write(&path, GAP).unwrap();
    let source: LinkSource = format!("capture:{}", path.display()).parse().unwrap();
    let start = Instant::now();
    let mut link = source.open().await.unwrap();
    assert_eq!(read(&mut link).await, [0x8e, 0, 5, 0x34, 0]);
    assert!(read(&mut link).await.is_empty());
    let mut link = source.open().await.unwrap();
    assert_eq!(read(&mut link).await, [0x8e, 0, 5, 0x24, 1]);
    assert!(start.elapsed() >= Duration::from_millis(700));
    assert!(read(&mut link).await.is_empty());
    assert_eq!(source.open().await.unwrap_err().code(), "capture_over");
}
