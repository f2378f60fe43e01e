//! A gateway of our own for tests of the page: it says what it is told to.

use std::{collections::BTreeMap, time::Duration};

use rumqttc::v5::{Client, MqttOptions, mqttbytes::QoS};
use serde_json::{Value, json};

const FEN: &str = "r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/2N2N2/PPPP1PPP/R1BQKB1R";

/// The moment so many seconds ago.
pub fn ago(seconds: i64) -> String {
    let now = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(now - seconds).unwrap().to_string()
}

/// Gateways and boards by hand.
pub struct Teller {
    client: Client,
    /// The last number of each board's events, and what its game says.
    boards: BTreeMap<String, (u64, Value)>,
    _working: std::thread::JoinHandle<()>,
}

impl Teller {
    pub fn connect(port: u16) -> Self {
        let mut options = MqttOptions::new("teller", "127.0.0.1", port);
        options.set_keep_alive(Duration::from_secs(30));
        let (client, mut connection) = Client::new(options, 4096);
        let working = std::thread::spawn(move || {
            for event in connection.iter() {
                if event.is_err() {
                    return;
                }
            }
        });
        Self {
            client,
            boards: BTreeMap::new(),
            _working: working,
        }
    }

    /// Retains `payload` below the base topic.
    pub fn tell(&mut self, topic: &str, payload: &str) {
        self.publish(topic, true, payload);
    }

    /// Says `payload` below the base topic; nothing is retained.
    pub fn say(&mut self, topic: &str, payload: &str) {
        self.publish(topic, false, payload);
    }

    fn publish(&mut self, topic: &str, retain: bool, payload: &str) {
        let topic = format!("dgt2mqtt/{topic}");
        self.client
            .publish(topic, QoS::AtLeastOnce, retain, payload.to_owned())
            .unwrap();
    }

    pub fn online(&mut self, gateway: &str, commands: bool) {
        self.tell(&format!("{gateway}/status"), "online");
        self.tell(
            &format!("{gateway}/info"),
            &json!({ "version": "0", "commands": commands }).to_string(),
        );
    }

    /// The gateway's boards are these.
    pub fn boards(&mut self, gateway: &str, boards: &[&str]) {
        let info = json!({ "version": "0", "commands": true, "boards": boards });
        self.tell(&format!("{gateway}/info"), &info.to_string());
    }

    /// A board at which White has just made half-move `ply`, with its clock running.
    pub fn board(&mut self, gateway: &str, board: &str, [white, black]: [&str; 2], ply: u64) {
        let at = format!("{gateway}/board/{board}");
        let made = json!({ "type": "move", "ply": ply, "uci": "g1f3", "san": "Nf3", "fen": format!("{FEN} b KQkq - 0 31"),
            "completed_by": "clock", "clock": null, "illegal": false });
        let game = json!({ "game": 1, "start_fen": null, "chess960": false, "moves": vec!["g1f3"; ply as usize],
            "san": vec!["Nf3"; ply as usize], "fen": format!("{FEN} b KQkq - 0 31"), "to_move": "black", "result": "*",
            "open_irregularities": [], "last_seq": 0 });
        self.boards.insert(at.clone(), (0, game));
        self.tell(&format!("{at}/status"), "online");
        self.tell(
            &format!("{at}/position"),
            &json!({ "placement": FEN, "fen": null, "problems": [] }).to_string(),
        );
        let clock = json!({ "white_ms": 5_025_000, "black_ms": 4_000_000, "running": "black" });
        self.tell(&format!("{at}/clock"), &json!({ "clock": clock }).to_string());
        self.tell(
            &format!("{at}/pgn"),
            &format!("[White \"{white}\"]\n[Black \"{black}\"]\n\n*\n"),
        );
        self.event(&at, &ago(5), &made);
    }

    /// An open irregularity in the last half-move.
    pub fn case(&mut self, gateway: &str, board: &str, certainty: &str, time: &str) {
        let words = json!({ "title": "Illegal move: White, knight b1-d4 (the piece does not move so)", "advice": "Put it back." });
        let russian = json!({ "title": "Невозможный ход: белые, конь b1-d4 (фигура так не ходит)", "advice": "Вернуть." });
        let ruling = json!({ "penalty": { "kind": "time", "seconds": 120, "to": "black" }, "position": "reinstate_before",
            "articles": ["7.5.1"], "target_fen": null, "clock_proposal": null });
        let case = json!({ "type": "irregularity", "kind": "illegal_move", "offender": "white", "ply": 61, "certainty": certainty,
            "articles": ["7.5.1"], "squares": ["d4"], "move": "b1d4", "reason": null, "fen_before": format!("{FEN} w KQkq - 0 31"),
            "placement": FEN, "clock": null, "offence_number": 1, "ruling": ruling, "text": { "en": words, "ru": russian } });
        self.event(&format!("{gateway}/board/{board}"), time, &case);
    }

    /// Nothing of the board is retained any more.
    pub fn gone(&mut self, gateway: &str, board: &str) {
        for state in ["status", "position", "game", "clock", "pgn"] {
            self.tell(&format!("{gateway}/board/{board}/{state}"), "");
        }
    }

    /// Says an event, and the state of the game after it.
    pub fn event(&mut self, at: &str, time: &str, body: &Value) {
        let (gateway, board) = at.split_once("/board/").unwrap();
        let (seq, game) = self.boards.get_mut(at).unwrap();
        *seq += 1;
        let id = format!("{gateway}/{board}/{seq}");
        let mut event =
            json!({ "v": 1, "id": id, "seq": *seq, "board": board, "game": 1, "t": 1.0, "time": time });
        event
            .as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        game["last_seq"] = (*seq).into();
        if event["type"] == "irregularity" {
            game["open_irregularities"]
                .as_array_mut()
                .unwrap()
                .push(id.into());
        }
        let (event, game) = (event, game.to_string());
        let kind = event["type"].as_str().unwrap().to_owned();
        self.publish(&format!("{at}/event/{kind}"), false, &event.to_string());
        self.tell(&format!("{at}/game"), &game);
    }
}
