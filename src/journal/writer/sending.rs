//! The disk knows whether events of this run can have been sent. Until then the next run takes them for unsent.

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
                self.open();
            }
        }
    }

    /// Lets events be sent from now on, and wakes the publisher.
    pub(super) fn open(&mut self) {
        self.sending.send_replace(true);
        self.news.send_replace(self.position);
    }

    /// Lets no event be sent until [`Self::begin_to_send`].
    pub(super) fn keep_closed(&mut self) {
        self.pending.sends = false;
        self.sending.send_replace(false);
    }
}
