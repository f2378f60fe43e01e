//! What needs no server, no browser and no running daemon: rules, records, recognition, files, documents.
// Helpers offer what they have as `pub`; a test panics, measures time and starts processes.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
#[path = "../help/skipped.rs"]
mod skipped;
#[path = "../../fuzz/checks/mod.rs"]
mod checks;
#[path = "../help/reader.rs"]
mod reader;
#[path = "../help/relay_rules/mod.rs"]
mod relay_rules;
#[path = "../help/seed.rs"]
mod seed;
#[path = "../help/told/mod.rs"]
mod told;

mod advisories;
mod board_memory;
mod circles;
mod cli_replay;
mod cli_schema;
mod config_file;
mod corpus;
mod fuzz_corpora;
mod games_once_wrong;
mod games_printed;
mod gaps;
mod impls;
mod laws_document;
mod laws_rule_command;
mod laws_rulings;
mod laws_sentences;
mod line_games;
mod line_others;
mod line_restarts;
mod long_games;
mod mate_corpus;
mod next_games;
mod occ1_games;
mod ops_docs;
mod ops_udev;
mod ops_units;
mod package_tree;
mod recognition_doc;
mod relay_cases;
mod relay_output;
mod release;
mod reliability_doc;
mod rooms;
mod said_and_true;
mod silent_boards;
mod snapshots;
mod whole_positions;
mod wire;
mod words;
