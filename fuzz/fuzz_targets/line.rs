//! Any bytes at the door `line`: `cargo +nightly fuzz run line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dgt2mqtt::dgt::line::property::fuzz(data));
