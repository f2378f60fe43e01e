//! What a package consists of, laid out by `scripts/package.sh` with the program of these tests: nothing is missing, and
//! what its parts say of each other is true. `scripts/test-packages.sh` installs whole packages.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PROGRAM: &str = env!("CARGO_BIN_EXE_dgt2mqtt");

/// The package as a folder; none, with a message, where Debian's tools are missing.
fn tree() -> Option<tempfile::TempDir> {
    for tool in ["dpkg-deb", "readelf"] {
        if Command::new(tool).arg("--version").output().is_err() {
            skipped!("{tool} is not installed");
            return None;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut script = Command::new(Path::new(ROOT).join("scripts/package.sh"));
    // The script calls cargo. Where cargo tells it of a package, as it tells tests, build scripts of dependencies run
    // anew, and most of the program is built again: now, and by the next cargo that is not told.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            script.env_remove(&name);
        }
    }
    let output = script
        .args(["--binary", PROGRAM, "--tree"])
        .arg(folder.path())
        .arg("amd64")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(folder)
}

fn text(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is in a file that gzip wrote.
fn unpacked(path: &Path) -> String {
    let output = Command::new("gzip").args(["-dc"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", path.display());
    String::from_utf8(output.stdout).unwrap()
}

/// What the packaged program is built without.
const LEFT_OUT: &str = "demo";

/// The commands that the program lists, but for what packages leave out.
fn commands() -> Vec<String> {
    let output = Command::new(PROGRAM).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !["", "help", LEFT_OUT].contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_package_is_whole() {
    let Some(folder) = tree() else { return };
    let tree = folder.path();
    control_is_filled_in(tree);
    everything_in_etc_is_kept(tree);
    scripts_can_be_run(tree);
    units_name_what_is_there(tree);
    every_command_is_described(tree);
    links_between_pages_lead_somewhere(tree);
    others_are_named(tree);
}

fn control_is_filled_in(tree: &Path) {
    let control = text(tree.join("DEBIAN/control"));
    assert!(
        !control.contains('@') || control.matches('@').count() == 1,
        "{control}"
    ); // that of the address
    assert!(
        control.contains(&format!(
            "Version: {}\n",
            env!("CARGO_PKG_VERSION").replacen('-', "~", 1)
        )),
        "{control}"
    );
    assert!(control.contains("Depends: libc6 (>= 2."), "{control}");
}

/// What a user may change is a conffile, so that an update asks before it touches it; the file that `init` writes is none.
fn everything_in_etc_is_kept(tree: &Path) {
    let listed = text(tree.join("DEBIAN/conffiles"));
    assert_eq!(listed, "/etc/dgt2mqtt/dgt2mqtt.example.toml\n");
    let entries = fs::read_dir(tree.join("etc/dgt2mqtt")).unwrap();
    assert_eq!(entries.count(), 1);
}

fn scripts_can_be_run(tree: &Path) {
    for name in ["postinst", "prerm", "postrm"] {
        let path = tree.join("DEBIAN").join(name);
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o777,
            0o755,
            "{name}"
        );
        let status = Command::new("sh").arg("-n").arg(&path).status().unwrap();
        assert!(status.success(), "{name}");
    }
}

/// The program and the pages that the units name are in the package, and the user of the drop-in is made by it.
fn units_name_what_is_there(tree: &Path) {
    let units = tree.join("usr/lib/systemd/system");
    let names = [
        "dgt2mqtt.service",
        "dgt2mqtt-dashboard.service",
        "dgt2mqtt-archive.service",
    ];
    for name in names {
        let unit = text(units.join(name));
        let value = |key: &str| {
            unit.lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap()
                .to_owned()
        };
        let program = value("ExecStart=/");
        let program = tree.join(program.split(' ').next().unwrap());
        assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        let page = value("Documentation=file:///");
        assert!(tree.join(&page).is_file(), "{name}: no {page}");
    }
    let user = text(units.join("dgt2mqtt.service.d/user.conf"));
    assert!(user.contains("\nDynamicUser=no\nUser=dgt2mqtt\n"), "{user}");
    let postinst = text(tree.join("DEBIAN/postinst"));
    for line in ["adduser --system --group", "adduser --quiet dgt2mqtt dialout"] {
        assert!(postinst.contains(line), "postinst lacks {line}");
    }
}

fn every_command_is_described(tree: &Path) {
    let commands = commands();
    assert!(
        commands.contains(&"init".to_owned()) && commands.len() > 10,
        "{commands:?}"
    );
    let completions = [
        "usr/share/bash-completion/completions/dgt2mqtt",
        "usr/share/zsh/vendor-completions/_dgt2mqtt",
        "usr/share/fish/vendor_completions.d/dgt2mqtt.fish",
    ];
    let completions = completions.map(|name| text(tree.join(name)));
    let pages = tree.join("usr/share/man/man1");
    assert!(!pages.join(format!("dgt2mqtt-{LEFT_OUT}.1.gz")).exists());
    let script = text(Path::new(ROOT).join("scripts/package.sh"));
    assert!(
        script.contains("cargo build --locked --profile dist --no-default-features --features daemon --bin")
    );
    assert!(unpacked(&pages.join("dgt2mqtt.1.gz")).contains(".TH dgt2mqtt"));
    for command in commands {
        let page = unpacked(&pages.join(format!("dgt2mqtt-{command}.1.gz")));
        assert!(page.contains(".SH SYNOPSIS"), "{command}: {page}");
        for completion in &completions {
            assert!(completion.contains(&command), "{command} is not completed");
        }
    }
}

/// All pages lie side by side in a package, so their links are others than in the sources.
fn links_between_pages_lead_somewhere(tree: &Path) {
    let folder = tree.join("usr/share/doc/dgt2mqtt");
    let pages = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> = pages
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    assert!(pages.len() > 10);
    for page in pages {
        for rest in text(&page).split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(folder.join(target).exists(), "{}: no {target}", page.display());
        }
    }
}

/// Libraries of others are in the program: their licences want to be told.
fn others_are_named(tree: &Path) {
    let named = unpacked(&tree.join("usr/share/doc/dgt2mqtt/third-party.gz"));
    for part in [
        "serialport ",
        "MPL-2.0",
        "rusqlite ",
        "---- ",
        "Permission is hereby granted",
    ] {
        assert!(named.contains(part), "{part} is missing");
    }
    for tool in ["proptest ", "assert_cmd "] {
        assert!(!named.contains(tool), "{tool}is for tests only");
    }
}
