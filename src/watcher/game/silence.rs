//! A board that tells nothing although the players press by turns: updates are lost, or the board was told to send none.

use shakmaty::Color;

/// So many presses show that both players have pressed, whoever began.
const REMEMBERED: usize = 4;

/// Who has pressed since the board last told anything.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct UnreadPresses {
    presses: Vec<Color>,
}

impl UnreadPresses {
    /// Takes in a press.
    pub(in crate::watcher) fn pressed(&mut self, side: Color) {
        if self.presses.len() < REMEMBERED {
            self.presses.push(side);
        }
    }

    /// The board has told something.
    pub(in crate::watcher) fn end(&mut self) {
        self.presses.clear();
    }

    /// True where both players have pressed for half-moves of which the board told nothing: `turn` was to move after what it had told.
    pub(in crate::watcher) fn is_of_both(&self, turn: Color) -> bool {
        let mut since = self.presses.iter().skip_while(|side| **side != turn);
        since.any(|side| *side != turn)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Color::{self, Black, White};

    use super::UnreadPresses;

    #[test]
    fn a_press_for_what_was_read_before_does_not_count() {
        let is_of_both = |presses: &[Color]| {
            let mut silence = UnreadPresses::default();
            presses.iter().for_each(|side| silence.pressed(*side));
            silence.is_of_both(White)
        };
        assert!(!is_of_both(&[]) && !is_of_both(&[White]) && !is_of_both(&[Black, White]));
        assert!(is_of_both(&[White, Black]) && is_of_both(&[Black, White, Black]));
    }
}
