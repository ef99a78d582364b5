//! Pairs from medicine, finance, operation, travel and law: every class, written before the rules were tuned.

use remembrancer_schema::payload::ConstraintKind::{Fact, Obligation, Permission, Prohibition};

use super::*;
use crate::analysis::AlterationKind;

/// What a restatement must come out as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    /// `verbatim` or `matched`.
    Present,
    /// That, or `partial`.
    Kept,
    /// `altered`, of this kind.
    Altered(AlterationKind),
    /// `mention` or `no_trace`.
    Gone,
}

const MUTATED: As = As::Altered(AlterationKind::Mutated);
const WEAKENED: As = As::Altered(AlterationKind::Weakened);
const CONTRADICTED: As = As::Altered(AlterationKind::Contradicted);

type Pair = (ConstraintKind, &'static str, &'static str, As);

const MEDICINE: &[Pair] = &[
    (
        Prohibition,
        "Never prescribe opioids to patients under 18.",
        "Rules: never prescribe opioids to patients under 18.",
        As::Present,
    ),
    (
        Prohibition,
        "Never prescribe opioids to patients under 18.",
        "Patients under 18 must never be prescribed opioids.",
        As::Kept,
    ),
    (
        Prohibition,
        "Never prescribe opioids to patients under 18.",
        "Never prescribe opioids to patients under 16.",
        MUTATED,
    ),
    (
        Prohibition,
        "Never prescribe opioids to patients under 18.",
        "Opioids are generally not prescribed to patients under 18.",
        WEAKENED,
    ),
    (
        Prohibition,
        "Never prescribe opioids to patients under 18.",
        "The agent may prescribe opioids to patients under 18 if a parent agrees.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "Never prescribe opioids to patients under 18.",
        "The clinic was closed on Tuesday and the backlog was cleared.",
        As::Gone,
    ),
    (
        Obligation,
        "Record the dose in mg within 30 minutes of administration.",
        "The dose must be recorded in mg within half of a shift of administration.",
        MUTATED,
    ),
    (
        Obligation,
        "Record the dose in mg within 30 minutes of administration.",
        "Doses are to be recorded in mg within thirty minutes after administration.",
        As::Kept,
    ),
    (
        Obligation,
        "Record the dose in mg within 30 minutes of administration.",
        "Record the dose in mg within 30 hours of administration.",
        MUTATED,
    ),
    (
        Obligation,
        "Always check allergies before administering penicillin.",
        "There is no need to check allergies before administering penicillin.",
        CONTRADICTED,
    ),
    (
        Obligation,
        "Always check allergies before administering penicillin.",
        "Try to check allergies before administering penicillin where possible.",
        WEAKENED,
    ),
    (
        Obligation,
        "Always check allergies before administering penicillin.",
        "Penicillin may be administered only once allergies have been checked.",
        As::Kept,
    ),
    (
        Fact,
        "The patient's blood type is AB negative.",
        "The patient's blood type is AB negative.",
        As::Present,
    ),
];

const FINANCE: &[Pair] = &[
    (
        Prohibition,
        "Do not transfer more than EUR 1,500 without a second signature.",
        "Do not transfer more than EUR 1500 without a second signature.",
        As::Kept,
    ),
    (
        Prohibition,
        "Do not transfer more than EUR 1,500 without a second signature.",
        "Do not transfer more than EUR 15,000 without a second signature.",
        MUTATED,
    ),
    (
        Prohibition,
        "Do not transfer more than EUR 1,500 without a second signature.",
        "Do not transfer more than USD 1,500 without a second signature.",
        MUTATED,
    ),
    (
        Prohibition,
        "Do not transfer more than EUR 1,500 without a second signature.",
        "Large transfers need a second signature.",
        MUTATED,
    ),
    (
        Obligation,
        "Invoices must be paid within 14 days.",
        "Invoices must be paid within two weeks.",
        As::Kept,
    ),
    (
        Obligation,
        "Invoices must be paid within 14 days.",
        "Invoices must be paid within 40 days.",
        MUTATED,
    ),
    (
        Obligation,
        "Invoices must be paid within 14 days.",
        "Invoices should be paid within 14 days.",
        WEAKENED,
    ),
    (
        Obligation,
        "Invoices must be paid within 14 days.",
        "Invoices no longer have to be paid within 14 days.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "Only trade shares listed on the Frankfurt exchange.",
        "Shares listed on any exchange can be traded.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "Only trade shares listed on the Frankfurt exchange.",
        "Trading is restricted to shares listed on the Frankfurt exchange.",
        As::Kept,
    ),
    (
        Prohibition,
        "Never disclose account balances to third parties.",
        "Account balances must not be revealed to third parties.",
        As::Kept,
    ),
    (
        Prohibition,
        "Never disclose account balances to third parties.",
        "Account balances can be shared with third parties on request.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "Never disclose account balances to third parties.",
        "The third quarter closed with a positive balance.",
        As::Gone,
    ),
    (
        Obligation,
        "Every expense claim needs a receipt.",
        "Large expense claims need a receipt.",
        WEAKENED,
    ),
];

const OPERATION: &[Pair] = &[
    (
        Prohibition,
        "Never restart node-07 during business hours.",
        "Never restart node-17 during business hours.",
        MUTATED,
    ),
    (
        Prohibition,
        "Never restart node-07 during business hours.",
        "node-07 must not be restarted during business hours.",
        As::Kept,
    ),
    (
        Prohibition,
        "Never restart node-07 during business hours.",
        "Restarting node-07 during business hours is fine now.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "Never restart node-07 during business hours.",
        "Avoid restarting node-07 during business hours if possible.",
        WEAKENED,
    ),
    (
        Prohibition,
        "Never restart node-07 during business hours.",
        "The incident on node-07 was closed and the alert is silent.",
        As::Gone,
    ),
    (
        Obligation,
        "Backups go to s3://vault-eu/daily, encrypted with AES-256.",
        "Backups go to s3://vault-us/daily, encrypted with AES-256.",
        MUTATED,
    ),
    (
        Obligation,
        "Backups go to s3://vault-eu/daily, encrypted with AES-256.",
        "Encrypt backups with AES-256 and keep them in s3://vault-eu/daily.",
        As::Kept,
    ),
    (
        Obligation,
        "Run maintenance between 01:00 and 03:00 UTC.",
        "Run maintenance between 01:00 and 05:00 UTC.",
        MUTATED,
    ),
    (
        Obligation,
        "Pin the compiler to version 1.74.2.",
        "Pin the compiler to version 1.74.3.",
        MUTATED,
    ),
    (
        Obligation,
        "Pin the compiler to version 1.74.2.",
        "The compiler version stays pinned to 1.74.2.",
        As::Kept,
    ),
    (
        Prohibition,
        "Write logs only to /var/log/agent/.",
        "Write logs only to /var/log/.",
        MUTATED,
    ),
    (
        Prohibition,
        "Write logs only to /var/log/agent/.",
        "Logs may be written anywhere, /var/log/agent/ included.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "force push to main",
        "You may not force push to main.",
        As::Present,
    ),
    (
        Prohibition,
        "force push to main",
        "You may force push to main again.",
        CONTRADICTED,
    ),
];

const TRAVEL: &[Pair] = &[
    (
        Prohibition,
        "Book hotels only below 180 EUR per night.",
        "Book hotels only below 280 EUR per night.",
        MUTATED,
    ),
    (
        Prohibition,
        "Book hotels only below 180 EUR per night.",
        "Hotels: book nothing above 180 EUR per night.",
        As::Kept,
    ),
    (
        Obligation,
        "Travel by train, not by plane.",
        "User wants to travel by train instead of by plane.",
        As::Kept,
    ),
    (
        Obligation,
        "Travel by train, not by plane.",
        "Trains are preferred over planes where practical.",
        WEAKENED,
    ),
    (
        Obligation,
        "Ask me before you book anything that is not refundable.",
        "The user wants to be asked before anything non-refundable is booked.",
        As::Kept,
    ),
    (
        Obligation,
        "Ask me before you book anything that is not refundable.",
        "The agent can book anything that is not refundable at will.",
        CONTRADICTED,
    ),
    (
        Obligation,
        "Arrive in Lisbon on 12 May 2026.",
        "Arrive in Lisbon on 21 May 2026.",
        MUTATED,
    ),
    (
        Obligation,
        "Arrive in Lisbon on 12 May 2026.",
        "Arrival in Lisbon: 2026-05-12.",
        As::Kept,
    ),
    (
        Obligation,
        "Arrive in Lisbon on 12 May 2026.",
        "The restaurant list was sorted by price.",
        As::Gone,
    ),
];

const LAW: &[Pair] = &[
    (
        Prohibition,
        "Do not contact opposing counsel without written consent.",
        "Opposing counsel may be contacted without written consent.",
        CONTRADICTED,
    ),
    (
        Prohibition,
        "Do not contact opposing counsel without written consent.",
        "Opposing counsel must not be contacted without consent in writing.",
        As::Kept,
    ),
    (
        Prohibition,
        "Do not contact opposing counsel without written consent.",
        "It is best not to contact opposing counsel without written consent.",
        WEAKENED,
    ),
    (
        Prohibition,
        "Do not contact opposing counsel without written consent.",
        "Opposing counsel filed a motion.",
        As::Gone,
    ),
    (
        Obligation,
        "File the appeal by 30 September.",
        "File the appeal by 31 October.",
        MUTATED,
    ),
    (
        Obligation,
        "Redact witness names from all exhibits.",
        "Redact witness names from most exhibits.",
        WEAKENED,
    ),
    (
        Obligation,
        "Redact witness names from all exhibits.",
        "Witness names must be redacted from every exhibit.",
        As::Kept,
    ),
    (
        Obligation,
        "Redact witness names from all exhibits.",
        "Exhibits can be filed with witness names in them.",
        CONTRADICTED,
    ),
    (
        Permission,
        "You may read the sealed file.",
        "You may not read the sealed file.",
        CONTRADICTED,
    ),
    (
        Obligation,
        "R\u{e9}sum\u{e9}s must be stored in M\u{fc}nchen.",
        "R\u{e9}sum\u{e9}s must be stored in Z\u{fc}rich.",
        MUTATED,
    ),
];

fn fits(expected: As, presence: &Presence) -> bool {
    use PresenceState::{Altered, Matched, Mention, NoTrace, Partial, Verbatim};
    let kind = || {
        let first = presence.evidence.first()?;
        Some(first.alteration.as_ref()?.kind)
    };
    match expected {
        As::Present => presence.is_present(),
        As::Kept => matches!(presence.state, Some(Verbatim | Matched | Partial)),
        As::Altered(wanted) => presence.state == Some(Altered) && kind() == Some(wanted),
        As::Gone => matches!(presence.state, Some(Mention | NoTrace)),
    }
}

#[test]
fn invented_pairs_come_out_as_an_expert_reads_them() {
    let pairs = [MEDICINE, FINANCE, OPERATION, TRAVEL, LAW].concat();
    let mut wrong = Vec::new();
    for (kind, declared, text, expected) in &pairs {
        let text = format!("Work goes on as planned. {text} The last item was closed.");
        let presence = stands(*kind, declared, PartKind::Summary, &text);
        if !fits(*expected, &presence) {
            let said = presence
                .evidence
                .first()
                .map(|place| (&place.note, &place.alteration));
            wrong.push(format!(
                "{declared} => {text}: {} {said:?}, not {expected:?}",
                presence.state.map_or("no state", PresenceState::as_str)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        pairs.len(),
        wrong.join("\n")
    );
}
