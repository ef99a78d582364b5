//! Contexts of chains, put together.

use super::super::super::super::transcript::Assembly;
use super::super::super::recording::Recording;
use super::*;
use remembrancer_schema::payload::{Part, PartKind};

struct Built {
    chain: Chain,
    assembly: Assembly,
    recording: Recording,
}

impl Built {
    fn new() -> Self {
        Self {
            chain: Chain::default(),
            assembly: Assembly::default(),
            recording: Recording::new(
                "s".parse().expect("an id"),
                None,
                remembrancer_schema::payload::Witness::Transcript,
                &super::super::super::ImportOptions::default(),
            ),
        }
    }

    fn node(&mut self, text: &str, parent: Parent, of: [Option<MessageIndex>; 2]) -> usize {
        let part = Part::inline(PartKind::User, text);
        let piece = self.assembly.add(vec![part], &mut self.recording);
        self.chain.push(Node {
            parent,
            pieces: vec![piece],
            message: of[0],
            results_of: of[1],
            boundary: None,
        })
    }

    fn texts(&self, leaf: usize) -> Vec<String> {
        let pieces = self.chain.pieces(&self.chain.walk(Some(leaf)));
        let parts = pieces
            .iter()
            .flat_map(|&piece| self.assembly.parts(piece))
            .map(|part| part.text.clone().expect("a text"));
        parts.collect()
    }
}

#[test]
fn parallel_calls_and_their_results_are_gathered() {
    let mut built = Built::new();
    let task = built.node("task", Parent::Root, [None; 2]);
    let (message, is_new) = built.chain.message("m1");
    assert!(is_new);
    let one = built.node("call 1", Parent::Node(task), [Some(message), None]);
    let two = built.node("call 2", Parent::Node(one), [Some(message), None]);
    built.node("result 1", Parent::Node(one), [None, Some(message)]);
    let result = built.node("result 2", Parent::Node(two), [None, Some(message)]);
    let three = built.node("call 3", Parent::Node(result), [Some(message), None]);
    let last = built.node("result 3", Parent::Node(three), [None, Some(message)]);
    assert_eq!(
        built.texts(last),
        [
            "task", "call 1", "call 2", "call 3", "result 1", "result 2", "result 3"
        ]
    );
}

#[test]
fn a_boundary_ends_the_walk_and_what_it_preserves_follows_the_summary() {
    let mut built = Built::new();
    let task = built.node("task", Parent::Root, [None; 2]);
    let kept = built.node("kept", Parent::Node(task), [None; 2]);
    let boundary = built.chain.push(Node {
        parent: Parent::Root,
        pieces: Vec::new(),
        message: None,
        results_of: None,
        boundary: Some(vec![kept]),
    });
    let summary = built.node("summary", Parent::Node(boundary), [None; 2]);
    let next = built.node("next", Parent::Node(summary), [None; 2]);
    assert_eq!(built.texts(next), ["summary", "kept", "next"]);
    assert_eq!(built.chain.walk(Some(next)).boundary, Some(boundary));
    let lost = built.node("lost", Parent::Missing, [None; 2]);
    assert_eq!(built.chain.walk(Some(lost)).dangling, Some(lost));
}
