//! An address that may hold a password.

use std::fmt;

/// The address of a store. What is printed of it leaves passwords and parameters out.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretUrl(String);

impl SecretUrl {
    /// Takes an address with one of the schemes. The message of an error never repeats the address.
    pub(crate) fn parse(text: &str, schemes: &[&str]) -> Result<Self, String> {
        let expected = || format!("not a URL that begins with {}", begins(schemes));
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        if !schemes.contains(&scheme) || rest.is_empty() {
            return Err(expected());
        }
        if text
            .chars()
            .any(|character| character.is_control() || character.is_whitespace())
        {
            return Err("a URL has no spaces or control characters".to_owned());
        }
        // Otherwise nobody could say where a password ends, and what may be shown.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user_ends = authority.matches('@').count();
        if user_ends > 1 || user_ends != rest.matches('@').count() {
            return Err(
                "an @ that does not end the user's part is written %40, and a / ? or # in a password %2F %3F %23"
                    .to_owned(),
            );
        }
        Ok(Self(text.to_owned()))
    }

    /// The whole address, with its secrets.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

fn begins(schemes: &[&str]) -> String {
    let beginnings: Vec<String> = schemes
        .iter()
        .map(|scheme| format!("{scheme}://"))
        .collect();
    beginnings.join(" or ")
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("", &self.0));
        let end = rest.find(['?', '#']).unwrap_or(rest.len());
        let (address, parameters) = rest.split_at(end);
        let (user, place) = match address.split_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, address),
        };
        write!(f, "{scheme}://")?;
        if let Some(user) = user {
            match user.split_once(':') {
                Some((name, _)) => write!(f, "{name}:…@")?,
                None => write!(f, "{user}@")?,
            }
        }
        f.write_str(place)?;
        if !parameters.is_empty() {
            write!(f, "{}…", &parameters[..1])?;
        }
        Ok(())
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretUrl({self})")
    }
}
