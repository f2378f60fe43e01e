//! Halls that outgrow one broker, tried with what breaks in them: two brokers, a broker beside each gateway, a cluster.
//! Whatever dies, subscriber, archive, page and broadcast hold every event once and in order.
//!
//! `DGT2MQTT_FULL=1`: forty gateways with 25 boards each for twenty minutes. `docs/halls.md` has what came of it.

mod brokers;
mod costs;
mod cut;
mod faults;
mod gateways;
mod hall;
mod reader;
mod states;
mod verdict;

use std::time::{Duration, Instant};

use self::{
    brokers::{Engine, Setup},
    hall::Hall,
};
pub use self::{states::shown, verdict::shown as board_shown};
use crate::{broker::PATIENCE, seed::rng};

/// How long the states may be wrong after the last fault.
const RIGHT_AGAIN: Duration = Duration::from_secs(10);

/// Whether the whole hall is asked for.
fn is_full() -> bool {
    std::env::var_os("DGT2MQTT_FULL").is_some()
}

/// How large a hall is, and what it goes through.
#[derive(Clone, Copy)]
struct Size {
    gateways: usize,
    /// Of each gateway.
    boards: usize,
    /// How many times faster than people they play.
    speed: f64,
    /// For so long nothing breaks, and what all of it costs is measured.
    quiet_s: u64,
    faults: usize,
    /// From one fault to the next.
    slot_s: f64,
}

impl Size {
    fn of_this_run() -> Self {
        let number =
            |name: &str, default: f64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
        match is_full() {
            true => Self {
                gateways: number("GATEWAYS", 40.0) as usize,
                boards: number("BOARDS", 25.0) as usize,
                speed: number("SPEED", 0.6),
                quiet_s: number("QUIET", 60.0) as u64,
                faults: number("FAULTS", 30.0) as usize,
                slot_s: number("SLOT", 38.0),
            },
            false => Self {
                gateways: 3,
                boards: 2,
                speed: 4.0,
                quiet_s: 2,
                faults: 5,
                slot_s: 6.0,
            },
        }
    }
}

/// The gateways take the other one where theirs is gone, and readers read both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_two_brokers_nothing_is_lost() {
    play(Setup::TwoBrokers).await;
}

/// What a bridge loses is asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_broker_beside_each_gateway_nothing_is_lost() {
    play(Setup::Bridges).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_cluster_nothing_is_lost() {
    play(Setup::Cluster(Engine::Ejabberd)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_cluster_of_another_engine_nothing_is_lost() {
    play(Setup::Cluster(Engine::Rmqttd)).await;
}

async fn play(setup: Setup) {
    let size = Size::of_this_run();
    let mut rng = rng();
    let Some(mut hall) = Hall::open(setup, size).await else {
        assert!(!is_full(), "the brokers are not installed");
        return;
    };
    assert!(
        !is_full() || hall.is_whole(),
        "disks of its own want root, and the archive PostgreSQL"
    );
    hall.measure(size.quiet_s).await;
    let plan = faults::plan(&hall, size.faults, &mut rng);
    let last = plan.len() - 1;
    for (n, fault) in plan.into_iter().enumerate() {
        let begin = Instant::now();
        hall.suffer(fault, size.slot_s, &mut rng).await;
        if n < last {
            hall.go_on(size.slot_s, begin).await;
        }
    }
    let took = hall.states_are_right().await;
    hall.rest().await;
    verdict::compare(&mut hall).await;
    // A busy machine is no fault, so that the bound is for a hall that has the machine.
    let bound = if is_full() { RIGHT_AGAIN } else { PATIENCE };
    assert!(took < bound, "the states are right too late");
}
