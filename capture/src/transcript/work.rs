//! What an import looks at, counted for tests: records that it passes on the way up from a request, and pieces that it puts
//! together. Tests can also have every context put together from its beginning, as the measure of what a short way gives.

use std::cell::Cell;

thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
    static IS_WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Counts things that were looked at.
pub(super) fn looked_at(count: usize) {
    LOOKED_AT.set(LOOKED_AT.get() + count);
}

/// What a known beginning is good for: nothing, where every context is put together from its beginning.
pub(super) fn known<T>(beginning: Option<T>) -> Option<T> {
    beginning.filter(|_| !IS_WHOLE.get())
}

/// Does something, and says how much was looked at for it.
pub(super) fn counted<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let before = LOOKED_AT.get();
    let outcome = act();
    (outcome, LOOKED_AT.get() - before)
}

/// Does something with every context put together from its beginning.
pub(super) fn whole<T>(act: impl FnOnce() -> T) -> T {
    IS_WHOLE.set(true);
    let outcome = act();
    IS_WHOLE.set(false);
    outcome
}
