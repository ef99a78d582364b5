//! The only place where this crate reads the clock.

/// The present moment as the ledger writes times: RFC 3339, UTC, milliseconds.
pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_have_one_form() {
        let now = super::now();
        assert_eq!(now.len(), "2026-11-30T08:00:00.000Z".len(), "{now}");
        assert!(now.ends_with('Z'), "{now}");
        assert!(now.parse::<jiff::Timestamp>().is_ok(), "{now}");
    }
}
