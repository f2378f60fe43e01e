//! Games that are played as people play them, made up from a seed, by the hundred and by the ten thousand: nothing
//! panics, nothing grows, nobody is accused wrongly. How to run the long one: `README.md` beside this file.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test panics, measures time and uses all cores

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use dgt2mqtt::{
    sim::{
        line::Troubles,
        mess::{self, Fault, FaultRates, Knowable},
        rehearsal::{
            Rehearsed,
            kinds::{self, GameKind},
            line::LineRehearsal,
            rehearse,
            verdict::Judgement,
        },
    },
    time::Millis,
};

/// What a restart needs to know of one game, in bytes: much more means that something grows.
const MOST_SNAPSHOT: usize = 200_000;

/// False accusations in 10,000 half-moves (`docs/recognition-figures.md` says what was measured).
const MOST_FALSE: f64 = 1.0;
/// Percent of the half-moves that are right, where all of them can be known.
const LEAST_RIGHT: f64 = 99.9;
/// Kinds in which some half-moves can only be told by what follows, or not at all.
const PARTLY_KNOWN: [Fault; 2] = [Fault::DeadSquares, Fault::GapLong];
/// Percent of the offences that are found.
const LEAST_FOUND: f64 = 99.0;

/// One game; what is wrong with it is printed, and kept where `DGT2MQTT_SOAK_DIR` says.
fn game(kind: &GameKind, seed: u64) -> Judgement {
    let (faults, game) = kind.game(seed);
    let play: fn(&mess::SimulatedGame) -> Rehearsed = if kind.on_line { over_line } else { rehearse };
    let told = catch_unwind(AssertUnwindSafe(|| play(&game)));
    let Ok(rehearsal) = told else {
        panic!("{} {seed} ({faults}): the watcher panics", kind.name);
    };
    let size = rehearsal.snapshot;
    assert!(
        size < MOST_SNAPSHOT,
        "{} {seed}: a snapshot of {size} bytes",
        kind.name
    );
    let verdict = Judgement::of(&game.truth, &rehearsal.events);
    if let Some(directory) = env::var_os("DGT2MQTT_SOAK_DIR")
        && (!verdict.faults.is_empty() || env::var_os("DGT2MQTT_SOAK_ALL").is_some())
    {
        let name = PathBuf::from(directory).join(format!("{}-{seed}", kind.name.replace(' ', "-")));
        fs::write(name.with_extension("dgtcap"), rehearsal.capture.to_string()).unwrap();
        fs::write(name.with_extension("txt"), story(&faults, &game, &verdict)).unwrap();
    }
    verdict
}

/// The game on a line with eleven boards on which nothing is played.
fn over_line(game: &mess::SimulatedGame) -> Rehearsed {
    let mut games = vec![game.clone(); 12];
    for idle in &mut games[1..] {
        idle.cues.truncate(2);
    }
    let mut hall = LineRehearsal::of_games(&games, Troubles::default(), 1);
    hall.run(Millis(8 * 3_600_000));
    let seat = &mut hall.seats[0];
    Rehearsed {
        capture: seat.capture(game.header.clone()).unwrap(),
        snapshot: seat.snapshot(),
        events: std::mem::take(&mut seat.events),
        ..Rehearsed::default()
    }
}

/// The truth beside the verdict, to be read.
fn story(faults: &FaultRates, game: &mess::SimulatedGame, verdict: &Judgement) -> String {
    let mut lines = vec![faults.to_string(), String::new()];
    lines.extend(verdict.faults.iter().map(|fault| format!("- {fault}")));
    lines.push(String::new());
    for (ply, made) in (1..).zip(&game.truth.moves) {
        let at = made.at as f64 / 1000.0;
        let known = match made.known {
            Knowable::Fully => String::new(),
            known => format!(" {known:?}"),
        };
        lines.push(format!("{ply} {} {at:.3}{known} {}", made.uci, made.placement));
    }
    lines.extend(game.truth.offences.iter().map(|offence| format!("{offence:?}")));
    lines.push(format!("{:?}\n", game.truth.result));
    lines.join("\n")
}

/// So many games of each kind, on so many threads.
fn soak(kinds: &[GameKind], games: usize, seed: u64, threads: usize) -> Vec<Judgement> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut verdicts = vec![Judgement::default(); kinds.len()];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= games * kinds.len() {
                return verdicts;
            }
            let (index, seed) = (number % kinds.len(), seed + (number / kinds.len()) as u64);
            let mut verdict = game(&kinds[index], seed);
            for fault in &mut verdict.faults {
                *fault = format!("{} {seed}: {fault}", kinds[index].name);
            }
            verdicts[index] += verdict;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![Judgement::default(); kinds.len()];
        for worker in workers {
            for (sum, part) in all.iter_mut().zip(worker.join().unwrap()) {
                *sum += part;
            }
        }
        all
    })
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.2}", 100.0 * part as f64 / whole as f64)
}

fn row(name: &str, v: &Judgement) -> String {
    let per_10k = 1e4 * v.accused_falsely as f64 / v.plies.max(1) as f64;
    let waited = if v.found == 0 {
        "-".to_owned()
    } else {
        format!("{:.1}", v.waited as f64 / 1000.0 / v.found as f64)
    };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} ({per_10k:.1}) | {} of {} | {waited} | {} | {} | {} |",
        v.games,
        v.plies,
        percent(v.right, v.plies),
        percent(v.followed, v.asked),
        percent(v.exact, v.games),
        v.accused_falsely,
        v.found,
        v.offences,
        v.corrections,
        v.results_wrong,
        v.unexplained,
    )
}

fn print(kinds: &[GameKind], verdicts: &[Judgement]) -> Judgement {
    println!(
        "| kind | games | half-moves | right, % | followed, % | games right, % | false (in 10,000) | found | after, s | corrections | \
         results wrong | unexplained |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut all = Judgement::default();
    for (kind, verdict) in kinds.iter().zip(verdicts) {
        println!("{}", row(&kind.name, verdict));
        all += verdict.clone();
    }
    println!("{}", row("**all**", &all));
    for fault in &all.faults {
        println!("{fault}");
    }
    all
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
    )
}

#[test]
fn messy_games_are_followed() {
    let mut kinds = kinds::all();
    if let Some(names) = ["DGT2MQTT_SOAK_KINDS", "DGT2MQTT_SOAK_KIND"]
        .iter()
        .find_map(|name| env::var(name).ok())
    {
        kinds = kinds::chosen(&names).unwrap();
    }
    let games = number("DGT2MQTT_SOAK").map_or(3, |games| (games as usize).div_ceil(kinds.len()));
    let seed = number("DGT2MQTT_SOAK_SEED").unwrap_or(1);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let verdicts = soak(&kinds, games, seed, threads);
    println!(
        "seeds {seed} to {}, {:.0} s",
        seed + games as u64 - 1,
        begin.elapsed().as_secs_f64()
    );
    let all = print(&kinds, &verdicts);
    if kinds.len() > 1 {
        let falsely = 1e4 * all.accused_falsely as f64 / all.plies as f64;
        assert!(
            falsely < MOST_FALSE,
            "{falsely:.1} false accusations in 10,000 half-moves"
        );
        for (kind, verdict) in kinds.iter().zip(&verdicts) {
            // Two in ten thousand half-moves of a kind may be chance: several sets tell more.
            let most = (verdict.plies as f64 * MOST_FALSE / 1e4).max(2.0);
            let Judgement { accused_falsely, .. } = verdict;
            let name = &kind.name;
            assert!(
                *accused_falsely as f64 <= most,
                "{name}: {accused_falsely} false accusations"
            );
        }
        let mut known = Judgement::default();
        for (kind, verdict) in kinds.iter().zip(&verdicts) {
            if !kind.fault.is_some_and(|fault| PARTLY_KNOWN.contains(&fault)) {
                known += verdict.clone();
            }
        }
        let right = 100.0 * known.right as f64 / known.plies as f64;
        assert!(right >= LEAST_RIGHT, "{right:.2} % of the half-moves are right");
        let found = 100.0 * all.found as f64 / all.offences as f64;
        assert!(found >= LEAST_FOUND, "{found:.2} % of the offences are found");
    }
}
