#![doc = include_str!("../README.md")]

mod assets;
mod error;
mod guard;
mod integrity;
mod ledgers;
mod links;
mod login;
mod mark;
mod markup;
mod matrix;
mod page;
mod pages;
mod part;
mod report;
mod router;
mod source;
mod standing;
mod state;
mod text;
mod timeline;
mod verdict;

pub use login::{Logins, NoRandomness};
pub use report::render_report;
pub use router::router;
pub use source::{Answer, Source, SourceError};
pub use state::ViewerState;
pub use text::is_deceptive;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
