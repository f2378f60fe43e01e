//! A server that keeps broadcasts as lichess does, with its limits: a token, a hundred games in a round, one push a
//! second, rounds that must be there.
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

/// The games that a round takes.
const MOST_GAMES: usize = 100;
/// A little less than a second: the way to the server takes time, too.
const BETWEEN: Duration = Duration::from_millis(950);

/// A round, and what was pushed to it.
#[derive(Clone, Debug)]
pub struct Kept {
    pub broadcast: String,
    pub name: String,
    pub pgn: String,
    pub pushes: usize,
}

#[derive(Default)]
struct State {
    rounds: BTreeMap<String, Kept>,
    last_push: BTreeMap<String, Instant>,
    refused: Vec<String>,
}

/// The server.
pub struct Relay {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

impl Relay {
    /// Takes this token, and knows these broadcasts. Each has its own contributor, who may push once a second.
    pub fn start(token: &str, broadcasts: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let (kept, token) = (state.clone(), format!("Bearer {token}"));
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
}

impl State {
    fn make(&mut self, id: &str, broadcast: &str, name: &str) {
        let round = Kept {
            broadcast: broadcast.to_owned(),
            name: name.to_owned(),
            pgn: String::new(),
            pushes: 0,
        };
        self.rounds.insert(id.to_owned(), round);
    }

    fn answer(
        &mut self,
        line: &str,
        is_known: bool,
        body: &str,
        broadcasts: &[String],
    ) -> (&'static str, Value) {
        let path = line.split(' ').nth(1).unwrap_or_default();
        let levels: Vec<&str> = path.trim_matches('/').split('/').collect();
        match levels[..] {
            _ if !is_known => ("401 Unauthorized", json!({"error": "No such token"})),
            ["api", "broadcast", id] if broadcasts.iter().any(|known| known == id) => {
                let own = self.rounds.iter().filter(|(_, round)| round.broadcast == id);
                let rounds: Vec<Value> = own
                    .map(|(id, round)| json!({"id": id, "name": round.name}))
                    .collect();
                ("200 OK", json!({"tour": {"id": id}, "rounds": rounds}))
            }
            ["broadcast", broadcast, "new"] if broadcasts.iter().any(|known| known == broadcast) => {
                let name = body.split('&').find_map(|field| field.strip_prefix("name="));
                let name = name
                    .unwrap_or_default()
                    .replace('+', " ")
                    .replace("%2C", ",")
                    .replace("%2D", "-");
                let id = format!("made{:04}", self.rounds.len());
                self.make(&id, broadcast, &name);
                ("200 OK", json!({"round": {"id": id, "name": name}}))
            }
            ["api", "broadcast", "round", id, "push"] => self.push(id, body),
            _ => ("404 Not Found", json!({"error": "No such broadcast"})),
        }
    }

    fn push(&mut self, id: &str, pgn: &str) -> (&'static str, Value) {
        let Some(round) = self.rounds.get_mut(id) else {
            return ("404 Not Found", json!({"error": "No such round"}));
        };
        let last = self.last_push.insert(round.broadcast.clone(), Instant::now());
        if last.is_some_and(|last| last.elapsed() < BETWEEN) {
            return (
                "429 Too Many Requests",
                json!({"error": "Please only run 1 request(s) at a time"}),
            );
        }
        let games: Vec<&str> = pgn.split("[Event ").skip(1).collect();
        if games.len() > MOST_GAMES {
            return ("400 Bad Request", json!({"error": "Too many games"}));
        }
        round.pgn = pgn.to_owned();
        round.pushes += 1;
        let taken: Vec<Value> = games.iter().map(|_| json!({"tags": {}, "moves": 1})).collect();
        ("200 OK", json!({"games": taken}))
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
    let is_known = field("authorization").is_some_and(|given| given == token);
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut state = state.lock().unwrap();
    let (status, answer) = state.answer(&head[0], is_known, &body, broadcasts);
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
