//! What a board has told of itself.

/// What a board has told of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    short_serial: Option<String>,
    long_serial: Option<String>,
    /// Firmware version, main and sub.
    pub firmware: Option<(u8, u8)>,
}

impl Identity {
    /// The serial number: the long one where the board has both.
    #[must_use]
    pub fn serial(&self) -> Option<&str> {
        self.long_serial.as_deref().or(self.short_serial.as_deref())
    }

    /// Takes one of the board's serial numbers.
    pub(super) fn learn_serial(&mut self, serial: &str) {
        let slot = if serial.len() > 5 {
            &mut self.long_serial
        } else {
            &mut self.short_serial
        };
        *slot = Some(serial.to_owned());
    }
}
