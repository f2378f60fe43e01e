use super::*;

const GAME: &str = "# dgtcap 1\n\
    0.100 < 8d 00 0a 20 03 02 20 03 02 09\n\
    1.000 < 8e 00\n\
    1.010 < 05 34 00\n\
    2.000 ! down\n\
    3.000 ! up\n\
    3.500 < 8e 00 05 24 01\n";

fn player(wait: bool) -> PlayedBoard {
    let capture = Capture::parse(GAME.as_bytes()).unwrap();
    PlayedBoard::new(
        capture,
        SimulatedIdentity::synthetic(1),
        Pace { speed: 2.0, wait },
    )
}

/// Plays until `end`, or until nothing more happens. Returns what came and when.
fn play(player: &mut PlayedBoard, end: u64) -> Vec<(u64, Output)> {
    let mut said = Vec::new();
    let mut now = player.as_of;
    loop {
        while let Some(output) = player.poll_output() {
            said.push((now.0, output));
        }
        match player.poll_timeout() {
            Some(due) if due.0 <= end => now = due,
            _ => return said,
        }
        player.handle_timeout(now);
    }
}

fn send(bytes: &[u8]) -> Output {
    Output::Send(bytes.to_vec())
}

#[test]
fn the_capture_stands_still_until_a_host_listens() {
    let mut player = player(true);
    assert_eq!(play(&mut player, 10_000), []);
    player.handle_bytes(Millis(20_000), b"A");
    let clock = [0x8d, 0, 10, 0x20, 3, 2, 0x20, 3, 2, 9];
    assert_eq!(player.poll_output(), Some(send(&clock)));
    player.handle_bytes(Millis(20_100), b"K");
    assert_eq!(
        play(&mut player, 99_000),
        [
            (20_150, send(&clock)),
            (20_600, send(&[0x8e, 0])),
            (20_605, send(&[5, 0x34, 0])),
            (21_100, Output::Unplug),
            (21_600, Output::Plug),
        ]
    );
    player.handle_bytes(Millis(30_000), b"D");
    let rest = play(&mut player, 99_000);
    assert_eq!(
        rest,
        [
            (30_250, send(&[0x8e, 0, 5, 0x24, 1])),
            // The capture is over, so the clock is stopped.
            (30_250, send(&[0x8d, 0, 10, 0x20, 3, 2, 0x20, 3, 2, 8])),
            (30_250, Output::Over),
        ]
    );
}

#[test]
fn an_answer_waits_for_the_end_of_a_frame() {
    let mut player = player(true);
    player.handle_bytes(Millis(0), b"K");
    play(&mut player, 501);
    player.handle_bytes(Millis(501), b"M");
    let said = play(&mut player, 600);
    assert_eq!(
        said,
        [(505, send(&[5, 0x34, 0])), (505, send(&[0x93, 0, 5, 1, 8]))]
    );
}

#[test]
fn a_host_that_comes_late_misses_a_game_that_does_not_wait() {
    let mut player = player(false);
    let said = play(&mut player, 99_000);
    assert_eq!(
        said,
        [(1000, Output::Unplug), (1500, Output::Plug), (1750, Output::Over)]
    );
    player.handle_bytes(Millis(2000), b"B");
    let Some(Output::Send(dump)) = player.poll_output() else {
        panic!("the board answers with a dump")
    };
    assert_eq!((dump[3 + 0x34], dump[3 + 0x24]), (0, 1));
}
