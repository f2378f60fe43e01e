//! A game from its set-up to its end, with all that goes wrong in it.

use fastrand::Rng;
use shakmaty::{CastlingMode, Chess, Color, Move, Position, PositionError, Rank, Role, Setup, Square};

use super::{
    super::hand::figure::pieces_of,
    director::Director,
    fallen,
    fault::{Fault, FaultRates},
    playout::{Taste, choose},
    stage::Stage,
    tempo::Tempo,
    timeline::{Put, Timeline},
    trouble::Outages,
    truth::Truth,
};
use crate::{
    capture::Header,
    event::GameResult,
    families::Family,
    laws::{IrregularityKind, Supervision, TimeControl},
    sim::{
        board::SimulatedIdentity,
        player::{Cue, Pace, PlayedBoard},
        whole::cues_of,
    },
};

/// A game that was made up.
#[derive(Clone, Debug)]
pub struct SimulatedGame {
    /// What the board tells, in order of time.
    pub cues: Vec<Cue>,
    /// What should come out.
    pub truth: Truth,
    /// What a watcher is told of the game.
    pub header: Header,
    /// Whether the board keeps an event log.
    pub log: bool,
}

impl SimulatedGame {
    /// The simulated board of this `number`, on which this game is played. It is a board of `family`, or a
    /// DGT board if that is none.
    #[must_use]
    pub fn player(&self, family: Option<&'static Family>, number: u16, pace: Pace) -> PlayedBoard {
        let identity = SimulatedIdentity::synthetic(number);
        match family {
            Some(family) => PlayedBoard::staged(cues_of(family, &self.cues), identity, pace).of(family),
            None if self.log => PlayedBoard::staged(self.cues.clone(), identity, pace),
            None => PlayedBoard::staged(self.cues.clone(), identity, pace).without_log(),
        }
    }
}

/// Plays a game in which `faults` happen. The same seed gives the same game.
#[must_use]
pub fn play(faults: &FaultRates, seed: u64) -> SimulatedGame {
    let mut director = Director::new(faults, Rng::with_seed(seed));
    director.begin();
    while director.goes_on() {
        if !director.turn() {
            break;
        }
    }
    director.finish()
}

impl<'a> Director<'a> {
    fn new(faults: &'a FaultRates, mut rng: Rng) -> Self {
        let stands = faults.of(Fault::IllegalStands) > 0.0;
        let stage = Stage::set(faults, &mut rng);
        let tempo = if stands {
            Tempo::blitz()
        } else {
            Tempo::chosen(faults, stage.clock, &mut rng)
        };
        let mode = CastlingMode::from_chess960(rng.f64() < faults.of(Fault::Chess960));
        let taste = Taste {
            castling: faults.of(Fault::Castling) > 0.0 || mode.is_chess960(),
            promotion: [Fault::Promotion, Fault::PawnLeft, Fault::SpareQueen]
                .into_iter()
                .any(|fault| faults.of(fault) > 0.0),
            en_passant: faults.of(Fault::EnPassant) > 0.0,
            ..Taste::default()
        };
        let position = start(mode, &mut rng);
        let longest = if taste.promotion { 150 } else { rng.usize(24..90) };
        let pieces = pieces_of(position.board());
        let edition = fallen::edition(faults, &mut rng);
        Self {
            stage,
            supervision: if stands {
                Supervision::NotAdequate
            } else {
                Supervision::Adequate
            },
            faults,
            rng,
            tempo,
            position,
            mode,
            past: Vec::new(),
            initial: pieces,
            pieces,
            timeline: Timeline::default(),
            truth: Truth::default(),
            at: 0,
            left: 0,
            touched: Vec::new(),
            running: None,
            outages: Outages::default(),
            offended: Vec::new(),
            hands: Vec::new(),
            dies: None,
            edition,
            log: faults.of(Fault::GapLong) == 0.0,
            last: [None; 2],
            taste,
            longest,
        }
    }

    /// What a watcher is told of the game. In every other game it is told whether the line gathers.
    fn header(&mut self) -> Header {
        let mut header = header(self.tempo.control, self.supervision, self.edition);
        let ms = self.stage.gathers;
        if ms > 0 && self.rng.bool() {
            header
                .push("gathered", &format!("{ms} ms"))
                .expect("a header takes the period of every line");
        }
        header
    }

    /// Sets up the board and starts the clock.
    fn begin(&mut self) {
        self.at = self.rng.u64(4000..8000);
        let mut whole = true;
        if self.happens(Fault::MidGame) {
            whole = false;
            for _ in 0..self.rng.u32(10..40) {
                let Some(mv) = self.choose() else { break };
                self.position.play_unchecked(mv);
            }
            if self.mode.is_chess960() {
                self.forget_castling();
            }
            // Nobody who comes later knows that a capture en passant is legal, so there is none at the start.
            while self.position.legal_ep_square().is_some() {
                let Some(mv) = self.choose() else { break };
                self.position.play_unchecked(mv);
            }
        } else if self.mode == CastlingMode::Standard && self.happens(Fault::WrongStart) {
            whole = false;
            self.exchange_two_pieces();
        }
        if self.stage.orientation.is_sideways() {
            self.offence(&[IrregularityKind::BoardOrientationWrong], None, 0, self.at);
        }
        self.pieces = pieces_of(self.position.board());
        self.begin_broken(whole);
        self.initial = self.pieces;
        if whole {
            self.come_one_by_one();
        }
        self.truth.start = self.position.board().to_string();
        if self.stage.clock {
            self.start_clock(self.at, self.position.turn(), 0, 0);
        }
        self.left = self.at;
    }

    /// In some of the games with broken hardware, hands set up the pieces one by one.
    fn come_one_by_one(&mut self) {
        let broken = self.truth.calm || !self.timeline.dead.is_empty();
        if !broken || self.stage.orientation.is_sideways() || self.rng.bool() {
            return;
        }
        let pieces = std::mem::replace(&mut self.pieces, [None; 64]);
        self.initial = self.pieces;
        self.at = self.set_up(500, &pieces) + self.rng.u64(2000..6000);
    }

    /// Nobody who comes later sees who has the right to castle, so nobody has it.
    fn forget_castling(&mut self) {
        let mut setup = self.position.to_setup(shakmaty::EnPassantMode::Legal);
        setup.castling_rights = shakmaty::Bitboard::EMPTY;
        if let Ok(position) = setup.position(self.mode) {
            self.position = position;
        }
    }

    fn exchange_two_pieces(&mut self) {
        const PAIRS: [(Square, Square); 6] = [
            (Square::D1, Square::E1),
            (Square::B1, Square::C1),
            (Square::G1, Square::F1),
            (Square::D8, Square::E8),
            (Square::B8, Square::C8),
            (Square::G8, Square::H8),
        ];
        let (a, b) = PAIRS[self.rng.usize(0..PAIRS.len())];
        let mut setup = self.position.to_setup(shakmaty::EnPassantMode::Legal);
        let (left, right) = (setup.board.remove_piece_at(a), setup.board.remove_piece_at(b));
        for (square, piece) in [(a, right), (b, left)] {
            if let Some(piece) = piece {
                setup.board.set_piece_at(square, piece);
            }
        }
        // Without a right to castle nobody castles.
        setup.castling_rights = shakmaty::Bitboard::EMPTY;
        // Two bishops on squares of one colour are more than the library takes for possible.
        let position = setup
            .position(self.mode)
            .or_else(PositionError::ignore_too_much_material);
        if let Ok(position) = position {
            self.position = position;
            self.offence(&[IrregularityKind::InitialPositionWrong], None, 0, self.at);
        }
    }

    /// Whether there is more to play.
    fn goes_on(&self) -> bool {
        self.truth.moves.len() < self.longest && !is_over(&self.position)
    }

    /// A half-move that can be told from others by what the board will tell of it.
    pub(super) fn choose(&mut self) -> Option<Move> {
        let legal = self.position.legal_moves();
        let moves: Vec<Move> = legal.iter().copied().filter(|mv| self.is_fair(*mv)).collect();
        let before = self.last[self.position.turn() as usize];
        // Broken squares and pieces test something only if half-moves touch them, so such half-moves are
        // likelier.
        let unread = self.standing(|_, figure| figure.chip != Some(figure.piece()));
        let taste = Taste {
            onto: self.timeline.dead.iter().copied().collect(),
            with: unread.into_iter().map(|(square, _)| square).collect(),
            ..self.taste
        };
        choose(&self.position, &moves, taste, before, &mut self.rng)
    }

    fn is_fair(&self, mv: Move) -> bool {
        let mut after = self.position.clone();
        after.play_unchecked(mv);
        let again = self
            .past
            .iter()
            .filter(|past| past.board() == after.board())
            .count();
        again < 2 && self.is_answered(mv, &after) && self.outages.allow(mv, self.position.turn(), self.at)
    }

    /// Whether the game goes on for as long as it takes to know of `mv`. A piece on a square that reads
    /// nothing is known only by what follows, and pieces that lie about are still to be put back.
    fn is_answered(&self, mv: Move, after: &Chess) -> bool {
        let hidden = self.outages.hides(mv.to());
        if !hidden && !self.outages.is_untidy() {
            return true;
        }
        let last = self.truth.moves.len() + 1 >= self.longest || is_over(after);
        !last && (self.stage.clock || !hidden || !mv.is_capture())
    }

    fn finish(mut self) -> SimulatedGame {
        self.pick_up(true);
        self.end_outages();
        if self.position.is_checkmate() || self.position.is_stalemate() {
            let winner = self.position.outcome().winner();
            self.truth.result = Some(winner.map_or(GameResult::Draw, |color| {
                color.fold_wb(GameResult::WhiteWins, GameResult::BlackWins)
            }));
            self.stop_clock(self.at + 4000);
        } else {
            let thought = self.rng.u64(600..4000);
            self.stop_clock(self.at + thought);
            self.at += thought;
            let centre = [Square::D4, Square::E4, Square::D5, Square::E5];
            let read = !centre.into_iter().any(|square| self.outages.hides(square));
            if self.happens(Fault::Kings) && read {
                self.centre_kings();
            }
        }
        self.lose_updates();
        self.prove();
        self.timeline.end = self.timeline.end.max(self.at) + if self.stage.clock { 9000 } else { 13_000 };
        SimulatedGame {
            header: self.header(),
            cues: self
                .stage
                .tell(&self.initial, &self.timeline, &self.tempo, &mut self.rng),
            log: self.log,
            truth: self.truth,
        }
    }

    /// Loses at most one update of a half-move, and one that matters in the end.
    fn lose_updates(&mut self) {
        let hands = std::mem::take(&mut self.hands);
        for puts in hands {
            let counts = |put: &&Put| {
                !puts
                    .iter()
                    .any(|other| other.square == put.square && other.at > put.at)
            };
            // A square that reads nothing has no update to lose, and the half-move's other update is all that
            // is known of it.
            if puts.iter().any(|put| self.outages.hides(put.square)) {
                continue;
            }
            let last: Vec<Put> = puts.iter().filter(counts).copied().collect();
            if self.happens(Fault::LostUpdate)
                && let Some(&put) = self.rng.choice(&last)
            {
                self.timeline.lose(put);
            }
        }
    }
}

fn header(control: TimeControl, supervision: Supervision, edition: Option<&str>) -> Header {
    let control = match control {
        TimeControl::Standard => "standard",
        TimeControl::Rapid => "rapid",
        TimeControl::Blitz => "blitz",
    };
    let supervision = match supervision {
        Supervision::Adequate => "adequate",
        Supervision::NotAdequate => "not_adequate",
    };
    let mut header = Header::default();
    let laws = edition.map(|edition| ("laws", edition));
    let rest = [("time-control", control), ("supervision", supervision)];
    for (key, value) in laws.into_iter().chain(rest) {
        header.push(key, value).expect("a header takes these values");
    }
    header
}

/// Whether the players end the game here.
fn is_over(position: &Chess) -> bool {
    let bare = position.board().occupied().count() <= 6;
    position.is_game_over() || bare || position.halfmoves() >= 60
}

/// The initial position, or one of the 960.
fn start(mode: CastlingMode, rng: &mut Rng) -> Chess {
    if mode == CastlingMode::Standard {
        return Chess::default();
    }
    let mut setup = shuffled(rng);
    while setup.board == Setup::initial().board {
        // Nothing on the board tells such a game from one of standard chess.
        setup = shuffled(rng);
    }
    // Any such arrangement is a position of Chess960.
    setup.position(mode).unwrap_or_default()
}

/// An initial position of Chess960.
fn shuffled(rng: &mut Rng) -> Setup {
    let mut setup = Setup::initial();
    setup.castling_rights = shakmaty::Bitboard::EMPTY;
    for (file, role) in shakmaty::File::ALL.into_iter().zip(back_rank(rng)) {
        for color in Color::ALL {
            let square = Square::from_coords(file, color.fold_wb(Rank::First, Rank::Eighth));
            setup.board.set_piece_at(square, role.of(color));
            if role == Role::Rook {
                setup.castling_rights.add(square);
            }
        }
    }
    setup
}

/// A back rank of Chess960: bishops on different colours, the king between the rooks.
fn back_rank(rng: &mut Rng) -> [Role; 8] {
    let mut rank = [None; 8];
    rank[rng.usize(0..4) * 2] = Some(Role::Bishop);
    rank[rng.usize(0..4) * 2 + 1] = Some(Role::Bishop);
    for role in [Role::Queen, Role::Knight, Role::Knight] {
        let free: Vec<usize> = (0..8).filter(|&file| rank[file].is_none()).collect();
        rank[free[rng.usize(0..free.len())]] = Some(role);
    }
    let mut rest = [Role::Rook, Role::King, Role::Rook].into_iter();
    rank.map(|role| role.or_else(|| rest.next()).unwrap_or(Role::Rook))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_game_of_chess960_begins_as_standard_chess_does() {
        let mut rng = Rng::with_seed(1);
        // One shuffle in 960 does.
        let starts = (0..5000).map(|_| start(CastlingMode::Chess960, &mut rng));
        assert!(
            starts
                .into_iter()
                .all(|start| *start.board() != Setup::initial().board)
        );
    }
}
