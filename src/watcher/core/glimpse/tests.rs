//! What stood on the board within a lump is told whatever comes after the lump.

use crate::{
    dgt::{ClockReading, Lever, Message, PieceCode},
    event::{Body, Certainty, GameResult, Irregularity},
    laws::{IrregularityKind, Side},
    time::Millis,
    watcher::{
        Command, Settings, Snapshot, Watcher,
        core::phase::Phase,
        game::Game,
        testing::{after_e4, hear, initial_pieces},
    },
};

const KNIGHT: PieceCode = PieceCode(9);
/// The line stands still since the fifth second, until this one.
const LUMP: u64 = 12_000;
/// After a lump the game is given so long to say it itself.
const TOLD: u64 = LUMP + 3500;

/// The clock with White's time or Black's, so many seconds after the fifth.
fn clock_after(lever: Lever, left: u32, right: u32) -> Message<'static> {
    Message::Clock(ClockReading::of_seconds(600 - left, 600 - right, true, lever))
}

fn field(square: u8, piece: PieceCode) -> Message<'static> {
    Message::Field { square, piece }
}

/// 1...Ng8-g6 was pressed and stood there while the clock spoke twice, and was put right to f6.
fn put_right_in_a_lump() -> Vec<Message<'static>> {
    let mut said = vec![field(6, PieceCode::EMPTY), field(22, KNIGHT)];
    said.extend([clock_after(Lever::LeftHigh, 0, 0); 3]);
    said.extend([field(22, PieceCode::EMPTY), field(21, KNIGHT)]);
    said.extend((4..6).map(|gone| clock_after(Lever::LeftHigh, gone, 0)));
    said
}

/// All of it comes at `at` in one piece.
fn lump(watcher: &mut Watcher, at: u64, said: &[Message<'_>]) {
    watcher.catch_up(Millis(at));
    let mut bytes = Vec::new();
    said.iter().for_each(|message| message.encode(&mut bytes));
    watcher.handle_bytes(Millis(at), &bytes);
    watcher.catch_up(Millis(at + 100));
}

/// The clock ticks from `from` until `until`.
fn tick(watcher: &mut Watcher, from: u64, until: u64) {
    for (at, gone) in (from..=until).step_by(500).zip(7..) {
        hear(watcher, at, clock_after(Lever::LeftHigh, gone, 0));
    }
}

fn irregularities(watcher: &mut Watcher) -> Vec<Irregularity> {
    let said = std::iter::from_fn(|| watcher.poll_event()).filter_map(|event| match event.body {
        Body::Irregularity(said) => Some(*said),
        _ => None,
    });
    said.collect()
}

/// What was said in it: of whom, what, and how sure.
fn told(watcher: &mut Watcher) -> Vec<(Option<Side>, IrregularityKind, Certainty)> {
    let told = |it: Irregularity| (it.offender, it.kind, it.certainty);
    irregularities(watcher).into_iter().map(told).collect()
}

const SUSPECTED: (Option<Side>, IrregularityKind, Certainty) = (
    Some(Side::Black),
    IrregularityKind::IllegalMove,
    Certainty::Suspected,
);

fn game(watcher: &mut Watcher) -> &mut Game {
    match &mut watcher.core.play.phase {
        Phase::Game(game) => game,
        Phase::Waiting(_) => panic!("no game goes on"),
    }
}

#[test]
fn what_stood_in_a_lump_is_suspected() {
    let mut watcher = after_e4();
    lump(&mut watcher, LUMP, &put_right_in_a_lump());
    assert_eq!(told(&mut watcher), []);
    tick(&mut watcher, LUMP + 500, TOLD);
    assert_eq!(told(&mut watcher), [SUSPECTED]);
}

/// What stands on the board now tells nothing of it any more.
#[test]
fn a_restart_before_it_is_told_changes_nothing() {
    let mut watcher = after_e4();
    lump(&mut watcher, LUMP, &put_right_in_a_lump());
    tick(&mut watcher, LUMP + 500, LUMP + 500);
    let kept = serde_json::to_string(&watcher.snapshot()).unwrap();
    let back = Snapshot::kept(Some(&kept), watcher.snapshot().seq);
    assert_eq!(back.lost(), [""; 0]);
    let mut watcher = Watcher::new(Settings::default(), Some(back));
    assert_eq!(serde_json::to_string(&watcher.snapshot()).unwrap(), kept);
    watcher.handle_link_up(Millis(LUMP + 1000), "port");
    let mut squares = initial_pieces();
    (squares[52], squares[36]) = (PieceCode::EMPTY, PieceCode(1));
    (squares[6], squares[21]) = (PieceCode::EMPTY, KNIGHT);
    hear(&mut watcher, LUMP + 1001, Message::Dump(&squares));
    tick(&mut watcher, LUMP + 1100, TOLD);
    assert_eq!(told(&mut watcher), [SUSPECTED]);
}

/// A line that stands still again and again.
#[test]
fn lumps_that_follow_soon_do_not_put_it_off() {
    let mut watcher = after_e4();
    lump(&mut watcher, LUMP, &put_right_in_a_lump());
    for n in 1..10 {
        let gone = 5 + 2 * n;
        let ticks = [gone - 1, gone, gone].map(|gone| clock_after(Lever::LeftHigh, gone, 0));
        lump(&mut watcher, LUMP + 2000 * u64::from(n), &ticks);
    }
    assert_eq!(told(&mut watcher), [SUSPECTED]);
}

/// An arbiter gave a result by mistake, and the players went on.
#[test]
fn so_is_what_stood_in_a_lump_after_a_result() {
    let mut watcher = after_e4();
    let result = Command::Result {
        result: GameResult::Draw,
        reason: None,
        game: None,
    };
    watcher.handle_command(Millis(5200), result).unwrap();
    lump(&mut watcher, LUMP, &put_right_in_a_lump());
    tick(&mut watcher, LUMP + 500, TOLD);
    assert_eq!(told(&mut watcher), []);
    let resume = Command::Resume {
        reason: None,
        game: None,
    };
    watcher.handle_command(Millis(TOLD + 100), resume).unwrap();
    assert_eq!(told(&mut watcher), [SUSPECTED]);
}

/// Something else was said of the player since it was seen.
#[test]
fn it_has_the_number_that_it_has_when_it_is_told() {
    let mut watcher = after_e4();
    lump(&mut watcher, LUMP, &put_right_in_a_lump());
    game(&mut watcher).cases.offences[shakmaty::Color::Black as usize] = 1;
    tick(&mut watcher, LUMP + 500, TOLD);
    let said = irregularities(&mut watcher).remove(0);
    assert_eq!((said.offence_number, said.certainty), (2, Certainty::Suspected));
    assert!(said.text["en"].advice.contains("second"), "{:?}", said.text);
}
