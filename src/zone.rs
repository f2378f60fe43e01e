//! The time zone of the place: days and clocks on the wall are those of the hall.

use std::{fs, path::Path, sync::OnceLock};

use jiff::{Timestamp, tz::TimeZone};

/// Where the time zones of the machine lie, and its own.
const ZONES: &str = "/usr/share/zoneinfo";
const OWN_ZONE: &str = "/etc/localtime";

/// The time zone of `TZ`, or of the machine; UTC where neither tells one. It is read once.
pub(crate) fn own() -> &'static TimeZone {
    static OWN: OnceLock<TimeZone> = OnceLock::new();
    OWN.get_or_init(|| {
        let named = std::env::var("TZ").ok().filter(|name| !name.is_empty());
        let zone = match named.as_deref().map(|name| name.trim_start_matches(':')) {
            None => zone_of(Path::new(OWN_ZONE)),
            Some(name) => zone_of(&Path::new(ZONES).join(name)).or_else(|| TimeZone::posix(name).ok()),
        };
        zone.unwrap_or(TimeZone::UTC)
    })
}

fn zone_of(file: &Path) -> Option<TimeZone> {
    TimeZone::tzif("local", &fs::read(file).ok()?).ok()
}

/// The day of a Unix time in milliseconds in `zone`, `YYYY.MM.DD`.
pub(crate) fn day(unix_ms: i64, zone: &TimeZone) -> Option<String> {
    let stamp = Timestamp::from_millisecond(unix_ms).ok()?;
    Some(stamp.to_zoned(zone.clone()).strftime("%Y.%m.%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_in_the_evening_is_of_the_day_of_the_hall() {
        let evening = "2026-11-26T22:30:00Z"
            .parse::<Timestamp>()
            .unwrap()
            .as_millisecond();
        for (zone, is) in [
            ("UTC0", "2026.11.26"),
            ("EET-2", "2026.11.27"),
            ("EST5", "2026.11.26"),
        ] {
            assert_eq!(day(evening, &TimeZone::posix(zone).unwrap()).unwrap(), is);
        }
    }
}
