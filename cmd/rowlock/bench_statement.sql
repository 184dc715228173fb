-- The statements of the reference that runs one conditional statement a request. Contract: each
-- claim is one transaction of take and keep, each release one of drop and give; time is not judged,
-- since nothing lapses here. The constraint has the last word, as in the real schema.

-- name: make
CREATE TABLE units (key TEXT PRIMARY KEY, held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1))) STRICT, WITHOUT ROWID;
CREATE TABLE holds (hash BLOB PRIMARY KEY, unit TEXT NOT NULL UNIQUE) STRICT, WITHOUT ROWID;

-- name: unit
INSERT INTO units (key) VALUES (?)

-- name: take
UPDATE units SET held = 1 WHERE key = ? AND held = 0

-- name: keep
INSERT INTO holds (hash, unit) VALUES (?, ?)

-- name: drop
DELETE FROM holds WHERE hash = ? RETURNING unit

-- name: give
UPDATE units SET held = 0 WHERE key = ?

-- name: audit
-- Units that are held by nobody, and holds of units that are free.
SELECT key FROM units LEFT JOIN holds ON unit = key WHERE held <> (hash IS NOT NULL)
