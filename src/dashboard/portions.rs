//! Has a broker tell what it retains in portions. A broker keeps only so many messages for a client that has not taken
//! those before, mosquitto a thousand unless it is told otherwise, and drops what is more without a word. A hall of a
//! thousand boards has six thousand.

use std::collections::BTreeSet;

use super::hall::{MAX_GATEWAYS, STATES};
use crate::config::{BaseTopic, Id};

/// About how many messages a portion may have. Even two of them at once are less than a broker keeps.
const PORTION: usize = 500;
/// How many boards a gateway is taken to have that does not say.
const UNTOLD: usize = 16;
/// After so many looks at which nothing came no more of a portion comes: not every board has every state, or something
/// was dropped.
const QUIET: u32 = 10;
/// The same, once a portion came short on this connection: a node of a cluster may know little of what is retained, so
/// that each portion comes short.
const QUIET_AGAIN: u32 = 2;
/// After so many looks a broker has forgotten that it was asked. A node of a cluster may stand still for ten seconds.
const FORGOTTEN: u32 = 20 * QUIET;

/// What is listened to at once: a gateway retains little of it, or nothing.
const AT_ONCE: [&str; 6] = [
    "+/status",
    "+/info",
    "+/health",
    "+/reply/+",
    "+/board/+/reply/+",
    "+/board/+/event/+",
];

/// What a broker retains of gateways, besides their boards.
const OF_GATEWAYS: [&str; 3] = ["+/status", "+/info", "+/health"];

/// A state of all boards of a gateway, by its place among [`STATES`]. Boards that lack a state lack the same one, so that
/// few portions come short where states are asked for one after the other.
type Part = (usize, String);

/// What of one broker is still to be listened to.
#[derive(Clone, Debug, Default)]
pub(super) struct Portions {
    /// The gateways that were heard of.
    gateways: BTreeSet<String>,
    /// What is not listened to yet.
    waiting: BTreeSet<Part>,
    /// What came short, and is asked for once more when nothing else comes.
    again: BTreeSet<Part>,
    /// The last portion, and whether it was asked for the first time.
    last: Vec<Part>,
    is_first: bool,
    /// How many messages of the last portion have not come.
    expected: usize,
    quiet: u32,
    /// Whether a portion came short on this connection, and whether more of one came later than that was taken for sure.
    came_short: bool,
    came_late: bool,
    /// What the page has listened to once, so that it knows which boards have it.
    listened: BTreeSet<Part>,
    /// True until the broker has answered.
    is_unanswered: bool,
}

impl Portions {
    /// Begins anew, with what is listened to at once.
    pub(super) fn begin(&mut self, base: &BaseTopic) -> Vec<String> {
        let gateways = std::mem::take(&mut self.gateways);
        let listened = std::mem::take(&mut self.listened);
        *self = Self {
            waiting: gateways.iter().flat_map(|gateway| parts(gateway)).collect(),
            gateways,
            listened,
            is_unanswered: true,
            ..Self::default()
        };
        AT_ONCE.iter().map(|levels| format!("{base}/{levels}")).collect()
    }

    /// Begins anew with these gateways alone, whose states were left out until now. Returns what is listened to at once.
    pub(super) fn begin_with(&mut self, base: &BaseTopic, gateways: BTreeSet<String>) -> Vec<String> {
        let parts: Vec<Part> = gateways.iter().flat_map(|gateway| parts(gateway)).collect();
        self.gateways.extend(gateways);
        self.waiting.extend(parts);
        self.is_unanswered = true;
        OF_GATEWAYS
            .iter()
            .map(|levels| format!("{base}/{levels}"))
            .collect()
    }

    /// Notes that the broker has answered: what it retains is on its way.
    pub(super) fn answered(&mut self) {
        if std::mem::take(&mut self.is_unanswered) {
            self.quiet = 0;
        }
    }

    /// Notes a message; `topic` is without the base. Whatever it says, its gateway has boards.
    pub(super) fn heard(&mut self, topic: &str, retained: bool) {
        let mut levels = topic.split('/');
        let gateway = levels.next().unwrap_or_default();
        if !self.gateways.contains(gateway)
            && self.gateways.len() < MAX_GATEWAYS
            && gateway.parse::<Id>().is_ok()
        {
            self.gateways.insert(gateway.to_owned());
            self.waiting.extend(parts(gateway));
        }
        if retained && levels.next() == Some("board") {
            self.expected = self.expected.saturating_sub(1);
            self.quiet = 0;
            let state = levels.nth(1).and_then(place);
            self.came_late |= state.is_some_and(|state| !self.last.contains(&(state, gateway.to_owned())));
        }
    }

    /// After so many looks without a message the rest of a portion does not come.
    fn patience(&self) -> u32 {
        if self.came_short && !self.came_late {
            QUIET_AGAIN
        } else {
            QUIET
        }
    }

    /// True where the state of the gateway's boards was asked for on this connection.
    pub(super) fn has_asked_for(&self, gateway: &str, state: &str) -> bool {
        place(state).is_some_and(|place| !self.waiting.contains(&(place, gateway.to_owned())))
    }

    /// True where the next portion was listened to before, over an earlier connection.
    pub(super) fn repeats(&self) -> bool {
        let next = self.waiting.first().or_else(|| self.again.first());
        next.is_some_and(|part| self.listened.contains(part))
    }

    /// True where the broker has not answered a subscription for long.
    pub(super) fn is_forgotten(&self) -> bool {
        self.is_unanswered && self.quiet >= FORGOTTEN
    }

    /// The next portion, once the last one has come. `boards` tells how many boards a gateway has, if it says, and
    /// `having` how many of them have told a state.
    pub(super) fn next(
        &mut self,
        base: &BaseTopic,
        boards: impl Fn(&str) -> Option<usize>,
        having: impl Fn(&str, &str) -> usize,
    ) -> Vec<String> {
        if self.is_unanswered {
            self.quiet = self.quiet.saturating_add(1);
            return Vec::new();
        }
        if self.expected > 0 {
            self.quiet += 1;
            if self.quiet <= self.patience() {
                return Vec::new();
            }
            self.came_short = true;
        }
        let last = std::mem::take(&mut self.last);
        if self.expected > 0 && self.is_first {
            self.again.extend(last);
        } else {
            self.listened.extend(last);
        }
        (self.expected, self.quiet) = (0, 0);
        self.is_first = !self.waiting.is_empty();
        let parts = if self.is_first {
            &mut self.waiting
        } else {
            &mut self.again
        };
        let (mut portion, mut most) = (Vec::new(), 0);
        while let Some(part) = parts.first() {
            let more = boards(&part.1).unwrap_or(UNTOLD);
            most += more;
            // One gateway may have more boards than a portion.
            if most > PORTION && !portion.is_empty() {
                break;
            }
            self.expected += if self.listened.contains(part) {
                having(&part.1, STATES[part.0])
            } else {
                more
            };
            portion.extend(parts.pop_first());
        }
        self.is_unanswered = !portion.is_empty();
        let filter = |(state, gateway): &Part| format!("{base}/{gateway}/board/+/{}", STATES[*state]);
        let filters = portion.iter().map(filter).collect();
        self.last = portion;
        filters
    }
}

fn place(state: &str) -> Option<usize> {
    STATES.iter().position(|name| *name == state)
}

fn parts(gateway: &str) -> impl Iterator<Item = Part> {
    (0..STATES.len()).map(|state| (state, gateway.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hall of 80 gateways with 13 boards each.
    fn hall() -> (BaseTopic, Portions) {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        assert!(portions.begin(&base).contains(&"base/+/info".to_owned()));
        for gateway in 1..=80 {
            portions.heard(&format!("gw{gateway}/info"), true);
            portions.heard(&format!("gw{gateway}/status"), true);
        }
        (base, portions)
    }

    #[test]
    fn no_portion_is_larger_than_a_broker_keeps() {
        let (base, mut portions) = hall();
        let boards = |_: &str| Some(13);
        assert!(
            portions.next(&base, boards, |_, _| 13).is_empty(),
            "the broker has not answered"
        );
        let mut seen = BTreeSet::new();
        for look in 0.. {
            assert!(look < 100, "{}", seen.len());
            portions.answered();
            let filters = portions.next(&base, boards, |_, _| 13);
            assert!(filters.len() * 13 <= PORTION, "{}", filters.len());
            if filters.is_empty() {
                break;
            }
            portions.answered();
            for filter in filters {
                assert!(
                    portions.next(&base, boards, |_, _| 13).is_empty(),
                    "the last one is still to come"
                );
                (0..13).for_each(|_| portions.heard(&filter.replace("base/", ""), true));
                assert!(seen.insert(filter));
            }
        }
        assert_eq!(seen.len(), 80 * STATES.len());
        portions.begin(&base);
        portions.answered();
        assert!(
            !portions.next(&base, boards, |_, _| 13).is_empty(),
            "a new connection hears all again"
        );
    }

    /// Who comes over from another broker is heard alone: a hall that is told anew at each of them would be told for ever.
    #[test]
    fn a_newcomer_is_heard_again_and_nobody_else() {
        let (base, mut portions) = hall();
        while !portions.waiting.is_empty() {
            portions.answered();
            for filter in portions.next(&base, |_| Some(13), |_, _| 13) {
                (0..13).for_each(|_| portions.heard(&filter.replace("base/", ""), true));
            }
        }
        let at_once = portions.begin_with(&base, BTreeSet::from(["gw7".to_owned()]));
        assert_eq!(at_once, ["base/+/status", "base/+/info", "base/+/health"]);
        portions.answered();
        let filters = portions.next(&base, |_| Some(13), |_, _| 13);
        assert_eq!(filters.len(), STATES.len());
        assert!(
            filters
                .iter()
                .all(|filter| filter.starts_with("base/gw7/board/+/")),
            "{filters:?}"
        );
    }

    #[test]
    fn what_comes_short_is_asked_for_once_more() {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        portions.heard("gw/board/1/event/move", false);
        portions.heard("not a name/board/1/status", false);
        let mut asked = Vec::new();
        for _ in 0..40 * QUIET {
            portions.answered();
            // Of 400 boards a portion has one state; of one of them nothing ever comes.
            let filters = portions.next(&base, |_| Some(400), |_, _| 400);
            assert!(filters.len() <= 1, "{filters:?}");
            for filter in filters {
                let all = if filter.ends_with("clock") { 399 } else { 400 };
                (0..all).for_each(|_| portions.heard(&filter.replace("base/", ""), true));
                asked.push(filter.rsplit_once('/').unwrap().1.to_owned());
            }
        }
        let expected: Vec<&str> = STATES.into_iter().chain(["clock"]).collect();
        assert_eq!(asked, expected);
    }

    /// Boards that lack a state are waited for once, and not on each connection. What a connection did not come to is
    /// waited for as on the first.
    #[test]
    fn on_the_next_connection_those_boards_are_waited_for_that_have_a_state() {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        let having = |_: &str, state: &str| if state == "status" { 400 } else { 3 };
        let mut looks = Vec::new();
        for connection in 0..4 {
            portions.begin(&base);
            portions.heard("gw/info", true);
            let (mut asked, mut n) = (BTreeSet::new(), 0);
            // The second connection ends at once.
            while asked.len() < STATES.len() && (connection != 1 || n < 1) {
                n += 1;
                assert!(n < 1000, "{asked:?}");
                portions.answered();
                for filter in portions.next(&base, |_| Some(400), having) {
                    let all = having("gw", filter.rsplit_once('/').unwrap().1);
                    let topic = filter.replace("base/", "").replace('+', "1");
                    (0..all).for_each(|_| portions.heard(&topic, true));
                    asked.insert(filter);
                }
            }
            // What came short has been asked for once more, and the last portion is over.
            for _ in 0..20 * QUIET {
                if connection != 1 {
                    portions.answered();
                    portions.next(&base, |_| Some(400), having);
                }
            }
            looks.push(n);
        }
        assert!(looks[0] > QUIET + 4 * QUIET_AGAIN, "{looks:?}");
        assert!(looks[2] < QUIET && looks[3] < QUIET, "{looks:?}");
    }

    /// Nobody had a state when the page heard of it first. All have it when the broker comes back, which the page knows.
    #[test]
    fn no_second_portion_goes_out_before_states_have_come_that_all_boards_tell_by_now() {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        portions.begin(&base);
        portions.heard("gw/info", true);
        for _ in 0..40 * QUIET {
            portions.answered();
            portions.next(&base, |_| Some(400), |_, _| 0);
        }
        portions.begin(&base);
        portions.answered();
        let having = |_: &str, _: &str| 400;
        assert_eq!(portions.next(&base, |_| Some(400), having).len(), 1);
        portions.answered();
        assert!(portions.next(&base, |_| Some(400), having).is_empty());
    }

    /// Looks until all of 4000 boards was asked for, where only this many boards of each portion tell a state, and the
    /// rest, but for one board, comes this many looks later.
    fn looks(told: usize, late: Option<u32>) -> u32 {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        portions.begin(&base);
        (1..=10).for_each(|n| portions.heard(&format!("gw{n}/info"), true));
        portions.answered();
        let mut to_come: Vec<(u32, String)> = Vec::new();
        let mut asked = 0;
        for look in 0.. {
            assert!(look < 100 * QUIET, "{asked}");
            to_come.retain(|(at, topic)| {
                if *at == look {
                    (told..399).for_each(|_| portions.heard(topic, true));
                }
                *at > look
            });
            for filter in portions.next(&base, |_| Some(400), |_, _| 400) {
                asked += 1;
                portions.answered();
                let topic = filter.replace("base/", "").replace('+', "1");
                (0..told).for_each(|_| portions.heard(&topic, true));
                to_come.extend(late.map(|late| (look + late, topic)));
            }
            if asked == 10 * STATES.len() {
                return look;
            }
        }
        unreachable!()
    }

    #[test]
    fn a_broker_that_tells_little_is_soon_through() {
        let count = 10 * STATES.len() as u32;
        assert!(looks(400, None) < 2 * count);
        let few = looks(100, None);
        assert!(few < 4 * count + 2 * QUIET, "{few}");
        let none = looks(0, None);
        assert!(none < 4 * count + 2 * QUIET, "{none}");
    }

    /// Over a slow line messages come in bursts. Who takes the first pause for the end would ask for all at once.
    #[test]
    fn a_slow_broker_is_waited_for() {
        let count = 10 * STATES.len() as u32;
        let slow = looks(100, Some(QUIET_AGAIN + 3));
        assert!(slow > QUIET * (count - 3), "{slow}");
    }

    #[test]
    fn a_broker_that_does_not_answer_has_forgotten() {
        let base: BaseTopic = "base".parse().unwrap();
        let mut portions = Portions::default();
        portions.begin(&base);
        let next = |portions: &mut Portions| portions.next(&base, |_| Some(400), |_, _| 0);
        (0..FORGOTTEN - 1).for_each(|_| assert!(next(&mut portions).is_empty()));
        assert!(!portions.is_forgotten());
        next(&mut portions);
        assert!(portions.is_forgotten());
        portions.answered();
        assert!(!portions.is_forgotten());
    }
}
