-- The first schema. Times are microseconds since 1970 UTC, money is minor units, ids are text.
-- The constraints here are the authority on promises 1 and 6: whatever the code above does, a unit
-- is not sold twice and a hold does not become two orders. Rows that everybody wants (allocations)
-- carry no foreign keys; the batch guarantees those references and the audit checks them.

-- +goose Up

CREATE TABLE organizers (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  id         TEXT PRIMARY KEY,
  organizer  TEXT NOT NULL REFERENCES organizers (id),
  name       TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('organizer', 'scanner')),
  hint       TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_organizer ON api_keys (organizer, id);

CREATE TABLE venues (
  id         TEXT PRIMARY KEY,
  organizer  TEXT NOT NULL REFERENCES organizers (id),
  reference  TEXT,
  name       TEXT NOT NULL,
  metadata   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (organizer, reference)
) STRICT, WITHOUT ROWID;
CREATE INDEX venues_organizer ON venues (organizer, id);

CREATE TABLE maps (
  id         TEXT PRIMARY KEY,
  venue      TEXT NOT NULL REFERENCES venues (id),
  version    INTEGER NOT NULL,
  name       TEXT NOT NULL,
  seats      INTEGER NOT NULL,
  areas      INTEGER NOT NULL,
  data       BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (venue, version)
) STRICT;

-- n is the event's number in the contended tables: small, so that their keys are.
CREATE TABLE events (
  n          INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  organizer  TEXT NOT NULL REFERENCES organizers (id),
  venue      TEXT NOT NULL REFERENCES venues (id),
  map        TEXT NOT NULL REFERENCES maps (id),
  reference  TEXT,
  state      TEXT NOT NULL CHECK (state IN ('draft', 'published', 'on_sale', 'paused', 'closed', 'cancelled')),
  doc        TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (organizer, reference)
) STRICT;
CREATE INDEX events_organizer ON events (organizer, id);

-- One row an event, moved in every batch's own transaction: its order is commit order.
CREATE TABLE positions (
  event   INTEGER PRIMARY KEY,
  version INTEGER NOT NULL CHECK (version >= 0)
) STRICT;

CREATE TABLE allocations (
  event    INTEGER NOT NULL,
  unit     INTEGER NOT NULL CHECK (unit >= 0),
  key      TEXT NOT NULL,
  seat     INTEGER NOT NULL CHECK (seat IN (0, 1)),
  class    INTEGER NOT NULL CHECK (class >= 0),
  capacity INTEGER NOT NULL CHECK (capacity > 0 AND (seat = 0 OR capacity = 1)),
  held     INTEGER NOT NULL DEFAULT 0,
  reserved INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (event, unit),
  CONSTRAINT never_oversold CHECK (held + reserved <= capacity),
  CONSTRAINT held_not_negative CHECK (held >= 0),
  CONSTRAINT reserved_not_negative CHECK (reserved >= 0)
) STRICT, WITHOUT ROWID;

-- deadline 0: ended, whatever the clock says; the sweeper takes the rest of it.
-- lines: a JSON array of [unit, ticket type, quantity, price].
CREATE TABLE holds (
  event     INTEGER NOT NULL,
  hold_hash BLOB NOT NULL CHECK (length(hold_hash) = 20),
  created   INTEGER NOT NULL,
  deadline  INTEGER NOT NULL,
  cap       INTEGER NOT NULL,
  ttl       INTEGER NOT NULL,
  by_key    INTEGER NOT NULL CHECK (by_key IN (0, 1)),
  reference TEXT,
  metadata  TEXT,
  lines     TEXT NOT NULL,
  PRIMARY KEY (event, hold_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_deadline ON holds (deadline);
CREATE UNIQUE INDEX holds_reference ON holds (event, reference) WHERE reference IS NOT NULL;

-- What a hold has of one allocation, whatever the ticket types. The key doubles as the index from
-- which lapsed lines are taken over, oldest first.
CREATE TABLE hold_lines (
  event     INTEGER NOT NULL,
  unit      INTEGER NOT NULL,
  deadline  INTEGER NOT NULL,
  hold_hash BLOB NOT NULL,
  seat      INTEGER NOT NULL CHECK (seat IN (0, 1)),
  quantity  INTEGER NOT NULL CHECK (quantity > 0 AND (seat = 0 OR quantity = 1)),
  PRIMARY KEY (event, unit, deadline, hold_hash)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_hold_a_seat ON hold_lines (event, unit) WHERE seat = 1;

CREATE TABLE orders (
  event       INTEGER NOT NULL,
  id          TEXT NOT NULL,
  hold_hash   BLOB NOT NULL CHECK (length(hold_hash) = 20),
  state       TEXT NOT NULL CHECK (state IN ('confirmed', 'cancelled')),
  created_at  INTEGER NOT NULL,
  token_hash  BLOB CHECK (length(token_hash) = 32),
  buyer_name  TEXT NOT NULL,
  buyer_email TEXT NOT NULL,
  buyer_hash  BLOB,
  reference   TEXT,
  metadata    TEXT,
  lines       TEXT NOT NULL,
  total       INTEGER NOT NULL CHECK (total >= 0),
  payment_method    TEXT NOT NULL CHECK (payment_method IN ('none', 'external')),
  payment_reference TEXT NOT NULL,
  answered    INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (event, id),
  CONSTRAINT one_order_a_hold UNIQUE (event, hold_hash)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX orders_reference ON orders (event, reference) WHERE reference IS NOT NULL;

CREATE TABLE tickets (
  event      INTEGER NOT NULL,
  id         TEXT NOT NULL,
  order_id   TEXT NOT NULL,
  unit       INTEGER NOT NULL,
  seat       INTEGER NOT NULL CHECK (seat IN (0, 1)),
  type       INTEGER NOT NULL,
  price      INTEGER NOT NULL CHECK (price >= 0),
  valid      INTEGER NOT NULL CHECK (valid IN (0, 1)),
  PRIMARY KEY (event, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tickets_order ON tickets (event, order_id);
CREATE UNIQUE INDEX one_ticket_a_seat ON tickets (event, unit) WHERE seat = 1 AND valid = 1;

CREATE TABLE buyers (
  event INTEGER NOT NULL,
  buyer BLOB NOT NULL,
  units INTEGER NOT NULL CHECK (units >= 0),
  PRIMARY KEY (event, buyer)
) STRICT, WITHOUT ROWID;

-- What a command answered, kept with its effect. event is 0 for paperwork.
CREATE TABLE records (
  id     BLOB PRIMARY KEY CHECK (length(id) = 32),
  body   BLOB NOT NULL CHECK (length(body) = 32),
  answer BLOB NOT NULL,
  sealed BLOB,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX records_at ON records (at);

-- units: a JSON array of [unit, quantity].
CREATE TABLE log (
  event     INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  by        TEXT NOT NULL,
  hold_hash BLOB,
  order_id  TEXT,
  units     TEXT NOT NULL,
  reason    TEXT NOT NULL,
  PRIMARY KEY (event, number)
) STRICT, WITHOUT ROWID;
