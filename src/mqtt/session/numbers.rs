//! The questions and messages to the broker about the name and the numbers of events.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::BrokerSession;
use crate::{
    config::Id,
    mqtt::{
        claim::STOOD_STILL,
        known::Numbers,
        link::{BrokerLink, Publication},
        window::Sent,
    },
};

/// How many words to the gateways of our name may be under way before an answer waits.
const MOST_WORDS: usize = 4;
/// How many boards that are not configured the log names.
const MOST_NAMED: usize = 5;

/// The session wakes once a second at least. If it is so late, what others said may wait to be read.
const LATE: Duration = Duration::from_millis(1250);

impl<L: BrokerLink> BrokerSession<'_, L> {
    /// Asks the broker who has our name, and what it knows of our numbers.
    pub(super) fn read_back(&mut self, keep_alive: Option<Duration>) {
        self.core.claim.restart(keep_alive);
        let may_echo = self.core.readback.begin(Instant::now());
        let echo = self.core.topics.echo();
        let mut filters = self.core.topics.claim_filters();
        if self.core.readback.wants_numbers() {
            filters.extend(self.core.topics.read_back_filters());
        }
        // The queue of a fresh link has room for these subscriptions.
        let asked = self.link.subscribe_to_others(&filters, true);
        if asked
            .and_then(|()| self.link.subscribe(std::slice::from_ref(&echo), false))
            .is_err()
        {
            tracing::error!(
                "the link was busy before anything was sent: the broker is not asked for our numbers"
            );
        }
        if may_echo {
            self.send(&Publication::plain(echo, "", false), Sent::Echo);
        }
    }

    /// Takes the next step of the questions, where time or an answer allows it.
    pub(super) async fn advance(&mut self) {
        let now = Instant::now();
        let core = &mut *self.core;
        if core.readback.asks(now) && self.link.unsubscribe(&core.topics.echo()).is_ok() {
            core.readback.asked(now);
        }
        let has_heard = core.readback.has_heard(now);
        if has_heard {
            core.claim.heard(now);
        }
        core.claim.tick(now);
        core.alarms.tell_left_out(now);
        let is_compared = !core.readback.wants_numbers();
        let was_taken = is_compared && core.claim.was_taken();
        let may_compare = !was_taken && has_heard && core.claim.holds();
        if may_compare && core.readback.compare(&core.journal, core.claim.take_over()) {
            self.begin();
        }
        self.speak();
        let stands_by = self.core.claim.stands_by() && !std::mem::replace(&mut self.is_noted, true);
        if stands_by || was_taken {
            let was_sending = self.core.claim.give_up();
            self.core.journal.stand_by(was_sending).await;
        }
        if was_taken {
            tracing::warn!(
                "another gateway had our name meanwhile: the broker is asked anew for our numbers"
            );
        }
        if is_compared && (stands_by || was_taken) {
            self.core.readback.forget();
            self.ask_anew();
        }
    }

    /// Asks again for everything, on the next connection, and sends nothing more on this one.
    fn ask_anew(&mut self) {
        self.asks_anew = true;
        self.link.disconnect();
    }

    /// Asks again who has our name, if this process stood still: another may have asked meanwhile and had no answer. True where
    /// it did.
    pub(super) fn stood_still(&mut self) -> bool {
        let stood = std::mem::replace(&mut self.turned_at, Instant::now()).elapsed();
        if stood > LATE {
            self.core.claim.ask_again(Instant::now());
        }
        let may_have_lost = stood > STOOD_STILL && self.core.claim.holds();
        if may_have_lost {
            let reason = format!(
                "this process stood still for {stood:.1?}: the broker is asked anew who has our name"
            );
            tracing::warn!("{reason}");
            self.asks_anew = true;
            self.link.abandon(&reason);
        }
        may_have_lost
    }

    /// Tells the other gateways whose the name is, and publishes the birth again where it is needed.
    fn speak(&mut self) {
        let now = Instant::now();
        // A word goes out beside the window, because an answer must come in time. Few answers are under way at once. A
        // question always goes, because without one nobody answers.
        while let Some(word) = self.core.claim.next_word(now)
            && (!word.holds || self.window.claims() < MOST_WORDS)
        {
            let payload = serde_json::to_vec(&word).unwrap_or_default();
            let message = Publication::plain(self.core.topics.claim(), payload, false);
            let ticket = self.window.next();
            if !self.send(&message, Sent::Claim) {
                // The link is busy: the word is still owed.
                break;
            }
            self.core.claim.said(&word, ticket, now);
        }
        if self.core.claim.takes_birth(now) && self.core.readback.is_over() {
            self.say("online");
        }
        let rival = self.core.claim.rival(now).map(str::to_owned);
        let awaited = self.core.claim.awaits().map(str::to_owned);
        self.core
            .count(|figures| (figures.rival, figures.awaited) = (rival, awaited));
    }

    /// Takes note of a subscription that the broker refuses: what is asked for before the publisher sends, or afterwards commands.
    pub(super) fn subscription_refused(&mut self, reason: &str) {
        let (topic, what) = if self.core.readback.is_over() {
            ("cmd", "no commands")
        } else {
            self.core.readback.refused(Instant::now());
            (
                "board",
                "it may not tell which numbers were given out, nor who has our name",
            )
        };
        self.alarm(
            topic,
            &format!("{what}: the broker refuses the subscription ({reason})"),
        );
    }

    /// Begins to send, now that the journal has compared the numbers. What the broker retains of the boards that the journal has left
    /// out is the only place where their numbers are, and stays. So is what it retains of any board where no disk keeps the numbers.
    pub(super) fn settled(&mut self, left_out: &BTreeSet<String>) {
        let mut known = self.core.readback.finish();
        known.forget(left_out);
        let is_kept = !*self.core.unsecured.borrow();
        let mut former = known.former(&self.core.boards.borrow());
        former.retain(|_| is_kept);
        tell_former(&former, known.take_left_out(), left_out.is_empty());
        for board in &former {
            self.core.states.clear_once(&self.core.topics, board);
        }
        if !former.is_empty() {
            self.core.former.send_replace(former);
        }
        self.core.ceilings.found(known.ceilings());
        if !self.core.claim.holds() {
            // Another gateway has taken the name meanwhile, and gives numbers out.
            self.core.readback.forget();
            self.ask_anew();
        } else if !self.core.claim.was_taken() && !self.asks_anew {
            self.begin();
        }
        // Otherwise the next turn asks anew.
    }

    /// Sends the ceiling of a board's numbers, or with none clears it.
    pub(super) fn send_ceiling(&mut self, board: &str, numbers: Option<Numbers>) -> bool {
        let ceiling = numbers.as_ref().map(|numbers| numbers.ceiling);
        let payload = numbers.and_then(|numbers| serde_json::to_vec(&numbers).ok());
        let message = Publication::plain(self.core.topics.numbers(board), payload.unwrap_or_default(), true);
        let sent = Sent::Ceiling {
            board: board.to_owned(),
            ceiling,
        };
        let went = self.send(&message, sent);
        if went {
            self.core.ceilings.sent(board, ceiling);
        }
        went
    }

    /// Clears a ceiling that the broker holds only because no disk could be written.
    pub(super) fn clear_ceiling(&mut self) -> bool {
        if *self.core.unsecured.borrow() {
            return false;
        }
        let board = self.core.ceilings.to_clear().map(str::to_owned);
        board.is_some_and(|board| self.send_ceiling(&board, None))
    }
}

/// Tells in the log of boards that the broker retains and that nobody configured, and of messages about yet more of them. Only where the
/// journal has room for their numbers would the next start take more of them away.
fn tell_former(former: &[Id], left_out: u64, has_room: bool) {
    let named: Vec<_> = former.iter().take(MOST_NAMED).map(Id::as_str).collect();
    let named = named.join(", ");
    let whose = match (former.len(), former.len().saturating_sub(MOST_NAMED)) {
        (0, _) => None,
        (1, _) => Some(format!("board {named} is not configured any more: its")),
        (_, 0) => Some(format!("boards {named} are not configured any more: their")),
        (_, more) => Some(format!(
            "boards {named} and {more} more are not configured any more: their"
        )),
    };
    if let Some(whose) = whose {
        tracing::info!("{whose} states are taken from the broker");
    }
    if left_out > 0 {
        let remedy = if has_room {
            "; restart it to have more of them taken away"
        } else {
            ""
        };
        tracing::warn!(
            "the broker retains {left_out} messages about yet more boards that nobody configured: somebody else wrote there. Only the gateway should have the right to{remedy}"
        );
    }
}
