use super::*;

/// The initial position with the codes of the maker's SDK: rooks 8 and 6, knights 5 and 10, bishops 3 and 9, queens 1 and 11, kings
/// 2 and 12, pawns 4 and 7; two squares a byte, h8 in the lower half of the first.
fn start() -> Vec<u8> {
    let mut bytes = vec![0x01, 0x24, 0x58, 0x23, 0x31, 0x85];
    bytes.extend([0x44; 4]);
    bytes.extend([0; 16]);
    bytes.extend([0x77; 4]);
    bytes.extend([0xa6, 0xc9, 0x9b, 0x6a, 0x10, 0x27, 0, 0]);
    bytes
}

fn heard(host: &mut Host, now: u64, bytes: &[u8]) -> Vec<Told> {
    let mut told = Vec::new();
    host.bytes(Millis(now), bytes, &mut |what| told.push(what));
    told
}

fn read(bytes: &[u8]) -> (Vec<Told>, u64) {
    let mut host = Host::default();
    let told = heard(&mut host, 0, bytes);
    (told, host.garbled)
}

fn array() -> [PieceCode; 64] {
    let mut squares = [PieceCode::EMPTY; 64];
    for (file, piece) in [2, 3, 4, 6, 5, 4, 3, 2].into_iter().enumerate() {
        (squares[file], squares[8 + file]) = (PieceCode(piece + 6), PieceCode(7));
        (squares[56 + file], squares[48 + file]) = (PieceCode(piece), PieceCode(1));
    }
    squares
}

#[test]
fn the_initial_position_is_read_bare_and_filled() {
    let mut filled = start();
    filled.resize(REPORT, 0);
    for bytes in [start(), filled] {
        assert_eq!(read(&bytes), (vec![Told::Squares(array())], 0));
    }
    assert_eq!(report(&array())[..34], start()[..34]);
}

#[test]
fn the_battery_is_read_of_both_kinds_of_boards() {
    let (told, garbled) = read(&[0x2a, 0x02, 88, 0, 0x41, 0x03, 0x0c, 1, 100, 0x2a, 0x02, 0, 0]);
    let state: Vec<(u8, bool)> = told
        .iter()
        .map(|told| match told {
            Told::Battery(battery) => (battery.percent, battery.charging),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((state, garbled), (vec![(88, false), (100, true), (0, false)], 0));
}

#[test]
fn an_empty_battery_is_told_by_a_board_that_knows_it() {
    let mut host = Host::default();
    let mut told = |link: bool, percent: u8, charging: u8| {
        if link {
            host.link_up(Millis(0));
        }
        !heard(&mut host, 0, &[0x2a, 0x02, percent, charging]).is_empty()
    };
    assert!(!told(true, 0, 0), "it does not know");
    assert!(told(false, 3, 0) && told(false, 0, 0), "it ran empty");
    assert!(!told(true, 0, 0), "that may be another board");
    assert!(told(false, 0, 1), "it was empty when it was plugged in");
}

#[test]
fn half_a_report_is_forgotten_and_what_has_no_code_is_no_position() {
    let mut host = Host::default();
    assert_eq!(heard(&mut host, 0, &start()[..20]), []);
    assert_eq!(heard(&mut host, 1000, &start()), [Told::Squares(array())]);
    assert_eq!(host.garbled, 1);
    // In two reads at once it is one.
    assert_eq!(heard(&mut host, 2000, &start()[..20]), []);
    assert_eq!(heard(&mut host, 2010, &start()[20..]), [Told::Squares(array())]);
    for (index, byte) in [(10, 0xff), (12, 0xd0), (12, 0x0e)] {
        let mut bad = start();
        bad[index] = byte;
        let (told, garbled) = read(&[&bad[..], &start()].concat());
        assert_eq!(told, [Told::Squares(array())], "{index} {byte}");
        assert!(garbled > 0, "a code that is none");
    }
}

#[test]
fn a_board_is_told_to_tell_until_it_does_and_asked_for_a_sign_of_life() {
    let mut host = Host::default();
    host.link_up(Millis(0));
    let mut asked = Vec::new();
    for now in 0..130_000 {
        host.handle_timeout(Millis(now));
        assert!(host.poll_timeout().is_some_and(|due| due > Millis(now)));
        while let Some(command) = host.poll_transmit() {
            asked.push((now, command[0]));
            match command[0] {
                // The board hears the third command.
                0x21 if now > 3000 => drop(heard(&mut host, now, &start())),
                0x29 => drop(heard(&mut host, now, &[0x2a, 0x02, 87, 0])),
                _ => {}
            }
        }
        assert_eq!(host.poll_wish(), None, "{now}");
    }
    assert_eq!(asked[..4], [(0, 0x21), (200, 0x29), (2000, 0x21), (4000, 0x21)]);
    let batteries = asked.iter().filter(|(_, command)| *command == 0x29).count();
    assert!((25..=27).contains(&batteries), "{batteries}");
}

#[test]
fn a_board_that_does_not_answer_is_opened_anew() {
    let mut host = Host::default();
    host.link_up(Millis(0));
    host.handle_timeout(Millis(SILENCE_MS - 1));
    assert_eq!(host.poll_wish(), None);
    host.handle_timeout(Millis(SILENCE_MS));
    assert_eq!((host.poll_wish(), host.poll_wish()), (Some(Wish::Reopen), None));
}

#[test]
fn the_simulated_board_tells_when_it_was_told_to() {
    let mut board = Simulated::default();
    let mut answers = Vec::new();
    assert!(!board.speaks());
    for command in Command::ALL {
        board.hear(&command.bytes(), &array(), &mut answers);
    }
    assert!(board.speaks());
    assert_eq!(answers.len(), 2 * REPORT);
    assert_eq!(read(&answers).0.len(), 2);
}
