//! Takes what comes over a board's line, and sends what the watcher asks for.

use std::collections::VecDeque;

use tokio::io::{ReadHalf, WriteHalf};

use super::{BoardTask, beating};
use crate::{
    capture::{Act, ParseError},
    gateway::{
        ports::PortClaim,
        timed::{Timed, to_board},
        trouble::Trouble,
    },
    link::{Allowance, Io, LinkSource, Opened},
    time::Millis,
    watcher::LinkWish,
};

/// How many bytes to the board may wait. If there are more, the port takes nothing any more.
const MAX_UNSENT: usize = 512;

/// A line that tells its own times is late if it tells something this long (in milliseconds) after it was. Without a delay on the way
/// it tells at least every 200 ms that nothing was heard.
const LATE_MS: u64 = 500;

/// A network may stand still for this long (in milliseconds) before the daemon connects anew: what is on its way is lost with a connection.
/// One that is gone says so as soon as the other side is there again.
const NETWORK_MS: u64 = 90_000;

/// An open link.
pub(super) struct OpenLink {
    pub(super) read: ReadHalf<Box<dyn Io>>,
    pub(super) write: WriteHalf<Box<dyn Io>>,
    pub(super) unsent: VecDeque<u8>,
    pub(super) allowance: Allowance,
    /// True once the log has told that the line sends too much.
    floods: bool,
    /// The reader of a line that tells when its bytes were read.
    pub(super) timed: Option<Timed>,
    _claim: PortClaim,
}

impl BoardTask {
    /// Opens the link and claims its port.
    pub(super) async fn open(&mut self) -> Option<(OpenLink, String)> {
        self.pulse.beat();
        let opened = beating(
            &self.pulse,
            self.plan.source.open_as(self.plan.settings.protocol.line()),
        )
        .await;
        match opened
            .map_err(Trouble::from)
            .and_then(|opened| self.claim(opened))
        {
            Ok(open) => Some(open),
            Err(trouble) => {
                self.say(&trouble);
                None
            }
        }
    }

    /// Takes an opened link, unless another board has its port.
    fn claim(&self, opened: Opened) -> Result<(OpenLink, String), Trouble> {
        let board = self.plan.id.as_str();
        let claim = self.shared.ports.claim(&opened.name, board);
        let claim = claim.map_err(|other| Trouble::Taken {
            port: opened.name.clone(),
            other,
        })?;
        tracing::debug!(board, port = opened.name, "port open");
        let (read, write) = tokio::io::split(opened.io);
        let line = OpenLink {
            read,
            write,
            unsent: VecDeque::new(),
            allowance: Allowance::new(self.now()),
            floods: false,
            timed: matches!(self.plan.source, LinkSource::Timed(_)).then(|| Timed::new(self.now())),
            _claim: claim,
        };
        Ok((line, opened.name))
    }

    /// Gives the watcher the bytes from the line, at the times that the line tells, or at the present time.
    pub(super) fn hear(&mut self, timed: Option<&mut Timed>, bytes: &[u8]) -> Result<(), ParseError> {
        self.heard = Some(self.shared.clock.now());
        let Some(timed) = timed else {
            let now = self.catch_up_with_bytes();
            self.record(now, || Act::FromBoard(bytes.to_vec()));
            self.watcher.handle_bytes(now, bytes);
            return Ok(());
        };
        for heard in timed.hear(self.shared.clock.now(), bytes)? {
            self.hold_talk(heard.at);
            // The watcher acts first on what is due before these bytes. Each action may ask for a later one.
            while let Some(due) = self.watcher.poll_timeout().filter(|due| *due <= heard.at) {
                let due = self.told.map_or(due, |told| due.max(told));
                self.watcher.handle_timeout(due);
                self.take_questions();
                self.hold_talk(due);
            }
            if !heard.bytes.is_empty() {
                self.record(heard.at, || Act::FromBoard(heard.bytes.clone()));
                self.watcher.handle_bytes(heard.at, &heard.bytes);
            }
            // The next part may have it ask for more, and it holds one command at a time.
            self.take_questions();
            self.told = Some(heard.at);
        }
        Ok(())
    }

    /// Takes what the watcher asks for.
    fn take_questions(&mut self) {
        let before = self.asked.len();
        self.asked
            .extend(std::iter::from_fn(|| self.watcher.poll_transmit()));
        if self.told.is_some() && self.asked.len() > before {
            self.asked_at = Some(self.shared.clock.now());
        }
    }

    /// The line has told what happened up to `at`. The board has not heard before that what was asked later.
    fn hold_talk(&mut self, at: Millis) {
        let waits = self.asked_at.is_some_and(|asked| at + LATE_MS < asked);
        if !waits {
            self.asked_at = None;
        }
        self.watcher.hold_talk(at, waits);
    }

    pub(super) fn record(&mut self, at: Millis, act: impl FnOnce() -> Act) {
        if let Some(tape) = &mut self.tape {
            tape.take(at, &act(), self.watcher.rules());
        }
    }

    /// When the task may read the line again, if the line has cost the others too much time; none when it may now.
    pub(super) fn waits(&self, line: &mut OpenLink) -> Option<Millis> {
        let again = line.allowance.wait(self.shared.clock.now())?;
        if !std::mem::replace(&mut line.floods, true) {
            let board = self.plan.id.as_str();
            tracing::warn!(
                board,
                code = "board_floods",
                "board {board}: it sends more than any board has to say and is read slowly: is another device on this port?"
            );
        }
        Some(again)
    }

    /// Sends what the watcher asks for. Returns a reason when the line cannot be used any more.
    pub(super) fn transmit(&mut self, line: Option<&mut OpenLink>) -> Option<String> {
        let wish = std::iter::from_fn(|| self.watcher.poll_wish()).last();
        let Some(line) = line else {
            // Without a line the watcher's bytes have no receiver.
            self.asked.clear();
            while self.watcher.poll_transmit().is_some() {}
            return None;
        };
        self.take_questions();
        for command in std::mem::take(&mut self.asked) {
            self.record(self.now(), || Act::ToBoard(command.to_vec()));
            match line.timed {
                Some(_) => line.unsent.extend(to_board(&command).bytes()),
                None => line.unsent.extend(command.iter()),
            }
        }
        if line.unsent.len() > MAX_UNSENT {
            return Some("the port takes no more".to_owned());
        }
        let LinkWish::Reopen = wish.filter(|_| !self.may_be_on_its_way())?;
        Some("the board does not answer".to_owned())
    }

    /// True where a network may still bring what the board said since.
    fn may_be_on_its_way(&self) -> bool {
        let is_near = |heard: Millis| self.shared.clock.now().since(heard) < NETWORK_MS;
        matches!(self.plan.source, LinkSource::Tcp(_)) && self.heard.is_some_and(is_near)
    }
}
