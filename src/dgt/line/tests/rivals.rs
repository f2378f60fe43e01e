//! Two programs of this kind on one line: to each, the answers to the other are extra answers.

use super::*;

/// Lets two masters ask the boards of one line, on which both hear everything. The second starts `later`
/// milliseconds after the first.
fn rivals(count: u16, later: u64) -> [Figures; 2] {
    let mut rig = Rig::new(count, Troubles::default());
    let mut other = Rig::new(count, Troubles::default()).master;
    let greet = |master: &mut Master, now: Millis| {
        while let Some((address, said)) = master.poll_said() {
            if said == Said::Here {
                master.handle_watcher(address);
                master.handle_words(now, address, &Command::UpdateNice.bytes());
                master.handle_words(now, address, &Command::Dump.bytes());
            }
        }
    };
    for now in (0..120_000).map(Millis) {
        // Each master counts from its own start.
        let its = Millis(now.0.saturating_sub(later));
        rig.line.handle_timeout(now);
        while let Some(Output::Send(bytes)) = rig.line.poll_output() {
            rig.master.handle_bytes(now, &bytes);
            other.handle_bytes(its, &bytes);
        }
        rig.master.handle_timeout(now);
        greet(&mut rig.master, now);
        if now.0 >= later {
            other.handle_timeout(its);
            greet(&mut other, its);
        }
        for master in [&mut rig.master, &mut other] {
            while let Some(question) = master.poll_transmit() {
                rig.line.handle_bytes(now, &question);
            }
        }
    }
    [
        rig.master.take_figures(Millis(120_000)),
        other.take_figures(Millis(120_000 - later)),
    ]
}

#[test]
fn a_second_master_is_not_taken_for_a_twin_of_each_board() {
    for count in [1, 2, 4] {
        for later in [1, 40, 3000, 5017] {
            for figures in rivals(count, later) {
                let doubled = figures.boards.iter().filter(|board| board.is_garbled).count();
                assert!(
                    figures.is_shared && doubled == 0,
                    "{count} boards, {later} ms later: {figures:?}"
                );
            }
        }
    }
}
