//! The work that many repeated calls make, counted in parts and fates looked at.

use super::*;
use crate::effort;

/// So many calls without a result in any context, a mutation with as many fates and a result that stays, and the calls again,
/// all with one id or each with its own.
fn repeated(times: usize, same_id: bool) -> SessionFixture {
    let id = |call: &str, at: usize| match same_id {
        true => "same".to_owned(),
        false => format!("{call}{at}"),
    };
    let mut fixture = SessionFixture::new();
    let said: Vec<_> = (0..times)
        .map(|at| format!(r#"{{"kind":"user","text":"{at}"}}"#))
        .collect();
    fixture = captured(fixture, 1, &said);
    for at in 0..times {
        fixture = called(fixture, 1, &id("a", at), &format!(r#"{{"id":{at}}}"#));
    }
    fixture = captured(fixture, 2, &[summary("all of it")]);
    for at in 0..times {
        fixture = called(fixture, 2, &id("b", at), &format!(r#"{{"id":{at}}}"#));
    }
    captured(fixture, 3, &[])
}

#[test]
fn the_work_grows_with_the_calls_and_no_faster() {
    for same_id in [false, true] {
        let spent = |times: usize| {
            let record = repeated(times, same_id).record();
            let mut analysis = Analysis::default();
            let work = effort::of(|| analysis = crate::analyse(&record));
            assert_eq!(analysis.actions.len(), 2 * times);
            assert!(analysis.mutations[0].fates.len() > times);
            assert_eq!(analysis.mutations[0].aftermath.repeated_call_count, 0);
            work
        };
        let (once, more) = (spent(100), spent(400));
        assert!(once >= 100, "the work is counted: {once}");
        assert!(more <= once * 5, "{once} then {more}");
    }
}
