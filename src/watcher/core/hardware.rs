//! Board and clock as hardware: their batteries, and what was lost on the line from them.

use super::phase::Phase;
use crate::{
    board::Sensed,
    dgt::Battery,
    event::{Body, notice},
    watcher::state::{BatteryView, HardwareView, StateSet},
};

/// At this charge, in percent, a battery will not last a long game.
const LOW: u8 = 15;
/// From this charge on, in percent, the watcher may give notice of a low battery again.
const FULL_ENOUGH: u8 = 30;
/// The watcher believes the clock about its battery when this many frames in a row agree: a damaged frame may
/// say anything.
const AGREEING: u8 = 3;

/// The state of board and clock as hardware.
#[derive(Clone, Debug, Default)]
pub(in crate::watcher) struct Hardware {
    battery: Option<BatteryView>,
    battery_said: bool,
    clock_low: Option<bool>,
    clock_said: bool,
    /// What the last frames say of the clock's battery, and how many in a row say it.
    clock_frames: (bool, u8),
    /// How often a dump showed a change that no update had told.
    pub(super) lost_updates: u64,
    /// Number of times that bytes of the line could not be read.
    pub(in crate::watcher) line_errors: u64,
}

impl Hardware {
    /// Takes a message of the board about its battery. Returns a notice where it is low.
    pub(super) fn battery(&mut self, changed: &mut StateSet, told: Battery) -> Option<Body> {
        let view = BatteryView {
            percent: told.percent.min(100),
            charging: told.charging,
        };
        changed.info |= self.battery.replace(view) != Some(view);
        if view.charging || view.percent >= FULL_ENOUGH {
            self.battery_said = false;
        } else if view.percent <= LOW && !std::mem::replace(&mut self.battery_said, true) {
            let message = format!(
                "the board's battery is at {} %: plug it in before it goes out in mid-game",
                view.percent
            );
            return Some(Body::notice(notice::BOARD_BATTERY_LOW, message));
        }
        None
    }

    /// Takes from a frame of the clock whether its battery is low. Returns a notice where it is.
    pub(super) fn clock_battery(&mut self, changed: &mut StateSet, low: bool) -> Option<Body> {
        let (before, count) = self.clock_frames;
        let count = if before == low { count.saturating_add(1) } else { 1 };
        self.clock_frames = (low, count);
        if count < AGREEING {
            return None;
        }
        changed.info |= self.clock_low.replace(low) != Some(low);
        if low && !std::mem::replace(&mut self.clock_said, true) {
            let message = "the clock says that its battery is low: have another clock or batteries at hand, and change them when no time runs";
            return Some(Body::notice(notice::CLOCK_BATTERY_LOW, message));
        }
        None
    }

    /// Forgets the clock's battery: the clock is gone, and the next one may be another.
    pub(super) fn clock_gone(&mut self, changed: &mut StateSet) {
        changed.info |= self.clock_low.take().is_some();
        (self.clock_frames, self.clock_said) = ((false, 0), false);
    }

    /// The board's battery, and whether the clock's is low, as far as they are known.
    pub(super) fn batteries(&self) -> (Option<BatteryView>, Option<bool>) {
        (self.battery, self.clock_low)
    }

    /// As subscribers receive it. `firmware` is that of the board.
    pub(super) fn view(&self, firmware: Option<String>, phase: &Phase, sensed: &Sensed) -> HardwareView {
        let (squares, pieces) = match phase {
            Phase::Game(game) => {
                let pieces = game.unread.pieces.iter().filter_map(|(code, _)| code.piece());
                (
                    game.unread.squares_not_read(&game.course, sensed),
                    pieces.map(|piece| piece.char().to_string()).collect(),
                )
            }
            Phase::Waiting(_) => Default::default(),
        };
        HardwareView {
            firmware,
            battery: self.battery,
            clock_battery_low: self.clock_low,
            line_errors: self.line_errors,
            lost_updates: self.lost_updates,
            squares_not_read: squares.into_iter().map(|square| square.to_string()).collect(),
            pieces_not_read: pieces,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capture::{Capture, replay::replay},
        dgt::{ClockReading, ClockTime, Lever, Message, PieceCode},
        event::Event,
        families::Protocol,
        time::Millis,
        watcher::{
            Settings, Watcher,
            testing::{after_e4, hear, initial_pieces},
        },
    };

    fn bytes(message: &Message<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    }

    fn notices(watcher: &mut Watcher) -> Vec<String> {
        let events: Vec<Event> = std::iter::from_fn(|| watcher.poll_event()).collect();
        let code = |event: Event| match event.body {
            Body::Notice { code, .. } => Some(code.to_string()),
            _ => None,
        };
        events.into_iter().filter_map(code).collect()
    }

    fn watcher() -> Watcher {
        let mut watcher = Watcher::new(Settings::default(), None);
        watcher.handle_link_up(Millis(0), "port");
        watcher
    }

    #[test]
    fn a_low_battery_is_noticed_once_until_it_is_charged() {
        let mut watcher = watcher();
        let mut said = Vec::new();
        for (at, percent, charging) in [
            (1, 84, false),
            (2, 15, false),
            (3, 14, false),
            (4, 14, true),
            (5, 12, false),
        ] {
            let battery = Battery {
                percent,
                charging,
                ..Battery::default()
            };
            watcher.handle_bytes(Millis(at * 60_000), &bytes(&Message::Battery(battery)));
            said.push(notices(&mut watcher).join(" "));
        }
        assert_eq!(said, ["", "board_battery_low", "", "", "board_battery_low"]);
        let view = BatteryView {
            percent: 12,
            charging: false,
        };
        assert_eq!(watcher.info().battery, Some(view));
        assert_eq!(watcher.hardware().battery, Some(view));
        assert!(watcher.take_changed().info);
    }

    #[test]
    fn the_clocks_battery_is_believed_when_three_frames_agree() {
        let mut watcher = watcher();
        let mut said = Vec::new();
        let mut now = Millis(1000);
        let mut tell = |watcher: &mut Watcher, battery_low: Option<bool>| {
            now = now + 1000;
            let time = ClockTime {
                seconds: 600,
                ..ClockTime::default()
            };
            let message = battery_low.map_or(Message::NoClock, |battery_low| {
                Message::Clock(ClockReading {
                    left: time,
                    right: time,
                    running: false,
                    lever: Lever::LeftHigh,
                    battery_low,
                })
            });
            watcher.handle_bytes(now, &bytes(&message));
            watcher.handle_timeout(now + 500);
            said.extend(notices(watcher));
            watcher.info().clock_battery_low
        };
        // A single frame may be damaged.
        for (low, known) in [
            (false, None),
            (true, None),
            (false, None),
            (false, None),
            (false, Some(false)),
        ] {
            assert_eq!(tell(&mut watcher, Some(low)), known);
        }
        for known in [Some(false), Some(false), Some(true), Some(true)] {
            assert_eq!(tell(&mut watcher, Some(true)), known);
        }
        assert_eq!(tell(&mut watcher, None), None);
        for _ in 0..3 {
            tell(&mut watcher, Some(true));
        }
        assert_eq!(
            said,
            ["clock_battery_low", "clock_battery_low"],
            "once for each clock"
        );
    }

    #[test]
    fn bytes_that_cannot_be_read_are_counted() {
        let mut watcher = watcher();
        watcher.handle_bytes(Millis(1000), &[0x11, 0x12, 0x8e, 0x00, 0x05, 0x34, 0x8e]);
        assert!(watcher.hardware().line_errors >= 3, "{:?}", watcher.hardware());
    }

    #[test]
    fn a_change_that_only_a_dump_shows_counts_as_a_lost_update() {
        let mut watcher = after_e4();
        let mut squares = initial_pieces();
        squares.swap(52, 36);
        hear(&mut watcher, 8000, Message::Dump(&squares));
        assert_eq!(watcher.hardware().lost_updates, 0);
        squares[1] = PieceCode::EMPTY;
        hear(&mut watcher, 12_000, Message::Dump(&squares));
        assert_eq!(watcher.hardware().lost_updates, 1);
        assert!(watcher.hardware().is_worth_telling());
    }

    #[test]
    fn pieces_and_squares_that_are_not_read_are_named() {
        let seen = |capture: &str, protocol| {
            let settings = Settings {
                protocol,
                ..Settings::default()
            };
            let mut watcher = Watcher::new(settings, None);
            replay(&mut watcher, &Capture::parse(capture.as_bytes()).unwrap(), |_| {
                Ok::<(), ()>(())
            })
            .unwrap();
            let told = watcher.hardware();
            (told.pieces_not_read, told.squares_not_read)
        };
        let knight = seen(
            include_str!("../../../fixtures/dead-chip-knight.dgtcap"),
            Protocol::Dgt,
        );
        assert_eq!(knight, (vec!["N".to_owned()], vec![]));
        let square = seen(
            include_str!("../../../fixtures/dead-square.dgtcap"),
            Protocol::Dgt,
        );
        assert_eq!(square, (vec!["q".to_owned()], vec!["e4".to_owned()]));
        // The notice names the same square for a piece that fell and that nobody missed.
        let fallen = seen(
            include_str!("../../../fixtures/fallen-own-off-the-board-and-overlooked.dgtcap"),
            Protocol::Dgt,
        );
        assert_eq!(fallen, (vec![], vec!["g2".to_owned()]));
    }
}
