//! The files of a bundle that follow from its entries: computed anew and compared byte for byte.

use std::collections::BTreeMap;

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::PublicKey;
use serde::Deserialize;

use super::verify::{ReportFacts, ReportRenderer};
use super::{ANALYSIS_VERSION, PROGRAM, analysis_bytes, layout, write};
use crate::Analysis;
use crate::record::SessionRecord;
use crate::verify::Fault;

/// What the comparison gave.
#[derive(Default)]
pub(super) struct Derived {
    /// The analysis, computed anew.
    pub(super) analysis: Option<Analysis>,
    pub(super) faults: Vec<Fault>,
    /// What was compared, in words.
    pub(super) compared: Vec<String>,
    /// What was not, in words. A file that another version of the program wrote says nothing here.
    pub(super) not_compared: Vec<String>,
}

/// Who wrote the derived files.
#[derive(Deserialize)]
struct Writer {
    analysis_version: u32,
    program: String,
}

/// Compares `analysis.json`, `report.html` and `README.txt` with what the record gives.
pub(super) fn compare(
    files: &BTreeMap<String, Vec<u8>>,
    record: &SessionRecord,
    key: &PublicKey,
    render: Option<ReportRenderer<'_>>,
) -> Derived {
    let mut derived = Derived::default();
    let analysis = crate::analyse(record);
    let content = |name: &str| files.get(name).map_or(&[][..], Vec::as_slice);
    let Ok(writer) = serde_json::from_slice::<Writer>(content(layout::ANALYSIS)) else {
        derived
            .faults
            .push(Fault::of_file(layout::ANALYSIS, "not an analysis"));
        return derived;
    };
    if writer.analysis_version == ANALYSIS_VERSION {
        derived.expect(
            layout::ANALYSIS,
            content(layout::ANALYSIS),
            &analysis_bytes(&analysis),
        );
    } else {
        derived.skip(
            layout::ANALYSIS,
            &format!("it is of analysis version {}", writer.analysis_version),
        );
    }
    let fingerprint = key.fingerprint();
    if writer.program == PROGRAM {
        let readme = write::readme(&record.session, record.events.len(), &fingerprint);
        derived.expect(layout::README, content(layout::README), readme.as_bytes());
    } else {
        derived.skip(layout::README, "another version of the program wrote it");
    }
    let note = String::from_utf8_lossy(content(layout::CHECKPOINT));
    let origin = Checkpoint::parse_unverified(&note)
        .map_or(String::new(), |checkpoint| checkpoint.origin.to_string());
    let head = record.head().map_or(String::new(), |head| head.to_string());
    let facts = ReportFacts {
        origin: &origin,
        fingerprint: &fingerprint,
        checkpoint: &note,
        head: &head,
    };
    match render.and_then(|render| render(&analysis, &facts)) {
        Some(report) if writer.program == PROGRAM => {
            derived.expect(layout::REPORT, content(layout::REPORT), report.as_bytes());
        }
        Some(_) => derived.skip(layout::REPORT, "another version of the program wrote it"),
        None => derived.skip(layout::REPORT, "this verifier renders no pages"),
    }
    derived.analysis = Some(analysis);
    derived
}

impl Derived {
    fn expect(&mut self, name: &str, found: &[u8], computed: &[u8]) {
        if found == computed {
            self.compared.push(format!(
                "{name} is what the entries give when it is computed anew"
            ));
        } else {
            self.faults.push(Fault::of_file(
                name,
                "not what the entries give when it is computed anew",
            ));
        }
    }

    fn skip(&mut self, name: &str, why: &str) {
        self.not_compared
            .push(format!("that {name} says what the entries say: {why}"));
    }
}
