//! `scripts/advisories.sh` says what it found, and never passes off as checked what was not.
//!
//! A stand-in for `cargo deny` reads a database that is made up. It has the form of the real one: a file for each advisory
//! below `advisory-dbs/DATABASE/crates/PACKAGE`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Finds an advisory where `Cargo.lock` has the package that it is against. There is no network.
const DENY: &str = r#"#!/bin/sh
case "$*" in
    "deny --version") exit 0 ;;
    "deny --locked fetch db") exit 1 ;;
    "deny --locked --offline check advisories") ;;
    *) echo "unexpected: $*" >&2; exit 2 ;;
esac
for advisory in "$CARGO_HOME"/advisory-dbs/*/crates/*/RUSTSEC-*.md; do
    package=$(basename "$(dirname "$advisory")")
    grep -q "^name = \"$package\"\$" Cargo.lock && { echo "$package: $(basename "$advisory" .md)" >&2; exit 1; }
done
exit 0
"#;
/// `cargo` where no `cargo-deny` is installed.
const NO_DENY: &str = "#!/bin/sh\necho \"error: no such command: $1\" >&2\nexit 101\n";

struct Machine(tempfile::TempDir);

impl Machine {
    fn new(cargo: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("cargo");
        fs::write(&program, cargo).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    /// A database with an advisory against a package.
    fn against(self, package: &str) -> Self {
        let folder = self.home().join("advisory-dbs/made-up/crates").join(package);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("RUSTSEC-2099-0001.md"), "# It is made up\n").unwrap();
        self
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("cargo")
    }

    /// How the script ends, and what it says.
    fn check(&self) -> (Option<i32>, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/advisories.sh");
        let path = std::env::var("PATH").unwrap();
        let done = Command::new(script)
            .env("PATH", format!("{}:{path}", self.0.path().join("bin").display()))
            .env("CARGO_HOME", self.home())
            .output()
            .unwrap();
        (
            done.status.code(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    }
}

#[test]
fn without_cargo_deny_or_a_database_it_says_unchecked() {
    for (cargo, why) in [(NO_DENY, "cargo-deny is missing"), (DENY, "no database at hand")] {
        let (code, said) = Machine::new(cargo).check();
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("unchecked") && said.contains(why), "{said}");
    }
}

#[test]
fn an_advisory_against_a_package_that_we_use_fails_it() {
    let (code, said) = Machine::new(DENY).against("rumqttc").check();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("RUSTSEC-2099-0001") && !said.contains("unchecked"),
        "{said}"
    );
    let (code, said) = Machine::new(DENY).against("nobody-uses-this").check();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("none can be fetched now") && !said.contains("unchecked"),
        "an old database is not passed off as a new one: {said}"
    );
}

#[test]
fn the_checks_of_the_project_run_it_and_fail_with_it() {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/test.sh");
    let checks = fs::read_to_string(checks).unwrap();
    assert!(checks.contains("scripts/advisories.sh || [ $? -eq 3 ]"));
    assert!(checks.contains("set -e"));
}
