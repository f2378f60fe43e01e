//! The brokers of each set-up, and how gateways and readers come to them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::cut::Cut;
use crate::{broker::Mosquitto, disk::SmallDisk, ejabberd::Ejabberd, rmqttd::Rmqttd};

/// How gateways and readers hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// Two brokers that know nothing of each other. Each gateway has both in `urls`, and readers read both.
    TwoBrokers,
    /// A broker beside each gateway, with a bridge to a central one, which readers read.
    Bridges,
    /// Three nodes of a cluster. Each gateway has all three in `urls`, and readers read all.
    Cluster(Engine),
}

/// Of what a cluster is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Ejabberd,
    Rmqttd,
}

/// A broker that many use.
pub enum Broker {
    Mosquitto(Mosquitto),
    Ejabberd(Ejabberd),
    Rmqttd(Rmqttd),
}

impl Broker {
    pub fn port(&self) -> u16 {
        match self {
            Self::Mosquitto(broker) => broker.port,
            Self::Ejabberd(node) => node.port,
            Self::Rmqttd(node) => node.port,
        }
    }

    pub fn process(&self) -> u32 {
        match self {
            Self::Mosquitto(broker) => broker.process(),
            Self::Ejabberd(node) => node.process(),
            Self::Rmqttd(node) => node.process(),
        }
    }

    pub fn stop(&mut self) {
        match self {
            Self::Mosquitto(broker) => broker.stop(),
            Self::Ejabberd(node) => node.stop(),
            Self::Rmqttd(node) => node.stop(),
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        signal(self.process(), "KILL");
        match self {
            Self::Mosquitto(broker) => broker.stop(),
            // It is gone, and asking it to stop would take long.
            Self::Ejabberd(node) => while node.lives() {},
            Self::Rmqttd(node) => {
                while node.lives() {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        }
    }

    pub fn resume(&mut self) {
        match self {
            Self::Mosquitto(broker) => broker.resume(),
            Self::Ejabberd(node) => node.resume(),
            Self::Rmqttd(node) => node.resume(),
        }
    }

    /// Whether it runs.
    pub fn lives(&mut self) -> bool {
        match self {
            Self::Mosquitto(_) => true,
            Self::Ejabberd(node) => node.lives(),
            Self::Rmqttd(node) => node.lives(),
        }
    }

    /// Has it write down what it holds, where it can be told to.
    pub fn save(&self) {
        if let Self::Mosquitto(broker) = self {
            signal(broker.process(), "USR1");
        }
    }
}

/// Sends a process the signal of this name.
pub fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args(["-s", name, &process.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// All brokers of a hall, with the lines that lead to them.
pub struct Brokers {
    pub setup: Setup,
    /// Those that readers read.
    pub central: Vec<Broker>,
    /// The disk of the first of them, where one can be made.
    pub disk: Option<SmallDisk>,
    /// One beside each gateway, where the set-up has them.
    pub own: Vec<Mosquitto>,
    /// By gateway, in the order in which it tries them.
    pub lines: Vec<Vec<Cut>>,
}

impl Brokers {
    /// None, with a message, where the brokers are not installed.
    pub async fn start(setup: Setup, folder: &Path, gateways: usize) -> Option<Self> {
        let count = match setup {
            Setup::TwoBrokers => 2,
            Setup::Bridges => 1,
            Setup::Cluster(_) => 3,
        };
        let folders: Vec<PathBuf> = (0..count).map(|n| folder.join(format!("broker-{n}"))).collect();
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
        }
        let disk = SmallDisk::sized(&folders[0], "96m");
        let central: Vec<Broker> = match setup {
            Setup::Cluster(Engine::Ejabberd) => Ejabberd::cluster(&folders)?
                .into_iter()
                .map(Broker::Ejabberd)
                .collect(),
            Setup::Cluster(Engine::Rmqttd) => Rmqttd::cluster(&folders)?
                .into_iter()
                .map(Broker::Rmqttd)
                .collect(),
            Setup::TwoBrokers | Setup::Bridges => folders
                .iter()
                .map(|folder| Broker::Mosquitto(Mosquitto::start(folder, "set_tcp_nodelay true\n")))
                .collect(),
        };
        let mut lines = Vec::new();
        for gateway in 0..gateways {
            let mut own = Vec::new();
            // The load is spread: each gateway begins with another one.
            for turn in 0..count {
                own.push(Cut::before(central[(gateway + turn) % count].port()).await);
            }
            lines.push(own);
        }
        let mut brokers = Self {
            setup,
            central,
            disk,
            own: Vec::new(),
            lines,
        };
        if setup == Setup::Bridges {
            brokers.bridge(folder);
        }
        Some(brokers)
    }

    fn bridge(&mut self, folder: &Path) {
        for (gateway, lines) in self.lines.iter().enumerate() {
            let folder = folder.join(format!("own-{gateway}"));
            fs::create_dir_all(&folder).unwrap();
            self.own
                .push(Mosquitto::start(&folder, &bridge(gateway, lines[0].port)));
        }
    }

    /// The table `[broker]` of a gateway.
    pub fn table(&self, gateway: usize) -> String {
        let ports: Vec<u16> = match self.setup {
            Setup::Bridges => vec![self.own[gateway].port],
            Setup::TwoBrokers | Setup::Cluster(_) => {
                self.lines[gateway].iter().map(|line| line.port).collect()
            }
        };
        let urls: Vec<String> = ports
            .iter()
            .map(|port| format!("\"mqtt://127.0.0.1:{port}\""))
            .collect();
        format!(
            "[broker]\nurls = [{}]\nkeep_alive = 5\n{}",
            urls.join(", "),
            self.login()
        )
    }

    /// What readers and gateways log in with.
    pub fn login(&self) -> &'static str {
        match self.setup {
            Setup::Cluster(Engine::Ejabberd) => {
                "username = \"reader@localhost\"\npassword_file = \"password\"\n"
            }
            Setup::Cluster(Engine::Rmqttd) | Setup::TwoBrokers | Setup::Bridges => "",
        }
    }

    /// The brokers that page and archive each read. The nodes of a cluster tell the same: of them one is enough.
    pub fn read_apart(&self) -> Vec<u16> {
        match self.setup {
            Setup::Cluster(_) => Vec::new(),
            Setup::TwoBrokers | Setup::Bridges => self.ports(),
        }
    }

    /// All of them, as the list `urls` has them.
    pub fn urls(&self) -> String {
        let urls: Vec<String> = self
            .ports()
            .iter()
            .map(|port| format!("\"mqtt://127.0.0.1:{port}\""))
            .collect();
        urls.join(", ")
    }

    /// The brokers that readers read.
    pub fn ports(&self) -> Vec<u16> {
        self.central.iter().map(Broker::port).collect()
    }
}

/// A bridge of a gateway's own broker to the central one: what the gateway tells out, commands in.
fn bridge(gateway: usize, central: u16) -> String {
    let name = format!("row-{gateway}");
    let mut text = format!(
        "connection {name}\naddress 127.0.0.1:{central}\nremote_clientid bridge-{name}\nbridge_protocol_version mqttv50\n\
         cleansession false\nnotifications false\nkeepalive_interval 5\nrestart_timeout 1 5\nmax_inflight_messages 100\n"
    );
    for topic in [
        "status",
        "info",
        "health",
        "reply/#",
        "board/+/+",
        "board/+/event/#",
        "board/+/reply/#",
    ] {
        text += &format!("topic dgt2mqtt/{name}/{topic} out 1\n");
    }
    for topic in ["cmd/#", "board/+/cmd/#"] {
        text += &format!("topic dgt2mqtt/{name}/{topic} in 1\n");
    }
    text
}
