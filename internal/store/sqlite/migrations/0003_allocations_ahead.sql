-- The allocations of a large map lie there before it is in use, a part a transaction.
--
-- since: a row counts once its event has left that many maps behind. One of a map that is not in use
-- yet is as if it were not there: nobody reads it, and an attempt that failed leaves nothing but such rows.

-- +goose Up

ALTER TABLE allocations ADD COLUMN since INTEGER NOT NULL DEFAULT 0 CHECK (since >= 0);
