//! A server that keeps broadcasts as lichess does, and answers by its rules: a token, rounds that must be there, a hundred
//! games in each, and for each game what was read of it. On request things go wrong on the way.
#![allow(dead_code)] // shared by several test programs.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::relay_rules::{Round, answer};

/// A token that is valid, and lacks the scope `study:write`.
pub const NO_SCOPE: &str = "lip_no_scope";
/// A little less than the second that we promise to leave between two pushes to a round: the way to the server takes
/// time, too. lichess itself works the pushes to a round off one after the other, and counts none of them.
const BETWEEN: Duration = Duration::from_millis(950);

/// A round, and what was pushed to it.
#[derive(Clone, Debug)]
pub struct Kept {
    pub broadcast: String,
    pub name: String,
    /// The last push that was taken.
    pub pgn: String,
    pub pushes: usize,
    /// What is shown.
    pub shown: Round,
    last: Option<Instant>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Every so many pushes one does not reach the server: 502.
    pub bad_gateway_every: Option<usize>,
    /// This push is one too many: 429, without a word on how long to wait.
    pub too_many_at: Option<usize>,
    /// The answer to the first round that is made is lost.
    pub loses_first_new: bool,
}

#[derive(Default)]
struct State {
    rounds: BTreeMap<String, Kept>,
    refused: Vec<String>,
    faults: Faults,
    pushes: usize,
}

/// The server.
pub struct Relay {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

impl Relay {
    /// Takes this token, and knows these broadcasts, to which the token's owner contributes.
    pub fn start(token: &str, broadcasts: &[&str]) -> Self {
        Self::with(token, broadcasts, Faults::default())
    }

    /// As [`Self::start`], with what goes wrong.
    pub fn with(token: &str, broadcasts: &[&str], faults: Faults) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State {
            faults,
            ..State::default()
        };
        let state = Arc::new(Mutex::new(state));
        let (kept, token) = (state.clone(), token.to_owned());
        let known: Vec<String> = broadcasts.iter().map(|id| (*id).to_owned()).collect();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, token, known) = (kept.clone(), token.clone(), known.clone());
                thread::spawn(move || serve(stream.unwrap(), &kept, &token, &known));
            }
        });
        Self { port, state }
    }

    /// The rounds, by their ids.
    pub fn rounds(&self) -> BTreeMap<String, Kept> {
        self.state.lock().unwrap().rounds.clone()
    }

    /// What it refused, and why.
    pub fn refused(&self) -> Vec<String> {
        self.state.lock().unwrap().refused.clone()
    }

    /// Has a round of a broadcast that somebody made before.
    pub fn has(&self, id: &str, broadcast: &str, name: &str) {
        self.state.lock().unwrap().make(id, broadcast, name);
    }

    /// The round takes its games from elsewhere.
    pub fn has_source(&self, id: &str) {
        let mut state = self.state.lock().unwrap();
        state.rounds.get_mut(id).unwrap().shown.has_source = true;
    }
}

/// Status and body; none where the answer is lost.
type Answer = Option<(&'static str, Value)>;

fn refused(status: &'static str, error: &str) -> Answer {
    Some((status, json!({"error": error})))
}

impl State {
    fn make(&mut self, id: &str, broadcast: &str, name: &str) {
        let round = Kept {
            broadcast: broadcast.to_owned(),
            name: name.to_owned(),
            pgn: String::new(),
            pushes: 0,
            shown: Round::new(),
            last: None,
        };
        self.rounds.insert(id.to_owned(), round);
    }

    fn answer(&mut self, line: &str, body: &str, broadcasts: &[String]) -> Answer {
        let path = line.split(' ').nth(1).unwrap_or_default();
        let levels: Vec<&str> = path.trim_matches('/').split('/').collect();
        match levels[..] {
            ["api", "broadcast", id] if broadcasts.iter().any(|known| known == id) => {
                let own = self.rounds.iter().filter(|(_, round)| round.broadcast == id);
                let rounds: Vec<Value> = own
                    .map(|(id, round)| json!({"id": id, "name": round.name}))
                    .collect();
                Some(("200 OK", json!({"tour": {"id": id}, "rounds": rounds})))
            }
            ["broadcast", broadcast, "new"] if broadcasts.iter().any(|known| known == broadcast) => {
                self.new_round(broadcast, body)
            }
            ["api", "broadcast", "round", id, "push"] => self.push(id, body),
            _ => refused("404 Not Found", "No such broadcast"),
        }
    }

    fn new_round(&mut self, broadcast: &str, form: &str) -> Answer {
        let name = form.split('&').find_map(|field| field.strip_prefix("name="));
        let name = name
            .unwrap_or_default()
            .replace('+', " ")
            .replace("%2C", ",")
            .replace("%2D", "-");
        let id = format!("made{:04}", self.rounds.len());
        self.make(&id, broadcast, &name);
        let is_lost = std::mem::take(&mut self.faults.loses_first_new);
        (!is_lost).then(|| ("200 OK", json!({"round": {"id": id, "name": name}})))
    }

    fn push(&mut self, id: &str, pgn: &str) -> Answer {
        self.pushes += 1;
        let Faults {
            bad_gateway_every,
            too_many_at,
            ..
        } = self.faults;
        if bad_gateway_every.is_some_and(|every| self.pushes.is_multiple_of(every)) {
            return refused("502 Bad Gateway", "The server is away");
        }
        let Some(round) = self.rounds.get_mut(id) else {
            return refused("404 Not Found", "No such round");
        };
        let last = round.last.replace(Instant::now());
        if last.is_some_and(|last| last.elapsed() < BETWEEN) || too_many_at == Some(self.pushes) {
            return refused("429 Too Many Requests", "Please only run 1 request(s) at a time");
        }
        let read = round.shown.push(pgn);
        if !round.shown.has_source {
            pgn.clone_into(&mut round.pgn);
            round.pushes += 1;
        }
        Some(("200 OK", answer(&read)))
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>, token: &str, broadcasts: &[String]) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let field = |name: &str| {
        let of = |line: &String| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then(|| value.to_owned())
        };
        head.iter().find_map(of)
    };
    let length = field("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let given = field("authorization").unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut state = state.lock().unwrap();
    let answer = match given.strip_prefix("Bearer ") {
        Some(given) if given == token => state.answer(&head[0], &body, broadcasts),
        Some(NO_SCOPE) => refused("403 Forbidden", "Missing scope: study:write"),
        _ => refused("401 Unauthorized", "No such token"),
    };
    let (status, answer) = answer?;
    if status != "200 OK" {
        state.refused.push(format!("{}: {status}", head[0]));
    }
    drop(state);
    let text = answer.to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    stream.get_mut().write_all(answer.as_bytes()).ok()
}
