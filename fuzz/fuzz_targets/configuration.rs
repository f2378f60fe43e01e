//! Any bytes at the door `configuration`: `cargo +nightly fuzz run configuration`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::configuration(data));
