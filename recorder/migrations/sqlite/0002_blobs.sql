-- Large blobs lie outside of the database, in a folder or in S3 (docs/blobs.md). A row says that the blob is stored, and where.
DROP TRIGGER blobs_update;
DROP TRIGGER blobs_delete;
ALTER TABLE blobs RENAME TO old_blobs;

CREATE TABLE blobs (
    hash   BLOB NOT NULL PRIMARY KEY, -- BLAKE3 of its bytes
    size   INTEGER NOT NULL,
    place  TEXT NOT NULL CHECK (place IN ('inline', 'store')),
    stored TEXT NOT NULL, -- when it was last uploaded; garbage is what nothing refers to long after that
    bytes  BLOB, -- of an inline blob
    CHECK ((place = 'inline') = (bytes IS NOT NULL))
) STRICT;

-- How old the blobs of older tables are is not known; they count as new.
INSERT INTO blobs (hash, size, place, stored, bytes)
SELECT hash, length(bytes), 'inline', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), bytes FROM old_blobs;
DROP TABLE old_blobs;

-- Whether there is any blob outside is asked at every start.
CREATE INDEX blobs_outside ON blobs (hash) WHERE place = 'store';

-- Blobs that the garbage collection is removing. Nobody may store one until its mark is gone.
CREATE TABLE condemned_blobs (
    hash  BLOB NOT NULL PRIMARY KEY,
    since TEXT NOT NULL
) STRICT;

CREATE TRIGGER blobs_update BEFORE UPDATE OF hash, size, place, bytes ON blobs
BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;
CREATE TRIGGER blobs_delete BEFORE DELETE ON blobs
WHEN NOT EXISTS (SELECT 1 FROM condemned_blobs WHERE hash = OLD.hash)
BEGIN SELECT RAISE(ABORT, 'blobs are append-only'); END;
