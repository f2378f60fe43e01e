//! Writes the log to the journal of systemd in its own protocol. An entry has the message for a person, its urgency,
//! and the fields, each as `DGT_NAME`.

use std::{fmt, io, os::unix::net::UnixDatagram};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

const SOCKET: &str = "/run/systemd/journal/socket";

/// The socket of the journal.
pub(super) struct Journald(UnixDatagram);

impl Journald {
    /// # Errors
    /// When there is no journal.
    pub(super) fn open() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        // The journal drops empty datagrams. A journal that does not read at the moment is there all the same.
        socket.set_nonblocking(true)?;
        match socket.send_to(&[], SOCKET) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => socket.set_nonblocking(false)?,
        }
        Ok(Self(socket))
    }

    /// Sends one entry, and waits while the journal does not read. An entry that the journal refuses is lost, because
    /// there is nobody to tell.
    pub(super) fn send(&self, entry: &[u8]) {
        let _ = self.0.send_to(entry, SOCKET);
    }
}

/// The entry that tells how many lines were dropped.
pub(super) fn gap(count: u64) -> Vec<u8> {
    let words = super::gap_words(count);
    format!("PRIORITY=4\nSYSLOG_IDENTIFIER=dgt2mqtt\nMESSAGE={words}\n").into_bytes()
}

/// Writes an event as an entry.
pub(super) struct JournaldEntry;

impl<S, N> FormatEvent<S, N> for JournaldEntry
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let data = event.metadata();
        let priority = match *data.level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 5,
            Level::DEBUG => 6,
            Level::TRACE => 7,
        };
        writeln!(out, "PRIORITY={priority}")?;
        writeln!(out, "SYSLOG_IDENTIFIER=dgt2mqtt")?;
        writeln!(out, "TARGET={}", data.target())?;
        let mut fields = Fields { out, outcome: Ok(()) };
        event.record(&mut fields);
        fields.outcome
    }
}

struct Fields<'w> {
    out: Writer<'w>,
    outcome: fmt::Result,
}

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: &str) {
        let name: String = match field.name() {
            "message" => "MESSAGE".to_owned(),
            name => format!(
                "DGT_{}",
                name.to_uppercase()
                    .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
            ),
        };
        // A line break would begin another field.
        let value = value.replace(char::is_control, " ");
        self.outcome = self.outcome.and_then(|()| writeln!(self.out, "{name}={value}"));
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, &format!("{value:?}"));
    }
}
