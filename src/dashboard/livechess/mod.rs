//! The local interface that pages and tools for boards of this family expect (version 1.0 at port
//! 1982): boards and games over HTTP, what stands on a board over a WebSocket.
//!
//! The shapes are those that public clients read; fields are neither added nor left out, because
//! some clients decode strictly. Moves are the gateway's: nothing is reconstructed here.

mod server;
mod session;
mod shapes;
mod sockets;

pub(crate) use server::serve;
