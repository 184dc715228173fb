package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestPromise7WhatIsRolledBackIsNotWrittenOverWhatOthersCommit undoes a transaction of more pages than
// SQLite keeps in memory, commits paperwork on another connection, and goes on.
func TestPromise7WhatIsRolledBackIsNotWrittenOverWhatOthersCommit(t *testing.T) {
	made := furnished(t)
	for entries := 380; entries <= 500; entries += 20 {
		e := newEvening(t, made, uint64(entries), "FULL")
		store := e.open(t)
		for _, sql := range []string{
			"PRAGMA wal_checkpoint(TRUNCATE)", // or the rollback reads the first page from the log, which flushes it
			"BEGIN IMMEDIATE",
			fmt.Sprintf(`INSERT INTO log (event, number, at, kind, by, units, reason)
				WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < %d)
				SELECT 99, n, 0, 'held', 'nobody', '[]', hex(zeroblob(1600)) FROM i`, entries),
			"ROLLBACK",
		} {
			if err := store.Exec(sql); err != nil {
				t.Fatal(err)
			}
		}
		service, _ := serviceOn(store)
		for i := range 3 {
			e.organizer(t.Context(), service, i)
		}
		e.buyer(t.Context(), service, rand.New(rand.NewPCG(1, uint64(entries))))
		e.disk.cut()
		store.Close()
		for _, l := range e.lookAfter(t) {
			t.Errorf("after a rollback of %d entries: %s", entries, l)
		}
	}
}
