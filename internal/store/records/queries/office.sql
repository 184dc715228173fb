-- Organizers and their keys. A key's secret is known as its hash only. lock_organizer changes nothing:
-- it finds the organizer and makes its paperwork wait for one another, in PostgreSQL too.
-- (See record.sql for what every file here keeps to.)

-- name: insert_organizer
INSERT INTO organizers (id, name, created_at) VALUES ($1, $2, $3)

-- name: lock_organizer
UPDATE organizers SET name = name WHERE id = $1

-- name: organizers
SELECT id, name, created_at FROM organizers ORDER BY id

-- name: insert_key
INSERT INTO api_keys (id, organizer, name, role, hint, hash, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: revoke_key
UPDATE api_keys SET revoked_at = $1 WHERE organizer = $2 AND id = $3 AND revoked_at IS NULL

-- name: key_columns
SELECT id, organizer, name, role, hint, hash, created_at, revoked_at FROM api_keys

-- name: key
{key_columns} WHERE organizer = $1 AND id = $2

-- name: key_by_hash
{key_columns} WHERE hash = $1 AND revoked_at IS NULL

-- name: keys
{key_columns} WHERE organizer = $1 AND id > $2 ORDER BY id LIMIT $3
