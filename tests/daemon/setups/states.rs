//! What the brokers retain and what the page shows soon after the last fault, held against the journals.

use std::{collections::BTreeMap, thread, time::Instant};

use serde_json::Value;

use super::{RIGHT_AGAIN, gateways::Gateway, hall::Hall, is_full, reader::Key};
use crate::{broker::PATIENCE, hall::moves, page::http};

/// What the journal has of a board.
struct Due {
    key: Key,
    game: u64,
    seq: u64,
    moves: Vec<String>,
}

impl Hall {
    /// Waits until all states are those of the journals, and asserts that it does not take long. What is played
    /// meanwhile goes beyond.
    pub async fn states_are_right(&self) {
        let mut wrong = due(&self.gateways);
        let boards = wrong.len();
        let deadline = self.healed + PATIENCE;
        loop {
            wrong.retain(|due| self.complaint(due).is_some());
            if wrong.is_empty() || Instant::now() > deadline {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let took = self.healed.elapsed();
        let said: Vec<String> = wrong.iter().filter_map(|due| self.complaint(due)).collect();
        assert!(said.is_empty(), "{} of {boards} states: {said:#?}", said.len());
        println!(
            "all {boards} games, their boards and gateways are right at broker and page {:.1} s after the last fault",
            took.as_secs_f64()
        );
        // A busy machine is no fault, so that the bound is for a hall that has the machine.
        let bound = if is_full() { RIGHT_AGAIN } else { PATIENCE };
        assert!(took < bound, "that is too late");
    }

    /// What is wrong of a board.
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
        let newest = games.max_by_key(|game| game["last_seq"].as_u64())?;
        let seq = newest["last_seq"].as_u64().unwrap_or_default();
        let told: Vec<&str> = strings(&newest["moves"]);
        if seq < due.seq || (seq == due.seq && told != due.moves) {
            return Some(format!("{gateway}/{board}: event {seq} of {}, {told:?}", due.seq));
        }
        let address = format!("/api/board/{gateway}/{board}");
        let (_, body) = http(
            self.page.as_ref().unwrap().port,
            "GET",
            &address,
            "",
            &Value::Null,
        );
        let detail: Value = serde_json::from_str(&body).unwrap_or_default();
        let shown: Vec<&str> = detail["moves"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|made| made["uci"].as_str())
            .collect();
        let goes_on = seq > due.seq || detail["game"].as_u64() > Some(due.game);
        let is_right = detail["gateway_online"] == true && (goes_on || shown == due.moves);
        (!is_right).then(|| {
            format!(
                "the page has {gateway}/{board} online {}, {shown:?} of {:?}",
                detail["gateway_online"], due.moves
            )
        })
    }
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
