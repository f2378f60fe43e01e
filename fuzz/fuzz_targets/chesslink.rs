//! Any bytes at the door `chesslink`: `cargo +nightly fuzz run chesslink`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::chesslink(data));
