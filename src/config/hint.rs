//! Guesses what a person meant by a value that cannot be, and says how the file wants it written.

use std::ops::Range;

use crate::game::periods;

/// Quotation marks of word processors, which TOML does not know.
const CURLY: [char; 6] = ['“', '”', '„', '‘', '’', '‚'];
/// A space at which no line is broken, as texts on web pages have it.
const HARD_SPACE: char = '\u{a0}';

/// What to write instead of the value at `span`, of which the TOML library says `message`.
pub(super) fn instead(text: &str, span: &Range<usize>, message: &str) -> Option<String> {
    let written = text.get(span.clone())?.trim();
    if message.ends_with("expected a sequence") {
        return table_once(text, span)
            .or_else(|| in_list(text, span, written))
            .map(|right| format!("write {right}"));
    }
    let number = written.trim_matches(['"', '\'']);
    let wants_number = ["expected u16", "expected u32", "expected u64", "expected i64"]
        .iter()
        .any(|wanted| message.ends_with(wanted));
    let is_quoted = number.len() < written.len() && number.parse::<u64>().is_ok();
    (wants_number && is_quoted).then(|| format!("write it without quotes: {number}"))
}

/// True where a key of `[event]` is unknown because it belongs to `[broadcast]`, as the name of the event does, which
/// the Laws do not need.
pub(super) fn is_of_broadcast(key: &str, known: &[&str]) -> bool {
    let is_event = known.contains(&"contested") && !known.contains(&"port");
    is_event && ["name", "site", "round", "rounds", "pairings"].contains(&key)
}

/// The hint for `[board]` where `[[board]]` is wanted.
fn table_once(text: &str, span: &Range<usize>) -> Option<String> {
    let line = line_at(text, span.start).trim();
    let name = line.strip_prefix('[')?.split(']').next()?;
    (!name.starts_with('[')).then(|| format!("[[{name}]] with two brackets, once for each"))
}

/// The hint for a single text where a list is wanted.
fn in_list(text: &str, span: &Range<usize>, written: &str) -> Option<String> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    let key = line_at(text, span.start).split('=').next()?.trim();
    if key != "periods" {
        // The address of a broker may have a password.
        let shown = if written.contains('@') { "\"...\"" } else { written };
        return Some(format!("a list: {key} = [{shown}]"));
    }
    let periods = periods::parse(inner).ok()?;
    let tables = periods.iter().map(|period| {
        let moves = period
            .moves
            .map_or_else(String::new, |moves| format!("moves = {moves}, "));
        format!(
            "{{ {moves}minutes = {}, increment = {} }}",
            period.minutes, period.increment
        )
    });
    Some(format!("periods = [{}]", tables.collect::<Vec<_>>().join(", ")))
}

/// The hint on text that is no TOML, if the line shows what was meant; `message` is that of the TOML library.
pub(super) fn of_line(text: &str, span: &Range<usize>, message: &str) -> Option<String> {
    let line = without_secrets(line_at(text, span.start).trim());
    let line = line.as_str();
    if message == "duplicate key" {
        return Some(format!(
            "`{line}` stands in the file before: bring both together in one place"
        ));
    }
    let straight = line.replace(CURLY, "\"").replace(HARD_SPACE, " ");
    if line.contains(CURLY) {
        return Some(format!("write straight quotes: {straight}"));
    }
    if line.contains(HARD_SPACE) {
        return Some(format!(
            "there are spaces in it that are none, as web pages have them; write: {straight}"
        ));
    }
    let (key, value) = line
        .split_once(['=', ':'])
        .map(|(key, value)| (key.trim(), value.trim()))?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_quoted = value.starts_with(['"', '\'', '[', '{']);
    let is_bare = value.parse::<f64>().is_ok() || value == "true" || value == "false";
    let right = match value.matches('"').count() {
        1 if value.starts_with('"') => format!("{value}\""),
        0 if !is_quoted && !is_bare => format!("\"{value}\""),
        _ => value.to_owned(),
    };
    let is_plain = is_key && !value.is_empty() && !value.contains(['#', '\\']);
    let meant = format!("{key} = {right}");
    (is_plain && meant != line).then(|| format!("write: {meant}"))
}

/// The line, with dots for all of its value if a secret may be in there: messages go into logs, and into reports that people
/// send.
fn without_secrets(line: &str) -> String {
    if !has_secret(line) {
        return line.to_owned();
    }
    let name = line.split_once(['=', ':']).map(|(name, _)| name.trim());
    let is_name = |name: &&str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    name.filter(is_name)
        .map_or_else(|| "...".to_owned(), |name| format!("{name} = ..."))
}

/// True where a secret may stand in the line.
fn has_secret(line: &str) -> bool {
    const SECRET: [&str; 5] = ["password", "token", "secret", "key", "://"];
    let lower = line.to_ascii_lowercase();
    SECRET.iter().any(|secret| lower.contains(secret))
}

/// The same of the line in which `span` begins.
pub(super) fn may_be_secret(text: &str, span: &Range<usize>) -> bool {
    has_secret(line_at(text, span.start))
}

/// The message of the TOML library without the value of which it complains.
pub(super) fn without_value(message: &str) -> String {
    let cut = || {
        let (found, expected) = message.rsplit_once(", expected")?;
        let (kind, _) = found.split_once(['"', '`'])?;
        Some(format!("{kind}..., expected{expected}"))
    };
    cut().unwrap_or_else(|| message.to_owned())
}

/// The lines of the table in which `span` begins, from its header to the next.
pub(super) fn table_around(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text
        .get(..span.start)
        .and_then(|before| before.rfind("\n["))
        .map_or(0, |at| at + 1);
    let start = if line_at(text, span.start).trim_start().starts_with('[') {
        span.start
    } else {
        start
    };
    let end = text.get(start + 1..).and_then(|after| after.find("\n["));
    start..end.map_or(text.len(), |end| start + 1 + end)
}

fn line_at(text: &str, place: usize) -> &str {
    let place = place.min(text.len());
    let start = text
        .get(..place)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    text.get(start..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Config, ConfigError, Env};

    const HALL: &str = "[gateway]\nname = \"hall\"\n";
    const BOARD: &str = "[[board]]\nid = \"1\"\nport = \"/dev/ttyUSB0\"\n";

    /// All problems of a file, as one text.
    fn said(text: &str) -> Vec<String> {
        let none: [(&str, &str); 0] = [];
        match Config::from_text(text, Path::new("t.toml"), &Env::from(none)) {
            Err(ConfigError::Invalid(problems)) => problems.iter().map(ToString::to_string).collect(),
            other => panic!("no problems in {text:?}: {other:?}"),
        }
    }

    fn help(text: &str) -> String {
        let said = said(text);
        let [one] = &said[..] else { panic!("{said:?}") };
        one.rsplit("\n    ").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_hint_does_not_tell_a_secret() {
        let password = help("[broker]\npassword = hunter2\n");
        assert_eq!(password, "write: password = \"...\"");
        let urls = help("[broker]\nurls = mqtt://pi:hunter2@host\n");
        assert_eq!(urls, "write: urls = \"...\"");
        let alert = help("[[alert]]\nurl = https://ntfy.example/hunter2\n");
        assert_eq!(alert, "write: url = \"...\"");
        for text in [
            "broker = { password = “hunter2” }\n",
            "broker = { urls = [], password = “hunter2” }\n",
            "broker = { password = \"hunter2\" }\nbroker = { password = \"hunter2\" }\n",
            "broker = { password = \"hunter2\", password = \"hunter2\" }\n",
            "broker = { tls = { key = “hunter2” } }\n",
            "broker = { urls = [“mqtt://pi:hunter2@host”] }\n",
            "[broker]\npassword “hunter2”\n",
            "[broker]\nurls = [\n“mqtt://pi:hunter2@host”]\n",
            "[broker]\nurls = \"mqtt://pi:hunter2@host\"\n",
            "broker = { urls = [], password = [\"hunter2\"], port = \"hunter2\" }\n",
        ] {
            let said = said(text);
            assert!(said.iter().all(|said| !said.contains("hunter2")), "{said:?}");
        }
        let number = said("[broker]\npassword = 271828\n");
        assert_eq!(
            number[0],
            "t.toml:2:12: invalid type: integer ..., expected a text in quotes\n    write it in quotes: \"...\""
        );
        let list = said("[broker]\npassword = [\"hunter2\"]\n");
        assert!(
            list[0].starts_with("t.toml:2:12: invalid type: sequence, expected a text in quotes\n"),
            "{list:?}"
        );
        let twice = said("broker = { password = \"hunter2\" }\nbroker = { password = \"hunter2\" }\n");
        assert!(
            twice[0].ends_with("`broker = ...` stands in the file before: bring both together in one place"),
            "{twice:?}"
        );
    }

    #[test]
    fn what_is_almost_right_is_answered_with_what_is_right() {
        let board = BOARD.replace("[[board]]", "[board]");
        assert_eq!(
            help(&format!("{HALL}{board}")),
            "write [[board]] with two brackets, once for each"
        );
        let urls = "[broker]\nurls = \"mqtt://pi\"\n";
        assert_eq!(
            help(&format!("{HALL}{urls}{BOARD}")),
            "write a list: urls = [\"mqtt://pi\"]"
        );
        let periods = "[event]\nperiods = \"40/90+30, 15+30\"\n";
        assert_eq!(
            help(&format!("{HALL}{periods}{BOARD}")),
            "write periods = [{ moves = 40, minutes = 90, increment = 30 }, { minutes = 15, increment = 30 }]"
        );
        let minutes = "[event]\nperiods = [{ minutes = \"90\" }]\n";
        assert_eq!(
            help(&format!("{HALL}{minutes}{BOARD}")),
            "write it without quotes: 90"
        );
        let name = "[event]\nname = \"Club open\"\n";
        assert_eq!(
            help(&format!("{HALL}{name}{BOARD}")),
            "`name` stands in [broadcast]; possible here are: laws, time_control, supervision, periods, contested"
        );
        let curly = HALL.replacen('"', "“", 1).replacen('"', "”", 1);
        assert_eq!(
            help(&format!("{curly}{BOARD}")),
            "write straight quotes: name = \"hall\""
        );
        let hard = HALL.replace("name = ", "name\u{a0}= ");
        assert_eq!(
            help(&format!("{hard}{BOARD}")),
            "there are spaces in it that are none, as web pages have them; write: name = \"hall\""
        );
        for wrong in ["name = hall", "name = \"hall"] {
            let hall = HALL.replace("name = \"hall\"", wrong);
            assert_eq!(
                help(&format!("{hall}{BOARD}")),
                "write: name = \"hall\"",
                "{wrong}"
            );
        }
        // The library finds two mistakes in this one.
        let colon = HALL.replace("name =", "name:");
        for said in said(&format!("{colon}{BOARD}")) {
            assert!(said.ends_with("write: name = \"hall\""), "{said}");
        }
        let twice = said(&format!("{HALL}{HALL}{BOARD}"));
        assert!(
            twice[0].ends_with("`[gateway]` stands in the file before: bring both together in one place"),
            "{twice:?}"
        );
        let port = BOARD.replace("USB0", "USB0 ");
        assert_eq!(
            help(&format!("{HALL}{port}")),
            "write it without them: \"/dev/ttyUSB0\""
        );
    }

    #[test]
    fn what_is_missing_is_said_beside_a_mistake_elsewhere() {
        let said = said(&format!("{HALL}{BOARD}colour = 1\n[broadcast]\nround = 2\n"));
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].contains("the broadcast has no folder"), "{said:?}");
        // Where the table was written with a mistake, no hint on its absence comes.
        let wrong = super::tests::said(&format!("{HALL}{BOARD}[broadcast]\nfolders = \"public\"\n"));
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }
}
