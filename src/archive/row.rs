//! A row of the archive, made from an event as it came over MQTT.

use serde_json::{Map, Value, json};

/// The columns that are fields of the event, as they are. The queries of an evening filter and join by them; all else
/// is in `payload`.
const FIELDS: [&str; 10] = [
    "id",
    "type",
    "game",
    "kind",
    "offender",
    "ply",
    "certainty",
    "t",
    "at",
    "by",
];

/// An event that waits for the database.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventRow {
    /// The gateway that told it.
    pub(super) gateway: String,
    /// The board of which it tells.
    pub(super) board: String,
    /// Its number at the board.
    pub(super) seq: u64,
    /// The columns by their names.
    pub(super) columns: Value,
    /// The id that it had before, if the gateway had to give it another.
    pub(super) formerly: Option<String>,
    /// True for a short form, because the broker did not take the whole.
    pub(super) is_abridged: bool,
    /// Its size in bytes.
    pub(super) weight: usize,
}

impl EventRow {
    /// The row of an event that `gateway` told of `board`; none where it is no event of that board. `asked` is true for
    /// an event that `history` told.
    pub(super) fn of(gateway: &str, board: &str, event: Value, asked: bool) -> Option<Self> {
        let seq = event["seq"].as_u64().filter(|seq| (1..=MAX_SEQ).contains(seq))?;
        let is_of_board = event["board"] == board && event["type"].is_string() && event["id"].is_string();
        if !is_of_board {
            return None;
        }
        let event = without_nul(event);
        let is_abridged = event["abridged"] == true;
        let mut columns: Map<String, Value> = FIELDS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), fitting(name, event.get(name)?)?)))
            .collect();
        // The irregularity that the event is about, under a name that is not that of a type.
        if let Some(concerns) = event["irregularity"].as_str() {
            columns.insert("concerns".to_owned(), concerns.into());
        }
        for (name, value) in [
            ("gateway", json!(gateway)),
            ("board", json!(board)),
            ("seq", json!(seq)),
            ("time", json!(time(&event))),
            ("asked", json!(asked)),
            ("abridged", json!(is_abridged)),
        ] {
            columns.insert(name.to_owned(), value);
        }
        let weight = 256 + event.to_string().len();
        let formerly = event["formerly"].as_str().map(str::to_owned);
        columns.insert("payload".to_owned(), event);
        Some(Self {
            gateway: gateway.to_owned(),
            board: board.to_owned(),
            seq,
            columns: Value::Object(columns),
            formerly,
            is_abridged,
            weight,
        })
    }

    /// The number that the event had before, if the gateway had to give it another.
    pub(super) fn former_number(&self) -> Option<u64> {
        let number = self
            .formerly
            .as_deref()?
            .strip_prefix(&self.gateway)?
            .strip_prefix('/')?;
        let number = number.strip_prefix(&self.board)?.strip_prefix('/')?;
        number
            .parse()
            .ok()
            .filter(|number| (1..=MAX_SEQ).contains(number) && *number != self.seq)
    }
}

/// The largest number that a `bigint` holds.
const MAX_SEQ: u64 = i64::MAX as u64;

/// A value that its column takes. A field of another shape is in the payload alone: a later version may have changed it.
fn fitting(name: &str, value: &Value) -> Option<Value> {
    let fits = match name {
        "game" | "ply" => value.as_u64().is_some_and(|number| i32::try_from(number).is_ok()),
        "t" | "at" => value.is_number(),
        _ => value.is_string(),
    };
    fits.then(|| value.clone())
}

/// The time of an event, if the database can read it.
fn time(event: &Value) -> Option<String> {
    let time: jiff::Timestamp = event["time"].as_str()?.parse().ok()?;
    (time.as_second() >= 0).then(|| time.to_string())
}

/// The database has no text with a NUL.
fn without_nul(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('\0', "\u{fffd}")),
        Value::Array(list) => list.into_iter().map(without_nul).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name.replace('\0', "\u{fffd}"), without_nul(value)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_queries_need_is_a_column_and_all_is_in_the_payload() {
        let event = json!({
            "v": 1, "type": "irregularity_resolved", "id": "gw/1/7", "seq": 7, "board": "1", "game": 2, "t": 1.5,
            "at": null, "time": "2026-11-21T14:00:00Z", "irregularity": "gw/1/5", "how": "dismissed", "by": "A\0nna",
            "ply": "three", "of_a_later_version": [1],
        });
        let row = EventRow::of("gw", "1", event.clone(), true).unwrap();
        let columns = &row.columns;
        assert_eq!(
            (columns["game"].as_u64(), columns["t"].as_f64()),
            (Some(2), Some(1.5))
        );
        assert_eq!(columns["concerns"], "gw/1/5");
        assert_eq!(columns["by"], "A\u{fffd}nna");
        assert_eq!(columns["time"], "2026-11-21T14:00:00Z");
        assert!(columns.get("ply").is_none() && columns.get("at").is_none());
        assert_eq!(
            columns["payload"]["of_a_later_version"],
            event["of_a_later_version"]
        );
        assert_eq!((columns["asked"].as_bool(), row.is_abridged), (Some(true), false));
    }

    #[test]
    fn what_is_no_event_of_the_board_is_no_row() {
        let good = json!({ "type": "move", "id": "gw/1/7", "seq": 7, "board": "1" });
        assert!(EventRow::of("gw", "1", good.clone(), false).is_some());
        assert!(EventRow::of("gw", "2", good.clone(), false).is_none());
        for (field, bad) in [
            ("seq", json!(0)),
            ("seq", json!(u64::MAX)),
            ("id", json!(3)),
            ("type", Value::Null),
        ] {
            let mut event = good.clone();
            event[field] = bad;
            assert!(EventRow::of("gw", "1", event, false).is_none(), "{field}");
        }
        assert!(EventRow::of("gw", "1", json!([]), false).is_none());
    }
}
