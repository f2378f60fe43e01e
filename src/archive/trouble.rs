//! What may be wrong with the database, and what to do.

use tokio_postgres::error::SqlState;

/// Why the database does not take events now.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseTrouble {
    /// The server or the way to it.
    #[error("{}{}", told(.0), advice(.0))]
    Server(#[from] tokio_postgres::Error),
    /// The certificates.
    #[error("{0}")]
    Certificates(String),
    /// A program of a later version made the schema.
    #[error(
        "its schema has version {found}, and this program knows {known}: a newer dgt2mqtt made it; update this one"
    )]
    Newer {
        /// The version that was found.
        found: i32,
        /// The newest that this program knows.
        known: usize,
    },
    /// Somebody removed a part of the schema.
    #[error(
        "its schema dgt2mqtt lacks the table `event`: put it back from a backup, or drop the schema (drop schema dgt2mqtt cascade) to begin anew"
    )]
    Incomplete,
    /// The connection ended.
    #[error("the connection ended; look whether the server runs")]
    Gone,
    /// No answer.
    #[error("it does not answer: look whether the server is overloaded, or the network is broken")]
    Silent,
}

impl DatabaseTrouble {
    /// True where the rows themselves are at fault, and sending them again would not help.
    pub(super) fn is_about_rows(&self) -> bool {
        let Self::Server(error) = self else { return false };
        // Class 22: data exceptions.
        error.code().is_some_and(|code| code.code().starts_with("22"))
    }
}

/// The error with its causes: the library says "db error" and keeps the rest to itself.
fn told(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("it says: {}", said.message());
    }
    if let Some(tls) = crate::tls::explain(error) {
        return tls;
    }
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// What to do, to be read after the error.
fn advice(error: &tokio_postgres::Error) -> &'static str {
    let Some(code) = error.code() else {
        return "; look whether the server runs, and whether `database` under [archive] names it rightly";
    };
    match *code {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "; look at the user in `database`, at `password_file`, and at pg_hba.conf of the server"
        }
        SqlState::INVALID_CATALOG_NAME => "; make it: createdb --owner USER DATABASE",
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "; make the user the database's owner: alter database NAME owner to USER"
        }
        SqlState::DISK_FULL => "; make room on the server's disk",
        SqlState::TOO_MANY_CONNECTIONS => "; end other connections, or raise max_connections",
        _ => "",
    }
}
