//! Two boards of one address, and damage that only looks like them.

use super::*;

/// Changes that nobody can read: two have said theirs at once.
const COLLIDED: [u8; 6] = [0x85, 0x3e, 0x00, 0x05, 0x3e, 0x28];

/// Lets a line of `count` boards be asked for a minute. Of five visits to each, the changes of the first board collide in four, and those of
/// the second in three; both are understood when they are repeated. Returns which boards were taken for two of one address meanwhile.
fn collides(count: u16) -> Vec<bool> {
    let mut master = Rig::new(count, Troubles::default()).master;
    let (mut now, mut visits, mut before) = (Millis(0), [0; 2], 0);
    let mut garbled = vec![false; usize::from(count)];
    while now < Millis(60_000) {
        while let Some((of, said)) = master.poll_said() {
            if said == Said::Here {
                master.handle_watcher(of);
                master.handle_words(now, of, &Command::UpdateNice.bytes());
                master.handle_words(now, of, &Command::Dump.bytes());
            }
        }
        let Some(question) = master.poll_transmit() else {
            now = master.poll_timeout().unwrap().max(now);
            master.handle_timeout(now);
            continue;
        };
        now = now + 15;
        let (code, to) = read_command(question).unwrap();
        // What is asked again after a repeat is the same visit.
        let is_visit = code == 0x83 && before != 0x84;
        before = code;
        let which = usize::from(to - address(0).get());
        let collides = is_visit
            && visits.get_mut(which).is_some_and(|count| {
                *count += 1;
                *count % 5 < [4, 3][which]
            });
        let heard = if collides {
            COLLIDED.to_vec()
        } else {
            answer(question)
        };
        master.handle_bytes(now, &heard);
        for (was, board) in garbled.iter_mut().zip(master.take_figures(now).boards) {
            *was |= board.is_garbled;
        }
    }
    garbled
}

/// The second board's cable is bad: what is damaged there is no reason to excuse the first.
#[test]
fn a_neighbour_with_a_bad_cable_hides_no_twins() {
    for count in [1, 2, 3, 4] {
        let wanted: Vec<bool> = (0..count).map(|n| n == 0).collect();
        assert_eq!(collides(count), wanted, "{count} boards");
    }
}

/// A quarter of all that is said on a line comes damaged.
#[test]
fn noise_on_the_whole_line_makes_no_twins() {
    for count in [1, 2, 3, 4] {
        let noise = Troubles {
            noise: 0.25,
            ..Troubles::default()
        };
        let mut rig = Rig::new(count, noise);
        for second in 1..=60 {
            rig.run(second * 1000);
            let figures = rig.figures();
            let doubled = figures.boards.iter().filter(|board| board.is_garbled).count();
            assert_eq!(doubled, 0, "{count} boards, second {second}: {figures:?}");
        }
    }
}

#[test]
fn two_boards_of_one_address_are_found_out_and_not_heard_any_more() {
    let mut rig = Rig::new(2, Troubles::default());
    let twin = player(MOVE, 0);
    rig.line = SimulatedLine::new(
        vec![player(MOVE, 0), twin, player(MOVE, 1)],
        Troubles::default(),
        3,
    );
    rig.run(20_000);
    assert_eq!(rig.moves(1), PLAYED);
    let last = rig.said.iter().rfind(|(_, of, _)| *of == address(0).get());
    assert!(matches!(last, None | Some((..10_000, _, Said::Gone))), "{last:?}");
    let figures = rig.figures();
    assert!(figures.boards[0].is_garbled && !figures.is_shared, "{figures:?}");
}
