//! Random half-moves as people might play them: they take what is free, castle, and do not go back and forth.

use fastrand::Rng;
use shakmaty::{Bitboard, Chess, Color, Move, Position, Role, Square};

/// What the half-moves of a game should have many of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taste {
    /// Castling.
    pub(super) castling: bool,
    /// Promotions.
    pub(super) promotion: bool,
    /// Captures en passant.
    pub(super) en_passant: bool,
    /// Squares where pieces like to go.
    pub(super) onto: Bitboard,
    /// Squares whose pieces like to move.
    pub(super) with: Bitboard,
}

/// Chooses one of `moves`. None if there are none.
pub(super) fn choose(
    position: &Chess,
    moves: &[Move],
    taste: Taste,
    before: Option<Move>,
    rng: &mut Rng,
) -> Option<Move> {
    let scored = moves.iter().map(|mv| {
        let score = worth(position, mv, taste, before);
        // Gumbel noise: the best move is taken most often, and each now and then.
        (score - 0.7 * (-(rng.f64().max(1e-9)).ln()).max(1e-9).ln(), *mv)
    });
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, mv)| mv)
}

fn value(role: Role) -> f64 {
    match role {
        Role::Pawn => 1.0,
        Role::Knight | Role::Bishop => 3.0,
        Role::Rook => 5.0,
        Role::Queen => 9.0,
        Role::King => 10.0,
    }
}

fn worth(position: &Chess, mv: &Move, taste: Taste, before: Option<Move>) -> f64 {
    let color = position.turn();
    let Some(from) = mv.from() else { return 0.0 };
    let to = mv.to();
    let mut worth = mv.capture().map_or(0.0, value) + mv.promotion().map_or(0.0, value);
    let mut after = position.clone();
    after.play_unchecked(*mv);
    if after.is_checkmate() {
        // Games that end at once are no test.
        return if position.fullmoves().get() > 25 {
            20.0
        } else {
            -5.0
        };
    }
    if after.is_stalemate() || after.is_insufficient_material() {
        return -30.0;
    }
    let occupied = after.board().occupied();
    if !mv.is_castle() && after.board().attacks_to(to, !color, occupied).any() {
        let guarded = after.board().attacks_to(to, color, occupied).any();
        worth -= value(mv.role()) * if guarded { 0.5 } else { 0.9 };
    }
    if before.is_some_and(|before| before.to() == from && before.from() == Some(to)) {
        worth -= 2.0; // there and back again
    }
    match mv.role() {
        Role::Pawn => worth += pawn(position, mv, color, taste),
        Role::Knight | Role::Bishop
            if from.rank() == color.fold_wb(shakmaty::Rank::First, shakmaty::Rank::Eighth) =>
        {
            worth += if taste.castling { 2.5 } else { 0.8 };
        }
        Role::King if !mv.is_castle() && !taste.promotion => worth -= 0.8,
        _ => {}
    }
    if taste.onto.contains(to) {
        worth += 1.5;
    }
    if taste.with.contains(from) {
        worth += 0.8;
    }
    if mv.is_castle() {
        worth += if taste.castling { 30.0 } else { 2.0 };
    }
    worth
}

fn pawn(position: &Chess, mv: &Move, color: Color, taste: Taste) -> f64 {
    let (Some(from), to) = (mv.from(), mv.to()) else {
        return 0.0;
    };
    let mut worth = 0.2;
    if taste.promotion {
        let rank = f64::from(color.fold_wb(to.rank().to_u32(), 7 - to.rank().to_u32()));
        worth += 0.5 * rank;
    }
    if taste.en_passant {
        if mv.is_en_passant() {
            worth += 30.0;
        }
        let double = from.rank().distance(to.rank()) == 2;
        let beside = |delta| to.offset(delta).filter(|s: &Square| s.rank() == to.rank());
        let enemy = shakmaty::Piece {
            color: !color,
            role: Role::Pawn,
        };
        let met = [-1, 1]
            .into_iter()
            .filter_map(beside)
            .any(|s| position.board().piece_at(s) == Some(enemy));
        if double && met {
            worth += 4.0;
        }
        // Pawns on the fifth rank wait for their neighbours.
        worth += 0.3 * f64::from(color.fold_wb(to.rank().to_u32(), 7 - to.rank().to_u32()).min(4));
    }
    worth
}
