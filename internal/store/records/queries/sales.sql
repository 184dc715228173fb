-- Reading what the store wrote: orders with their tickets, holds by reference, the log, the sums.
-- An order and its tickets come in one statement, a row a ticket, so that both are of one moment;
-- an order without tickets is one row of nulls. Nothing here writes.
-- (See record.sql for what every file here keeps to.)

-- name: number
(SELECT n FROM events WHERE id = $1)

-- name: order_columns
SELECT o.id, o.hold_hash, o.state, o.created_at, o.token_hash, o.buyer_name, o.buyer_email,
  o.buyer_hash, o.reference, o.metadata, o.lines, o.total, o.payment_method, o.payment_reference,
  t.id, t.unit, t.seat, t.type, t.price, t.valid

-- name: tickets
LEFT JOIN tickets t ON t.event = o.event AND t.order_id = o.id

-- name: order
{order_columns} FROM orders o {tickets}
WHERE o.event = {number} AND o.id = $2
ORDER BY o.id, t.id

-- name: order_by_hold
{order_columns} FROM orders o {tickets}
WHERE o.event = {number} AND o.hold_hash = $2
ORDER BY o.id, t.id

-- name: order_by_ticket
{order_columns} FROM orders o {tickets}
WHERE o.event = {number}
  AND o.id = (SELECT sold.order_id FROM tickets sold WHERE sold.event = o.event AND sold.id = $2)
ORDER BY o.id, t.id

-- name: orders
{order_columns}
FROM (SELECT * FROM orders WHERE event = {number} AND id > $2 ORDER BY id LIMIT $3) o {tickets}
ORDER BY o.id, t.id

-- name: orders_by_reference
{order_columns}
FROM (SELECT * FROM orders WHERE event = {number} AND id > $2 AND reference = $3 ORDER BY id LIMIT $4) o {tickets}
ORDER BY o.id, t.id

-- name: hold_by_reference
SELECT hold_hash FROM holds WHERE event = {number} AND reference = $2

-- name: log
SELECT number, entries FROM log
WHERE event = {number} AND number > $2 ORDER BY number LIMIT $3

-- name: sums
SELECT
  (SELECT COUNT(*) FROM orders o WHERE o.event = e.n AND o.state = 'confirmed'),
  (SELECT COUNT(*) FROM tickets t WHERE t.event = e.n AND t.valid = 1),
  (SELECT CAST(COALESCE(SUM(t.price), 0) AS BIGINT) FROM tickets t WHERE t.event = e.n AND t.valid = 1)
FROM events e WHERE e.id = $1
