//! The configuration as a plain table: which files it names, and which of its values may be shown to others.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use toml::{Table, Value};

/// Keys whose values are secret, wherever they stand. Keys that name files end differently.
const SECRET: [&str; 4] = ["password", "token", "secret", "key"];
/// Tables with names of people.
const NAMED: [&str; 2] = ["table", "people"];
/// The text that replaces a value which is left out.
const LEFT_OUT: &str = "(left out)";

/// Reads a text as a table.
///
/// # Errors
/// When it is no TOML.
pub(super) fn read(text: &str) -> anyhow::Result<Table> {
    // The library's error repeats the line, which may have a secret.
    text.parse()
        .map_err(|error: toml::de::Error| anyhow!("the configuration is no TOML: {}", error.message()))
}

/// The file with the pairings, if the configuration at `path` names one for this gateway.
pub(super) fn pairings(settings: &Table, path: &Path, gateway: &str) -> Option<PathBuf> {
    let own = settings
        .get("gateways")
        .and_then(|gateways| gateways.get(gateway));
    let of = |table: &Value| table.get("pairings")?.as_str().map(str::to_owned);
    let own = own.and_then(|own| of(own.get("broadcast")?));
    let named = own.or_else(|| of(settings.get("broadcast")?))?;
    Some(path.parent().unwrap_or_else(|| Path::new("")).join(named))
}

/// The files with secrets and certificates that the configuration names.
pub(super) fn files_elsewhere(settings: &Table) -> Vec<String> {
    let mut found = Vec::new();
    each(settings, &mut |_, key, value| {
        let names_file = key.ends_with("_file") || ["client_cert", "client_key"].contains(&key);
        found.extend(value.as_str().filter(|_| names_file).map(str::to_owned));
    });
    found
}

/// The text without secrets, names of people and comments.
pub(super) fn shown(mut settings: Table) -> String {
    hide(&mut settings, "");
    settings.to_string()
}

/// The text without users and passwords in addresses.
pub(super) fn without_logins(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| c.is_whitespace() || "\"'`/,".contains(c))
            .unwrap_or(part.len());
        let (address, rest) = part.split_at(end);
        let host = address
            .rsplit_once('@')
            .map(|(_, host)| format!("{LEFT_OUT}@{host}"));
        shown += &format!("://{}{rest}", host.as_deref().unwrap_or(address));
    }
    shown
}

fn each(table: &Table, look: &mut impl FnMut(&Table, &str, &Value)) {
    for (key, value) in table {
        look(table, key, value);
        match value {
            Value::Table(table) => each(table, look),
            Value::Array(values) => values
                .iter()
                .filter_map(Value::as_table)
                .for_each(|table| each(table, look)),
            _ => {}
        }
    }
}

fn hide(table: &mut Table, name: &str) {
    for (key, value) in table {
        hide_value(name, key, value);
    }
}

fn hide_value(table: &str, key: &str, value: &mut Value) {
    match value {
        Value::Table(inner) => hide(inner, key),
        Value::Array(values) => values.iter_mut().for_each(|value| hide_value(table, key, value)),
        Value::String(text) => {
            let is_secret = SECRET
                .iter()
                .any(|secret| key == *secret || key.ends_with(&format!("_{secret}")));
            // The path of such an address is as good as a password.
            let is_alert = table == "alert" && key == "url";
            let is_name = NAMED.contains(&table) && ["name", "white", "black"].contains(&key);
            // `client_key` names a file.
            if is_secret && key != "client_key" || is_name || is_alert || key == "username" {
                LEFT_OUT.clone_into(text);
            } else {
                *text = without_logins(text);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        # the password is hunter1
        [gateway]
        name = "hall"
        [broker]
        urls = ["mqtt://anna:hunter2@broker", "mqtts://other"]
        username = "hunter3"
        password = "hunter4"
        password_file = "secrets/mqtt"
        client_key = "key.pem"
        [broadcast]
        pairings = "round.csv"
        lichess = { round = "abcdefgh", token = "hunter5", token_file = "lichess" }
        [[board]]
        id = "1"
        table = { white = "hunter6", black = "hunter7" }
        [[alert]]
        url = "https://ntfy.sh/hunter0"
        [[dashboard.people]]
        name = "hunter8"
        role = "arbiter"
        api_token = "hunter9"
    "#;

    #[test]
    fn neither_secrets_nor_people_are_shown_and_all_else_is() {
        let shown = shown(read(TEXT).unwrap());
        assert!(!shown.contains("hunter"), "{shown}");
        for kept in [
            "hall",
            "secrets/mqtt",
            "key.pem",
            "abcdefgh",
            "@broker",
            "mqtts://other",
            "role",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        assert!(read(&shown).is_ok());
    }

    #[test]
    fn the_files_that_it_names_are_found() {
        let settings = read(TEXT).unwrap();
        assert_eq!(files_elsewhere(&settings), ["lichess", "key.pem", "secrets/mqtt"]);
        assert_eq!(
            pairings(&settings, Path::new("/etc/d.toml"), "hall"),
            Some(PathBuf::from("/etc/round.csv"))
        );
        assert_eq!(pairings(&Table::new(), Path::new("/etc/d.toml"), "hall"), None);
    }
}
