//! `dgt2mqtt schema`: what the payloads look like.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use anyhow::Context;
use clap::Args;
use schemars::{Schema, schema_for};
use serde_json::{Map, Value, json};

use crate::{
    config::MAX_NAME,
    event::Event,
    gateway::{GatewayInfo, Health},
    mqtt::{
        Bind, History, LogAsked, NextRound, PairingsAsked, Renumber, ReplyPayload, ResultsAsked,
        command::SENDER,
    },
    watcher::{BoardInfo, ClockView, Command, Expected, GameView, PositionView, Reply, Status},
};

/// Print the JSON Schemas of events, states and commands.
#[derive(Debug, Args)]
pub(super) struct PrintSchema {
    /// Only this one
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(schemas().into_keys()))]
    name: Option<String>,
}

/// The schemas by the last level of the topic; the gateway's own `info` is `gateway_info`.
#[must_use]
pub fn schemas() -> BTreeMap<&'static str, Schema> {
    BTreeMap::from([
        ("event", schema_for!(Event)),
        ("status", schema_for!(Status)),
        ("info", schema_for!(BoardInfo)),
        ("position", schema_for!(PositionView)),
        ("game", schema_for!(GameView)),
        ("clock", schema_for!(ClockView)),
        ("command", commands()),
        ("reply", schema_for!(ReplyPayload<Reply>)),
        ("gateway_info", schema_for!(GatewayInfo)),
        ("health", schema_for!(Health)),
    ])
}

/// The payloads of commands by verb, `$defs/VERB`. The topic has the verb, and every command may carry a `ref`.
fn commands() -> Schema {
    let mut verbs = Map::new();
    let mut types = Map::new();
    let mut all = schema_for!(Command).to_value();
    if let Some(Value::Object(defs)) = all.get_mut("$defs").map(Value::take) {
        types.extend(defs);
    }
    let variants = all["oneOf"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    for variant in variants {
        if let Some(verb) = variant["properties"]["verb"]["const"].as_str() {
            verbs.insert(verb.to_owned(), of_board(payload(&variant, &types)));
        }
    }
    let nothing =
        |what: &str| json!({ "description": what, "type": "object", "additionalProperties": false });
    verbs.insert(
        "republish".to_owned(),
        payload(&nothing("Every state is sent again."), &types),
    );
    verbs.insert(
        "ping".to_owned(),
        payload(&nothing("The gateway answers."), &types),
    );
    verbs.insert(
        "reload".to_owned(),
        payload(&nothing("The configuration is read again."), &types),
    );
    verbs.insert(
        "log".to_owned(),
        payload(&schema_for!(LogAsked).to_value(), &types),
    );
    verbs.insert(
        "history".to_owned(),
        payload(&schema_for!(History).to_value(), &types),
    );
    verbs.insert(
        "pairings".to_owned(),
        payload(&schema_for!(PairingsAsked).to_value(), &types),
    );
    verbs.insert(
        "next_round".to_owned(),
        payload(&schema_for!(NextRound).to_value(), &types),
    );
    verbs.insert(
        "renumber".to_owned(),
        payload(&schema_for!(Renumber).to_value(), &types),
    );
    verbs.insert(
        "results".to_owned(),
        payload(&schema_for!(ResultsAsked).to_value(), &types),
    );
    verbs.insert("bind".to_owned(), payload(&schema_for!(Bind).to_value(), &types));
    let any: Vec<Value> = verbs
        .keys()
        .map(|verb| json!({ "$ref": format!("#/$defs/{verb}") }))
        .collect();
    types.append(&mut verbs);
    let whole = json!({
        "$schema": all["$schema"],
        "title": "Command",
        "description": "The payload of a command. The last level of the topic is the verb: `#/$defs/VERB` is its payload.",
        "anyOf": any,
        "$defs": types,
    });
    Schema::try_from(whole).unwrap_or_default()
}

/// The payload of a command to a board, which may say what its sender saw.
fn of_board(mut payload: Value) -> Value {
    if let Some(properties) = payload["properties"].as_object_mut() {
        let expected = schema_for!(Expected).to_value();
        let fields = expected["properties"].as_object().cloned().unwrap_or_default();
        properties.extend(fields);
    }
    payload
}

/// The payload of a verb: the fields of its type without the verb, and the fields that every command may have.
fn payload(variant: &Value, types: &Map<String, Value>) -> Value {
    // A variant that is a type of its own has its fields there.
    let named = variant["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    let mut payload = named.and_then(|name| types.get(name)).unwrap_or(variant).clone();
    if let Some(fields) = payload.as_object_mut() {
        fields.remove("$schema");
        fields.remove("title");
        if let Some(description) = variant.get("description") {
            fields.insert("description".to_owned(), description.clone());
        }
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.remove("verb");
            let reference = json!({
                "description": "The caller's reference, which the answer repeats; the same one again is answered as it was.",
                "type": ["string", "number", "null"],
            });
            properties.insert("ref".to_owned(), reference);
            let sender = json!({
                "description": "Who sends it, in his own words: events that come of it have it as `by`.",
                "type": ["string", "null"],
                "minLength": 1,
                "maxLength": MAX_NAME,
            });
            properties.insert(SENDER.to_owned(), sender);
        }
        if let Some(Value::Array(required)) = fields.get_mut("required") {
            required.retain(|field| field != "verb");
        }
    }
    payload
}

impl PrintSchema {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut all = schemas();
        let text = match &self.name {
            Some(name) => serde_json::to_string_pretty(&all.remove(name.as_str()))?,
            None => serde_json::to_string_pretty(&all)?,
        };
        writeln!(io::stdout().lock(), "{text}").context("cannot write the schema")
    }
}
