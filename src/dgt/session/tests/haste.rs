//! A board whose game goes on is asked for its position before it is greeted.

use super::*;

#[test]
fn a_board_whose_game_goes_on_reports_throughout() {
    let mut bench = Bench::new();
    bench.session.link_up(bench.now);
    bench.session.make_haste(bench.now);
    bench.run(5000);
    let begins = [
        (0, Command::UpdateNice),
        (100, Command::Clock),
        (200, Command::Dump),
        (300, Command::Firmware),
    ];
    assert_eq!(bench.said[..4], begins);
    assert_eq!(bench.times_of(Command::Reset), [0_u64; 0]);
    assert_eq!(bench.session.identity().serial(), Some("3000000001"));
    // A board that does not answer may be in any mode.
    bench.board.power = Power::Off;
    bench.session.link_up(bench.now);
    bench.session.make_haste(bench.now);
    bench.run(5000);
    assert_eq!(bench.times_of(Command::Reset)[..1], [5300]);
}

/// It tells with its first dump what it kept while nobody asked.
#[test]
fn a_board_of_a_shared_line_is_not_reset_for_haste_and_reports_before_it_is_read() {
    let mut bench = Bench::new();
    bench.session = Session::on_line_of(1);
    bench.session.link_up(bench.now);
    bench.run(5000);
    let first = |bench: &Bench, command| bench.times_of(command).first().copied();
    assert!(first(&bench, Command::UpdateNice) < first(&bench, Command::Dump));
    bench.said.clear();
    bench.board.power = Power::Off;
    bench.session.link_up(bench.now);
    bench.session.make_haste(bench.now);
    bench.run(1000);
    assert_eq!(bench.times_of(Command::Reset), [0_u64; 0]);
    assert!(first(&bench, Command::Dump).is_some());
}

/// It told its position in haste, and was reporting since. What it told is all that happened.
#[test]
fn a_board_that_answers_in_haste_is_read_without_a_gap() {
    let mut bench = Bench::new();
    bench.session.link_up(bench.now);
    bench.session.make_haste(bench.now);
    bench.run(5000);
    assert_eq!(bench.gaps, 0);
}

/// It is told to be quiet, because it does not answer, and its first answer comes only then.
#[test]
fn a_board_that_answers_in_haste_after_it_was_told_to_be_quiet_is_read_after_a_gap() {
    let mut bench = Bench::new();
    bench.session.link_up(bench.now);
    bench.board.line_is_still = true;
    bench.board.log_until = Some(bench.now + DRAIN + 150);
    bench.session.make_haste(bench.now);
    bench.run(5000);
    assert_eq!(bench.times_of(Command::Reset), [300]);
    assert_eq!(bench.gaps, 1);
}

#[test]
fn so_is_one_that_loses_its_power_after_it_answered_in_haste() {
    let mut bench = Bench::new();
    bench.session.link_up(bench.now);
    bench.session.make_haste(bench.now);
    bench.run(DRAIN - 50);
    (bench.board.power, bench.board.reports) = (Power::Off, false);
    bench.run(2000);
    bench.board.power = Power::On;
    bench.run(5000);
    assert_eq!(bench.session.state(), SessionState::Up);
    assert_eq!(bench.gaps, 1);
}
