//! What this gateway waits for before it takes a name whose holder does not answer.

use std::time::{Duration, Instant};

use super::{AGAIN, ANSWER, Info, NameClaim, Stage, holder::longest_silence};

impl NameClaim {
    /// False where the broker says that the holder is offline. Another that waits for the name says so by its will, too, when it ends,
    /// and that tells nothing of the holder.
    pub(super) fn may_be_online(&self) -> bool {
        let holder = self.info.as_ref().map(|info| &info.boot_id);
        let is_of_another = self.speaker.is_some() && holder.is_some() && self.speaker.as_ref() != holder;
        self.is_online || is_of_another
    }

    /// True where the holder was a process before this one that had our journal, and so is gone.
    pub(super) fn was_ours(&self) -> bool {
        let Some(info) = &self.info else {
            return false;
        };
        let is_same_lock = info.journal_at.is_some() && info.journal_at == self.us.journal_at;
        is_same_lock && info.journal.as_ref() == Some(&self.us.journal)
    }

    /// True where the broker says that the holder is offline, and that was a process before this one. One whose journal is lost knows it by
    /// the machine, which has not been started since: the game that is under way must not wait.
    pub(super) fn is_known_gone(&self) -> bool {
        let told = self.info.as_ref().and_then(|info| info.journal_at.as_ref());
        let [theirs, ours] = [told, self.us.journal_at.as_ref()].map(|at| at?.split_whitespace().next());
        let is_of_this_machine = theirs.is_some() && theirs == ours;
        !self.may_be_online() && (self.was_ours() || self.us.is_new && is_of_this_machine)
    }

    /// Takes a sign of life of the holder for its answer.
    pub(super) fn lives(&mut self, now: Instant) {
        let lasts = self.longest_silence() + AGAIN;
        let word = self.info.as_ref().and_then(Info::word);
        match word.filter(|word| word.boot != self.us.boot) {
            Some(word) => self.hear(&word, lasts, now),
            None => self.stand_by(now),
        }
    }

    pub(super) fn stand_by(&mut self, now: Instant) {
        self.stage = Stage::StandingBy(now + AGAIN);
        (self.silent_since, self.has_stood_by) = (None, true);
    }

    fn longest_silence(&self) -> Duration {
        let keep_alive = self.us.keep_alive.max(self.asked_for);
        longest_silence(self.info.as_ref(), keep_alive, self.is_mute())
    }

    /// True where no words can be said.
    fn is_mute(&self) -> bool {
        self.is_refused || self.is_hung()
    }

    /// Nobody answered: takes the name if its holder must be gone by now, or else asks again.
    pub(super) fn end_wait(&mut self, now: Instant) {
        if !self.is_gone(now) {
            self.tell_wait(now);
            return self.ask(now);
        }
        self.stage = Stage::Holding;
        (self.question.is_owed, self.has_stood_by) = (false, false);
        self.silent_since = None;
        if let Some((host, _)) = self.awaited.take() {
            tracing::info!("the gateway of our name on {host} gave no sign of life: this one takes the name");
        }
        self.rival.left();
    }

    fn is_gone(&self, now: Instant) -> bool {
        let end = self.silent_since.map(|since| since + self.longest_silence());
        !self.may_be_online() || self.was_ours() || end.is_some_and(|end| end <= now)
    }

    /// Until when an answer is waited for that may come from now on. No answer has less time than another, so the last wait may be longer.
    pub(super) fn wait(&mut self, now: Instant) -> Stage {
        let end = *self.silent_since.get_or_insert(now) + self.longest_silence();
        let by = now + ANSWER;
        let is_last = self.is_mute() || end < by + ANSWER;
        let goes_on = is_last && !self.is_gone(now);
        Stage::Awaiting(if goes_on { by.max(end) } else { by })
    }

    /// Tells the log once what is waited for.
    pub(super) fn tell_wait(&mut self, now: Instant) {
        let word = self.info.as_ref().and_then(Info::word);
        let (host, boot) = word.map_or_else(Default::default, |word| (word.host, word.boot));
        let is_told = self.awaited.as_ref().is_some_and(|(_, told)| *told == boot);
        if is_told || self.is_gone(now) {
            return;
        }
        let since = self.silent_since.unwrap_or(now);
        let left = (since + self.longest_silence()).saturating_duration_since(now);
        let host = if host.is_empty() {
            "a machine that it does not tell"
        } else {
            &host
        };
        tracing::warn!(
            "the broker says that a gateway of our name is online, on {host}, and that one does not answer. It may be one whose link stands still, or this one before a power cut. Nothing is published for {} s, until the broker would have noticed that it is gone",
            left.as_secs_f64().ceil()
        );
        self.awaited = Some((host.to_owned(), boot));
    }

    /// The machine of the gateway that is waited for, though it does not answer.
    pub(in crate::mqtt) fn awaits(&self) -> Option<&str> {
        let awaited = self.awaited.as_ref().filter(|_| self.is_asking());
        awaited.map(|(host, _)| host.as_str())
    }
}
