//! The seed of a test with random input, and how often it runs.
#![allow(dead_code)] // shared by several test programs.

use fastrand::Rng;
use tokio::task::JoinSet;

/// `DGT2MQTT_SEED`, or 1. It is printed, so that a failure says how to play it again.
pub fn seed() -> u64 {
    seed_or(1)
}

fn seed_or(usual: u64) -> u64 {
    let seed = std::env::var("DGT2MQTT_SEED").map_or(usual, |text| text.parse().unwrap());
    println!("seed {seed} (DGT2MQTT_SEED={seed} plays it again)");
    seed
}

/// Chance out of [`seed`].
pub fn rng() -> Rng {
    Rng::with_seed(seed())
}

/// Chance out of `DGT2MQTT_SEED`, or of a seed that each run draws anew. So runs that are short meet many instants together.
pub fn fresh_rng() -> Rng {
    Rng::with_seed(seed_or(fastrand::u64(..1_000_000)))
}

/// Once, or twenty times with `DGT2MQTT_FULL`.
pub fn rounds() -> usize {
    std::env::var_os("DGT2MQTT_FULL").map_or(1, |_| 20)
}

/// Runs it once, or twenty times with `DGT2MQTT_FULL`, some at a time, each with chance and a runtime of its own; the seed is
/// a fresh one.
pub async fn in_rounds<T: Future<Output = ()>>(run: impl Fn(Rng) -> T + Copy + Send + 'static) {
    in_rounds_at_once(4, run).await;
}

/// The same with so many at a time.
pub async fn in_rounds_at_once<T: Future<Output = ()>>(
    at_once: usize,
    run: impl Fn(Rng) -> T + Copy + Send + 'static,
) {
    so_often(rounds(), at_once, run).await;
}

/// Runs it so often, so many at a time.
pub async fn so_often<T: Future<Output = ()>>(
    often: usize,
    at_once: usize,
    run: impl Fn(Rng) -> T + Copy + Send + 'static,
) {
    let mut random = fresh_rng();
    let mut running = JoinSet::new();
    for _ in 0..often {
        if running.len() == at_once {
            running.join_next().await.unwrap().unwrap();
        }
        let own = random.fork();
        running.spawn_blocking(move || tokio::runtime::Runtime::new().unwrap().block_on(run(own)));
    }
    while let Some(round) = running.join_next().await {
        round.unwrap();
    }
}

/// Whether tests run in full; a test that runs only then says that it is skipped.
pub fn is_full() -> bool {
    let is_full = std::env::var_os("DGT2MQTT_FULL").is_some();
    if !is_full {
        skipped!("set DGT2MQTT_FULL=1");
    }
    is_full
}
