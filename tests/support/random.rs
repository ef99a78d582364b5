//! Random choices that can be repeated from their seed.

/// `SplitMix64`: enough to vary a test, and repeatable without a dependency.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Choices from a seed.
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed from `REMEMBRANCER_TEST_SEED`, else from the clock. Printed, so that a failing run can be repeated.
    pub(crate) fn seed(test: &str) -> u64 {
        let given = std::env::var("REMEMBRANCER_TEST_SEED").ok();
        let seed = given.map_or_else(clock_seed, |text| text.parse().expect("a seed is a number"));
        eprintln!("{test}: REMEMBRANCER_TEST_SEED={seed} repeats its choices");
        seed
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `from` up to, not including, `to`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    /// True once in `times` on average.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.between(0, times) == 0
    }
}

fn clock_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |since| since.as_nanos() as u64 & 0xffff_ffff)
}
