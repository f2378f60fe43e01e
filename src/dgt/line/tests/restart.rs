//! The daemon is killed and another one starts: changes that a board told, or still has to tell, are not
//! lost.

use super::*;
use crate::dgt::eventlog::{LogRecord, LogRecords};

impl Rig {
    /// The daemon dies, and another one starts `after` milliseconds later.
    fn is_restarted(&mut self, after: u64) {
        let boards = self.line.players().iter().filter_map(PlayedBoard::address);
        let boards: Vec<_> = boards.filter_map(Address::new).collect();
        self.master = Master::new(
            boards
                .into_iter()
                .map(|board| (board, format!("{:05}", board.get()))),
        );
        self.line.handle_hang_up(self.now);
        self.said.clear();
        self.now = self.now + after;
    }

    /// The squares and presses in the log of board `n`. Its watcher asks for a dump, and then for the log.
    fn log(&mut self, n: u16) -> Vec<LogRecord> {
        for command in [Command::Dump, Command::EventLog] {
            self.master.handle_words(self.now, address(n), &command.bytes());
        }
        self.run(self.now.0 + 3000);
        let mut decoder = Decoder::new();
        let mut log = Vec::new();
        for (at, of, said) in &self.said {
            if let Said::Bytes(bytes) = said
                && *of == address(n).get()
            {
                decoder.push(Millis(*at), bytes, &mut |message| {
                    if let Message::EventLog(payload) = message {
                        log.extend(LogRecords::new(payload));
                    }
                });
            }
        }
        log
    }
}

fn field(square: u8, piece: u8) -> LogRecord {
    LogRecord::Field {
        square,
        piece: PieceCode(piece),
        soon_after: false,
    }
}

#[test]
fn the_next_daemon_gets_the_changes_that_a_dying_one_got() {
    let mut rig = Rig::new(3, Troubles::default());
    let lifted = |rig: &Rig| rig.told(1).contains(&"square 52 0".to_owned());
    while !lifted(&rig) {
        rig.run(rig.now.0 + 1);
    }
    rig.is_restarted(2000);
    rig.run(rig.now.0 + 500);
    assert!(rig.log(1).contains(&field(52, 0)));
}

#[test]
fn a_board_without_a_watcher_keeps_its_changes() {
    let mut rig = Rig::new(1, Troubles::default());
    rig.is_greeted = false;
    rig.run(8000);
    assert_eq!(rig.told(0), ["here"]);
    assert!(
        rig.line.players()[0].poll_timeout().is_none(),
        "the master did not ask for changes"
    );
    assert_eq!(rig.figures().boards[0].errors, Errors::default());
    rig.is_greeted = true;
    rig.is_restarted(100);
    rig.run(rig.now.0 + 8000);
    assert_eq!(rig.moves(0), PLAYED);
}

#[test]
fn a_board_that_falls_silent_before_anybody_watches_it_is_gone() {
    let mut rig = Rig::new(2, Troubles::default());
    rig.is_greeted = false;
    rig.run(3000);
    rig.line = SimulatedLine::new(Vec::new(), Troubles::default(), 7);
    rig.run(8000);
    assert!(!rig.figures().boards.iter().any(|board| board.is_here));
    assert_eq!(rig.told(0), ["here", "gone"]);
}

#[test]
fn the_log_goes_on_where_the_line_was_lost() {
    let mut rig = Rig::new(2, Troubles::default());
    rig.run(12_000);
    rig.master.handle_lost();
    rig.run(20_000);
    let log = rig.log(0);
    let played: Vec<_> = log
        .iter()
        .filter(|record| !matches!(record, LogRecord::PowerUp))
        .collect();
    let last = &played[played.len() - 3..];
    let arrived = LogRecord::Field {
        square: 36,
        piece: PieceCode(1),
        soon_after: true,
    };
    assert_eq!(last[..2], [&field(52, 0), &arrived], "told once: {log:?}");
    assert!(matches!(last[2], LogRecord::Time { .. }));
}

/// A cut of the power that takes all boards at once gives them back at once.
#[test]
fn boards_that_all_lose_power_are_all_found_soon_after() {
    let dark = format!("{MOVE}12.000 ! down\n32.000 ! up\n40.000 < 8e 00 05 24 01\n");
    let mut rig = Rig::new(0, Troubles::default());
    rig.line = SimulatedLine::new(
        (0..12).map(|n| player(&dark, n)).collect(),
        Troubles::default(),
        7,
    );
    rig.master = Master::new((0..12).map(|n| (address(n), String::new())));
    let here = |rig: &mut Rig| rig.figures().boards.iter().filter(|board| board.is_here).count();
    let mut came = Vec::new();
    for at in (0..50_000).step_by(100) {
        rig.run(at);
        came.push((at, here(&mut rig)));
    }
    let gone = came.iter().rfind(|(_, count)| *count == 0).unwrap().0;
    let back = came
        .iter()
        .find(|(at, count)| *at > gone && *count == 12)
        .unwrap()
        .0;
    assert!(gone > 30_000 && back - gone < 3000, "{gone} {back}");
}
