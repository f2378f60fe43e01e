//! The archive: the database that keeps events, and the tournament of which they are.

use std::path::PathBuf;

use serde::Deserialize;
use tokio_postgres::config::{Host, SslMode};
use toml::Spanned;

use super::{
    BaseTopic, BrokerConfig, Tls,
    checked::{authorities, secret_file},
    read::Document,
};

/// The longest name of a tournament, in characters.
const MAX_NAME: usize = 200;
const FORMS: &str = "write \"postgres://USER@HOST/DATABASE\", or \"host=/run/postgresql user=USER dbname=DATABASE\" for a socket of this machine";

/// The configuration of `dgt2mqtt archive`.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchiveConfig {
    /// First levels of every topic.
    pub base_topic: BaseTopic,
    /// The brokers; one in a configuration.
    pub brokers: Vec<BrokerConfig>,
    /// The database.
    pub database: DatabaseConfig,
    /// The tournament of which the events are.
    pub tournament: String,
}

/// A PostgreSQL database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseConfig {
    /// Servers, user, password and name.
    pub settings: tokio_postgres::Config,
    /// Certificates; none exactly if every server is on this machine.
    pub tls: Option<Tls>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawArchive {
    database: Option<Spanned<String>>,
    password_file: Option<Spanned<PathBuf>>,
    ca_file: Option<Spanned<PathBuf>>,
    event: Option<Spanned<String>>,
}

/// The database and the tournament of `[archive]`; every problem is noted in `document`.
pub(super) fn archive(
    table: Option<&Spanned<RawArchive>>,
    document: &mut Document<'_>,
) -> Option<(DatabaseConfig, String)> {
    let Some(table) = table else {
        document.missing(
            None,
            "there is no archive",
            "add a table [archive] with `database` and `event`; docs/archive.md shows one",
        );
        return None;
    };
    let raw = table.get_ref();
    let tournament = match &raw.event {
        Some(name) => tournament(name, document),
        None => {
            let help = "write `event = \"...\"`: the name of the tournament, under which its events are kept";
            document.missing(Some(table.span()), "the archive has no event", help);
            None
        }
    };
    let database = match &raw.database {
        Some(text) => database(text, raw, document),
        None => {
            document.missing(Some(table.span()), "the archive has no database", FORMS);
            None
        }
    };
    database.zip(tournament)
}

fn tournament(name: &Spanned<String>, document: &mut Document<'_>) -> Option<String> {
    let text = name.get_ref().trim();
    let fits = !text.is_empty() && text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control);
    if !fits {
        document.problem(
            name.span(),
            "no name for a tournament",
            format!("use 1 to {MAX_NAME} letters in one line"),
        );
    }
    fits.then(|| text.to_owned())
}

fn database(
    text: &Spanned<String>,
    table: &RawArchive,
    document: &mut Document<'_>,
) -> Option<DatabaseConfig> {
    let mut settings: tokio_postgres::Config = match text.get_ref().parse() {
        Ok(settings) => settings,
        Err(error) => {
            let cause =
                std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            document.problem(text.span(), format!("no address of a database{cause}"), FORMS);
            return None;
        }
    };
    if settings.get_password().is_some() {
        document.problem(
            text.span(),
            "a password does not belong into this file, which is shown around",
            "put it into a file of its own that only the archive may read, and name that in `password_file`",
        );
        return None;
    }
    if settings.get_hosts().is_empty() && settings.get_hostaddrs().is_empty() {
        document.problem(text.span(), "the address names no server", FORMS);
        return None;
    }
    if let Some(file) = &table.password_file {
        settings.password(secret_file(file, document)?.reveal());
    }
    let tls = if is_here(&settings) {
        if let Some(file) = &table.ca_file {
            document.problem(
                file.span(),
                "a certificate for a database of this machine",
                "leave `ca_file` out: nothing leaves the machine",
            );
        }
        settings.ssl_mode(SslMode::Disable);
        None
    } else {
        if settings.get_ssl_mode() == SslMode::Disable {
            document.problem(
                text.span(),
                "the database is on another machine, and the way there would be open to everybody",
                "leave `sslmode` out: the archive speaks TLS with it",
            );
            return None;
        }
        settings.ssl_mode(SslMode::Require);
        Some(Tls {
            ca_file: authorities(table.ca_file.as_ref(), document)?,
            client: None,
        })
    };
    Some(DatabaseConfig { settings, tls })
}

/// True where every server is on this machine.
fn is_here(settings: &tokio_postgres::Config) -> bool {
    let is_loopback = |name: &str| {
        let address = name.parse::<std::net::IpAddr>();
        name == "localhost" || address.is_ok_and(|address| address.is_loopback())
    };
    let hosts = settings.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name),
        Host::Unix(_) => true,
    });
    hosts && settings.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use crate::config::{ArchiveConfig, Config, ConfigError, Env};

    fn read(table: &str) -> Result<ArchiveConfig, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.toml");
        fs::write(folder.path().join("password"), "secret\n").unwrap();
        fs::write(folder.path().join("ca.pem"), "").unwrap();
        fs::write(&path, table).unwrap();
        Config::load_archive(&path, &Env::default())
    }

    fn with(database: &str, more: &str) -> Result<ArchiveConfig, ConfigError> {
        read(&format!(
            "[archive]\nevent = \"Spring Open 2026\"\ndatabase = \"{database}\"\n{more}\n"
        ))
    }

    #[test]
    fn a_database_of_this_machine_needs_no_certificates() {
        for database in [
            "postgres://archive@localhost/chess",
            "postgresql://archive@127.0.0.1:5433/chess",
            "host=/run/postgresql user=archive dbname=chess",
            "postgres://archive@[::1]/chess",
        ] {
            let archive = with(database, "password_file = \"password\"").unwrap();
            assert_eq!(archive.database.tls, None, "{database}");
            assert_eq!(archive.database.settings.get_password(), Some(&b"secret"[..]));
            assert_eq!(archive.tournament, "Spring Open 2026");
            assert!(!format!("{archive:?}").contains("secret"));
        }
    }

    #[test]
    fn the_way_to_another_machine_is_never_open() {
        for database in [
            "postgres://archive@db.example/chess",
            "postgres://archive@db.example/chess?sslmode=prefer",
            "host=localhost hostaddr=192.0.2.1 user=archive",
            "postgres://archive@localhost,db.example/chess",
        ] {
            let archive = with(database, "ca_file = \"ca.pem\"").unwrap();
            assert!(archive.database.tls.is_some(), "{database}");
            let mode = archive.database.settings.get_ssl_mode();
            assert_eq!(mode, tokio_postgres::config::SslMode::Require, "{database}");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let told = |read: Result<ArchiveConfig, ConfigError>| {
            let error = read.unwrap_err().to_string();
            let from = error.find("archive.toml").unwrap();
            error[from + "archive.toml".len()..].to_owned()
        };
        let begins = |told: &str, wanted: &str| assert!(told.starts_with(wanted), "{told}");
        begins(&told(read("")), ": there is no archive");
        begins(&told(read("[archive]\n")), ":1:1: the archive has no");
        let bad = |database: &str| told(with(database, ""));
        begins(&bad("mysql://host/db"), ":3:12: no address of a database");
        begins(
            &bad("postgres://archive@h/db?colour=1"),
            ":3:12: no address of a database: ",
        );
        begins(
            &bad("postgres://archive:pass@h/db"),
            ":3:12: a password does not belong",
        );
        begins(&bad("user=archive"), ":3:12: the address names no server");
        begins(
            &bad("postgres://archive@h/db?sslmode=disable"),
            ":3:12: the database is on another",
        );
        let here = "postgres://archive@localhost/db";
        begins(
            &told(with(here, "ca_file = \"ca.pem\"")),
            ":4:11: a certificate for",
        );
        begins(
            &told(with(here, "password_file = \"none\"")),
            ":4:17: cannot read",
        );
        begins(&told(with(here, "pasword_file = \"none\"")), ":4:1: ");
        let name = told(read(
            "[archive]\nevent = \" \"\ndatabase = \"postgres://a@localhost/b\"\n",
        ));
        begins(&name, ":2:9: no name for a tournament");
    }

    #[test]
    fn a_gateways_own_file_may_have_the_table() {
        let text = "[gateway]\nname = \"gw\"\n[[board]]\nid = \"1\"\nport = \"/dev/ttyUSB0\"\n[journal]\npath = \"j\"\n[archive]\nevent = \"x\"\npassword_file = \"of-another-user\"\n";
        Config::from_text(text, Path::new("dgt2mqtt.toml"), &Env::default()).unwrap();
    }
}
