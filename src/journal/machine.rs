//! Which run of the machine this is.

use std::fs;

/// What tells this run of the machine from any other; none where the system does not say.
#[must_use]
pub(crate) fn run_of_machine() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}
