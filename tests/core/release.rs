//! What has the version of a release, and what says what it is made with, agree.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");
const ADD_ON: &str = "packaging/home-assistant/dgt2mqtt/config.yaml";

/// A copy of what `release.sh prepare` changes.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "Cargo.toml",
        "Cargo.lock",
        "CHANGELOG.md",
        "scripts/release.sh",
        ADD_ON,
    ] {
        let to = folder.path().join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(Path::new(ROOT).join(name), to).unwrap();
    }
    folder
}

fn prepare(folder: &Path, version: &str) -> Output {
    // A script that was just written may still be open in a child of another test, and cannot be run by itself then.
    let script = folder.join("scripts/release.sh");
    let mut bash = Command::new("bash");
    bash.arg(script).args(["prepare", version]).output().unwrap()
}

#[test]
fn a_release_writes_its_version_everywhere() {
    let folder = copy();
    let output = prepare(folder.path(), "987.6.5-rc.1");
    assert!(output.status.success(), "{output:?}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let was = |name: &str| fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
    // One line each, and nothing else.
    for (name, old, new) in [
        (
            "Cargo.toml",
            format!("\nversion = \"{VERSION}\"\nedition"),
            "\nversion = \"987.6.5-rc.1\"\nedition",
        ),
        (
            "Cargo.lock",
            format!("name = \"dgt2mqtt\"\nversion = \"{VERSION}\""),
            "name = \"dgt2mqtt\"\nversion = \"987.6.5-rc.1\"",
        ),
        (
            ADD_ON,
            format!("\nversion: {VERSION}\n"),
            "\nversion: 987.6.5-rc.1\n",
        ),
    ] {
        assert!(was(name).contains(&old), "{name}");
        assert_eq!(read(name), was(name).replacen(&old, new, 1), "{name}");
    }
    let changes = read("CHANGELOG.md");
    assert!(
        changes.contains("## [Unreleased]\n\n## [987.6.5-rc.1] - 20"),
        "{changes}"
    );

    // The release comes after its candidate, and nothing comes after it that is older.
    assert!(prepare(folder.path(), "987.6.5").status.success());
    for refused in ["987.6.5", "987.6.5-rc.2", "0.0.1", "988", "v988.0.0"] {
        assert!(!prepare(folder.path(), refused).status.success(), "{refused}");
    }
    assert!(read("Cargo.toml").contains("version = \"987.6.5\""));
}

#[test]
fn the_forge_tests_the_oldest_rust_that_is_promised() {
    let workflow = fs::read_to_string(Path::new(ROOT).join(".github/workflows/checks.yml")).unwrap();
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    assert!(
        workflow.contains(&format!("rust: [\"{oldest}\", \"stable\"]")),
        "{oldest}"
    );
    assert!(workflow.contains("run: ./scripts/test.sh"));
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    assert!(readme.contains(&format!("({oldest} or later)")), "{oldest}");
}

#[test]
fn whoever_reports_a_mistake_is_asked_for_a_capture() {
    let form = fs::read_to_string(Path::new(ROOT).join(".github/ISSUE_TEMPLATE/wrong.yml")).unwrap();
    let fields: Vec<&str> = form.split("\n  - type: ").collect();
    let capture = fields
        .iter()
        .find(|field| field.contains("id: capture\n"))
        .unwrap();
    assert!(capture.contains("required: true"), "{capture}");
    // How one is made that names nobody, and what helps where there is none: with options that there are.
    for command in form
        .split('`')
        .filter_map(|words| words.strip_prefix("dgt2mqtt "))
    {
        let mut words = command.split(' ');
        let help = Command::new(env!("CARGO_BIN_EXE_dgt2mqtt"))
            .args([words.next().unwrap(), "--help"])
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for option in words.filter(|word| word.starts_with('-')) {
            assert!(help.contains(option), "{command}: {option} in {help}");
        }
    }
    for command in ["record --anonymous ", "diagnose "] {
        assert!(form.contains(&format!("`dgt2mqtt {command}")), "{command}");
    }
}

/// The bill has what is linked, with licence and checksum, and nothing that only tests and macros use.
#[test]
fn the_bill_of_materials_has_what_is_in_the_program() {
    let tried = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        skipped!("no Python of 3.11 or later");
        return;
    }
    let output = Command::new("python3")
        .arg(Path::new(ROOT).join("scripts/sbom.py"))
        .arg("x86_64-unknown-linux-gnu")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let bill: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(bill["metadata"]["component"]["version"], VERSION);
    let components = bill["components"].as_array().unwrap();
    let names: Vec<_> = components
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    for linked in [
        "rusqlite",
        "libsqlite3-sys",
        "ring",
        "serialport",
        "tokio",
        "rumqttc",
    ] {
        assert!(names.contains(&linked), "{linked} is missing");
    }
    // Of tests, of macros, of builds, of other systems, of `demo`, and what only features of the tests bring.
    for other in [
        "assert_cmd",
        "proptest",
        "serde_derive",
        "cc",
        "windows-sys",
        "mqtt5",
        "indexmap",
    ] {
        assert!(!names.contains(&other), "{other} is not in the program");
    }
    for part in components {
        assert!(
            part["licenses"][0]["expression"].is_string() && part["hashes"][0]["content"].is_string(),
            "{part}"
        );
    }
}
