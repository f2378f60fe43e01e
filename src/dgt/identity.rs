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

    /// The serial numbers that are known: a newer board has a short one and a long one.
    pub fn serials(&self) -> impl Iterator<Item = &str> {
        [&self.short_serial, &self.long_serial]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// True where `other` is another board: both tell a number of the same kind, and not the same one. The long ones decide where both
    /// are known.
    #[must_use]
    pub fn is_of_another(&self, other: &Self) -> bool {
        let long = self.long_serial.as_ref().zip(other.long_serial.as_ref());
        let short = self.short_serial.as_ref().zip(other.short_serial.as_ref());
        long.or(short).is_some_and(|(one, other)| one != other)
    }

    /// Takes one of the board's serial numbers.
    pub fn learn_serial(&mut self, serial: &str) {
        let slot = if serial.len() > 5 {
            &mut self.long_serial
        } else {
            &mut self.short_serial
        };
        *slot = Some(serial.to_owned());
    }
}
