//! The example configuration against mosquitto as a distribution installs it, and after the steps of
//! `docs/operations.md` that give it users.

use std::{
    fs,
    net::TcpStream,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use crate::{
    broker::{self, PATIENCE, Subscriber, free_port},
    hall::{Daemon, program, until},
};

/// What Debian 12 installs as `/etc/mosquitto/mosquitto.conf`, without its comments.
const INSTALLED: &str = "pid_file /run/mosquitto/mosquitto.pid

persistence true
persistence_location /var/lib/mosquitto/

log_dest file /var/log/mosquitto/mosquitto.log

include_dir /etc/mosquitto/conf.d
";
const EXAMPLE: &str = include_str!("../../docs/dgt2mqtt.example.toml");
const MANUAL: &str = include_str!("../../docs/operations.md");
const PASSWORD: &str = "correct-horse-battery-staple";

/// mosquitto with the files of a distribution, all of them below a folder.
struct Installed {
    child: Child,
}

impl Installed {
    /// `port` is that of its own listener, 1883 where it is installed.
    fn start(folder: &Path, port: u16) -> Self {
        fs::write(folder.join("mosquitto.conf"), below(folder, INSTALLED)).unwrap();
        // It gives up the rights of root; whoever is not root has none to give up.
        let _ = Command::new("chown")
            .args(["-R", "mosquitto:"])
            .arg(folder)
            .status();
        let program = ["/usr/sbin/mosquitto", "mosquitto"]
            .into_iter()
            .find_map(|program| {
                let mut command = Command::new(program);
                command.arg("-c").arg(folder.join("mosquitto.conf"));
                // With a listener of its own there would be two.
                if !folder.join("conf.d/hall.conf").exists() {
                    command.args(["-p", &port.to_string()]);
                }
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
            });
        let child = program.expect("these tests need mosquitto: apt-get install mosquitto");
        let mut broker = Self { child };
        until("the broker", PATIENCE, || {
            assert!(
                broker.child.try_wait().unwrap().is_none(),
                "it has ended: {}",
                log(folder)
            );
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        broker
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("mosquitto.log")).unwrap_or_default()
}

/// The same files, below a folder of our own.
fn below(folder: &Path, text: &str) -> String {
    let place = format!("{}/", folder.display());
    [
        "/run/mosquitto/",
        "/var/lib/mosquitto/",
        "/var/log/mosquitto/",
        "/etc/mosquitto/",
    ]
    .iter()
    .fold(text.to_owned(), |text, there| text.replace(there, &place))
}

/// Of the environment only what cannot be the same here: the broker's port, and where the journal is.
fn here(command: &mut Command, folder: &Path, port: u16) {
    command
        .env("DGT2MQTT__BROKER__URLS__0", format!("mqtt://localhost:{port}"))
        .env("STATE_DIRECTORY", folder);
}

fn check(config: &Path, port: u16) -> Output {
    let mut command = program();
    command.args(["check", "--connect", "--config"]).arg(config);
    here(&mut command, config.parent().unwrap(), port);
    command.output().unwrap()
}

/// The block of the manual that begins with `begin`.
fn of_the_manual(begin: &str) -> &'static str {
    let at = MANUAL.find(begin).unwrap_or_else(|| panic!("no {begin}"));
    MANUAL[at..].split("```").next().unwrap()
}

#[tokio::test]
async fn the_example_works_with_a_broker_as_it_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("conf.d")).unwrap();
    let port = free_port();
    let _broker = Installed::start(folder.path(), port);
    assert!(
        log(folder.path()).contains("local only mode"),
        "{}",
        log(folder.path())
    );
    let state = tempfile::tempdir().unwrap();
    let config = state.path().join("dgt2mqtt.toml");
    fs::write(&config, EXAMPLE).unwrap();

    let checked = check(&config, port);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        said.contains("localhost"),
        "{said}\n{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    let daemon = Daemon::start_with(&config, |command| here(command, state.path(), port));
    let anybody = Subscriber::new(port, "dgt2mqtt/#").await;
    let is_online = |got: &broker::Got| got.topic == "dgt2mqtt/hall/status" && got.text() == "online";
    anybody.wait("online", is_online).await;
    assert!(daemon.stop());
}

#[tokio::test]
async fn the_steps_of_the_manual_give_it_users() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    fs::create_dir(folder.path().join("conf.d")).unwrap();
    let hall = of_the_manual("listener 1883\n").replace("1883", &port.to_string());
    fs::write(
        folder.path().join("conf.d/hall.conf"),
        below(folder.path(), &hall),
    )
    .unwrap();
    let steps = of_the_manual("sudo cp docs/mosquitto.acl");
    let (mut users, mut done) = (Vec::new(), 0);
    for step in steps.lines() {
        let step = step.strip_prefix("sudo ").unwrap();
        // A service manager and the user are those of the machine, and a password is asked for at a terminal.
        if step.starts_with("systemctl") || step.starts_with("chown") {
            continue;
        }
        let mut step = below(folder.path(), step);
        if let Some(rest) = step.strip_prefix("mosquitto_passwd ") {
            users.push(rest.rsplit(' ').next().unwrap().to_owned());
            step = format!("mosquitto_passwd -b {rest} {PASSWORD}");
        }
        let ran = Command::new("sh")
            .args(["-c", &step])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(ran.unwrap().success(), "{step}");
        done += 1;
    }
    assert_eq!((users.join(" ").as_str(), done), ("dgt2mqtt arbiter screen", 5));
    let _broker = Installed::start(folder.path(), port);

    let state = tempfile::tempdir().unwrap();
    let config = state.path().join("dgt2mqtt.toml");
    fs::write(&config, EXAMPLE).unwrap();
    let refused = check(&config, port);
    assert!(!refused.status.success(), "{refused:?}");
    fs::write(state.path().join("mqtt-password"), PASSWORD).unwrap();
    let mut text = EXAMPLE.to_owned();
    for (off, on) in [
        ("#username", "username"),
        ("#password_file", "password_file"),
        ("#commands = false", "commands = true"),
    ] {
        assert!(text.contains(off), "{off}");
        // The first is that of the broker.
        text = text.replacen(off, on, 1);
    }
    fs::write(&config, text).unwrap();
    let daemon = Daemon::start_with(&config, |command| here(command, state.path(), port));
    let arbiter = Subscriber::with_login(port, "dgt2mqtt/#", ("arbiter", PASSWORD)).await;
    let is_online = |got: &broker::Got| got.topic == "dgt2mqtt/hall/status" && got.text() == "online";
    arbiter.wait("online", is_online).await;
    arbiter
        .publish("dgt2mqtt/hall/cmd/ping", false, r#"{"ref":1}"#, None)
        .await;
    let pong = arbiter
        .wait("an answer", |got| got.topic == "dgt2mqtt/hall/reply/ping")
        .await;
    assert_eq!(pong.json()["ok"], true);
    assert!(daemon.stop());
}
