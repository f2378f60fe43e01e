//! `dgt2mqtt dashboard`: the arbiter's page.

mod broadcasts;
mod own_round;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use sd_notify::NotifyState;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{collecting, exit, logging, reload};
use crate::{
    broadcast,
    config::{BrokerUrl, Collector, ConfigError, Env, Secret, is_token},
    dashboard::{Access, Ask, Asks, Listener, OWN, Shared, livechess, serve},
    door::ROOM,
    mqtt::rumqtt::RumqttDial,
    notify::notify,
};

/// How many commands of pages may wait.
const ASKS: usize = 32;
/// How long an attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end waits for open pages.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serve the arbiter's page: all boards of all gateways of a broker, or of several.
#[derive(Debug, Args)]
pub(super) struct Dashboard {
    /// The broker, mqtt://HOST[:PORT] or mqtts://; else that of the configuration, else localhost. May
    /// be given several times: login and certificates are the same for all
    #[arg(long, value_name = "URL")]
    broker: Vec<BrokerUrl>,
    /// Where the page is served
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = default_listen())]
    listen: SocketAddr,
    /// Configuration for login, certificates and [broadcast]; that of a gateway will do
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File with the token that opens the page from other machines; else one is made up and printed
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Also serve the local interface that pages and tools for these boards expect, on this machine only
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "1982")]
    livechess: Option<u16>,
}

/// Loopback, unless the operator names another address.
fn default_listen() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8064)
}

impl Dashboard {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let collector = self.collector()?;
        let token = self.token(!collector.people.is_empty())?;
        logging::init();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let ended = runtime.block_on(self.serve(collector, token));
        // A page may hold its connection open.
        runtime.shutdown_timeout(FAREWELL);
        ended
    }

    fn collector(&self) -> anyhow::Result<Collector> {
        let mut collector = self.configured()?;
        collecting::name_brokers(&mut collector.brokers, &self.broker, "dashboard")?;
        Ok(collector)
    }

    fn configured(&self) -> Result<Collector, ConfigError> {
        match &self.config {
            Some(path) => Collector::load(path, &Env::from_process()),
            None => Ok(Collector::default()),
        }
    }

    /// The token, if one is asked for, or if other machines can reach the page and no person has a token of his own.
    fn token(&self, has_people: bool) -> anyhow::Result<Option<Secret>> {
        if let Some(path) = &self.token_file {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read the token from {}", path.display()))?;
            let token = text.trim();
            if !is_token(token) {
                bail!(
                    "the token in {} must have 16 letters and digits at least",
                    path.display()
                );
            }
            return Ok(Some(Secret::new(token)));
        }
        let is_open = !self.listen.ip().is_loopback() && !has_people;
        is_open.then(made_up).transpose()
    }

    async fn serve(self, collector: Collector, token: Option<Secret>) -> anyhow::Result<()> {
        let listener = TcpListener::bind(self.listen).await.with_context(|| {
            format!(
                "cannot serve at {}; is another program there? --listen names another place",
                self.listen
            )
        })?;
        let address = listener.local_addr().context("the socket has no address")?;
        let broadcasts: usize = collector.broadcasts.iter().map(broadcast::descriptors).sum();
        let doors = 1 + usize::from(self.livechess.is_some());
        collecting::expect_files(collector.brokers.len(), doors * (1 + ROOM) + broadcasts);
        let asks = self.token_file.is_some() || !collector.people.is_empty();
        introduce(address, token.as_ref(), asks);
        let access = Access::new(token, collector.people.clone());
        let stop = CancellationToken::new();
        let shared = Shared::default();
        let (configured, receiver) = watch::channel(collector.broadcasts.clone());
        let (own, asked) = mpsc::channel(ASKS);
        let mut parts = open(collector, listener, access.clone(), Some(own), &shared, &stop)?;
        parts.spawn(broadcasts::write(receiver, asked, shared.clone(), stop.clone()));
        if let Some(port) = self.livechess {
            serve_livechess(port, shared, &mut parts, &stop).await?;
        }
        notify(&NotifyState::Ready);
        let read_again = reload::at_hangup(
            || self.configured(),
            async |collector| {
                tracing::info!(
                    "the configuration was read again; [broadcast] and the people of [dashboard] are taken over"
                );
                access.set_people(collector.people);
                configured.send_replace(collector.broadcasts);
            },
        );
        tokio::select! {
            stopped = exit::stopped() => stopped.context("cannot wait for signals")?,
            ended = read_again => ended?,
            () = collecting::feed_watchdog() => {}
            Some(ended) = parts.join_next() => ended??,
        }
        notify(&NotifyState::Stopping);
        stop.cancel();
        let farewell = async { while parts.join_next().await.is_some() {} };
        // A connection that does not end is dropped with the runtime.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        Ok(())
    }
}

/// Starts the parts of a page, which work until `stop`: the listeners at the brokers, and the server. `own` takes the
/// commands to the broadcasts of this program.
pub(super) fn open(
    collector: Collector,
    listener: TcpListener,
    access: Access,
    own: Option<mpsc::Sender<Ask>>,
    shared: &Shared,
    stop: &CancellationToken,
) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let mut parts = JoinSet::new();
    let mut asks = Asks::default();
    for broker in collector.brokers {
        let (sender, receiver) = mpsc::channel(ASKS);
        let urls = broker.urls.clone();
        let dial = RumqttDial::without_will(broker, CONNECT_TIMEOUT);
        let listening = Listener::new(dial, urls, collector.base_topic.clone(), shared.clone(), receiver);
        asks.add(listening.broker(), sender);
        let listening = listening.run(stop.clone());
        parts.spawn(async {
            listening.await;
            Ok(())
        });
    }
    if let Some(own) = own {
        asks.add(OWN, own);
    }
    let serving = serve(listener, access, shared.clone(), asks, stop.clone());
    parts.spawn(async {
        serving.await;
        Ok(())
    });
    Ok(parts)
}

/// Adds the local interface to the parts of a page.
async fn serve_livechess(
    port: u16,
    shared: Shared,
    parts: &mut JoinSet<anyhow::Result<()>>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| {
            format!("cannot serve the local interface at port {port}; is another program there?")
        })?;
    let place = listener.local_addr().context("the socket has no address")?;
    eprintln!("The local interface for pages and tools is at ws://{place}/api/v1.0.");
    let serving = livechess::serve(listener, shared, stop.clone());
    parts.spawn(async {
        serving.await;
        Ok(())
    });
    Ok(())
}

/// A token from the system's source of randomness, because whoever guesses it can end games.
fn made_up() -> anyhow::Result<Secret> {
    use std::io::Read;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot make up a token; give one with --token-file")?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(text))
}

/// Prints the page's address for the person who started it; `asks` is true where the page asks for a token that
/// somebody has.
fn introduce(address: SocketAddr, token: Option<&Secret>, asks: bool) {
    let host = if address.ip().is_unspecified() {
        format!("THIS-MACHINE:{}", address.port())
    } else {
        address.to_string()
    };
    match token {
        _ if asks => eprintln!("The page is at http://{host}/ and asks for the token."),
        None => eprintln!("The page is at http://{host}/ (on this machine only)."),
        Some(token) => {
            eprintln!(
                "The page is at http://{host}/?token={} (this token is good until the next start).",
                token.reveal()
            );
        }
    }
}
