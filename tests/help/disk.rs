//! A disk for tests that can be full.
#![allow(dead_code)] // shared by several test programs.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// A small file system of its own; gone with the value.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it on `folder`; none, with a message, where that is not allowed.
    pub fn mount(folder: &Path) -> Option<Self> {
        Self::sized(folder, "600k")
    }

    /// The same of another size, as `mount` takes it.
    pub fn sized(folder: &Path, size: &str) -> Option<Self> {
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            skipped!("a small file system cannot be mounted here (that needs root)");
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
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        let full = loop {
            if let Err(error) = ballast.write_all(&[0; 1 << 16]) {
                break error;
            }
        };
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }

    /// Makes the room again that it took.
    pub fn clear(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
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
    /// Makes one of 16 MiB and mounts it; none, with a message, where that is not allowed.
    pub fn make(image: &Path, at: &Path) -> Option<Self> {
        Self::make_of(16, image, at)
    }

    /// The same of another size, in MiB.
    pub fn make_of(mib: usize, image: &Path, at: &Path) -> Option<Self> {
        fs::write(image, vec![0; mib << 20]).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image).status();
        if !made.is_ok_and(|status| status.success()) {
            skipped!("mkfs.ext4 is needed");
            return None;
        }
        Self::mount(image, at)
    }

    /// Mounts one; the file system mends itself as after a power cut.
    pub fn mount(image: &Path, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let status = Command::new("mount")
            .args(["-o", "loop,errors=remount-ro"])
            .arg(image)
            .arg(at)
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            skipped!("a file system in a file cannot be mounted here (that needs root)");
            return None;
        }
        let (image, at) = (image.to_owned(), at.to_owned());
        Some(Self { image, at })
    }

    /// An error of the device: the file system takes no writes any more, as on a dying card.
    pub fn fail(&self) {
        let found = Command::new("findmnt")
            .args(["-n", "-o", "SOURCE"])
            .arg(&self.at)
            .output()
            .unwrap();
        let device = String::from_utf8(found.stdout).unwrap();
        let device = device.trim().rsplit('/').next().unwrap().to_owned();
        fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "test").unwrap();
        while fs::write(self.at.join("trial"), "").is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The same while `process` stands still. From the error until it takes no writes, which is a quarter of a second where the machine
    /// is busy, ext4 says of some writes that it has kept them, and it has not.
    pub fn fail_unseen_by(&self, process: u32) {
        let signal = |name: &str| {
            let sent = Command::new("kill").args([name, &process.to_string()]).status();
            assert!(sent.unwrap().success());
        };
        signal("-STOP");
        // A thread that waits for the disk is stopped only once the disk has answered.
        while !is_stopped(process) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.fail();
        signal("-CONT");
    }

    /// Checks and mounts it again, where nobody uses it any more.
    pub fn repair(self) -> Self {
        let (image, at) = (self.image.clone(), self.at.clone());
        self.unmount();
        drop(self);
        // It says by its exit status that it mended something.
        let _ = Command::new("fsck.ext4")
            .arg("-y")
            .arg(&image)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        Self::mount(&image, &at).unwrap()
    }

    /// Waits until nothing of it is mounted: two mounts of one image spoil each other.
    fn unmount(&self) {
        let is_mounted = || {
            let _ = Command::new("umount")
                .arg(&self.at)
                .stderr(Stdio::null())
                .status();
            let devices = Command::new("losetup").arg("-j").arg(&self.image).output();
            !devices.unwrap().stdout.is_empty()
        };
        let mut left = 200;
        while is_mounted() {
            left -= 1;
            assert!(left > 0, "{} stays mounted", self.at.display());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What is mounted already, where nobody has a file open for writing, takes no writes or does again.
    pub fn set_read_only(&self, read_only: bool) {
        let option = if read_only { "remount,ro" } else { "remount,rw" };
        let remounted = || {
            let status = Command::new("mount").args(["-o", option]).arg(&self.at).status();
            status.unwrap().success()
        };
        // A program that another test starts just now has our files open until it is another one.
        let is_done = (0..40).any(|_| {
            let is_done = remounted();
            if !is_done {
                std::thread::sleep(Duration::from_millis(50));
            }
            is_done
        });
        assert!(is_done, "{} cannot be remounted", self.at.display());
    }

    /// The file as the power cut leaves it: as it was at one instant, which it was if it is the same when it is read again.
    pub fn cut(&self, to: &Path) {
        let mut before = fs::read(&self.image).unwrap();
        loop {
            let now = fs::read(&self.image).unwrap();
            if now == before {
                return fs::write(to, now).unwrap();
            }
            before = now;
        }
    }
}

/// True when all threads of `process` stand still.
fn is_stopped(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let is_stopped = |stat: String| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'));
    threads
        .flatten()
        .all(|thread| fs::read_to_string(thread.path().join("stat")).is_ok_and(is_stopped))
}

impl Drop for ImageDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}
