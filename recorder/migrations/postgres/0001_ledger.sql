-- Runs with the workspace's schema as the only one in search_path. Ids compare by bytes (COLLATE "C"), in any locale.
-- An index that only grows at its end is packed full; the two by session grow at one place per session and keep their slack.

-- What a ledger is. One row, written when the ledger is made.
CREATE TABLE ledger (
    one        SMALLINT PRIMARY KEY CHECK (one = 1),
    origin     TEXT NOT NULL,
    public_key TEXT NOT NULL, -- SPKI PEM
    created    TEXT NOT NULL
);

-- Whose turn it is to write: a group locks this row first, and moves it from the size on which it was decided. The slack
-- in its page lets PostgreSQL reuse the space of old versions without touching the index.
CREATE TABLE head (
    one  SMALLINT PRIMARY KEY CHECK (one = 1),
    size BIGINT NOT NULL CHECK (size >= 0),
    root BYTEA -- of that size; NULL while there is no entry
) WITH (fillfactor = 10);

INSERT INTO head (one, size) VALUES (1, 0);

-- One row per session. Everything here is derived from entries and payloads; a verification recomputes it. Rows of active
-- sessions change with every group: half of each page is left free for that, and no changing column is indexed.
CREATE TABLE sessions (
    no            BIGINT PRIMARY KEY, -- order of start, from 1
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    label         TEXT COLLATE "C", -- U+0000 written as U+001A 0
    agent         TEXT COLLATE "C",
    model         TEXT COLLATE "C", -- as label
    parent        TEXT COLLATE "C",
    started       TEXT NOT NULL,
    last_received TEXT NOT NULL,
    sealed        BOOLEAN NOT NULL,
    entries       BIGINT NOT NULL,
    actions       BIGINT NOT NULL,
    turns         BIGINT NOT NULL,
    head          BYTEA NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;

-- The record. `bytes` is what counts; the other columns are copies for lookup.
CREATE TABLE entries (
    idx        BIGINT NOT NULL, -- position in the ledger, from 0
    session_no BIGINT NOT NULL,
    sequence   BIGINT NOT NULL,
    event      TEXT COLLATE "C" NOT NULL,
    bytes      BYTEA NOT NULL,
    hash       BYTEA NOT NULL,
    leaf       BYTEA NOT NULL,
    PRIMARY KEY (idx) WITH (fillfactor = 100)
);

CREATE UNIQUE INDEX entries_event ON entries (session_no, event);
CREATE UNIQUE INDEX entries_sequence ON entries (session_no, sequence);

-- Payloads stand apart from entries so that one can be erased while its entry, and so the chain, stays.
CREATE TABLE payloads (
    idx  BIGINT NOT NULL,
    salt BYTEA NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (idx) WITH (fillfactor = 100)
);

CREATE TABLE blobs (
    hash  BYTEA NOT NULL PRIMARY KEY, -- BLAKE3 of bytes
    bytes BYTEA NOT NULL
);

-- One signed root per size: the primary key is what keeps two roots for one size from ever being stored.
CREATE TABLE checkpoints (
    size BIGINT NOT NULL,
    root BYTEA NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (size) WITH (fillfactor = 100)
);

-- Full tiles of the Merkle tree: 256 hashes of tree level 8 × level. The right edge is recomputed from `entries.leaf`.
CREATE TABLE tiles (
    level  BIGINT NOT NULL,
    tile   BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    PRIMARY KEY (level, tile)
);

-- Bearer keys. `secret` is BLAKE3 of 256 random bits; the key itself is stored nowhere.
CREATE TABLE tokens (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    role    TEXT NOT NULL CHECK (role IN ('write', 'read', 'admin')),
    name    TEXT NOT NULL,
    secret  BYTEA NOT NULL,
    created TEXT COLLATE "C" NOT NULL,
    revoked TEXT
);

-- Hashes do not compress. Large payloads and blobs do, and LZ4 takes a fraction of the time of the built-in method, where
-- the server has it (version 14 and later, if built with it).
ALTER TABLE tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
DO $$
BEGIN
    -- As text, because an older server does not even parse it.
    EXECUTE 'ALTER TABLE payloads ALTER COLUMN data SET COMPRESSION lz4';
    EXECUTE 'ALTER TABLE blobs ALTER COLUMN bytes SET COMPRESSION lz4';
EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN
    RAISE NOTICE 'this server has no lz4: large payloads are compressed by pglz';
END
$$;

-- Append-only, against mistakes of our own. Whoever owns the tables can drop these; what then shows is the verification.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER ledger_change BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER entries_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payloads_change BEFORE UPDATE OR TRUNCATE ON payloads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blobs_change BEFORE UPDATE OR DELETE OR TRUNCATE ON blobs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_change BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER tiles_change BEFORE UPDATE OR DELETE OR TRUNCATE ON tiles FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER head_delete BEFORE DELETE OR TRUNCATE ON head FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_smaller_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.size <= OLD.size THEN
        RAISE EXCEPTION 'the head does not go back from % to %', OLD.size, NEW.size;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER head_update BEFORE UPDATE ON head FOR EACH ROW EXECUTE FUNCTION refuse_smaller_head();

-- What the server finds wrong with its own structure: each index against its table, where the extension amcheck is
-- installed and may be used; and the head against the entries.
CREATE FUNCTION structure_faults() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    amcheck text := (SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
                     WHERE e.extname = 'amcheck');
    found record;
BEGIN
    SELECT h.size AS head, (SELECT coalesce(max(idx) + 1, 0) FROM entries) AS size INTO found FROM head AS h;
    IF found.head IS DISTINCT FROM found.size THEN
        RETURN NEXT format('the head is at size %s, the entries end at %s', found.head, found.size);
    END IF;
    IF amcheck IS NULL THEN
        RETURN;
    END IF;
    FOR found IN
        SELECT i.indexrelid, c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE c.relnamespace = current_schema()::regnamespace ORDER BY c.relname
    LOOP
        BEGIN
            EXECUTE format('SELECT %s.bt_index_check($1, true)', amcheck) USING found.indexrelid::regclass;
        EXCEPTION
            WHEN insufficient_privilege THEN RETURN;
            WHEN OTHERS THEN RETURN NEXT format('index %s: %s', found.relname, SQLERRM);
        END;
    END LOOP;
END
$$;
