//! A wall clock that is off, by libfaketime.
#![allow(dead_code)] // shared by several test programs.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Where Debian puts the library that lies about the time; `DGT2MQTT_FAKETIME` says where else it is.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// The library; none, with a message, where it is not installed.
pub fn library() -> Option<PathBuf> {
    let library = std::env::var_os("DGT2MQTT_FAKETIME").unwrap_or_else(|| LIBRARY.into());
    let library = PathBuf::from(library);
    if !Path::new(&library).exists() {
        skipped!("needs libfaketime (apt-get install libfaketime)");
        return None;
    }
    Some(library)
}

/// Has the program of `command` see another wall clock, by `FAKETIME` or by a file of `FAKETIME_TIMESTAMP_FILE`. What it measures
/// stays right.
pub fn lies(command: &mut Command, library: &Path) {
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
}
