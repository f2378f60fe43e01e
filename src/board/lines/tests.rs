use super::*;

use shakmaty::{Square, uci::UciMove};

use crate::board::placement::{Code, Placement};

/// A board with lines from the initial position, on which squares change.
struct Board {
    now: Millis,
    sensed: Sensed,
    lines: Lines,
}

impl Board {
    fn new() -> Self {
        let stand = Arc::new(Stand::initial());
        let mut sensed = Sensed::default();
        sensed.replace(Millis(0), &Placement::from(stand.board()));
        let lines = Lines::new(stand, &sensed, Millis(0));
        let now = Millis(10_000);
        Self { now, sensed, lines }
    }

    fn see(&mut self, changes: &[(Square, u8)]) {
        for (square, code) in changes {
            self.now = self.now + 200;
            self.lines.tick(self.now, &self.sensed);
            if self.sensed.set(self.now, *square, Code(*code)) {
                let square = Bitboard::from_square(*square);
                self.lines.changed(self.now, &self.sensed, square);
            }
        }
    }

    /// All these changes come at once.
    fn see_at_once(&mut self, changes: &[(Square, u8)]) {
        for change in changes {
            self.now = self.now - 180;
            self.see(&[*change]);
        }
    }

    /// Nothing changes for so many milliseconds.
    fn wait(&mut self, ms: u64) {
        let until = self.now + ms;
        while self.now < until {
            self.now = self.now + 200;
            self.lines.tick(self.now, &self.sensed);
        }
    }

    /// The watcher looks whether the board shows again what stood at the last press.
    fn look_back(&mut self) {
        self.lines
            .put_back(self.now, &self.sensed, &Arc::new(Stand::initial()));
    }

    fn best(&self) -> String {
        let moves = self.lines.best().plies.iter();
        let moves = moves.filter_map(|ply| Some(UciMove::from_standard(ply.kind.legal()?).to_string()));
        moves.collect::<Vec<_>>().join(" ")
    }
}

use Square as S;

#[test]
fn a_piece_in_the_hand_is_no_half_move() {
    let mut board = Board::new();
    board.see(&[(S::E2, 0)]);
    assert_eq!(board.best(), "");
}

#[test]
fn a_sliding_piece_is_played_where_it_stops() {
    let mut board = Board::new();
    board.see(&[(S::E2, 0), (S::E3, 1)]);
    assert_eq!(board.best(), "e2e3");
    board.see(&[(S::E4, 1), (S::E3, 0)]);
    assert_eq!(board.best(), "e2e4");
}

#[test]
fn half_moves_whose_updates_are_mixed_are_told_apart() {
    let mut board = Board::new();
    board.see(&[(S::G1, 0), (S::B8, 0), (S::C6, 9), (S::F3, 3)]);
    assert_eq!(board.best(), "g1f3 b8c6");
}

#[test]
fn play_goes_on_around_a_dead_square() {
    let mut board = Board::new();
    board.see(&[(S::A1, 0)]);
    board.see(&OPENING);
    assert_eq!(board.best(), "e2e4 e7e5 g1f3");
}

#[test]
fn a_press_goes_to_the_half_move_it_completes() {
    let mut board = Board::new();
    board.lines.clock_runs = true;
    board.see(&[(S::E2, 0), (S::E4, 1)]);
    let now = board.now + 300;
    board.lines.press(now, &board.sensed, Color::White);
    assert_eq!(board.lines.best().plies[0].pressed, Some(now));
    assert_eq!(board.lines.best().awaits(), None);
}

#[test]
fn a_press_without_a_half_move_waits_for_one() {
    let mut board = Board::new();
    let pressed = board.now + 100;
    board.lines.press(pressed, &board.sensed, Color::White);
    assert_eq!(board.lines.best().awaits(), Some(pressed));
    board.see(&[(S::E2, 0), (S::E4, 1)]);
    assert_eq!(board.lines.best().plies[0].pressed, Some(pressed));
}

#[test]
fn the_number_of_lines_is_bounded_whatever_is_seen() {
    let mut board = Board::new();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..400 {
        board.see(&[(Square::new(random.u32(0..64)), random.u8(0..14))]);
        assert!(board.lines.all().len() <= MOST_LINES);
    }
}

#[test]
fn settled_half_moves_move_the_base_on() {
    let mut board = Board::new();
    board.see(&[(S::E2, 0), (S::E4, 1), (S::E7, 0), (S::E5, 7)]);
    board.lines.advance(1);
    assert_eq!(board.best(), "e7e5");
    assert!(
        board
            .lines
            .all()
            .all(|line| line.turn() == Color::White || line.plies.is_empty())
    );
}

#[test]
fn what_stood_empty_beside_a_clock_that_stood_is_not_unread_as_soon_as_it_is_started() {
    let hidden = |is_started: bool, after: u64| {
        let mut board = Board::new();
        board.lines.frozen = true;
        board.see(&[(S::E2, 0)]);
        let now = board.now + 20_000;
        board.lines.tick(now, &board.sensed);
        if is_started {
            assert!(board.lines.thaw(now) && !board.lines.thaw(now));
        } else {
            board.lines.frozen = false;
        }
        board.lines.tick(now + after, &board.sensed);
        board.lines.best().faults().hidden.contains(S::E2)
    };
    assert!(!hidden(true, 1000), "somebody may play on from there");
    assert!(hidden(true, 11_000), "no hand holds it for so long");
    assert!(hidden(false, 1000), "the time before would have counted");
}

/// 1.e4 e5 2.Nf3.
const OPENING: [(S, u8); 6] = [
    (S::E2, 0),
    (S::E4, 1),
    (S::E7, 0),
    (S::E5, 7),
    (S::G1, 0),
    (S::F3, 3),
];

#[test]
fn half_moves_without_a_press_were_not_played_where_the_pieces_stand_again_as_before() {
    let mut board = Board::new();
    board.lines.set_clock_runs(true);
    board.see(&OPENING);
    board.wait(10_000);
    assert_eq!(board.best(), "e2e4 e7e5 g1f3");
    board.see(&[
        (S::E4, 0),
        (S::F3, 0),
        (S::E2, 1),
        (S::E5, 0),
        (S::E7, 7),
        (S::G1, 3),
    ]);
    assert_ne!(board.best(), "", "for so long nobody holds pieces in his hand");
    board.look_back();
    assert_eq!(board.best(), "");
}

#[test]
fn what_was_pressed_for_was_played_though_what_came_after_is_put_back() {
    let mut board = Board::new();
    board.lines.set_clock_runs(true);
    board.see(&[(S::E2, 0), (S::E4, 1)]);
    board.lines.press(board.now, &board.sensed, Color::White);
    board.see(&[(S::E7, 0), (S::E5, 7), (S::G1, 0), (S::F3, 3)]);
    board.wait(10_000);
    assert_eq!(board.best(), "e2e4 e7e5 g1f3");
    board.see(&[(S::F3, 0), (S::G1, 3), (S::E5, 0), (S::E7, 7)]);
    board.look_back();
    assert_eq!(board.best(), "e2e4");
}

#[test]
fn without_a_clock_nothing_tells_that_pieces_were_only_shown() {
    let mut board = Board::new();
    board.see(&[(S::G1, 0), (S::F3, 3), (S::G8, 0), (S::F6, 9)]);
    board.wait(10_000);
    board.see(&[(S::F3, 0), (S::G1, 3), (S::F6, 0), (S::G8, 9)]);
    board.look_back();
    assert_ne!(board.best(), "");
}

#[test]
fn a_knock_that_shifts_many_pieces_at_once_is_no_game() {
    let mut board = Board::new();
    board.lines.set_clock_runs(true);
    let pawns = |rank: u8, code: u8| {
        let shifted = move |file: u8| {
            let on = |rank: u8| Square::new(u32::from(8 * rank + file));
            let to = if code == 1 { rank + 1 } else { rank - 1 };
            [(on(rank), 0), (on(to), code)]
        };
        (0..8).flat_map(shifted)
    };
    let knocked: Vec<_> = pawns(1, 1).chain(pawns(6, 7)).collect();
    board.see_at_once(&knocked);
    board.wait(2000);
    assert_eq!(board.best(), "");
}

/// After 1.e4 e5 2.Nf3 Nc6 White's knight stands on e3, where it was pushed to, for `stands` milliseconds. Then it goes to d5.
fn after_a_push(stands: u64) -> String {
    let mut board = Board::new();
    board.see(&OPENING);
    board.see(&[(S::B8, 0), (S::F3, 0), (S::E3, 3), (S::C6, 9)]);
    board.now = board.now + stands;
    board.see(&[(S::E3, 0), (S::D5, 3)]);
    board.now = board.now + 5000;
    board.lines.tick(board.now, &board.sensed);
    board.best()
}

#[test]
fn a_piece_that_was_pushed_aside_moves_on_from_where_it_stands() {
    assert_eq!(after_a_push(5000), "e2e4 e7e5 g1f3 b8c6 e3d5");
    assert_eq!(after_a_push(500), "e2e4 e7e5 g1f3 b8c6", "it was in a hand");
}
