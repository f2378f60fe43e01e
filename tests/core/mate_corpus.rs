//! The collection of positions with known answers. Skips where it is not at hand.
//!
//! By default a sample with small reachable sets; `DGT2MQTT_FULL=1` asks for all of it, which
//! wants an optimised build.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use dgt2mqtt::{
    cli,
    mate::{Budget, Verdict, can_mate},
};
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Position, PositionError, fen::Fen, uci::UciMove};

fn corpus() -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let folder = env::var_os("DGT2MQTT_CORPUS").map_or(here, PathBuf::from);
    fs::read_to_string(folder.join("unwinnable-dev.tsv")).ok()
}

fn position(fen: &str) -> Chess {
    let fen: Fen = fen.parse().expect("a FEN");
    fen.into_position::<Chess>(CastlingMode::Standard)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .expect("a position")
}

/// Positions in the reachable set, where the source tells.
fn size(source: &str) -> u32 {
    source
        .split_once("closure ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
        .unwrap_or(0)
}

#[test]
fn the_collection_of_positions_is_right() {
    let Some(corpus) = corpus() else {
        skipped!("the collection is not here (DGT2MQTT_CORPUS may name its folder)");
        return;
    };
    let full = env::var_os("DGT2MQTT_FULL").is_some();
    let mut wrong = Vec::new();
    for (number, row) in corpus.lines().enumerate().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [fen, winner, expected, source] = fields[..] else {
            panic!("row {number} has other fields")
        };
        if !full && (number % 15 != 0 || size(source) > 1_000) {
            continue;
        }
        let mut at = position(fen);
        let winner = if winner == "white" {
            Color::White
        } else {
            Color::Black
        };
        let got = match can_mate(&at, winner, &Budget::default()) {
            Verdict::Winnable(line) => {
                line.iter()
                    .for_each(|by| at = at.clone().play(*by).expect("a legal line"));
                assert!(
                    at.is_checkmate() && at.turn() != winner,
                    "{fen}: the line does not mate"
                );
                "winnable"
            }
            Verdict::Unwinnable(_) => "unwinnable",
            Verdict::Undetermined(_) => "undetermined",
        };
        if got != expected {
            wrong.push(format!("{fen} {winner:?}: {got}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_command_answers_each_line_and_survives_bad_ones() {
    let input = "\
7k/5Q2/6K1/8/8/8/8/8 w - - 0 1\twhite
8/8/4k3/8/8/3K4/8/8 w - - 0 1\tblack

not a position\twhite
8/8/4k3/8/8/3K4/8/8 w - - 0 1
8/8/4k3/8/8/3K4/8/8 w - - 0 1\tgreen
8/8/8/8/8/3K4/8/8 w - - 0 1\twhite
4k3/4R3/8/8/8/3K4/8/8 w - - 0 1\twhite
P3k3/8/8/8/8/3K4/8/8 w - - 0 1\twhite
\u{0}\u{1}\tblack
7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\twhite
";
    let mut output = Vec::new();
    cli::mate::run(input.as_bytes(), &mut output).expect("bad lines are answered, not fatal");
    let output = String::from_utf8(output).expect("text");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 10, "{output}");
    let moves = lines[0].strip_prefix("winnable\t").expect("a mate in one");
    let mut at = position("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1");
    for uci in moves.split(' ') {
        let by = uci.parse::<UciMove>().expect("UCI").to_move(&at).expect("legal");
        at = at.play(by).expect("legal");
    }
    assert!(at.is_checkmate());
    assert_eq!(lines[1], "unwinnable");
    assert!(lines[2..9].iter().all(|l| l.starts_with("error\t")), "{output}");
    assert_eq!(lines[9], "unwinnable");
}

#[test]
fn the_command_reads_castling_rights_of_chess960() {
    let fens = [
        "bbqnrkrn/pppppppp/8/8/8/8/PPPPPPPP/BBQNRKRN w EGeg - 0 1",
        "4k3/8/8/8/8/8/8/RK5R w KQ - 0 1",
    ];
    for fen in fens {
        let mut output = Vec::new();
        let input = format!("\u{feff}{fen}\twhite\r\n");
        cli::mate::run(input.as_bytes(), &mut output).expect("answered");
        let output = String::from_utf8(output).expect("text");
        let moves = output
            .trim_end()
            .strip_prefix("winnable\t")
            .expect("white can mate");
        let parsed: Fen = fen.parse().expect("a FEN");
        let mut at: Chess = parsed.into_position(CastlingMode::Chess960).expect("a position");
        for uci in moves.split(' ') {
            let by = uci.parse::<UciMove>().expect("UCI").to_move(&at).expect("legal");
            at = at.play(by).expect("legal");
        }
        assert!(at.is_checkmate() && at.turn() == Color::Black, "{fen}");
    }
}

/// The position that the solver at hand leaves open at its bound.
#[test]
fn the_closed_position_with_many_a_bishop_is_proven_for_both_sides() {
    let closed = position("3k1b2/2p1pBp1/KpP1P1P1/1P3B2/4B1B1/5B2/8/8 w - - 0 1");
    std::thread::scope(|scope| {
        for winner in Color::ALL {
            let closed = &closed;
            scope.spawn(move || {
                let verdict = can_mate(closed, winner, &Budget::default());
                assert!(matches!(verdict, Verdict::Unwinnable(_)), "{winner}: {verdict:?}");
            });
        }
    });
}

/// The position after so many random half-moves, as FEN.
fn random_position(random: &mut fastrand::Rng) -> String {
    let mut at = Chess::default();
    for _ in 0..random.usize(0..250) {
        let moves = at.legal_moves();
        if moves.is_empty() {
            break;
        }
        at.play_unchecked(moves[random.usize(..moves.len())]);
    }
    Fen::from_position(&at, EnPassantMode::Legal).to_string()
}

#[test]
fn lines_of_the_command_mate_from_the_fen_that_was_asked_about() {
    let mut random = fastrand::Rng::with_seed(64);
    let questions: Vec<(String, Color)> = (0..120)
        .map(|n| {
            (
                random_position(&mut random),
                if n % 2 == 0 { Color::White } else { Color::Black },
            )
        })
        .collect();
    let input: String = questions
        .iter()
        .map(|(fen, winner)| format!("{fen}\t{winner}\n"))
        .collect();
    let mut output = Vec::new();
    cli::mate::run(input.as_bytes(), &mut output).expect("answered");
    let output = String::from_utf8(output).expect("text");
    let mut winnable = 0;
    for ((fen, winner), answer) in questions.iter().zip(output.lines()) {
        let Some(moves) = answer.strip_prefix("winnable\t") else {
            assert!(matches!(answer, "unwinnable" | "undetermined"), "{fen}: {answer}");
            continue;
        };
        let mut at = position(fen);
        for uci in moves.split(' ').filter(|uci| !uci.is_empty()) {
            let by = uci.parse::<UciMove>().expect("UCI").to_move(&at).expect("legal");
            at = at.play(by).expect("legal");
        }
        assert!(
            at.is_checkmate() && at.turn() != *winner,
            "{fen} {winner}: {moves}"
        );
        winnable += 1;
    }
    assert_eq!(output.lines().count(), questions.len());
    assert!(winnable > 60, "only {winnable} of {} winnable", questions.len());
}
