//! Logs that tell what was missed, and logs that do not.

use shakmaty::uci::UciMove;

use super::*;
use crate::dgt::{ClockReading, Command, Decoder, HostWord, Lever, Message, eventlog::LogRecords};
use crate::sim::board::{SimulatedBoard, SimulatedIdentity};

/// A board whose log is read.
struct Table {
    board: SimulatedBoard,
    stand: Arc<Stand>,
    squares: Squares,
    now: Millis,
}

impl Table {
    fn new() -> Self {
        let stand = Arc::new(Stand::initial());
        let squares = squares_of(&stand);
        Self {
            board: SimulatedBoard::new(SimulatedIdentity::synthetic(1), squares, None),
            stand,
            squares,
            now: Millis(0),
        }
    }

    fn play(&mut self, moves: &str) {
        for uci in moves.split_whitespace() {
            let found = self
                .stand
                .candidates()
                .find(|c| UciMove::from_standard(c.mv).to_string() == uci)
                .unwrap();
            let after = Arc::new(self.stand.after(&found));
            let next = squares_of(&after);
            // Hands take pieces off before they put others down.
            for away in [true, false] {
                for square in 0..64u8 {
                    let (old, new) = (self.squares[usize::from(square)], next[usize::from(square)]);
                    if old != new && (new == PieceCode::EMPTY) == away {
                        self.now = self.now + 1000;
                        self.board.set_square(self.now, square, new);
                    }
                }
            }
            (self.stand, self.squares) = (after, next);
        }
    }

    /// Lets the player whose time runs press with `seconds` left.
    fn press(&mut self, clock: &mut ClockReading, seconds: u32) {
        self.board.set_clock(Some(*clock));
        let side = clock.lever.to_move();
        let time = match side {
            ClockSide::Left => &mut clock.left,
            ClockSide::Right => &mut clock.right,
        };
        time.seconds = seconds;
        clock.lever = Lever::after_press(side);
        self.board.set_clock(Some(*clock));
    }

    fn log(&mut self) -> Vec<LogRecord> {
        let mut out = Vec::new();
        self.board.hear(HostWord::Command(Command::EventLog), &mut out);
        let mut records = Vec::new();
        Decoder::new().push(Millis(0), &out, &mut |message| {
            if let Message::EventLog(payload) = message {
                records.extend(LogRecords::new(payload));
            }
        });
        records
    }
}

fn squares_of(stand: &Stand) -> Squares {
    std::array::from_fn(|raw| PieceCode(stand.placement().at(Orientation::Normal.square(raw as u8)).0))
}

fn moves(path: &[Unseen]) -> String {
    let moves = path
        .iter()
        .map(|unseen| UciMove::from_standard(unseen.mv).to_string());
    moves.collect::<Vec<_>>().join(" ")
}

const OPENING: &str = "e2e4 e7e5 g1f3 b8c6";
const UNSEEN: &str = "f1b5 a7a6 b5c6 d7c6 e1g1 f7f6 d2d4 e5d4 f3d4 c6c5 d4b3 d8d1 f1d1";

#[test]
fn the_log_tells_the_half_moves_in_their_order() {
    let mut table = Table::new();
    table.play(OPENING);
    let (root, known) = (table.stand.clone(), table.squares);
    table.play(UNSEEN);
    let missed = missed(table.log().into_iter(), &known, None, &table.squares).unwrap();
    let path = played(&root, &missed, Orientation::Normal, None);
    assert_eq!(moves(&path), UNSEEN);
    assert!(leads_to(&path, &root, table.stand.placement()));
}

#[test]
fn the_presses_tell_which_of_several_like_positions_is_meant() {
    let mut table = Table::new();
    let mut clock = ClockReading::of_seconds(0, 0, true, Lever::LeftHigh);
    for (i, uci) in OPENING.split_whitespace().enumerate() {
        table.play(uci);
        table.press(&mut clock, 500 - i as u32);
    }
    let (root, known) = (table.stand.clone(), table.squares);
    let pressed = Presses {
        last: ClockSide::Right,
        times: [Some((499, 528)), Some((497, 527))],
    };
    let circle = "f1e2 f8e7 e2f1 e7f8";
    for (i, uci) in circle.split_whitespace().enumerate() {
        table.play(uci);
        table.press(&mut clock, 490 - i as u32);
    }
    let mut told = |pressed| {
        let missed = missed(table.log().into_iter(), &known, pressed, &table.squares).unwrap();
        moves(&played(
            &root,
            &missed,
            Orientation::Normal,
            Some(ClockSide::Left),
        ))
    };
    assert_eq!(told(Some(pressed)), circle);
    assert_eq!(
        told(None),
        "",
        "without presses, nothing tells the positions apart"
    );
    let mut other = pressed;
    other.times[0] = Some((300, 330));
    assert_eq!(told(Some(other)), "", "these presses are not in the log");
}

#[test]
fn a_loss_of_power_changes_nothing() {
    let mut table = Table::new();
    table.play(OPENING);
    let (root, known) = (table.stand.clone(), table.squares);
    table.play("f1b5 a7a6");
    table.board.power_up();
    table.play("b5c6 d7c6");
    table.board.power_up();
    let missed = missed(table.log().into_iter(), &known, None, &table.squares).unwrap();
    assert!(!missed.is_blind, "nothing moved while the power was off");
    let path = played(&root, &missed, Orientation::Normal, None);
    assert_eq!(moves(&path), "f1b5 a7a6 b5c6 d7c6");
}

#[test]
fn half_moves_without_power_change_only_the_squares() {
    let mut table = Table::new();
    table.play(OPENING);
    let known = table.squares;
    let mut records = table.log();
    // The board did not log f1b5.
    let mut present = known;
    present[usize::from(61u8)] = PieceCode::EMPTY;
    present[usize::from(25u8)] = PieceCode(4);
    records.push(LogRecord::PowerUp);
    for (square, piece) in (0u8..)
        .zip(present)
        .filter(|(_, piece)| *piece != PieceCode::EMPTY)
    {
        let soon_after = false;
        records.push(LogRecord::Field {
            square,
            piece,
            soon_after,
        });
    }
    let missed = missed(records.into_iter(), &known, None, &present).unwrap();
    assert!(missed.is_blind);
    let mut squares = missed.from;
    for step in missed.steps {
        if let Step::Square(square, piece) | Step::SoonAfter(square, piece) = step {
            squares[usize::from(square)] = piece;
        }
    }
    assert_eq!(squares, present);
}

#[test]
fn an_update_that_was_lost_before_the_gap_does_no_harm() {
    let mut table = Table::new();
    table.play(OPENING);
    let (root, mut known) = (table.stand.clone(), table.squares);
    known[0] = PieceCode(5);
    table.play(UNSEEN);
    let missed = missed(table.log().into_iter(), &known, None, &table.squares).unwrap();
    assert_eq!(moves(&played(&root, &missed, Orientation::Normal, None)), UNSEEN);
}

#[test]
fn a_log_of_another_board_or_a_short_one_is_not_believed() {
    let mut table = Table::new();
    table.play(OPENING);
    let (root, known) = (table.stand.clone(), table.squares);
    table.play(UNSEEN);
    let log = table.log();
    let mut other = Table::new();
    other.play("d2d4 d7d5");
    let told = |records: &[LogRecord]| {
        let missed = missed(records.iter().copied(), &known, None, &table.squares)?;
        let path = played(&root, &missed, Orientation::Normal, None);
        leads_to(&path, &root, table.stand.placement()).then_some(path)
    };
    assert!(told(&other.log()).is_none());
    assert!(told(&[]).is_none());
    for gone in 1..log.len() {
        if let Some(path) = told(&log[gone..]) {
            assert_eq!(moves(&path), UNSEEN, "without its first {gone} records");
        }
    }
    for kept in 0..log.len() - 1 {
        // After the last change there is only the mark of the download.
        assert!(
            kept + 1 >= log.len() - 1 || told(&log[..kept]).is_none(),
            "{kept} records"
        );
    }
}

#[test]
fn a_damaged_log_gives_no_panic_and_no_illegal_half_move() {
    let mut table = Table::new();
    table.play(OPENING);
    let (root, known) = (table.stand.clone(), table.squares);
    table.play(UNSEEN);
    let mut payload = Vec::new();
    for record in table.log() {
        record.encode(&mut payload);
    }
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..200 {
        let mut bytes = payload.clone();
        for _ in 0..rng.usize(1..6) {
            let place = rng.usize(..bytes.len());
            bytes[place] = rng.u8(..128);
        }
        if let Some(missed) = missed(LogRecords::new(&bytes), &known, None, &table.squares) {
            let mut stand = root.clone();
            for unseen in played(&root, &missed, Orientation::Normal, None) {
                let candidate = stand.candidates().find(|c| c.mv == unseen.mv).unwrap();
                stand = Arc::new(stand.after(&candidate));
            }
        }
    }
}

#[test]
fn squares_survive_as_text() {
    let squares = Table::new().squares;
    assert_eq!(squares_of_text(&squares_to_text(&squares)), Some(squares));
    assert_eq!(squares_of_text("12"), None);
    assert_eq!(squares_of_text(&"x".repeat(64)), None);
    assert_eq!(squares_of_text(&"1".repeat(65)), None);
}
