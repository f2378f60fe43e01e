//! What a gateway tells the local network of itself. Everybody there can read it, so nothing of it is secret.

use crate::config::{BaseTopic, BrokerUrl, Config, Id};

/// The longest value that is told or believed, in bytes. With its key it fits the 255 bytes that DNS-SD has for a pair.
const MOST: usize = 200;

/// What a gateway tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    /// Its name.
    pub(crate) name: Id,
    /// First levels of its topics.
    pub(crate) base_topic: BaseTopic,
    /// Version of the program.
    pub(crate) version: String,
    /// How many boards it is configured for.
    pub(crate) boards: u32,
    /// The first address of its broker, which has no user and no password in it; none if it is too long to be told.
    pub(crate) broker: Option<BrokerUrl>,
    /// The name of its machine, without the domain.
    pub(crate) machine: String,
}

impl Announcement {
    /// What the gateway of `config` tells; none where it is to tell nothing.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let machine = machine.split('.').next().unwrap_or_default();
        config.announce.then(|| Self {
            name: config.gateway.clone(),
            base_topic: config.base_topic.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            boards: u32::try_from(config.boards.len()).unwrap_or(u32::MAX),
            broker: config
                .broker
                .urls
                .first()
                .filter(|url| is_fit(&url.to_string()))
                .cloned(),
            machine: if is_word(machine) {
                machine.to_owned()
            } else {
                "unknown".to_owned()
            },
        })
    }

    /// The pairs of the announcement.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![
            ("v", "1".to_owned()),
            ("name", self.name.to_string()),
            ("base", self.base_topic.to_string()),
            ("version", self.version.clone()),
            ("boards", self.boards.to_string()),
            ("machine", self.machine.clone()),
        ];
        pairs.retain(|(_, value)| value.len() <= MOST);
        pairs.extend(self.broker.as_ref().map(|url| ("broker", url.to_string())));
        pairs
    }

    /// Reads the pairs that somebody announced. None unless each has the form that a gateway gives it, so that nothing
    /// else reaches a terminal or a program.
    pub(super) fn read<'p>(pair: impl Fn(&str) -> Option<&'p str>) -> Option<Self> {
        let value = |key: &str| pair(key).filter(|value| is_fit(value));
        let broker = match pair("broker") {
            Some(_) => Some(value("broker")?.parse().ok()?),
            None => None,
        };
        Some(Self {
            name: value("name")?.parse().ok()?,
            base_topic: value("base")?.parse().ok()?,
            version: value("version").filter(|version| is_word(version))?.to_owned(),
            boards: value("boards")?.parse().ok()?,
            broker,
            machine: value("machine").filter(|machine| is_word(machine))?.to_owned(),
        })
    }
}

/// True for a text of printable ASCII without blanks that is not too long.
fn is_fit(text: &str) -> bool {
    text.len() <= MOST && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// True for a text as names of machines and versions are.
fn is_word(text: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._+~-".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_of_word)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::*;
    use crate::config::Env;

    fn announced(more: &str) -> Option<Announcement> {
        let text = format!(
            "[gateway]\nname = \"row-1\"\n{more}\n[broker]\nurls = [\"mqtt://[fd00::2]\"]\n[[board]]\nid = \"1\"\nport = \"usb:1\"\n"
        );
        let env = Env::from([
            ("HOME", "/home/anna"),
            ("DGT2MQTT__BROKER__USERNAME", "anna"),
            ("DGT2MQTT__BROKER__PASSWORD", "hunter2"),
            ("DGT2MQTT__BROKER__PASSWORD_IN_CLEAR", "true"),
        ]);
        Announcement::of(&Config::from_text(&text, Path::new("t.toml"), &env).unwrap())
    }

    #[test]
    fn nothing_is_told_unless_it_is_wanted_and_then_nothing_secret() {
        assert_eq!(announced(""), None);
        let pairs = announced("announce = true").unwrap().pairs();
        let text = format!("{pairs:?}");
        assert!(text.contains("mqtt://[fd00::2]:1883"), "{text}");
        assert!(!text.contains("anna") && !text.contains("hunter"), "{text}");
    }

    #[test]
    fn what_is_told_is_read_again_and_what_has_another_form_is_not() {
        let told = announced("announce = true").unwrap();
        let pairs: BTreeMap<_, _> = told.pairs().into_iter().collect();
        let read =
            |pairs: &BTreeMap<&str, String>| Announcement::read(|key| pairs.get(key).map(String::as_str));
        assert_eq!(read(&pairs), Some(told));
        let without_broker: BTreeMap<_, _> = pairs
            .clone()
            .into_iter()
            .filter(|(key, _)| *key != "broker")
            .collect();
        assert!(read(&without_broker).is_some());
        for (key, hostile) in [
            ("name", "row-1\u{1b}[2J"),
            ("name", "Row 1"),
            ("base", "a/#"),
            ("version", "1.0\u{7}"),
            ("version", ""),
            ("boards", "-1"),
            ("boards", "99999999999"),
            ("broker", "mqtt://anna:hunter2@host"),
            ("broker", "mqtt://ho\u{1b}st"),
            ("broker", "http://host"),
            ("machine", "\u{202e}evil"),
            ("machine", &"x".repeat(65)),
        ] {
            let mut hostile_pairs = pairs.clone();
            hostile_pairs.insert(key, hostile.to_owned());
            assert_eq!(read(&hostile_pairs), None, "{key} {hostile:?}");
        }
    }
}
