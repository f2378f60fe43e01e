//! Turns what happened at a table into what a board would have told of it.

use std::{collections::HashSet, num::NonZero};

use fastrand::Rng;
use shakmaty::{Color, Piece, Square};

use super::{
    fault::{Fault, FaultRates},
    tempo::Tempo,
    timeline::{LeverAct, Timeline},
};
use crate::{
    board::Orientation,
    capture::{Act, Record},
    dgt::{ClockReading, ClockSide, Message, PieceCode},
    sim::{
        clock::SimulatedClock,
        hand::figure::{Men, code, reading},
        player::{Cue, Delivery},
        sensors::{Change, Scan, scan},
    },
    time::Millis,
};

/// How board and clock stand on the table.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) orientation: Orientation,
    pub(super) white: ClockSide,
    pub(super) scan: Scan,
    /// There is a clock.
    pub(super) clock: bool,
    /// The share of presses after which an old frame comes.
    pub(super) stale: f64,
    /// How often garbage comes over the line, each second.
    pub(super) garbage: f64,
    /// For how many milliseconds the line gathers what the board says. With 0 it does not gather.
    pub(super) gathers: u64,
}

/// How much later than a press its frame comes.
const FRAME_LATE_MS: std::ops::Range<u64> = 30..200;
/// Time of a frame of ten bytes on the line.
const FRAME_MS: u64 = 11;
/// For how long a line gathers that does.
const GATHERS_MS: std::ops::Range<u64> = 250..1500;

impl Stage {
    pub(super) fn set(faults: &FaultRates, rng: &mut Rng) -> Self {
        let mut happens = |fault| rng.f64() < faults.of(fault);
        let sideways = happens(Fault::Sideways);
        let turned = happens(Fault::Turned);
        let gathers = faults.of(Fault::Gathered) > 0.0 && happens(Fault::Gathered);
        Self {
            white: if happens(Fault::ClockSwapped) {
                ClockSide::Right
            } else {
                ClockSide::Left
            },
            scan: if happens(Fault::SlowScan) {
                Scan::slow()
            } else {
                Scan::default()
            },
            clock: !happens(Fault::NoClock),
            stale: faults.of(Fault::StaleFrame),
            garbage: faults.of(Fault::Garbage),
            gathers: if gathers { rng.u64(GATHERS_MS) } else { 0 },
            orientation: match (sideways, turned) {
                (true, _) if rng.bool() => Orientation::QuarterLeft,
                (true, _) => Orientation::QuarterRight,
                (_, true) => Orientation::Turned,
                _ => Orientation::Normal,
            },
        }
    }

    /// What the board tells, in order of time.
    pub(super) fn tell(&self, men: &Men, timeline: &Timeline, tempo: &Tempo, rng: &mut Rng) -> Vec<Cue> {
        let mut squares = [PieceCode::EMPTY; 64];
        for raw in 0..64u8 {
            squares[usize::from(raw)] = code(first(self.orientation.square(raw), men, timeline));
        }
        let end = Millis(timeline.end);
        let mut cues = vec![said(Millis(0), message(Message::Dump(&squares)))];
        cues.extend(self.updates(&squares, men, timeline, rng));
        cues.extend(self.clock_frames(timeline, tempo, rng));
        cues.extend(self.garbage(end, rng));
        for &(out, back) in &timeline.cable {
            cues.push(link(out, Act::LinkDown));
            cues.push(link(back, Act::LinkUp));
        }
        // Nothing more comes, but the capture lasts until the end.
        cues.push(Cue {
            way: Delivery::Lost,
            ..said(end, Vec::new())
        });
        let mut windows = timeline.late.clone();
        if let Some(ms) = NonZero::new(self.gathers) {
            windows.extend((0..timeline.end / ms).map(|period| (period * ms.get(), (period + 1) * ms.get())));
        }
        cues.extend(held_back(timeline, &windows));
        cues.sort_by_key(|cue| cue.record.at);
        cues
    }

    fn updates(&self, squares: &[PieceCode; 64], men: &Men, timeline: &Timeline, rng: &mut Rng) -> Vec<Cue> {
        let mut changes: Vec<Change> = (0..64u8)
            .flat_map(|raw| {
                let square = self.orientation.square(raw);
                let shown = shown(square, men, timeline);
                shown.into_iter().map(move |(at, piece)| Change {
                    at: Millis(at),
                    square: raw,
                    piece: code(piece),
                })
            })
            .collect();
        changes.sort_by_key(|change| change.at);
        let lost: HashSet<(u64, Square)> = timeline.lost.iter().copied().collect();
        let told = scan(&self.scan, squares, &changes, Millis(timeline.end), rng);
        let cue = |(at, change): (Millis, Change)| {
            let gone = lost.contains(&(change.at.0, self.orientation.square(change.square)));
            let way = if gone { Delivery::Lost } else { Delivery::Plain };
            Cue {
                way,
                ..said(at, change.message())
            }
        };
        told.into_iter().map(cue).collect()
    }

    fn side(&self, color: Color) -> ClockSide {
        if color == Color::White {
            self.white
        } else {
            self.white.other()
        }
    }

    fn clock_frames(&self, timeline: &Timeline, tempo: &Tempo, rng: &mut Rng) -> Vec<Cue> {
        if !self.clock {
            return vec![said(Millis(200), message(Message::NoClock))];
        }
        let (each, increment) = tempo.clock;
        let mut frames = Frames {
            timeline,
            late: Millis(0),
            cues: Vec::new(),
        };
        let mut clock = SimulatedClock::new(each, increment);
        let first = timeline.levers.iter().find_map(|(_, lever)| match lever {
            LeverAct::Start(color, ..) => Some(*color),
            _ => None,
        });
        clock.set_and_start(Millis(0), self.side(first.unwrap_or(Color::White)), 0, 0);
        clock.stop(Millis(0));
        frames.show(Millis(300), &clock, rng);
        for &(at, lever) in &timeline.levers {
            let at = Millis(at);
            tick(&mut clock, at, &mut frames, rng);
            let before = clock.reading();
            match lever {
                LeverAct::Press(color) => clock.press(at, self.side(color)),
                LeverAct::Stop => clock.stop(at),
                LeverAct::Start(color, white, black) => {
                    let (left, right) = if self.white == ClockSide::Left {
                        (white, black)
                    } else {
                        (black, white)
                    };
                    clock.set_and_start(at, self.side(color), left * 1000, right * 1000);
                }
            }
            frames.show(at, &clock, rng);
            if matches!(lever, LeverAct::Press(_)) && rng.f64() < self.stale {
                frames.again(before, rng);
            }
        }
        tick(&mut clock, Millis(timeline.end), &mut frames, rng);
        for &(out, back) in &timeline.clock_cable {
            frames.cues.push(said(Millis(out), message(Message::NoClock)));
            frames.come_back(Millis(back), clock_at(&frames.cues, Millis(back)));
        }
        frames.cues.retain(|cue| cue.way == Delivery::Plain);
        frames.cues
    }

    fn garbage(&self, end: Millis, rng: &mut Rng) -> Vec<Cue> {
        let mut cues = Vec::new();
        if self.garbage == 0.0 {
            return cues;
        }
        let mut now = Millis(5000);
        loop {
            now = now + (1000.0 * -(rng.f64().max(1e-9)).ln() / self.garbage) as u64;
            if now >= end {
                break;
            }
            let bytes = match rng.u8(0..5) {
                // Some boards send these bytes after a command to the clock (4.3).
                0 => vec![0x8d, 0, 10, 0, 0, 0, 0, 0, 0, 0],
                1 => vec![0x8d, 0, 10, 10, 16, 1, 10, 0, 0, 0],
                2 => vec![0x8e, 0, 5],
                3 => vec![0xff],
                _ => std::iter::repeat_with(|| rng.u8(1..128)).take(6).collect(),
            };
            cues.push(Cue {
                way: Delivery::Noise,
                ..said(now, bytes)
            });
        }
        cues
    }
}

/// When the line begins to hold back what the board says, and when it lets that go. A cable that is pulled
/// meanwhile would lose it, so such windows are left out.
fn held_back(timeline: &Timeline, windows: &[(u64, u64)]) -> Vec<Cue> {
    let pulled = |&&(from, until): &&(u64, u64)| {
        let mut cables = timeline.cable.iter();
        cables.any(|&(out, back)| out <= until && from <= back)
    };
    let late = windows.iter().filter(|late| !pulled(late));
    let cue = |at: u64, way| Cue {
        way,
        ..said(Millis(at.min(timeline.end)), Vec::new())
    };
    late.flat_map(|&(from, until)| [cue(from, Delivery::Hold), cue(until, Delivery::Release)])
        .collect()
}

/// What the sensor of a square shows at first.
fn first(square: Square, men: &Men, timeline: &Timeline) -> Option<Piece> {
    let dead = timeline.dead.contains(&square);
    reading(men[usize::from(square)]).filter(|_| !dead)
}

/// What the sensor of a square shows, from change to change.
fn shown(square: Square, men: &Men, timeline: &Timeline) -> Vec<(u64, Option<Piece>)> {
    if timeline.dead.contains(&square) {
        return Vec::new();
    }
    let mut puts: Vec<_> = timeline.puts.iter().filter(|put| put.square == square).collect();
    puts.sort_by_key(|put| put.at);
    let misreads: Vec<_> = timeline.misreads.iter().filter(|m| m.square == square).collect();
    let mut times: Vec<u64> = puts.iter().map(|put| put.at).collect();
    times.extend(misreads.iter().flat_map(|m| [m.from, m.until]));
    times.sort_unstable();
    times.dedup();
    let mut last = reading(men[usize::from(square)]);
    let mut shown = Vec::new();
    for at in times {
        let stands = puts
            .iter()
            .rev()
            .find(|put| put.at <= at)
            .map_or_else(|| men[usize::from(square)], |put| put.piece);
        let wrong = misreads.iter().find(|m| m.from <= at && at < m.until);
        let now = reading(wrong.map_or(stands, |m| m.shown));
        if now != last {
            shown.push((at, now));
            last = now;
        }
    }
    shown
}

/// The frames of a clock, as they come.
struct Frames<'a> {
    timeline: &'a Timeline,
    late: Millis,
    cues: Vec<Cue>,
}

impl Frames<'_> {
    /// The clock tells the board what it shows, a little late. Frames keep their order.
    fn show(&mut self, now: Millis, clock: &SimulatedClock, rng: &mut Rng) {
        self.late = (now + rng.u64(FRAME_LATE_MS)).max(self.late + FRAME_MS);
        self.say(self.late, clock.reading());
    }

    /// The frame from before the press comes once more.
    fn again(&mut self, before: ClockReading, rng: &mut Rng) {
        self.late = self.late + rng.u64(12..70);
        self.say(self.late, before);
    }

    fn say(&mut self, at: Millis, reading: ClockReading) {
        let unplugged = self
            .timeline
            .clock_cable
            .iter()
            .any(|&(out, back)| (out..back).contains(&at.0));
        self.cues.push(Cue {
            way: if unplugged {
                Delivery::Lost
            } else {
                Delivery::Plain
            },
            ..said(at, message(Message::Clock(reading)))
        });
    }

    fn come_back(&mut self, at: Millis, bytes: Option<Vec<u8>>) {
        self.cues.extend(bytes.map(|bytes| said(at, bytes)));
    }
}

/// The last frame before `at` that was lost while the clock was unplugged.
fn clock_at(cues: &[Cue], at: Millis) -> Option<Vec<u8>> {
    let before = cues
        .iter()
        .filter(|cue| cue.record.at < at && cue.way == Delivery::Lost);
    let last = before.max_by_key(|cue| cue.record.at)?;
    match &last.record.act {
        Act::FromBoard(bytes) => Some(bytes.clone()),
        _ => None,
    }
}

fn tick(clock: &mut SimulatedClock, until: Millis, frames: &mut Frames<'_>, rng: &mut Rng) {
    while let Some(due) = clock.next_tick().filter(|&due| due < until) {
        clock.advance(due);
        frames.show(due, clock, rng);
    }
}

fn message(message: Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

fn said(at: Millis, bytes: Vec<u8>) -> Cue {
    Cue {
        record: Record {
            at,
            act: Act::FromBoard(bytes),
        },
        way: Delivery::Plain,
    }
}

fn link(at: u64, act: Act) -> Cue {
    Cue {
        record: Record { at: Millis(at), act },
        way: Delivery::Plain,
    }
}
