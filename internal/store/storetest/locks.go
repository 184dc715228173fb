package storetest

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/internal/inventory"
)

// rowKey names a row that a command locks.
type rowKey struct {
	event string
	unit  inventory.Unit
}

// rowsOf are the rows that a batch locks, in the order in which its commands name them.
func rowsOf(event string, batch []inventory.Command) (rows []rowKey) {
	for _, c := range batch {
		for _, w := range slices.Concat(c.Add, c.Remove) {
			if k := (rowKey{event, w.Unit}); !slices.Contains(rows, k) {
				rows = append(rows, k)
			}
		}
	}
	return rows
}

// rowLocks puts row locks before a store that has none of its own, so that what row locks can do wrong
// can be shown on any store. Like a database it ends one of the transactions that wait for each other
// in a circle, and counts; the transaction is then begun again, in order, for otherwise it might never end.
type rowLocks struct {
	mu        sync.Mutex
	freed     *sync.Cond
	owners    map[rowKey]*transaction
	deadlocks int64
}

// transaction waits for another, or for none.
type transaction struct{ waitsFor *transaction }

// locking is a store behind row locks. sorted locks in one order, whatever order is named.
type locking struct {
	inventory.Store
	locks  *rowLocks
	sorted bool
}

// withRowLocks puts one table of locks before all nodes of a house, and offers its count of deadlocks.
func withRowLocks(f Fresh, sorted bool) Fresh {
	locks := &rowLocks{owners: make(map[rowKey]*transaction)}
	locks.freed = sync.NewCond(&locks.mu)
	f.Store = locking{f.Store, locks, sorted}
	if f.Second != nil {
		f.Second = locking{f.Second, locks, sorted}
	}
	f.Deadlocks = func(context.Context) (int64, error) {
		locks.mu.Lock()
		defer locks.mu.Unlock()
		return locks.deadlocks, nil
	}
	return f
}

func (s locking) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	rows := rowsOf(event, batch)
	for sorted := s.sorted; ; sorted = true {
		if sorted {
			slices.SortFunc(rows, func(a, b rowKey) int { return cmp.Compare(a.unit, b.unit) })
		}
		tx := new(transaction)
		if s.locks.all(tx, rows) {
			defer s.locks.free(tx)
			return s.Store.Apply(ctx, event, batch)
		}
		s.locks.free(tx)
	}
}

// all takes the locks one after the other. False when the transaction was ended.
func (l *rowLocks) all(tx *transaction, rows []rowKey) bool {
	for _, k := range rows {
		if !l.lock(tx, k) {
			return false
		}
		runtime.Gosched() // a database takes its time between two locks, too
	}
	return true
}

func (l *rowLocks) lock(tx *transaction, k rowKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.owners[k] != nil {
		tx.waitsFor = l.owners[k]
		for other := tx.waitsFor; other != nil; other = other.waitsFor {
			if other == tx {
				l.deadlocks++
				tx.waitsFor = nil
				return false
			}
		}
		l.freed.Wait()
	}
	tx.waitsFor = nil
	l.owners[k] = tx
	return true
}

func (l *rowLocks) free(tx *transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, owner := range l.owners {
		if owner == tx {
			delete(l.owners, k)
		}
	}
	l.freed.Broadcast()
}
