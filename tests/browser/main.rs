//! The arbiter's page and the public's view, in a browser.
// Helpers offer what they have as `pub`; a test panics, measures time and starts processes.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
#[path = "../help/skipped.rs"]
mod skipped;
#[path = "../help/broker.rs"]
mod broker;
#[path = "../help/browser.rs"]
mod browser;
#[path = "../help/disk.rs"]
mod disk;
#[path = "../help/evening.rs"]
mod evening;
#[path = "../help/hall.rs"]
mod hall;
#[path = "../help/lichess.rs"]
mod lichess;
#[path = "../help/page.rs"]
mod page;
#[path = "../help/seated.rs"]
mod seated;
#[path = "../help/teller.rs"]
mod teller;
#[path = "../help/thousand.rs"]
mod thousand;

mod broadcast_public;
mod dashboard_answers;
mod dashboard_edits;
mod dashboard_evenings;
mod dashboard_exchanged;
mod dashboard_figures;
mod dashboard_hall;
mod dashboard_hand;
mod dashboard_journal;
mod dashboard_keys;
mod dashboard_kings;
mod dashboard_many;
mod dashboard_names;
mod dashboard_order;
mod dashboard_page;
mod dashboard_people;
mod dashboard_record;
mod dashboard_rounds;
mod dashboard_sight;
mod dashboard_thousand;
mod dashboard_wrong;
