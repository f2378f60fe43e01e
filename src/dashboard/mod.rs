//! The arbiter's page: all boards of the hall, what is wrong on them, and the arbiter's answers.
//!
//! [`Hall`] is pure: topics in, views out. It holds nothing that cannot be had again: the states are
//! retained on the broker, and events that were missed are asked for with `history`. A `Listener`
//! feeds it, the web server shows it.
#![allow(clippy::disallowed_methods)] // connections and pages live on the wall clock.

mod access;
mod assets;
mod board;
mod cases;
mod collect;
mod earlier;
mod games;
mod guesses;
mod hall;
mod key;
mod legal;
mod listener;
pub mod livechess;
mod owners;
mod people;
mod pushed;
mod server;
mod shares;
mod stream;
mod view;

pub use access::Access;
pub use board::Board;
pub use cases::CaseView;
pub use collect::collect;
pub use games::GameLine;
pub use hall::{Hall, NotGone, Paired};
pub use key::BoardKey;
pub use listener::{Ask, AskError, Asks, Listener, Shared};
pub use pushed::{PushView, PushedView};
pub use server::serve;
pub use view::{BoardView, DetailView, GatewayView, HallView, LinksView, PastView};
