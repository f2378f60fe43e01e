//! The systemd units are accepted by systemd, hardened, and leave open what the daemon and the page need.

use std::{fs, path::Path, process::Command};

const UNIT: &str = include_str!("../../systemd/dgt2mqtt.service");
const PAGE: &str = include_str!("../../systemd/dgt2mqtt-dashboard.service");
/// What the package adds to the daemon's unit.
const USER: &str = include_str!("../../packaging/debian/user.conf");
const ARCHIVE: &str = include_str!("../../systemd/dgt2mqtt-archive.service");
const UNITS: [(&str, &str); 3] = [
    ("dgt2mqtt.service", UNIT),
    ("dgt2mqtt-dashboard.service", PAGE),
    ("dgt2mqtt-archive.service", ARCHIVE),
];
/// The connection to a Bluetooth board, which a program of BlueZ makes that is not installed everywhere.
const RFCOMM: (&str, &str) = (
    "dgt2mqtt-rfcomm@0.service",
    include_str!("../../systemd/dgt2mqtt-rfcomm@.service"),
);

/// The exposure that systemd may compute at most, in tenths.
const THRESHOLD: &str = "25";

/// The values of a setting, comments excluded.
fn values(key: &str) -> Vec<&'static str> {
    values_of(UNIT, key)
}

fn values_of(unit: &'static str, key: &str) -> Vec<&'static str> {
    let prefix = format!("{key}=");
    unit.lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .collect()
}

fn has_systemd_analyze() -> bool {
    let found = Command::new("systemd-analyze").arg("--version").output().is_ok();
    if !found {
        skipped!("systemd-analyze is not installed (scripts/test.sh installs it)");
    }
    found
}

/// A unit with the program that was just built, because systemd looks whether it exists.
fn installed(folder: &Path, (name, unit): (&str, &str)) -> std::path::PathBuf {
    let path = folder.join(name);
    let program = env!("CARGO_BIN_EXE_dgt2mqtt");
    let unit = unit.replace("/usr/bin/dgt2mqtt ", &format!("{program} "));
    fs::write(&path, unit.replace("/usr/bin/rfcomm ", &format!("{program} "))).expect("a unit");
    path
}

#[test]
fn systemd_accepts_the_units() {
    if !has_systemd_analyze() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for unit in UNITS.into_iter().chain([RFCOMM]) {
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(installed(folder.path(), unit))
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        // What it says of other units of this machine is not about ours.
        let about_ours: Vec<_> = said.lines().filter(|line| line.contains("dgt2mqtt")).collect();
        assert!(about_ours.is_empty(), "{said}");
    }
}

#[test]
fn systemd_would_notice_a_mistake() {
    if !has_systemd_analyze() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = installed(folder.path(), UNITS[0]);
    let wrong = fs::read_to_string(&path)
        .expect("the unit")
        .replace("WatchdogSec=", "WatchdogSecs=");
    fs::write(&path, wrong).expect("a unit");
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&path)
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("WatchdogSecs"));
}

#[test]
fn the_units_are_hardened() {
    if !has_systemd_analyze() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for unit in UNITS {
        let output = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager"])
            .arg(format!("--threshold={THRESHOLD}"))
            .arg(installed(folder.path(), unit))
            .output()
            .expect("it runs");
        let table = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{table}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let overall = table.lines().find(|line| line.contains("Overall exposure level"));
        println!("{}: {}", unit.0, overall.expect("a sum"));
    }
}

/// The package's own user changes nothing of that.
#[test]
fn the_unit_of_the_package_is_as_hardened() {
    if !has_systemd_analyze() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let unit = installed(folder.path(), UNITS[0]);
    let drop_in = folder.path().join("dgt2mqtt.service.d");
    fs::create_dir(&drop_in).expect("a folder");
    fs::write(drop_in.join("user.conf"), USER).expect("a drop-in");
    let output = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager"])
        .arg(format!("--threshold={THRESHOLD}"))
        .arg(&unit)
        .env("SYSTEMD_UNIT_PATH", folder.path())
        .output()
        .expect("it runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{table}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let user = table.lines().find(|line| line.contains("User=/DynamicUser="));
    assert!(
        user.is_some_and(|line| line.contains("static non-root user")),
        "the drop-in is not read: {table}"
    );
}

/// What protects the daemon protects the page and the archive, too, but for what concerns serial ports.
#[test]
fn the_page_and_the_archive_are_hardened_as_the_daemon_is() {
    let begin = |unit: &'static str| {
        let lines = unit
            .lines()
            .skip_while(|line| !line.starts_with("CapabilityBoundingSet="));
        lines.take_while(|line| !line.is_empty())
    };
    for other in [PAGE, ARCHIVE] {
        let lines: Vec<_> = begin(other).collect();
        for line in begin(UNIT) {
            assert!(lines.contains(&line), "{line} is missing");
        }
        assert_eq!(values_of(other, "PrivateDevices"), ["yes"]);
        assert!(values_of(other, "DeviceAllow").is_empty());
        assert!(values_of(other, "SupplementaryGroups").is_empty());
        assert_eq!(
            values_of(other, "RestrictAddressFamilies"),
            values("RestrictAddressFamilies")
        );
    }
}

#[test]
fn serial_ports_and_brokers_stay_reachable() {
    let devices = values("DeviceAllow");
    for class in ["char-ttyUSB rw", "char-ttyACM rw", "char-rfcomm rw"] {
        assert!(devices.contains(&class), "{devices:?}");
    }
    assert_eq!(values("SupplementaryGroups"), ["dialout"]);
    for hidden in ["PrivateDevices", "PrivateNetwork", "PrivateUsers"] {
        assert!(
            values(hidden).is_empty(),
            "{hidden} would cut off the boards or the broker"
        );
    }
    let families: Vec<_> = values("RestrictAddressFamilies")
        .join(" ")
        .split(' ')
        .map(str::to_owned)
        .collect();
    for family in ["AF_INET", "AF_INET6", "AF_UNIX"] {
        assert!(families.iter().any(|f| f == family), "{families:?}");
    }
}

#[test]
fn the_unit_and_the_program_agree() {
    assert_eq!(values("Type"), ["notify"]);
    assert_eq!(values("RestartPreventExitStatus"), ["78"]);
    assert_eq!(values("StateDirectory"), ["dgt2mqtt"]);
    assert_eq!(values("WatchdogSec").len(), 1);
    let stop = values("TimeoutStopSec")[0]
        .trim_end_matches('s')
        .parse::<u64>()
        .expect("seconds");
    assert!(stop > 60, "a stop may take limits.shutdown_timeout_s, 60 at most");
    assert!(values("ExecStart")[0].contains(" run --config /etc/dgt2mqtt/dgt2mqtt.toml"));
    for other in [PAGE, ARCHIVE] {
        assert_eq!(values_of(other, "Type"), ["notify"]);
        assert_eq!(values_of(other, "RestartPreventExitStatus"), ["78"]);
        assert_eq!(values_of(other, "WatchdogSec").len(), 1);
    }
    assert!(values_of(ARCHIVE, "ExecStart")[0].contains(" archive --config /etc/dgt2mqtt/archive.toml"));
    for unit in [UNIT, PAGE] {
        assert_eq!(
            values_of(unit, "ExecReload").last(),
            Some(&"/bin/kill -HUP $MAINPID")
        );
    }
}
