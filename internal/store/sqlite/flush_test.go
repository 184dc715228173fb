package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
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
			fmt.Sprintf(`INSERT INTO log (event, number, entries)
				WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < %d)
				SELECT 99, n, json_array(hex(zeroblob(1600))) FROM i`, entries),
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

// TestPromise7ARestartAfterAFlushThatFailedLosesNothing lets the flushes of the log fail, kills the server and
// starts it again. After a failed flush the pages count as clean and may not be on the disk, and the next
// server reads them as if they were: what it acknowledges must not rest on them when the power is cut.
func TestPromise7ARestartAfterAFlushThatFailedLosesNothing(t *testing.T) {
	made := furnished(t)
	for seed := range uint64(restarts) {
		e := newEvening(t, made, seed, "FULL")
		r := rand.New(rand.NewPCG(seed, 13))
		store := e.open(t)
		from := e.disk.soFar() + r.IntN(60)
		failed := 0
		e.disk.set(func(s step) error {
			if s.String() == "sync wal" && s.n > from {
				failed++
				return sqlite3.IOERR_FSYNC
			}
			return nil
		})
		e.act(t.Context(), store, func() bool {
			e.disk.mu.Lock()
			defer e.disk.mu.Unlock()
			return failed > 0
		})
		e.kill(store)
		store = e.open(t)
		until := e.disk.soFar() + 3 + r.IntN(20)
		e.act(t.Context(), store, func() bool { return e.disk.soFar() >= until })
		e.disk.cut()
		store.Close()
		for _, l := range e.lookAfter(t) {
			t.Errorf("seed %d: %s", seed, l)
		}
	}
}

// TestPromise7WhatIsFoundAgainIsFlushedBeforeItIsAnswered kills the server between the writing of a hold and
// its flush, starts it again, sends the claim again, which finds its hold, and cuts the power.
func TestPromise7WhatIsFoundAgainIsFlushedBeforeItIsAnswered(t *testing.T) {
	made := furnished(t)
	for seed := range uint64(restarts) {
		e := newEvening(t, made, seed, "FULL")
		store := e.open(t)
		claim := func(n int) []inventory.Command {
			return []inventory.Command{{
				Verb: inventory.Claim, Key: inventory.HoldKey{byte(n)}, By: "buyer", Add: []inventory.Want{{Unit: inventory.Unit(n), Type: -1, Quantity: 1}},
			}}
		}
		if _, err := store.Apply(t.Context(), e.house.event, claim(2)); err != nil {
			t.Fatal(err)
		}
		batch := claim(1)
		e.disk.set(func(s step) error {
			if s.String() == "sync wal" {
				e.disk.off = true // for whoever has it open
				return sqlite3.IOERR
			}
			return nil
		})
		if _, err := store.Apply(t.Context(), e.house.event, batch); err == nil {
			t.Fatal("a claim was answered that was not flushed")
		}
		e.kill(store)
		store = e.open(t)
		outcomes, err := store.Apply(t.Context(), e.house.event, batch)
		if err != nil || outcomes[0].Hold == nil || !outcomes[0].Replayed {
			t.Fatalf("the claim again: %+v %v, want the hold from before", outcomes, err)
		}
		e.disk.cut()
		store.Close()
		after := e.imageAfter(t)
		again, err := sqlite.Open(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := again.Hold(t.Context(), e.house.event, batch[0].Key); err != nil {
			t.Errorf("seed %d: the hold that was answered: %v", seed, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilesThatAreClosedUnderTheStoreAreOpenedAgain closes every descriptor under a store: until it has
// opened its files again it fails, and it does so with the first answer.
func TestFilesThatAreClosedUnderTheStoreAreOpenedAgain(t *testing.T) {
	made := furnished(t)
	e := newEvening(t, made, 1, "FULL")
	store := e.open(t)
	service, _ := serviceOn(store)
	e.organizer(t.Context(), service, 0) // so that there are connections to lose
	e.buyer(t.Context(), service, rand.New(rand.NewPCG(1, 1)))
	e.disk.closeAll()
	if _, err := store.Sweep(t.Context(), 1); !errors.Is(err, sqlite3.IOERR) {
		t.Errorf("a sweep with every file closed: %v", err)
	}
	for range 2 * 4 { // whatever connection it is that answers
		if _, err := store.Board(t.Context(), e.house.event); err != nil && !errors.Is(err, sqlite3.IOERR) {
			t.Errorf("the board: %v", err)
		}
	}
	for range 4 {
		if _, err := store.Board(t.Context(), e.house.event); err != nil {
			t.Errorf("the board, later: %v", err)
		}
	}
	venues, told := len(e.venues), len(e.told)
	for i := range 3 {
		e.organizer(t.Context(), service, 1+i)
		e.buyer(t.Context(), service, rand.New(rand.NewPCG(1, uint64(2+i))))
	}
	if len(e.venues) < venues+3 || len(e.told) < told+1 {
		t.Errorf("%d of 3 venues and %d holds were made afterwards", len(e.venues)-venues, len(e.told)-told)
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	e.disk.cut()
	store.Close()
	for _, l := range e.lookAfter(t) {
		t.Error(l)
	}
}

// kill ends a store as kill -9 ends its process: what it wrote stays where it is, flushed or not.
func (e *evening) kill(store *sqlite.Store) {
	e.disk.mu.Lock()
	e.disk.off = true
	e.disk.mu.Unlock()
	store.Close() // nothing of it reaches the disk
	e.disk.mu.Lock()
	e.disk.off, e.disk.fail = false, nil
	e.disk.mu.Unlock()
}

// set makes steps fail from now on.
func (d *disk) set(fail func(step) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}
