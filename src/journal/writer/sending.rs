//! From when on events can be sent: what a run took before that, the next one gives other numbers where it must.

use super::JournalWriter;
use crate::journal::entry::Written;

impl JournalWriter {
    /// Has the disk learn that what the journal has can be sent. Where it refuses, the next run would take what is sent for unsent: then
    /// numbers leave their range before anything is.
    pub(super) fn begin_to_send(&mut self) {
        if !self.is_compared || *self.sending.borrow() {
            return;
        }
        self.pending.sends = true;
        if self.flush() == Written::Memory {
            self.leave_unsecured();
            if self.leaving.is_none() {
                self.send();
            }
        }
    }

    /// Lets events be sent from now on, and wakes the publisher.
    pub(super) fn send(&mut self) {
        self.sending.send_replace(true);
        self.news.send_replace(self.position);
    }
}
