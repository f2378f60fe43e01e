//! The program is killed soon after an illegal move was completed by a press, while the board goes on: what was heard
//! before is said after it, once (an opponent's piece that moved over a line for many boards may be suspected), and nobody is accused besides. `DGT2MQTT_FULL=1` takes 20 random instants after the
//! press and 40 at any time, half of them over a line for many boards; their seed is printed. The same is asked of a program
//! that is killed every two seconds, that is ended beside pieces that were displaced, and that is suspended.

mod heard;
mod outcome;
mod play;

use dgt2mqtt::link::file::read_capture;
use fastrand::Rng;
use tokio::task::block_in_place;

use self::{
    outcome::Outcome,
    play::{A_MINUTE, Played, Try, When, accusations, begin, play_all, suspicions},
};
use crate::{
    broker::Mosquitto,
    hall::{Seat, configure, moves, vienna},
    offences::OFFENCES,
    seed::fresh_rng,
};

/// Pieces that are displaced, and put right or not.
const DISPLACED: [&str; 6] = [
    "pieces-displaced",
    "pieces-displaced-put-right-at-once",
    "displaced-just-after-the-press",
    "knocked-over-and-put-back",
    "knocked-over-and-put-back-after-the-press",
    "knocked-on-by-the-opponent",
];
/// How many boards play at a time.
const AT_ONCE: usize = 4;
/// The same where their daemons do nothing for most of the time.
const SUSPENDED_AT_ONCE: usize = 6;

fn is_full() -> bool {
    std::env::var_os("DGT2MQTT_FULL").is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offence_before_a_kill_is_said_after_it_and_once() {
    let mut random = fresh_rng();
    let mut all: Vec<_> = [100, 500]
        .into_iter()
        .zip(OFFENCES)
        .map(|(after, name)| Try::new(name, When::AfterThePress(after)))
        .collect();
    // What was read is not lost; a round takes a while.
    let read = |name| Try::new(name, When::AfterThePress(500)).over_line();
    all.push(read(OFFENCES[2]));
    if is_full() {
        all = OFFENCES
            .into_iter()
            .flat_map(|name| [100, 500].map(|after| Try::new(name, When::AfterThePress(after))))
            .collect();
        all.extend(OFFENCES.map(read));
        for _ in 0..20 {
            let name = OFFENCES[random.usize(..OFFENCES.len())];
            all.push(Try::new(name, When::AfterThePress(random.u64(50..1500))));
        }
    }
    let count = all.len();
    let mut wrong = Vec::new();
    for (
        what,
        Played {
            got, expected, late, ..
        },
    ) in play_all(all, AT_ONCE).await
    {
        let mut as_wanted = (accusations(&expected), moves(&expected));
        let as_said = (accusations(&got), moves(&got));
        // A board of a line tells what was read and no times: nobody saw then whose hand moved the opponent's piece.
        if what.starts_with("illegal-opponents-piece over a line") {
            let suspected = suspicions(&got);
            as_wanted.0.retain(|wanted| !suspected.contains(wanted));
        }
        if as_said != as_wanted {
            let suspected = suspicions(&got);
            wrong.push(format!(
                "{what}, board late by {late} ms:\n  {as_said:?}, suspected {suspected:?}\n  instead of\n  {as_wanted:?}"
            ));
        }
    }
    println!("{count} kills after a press, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// So many of each fault, and half as many over a line: what was missed there is told, and nobody is accused.
async fn has_nobody_accused(
    names: &[&'static str],
    count: usize,
    what: &str,
    when: impl Fn(&mut Rng) -> When,
) {
    let mut random = fresh_rng();
    let one = || {
        let name = names[random.usize(..names.len())];
        Try::new(name, when(&mut random))
    };
    let mut all: Vec<_> = std::iter::repeat_with(one).take(count + count / 2).collect();
    all.iter_mut().skip(count).for_each(|one| *one = one.over_line());
    let outcome = Outcome::of(all, AT_ONCE).await;
    outcome.hold(&format!("{} {what}", count + count / 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_every_two_seconds_has_nobody_accused() {
    let count = if is_full() { 20 } else { 2 };
    has_nobody_accused(&OFFENCES, count, "games killed every two seconds", |random| {
        When::Every(random.f64())
    })
    .await;
}

/// Somebody tries one configuration after the other while people play.
#[tokio::test(flavor = "multi_thread")]
async fn nor_has_an_end_every_few_seconds() {
    let count = if is_full() { 20 } else { 2 };
    has_nobody_accused(
        &OFFENCES,
        count,
        "games with an end every few seconds",
        |random| When::EndedEvery(random.f64(), random.u64(2000..=5000)),
    )
    .await;
}

/// Pieces lie about when the daemon ends, and are put right while nobody listens or soon after.
#[tokio::test(flavor = "multi_thread")]
async fn nor_has_an_end_beside_a_displacement() {
    let count = if is_full() { 20 } else { 2 };
    has_nobody_accused(&DISPLACED, count, "ends beside a displacement", |random| {
        When::Ended(random.f64())
    })
    .await;
}

/// A machine that sleeps: what the board said meanwhile waits in the system, and comes in one instant.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_suspended_accuses_nobody_and_has_the_games() {
    let mut random = fresh_rng();
    let count: usize = if is_full() { 24 } else { 3 };
    let names = [OFFENCES, DISPLACED].concat();
    let all = std::iter::repeat_with(|| {
        let ms = [2000, 5000, 10_000, 20_000][random.usize(..4)];
        let name = names[random.usize(..names.len())];
        Try::new(name, When::Suspended(random.f64(), ms))
    });
    let on_line = count.div_ceil(4);
    let mut all: Vec<_> = all.take(count + on_line).collect();
    all.iter_mut().skip(count).for_each(|one| *one = one.over_line());
    if is_full() {
        let a_minute = std::iter::repeat_with(|| {
            let name = OFFENCES[random.usize(..OFFENCES.len())];
            Try::new(name, When::Suspended(random.f64(), A_MINUTE))
        });
        let mut a_minute: Vec<_> = a_minute.take(20).collect();
        a_minute.iter_mut().take(5).for_each(|one| *one = one.over_line());
        all.extend(a_minute);
    }
    let what = format!("{} processes suspended", all.len());
    Outcome::of(all, SUSPENDED_AT_ONCE).await.hold(&what);
}

/// What happens while nobody listens may be missed.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_instant_has_nobody_accused() {
    let mut random = fresh_rng();
    let count = if is_full() { 40 } else { 3 };
    let mut is_alone = false;
    let all = std::iter::repeat_with(|| {
        is_alone = !is_alone;
        let name = OFFENCES[random.usize(..OFFENCES.len())];
        let one = Try::new(name, When::At(random.f64()));
        if is_alone { one } else { one.over_line() }
    });
    let outcome = Outcome::of(all.take(count).collect(), AT_ONCE).await;
    outcome.hold(&format!("{count} kills at any instant"));
}

/// Who starts a daemon and stops it at once ends it in good order: it listens to signals before it does anything else. Once a signal
/// that came while the journal was opened was a kill.
#[tokio::test(flavor = "multi_thread")]
async fn nor_does_an_end_as_it_begins_cost_its_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let seat = Seat {
        id: "1".into(),
        port: &format!("capture:{}", vienna().display()),
        capture: &read_capture(&vienna()).unwrap(),
    };
    let config = configure(folder.path(), mosquitto.port, &[seat]);
    for _ in 0..if is_full() { 50 } else { 5 } {
        assert!(block_in_place(|| begin(&config).stop()));
    }
}
