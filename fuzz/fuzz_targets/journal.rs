//! Any bytes at the door `journal`: `cargo +nightly fuzz run journal`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::journal(data));
