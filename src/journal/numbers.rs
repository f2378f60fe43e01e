//! Numbers that no process can have given out yet, and events under other numbers.
//!
//! A journal that was lost, or is older than the events that were sent, does not know which numbers were used. A board
//! goes on from the time, or well above the highest number known. Both are above all numbers that a board can have given
//! out one by one. Consumers see a gap, never a number twice.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::entry::KnownNumbers;
use crate::event::{Event, WITHOUT_CLOCK};

/// Lies between the highest number known and the next one if the wall clock does not help.
pub(super) const MARGIN: u64 = 1_000_000;
/// As many numbers pass in each millisecond. No board gives out so many: so who jumps later begins above all that another has given
/// out after its own jump, also where the broker does not know of it yet.
const PER_MS: u64 = 64;
/// So many numbers apart begin, at most, what two starts make of the same time.
const SCATTER: u64 = 1 << 14;
/// So far ahead of the clock may jumps have come that followed each other.
const AHEAD: u64 = 60_000 * PER_MS;
/// The beginning of 2024, as Unix time in milliseconds. A wall clock that shows less has not been set.
const SET_CLOCK: u64 = 1_704_067_200_000;
/// The year 2100. A wall clock that shows more is wrong, and numbers would soon be above all that is believed.
const WRONG_CLOCK: u64 = 4_102_444_800_000;

/// A number above all that can have been given out, where `highest` is the highest known. A jump of a moment ago may not be known.
pub(super) fn fresh_range(highest: u64) -> u64 {
    fresh_at(clock_ms(), highest)
}

/// The same where nobody knows any number, and where the clock may show at each start what it showed at the last one.
pub(super) fn far_above(highest: u64) -> u64 {
    far_at(clock_ms(), highest)
}

/// What the wall clock shows, as Unix time in milliseconds.
fn clock_ms() -> u64 {
    u64::try_from(super::wall_ms()).unwrap_or(0)
}

fn fresh_at(ms: u64, highest: u64) -> u64 {
    beyond(ms, highest) + SCATTER
}

fn far_at(ms: u64, highest: u64) -> u64 {
    beyond(ms, highest) + fastrand::u64(..SCATTER)
}

fn beyond(ms: u64, highest: u64) -> u64 {
    // A jump of a moment ago is ahead of the clock by as much as it was scattered. A clock that nobody has set tells nothing of that.
    let is_just_ahead = is_set(ms)
        && highest
            .checked_sub(ms * PER_MS)
            .is_some_and(|ahead| ahead < AHEAD);
    if is_just_ahead {
        highest + 1
    } else {
        range_at(ms, highest)
    }
}

fn is_set(ms: u64) -> bool {
    (SET_CLOCK..WRONG_CLOCK).contains(&ms)
}

fn range_at(ms: u64, highest: u64) -> u64 {
    let by_clock = is_set(ms).then(|| ms * PER_MS).filter(|start| *start > highest);
    by_clock.unwrap_or_else(|| {
        let low = (highest + MARGIN).max(WITHOUT_CLOCK);
        // Two processes that know the same must not begin alike. Each jump takes little of what is left.
        low + fastrand::u64(0..=(2 * WITHOUT_CLOCK).saturating_sub(low) / 64)
    })
}

impl KnownNumbers {
    /// A number above all that can have been given out. The broker may be back with what it saved before the last ones. A consumer may know
    /// all numbers up to `floor`.
    pub(super) fn far(&self, floor: u64) -> u64 {
        far_above(self.highest().max(floor))
    }

    /// True when numbers above `seq` were given out.
    pub(super) fn is_above(&self, seq: u64) -> bool {
        self.highest() > seq
    }

    /// The highest number of the board that is known to have been given out.
    pub(crate) fn highest(&self) -> u64 {
        self.last.max(self.ceiling)
    }
}

/// The rule by which a board's numbers above `floor` become those above `base`.
#[derive(Clone, Debug)]
pub(super) struct Lift {
    /// The beginning of the board's event ids: `GATEWAY/BOARD/`.
    pub(super) prefix: String,
    pub(super) floor: u64,
    pub(super) base: u64,
    /// The last number with which an event may have been sent.
    pub(super) sent: u64,
    pub(super) games: GamesMoved,
    /// Jumps of before above the floor. They are not made again, or numbers would double with each.
    pub(super) gaps: Gaps,
}

/// Jumps within the numbers of a board.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// The first number after each jump, with how many numbers it and those before it left out.
    after: Vec<(u64, u64)>,
}

impl Gaps {
    /// The jumps above `floor`, where the board has `seqs`.
    pub(super) fn of(floor: u64, seqs: impl IntoIterator<Item = u64>) -> Self {
        let seqs: BTreeSet<u64> = seqs.into_iter().filter(|seq| *seq > floor).collect();
        let (mut last, mut left_out, mut after) = (floor, 0, Vec::new());
        for seq in seqs {
            if seq - last > MARGIN {
                left_out += seq - last - 1;
                after.push((seq, left_out));
            }
            last = seq;
        }
        Self { after }
    }

    /// How many numbers the jumps up to `seq` left out.
    fn left_out(&self, seq: u64) -> u64 {
        let jump = self.after.iter().rfind(|(first, _)| *first <= seq);
        jump.map_or(0, |(_, left_out)| *left_out)
    }
}

/// The rule by which a board's game numbers above `floor` become those above `base`.
#[derive(Clone, Debug)]
pub(super) struct GamesMoved {
    pub(super) floor: u32,
    pub(super) base: u32,
    /// Game `base`, as the broker knows it.
    pub(super) shown: Option<Value>,
}

impl GamesMoved {
    fn number(&self, game: u32) -> u32 {
        match game.checked_sub(self.floor) {
            Some(beyond @ 1..) => self.base.saturating_add(beyond),
            _ => game,
        }
    }

    /// The snapshot of a watcher without a game; none if games need no other numbers. The watcher takes the last game up where the
    /// board shows it.
    fn afresh(&self) -> Option<String> {
        let found: Vec<_> = self.shown.iter().collect();
        (self.base > self.floor).then(|| json!({ "seq": 0, "games": self.base, "found": found }).to_string())
    }

    /// Raises the number of games in a snapshot. If the broker knows later games, the game in the snapshot is over under its
    /// number, and the next one is numbered after those of the broker. The watcher goes on with that which the board shows: the one in
    /// the snapshot, or the broker's.
    fn raise(&self, snapshot: &mut Value) {
        let Some(games) = snapshot.get("games").and_then(Value::as_u64) else {
            return;
        };
        let games = u32::try_from(games).unwrap_or(u32::MAX);
        if games <= self.floor && self.floor < self.base {
            snapshot["games"] = self.base.into();
            // What was known of that game goes with it: its hypotheses, and what was seen before it began.
            snapshot["weighed"] = Value::Null;
            snapshot["setup"] = Value::Null;
            let mut found = match snapshot["found"].take() {
                Value::Array(before) => before,
                _ => Vec::new(),
            };
            found.extend(self.shown.clone().filter(|shown| !found.contains(shown)));
            snapshot["found"] = found.into();
        } else {
            snapshot["games"] = self.number(games).into();
        }
    }
}

impl Lift {
    /// The number that replaces `seq`.
    pub(super) fn seq(&self, seq: u64) -> u64 {
        if seq > self.floor {
            self.base + (seq - self.floor) - self.gaps.left_out(seq)
        } else {
            seq
        }
    }

    /// The last number of a board whose last number was `seq`.
    pub(super) fn last_seq(&self, seq: u64) -> u64 {
        self.seq(seq).max(self.base)
    }

    /// An event under its new number, with the new ids of the events that it names, also as JSON. None if it cannot be
    /// read.
    pub(super) fn event(&self, json: &str) -> Option<(Event, String)> {
        let mut value: Value = serde_json::from_str(json).ok()?;
        let [formerly, unsent_as, id] = ["formerly", "unsent_as", "id"]
            .map(|field| value.get(field).and_then(Value::as_str).map(str::to_owned));
        self.rename(&mut value);
        let mut event: Event = serde_json::from_value(value).ok()?;
        // What this process took before it asked the broker was never sent, and another gateway may have given its number to an
        // event that consumers have.
        let may_be_sent = event.seq <= self.sent;
        let jumps = id.as_ref() != Some(&event.id);
        event.seq = self.seq(event.seq);
        event.game = event.game.map(|game| self.games.number(game));
        let is_first = formerly.is_none() && unsent_as.is_none();
        event.unsent_as = unsent_as.or_else(|| id.clone().filter(|_| jumps && is_first && !may_be_sent));
        event.formerly = formerly.or_else(|| id.filter(|_| jumps && may_be_sent));
        let json = serde_json::to_string(&event).ok()?;
        Some((event, json))
    }

    /// The snapshot of a watcher with the new ids of the events that it names and the new number of its game.
    pub(super) fn snapshot(&self, json: Option<&str>) -> Option<String> {
        let Some(mut value) = json.and_then(|json| serde_json::from_str(json).ok()) else {
            return self.games.afresh();
        };
        self.rename(&mut value);
        self.games.raise(&mut value);
        Some(value.to_string())
    }

    /// Replaces every id within `value`.
    fn rename(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let seq = text.strip_prefix(&self.prefix).and_then(|seq| seq.parse().ok());
                if let Some(seq) = seq {
                    *text = format!("{}{}", self.prefix, self.seq(seq));
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.rename(value)),
            Value::Object(fields) => {
                let former = std::mem::take(fields);
                for (mut key, mut value) in former {
                    self.rename(&mut value);
                    if let Some(seq) = key.strip_prefix(&self.prefix).and_then(|seq| seq.parse().ok()) {
                        key = format!("{}{}", self.prefix, self.seq(seq));
                    }
                    fields.insert(key, value);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_a_lifted_event_is_lifted_too() {
        let lift = Lift {
            prefix: "gw/7/".to_owned(),
            floor: 10,
            base: 500,
            sent: 12,
            games: GamesMoved {
                floor: 1,
                base: 1,
                shown: None,
            },
            gaps: Gaps::default(),
        };
        let json = r#"{"v":1,"id":"gw/7/12","seq":12,"type":"irregularity_resolved","irregularity":"gw/7/11","how":"restored","board":"7","game":1,"t":1.5,"time":null}"#;
        let (_, event) = lift.event(json).unwrap();
        let lifted = json
            .replace("/12", "/502")
            .replace("/11", "/501")
            .replace(":12", ":502")
            .replace("\"v\":1,", "\"v\":1,\"formerly\":\"gw/7/12\",");
        assert_eq!(event, lifted);
        let higher = Lift {
            floor: 501,
            base: 900,
            sent: 501,
            ..lift.clone()
        };
        let (again, _) = higher.event(&event).unwrap();
        assert_eq!((again.seq, again.formerly.as_deref()), (901, Some("gw/7/12")));
        assert_eq!(again.unsent_as, None, "phones know it by the former one");
        let snapshot = r#"{"open":["gw/7/9","gw/7/11","gw/8/11"],"by":{"gw/7/12":1}}"#;
        let lifted = lift.snapshot(Some(snapshot)).unwrap();
        let wanted: Value =
            serde_json::from_str(r#"{"open":["gw/7/9","gw/7/501","gw/8/11"],"by":{"gw/7/502":1}}"#).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&lifted).unwrap(), wanted);
        assert_eq!(lift.snapshot(None), None);
    }

    /// Another gateway may have given the number to an event that consumers have: they would drop this one for that.
    #[test]
    fn what_was_never_sent_says_no_number_that_another_may_have_given_out() {
        let lift = |sent| Lift {
            prefix: "gw/7/".to_owned(),
            floor: 10,
            base: 500,
            sent,
            games: GamesMoved {
                floor: 1,
                base: 1,
                shown: None,
            },
            gaps: Gaps::default(),
        };
        let json = r#"{"v":1,"id":"gw/7/12","seq":12,"type":"clock_connected","board":"7","game":null,"t":1.5,"time":null}"#;
        let (event, json) = lift(11).event(json).unwrap();
        let names = |event: &Event| (event.id.clone(), event.formerly.clone(), event.unsent_as.clone());
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(names(&event), ("gw/7/502".to_owned(), None, some("gw/7/12")));
        // It was sent with that number, and must have another one again.
        let higher = |sent| Lift {
            floor: 501,
            base: 900,
            ..lift(sent)
        };
        let (event, _) = higher(502).event(&json).unwrap();
        assert_eq!(
            names(&event),
            ("gw/7/901".to_owned(), some("gw/7/502"), some("gw/7/12"))
        );
        let (event, _) = higher(501).event(&json).unwrap();
        assert_eq!(names(&event), ("gw/7/901".to_owned(), None, some("gw/7/12")));
    }

    /// What nobody has acknowledged before a jump comes after the numbers that another gave out since, with what came after the jump.
    #[test]
    fn a_jump_is_not_made_again_with_another() {
        let far = SET_CLOCK * PER_MS;
        let lift = Lift {
            prefix: "gw/7/".to_owned(),
            floor: 2,
            base: far + 1_000,
            sent: far + 3,
            games: GamesMoved {
                floor: 1,
                base: 1,
                shown: None,
            },
            gaps: Gaps::of(2, [far + 3, 3, far + 1, 4, 1]),
        };
        let lifted = [2, 3, 4, far + 1, far + 2, far + 3].map(|seq| lift.seq(seq));
        assert_eq!(
            lifted,
            [2, far + 1_001, far + 1_002, far + 1_003, far + 1_004, far + 1_005]
        );
        assert_eq!(lift.last_seq(far + 3), far + 1_005);
    }

    #[test]
    fn games_get_numbers_that_nobody_has_heard_of() {
        let lift = Lift {
            prefix: "gw/7/".to_owned(),
            floor: 10,
            base: 10,
            sent: 12,
            games: GamesMoved {
                floor: 3,
                base: 5,
                shown: Some(json!({ "game": 5 })),
            },
            gaps: Gaps::default(),
        };
        let event = |game: u32| {
            let json = format!(
                r#"{{"v":1,"id":"gw/7/12","seq":12,"type":"irregularity_resolved","irregularity":"gw/7/11","how":"restored","board":"7","game":{game},"t":1.5,"time":null}}"#
            );
            let (event, _) = lift.event(&json).unwrap();
            assert_eq!(event.formerly, None, "its id stays");
            event.game.unwrap()
        };
        assert_eq!([event(2), event(3), event(4), event(5)], [2, 3, 6, 7]);
        let kept = |games: u32| {
            let kept =
                json!({ "seq": 9, "games": games, "game": {}, "weighed": {}, "setup": {} }).to_string();
            let value: Value = serde_json::from_str(&lift.snapshot(Some(&kept)).unwrap()).unwrap();
            let gone = ["game", "weighed", "setup"].map(|part| value[part].is_null());
            (
                value["games"].as_u64().unwrap(),
                gone,
                value["found"][0]["game"].as_u64(),
            )
        };
        // Two others followed the third game. What began since is a game of its own.
        assert_eq!(
            [kept(3), kept(4)],
            [(5, [false, true, true], Some(5)), (6, [false; 3], None)]
        );
        let fresh: Value = serde_json::from_str(&lift.snapshot(None).unwrap()).unwrap();
        assert_eq!(fresh, json!({ "seq": 0, "games": 5, "found": [{ "game": 5 }] }));
    }

    #[test]
    fn without_a_clock_two_ranges_do_not_begin_alike() {
        let set = SET_CLOCK * PER_MS;
        assert_eq!(range_at(SET_CLOCK, 5), set);
        assert_eq!(range_at(SET_CLOCK, set - 1), set);
        // A jump of before was made without a clock, or with one that was ahead.
        let ahead = (SET_CLOCK, set);
        for (ms, known) in [
            (0, 0),
            (WRONG_CLOCK, 0),
            (u64::MAX, 0),
            ahead,
            (0, WITHOUT_CLOCK + 5),
        ] {
            let first = range_at(ms, known);
            assert!(first > known.max(set) + MARGIN && (0..20).all(|_| range_at(ms, known) != first));
        }
    }

    /// A machine without a battery for its clock may show the year 1970, and any board has small numbers.
    #[test]
    fn without_a_clock_the_far_range_is_far_too() {
        for ms in [0, 1_000, SET_CLOCK - 1, WRONG_CLOCK, u64::MAX] {
            for highest in [0, 5, 200, ms.saturating_mul(PER_MS).min(1 << 40)] {
                assert!(
                    far_at(ms, highest) >= WITHOUT_CLOCK.max(highest + MARGIN),
                    "{ms} {highest}"
                );
            }
        }
        let now = SET_CLOCK * PER_MS;
        assert!((0..20).all(|ahead| far_at(SET_CLOCK, now + ahead) <= now + ahead + SCATTER));
    }

    /// A copy is restored that does not know of a jump of a moment ago.
    #[test]
    fn a_fresh_range_is_above_a_jump_of_the_same_moment() {
        for highest in [0, 5, SET_CLOCK * PER_MS - 1, SET_CLOCK * PER_MS + 20] {
            let fresh = fresh_at(SET_CLOCK, highest);
            assert!(
                fresh > highest && (0..100).all(|_| far_at(SET_CLOCK, 6) < fresh),
                "{highest}"
            );
        }
    }

    #[test]
    fn however_often_numbers_jump_without_a_clock_they_are_believed() {
        let mut highest = 0;
        for _ in 0..1_000 {
            let next = far_at(0, highest);
            assert!(next > highest && next < 1 << 48, "{next} after {highest}");
            highest = next;
        }
    }

    /// A board that empties its backlog gives out some ten numbers in a millisecond.
    #[test]
    fn who_jumps_a_moment_later_begins_above_what_was_given_out_since() {
        let first = range_at(SET_CLOCK, 6);
        assert!(range_at(SET_CLOCK + 1, 6) > first + 50);
        // The broker's numbers are believed up to this one.
        assert!(range_at(WRONG_CLOCK - 1, 6) + MARGIN < 1 << 48);
    }

    #[test]
    fn numbers_go_on_far_above_all_that_is_known() {
        let known = |last, ceiling| KnownNumbers {
            last,
            ceiling,
            ..KnownNumbers::default()
        };
        let highest = WRONG_CLOCK * PER_MS;
        assert!(known(140, 192).far(200) >= 200 + MARGIN);
        assert!(known(highest, 0).far(0) > highest && known(0, highest).far(0) > highest);
        assert!(known(0, 0).far(highest) > highest);
        assert!(known(140, 0).is_above(139) && !known(140, 0).is_above(140));
    }
}
