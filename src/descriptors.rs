//! Open files are counted by the system, and may run out.

use std::{io, time::Duration};

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use tokio::net::{TcpListener, TcpStream};

/// After a connection that could not be taken: others may have gone by then.
const PAUSE: Duration = Duration::from_millis(200);

/// What to do about `error`, where it means that no more files or sockets can be opened.
pub(crate) fn remedy(error: &io::Error) -> Option<String> {
    match Errno::from_io_error(error)? {
        Errno::MFILE => {
            let limit = getrlimit(Resource::Nofile).current;
            let limit = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
            Some(format!(
                "this program may open no more files and sockets: its limit is {limit}, it needs about 40 and one for each \
                 board; raise LimitNOFILE= in the unit, or `ulimit -n`"
            ))
        }
        Errno::NFILE => Some(
            "this computer may open no more files: its limit is in /proc/sys/fs/file-max; `lsof` shows who has so many open"
                .to_owned(),
        ),
        _ => None,
    }
}

/// The next connection. Where none can be taken it says so, once, and tries again.
pub(crate) async fn accept(listener: &TcpListener, what: &str) -> (TcpStream, std::net::SocketAddr) {
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                if let Some(remedy) = remedy(&error).filter(|_| !told) {
                    told = true;
                    tracing::warn!(code = "descriptors_out", "{what}: nobody new is let in: {remedy}");
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_out_has_a_remedy() {
        let told = remedy(&io::Error::from(Errno::MFILE)).unwrap();
        assert!(told.contains("LimitNOFILE"), "{told}");
        assert!(remedy(&io::Error::from(Errno::NFILE)).is_some());
        assert!(remedy(&io::Error::from(Errno::CONNREFUSED)).is_none());
        assert!(remedy(&io::Error::other("words")).is_none());
    }
}
