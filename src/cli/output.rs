//! Files that commands write whole, under another name first.

use std::{fs, path::Path};

use anyhow::bail;

/// Refuses a place at which something lies that no file may replace: a folder, a device, a pipe. The superuser would
/// otherwise put a file in the place of `/dev/null`, for all programs of the machine.
///
/// # Errors
/// What lies there.
pub(super) fn replaceable(path: &Path) -> anyhow::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        bail!(
            "{} is no plain file (a folder, a device or a pipe), and nothing is put in its place: name a new file",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        replaceable(&file).unwrap();
        fs::write(&file, "a").unwrap();
        replaceable(&file).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        for wrong in [Path::new("/dev/full"), &link, folder.path()] {
            let refused = replaceable(wrong).unwrap_err().to_string();
            assert!(refused.contains("name a new file"), "{refused}");
        }
    }
}
