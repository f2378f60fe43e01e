//! Who may see the page, and that it is our page that asks.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use subtle::ConstantTimeEq;

use super::{
    assets,
    door::Pass,
    guesses::{Guesses, SLOW},
};
use crate::config::Secret;

/// Cookie in which a browser keeps the token.
const COOKIE: &str = "dgt2mqtt_token";
/// An answer begins within this time, commands of slow hands and answers of slow gateways included.
const PATIENCE: Duration = Duration::from_secs(30);
/// Nothing from anywhere else, nothing inline, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Who may use the page: whoever has the token, or without one whoever is on this machine.
#[derive(Clone, Debug)]
pub struct Access {
    token: Option<Secret>,
    guesses: Arc<Mutex<Guesses>>,
}

impl Access {
    /// Access for those who have `token`; without one the server must listen on loopback only.
    #[must_use]
    pub fn new(token: Option<Secret>) -> Self {
        Self {
            token,
            guesses: Arc::default(),
        }
    }

    fn guesses(&self) -> MutexGuard<'_, Guesses> {
        self.guesses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allows(&self, headers: &HeaderMap) -> bool {
        match &self.token {
            Some(token) => presented(headers).any(|text| is_same(text, token)),
            // Without a token a page of somebody else could reach us under a name of his own that
            // leads to this machine.
            None => is_local(headers),
        }
    }
}

/// Takes as long for a wrong token as for the right one.
fn is_same(text: &str, token: &Secret) -> bool {
    text.as_bytes().ct_eq(token.reveal().as_bytes()).into()
}

/// Tokens that came with the request.
fn presented(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let ours = cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    bearer.into_iter().chain(ours)
}

fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A page of another origin may not have us do things with the arbiter's cookie.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, origin)| origin == host),
        (Some(_), None) => false,
    }
}

/// Lets a request through, or not, and puts the security headers on what comes back.
pub(super) async fn guard(
    State(access): State<Access>,
    Extension(pass): Extension<Pass>,
    request: Request,
    next: Next,
) -> Response {
    let judged = tokio::time::timeout(PATIENCE, judge(&access, &pass, request, next)).await;
    let mut response = judged.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response());
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn judge(access: &Access, pass: &Pass, request: Request, next: Next) -> Response {
    if !is_own_origin(request.headers()) {
        return (StatusCode::FORBIDDEN, "this page belongs to another origin").into_response();
    }
    let in_address = token_in(request.uri());
    let shows_token = in_address.is_some() || presented(request.headers()).next().is_some();
    if shows_token && !pass.is_known() && access.guesses().is_slow(pass.address, Instant::now()) {
        tokio::time::sleep(SLOW).await;
    }
    if let Some(response) = in_address.and_then(|given| arrival(access, given)) {
        pass.welcome();
        return response;
    }
    if access.allows(request.headers()) {
        pass.welcome();
        return next.run(request).await;
    }
    if shows_token {
        access.guesses().wrong(pass.address, Instant::now());
    }
    if access.token.is_none() {
        let why = "this page is for this machine only; start it with a token to use it from elsewhere";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    // What the form needs tells nothing of the hall.
    if let Some(asset) = assets::public(request.uri().path()) {
        return asset;
    }
    let mut response = if request.uri().path().starts_with("/api/") {
        StatusCode::UNAUTHORIZED.into_response()
    } else {
        (StatusCode::UNAUTHORIZED, assets::login()).into_response()
    };
    let challenge = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// The token of `/?token=...`, the address that is printed at the start.
fn token_in(uri: &Uri) -> Option<&str> {
    let mut fields = uri.query()?.split('&');
    let given = fields.find_map(|field| field.strip_prefix("token="))?;
    (uri.path() == "/").then_some(given)
}

/// The token goes out of the address and into a cookie.
fn arrival(access: &Access, given: &str) -> Option<Response> {
    let token = access.token.as_ref()?;
    if !is_same(given, token) {
        return None;
    }
    let cookie = format!(
        "{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age=604800",
        token.reveal()
    );
    Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(header::LOCATION, "/")
        .header(header::SET_COOKIE, cookie)
        .body(Body::empty())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| -> (header::HeaderName, HeaderValue) {
            (name.parse().unwrap(), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_token_opens_by_header_and_by_cookie() {
        let access = Access::new(Some(Secret::new("s3cret")));
        assert!(access.allows(&headers(&[("authorization", "Bearer s3cret")])));
        assert!(access.allows(&headers(&[("cookie", "a=b; dgt2mqtt_token=s3cret")])));
        for wrong in [
            headers(&[]),
            headers(&[("host", "localhost")]),
            headers(&[("authorization", "Bearer s3cre")]),
            headers(&[("authorization", "s3cret")]),
            headers(&[("cookie", "dgt2mqtt_token=; xdgt2mqtt_token=s3cret")]),
        ] {
            assert!(!access.allows(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_open() {
        let access = Access::new(None);
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
            assert!(access.allows(&headers(&[("host", host)])), "{host}");
        }
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1:80", ""] {
            assert!(!access.allows(&headers(&[("host", host)])), "{host}");
        }
    }

    #[test]
    fn commands_come_from_our_own_page() {
        assert!(is_own_origin(&headers(&[("host", "hall:80")])));
        assert!(is_own_origin(&headers(&[
            ("host", "hall:80"),
            ("origin", "http://hall:80")
        ])));
        assert!(!is_own_origin(&headers(&[
            ("host", "hall:80"),
            ("origin", "http://evil:80")
        ])));
        assert!(!is_own_origin(&headers(&[
            ("host", "hall:80"),
            ("origin", "null")
        ])));
    }
}
