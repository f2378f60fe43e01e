//! `scripts/rollout.sh` at forty machines: forty folders behind a real sshd. Only the service manager is made up.

use std::{
    fmt::Write as _,
    fs,
    net::TcpStream,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    broker::{PATIENCE, free_port},
    hall::until,
};

const MACHINES: usize = 40;
const SSHD: &str = "/usr/sbin/sshd";
/// Runs what ssh was asked to run in the folder of the machine that was called, with its programs.
const MACHINE: &str = r#"cd "$HALL/$HALL_MACHINE" || exit
export PATH="$PWD/bin:$HALL/bin:$PATH"
[ ! -e full ] || { trap '' XFSZ; ulimit -f 0; }
eval "$SSH_ORIGINAL_COMMAND"
"#;
/// A service manager that keeps what it was told. A daemon that has the file `dead` never becomes active.
const SYSTEMCTL: &str = r#"#!/bin/sh
case "$*" in
*show*) echo "Environment=DGT2MQTT_GATEWAY=$HALL_MACHINE" ;;
*is-active*) [ -e active ] && ! grep -qs "$(cat dead 2>/dev/null || echo nothing-kills-it)" dgt2mqtt.toml ;;
*is-failed*) [ -e dead ] ;;
*start*) echo start >>told; : >active ;;
*reload*) echo reload >>told ;;
esac
"#;

/// Machines that are reached by the names `row-1` to `row-40`.
struct Machines {
    folder: tempfile::TempDir,
    sshd: Child,
}

impl Drop for Machines {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Machines {
    /// None where there is no sshd.
    fn start() -> Option<Self> {
        if !Path::new(SSHD).exists() {
            skipped!("there is no {SSHD}; install openssh-server");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]);
        }
        // sshd wants its folder where root runs it.
        let _ = fs::create_dir_all("/run/sshd");
        fs::create_dir(at("bin")).unwrap();
        write_program(Path::new(&at("bin/systemctl")), SYSTEMCTL);
        // Whoever is not root at a machine is there by sudo.
        write_program(Path::new(&at("bin/sudo")), "#!/bin/sh\nshift\nexec \"$@\"\n");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dgt2mqtt"), at("bin/dgt2mqtt")).unwrap();
        fs::write(at("machine.sh"), MACHINE).unwrap();
        let port = free_port();
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nAcceptEnv HALL HALL_MACHINE\nForceCommand /bin/sh {}\n",
            at("host"),
            at("user.pub"),
            at("machine.sh")
        );
        fs::write(at("sshd_config"), server).unwrap();
        let mut client = String::new();
        for machine in 1..=MACHINES {
            fs::create_dir(at(&format!("row-{machine}"))).unwrap();
            writeln!(
                client,
                "Host row-{machine}\n  SetEnv HALL={} HALL_MACHINE=row-{machine}",
                at("")
            )
            .unwrap();
        }
        writeln!(client, "Host gone\n  Port {}", free_port()).unwrap();
        writeln!(
            client,
            "Host *\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile {}\n  LogLevel ERROR",
            at("user"),
            at("known")
        )
        .unwrap();
        fs::write(at("ssh_config"), client).unwrap();
        let log = fs::File::create(at("sshd.log")).unwrap();
        let sshd = Command::new(SSHD)
            .args(["-D", "-e", "-f", &at("sshd_config")])
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let machines = Self { folder, sshd };
        until("sshd", PATIENCE, || TcpStream::connect(("127.0.0.1", port)).ok());
        Some(machines)
    }

    fn at(&self, machine: usize, name: &str) -> PathBuf {
        self.folder.path().join(format!("row-{machine}")).join(name)
    }

    fn text(&self, machine: usize, name: &str) -> Option<String> {
        fs::read_to_string(self.at(machine, name)).ok()
    }

    /// Whether all went, and what was said.
    fn roll_out(&self, args: &[&str]) -> (bool, String) {
        let output = Command::new("bash")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/rollout.sh"))
            .args(args)
            .env(
                "ROLLOUT_SSH",
                format!("-F {}", self.folder.path().join("ssh_config").display()),
            )
            .env("ROLLOUT_FILE", "dgt2mqtt.toml")
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    /// The path of a hall's file with this line in each of its gateways.
    fn hall(&self, name: &str, line: &str, more: &str) -> String {
        let mut text = "[broker]\nurls = [\"mqtt://127.0.0.1:1\"]\n".to_owned();
        for machine in 1..=MACHINES {
            let table = format!("gateways.row-{machine}");
            writeln!(
                text,
                "[{table}]\n{line}\n[[{table}.board]]\nid = \"{machine}\"\nport = \"usb:B{machine}\""
            )
            .unwrap();
        }
        let path = self.folder.path().join(name);
        fs::write(&path, text + more).unwrap();
        path.display().to_string()
    }

    fn names() -> Vec<String> {
        (1..=MACHINES).map(|machine| format!("row-{machine}")).collect()
    }
}

fn with<'a>(first: &[&'a str], names: &'a [String]) -> Vec<&'a str> {
    first
        .iter()
        .copied()
        .chain(names.iter().map(String::as_str))
        .collect()
}

#[test]
fn forty_machines_get_a_file_and_those_that_cannot_keep_their_former_one() {
    let Some(machines) = Machines::start() else { return };
    let names = Machines::names();
    let first = machines.hall("first.toml", "limits.health_interval_s = 20", "");
    let (went, said) = machines.roll_out(&with(&["--dry-run", &first], &names));
    assert!(
        went && said.contains("Each of the 40 machines would take it"),
        "{said}"
    );
    assert_eq!(machines.text(1, "dgt2mqtt.toml"), None);

    let (went, said) = machines.roll_out(&with(&[&first], &names));
    assert!(
        went && said.contains("Each of the 40 machines has the file"),
        "{said}"
    );
    let first = fs::read_to_string(first).unwrap();
    for machine in 1..=MACHINES {
        assert_eq!(
            machines.text(machine, "dgt2mqtt.toml").as_ref(),
            Some(&first),
            "row-{machine}"
        );
        assert_eq!(
            machines.text(machine, "told").as_deref(),
            Some("start\n"),
            "row-{machine}"
        );
    }
    let mode = |machine, name| fs::metadata(machines.at(machine, name)).unwrap().mode() & 0o777;
    assert_eq!(mode(1, "dgt2mqtt.toml"), 0o644);
    fs::set_permissions(machines.at(1, "dgt2mqtt.toml"), fs::Permissions::from_mode(0o640)).unwrap();

    // The password of row-7 is not there, the disk of row-8 is full, the daemon of row-9 does not go on.
    let refused = "[gateways.row-7.broker]\nusername = \"dgt\"\npassword_file = \"mqtt.password\"\n";
    let second = machines.hall("second.toml", "limits.health_interval_s = 21", refused);
    fs::write(machines.at(8, "full"), "").unwrap();
    fs::write(machines.at(9, "dead"), "health_interval_s = 21").unwrap();
    let mut called = names.clone();
    called.push("gone=row-1".to_owned());
    let (went, said) = machines.roll_out(&with(&[&second], &called));
    assert!(!went, "{said}");
    for (machine, why) in [
        ("row-7", "the file is refused here"),
        ("row-8", "cannot be written"),
        ("row-9", "did not go on"),
        ("gone", "Connection refused"),
    ] {
        let mut told = said
            .split("FAILED ")
            .filter(|told| told.starts_with(&format!("{machine} ")));
        assert!(told.any(|told| told.contains(why)), "{machine}: {said}");
    }
    assert!(said.contains("mqtt.password"), "{said}");
    assert!(
        said.contains("4 of 41 machines failed and keep what they had: row-7 row-8 row-9 gone=row-1"),
        "{said}"
    );
    let second = fs::read_to_string(second).unwrap();
    for machine in 1..=MACHINES {
        let keeps = [7, 8, 9].contains(&machine);
        let expected = if keeps { &first } else { &second };
        assert_eq!(
            machines.text(machine, "dgt2mqtt.toml").as_ref(),
            Some(expected),
            "row-{machine}"
        );
        assert!(
            !machines.at(machine, "dgt2mqtt.toml.fresh").exists(),
            "row-{machine}"
        );
        if !keeps {
            assert_eq!(
                machines.text(machine, "dgt2mqtt.toml.former").as_ref(),
                Some(&first)
            );
            assert_eq!(machines.text(machine, "told").as_deref(), Some("start\nreload\n"));
        }
    }
    assert_eq!(mode(1, "dgt2mqtt.toml"), 0o640);

    let (went, said) = machines.roll_out(&["--back", "row-1", "row-2", "row-7"]);
    assert!(
        !went && said.contains("1 of 3 machines failed") && said.contains("no former file"),
        "{said}"
    );
    for (machine, has) in [(1, &first), (2, &first), (3, &second)] {
        assert_eq!(
            machines.text(machine, "dgt2mqtt.toml").as_ref(),
            Some(has),
            "row-{machine}"
        );
    }
    // Back from back: the file that was taken out is the former one now.
    assert_eq!(machines.text(1, "dgt2mqtt.toml.former").as_ref(), Some(&second));
    assert_eq!(mode(1, "dgt2mqtt.toml"), 0o640);
}

#[test]
fn a_machine_whose_daemon_would_be_another_gateway_is_told() {
    let Some(machines) = Machines::start() else { return };
    let file = machines.hall("hall.toml", "limits.health_interval_s = 20", "");
    let (went, said) = machines.roll_out(&[&file, "row-1=row-2", "Row_X", "row-3"]);
    assert!(!went, "{said}");
    assert!(said.contains("the daemon here would not be row-2"), "{said}");
    assert!(said.contains("\"Row_X\" is no name of a gateway"), "{said}");
    assert!(said.contains("ok     row-3"), "{said}");
    assert_eq!(machines.text(1, "dgt2mqtt.toml"), None);
}
