#![doc = include_str!("../README.md")]

mod admin_act;
mod analyses;
mod backup;
mod blob_store;
mod checkpoint_copy;
mod clock;
mod data_dir;
mod doctor;
mod error;
mod garbage;
mod group;
mod http;
mod incoming;
mod ledger;
mod limits;
mod metrics;
mod migration;
mod random;
mod reader;
mod sequencer;
mod session;
mod store;
#[cfg(test)]
mod testing;
mod token;
mod tree;
mod verify;
mod witnesses;
mod workspaces;

pub use admin_act::{Actor, record_act};
pub use analyses::{Analyses, AnalysisFailed};
pub use backup::{
    BackupOptions, BackupReport, FileInBackup, KeyAfterRestore, LedgerInBackup, LedgerRestored,
    LedgerState, Manifest, RestoreOptions, RestoreReport, back_up, restore,
};
pub use blob_store::{BLOB_BYTES_MAX, BlobLocation, BlobStoreError, install_crypto_provider};
pub use doctor::{DoctorOptions, Finding, Level, examine, open_files_max};
pub use error::LedgerError;
pub use garbage::{
    GRACE, GarbageItem, GarbageOptions, GarbagePlace, GarbageReport, collect_garbage,
};
pub use http::{
    ApiState, BundleMaker, Intake, IntakeAnswer, IntakeDescription, IntakeRequest, MetricsAccess,
    Problem, Slug, observed, router,
};
pub use incoming::{Outcome, OwnedEvent, Rejection};
pub use ledger::{Ledger, LedgerOptions, load_key};
pub use limits::{LimitError, LimitKey, Limits};
pub use metrics::{LedgerMetrics, Metrics, OpenConnection};
pub use migration::{Migration, ledgers_in, migrate_ledger, plan_migration};
pub use reader::{Behind, PAGE_ITEMS_MAX, Reader, StoredEntry};
pub use session::{Page, SessionSummary};
pub use store::{BadWorkspaceName, DatabaseUrl, LedgerLocation, MigrationStep, WorkspaceName};
pub use token::{
    NewToken, Principal, Role, TokenSummary, UnknownRole, create_token, create_token_by,
    list_tokens, revoke_token, revoke_token_by, workspace_of,
};
pub use verify::{LedgerVerdict, verify_ledger, verify_ledger_against};
pub use witnesses::{BadWitness, WitnessAddress};
pub use workspaces::{
    LedgerSummary, WorkspaceStanding, WorkspaceSummary, Workspaces, create_workspace,
    list_workspaces,
};
