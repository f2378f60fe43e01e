//! Any bytes at the door `capture`: `cargo +nightly fuzz run capture`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::capture(data));
