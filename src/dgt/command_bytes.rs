//! A command as it goes over the wire.

/// The bytes of one command, kept in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandBytes {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl CommandBytes {
    /// The longest command: a text of eleven characters for the clock.
    pub(crate) const MAX: usize = 17;

    /// Copies at most [`Self::MAX`] bytes.
    pub(crate) fn of(command: &[u8]) -> Self {
        let len = command.len().min(Self::MAX);
        let mut bytes = [0; Self::MAX];
        bytes[..len].copy_from_slice(&command[..len]);
        Self { bytes, len }
    }
}

impl AsRef<[u8]> for CommandBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl std::ops::Deref for CommandBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_ref()
    }
}
