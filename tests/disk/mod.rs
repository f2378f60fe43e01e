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

/// An ext4 of its own in a file: what has not been written through is not in the file, as after a power cut.
pub struct ImageDisk {
    image: PathBuf,
    at: PathBuf,
}

impl ImageDisk {
    /// Makes one and mounts it; none, with a message, where that is not allowed.
    pub fn make(image: &Path, at: &Path) -> Option<Self> {
        fs::write(image, vec![0; 16 << 20]).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: mkfs.ext4 is needed");
            return None;
        }
        Self::mount(image, at)
    }

    /// Mounts one; the file system mends itself as after a power cut.
    pub fn mount(image: &Path, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let status = Command::new("mount")
            .args(["-o", "loop"])
            .arg(image)
            .arg(at)
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped: a file system in a file cannot be mounted here (that needs root)");
            return None;
        }
        let (image, at) = (image.to_owned(), at.to_owned());
        Some(Self { image, at })
    }

    /// The file as the power cut leaves it.
    pub fn cut(&self, to: &Path) {
        fs::copy(&self.image, to).unwrap();
    }
}

impl Drop for ImageDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}
