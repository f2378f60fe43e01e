//! What a service manager hears of the daemon, by the socket that it gives: no systemd is needed for that.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test, with a process of its own.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How often the service manager wants a sign of life: short, so that the test is, and long beside what a busy machine
/// may be late.
const WATCHDOG: Duration = Duration::from_secs(3);

/// The service manager's end of a daemon, which has neither board nor broker.
struct Service {
    daemon: Child,
    socket: UnixDatagram,
    _folder: tempfile::TempDir,
}

impl Service {
    fn start(watchdog: Option<Duration>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"));
        command.args(["run", "--config"]).arg(config(folder.path()));
        command
            .env("NOTIFY_SOCKET", &path)
            .env_remove("WATCHDOG_PID")
            .env_remove("WATCHDOG_USEC");
        if let Some(watchdog) = watchdog {
            command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        }
        let daemon = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            daemon,
            socket,
            _folder: folder,
        }
    }

    /// The next message, as `KEY=VALUE`.
    fn hear(&self) -> String {
        let mut buffer = [0; 256];
        let count = self.socket.recv(&mut buffer).expect("the daemon says something");
        String::from_utf8(buffer[..count].to_vec())
            .unwrap()
            .trim()
            .to_owned()
    }

    /// SIGTERM.
    fn stop(&self) {
        let pid = self.daemon.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn config(folder: &Path) -> std::path::PathBuf {
    // Nothing listens there.
    let nobody = "127.0.0.1:1";
    let path = folder.join("dgt2mqtt.toml");
    let text = format!(
        "[gateway]\nname = \"gw\"\n[broker]\nurls = [\"mqtt://{nobody}\"]\n[journal]\npath = \"journal.sqlite\"\n\
         [limits]\nshutdown_timeout_s = 2\n[[board]]\nid = \"1\"\nport = \"tcp://{nobody}\"\n"
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn ready_then_a_sign_of_life_in_each_third_of_the_watchdog_then_stopping() {
    let mut service = Service::start(Some(WATCHDOG));
    assert_eq!(service.hear(), "READY=1");
    let start = Instant::now();
    for _ in 0..6 {
        assert_eq!(service.hear(), "WATCHDOG=1");
    }
    // The first comes at once, then three in each period: five thirds have passed.
    let took = start.elapsed();
    assert!(
        took >= WATCHDOG,
        "{took:?}: the working loop feeds it, not a busy one"
    );
    assert!(took < WATCHDOG * 3, "{took:?}: a slow one would be killed");
    service.stop();
    let last = std::iter::repeat_with(|| service.hear()).find(|said| said != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    assert!(service.daemon.wait().unwrap().success());
}

#[test]
fn a_service_manager_without_a_watchdog_hears_when_it_starts_and_stops() {
    let mut service = Service::start(None);
    assert_eq!(service.hear(), "READY=1");
    std::thread::sleep(Duration::from_millis(1500));
    service.stop();
    assert_eq!(service.hear(), "STOPPING=1");
    assert!(service.daemon.wait().unwrap().success());
}
