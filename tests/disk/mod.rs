//! A disk for tests that can be full.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::disallowed_methods)] // shared by several test programs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A small file system of its own; gone with the value.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it on `folder`; none, with a message, where that is not allowed.
    pub fn mount(folder: &Path) -> Option<Self> {
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped: a small file system cannot be mounted here (that needs root)");
            return None;
        }
        Some(Self(folder.to_owned()))
    }

    /// Makes room.
    pub fn grow(&self) {
        let status = Command::new("mount")
            .args(["-o", "remount,size=8m"])
            .arg(&self.0)
            .status();
        assert!(status.unwrap().success());
    }

    /// Leaves no room for anything.
    pub fn fill(&self) {
        let full = fs::write(self.0.join("ballast"), vec![0; 1 << 20]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
