//! Who is signed in. Nothing of it is stored: a restart signs everybody out.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use remembrancer_recorder::WorkspaceName;
use remembrancer_schema::hash::sha256;
use subtle::ConstantTimeEq as _;

/// How long a sign-in lasts.
pub(crate) const SIGN_IN_TTL: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a one-time code can be used.
const CODE_TTL: Duration = Duration::from_secs(10 * 60);
/// Most sign-ins held at a time; the oldest gives way.
const SIGN_INS_MAX: usize = 1_000;
/// Most one-time codes held at a time.
const CODES_MAX: usize = 100;
/// Most failed attempts of one kind within [`FAILURES_WINDOW`], from one client's address.
const FAILURES_MAX: usize = 10;
/// Most addresses whose failed attempts are counted; those of further ones have to wait until there is room.
const ADDRESSES_MAX: usize = 1_000;
/// The window over which failed attempts are counted.
const FAILURES_WINDOW: Duration = Duration::from_secs(60);

/// A secret that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct NoRandomness(String);

/// Whose sign-in it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SignIn {
    /// The workspace whose ledger is seen.
    pub(crate) workspace: WorkspaceName,
    /// Id of the key; none where a one-time code signed in.
    pub(crate) key: Option<String>,
}

/// Sign-ins, one-time codes and failed attempts, in memory. Secrets are held as SHA-256 of their 256 random bits.
#[derive(Default)]
pub struct Logins {
    sign_ins: Mutex<Secrets<SignIn>>,
    codes: Mutex<Secrets<()>>,
    wrong_keys: Failures,
    /// Apart from the keys: anybody can follow links to wrong codes, and that must not shut the door for keys.
    wrong_codes: Failures,
}

impl Logins {
    /// Draws a code that signs one person in once, within ten minutes, at `/login/{code}`, to the default workspace.
    pub fn issue_code(&self) -> Result<String, NoRandomness> {
        self.codes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .issue((), CODE_TTL, CODES_MAX)
    }

    /// Consumes a one-time code. Returns whether it was valid.
    pub(crate) fn redeem(&self, code: &str) -> bool {
        self.codes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(code)
    }

    /// Starts a sign-in and returns its secret.
    pub(crate) fn sign_in(&self, sign_in: SignIn) -> Result<String, NoRandomness> {
        self.sign_ins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .issue(sign_in, SIGN_IN_TTL, SIGN_INS_MAX)
    }

    /// The sign-in that a secret belongs to.
    pub(crate) fn signed_in(&self, secret: &str) -> Option<SignIn> {
        self.sign_ins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(secret)
            .cloned()
    }

    /// Ends a sign-in.
    pub(crate) fn sign_out(&self, secret: &str) {
        self.sign_ins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(secret);
    }

    /// Counts a wrong key that came from an address.
    pub(crate) fn wrong_key(&self, from: Client) -> Attempt {
        self.wrong_keys.count(from, Instant::now())
    }

    /// Counts a wrong one-time code that came from an address.
    pub(crate) fn wrong_code(&self, from: Client) -> Attempt {
        self.wrong_codes.count(from, Instant::now())
    }
}

/// What becomes of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is one of few.
    Failed,
    /// Too many failed lately.
    Throttled,
}

/// Where an attempt comes from, as far as attempts are counted apart: an address, or the network that one customer of a
/// provider has with IPv6; all together where the server does not know. Behind a proxy that is the proxy's: nobody can make
/// up another one in a header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Client(Option<IpAddr>);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self(Some(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::from([a, b, c, d, 0, 0, 0, 0])
            }
            address => address,
        }))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(peer.map_or_else(Self::default, |ConnectInfo(peer)| peer.ip().into()))
    }
}

/// The failed attempts of one kind. A right secret is never held up by them: with 256 random bits, the throttle only tells
/// guessers to wait.
#[derive(Default)]
struct Failures(Mutex<HashMap<Client, VecDeque<Instant>>>);

impl Failures {
    /// While throttled nothing is counted, so that the wait ends however often somebody tries.
    fn count(&self, from: Client, now: Instant) -> Attempt {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |at: &Instant| now.saturating_duration_since(*at) > FAILURES_WINDOW;
        if all.len() >= ADDRESSES_MAX && !all.contains_key(&from) {
            all.retain(|_, failures| !failures.back().is_none_or(is_over));
            if all.len() >= ADDRESSES_MAX {
                return Attempt::Throttled;
            }
        }
        let failures = all.entry(from).or_default();
        while failures.front().is_some_and(is_over) {
            failures.pop_front();
        }
        if failures.len() >= FAILURES_MAX {
            return Attempt::Throttled;
        }
        failures.push_back(now);
        Attempt::Failed
    }
}

/// Hashes of secrets, each with what it stands for and the moment at which it ends.
struct Secrets<T>(HashMap<[u8; 32], (T, Instant)>);

impl<T> Default for Secrets<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Secrets<T> {
    fn issue(&mut self, value: T, ttl: Duration, count_max: usize) -> Result<String, NoRandomness> {
        let now = Instant::now();
        self.0.retain(|_, (_, ends)| *ends > now);
        while self.0.len() >= count_max {
            let oldest = self
                .0
                .iter()
                .min_by_key(|(_, (_, ends))| *ends)
                .map(|(hash, _)| *hash);
            let Some(oldest) = oldest else { break };
            self.0.remove(&oldest);
        }
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| NoRandomness(error.to_string()))?;
        let secret = hex::encode(secret);
        self.0.insert(sha256(secret.as_bytes()), (value, now + ttl));
        Ok(secret)
    }

    fn get(&self, secret: &str) -> Option<&T> {
        let hash = sha256(secret.as_bytes());
        let now = Instant::now();
        self.0.iter().fold(None, |found, (held, (value, ends))| {
            let is_it = bool::from(held.ct_eq(&hash)) & (*ends > now);
            if is_it { Some(value) } else { found }
        })
    }

    fn remove(&mut self, secret: &str) -> bool {
        let held = self.get(secret).is_some();
        self.0.remove(&sha256(secret.as_bytes()));
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once() {
        let logins = Logins::default();
        let code = logins.issue_code().expect("random bytes");
        assert_eq!(code.len(), 64);
        assert!(!logins.redeem(&code[1..]));
        assert!(logins.redeem(&code));
        assert!(!logins.redeem(&code));
    }

    #[test]
    fn a_sign_in_ends_with_its_sign_out_and_its_time() {
        let logins = Logins::default();
        let sign_in = SignIn {
            workspace: "acme".parse().expect("a name"),
            key: Some("id".to_owned()),
        };
        let secret = logins.sign_in(sign_in.clone()).expect("random bytes");
        let other = logins.sign_in(SignIn::default()).expect("random bytes");
        assert_eq!(logins.signed_in(&secret), Some(sign_in));
        logins.sign_out(&secret);
        assert_eq!(logins.signed_in(&secret), None);
        assert_eq!(logins.signed_in(&other), Some(SignIn::default()));
        let mut secrets = Secrets::default();
        let ended = secrets.issue((), Duration::ZERO, 4).expect("random bytes");
        assert!(secrets.get(&ended).is_none());
    }

    #[test]
    fn secrets_are_bounded() {
        let mut secrets = Secrets::default();
        for _ in 0..5 {
            secrets.issue((), SIGN_IN_TTL, 3).expect("random bytes");
        }
        assert_eq!(secrets.0.len(), 3);
    }

    #[test]
    fn ten_failures_throttle_for_a_minute_and_no_longer() {
        let failures = Failures::default();
        let start = Instant::now();
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        for _ in 0..FAILURES_MAX {
            assert_eq!(failures.count(one, start), Attempt::Failed);
        }
        for second in 1..=60 {
            let now = start + Duration::from_secs(second);
            assert_eq!(failures.count(one, now), Attempt::Throttled, "{second}");
        }
        assert_eq!(failures.count(other, start), Attempt::Failed);
        let later = start + FAILURES_WINDOW + Duration::from_secs(1);
        assert_eq!(failures.count(one, later), Attempt::Failed);
    }

    fn client(address: &str) -> Client {
        address.parse::<IpAddr>().expect("an address").into()
    }

    #[test]
    fn a_network_of_ipv6_is_one_client_and_an_address_of_ipv4_is_one_in_both_forms() {
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), Client::default());
    }

    #[test]
    fn the_clients_that_are_counted_are_bounded_and_make_room() {
        let failures = Failures::default();
        let start = Instant::now();
        let one_of_many = |number: usize| {
            let number = u32::try_from(number).expect("small");
            Client::from(IpAddr::from(number.to_be_bytes()))
        };
        for number in 0..ADDRESSES_MAX {
            assert_eq!(failures.count(one_of_many(number), start), Attempt::Failed);
        }
        let further = one_of_many(ADDRESSES_MAX);
        assert_eq!(failures.count(further, start), Attempt::Throttled);
        assert_eq!(failures.count(one_of_many(0), start), Attempt::Failed);
        let later = start + FAILURES_WINDOW + Duration::from_secs(1);
        assert_eq!(failures.count(further, later), Attempt::Failed);
        assert_eq!(failures.0.lock().expect("a lock").len(), 1);
    }

    #[test]
    fn wrong_codes_do_not_throttle_keys() {
        let logins = Logins::default();
        for _ in 0..FAILURES_MAX {
            assert_eq!(logins.wrong_code(Client::default()), Attempt::Failed);
        }
        assert_eq!(logins.wrong_code(Client::default()), Attempt::Throttled);
        assert_eq!(logins.wrong_key(Client::default()), Attempt::Failed);
    }
}
