//! Any bytes at the door `command`: `cargo +nightly fuzz run command`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::message(data));
