//! Forms of Russian words: cases of the players and the pieces, and numbers.

use shakmaty::Role;

use crate::terms::Side;

/// "белые": Russian has the players in the plural.
pub(super) fn side(side: Side) -> &'static str {
    match side {
        Side::White => "белые",
        Side::Black => "чёрные",
    }
}

pub(super) fn side_genitive(side: Side) -> &'static str {
    match side {
        Side::White => "белых",
        Side::Black => "чёрных",
    }
}

pub(super) fn side_instrumental(side: Side) -> &'static str {
    match side {
        Side::White => "белыми",
        Side::Black => "чёрными",
    }
}

pub(super) fn side_dative(side: Side) -> &'static str {
    match side {
        Side::White => "белым",
        Side::Black => "чёрным",
    }
}

/// The player at the start of a sentence, before a colon.
pub(super) fn player(offender: Option<Side>) -> &'static str {
    match offender {
        Some(Side::White) => "Белые",
        Some(Side::Black) => "Чёрные",
        None => "Игрок",
    }
}

pub(super) fn piece(role: Role) -> &'static str {
    match role {
        Role::Pawn => "пешка",
        Role::Knight => "конь",
        Role::Bishop => "слон",
        Role::Rook => "ладья",
        Role::Queen => "ферзь",
        Role::King => "король",
    }
}

pub(super) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The form of a noun after a number: 1 минуту, 2 минуты, 5 минут.
pub(super) fn counted(n: u32, one: &str, few: &str, many: &str) -> String {
    let form = match (n % 10, n % 100) {
        (_, 11..=14) => many,
        (1, _) => one,
        (2..=4, _) => few,
        _ => many,
    };
    format!("{n} {form}")
}

pub(super) fn ordinal(n: u32) -> String {
    match n {
        1 => "первый".to_owned(),
        2 => "второй".to_owned(),
        3 => "третий".to_owned(),
        n => format!("{n}-й"),
    }
}
