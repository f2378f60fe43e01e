//! Topic names, built from validated parts only.

use crate::config::{BaseTopic, Id};

/// The last values kept for a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named after their topics")]
pub enum BoardState {
    Status,
    Info,
    Position,
    Game,
    Clock,
    Pgn,
}

impl BoardState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Info,
        Self::Position,
        Self::Game,
        Self::Clock,
        Self::Pgn,
    ];

    /// The last level of its topic.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Info => "info",
            Self::Position => "position",
            Self::Game => "game",
            Self::Clock => "clock",
            Self::Pgn => "pgn",
        }
    }
}

/// All topics of one gateway.
#[derive(Clone, Debug)]
pub struct Topics {
    /// `BASE/GW`.
    root: String,
}

impl Topics {
    /// Topics of `gateway` under `base`.
    #[must_use]
    pub fn new(base: &BaseTopic, gateway: &Id) -> Self {
        Self {
            root: format!("{}/{gateway}", base.as_str()),
        }
    }

    /// The topic of birth and will.
    #[must_use]
    pub fn status(&self) -> String {
        format!("{}/status", self.root)
    }

    /// The topic of the version and the boards.
    #[must_use]
    pub fn info(&self) -> String {
        format!("{}/info", self.root)
    }

    /// The topic of the counters.
    #[must_use]
    pub fn health(&self) -> String {
        format!("{}/health", self.root)
    }

    /// A board's last value.
    #[must_use]
    pub fn board_state(&self, board: &Id, state: BoardState) -> String {
        format!("{}/board/{board}/{}", self.root, state.as_str())
    }

    /// A board's event of a type. Both come from the journal, which took them from validated ids.
    #[must_use]
    pub fn event(&self, board: &str, kind: &str) -> String {
        format!("{}/board/{board}/event/{kind}", self.root)
    }

    /// The ceiling of a board's numbers while no disk can be written.
    #[must_use]
    pub fn numbers(&self, board: &str) -> String {
        format!("{}/board/{board}/numbers", self.root)
    }

    /// The topic of the message that the gateway sends to itself, to know that it has heard everything the broker
    /// retained.
    #[must_use]
    pub fn echo(&self) -> String {
        format!("{}/echo", self.root)
    }

    /// The topic on which gateways of one name settle which of them holds it.
    #[must_use]
    pub fn claim(&self) -> String {
        format!("{}/claim", self.root)
    }

    /// Filters of the topics that tell who has our name.
    #[must_use]
    pub fn claim_filters(&self) -> Vec<String> {
        vec![self.status(), self.info(), self.health(), self.claim()]
    }

    /// Filters of the topics that tell what the broker knows of our numbers.
    #[must_use]
    pub fn read_back_filters(&self) -> Vec<String> {
        ["game", "numbers"]
            .map(|state| format!("{}/board/+/{state}", self.root))
            .into()
    }

    /// Board and state of a topic of [`Self::read_back_filters`].
    #[must_use]
    pub fn parse_read_back<'a>(&self, topic: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = topic.strip_prefix(&self.root)?.strip_prefix("/board/")?;
        let (board, state) = rest.split_once('/')?;
        matches!(state, "game" | "numbers").then_some((board, state))
    }

    /// Filters of our own commands.
    #[must_use]
    pub fn command_filters(&self) -> Vec<String> {
        vec![
            format!("{}/cmd/+", self.root),
            format!("{}/board/+/cmd/+", self.root),
        ]
    }

    /// Takes a command's topic apart: board (none for the gateway) and verb. None for any other topic.
    #[must_use]
    pub fn parse_command<'a>(&self, topic: &'a str) -> Option<(Option<&'a str>, &'a str)> {
        let rest = topic.strip_prefix(&self.root)?.strip_prefix('/')?;
        let mut levels = rest.split('/');
        let parsed = match (levels.next()?, levels.next()?, levels.next(), levels.next()) {
            ("cmd", verb, None, None) => (None, verb),
            ("board", board, Some("cmd"), Some(verb)) => (Some(board), verb),
            _ => return None,
        };
        levels.next().is_none().then_some(parsed)
    }

    /// Where the answer to a command goes when the caller named no response topic. `command` is a
    /// topic that [`Self::parse_command`] accepted.
    #[must_use]
    pub fn reply_to(&self, command: &str) -> String {
        let (front, verb) = command.rsplit_once('/').unwrap_or((command, ""));
        let front = front.strip_suffix("cmd").unwrap_or(front);
        format!("{front}reply/{verb}")
    }

    /// True for a topic that a reply may be sent to: concrete, not the broker's own, and among our
    /// own topics only a reply's (a state would be overwritten, a command would come back to us).
    #[must_use]
    pub fn may_answer_to(&self, topic: &str) -> bool {
        let is_concrete = !topic.is_empty() && topic.len() <= 512 && !topic.contains(['+', '#', '\0']);
        let is_ours = topic.starts_with(&format!("{}/", self.root));
        is_concrete && !topic.starts_with('$') && (!is_ours || topic.contains("/reply/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics() -> Topics {
        Topics::new(&"dgt2mqtt".parse().unwrap(), &"hall-1".parse().unwrap())
    }

    #[test]
    fn commands_are_recognised_and_answered_beside_themselves() {
        let topics = topics();
        let board = "dgt2mqtt/hall-1/board/7/cmd/new_game";
        assert_eq!(topics.parse_command(board), Some((Some("7"), "new_game")));
        assert_eq!(topics.reply_to(board), "dgt2mqtt/hall-1/board/7/reply/new_game");
        let gateway = "dgt2mqtt/hall-1/cmd/ping";
        assert_eq!(topics.parse_command(gateway), Some((None, "ping")));
        assert_eq!(topics.reply_to(gateway), "dgt2mqtt/hall-1/reply/ping");
        for other in [
            "dgt2mqtt/hall-1",
            "dgt2mqtt/hall-1/cmd",
            "dgt2mqtt/hall-1/cmd/a/b",
            "dgt2mqtt/hall-1/board/7/cmd",
            "dgt2mqtt/hall-1/board/7/cmd/a/b",
            "dgt2mqtt/hall-10/cmd/ping",
            "other/hall-1/cmd/ping",
        ] {
            assert_eq!(topics.parse_command(other), None, "{other}");
        }
    }

    #[test]
    fn replies_go_to_concrete_foreign_topics_only() {
        let topics = topics();
        assert!(topics.may_answer_to("arbiter/inbox"));
        assert!(topics.may_answer_to("dgt2mqtt/hall-1/board/7/reply/new_game"));
        for bad in [
            "",
            "a/+",
            "#",
            "$SYS/x",
            "dgt2mqtt/hall-1/cmd/ping",
            "dgt2mqtt/hall-1/status",
        ] {
            assert!(!topics.may_answer_to(bad), "{bad:?}");
        }
    }
}
