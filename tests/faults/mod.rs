//! What a crash, a full disk or an old copy does to a ledger: the real process, killed and starved under load, and an auditor
//! that knows every event that was sent and acknowledged.

mod auditor;
mod disk;
mod kill;
mod rig;
mod rolled_back;
mod several;
mod stop;
