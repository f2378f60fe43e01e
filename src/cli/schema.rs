//! `dgt2mqtt schema`: what the payloads look like.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use anyhow::Context;
use clap::Args;
use schemars::{Schema, schema_for};

use crate::{
    event::Event,
    gateway::{GatewayInfo, Health},
    mqtt::ReplyPayload,
    watcher::{BoardInfo, ClockView, Command, GameView, PositionView, Reply, Status},
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
        ("command", schema_for!(Command)),
        ("reply", schema_for!(ReplyPayload<Reply>)),
        ("gateway_info", schema_for!(GatewayInfo)),
        ("health", schema_for!(Health)),
    ])
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
