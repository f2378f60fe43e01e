//! TLS with rustls and ring.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, Error as RustlsError, PeerIncompatible, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::config::Tls;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub(crate) enum TlsError {
    /// A file cannot be read or holds no PEM of the kind needed.
    #[error("cannot read {what} from {}: {reason}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// The parts do not fit together.
    #[error("the TLS settings do not fit together: {0}")]
    Setup(#[from] RustlsError),
}

/// The client's side: the broker's certificate must come from one of the authorities and be made out
/// for the name in its address.
///
/// # Errors
/// When a file is unreadable or does not fit.
pub(crate) fn client_config(settings: &Tls) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    let authorities = certificates("certificate authorities", &settings.ca_file)?;
    // A system's bundle may hold some that this library does not know how to read.
    let (_added, _ignored) = roots.add_parsable_certificates(authorities);
    if roots.is_empty() {
        return Err(TlsError::File {
            what: "certificate authorities",
            path: settings.ca_file.clone(),
            reason: "none of its certificates can be used".to_owned(),
        });
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some(client) => builder.with_client_auth_cert(
            certificates("the client certificate", &client.certificate)?,
            private_key(&client.key)?,
        )?,
    };
    Ok(Arc::new(config))
}

/// What is wrong with the other side, for a person, to be read after its name; none when `error` is
/// not about TLS.
pub(crate) fn explain(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let within = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        let found = within.map_or_else(
            || error.downcast_ref::<RustlsError>(),
            |within| within.downcast_ref::<RustlsError>(),
        );
        if let Some(found) = found {
            return Some(words(found));
        }
        next = error.source();
    }
    None
}

fn words(error: &RustlsError) -> String {
    let what = match error {
        RustlsError::InvalidCertificate(wrong) => certificate(wrong),
        RustlsError::AlertReceived(AlertDescription::ProtocolVersion)
        | RustlsError::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => "it speaks no TLS version that is safe: 1.2 or 1.3 is needed",
        RustlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a certificate of ours: have one made by its authority, and name it and its key in `client_cert` and `client_key`"
        }
        RustlsError::AlertReceived(_) => {
            "it broke the handshake off: does it want a client certificate, or another one? Its own log says why"
        }
        RustlsError::InvalidMessage(_) => {
            "it does not speak TLS on this port: correct the port, or let it speak TLS there"
        }
        _ => "the handshake failed",
    };
    format!("cannot be trusted: {what} ({error})")
}

/// What is wrong with a certificate, and what to do.
fn certificate(wrong: &CertificateError) -> &'static str {
    match wrong {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate was not signed by an authority of `ca_file`: put the certificate of the authority that signed it there, if it is to be trusted"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is made out for another name than that in its address: write a name there that the certificate has, or have one made out for this name"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it (or set the clock of this computer, if that is wrong)"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: is the clock of this computer right?"
        }
        _ => "its certificate is no good: have another one made",
    }
}

fn certificates(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file = |reason: String| TlsError::File {
        what,
        path: path.to_owned(),
        reason,
    };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(|error| file(error.to_string()))?;
    if certificates.is_empty() {
        return Err(file("no PEM certificate in it".to_owned()));
    }
    Ok(certificates)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| TlsError::File {
        what: "the client key",
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
