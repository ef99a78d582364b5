//! A running server lets each kind of key do what its role says, on every route of its description and every page of the viewer.
//! What an allowed request is answered exactly is in the recorder's own tests; here it is the whole program.

use crate::support::{Server, json, succeed};

/// The viewer's site map: a page that is added there is tested here.
const SITE_MAP: &str = include_str!("../web/src/router.rs");
/// Addresses of the viewer that ask for nothing.
const OPEN_PAGES: [&str; 5] = [
    "/login",
    "/login/{code}",
    "/logout",
    "/help",
    "/assets/{name}",
];

/// Routes that answer in their senders' form.
const INTAKES: [&str; 2] = ["/v1/traces", "/hooks/claude"];

struct Keys {
    write: String,
    read: String,
    admin: String,
    revoked: String,
    foreign: String,
}

/// A kind of key, its text, and whether it reads, appends, and manages keys; `None` for one that is no key here.
type Kind<'a> = (&'static str, Option<&'a str>, Option<[bool; 3]>);

impl Keys {
    fn of(server: &Server) -> Self {
        let revoked = server.key("admin");
        let id = revoked.rsplit('_').nth(1).expect("a key has an id");
        succeed(&[
            "tokens",
            "revoke",
            id,
            "--data",
            server.data.to_str().unwrap(),
        ]);
        let admin = server.key("admin");
        Self {
            write: server.key("write"),
            read: server.key("read"),
            foreign: admin.replacen("_default_", "_elsewhere_", 1),
            revoked,
            admin,
        }
    }

    /// Each kind of key.
    fn all(&self) -> [Kind<'_>; 7] {
        [
            ("no key", None, None),
            ("garbage", Some("rmb_admin_default_x_y"), None),
            ("a revoked key", Some(&self.revoked), None),
            ("a foreign key", Some(&self.foreign), None),
            ("write", Some(&self.write), Some([false, true, false])),
            ("read", Some(&self.read), Some([true, false, false])),
            ("admin", Some(&self.admin), Some([true, true, true])),
        ]
    }
}

fn filled(path: &str) -> String {
    let mut address = path.to_owned();
    while let Some((before, rest)) = address.split_once('{') {
        let (_, after) = rest.split_once('}').expect("a parameter ends");
        address = format!("{before}1{after}");
    }
    address
}

#[test]
fn each_route_and_page_is_for_the_keys_that_may() {
    let server = Server::start();
    let keys = Keys::of(&server);
    assert_ne!(keys.foreign, keys.admin);
    let description = server.send("GET", "/openapi.json", None, "", b"").json();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, methods) in description["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            for (name, key, may) in keys.all() {
                let is_open = ["/healthz", "/readyz"].contains(&path.as_str());
                let needed = match (path.starts_with("/v1/keys"), method.as_str()) {
                    (true, _) => 2,
                    (false, "get") => 0,
                    (false, _) => 1,
                };
                let method = method.to_uppercase();
                let answer = server.send(&method, &filled(path), key, "application/json", b"");
                let is_intake = INTAKES.contains(&path.as_str());
                let is = |status, problem| {
                    answer.status == status && (is_intake || answer.problem() == problem)
                };
                let as_expected = match may {
                    _ if is_open => answer.status == 200,
                    None => is(401, "unauthorized"),
                    Some(may) if !may[needed] => is(403, "forbidden"),
                    Some(_) => !matches!(answer.status, 401 | 403 | 405 | 429 | 500..),
                };
                if !as_expected {
                    wrong.push(format!("{method} {path} with {name}: {answer:?}"));
                }
                count += 1;
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(count > 100, "{count} requests");
    the_viewer_opens_to_those_who_may_read(&server, &keys);
    let acts = acts(&server);
    assert_eq!(acts.len(), 5, "four keys made and one revoked: {acts:?}");
}

fn the_viewer_opens_to_those_who_may_read(server: &Server, keys: &Keys) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let pages: Vec<&str> = SITE_MAP
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| text.starts_with('/'))
        .collect();
    assert!(pages.len() > 10, "{pages:?}");
    for (name, key, may) in keys.all() {
        let answer = agent
            .post(format!("{}/login", server.url))
            .content_type("application/x-www-form-urlencoded")
            .send(format!("key={}", key.unwrap_or_default()))
            .expect("the server answers");
        let reads = may.is_some_and(|[reads, ..]| reads);
        let expected = if reads { 303 } else { 401 };
        assert_eq!(answer.status().as_u16(), expected, "login with {name}");
        let cookie = answer.headers().get("set-cookie");
        assert_eq!(cookie.is_some(), reads, "{name}");
        let cookie = cookie.map_or(String::new(), |cookie| {
            let cookie = cookie.to_str().unwrap();
            cookie.split(';').next().unwrap().to_owned()
        });
        for page in &pages {
            if OPEN_PAGES.contains(page) {
                continue;
            }
            // A key in the header opens no page: who is signed in has a cookie.
            let answer = agent
                .get(format!("{}{}", server.url, filled(page)))
                .header("authorization", format!("Bearer {}", key.unwrap_or("x")))
                .header("cookie", &cookie)
                .call()
                .expect("the server answers");
            let goes_to_login = answer
                .headers()
                .get("location")
                .is_some_and(|to| to.to_str().unwrap().starts_with("/login"));
            assert_eq!(goes_to_login, !reads, "{page} with {name}");
            assert!(answer.status().as_u16() < 500, "{page} with {name}");
        }
    }
}

/// Types of the acts that the ledger has as entries. Waits until the last one is there.
fn acts(server: &Server) -> Vec<String> {
    let data = server.data.to_str().unwrap();
    for _ in 0..100 {
        let sessions = json(&["sessions", "--data", data]);
        let all = sessions.as_array().unwrap();
        let acts = all
            .iter()
            .find(|session| session["id"] == crate::support::ADMIN_SESSION);
        if acts.is_some_and(|session| session["entries"] == 6) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    succeed(&["verify", "--data", data]);
    let read = server.key("read");
    let page = server.get(&read, "/v1/sessions/remembrancer.admin/entries");
    page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["entry"]["type"].as_str().unwrap().to_owned())
        .filter(|kind| kind.starts_with("admin."))
        .take(5)
        .collect()
}
