//! TLS with rustls and ring.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    client::danger::{ServerCertVerified, ServerCertVerifier},
    client::{WebPkiServerVerifier, danger::HandshakeSignatureValid},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    {DigitallySignedStruct, Error as RustlsError, SignatureScheme},
};

use super::settings::TlsSettings;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum TlsError {
    /// A file cannot be read or holds no PEM of the kind needed.
    #[error("cannot read {what} from {path}: {reason}")]
    File {
        what: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// No authority to trust.
    #[error("no certificate authority to trust: set `ca_file`")]
    NoAuthority,
    /// The parts do not fit together.
    #[error("TLS settings: {0}")]
    Setup(String),
}

/// Builds the client's configuration; the certificate's name is checked against `server_name` where
/// it is set, else against the address's host.
///
/// # Errors
/// When a file is unreadable or does not fit.
pub fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let setup = |error: RustlsError| TlsError::Setup(error.to_string());
    let roots = Arc::new(roots(settings)?);
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(setup)?;
    let builder = match &settings.server_name {
        None => builder.with_root_certificates(roots),
        Some(name) => {
            let verifier = NamedVerifier::new(roots, provider, name)?;
            // No less strict than the standard verifier: it is that one, asked about another name.
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder
            .with_client_auth_cert(certificates("the client certificate", chain)?, private_key(key)?)
            .map_err(setup)?,
    };
    Ok(Arc::new(config))
}

fn roots(settings: &TlsSettings) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let file = match &settings.ca_file {
        Some(file) => file.as_path(),
        // Debian's and most others' bundle.
        None => Path::new("/etc/ssl/certs/ca-certificates.crt"),
    };
    let (_, _) = roots.add_parsable_certificates(certificates("certificate authorities", file)?);
    if roots.is_empty() {
        return Err(TlsError::NoAuthority);
    }
    Ok(roots)
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

/// The standard verifier, for a name that may differ from the address's host (a broker reached
/// through a tunnel, or by an address its certificate does not carry).
#[derive(Debug)]
struct NamedVerifier {
    standard: Arc<WebPkiServerVerifier>,
    name: ServerName<'static>,
}

impl NamedVerifier {
    fn new(roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>, name: &str) -> Result<Self, TlsError> {
        Ok(Self {
            standard: WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| TlsError::Setup(error.to_string()))?,
            name: ServerName::try_from(name.to_owned())
                .map_err(|error| TlsError::Setup(format!("server_name {name:?}: {error}")))?,
        })
    }
}

impl ServerCertVerifier for NamedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, RustlsError> {
        self.standard
            .verify_server_cert(end_entity, intermediates, &self.name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, RustlsError> {
        self.standard.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, RustlsError> {
        self.standard.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.standard.supported_verify_schemes()
    }
}
