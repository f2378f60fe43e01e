//! What the public sees of clocks, and when.

use super::*;

fn clocks(white: &str, black: &str) -> Option<(String, String)> {
    Some((white.to_owned(), black.to_owned()))
}

const AT_ONCE: Delay = Delay {
    ms: 0,
    moves: 0,
    result_ms: 0,
};

#[test]
fn time_that_is_added_shows_without_a_half_move() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    assert_eq!(board.clocks(11, AT_ONCE), clocks("1:29:59", "1:28:19"));
    // Black thinks, and is given two minutes for what White did.
    assert_eq!(board.reads(12, 5399, 5297, 'b', AT_ONCE), Some(30), "as it runs");
    assert_eq!(board.reads(15, 5399, 5414, 'b', AT_ONCE), Some(16), "at once");
    assert_eq!(
        board.record.next_change_ms(T0 + 15_500, AT_ONCE),
        Some(T0 + 16_000)
    );
    assert_eq!(board.clocks(15, AT_ONCE), clocks("1:29:59", "1:28:19"));
    assert_eq!(board.clocks(16, AT_ONCE), clocks("1:29:59", "1:30:14"));
    // The half-moves have their clocks as ever.
    assert!(board.text(16, AT_ONCE).ends_with("1. e4 {[%clk 1:29:59]} *"));
    // It was due later than the time that was added, and must not take its place.
    assert_eq!(board.clocks(30, AT_ONCE), clocks("1:29:59", "1:30:14"));
    // The next half-move has its own.
    board.mv(40, 2, "e7e5");
    assert_eq!(board.clocks(40, AT_ONCE), clocks("1:29:58", "1:28:18"));
}

#[test]
fn a_clock_that_is_stopped_and_set_shows_at_once() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    assert_eq!(board.reads(12, 5399, 5297, '-', AT_ONCE), Some(13), "stopped");
    assert_eq!(board.reads(14, 5399, 5297, '-', AT_ONCE), Some(30), "nothing new");
    assert_eq!(board.reads(20, 5279, 5297, '-', AT_ONCE), Some(21), "a penalty");
    assert_eq!(board.clocks(21, AT_ONCE), clocks("1:27:59", "1:28:17"));
    assert_eq!(board.reads(50, 5279, 5297, 'b', AT_ONCE), Some(51), "started");
}

#[test]
fn the_running_time_shows_twice_a_minute() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    let mut public: Vec<_> = (11..=130)
        .filter_map(|s| board.reads(s, 5399, 5309 - s as u64, 'b', AT_ONCE))
        .collect();
    public.dedup();
    assert_eq!(public, [30, 60, 90, 120, 150]);
    assert_eq!(board.clocks(29, AT_ONCE), clocks("1:29:59", "1:28:19"));
    assert_eq!(board.clocks(30, AT_ONCE), clocks("1:29:59", "1:28:00"));
    assert_eq!(board.clocks(89, AT_ONCE), clocks("1:29:59", "1:27:30"));
    // What nobody will see any more is not kept.
    board.mv(131, 2, "e7e5");
    board.reads(132, 5390, 5298, 'w', AT_ONCE);
    assert_eq!(board.record.readings.due(i64::MAX).count(), 1);
}

#[test]
fn clocks_are_held_back_as_everything_else_is() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    assert_eq!(board.reads(15, 5399, 5414, 'b', MINUTE), Some(76));
    assert_eq!(board.clocks(75, MINUTE), clocks("1:29:59", "1:28:19"));
    assert_eq!(board.clocks(76, MINUTE), clocks("1:29:59", "1:30:14"));
    assert_eq!(
        board.record.next_change_ms(T0 + 70_000, MINUTE),
        Some(T0 + 76_000)
    );
    // Nor do they tell of a half-move, a result or an end that is held back.
    board.mv(100, 2, "e7e5");
    board.reads(101, 5398, 5298, 'w', MINUTE);
    assert_eq!(board.clocks(159, MINUTE), clocks("1:29:59", "1:30:14"));
    assert_eq!(board.clocks(162, MINUTE), clocks("1:29:58", "1:28:18"));
    let hold = Delay {
        result_ms: 600_000,
        ..MINUTE
    };
    board.end(170, "1-0");
    board.reads(180, 9, 9, '-', hold);
    assert_eq!(board.clocks(400, hold), clocks("1:29:58", "1:28:18"));
    assert_eq!(
        board.clocks(1_000, hold),
        clocks("1:29:58", "1:28:18"),
        "it is over"
    );
}

#[test]
fn no_clock_shows_where_half_moves_are_held_back_by_their_number() {
    let mut board = Board::new();
    let delay = Delay { moves: 1, ..AT_ONCE };
    board.start(0);
    for (s, ply, uci) in [(10, 1, "e2e4"), (20, 2, "e7e5"), (30, 3, "g1f3")] {
        board.mv(s, ply, uci);
    }
    assert_eq!(board.reads(35, 5397, 7_000, 'b', delay), None);
    assert_eq!(board.clocks(100, delay), clocks("1:29:59", "1:28:19"), "of 1. e4");
}

#[test]
fn a_press_whose_half_move_is_not_known_changes_no_clock() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.reads(12, 5399, 5297, 'b', AT_ONCE);
    board.reads(40, 5399, 5300, 'w', AT_ONCE);
    assert_eq!(board.clocks(45, AT_ONCE), clocks("1:29:59", "1:28:17"));
}

#[test]
fn the_clock_of_another_game_is_not_that_of_this_one() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    let before = board.clocks(20, AT_ONCE);
    // The pieces are set up, and the clock is set for the next game.
    board.say(
        20,
        r#""type":"notice","code":"set_up_without_result","message":"which?""#,
    );
    board.reads(21, 5400, 5400, '-', AT_ONCE);
    assert_eq!(board.clocks(40, AT_ONCE), before);
    // A board of two rounds: the former one does not know the game.
    board.mv(50, 2, "e7e5");
    let before = board.clocks(50, AT_ONCE);
    board.game = 2;
    board.reads(51, 5400, 5400, '-', AT_ONCE);
    assert_eq!(board.clocks(60, AT_ONCE), before);
}
