//! One module per page: what it takes, what it shows, how it is made.

pub(crate) mod action;
pub(crate) mod constraint;
pub(crate) mod evidence;
pub(crate) mod findings;
pub(crate) mod help;
pub(crate) mod integrity;
pub(crate) mod login;
pub(crate) mod mutation;
pub(crate) mod rejected;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod turn;
