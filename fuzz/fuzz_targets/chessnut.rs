//! Any bytes at the door `chessnut`: `cargo +nightly fuzz run chessnut`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dgt2mqtt::families::chessnut::property::fuzz(data));
