//! Serves figures for Prometheus and the daemon's health on a loopback port, if one is configured: `/metrics`,
//! `/healthz`, `/readyz`.

use std::{fmt::Write, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::Response,
    routing::get,
};
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{health::Health, standing::BoardStanding};
use crate::{config::Id, door};

/// Figures that nobody has renewed for this long mean that the daemon is stuck.
const STALE: Duration = Duration::from_secs(15);
/// The format of OpenMetrics, and the older one that all can read.
const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answer for an unknown path.
const HERE: &str = "there are /metrics, /healthz and /readyz\n";

/// The present state of the daemon.
pub(super) struct Look<'a> {
    pub(super) health: &'a Health,
    /// Each board, and how often its task failed.
    pub(super) boards: Vec<(Id, BoardStanding, u32)>,
    /// The names of tasks that are stuck.
    pub(super) stuck: Vec<String>,
    /// Why events do not reach the broker now.
    pub(super) troubles: Vec<String>,
}

/// The answers of the server.
struct Told {
    at: Instant,
    figures: Vec<Family>,
    stuck: Vec<String>,
    troubles: Vec<String>,
}

type Shown = watch::Receiver<Arc<Told>>;

/// The server, which ends with this value.
#[derive(Debug)]
pub(super) struct Metrics {
    told: watch::Sender<Arc<Told>>,
    _server: JoinSet<()>,
    _stop: DropGuard,
}

impl Metrics {
    /// Listens on `address`.
    ///
    /// # Errors
    /// The system's error on the port.
    pub(super) async fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let (told, shown) = watch::channel(Arc::new(Told {
            at: Instant::now(),
            figures: Vec::new(),
            stuck: Vec::new(),
            troubles: vec!["it is starting".to_owned()],
        }));
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(healthz))
            .route("/readyz", get(readyz))
            .fallback(async || door::answer(StatusCode::NOT_FOUND, PLAIN, HERE.to_owned()))
            .layer(middleware::map_response(closing))
            .with_state(shown);
        let stop = CancellationToken::new();
        let ended = stop.clone();
        let mut server = JoinSet::new();
        server.spawn(async move { door::serve(listener, "the metrics", router, ended).await });
        Ok(Self {
            told,
            _server: server,
            _stop: stop.drop_guard(),
        })
    }

    /// Renews the answers.
    pub(super) fn tell(&self, look: &Look<'_>) {
        self.told.send_replace(Arc::new(Told {
            at: Instant::now(),
            figures: figures(look),
            stuck: look.stuck.clone(),
            troubles: look.troubles.clone(),
        }));
    }
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

/// Closes the connection after each answer, because a client asks again only seconds later.
async fn closing(mut answer: Response) -> Response {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(header::CONNECTION, close);
    answer
}

async fn metrics(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    let told = Arc::clone(&shown.borrow());
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let is_open = accepted.is_some_and(|accepted| accepted.contains("application/openmetrics-text"));
    let kind = if is_open { OPEN } else { PLAIN };
    door::answer(StatusCode::OK, kind, text(&told.figures, is_open))
}

/// Whether the daemon works. It does not where a restart would help.
async fn healthz(State(shown): State<Shown>) -> Response {
    let told = Arc::clone(&shown.borrow());
    door::verdict(&wrong(&told, Instant::now()))
}

fn wrong(told: &Told, now: Instant) -> Vec<String> {
    let stuck = told.stuck.iter().map(|task| format!("{task} does not answer"));
    let is_stale = now.saturating_duration_since(told.at) > STALE;
    stuck
        .chain(is_stale.then(|| "the daemon does not answer".to_owned()))
        .collect()
}

/// Whether events of the boards reach the broker.
async fn readyz(State(shown): State<Shown>) -> Response {
    let told = Arc::clone(&shown.borrow());
    door::verdict(&told.troubles)
}

/// A figure with one value, or with one for each board.
struct Family {
    /// The name without `_total`.
    name: &'static str,
    is_counter: bool,
    help: &'static str,
    samples: Vec<(Option<Id>, f64)>,
}

fn text(families: &[Family], is_open: bool) -> String {
    let mut text = String::new();
    for family in families {
        let (name, kind, total) = match family.is_counter {
            true => (family.name, "counter", "_total"),
            false => (family.name, "gauge", ""),
        };
        // OpenMetrics names the family in these lines, and the older format the samples.
        let title = if is_open { "" } else { total };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP dgt2mqtt_{name}{title} {}", family.help);
        let _ = writeln!(text, "# TYPE dgt2mqtt_{name}{title} {kind}");
        for (board, value) in &family.samples {
            // An id has no character that needs an escape.
            let label = board
                .as_ref()
                .map_or_else(String::new, |id| format!("{{board=\"{id}\"}}"));
            let _ = writeln!(text, "dgt2mqtt_{name}{total}{label} {value}");
        }
    }
    if is_open {
        text += "# EOF\n";
    }
    text
}

fn number(count: u64) -> f64 {
    count as f64
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    Family {
        name,
        is_counter: false,
        help,
        samples: vec![(None, value)],
    }
}

fn counter(name: &'static str, help: &'static str, value: u64) -> Family {
    Family {
        is_counter: true,
        ..gauge(name, help, number(value))
    }
}

fn figures(look: &Look<'_>) -> Vec<Family> {
    let mut figures = of_the_daemon(look.health);
    figures.extend(of_the_journal(look.health));
    figures.extend(of_the_broker(look.health));
    figures.extend(of_the_boards(&look.boards));
    figures
}

fn of_the_daemon(health: &Health) -> Vec<Family> {
    let oldest = health.oldest_unacknowledged_s.unwrap_or(0.0);
    vec![
        gauge(
            "uptime_seconds",
            "Time since the daemon's start.",
            health.uptime_s,
        ),
        gauge("boards", "Boards of the configuration.", health.boards as f64),
        gauge(
            "outbox_depth",
            "Events that the broker has not acknowledged.",
            number(health.outbox_depth),
        ),
        gauge(
            "outbox_oldest_seconds",
            "Age of the oldest of them; 0 when there is none.",
            oldest,
        ),
    ]
}

fn of_the_journal(health: &Health) -> Vec<Family> {
    let journal = &health.journal;
    vec![
        counter(
            "events_lost",
            "Events that neither disk nor memory took.",
            journal.refused,
        ),
        counter(
            "journal_pruned",
            "Acknowledged events dropped for age or size.",
            journal.pruned,
        ),
        gauge(
            "journal_in_memory",
            "Events in memory only, because the disk refuses.",
            number(journal.in_memory),
        ),
        gauge("journal_bytes", "What the journal takes.", number(journal.bytes)),
    ]
}

fn of_the_broker(health: &Health) -> Vec<Family> {
    let broker = &health.broker;
    vec![
        counter(
            "events_acknowledged",
            "Events that the broker has acknowledged.",
            broker.events_acked,
        ),
        gauge(
            "broker_connected",
            "1 while the broker is connected.",
            truth(broker.connected),
        ),
        counter(
            "broker_connects",
            "Connections made to a broker.",
            broker.connects,
        ),
        counter(
            "messages_refused",
            "Messages that the broker refused.",
            broker.refused,
        ),
        counter("commands", "Commands received.", broker.commands),
        counter(
            "commands_refused",
            "Commands refused, at the door or later.",
            broker.commands_refused,
        ),
    ]
}

/// The name of a figure, its help and its value for a board.
type OfBoard = (&'static str, &'static str, fn(&BoardStanding, u32) -> f64);

fn of_the_boards(boards: &[(Id, BoardStanding, u32)]) -> Vec<Family> {
    let gauges: [OfBoard; 4] = [
        ("board_online", "1 while the board answers.", |standing, _| {
            truth(standing.online)
        }),
        (
            "board_playing",
            "1 while a game without a result is on the board.",
            |standing, _| truth(standing.playing),
        ),
        ("board_plies", "Half-moves of the board's game.", |standing, _| {
            number(standing.plies)
        }),
        (
            "board_open_irregularities",
            "Irregularities that nobody has answered yet.",
            |standing, _| number(standing.open),
        ),
    ];
    let family = |is_counter, (name, help, value): OfBoard| Family {
        name,
        is_counter,
        help,
        samples: boards
            .iter()
            .map(|(id, standing, restarts)| (Some(id.clone()), value(standing, *restarts)))
            .collect(),
    };
    let restarts: OfBoard = (
        "board_restarts",
        "How often the board's task failed and was started again.",
        |_, restarts| f64::from(restarts),
    );
    let mut figures: Vec<Family> = gauges.map(|gauge| family(false, gauge)).into();
    figures.push(family(true, restarts));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stuck_or_silent_is_not_well() {
        let told = |stuck: &[&str]| Told {
            at: Instant::now(),
            figures: Vec::new(),
            stuck: stuck.iter().map(ToString::to_string).collect(),
            troubles: Vec::new(),
        };
        let now = told(&[]).at;
        assert_eq!(wrong(&told(&[]), now), [""; 0]);
        assert_eq!(wrong(&told(&["board 7"]), now), ["board 7 does not answer"]);
        assert_eq!(wrong(&told(&[]), now + STALE * 2), ["the daemon does not answer"]);
    }
}
