//! The log goes to standard error, or to the journal of systemd if that reads it.
//!
//! `journalctl` shows only the message, so the message has all that a person must know. The fields are for filters.

mod journald;
mod queue;

use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    sync::OnceLock,
    time::Duration,
};

use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    reload::{Handle, Layer},
    util::SubscriberInitExt,
};

use self::{journald::Journald, queue::Queue};

/// The variable that names what is logged, in the form that `RUST_LOG` has elsewhere: `debug`, `dgt2mqtt::link=trace`.
const VARIABLE: &str = "DGT2MQTT_LOG";
const DEFAULT: &str = "info,rumqttc=warn";
/// The filter for a person who looks for a mistake.
pub(super) const MORE: &str = "info,dgt2mqtt=debug,rumqttc=warn";
/// How long the last lines may take at the end.
const FAREWELL: Duration = Duration::from_millis(500);

/// The longest filter that a command may set while the program runs.
const LONGEST: usize = 256;

static QUEUE: OnceLock<Queue> = OnceLock::new();
static SWITCH: OnceLock<Switch> = OnceLock::new();

/// The filter in force, and the filter of the start.
struct Switch {
    handle: Handle<Targets, Registry>,
    start: String,
}

/// Starts logging.
pub(super) fn init() {
    // A drop-in of a unit sets a variable to nothing in order to unset it.
    let wanted = std::env::var(VARIABLE).ok().filter(|wanted| !wanted.is_empty());
    let (start, wrong) = match wanted.map(|wanted| filter(&wanted).map(|_| wanted)) {
        None => (DEFAULT.to_owned(), None),
        Some(Ok(wanted)) => (wanted, None),
        Some(Err(error)) => (DEFAULT.to_owned(), Some(error)),
    };
    let (filter, handle) = Layer::new(filter(&start).unwrap_or_default());
    SWITCH.get_or_init(|| Switch { handle, start });
    let registry = tracing_subscriber::registry().with(filter);
    // systemd sets this variable for services whose output goes to its journal.
    let journald = std::env::var_os("JOURNAL_STREAM").and_then(|_| Journald::open().ok());
    // A second start, as in a test, changes nothing.
    let _ = match journald {
        Some(journald) => {
            let queue = Queue::start(move |entry| journald.send(entry), journald::gap);
            let format = tracing_subscriber::fmt::layer().event_format(journald::JournaldEntry);
            registry
                .with(queue.ok().map(|queue| format.with_writer(kept(queue))))
                .try_init()
        }
        None => {
            let queue = standard_error().and_then(|mut out| {
                // If standard error is closed, there is nobody left to tell.
                Queue::start(move |line| drop(out.write_all(line)), gap)
            });
            let format = tracing_subscriber::fmt::layer().with_ansi(io::stderr().is_terminal());
            registry
                .with(queue.ok().map(|queue| format.with_writer(kept(queue))))
                .try_init()
        }
    };
    // The standard library's own hook would wait for a reader.
    std::panic::set_hook(Box::new(|panic| tracing::error!("a defect: {panic}")));
    if let Some(error) = wrong {
        tracing::warn!("{VARIABLE} cannot be understood ({error}): logging as without it, `{DEFAULT}`");
    }
}

/// Sets the filter to `wanted`, or with none to that of the start. Returns the filter in force.
///
/// # Errors
/// When `wanted` cannot be understood.
pub(super) fn set(wanted: Option<&str>) -> Result<String, String> {
    let switch = SWITCH.get().ok_or("nothing is logged")?;
    let wanted = wanted.unwrap_or(&switch.start);
    if wanted.len() > LONGEST {
        return Err(format!("a filter has at most {LONGEST} characters"));
    }
    let filter = filter(wanted).map_err(|error| {
        format!("{wanted:?} cannot be understood ({error}): write `debug`, or `info,dgt2mqtt::link=trace`")
    })?;
    switch.handle.reload(filter).map_err(|error| error.to_string())?;
    tracing::info!("the log has `{wanted}` from here on");
    Ok(wanted.to_owned())
}

/// The filter that `words` name. If they name no level for all targets, other targets are logged as without the words.
/// Only targets and levels are taken. Spans, fields and regular expressions need a large library, and somebody could
/// write an expression that takes all memory.
///
/// A target must have its level. The library takes a level with a typo for a target, and then logs nothing else.
fn filter(words: &str) -> Result<Targets, String> {
    let (mut for_all, mut named) = (None, Vec::new());
    for part in words.split(',') {
        match part.rsplit_once('=') {
            None => for_all = Some(level(part)?),
            Some((target, word)) => named.push((target_of(target)?, level(word)?)),
        }
    }
    let rest = match for_all {
        Some(level) => Targets::new().with_default(level),
        None => filter(DEFAULT)?,
    };
    Ok(rest.with_targets(named))
}

fn level(word: &str) -> Result<LevelFilter, String> {
    // The library takes an empty level for `error`.
    let level = Some(word.trim()).filter(|word| !word.is_empty());
    level.and_then(|word| word.parse().ok()).ok_or_else(|| {
        format!(
            "{word:?} is no level; levels are off, error, warn, info, debug and trace, and a target wants one"
        )
    })
}

fn target_of(word: &str) -> Result<&str, String> {
    let target = word.trim();
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    if target.is_empty() || !target.chars().all(is_path) {
        return Err(format!(
            "{word:?} is no target; a target is as the log names it, without spans and fields"
        ));
    }
    Ok(target)
}

/// Waits until the last lines are written.
pub(super) fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush(FAREWELL);
    }
}

/// Keeps the queue for [`flush`], and makes the writers for `tracing`.
fn kept(queue: Queue) -> impl Fn() -> Queue {
    let queue = QUEUE.get_or_init(|| queue).clone();
    move || queue.clone()
}

/// Standard error without the lock of the standard library, whose holder may wait for a reader.
fn standard_error() -> io::Result<File> {
    Ok(io::stderr().as_fd().try_clone_to_owned()?.into())
}

fn gap_words(count: u64) -> String {
    format!("{count} lines of the log were dropped here: nobody read them in time")
}

fn gap(count: u64) -> Vec<u8> {
    let now = jiff::Timestamp::now();
    format!("{now:.6}  WARN dgt2mqtt::cli::logging: {}\n", gap_words(count)).into_bytes()
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_level_with_a_typo_is_refused_and_the_levels_are_named() {
        for words in [
            "infos",
            "",
            "info,",
            "dgt2mqtt",
            "dgt2mqtt=",
            "dgt2mqtt=louder",
            "info,dgt2mqtt::link",
        ] {
            let said = filter(words).expect_err(words);
            assert!(said.contains("off, error, warn, info, debug and trace"), "{said}");
        }
        for words in [
            "info,dgt2mqtt[span]=debug",
            "dgt2mqtt[{board}]=debug",
            "=debug",
            "a=b=debug",
        ] {
            let said = filter(words).expect_err(words);
            assert!(said.contains("no target"), "{said}");
        }
    }

    #[test]
    fn what_is_not_named_is_logged_as_ever() {
        let (ours, link, theirs) = ("dgt2mqtt::gateway", "dgt2mqtt::link", "rumqttc");
        for (words, target, most) in [
            ("dgt2mqtt::link=trace", link, Some(Level::TRACE)),
            ("dgt2mqtt::link=trace", ours, Some(Level::INFO)),
            // The target does not exist.
            ("dgt2mqttt=debug", ours, Some(Level::INFO)),
            ("dgt2mqttt=debug", theirs, Some(Level::WARN)),
            ("trace", theirs, Some(Level::TRACE)),
            ("off,dgt2mqtt::link=debug", link, Some(Level::DEBUG)),
            ("off,dgt2mqtt::link=debug", ours, None),
            (DEFAULT, theirs, Some(Level::WARN)),
            (MORE, ours, Some(Level::DEBUG)),
        ] {
            let filter = filter(words).expect(words);
            let levels = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
            let logged = levels
                .into_iter()
                .find(|level| filter.would_enable(target, level));
            assert_eq!(logged, most, "{words} for {target}");
        }
    }
}
