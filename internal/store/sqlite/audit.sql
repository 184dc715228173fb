-- The promises, proved on the data. Contract: each named query returns a row (event id, what is
-- wrong) for every breach it finds and none when the promise holds; it only reads; the number before
-- the name's last underscore part is the promise (docs: ARCHITECTURE.md). All run in one snapshot.

-- name: 1 oversold
SELECT e.id, 'unit ' || a.key || ': held ' || a.held || ' + reserved ' || a.reserved || ' of ' || a.capacity
FROM allocations a JOIN events e ON e.n = a.event
WHERE a.held + a.reserved > a.capacity OR a.held < 0 OR a.reserved < 0

-- name: 1 held counter
SELECT e.id, 'unit ' || a.key || ': held says ' || a.held || ', its hold lines ' || coalesce(l.q, 0)
FROM allocations a JOIN events e ON e.n = a.event
LEFT JOIN (SELECT event, unit, sum(quantity) AS q FROM hold_lines GROUP BY event, unit) l ON l.event = a.event AND l.unit = a.unit
WHERE a.held <> coalesce(l.q, 0)

-- name: 1 reserved counter
SELECT e.id, 'unit ' || a.key || ': reserved says ' || a.reserved || ', its valid tickets ' || coalesce(t.q, 0)
FROM allocations a JOIN events e ON e.n = a.event
LEFT JOIN (SELECT event, unit, count(*) AS q FROM tickets WHERE valid = 1 GROUP BY event, unit) t ON t.event = a.event AND t.unit = a.unit
WHERE a.reserved <> coalesce(t.q, 0)

-- name: 1 seat held twice
SELECT e.id, 'unit ' || l.unit || ' is a seat in ' || count(*) || ' holds'
FROM hold_lines l JOIN events e ON e.n = l.event JOIN allocations a ON a.event = l.event AND a.unit = l.unit
WHERE a.seat = 1 GROUP BY l.event, l.unit HAVING count(*) > 1

-- name: 1 seat sold twice
SELECT e.id, 'unit ' || t.unit || ' is a seat on ' || count(*) || ' valid tickets'
FROM tickets t JOIN events e ON e.n = t.event JOIN allocations a ON a.event = t.event AND a.unit = t.unit
WHERE a.seat = 1 AND t.valid = 1 GROUP BY t.event, t.unit HAVING count(*) > 1

-- name: 1 not for sale
SELECT e.id, 'unit ' || x.unit || ' is held or sold but has no allocation'
FROM (SELECT event, unit FROM hold_lines UNION SELECT event, unit FROM tickets WHERE valid = 1) x
LEFT JOIN events e ON e.n = x.event LEFT JOIN allocations a ON a.event = x.event AND a.unit = x.unit
WHERE a.unit IS NULL

-- name: 3 hold against its lines
-- A hold's own list, summed by unit, is exactly its rows in hold_lines, with its own deadline.
SELECT coalesce(e.id, ''), 'hold ' || lower(hex(x.hold_hash)) || ' unit ' || x.unit || ': list and lines differ'
FROM (
  SELECT event, hold_hash, unit, deadline, sum(listed) AS listed, sum(lined) AS lined FROM (
    SELECT h.event, h.hold_hash, json_extract(j.value, '$[0]') AS unit, h.deadline, json_extract(j.value, '$[2]') AS listed, 0 AS lined
    FROM holds h, json_each(h.lines) j
    UNION ALL
    SELECT event, hold_hash, unit, deadline, 0, quantity FROM hold_lines
  ) GROUP BY event, hold_hash, unit, deadline
) x LEFT JOIN events e ON e.n = x.event
WHERE x.listed <> x.lined

-- name: 3 empty hold
SELECT e.id, 'hold ' || lower(hex(h.hold_hash)) || ' has nothing'
FROM holds h JOIN events e ON e.n = h.event WHERE json_array_length(h.lines) = 0

-- name: 6 two orders of one hold
SELECT e.id, 'hold ' || lower(hex(o.hold_hash)) || ' became ' || count(*) || ' orders'
FROM orders o JOIN events e ON e.n = o.event GROUP BY o.event, o.hold_hash HAVING count(*) > 1

-- name: 6 sold and still held
SELECT e.id, 'order ' || o.id || ': its hold is still there'
FROM orders o JOIN events e ON e.n = o.event JOIN holds h ON h.event = o.event AND h.hold_hash = o.hold_hash

-- name: 8 order against its tickets
SELECT e.id, 'order ' || o.id || ': lines of ' || l.units || ' units for ' || l.total || ', tickets ' || coalesce(t.units, 0) || ' for ' || coalesce(t.total, 0) || ', total ' || o.total
FROM orders o JOIN events e ON e.n = o.event
JOIN (
  SELECT o.event, o.id, sum(json_extract(j.value, '$[2]')) AS units, sum(json_extract(j.value, '$[2]') * json_extract(j.value, '$[3]')) AS total
  FROM orders o, json_each(o.lines) j GROUP BY o.event, o.id
) l ON l.event = o.event AND l.id = o.id
LEFT JOIN (SELECT event, order_id, count(*) AS units, sum(price) AS total FROM tickets GROUP BY event, order_id) t ON t.event = o.event AND t.order_id = o.id
WHERE l.units <> coalesce(t.units, 0) OR l.total <> coalesce(t.total, 0) OR l.total <> o.total

-- name: 8 order lines against its tickets
-- What was bought is what there are tickets for, valid or not: of each unit, ticket type and price as many.
SELECT e.id, 'order ' || x.id || ' unit ' || x.unit || ' ticket type ' || x.type || ' at ' || x.price || ': lines of ' || x.lined || ' units, tickets ' || x.ticketed
FROM (
  SELECT event, id, unit, type, price, sum(lined) AS lined, sum(ticketed) AS ticketed FROM (
    SELECT o.event, o.id, j.value ->> 0 AS unit, j.value ->> 1 AS type, j.value ->> 3 AS price, j.value ->> 2 AS lined, 0 AS ticketed
    FROM orders o, json_each(o.lines) j
    UNION ALL
    SELECT event, order_id, unit, type, price, 0, 1 FROM tickets
  ) GROUP BY event, id, unit, type, price
) x JOIN orders o ON o.event = x.event AND o.id = x.id JOIN events e ON e.n = x.event
WHERE x.lined <> x.ticketed

-- name: 8 order state
SELECT e.id, 'order ' || o.id || ' is ' || o.state || ' with ' || coalesce(t.valid, 0) || ' valid tickets'
FROM orders o JOIN events e ON e.n = o.event
LEFT JOIN (SELECT event, order_id, sum(valid) AS valid FROM tickets GROUP BY event, order_id) t ON t.event = o.event AND t.order_id = o.id
WHERE (o.state = 'cancelled') <> (coalesce(t.valid, 0) = 0)

-- name: 8 ticket without order
SELECT coalesce(e.id, ''), 'ticket ' || t.id || ' has no order'
FROM tickets t LEFT JOIN events e ON e.n = t.event LEFT JOIN orders o ON o.event = t.event AND o.id = t.order_id
WHERE o.id IS NULL

-- name: 1 buyer counter
SELECT e.id, 'a buyer counts ' || coalesce(b.units, 0) || ' units and has ' || coalesce(t.units, 0) || ' valid tickets'
FROM (SELECT event, buyer FROM buyers UNION SELECT event, buyer_hash FROM orders WHERE buyer_hash IS NOT NULL) x
JOIN events e ON e.n = x.event
LEFT JOIN buyers b ON b.event = x.event AND b.buyer = x.buyer
LEFT JOIN (
  SELECT o.event, o.buyer_hash, sum(t.valid) AS units FROM orders o JOIN tickets t ON t.event = o.event AND t.order_id = o.id
  GROUP BY o.event, o.buyer_hash
) t ON t.event = x.event AND t.buyer_hash = x.buyer
WHERE coalesce(b.units, 0) <> coalesce(t.units, 0)

-- name: 9 log and position
SELECT e.id, 'position ' || p.version || ', log up to ' || coalesce(max(l.number), 0)
FROM positions p JOIN events e ON e.n = p.event LEFT JOIN log l ON l.event = p.event
GROUP BY p.event HAVING p.version <> coalesce(max(l.number), 0)

-- name: 9 log without gaps
SELECT coalesce(e.id, ''), 'log entries ' || (l.number - l.entries + 1) || ' to ' || l.number || ' come after ' || l.before
FROM (
  SELECT event, number, json_array_length(entries) AS entries, coalesce(lag(number) OVER (PARTITION BY event ORDER BY number), 0) AS before
  FROM log
) l LEFT JOIN events e ON e.n = l.event
WHERE l.number - l.entries <> l.before

-- name: 9 event without position
SELECT e.id, 'the event has no position' FROM events e LEFT JOIN positions p ON p.event = e.n WHERE p.event IS NULL

-- name: 7 rows of no event
SELECT '', x.n || ' ' || x.what || ' of event number ' || x.event || ', which is not there'
FROM (
  SELECT 'allocations' AS what, event, count(*) AS n FROM allocations GROUP BY event
  UNION ALL SELECT 'holds', event, count(*) FROM holds GROUP BY event
  UNION ALL SELECT 'orders', event, count(*) FROM orders GROUP BY event
  UNION ALL SELECT 'tickets', event, count(*) FROM tickets GROUP BY event
  UNION ALL SELECT 'transactions in the log', event, count(*) FROM log GROUP BY event
) x LEFT JOIN events e ON e.n = x.event WHERE e.n IS NULL

-- name: 1 draft with sales
SELECT e.id, 'a draft has ' || count(*) || ' units that are held or sold'
FROM events e JOIN allocations a ON a.event = e.n
WHERE e.state = 'draft' AND a.held + a.reserved > 0 GROUP BY e.n
