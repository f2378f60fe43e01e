//! Nodes of a cluster of rmqttd, which speaks MQTT 5 and comes from the registry of crates. They tell each other everything
//! and vote about nothing (`rmqtt-cluster-broadcast`): with the other kind, a node that led and is back soon ends itself.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::broker::{PATIENCE, free_port};

/// One node; gone with the value.
pub struct Rmqttd {
    pub port: u16,
    pub folder: PathBuf,
    program: PathBuf,
    child: Option<Child>,
}

impl Rmqttd {
    /// Starts nodes in these folders, which make a cluster; none, with a message, where it is not installed.
    pub fn cluster(folders: &[PathBuf]) -> Option<Vec<Self>> {
        let Some(program) = installed() else {
            skipped!("rmqttd is not installed (cargo install rmqttd; or RMQTTD says where it is)");
            return None;
        };
        let peers: Vec<u16> = folders.iter().map(|_| free_port()).collect();
        let list: Vec<String> = peers
            .iter()
            .enumerate()
            .map(|(n, port)| format!("\"{}@127.0.0.1:{port}\"", n + 1))
            .collect();
        let list = list.join(", ");
        let mut nodes = Vec::new();
        for (n, folder) in folders.iter().enumerate() {
            let mut node = Self {
                port: free_port(),
                folder: folder.clone(),
                program: program.clone(),
                child: None,
            };
            node.configure(n + 1, peers[n], &list);
            node.resume();
            nodes.push(node);
        }
        Some(nodes)
    }

    /// Retained messages and sessions on disk, as long as they must be.
    fn configure(&self, id: usize, peer: u16, peers: &str) {
        let folder = self.folder.display();
        let plugins = self.folder.join("plugins");
        fs::create_dir_all(&plugins).unwrap();
        let port = self.port;
        let text = format!(
            "node.id = {id}\nnode.busy.check_enable = false\nrpc.server_addr = \"127.0.0.1:{peer}\"\nlog.to = \"console\"\nlog.level = \"warn\"\n\
             plugins.dir = \"{folder}/plugins\"\n\
             plugins.default_startups = [\"rmqtt-cluster-broadcast\", \"rmqtt-retainer\", \"rmqtt-session-storage\"]\n\
             plugins.disabled_default_startups = [\"rmqtt-http-api\", \"rmqtt-acl\", \"rmqtt-counter\"]\n\
             listener.tcp.external.addr = \"127.0.0.1:{port}\"\nlistener.tcp.external.allow_anonymous = true\n\
             listener.tcp.external.max_packet_size = \"16MB\"\nlistener.tcp.external.max_mqueue_len = 100000\n\
             listener.tcp.external.max_inflight = 100\nlistener.tcp.external.nodelay = true\n\
             listener.tcp.external.message_expiry_interval = \"0s\"\nlistener.tcp.external.max_session_expiry_interval = \"1h\"\n"
        );
        let cluster = format!("node_grpc_addrs = [{peers}]\n");
        let storage = |name: &str| {
            format!(
                "storage.type = \"sled\"\nstorage.sled.path = \"{folder}/{name}\"\nstorage.sled.cache_capacity = \"64MB\"\n"
            )
        };
        let retainer = storage("retained") + "max_payload_size = \"16MB\"\nretained_message_ttl = \"0s\"\n";
        for (path, text) in [
            (self.folder.join("rmqtt.toml"), text),
            (plugins.join("rmqtt-cluster-broadcast.toml"), cluster),
            (plugins.join("rmqtt-retainer.toml"), retainer),
            (plugins.join("rmqtt-session-storage.toml"), storage("sessions")),
        ] {
            fs::write(path, text).unwrap();
        }
    }

    /// Starts it (again) with what it kept.
    pub fn resume(&mut self) {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("rmqttd.out"))
            .unwrap();
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.folder)
            .args(["-f", "rmqtt.toml"])
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.child = Some(command.stdin(Stdio::null()).spawn().unwrap());
        self.wait();
    }

    /// Waits until it takes connections.
    fn wait(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                Instant::now() < deadline && self.lives(),
                "the node at {} does not listen: {}",
                self.port,
                fs::read_to_string(self.folder.join("rmqttd.out")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops it as a service manager does.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
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

impl Drop for Rmqttd {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the program is.
fn installed() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo/bin/rmqttd"));
    let named = std::env::var_os("RMQTTD").map(PathBuf::from);
    named.into_iter().chain(home).find(|program| program.exists())
}
