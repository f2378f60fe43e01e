//! Words to the service manager. One that does not listen is not waited for.

use std::{
    env, io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
};

use sd_notify::NotifyState;

/// Tells the service manager; without one nothing happens.
pub(crate) fn notify(state: &NotifyState<'_>) {
    if let Err(error) = tell(&state.to_string()) {
        tracing::debug!(%error, "cannot notify the service manager");
    }
}

fn tell(words: &str) -> io::Result<()> {
    let Some(name) = env::var_os("NOTIFY_SOCKET") else {
        return Ok(());
    };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(words.as_bytes(), &address).map(drop)
}
