//! A PostgreSQL of the test's own, on a free port.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::broker::free_port;

/// Where Debian puts the servers, by version.
const SERVERS: &str = "/usr/lib/postgresql";
/// Who runs the server where the test is root, which the server refuses to be.
const USER: &str = "postgres";

/// A server with an empty database; gone with the value.
pub struct Postgres {
    pub port: u16,
    own: Own,
}

struct Own {
    programs: PathBuf,
    folder: TempDir,
}

impl Postgres {
    /// Starts one; none, with a message, where it is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            skipped!("PostgreSQL is not installed (apt-get install postgresql)");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("postgres").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let own = Own { programs, folder };
        if is_root() {
            let chown = Command::new("chown").arg(USER).arg(own.folder.path()).status();
            assert!(chown.unwrap().success(), "there is no user {USER}");
        }
        let port = free_port();
        own.run(
            "initdb",
            &[
                "--no-sync",
                "--auth=trust",
                "--username=archive",
                "--encoding=UTF8",
                "-D",
                &own.data(),
            ],
        );
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\nfsync = off\n",
            own.folder.path().display()
        );
        own.write("more.conf", &settings);
        let server = Self { port, own };
        server.configure("include '../more.conf'\n");
        server.resume();
        Some(server)
    }

    /// Adds lines to its configuration.
    pub fn configure(&self, lines: &str) {
        use std::io::Write;
        let path = self.own.folder.path().join("data/postgresql.conf");
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    }

    /// Writes a file beside its data that the server can read, and nobody else. Returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        self.own.write(name, text)
    }

    /// Starts it (again) with what it kept.
    pub fn resume(&self) {
        let log = self.own.folder.path().join("log").display().to_string();
        self.own.run(
            "pg_ctl",
            &[
                "start",
                "--wait",
                "--silent",
                "-t",
                "90",
                "-l",
                &log,
                "-D",
                &self.own.data(),
            ],
        );
    }

    /// Ends it as a loss of power would.
    pub fn stop(&self) {
        self.own.run(
            "pg_ctl",
            &["stop", "--mode=immediate", "--silent", "-D", &self.own.data()],
        );
    }

    /// The id of its first process.
    pub fn process(&self) -> u32 {
        let written = fs::read_to_string(self.own.folder.path().join("data/postmaster.pid")).unwrap();
        written.lines().next().unwrap().parse().unwrap()
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("postgres://archive@127.0.0.1:{}/postgres", self.port)
    }

    /// What a query gives, a list of texts for each row; none where the server does not answer or refuses it.
    pub fn ask(&self, query: &str) -> Option<Vec<Vec<String>>> {
        let output = Command::new(self.own.programs.join("psql"))
            .args([
                "--no-psqlrc",
                "--tuples-only",
                "--no-align",
                "--field-separator=\t",
                "--set=ON_ERROR_STOP=1",
            ])
            .args(["-c", query, &self.url()])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let rows = text
            .lines()
            .map(|line| line.split('\t').map(str::to_owned).collect());
        output.status.success().then(|| rows.collect())
    }

    /// The rows of a query that must not fail.
    pub fn rows(&self, query: &str) -> Vec<Vec<String>> {
        self.ask(query).unwrap_or_else(|| panic!("it refuses: {query}"))
    }

    /// The events of a board that it has, by their numbers; none while it does not answer.
    pub fn events(&self, gateway: &str, board: &str) -> Option<Vec<Value>> {
        let query = format!(
            "select payload from dgt2mqtt.event where gateway = '{gateway}' and board = '{board}' order by seq"
        );
        let rows = self.ask(&query)?;
        Some(
            rows.iter()
                .map(|row| serde_json::from_str(&row.join("\t")).unwrap())
                .collect(),
        )
    }
}

impl Own {
    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if is_root() {
            assert!(
                Command::new("chown")
                    .arg(USER)
                    .arg(&path)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        path.display().to_string()
    }

    /// Runs one of its programs, as a user that it takes.
    fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", USER, "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(arguments).current_dir(self.folder.path());
        // The server keeps what it inherits open.
        let said = self.folder.path().join("said");
        let file = fs::File::create(&said).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().unwrap();
        assert!(
            status.success(),
            "{command:?}: {} {}",
            fs::read_to_string(&said).unwrap(),
            fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
        );
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if Path::new(&self.data()).join("postmaster.pid").exists() {
            self.run(
                "pg_ctl",
                &["stop", "--mode=immediate", "--silent", "-D", &self.data()],
            );
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The programs of the newest server that is installed.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(SERVERS).ok()?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("bin/initdb").exists() && path.join("bin/psql").exists())
        .max_by_key(number)?;
    Some(newest.join("bin"))
}
