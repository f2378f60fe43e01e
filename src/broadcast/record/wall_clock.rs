//! Somebody sets the wall clock in mid-game.

use super::*;
use crate::game::pgn::tag;

const INITIAL: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// 2026-11-21T14:00:00Z: when the broadcast began, by its own time.
const T0: i64 = 1_795_269_600_000;
const HOUR_S: i64 = 3600;
const MINUTE: Delay = Delay {
    ms: 60_000,
    moves: 0,
    result_ms: 0,
};

/// A board whose daemon runs since `T0`, and what a broadcast makes of it.
struct Board {
    record: PublicRecord,
    told: Vec<(Event, i64)>,
    /// When the daemon was started last, in seconds after `T0`.
    started_s: i64,
    /// How much the wall clock is ahead of the broadcast's time, in seconds.
    off_s: i64,
    /// True while nobody has set the wall clock.
    is_unset: bool,
    game: u32,
}

impl Board {
    fn new() -> Self {
        Self {
            record: PublicRecord::default(),
            told: Vec::new(),
            started_s: 0,
            off_s: 0,
            is_unset: false,
            game: 1,
        }
    }

    /// Tells an event `s` seconds after `T0`.
    fn say(&mut self, s: i64, body: &str) {
        let (seq, t) = (self.told.len() + 1, s - self.started_s);
        let time = jiff::Timestamp::from_second(T0 / 1000 + s + self.off_s).unwrap();
        let time = if self.is_unset {
            "null".to_owned()
        } else {
            format!("\"{time}\"")
        };
        let game = self.game;
        let json = format!(
            r#"{{"v":1,"id":"gw/7/{seq}","seq":{seq},"board":"7","game":{game},"t":{t}.0,"time":{time},{body}}}"#
        );
        let event = serde_json::from_str(&json).unwrap();
        let heard = HeardAt {
            written_ms: T0 + (s + self.off_s) * 1000,
            now_ms: T0 + s * 1000,
            ahead_ms: -self.off_s * 1000,
        };
        self.record.take(&event, heard);
        self.told.push((event, heard.written_ms));
    }

    fn start(&mut self, s: i64) {
        self.say(
            s,
            &format!(r#""type":"game_started","fen":"{INITIAL}","chess960":false"#),
        );
    }

    fn mv(&mut self, s: i64, ply: u32, uci: &str) {
        self.say(
            s,
            &format!(
                r#""type":"move","ply":{ply},"uci":"{uci}","san":"?","fen":"-","completed_by":"clock","clock":null"#
            ),
        );
    }

    /// The daemon is started again `s` seconds after `T0`. All events are read again at that time of the wall clock,
    /// which the broadcast takes for its own.
    fn restart(&mut self, s: i64) {
        let mark = self.record.mark(Some(1), T0 + s * 1000, MINUTE);
        self.record = PublicRecord::default();
        self.record.remember(mark.unwrap());
        for (event, written_ms) in &self.told {
            let heard = HeardAt {
                written_ms: *written_ms,
                now_ms: T0 + (s + self.off_s) * 1000,
                ahead_ms: 0,
            };
            self.record.take(event, heard);
        }
        self.started_s = s;
        self.say(
            s,
            r#""type":"board_connected","serial":null,"firmware":null,"port":null"#,
        );
    }

    fn pgn(&self, s: i64) -> String {
        let shown = self.record.shown(T0 + s * 1000, MINUTE);
        let shown = shown.map(|shown| {
            let mut pgn = shown.pgn;
            pgn.tags.push(("Date".into(), shown.date.unwrap_or_default()));
            pgn.text()
        });
        shown.unwrap_or_default()
    }

    /// The half-moves that are public `s` seconds after `T0`.
    fn public(&self, s: i64) -> String {
        let pgn = self.pgn(s);
        pgn.lines().last().unwrap_or_default().to_owned()
    }
}

#[test]
fn what_was_public_stays_when_the_wall_clock_is_set_back() {
    let mut board = Board::new();
    board.start(0);
    board.mv(5, 1, "e2e4");
    board.mv(30, 2, "e7e5");
    assert_eq!(board.public(70), "1. e4 *");
    board.off_s = -2 * HOUR_S;
    board.mv(75, 3, "g1f3");
    assert_eq!(board.public(76), "1. e4 *");
    assert_eq!(board.public(90), "1. e4 e5 {[%emt 0:00:25]} *");
    assert_eq!(board.public(134), board.public(90), "held as long as ever");
    assert!(board.public(135).contains("Nf3 {[%emt 0:00:45]}"));
    assert_eq!(
        board.record.next_change_ms(T0 + 100_000, MINUTE),
        Some(T0 + 135_000)
    );
}

#[test]
fn what_was_public_stays_over_a_restart_when_the_wall_clock_was_set_back() {
    let mut board = Board::new();
    board.off_s = 2 * HOUR_S;
    board.start(0);
    board.mv(5, 1, "e2e4");
    board.mv(30, 2, "e7e5");
    // The mark is of a time at which the first half-move is public. Then the clock is right.
    board.off_s = 0;
    board.restart(70);
    assert_eq!(board.public(71), "1. e4 *");
    board.mv(75, 3, "g1f3");
    assert!(!board.public(100).contains("Nf3"), "{}", board.public(100));
    let last = board.public(135);
    assert!(last.contains("e5") && last.contains("Nf3"), "{last}");
}

/// A small computer without a battery gets the time from a server that it reaches late.
#[test]
fn a_wall_clock_that_is_set_late_betrays_nothing_and_gives_the_day() {
    let mut board = Board::new();
    board.off_s = -1000 * 24 * HOUR_S;
    board.start(0);
    board.mv(5, 1, "e2e4");
    board.mv(30, 2, "e7e5");
    board.off_s = 0;
    board.mv(50, 3, "g1f3");
    assert_eq!(board.public(64), "*");
    assert_eq!(board.public(65), "1. e4 *");
    let all = board.pgn(110);
    assert_eq!(tag(&all, "Date").as_deref(), Some("2026.11.21"));
    let moves = "1. e4 e5 {[%emt 0:00:25]} 2. Nf3 {[%emt 0:00:20]} *";
    assert_eq!(board.public(110), moves);
    // Nor does another beginning of the broadcast, as when names are corrected.
    let mut again = PublicRecord::default();
    for (event, written_ms) in &board.told {
        let heard = HeardAt {
            written_ms: *written_ms,
            now_ms: T0 + 52_000,
            ahead_ms: 0,
        };
        again.take(event, heard);
    }
    assert_eq!(again.shown(T0 + 64_000, MINUTE).unwrap().pgn.moves, []);
}

#[test]
fn the_day_of_a_run_that_never_knew_it_is_that_of_the_next() {
    let mut board = Board::new();
    board.off_s = -1000 * 24 * HOUR_S;
    board.start(0);
    board.mv(5, 1, "e2e4");
    board.off_s = 0;
    board.restart(66);
    board.mv(80, 2, "e7e5");
    let all = board.pgn(200);
    assert_eq!(tag(&all, "Date").as_deref(), Some("2026.11.21"));
    assert!(
        all.ends_with("1. e4 e5 *\n"),
        "nobody knows how long that took: {all}"
    );
}

#[test]
fn the_day_of_a_game_that_was_over_before_the_clock_was_set_is_known_later() {
    let mut board = Board::new();
    board.is_unset = true;
    board.start(0);
    board.mv(5, 1, "e2e4");
    board.say(60, r#""type":"game_ended","result":"1-0","reason":"arbiter""#);
    assert_eq!(tag(&board.pgn(200), "Date").as_deref(), Some(""));
    (board.is_unset, board.game) = (false, 2);
    board.start(150);
    let all = board.pgn(300);
    assert!(all.ends_with("1. e4 1-0\n"), "the first game is shown: {all}");
    assert_eq!(tag(&all, "Date").as_deref(), Some("2026.11.21"));
}

#[test]
fn a_clock_that_jumps_forward_makes_no_half_move_longer() {
    let mut board = Board::new();
    board.start(0);
    board.mv(5, 1, "e2e4");
    board.off_s = 40 * 60;
    board.mv(12, 2, "e7e5");
    assert!(board.pgn(100).contains("e5 {[%emt 0:00:07]}"));
    board.restart(20);
    board.mv(30, 3, "g1f3");
    let all = board.pgn(3 * HOUR_S);
    assert!(
        all.contains("Nf3 {[%emt 0:00:18]}"),
        "a restart costs nothing: {all}"
    );
}
