//! What stands before every page: response headers, the host check and the sign-in.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::error::PageError;
use crate::state::ViewerState;

/// Name of the sign-in cookie.
pub(crate) const COOKIE: &str = "remembrancer_session";
/// Longest address to which a sign-in returns, in bytes.
const RETURN_BYTES_MAX: usize = 512;

const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// Sets the security headers on every response; pages are not to be stored unless they say otherwise.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Refuses requests for host names that are not ours: a page elsewhere that resolves its own name to this machine (DNS
/// rebinding) then reads nothing.
pub(crate) async fn host(
    State(state): State<ViewerState>,
    request: Request,
    next: Next,
) -> Response {
    let known = host_of(request.headers()).is_some_and(|host| state.is_known_host(host));
    if known {
        next.run(request).await
    } else {
        PageError::Misdirected.into_response()
    }
}

/// Lets whoever is signed in through, with the ledger that they see, and sends others to the sign-in page.
pub(crate) async fn signed_in(
    State(state): State<ViewerState>,
    mut request: Request,
    next: Next,
) -> Response {
    match state.view(request.headers()).await {
        Ok(Some(view)) => {
            request.extensions_mut().insert(view);
            return next.run(request).await;
        }
        Ok(None) if is_of_a_browser(&request) => {}
        // What sends data here by mistake, such as an exporter of traces, would take a redirect for success.
        Ok(None) => return PageError::BadRequest.into_response(),
        Err(error) => return error.into_response(),
    }
    let wanted = request
        .uri()
        .path_and_query()
        .map_or("/", |wanted| wanted.as_str());
    let target = if wanted == "/" || !is_local(wanted) {
        "/login".to_owned()
    } else {
        format!("/login?to={}", percent_encoded(wanted))
    };
    Redirect::to(&target).into_response()
}

/// Whether somebody who reads pages may have sent this: it asks for a page, or is a form.
fn is_of_a_browser(request: &Request) -> bool {
    let media = request.headers().get(header::CONTENT_TYPE);
    let is_form = media.is_some_and(|media| {
        media
            .as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    });
    matches!(*request.method(), Method::GET | Method::HEAD) || is_form
}

/// Refuses a form that another site made a browser send.
pub(crate) fn same_origin(headers: &HeaderMap) -> Result<(), PageError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let allowed = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && host == text("host")
        }
        // Not a browser: nothing rides on a visitor's cookies.
        (None, None) => true,
    };
    if allowed {
        Ok(())
    } else {
        Err(PageError::Forbidden)
    }
}

/// The secret of the sign-in cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// Whether an address leads to a page here and nowhere else.
pub(crate) fn is_local(address: &str) -> bool {
    address.len() <= RETURN_BYTES_MAX
        && address.starts_with('/')
        && !address[1..].starts_with(['/', '\\'])
        && address
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

fn host_of(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    if let Some(bracketed) = host.strip_prefix('[') {
        let end = bracketed.find(']')? + 2;
        let (host, rest) = host.split_at(end);
        return (rest.is_empty() || rest.starts_with(':')).then_some(host);
    }
    Some(host.split_once(':').map_or(host, |(host, _)| host))
}

/// A text as the value of a query parameter.
pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'/' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_addresses_are_returned_to() {
        for local in ["/", "/sessions/1", "/sessions/1/turns/2?part=3"] {
            assert!(is_local(local), "{local}");
        }
        for other in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a b",
            "/a\\b",
            "/\u{e9}",
            "/\r\nx",
        ] {
            assert!(!is_local(other), "{other:?}");
        }
        assert!(!is_local(&format!("/{}", "a".repeat(RETURN_BYTES_MAX))));
        assert_eq!(percent_encoded("/a?b=c&d"), "/a%3Fb%3Dc%26d");
    }

    #[test]
    fn hosts_are_read_without_their_port() {
        let host = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, text.parse().expect("a header value"));
            host_of(&headers).map(str::to_owned)
        };
        assert_eq!(host("localhost:8080").as_deref(), Some("localhost"));
        assert_eq!(host("[::1]:8080").as_deref(), Some("[::1]"));
        assert_eq!(host("[::1]").as_deref(), Some("[::1]"));
        assert_eq!(host("[::1]evil"), None);
        assert_eq!(host("[::1"), None);
    }
}
