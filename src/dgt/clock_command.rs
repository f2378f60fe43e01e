//! Commands to the clock behind the board (protocol 4.4). A recorder needs none of them; the
//! simulated board must understand them.

use super::{clock::ClockSide, command_bytes::CommandBytes};

/// A command to the clock. The clock answers with a [`ClockAck`](super::ClockAck), usually after 1 to 2 s. It
/// takes one command at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockCommand {
    /// Segments in the order C B A F E D of a panel that reads `A:BC D:EF`, icons, beep.
    Segments {
        /// Bits: 01 top, 02 top right, 04 bottom right, 08 bottom, 10 bottom left, 20 top left, 40 middle.
        places: [u8; 6],
        /// Dots, colons and ones.
        icons: u8,
        /// 03 beep, 01 silent.
        beep: u8,
    },
    /// The icons of both sides: left, right, left period, right period, special.
    Icons([u8; 5]),
    /// Show the times again.
    EndDisplay,
    /// Which buttons are pressed.
    Buttons,
    /// The clock's version.
    Version,
    /// Set new times. The clock obeys only in its PC mode.
    SetAndRun {
        /// Left hours, minutes, seconds.
        left: [u8; 3],
        /// Right hours, minutes, seconds.
        right: [u8; 3],
        /// Which side counts down; none is a pause.
        running: Option<ClockSide>,
        /// A press of the lever changes the side that runs.
        by_lever: bool,
    },
    /// A beep, in units of 64 ms.
    Beep(u8),
    /// Eight characters and a beep 0..=15.
    Text([u8; 8], u8),
    /// Eleven characters and a beep, for the clock of some boards that move by themselves.
    LongText([u8; 11], u8),
}

impl ClockCommand {
    /// The first byte of every clock command.
    pub(super) const CODE: u8 = 0x2b;
    /// The bytes that start and end the counted part.
    const START: u8 = 0x03;
    const END: u8 = 0x00;

    const LEFT: u8 = 1;
    const RIGHT: u8 = 2;
    const PAUSE: u8 = 4;
    const BY_LEVER: u8 = 8;

    pub(super) fn bytes(&self) -> CommandBytes {
        match *self {
            Self::Segments {
                places: [c, b, a, f, e, d],
                icons,
                beep,
            } => wrap(0x01, &[c, b, a, f, e, d, icons, beep]),
            Self::Icons([a, b, c, d, e]) => wrap(0x02, &[a, b, c, d, e, 0, 0, 0]),
            Self::EndDisplay => wrap(0x03, &[]),
            Self::Buttons => wrap(0x08, &[]),
            Self::Version => wrap(0x09, &[]),
            Self::SetAndRun {
                left: [lh, lm, ls],
                right: [rh, rm, rs],
                running,
                by_lever,
            } => {
                let side = match running {
                    Some(ClockSide::Left) => Self::LEFT,
                    Some(ClockSide::Right) => Self::RIGHT,
                    None => Self::PAUSE,
                };
                let mode = side | if by_lever { Self::BY_LEVER } else { 0 };
                wrap(0x0a, &[lh, lm, ls, rh, rm, rs, mode])
            }
            Self::Beep(duration) => wrap(0x0b, &[duration]),
            Self::Text(text, beep) => wrap(0x0c, &with_last::<9>(&text, beep)),
            Self::LongText(text, beep) => wrap(0x0d, &with_last::<12>(&text, beep)),
        }
    }

    /// Reads a whole command, from its first byte on.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let &[Self::CODE, count, Self::START, code, ref data @ .., Self::END] = bytes else {
            return None;
        };
        if usize::from(count) + 2 != bytes.len() {
            return None;
        }
        Some(match (code, data) {
            (0x01, &[c, b, a, f, e, d, icons, beep]) => Self::Segments {
                places: [c, b, a, f, e, d],
                icons,
                beep,
            },
            (0x02, &[a, b, c, d, e, 0, 0, 0]) => Self::Icons([a, b, c, d, e]),
            (0x03, []) => Self::EndDisplay,
            (0x08, []) => Self::Buttons,
            (0x09, []) => Self::Version,
            (0x0a, &[lh, lm, ls, rh, rm, rs, mode]) => Self::SetAndRun {
                left: [lh, lm, ls],
                right: [rh, rm, rs],
                running: match mode & (Self::LEFT | Self::RIGHT | Self::PAUSE) {
                    Self::LEFT => Some(ClockSide::Left),
                    Self::RIGHT => Some(ClockSide::Right),
                    _ => None,
                },
                by_lever: mode & Self::BY_LEVER != 0,
            },
            (0x0b, &[duration]) => Self::Beep(duration),
            (0x0c, [text @ .., beep]) => Self::Text(text.try_into().ok()?, *beep),
            (0x0d, [text @ .., beep]) => Self::LongText(text.try_into().ok()?, *beep),
            _ => return None,
        })
    }
}

fn wrap(code: u8, data: &[u8]) -> CommandBytes {
    let mut bytes = [0; CommandBytes::MAX];
    let len = data.len() + 5;
    // At most 12 bytes of data: the count fits a byte and the command fits its place.
    bytes[..4].copy_from_slice(&[
        ClockCommand::CODE,
        (data.len() + 3) as u8,
        ClockCommand::START,
        code,
    ]);
    bytes[4..4 + data.len()].copy_from_slice(data);
    bytes[len - 1] = ClockCommand::END;
    CommandBytes::of(&bytes[..len])
}

fn with_last<const N: usize>(text: &[u8], last: u8) -> [u8; N] {
    let mut all = [last; N];
    all[..text.len()].copy_from_slice(text);
    all
}
