//! Notes which board has which port, so that no two boards are read from one.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// The ports in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports(Arc<Mutex<BTreeMap<String, String>>>);

/// The claim of a board to a port, as long as this lives.
#[derive(Debug)]
pub(super) struct PortClaim {
    ports: Ports,
    device: String,
}

impl Ports {
    /// Claims the port for `board`. Links are followed, because two names of one device are one port.
    ///
    /// # Errors
    /// The board that has the port.
    pub(super) fn claim(&self, name: &str, board: &str) -> Result<PortClaim, String> {
        let device = match Path::new(name).canonicalize() {
            Ok(path) => path.to_string_lossy().into_owned(),
            // The name is no file but a network address.
            Err(_) => name.to_owned(),
        };
        let mut ports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ports.get(&device) {
            Some(other) if other != board => Err(other.clone()),
            _ => {
                ports.insert(device.clone(), board.to_owned());
                Ok(PortClaim {
                    ports: self.clone(),
                    device,
                })
            }
        }
    }
}

impl Drop for PortClaim {
    fn drop(&mut self) {
        self.ports
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.device);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_one_device_are_one_port() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("ttyUSB0");
        let link = folder.path().join("by-id");
        std::fs::write(&device, "").unwrap();
        std::os::unix::fs::symlink(&device, &link).unwrap();
        let ports = Ports::default();
        let claim = ports.claim(device.to_str().unwrap(), "7").unwrap();
        assert_eq!(ports.claim(link.to_str().unwrap(), "8").unwrap_err(), "7");
        drop(claim);
        assert!(ports.claim(link.to_str().unwrap(), "8").is_ok());
    }
}
