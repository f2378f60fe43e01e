//! Any bytes at the door `chesslink`: `cargo +nightly fuzz run chesslink`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dgt2mqtt::families::chesslink::property::fuzz(data));
