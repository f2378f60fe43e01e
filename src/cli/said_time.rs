//! Times on the command line, as an arbiter says them: in full, or by the clock on the wall of the hall.

use std::path::Path;

use anyhow::{Context, bail};
use jiff::{
    SignedDuration, Timestamp,
    civil::{DateTime, Time},
    tz::TimeZone,
};

use crate::{
    journal::query::{Filter, each_event},
    zone,
};

/// How much later than the newest event somebody may mean: there are commands without events.
const LATEST: SignedDuration = SignedDuration::from_hours(1);

/// A time as somebody gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaidTime {
    /// With its offset.
    At(Timestamp),
    /// By the local clock.
    Local(DateTime),
    /// By the local clock of the last evening.
    OClock(Time),
}

/// Reads a time.
pub(super) fn parse(text: &str) -> Result<SaidTime, &'static str> {
    let text = text.trim();
    let at = text.parse().map(SaidTime::At);
    let local = || text.parse().map(SaidTime::Local).ok();
    // A day without a time is no moment, though it could be read as midnight.
    let is_whole = text.contains(':');
    let o_clock = || text.parse().map(SaidTime::OClock).ok();
    let read = at.ok().or_else(local).or_else(o_clock).filter(|_| is_whole);
    read.ok_or(
        "a time is `2026-11-26T20:14:00+01:00`, or by the local clock `2026-11-26 20:14`, or `20:14` of the day of the newest event",
    )
}

/// The bounds of a stretch of the journal at `path`, as Unix time in milliseconds.
///
/// # Errors
/// When the journal cannot be read, or the stretch ends before it begins.
pub(super) fn stretch(
    path: &Path,
    since: Option<SaidTime>,
    until: Option<SaidTime>,
) -> anyhow::Result<(Option<i64>, Option<i64>)> {
    let needs_day = [since, until]
        .iter()
        .flatten()
        .any(|moment| matches!(moment, SaidTime::OClock(_)));
    // Where there is no journal, whoever reads it says so.
    let newest = if needs_day && path.exists() {
        newest(path)?
    } else {
        Timestamp::now()
    };
    bounds(since, until, newest, &zone::own().clone())
}

/// The same, where `newest` is the time of the newest event.
fn bounds(
    since: Option<SaidTime>,
    until: Option<SaidTime>,
    newest: Timestamp,
    zone: &TimeZone,
) -> anyhow::Result<(Option<i64>, Option<i64>)> {
    let local = |at: DateTime| -> anyhow::Result<Timestamp> {
        let zoned = zone.to_ambiguous_zoned(at).compatible();
        Ok(zoned.context("there is no such local time")?.timestamp())
    };
    let today = zone.to_datetime(newest).date();
    let since = match since {
        None => None,
        Some(SaidTime::At(at)) => Some(at),
        Some(SaidTime::Local(at)) => Some(local(at)?),
        Some(SaidTime::OClock(time)) => {
            let at = local(today.to_datetime(time))?;
            // After midnight the evening before is meant: nothing has happened yet at that time of the new day.
            let is_to_come = at.duration_since(newest) > LATEST;
            Some(if is_to_come {
                local(today.yesterday()?.to_datetime(time))?
            } else {
                at
            })
        }
    };
    let until = match until {
        None => None,
        Some(SaidTime::At(at)) => Some(at),
        Some(SaidTime::Local(at)) => Some(local(at)?),
        Some(SaidTime::OClock(time)) => {
            let day = since.map_or(today, |since| zone.to_datetime(since).date());
            let at = local(day.to_datetime(time))?;
            let is_before = since.is_some_and(|since| at <= since);
            Some(if is_before {
                local(day.tomorrow()?.to_datetime(time))?
            } else {
                at
            })
        }
    };
    if let (Some(since), Some(until)) = (since, until)
        && until <= since
    {
        bail!("--until {until} is not after --since {since}: exchange them");
    }
    let ms = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
    Ok((ms(since), ms(until)))
}

/// The time of the newest event; now where there is none.
fn newest(path: &Path) -> anyhow::Result<Timestamp> {
    let filter = Filter {
        last: Some(1),
        ..Filter::default()
    };
    let mut newest = None;
    each_event(path, &filter, |kept| {
        newest = Timestamp::from_millisecond(kept.written_ms).ok();
        true
    })
    .with_context(|| format!("cannot read the journal {}", path.display()))?;
    Ok(newest.unwrap_or_else(Timestamp::now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn found(since: Option<&str>, until: Option<&str>, newest: &str) -> (Option<i64>, Option<i64>) {
        let moment = |text: Option<&str>| text.map(|text| parse(text).unwrap());
        let zone = TimeZone::posix("CET-1").unwrap();
        bounds(moment(since), moment(until), newest.parse().unwrap(), &zone).unwrap()
    }

    #[test]
    fn a_time_is_read_as_arbiters_say_it() {
        let newest = "2026-11-26T21:00:00Z";
        let expected = Some(utc("2026-11-26T19:14:00Z"));
        for text in [
            "2026-11-26T20:14:00+01:00",
            "2026-11-26T19:14:00Z",
            "2026-11-26 20:14",
            "2026-11-26T20:14:00",
            "20:14",
            "20:14:00",
        ] {
            assert_eq!(found(Some(text), None, newest), (expected, None), "{text}");
            assert_eq!(found(None, Some(text), newest), (None, expected), "{text}");
        }
        for text in ["2026-11-26", "20", "quarter past eight", "25:00", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_command_may_be_newer_than_all_events() {
        let since = Some(utc("2026-11-26T19:14:00Z"));
        assert_eq!(found(Some("20:14"), None, "2026-11-26T19:13:00Z"), (since, None));
    }

    #[test]
    fn after_midnight_the_evening_before_is_meant() {
        let newest = "2026-11-26T23:30:00Z";
        let since = Some(utc("2026-11-26T19:14:00Z"));
        assert_eq!(found(Some("20:14"), None, newest), (since, None));
        let until = Some(utc("2026-11-26T23:10:00Z"));
        assert_eq!(found(Some("20:14"), Some("00:10"), newest), (since, until));
        let until = Some(utc("2026-11-26T19:20:00Z"));
        assert_eq!(found(Some("20:14"), Some("20:20"), newest), (since, until));
    }

    #[test]
    fn a_stretch_that_ends_before_it_begins_is_refused() {
        let [since, until] = ["2026-11-26 20:14", "2026-11-26 20:10"].map(|text| parse(text).ok());
        let error = bounds(since, until, Timestamp::UNIX_EPOCH, &TimeZone::UTC).unwrap_err();
        assert!(error.to_string().contains("--since"), "{error}");
    }
}
