//! How much of a text is read, counted for the tests: that it grows with the text and no faster is asserted, and not timed.

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Notes that so many tokens were looked at.
#[cfg(test)]
pub(crate) fn spend(tokens: usize) {
    SPENT.set(SPENT.get() + tokens as u64);
}

/// Notes that so many tokens were looked at: in tests only.
#[cfg(not(test))]
pub(crate) fn spend(_tokens: usize) {}

/// The tokens that `work` looks at on this thread.
#[cfg(test)]
pub(crate) fn of(work: impl FnOnce()) -> u64 {
    let before = SPENT.get();
    work();
    SPENT.get() - before
}
