//! The intake: what waits for the database, and what must be asked for.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::{
    holding::{Holding, Hole, Kept},
    named::NamedGateway,
    row::EventRow,
};
use crate::mqtt::{Claim, Sign};

/// How many bytes of events wait for the database at most. What comes beyond is asked for later.
const MOST_WAITING: usize = 16 << 20;
/// No questions are asked while more than this waits.
const ENOUGH_WAITING: usize = MOST_WAITING / 8;
/// How many questions may be under way.
const QUESTIONS: usize = 4;
/// How many boards and gateways are taken in: a broker that is not ours must not fill the memory.
const MOST_BOARDS: usize = 4_000;

/// A board, by its gateway and its own id.
pub(super) type BoardName = (String, String);

/// Events of a board that the archive lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lack {
    /// The board.
    pub(super) key: BoardName,
    /// Only events with a larger number.
    pub(super) after: u64,
    /// Only events with a smaller one.
    pub(super) before: u64,
}

/// What all subscriptions and the writer share.
#[derive(Debug, Default)]
pub(super) struct Intake {
    boards: BTreeMap<BoardName, Holding>,
    gateways: BTreeMap<String, NamedGateway>,
    rows: VecDeque<EventRow>,
    holes: Vec<Hole>,
    weight: usize,
    /// True while the database is there, and the boards know what it has.
    is_loaded: bool,
    /// True while events are dropped because too many wait.
    is_full: bool,
}

impl Intake {
    /// Takes what the database has. Rows that wait are had, too.
    pub(super) fn load(&mut self, kept: Vec<Kept>) {
        for board in self.boards.values_mut() {
            board.forget();
        }
        for Kept {
            gateway,
            board,
            first,
            last,
            is_hole,
        } in kept
        {
            let board = self.boards.entry((gateway, board)).or_default();
            if is_hole {
                board.gave_up(first, last);
            } else {
                board.took(first, last);
            }
        }
        for row in self.rows.iter().filter(|row| !row.is_abridged) {
            if let Some(board) = self.boards.get_mut(&(row.gateway.clone(), row.board.clone())) {
                board.took(row.seq, row.seq);
            }
        }
        self.is_loaded = true;
    }

    /// Takes note that the database is away. Nothing is asked for until it is back.
    pub(super) fn unload(&mut self) {
        self.is_loaded = false;
    }

    /// Takes a gateway's status, `info`, `health`, a board's game or an event, by the levels of its topic below the base.
    /// `is_live` is false for what the broker had retained.
    pub(super) fn take(&mut self, broker: usize, levels: &[&str], payload: &[u8], is_live: bool, now: u64) {
        let Some(name) = levels.first() else { return };
        let claim = self.claim(broker, levels, payload, is_live, now);
        match *levels {
            // What is no event of the gateway is not kept.
            _ if claim == Claim::Foreign => {}
            [_, "board", board, "game"] => {
                let last = fields(payload).and_then(|game| game["last_seq"].as_u64());
                if let (Some(last), Some(board)) = (last, self.board(name, board)) {
                    board.gave_out(last);
                }
            }
            // Where a broker lost an event and the game's state, nothing else tells of it until the next event.
            [_, "health"] => {
                let numbers = fields(payload).map(|mut health| health["last_seq"].take());
                let numbers: Option<BTreeMap<String, u64>> =
                    numbers.and_then(|numbers| serde_json::from_value(numbers).ok());
                // A board of which nothing else was heard is none.
                for (board, last) in numbers.unwrap_or_default() {
                    if let Some(board) = self.boards.get_mut(&((*name).to_owned(), board)) {
                        board.gave_out(last.min(i64::MAX as u64));
                    }
                }
            }
            [_, "board", board, "event", _] => {
                let row = fields(payload).and_then(|event| EventRow::of(name, board, event, false));
                let Some(row) = row else {
                    return tracing::debug!("what came for {name}/{board} is no event");
                };
                self.enqueue(row);
            }
            _ => {}
        }
    }

    /// Which gateway of the name a message is from.
    fn claim(&mut self, broker: usize, levels: &[&str], payload: &[u8], is_live: bool, now: u64) -> Claim {
        let info = matches!(levels, [_, "info"]).then(|| fields(payload)).flatten();
        let sign = Sign {
            comes: matches!(levels, [_, "status"]).then_some(payload == b"online"),
            boot: info.as_ref().and_then(|info| info["boot_id"].as_str()),
            is_live,
        };
        let name = levels[0];
        let Some(gateway) = self.gateway(name) else {
            return Claim::Foreign;
        };
        let was_online = gateway.whereabouts.is_online();
        let claim = gateway.whereabouts.take(&broker, sign, now);
        if claim == Claim::Moved || !was_online && gateway.whereabouts.is_online() {
            self.ask_anew(name);
        }
        claim
    }

    fn ask_anew(&mut self, name: &str) {
        for (_, board) in self.boards.iter_mut().filter(|((gateway, _), _)| gateway == name) {
            board.ask_anew();
        }
    }

    /// Tells of names that two gateways have.
    fn tell_doubled(&mut self, now: u64) {
        for (name, gateway) in &mut self.gateways {
            if gateway.is_doubled(now) {
                tracing::error!(
                    "two gateways are called {name}, at two brokers: the events of the second are not kept; give each a name of its own"
                );
            }
        }
    }

    /// Asks those gateways anew that have moved to this broker without a message that said so.
    fn take_over(&mut self, broker: usize, now: u64) {
        let gateways = self.gateways.iter_mut();
        let moved: Vec<String> = gateways
            .filter_map(|(name, gateway)| {
                let has_moved = gateway.whereabouts.has_moved_to(&broker, now);
                has_moved.then(|| name.clone())
            })
            .collect();
        for name in moved {
            self.ask_anew(&name);
        }
    }

    /// Puts an event into the queue, unless it is known. False where there is no room.
    fn enqueue(&mut self, row: EventRow) -> bool {
        let former_number = row.former_number();
        let former = former_number.and_then(|number| self.holder_of(number, &row));
        let is_full = self.weight + row.weight > MOST_WAITING;
        let Some(board) = self.board(&row.gateway, &row.board) else {
            return false;
        };
        board.gave_out(row.seq);
        if board.has(row.seq) {
            return true;
        }
        if let Some(former) = former {
            // Whoever has the event under its former id drops it.
            self.give_up(
                &row.gateway,
                &row.board,
                (row.seq, row.seq),
                format!("told before, as {former}"),
            );
            return true;
        }
        if is_full {
            return self.overflow();
        }
        // Of a short form the whole is still to be had.
        if !row.is_abridged {
            board.took(row.seq, row.seq);
            // The event may come once more, under a third id: its former one stays the same.
            if let Some(number) = former_number.filter(|number| *number < row.seq) {
                board.took(number, number);
            }
        }
        self.weight += row.weight;
        self.rows.push_back(row);
        true
    }

    /// The former id of an event, if the archive has the event of that id.
    fn holder_of(&self, number: u64, row: &EventRow) -> Option<String> {
        let board = self.boards.get(&(row.gateway.clone(), row.board.clone()))?;
        board.has(number).then(|| row.formerly.clone()).flatten()
    }

    fn overflow(&mut self) -> bool {
        if !std::mem::replace(&mut self.is_full, true) {
            tracing::warn!(
                "{} events wait for the database, and there is no room for more: the archive will ask the gateways for the others when the database takes events again",
                self.rows.len()
            );
        }
        false
    }

    fn give_up(&mut self, gateway: &str, board: &str, (first, last): (u64, u64), why: String) {
        if let Some(known) = self.board(gateway, board) {
            known.gave_up(first, last);
            let (gateway, board) = (gateway.to_owned(), board.to_owned());
            self.holes.push(Hole {
                gateway,
                board,
                first,
                last,
                why,
            });
        }
    }

    /// The questions to be asked over this broker now.
    pub(super) fn questions(&mut self, broker: usize, now: u64) -> Vec<Lack> {
        self.tell_doubled(now);
        self.take_over(broker, now);
        if !self.is_loaded || self.weight > ENOUGH_WAITING {
            return Vec::new();
        }
        let under_way = self.boards.values().filter(|board| board.is_asked()).count();
        let gateways = &self.gateways;
        let here = self.boards.iter_mut().filter(|((name, _), _)| {
            gateways
                .get(name)
                .and_then(|gateway| gateway.whereabouts.broker())
                == Some(&broker)
        });
        let asked = here.filter_map(|(key, board)| {
            let (after, before) = board.ask(now)?;
            Some(Lack {
                key: key.clone(),
                after,
                before,
            })
        });
        asked.take(QUESTIONS.saturating_sub(under_way)).collect()
    }

    /// Takes the answer to a question: the newest events that fitted into it, oldest first.
    pub(super) fn answered(&mut self, question: &Lack, state: &Value, now: u64) {
        let (gateway, board) = &question.key;
        let events = state["events"].as_array().map_or(&[][..], Vec::as_slice);
        let rows: Vec<EventRow> = events
            .iter()
            .filter_map(|event| EventRow::of(gateway, board, event.clone(), true))
            .collect();
        let oldest = rows.first().map(|row| row.seq);
        // A gateway that says it has more and tells nothing would be asked for ever.
        let first = match oldest {
            Some(oldest) if state["more"] == true => oldest,
            _ => question.after + 1,
        };
        let has_room = rows.into_iter().all(|row| self.enqueue(row));
        if let Some(known) = self.gateways.get_mut(gateway)
            && std::mem::take(&mut known.is_mute)
        {
            tracing::info!("gateway {gateway} answers again");
        }
        let Some(known) = self.boards.get_mut(&question.key) else {
            return;
        };
        if !has_room {
            return known.put_off(now);
        }
        for (first, last) in known.answered(first, question.before - 1, now) {
            tracing::warn!(
                "the events {first} to {last} of board {board} of gateway {gateway} cannot be had: its journal does not have them (any more), or it left out these numbers"
            );
            self.give_up(
                gateway,
                board,
                (first, last),
                "the journal does not have them".to_owned(),
            );
        }
    }

    /// Takes note that a question was refused, or not answered.
    pub(super) fn unanswered(&mut self, question: &Lack, why: &str, now: u64) {
        let (gateway, board) = &question.key;
        let Some(known) = self.boards.get_mut(&question.key) else {
            return;
        };
        let tells = known.unanswered(now);
        let Some(known) = self.gateways.get_mut(gateway).filter(|_| tells) else {
            return;
        };
        if !std::mem::replace(&mut known.is_mute, true) {
            tracing::warn!(
                "gateway {gateway} does not tell events that the archive missed, {} to {} of board {board} ({why}); it needs `commands = true` under [gateway], and a broker that lets the archive ask. The archive goes on asking",
                question.after + 1,
                question.before - 1
            );
        }
    }

    /// Takes note that a question did not get through.
    pub(super) fn put_off(&mut self, question: &Lack, now: u64) {
        if let Some(board) = self.boards.get_mut(&question.key) {
            board.put_off(now);
        }
    }

    /// Takes note that the connection to a broker is over.
    pub(super) fn lost(&mut self, broker: usize) {
        for gateway in self.gateways.values_mut() {
            gateway.whereabouts.lost(&broker);
        }
    }

    /// The oldest rows that wait, and all holes.
    pub(super) fn batch(&self, most: usize) -> (Vec<EventRow>, Vec<Hole>) {
        (self.rows.iter().take(most).cloned().collect(), self.holes.clone())
    }

    /// True while something waits.
    pub(super) fn has_work(&self) -> bool {
        !self.rows.is_empty() || !self.holes.is_empty()
    }

    /// Takes note that a batch is in the database.
    pub(super) fn written(&mut self, rows: usize, holes: usize) {
        for row in self.rows.drain(..rows.min(self.rows.len())) {
            self.weight -= row.weight;
        }
        self.holes.drain(..holes.min(self.holes.len()));
        self.is_full &= self.weight > MOST_WAITING / 2;
    }

    /// Sets the oldest row aside, which the database refuses for what is in it.
    pub(super) fn set_aside(&mut self, why: &str) {
        let Some(row) = self.rows.pop_front() else { return };
        self.weight -= row.weight;
        tracing::error!(
            "event {} of board {} of gateway {} cannot be kept: {why}. Report this with the event: {}",
            row.seq,
            row.board,
            row.gateway,
            row.columns["payload"]
        );
        self.give_up(
            &row.gateway,
            &row.board,
            (row.seq, row.seq),
            format!("refused: {why}"),
        );
    }

    fn board(&mut self, gateway: &str, board: &str) -> Option<&mut Holding> {
        let key = (gateway.to_owned(), board.to_owned());
        let has_room = self.boards.len() < MOST_BOARDS || self.boards.contains_key(&key);
        has_room.then(|| self.boards.entry(key).or_default())
    }

    fn gateway(&mut self, name: &str) -> Option<&mut NamedGateway> {
        let has_room = self.gateways.len() < MOST_BOARDS || self.gateways.contains_key(name);
        has_room.then(|| self.gateways.entry(name.to_owned()).or_default())
    }
}

fn fields(payload: &[u8]) -> Option<Value> {
    serde_json::from_slice(payload).ok().filter(Value::is_object)
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
