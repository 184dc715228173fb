package sqlite_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
)

// logOfEntries takes a file back to version 1 of the schema, whose log had a row an entry.
const logOfEntries = `
CREATE TABLE log_of_entries (
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
INSERT INTO log_of_entries
SELECT l.event, l.number - json_array_length(l.entries) + 1 + e.key, e.value ->> 0, e.value ->> 1, e.value ->> 2,
  CASE WHEN e.value ->> 3 <> '' THEN unhex(e.value ->> 3) END, nullif(e.value ->> 4, ''), e.value -> 5, e.value ->> 6
FROM log l, json_each(l.entries) e;
DROP TABLE log;
ALTER TABLE log_of_entries RENAME TO log;
ALTER TABLE allocations DROP COLUMN since;
DELETE FROM goose_db_version WHERE version_id >= 2;
`

func TestTheLogOfAnOlderFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	h := openHouse(t, path)
	h.furnish(t, 600)
	ctx, seats := t.Context(), h.seats(t)
	hold := func(seats ...string) inventory.HoldRef {
		v, err := h.service.Claim(ctx, claimOf(h, seats...))
		if err != nil {
			t.Fatal(err)
		}
		return inventory.HoldRef{Event: h.event, ID: v.Hold.Key.ID(), Token: v.Token}
	}
	if err := h.service.Release(ctx, hold(seats[0], seats[1])); err != nil {
		t.Fatal(err)
	}
	order, err := h.service.Confirm(ctx, inventory.ConfirmRequest{Hold: hold(seats[2]), Buyer: inventory.Buyer{Email: "buyer@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.service.CancelOrder(ctx, h.caller, h.event, order.Order.ID, "fell ill,\n\"so sorry\" \u2028 \u00fc", nil); err != nil {
		t.Fatal(err)
	}
	want, err := h.records.Log(ctx, h.event, 0, 1000)
	if err != nil || len(want) < 6 {
		t.Fatalf("a log of %d entries: %v", len(want), err)
	}

	if err := h.store.Exec(logOfEntries); err != nil {
		t.Fatal(err)
	}
	if n, err := h.store.Count(`SELECT count(*) FROM log WHERE kind = 'sold' AND typeof(hold_hash) = 'blob' AND order_id IS NOT NULL`); n != 1 || err != nil {
		t.Fatalf("%d sales in the old log: %v", n, err)
	}
	h.store.Close()
	event, caller := h.event, h.caller
	h = openHouse(t, path)
	h.event, h.caller = event, caller
	got, err := h.records.Log(ctx, h.event, 0, 1000)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	hold(seats[3]) // and it goes on
	if got, err = h.records.Log(ctx, h.event, int64(len(want)), 1000); err != nil || len(got) != 1 || got[0].Kind != inventory.LogHeld {
		t.Errorf("after the migration: %+v, %v", got, err)
	}
	h.audit(t)
}

func TestTheAuditFindsWhatIsMissingFromTheLog(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"nothing":              {`SELECT 1`, ""},
		"the end":              {`DELETE FROM log WHERE number = (SELECT max(number) FROM log)`, "position"},
		"the beginning":        {`DELETE FROM log WHERE number = (SELECT min(number) FROM log)`, "come after 0"},
		"a transaction":        {`DELETE FROM log WHERE number = (SELECT max(number) - 1 FROM log)`, "come after"},
		"an entry":             {`UPDATE log SET entries = '[]' WHERE number = (SELECT max(number) - 1 FROM log)`, "come after"},
		"an entry, at the end": {`UPDATE log SET entries = '[]' WHERE number = (SELECT max(number) FROM log)`, "come after"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 600)
			for _, seat := range h.seats(t)[:3] {
				if _, err := h.service.Claim(t.Context(), claimOf(h, seat)); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.store.Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, b := range breaches(t, h.store) {
				if b.Promise != 9 {
					t.Errorf("promise %d: %s", b.Promise, b.What)
				}
				found = append(found, b.What)
			}
			if c.want == "" && len(found) > 0 || !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// What no command leaves, each made by hand, is found and told by its promise.
func TestTheAuditFindsDamageMadeByHand(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT 1`:                                      "",
		`UPDATE tickets SET type = 1`:                   "8 order lines against its tickets",
		`UPDATE tickets SET unit = 3`:                   "8 order lines against its tickets",
		`UPDATE log SET event = 99`:                     "7 rows of no event",
		`UPDATE holds SET event = 99`:                   "7 rows of no event",
		`UPDATE tickets SET event = 99`:                 "7 rows of no event",
		`PRAGMA foreign_keys = OFF; DELETE FROM events`: "7 rows of no event",
		`UPDATE events SET state = 'draft'`:             "1 draft with sales",
	} {
		h := newHouse(t, 600)
		ctx, seats := t.Context(), h.seats(t)
		for _, seat := range seats[:2] {
			v, err := h.service.Claim(ctx, claimOf(h, seat))
			if err != nil {
				t.Fatal(err)
			}
			if seat == seats[0] {
				ref := inventory.HoldRef{Event: h.event, ID: v.Hold.Key.ID(), Token: v.Token}
				if _, err := h.service.Confirm(ctx, inventory.ConfirmRequest{Hold: ref, Buyer: inventory.Buyer{Email: "buyer@example.com"}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := h.store.Exec(sql); err != nil {
			t.Fatal(err)
		}
		told := want == ""
		for _, b := range breaches(t, h.store) {
			said := fmt.Sprintf("%d %s", b.Promise, b.What)
			told = told || strings.HasPrefix(said, want+":")
			if want == "" {
				t.Errorf("nothing is wrong, and it says %s", said)
			}
		}
		if !told {
			t.Errorf("after %s it does not say %q", sql, want)
		}
	}
}
