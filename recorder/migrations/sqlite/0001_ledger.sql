-- What a ledger is. One row, written when the ledger is made.
CREATE TABLE ledger (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    origin     TEXT NOT NULL,
    public_key TEXT NOT NULL, -- SPKI PEM
    created    TEXT NOT NULL
) STRICT;

-- One row per session. Everything here is derived from entries and payloads; a verification recomputes it.
CREATE TABLE sessions (
    no            INTEGER PRIMARY KEY, -- order of start, from 1
    id            TEXT NOT NULL UNIQUE,
    label         TEXT,
    agent         TEXT,
    model         TEXT,
    parent        TEXT,
    started       TEXT NOT NULL,
    last_received TEXT NOT NULL,
    sealed        INTEGER NOT NULL,
    entries       INTEGER NOT NULL,
    actions       INTEGER NOT NULL,
    turns         INTEGER NOT NULL,
    head          BLOB NOT NULL
) STRICT;

CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;

-- The record. `bytes` is what counts; the other columns are copies for lookup.
CREATE TABLE entries (
    idx        INTEGER PRIMARY KEY, -- position in the ledger, from 0
    session_no INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    event      TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    hash       BLOB NOT NULL,
    leaf       BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX entries_event ON entries (session_no, event);
CREATE UNIQUE INDEX entries_sequence ON entries (session_no, sequence);

-- Payloads stand apart from entries so that one can be erased while its entry, and so the chain, stays.
CREATE TABLE payloads (
    idx  INTEGER PRIMARY KEY,
    salt BLOB NOT NULL,
    data BLOB NOT NULL
) STRICT;

CREATE TABLE blobs (
    hash  BLOB NOT NULL PRIMARY KEY, -- BLAKE3 of bytes
    bytes BLOB NOT NULL
) STRICT;

-- One signed root per size: the primary key is what keeps two roots for one size from ever being stored.
CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    root BLOB NOT NULL,
    note TEXT NOT NULL
) STRICT;

-- Full tiles of the Merkle tree: 256 hashes of tree level 8 × level. The right edge is recomputed from `entries.leaf`.
CREATE TABLE tiles (
    level  INTEGER NOT NULL,
    tile   INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, tile)
) STRICT, WITHOUT ROWID;

-- Bearer keys. `secret` is BLAKE3 of 256 random bits; the key itself is stored nowhere.
CREATE TABLE tokens (
    id      TEXT NOT NULL PRIMARY KEY,
    role    TEXT NOT NULL CHECK (role IN ('write', 'read', 'admin')),
    name    TEXT NOT NULL,
    secret  BLOB NOT NULL,
    created TEXT NOT NULL,
    revoked TEXT
) STRICT;

-- Append-only, against mistakes of our own. Whoever holds the file can drop these; what then shows is the verification.
CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger row is immutable'); END;
CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger row is immutable'); END;
CREATE TRIGGER entries_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER payloads_update BEFORE UPDATE ON payloads BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER blobs_update BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;
CREATE TRIGGER blobs_delete BEFORE DELETE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;
CREATE TRIGGER checkpoints_update BEFORE UPDATE ON checkpoints BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;
CREATE TRIGGER checkpoints_delete BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'checkpoints are append-only'); END;
CREATE TRIGGER tiles_update BEFORE UPDATE ON tiles BEGIN SELECT RAISE(ABORT, 'tiles are append-only'); END;
CREATE TRIGGER tiles_delete BEFORE DELETE ON tiles BEGIN SELECT RAISE(ABORT, 'tiles are append-only'); END;
