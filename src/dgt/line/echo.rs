//! An adapter that hands back what is sent through it, as those do that send and receive over one pair of wires: our own question
//! comes before its answer. It says nothing of the boards.

use std::borrow::Cow;

use super::exchange::QUESTION_BYTES;

/// What was sent last, and how much of it has come back.
#[derive(Debug)]
pub(super) struct Echo {
    sent: [u8; QUESTION_BYTES],
    back: usize,
}

impl Default for Echo {
    fn default() -> Self {
        Self {
            sent: [0; QUESTION_BYTES],
            back: QUESTION_BYTES,
        }
    }
}

impl Echo {
    /// This is sent now.
    pub(super) fn is_sent(&mut self, question: [u8; QUESTION_BYTES]) {
        (self.sent, self.back) = (question, 0);
    }

    /// What of `bytes` boards have said. No answer to a question begins as the question does.
    pub(super) fn strip<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let (back, to_come) = self.sent.split_at(self.back);
        let same = bytes
            .iter()
            .zip(to_come)
            .take_while(|(heard, sent)| heard == sent);
        let same = same.count();
        if same == bytes.len() || same == to_come.len() {
            self.back += same;
            return Cow::Borrowed(&bytes[same..]);
        }
        // It was no echo: what began like one was said by somebody.
        let all = match back {
            [] => Cow::Borrowed(bytes),
            begun => Cow::Owned([begun, bytes].concat()),
        };
        self.back = QUESTION_BYTES;
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_left_and_what_comes_back_is_not() {
        let mut echo = Echo::default();
        assert_eq!(*echo.strip(&[0]), [0], "nothing was sent");
        echo.is_sent([0x87, 0, 6, 13]);
        assert!(echo.strip(&[0x87]).is_empty());
        assert_eq!(*echo.strip(&[0, 6, 13, 0x87, 0]), [0x87, 0]);
        assert_eq!(*echo.strip(&[0x87, 0, 6, 13]), [0x87, 0, 6, 13], "it comes once");
        // The answer of a board to a ping, which begins alike, without an echo.
        echo.is_sent([0x87, 0, 6, 13]);
        assert!(echo.strip(&[0x87]).is_empty());
        assert_eq!(*echo.strip(&[0, 6, 0, 6, 19]), [0x87, 0, 6, 0, 6, 19]);
    }
}
