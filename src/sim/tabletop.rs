//! A table with a board, a clock, cables and hands. What the hands do becomes a capture of what such a board
//! would have told.

mod setting;

use std::ops::Range;

use fastrand::Rng;
use shakmaty::{Chess, Color, Move, Piece, Position, Square, uci::UciMove};

use super::{
    clock::SimulatedClock,
    hand::{
        Hand, HandPace, Motion, Slips,
        figure::{TaggedPiece, code},
    },
    sensors::{Change, scan},
};
use crate::{
    board::Code,
    capture::{Act, Capture, Header, Record},
    dgt::{ClockSide, Message, PieceCode, Squares},
    time::Millis,
};

pub use setting::{Manner, TableSetting, codes_of};

/// A half-move that is not legal in the position of the game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not legal here")]
pub struct NotLegal(pub String);

/// What stands on a square: a piece, a special piece, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stands {
    code: PieceCode,
    /// What its chip says: nothing if it does not work.
    chip: PieceCode,
}

impl Stands {
    const NOTHING: Self = Self::read(PieceCode::EMPTY);

    const fn read(code: PieceCode) -> Self {
        Self { code, chip: code }
    }

    fn figure(self) -> Option<TaggedPiece> {
        let Piece { color, role } = Code(self.code.0).piece()?;
        let chip = Code(self.chip.0).piece();
        Some(TaggedPiece { color, role, chip })
    }

    fn of(figure: Option<TaggedPiece>) -> Self {
        figure.map_or(Self::NOTHING, |figure| Self {
            code: code(Some(figure.piece())),
            chip: code(figure.chip),
        })
    }
}

/// How much later than its reading a frame of the clock comes, where people play.
const FRAME_LATE_MS: Range<u64> = 5..120;
/// Time of a frame on the line.
const FRAME_MS: u64 = 11;

/// A table, and what has been done there so far.
#[derive(Debug)]
pub struct Tabletop {
    now: Millis,
    rng: Rng,
    manner: Manner,
    position: Chess,
    /// The positions before each half-move.
    past: Vec<Chess>,
    stands: [Stands; 64],
    /// What a square reads, whatever stands there.
    misread: [Option<PieceCode>; 64],
    /// The board's own number of each square, a1 first.
    raw: [u8; 64],
    /// What the board told first, in its own order.
    first: Squares,
    /// What the board has told by now, in its own order.
    told: Squares,
    /// Changes that a scan has still to find.
    changes: Vec<Change>,
    clock: Option<SimulatedClock>,
    /// The clock as it is set before a game.
    clock_before: Option<SimulatedClock>,
    white: ClockSide,
    is_clock_out: bool,
    is_down: bool,
    last_frame: Millis,
    records: Vec<Record>,
}

impl Tabletop {
    /// A table at which nobody has done anything.
    #[must_use]
    pub fn new(setting: TableSetting) -> Self {
        let mut raw = [0; 64];
        for own in 0..64 {
            raw[usize::from(setting.orientation.square(own))] = own;
        }
        let seed = match setting.manner {
            Manner::Tidy => 0,
            Manner::Human(seed, _) => seed,
        };
        let clock = setting.clock.map(|(each, bonus)| {
            let mut clock = SimulatedClock::new(each, bonus).then(setting.next_period_ms);
            if setting.white == ClockSide::Right {
                clock.set_and_start(Millis(0), ClockSide::Right, 0, 0);
                clock.stop(Millis(0));
            }
            clock
        });
        let mut table = Self {
            now: Millis(100),
            rng: Rng::with_seed(seed),
            manner: setting.manner,
            position: setting.position,
            past: Vec::new(),
            stands: setting.stands.map(Stands::read),
            misread: [None; 64],
            raw,
            first: [PieceCode::EMPTY; 64],
            told: [PieceCode::EMPTY; 64],
            changes: Vec::new(),
            clock_before: clock.clone(),
            clock,
            white: setting.white,
            is_clock_out: false,
            is_down: false,
            last_frame: Millis(0),
            records: Vec::new(),
        };
        for (square, chip) in setting.chips {
            table.stands[usize::from(square)].chip = chip;
        }
        table.dump();
        table.first = table.told;
        table.wait(100);
        table.show_clock();
        table.wait(1000);
        table
    }

    /// Ends the capture and returns all that was told.
    #[must_use]
    pub fn finish(mut self, header: Header) -> Capture {
        if let Manner::Human(_, how) = self.manner.clone() {
            self.wait(1500);
            let told = scan(&how, &self.first, &self.changes, self.now, &mut self.rng);
            self.records.extend(told.into_iter().map(|(at, change)| Record {
                at,
                act: Act::FromBoard(change.message()),
            }));
            self.records.sort_by_key(|record| record.at);
        } else {
            self.wait(4000);
            // A capture ends with its last record, so this dump says how long the board stood still.
            self.dump();
        }
        let records = self.records;
        Capture { header, records }
    }

    /// What the board told since the last call. The manner has to be tidy: elsewhere a scan finds the changes in the end.
    pub fn take_told(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Whether the clock runs.
    #[must_use]
    pub fn is_clock_running(&self) -> bool {
        self.clock.as_ref().is_some_and(|clock| clock.reading().running)
    }

    /// The position that the game has reached.
    #[must_use]
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// The half-move `uci` in the position of the game, if it is legal.
    #[must_use]
    pub fn legal(&self, uci: &str) -> Option<Move> {
        uci.parse::<UciMove>().ok()?.to_move(&self.position).ok()
    }

    /// Lets `ms` milliseconds pass.
    pub fn wait(&mut self, ms: u64) {
        let until = self.now + ms;
        let next_tick = |table: &Self| table.clock.as_ref().and_then(SimulatedClock::next_tick);
        while let Some(tick) = next_tick(self).filter(|tick| *tick <= until) {
            self.now = tick;
            self.clock.iter_mut().for_each(|clock| clock.advance(tick));
            self.show_clock();
        }
        self.now = until;
    }

    /// Waits as long as people take, or always as long as `even`.
    pub(in crate::sim) fn pause(&mut self, even: u64, drawn: Range<u64>) {
        let ms = match self.manner {
            Manner::Tidy => even,
            Manner::Human(..) => self.rng.u64(drawn),
        };
        self.wait(ms);
    }

    fn say(&mut self, at: Millis, message: Message<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        if !self.is_down {
            let act = Act::FromBoard(bytes);
            self.records.push(Record { at, act });
        }
    }

    /// The board tells all squares.
    pub fn dump(&mut self) {
        for square in Square::ALL {
            self.told[self.raw(square)] = self.shown(square);
        }
        self.say(self.now, Message::Dump(&self.told.clone()));
    }

    fn raw(&self, square: Square) -> usize {
        usize::from(self.raw[usize::from(square)])
    }

    fn shown(&self, square: Square) -> PieceCode {
        let stands = self.stands[usize::from(square)];
        self.misread[usize::from(square)].unwrap_or(stands.chip)
    }

    /// The board notices what stands on a square.
    fn notice(&mut self, square: Square) {
        let (raw, piece) = (self.raw(square), self.shown(square));
        if std::mem::replace(&mut self.told[raw], piece) == piece {
            return;
        }
        let (at, square) = (self.now, self.raw[usize::from(square)]);
        match self.manner {
            Manner::Tidy => self.say(at, Message::Field { square, piece }),
            Manner::Human(..) => self.changes.push(Change { at, square, piece }),
        }
    }

    fn stand(&mut self, square: Square, stands: Stands) {
        self.stands[usize::from(square)] = stands;
        self.notice(square);
    }

    /// Lifts what stands on a square, and returns it.
    pub fn lift(&mut self, square: Square) -> PieceCode {
        let lifted = self.stands[usize::from(square)].code;
        self.stand(square, Stands::NOTHING);
        lifted
    }

    /// Puts a piece on a square.
    pub fn put(&mut self, square: Square, piece: PieceCode) {
        self.stand(square, Stands::read(piece));
    }

    /// Puts a piece on a square, or takes it away, and the update is lost.
    pub fn put_unseen(&mut self, square: Square, piece: PieceCode) {
        self.stands[usize::from(square)] = Stands::read(piece);
    }

    /// From now on the chip of the piece on a square says `chip`, wherever it goes. A chip that says nothing does not work.
    pub fn exchange_chip(&mut self, square: Square, chip: PieceCode) {
        self.stands[usize::from(square)].chip = chip;
        self.notice(square);
    }

    /// From now on the board reads `code` on a square, whatever stands there. None: it reads right again.
    pub fn read_as(&mut self, square: Square, code: Option<PieceCode>) {
        self.misread[usize::from(square)] = code;
        self.notice(square);
    }

    /// The clock tells the board what it shows. Frames keep their order.
    fn show_clock(&mut self) {
        let at = match self.manner {
            Manner::Tidy => self.now,
            Manner::Human(..) => (self.now + self.rng.u64(FRAME_LATE_MS)).max(self.last_frame + FRAME_MS),
        };
        self.last_frame = at;
        match self.clock.as_ref().filter(|_| !self.is_clock_out) {
            Some(clock) => self.say(at, Message::Clock(clock.reading())),
            None => self.say(at, Message::NoClock),
        }
    }

    /// Pulls the clock's cable, or plugs it in.
    pub fn clock_cable(&mut self, is_out: bool) {
        self.is_clock_out = is_out;
        self.show_clock();
    }

    fn clock_act(&mut self, act: impl FnOnce(&mut SimulatedClock, Millis)) {
        let now = self.now;
        if let Some(clock) = &mut self.clock {
            act(clock, now);
            self.show_clock();
        }
        self.wait(20);
    }

    /// The player whose time runs presses the clock.
    pub fn press(&mut self) {
        self.clock_act(|clock, now| clock.press(now, clock.to_move()));
    }

    /// A player presses the clock, whoever's time runs: a lever that is down already does not move.
    pub fn press_by(&mut self, player: Color) {
        let side = player.fold_wb(self.white, self.white.other());
        self.clock_act(|clock, now| clock.press(now, side));
    }

    /// The arbiter stops the clock.
    pub fn stop(&mut self) {
        self.clock_act(SimulatedClock::stop);
    }

    /// The arbiter sets who is to move, adds seconds to White's and Black's times, and starts the clock.
    pub fn start(&mut self, to_move: Color, white: u64, black: u64) {
        let side = to_move.fold_wb(self.white, self.white.other());
        let (left, right) = match self.white {
            ClockSide::Left => (white, black),
            ClockSide::Right => (black, white),
        };
        self.clock_act(|clock, now| clock.set_and_start(now, side, left * 1000, right * 1000));
    }

    /// Sets the clock for the next game.
    pub fn set_clock(&mut self) {
        self.clock.clone_from(&self.clock_before);
        self.clock_act(SimulatedClock::advance);
    }

    /// Pulls the board's cable, or plugs it in.
    pub fn cable(&mut self, is_in: bool) {
        let act = if is_in { Act::LinkUp } else { Act::LinkDown };
        self.records.push(Record { at: self.now, act });
        self.is_down = !is_in;
        if is_in {
            self.wait(150);
            self.dump();
            self.show_clock();
        }
    }

    /// Plays a half-move in the game's position, without a hand.
    ///
    /// # Errors
    /// When the half-move is not legal.
    pub fn track(&mut self, mv: Move) -> Result<(), NotLegal> {
        let name = mv.to_uci(self.position.castles().mode()).to_string();
        let after = self.position.clone().play(mv).map_err(|_| NotLegal(name))?;
        self.past.push(std::mem::replace(&mut self.position, after));
        Ok(())
    }

    /// A player makes a legal half-move and presses the clock.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn play(&mut self, mv: Move) -> Result<(), NotLegal> {
        let player = self.position.turn();
        self.make(mv)?;
        self.pause(300, 80..350);
        self.press_by(player);
        Ok(())
    }

    /// A hand makes a legal half-move and does not press the clock.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn make(&mut self, mv: Move) -> Result<(), NotLegal> {
        // Now and then a piece brushes over a square on its way.
        let drag = matches!(self.manner, Manner::Human(..)) && self.rng.u8(0..12) == 0;
        self.make_with(
            mv,
            Slips {
                drag,
                ..Slips::default()
            },
        )
    }

    /// [`Self::make`] by a hand with these slips.
    ///
    /// # Errors
    /// When it is not legal.
    pub fn make_with(&mut self, mv: Move, slips: Slips) -> Result<(), NotLegal> {
        let color = self.position.turn();
        self.track(mv)?;
        self.reach_out(slips, |hand| hand.make(mv, color));
        Ok(())
    }

    /// A hand carries a piece to another square, legal or not. What stands there goes.
    pub fn carry(&mut self, from: Square, to: Square) {
        self.reach_out(Slips::default(), |hand| hand.carry(from, to));
    }

    fn reach_out(&mut self, slips: Slips, act: impl FnOnce(&mut Hand<'_>)) {
        let mut hand = Hand {
            pieces: self.stands.map(Stands::figure),
            pace: match self.manner {
                Manner::Tidy => HandPace::Even,
                Manner::Human(..) => HandPace::Drawn(150..400),
            },
            slips,
            rng: &mut self.rng,
            motion: Motion::default(),
        };
        act(&mut hand);
        let Motion { steps, at: end } = hand.motion;
        let begin = self.now;
        for (at, square, figure) in steps {
            self.wait((begin + at).since(self.now));
            self.stand(square, Stands::of(figure));
        }
        self.wait((begin + end).since(self.now));
    }

    /// Hands set up what `codes` says, a1 first. They first take away what is wrong and then put down what is
    /// missing.
    pub fn set_up(&mut self, codes: &Squares) {
        let mut faulty: Vec<Stands> = Vec::new();
        for is_away in [true, false] {
            for square in Square::ALL {
                let wanted = codes[usize::from(square)];
                let stands = self.stands[usize::from(square)];
                let lifts = wanted == PieceCode::EMPTY || stands.code != PieceCode::EMPTY;
                if stands.code == wanted || lifts != is_away {
                    continue;
                }
                faulty.extend((stands.chip != stands.code).then_some(stands));
                // A piece keeps its chip.
                let same = faulty.iter().position(|piece| piece.code == wanted);
                let back = same.filter(|_| !is_away).map(|index| faulty.swap_remove(index));
                let put = back.unwrap_or_else(|| Stands::read(wanted));
                self.stand(square, if is_away { Stands::NOTHING } else { put });
                self.pause(80, 200..450);
            }
        }
    }

    /// Hands set up the game's position.
    pub fn put_back(&mut self) {
        self.set_up(&codes_of(&self.position));
    }

    /// Hands set up the position after `ply` half-moves, and the game goes on from there. Returns false if
    /// the game has fewer half-moves.
    pub fn take_back(&mut self, ply: usize) -> bool {
        let Some(position) = self.past.get(ply).cloned() else {
            return false;
        };
        self.past.truncate(ply);
        self.position = position;
        self.put_back();
        true
    }

    /// Hands set up the pieces for the next game.
    pub fn begin_anew(&mut self) {
        self.past.clear();
        self.position = Chess::default();
        self.put_back();
    }
}
