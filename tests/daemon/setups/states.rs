//! What the brokers retain and what the page shows soon after the last fault, held against the journals.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{gateways::Gateway, hall::Hall, reader::Key};
use crate::{broker::PATIENCE, hall::moves};

/// What the journal has of a board.
struct Due {
    key: Key,
    game: u64,
    seq: u64,
    moves: Vec<String>,
}

impl Hall {
    /// Waits until all states are those of the journals. Returns how long that took; what is played meanwhile goes
    /// beyond.
    pub async fn states_are_right(&self) -> Duration {
        let due = due(&self.gateways);
        let boards = due.len();
        let deadline = self.healed + PATIENCE;
        let mut told = Instant::now();
        let said = loop {
            let mut said: Vec<String> = due.iter().filter_map(|due| self.complaint(due)).collect();
            if said.is_empty() {
                let shown = shown(self.page.as_ref().unwrap().port);
                said = due
                    .iter()
                    .filter_map(|due| self.page_complaint(due, &shown))
                    .collect();
            }
            if said.is_empty() || Instant::now() > deadline {
                break said;
            }
            if told.elapsed() > Duration::from_secs(2) {
                told = Instant::now();
                let after = self.healed.elapsed().as_secs_f64();
                let first: String = said[0].chars().take(120).collect();
                println!(
                    "           {after:.1} s later {} of {boards} are wrong, as {first}",
                    said.len()
                );
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        let took = self.healed.elapsed();
        assert!(said.is_empty(), "{} of {boards} states: {said:#?}", said.len());
        println!(
            "all {boards} games, their boards and gateways are right at broker and page {:.1} s after the last fault",
            took.as_secs_f64()
        );
        took
    }

    /// What is wrong of a board at the brokers.
    fn complaint(&self, due: &Due) -> Option<String> {
        let (gateway, board) = &due.key;
        for topic in [
            format!("dgt2mqtt/{gateway}/status"),
            format!("dgt2mqtt/{gateway}/board/{board}/status"),
        ] {
            let said = self.reader.states(&topic);
            if !said.iter().any(|state| state == b"online") {
                return Some(format!("{topic} is {said:?}"));
            }
        }
        let games = self
            .reader
            .states(&format!("dgt2mqtt/{gateway}/board/{board}/game"));
        let games = games
            .iter()
            .filter_map(|game| serde_json::from_slice::<Value>(game).ok());
        let Some(newest) = games.max_by_key(|game| game["last_seq"].as_u64()) else {
            return Some(format!("no broker has the game of {gateway}/{board}"));
        };
        let seq = newest["last_seq"].as_u64().unwrap_or_default();
        let told: Vec<&str> = strings(&newest["moves"]);
        if seq < due.seq || (seq == due.seq && told != due.moves) {
            return Some(format!("{gateway}/{board}: event {seq} of {}, {told:?}", due.seq));
        }
        None
    }

    /// What is wrong of a board on the page.
    fn page_complaint(&self, due: &Due, shown: &BTreeMap<Key, Value>) -> Option<String> {
        let Some(board) = shown.get(&due.key) else {
            return Some(format!("the page does not have {:?}", due.key));
        };
        let goes_on =
            board["game"].as_u64() > Some(due.game) || board["plies"].as_u64() > Some(due.moves.len() as u64);
        let is_same = board["plies"].as_u64() == Some(due.moves.len() as u64)
            && board["last_uci"].as_str() == due.moves.last().map(String::as_str);
        let is_right = board["online"] == true && board["gateway_online"] == true && (goes_on || is_same);
        let (gateway, id) = &due.key;
        let told = self.reader.states(&format!("dgt2mqtt/{gateway}/board/{id}/game"));
        let told = told
            .iter()
            .map(|game| serde_json::from_slice::<Value>(game).map(|game| game["last_seq"].clone()));
        (!is_right).then(|| {
            let told: Vec<_> = told.collect();
            format!(
                "the page has {board} and not {:?}, event {}; the brokers tell {told:?}",
                due.moves, due.seq
            )
        })
    }
}

/// The boards as a page gets them that is opened now.
pub fn shown(port: u16) -> BTreeMap<Key, Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let hall = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let hall: Value = serde_json::from_str(&hall.unwrap_or_default()).unwrap_or_default();
    let key = |board: &Value| {
        let word = |name: &str| board[name].as_str().unwrap_or_default().to_owned();
        (word("gateway"), word("board"))
    };
    let boards = hall["boards"].as_array().into_iter().flatten();
    boards.map(|board| (key(board), board.clone())).collect()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// What the journals have by now.
fn due(gateways: &[Gateway]) -> Vec<Due> {
    let half = gateways.len().div_ceil(2);
    thread::scope(|scope| {
        let halves: Vec<_> = gateways
            .chunks(half)
            .map(|some| scope.spawn(move || some.iter().flat_map(due_of).collect::<Vec<_>>()))
            .collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    })
}

fn due_of(gateway: &Gateway) -> Vec<Due> {
    let mut boards: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in gateway.journal() {
        let board = event["board"].as_str().unwrap().to_owned();
        boards.entry(board).or_default().push(event);
    }
    let due = |(board, events): (String, Vec<Value>)| Due {
        key: (gateway.name.clone(), board),
        game: events
            .iter()
            .filter_map(|event| event["game"].as_u64())
            .max()
            .unwrap_or_default(),
        seq: events
            .last()
            .and_then(|event| event["seq"].as_u64())
            .unwrap_or_default(),
        moves: moves(&events),
    };
    boards.into_iter().map(due).collect()
}
