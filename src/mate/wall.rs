//! A static proof for walled positions: a piece cannot mate on squares that it can never reach.
//!
//! The proof plays a relaxed game in which pieces only gain freedom. Each piece keeps the set of squares on which it
//! may *some day* stand. A square counts as vacated as soon as its piece could leave or be taken. The sets grow until
//! nothing changes. Every legal game is a game of the relaxation, so a move outside the sets never happens on a board.
//! The proof draws no conclusion while a capture en passant or castling is possible, or once a pawn might promote.

use shakmaty::{Bitboard, Chess, Color, EnPassantMode, Piece, Position, Role, Square, attacks};

/// True when it is proven that `winner` can never mate. False means "not shown".
pub(super) fn proves_unwinnable(position: &Chess, winner: Color) -> bool {
    if !position.castles().is_empty() || position.ep_square(EnPassantMode::Legal).is_some() {
        return false;
    }
    Relaxation::saturated(position).is_some_and(|r| !r.may_mate(winner))
}

/// A piece, and the squares on which it may some day stand.
struct Roamer {
    home: Square,
    piece: Piece,
    reach: Bitboard,
}

struct Relaxation {
    roamers: Vec<Roamer>,
    /// Squares of pieces that never leave them and are never taken.
    fixed: Bitboard,
}

impl Relaxation {
    /// The sets after they stop growing; none when a pawn might promote.
    fn saturated(position: &Chess) -> Option<Self> {
        let board = position.board();
        let roamers: Vec<Roamer> = board
            .iter()
            .map(|(home, piece)| Roamer {
                home,
                piece,
                reach: Bitboard::from_square(home),
            })
            .collect();
        let mut relaxation = Self {
            roamers,
            fixed: board.occupied(),
        };
        loop {
            let grown: Vec<Bitboard> = relaxation
                .roamers
                .iter()
                .map(|roamer| relaxation.grow(roamer))
                .collect();
            let mut changed = false;
            for (roamer, reach) in relaxation.roamers.iter_mut().zip(grown) {
                changed |= roamer.reach != reach;
                roamer.reach = reach;
            }
            if relaxation.roamers.iter().any(|roamer| {
                roamer.piece.role == Role::Pawn && !(roamer.reach & Bitboard::BACKRANKS).is_empty()
            }) {
                return None;
            }
            relaxation.fixed = relaxation.fixed_homes();
            if !changed {
                return Some(relaxation);
            }
        }
    }

    /// Squares whose piece has no other square and cannot be met there by an enemy.
    fn fixed_homes(&self) -> Bitboard {
        let met_by = |color: Color| {
            self.roamers
                .iter()
                .filter(|m| m.piece.color == color)
                .fold(Bitboard::EMPTY, |all, m| all | m.reach)
        };
        let (white, black) = (met_by(Color::White), met_by(Color::Black));
        self.roamers
            .iter()
            .filter(|roamer| roamer.reach == Bitboard::from_square(roamer.home))
            .filter(|roamer| !roamer.piece.color.fold_wb(black, white).contains(roamer.home))
            .map(|roamer| roamer.home)
            .collect()
    }

    /// The squares of a piece after one more step from each of its squares.
    fn grow(&self, roamer: &Roamer) -> Bitboard {
        let color = roamer.piece.color;
        let fixed_of = |c: Color| -> Bitboard {
            self.roamers
                .iter()
                .filter(|m| m.piece.color == c && self.fixed.contains(m.home))
                .map(|m| m.home)
                .collect()
        };
        let open = !fixed_of(color);
        let mut reach = roamer.reach;
        for from in roamer.reach {
            reach |= match roamer.piece.role {
                // The sets grow by one square at a time: a slider that passes a square finds it free of its own side.
                Role::Bishop => {
                    attacks::king_attacks(from) & attacks::bishop_attacks(from, Bitboard::FULL) & open
                }
                Role::Rook => {
                    attacks::king_attacks(from) & attacks::rook_attacks(from, Bitboard::FULL) & open
                }
                Role::Queen => attacks::king_attacks(from) & open,
                Role::Knight => attacks::knight_attacks(from) & open,
                Role::King => attacks::king_attacks(from) & open & !self.guarded_for_ever(!color),
                Role::Pawn => self.pawn_steps(from, color) & open,
            };
        }
        reach
    }

    /// A push needs a square that can be free of all pieces. A capture needs one that an enemy may enter.
    fn pawn_steps(&self, from: Square, color: Color) -> Bitboard {
        let ahead = from
            .offset(color.fold_wb(8, -8))
            .map_or(Bitboard::EMPTY, Bitboard::from_square);
        let victims = self
            .roamers
            .iter()
            .filter(|m| m.piece.color != color && m.piece.role != Role::King)
            .fold(Bitboard::EMPTY, |all, m| all | m.reach);
        (ahead & !self.fixed) | (attacks::pawn_attacks(color, from) & victims)
    }

    /// Squares that pieces of `color` which never leave guard for ever. Some day a piece may close the line of a
    /// slider, so only pawns, knights and kings count.
    fn guarded_for_ever(&self, color: Color) -> Bitboard {
        self.roamers
            .iter()
            .filter(|m| m.piece.color == color && self.fixed.contains(m.home))
            .map(|m| match m.piece.role {
                Role::Pawn => attacks::pawn_attacks(color, m.home),
                Role::Knight => attacks::knight_attacks(m.home),
                Role::King => attacks::king_attacks(m.home),
                _ => Bitboard::EMPTY,
            })
            .fold(Bitboard::EMPTY, |all, squares| all | squares)
    }

    /// False when no mate by `winner` is possible.
    fn may_mate(&self, winner: Color) -> bool {
        let region = self.king_reach(!winner);
        // The square colour of the bishops that may give check, while no other piece may.
        let mut shade: Option<Bitboard> = None;
        for roamer in self
            .roamers
            .iter()
            .filter(|m| m.piece.color == winner && m.piece.role != Role::King)
        {
            let checks = roamer
                .reach
                .into_iter()
                .any(|t| !(attacks::attacks(t, roamer.piece, self.fixed) & region).is_empty());
            if !checks {
                continue;
            }
            let own = if Bitboard::DARK_SQUARES.contains(roamer.home) {
                Bitboard::DARK_SQUARES
            } else {
                Bitboard::LIGHT_SQUARES
            };
            if roamer.piece.role != Role::Bishop || shade.is_some_and(|s| s != own) {
                return true;
            }
            shade = Some(own);
        }
        let Some(shade) = shade else { return false };
        (region & shade)
            .into_iter()
            .any(|square| self.may_be_mated_on(square, region & !shade, winner))
    }

    /// True where the flights of the other colour, which no bishop covers, can all be shut. Pieces of the mated side
    /// that stand there shut them, and so does the winner's king from one square.
    fn may_be_mated_on(&self, square: Square, other_shade: Bitboard, winner: Color) -> bool {
        let flights = attacks::king_attacks(square) & other_shade;
        let shut_from = |king: Bitboard| {
            let open = flights & !king;
            let blockers: Vec<Bitboard> = self
                .roamers
                .iter()
                .filter(|m| m.piece.color != winner && m.piece.role != Role::King)
                .map(|m| m.reach & open)
                .filter(|reach| !reach.is_empty())
                .collect();
            let blocked = blockers.iter().fold(Bitboard::EMPTY, |all, reach| all | *reach);
            open.is_subset(blocked) && open.count() <= blockers.len()
        };
        let far = !(attacks::king_attacks(square) | Bitboard::from_square(square));
        (self.king_reach(winner) & far)
            .into_iter()
            .any(|king| shut_from(attacks::king_attacks(king)))
    }

    fn king_reach(&self, color: Color) -> Bitboard {
        self.roamers
            .iter()
            .filter(|m| m.piece.color == color && m.piece.role == Role::King)
            .fold(Bitboard::EMPTY, |all, m| all | m.reach)
    }
}
