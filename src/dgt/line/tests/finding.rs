//! Boards are found on a line.

use super::{super::discovery::Discovery, *};

/// How an adapter hands back what is sent through it.
#[derive(Clone, Copy, Debug)]
enum Echo {
    Never,
    /// Each byte by itself.
    InBytes,
    /// The whole question, so many milliseconds later.
    Later(u64),
}

/// Runs a discovery on a line of these boards.
fn discover(addresses: &[u16]) -> (Discovery, u64) {
    discover_behind(Echo::Never, addresses)
}

fn discover_behind(echo: Echo, addresses: &[u16]) -> (Discovery, u64) {
    let mut back = Vec::new();
    let players = addresses.iter().map(|n| player(MOVE, *n)).collect();
    let mut line = SimulatedLine::new(players, Troubles::default(), 5);
    let (mut discovery, mut now) = (Discovery::new(), Millis(0));
    while !discovery.is_over() && now.0 < 100_000 {
        line.handle_timeout(now);
        for (_, bytes) in back.extract_if(.., |(at, _)| *at <= now) {
            let _: [u8; 4] = bytes;
            discovery.handle_bytes(now, &bytes);
        }
        while let Some(Output::Send(bytes)) = line.poll_output() {
            discovery.handle_bytes(now, &bytes);
        }
        discovery.handle_timeout(now);
        while let Some(question) = discovery.poll_transmit() {
            line.handle_bytes(now, &question);
            match echo {
                Echo::Never => {}
                Echo::InBytes => question
                    .iter()
                    .for_each(|byte| discovery.handle_bytes(now, &[*byte])),
                Echo::Later(ms) => back.push((now + ms, question)),
            }
        }
        now = now + 1;
    }
    (discovery, now.0)
}

#[test]
fn forty_boards_are_found_though_their_answers_collide() {
    let all: Vec<u16> = (0..40).collect();
    let (discovery, took) = discover(&all);
    assert_eq!(
        discovery.found(),
        all.iter().map(|n| address(*n)).collect::<Vec<_>>()
    );
    assert_eq!(discovery.doubled(), []);
    assert!(took < 20_000, "{took}");
    assert!(discover(&[]).0.found().is_empty());
}

#[test]
fn discovery_finds_two_boards_of_one_address() {
    let (discovery, _) = discover(&[1, 2, 2]);
    assert_eq!(
        (discovery.found(), discovery.doubled()),
        (vec![address(1), address(2)], vec![address(2)])
    );
}

/// Of two answers that collide the bytes may be those of a third, checksum and all.
#[test]
fn two_answers_that_collide_are_no_third_board() {
    let collided = [0x87, 0, 6, 8, 1, 0x16];
    let mut line = SimulatedLine::new(vec![player(MOVE, 1), player(MOVE, 2)], Troubles::default(), 5);
    let (mut discovery, mut now) = (Discovery::new(), Millis(0));
    while !discovery.is_over() && now.0 < 100_000 {
        line.handle_timeout(now);
        if now.0 == 700 {
            discovery.handle_bytes(now, &collided);
            assert!(discovery.found().is_empty(), "nothing is certain yet");
        }
        while let Some(Output::Send(bytes)) = line.poll_output() {
            discovery.handle_bytes(now, &bytes);
        }
        discovery.handle_timeout(now);
        while let Some(question) = discovery.poll_transmit() {
            line.handle_bytes(now, &question);
        }
        now = now + 1;
    }
    assert_eq!(discovery.found(), [address(1), address(2)]);
}

/// The echo of a question to one board is the answer of no board.
#[test]
fn discovery_finds_the_same_behind_an_adapter_that_hands_back_what_is_sent() {
    let all: Vec<u16> = (0..12).collect();
    for echo in [Echo::InBytes, Echo::Later(1), Echo::Later(5)] {
        let (discovery, took) = discover_behind(echo, &all);
        let alone = discover(&all);
        assert_eq!(discovery.found(), alone.0.found(), "{echo:?}");
        assert_eq!((discovery.doubled(), took), (vec![], alone.1), "{echo:?}");
        assert!(discover_behind(echo, &[]).0.found().is_empty(), "{echo:?}");
    }
    let (discovery, _) = discover_behind(Echo::InBytes, &[1, 2, 2]);
    assert_eq!(discovery.doubled(), [address(2)]);
}
