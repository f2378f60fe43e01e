//! The broker: addresses, login and certificates.

use std::time::Duration;

use toml::Spanned;

use super::{
    BrokerConfig, BrokerUrl, ClientCertificate, Language, Login, Tls,
    checked::{authorities, parse, readable, secret_file},
    raw::RawBroker,
    read::Document,
};

/// Reads the table `[broker]`, and reads or tries the files that it names.
pub(super) fn broker(raw: &RawBroker, client_id: &str, document: &mut Document<'_>) -> Option<BrokerConfig> {
    let login = login(raw, document);
    let client_id = match &raw.client_id {
        Some(id)
            if id.get_ref().is_empty()
                || id.get_ref().len() > 64
                || id.get_ref().chars().any(char::is_control) =>
        {
            document.problem(
                id.span(),
                "no name for a session",
                "use 1 to 64 letters, digits, _ and -",
            );
            return None;
        }
        Some(id) => id.get_ref().clone(),
        None => client_id.to_owned(),
    };
    let keep_alive = match &raw.keep_alive {
        Some(seconds) if *seconds.get_ref() < 5 => {
            document.problem(
                seconds.span(),
                "the broker would be pinged too often",
                "`keep_alive` counts seconds: 5 at least, 15 if left out",
            );
            15
        }
        Some(seconds) => *seconds.get_ref(),
        None => 15,
    };
    let languages = languages(raw, document);
    let urls = urls(raw, document)?;
    let tls = if urls.iter().all(|url| url.tls) {
        Some(tls(raw, document)?)
    } else {
        let given = [&raw.ca_file, &raw.client_cert, &raw.client_key];
        if let Some(file) = given.into_iter().flatten().next() {
            document.problem(
                file.span(),
                "a certificate for a connection without TLS",
                "begin `urls` with mqtts://, or leave the certificate out",
            );
        }
        None
    };
    if login.as_ref().is_some_and(|login| login.password.is_some()) {
        hidden(raw, &urls, document)?;
    }
    Some(BrokerConfig {
        urls,
        client_id,
        login,
        tls,
        keep_alive: Duration::from_secs(u64::from(keep_alive)),
        languages,
    })
}

fn languages(raw: &RawBroker, document: &mut Document<'_>) -> Vec<Language> {
    match &raw.languages {
        Some(languages) if languages.get_ref().is_empty() => {
            document.problem(
                languages.span(),
                "irregularities without a text",
                "name one language at least, as `languages = [\"en\"]`, or leave the key out",
            );
            Language::ALL.to_vec()
        }
        Some(languages) => {
            let mut named = Vec::new();
            for language in languages.get_ref() {
                if !named.contains(language) {
                    named.push(*language);
                }
            }
            named
        }
        None => Language::ALL.to_vec(),
    }
}

fn urls(raw: &RawBroker, document: &mut Document<'_>) -> Option<Vec<BrokerUrl>> {
    let Some(list) = &raw.urls else {
        return Some(vec![BrokerUrl::default()]);
    };
    let urls: Vec<BrokerUrl> = list
        .get_ref()
        .iter()
        .filter_map(|url| parse(url.clone(), document))
        .collect();
    if list.get_ref().is_empty() {
        document.missing(
            Some(list.span()),
            "the broker has no address",
            "write `urls = [\"mqtt://HOST\"]`, or mqtts:// for TLS",
        );
    } else if urls.iter().any(|url| url.tls != urls[0].tls) {
        document.problem(
            list.span(),
            "some addresses are with TLS and some without, so that TLS would protect nothing",
            "begin all with mqtts://, or all with mqtt://",
        );
    } else if urls.len() == list.get_ref().len() {
        return Some(urls);
    }
    None
}

/// Notes it where a password would go over a network in clear, unless the operator has said that it may. Home Assistant's broker and
/// those of containers stand in a network of their own, and have no TLS there.
fn hidden(raw: &RawBroker, urls: &[BrokerUrl], document: &mut Document<'_>) -> Option<()> {
    let password = raw.password.as_ref().map(Spanned::span);
    let Some(span) = password.or_else(|| raw.password_file.as_ref().map(Spanned::span)) else {
        return Some(());
    };
    let open = urls.iter().find(|url| url.is_readable());
    let Some(url) = open.filter(|_| !raw.password_in_clear) else {
        return Some(());
    };
    document.problem(
        span,
        format!("the password would go to {url} unencrypted, for anybody on the network to read"),
        "begin `urls` with mqtts://; in a network that nobody else can enter, `password_in_clear = true` allows it",
    );
    None
}

fn login(raw: &RawBroker, document: &mut Document<'_>) -> Option<Login> {
    let mut password = None;
    if let Some(direct) = &raw.password {
        if !document.is_variable(&direct.span()) {
            document.problem(
                direct.span(),
                "a password does not belong into this file, which is shown around",
                "put it into a file of its own that only the daemon may read, and name that in `password_file`",
            );
        } else if raw.password_file.is_none() {
            password = Some(direct.get_ref().clone());
        } else {
            document.problem(
                direct.span(),
                "there is a `password_file`, too",
                "give one of the two",
            );
        }
    }
    if let Some(file) = &raw.password_file {
        password = secret_file(file, document);
    }
    if let Some(username) = &raw.username {
        return Some(Login {
            username: username.clone(),
            password,
        });
    }
    let password_span = raw.password.as_ref().map(Spanned::span);
    let span = password_span.or_else(|| raw.password_file.as_ref().map(Spanned::span));
    if let Some(span) = span {
        document.missing(
            Some(span),
            "there is a password without a user",
            "write `username = \"...\"`",
        );
    }
    None
}

fn tls(raw: &RawBroker, document: &mut Document<'_>) -> Option<Tls> {
    let ca_file = authorities(raw.ca_file.as_ref(), document);
    let client = match (&raw.client_cert, &raw.client_key) {
        (Some(certificate), Some(key)) => Some(ClientCertificate {
            certificate: readable(certificate, document)?,
            key: readable(key, document)?,
        }),
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => {
            document.problem(
                one.span(),
                "a certificate and its key go together",
                "give both `client_cert` and `client_key`, or neither",
            );
            None
        }
    };
    Some(Tls {
        ca_file: ca_file?,
        client,
    })
}
