//! Any bytes at the door `fen`: `cargo +nightly fuzz run fen`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::fen(data));
