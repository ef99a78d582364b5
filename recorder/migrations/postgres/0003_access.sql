-- What was done to the ledger by those who run it, until the sequencer has turned it into entries: written in the transaction
-- of the act itself, deleted in the transaction that appends its entry. Never holds a secret.
CREATE TABLE admin_acts (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- also the id of its event; begins with the time, so that it orders them
    kind     TEXT NOT NULL,                         -- an event type: admin.*
    happened TEXT NOT NULL,
    data     TEXT NOT NULL                          -- the event's payload
);

-- `tokens.secret` holds from here on an argon2id PHC string (in bytes) for every new key. A key that was made before keeps the 32
-- bytes of BLAKE3 of its 256 random bits until it is first used, and has a PHC string from then on.
