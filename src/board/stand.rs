//! A position from which half-moves are played: a legal one, or one that an illegal act left behind.

use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, EnPassantMode, FromSetup, Move, MoveList, Piece, Position,
    Rank, Role, Setup, Square, attacks,
    fen::{Epd, Fen},
    san::{San, SanPlus, Suffix},
    uci::UciMove,
    zobrist::Zobrist64,
};

use super::{
    candidate::{Candidate, castled},
    history::{captures_en_passant, castling_rights},
    placement::Placement,
};

/// Room for a FEN. Few have more characters.
const LONGEST_FEN: usize = 88;

/// A position from which half-moves may be played.
///
/// Its half-moves and its key are worked out each time, for hundreds of positions are kept of which nobody
/// asks any more. A hypothesis keeps those with which it goes on.
#[derive(Clone, Debug)]
pub struct Stand {
    kind: Kind,
    placement: Placement,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Playable.
    Legal(Chess),
    /// Playable, with captures en passant that are believed to be possible, and of which the position does not know
    /// ([`Stand::of_placement`]). Few are kept, and in a box they make no stand larger.
    Believed(Box<Chess>),
    /// Not playable by the Laws (a king left in check, pawns on the last rank), yet play may go on.
    Irregular(Box<Irregular>),
}

#[derive(Clone, Debug)]
struct Irregular {
    setup: Setup,
    mode: CastlingMode,
}

impl Stand {
    /// The stand of a playable position.
    #[must_use]
    pub fn new(chess: Chess) -> Self {
        let placement = Placement::from(chess.board());
        Self::of(Kind::Legal(chess), placement)
    }

    fn of(kind: Kind, placement: Placement) -> Self {
        Self { kind, placement }
    }

    /// The stand of any setup: playable if it can be, else with the half-moves that keep the
    /// mover's own king safe. Castling rights and en passant that cannot be are dropped.
    #[must_use]
    pub fn of_setup(setup: Setup, mode: CastlingMode) -> Self {
        let position = Chess::from_setup(setup.clone(), mode)
            .or_else(shakmaty::PositionError::ignore_invalid_castling_rights)
            .or_else(shakmaty::PositionError::ignore_invalid_ep_square)
            .or_else(shakmaty::PositionError::ignore_too_much_material)
            .or_else(shakmaty::PositionError::ignore_impossible_check);
        match position {
            Ok(chess) => Self::new(chess),
            Err(_) => {
                let placement = Placement::from(&setup.board);
                Self::of(Kind::Irregular(Box::new(Irregular { setup, mode })), placement)
            }
        }
    }

    /// The initial array.
    #[must_use]
    pub fn initial() -> Self {
        Self::new(Chess::default())
    }

    /// What stands on the board, with `turn` to move and no history. Castling is believed to be possible for
    /// kings and rooks at home, and a capture en passant wherever a pawn may just have gone two squares. A
    /// FEN can name one such pawn only, and names none here before one is taken ([`Self::allowing`]).
    #[must_use]
    pub fn of_placement(placement: &Placement, turn: Color, mode: CastlingMode) -> Self {
        let board = placement.board();
        let mut setup = Setup::empty();
        setup.castling_rights = castling_rights(&board, mode);
        setup.board = board;
        setup.turn = turn;
        let mut stand = Self::of_setup(setup, mode);
        if let Kind::Legal(chess) = stand.kind {
            stand.kind = Kind::Believed(Box::new(chess));
        }
        stand
    }

    /// The captures en passant that are believed to be possible, and of which the position itself does not know.
    fn in_passing(&self) -> Vec<Move> {
        match self.kind {
            Kind::Believed(_) => captures_en_passant(&self.setup(), self.mode()),
            Kind::Legal(_) | Kind::Irregular(_) => Vec::new(),
        }
    }

    fn playable(&self) -> Result<&Chess, &Irregular> {
        match &self.kind {
            Kind::Legal(chess) => Ok(chess),
            Kind::Believed(chess) => Ok(chess),
            Kind::Irregular(irregular) => Err(irregular),
        }
    }

    /// The start of a game that was saved as a FEN. If it was a start without a history, the same is believed
    /// of it as before.
    #[must_use]
    pub fn of_start(fen: Fen, mode: CastlingMode) -> Self {
        let known = Self::of_setup(fen.into_setup(), mode);
        let believed = Self::of_placement(&known.placement, known.turn(), mode);
        if believed.fen() == known.fen() {
            believed
        } else {
            known
        }
    }

    /// This position if `mv` shows more of its history: the pawn that `mv` captures en passant has just gone
    /// two squares. None if `mv` is no such capture.
    #[must_use]
    pub fn allowing(&self, mv: Move) -> Option<Self> {
        if !self.in_passing().contains(&mv) {
            return None;
        }
        let mut setup = self.setup();
        setup.ep_square = Some(mv.to());
        Some(Self::of_setup(setup, self.mode()))
    }

    /// This position with all that may have been believed of it before a half-move showed more of its history
    /// ([`Self::allowing`]). None if no half-move can have shown more.
    #[must_use]
    pub fn as_believed(&self) -> Option<Self> {
        let believed = Self::of_placement(&self.placement, self.turn(), self.mode());
        let shows = |mv: &Move| {
            believed
                .allowing(*mv)
                .is_some_and(|stand| stand.fen() == self.fen())
        };
        let was_shown = believed.in_passing().iter().any(shows);
        was_shown.then_some(believed)
    }

    /// Castling mode of the game.
    #[must_use]
    pub fn mode(&self) -> CastlingMode {
        match self.playable() {
            Ok(chess) => chess.castles().mode(),
            Err(irregular) => irregular.mode,
        }
    }

    /// A hash of the position. Positions that are the same for all that follows have the same key. Others
    /// have different keys as far as 64 bits go: the key ranks hypotheses and proves nothing.
    #[must_use]
    pub fn key(&self) -> u64 {
        match self.playable() {
            Ok(chess) => {
                let Zobrist64(key) = chess.zobrist_hash(EnPassantMode::Legal);
                key
            }
            Err(Irregular { setup, .. }) => setup.turn.fold_wb(self.placement.hash(), !self.placement.hash()),
        }
    }

    /// True when both are the same for all that follows, as far as [`Self::key`] tells.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        // Most positions differ in their placement, and need no key.
        std::ptr::eq(self, other) || self.placement == other.placement && self.key() == other.key()
    }

    /// The placement.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The half-moves that may be played.
    #[must_use]
    pub fn moves(&self) -> Vec<Move> {
        match self.playable() {
            Ok(chess) => {
                let mut moves = chess.legal_moves()[..].to_vec();
                moves.extend(self.in_passing());
                moves
            }
            Err(irregular) => {
                let mut moves = replies(&irregular.setup);
                moves.extend(castlings(irregular));
                moves
            }
        }
    }

    /// The half-move `mv` as the sensors would see it.
    #[must_use]
    pub fn candidate(&self, mv: Move) -> Candidate {
        Candidate::new(&self.placement, mv)
    }

    /// The half-move `mv` as it is written down (SAN, Appendix C of the Laws), in an irregular position too.
    #[must_use]
    pub fn san(&self, mv: Move) -> SanPlus {
        if let Some(chess) = self.chess() {
            return SanPlus::from_move(chess.clone(), mv);
        }
        let mut moves = MoveList::new();
        moves.extend(self.moves().into_iter().take(moves.capacity()));
        let after = self.after(&self.candidate(mv));
        SanPlus {
            san: San::disambiguate(mv, &moves),
            suffix: after.chess().and_then(Suffix::from_position),
        }
    }

    /// The half-moves that may be played, as the sensors would see them.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> + Clone {
        self.moves().into_iter().map(|mv| self.candidate(mv))
    }

    /// The half-move that UCI names so, if it may be played.
    #[must_use]
    pub fn named(&self, uci: &str) -> Option<Candidate> {
        let mode = self.mode();
        let is_it = |candidate: &Candidate| UciMove::from_move(candidate.mv, mode).to_string() == uci;
        self.candidates().find(is_it)
    }

    /// Who is to move.
    #[must_use]
    pub fn turn(&self) -> Color {
        match self.playable() {
            Ok(chess) => chess.turn(),
            Err(irregular) => irregular.setup.turn,
        }
    }

    /// The playable position, if it is one.
    #[must_use]
    pub fn chess(&self) -> Option<&Chess> {
        self.playable().ok()
    }

    /// The pieces.
    #[must_use]
    pub fn board(&self) -> &Board {
        match self.playable() {
            Ok(chess) => chess.board(),
            Err(irregular) => &irregular.setup.board,
        }
    }

    /// The position as a setup.
    #[must_use]
    pub fn setup(&self) -> Setup {
        match self.playable() {
            Ok(chess) => chess.to_setup(EnPassantMode::Legal),
            Err(irregular) => irregular.setup.clone(),
        }
    }

    /// FEN, with an en passant square only where the capture is legal.
    #[must_use]
    pub fn fen(&self) -> String {
        let written = |fen: Fen| {
            let mut text = String::with_capacity(LONGEST_FEN);
            fen.append_to_string(&mut text);
            text
        };
        Fen::try_from_setup(self.setup()).map_or_else(|_| self.placement.fen(), written)
    }

    /// What makes two positions the same for repetition (9.2.3): all of a FEN but the counters.
    #[must_use]
    pub fn repetition_key(&self) -> String {
        match self.playable() {
            Ok(chess) => Epd::from_position(chess, EnPassantMode::Legal).to_string(),
            Err(_) => self.fen(),
        }
    }

    /// The stand after `candidate`, which must be one of this stand's.
    #[must_use]
    pub fn after(&self, candidate: &Candidate) -> Self {
        match self.playable() {
            Ok(chess) => {
                let mut next = chess.clone();
                next.play_unchecked(candidate.mv);
                Self::of(Kind::Legal(next), candidate.after(&self.placement))
            }
            Err(_) => self.left_as(&candidate.after(&self.placement)),
        }
    }

    /// The stand that an illegal act leaves behind: the side to move left the board as `placement`, and the
    /// other side is to move.
    #[must_use]
    pub fn left_as(&self, placement: &Placement) -> Self {
        let mut setup = self.setup();
        setup.board = placement.board();
        setup.castling_rights = rights_left(&setup, self.mode());
        setup.ep_square = None;
        setup.halfmoves = setup.halfmoves.saturating_add(1);
        if setup.turn == Color::Black {
            setup.fullmoves = setup.fullmoves.saturating_add(1);
        }
        setup.turn = !setup.turn;
        Self::of_setup(setup, self.mode())
    }

    /// This stand with another placement and the same side to move: an arbiter accepts the board as it
    /// stands.
    #[must_use]
    pub fn with_placement(&self, placement: &Placement) -> Self {
        let mut setup = self.setup();
        setup.board = placement.board();
        setup.castling_rights = rights_left(&setup, self.mode());
        setup.ep_square = None;
        Self::of_setup(setup, self.mode())
    }
}

/// The castling rights whose king and rook still stand where they were.
fn rights_left(setup: &Setup, mode: CastlingMode) -> Bitboard {
    setup.castling_rights & castling_rights(&setup.board, mode)
}

/// The half-moves from a position that is not playable. Each piece goes its own way and leaves its own king
/// out of check. Kings are not captured.
fn replies(setup: &Setup) -> Vec<Move> {
    let (board, us) = (&setup.board, setup.turn);
    let mut moves = Vec::new();
    for from in board.by_color(us) {
        let Some(role) = board.role_at(from) else { continue };
        for to in targets(board, from, role.of(us)) & !board.by_color(us) {
            let capture = board.role_at(to);
            if capture == Some(Role::King) || !keeps_king_safe(board, us, from, to) {
                continue;
            }
            let last = to.rank() == us.fold_wb(Rank::Eighth, Rank::First);
            if role == Role::Pawn && last {
                for promotion in [Role::Queen, Role::Rook, Role::Bishop, Role::Knight] {
                    moves.push(Move::Normal {
                        role,
                        from,
                        capture,
                        to,
                        promotion: Some(promotion),
                    });
                }
            } else {
                moves.push(Move::Normal {
                    role,
                    from,
                    capture,
                    to,
                    promotion: None,
                });
            }
        }
    }
    moves
}

/// The castlings of the player to move in a position that is not playable, as where the opponent's king was left in check (3.8).
fn castlings(irregular: &Irregular) -> Vec<Move> {
    let (setup, mode) = (&irregular.setup, irregular.mode);
    let (board, us) = (&setup.board, setup.turn);
    let Some(king) = board.king_of(us).filter(|king| king.rank() == us.backrank()) else {
        return Vec::new();
    };
    let rooks = rights_left(setup, mode) & board.by_color(us);
    let may = |rook: &Square| {
        let [king_to, rook_to] = castled(king, *rook);
        let others = board.occupied().without(king).without(*rook);
        let way = |from, to| attacks::between(from, to).with(from).with(to);
        let free = ((way(king, king_to) | way(*rook, rook_to)) & others).is_empty();
        let safe = |square: Square| board.attacks_to(square, !us, others.with(rook_to)).is_empty();
        let passes = attacks::between(king, king_to).with(king);
        let unmoved = board.occupied().without(king);
        let unattacked = |square: Square| board.attacks_to(square, !us, unmoved).is_empty();
        free && passes.into_iter().all(unattacked) && safe(king_to)
    };
    rooks
        .into_iter()
        .filter(may)
        .map(|rook| Move::Castle { king, rook })
        .collect()
}

/// The squares that `piece` reaches from `from` by its own way. Squares with pieces of its own colour are
/// among them, except for a pawn.
#[must_use]
pub fn targets(board: &Board, from: Square, piece: Piece) -> Bitboard {
    if piece.role != Role::Pawn {
        return attacks::attacks(from, piece, board.occupied());
    }
    let captures = attacks::pawn_attacks(piece.color, from) & board.by_color(!piece.color);
    let step = piece.color.fold_wb(8, -8);
    let mut pushes = Bitboard::EMPTY;
    if let Some(one) = from.offset(step).filter(|s| !board.occupied().contains(*s)) {
        pushes.add(one);
        let home = piece.color.fold_wb(Rank::Second, Rank::Seventh);
        if from.rank() == home
            && let Some(two) = one.offset(step).filter(|s| !board.occupied().contains(*s))
        {
            pushes.add(two);
        }
    }
    captures | pushes
}

fn keeps_king_safe(board: &Board, us: Color, from: Square, to: Square) -> bool {
    let mut after = board.clone();
    if let Some(piece) = after.remove_piece_at(from) {
        after.set_piece_at(to, piece);
    }
    after
        .king_of(us)
        .is_none_or(|king| after.attacks_to(king, !us, after.occupied()).is_empty())
}

#[cfg(test)]
mod tests;
