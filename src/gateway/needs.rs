//! How many files and sockets a gateway opens, for the message that they run out.

use crate::{broadcast, config::Config};

/// What a gateway without boards needs. Nineteen stay open: the journal, the broker, the log, the runtime. Each of eight answers to
/// `history` reads two files, and the others are open for a moment.
const ALONE: usize = 40;
/// The listener of the figures, and who reads them.
const METRICS: usize = 4;

/// About how many files and sockets the gateway has open at most.
pub(super) fn descriptors(config: &Config) -> usize {
    let boards = config.boards.len();
    let captures = if config.journal.captures { boards } else { 0 };
    let metrics = config.metrics.map_or(0, |_| METRICS);
    let broadcast = config.broadcast.as_ref().map_or(0, broadcast::descriptors);
    ALONE + boards + captures + config.searched.len() + config.alerts.len() + metrics + broadcast
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{config::Env, door::ROOM};

    fn needed(text: &str) -> usize {
        let boards = "[[board]]\nid = \"1\"\nport = \"tcp://127.0.0.1:2000\"\n[[board]]\nid = \"2\"\nport = \"tcp://127.0.0.1:2001\"\n";
        let text = format!("[gateway]\nname = \"hall\"\n[journal]\npath = \"j.sqlite\"\n{text}\n{boards}");
        let path = Path::new("dgt2mqtt.toml");
        descriptors(&Config::from_text(&text, path, &Env::default()).unwrap())
    }

    #[test]
    fn what_is_configured_counts() {
        assert_eq!(needed(""), 42);
        assert_eq!(needed("captures = true"), 44);
        assert_eq!(needed("[metrics]\nlisten = \"127.0.0.1:9469\""), 46);
        assert_eq!(needed("[broadcast]\nfolder = \"public\""), 44);
        let with_view = needed("[broadcast]\nfolder = \"public\"\nlisten = \"127.0.0.1:8065\"");
        assert_eq!(with_view, 45 + ROOM);
    }
}
