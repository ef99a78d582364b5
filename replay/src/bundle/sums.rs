//! `SHA256SUMS` and its signature.

use std::collections::{BTreeMap, HashMap};

use remembrancer_schema::signing::PublicKey;

use super::{layout, sums_line};
use crate::verify::Fault;

/// Every file is in the sums and has its sum, the sums name nothing else, and the key signed them.
pub(super) fn faults(files: &BTreeMap<String, Vec<u8>>, key: Option<&PublicKey>) -> Vec<Fault> {
    let Some(sums) = files.get(layout::SUMS) else {
        return vec![Fault::of_file(layout::SUMS, "the file is missing")];
    };
    let mut faults = Vec::new();
    let signature = files
        .get(layout::SUMS_SIGNATURE)
        .and_then(|bytes| <&[u8; 64]>::try_from(bytes.as_slice()).ok());
    match (key, signature) {
        (_, None) => faults.push(Fault::of_file(
            layout::SUMS_SIGNATURE,
            "not 64 bytes of signature",
        )),
        (Some(key), Some(signature)) if !key.verifies(sums, signature) => {
            faults.push(Fault::of_file(
                layout::SUMS_SIGNATURE,
                "the bundle's key did not sign these sums",
            ));
        }
        _ => {}
    }
    let text = String::from_utf8_lossy(sums);
    let mut listed: HashMap<&str, &str> = HashMap::new();
    for line in text.lines() {
        match line.split_once("  ") {
            Some((sum, name)) if listed.insert(name, sum).is_none() => {}
            _ => faults.push(Fault::of_file(
                layout::SUMS,
                format!("{line:?} is not a line of its own sum and name"),
            )),
        }
    }
    for (name, bytes) in files {
        if name == layout::SUMS || name == layout::SUMS_SIGNATURE {
            continue;
        }
        match listed.remove(name.as_str()) {
            None => faults.push(Fault::of_file(
                name.clone(),
                "the sums do not name this file",
            )),
            Some(sum) if !sums_line(name, bytes).starts_with(sum) || sum.len() != 64 => {
                faults.push(Fault::of_file(
                    name.clone(),
                    "the file does not have the SHA-256 that was signed",
                ));
            }
            Some(_) => {}
        }
    }
    let mut missing: Vec<_> = listed.into_keys().collect();
    missing.sort_unstable();
    faults.extend(
        missing
            .into_iter()
            .map(|name| Fault::of_file(name, "the file is missing")),
    );
    faults
}
