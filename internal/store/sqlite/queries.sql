-- The statements of the embedded store, by name. Contract: every statement touches one event (its
-- number is the first parameter) unless its name says otherwise; none reads a clock but `clock`, so
-- that everything in a transaction is judged at one instant; writes are made only by transactions
-- begun IMMEDIATE, which is this database's row lock: whoever writes has the whole file to itself.

-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: clock
-- Now, in microseconds since 1970 UTC. The one clock that deadlines are made and judged by.
SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER)

-- name: event
SELECT n, revision, state, doc FROM events WHERE id = ?

-- name: event_revision
SELECT n, revision FROM events WHERE id = ?

-- name: position
SELECT version FROM positions WHERE event = ?

-- name: move_position
UPDATE positions SET version = ? WHERE event = ?

-- name: allocation
-- The last parameter here and in board: how many maps the event has left behind.
SELECT key, seat, class, capacity, held, reserved FROM allocations WHERE event = ? AND unit = ? AND since <= ?

-- name: move_allocation
UPDATE allocations SET held = held + ?, reserved = reserved + ? WHERE event = ? AND unit = ?

-- name: insert_allocation
INSERT INTO allocations (event, unit, key, seat, class, capacity, since) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: drop_free_allocations
-- From a unit to before another. Nothing is dropped that is held or sold: whoever drops looks at how many rows went.
DELETE FROM allocations WHERE event = ? AND unit >= ? AND unit < ? AND held = 0 AND reserved = 0

-- name: allocated_units
SELECT unit FROM allocations WHERE event = ? AND unit >= ? AND unit < ?

-- name: drop_staged
-- Rows that do not count yet: of maps after the second parameter, and no more of them than the third.
DELETE FROM allocations WHERE event = ?1 AND unit IN (SELECT unit FROM allocations WHERE event = ?1 AND since > ?2 LIMIT ?3)

-- name: count_staged
SELECT count(*) FROM allocations WHERE event = ? AND since > ?

-- name: resize_allocation
UPDATE allocations SET capacity = ? WHERE event = ? AND unit = ? AND seat = 0

-- name: repaint
UPDATE allocations SET class = ? WHERE event = ? AND unit >= ? AND unit < ?

-- name: hold
SELECT created, deadline, cap, ttl, by_key, reference, metadata, lines FROM holds WHERE event = ? AND hold_hash = ?

-- name: holds_page
SELECT created, deadline, cap, ttl, by_key, reference, metadata, lines, hold_hash FROM holds
WHERE event = ? AND hold_hash > ? AND deadline > ? ORDER BY hold_hash LIMIT ?

-- name: holds_all
-- Alive or not, for who remembers them.
SELECT created, deadline, cap, ttl, by_key, reference, metadata, lines, hold_hash FROM holds WHERE event = ? LIMIT ?

-- name: hold_by_reference
SELECT hold_hash FROM holds WHERE event = ? AND reference = ?

-- name: lapsed_lines
-- Oldest first, from the key of the table itself.
SELECT hold_hash FROM hold_lines WHERE event = ? AND unit = ? AND deadline <= ? ORDER BY deadline, hold_hash LIMIT ?

-- name: soonest_line
SELECT deadline FROM hold_lines WHERE event = ? AND unit = ? ORDER BY deadline LIMIT 1

-- name: lapsed_holds_all
-- Of every event, oldest first, for the sweeper.
SELECT e.id, h.hold_hash FROM holds h JOIN events e ON e.n = h.event WHERE h.deadline <= ? ORDER BY h.deadline LIMIT ?

-- name: insert_hold
INSERT INTO holds (event, hold_hash, created, deadline, cap, ttl, by_key, reference, metadata, lines)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: update_hold
UPDATE holds SET deadline = ?, lines = ? WHERE event = ? AND hold_hash = ?

-- name: delete_hold
DELETE FROM holds WHERE event = ? AND hold_hash = ?

-- name: insert_line
INSERT INTO hold_lines (event, unit, deadline, hold_hash, seat, quantity) VALUES (?, ?, ?, ?, ?, ?)

-- name: delete_line
DELETE FROM hold_lines WHERE event = ? AND unit = ? AND deadline = ? AND hold_hash = ?

-- name: end_holds
-- Cancelling an event ends its holds, whatever their deadlines say; the sweeper takes them away.
UPDATE holds SET deadline = 0 WHERE event = ?

-- name: end_lines
UPDATE hold_lines SET deadline = 0 WHERE event = ?

-- name: order
SELECT id, hold_hash, state, created_at, token_hash, buyer_name, buyer_email, buyer_hash, reference, metadata, lines, total,
  payment_method, payment_reference FROM orders WHERE event = ? AND id = ?

-- name: order_by_hold
SELECT id, hold_hash, state, created_at, token_hash, buyer_name, buyer_email, buyer_hash, reference, metadata, lines, total,
  payment_method, payment_reference FROM orders WHERE event = ? AND hold_hash = ?

-- name: orders_holds
SELECT hold_hash FROM orders WHERE event = ? LIMIT ?

-- name: order_reference
SELECT 1 FROM orders WHERE event = ? AND reference = ?

-- name: insert_order
INSERT INTO orders (event, id, hold_hash, state, created_at, token_hash, buyer_name, buyer_email, buyer_hash, reference,
  metadata, lines, total, payment_method, payment_reference)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: update_order
UPDATE orders SET state = ?, token_hash = ?, answered = answered + 1 WHERE event = ? AND id = ?

-- name: answer_order
UPDATE orders SET answered = answered + 1 WHERE event = ? AND id = ?

-- name: tickets
SELECT id, unit, seat, type, price, valid FROM tickets WHERE event = ? AND order_id = ? ORDER BY id

-- name: insert_ticket
INSERT INTO tickets (event, id, order_id, unit, seat, type, price, valid) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: update_ticket
UPDATE tickets SET valid = ? WHERE event = ? AND id = ?

-- name: buyer
SELECT units FROM buyers WHERE event = ? AND buyer = ?

-- name: move_buyer
UPDATE buyers SET units = units + ? WHERE event = ? AND buyer = ?

-- name: insert_buyer
INSERT INTO buyers (event, buyer, units) VALUES (?, ?, 0) ON CONFLICT (event, buyer) DO NOTHING

-- name: record_any
SELECT body, answer, sealed FROM records WHERE id = ? AND at > ?

-- name: put_record_any
INSERT INTO records (id, body, answer, sealed, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, answer = excluded.answer, sealed = excluded.sealed, at = excluded.at

-- name: forget_records_all
DELETE FROM records WHERE id IN (SELECT id FROM records WHERE at <= ? ORDER BY at LIMIT ?)

-- name: insert_log
INSERT INTO log (event, number, entries) VALUES (?, ?, ?)

-- name: log_after
SELECT number, entries FROM log WHERE event = ? AND number > ? ORDER BY number

-- name: lapsed_quantity
SELECT coalesce(sum(quantity), 0) FROM hold_lines WHERE event = ? AND unit = ? AND deadline <= ?

-- name: update_event
UPDATE events SET state = ?, reference = ?, doc = ?, revision = ?, map = ?, venue = ? WHERE n = ? AND revision = ?

-- name: event_reference
-- Whether another event of the organizer has a reference.
SELECT 1 FROM events WHERE organizer = ? AND reference = ? AND id <> ?

-- name: board
-- What a lapsed line still occupies counts as free: at its deadline a unit can be claimed.
SELECT a.unit, a.capacity, a.held - coalesce(l.q, 0), a.reserved, a.class, a.seat
FROM allocations a LEFT JOIN (
  SELECT unit, sum(quantity) AS q FROM hold_lines WHERE event = ?1 AND deadline <= ?2 GROUP BY unit
) l ON l.unit = a.unit
WHERE a.event = ?1 AND a.since <= ?3 ORDER BY a.unit

-- name: published_all
-- Events that show their allocations: for the audit.
SELECT n, doc, state FROM events WHERE state <> 'draft'

-- name: allocation_keys
SELECT unit, key, seat, class, since, held + reserved FROM allocations WHERE event = ?

-- name: ticket_units
SELECT unit, id FROM tickets WHERE event = ?

-- name: map_data
SELECT data FROM maps WHERE id = ?

-- name: settle_lines_all
-- Of every event: lines of holds that were made later than the first parameter. The second is now.
UPDATE hold_lines SET deadline = (
  SELECT min(h.deadline, ?2 + h.ttl * 1000000) FROM holds h WHERE h.event = hold_lines.event AND h.hold_hash = hold_lines.hold_hash
) WHERE (event, hold_hash) IN (SELECT event, hold_hash FROM holds WHERE created > ?1)

-- name: settle_holds_all
UPDATE holds SET deadline = min(deadline, ?2 + ttl * 1000000), cap = ?2 + (cap - created), created = ?2 WHERE created > ?1
