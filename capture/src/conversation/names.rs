//! Names that clients give to what belongs together, as ids of sessions.

use remembrancer_schema::SessionId;
use remembrancer_schema::hash::sha256;

/// The session id of a name: the name itself where its characters and length allow that, else a hash in its place; from the
/// second on with a number behind it.
pub fn session_name(name: &str, number: u32) -> SessionId {
    let hashed = || format!("session-{}", &hex::encode(sha256(name.as_bytes()))[..24]);
    let base = if name.len() <= 112 && name.parse::<SessionId>().is_ok() {
        name.to_owned()
    } else {
        hashed()
    };
    let full = if number <= 1 {
        base
    } else {
        format!("{base}.{number}")
    };
    full.parse().expect("an id and a number are an id")
}

#[cfg(test)]
mod tests {
    use super::session_name;

    #[test]
    fn any_name_becomes_an_id() {
        assert_eq!(session_name("run-7", 1).as_str(), "run-7");
        assert_eq!(session_name("run-7", 3).as_str(), "run-7.3");
        let odd = session_name("two words/\u{1b}", 2);
        assert!(
            odd.as_str().starts_with("session-") && odd.as_str().ends_with(".2"),
            "{odd}"
        );
        assert_ne!(session_name("a b", 1), session_name("a  b", 1));
        assert_eq!(
            session_name(&"x".repeat(500), u32::MAX).as_str().len(),
            32 + 11
        );
    }
}
