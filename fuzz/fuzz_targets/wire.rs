//! Any bytes at the decoders, both directions and both dialects: `cargo +nightly fuzz run wire`.
#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::wire(data));
