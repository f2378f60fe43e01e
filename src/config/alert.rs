//! Notices pushed to phones: to which places, and of what.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
};

use serde::Deserialize;
use toml::Spanned;

use super::{
    Secret,
    checked::{readable, secret_file},
    host::is_this_machine,
    read::Document,
};
use crate::{event::Certainty, laws::IrregularityKind};

/// How many places the configuration may name.
const MAX_ALERTS: usize = 16;
/// Types of events besides irregularities that may be pushed.
const OTHER_KINDS: [&str; 2] = ["notice", "board_disconnected"];

/// The form in which a place gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertForm {
    /// JSON with title, text and the whole event.
    Webhook,
    /// The form of ntfy.
    Ntfy,
}

/// A language of messages and of the texts in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Russian.
    Ru,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::En, Self::Ru];

    /// Its name in payloads.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Ru => "ru",
        }
    }

    /// The word for a board.
    #[must_use]
    pub fn board(self) -> &'static str {
        match self {
            Self::En => "Board",
            Self::Ru => "Доска",
        }
    }

    /// The words on a board that does not answer any more.
    #[must_use]
    pub fn away(self) -> &'static str {
        match self {
            Self::En => "it does not answer",
            Self::Ru => "не отвечает",
        }
    }

    /// The word before the title of an irregularity that is off.
    #[must_use]
    pub fn off(self) -> &'static str {
        match self {
            Self::En => "Off",
            Self::Ru => "Снято",
        }
    }

    /// The word before the title of an irregularity that counts again.
    #[must_use]
    pub fn again(self) -> &'static str {
        match self {
            Self::En => "Again",
            Self::Ru => "Снова",
        }
    }

    /// The words before the title of an irregularity whose penalty is another.
    #[must_use]
    pub fn other_penalty(self) -> &'static str {
        match self {
            Self::En => "Other penalty",
            Self::Ru => "Другое наказание",
        }
    }

    /// The words on an irregularity that a person dismissed.
    #[must_use]
    pub fn dismissed(self) -> &'static str {
        match self {
            Self::En => "It was dismissed: it does not count.",
            Self::Ru => "Нарушение отклонено: оно не засчитывается.",
        }
    }

    /// The word before the title of an irregularity that what followed has overtaken.
    #[must_use]
    pub fn overtaken(self) -> &'static str {
        match self {
            Self::En => "Overtaken",
            Self::Ru => "Неактуально",
        }
    }

    /// The words on such an irregularity.
    #[must_use]
    pub fn may_count(self) -> &'static str {
        match self {
            Self::En => "What followed at the board has overtaken it. It may still count.",
            Self::Ru => {
                "Дальнейшие события на доске сделали сообщение неактуальным. Нарушение может засчитываться."
            }
        }
    }

    /// The words on an irregularity whose end was taken back.
    #[must_use]
    pub fn reopened(self) -> &'static str {
        match self {
            Self::En => "It is not off after all: that was taken back.",
            Self::Ru => "Снятие отменено: нарушение остаётся в силе.",
        }
    }

    /// A person's name after a sentence.
    #[must_use]
    pub fn by(self, name: &str) -> String {
        match self {
            Self::En => format!(" By {name}."),
            Self::Ru => format!(" Кем: {name}."),
        }
    }
}

/// A place that gets messages, and what they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertConfig {
    /// How a message is written.
    pub form: AlertForm,
    /// `http://` or `https://`, host and perhaps port.
    pub server: String,
    /// The rest of the address, from its first `/` on.
    pub path: String,
    /// The token that the server asks for.
    pub token: Option<Secret>,
    /// PEM file with the authorities that may have signed the server's certificate; none for this system's own.
    pub ca_file: Option<PathBuf>,
    /// The least certainty of an irregularity that is pushed.
    pub certainty: Certainty,
    /// The kinds that are pushed; all of them when empty.
    pub kinds: Vec<String>,
    /// The language of the messages.
    pub language: Language,
}

impl AlertConfig {
    /// True where events of this kind are pushed.
    #[must_use]
    pub fn wants(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind)
    }

    /// A name for the place that is the same at each start and does not give its address away.
    #[must_use]
    pub fn key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.server, &self.path).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawAlert {
    form: Option<AlertForm>,
    url: Option<Spanned<String>>,
    token_file: Option<Spanned<PathBuf>>,
    ca_file: Option<Spanned<PathBuf>>,
    certainty: Option<Certainty>,
    kinds: Vec<Spanned<String>>,
    language: Language,
}

/// The places to push to; every problem is noted in `document`.
pub(super) fn alerts(raw: &[Spanned<RawAlert>], document: &mut Document<'_>) -> Option<Vec<AlertConfig>> {
    if let Some(one) = raw.get(MAX_ALERTS) {
        let help = format!("{MAX_ALERTS} are possible; ntfy tells as many phones as have its topic");
        document.problem(one.span(), "there are too many places to tell", help);
        return None;
    }
    let mut alerts: Vec<AlertConfig> = Vec::new();
    for one in raw {
        let alert = alert(one, document)?;
        if alerts.iter().any(|other| other.key() == alert.key()) {
            let help = "name all `kinds` in one table, and the lower `certainty`";
            document.problem(
                one.span(),
                "this address is told already by another [[alert]]",
                help,
            );
            return None;
        }
        alerts.push(alert);
    }
    Some(alerts)
}

fn alert(raw: &Spanned<RawAlert>, document: &mut Document<'_>) -> Option<AlertConfig> {
    let span = raw.span();
    let raw = raw.get_ref();
    let (Some(form), Some(url)) = (raw.form, &raw.url) else {
        document.missing(
            Some(span),
            "an alert needs `form` and `url`",
            "`form` is \"ntfy\" or \"webhook\", `url` the address to which messages go: \"https://ntfy.sh/TOPIC\"",
        );
        return None;
    };
    let (server, path) = address(form, url, raw.token_file.is_some(), document)?;
    for kind in &raw.kinds {
        let name = kind.get_ref().as_str();
        let is_known = IrregularityKind::ALL.iter().any(|known| known.as_str() == name);
        if !is_known && !OTHER_KINDS.contains(&name) {
            let help =
                "write kinds of irregularities as in docs/laws.md, \"notice\" or \"board_disconnected\"";
            document.problem(
                kind.span(),
                format!("{name:?} is nothing that could be told"),
                help,
            );
            return None;
        }
    }
    let ca_file = match &raw.ca_file {
        Some(file) => Some(readable(file, document)?),
        None => None,
    };
    let token = match &raw.token_file {
        Some(file) => Some(secret_file(file, document)?),
        None => None,
    };
    Some(AlertConfig {
        form,
        server,
        path,
        token,
        ca_file,
        certainty: raw.certainty.unwrap_or(Certainty::Probable),
        kinds: raw.kinds.iter().map(|kind| kind.get_ref().clone()).collect(),
        language: raw.language,
    })
}

/// The server, and the path behind it.
fn address(
    form: AlertForm,
    url: &Spanned<String>,
    has_token: bool,
    document: &mut Document<'_>,
) -> Option<(String, String)> {
    let text = url.get_ref().as_str();
    let split = text
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].contains(scheme));
    let (scheme, rest) = split.unwrap_or(("", text));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let topic = path.trim_start_matches('/');
    let is_address = !scheme.is_empty()
        && !host.is_empty()
        && !host.contains(['@', ' ', '?', '#', '\\'])
        && path.is_ascii();
    // The address may be as good as a password, so the message does not repeat it.
    if !is_address
        || path.contains([' ', '#'])
        || form == AlertForm::Ntfy && (topic.is_empty() || topic.ends_with('/'))
    {
        document.problem(
            url.span(),
            "this is no address to which messages can go",
            "write \"https://ntfy.sh/TOPIC\", or that of your webhook; no user, no password",
        );
        return None;
    }
    // Without encryption the token is open to whoever listens on the network.
    if has_token && scheme == "http" && !is_this_machine(host) {
        document.problem(
            url.span(),
            "the token would go there unencrypted, for anybody on the network to read",
            "write \"https://...\"; \"http://\" with a token is for this machine only",
        );
        return None;
    }
    let path = if path.is_empty() { "/" } else { path };
    Some((format!("{scheme}://{host}"), path.to_owned()))
}
