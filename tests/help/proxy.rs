//! Stands between the daemon and a broker and spoils what goes through, each connection in its own way.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dgt2mqtt::config::BrokerUrl;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Nothing is spoiled.
    None,
    /// It is closed at once.
    Refuse,
    /// It is open, and nobody answers.
    Mute,
    /// After so many bytes of the daemon nothing passes any more, in neither direction.
    SilentAfter(usize),
    /// After so many bytes of the daemon it is cut, in the middle of what is sent.
    CutAfter(usize),
    /// So many bytes a second from the daemon.
    Slow(u64),
    /// A message to a topic that has this in it comes late, and so does what the daemon sends after it.
    Late(&'static str, Duration),
    /// Acknowledgements come late, in their order.
    LateAcks(Duration),
    /// Acknowledgements come when [`Proxy::release`] says so.
    HeldAcks,
    /// It is closed on a message to a topic that has one of these in it, and nothing is said of it.
    HangsUpOn(&'static [&'static str]),
    /// It is cut where the broker sends a message.
    CutAtMessage,
    /// After the broker has granted a subscription it stands still for so long.
    StillAfterGrant(Duration),
    /// The first acknowledgements say this reason instead: how many, and which.
    Reason(usize, u8),
}

/// The proxy; gone with the value, as all its connections are.
pub struct Proxy {
    pub url: BrokerUrl,
    faults: Arc<Mutex<Plan>>,
    pub injected: Arc<AtomicUsize>,
    released: watch::Sender<bool>,
    stands: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Plan {
    first: std::collections::VecDeque<Fault>,
    then: Fault,
}

impl Proxy {
    /// The first connections get one of `first` each, those after them `then`.
    pub async fn before(broker: u16, first: &[Fault], then: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("mqtt://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let faults = Arc::new(Mutex::new(Plan {
            first: first.iter().copied().collect(),
            then,
        }));
        let injected = Arc::new(AtomicUsize::new(0));
        let (plan, count) = (faults.clone(), injected.clone());
        let (released, is_released) = watch::channel(false);
        let (stands, is_still) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let fault = {
                    let mut plan = plan.lock().unwrap();
                    plan.first.pop_front().unwrap_or(plan.then)
                };
                count.fetch_add(usize::from(fault != Fault::None), Ordering::Relaxed);
                connections.spawn(serve(
                    client,
                    broker,
                    fault,
                    is_released.clone(),
                    is_still.clone(),
                ));
            }
        });
        Self {
            url,
            faults,
            injected,
            released,
            stands,
            task,
        }
    }

    /// What later connections get.
    pub fn then(&self, fault: Fault) {
        self.faults.lock().unwrap().then = fault;
    }

    /// Has all connections stand still, in both directions, or go on. Nothing is lost.
    pub fn stand_still(&self, stands: bool) {
        self.stands.send_replace(stands);
    }

    /// Lets the acknowledgements go that were held.
    pub fn release(&self) {
        self.released.send_replace(true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits while the connections stand still.
async fn goes_on(still: &mut watch::Receiver<bool>) {
    let _ = still.wait_for(|still| !still).await;
}

async fn serve(
    client: TcpStream,
    broker: u16,
    fault: Fault,
    released: watch::Receiver<bool>,
    still: watch::Receiver<bool>,
) {
    match fault {
        Fault::Refuse => return,
        Fault::Mute => {
            let mut client = client;
            let mut nothing = [0; 512];
            while matches!(client.read(&mut nothing).await, Ok(1..)) {}
            return;
        }
        _ => {}
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", broker)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Either end takes the other with it.
    tokio::select! {
        () = up(from_client, to_server, fault, still.clone()) => {}
        () = down(from_server, to_client, fault, released, still) => {}
    }
}

/// Packet by packet; a message to the topic waits.
async fn up_late(topic: &str, delay: Duration, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    while let Some(packet) = packet(&mut from).await {
        let is_publish = packet[0] & 0xf0 == PUBLISH;
        if is_publish && String::from_utf8_lossy(&packet).contains(topic) {
            sleep(delay).await;
        }
        if to.write_all(&packet).await.is_err() {
            return;
        }
    }
}

/// Packet by packet, until one is not allowed.
async fn up_to(forbidden: &[&str], mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    while let Some(packet) = packet(&mut from).await {
        let said = String::from_utf8_lossy(&packet);
        let is_forbidden = |topic: &&str| said.contains(*topic);
        let is_publish = packet[0] & 0xf0 == PUBLISH;
        if is_publish && forbidden.iter().any(is_forbidden) || to.write_all(&packet).await.is_err() {
            return;
        }
    }
}

async fn up(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, fault: Fault, mut still: watch::Receiver<bool>) {
    if let Fault::HangsUpOn(topics) = fault {
        return up_to(topics, from, to).await;
    }
    if let Fault::Late(topic, delay) = fault {
        return up_late(topic, delay, from, to).await;
    }
    let mut left = match fault {
        Fault::CutAfter(left) | Fault::SilentAfter(left) => left,
        _ => usize::MAX,
    };
    let mut buffer = [0; 512];
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        goes_on(&mut still).await;
        let pass = count.min(left);
        left -= pass;
        if let Fault::Slow(rate) = fault {
            for byte in &buffer[..pass] {
                sleep(Duration::from_secs(1) / rate as u32).await;
                if to.write_all(&[*byte]).await.is_err() {
                    return;
                }
            }
        } else if to.write_all(&buffer[..pass]).await.is_err() {
            return;
        }
        if left == 0 {
            if let Fault::SilentAfter(_) = fault {
                // Until the daemon gives it up.
                while matches!(from.read(&mut buffer).await, Ok(1..)) {}
            }
            return;
        }
    }
}

/// Packet by packet, so that acknowledgements can be told. Those that are late are so in their order, and nothing else
/// waits for them.
async fn down(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    fault: Fault,
    mut released: watch::Receiver<bool>,
    mut still: watch::Receiver<bool>,
) {
    let (out, mut packets) = tokio::sync::mpsc::unbounded_channel::<Vec<u8>>();
    let (late, mut delayed) = tokio::sync::mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let writer = async {
        while let Some(packet) = packets.recv().await {
            goes_on(&mut still).await;
            if to.write_all(&packet).await.is_err() {
                return;
            }
        }
    };
    let waiter = async {
        while let Some((due, packet)) = delayed.recv().await {
            sleep_until(due).await;
            if fault == Fault::HeldAcks && released.wait_for(|released| *released).await.is_err() {
                return;
            }
            if out.send(packet).is_err() {
                return;
            }
        }
    };
    let reader = async {
        let mut spoiled = 0;
        while let Some(mut packet) = packet(&mut from).await {
            if fault == Fault::CutAtMessage && packet[0] & 0xf0 == PUBLISH {
                return;
            }
            if packet[0] == PUBACK {
                match fault {
                    Fault::HeldAcks => {
                        let _ = late.send((Instant::now(), packet));
                        continue;
                    }
                    Fault::LateAcks(delay) => {
                        let _ = late.send((Instant::now() + delay, packet));
                        continue;
                    }
                    Fault::Reason(count, reason) if spoiled < count => {
                        spoiled += 1;
                        packet = vec![PUBACK, 3, packet[2], packet[3], reason];
                    }
                    _ => {}
                }
            }
            let is_grant = packet[0] == SUBACK;
            let _ = out.send(packet);
            if let Fault::StillAfterGrant(time) = fault
                && is_grant
                && std::mem::replace(&mut spoiled, 1) == 0
            {
                sleep(time).await;
            }
        }
    };
    tokio::select! {
        () = writer => {}
        () = waiter => {}
        () = reader => {}
    }
}

/// First byte of a message, but for its flags.
const PUBLISH: u8 = 0x30;
const PUBACK: u8 = 0x40;
const SUBACK: u8 = 0x90;

/// The next packet, header and all; none at the end.
async fn packet(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let mut packet = vec![from.read_u8().await.ok()?];
    let mut length = 0;
    for shift in [0, 7, 14, 21] {
        let byte = from.read_u8().await.ok()?;
        packet.push(byte);
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let start = packet.len();
    packet.resize(start + length, 0);
    from.read_exact(&mut packet[start..]).await.ok()?;
    Some(packet)
}
