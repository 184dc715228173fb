-- The log gets a row a transaction instead of a row an entry: everybody's batch writes it, and its
-- entries are always read together. Entries of before become transactions of one.
--
-- number is the last entry's. entries is what package inventory's EncodeLog writes, a JSON array of
-- [at, kind, by, hold, order, [[unit, quantity], …], reason], numbered without gaps up to number.

-- +goose Up

CREATE TABLE log_of_transactions (
  event   INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  entries TEXT NOT NULL,
  PRIMARY KEY (event, number)
) STRICT, WITHOUT ROWID;

INSERT INTO log_of_transactions (event, number, entries)
SELECT event, number, json_array(json_array(at, kind, by, lower(hex(coalesce(hold_hash, x''))), coalesce(order_id, ''), json(units), reason))
FROM log ORDER BY event, number;

DROP TABLE log;
ALTER TABLE log_of_transactions RENAME TO log;
