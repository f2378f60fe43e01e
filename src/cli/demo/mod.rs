//! `dgt2mqtt demo`: the whole chain with nothing installed.
//!
//! The chain has a simulated board and clock on a pseudo terminal, the daemon as it runs in a hall, a broker, and a
//! subscriber that prints the events.

mod broker;
mod narrator;
mod subscriber;

use std::{
    fs::{self, DirBuilder},
    hash::{BuildHasher, RandomState},
    io::{self, IsTerminal, Write},
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use clap::Args;
use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use self::{broker::Broker, narrator::Narrator, subscriber::Subscriber};
use super::dashboard;
use crate::{
    config::{BrokerUrl, Collector, Config, Env},
    dashboard::{Access, Shared},
    event::{Body, Event},
    gateway,
    sim::{
        board::SimulatedIdentity,
        player::{Pace, PlayedBoard},
        port::Socket,
        serve::{Serving, Station},
        story,
    },
};

/// Watch a real game with irregularities go through the whole chain; needs nothing installed.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// So many times faster; beyond 3 the hands get too fast for a board
    #[arg(long, default_value_t = 1.0, value_parser = super::simulate::speed)]
    speed: f64,
    /// Show the arbiter's page as well, and stay up when the game is over, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// The seed of the game, so that each demo tells the same one.
const SEED: u64 = 1;
/// How long the demo waits for an event after the end of the game.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the daemon may take to stop.
const FAREWELL: Duration = Duration::from_secs(8);

impl Demo {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            tokio::select! {
                done = self.play() => done,
                stopped = super::exit::stopped() => stopped.context("cannot wait for signals"),
            }
        })
    }

    async fn play(&self) -> anyhow::Result<()> {
        let folder = Folder::new()?;
        let story = story::capture(SEED)?;
        let length = Duration::from_millis(story.end().0).div_f64(self.speed);
        let pace = Pace {
            speed: self.speed,
            wait: true,
        };
        let player = PlayedBoard::new(story, SimulatedIdentity::synthetic(1), pace);
        let serving = Serving {
            slow_line: false,
            linger: None,
        };
        let place = Socket::Pty(Some(folder.0.join("board")));
        let station = Station::new(player, place, serving)
            .await
            .context("cannot make a pseudo terminal")?;
        let port = station.name();
        let broker = Broker::bind().await?;
        let address = broker.address;
        introduce(&port, address)?;

        // A part that ends here has failed. At the end all parts but the daemon are dropped.
        let mut parts: JoinSet<anyhow::Result<()>> = JoinSet::new();
        parts.spawn(broker.run());
        parts.spawn(async { station.run().await.context("the simulated board failed") });
        let subscriber = Subscriber::connect(address).await?;
        let stop = CancellationToken::new();
        let config = configuration(&folder.0, &port, address)?;
        let mut daemon = JoinSet::new();
        daemon.spawn(gateway::run(config, stop.clone()));

        if self.keep {
            let page = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let page = page.context("cannot serve the page")?;
            let place = page.local_addr().context("the page has no address")?;
            let mut collector = Collector::default();
            for broker in &mut collector.brokers {
                broker.urls = vec![url(address)];
            }
            let mut page = dashboard::open(
                collector,
                page,
                Access::new(None, Vec::new()),
                None,
                &Shared::default(),
                &stop,
            )?;
            parts.spawn(async move { page.join_next().await.transpose()?.unwrap_or(Ok(())) });
            say(&format!(
                "The arbiter's page shows the board at http://{place}/\n\n"
            ))?;
        }

        let telling = async {
            let mut teller = Narrator::new(io::stdout().is_terminal());
            let mut subscriber = subscriber;
            timeout(length + PATIENCE, tell(&mut subscriber, &mut teller, true))
                .await
                .context("the end of the game did not arrive in time")??;
            say(CLOSING)?;
            if self.keep {
                say(&format!("The broker stays at {address} until Ctrl-C.\n"))?;
                tell(&mut subscriber, &mut teller, false).await?;
            }
            Ok(())
        };
        let told: anyhow::Result<()> = tokio::select! {
            told = telling => told,
            Some(ended) = parts.join_next() => ended?,
            Some(ended) = daemon.join_next() => ended?.map_err(Into::into),
        };
        told?;
        stop.cancel();
        let farewell = timeout(FAREWELL, daemon.join_next()).await;
        farewell
            .context("the daemon did not stop in time")?
            .transpose()?
            .transpose()?;
        Ok(())
    }
}

/// Prints events, until the game is over or without end.
async fn tell(subscriber: &mut Subscriber, teller: &mut Narrator, game_only: bool) -> anyhow::Result<()> {
    loop {
        let event: Event = subscriber.next().await?;
        say(&teller.tell(&event))?;
        if game_only && matches!(event.body, Body::GameEnded { .. }) {
            return Ok(());
        }
    }
}

const CLOSING: &str =
    "\nThat was all. For boards of your own: `dgt2mqtt ports`, then docs/configuration.md.\n";

fn introduce(port: &str, broker: SocketAddr) -> anyhow::Result<()> {
    say(&format!(
        "Réti - Tartakower, Vienna 1910, as it might have gone with an arbiter near by.\n\n\
         A simulated board and clock at {port}\n\
         -> the daemon -> an MQTT broker at {broker} -> a subscriber, which prints:\n\n"
    ))
}

fn say(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("cannot print")
}

fn url(broker: SocketAddr) -> BrokerUrl {
    BrokerUrl {
        tls: false,
        host: broker.ip().to_string(),
        port: broker.port(),
    }
}

/// The configuration of a hall with one board.
fn configuration(folder: &Path, port: &str, broker: SocketAddr) -> anyhow::Result<Config> {
    let quoted = |text: String| toml::Value::String(text);
    let journal = quoted(folder.join("journal.sqlite").display().to_string());
    let (port, url) = (quoted(port.to_owned()), quoted(url(broker).to_string()));
    let text = format!(
        "[gateway]\nname = \"demo\"\ncommands = true\n[[board]]\nid = \"1\"\nport = {port}\n\
         [broker]\nurls = [{url}]\n[journal]\npath = {journal}\n"
    );
    Ok(Config::from_text(
        &text,
        &folder.join("demo.toml"),
        &Env::default(),
    )?)
}

/// A folder for the demo, removed at the end. Everybody can write to the folder above it, so its name cannot be
/// guessed, and no other user can read it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        // The keys of a hasher come from the system's source of randomness.
        let [a, b] = [(); 2].map(|()| RandomState::new().hash_one(()));
        let path = std::env::temp_dir().join(format!("dgt2mqtt-demo-{a:016x}{b:016x}"));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // a leftover in the folder for such
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::Folder;

    #[test]
    fn the_folder_is_nobody_else_s_and_is_gone_at_the_end() {
        let (one, other) = (Folder::new().unwrap(), Folder::new().unwrap());
        assert_ne!(one.0, other.0);
        let name = one.0.file_name().unwrap().to_str().unwrap();
        assert_eq!(name.len(), "dgt2mqtt-demo-".len() + 32, "{name}");
        let mode = one.0.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists());
    }
}
