//! How many requests each key may send: one bucket per key, in this process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Buckets held before full ones are dropped. A ledger has as many keys as people made, so that this is rarely reached.
const BUCKETS_MAX: usize = 10_000;

/// Buckets that fill with one request each so many times a second. Only keys that were found valid have one.
pub(crate) struct Rates {
    /// Time in which a bucket gains one request; `None` for no limit.
    interval: Option<Duration>,
    /// Time in which an empty bucket fills.
    burst: Duration,
    /// When each bucket is full again; a moment passed stands for a full one.
    full_at: Mutex<HashMap<String, Instant>>,
}

impl Rates {
    /// Buckets that gain `per_second` requests a second and hold `burst`, at least one. With 0 a second, nothing is limited.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let interval = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        Self {
            interval,
            burst: interval.unwrap_or_default() * burst.max(1),
            full_at: Mutex::default(),
        }
    }

    /// Takes a request from a key's bucket, or says in how many seconds, rounded up, there is one again.
    pub(crate) fn take(&self, key: &str) -> Result<(), u64> {
        self.take_at(key, Instant::now())
    }

    fn take_at(&self, key: &str, now: Instant) -> Result<(), u64> {
        let Some(interval) = self.interval else {
            return Ok(());
        };
        // No code panics while it holds the lock, and no entry can be half written.
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = full_at.get(key).map_or(now, |at| (*at).max(now)) + interval;
        let missing = (filled - now).saturating_sub(self.burst);
        if !missing.is_zero() {
            return Err(missing.as_nanos().div_ceil(1_000_000_000).max(1) as u64);
        }
        match full_at.get_mut(key) {
            Some(at) => *at = filled,
            None => {
                if full_at.len() >= BUCKETS_MAX {
                    full_at.retain(|_, at| *at > now);
                }
                full_at.insert(key.to_owned(), filled);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_then_its_rate_and_each_key_has_its_own() {
        let rates = Rates::new(2, 3);
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        for _ in 0..3 {
            assert_eq!(rates.take_at("a", start), Ok(()));
        }
        assert_eq!(rates.take_at("a", start), Err(1));
        assert_eq!(rates.take_at("a", after(499)), Err(1));
        assert_eq!(rates.take_at("b", start), Ok(()));
        assert_eq!(rates.take_at("a", after(500)), Ok(()));
        assert_eq!(rates.take_at("a", after(501)), Err(1));
        // However long it rests, it holds no more than the burst.
        for _ in 0..3 {
            assert_eq!(rates.take_at("a", after(60_000)), Ok(()));
        }
        assert_eq!(rates.take_at("a", after(60_000)), Err(1));
    }

    #[test]
    fn the_wait_is_told_exactly_and_no_rate_is_no_limit() {
        let rates = Rates::new(1, 2);
        let start = Instant::now();
        assert_eq!(rates.take_at("a", start), Ok(()));
        assert_eq!(rates.take_at("a", start), Ok(()));
        assert_eq!(rates.take_at("a", start), Err(1));
        assert_eq!(rates.take_at("a", start + Duration::from_secs(1)), Ok(()));
        let off = Rates::new(0, 1);
        for _ in 0..1000 {
            assert_eq!(off.take_at("a", start), Ok(()));
        }
        assert!(off.full_at.lock().expect("a lock").is_empty());
    }

    #[test]
    fn full_buckets_make_room() {
        let rates = Rates::new(1, 1);
        let start = Instant::now();
        for key in 0..BUCKETS_MAX {
            assert_eq!(rates.take_at(&key.to_string(), start), Ok(()));
        }
        let later = start + Duration::from_secs(2);
        assert_eq!(rates.take_at("new", later), Ok(()));
        assert_eq!(rates.full_at.lock().expect("a lock").len(), 1);
    }
}
