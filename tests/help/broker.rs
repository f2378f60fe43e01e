//! A real broker, a subscriber and a publisher for tests; everything on loopback and free ports.
#![allow(dead_code)] // shared by several test programs.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use dgt2mqtt::config::BrokerUrl;
use rumqttc::v5::{
    AsyncClient, Event as MqttEvent, MqttOptions,
    mqttbytes::{
        QoS,
        v5::{Filter, Packet, Publish, PublishProperties},
    },
};
use tokio::task::JoinHandle;

/// Where distributions put the broker.
const MOSQUITTO: [&str; 2] = ["/usr/sbin/mosquitto", "mosquitto"];

/// How long whatever must happen may take: a busy machine is no fault, and nobody waits longer than it takes.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A port of the caller's own: below those that the system gives to outgoing connections, which might take it before it
/// is used and whenever its server is away. Another one at each call, others in each process.
pub fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    loop {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let place = std::process::id().wrapping_mul(199).wrapping_add(call) % 20_000;
        let port = 10_000 + place as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// mosquitto with a folder of its own; gone with the value.
pub struct Mosquitto {
    pub port: u16,
    pub folder: PathBuf,
    child: Option<Child>,
}

impl Mosquitto {
    /// Starts one; `listener` is added to its configuration.
    pub fn start(folder: &Path, listener: &str) -> Self {
        Self::start_with(folder, "allow_anonymous true", listener)
    }

    pub fn start_with(folder: &Path, access: &str, listener: &str) -> Self {
        Self::start_keeping(folder, access, listener, 0)
    }

    /// The same with the most messages that it keeps for a slow client, as distributions have it.
    pub fn start_as_installed(folder: &Path) -> Self {
        Self::start_keeping(folder, "allow_anonymous true", "", 1_000)
    }

    /// One that refuses what it does not allow, and does not hang up on it.
    pub fn start_refusing(folder: &Path, access: &str) -> Self {
        Self::start_keeping(folder, access, "", 1_000)
    }

    fn start_keeping(folder: &Path, access: &str, listener: &str, most: usize) -> Self {
        let port = free_port();
        let text = format!(
            "user root\nper_listener_settings false\nlistener {port} 127.0.0.1\n{listener}\n{access}\npersistence true\npersistence_location {}/\nmax_queued_messages {most}\n",
            folder.display()
        );
        fs::write(folder.join("mosquitto.conf"), text).unwrap();
        let mut broker = Self {
            port,
            folder: folder.to_owned(),
            child: None,
        };
        broker.resume();
        broker
    }

    /// Starts it (again) on the same port with what it kept.
    pub fn resume(&mut self) {
        let config = self.folder.join("mosquitto.conf");
        let log = fs::File::create(self.folder.join("mosquitto.log")).unwrap();
        let spawn = |program: &&str| {
            let log = log.try_clone().unwrap();
            Command::new(program)
                .arg("-c")
                .arg(&config)
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .ok()
        };
        let child = MOSQUITTO.iter().find_map(spawn);
        let child = child.expect("these tests need mosquitto: apt-get install mosquitto");
        let child = self.child.insert(child);
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                Instant::now() < deadline && child.try_wait().unwrap().is_none(),
                "mosquitto does not listen on port {}: {}",
                self.port,
                fs::read_to_string(self.folder.join("mosquitto.log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it as a service manager does; it writes down what it holds.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let pid = child.id();
            let mut runs = || child.try_wait().is_ok_and(|ended| ended.is_none());
            // A broker that has just started may overlook the first signal.
            while runs() {
                let _ = Command::new("kill").arg(pid.to_string()).status();
                let until = Instant::now() + Duration::from_secs(2);
                while runs() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    /// What it has saved of all that it holds, at this moment.
    pub fn saved(&self) -> Vec<u8> {
        let file = self.folder.join("mosquitto.db");
        let _ = fs::remove_file(&file);
        let asked = Command::new("kill")
            .args(["-USR1", &self.process().to_string()])
            .status();
        assert!(asked.unwrap().success());
        let deadline = Instant::now() + PATIENCE;
        loop {
            // It writes another file and renames that.
            if let Ok(saved) = fs::read(&file) {
                return saved;
            }
            assert!(Instant::now() < deadline, "mosquitto saves nothing");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it, and starts it anew with what it saved at some time, or with nothing.
    pub fn crash(&mut self, saved: Option<&[u8]>) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let file = self.folder.join("mosquitto.db");
        match saved {
            Some(saved) => fs::write(&file, saved).unwrap(),
            None => drop(fs::remove_file(&file)),
        }
        self.resume();
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub fn url(&self) -> BrokerUrl {
        format!("mqtt://127.0.0.1:{}", self.port).parse().unwrap()
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A message as the subscriber got it.
#[derive(Clone, Debug)]
pub struct Got {
    pub topic: String,
    pub payload: Vec<u8>,
    /// It was the broker's last value when we subscribed; for a [`Subscriber::of_flags`], it was
    /// published with the retain flag.
    pub retain: bool,
    /// 0 or 1, as it was published.
    pub qos: u8,
    /// Seconds until the broker forgets it.
    pub expiry: Option<u32>,
    pub correlation: Option<Vec<u8>>,
    pub at: Instant,
    /// The payload, once somebody has read it: tests look at all messages again and again.
    json: Arc<OnceLock<serde_json::Value>>,
}

impl Got {
    pub fn json(&self) -> serde_json::Value {
        let read = || serde_json::from_slice(&self.payload).unwrap();
        self.json.get_or_init(read).clone()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.payload.clone()).unwrap()
    }
}

fn got_of(publish: Publish) -> Got {
    let properties = publish.properties.unwrap_or_default();
    Got {
        topic: String::from_utf8(publish.topic.to_vec()).unwrap(),
        payload: publish.payload.to_vec(),
        retain: publish.retain,
        qos: publish.qos as u8,
        expiry: properties.message_expiry_interval,
        correlation: properties.correlation_data.map(|data| data.to_vec()),
        at: Instant::now(),
        json: Arc::default(),
    }
}

/// A subscriber with a session that the broker keeps while it is away.
pub struct Subscriber {
    got: Arc<Mutex<Vec<Got>>>,
    /// Subscriptions that the broker has granted.
    granted: Arc<AtomicUsize>,
    client: AsyncClient,
    task: JoinHandle<()>,
}

impl Subscriber {
    pub async fn new(port: u16, filter: &str) -> Self {
        Self::connect(port, Filter::new(filter, QoS::AtLeastOnce), None).await
    }

    pub async fn with_login(port: u16, filter: &str, login: (&str, &str)) -> Self {
        Self::connect(port, Filter::new(filter, QoS::AtLeastOnce), Some(login)).await
    }

    /// One that is told of each message whether it was published with the retain flag.
    pub async fn of_flags(port: u16, filter: &str) -> Self {
        let filter = Filter {
            preserve_retain: true,
            ..Filter::new(filter, QoS::AtLeastOnce)
        };
        Self::connect(port, filter, None).await
    }

    async fn connect(port: u16, filter: Filter, login: Option<(&str, &str)>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut options = MqttOptions::new(format!("subscriber-{number}"), "127.0.0.1", port);
        options
            .set_clean_start(false)
            .set_session_expiry_interval(Some(3600))
            .set_max_packet_size(Some(1 << 24));
        if let Some((user, password)) = login {
            options.set_credentials(user, password);
        }
        let (client, mut events) = AsyncClient::new(options, 64);
        let got = Arc::new(Mutex::new(Vec::new()));
        let (sink, subscribe) = (got.clone(), client.clone());
        let granted = Arc::new(AtomicUsize::new(0));
        let grants = granted.clone();
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let mut ready = Some(ready);
        let task = tokio::spawn(async move {
            loop {
                match events.poll().await {
                    Ok(MqttEvent::Incoming(Packet::ConnAck(ack))) => {
                        if !ack.session_present {
                            subscribe.try_subscribe_many([filter.clone()]).unwrap();
                        }
                    }
                    Ok(MqttEvent::Incoming(Packet::SubAck(_))) => {
                        grants.fetch_add(1, Ordering::Relaxed);
                        if let Some(ready) = ready.take() {
                            let _ = ready.send(());
                        }
                    }
                    Ok(MqttEvent::Incoming(Packet::Publish(publish))) => {
                        sink.lock().unwrap().push(got_of(publish));
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        });
        tokio::time::timeout(PATIENCE, is_ready).await.unwrap().unwrap();
        Self {
            got,
            granted,
            client,
            task,
        }
    }

    /// How often a broker that knew nothing of it has granted the subscription.
    pub fn grants(&self) -> usize {
        self.granted.load(Ordering::Relaxed)
    }

    /// Waits until a broker has granted the subscription more than `before` times.
    pub async fn granted_again(&self, before: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.grants() == before {
            assert!(Instant::now() < deadline, "the subscriber is not back");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn all(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until a message fits; panics with what came instead.
    pub async fn wait(&self, what: &str, fits: impl Fn(&Got) -> bool) -> Got {
        self.look_for(what, || self.all().into_iter().find(&fits)).await
    }

    /// Waits until something is so by what came; panics with that.
    pub async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        self.look_for(what, || is_so().then_some(())).await;
    }

    async fn look_for<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            if Instant::now() > deadline {
                let topics: Vec<_> = self.all().into_iter().map(|got| got.topic).collect();
                panic!("{what} did not come; got {topics:?}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a half-move of a board is told.
    pub async fn played(&self, board: &str, ply: u64) {
        let place = format!("/{board}/event/move");
        self.wait("the half-move", |got| {
            got.topic.ends_with(&place) && got.json()["ply"] == ply
        })
        .await;
    }

    pub async fn publish(
        &self,
        topic: &str,
        retain: bool,
        payload: impl Into<Vec<u8>>,
        answer: Option<(&str, &str)>,
    ) {
        let properties = PublishProperties {
            response_topic: answer.map(|(topic, _)| topic.to_owned()),
            correlation_data: answer.map(|(_, data)| data.as_bytes().to_vec().into()),
            ..PublishProperties::default()
        };
        self.client
            .publish_with_properties(topic, QoS::AtLeastOnce, retain, payload.into(), properties)
            .await
            .unwrap();
    }

    /// The numbers of a board's events in order of arrival, without those seen already.
    pub fn numbers(&self, board: &str) -> Vec<u64> {
        let mut highest = 0;
        let mut numbers = Vec::new();
        for got in self.all() {
            if got.topic.contains(&format!("/board/{board}/event/")) {
                let seq = got.json()["seq"].as_u64().unwrap();
                if seq > highest {
                    numbers.push(seq);
                    highest = seq;
                }
            }
        }
        numbers
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A client that may send what is far too large.
pub async fn large_sender(port: u16) -> Subscriber {
    Subscriber::new(port, "nothing/for/me").await
}

/// What a consumer of one board ends with.
pub struct Heard {
    /// Without repeated numbers.
    pub events: Vec<serde_json::Value>,
    /// With them.
    pub arrivals: usize,
}

/// What is heard of a board, as soon as it is `count` events: what was under way may still be.
pub async fn all_heard(subscriber: &Subscriber, board: &str, count: usize) -> Vec<serde_json::Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let events = heard(subscriber, board).events;
        if events.len() >= count || Instant::now() >= deadline {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads as the contract tells consumers to: drop numbers seen already. Panics at a gap or when an id
/// means two events.
pub fn heard(subscriber: &Subscriber, board: &str) -> Heard {
    let place = format!("dgt2mqtt/gw/board/{board}/event/");
    let (mut events, mut arrivals) = (Vec::<serde_json::Value>::new(), 0);
    let mut by_id: std::collections::BTreeMap<String, Vec<u8>> = std::collections::BTreeMap::new();
    for got in subscriber.all() {
        if !got.topic.starts_with(&place) {
            continue;
        }
        arrivals += 1;
        let event = got.json();
        let (id, seq) = (event["id"].as_str().unwrap(), event["seq"].as_u64().unwrap());
        assert_eq!(id, format!("gw/{board}/{seq}"));
        let former = by_id.insert(id.to_owned(), got.payload.clone());
        assert!(
            former.is_none_or(|former| former == got.payload),
            "two events with the id {id}"
        );
        let next = events.len() as u64 + 1;
        assert!(seq <= next, "board {board}: {seq} came when {next} was next");
        if seq == next {
            events.push(event);
        }
    }
    Heard { events, arrivals }
}
