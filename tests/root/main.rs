//! The daemon on disks that fail and below a systemd of its own. Some of it needs root, and says so where it is skipped.
// Helpers offer what they have as `pub`; a test panics, measures time and starts processes.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
#[path = "../help/skipped.rs"]
mod skipped;
#[path = "../help/broker.rs"]
mod broker;
#[path = "../help/disk.rs"]
mod disk;
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
#[path = "../help/replayed.rs"]
mod replayed;
#[path = "../help/retold.rs"]
mod retold;
#[path = "../help/seed.rs"]
mod seed;
#[path = "../help/station.rs"]
mod station;
#[path = "../help/wiring.rs"]
mod wiring;

mod faults_numbers;
mod folder_hangs;
mod journal_faults;
mod journal_found;
mod journal_leave;
mod journal_lift;
mod journal_numbers;
mod journal_place;
mod lacking;
mod mqtt_gateway;
mod ops_notify;
mod ops_systemd;
