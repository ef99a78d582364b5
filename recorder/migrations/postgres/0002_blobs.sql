-- Large blobs lie outside of the database, in a folder or in S3 (docs/blobs.md). A row says that the blob is stored, and where.
DROP TRIGGER blobs_change ON blobs;
ALTER TABLE blobs ALTER COLUMN bytes DROP NOT NULL; -- of an inline blob
ALTER TABLE blobs ADD COLUMN size BIGINT;
ALTER TABLE blobs ADD COLUMN place TEXT CHECK (place IN ('inline', 'store'));
-- When it was last uploaded; garbage is what nothing refers to long after that. How old the blobs of older tables are is not
-- known; they count as new.
ALTER TABLE blobs ADD COLUMN stored TEXT COLLATE "C";
UPDATE blobs SET size = octet_length(bytes), place = 'inline',
    stored = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
ALTER TABLE blobs ALTER COLUMN size SET NOT NULL;
ALTER TABLE blobs ALTER COLUMN place SET NOT NULL;
ALTER TABLE blobs ALTER COLUMN stored SET NOT NULL;
ALTER TABLE blobs ADD CHECK ((place = 'inline') = (bytes IS NOT NULL));

-- Whether there is any blob outside is asked at every start.
CREATE INDEX blobs_outside ON blobs (hash) WHERE place = 'store';

-- Blobs that the garbage collection is removing. Nobody may store one until its mark is gone.
CREATE TABLE condemned_blobs (
    hash  BYTEA NOT NULL PRIMARY KEY,
    since TEXT COLLATE "C" NOT NULL
);

CREATE FUNCTION refuse_blob_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.hash, NEW.size, NEW.place, NEW.bytes) IS NOT DISTINCT FROM (OLD.hash, OLD.size, OLD.place, OLD.bytes) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' AND EXISTS (SELECT 1 FROM condemned_blobs WHERE hash = OLD.hash) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'blobs is append-only';
END
$$;

CREATE TRIGGER blobs_change BEFORE UPDATE OR DELETE ON blobs FOR EACH ROW EXECUTE FUNCTION refuse_blob_change();
CREATE TRIGGER blobs_truncate BEFORE TRUNCATE ON blobs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
