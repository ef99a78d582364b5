use crate::analysis::FindingKind;
use crate::record::fixture::SessionFixture;

#[test]
fn a_call_id_that_is_used_again_is_told_at_each_later_call() {
    let call = |id: &str| format!(r#"{{"turn":1,"call_id":"{id}","tool":"look"}}"#);
    let record = SessionFixture::new()
        .event("tool.called", call("a"))
        .event("tool.called", call("b"))
        .event("tool.called", call("a"))
        .event("tool.called", call("a"))
        .record();
    let analysis = crate::analyse(&record);
    let told: Vec<_> = analysis
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::ActionCallIdRepeated)
        .map(|finding| (finding.entry, finding.call_id.as_deref()))
        .collect();
    assert_eq!(told, [(Some(2), Some("a")), (Some(3), Some("a"))]);
}

#[test]
fn a_report_is_not_borne_out_by_a_denied_call_or_one_that_follows_it() {
    let call = |id: &str, tool: &str| format!(r#"{{"turn":1,"call_id":"{id}","tool":"{tool}"}}"#);
    let record = SessionFixture::new()
        .event("tool.called", call("a", "look"))
        .event("tool.called", call("b", "pay"))
        .event("tool.returned", r#"{"call_id":"b","status":"denied"}"#)
        .event(
            "report.filed",
            r#"{"claimed_actions":[{"text":"looked","tool":"look"},{"text":"paid","tool":"pay"},{"text":"told","tool":"tell"}]}"#,
        )
        .event("tool.called", call("c", "tell"))
        .record();
    let analysis = crate::analyse(&record);
    let told: Vec<_> = analysis
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::ReportClaimUnrecorded)
        .map(|finding| finding.message.split_whitespace().nth(3))
        .collect();
    assert_eq!(told, [Some("\"paid\","), Some("\"told\",")]);
}
