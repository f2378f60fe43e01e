//! One connection's life: birth, the two lanes through one window, commands, good-bye.

mod blame;
mod forms;
mod lanes;
mod numbers;
mod reading;
mod replies;

pub(super) use blame::Culprit;
pub(super) use replies::tell_left_out;

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    claim::STOOD_STILL,
    command,
    lasting::{Lasting, StateLog},
    link::{Arrived, BrokerLink, Cause, Closed, LinkEvent, Publication, Qos, Ticket},
    reply::CommandReply,
    window::{InFlight, Sent},
};

/// How often the loop wakes to check its deadlines.
const TICK: Duration = Duration::from_secs(1);
/// A state that is due and could not go is tried again after this long.
const HASTE: Duration = Duration::from_millis(10);
/// How long the publication of `offline` may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Ticket of messages that nobody acknowledges.
const UNTRACKED: Ticket = Ticket(0);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Running,
    /// The session is stopping: it sends what is left until then.
    Draining(Instant),
    /// The session has sent `offline`, and waits for the acknowledgement until then.
    LastWords(Instant),
    /// The session has said good-bye, and waits for the close until then.
    Leaving(Instant),
}

/// How a session ended.
#[derive(Debug)]
pub(super) struct SessionEnd {
    /// How the connection ended; none after a stop that the gateway asked for.
    pub(super) closed: Option<Closed>,
    pub(super) connected_at: Option<Instant>,
    /// The message of ours that may be the reason.
    pub(super) culprit: Option<Culprit>,
}

impl SessionEnd {
    pub(super) fn failed(reason: String) -> Self {
        Self {
            closed: Some(Closed::because(reason)),
            connected_at: None,
            culprit: None,
        }
    }
}

/// A connection with what is under way on it.
pub(super) struct BrokerSession<'a, L> {
    link: L,
    core: &'a mut Lasting,
    phase: Phase,
    connected_at: Option<Instant>,
    window: InFlight,
    /// What the broker refused last, with no other answer since.
    refused: Option<(Sent, Instant)>,
    /// True once the session has sent a birth that it left out at first.
    is_born: bool,
    max_packet: Option<usize>,
    waiting_reply: Option<CommandReply>,
    /// The questions to the journal that it has not answered.
    reading: JoinSet<reading::Read>,
    /// True once the journal knows that another gateway has our name.
    is_noted: bool,
    /// Whose turn it is: true for states, false for events.
    states_first: bool,
    /// When the loop began its last turn.
    turned_at: Instant,
    /// True once the session has left the connection to ask for our name again on the next: it sends nothing more.
    asks_anew: bool,
    /// True once the broker has `info` on this connection, or does not take it.
    is_known: bool,
    /// True once the journal was told that its events can be sent.
    has_told_journal: bool,
}

impl<'a, L: BrokerLink> BrokerSession<'a, L> {
    pub(super) fn new(link: L, core: &'a mut Lasting) -> Self {
        Self {
            link,
            core,
            phase: Phase::Running,
            connected_at: None,
            window: InFlight::new(1),
            refused: None,
            is_born: false,
            max_packet: None,
            waiting_reply: None,
            reading: JoinSet::new(),
            is_noted: false,
            states_first: true,
            turned_at: Instant::now(),
            asks_anew: false,
            is_known: false,
            has_told_journal: false,
        }
    }

    /// Works until the connection ends or the stop is done.
    pub(super) async fn run(
        mut self,
        address: &str,
        stop: &CancellationToken,
        log: &mut StateLog,
    ) -> SessionEnd {
        let mut closed = self.work(address, stop, log).await;
        let may_be_ours = self.connected_at.is_some() && !self.asks_anew;
        let culprit = match &mut closed {
            Some(closed) if may_be_ours && closed.cause != Cause::Broker => self.find_culprit(closed),
            _ => None,
        };
        self.core.events_first = culprit.is_some();
        let end = SessionEnd {
            // The daemon is stopping, so the end of this connection is no reason to make another.
            closed: closed.filter(|_| self.phase == Phase::Running),
            connected_at: self.connected_at,
            culprit,
        };
        self.core.states.restart();
        end
    }

    async fn work(&mut self, address: &str, stop: &CancellationToken, log: &mut StateLog) -> Option<Closed> {
        loop {
            (self.core.beat)();
            if self.connected_at.is_some() && !self.asks_anew && !self.stood_still() {
                self.advance().await;
            }
            self.hand_over_acks();
            if self.may_send() {
                self.begin_to_send();
                if self.is_open() {
                    self.load().await;
                }
                self.pump();
            }
            if let Some(closed) = self.look_at_the_watch() {
                return closed;
            }
            if self.may_send() && self.turned_at.elapsed() > STOOD_STILL {
                // It stood still in this turn: nothing of what was handed over may leave.
                continue;
            }
            let wake = tokio::time::Instant::from_std(self.wake());
            tokio::select! {
                event = self.link.next() => match event {
                    LinkEvent::Closed(closed) => return Some(closed),
                    LinkEvent::Connected { window, max_packet, keep_alive } => {
                        log.back(address);
                        self.connected(address, window, max_packet);
                        self.read_back(keep_alive);
                    }
                    event => self.handle(event),
                },
                Some(read) = self.reading.join_next() => self.loaded(read),
                Ok(()) = self.core.news.changed() => {
                    let newest = *self.core.news.borrow_and_update();
                    self.core.outbox.news(newest);
                }
                () = self.core.states.changed() => {}
                left_out = self.core.readback.settled() => self.settled(&left_out),
                Some(reply) = self.core.replies.recv(), if self.waiting_reply.is_none() => {
                    self.waiting_reply = Some(reply);
                }
                () = tokio::time::sleep_until(wake) => {}
                () = stop.cancelled(), if self.phase == Phase::Running => {
                    self.phase = Phase::Draining(Instant::now() + self.core.settings.stop_bound);
                }
            }
        }
    }

    /// Subscribes first: whoever hears that we are online may send a command at once. The birth comes next, and the
    /// lanes send the table and the backlog after it.
    fn connected(&mut self, address: &str, window: usize, max_packet: Option<usize>) {
        self.connected_at = Some(Instant::now());
        self.window = InFlight::new(window);
        self.max_packet = max_packet;
        self.core.count(|figures| {
            figures.connected = true;
            figures.broker = Some(address.to_owned());
            figures.connects += 1;
        });
    }

    /// Sends the birth. The lanes send the table and the backlog after it.
    fn begin(&mut self) {
        let newest = *self.core.news.borrow();
        self.core.outbox.restart(newest, Instant::now());
        self.reading = JoinSet::new();
        (self.is_known, self.has_told_journal) = (false, false);
        self.core.states.restart();
        self.core.ceilings.restart();
        if self.core.settings.commands {
            let filters = self.core.topics.command_filters();
            // A fresh link has room for these two.
            if self.link.subscribe(&filters, self.core.wants_retained).is_err() {
                tracing::error!("the link was busy before anything was sent: no commands on this connection");
            }
        }
        if !self.core.leaves_birth_out {
            self.say("online");
        }
    }

    fn say(&mut self, word: &'static str) {
        let speaker = Some(self.core.settings.boot_id.clone());
        let message = Publication {
            speaker,
            ..Publication::plain(self.core.topics.status(), word, true)
        };
        self.send(&message, Sent::Word);
    }

    fn send(&mut self, message: &Publication, sent: Sent) -> bool {
        let is_tracked = message.qos == Qos::AtLeastOnce;
        let ticket = if is_tracked { self.window.next() } else { UNTRACKED };
        if self.link.publish(ticket, message).is_err() {
            return false;
        }
        if is_tracked {
            self.window.sent(sent);
        }
        true
    }

    fn send_state(&mut self) -> bool {
        let now = Instant::now();
        let is_careful = self.core.suspicion.is_careful();
        let Some(message) = self.core.states.next(now, is_careful) else {
            return false;
        };
        let message = self.dated(message);
        let topic = message.topic.clone();
        if !self.fits(&message) {
            self.core.states.sent(&topic, now);
            self.core.states.refused(&topic);
            return true;
        }
        let went = self.send(&message, Sent::State { topic: topic.clone() });
        if went {
            self.core.states.sent(&topic, now);
            let is_young = self.connected_at.is_some_and(|at| now - at < blame::YOUNG);
            if is_young && message.qos == Qos::AtMostOnce {
                self.window.told(&topic);
            }
        }
        went
    }

    fn alarm(&mut self, topic: &str, reason: &str) {
        self.core.count(|figures| figures.refused += 1);
        if let Some(left_out) = self.core.alarms.raise(topic, Instant::now()) {
            let more = match left_out {
                0 => String::new(),
                count => format!("; refusals before it that were not told one by one: {count}"),
            };
            tracing::error!(
                topic,
                "the broker does not take our messages on {topic} ({reason}); they are kept and tried again rarely{more}"
            );
        }
    }

    fn handle(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Acked(ticket) => self.acked(ticket),
            LinkEvent::Refused(ticket, reason) => self.refused(ticket, &reason),
            LinkEvent::Arrived(arrived) => self.arrived(&arrived),
            LinkEvent::SubscriptionRefused(reason) => self.subscription_refused(&reason),
            LinkEvent::Subscribed => self.core.readback.subscribed(Instant::now()),
            LinkEvent::Unsubscribed => self.core.readback.answered(),
            LinkEvent::Connected { .. } | LinkEvent::Closed(_) => {}
        }
    }

    fn acked(&mut self, ticket: Ticket) {
        self.refused = None;
        let sent = self.window.answered(ticket);
        if let Some(key) = sent.as_ref().and_then(Sent::key) {
            self.core.suspicion.acked(&key);
        }
        match sent {
            Some(Sent::Event { n, topic }) => {
                self.core.outbox.acked(n);
                self.core.acks.push(n);
                self.core.count(|figures| figures.events_acked += 1);
                self.core.alarms.end(&topic);
            }
            Some(Sent::State { topic }) => {
                self.core.states.answered(&topic);
                self.core.alarms.end(&topic);
            }
            Some(Sent::Ceiling { board, ceiling }) => self.core.ceilings.acked(&board, ceiling),
            Some(Sent::Word) => self.core.leaves_birth_out = false,
            Some(Sent::Claim) => {
                self.core.claim.answered(ticket, true, Instant::now());
                self.core.alarms.end(&self.core.topics.claim());
            }
            Some(Sent::Echo) => self.core.readback.echoed(Instant::now()),
            Some(Sent::Reply { .. }) | None => {}
        }
    }

    fn refused(&mut self, ticket: Ticket, reason: &str) {
        let Some(sent) = self.window.answered(ticket) else {
            return;
        };
        let now = Instant::now();
        match &sent {
            Sent::Event { n, topic } => {
                self.core.outbox.refused(*n, now);
                self.alarm(topic, reason);
            }
            // The next value or the next connection tries again.
            Sent::State { topic } => {
                self.core.states.refused(topic);
                self.alarm(topic, reason);
            }
            Sent::Reply { topic } => self.reply_lost(topic, reason),
            Sent::Word => {
                let topic = self.core.topics.status();
                self.alarm(&topic, reason);
            }
            Sent::Ceiling { board, .. } => {
                self.core.ceilings.refused(board);
                self.alarm(&self.core.topics.numbers(board), reason);
            }
            Sent::Echo => self.core.readback.echo_refused(now),
            // No other gateway hears of it, and so no answer will come.
            Sent::Claim => {
                self.core.claim.answered(ticket, false, now);
                let topic = self.core.topics.claim();
                self.alarm(&topic, &format!("{reason}: {}", blame::NO_WORDS));
            }
        }
        self.refused = Some((sent, now));
    }

    fn arrived(&mut self, arrived: &Arrived) {
        if self.phase != Phase::Running {
            return;
        }
        let core = &mut *self.core;
        let now = Instant::now();
        core.readback
            .take(&core.topics, arrived, &core.boards.borrow(), now);
        core.claim.take(&core.topics, arrived, now);
        if !core.claim.holds() {
            return;
        }
        let boards = self.core.boards.borrow();
        let retired = self.core.retired.borrow();
        let is_board = |id: &str| boards.iter().any(|board| board.as_str() == id) || retired.contains(id);
        let Some(judged) = command::receive(&self.core.topics, arrived, is_board) else {
            return;
        };
        drop((boards, retired));
        let judged = judged.and_then(|request| self.core.pass_on(request));
        self.core.count(|figures| figures.commands += 1);
        if let Err(refused) = judged {
            let (refusal, answer) = *refused;
            self.core.count(|figures| figures.commands_refused += 1);
            let message = answer.refused(refusal.code(), &refusal).into_message();
            let topic = message.topic.clone();
            // A flood of bad commands beyond the link's room goes unanswered.
            if self.has_room() && self.reply_fits(&message) {
                self.send(&message, Sent::Reply { topic });
            }
        }
    }

    /// When the session must act although no event comes.
    fn wake(&self) -> Instant {
        let now = Instant::now();
        let tick = now + TICK;
        let words = self.core.claim.due(now).filter(|at| *at > now);
        let heard = self.core.readback.due().filter(|at| *at > now);
        let due = self
            .core
            .states
            .due()
            .filter(|_| self.may_send() && self.has_room() && self.may_state())
            // What could not go although it was due would keep a processor busy.
            .map(|at| at.max(now + HASTE));
        let phase = match self.phase {
            Phase::Running => None,
            Phase::Draining(until) | Phase::LastWords(until) | Phase::Leaving(until) => Some(until),
        };
        [due, words, heard, phase]
            .into_iter()
            .flatten()
            .fold(tick, Instant::min)
    }

    /// Takes the steps of a stop, and gives a connection up that acknowledges nothing. `Some` ends the session.
    fn look_at_the_watch(&mut self) -> Option<Option<Closed>> {
        let now = Instant::now();
        match self.phase {
            Phase::Running => {
                self.acquit(now);
                let owed = [self.window.since(), self.core.readback.owes_since()];
                let mut owed = owed.into_iter().flatten();
                let is_stuck = owed.any(|since| now - since > self.core.patience);
                is_stuck.then(|| {
                    self.core.be_patient();
                    Some(Closed::because("the broker acknowledges nothing"))
                })
            }
            _ if self.connected_at.is_none() => Some(None),
            Phase::Draining(until) => {
                if self.is_drained() || now >= until {
                    // If another gateway has our name, that one is online.
                    if self.core.claim.holds() {
                        self.say("offline");
                    }
                    self.phase = Phase::LastWords(now + LAST_WORDS);
                }
                None
            }
            Phase::LastWords(until) => {
                if !self.window.has_word() || now >= until {
                    self.link.disconnect();
                    self.phase = Phase::Leaving(now + LAST_WORDS);
                }
                None
            }
            Phase::Leaving(until) => (now >= until).then_some(None),
        }
    }

    fn is_drained(&self) -> bool {
        if !self.may_send() {
            return true;
        }
        self.window.is_empty()
            && self.waiting_reply.is_none()
            && self.core.replies.is_empty()
            && self.core.outbox.is_drained()
            && self.core.states.is_drained()
    }
}
