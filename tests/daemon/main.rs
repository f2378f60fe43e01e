//! The daemon among brokers, serial lines, servers of others, and kills.
// Helpers offer what they have as `pub`; a test panics, measures time and starts processes.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
#[path = "../help/skipped.rs"]
mod skipped;
#[path = "../help/arbiter.rs"]
mod arbiter;
#[path = "../help/broker.rs"]
mod broker;
#[path = "../help/certificates.rs"]
mod certificates;
#[path = "../help/database.rs"]
mod database;
#[path = "../help/disk.rs"]
mod disk;
#[path = "../help/ejabberd.rs"]
mod ejabberd;
#[path = "../help/faketime.rs"]
mod faketime;
#[path = "../help/hall.rs"]
mod hall;
#[path = "../help/lichess.rs"]
mod lichess;
#[path = "../help/numbered.rs"]
mod numbered;
#[path = "../help/offences.rs"]
mod offences;
#[path = "../help/page.rs"]
mod page;
#[path = "../help/proxy.rs"]
mod proxy;
#[path = "../help/reader.rs"]
mod reader;
#[path = "../help/relay.rs"]
mod relay;
#[path = "../help/relay_rules/mod.rs"]
mod relay_rules;
#[path = "../help/replayed.rs"]
mod replayed;
#[path = "../help/retold.rs"]
mod retold;
#[path = "../help/rmqttd.rs"]
mod rmqttd;
#[path = "../help/seated.rs"]
mod seated;
#[path = "../help/seed.rs"]
mod seed;
#[path = "../help/station.rs"]
mod station;
#[path = "../help/wire.rs"]
mod wire;
#[path = "../help/wiring.rs"]
mod wiring;

mod access;
mod alerts;
mod archive;
mod archive_queries;
mod backup;
mod broadcast_clocks;
mod broadcast_folder;
mod broadcast_lichess;
mod broadcast_pace;
mod broadcast_rounds;
mod broadcast_wall_clock;
mod broker_as_installed;
mod card_lost;
mod cli_demo;
mod cli_init;
mod containers;
mod contract;
mod diagnose;
mod doors;
mod doors_idle;
mod e2e_bad_input;
mod e2e_chaos;
mod e2e_same_events;
mod evening_log;
mod families_daemon;
mod faults_boards;
mod faults_broker;
mod faults_busy;
mod faults_clock;
mod faults_commands;
mod faults_doors;
mod faults_flood;
mod faults_folder;
mod faults_foreign;
mod faults_kill;
mod faults_late;
mod faults_log;
mod faults_machine;
mod faults_names;
mod faults_order;
mod faults_unfit;
mod forty_gateways;
mod forward;
mod four_ways;
mod journal_unread;
mod line_daemon;
mod link_serial;
mod livechess_interface;
mod lost_words;
mod mqtt_commands;
mod mqtt_deaf;
mod mqtt_discovery;
mod mqtt_faults;
mod mqtt_kill;
mod mqtt_lanes;
mod mqtt_names;
mod mqtt_unfit;
mod neighbours;
mod older_copies;
mod olympiad;
mod pressure;
mod record;
mod reload;
mod rollout;
mod rounds_begin;
mod rounds_commands;
mod rounds_own;
mod rounds_put_right;
mod rounds_renumber;
mod setups;
mod sim_simulate;
mod sim_story;
mod trials;
mod upgrade;
mod watching;
