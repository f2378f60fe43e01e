//! An adapter that hands back what is sent through it.

use super::*;

/// Adapters for lines of two wires do so.
#[test]
fn an_adapter_that_hands_back_what_is_sent_costs_nothing() {
    let mut rig = Rig::new(4, Troubles::default());
    rig.master = std::mem::replace(&mut rig.master, Master::new([])).searching();
    rig.echoes = true;
    rig.run(12_000);
    for n in 0..4 {
        assert_eq!(rig.moves(n), PLAYED);
    }
    let figures = rig.figures();
    let is_well = |board: &Figure| board.is_here && !board.is_garbled && board.errors == Errors::default();
    assert!(figures.boards.iter().all(is_well), "{figures:?}");
    assert!(
        figures.unasked == 0 && !figures.is_shared && figures.strangers.is_empty(),
        "{figures:?}"
    );
}
