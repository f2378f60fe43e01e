//! Values that several lines of a capture have.

use serde::de::{DeserializeOwned, IntoDeserializer, value};

/// The longest a capture may be, in microseconds: 31 days. A replay goes through all of its time.
pub(super) const LONGEST: u64 = 31 * 86_400 * 1_000_000;

/// A time such as `31.460` in microseconds; digits beyond the sixth are cut.
pub(super) fn microseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut micros = 0;
    for index in 0..6 {
        let digit = fraction.as_bytes().get(index).map_or(0, |b| b - b'0');
        micros = micros * 10 + u64::from(digit);
    }
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(micros)
}

/// Reads a name in the spelling of the payloads.
pub(super) fn named<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    let name: value::StrDeserializer<'_, value::Error> = name.into_deserializer();
    T::deserialize(name).map_err(|e| e.to_string())
}
