//! What processes cost, from the system's books.

use std::fs;

/// Ticks of a processor's clock in a second, as Linux counts for programs.
const TICKS: f64 = 100.0;

/// What some processes took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Seconds of a processor since they began.
    pub cpu: f64,
    /// Resident memory in MB, now.
    pub memory: f64,
}

/// What these processes and their children took.
pub fn cost(processes: &[u32]) -> Cost {
    let mut all = Cost::default();
    for process in family(processes) {
        let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else {
            continue;
        };
        // After the name, which may have anything in it.
        let Some((_, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let field = |n: usize| {
            rest.split(' ')
                .nth(n)
                .and_then(|text| text.parse::<f64>().ok())
                .unwrap_or(0.0)
        };
        all.cpu += (field(11) + field(12)) / TICKS;
        all.memory += field(21) * 4096.0 / 1e6;
    }
    all
}

fn family(processes: &[u32]) -> Vec<u32> {
    let mut all = processes.to_vec();
    let mut next = 0;
    while let Some(process) = all.get(next).copied() {
        next += 1;
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        all.extend(
            children
                .unwrap_or_default()
                .split_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
    }
    all
}
