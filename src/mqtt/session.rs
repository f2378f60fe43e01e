//! One connection's life: birth, the two lanes through one window, commands, good-bye.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{
    command,
    link::{Arrived, BrokerLink, Closed, LinkEvent, Message, Qos, Ticket},
    outbox::{HOLD, LONG_HOLD},
    publisher::{Core, StateLog},
    reply::Reply,
    window::{Sent, Window},
};
use crate::throttle::{Throttle, shortened};

/// How often the loop wakes to look at its watch.
const TICK: Duration = Duration::from_secs(1);
/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Ticket of messages that nobody acknowledges.
const UNTRACKED: Ticket = Ticket(0);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Running,
    /// Stopping: what is left goes out until then.
    Draining(Instant),
    /// `offline` is under way.
    LastWords(Instant),
    /// Good-bye is said.
    Leaving(Instant),
}

/// How a session ended.
#[derive(Debug)]
pub(super) struct End {
    /// None after a stop that was asked for.
    pub(super) closed: Option<Closed>,
    pub(super) connected_at: Option<Instant>,
}

impl End {
    pub(super) fn failed(reason: String) -> Self {
        Self {
            closed: Some(Closed {
                reason,
                oversize: false,
            }),
            connected_at: None,
        }
    }
}

/// A connection with what is under way on it.
pub(super) struct Session<'a, L> {
    link: L,
    core: &'a mut Core,
    phase: Phase,
    connected_at: Option<Instant>,
    window: Window,
    max_packet: Option<usize>,
    waiting_reply: Option<Reply>,
    /// The lanes take turns.
    states_first: bool,
}

impl<'a, L: BrokerLink> Session<'a, L> {
    pub(super) fn new(link: L, core: &'a mut Core) -> Self {
        Self {
            link,
            core,
            phase: Phase::Running,
            connected_at: None,
            window: Window::new(1),
            max_packet: None,
            waiting_reply: None,
            states_first: true,
        }
    }

    /// Until the connection ends or the stop is done.
    pub(super) async fn run(mut self, address: &str, stop: &CancellationToken, log: &mut StateLog) -> End {
        let closed = self.work(address, stop, log).await;
        if closed.is_some() && self.connected_at.is_some() {
            self.suspect();
        }
        let end = End {
            // A connection that ends while stopping is no reason to make another.
            closed: closed.filter(|_| self.phase == Phase::Running),
            connected_at: self.connected_at,
        };
        self.core.states.restart();
        end
    }

    async fn work(&mut self, address: &str, stop: &CancellationToken, log: &mut StateLog) -> Option<Closed> {
        loop {
            (self.core.beat)();
            if self.connected_at.is_some() {
                self.load().await;
                self.pump();
            }
            if let Some(closed) = self.look_at_the_watch() {
                return closed;
            }
            let wake = tokio::time::Instant::from_std(self.wake());
            tokio::select! {
                event = self.link.next() => match event {
                    LinkEvent::Closed(closed) => return Some(closed),
                    LinkEvent::Connected { window, max_packet } => {
                        log.back(address);
                        self.connected(address, window, max_packet);
                    }
                    event => self.handle(event).await,
                },
                Ok(()) = self.core.news.changed() => {
                    let newest = *self.core.news.borrow_and_update();
                    self.core.outbox.news(newest);
                }
                () = self.core.states.changed() => {}
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

    /// The connection ended with messages under way: was it the oldest of them, again?
    fn suspect(&mut self) {
        let oldest = self.window.oldest();
        let Some(key) = oldest.and_then(Sent::key) else {
            return;
        };
        if !self.core.suspicion.ended(&key) {
            return;
        }
        let until = Instant::now() + LONG_HOLD;
        let topic = match oldest {
            Some(Sent::Event { n, topic }) => {
                self.core.outbox.hold(*n, until);
                topic.clone()
            }
            Some(Sent::State { topic }) => {
                self.core.states.hold(topic, until);
                topic.clone()
            }
            _ => return,
        };
        self.alarm(&topic, "the broker hangs up on it: may we publish there?");
    }

    /// The subscription first: whoever hears that we are online may command at once. Then the birth; the table and the
    /// backlog follow by the lanes.
    fn connected(&mut self, address: &str, window: usize, max_packet: Option<usize>) {
        self.connected_at = Some(Instant::now());
        self.window = Window::new(window);
        self.max_packet = max_packet;
        let newest = *self.core.news.borrow();
        self.core.outbox.restart(newest);
        self.core.states.restart();
        self.core.count(|figures| {
            figures.connected = true;
            figures.broker = Some(address.to_owned());
            figures.connects += 1;
        });
        if self.core.settings.commands {
            let filters = self.core.topics.command_filters();
            // A fresh link has room for these two.
            if self.link.subscribe(&filters, self.core.wants_retained).is_err() {
                tracing::error!("the link was busy before anything was sent: no commands on this connection");
            }
        }
        self.say("online");
    }

    fn say(&mut self, word: &'static str) {
        let message = Message {
            topic: self.core.topics.status(),
            payload: word.into(),
            qos: Qos::AtLeastOnce,
            retain: true,
            expiry: None,
            correlation: None,
        };
        self.send(&message, Sent::Word);
    }

    /// Reads the outbox ahead.
    async fn load(&mut self) {
        self.core.outbox.release(Instant::now());
        while let Some((after, limit)) = self.core.outbox.wants() {
            let rows = self.core.journal.unacked(after, limit).await;
            self.core.outbox.load(rows, limit);
        }
        while let Some((after, limit)) = self.core.outbox.wants_live() {
            let rows = self.core.journal.latest(after, limit).await;
            self.core.outbox.load_live(rows, limit);
        }
    }

    /// Hands over what the window lets through: replies, then the lanes in turn.
    fn pump(&mut self) {
        if matches!(self.phase, Phase::LastWords(_) | Phase::Leaving(_)) {
            return;
        }
        while self.has_room() {
            let states_first = self.states_first;
            let went = self.send_reply()
                || (states_first && self.send_state())
                || self.send_event()
                || (!states_first && self.send_state());
            if !went {
                return;
            }
            self.states_first = !states_first;
        }
    }

    fn has_room(&self) -> bool {
        self.window.has_room(self.core.suspicion.is_careful())
    }

    fn send(&mut self, message: &Message, sent: Sent) -> bool {
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

    fn send_reply(&mut self) -> bool {
        let Some(reply) = self
            .waiting_reply
            .take()
            .or_else(|| self.core.replies.try_recv().ok())
        else {
            return false;
        };
        let message = reply.clone().into_message();
        if !self.reply_fits(&message) {
            return true;
        }
        let topic = message.topic.clone();
        if !self.send(&message, Sent::Reply { topic }) {
            self.waiting_reply = Some(reply);
            return false;
        }
        true
    }

    fn send_state(&mut self) -> bool {
        let now = Instant::now();
        let Some(message) = self.core.states.next(now) else {
            return false;
        };
        let topic = message.topic.clone();
        if !self.fits(&message) {
            self.core.states.sent(&topic, now);
            self.core.states.answered(&topic);
            return true;
        }
        let went = self.send(&message, Sent::State { topic: topic.clone() });
        if went {
            self.core.states.sent(&topic, now);
        }
        went
    }

    fn send_event(&mut self) -> bool {
        let Some(row) = self.core.outbox.next() else {
            return false;
        };
        let n = row.n;
        let message = Message {
            topic: self.core.topics.event(&row.board, &row.kind),
            payload: row.json.clone(),
            qos: Qos::AtLeastOnce,
            retain: false,
            expiry: None,
            correlation: None,
        };
        if !self.fits(&message) {
            self.core.outbox.skip(n);
            return true;
        }
        let topic = message.topic.clone();
        let went = self.send(&message, Sent::Event { n, topic });
        if went {
            self.core.outbox.sent(n);
        }
        went
    }

    /// Checked here: the library would take it for sent, fail, and fail again after each reconnect.
    fn fits(&mut self, message: &Message) -> bool {
        let bound = message.packet_bound();
        let is_fitting = self.max_packet.is_none_or(|max| bound <= max);
        if !is_fitting {
            self.alarm(
                &message.topic,
                &format!("{bound} bytes are more than the broker takes"),
            );
        }
        is_fitting
    }

    fn reply_fits(&mut self, message: &Message) -> bool {
        let is_fitting = self.max_packet.is_none_or(|max| message.packet_bound() <= max);
        if !is_fitting {
            self.reply_lost(&message.topic, "it is larger than the broker takes");
        }
        is_fitting
    }

    /// Nothing is kept of it: whoever asks chooses where the answer goes, and there is no end of topics.
    fn reply_lost(&self, topic: &str, reason: &str) {
        static SAID: Throttle = Throttle::new();
        self.core.count(|figures| figures.refused += 1);
        if let Some(left_out) = SAID.pass(Instant::now()) {
            let topic = shortened(topic, 300);
            tracing::warn!(
                "the broker does not take the answer to a command on {topic} ({reason}); answers lost besides, not told one by one: {left_out}"
            );
        }
    }

    fn alarm(&mut self, topic: &str, reason: &str) {
        self.core.count(|figures| figures.refused += 1);
        if self.core.alarms.insert(topic.to_owned()) {
            tracing::error!(
                topic,
                "the broker does not take our messages on {topic} ({reason}); they are kept and tried again rarely"
            );
        }
    }

    async fn handle(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Acked(ticket) => self.acked(ticket).await,
            LinkEvent::Refused(ticket, reason) => self.refused(ticket, &reason),
            LinkEvent::Arrived(arrived) => self.arrived(&arrived),
            LinkEvent::SubscriptionRefused(reason) => {
                self.alarm(
                    "cmd",
                    &format!("no commands: the broker refuses the subscription ({reason})"),
                );
            }
            LinkEvent::Connected { .. } | LinkEvent::Closed(_) => {}
        }
    }

    async fn acked(&mut self, ticket: Ticket) {
        let sent = self.window.answered(ticket);
        if let Some(key) = sent.as_ref().and_then(Sent::key) {
            self.core.suspicion.acked(&key);
        }
        match sent {
            Some(Sent::Event { n, topic }) => {
                self.core.outbox.acked(n);
                self.core.journal.acked(vec![n]).await;
                self.core.count(|figures| figures.events_acked += 1);
                self.core.alarms.remove(&topic);
            }
            Some(Sent::State { topic }) => {
                self.core.states.answered(&topic);
                self.core.alarms.remove(&topic);
            }
            Some(Sent::Word | Sent::Reply { .. }) | None => {}
        }
    }

    fn refused(&mut self, ticket: Ticket, reason: &str) {
        match self.window.answered(ticket) {
            Some(Sent::Event { n, topic }) => {
                self.core.outbox.hold(n, Instant::now() + HOLD);
                self.alarm(&topic, reason);
            }
            // The next value or the next connection tries again.
            Some(Sent::State { topic }) => {
                self.core.states.answered(&topic);
                self.alarm(&topic, reason);
            }
            Some(Sent::Reply { topic }) => self.reply_lost(&topic, reason),
            Some(Sent::Word) => {
                let topic = self.core.topics.status();
                self.alarm(&topic, reason);
            }
            None => {}
        }
    }

    fn arrived(&mut self, arrived: &Arrived) {
        if self.phase != Phase::Running {
            return;
        }
        let boards = &self.core.boards;
        let is_board = |id: &str| boards.iter().any(|board| board.as_str() == id);
        let Some(judged) = command::receive(&self.core.topics, arrived, is_board) else {
            return;
        };
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

    /// When something is due without an event.
    fn wake(&self) -> Instant {
        let tick = Instant::now() + TICK;
        let due = self
            .core
            .states
            .due()
            .filter(|_| self.connected_at.is_some() && self.has_room());
        let phase = match self.phase {
            Phase::Running => None,
            Phase::Draining(until) | Phase::LastWords(until) | Phase::Leaving(until) => Some(until),
        };
        [due, phase].into_iter().flatten().fold(tick, Instant::min)
    }

    /// The watchdog, and the steps of a stop. `Some` ends the session.
    fn look_at_the_watch(&mut self) -> Option<Option<Closed>> {
        let now = Instant::now();
        match self.phase {
            Phase::Running => {
                let is_stuck = self
                    .window
                    .since()
                    .is_some_and(|since| now - since > self.core.patience);
                is_stuck.then(|| {
                    self.core.be_patient();
                    Some(Closed {
                        reason: "the broker acknowledges nothing".to_owned(),
                        oversize: false,
                    })
                })
            }
            _ if self.connected_at.is_none() => Some(None),
            Phase::Draining(until) => {
                if self.is_drained() || now >= until {
                    self.say("offline");
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
        self.window.is_empty()
            && self.waiting_reply.is_none()
            && self.core.replies.is_empty()
            && self.core.outbox.is_drained()
            && self.core.states.is_drained()
    }
}
