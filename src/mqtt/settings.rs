//! How to reach a broker.

use std::{fmt, path::PathBuf, time::Duration};

/// Where a broker listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or IP address; with TLS the certificate must be made out for it.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A password: never in a log, a message or a debug print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself, for the CONNECT packet.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// TLS towards the broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM file of the authorities to trust; the system's store when none is given.
    pub ca_file: Option<PathBuf>,
    /// PEM files of our certificate chain and its key, for brokers that ask for one.
    pub client: Option<(PathBuf, PathBuf)>,
    /// The name the broker's certificate must carry, where it is not the address's host.
    pub server_name: Option<String>,
}

/// One broker, at one or several addresses.
#[derive(Clone, Debug)]
pub struct BrokerSettings {
    /// Addresses, tried in turn.
    pub addresses: Vec<Address>,
    /// MQTT client id: fixed, so that a restarted daemon takes its own connection over.
    pub client_id: String,
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub password: Option<Secret>,
    /// TLS; plain TCP when none.
    pub tls: Option<TlsSettings>,
    /// Keep-alive, at least 5 s. A dead connection is found within two of them.
    pub keep_alive: Duration,
    /// How long a connection attempt may take, TCP, TLS and MQTT together.
    pub connect_timeout: Duration,
    /// Connected, but the oldest message handed over is older than this: the connection is given up.
    pub ack_timeout: Duration,
    /// First and longest delay between rounds of attempts.
    pub backoff: (Duration, Duration),
}

impl BrokerSettings {
    /// Plain TCP to one address, with the usual times.
    #[must_use]
    pub fn plain(host: impl Into<String>, port: u16, client_id: impl Into<String>) -> Self {
        Self {
            addresses: vec![Address {
                host: host.into(),
                port,
            }],
            client_id: client_id.into(),
            user: None,
            password: None,
            tls: None,
            keep_alive: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(5),
            ack_timeout: Duration::from_secs(30),
            backoff: (Duration::from_millis(250), Duration::from_secs(30)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        let mut settings = BrokerSettings::plain("localhost", 1883, "gw");
        settings.password = Some(Secret::new("hunter2"));
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
