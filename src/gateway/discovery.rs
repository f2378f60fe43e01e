//! Entities of the boards for Home Assistant, by its MQTT discovery. Home Assistant shows the entities that are
//! retained below its prefix, and their values follow the states that the gateway publishes anyway.

use serde_json::{Value, json};

use crate::{
    config::{BaseTopic, Config, Id},
    mqtt::{BoardState, Topics},
};

/// One of the entities of each board.
struct Entity {
    /// Its kind, the second level of the topic.
    platform: &'static str,
    id: &'static str,
    name: &'static str,
    state: BoardState,
    template: &'static str,
    more: fn() -> Value,
}

const ENTITIES: [Entity; 7] = [
    Entity {
        platform: "binary_sensor",
        id: "link",
        name: "Link",
        state: BoardState::Status,
        template: "{{ value }}",
        more: || json!({ "device_class": "connectivity", "payload_on": "online", "payload_off": "offline" }),
    },
    Entity {
        platform: "sensor",
        id: "game",
        name: "Game",
        state: BoardState::Game,
        template: "{{ 'none' if value_json.game is none else ('playing' if value_json.result == '*' else value_json.result) }}",
        more: || json!({ "icon": "mdi:chess-king" }),
    },
    Entity {
        platform: "sensor",
        id: "open",
        name: "Open irregularities",
        state: BoardState::Game,
        template: "{{ value_json.open_irregularities | count }}",
        more: || json!({ "icon": "mdi:alert", "state_class": "measurement" }),
    },
    Entity {
        platform: "sensor",
        id: "white_time",
        name: "White's time",
        state: BoardState::Clock,
        template: "{{ (value_json.clock.white_ms / 1000) | int if value_json.clock else None }}",
        more: seconds,
    },
    Entity {
        platform: "sensor",
        id: "black_time",
        name: "Black's time",
        state: BoardState::Clock,
        template: "{{ (value_json.clock.black_ms / 1000) | int if value_json.clock else None }}",
        more: seconds,
    },
    Entity {
        platform: "sensor",
        id: "battery",
        name: "Board's battery",
        state: BoardState::Info,
        template: "{{ value_json.battery.percent if value_json.battery else None }}",
        more: || json!({ "device_class": "battery", "unit_of_measurement": "%", "entity_category": "diagnostic" }),
    },
    Entity {
        platform: "binary_sensor",
        id: "clock_battery",
        name: "Clock's battery",
        state: BoardState::Info,
        template: "{{ 'ON' if value_json.clock_battery_low else 'OFF' }}",
        more: || json!({ "device_class": "battery", "entity_category": "diagnostic" }),
    },
];

fn seconds() -> Value {
    json!({ "device_class": "duration", "unit_of_measurement": "s" })
}

/// The retained messages: topic and payload. None unless the configuration asks for them.
pub(super) fn messages(config: &Config, topics: &Topics) -> Vec<(String, Value)> {
    let Some(prefix) = &config.home_assistant else {
        return Vec::new();
    };
    let board = |id: &Id| {
        let node = node(config, id);
        let device = json!({
            "identifiers": [node], "name": format!("Board {id} ({})", config.gateway),
            "model": "electronic chess board", "sw_version": env!("CARGO_PKG_VERSION"),
        });
        let gateway = json!({ "topic": topics.status() });
        let online = json!({ "topic": topics.board_state(id, BoardState::Status) });
        let entity = |entity: &Entity| {
            // Whether the board is online is known as long as the gateway is.
            let availability = match entity.state {
                BoardState::Status => json!([gateway]),
                _ => json!([gateway, online]),
            };
            let mut payload = json!({
                "name": entity.name, "unique_id": format!("{node}_{}", entity.id), "object_id": format!("{node}_{}", entity.id),
                "state_topic": topics.board_state(id, entity.state), "value_template": entity.template,
                "availability": availability, "availability_mode": "all", "device": device,
                "origin": { "name": "dgt2mqtt", "sw_version": env!("CARGO_PKG_VERSION") },
            });
            for (key, value) in (entity.more)().as_object().into_iter().flatten() {
                payload[key] = value.clone();
            }
            (entity.topic(prefix, &node), payload)
        };
        ENTITIES.iter().map(entity).collect::<Vec<_>>()
    };
    config.boards.iter().flat_map(|plan| board(&plan.id)).collect()
}

/// The topics of a board's entities. None unless the configuration asks for them.
pub(super) fn topics(config: &Config, board: &Id) -> Vec<String> {
    let node = node(config, board);
    let prefix = config.home_assistant.iter();
    let topics = prefix.flat_map(|prefix| ENTITIES.iter().map(|entity| entity.topic(prefix, &node)));
    topics.collect()
}

/// The part of the id that all entities of a board share.
fn node(config: &Config, board: &Id) -> String {
    format!("dgt2mqtt_{}_{board}", config.gateway)
}

impl Entity {
    fn topic(&self, prefix: &BaseTopic, node: &str) -> String {
        format!("{prefix}/{}/{node}/{}/config", self.platform, self.id)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Env;

    fn said(more: &str) -> Vec<(String, Value)> {
        let text = format!(
            "[gateway]\nname = \"hall\"\n[[board]]\nid = \"1\"\nport = \"/dev/ttyUSB0\"\n[journal]\npath = \"j\"\n{more}"
        );
        let config = Config::from_text(&text, Path::new("t.toml"), &Env::default()).unwrap();
        messages(&config, &Topics::new(&config.base_topic, &config.gateway))
    }

    #[test]
    fn nothing_unless_it_is_wanted() {
        assert!(said("").is_empty());
    }

    #[test]
    fn a_board_has_its_entities_with_both_availability_topics() {
        let said = said("[home_assistant]\nprefix = \"ha\"\n");
        assert_eq!(said.len(), 7);
        let (topic, open) = &said[2];
        assert_eq!(topic, "ha/sensor/dgt2mqtt_hall_1/open/config");
        assert_eq!(open["state_topic"], "dgt2mqtt/hall/board/1/game");
        let topics: Vec<_> = open["availability"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["topic"])
            .collect();
        assert_eq!(topics, ["dgt2mqtt/hall/status", "dgt2mqtt/hall/board/1/status"]);
        assert_eq!(open["availability_mode"], "all");
        let (_, battery) = &said[5];
        assert_eq!(battery["state_topic"], "dgt2mqtt/hall/board/1/info");
        let (topic, link) = &said[0];
        assert_eq!(topic, "ha/binary_sensor/dgt2mqtt_hall_1/link/config");
        assert_eq!(
            link["availability"].as_array().unwrap().len(),
            1,
            "it tells that the board is away"
        );
    }
}
