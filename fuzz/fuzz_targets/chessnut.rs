//! Any bytes at the door `chessnut`: `cargo +nightly fuzz run chessnut`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::chessnut(data));
