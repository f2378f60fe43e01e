//! Any bytes at the decoders, both directions and both dialects: `cargo +nightly fuzz run wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dgt2mqtt::dgt::property::fuzz_wire(data));
