//! Nodes of a cluster of ejabberd, which speaks MQTT 5 and comes with the distribution.
#![allow(dead_code)] // shared by several test programs.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::broker::{PATIENCE, free_port};

/// Where the distribution puts the program.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
/// Whose words nodes of one cluster believe.
const COOKIE: &str = "dgt2mqtt-tests";
/// So often a node is started until it listens.
const STARTS: usize = 2;
/// So often a node is asked to join.
const QUESTIONS: usize = 10;

/// One node; gone with the value.
pub struct Ejabberd {
    pub port: u16,
    pub folder: PathBuf,
    /// Its name among the nodes of this machine.
    name: String,
    child: Option<Child>,
}

impl Ejabberd {
    /// Starts nodes in these folders and makes a cluster of them; none, with a message, where it is not installed.
    pub fn cluster(folders: &[PathBuf]) -> Option<Vec<Self>> {
        let is_there = Path::new(LIBRARIES).join("ejabberd-23.01").exists();
        if !is_there || Command::new("erl").arg("-version").output().is_err() {
            skipped!("ejabberd 23.01 is not installed (apt-get install ejabberd)");
            return None;
        }
        let nodes: Vec<_> = folders.iter().map(|folder| Self::start(folder)).collect();
        for node in &nodes[1..] {
            let join = format!("ejabberd_cluster, join, ['{}']", nodes[0].name);
            let mut joined = node.ask(&join);
            // On a busy machine a node that listens may not be spoken to yet.
            for _ in 1..QUESTIONS {
                if joined.contains("nodedown") {
                    std::thread::sleep(Duration::from_secs(1));
                    joined = node.ask(&join);
                }
            }
            assert_eq!(joined, "ok", "{} does not join", node.name);
            assert!(node.listens_within(PATIENCE), "{}", node.said());
        }
        Some(nodes)
    }

    fn start(folder: &Path) -> Self {
        let port = free_port();
        fs::create_dir_all(folder.join("db")).unwrap();
        // Any user with any password; a queue for each session as long as it must be; a cache for the retained messages of a
        // thousand boards, as for want of it a newcomer reads them from disk.
        let text = format!(
            "hosts: [localhost]\nloglevel: warning\nauth_method: [anonymous]\nanonymous_protocol: login_anon\nallow_multiple_connections: true\n\
             listen:\n  -\n    port: {port}\n    ip: \"127.0.0.1\"\n    module: mod_mqtt\n    backlog: 1000\n    max_payload_size: 16777216\n\
             modules:\n  mod_mqtt:\n    db_type: mnesia\n    ram_db_type: mnesia\n    max_queue: infinity\n    session_expiry: 60 minutes\n    match_retained_limit: infinity\n    cache_size: 100000\n"
        );
        fs::write(folder.join("ejabberd.yml"), text).unwrap();
        let mut node = Self {
            port,
            folder: folder.to_owned(),
            name: format!("mqtt{port}@localhost"),
            child: None,
        };
        node.resume();
        node
    }

    /// Starts it (again) with what it kept.
    pub fn resume(&mut self) {
        for _ in 0..STARTS {
            self.launch();
            if self.listens_within(PATIENCE) {
                return;
            }
            // On a busy machine it may come before the others have seen that it was gone. Then it waits for their tables for good.
            println!("{} does not listen, and is started again", self.name);
            self.kill();
        }
        panic!("{} does not listen: {}", self.name, self.said());
    }

    fn launch(&mut self) {
        let log = fs::File::create(self.folder.join("ejabberd.out")).unwrap();
        let mut command = Command::new("erl");
        // Where it leaves what it says when it dies.
        command
            .current_dir(&self.folder)
            .args(["+K", "true", "-noinput", "-sname", &self.name])
            .args([
                "-setcookie",
                COOKIE,
                "-kernel",
                "inet_dist_use_interface",
                "{127,0,0,1}",
            ])
            .arg("-mnesia")
            .arg("dir")
            .arg(format!("\"{}\"", self.folder.join("db").display()))
            .args(["-s", "ejabberd"])
            .env("HOME", &self.folder)
            .env("ERL_LIBS", LIBRARIES)
            .env("EJABBERD_CONFIG_PATH", self.folder.join("ejabberd.yml"))
            .env("EJABBERD_LOG_PATH", self.folder.join("ejabberd.log"))
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.child = Some(command.stdin(Stdio::null()).spawn().unwrap());
    }

    /// Whether it takes connections by then.
    fn listens_within(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }

    /// What it has said.
    fn said(&self) -> String {
        ["ejabberd.out", "ejabberd.log"]
            .map(|name| fs::read_to_string(self.folder.join(name)).unwrap_or_default())
            .join("\n")
    }

    /// Calls a function of the node, and what it gives.
    pub fn ask(&self, call: &str) -> String {
        let name = format!("ask{}@localhost", free_port());
        let word = format!("io:format(\"~p\", [rpc:call('{}', {call})]), halt().", self.name);
        let output = Command::new("erl")
            .args([
                "-sname",
                &name,
                "-hidden",
                "-setcookie",
                COOKIE,
                "-noshell",
                "-eval",
                &word,
            ])
            .env("HOME", &self.folder)
            .current_dir(&self.folder)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Stops it as a service manager does.
    pub fn stop(&mut self) {
        self.ask("init, stop, []");
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }

    /// Kills it.
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Whether it still runs.
    pub fn lives(&mut self) -> bool {
        self.child
            .as_mut()
            .is_some_and(|child| child.try_wait().unwrap().is_none())
    }
}

impl Drop for Ejabberd {
    fn drop(&mut self) {
        self.kill();
    }
}
