//! The unit under a real systemd: started when ready, restarted when stuck, stopped when told, left alone when the
//! configuration is bad.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test, with processes of its own.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const UNIT: &str = include_str!("../systemd/dgt2mqtt.service");
const CONFIG: &str = "etc/dgt2mqtt/dgt2mqtt.toml";

/// A systemd in name spaces of its own.
struct Systemd {
    outside: Child,
    /// Its process id, as seen from here.
    init: String,
}

impl Systemd {
    /// Boots it with the program and the unit; none, with a message, where that cannot be done.
    fn boot(folder: &Path, config: &str) -> Option<Self> {
        for part in ["usr/bin", "etc/systemd/system/dgt2mqtt.service.d", "etc/dgt2mqtt"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_dgt2mqtt"), folder.join("usr/bin/dgt2mqtt")).unwrap();
        fs::write(folder.join("etc/systemd/system/dgt2mqtt.service"), UNIT).unwrap();
        // So that the test need not wait for half a minute.
        let impatient = folder.join("etc/systemd/system/dgt2mqtt.service.d/impatient.conf");
        fs::write(impatient, "[Service]\nWatchdogSec=3s\nRestartSec=100ms\n").unwrap();
        fs::write(folder.join(CONFIG), config).unwrap();
        let outside = Command::new("unshare")
            .args(["--pid", "--fork", "--kill-child"])
            .args(["--mount", "--cgroup", "--uts", "--ipc"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systemd/boot.sh"))
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut systemd = Self {
            outside,
            init: String::new(),
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline && systemd.outside.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(100));
            let pid = systemd.outside.id();
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            systemd.init = children.unwrap_or_default().trim().to_owned();
            // Degraded: some unit of this machine does not fit into the name spaces.
            if !systemd.init.is_empty()
                && ["running", "degraded"].contains(&systemd.control(&["is-system-running"]).1.trim())
            {
                return Some(systemd);
            }
        }
        None
    }

    fn control(&self, arguments: &[&str]) -> (bool, String) {
        self.inside("systemctl", arguments)
    }

    fn inside(&self, program: &str, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("nsenter")
            .args([
                "--target", &self.init, "--pid", "--mount", "--cgroup", "--uts", "--ipc",
            ])
            .arg(program)
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text)
    }

    /// Properties of our service, in the order asked for.
    fn show(&self, properties: &[&str]) -> Vec<String> {
        let ask = format!("--property={}", properties.join(","));
        let said = self.control(&["show", "dgt2mqtt", &ask]).1;
        let value = |property: &&str| {
            let prefix = format!("{property}=");
            let line = said.lines().find_map(|line| line.strip_prefix(&prefix));
            line.unwrap_or_default().to_owned()
        };
        properties.iter().map(value).collect()
    }

    /// What the service has logged.
    fn log(&self) -> String {
        self.inside("journalctl", &["-u", "dgt2mqtt", "--no-pager", "-o", "cat"])
            .1
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_so(self) {
            let state = self.show(&["ActiveState", "SubState", "Result", "NRestarts"]);
            assert!(Instant::now() < deadline, "{what}: {state:?}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        // With the first process all others of its name space end, and the mounts go.
        let _ = self.outside.kill();
        let _ = self.outside.wait();
    }
}

/// The path of a pseudo terminal that its owner alone may open, and what keeps it there.
fn terminal() -> (String, std::os::fd::OwnedFd) {
    let master =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let path = rustix::pty::ptsname(&master, Vec::new()).unwrap();
    let path = path.into_string().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (path, master)
}

#[test]
fn a_real_systemd_starts_watches_and_stops_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let (port, _master) = terminal();
    // Nothing listens at the broker's port.
    let config = format!(
        "[gateway]\nname = \"hall\"\n[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[[board]]\nid = \"1\"\nport = \"{port}\"\n"
    );
    let Some(systemd) = Systemd::boot(folder.path(), &config) else {
        eprintln!("skipped: no systemd can be booted here (that needs root, unshare, overlayfs and systemd)");
        return;
    };

    // Type=notify: `start` returns when the daemon says that it is ready, as a user that systemd made up.
    assert!(systemd.control(&["start", "dgt2mqtt"]).0, "{}", systemd.log());
    assert_eq!(systemd.show(&["ActiveState", "SubState"]), ["active", "running"]);
    let first = systemd.show(&["MainPID"]).remove(0);
    let state = systemd.inside("ls", &["-A", "/var/lib/private/dgt2mqtt"]).1;
    assert!(state.contains("journal.sqlite"), "{state}");
    let owner = systemd.inside("stat", &["-c", "%u", &format!("/proc/{first}")]).1;
    assert!(owner.trim().parse::<u32>().unwrap() > 1000, "{owner}");
    // A person sees in the log which broker and which board it is about.
    systemd.wait("it says that the broker is away", |s| {
        s.log().contains("no broker at mqtt://127.0.0.1:1")
    });
    systemd.wait("it says why the port stays closed", |s| {
        s.log()
            .contains(&format!("board 1: may not open {port}: owner root, group"))
    });
    fs::set_permissions(&port, fs::Permissions::from_mode(0o666)).unwrap();
    systemd.wait("it opens the port as soon as it may", |s| {
        s.log().contains(&format!("board 1: link open on {port}"))
    });

    // A daemon that works feeds the watchdog; one that is stuck is started again.
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(systemd.show(&["MainPID", "NRestarts"]), [first.as_str(), "0"]);
    systemd.inside("kill", &["-STOP", &first]);
    systemd.wait("it is started again", |s| {
        s.show(&["ActiveState", "NRestarts"]) == ["active", "1"] && s.show(&["MainPID"])[0] != first
    });

    let asked = Instant::now();
    assert!(systemd.control(&["stop", "dgt2mqtt"]).0);
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(systemd.show(&["ActiveState", "Result"]), ["inactive", "success"]);

    // Bad configuration: said once, and not tried again.
    let spoil = format!("echo 'bogus = 1' >> /{CONFIG}");
    systemd.inside("sh", &["-c", &spoil]);
    assert!(!systemd.control(&["start", "dgt2mqtt"]).0);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(
        systemd.show(&["ActiveState", "ExecMainStatus", "NRestarts"]),
        ["failed", "78", "0"]
    );
    assert!(systemd.log().contains("the key `bogus` is unknown here"));
}
