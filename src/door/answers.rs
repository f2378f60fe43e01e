//! Plain answers to programs that ask whether all is well.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

/// The answer that all is well, or the list of troubles, one on a line.
pub(crate) fn verdict(wrong: &[String]) -> Response {
    let plain = "text/plain; charset=utf-8";
    if wrong.is_empty() {
        return answer(StatusCode::OK, plain, "ok\n".to_owned());
    }
    answer(StatusCode::SERVICE_UNAVAILABLE, plain, wrong.join("\n") + "\n")
}

/// An answer that closes the connection: such a program asks again only seconds later.
pub(crate) fn answer(status: StatusCode, kind: &'static str, body: String) -> Response {
    let head = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONNECTION, "close"),
    ];
    (status, head, body).into_response()
}
