//! The only place where this crate reads the clock.

/// The present moment as the ledger writes times: RFC 3339, UTC, milliseconds.
pub(crate) fn now() -> String {
    format!("{:.3}", moment())
}

/// The present moment.
pub(crate) fn moment() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// A moment in the past, in the same form.
pub(crate) fn ago(age: std::time::Duration) -> String {
    let age = jiff::SignedDuration::try_from(age).unwrap_or(jiff::SignedDuration::MAX);
    let moment = jiff::Timestamp::now().saturating_sub(age);
    format!("{:.3}", moment.unwrap_or(jiff::Timestamp::MIN))
}

/// A moment in milliseconds since 1970, in the same form.
pub(crate) fn from_milliseconds(milliseconds: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(milliseconds);
    format!("{:.3}", moment.unwrap_or(jiff::Timestamp::MIN))
}

/// Whether a moment lies more than a time before another one. What is no moment does not.
pub(crate) fn is_past(moment: &str, now: &str, age: std::time::Duration) -> bool {
    let parse = |text: &str| text.parse::<jiff::Timestamp>().ok();
    match (parse(moment), parse(now)) {
        (Some(moment), Some(now)) => {
            now.duration_since(moment)
                > jiff::SignedDuration::try_from(age).unwrap_or(jiff::SignedDuration::MAX)
        }
        _ => false,
    }
}

/// Milliseconds since 1970, for ids that order by time.
pub(crate) fn milliseconds() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn ages_are_told_in_the_same_form() {
        let (now, hour) = (super::now(), Duration::from_secs(3600));
        let earlier = super::ago(hour + Duration::from_secs(1));
        assert_eq!(earlier.len(), now.len());
        assert!(earlier < now);
        assert!(super::is_past(&earlier, &now, hour));
        assert!(!super::is_past(&now, &now, Duration::ZERO));
        assert!(
            !super::is_past(&now, &earlier, hour),
            "the future is not past"
        );
        assert!(!super::is_past("yesterday", &now, hour));
        assert!(super::ago(Duration::MAX) < earlier);
        assert_eq!(super::from_milliseconds(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn times_have_one_form() {
        let now = super::now();
        assert_eq!(now.len(), "2026-11-30T08:00:00.000Z".len(), "{now}");
        assert!(now.ends_with('Z'), "{now}");
        assert!(now.parse::<jiff::Timestamp>().is_ok(), "{now}");
    }
}
