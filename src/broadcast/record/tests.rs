mod clocks;

use super::*;
use crate::{
    event::{ClockState, FAR},
    game::pgn::tag,
};

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const T0: i64 = 1_795_269_600_000; // 2026-11-21T14:00:00Z

/// Events of a board at seconds after `T0`.
struct Board {
    record: PublicRecord,
    seq: u64,
    game: u32,
}

impl Board {
    fn new() -> Self {
        Self {
            record: PublicRecord::default(),
            seq: 0,
            game: 0,
        }
    }

    fn say(&mut self, s: i64, body: &str) {
        self.seq += 1;
        let time = jiff::Timestamp::from_millisecond(T0 + s * 1000)
            .unwrap()
            .to_string();
        let json = format!(
            r#"{{"v":1,"id":"gw/7/{0}","seq":{0},"board":"7","game":{1},"t":{s}.0,"time":"{time}",{body}}}"#,
            self.seq, self.game
        );
        let event = serde_json::from_str(&json).unwrap();
        self.record.take(&event, 0);
    }

    fn start(&mut self, s: i64) {
        self.game += 1;
        self.say(
            s,
            &format!(r#""type":"game_started","fen":"{INITIAL}","chess960":false"#),
        );
    }

    fn mv(&mut self, s: i64, ply: u32, uci: &str) {
        let (white, black) = (5400 - i64::from(ply), 5300 - i64::from(ply));
        let running = if ply % 2 == 1 { "black" } else { "white" };
        self.say(
            s,
            &format!(
                r#""type":"move","ply":{ply},"uci":"{uci}","san":"?","fen":"-","completed_by":"clock",
                "clock":{{"white_ms":{white}000,"black_ms":{black}000,"running":"{running}"}}"#
            ),
        );
    }

    fn end(&mut self, s: i64, result: &str) {
        self.say(
            s,
            &format!(r#""type":"game_ended","result":"{result}","reason":"board""#),
        );
    }

    /// What the clock shows, in seconds after `T0` and seconds left; `running` is `w`, `b` or something else.
    fn reads(&mut self, s: i64, white: u64, black: u64, running: char, delay: Delay) -> Option<i64> {
        let running = match running {
            'w' => Some(Side::White),
            'b' => Some(Side::Black),
            _ => None,
        };
        let clock = ClockState {
            white_ms: white * 1000,
            black_ms: black * 1000,
            running,
        };
        let read = TimedClock {
            game: self.game,
            clock,
            at_ms: T0 + s * 1000 + 100,
        };
        let public_ms = self.record.take_clock(read, delay)?;
        Some((public_ms - T0) / 1000)
    }

    /// The tags with the clocks.
    fn clocks(&self, s: i64, delay: Delay) -> Option<(String, String)> {
        let text = self.record.shown(T0 + s * 1000, delay)?.pgn.text();
        Some((tag(&text, "WhiteClock")?, tag(&text, "BlackClock")?))
    }

    fn text(&self, s: i64, delay: Delay) -> String {
        let shown = self.record.shown(T0 + s * 1000, delay);
        shown.map_or_else(String::new, |shown| {
            shown.pgn.text().replace('\n', " ").trim().to_owned()
        })
    }

    fn now(&self) -> String {
        self.text(1_000_000, Delay::default())
    }
}

const MINUTE: Delay = Delay {
    ms: 60_000,
    moves: 0,
    result_ms: 0,
};

#[test]
fn moves_have_clocks_and_the_time_used() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(17, 2, "e7e5");
    board.mv(20, 3, "g1f3");
    assert!(
        board.now().ends_with(
            "1. e4 {[%clk 1:29:59]} 1... e5 {[%clk 1:28:18]} {[%emt 0:00:07]} 2. Nf3 {[%clk 1:29:57]} {[%emt 0:00:03]} *"
        ),
        "{}",
        board.now()
    );
    assert_eq!(
        board
            .record
            .shown(i64::MAX, Delay::default())
            .unwrap()
            .date
            .as_deref(),
        Some("2026.11.21")
    );
}

#[test]
fn a_retracted_move_is_gone_and_another_takes_its_place() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(17, 2, "e7e5");
    board.say(30, r#""type":"moves_retracted","to_ply":1,"reason":"ruling""#);
    board.mv(40, 2, "c7c5");
    assert!(board.now().contains("c5") && !board.now().contains("e5"));
}

/// White's king and queen stood wrong, and were put right after 1.d4: the queen moves as it does from the right position.
#[test]
fn a_game_whose_start_position_was_put_right_counts_from_the_right_one() {
    let mut board = Board::new();
    board.game += 1;
    let wrong = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBKQBNR w kq - 0 1";
    board.say(
        0,
        &format!(r#""type":"game_started","fen":"{wrong}","chess960":false"#),
    );
    board.mv(10, 1, "d2d4");
    let right =
        format!(r#""type":"moves_retracted","to_ply":0,"reason":"array_put_right","fen":"{INITIAL}""#);
    board.say(30, &right);
    board.mv(30, 1, "d2d4");
    let text = board.now();
    assert!(!text.contains("FEN") && text.contains("d4"), "{text}");
}

#[test]
fn nothing_of_what_is_held_back_shows() {
    let mut board = Board::new();
    assert_eq!(board.text(0, MINUTE), "");
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(90, 2, "e7e5");
    board.end(100, "1-0");
    assert_eq!(board.text(59, MINUTE), "", "not even that a game began");
    assert!(board.text(60, MINUTE).ends_with("]  *"));
    assert!(board.text(149, MINUTE).ends_with("59]} *"));
    assert!(board.text(159, MINUTE).ends_with("emt 0:01:20]} *"));
    assert!(board.text(160, MINUTE).ends_with(" 1-0"));
    assert_eq!(
        board.record.next_change_ms(T0 + 150_000, MINUTE),
        Some(T0 + 160_000)
    );
    assert_eq!(board.record.next_change_ms(T0 + 160_000, MINUTE), None);
}

#[test]
fn a_delay_in_moves_ends_with_the_game() {
    let mut board = Board::new();
    let delay = Delay {
        moves: 1,
        ..Delay::default()
    };
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(20, 2, "e7e5");
    assert!(!board.text(30, delay).contains("e4"));
    board.mv(30, 3, "g1f3");
    assert!(board.text(30, delay).contains("e4") && !board.text(30, delay).contains("e5"));
    board.end(40, "1/2-1/2");
    assert!(board.text(40, delay).contains("Nf3") && board.text(40, delay).ends_with(" 1/2-1/2"));
}

#[test]
fn what_cannot_be_played_ends_the_moves_but_not_the_game() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(20, 2, "e8e5"); // a king in the centre
    board.mv(30, 3, "d2d4");
    board.end(40, "1-0");
    let text = board.now();
    assert!(
        text.contains("Illegal move e8e5") && !text.contains("d4"),
        "{text}"
    );
    assert!(text.ends_with("} 1-0"), "{text}");
}

#[test]
fn a_finished_game_is_not_replaced_by_what_is_set_up_after_it() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.end(20, "0-1");
    for _ in 0..20 {
        board.start(30);
        board.mv(40, 1, "d2d4");
        board.end(50, "1-0");
    }
    assert!(board.now().contains("e4") && board.now().ends_with("0-1"));
    assert!(board.record.acts.len() < 12, "what nobody will see is not kept");
    // The arbiter corrects the result.
    board.game = 1;
    board.end(60, "1/2-1/2");
    assert!(board.now().ends_with("1/2-1/2"));
}

#[test]
fn a_game_without_result_gives_way() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.end(20, "*");
    board.start(30);
    board.mv(40, 1, "d2d4");
    assert!(board.now().contains("d4"));
}

/// A game begun by mistake, and the one before it.
fn begun_by_mistake() -> Board {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(20, 2, "e7e5");
    board.end(25, "*");
    board.start(25);
    board.mv(30, 1, "d2d4");
    board
}

/// The number of the game that is shown at this second, its half-moves and its result.
fn shown_at(board: &Board, s: i64) -> (u32, usize, String) {
    let shown = board.record.shown(T0 + s * 1000, Delay::default()).unwrap();
    (shown.number, shown.pgn.moves.len(), shown.pgn.result.clone())
}

#[test]
fn a_game_that_goes_on_after_all_takes_the_place_of_what_was_begun_by_mistake() {
    let mut board = begun_by_mistake();
    assert_eq!(shown_at(&board, 31), (2, 1, "*".into()));
    board.end(40, "*");
    board.game = 1;
    board.say(40, r#""type":"game_resumed""#);
    board.mv(45, 3, "g1f3");
    assert_eq!(shown_at(&board, 46), (1, 3, "*".into()));
    board.end(50, "1-0");
    assert_eq!(shown_at(&board, 51), (1, 3, "1-0".into()));
}

#[test]
fn so_does_a_game_that_gets_its_result_later() {
    let mut board = begun_by_mistake();
    board.game = 1;
    board.end(40, "1/2-1/2");
    assert_eq!(shown_at(&board, 41), (1, 2, "1/2-1/2".into()));
}

/// People try the board before the round, and put the kings in the middle. Then the game of the round begins.
fn tried_before() -> Board {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.end(20, "1-0");
    board.start(100);
    board.mv(110, 1, "d2d4");
    board
}

#[test]
fn a_game_that_is_said_to_be_none_gives_way_to_the_one_after_it() {
    let mut board = tried_before();
    assert_eq!(shown_at(&board, 120), (1, 1, "1-0".into()));
    board.game = 1;
    board.end(130, "*");
    assert_eq!(shown_at(&board, 130), (2, 1, "*".into()));
    board.game = 2;
    board.mv(140, 2, "d7d5");
    board.end(150, "0-1");
    assert_eq!(shown_at(&board, 150), (2, 2, "0-1".into()));
}

#[test]
fn one_that_was_said_to_be_none_by_mistake_is_shown_again_with_its_result() {
    let mut board = tried_before();
    board.game = 1;
    board.end(130, "*");
    board.end(140, "1-0");
    assert_eq!(shown_at(&board, 140), (1, 1, "1-0".into()));
    // Meanwhile what was set up after it has got a result, too.
    board.end(150, "*");
    board.game = 2;
    board.end(160, "1/2-1/2");
    board.game = 1;
    board.end(170, "1-0");
    assert_eq!(shown_at(&board, 170), (2, 1, "1/2-1/2".into()));
    board.game = 2;
    board.end(180, "*");
    assert_eq!(shown_at(&board, 180), (1, 1, "1-0".into()));
}

#[test]
fn what_follows_a_game_whose_result_was_taken_back_does_not_take_its_place() {
    let mut board = tried_before();
    board.game = 1;
    board.say(130, r#""type":"game_resumed","reason":null"#);
    board.game = 2;
    board.end(140, "0-1");
    assert_eq!(shown_at(&board, 140), (1, 1, "*".into()));
}

#[test]
fn an_event_that_came_twice_counts_once() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.seq -= 1;
    board.mv(10, 1, "d2d4");
    assert!(board.now().contains("e4"));
}

#[test]
fn a_result_that_was_a_mistake_is_never_seen_where_results_are_held() {
    let hold = Delay {
        result_ms: 60_000,
        ..Delay::default()
    };
    let mut board = Board::new();
    board.start(0);
    board.mv(1, 1, "e2e4");
    board.end(10, "1-0");
    board.say(40, r#""type":"game_resumed","reason":null"#);
    board.mv(41, 2, "e7e5");
    for s in [11, 39, 45, 69] {
        assert!(
            board.text(s, hold).ends_with("1. e4 {[%clk 1:29:59]} *"),
            "{s}: {}",
            board.text(s, hold)
        );
    }
    let after = board.text(70, hold);
    assert!(after.contains("e5") && after.ends_with("*"), "{after}");
    assert_eq!(board.record.next_change_ms(T0 + 30_000, hold), Some(T0 + 70_000));
    // Without the delay everybody would have seen it.
    assert!(board.text(11, Delay::default()).ends_with("1-0"));
    assert!(board.text(45, Delay::default()).ends_with("*"));
}

#[test]
fn a_result_that_contradicts_a_ruling_waits_for_the_arbiter() {
    let mut board = Board::new();
    board.start(0);
    board.mv(1, 1, "e2e4");
    board.say(
        9,
        r#""type":"notice","code":"result_contradicts","message":"which?""#,
    );
    board.end(10, "1-0");
    assert!(board.text(20, Delay::default()).ends_with("*"));
    board.end(30, "0-1");
    assert!(board.text(31, Delay::default()).ends_with("0-1"));
}

#[test]
fn half_moves_told_again_after_a_correction_keep_their_times() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(20, 2, "e7e5");
    board.mv(35, 3, "g1f3");
    board.say(
        100,
        r#""type":"moves_retracted","to_ply":1,"reason":"corrected_by_arbiter""#,
    );
    board.mv(100, 2, "e7e5");
    board.mv(100, 3, "g1f3");
    let Some(shown) = board.record.shown(T0 + 101_000, Delay::default()) else {
        panic!("no game")
    };
    let used: Vec<_> = shown.pgn.moves.iter().map(|made| made.used_ms).collect();
    assert_eq!(used, [None, Some(10_000), Some(15_000)]);
}

#[test]
fn a_question_about_a_mate_holds_nothing_back() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.end(20, "1-0");
    board.say(30, r#""type":"notice","code":"result_contradicts","message":"?""#);
    assert!(board.text(31, Delay::default()).ends_with("1-0"));
    board.end(40, "0-1");
    assert!(board.text(41, Delay::default()).ends_with("0-1"));
}

#[test]
fn what_a_person_has_put_in_was_played_at_a_time_that_nobody_knows() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.mv(20, 2, "e7e5");
    board.say(
        10_000,
        r#""type":"moves_retracted","to_ply":1,"reason":"corrected_by_arbiter","source":"arbiter""#,
    );
    for (ply, uci) in [(2, "c7c5"), (3, "g1f3")] {
        let entered = format!(
            r#""type":"move","ply":{ply},"uci":"{uci}","san":"","fen":"","completed_by":"ruling","clock":null,"source":"arbiter""#
        );
        board.say(10_000, &entered);
    }
    let Some(shown) = board.record.shown(T0 + 11_000_000, Delay::default()) else {
        panic!("no game")
    };
    let used: Vec<_> = shown.pgn.moves.iter().map(|made| made.used_ms).collect();
    assert_eq!(used, [None; 3]);
}

/// A card died, its daemon sent from memory with numbers of a range of their own, and broker and card were started anew.
#[test]
fn what_has_lower_numbers_after_a_dead_card_is_taken_and_is_held_back() {
    let mut board = Board::new();
    board.start(0);
    board.mv(10, 1, "e2e4");
    board.seq = FAR + 7;
    board.mv(20, 2, "e7e5");
    let shown = |board: &mut Board, s: i64| {
        board.record.mark(Some(1), T0 + s * 1000, MINUTE);
        board.text(s, MINUTE)
    };
    assert!(shown(&mut board, 100).contains("1... e5"));
    board.seq = 2;
    board.mv(110, 3, "g1f3");
    assert!(!shown(&mut board, 120).contains("Nf3"));
    assert!(shown(&mut board, 171).contains("2. Nf3"));
    board.seq = 2;
    board.mv(180, 3, "b1c3");
    assert!(
        !shown(&mut board, 300).contains("Nc3"),
        "it is another of a number that came"
    );

    let mark = board.record.mark(Some(1), T0 + 300_000, MINUTE).unwrap();
    let mut restarted = Board::new();
    restarted.record.remember(mark);
    restarted.start(0);
    restarted.mv(10, 1, "e2e4");
    restarted.mv(110, 3, "g1f3");
    restarted.mv(310, 4, "b8c6");
    assert!(
        !shown(&mut restarted, 320).contains("Nc6"),
        "far numbers were public, not near ones"
    );
}
