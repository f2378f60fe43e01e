//! Open files are counted by the system, and may run out.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use tokio::net::{TcpListener, TcpStream};

/// After a connection that could not be taken: others may have gone by then.
const PAUSE: Duration = Duration::from_millis(200);

/// About how many this program needs at most; 0 while that is not known.
static NEEDED: AtomicUsize = AtomicUsize::new(0);

/// Tells how many files and sockets the program needs by its configuration, for the message that they run out.
pub(crate) fn expect(needed: usize) {
    NEEDED.store(needed, Ordering::Relaxed);
}

/// What to do about `error`, where it means that no more files or sockets can be opened.
pub(crate) fn remedy(error: &io::Error) -> Option<String> {
    match Errno::from_io_error(error)? {
        Errno::MFILE => {
            let limit = getrlimit(Resource::Nofile).current;
            Some(out_of(limit, NEEDED.load(Ordering::Relaxed)))
        }
        Errno::NFILE => Some(
            "this computer may open no more files: its limit is in /proc/sys/fs/file-max; `lsof` shows who has so many open"
                .to_owned(),
        ),
        _ => None,
    }
}

fn out_of(limit: Option<u64>, needed: usize) -> String {
    let limit = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    let needed = match needed {
        0 => String::new(),
        needed => format!(", needed about {needed}"),
    };
    format!("too many open files: limit {limit}{needed}; raise LimitNOFILE= in the unit, or `ulimit -n`")
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
    fn limit_and_need_are_told() {
        let told = out_of(Some(24), 43);
        assert!(
            told.starts_with("too many open files: limit 24, needed about 43;"),
            "{told}"
        );
        let told = out_of(None, 0);
        assert!(told.starts_with("too many open files: limit none;"), "{told}");
    }

    #[test]
    fn only_what_runs_out_has_a_remedy() {
        let told = remedy(&io::Error::from(Errno::MFILE)).unwrap();
        assert!(told.contains("LimitNOFILE"), "{told}");
        assert!(remedy(&io::Error::from(Errno::NFILE)).is_some());
        assert!(remedy(&io::Error::from(Errno::CONNREFUSED)).is_none());
        assert!(remedy(&io::Error::other("words")).is_none());
    }
}
