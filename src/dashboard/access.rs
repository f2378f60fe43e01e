//! Decides who may see the page, and makes sure that a request comes from our page.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    assets,
    guesses::{Guesses, SLOW},
    people::{Guest, People},
};
use crate::{
    config::{Person, Role, Secret},
    door::Pass,
};

/// Cookie in which a browser keeps the token.
const COOKIE: &str = "dgt2mqtt_token";
/// How many tokens in the headers of a request are looked at. A browser sends one.
const MOST_SHOWN: usize = 4;
/// How long an answer may take to begin, commands with a slow body and answers of slow gateways included.
const PATIENCE: Duration = Duration::from_secs(30);
/// The policy for the browser: nothing from other hosts, nothing inline, and no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Decides who may use the page: whoever has a token. Without any token it is whoever is on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    people: People,
    guesses: Arc<Mutex<Guesses>>,
}

impl Access {
    /// Access for those who have `token`, and for `people`. With neither, the server must listen on loopback only.
    #[must_use]
    pub(crate) fn new(token: Option<Secret>, people: Vec<Person>) -> Self {
        Self {
            people: People::new(token, people),
            guesses: Arc::default(),
        }
    }

    /// Replaces the people, and ends the connections of those who are no longer among them.
    pub(crate) fn set_people(&self, people: Vec<Person>) {
        self.people.set(people);
    }

    fn guesses(&self) -> MutexGuard<'_, Guesses> {
        self.guesses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self, headers: &HeaderMap) -> Shown {
        if let Some(local) = self.people.local() {
            // Without a token, a stranger's page could reach us under a name of its own that leads to this machine.
            let guest = is_local(headers).then_some(local);
            return Shown { guest, wrong: 0 };
        }
        let mut shown = Shown::default();
        for text in presented(headers).take(MOST_SHOWN) {
            match self.people.with_token(text) {
                Some(guest) => shown.guest = shown.guest.or(Some(guest)),
                None => shown.wrong += 1,
            }
        }
        shown
    }
}

/// What the tokens in the headers of a request say.
#[derive(Debug, Default)]
struct Shown {
    /// Whom the first right one belongs to.
    guest: Option<Guest>,
    /// How many are wrong.
    wrong: u32,
}

/// The tokens in the headers of a request.
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

/// True for a request that names this machine. A page of somebody else can have a name of its own lead here.
pub(super) fn is_local(headers: &HeaderMap) -> bool {
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

/// False for a page of another origin, which must not act with the arbiter's cookie.
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

/// Lets a request through or refuses it, and puts the security headers on the answer.
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
    let Shown { guest, wrong } = access.shown(request.headers());
    let in_address = token_in(request.uri());
    let opened = in_address.and_then(|given| Some((access.people.with_token(given)?, given)));
    let wrong = wrong + u32::from(in_address.is_some() && opened.is_none());
    let shows_token = in_address.is_some() || presented(request.headers()).next().is_some();
    // A guest who is known here goes in at once. A request with another token takes as long as a stranger's, also where it has the
    // guest's own.
    let is_known =
        in_address.is_none() && wrong == 0 && guest.as_ref().is_some_and(|guest| pass.is_known(guest.id));
    if shows_token && !is_known && access.guesses().is_slow(pass.address, Instant::now()) {
        tokio::time::sleep(SLOW).await;
    }
    access.guesses().wrong(pass.address, wrong, Instant::now());
    if let Some((guest, given)) = opened {
        pass.welcome(guest.id);
        return arrival(given);
    }
    if let Some(guest) = guest {
        pass.welcome(guest.id);
        return admit(guest, request, next).await;
    }
    if access.people.local().is_some() {
        let why = "this page is for this machine only; start it with a token to use it from elsewhere";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    // The files for the login form tell nothing of the hall.
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

/// Lets a guest do what the role allows, and tells the handlers who the guest is.
async fn admit(guest: Guest, mut request: Request, next: Next) -> Response {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && guest.role == Role::ReadOnly {
        return (StatusCode::FORBIDDEN, "this link is for reading only").into_response();
    }
    request.extensions_mut().insert(guest);
    next.run(request).await
}

/// The token in `/?token=...`, the address that the program prints at the start.
fn token_in(uri: &Uri) -> Option<&str> {
    let mut fields = uri.query()?.split('&');
    let given = fields.find_map(|field| field.strip_prefix("token="))?;
    (uri.path() == "/").then_some(given)
}

/// Moves a valid token out of the address and into a cookie.
fn arrival(token: &str) -> Response {
    let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=604800");
    let headers = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie)];
    (StatusCode::SEE_OTHER, headers).into_response()
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
        let access = Access::new(Some(Secret::new("s3cret")), Vec::new());
        assert!(
            access
                .shown(&headers(&[("authorization", "Bearer s3cret")]))
                .guest
                .is_some()
        );
        assert!(
            access
                .shown(&headers(&[("cookie", "a=b; dgt2mqtt_token=s3cret")]))
                .guest
                .is_some()
        );
        for wrong in [
            headers(&[]),
            headers(&[("host", "localhost")]),
            headers(&[("authorization", "Bearer s3cre")]),
            headers(&[("authorization", "s3cret")]),
            headers(&[("cookie", "dgt2mqtt_token=; xdgt2mqtt_token=s3cret")]),
        ] {
            assert!(access.shown(&wrong).guest.is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn each_wrong_token_counts_also_beside_a_right_one_and_few_are_looked_at() {
        let access = Access::new(Some(Secret::new("s3cret")), Vec::new());
        let shown = access.shown(&headers(&[
            ("authorization", "Bearer guess"),
            ("cookie", "dgt2mqtt_token=another; dgt2mqtt_token=s3cret"),
        ]));
        assert!(shown.guest.is_some());
        assert_eq!(shown.wrong, 2);
        let many = "dgt2mqtt_token=guess; ".repeat(MOST_SHOWN) + "dgt2mqtt_token=s3cret";
        let shown = access.shown(&headers(&[("cookie", &many)]));
        assert!(shown.guest.is_none());
        assert_eq!(shown.wrong as usize, MOST_SHOWN);
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_open() {
        let access = Access::new(None, Vec::new());
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
            assert!(
                access.shown(&headers(&[("host", host)])).guest.is_some(),
                "{host}"
            );
        }
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1:80", ""] {
            assert!(
                access.shown(&headers(&[("host", host)])).guest.is_none(),
                "{host}"
            );
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
