//! What a board on a shared line kept while nobody asked it: changes and presses, in order. It tells them before its first
//! dump. If they lead from what the watcher knew to what the dump shows, nothing was missed.

use crate::dgt::{ClockReading, Message, Squares};

/// A board keeps no more than this.
const MOST: usize = 4000;

/// What came since the link was up and before the first dump.
#[derive(Debug, Default)]
pub(super) struct Since {
    told: Vec<Message<'static>>,
    /// It told more than a board keeps.
    is_full: bool,
}

impl Since {
    /// Keeps a message until the first dump. False for one that need not wait for it.
    pub(super) fn keeps(&mut self, message: &Message<'_>) -> bool {
        let kept = match *message {
            Message::Field { square, piece } => Message::Field { square, piece },
            Message::Clock(reading) => Message::Clock(reading),
            Message::NoClock => Message::NoClock,
            apart if apart == Message::APART => Message::APART,
            since if since == Message::SINCE => Message::SINCE,
            _ => return false,
        };
        if self.told.len() >= MOST {
            self.is_full = true;
            self.told.clear();
        }
        self.told.push(kept);
        true
    }

    /// What leads from `before`, what the watcher knew last, to the `dump`. None where it does not, and half-moves may be missing: the
    /// board was without power, or another program has asked it. None, too, where nothing happened but that the clock went on.
    /// `clock` is what the clock showed last, if it ran.
    pub(super) fn leading(
        &self,
        before: &Squares,
        clock: Option<ClockReading>,
        dump: &Squares,
    ) -> Option<Vec<Message<'static>>> {
        let since = self.told.iter().position(|message| *message == Message::SINCE);
        let again = &self.told[..since.unwrap_or_default()];
        let fresh = &self.told[since.map_or(0, |place| place + 1)..];
        // A program that was killed may not have written down what it was told last.
        let is_known =
            clock.is_none_or(|clock| last_press(again).is_none_or(|press| is_shown(&clock, &press)));
        let all = (presses(again) <= 1).then_some(&self.told[..]);
        let leads =
            |told: &&[Message<'static>]| !self.is_full && is_news(told) && after(*before, told) == *dump;
        let mut leading = is_known
            .then_some(fresh)
            .into_iter()
            .chain(all)
            .find(leads)?
            .to_vec();
        if let Some(clock) = clock {
            let frames = leading.iter_mut().filter_map(|message| match message {
                Message::Clock(frame) => Some(frame),
                _ => None,
            });
            find_running(clock, frames);
        }
        Some(leading)
    }

    /// What to take in where half-moves may be missing: what the clock showed last.
    pub(super) fn last_of_clock(&self) -> Option<&Message<'static>> {
        let of_clock = |message: &&Message<'_>| matches!(message, Message::Clock(_) | Message::NoClock);
        self.told.iter().rfind(of_clock)
    }
}

/// Finds which frames of the clock ran. The board logs presses, and not whether the clock runs: until a press after which the
/// time of its side is another one, it did. `before` is what the clock showed before all `frames`.
fn find_running<'a>(before: ClockReading, frames: impl Iterator<Item = &'a mut ClockReading>) {
    let (mut shown, mut last) = (before, None::<&mut ClockReading>);
    for frame in frames {
        let side = frame.lever.pressed();
        if last.is_none() && frame.lever != shown.lever {
            // Nobody knew the other time as the press was logged.
            *frame.time_mut(side.other()) = shown.time(side.other());
        }
        let is_press = frame.lever != shown.lever && shown.is_played_on(side, frame.time(side).seconds);
        if let Some(last) = last.filter(|_| is_press) {
            last.running = true;
        }
        shown = *frame;
        last = Some(frame);
    }
}

/// True where a square changed, or the clock showed more than what it shows now.
fn is_news(told: &[Message<'_>]) -> bool {
    told.iter()
        .any(|message| matches!(message, Message::Field { .. }))
        || presses(told) > 1
}

/// What the clock showed as it was pressed last.
fn last_press(told: &[Message<'_>]) -> Option<ClockReading> {
    told.iter().rev().find_map(|message| match message {
        Message::Clock(frame) => Some(*frame),
        _ => None,
    })
}

/// True if the clock shows the `press`: nobody has pressed since.
fn is_shown(clock: &ClockReading, press: &ClockReading) -> bool {
    let stood = |reading: &ClockReading| reading.time(press.lever.pressed()).seconds;
    clock.lever == press.lever && stood(clock) == stood(press)
}

fn presses(told: &[Message<'_>]) -> usize {
    told.iter()
        .filter(|message| matches!(message, Message::Clock(_)))
        .count()
}

/// The squares after the changes of `told`.
fn after(mut squares: Squares, told: &[Message<'_>]) -> Squares {
    for message in told {
        if let Message::Field { square, piece } = message
            && let Some(place) = squares.get_mut(usize::from(*square))
        {
            *place = *piece;
        }
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dgt::PieceCode;

    const PAWN: PieceCode = PieceCode(1);

    fn field(square: u8, piece: PieceCode) -> Message<'static> {
        Message::Field { square, piece }
    }

    fn squares(pawns: &[usize]) -> Squares {
        let mut squares = [PieceCode::EMPTY; 64];
        pawns.iter().for_each(|square| squares[*square] = PAWN);
        squares
    }

    /// A board that told `messages` before its first dump.
    fn since(messages: &[Message<'_>]) -> Since {
        let mut since = Since::default();
        assert!(messages.iter().all(|message| since.keeps(message)));
        since
    }

    const LIFTED: Message<'static> = Message::Field {
        square: 52,
        piece: PieceCode::EMPTY,
    };

    #[test]
    fn what_the_board_kept_leads_from_what_was_known_to_the_dump() {
        let told = since(&[LIFTED, field(36, PAWN)]);
        let leading = |before: &[usize]| told.leading(&squares(before), None, &squares(&[36]));
        assert_eq!(leading(&[52]).map(|told| told.len()), Some(2));
        assert_eq!(leading(&[52, 51]), None, "the pawn of d2 was taken by nothing");
    }

    #[test]
    fn what_the_watcher_knows_already_is_not_taken_in_again() {
        let told = since(&[LIFTED, Message::SINCE, field(36, PAWN)]);
        let known = told.leading(&squares(&[]), None, &squares(&[36]));
        assert_eq!(known, Some(vec![field(36, PAWN)]));
    }

    #[test]
    fn what_a_killed_program_did_not_write_down_is_told_again() {
        let told = since(&[LIFTED, Message::SINCE, field(36, PAWN)]);
        let lost = told.leading(&squares(&[52]), None, &squares(&[36]));
        assert_eq!(lost.map(|told| told.len()), Some(3));
    }

    /// Both players pressed while nobody asked, and then somebody stopped the clock.
    #[test]
    fn a_clock_ran_until_the_last_press() {
        use crate::dgt::Lever::{LeftHigh, RightHigh};
        let frame = |lever, left, right, running| ClockReading::of_seconds(left, right, running, lever);
        let mut frames = [
            frame(RightHigh, 97, 80, false),
            frame(LeftHigh, 97, 80, false),
            frame(LeftHigh, 95, 80, false),
        ];
        find_running(frame(LeftHigh, 100, 90, true), frames.iter_mut());
        assert_eq!(frames[0], frame(RightHigh, 97, 90, true));
        assert!(!frames[1].running && !frames[2].running);
    }

    #[test]
    fn a_board_that_tells_without_end_is_not_kept_for_ever() {
        let mut since = Since::default();
        assert!((0..2 * MOST).all(|_| since.keeps(&LIFTED)));
        assert!(since.told.len() <= MOST);
        assert_eq!(since.leading(&squares(&[52]), None, &squares(&[])), None);
    }
}
