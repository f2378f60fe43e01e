//! The local interface that pages and tools for boards of this family expect (version 1.0 at port 1982): boards and
//! games over HTTP, and the position on a board over a WebSocket.
//!
//! The shapes are those that public clients read. No field is added or left out, because some clients decode strictly.
//! The half-moves come from the gateway: this module reconstructs none.

mod followed;
mod server;
mod session;
mod shapes;
mod sockets;

pub(crate) use server::serve;
