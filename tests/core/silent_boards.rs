//! Boards that tell nothing while both players press, until a dump shows what they played. These are no fixtures: a daemon that starts anew
//! in the silence asks for a dump, and would get what stands there, which the capture does not say.

use dgt2mqtt::sim::script::parse;

use crate::told::{events, played, summary::summary};

const SCRIPTS: &str = r#"
== press-of-a-silent-board
" The board tells nothing of four half-moves, which the players press for. All its squares show them later: nobody pressed without a move.
start:w e2e4 e7e5 +1500 ~-d2 ~P@d4 =d2d4 press +3000 ~-e5 ~-d4 ~p@d4 =e5d4 press +2500 ~-d1 ~-d4 ~Q@d4 =d1d4 press +2500 ~-b8 ~n@c6 =b8c6 press +1500 dump +1000 d4d1 g8f6
=> game e2e4 e7e5 press_without_move:white@3 superseded:press_without_move@3 d2d4(recovered) e5d4(recovered) d1d4(recovered) b8c6(recovered) d4d1 g8f6

== press-of-a-board-that-misses-an-exchange
" The board tells nothing of a pawn that takes and is taken. Then two pieces are gone, and none stands elsewhere.
start:w e2e4 d7d5 g1f3 e7e6 +1500 ~-e4 ~-d5 ~P@d5 =e4d5 press +2500 ~-e6 ~-d5 ~p@d5 =e6d5 press +2000 dump +1000 d2d4 g8f6
=> game e2e4 d7d5 g1f3 e7e6 press_without_move:white@5 superseded:press_without_move@5 e4d5(recovered) e6d5(recovered) d2d4 g8f6
"#;

#[test]
fn nobody_has_pressed_without_a_move_where_a_dump_shows_the_half_moves() {
    let scripts = parse(SCRIPTS);
    assert_eq!(scripts.len(), 2);
    for script in scripts {
        assert_eq!(
            summary(&events(&played(&script), &script.name)),
            script.expected,
            "{}",
            script.name
        );
    }
}
