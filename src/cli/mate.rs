//! `dgt2mqtt mate`: tells whether a side can still mate. It takes one position a line and gives one verdict a line.

use std::io::{BufRead, Write};

use anyhow::Context as _;
use shakmaty::{CastlingMode, Chess, Color, Position, PositionError, fen::Fen};

use super::rule::without_mark;
use crate::mate::{Budget, Verdict, can_mate};

/// The command may spend more than the daemon, because nobody waits for it at a board.
const BUDGET: Budget = Budget {
    closure_positions: 3_600_000,
};

/// Answers each line `FEN<TAB>white|black` with `winnable<TAB>MOVES`, `unwinnable` or `undetermined`. A line in another
/// form gets `error<TAB>REASON`, and the others go on.
///
/// # Errors
/// When input cannot be read or output cannot be written.
pub fn run(input: impl BufRead, mut output: impl Write) -> anyhow::Result<()> {
    for (number, line) in (1_u64..).zip(input.split(b'\n')) {
        let line = line.with_context(|| format!("reading line {number}"))?;
        let line = String::from_utf8_lossy(without_mark(number, &line));
        if line.trim().is_empty() {
            continue;
        }
        let answer = match question(line.trim_end()) {
            Ok((position, winner)) => told(&position, can_mate(&position, winner, &BUDGET)),
            Err(reason) => format!("error\t{reason}"),
        };
        writeln!(output, "{answer}").context("writing a verdict")?;
        output.flush().context("writing a verdict")?;
    }
    Ok(())
}

fn question(line: &str) -> Result<(Chess, Color), String> {
    let mut fields = line.split('\t');
    let (Some(fen), Some(winner), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err("expected FEN, a tab, and white or black".to_owned());
    };
    let winner = match winner.trim() {
        "white" => Color::White,
        "black" => Color::Black,
        other => return Err(format!("the winner is white or black, not {other:?}")),
    };
    let fen: Fen = fen
        .trim()
        .parse()
        .map_err(|e| format!("cannot read the FEN: {e}"))?;
    // Castling rights of a king or rook that does not stand where it does in chess are those of Chess960.
    let position = position_of(fen.clone(), CastlingMode::Standard)
        .or_else(|reason| position_of(fen, CastlingMode::Chess960).map_err(|_| reason))?;
    Ok((position, winner))
}

/// Reads a position, also one that no game can reach, which is judged by its legal moves. Only a text that is no
/// position at all is refused.
fn position_of(fen: Fen, mode: CastlingMode) -> Result<Chess, String> {
    fen.into_position::<Chess>(mode)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .map_err(|e| format!("not a position: {e}"))
}

fn told(position: &Chess, verdict: Verdict) -> String {
    match verdict {
        Verdict::Winnable(line) => {
            let mode = position.castles().mode();
            let moves: Vec<String> = line.iter().map(|m| m.to_uci(mode).to_string()).collect();
            format!("winnable\t{}", moves.join(" "))
        }
        Verdict::Unwinnable(_) => "unwinnable".to_owned(),
        Verdict::Undetermined(_) => "undetermined".to_owned(),
    }
}
