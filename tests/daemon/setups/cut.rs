//! A line to a broker that can be cut as a network is: bytes stand still, and neither end is told.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
};

/// The line; gone with the value, as all its connections are.
pub struct Cut {
    /// Where it begins, on this machine.
    pub port: u16,
    is_open: watch::Sender<bool>,
    carried: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Cut {
    /// A line that leads to a broker.
    pub async fn before(broker: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_open, opened) = watch::channel(true);
        let carried = Arc::new(AtomicU64::new(0));
        let count = carried.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(client, broker, opened.clone(), count.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Self {
            port,
            is_open,
            carried,
            task,
        }
    }

    /// Cuts it, or mends it: then what stood still goes on.
    pub fn open(&self, is_open: bool) {
        self.is_open.send_replace(is_open);
    }

    /// The bytes that went through, both ways.
    pub fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(client: TcpStream, broker: u16, mut opened: watch::Receiver<bool>, count: Arc<AtomicU64>) {
    if opened.wait_for(|open| *open).await.is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", broker)).await else {
        return;
    };
    for end in [&client, &server] {
        end.set_nodelay(true).unwrap();
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = carry(from_client, to_server, opened.clone(), &count) => {}
        () = carry(from_server, to_client, opened, &count) => {}
    }
}

/// Hands bytes on while the line is open; the end of one side, too, is heard when it is.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut opened: watch::Receiver<bool>,
    count: &AtomicU64,
) {
    let mut buffer = [0; 16_384];
    loop {
        let read = from.read(&mut buffer).await;
        if opened.wait_for(|open| *open).await.is_err() {
            return;
        }
        let Ok(length @ 1..) = read else { return };
        count.fetch_add(length as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
