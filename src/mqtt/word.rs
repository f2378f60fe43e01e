//! What gateways of one name say to each other.

use serde::{Deserialize, Serialize};

use crate::throttle::shortened;

/// The longest identity that is taken, in bytes: ours have 36.
const MOST_IDENTITY: usize = 64;
/// How much of a machine's name is kept, in characters: Linux has no longer ones.
const MOST_HOST: usize = 64;

/// A question for the holder of the name, or the holder's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Word {
    /// The boot id of the gateway that speaks.
    pub(super) boot: String,
    /// The machine of the gateway that speaks.
    pub(super) host: String,
    /// True where it holds the name, false where it asks for the holder.
    pub(super) holds: bool,
    /// The identity of its journal; none where the program is too old to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) journal: Option<String>,
}

impl Word {
    /// The word in a message, if it may be one of a gateway. Its texts go into the log and into `health`, and whoever may
    /// write to the broker chooses them: so they are short.
    pub(super) fn heard(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(payload).ok()?.bounded()
    }

    /// The same with short texts; none where an identity is too long for one.
    pub(super) fn bounded(mut self) -> Option<Self> {
        let mut identities = std::iter::once(&self.boot).chain(&self.journal);
        if identities.any(|identity| identity.len() > MOST_IDENTITY) {
            return None;
        }
        self.host = shortened(&self.host.replace(char::is_control, "?"), MOST_HOST);
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(boot: &str, host: &str, journal: &str) -> Option<Word> {
        let word = serde_json::json!({"boot": boot, "host": host, "holds": true, "journal": journal});
        Word::heard(&serde_json::to_vec(&word).unwrap())
    }

    #[test]
    fn the_texts_of_a_word_are_short() {
        let long = "x".repeat(100_000);
        let [most, host] = [MOST_IDENTITY, MOST_HOST].map(|most| "x".repeat(most));
        assert_eq!(heard(&most, &host, &most).unwrap().host, host);
        let word = heard("a", &long, "j").unwrap();
        assert_eq!(word.host, format!("{host}... (100000 bytes)"));
        assert_eq!(
            heard("a", "one\nERROR forged", "j").unwrap().host,
            "one?ERROR forged"
        );
        assert!(heard(&long, "one", "j").is_none());
        assert!(heard("a", "one", &long).is_none());
    }
}
