-- Venues, and the versions of their seat maps, which never change. A reference is one venue's of its
-- organizer; a version is one map's of its venue. lock_venue changes nothing: it finds a venue of its
-- organizer and makes those who count its maps wait for one another.
-- (See record.sql for what every file here keeps to.)

-- name: insert_venue
INSERT INTO venues (id, organizer, reference, name, metadata, created_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: update_venue
UPDATE venues SET reference = $1, name = $2, metadata = $3 WHERE organizer = $4 AND id = $5

-- name: venue_with_reference
SELECT id FROM venues WHERE organizer = $1 AND reference = $2 AND id <> $3

-- name: lock_venue
UPDATE venues SET name = name WHERE organizer = $1 AND id = $2

-- name: venue_columns
SELECT id, organizer, reference, name, metadata, created_at FROM venues

-- name: venue
{venue_columns} WHERE organizer = $1 AND id = $2

-- name: venues
{venue_columns} WHERE organizer = $1 AND id > $2 ORDER BY id LIMIT $3

-- name: venues_by_reference
{venue_columns} WHERE organizer = $1 AND id > $2 AND reference = $3 ORDER BY id LIMIT $4

-- name: next_version
SELECT COALESCE(MAX(version), 0) + 1 FROM maps WHERE venue = $1

-- name: insert_map
INSERT INTO maps (id, venue, version, name, seats, areas, data, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: map_columns
SELECT m.id, m.venue, v.organizer, m.version, m.name, m.seats, m.areas, m.created_at

-- name: map
{map_columns}, m.data FROM maps m JOIN venues v ON v.id = m.venue WHERE m.id = $1

-- name: maps
{map_columns} FROM maps m JOIN venues v ON v.id = m.venue
WHERE m.venue = $1 AND m.id > $2 ORDER BY m.id LIMIT $3
