//! What ends a command other than success, and the exit code that says so.

use std::fmt::Display;
use std::process::ExitCode;

use crate::terminal;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The check ran and found something that does not hold; what, has been printed. Exit code 1.
    Divergence,
    /// It could not be done. Exit code 2.
    Impossible {
        /// What was tried and what went wrong, innermost cause last.
        error: anyhow::Error,
        /// What to do next.
        hint: Option<String>,
    },
}

impl Failure {
    /// A failure with its own message.
    pub(crate) fn new(message: impl Display) -> Self {
        Self::Impossible {
            error: anyhow::anyhow!("{message}"),
            hint: None,
        }
    }

    /// The same failure with the next step.
    pub(crate) fn hint(self, next_step: impl Into<String>) -> Self {
        match self {
            Self::Impossible { error, .. } => Self::Impossible {
                error,
                hint: Some(next_step.into()),
            },
            divergence => divergence,
        }
    }

    /// What went wrong and what to do next, in words.
    pub(crate) fn into_words(self) -> (String, Option<String>) {
        match self {
            Self::Divergence => ("a check did not hold".to_owned(), None),
            Self::Impossible { error, hint } => (chain(&error), hint),
        }
    }

    /// Prints the failure for people and returns its exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Divergence => ExitCode::from(1),
            Self::Impossible { error, hint } => {
                terminal::say_error(&chain(&error), hint.as_deref());
                ExitCode::from(2)
            }
        }
    }
}

/// The error and its causes; a cause that a message already tells is not told again.
fn chain(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .fold(String::new(), |told, cause| {
            if told.is_empty() {
                cause
            } else if told.contains(&cause) {
                told
            } else {
                format!("{told}: {cause}")
            }
        })
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Impossible {
            error: error.into(),
            hint: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = Err::<(), _>(std::io::Error::other("disk full")).context("writing a.rmb");
        assert_eq!(
            chain(&error.expect_err("an error")),
            "writing a.rmb: disk full"
        );
        let told =
            Err::<(), _>(std::io::Error::other("disk full")).context("writing a.rmb: disk full");
        assert_eq!(
            chain(&told.expect_err("an error")),
            "writing a.rmb: disk full"
        );
    }
}
