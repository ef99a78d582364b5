//! Every size limit of the format. Names carry the unit; all limits are inclusive.

/// Largest event, envelope and payload together, in bytes as received.
pub const EVENT_BYTES_MAX: usize = 256 * 1024;
/// Deepest nesting of arrays and objects in an event.
pub const JSON_DEPTH_MAX: usize = 64;
/// Longest client-chosen id (session, event, call, constraint), in bytes.
pub const ID_BYTES_MAX: usize = 128;
/// Longest agent name, in bytes of UTF-8.
pub const AGENT_BYTES_MAX: usize = 256;
/// Most blobs that one event may introduce.
pub const EVENT_BLOBS_MAX: usize = 256;
/// Largest canonical entry, in bytes: what the length of an entry can say in a bundle of a tiled log (C2SP `tlog-tiles`).
pub const ENTRY_BYTES_MAX: usize = 65_535;
/// Longest ledger origin, in bytes.
pub const ORIGIN_BYTES_MAX: usize = 255;
/// Largest integer that every IEEE 754 double holds exactly together with its neighbours: 2^53 − 1 (RFC 7493 §2.2).
pub const INTEGER_MAX: u64 = (1 << 53) - 1;
/// Longest regular expression in a matcher, in bytes.
pub const MATCHER_REGEX_BYTES_MAX: usize = 1024;
/// Most terms of a matcher, `all_of` and `any_of` together.
pub const MATCHER_TERMS_MAX: usize = 64;
/// Longest text of a constraint, in bytes of UTF-8.
pub const CONSTRAINT_TEXT_BYTES_MAX: usize = 8 * 1024;
/// Most parts that one context may hold.
pub const CONTEXT_PARTS_MAX: usize = 100_000;
/// Most effects, and most paths, of one pattern of actions.
pub const PATTERN_LISTED_MAX: usize = 64;
/// Most bytes of one path in a pattern.
pub const PATTERN_PATH_BYTES_MAX: usize = 512;
/// Most symbolic links that a scope may declare.
pub const PLACES_LINKS_MAX: usize = 64;
/// Longest path that a scope may declare a place with, in bytes.
pub const PLACES_PATH_BYTES_MAX: usize = 4096;
/// Most witnesses of one ledger.
pub const WITNESSES_MAX: usize = 16;
/// Largest checkpoint with its signatures, in bytes.
pub const NOTE_BYTES_MAX: usize = 16 * 1024;
