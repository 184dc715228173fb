-- Events before they are contended, and the lists of them. doc holds the whole event; the columns
-- beside it mirror what constraints and lists need, and state and revision win over the document.
-- Each event begins with its position at 0. A reference is one event's of its organizer: an insert
-- that finds it taken inserts nothing, whoever else is writing.
-- (See record.sql for what every file here keeps to.)

-- name: map_of
SELECT m.id FROM maps m JOIN venues v ON v.id = m.venue
WHERE m.id = $1 AND v.id = $2 AND v.organizer = $3

-- name: insert_event
INSERT INTO events (id, organizer, venue, map, reference, state, doc, revision, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING

-- name: insert_position
INSERT INTO positions (event, version) SELECT n, 0 FROM events WHERE id = $1

-- name: event_with_reference
SELECT id FROM events WHERE organizer = $1 AND reference = $2

-- name: event_columns
SELECT doc, state, revision FROM events

-- name: shown
state IN ('published', 'on_sale', 'paused', 'closed')

-- name: events
{event_columns} WHERE organizer = $1 AND id > $2 ORDER BY id LIMIT $3

-- name: events_by_reference
{event_columns} WHERE organizer = $1 AND id > $2 AND reference = $3 ORDER BY id LIMIT $4

-- name: public_events
{event_columns} WHERE {shown} AND id > $1 ORDER BY id LIMIT $2

-- name: public_events_by_reference
{event_columns} WHERE {shown} AND id > $1 AND reference = $2 ORDER BY id LIMIT $3
