//! The public's view: games in a browser, moves with clocks, an overlay for streams, and `games.pgn`. The view gets the
//! files of the round and nothing else. Those hold only what is public already, so the view can show nothing that is
//! held back.

mod game;
mod server;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use super::writer::Games;
use game::Pages;

/// How long to wait before trying again to listen at an address that another program has.
const AGAIN: Duration = Duration::from_secs(5);

/// Shows `games` to anybody at `listen` until `stop`.
pub(super) async fn show(listen: SocketAddr, games: Games, stop: CancellationToken) {
    let work = async {
        let listener = open(listen).await;
        tracing::info!("broadcast: the public's view is at http://{listen}/");
        let (sender, pages) = watch::channel(Arc::default());
        tokio::join!(keep(games, sender), server::serve(listener, pages, stop.clone()));
    };
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}

/// Listens at the address, as soon as that is possible.
async fn open(listen: SocketAddr) -> TcpListener {
    let mut said = false;
    loop {
        match TcpListener::bind(listen).await {
            Ok(listener) => return listener,
            Err(error) if !said => {
                said = true;
                tracing::error!(
                    "broadcast: the public's view cannot be served at {listen}: {error}; is another program there? `listen` under [broadcast] names another place"
                );
            }
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}

/// Makes new pages whenever the games change.
async fn keep(mut games: Games, pages: watch::Sender<Arc<Pages>>) {
    loop {
        let now = games.borrow_and_update().clone();
        pages.send_modify(|pages| *pages = Arc::new(Pages::new(&now, pages)));
        if games.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}
