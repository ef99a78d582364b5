//! A mutation as a row is read from it.

use remembrancer_replay::analysis::{Anatomy, DeclaredMutation, Mutation};
use remembrancer_schema::payload::{Fate, Witness};

pub(crate) struct MutationRow<'a> {
    pub(super) session: &'a str,
    pub(super) index: usize,
    pub(super) mutation: &'a Mutation,
    /// How the contexts before and after became known.
    pub(super) witness: Option<Witness>,
}

impl MutationRow<'_> {
    pub(super) fn declared(&self) -> Option<&DeclaredMutation> {
        self.mutation.declared.as_ref()
    }

    pub(super) fn count(&self, fate: Fate) -> u64 {
        let fates = &self.mutation.fates;
        fates
            .iter()
            .filter(|part| part.fate == fate && !part.appended)
            .count() as u64
    }

    /// A part of the anatomy of the request after, in estimated tokens.
    pub(super) fn anatomy(&self, part: fn(&Anatomy) -> u64) -> Option<u64> {
        self.mutation.aftermath.anatomy.as_ref().map(part)
    }
}
