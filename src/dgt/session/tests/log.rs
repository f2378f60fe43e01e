//! A board's log, which fills the line for seconds.

use super::*;

#[test]
fn the_session_sends_nothing_while_the_log_comes_and_loses_nothing_after_it() {
    let mut bench = Bench::connected();
    bench.run(3000);
    // The log waits for its turn, and later questions wait for the log.
    bench.session.request_dump(bench.now);
    bench.drain();
    let asked = bench.now.0 + 1;
    bench.session.request_event_log(bench.now);
    bench.session.request_dump(bench.now);
    for _ in 0..8 {
        bench.run(500);
        bench.session.handle_timeout(bench.now);
    }
    assert_eq!(bench.commands_since(asked), [Command::Dump, Command::EventLog]);
    // The board holds these changes back until the log is complete.
    bench.put(52, 0);
    bench.put(36, 1);
    bench.session.request_dump(bench.now);
    bench.run(10_000);
    assert_eq!(bench.fields, 2);
    assert_eq!(bench.session.state(), SessionState::Up);
    let said = bench.commands_since(asked);
    assert!(said[2..].contains(&Command::Dump));
    assert_eq!(bench.times_of(Command::EventLog).len(), 1);
    assert_eq!(bench.wishes, [0_u64; 0]);
}

#[test]
fn a_log_that_never_comes_does_not_hold_the_session() {
    let mut bench = Bench::connected();
    bench.session.request_event_log(bench.now);
    bench.run(50);
    bench.board.power = Power::Off;
    bench.board.log_until = None;
    bench.board.held_back.clear();
    bench.run(LOG_FETCH + 20_000);
    assert!(!bench.wishes.is_empty());
}
