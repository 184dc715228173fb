-- What a command answered, kept under its id in the transaction of its effect.
--
-- Contract of every file here: one statement a block, `-- name:` begins a block, {name} stands for an
-- earlier block of the same file and {clock} for the store's clock, microseconds since 1970 UTC. Only
-- what SQLite and PostgreSQL both have. Parameters are $1, $2, … in the order of their first use,
-- for SQLite counts them so. Flags are the integers 0 and 1.

-- name: now
SELECT {clock}

-- name: drop_record
DELETE FROM records WHERE id = $1 AND at <= $2

-- name: insert_record
INSERT INTO records (id, body, answer, sealed, at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO NOTHING

-- name: answer_record
UPDATE records SET answer = $1 WHERE id = $2

-- name: record
SELECT body, answer, sealed FROM records WHERE id = $1

-- name: record_in_force
{record} AND at > {clock} - $2
