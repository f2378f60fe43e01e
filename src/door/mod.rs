//! Accepts the connections of browsers. A connection that has not shown that it may use the page is a stranger's.
//! Strangers have little time and their number is small, so half-sent requests lock nobody out.
#![allow(clippy::disallowed_methods)] // connections live on the wall clock.

mod answers;
mod crowd;

use std::{
    convert::Infallible,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    pin,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

pub(crate) use answers::{answer, verdict};
use crowd::Crowd;

use crate::descriptors;

/// How long a connection may take to send the head of a request, of the first and of each later one.
const HEAD: Duration = Duration::from_secs(10);
/// How many bytes of a connection are buffered for parsing or sending.
const MOST_BYTES: usize = 32 << 10;
/// How many connections of strangers there may be.
const STRANGERS: usize = 64;
/// How many connections of guests there may be, who have shown that they may use the page.
const GUESTS: usize = 256;

/// How many connections there may be at a door.
pub(crate) const ROOM: usize = STRANGERS + GUESTS;

/// A connection, as the handlers of its requests see it.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// The address that it comes from.
    pub(crate) address: IpAddr,
    number: u64,
    /// The guest who used it last; 0 while it is a stranger's.
    guest: Arc<AtomicU64>,
    hall: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    strangers: Crowd,
    guests: Crowd,
}

impl Pass {
    /// Notes that `guest` (not 0) may use the page and is at this connection.
    pub(crate) fn welcome(&self, guest: u64) {
        if self.guest.swap(guest, Ordering::Relaxed) != 0 {
            return;
        }
        let mut inside = self.inside();
        if let Some((address, close)) = inside.strangers.leave(self.number) {
            inside.guests.enter(self.number, address, close);
        }
    }

    /// True where `guest` was the last to be welcomed here.
    pub(crate) fn is_known(&self, guest: u64) -> bool {
        self.guest.load(Ordering::Relaxed) == guest
    }

    fn leave(&self) {
        let mut inside = self.inside();
        inside.strangers.leave(self.number);
        inside.guests.leave(self.number);
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // The maps are plain: a task that panicked left them whole.
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves `router` at `listener` until `stop`; every request carries its [`Pass`].
pub(crate) async fn serve(listener: TcpListener, what: &str, router: Router, stop: CancellationToken) {
    let hall = Arc::new(Mutex::new(Inside {
        strangers: Crowd::new(STRANGERS),
        guests: Crowd::new(GUESTS),
    }));
    let mut connections = JoinSet::new();
    for number in 0.. {
        let (stream, peer) = tokio::select! {
            accepted = descriptors::accept(&listener, what) => accepted,
            () = stop.cancelled() => break,
        };
        while connections.try_join_next().is_some() {}
        let pass = Pass {
            address: peer.ip().to_canonical(),
            number,
            guest: Arc::default(),
            hall: Arc::clone(&hall),
        };
        let close = CancellationToken::new();
        pass.inside().strangers.enter(number, pass.address, close.clone());
        connections.spawn(connection(stream, router.clone(), pass, close, stop.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Serves one connection until its end, until it must make room, or until `stop`.
async fn connection(
    stream: TcpStream,
    router: Router,
    pass: Pass,
    close: CancellationToken,
    stop: CancellationToken,
) {
    let service = TowerToHyperService::new(router);
    let carried = pass.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(carried.clone());
        let answer = hyper::service::Service::call(&service, request);
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MOST_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    pin!(served);
    tokio::select! {
        // How the connection ended matters only to the other side.
        _ = served.as_mut() => {}
        () = close.cancelled() => {}
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            drop(served.await);
        }
    }
    pass.leave();
}
