//! The units under a real systemd: started when ready, restarted when stuck, reloaded, stopped when told, left alone
//! when the configuration is bad.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::broker::free_port;

const UNIT: &str = include_str!("../../systemd/dgt2mqtt.service");
const PAGE: &str = include_str!("../../systemd/dgt2mqtt-dashboard.service");
const CONFIG: &str = "etc/dgt2mqtt/dgt2mqtt.toml";

/// A systemd in name spaces of its own.
struct Systemd {
    outside: Child,
    /// Its process id, as seen from here.
    init: String,
    /// The service that is looked at.
    service: &'static str,
}

impl Systemd {
    /// Boots it with the program, the unit of `service` and files in `/etc`; none, with a message, where
    /// that cannot be done.
    fn boot(folder: &Path, service: &'static str, unit: &str, files: &[(&str, &str)]) -> Option<Self> {
        fs::create_dir_all(folder.join("usr/bin")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_dgt2mqtt"), folder.join("usr/bin/dgt2mqtt")).unwrap();
        let unit_path = format!("etc/systemd/system/{service}.service");
        // So that the test need not wait for half a minute.
        let impatient = (
            "[Service]\nWatchdogSec=3s\nRestartSec=100ms\n",
            format!("{unit_path}.d/impatient.conf"),
        );
        let own = [(impatient.1.as_str(), impatient.0), (&unit_path, unit)];
        for (path, text) in own.iter().chain(files) {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
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
            service,
        };
        let deadline = Instant::now() + Duration::from_secs(120);
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
        skipped!("no systemd can be booted here (that needs root, unshare, overlayfs and systemd)");
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
        let said = self.control(&["show", self.service, &ask]).1;
        let value = |property: &&str| {
            let prefix = format!("{property}=");
            let line = said.lines().find_map(|line| line.strip_prefix(&prefix));
            line.unwrap_or_default().to_owned()
        };
        properties.iter().map(value).collect()
    }

    /// What the service has logged.
    fn log(&self) -> String {
        self.inside("journalctl", &["-u", self.service, "--no-pager", "-o", "cat"])
            .1
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(90);
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
    // The password is given as the manual says.
    let secret = "[Service]\nLoadCredential=mqtt-password:/etc/dgt2mqtt/mqtt-password\n\
        Environment=DGT2MQTT__BROKER__USERNAME=dgt2mqtt\n\
        Environment=DGT2MQTT__BROKER__PASSWORD_FILE=/run/credentials/dgt2mqtt.service/mqtt-password\n";
    let files = [
        (CONFIG, config.as_str()),
        ("etc/dgt2mqtt/mqtt-password", "correct-horse\n"),
        ("etc/systemd/system/dgt2mqtt.service.d/secret.conf", secret),
    ];
    let Some(systemd) = Systemd::boot(folder.path(), "dgt2mqtt", UNIT, &files) else {
        return;
    };
    systemd.inside("chmod", &["600", "/etc/dgt2mqtt/mqtt-password"]);

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
        s.log()
            .contains(&format!("board 1: {port} opens, but no board answers"))
    });

    // A daemon that works feeds the watchdog; one that is stuck is started again.
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(systemd.show(&["MainPID", "NRestarts"]), [first.as_str(), "0"]);
    systemd.inside("kill", &["-STOP", &first]);
    systemd.wait("it is started again", |s| {
        s.show(&["ActiveState", "NRestarts"]) == ["active", "1"] && s.show(&["MainPID"])[0] != first
    });

    // A reload begins the next round; a mistake is told, and the service goes on.
    let second = systemd.show(&["MainPID"]).remove(0);
    let write = |text: &str| systemd.inside("sh", &["-c", &format!("printf '{text}' >> /{CONFIG}")]);
    write("[broadcast]\\nfolder = \"/var/lib/dgt2mqtt/open\"\\nround = 3\\n");
    assert!(systemd.control(&["reload", "dgt2mqtt"]).0, "{}", systemd.log());
    systemd.wait("the round begins", |s| {
        s.inside("ls", &["/var/lib/private/dgt2mqtt/open/round-3"])
            .1
            .contains("game-1.pgn")
    });
    write("rund = 4\\n");
    assert!(systemd.control(&["reload", "dgt2mqtt"]).0);
    systemd.wait("why", |s| {
        s.log().contains("is not taken over") && s.log().contains("did you mean `round`?")
    });
    assert_eq!(systemd.show(&["ActiveState", "MainPID"]), ["active", &second]);
    systemd.inside("sh", &["-c", &format!("sed -i /rund/d /{CONFIG}")]);

    let asked = Instant::now();
    assert!(systemd.control(&["stop", "dgt2mqtt"]).0);
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
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
    assert!(!systemd.log().contains("correct-horse"));
}

/// What the page's server answers: the first line, and the rest.
fn asked(port: u16, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (first, rest) = answer.split_once("\r\n").unwrap_or((&answer, ""));
    (first.to_owned(), rest.to_owned())
}

#[test]
fn a_real_systemd_serves_the_page() {
    const SERVICE: &str = "dgt2mqtt-dashboard";
    const TOKEN: &str = "0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let drop_in = format!(
        "[Service]\nLoadCredential=token:/etc/dgt2mqtt/dashboard-token\n\
         SupplementaryGroups=users\nReadWritePaths=/srv/broadcast\nUMask=0022\n\
         Environment=\"OPTIONS=--listen 127.0.0.1:{port} --token-file /run/credentials/{SERVICE}.service/token\"\n"
    );
    let config = "[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[broadcast]\nfolder = \"/srv/broadcast/open\"\nboards = [\"hall/1\"]\nround = 1\n";
    let files = [
        (
            "etc/systemd/system/dgt2mqtt-dashboard.service.d/token.conf",
            drop_in.as_str(),
        ),
        ("etc/dgt2mqtt/dashboard.toml", config),
        ("etc/dgt2mqtt/dashboard-token", TOKEN),
    ];
    let Some(systemd) = Systemd::boot(folder.path(), SERVICE, PAGE, &files) else {
        return;
    };
    systemd.inside("chmod", &["600", "/etc/dgt2mqtt/dashboard-token"]);
    systemd.inside("install", &["-d", "-m", "2775", "-g", "users", "/srv/broadcast"]);
    assert!(systemd.control(&["start", SERVICE]).0, "{}", systemd.log());
    // Whoever has the token gets the page, whoever has not a question for it.
    assert!(asked(port, "/").0.contains("401"));
    let (first, rest) = asked(port, &format!("/?token={TOKEN}"));
    assert!(
        first.contains("303") && rest.contains("dgt2mqtt_token="),
        "{first}"
    );
    assert!(!systemd.log().contains(TOKEN), "{}", systemd.log());
    let pid = systemd.show(&["MainPID"]).remove(0);
    let owner = systemd.inside("stat", &["-c", "%u", &format!("/proc/{pid}")]).1;
    assert!(owner.trim().parse::<u32>().unwrap() > 1000, "{owner}");

    // The next round, and a watchdog that is fed.
    systemd.inside(
        "sed",
        &["-i", "s/round = 1/round = 2/", "/etc/dgt2mqtt/dashboard.toml"],
    );
    assert!(systemd.control(&["reload", SERVICE]).0);
    systemd.wait("the round begins", |s| {
        let file = "/srv/broadcast/open/round-2/game-1.pgn";
        // Whoever takes the files to the public may read them.
        s.inside("stat", &["-c", "%a %G", file]).1 == "644 users\n"
    });
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(systemd.show(&["MainPID", "NRestarts"]), [pid.as_str(), "0"]);
    systemd.inside("kill", &["-STOP", &pid]);
    systemd.wait("it is started again", |s| {
        s.show(&["ActiveState", "NRestarts"]) == ["active", "1"]
    });

    let begun = Instant::now();
    assert!(systemd.control(&["stop", SERVICE]).0);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(systemd.show(&["ActiveState", "Result"]), ["inactive", "success"]);
}

/// A program in the place of BlueZ's: it gives the node its name for as long as the connection holds.
const FAKE_RFCOMM: &str = "#!/bin/sh\n\
    case \"$1\" in\n\
    connect) echo \"to $3, channel $4\"; ln -s \"$(cat /etc/dgt2mqtt/terminal)\" \"/dev/rfcomm$2\"; exec sleep infinity;;\n\
    release) rm -f \"/dev/rfcomm$2\";;\n\
    esac\n";

/// A simulated board on a pseudo terminal, which goes with it.
struct Board(Child, String);

impl Board {
    fn new() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
            .args(["simulate", "--boards", "1", "--keep"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let terminal = lines.next().unwrap().unwrap();
        Self(child, terminal)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_lost_bluetooth_connection_is_made_anew() {
    const SERVICE: &str = "dgt2mqtt-rfcomm@0";
    const UNIT: &str = include_str!("../../systemd/dgt2mqtt-rfcomm@.service");
    let folder = tempfile::tempdir().unwrap();
    let mut board = Board::new();
    let config = "[gateway]\nname = \"hall\"\n[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n[[board]]\nid = \"1\"\nport = \"/dev/rfcomm0\"\n";
    let files = [
        (CONFIG, config),
        ("etc/dgt2mqtt/rfcomm0.conf", "ADDRESS=00:11:22:33:44:55\n"),
        ("etc/dgt2mqtt/terminal", &board.1),
        ("usr/bin/rfcomm", FAKE_RFCOMM),
        // It says nothing to a watchdog.
        (
            "etc/systemd/system/dgt2mqtt-rfcomm@0.service.d/zz.conf",
            "[Service]\nWatchdogSec=0\n",
        ),
    ];
    let Some(systemd) = Systemd::boot(folder.path(), SERVICE, UNIT, &files) else {
        return;
    };
    systemd.inside("chmod", &["755", "/usr/bin/rfcomm"]);
    let answers = |s: &Systemd| {
        let arguments = ["check", "--connect", "--config", &format!("/{CONFIG}")];
        s.inside("dgt2mqtt", &arguments)
            .1
            .contains("a board with the serial number")
    };
    assert!(systemd.control(&["start", SERVICE]).0, "{}", systemd.log());
    systemd.wait("the board answers", answers);
    assert!(
        systemd.log().contains("to 00:11:22:33:44:55, channel 1"),
        "{}",
        systemd.log()
    );
    for lost in ["1", "2"] {
        drop(board);
        board = Board::new();
        let change = format!("echo {} > /etc/dgt2mqtt/terminal", board.1);
        systemd.inside("sh", &["-c", &change]);
        let pid = systemd.show(&["MainPID"]).remove(0);
        systemd.inside("kill", &["-KILL", &pid]);
        systemd.wait("the connection is made anew", |s| {
            s.show(&["ActiveState", "NRestarts"]) == ["active", lost] && s.show(&["MainPID"])[0] != pid
        });
        systemd.wait("the board answers again", answers);
    }
    assert!(systemd.control(&["stop", SERVICE]).0);
    assert!(
        !systemd.inside("test", &["-L", "/dev/rfcomm0"]).0,
        "nothing is left of it"
    );
}
