//! All gateways and boards, as their topics alone tell of them.

mod gateway;
mod gone;
mod numbers;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    board::{Board, OfRound},
    key::BoardKey,
    owners::Owners,
    pushed::Pushes,
    shares::Shares,
};
use crate::{
    broadcast::Pushed,
    config::Id,
    event::Event,
    mqtt::{Claim, Sign},
};
use gateway::Gateway;
pub(crate) use gateway::{GatewayRound, Paired, ToldNotice};
use gone::Gone;
pub(crate) use gone::NotGone;

/// How many gateways are taken in.
pub(super) const MAX_GATEWAYS: usize = 2_000;
/// How many bytes of memory a byte of a state's JSON takes at worst.
const OF_JSON: usize = 8;

/// The last levels of a board's state topics.
pub(super) const STATES: [&str; 6] = ["status", "info", "position", "game", "clock", "pgn"];

/// The round of a broadcast of this program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BroadcastRound {
    /// Its number.
    pub(crate) round: u32,
    /// The players by its pairings, by `GATEWAY/BOARD`.
    pub(crate) paired: Paired,
    /// The gateways of its boards.
    pub(crate) gateways: BTreeSet<String>,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hall {
    pub(super) boards: BTreeMap<BoardKey, Board>,
    pub(super) gateways: BTreeMap<String, Gateway>,
    /// True for a connected broker, by the broker's addresses.
    pub(super) brokers: BTreeMap<String, bool>,
    pub(super) brokers_revision: u64,
    pub(super) owners: Owners,
    /// What lichess says, by who pushes: a gateway, or a broadcast of this program, of whose name `/` is a part.
    pub(super) pushes: Pushes,
    /// The broadcasts of this program, by their groups: one without a group has an empty name.
    pub(super) own: BTreeMap<String, BroadcastRound>,
    /// How much memory each gateway takes.
    pub(super) shares: Shares,
    /// Gateways that an arbiter took off the page.
    pub(super) gone: Gone,
    numbers: numbers::GatewayNumbers,
    /// Grows with every change.
    pub(super) revision: u64,
}

impl Hall {
    /// Grows with every change.
    #[must_use]
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Notes that the connection to a broker came or went.
    pub(crate) fn broker(&mut self, address: &str, connected: bool) {
        if self.brokers.insert(address.to_owned(), connected) != Some(connected) {
            self.brokers_changed();
        }
        if !connected {
            self.owners.lost(address);
        }
    }

    /// Whose message came over `broker`; `topic` is without the base. `is_live` is false for what the broker had retained.
    pub(super) fn claim(
        &mut self,
        broker: &str,
        topic: &str,
        payload: &[u8],
        is_live: bool,
        now_ms: u64,
    ) -> Claim {
        let (gateway, rest) = topic.split_once('/').unwrap_or((topic, ""));
        let info = (rest == "info").then(|| serde_json::from_slice::<Value>(payload).unwrap_or_default());
        let sign = Sign {
            comes: (rest == "status").then_some(payload == b"online"),
            boot: info.as_ref().and_then(|info| info["boot_id"].as_str()),
            is_live,
        };
        self.owners.claim(broker, gateway, sign, now_ms)
    }

    /// The gateways that have moved to `broker`, where no message said so: the old broker said later than the new one that
    /// they have gone, or fell silent. The page must hear their retained states again.
    pub(super) fn moved_to(&mut self, broker: &str, now_ms: u64) -> Vec<String> {
        let moved = self.owners.moved_to(broker, now_ms);
        if self.owners.look(now_ms) || !moved.is_empty() {
            self.brokers_changed();
        }
        moved
    }

    fn brokers_changed(&mut self) {
        self.revision += 1;
        self.brokers_revision = self.revision;
    }

    /// The broker of a gateway.
    #[must_use]
    pub(crate) fn broker_of(&self, gateway: &str) -> Option<&str> {
        self.owners.broker_of(gateway)
    }

    /// What lichess says of the games of a group that this program broadcasts itself.
    pub(crate) fn take_pushed(&mut self, group: &str, pushed: Option<Pushed>) {
        self.push_changed(&own_name(group), pushed);
    }

    /// Takes the round of this program's own broadcast of a group; none where there is no such broadcast any more.
    pub(crate) fn take_own_round(&mut self, group: &str, round: Option<BroadcastRound>) {
        match round {
            Some(round) => drop(self.own.insert(group.to_owned(), round)),
            None => drop(self.own.remove(group)),
        }
        self.pair();
        self.brokers_revision = self.revision;
    }

    /// True where commands name a broadcast of this program so.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.own.keys().any(|group| own_name(group) == name)
    }

    /// The rounds of the gateways, also of those that are not online.
    pub(crate) fn rounds(&self) -> Vec<GatewayRound> {
        let gateways = self.gateways.iter();
        gateways
            .filter_map(|(name, gateway)| gateway.round_of(name))
            .collect()
    }

    /// Tells the boards their players.
    fn pair(&mut self) {
        self.revision += 1;
        for (key, board) in &mut self.boards {
            let paired = pairing(&self.own, &self.gateways, key);
            if board.paired != paired {
                board.paired = paired;
                board.note_who_sits();
                board.changed_at(self.revision);
            }
        }
    }

    /// Marks the boards as changed of whose games lichess now says something else.
    fn push_changed(&mut self, source: &str, pushed: Option<Pushed>) {
        let Some(concerned) = self.pushes.set(source, pushed) else {
            return;
        };
        self.revision += 1;
        self.brokers_revision = self.revision;
        for (key, board) in &mut self.boards {
            if concerned.contains(&format!("{}/{}", key.gateway, key.board)) {
                board.changed_at(self.revision);
            }
        }
    }

    /// Takes a message; `topic` without the base. True when something changed. `now_ms` is any clock
    /// that runs evenly.
    pub(crate) fn take(&mut self, topic: &str, payload: &[u8], now_ms: u64) -> bool {
        let levels: Vec<&str> = topic.split('/').collect();
        // Names are short, because they are kept for every board and every event.
        let is_name = |level: Option<&&str>| level.is_none_or(|name| name.parse::<Id>().is_ok());
        if !is_name(levels.first()) || !is_name(levels.get(2)) {
            return false;
        }
        if levels.first().is_some_and(|gateway| self.gone.is_gone(gateway)) {
            return false;
        }
        let changed = match levels[..] {
            [gateway, state] => self.take_gateway(gateway, state, payload, now_ms),
            // An empty message clears a retained state: that does not make a board.
            [_, "board", ..] if payload.is_empty() => None,
            [gateway, "board", board, state] if STATES.contains(&state) => {
                let changed =
                    self.with_board(gateway, board, |board| board.take_state(state, payload, now_ms));
                if state == "clock" && changed == Some(false) {
                    // Pages count on by themselves; tools made for LiveChess want each reading.
                    self.revision += 1;
                }
                changed
            }
            [gateway, "board", board, "event", _] => match serde_json::from_slice::<Event>(payload) {
                Ok(event) => self.with_board(gateway, board, |board| board.take_event(event)),
                Err(_) => None,
            },
            _ => None,
        };
        changed.unwrap_or_default()
    }

    /// Takes the answer to `history` of a board: the events after `after` and before `before`.
    pub(crate) fn take_history(&mut self, key: &BoardKey, after: u64, before: u64, answer: &Value) -> bool {
        let parse = |event: &Value| serde_json::from_value::<Event>(event.clone()).ok();
        let events = answer["events"].as_array();
        let events: Vec<Event> = events.into_iter().flatten().filter_map(parse).collect();
        let more = answer["more"].as_bool().unwrap_or(false);
        self.with_board(&key.gateway, &key.board, |board| {
            board.take_history(after, before, events, more);
            board.take_game(&answer["game"]);
            true
        })
        .unwrap_or_default()
    }

    /// Shows a board without the events after `after` and before `before`, which nobody tells.
    pub(crate) fn do_without(&mut self, key: &BoardKey, after: u64, before: u64) {
        self.with_board(&key.gateway, &key.board, |board| {
            board.do_without(after, before);
            true
        });
    }

    /// The stretches of missing events by board, the newest first: the `seq` before the stretch and the `seq` after it.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (&BoardKey, u64, u64)> {
        let wanted = |(key, board): (_, &Board)| board.wanted().map(|(after, before)| (key, after, before));
        let boards = self.boards.iter().filter_map(wanted);
        boards.filter(|(key, _, _)| self.is_listed(key) && self.is_online(&key.gateway))
    }

    /// True for each broker that is connected.
    #[must_use]
    pub(crate) fn connections(&self) -> Vec<bool> {
        self.brokers.values().copied().collect()
    }

    /// True where the gateway is connected to its broker.
    #[must_use]
    pub(crate) fn is_online(&self, gateway: &str) -> bool {
        self.gateways.get(gateway).is_some_and(|gateway| gateway.online)
    }

    /// How many boards a gateway lists, if it does.
    pub(super) fn boards_of(&self, gateway: &str) -> Option<usize> {
        Some(self.gateways.get(gateway)?.boards.as_ref()?.len())
    }

    /// The boards that their gateways list.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&BoardKey, &Board)> {
        self.boards.iter().filter(|(key, _)| self.is_listed(key))
    }

    /// True where the board's gateway lists it, or lists none.
    pub(super) fn is_listed(&self, key: &BoardKey) -> bool {
        let gateway = self.gateways.get(&key.gateway);
        let listed = gateway.and_then(|gateway| gateway.boards.as_ref());
        listed.is_none_or(|boards| boards.contains(&key.board))
    }

    /// A board, if the page knows it.
    #[must_use]
    pub(crate) fn board(&self, key: &BoardKey) -> Option<&Board> {
        self.boards.get(key)
    }

    fn take_gateway(&mut self, name: &str, state: &str, payload: &[u8], now_ms: u64) -> Option<bool> {
        if !["status", "info", "health"].contains(&state) {
            return None;
        }
        if self.gateways.len() >= MAX_GATEWAYS && !self.gateways.contains_key(name) {
            return None;
        }
        let revision = self.revision;
        let gateway = self.gateways.entry(name.to_owned()).or_default();
        let before = gateway.clone();
        let (mut pushed, mut told) = (None, Value::Null);
        let json = || serde_json::from_slice::<Value>(payload).unwrap_or_default();
        match state {
            "status" => gateway.online = payload == b"online",
            "info" => gateway.take_info(&json()),
            _ => {
                let health = json();
                pushed = serde_json::from_value(health["lichess"].clone()).ok();
                let notices = health["notices"].as_array().into_iter().flatten();
                gateway.notices = notices.filter_map(ToldNotice::read).collect();
                gateway.rival = health["broker"]["rival"].as_str().map(str::to_owned);
                told = health;
            }
        }
        let weight = OF_JSON * payload.len();
        let weighed = gateway.weights.insert(state.to_owned(), weight);
        self.shares.weighed(name, weighed.unwrap_or_default(), weight);
        let changed = before != *gateway;
        if changed {
            self.revision += 1;
            gateway.revision = self.revision;
        }
        let is_paired_anew = before.paired != gateway.paired || before.round != gateway.round;
        if before.online != gateway.online || before.boards != gateway.boards {
            // A change of the gateway changes the view of its boards.
            for (_, board) in self.boards.iter_mut().filter(|(key, _)| key.gateway == name) {
                board.changed_at(self.revision);
            }
        }
        if is_paired_anew {
            self.pair();
        }
        if state == "health" {
            self.push_changed(name, pushed);
            self.take_health(name, &told, now_ms);
        }
        self.make_room();
        Some(self.revision != revision)
    }

    fn with_board(
        &mut self,
        gateway: &str,
        board: &str,
        change: impl FnOnce(&mut Board) -> bool,
    ) -> Option<bool> {
        let key = BoardKey {
            gateway: gateway.to_owned(),
            board: board.to_owned(),
        };
        let is_new = !self.boards.contains_key(&key);
        let paired = pairing(&self.own, &self.gateways, &key);
        let board = self.boards.entry(key).or_default();
        if is_new {
            board.paired = paired;
        }
        let before = board.weight();
        let changed = change(board);
        if changed {
            self.revision += 1;
            board.changed_at(self.revision);
        }
        if is_new {
            self.shares.board_came(gateway);
        }
        self.shares.weighed(gateway, before, board.weight());
        self.make_room();
        Some(changed)
    }

    /// Drops what is too much, of the gateway that takes most: earlier games first.
    fn make_room(&mut self) {
        while let Some(gateway) = self.shares.too_heavy() {
            let boards = self.boards.iter_mut().filter(|(key, _)| key.gateway == gateway);
            let heaviest = boards
                .map(|(_, board)| board)
                .max_by_key(|board| board.earlier_weight());
            let Some(board) = heaviest.filter(|board| board.earlier_weight() > 0) else {
                break;
            };
            let before = board.weight();
            board.forget_earlier();
            self.shares.weighed(&gateway, before, board.weight());
        }
        while let Some(gateway) = self.shares.too_much() {
            self.drop_one(&gateway);
            self.revision += 1;
            self.brokers_revision = self.revision;
        }
    }

    /// Drops the last board of a gateway, or what is left of the gateway. True while there may be more.
    pub(super) fn drop_one(&mut self, gateway: &str) -> bool {
        let last = self.boards.keys().rev().find(|key| key.gateway == gateway);
        if let Some(board) = last.cloned().and_then(|last| self.boards.remove(&last)) {
            self.shares.board_went(gateway, board.weight());
            return true;
        }
        let gone = self.gateways.remove(gateway);
        let weight = gone.iter().flat_map(|gone| gone.weights.values()).sum();
        self.shares.weighed(gateway, weight, 0);
        false
    }
}

/// A name for the broadcast of a group that no gateway has.
pub(crate) fn own_name(group: &str) -> String {
    format!("/{group}")
}

/// The players at a board: by our own pairings first, then by those of its gateway.
fn pairing(
    own: &BTreeMap<String, BroadcastRound>,
    gateways: &BTreeMap<String, Gateway>,
    key: &BoardKey,
) -> Option<OfRound> {
    let full = format!("{}/{}", key.gateway, key.board);
    // Games tell the round of their gateway, which is not our own.
    let own = own.values().find_map(|own| own.paired.get(&full));
    let own = own.map(|players| (players, None));
    let of_gateway = || {
        let gateway = gateways.get(&key.gateway)?;
        Some((gateway.paired.get(&key.board)?, gateway.round))
    };
    let (players, round) = own.or_else(of_gateway)?;
    let players = players.clone();
    Some(OfRound { players, round })
}

#[cfg(test)]
mod day_tests;
#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod tests;
