//! A bearer key as clients send it.

use crate::store::{WORKSPACE_DEFAULT, WorkspaceName};
use crate::token::Role;

const PREFIX: &str = "rmb";
/// Most characters of a key's id; longer ones are not looked up.
const ID_CHARACTERS_MAX: usize = 32;

/// The parts of a key's text: `rmb_<role>_<workspace>_<id>_<secret>`. No part has an underscore. Keys from before there were
/// workspaces have none in their text; they are of the default one.
pub(super) struct KeyText<'a> {
    pub(super) role: Role,
    pub(super) workspace: &'a str,
    pub(super) id: &'a str,
    pub(super) secret: [u8; 32],
}

impl<'a> KeyText<'a> {
    /// Reads a key's text; `None` for what cannot be a key.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut fields = [""; 5];
        let mut count = 0;
        for field in text.split('_') {
            *fields.get_mut(count)? = field;
            count += 1;
        }
        let [prefix, role, rest @ ..] = &fields[..count] else {
            return None;
        };
        let (workspace, id, secret) = match *rest {
            [id, secret] => (WORKSPACE_DEFAULT, id, secret),
            [workspace, id, secret] => (workspace, id, secret),
            _ => return None,
        };
        if !WorkspaceName::is_good(workspace) {
            return None;
        }
        if *prefix != PREFIX || id.is_empty() || id.len() > ID_CHARACTERS_MAX {
            return None;
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(secret, &mut bytes).ok()?;
        Some(Self {
            role: role.parse().ok()?,
            workspace,
            id,
            secret: bytes,
        })
    }
}

/// The workspace that a key's text names: where a request with it belongs. `None` for what cannot be a key. Says nothing about
/// whether the key is valid there.
pub fn workspace_of(text: &str) -> Option<WorkspaceName> {
    workspace_in(text)?.parse().ok()
}

/// The same without a copy of the name.
pub(crate) fn workspace_in(text: &str) -> Option<&str> {
    KeyText::parse(text).map(|key| key.workspace)
}

/// The text of a new key.
pub(super) fn text(role: Role, workspace: &WorkspaceName, id: &str, secret: &[u8; 32]) -> String {
    format!("{PREFIX}_{role}_{workspace}_{id}_{}", hex::encode(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_workspace_and_one_without_is_of_the_default_one() {
        let secret = "ab".repeat(32);
        let acme: WorkspaceName = "acme-2".parse().expect("a name");
        let new = text(Role::Read, &acme, "0123", &[0xab; 32]);
        assert_eq!(new, format!("rmb_read_acme-2_0123_{secret}"));
        let key = KeyText::parse(&new).expect("a key");
        assert_eq!(
            (key.role, key.id, key.secret),
            (Role::Read, "0123", [0xab; 32])
        );
        assert_eq!(key.workspace, acme.as_str());
        let old = format!("rmb_write_0123_{secret}");
        assert_eq!(workspace_of(&old), Some(WorkspaceName::default()));
        for bad in [
            String::new(),
            "rmb".to_owned(),
            format!("rmb_write_{secret}"),
            format!("rmb_owner_0123_{secret}"),
            format!("rmb_write_Acme_0123_{secret}"),
            format!("rmb_write_.._0123_{secret}"),
            format!("rmb_write_acme__{secret}"),
            format!("rmb_write_acme_0123_{secret}0"),
            format!("rmb_write_acme_0123_{secret}_"),
            format!("xyz_write_acme_0123_{secret}"),
            format!("rmb_write_acme_{}_{secret}", "0".repeat(33)),
        ] {
            assert_eq!(workspace_of(&bad), None, "{bad}");
        }
    }
}
