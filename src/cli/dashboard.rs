//! `dgt2mqtt dashboard`: the arbiter's page.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{exit, logging};
use crate::{
    broadcast::{Writer, push},
    config::{BrokerUrl, Collector, Config, Env, Secret},
    dashboard::{Access, BoardKey, Listener, Shared, collect, serve},
    mqtt::rumqtt::RumqttDial,
};

/// Commands of pages that may wait.
const ASKS: usize = 32;
/// Events on their way to a broadcast.
const TOLD: usize = 64;
/// How long an attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages that are open are told farewell within this time.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serve the arbiter's page: all boards of all gateways of a broker.
#[derive(Debug, Args)]
pub(super) struct Dashboard {
    /// The broker, mqtt://HOST[:PORT] or mqtts://; else that of the configuration, else localhost
    #[arg(long, value_name = "URL")]
    broker: Option<BrokerUrl>,
    /// Where the page is served
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = default_listen())]
    listen: SocketAddr,
    /// Configuration for login, certificates and [broadcast]; that of a gateway will do
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File with the token that opens the page from other machines; else one is made up and printed
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// On this machine only, unless asked for.
fn default_listen() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8064)
}

impl Dashboard {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let collector = self.collector()?;
        let token = self.token()?;
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
        let env = Env::from_process();
        let mut collector = match &self.config {
            Some(path) => Config::load_collector(path, &env)?,
            None => Collector::default(),
        };
        if let Some(url) = &self.broker {
            let is_other = collector.broker.tls.is_some() != url.tls;
            if is_other && url.tls {
                bail!(
                    "for mqtts:// the configuration must say which authorities to trust: name one with --config whose `urls` begin with mqtts://"
                );
            }
            collector.broker.urls = vec![url.clone()];
            if is_other {
                collector.broker.tls = None;
            }
        }
        // Two pages at one broker must not throw each other out.
        collector.broker.client_id = format!("dgt2mqtt-dashboard-{:08x}", fastrand::u32(..));
        Ok(collector)
    }

    /// The token, if the page can be reached from elsewhere or one is wanted.
    fn token(&self) -> anyhow::Result<Option<Secret>> {
        if let Some(path) = &self.token_file {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read the token from {}", path.display()))?;
            let token = text.trim();
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
            if token.len() < 16 || !token.chars().all(fits) {
                bail!(
                    "the token in {} must have 16 letters and digits at least",
                    path.display()
                );
            }
            return Ok(Some(Secret::new(token)));
        }
        let is_open = !self.listen.ip().is_loopback();
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
        introduce(address, token.as_ref(), self.token_file.is_none());
        let stop = CancellationToken::new();
        let mut parts = open(collector, listener, token, &stop)?;
        tokio::select! {
            stopped = exit::stopped() => stopped.context("cannot wait for signals")?,
            Some(ended) = parts.join_next() => ended??,
        }
        stop.cancel();
        let farewell = async { while parts.join_next().await.is_some() {} };
        // Whoever does not go is dropped with the runtime.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        Ok(())
    }
}

/// The parts of a page, at work until `stop`: what listens to the broker, and the server.
pub(super) fn open(
    collector: Collector,
    listener: TcpListener,
    token: Option<Secret>,
    stop: &CancellationToken,
) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let shared = Shared::default();
    let (asks, receiver) = mpsc::channel(ASKS);
    let mut parts = JoinSet::new();
    let Some(url) = collector.broker.urls.first().cloned() else {
        bail!("no broker is configured");
    };
    let dial = RumqttDial::without_will(collector.broker, CONNECT_TIMEOUT);
    let listening =
        Listener::new(dial, url, collector.base_topic, shared.clone(), receiver).run(stop.clone());
    parts.spawn(async {
        listening.await;
        Ok(())
    });
    if let Some(settings) = &collector.broadcast {
        // The configuration has seen to it that each is `GATEWAY/BOARD`.
        let tables = settings.boards.iter().filter_map(|name| {
            let (gateway, board) = name.split_once('/')?;
            Some(BoardKey {
                gateway: gateway.to_owned(),
                board: board.to_owned(),
            })
        });
        let (writer, games) = Writer::new(settings, "");
        let (sender, events) = mpsc::channel(TOLD);
        let collecting = collect(shared.clone(), tables.collect(), sender, stop.clone());
        let writing = writer.run(events, stop.clone());
        let pushing = settings
            .lichess
            .clone()
            .map(|lichess| push(lichess, games, stop.clone()));
        parts.spawn(async {
            tokio::join!(collecting, writing, async {
                if let Some(pushing) = pushing {
                    pushing.await;
                }
            });
            Ok(())
        });
    }
    let serving = serve(listener, Access::new(token), shared, asks, stop.clone());
    parts.spawn(async { serving.await.context("the page cannot be served any more") });
    Ok(parts)
}

/// From the system's source of randomness: who can guess it can end games.
fn made_up() -> anyhow::Result<Secret> {
    use std::io::Read;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot make up a token; give one with --token-file")?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(text))
}

/// Where the page is, for the person who started it.
fn introduce(address: SocketAddr, token: Option<&Secret>, is_made_up: bool) {
    let host = if address.ip().is_unspecified() {
        format!("THIS-MACHINE:{}", address.port())
    } else {
        address.to_string()
    };
    match token {
        None => eprintln!("The page is at http://{host}/ (on this machine only)."),
        Some(token) if is_made_up => {
            eprintln!(
                "The page is at http://{host}/?token={} (this token is good until the next start).",
                token.reveal()
            );
        }
        Some(_) => eprintln!("The page is at http://{host}/ and asks for the token."),
    }
}
