//! An arbiter who sends commands to the gateway without the page.

use serde_json::Value;

use crate::broker::{self, Subscriber};

/// The arbiter, who numbers his commands.
pub struct Arbiter {
    pub subscriber: Subscriber,
    commands: std::cell::Cell<u32>,
}

impl Arbiter {
    pub async fn new(port: u16) -> Self {
        Self {
            subscriber: Subscriber::new(port, "#").await,
            commands: std::cell::Cell::new(0),
        }
    }

    pub async fn ask(&self, verb: &str, mut fields: Value) -> Value {
        let reference = self.commands.get() + 1;
        self.commands.set(reference);
        fields["ref"] = reference.into();
        let (topic, reply) = (
            format!("dgt2mqtt/gw/cmd/{verb}"),
            format!("dgt2mqtt/gw/reply/{verb}"),
        );
        self.subscriber
            .publish(&topic, false, fields.to_string(), None)
            .await;
        let is_answer = |got: &broker::Got| got.topic == reply && got.json()["ref"] == reference;
        self.subscriber.wait(verb, is_answer).await.json()
    }

    /// Sends a command whose answer nobody waits for.
    pub async fn say(&self, verb: &str, fields: &Value) {
        let topic = format!("dgt2mqtt/gw/cmd/{verb}");
        self.subscriber
            .publish(&topic, false, fields.to_string(), None)
            .await;
    }

    /// Who plays at which board as a daemon says that is none of the `former` ones, and its boot id.
    pub async fn players(&self, former: &[&str]) -> (Value, String) {
        let is_new = |got: &broker::Got| {
            got.topic == "dgt2mqtt/gw/info" && !former.contains(&got.json()["boot_id"].as_str().unwrap())
        };
        let info = self
            .subscriber
            .wait("info of the next daemon", is_new)
            .await
            .json();
        (
            info["players"].clone(),
            info["boot_id"].as_str().unwrap().to_owned(),
        )
    }

    /// Waits until `white` plays at a board.
    pub async fn names(&self, board: &str, white: &str) {
        let says =
            |got: &broker::Got| got.topic == "dgt2mqtt/gw/info" && got.json()["players"][board][0] == white;
        self.subscriber.wait("the names", says).await;
    }

    pub async fn done(&self, verb: &str, fields: Value) -> Value {
        let answer = self.ask(verb, fields).await;
        assert_eq!(answer["ok"], true, "{verb}: {answer}");
        answer["state"].clone()
    }

    pub async fn refused(&self, verb: &str, fields: Value) -> String {
        let answer = self.ask(verb, fields).await;
        assert_eq!(answer["ok"], false, "{verb}: {answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    /// A daemon that is none of the `former` ones says who plays at board 1. Returns its boot id.
    pub async fn info(&self, white: Option<&str>, former: &[&str]) -> String {
        let says = |got: &broker::Got| {
            got.topic == "dgt2mqtt/gw/info"
                && got.json()["players"]["1"][0].as_str() == white
                && !former.contains(&got.json()["boot_id"].as_str().unwrap())
        };
        let got = self.subscriber.wait("info with the players", says).await;
        got.json()["boot_id"].as_str().unwrap().to_owned()
    }

    pub async fn event(&self, kind: &str, game: u32) -> Value {
        let topic = format!("dgt2mqtt/gw/board/1/event/{kind}");
        let is_it = |got: &broker::Got| got.topic == topic && got.json()["game"] == game;
        self.subscriber.wait(kind, is_it).await.json()
    }
}
