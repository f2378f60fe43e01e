//! A board, a clock and hands at it, told what to do by a script: every update goes to the capture
//! at the very time the script says. The notation is described in `fixtures/README.md`.
#![allow(dead_code, clippy::unwrap_used)] // Each test uses another part of it, and fails where it fails.

pub(crate) mod collection;
pub(crate) mod score;
pub(crate) mod script;
pub(crate) mod summary;

use dgt2mqtt::{
    capture::{Act, Capture, Header, Record},
    dgt::{ClockReading, ClockSide, Message, PieceCode},
    event::Event,
    sim::clock::SimulatedClock,
    time::Millis,
    watcher::{Settings, Watcher},
};
use shakmaty::{CastlingMode, CastlingSide, Chess, Color, Move, Position, Role, Square, uci::UciMove};

/// Marks the code of a piece without a working chip: it stands there, and nothing is read.
const MUTE: u8 = 0x80;

/// How a table is set before the first act.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Piece code of each square, a1 first.
    pub(crate) men: [u8; 64],
    /// Squares whose pieces have no working chip.
    pub(crate) mute: Vec<Square>,
    /// What the moves in the script are played from.
    pub(crate) position: Chess,
    pub(crate) mode: CastlingMode,
    /// Raw index of each square, a1 first.
    pub(crate) raw: [u8; 64],
    /// Milliseconds of each side and for each move; none: no clock.
    pub(crate) clock: Option<(u64, u64)>,
    /// Milliseconds that the clock adds for the second period, when a flag falls.
    pub(crate) next_period: u64,
    /// White sits at the right of the clock.
    pub(crate) swapped: bool,
}

/// The table while a script is played.
pub(crate) struct Table {
    pub(crate) now: u64,
    pub(crate) position: Chess,
    pub(crate) past: Vec<Chess>,
    place: Place,
    men: [u8; 64],
    /// What the board believes; squares in `unread` do not follow the pieces.
    told: [u8; 64],
    unread: [Option<u8>; 64],
    clock: Option<SimulatedClock>,
    clock_out: bool,
    down: bool,
    records: Vec<Record>,
}

impl Table {
    pub(crate) fn new(place: Place) -> Self {
        let mut men = place.men;
        for &square in &place.mute {
            men[usize::from(square)] |= MUTE;
        }
        let mut table = Self {
            now: 100,
            position: place.position.clone(),
            past: Vec::new(),
            men,
            told: men,
            unread: [None; 64],
            clock: place
                .clock
                .map(|(each, bonus)| SimulatedClock::new(each, bonus).then(place.next_period)),
            clock_out: false,
            down: false,
            records: Vec::new(),
            place,
        };
        if table.place.swapped
            && let Some(clock) = &mut table.clock
        {
            clock.set_and_start(Millis(0), ClockSide::Right, 0, 0);
            clock.stop(Millis(0));
        }
        table.dump();
        table.wait(100);
        table.show_clock();
        table.wait(1000);
        table
    }

    pub(crate) fn finish(mut self, header: Header) -> Capture {
        self.wait(4000);
        // The last word of a capture is a time: stillness counts until then.
        self.dump();
        Capture {
            header,
            records: self.records,
        }
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(tick) = self.clock.as_ref().and_then(SimulatedClock::next_tick) {
            if tick.0 > until {
                break;
            }
            self.now = tick.0;
            if let Some(clock) = &mut self.clock {
                clock.advance(tick);
            }
            self.show_clock();
        }
        self.now = until;
    }

    fn say(&mut self, message: Message<'_>) {
        if self.down {
            return;
        }
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.record(Act::FromBoard(bytes));
    }

    fn record(&mut self, act: Act) {
        let at = Millis(self.now);
        self.records.push(Record { at, act });
    }

    pub(crate) fn dump(&mut self) {
        let mut squares = [PieceCode::EMPTY; 64];
        for (square, raw) in self.place.raw.iter().enumerate() {
            self.told[square] = self.shown(square);
            squares[usize::from(*raw)] = PieceCode(self.told[square]);
        }
        self.say(Message::Dump(&squares));
    }

    fn shown(&self, square: usize) -> u8 {
        let man = self.men[square];
        self.unread[square].unwrap_or(if man & MUTE == 0 { man } else { 0 })
    }

    /// The board notices what stands on a square.
    fn notice(&mut self, square: Square) {
        let index = usize::from(square);
        let shown = self.shown(index);
        if self.told[index] != shown {
            self.told[index] = shown;
            let (square, piece) = (self.place.raw[index], PieceCode(shown));
            self.say(Message::Field { square, piece });
        }
    }

    /// A piece is put on a square, or taken from it (0).
    pub(crate) fn put(&mut self, square: Square, man: u8) {
        self.men[usize::from(square)] = man;
        self.notice(square);
    }

    /// The same, and the update is lost.
    pub(crate) fn put_unseen(&mut self, square: Square, man: u8) {
        self.men[usize::from(square)] = man;
    }

    /// From now on the chip of the piece on a square does not work, wherever it goes.
    pub(crate) fn mute(&mut self, square: Square) {
        self.men[usize::from(square)] |= MUTE;
        self.notice(square);
    }

    /// A pawn goes to the last rank, and a piece without a working chip comes for it.
    pub(crate) fn promote_to_spare(&mut self, mv: Move) {
        if let (Some(from), Some(role)) = (mv.from(), mv.promotion()) {
            self.put(from, 0);
            self.wait(250);
            self.put(mv.to(), code(role, self.position.turn()) | MUTE);
        }
        self.track(mv);
    }

    /// From now on the board reads `code` on a square whatever stands there; none: it reads right.
    pub(crate) fn read_as(&mut self, square: Square, code: Option<u8>) {
        self.unread[usize::from(square)] = code;
        self.notice(square);
    }

    pub(crate) fn at(&self, square: Square) -> u8 {
        self.men[usize::from(square)]
    }

    fn reading(&self) -> Option<ClockReading> {
        self.clock.as_ref().map(SimulatedClock::reading)
    }

    fn show_clock(&mut self) {
        match self.reading() {
            Some(reading) if !self.clock_out => self.say(Message::Clock(reading)),
            _ => self.say(Message::NoClock),
        }
    }

    pub(crate) fn clock_cable(&mut self, out: bool) {
        self.clock_out = out;
        self.show_clock();
    }

    fn side(&self, color: Color) -> ClockSide {
        if (color == Color::White) == self.place.swapped {
            ClockSide::Right
        } else {
            ClockSide::Left
        }
    }

    fn clock_act(&mut self, act: impl FnOnce(&mut SimulatedClock, Millis)) {
        let now = Millis(self.now);
        if let Some(clock) = &mut self.clock {
            act(clock, now);
            self.show_clock();
        }
        self.wait(20);
    }

    pub(crate) fn press(&mut self) {
        self.clock_act(|clock, now| clock.press(now, clock.to_move()));
    }

    pub(crate) fn stop(&mut self) {
        self.clock_act(SimulatedClock::stop);
    }

    /// The arbiter sets who is to move, adds seconds to White's and Black's times, and starts.
    pub(crate) fn start(&mut self, to_move: Color, white: u64, black: u64) {
        let side = self.side(to_move);
        let (left, right) = if self.place.swapped {
            (black, white)
        } else {
            (white, black)
        };
        self.clock_act(|clock, now| clock.set_and_start(now, side, left * 1000, right * 1000));
    }

    pub(crate) fn cable(&mut self, up: bool) {
        if up {
            self.down = false;
            self.record(Act::LinkUp);
            self.wait(150);
            self.dump();
            self.show_clock();
        } else {
            self.record(Act::LinkDown);
            self.down = true;
        }
    }

    /// What `uci` means in the position that the script has reached.
    pub(crate) fn legal(&self, uci: &str) -> Option<Move> {
        let parsed: UciMove = uci.parse().ok()?;
        parsed.to_move(&self.position).ok()
    }

    /// The script's position moves on; no hand moves.
    pub(crate) fn track(&mut self, mv: Move) {
        self.past.push(self.position.clone());
        self.position.play_unchecked(mv);
    }

    /// A piece is lifted and placed, whatever stood there is gone.
    pub(crate) fn carry(&mut self, from: Square, to: Square) {
        let man = self.at(from);
        self.put(from, 0);
        self.wait(250);
        self.put(to, man);
    }

    /// A legal move as tidy hands make it.
    pub(crate) fn make(&mut self, mv: Move) {
        match mv {
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let color = self.position.turn();
                let (king_man, rook_man) = (self.at(king), self.at(rook));
                for (from, to, man) in [
                    (king, side.king_to(color), king_man),
                    (rook, side.rook_to(color), rook_man),
                ] {
                    if from != to {
                        // In Chess960 one of them may stand where the other goes.
                        if self.at(from) == man {
                            self.put(from, 0);
                            self.wait(250);
                        }
                        self.put(to, man);
                        self.wait(200);
                    }
                }
            }
            Move::EnPassant { from, to } => {
                self.carry(from, to);
                self.wait(150);
                self.put(Square::from_coords(to.file(), from.rank()), 0);
            }
            Move::Normal {
                from, to, promotion, ..
            } => {
                let man = promotion.map_or_else(|| self.at(from), |role| code(role, self.position.turn()));
                self.put(from, 0);
                self.wait(250);
                self.put(to, man);
            }
            Move::Put { .. } => {}
        }
        self.track(mv);
    }

    /// Hands put the pieces as `men` says: first away with what is wrong, then back with what is missing.
    pub(crate) fn set_up(&mut self, men: &[u8; 64]) {
        let mut mute: Vec<u8> = Vec::new();
        for away in [true, false] {
            for square in Square::ALL {
                let wanted = men[usize::from(square)];
                let stands = self.at(square);
                if stands & !MUTE != wanted && (wanted == 0 || stands != 0) == away {
                    mute.extend((stands & MUTE != 0).then_some(stands));
                    // The piece without a chip comes back as it went.
                    let same = mute.iter().position(|man| man & !MUTE == wanted);
                    let man = same
                        .filter(|_| !away)
                        .map_or(wanted, |index| mute.swap_remove(index));
                    self.put(square, if away { 0 } else { man });
                    self.wait(80);
                }
            }
        }
    }
}

/// The code of a piece: P R N B K Q from 1, Black's from 7.
pub(crate) fn code(role: Role, color: Color) -> u8 {
    let index = [
        Role::Pawn,
        Role::Rook,
        Role::Knight,
        Role::Bishop,
        Role::King,
        Role::Queen,
    ]
    .iter()
    .position(|r| *r == role)
    .unwrap_or(0) as u8;
    index + 1 + color.fold_wb(0, 6)
}

/// The pieces of a position, a1 first.
pub(crate) fn men_of(position: &Chess) -> [u8; 64] {
    std::array::from_fn(|i| {
        let piece = position.board().piece_at(Square::new(i as u32));
        piece.map_or(0, |piece| code(piece.role, piece.color))
    })
}

/// The settings that a capture's header asks for.
pub(crate) fn settings(capture: &Capture, board: &str) -> Settings {
    let header = &capture.header;
    Settings {
        protocol: capture.header.protocol().unwrap_or_default(),
        gathered_ms: header.gathered_ms().unwrap_or_default(),
        gateway: "replay".into(),
        board: header.board().unwrap_or(board).into(),
        laws: header.laws().unwrap_or_default(),
        time_control: header.time_control().unwrap_or_default(),
        supervision: header.supervision().unwrap_or_default(),
        periods: header.periods().to_vec(),
        epoch_ms: header.epoch_ms(),
        ..Settings::default()
    }
}

/// What a watcher makes of a capture.
pub(crate) fn events(capture: &Capture, board: &str) -> Vec<Event> {
    let mut watcher = Watcher::new(settings(capture, board), None);
    let mut events = Vec::new();
    let run = dgt2mqtt::capture::replay::replay(&mut watcher, capture, |event| {
        events.push(event);
        Ok::<(), ()>(())
    });
    assert!(run.is_ok());
    events
}
