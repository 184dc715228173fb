package sqlite_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// TestPromise7WhatWasCopiedBeforeAFlushThatFailedIsCopiedAgain lets a reader stop a checkpoint half way, fails
// the flush of the next one, lets the one after that begin the log anew, and cuts the power: what the
// first had copied was neither flushed nor copied again by SQLite.
func TestPromise7WhatWasCopiedBeforeAFlushThatFailedIsCopiedAgain(t *testing.T) {
	made := furnished(t)
	for seed := range uint64(restarts) {
		e := newEvening(t, made, seed, "FULL")
		store := e.open(t)
		service, _ := serviceOn(store)
		r := rand.New(rand.NewPCG(seed, 17))
		checkpoint := func(mode string) error { return store.Exec("PRAGMA wal_checkpoint(" + mode + ")") }
		if err := store.Exec("PRAGMA wal_autocheckpoint = 0"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			e.buyer(t.Context(), service, r)
		}
		begun, stop, gone := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() { gone <- store.ReadAllAlong(t.Context(), begun, stop) }()
		<-begun
		for written := e.disk.soFar(); e.disk.soFar() == written; { // a buyer may change nothing
			e.buyer(t.Context(), service, r)
		}
		if err := checkpoint("PASSIVE"); err != nil {
			t.Fatal(err)
		}
		close(stop)
		if err := <-gone; err != nil {
			t.Fatal(err)
		}
		failed := false
		e.disk.set(func(s step) error {
			if failed || s.String() != "sync db" {
				return nil
			}
			failed = true
			return sqlite3.IOERR_FSYNC
		})
		if err := checkpoint("PASSIVE"); err == nil {
			t.Fatal("a checkpoint succeeded whose flush did not")
		}
		if err := checkpoint("TRUNCATE"); err != nil {
			t.Fatal(err)
		}
		e.disk.cut()
		store.Close()
		for _, l := range e.lookAfter(t) {
			t.Errorf("seed %d: %s", seed, l)
		}
	}
}
