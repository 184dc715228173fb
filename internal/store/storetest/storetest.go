package storetest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// T is what a check needs of a test: less than *testing.T, so that it can also report to a recorder
// and its failing be asserted.
type T interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	// Fatalf reports and ends the check. It is called from the check's own goroutine only.
	Fatalf(format string, args ...any)
}

// Opener makes a fresh, empty store with its schema in place, and closes it when the test is over.
// It may be called inside a testing/synctest bubble if the store it makes says so.
type Opener func(t testing.TB) Fresh

// Fresh is an opened store and what it offers to tests. The first three are required, the others are
// capabilities, zero when the store has none.
type Fresh struct {
	Store     inventory.Store
	Catalogue inventory.Catalogue
	Records   office.Records

	// Second is another node on the same data, with connections and caches of its own.
	Second inventory.Store
	// Bubble says that the store can live in a testing/synctest bubble and that its clock is then the bubble's.
	Bubble bool
	// Step moves the store's clock forward, by seconds. Not needed with Bubble.
	Step func(seconds int64)
	// Unjudged writes effects in one transaction without a judge, so that only the schema is in the way.
	Unjudged func(ctx context.Context, event string, eff *inventory.Effects) error
	// Commits is a number that is another one after every transaction that wrote something, and after
	// no other.
	Commits func(ctx context.Context) (int64, error)
	// Deadlocks counts the transactions that were ended because each waited for another.
	Deadlocks func(ctx context.Context) (int64, error)
}

// capability is something that a store may lack.
type capability struct {
	name string
	in   func(*Fresh) bool
}

var (
	second    = capability{"second node", func(f *Fresh) bool { return f.Second != nil }}
	clock     = capability{"clock that can be moved", func(f *Fresh) bool { return f.Bubble || f.Step != nil }}
	unjudged  = capability{"writing unjudged", func(f *Fresh) bool { return f.Unjudged != nil }}
	commits   = capability{"count of commits", func(f *Fresh) bool { return f.Commits != nil }}
	deadlocks = capability{"count of deadlocks", func(f *Fresh) bool { return f.Deadlocks != nil }}
)

// check is one thing that a correct store does. It gets a house of its own.
type check struct {
	name  string
	run   func(t T, h *House)
	needs []capability
	// time says that the check lets time pass. It runs in a bubble where the store can.
	time bool
	// breaks says that the check breaks the data on purpose; the audit afterwards is then its own affair.
	breaks bool
}

// checks are all of them, by name.
func checks() iter.Seq[check] {
	return func(yield func(check) bool) {
		for _, part := range [][]check{
			winners(), baskets(), owners(), deadlines(), sales(), returns(), identities(), states(), readings(),
			guards(), replies(), histories(),
		} {
			for _, c := range part {
				if !yield(c) {
					return
				}
			}
		}
	}
}

func (c *check) missing(f *Fresh) (names []string) {
	for _, n := range c.needs {
		if !n.in(f) {
			names = append(names, n.name)
		}
	}
	return names
}

// Run holds a store to all of it, a subtest a check. It logs what the store offers and which checks it
// therefore is not held to.
func Run(t *testing.T, open Opener) {
	probe := open(t)
	var has, lacks []string
	for _, c := range []capability{second, clock, unjudged, commits, deadlocks} {
		if c.in(&probe) {
			has = append(has, c.name)
		} else {
			lacks = append(lacks, c.name)
		}
	}
	t.Logf("the store offers: %s; it lacks: %s", list(has), list(lacks))
	for c := range checks() {
		if missing := c.missing(&probe); missing != nil {
			t.Logf("not held: %q, for which a store needs: %s", c.name, list(missing))
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.hold(t, open, probe.Bubble, func(t *testing.T, run func(T)) { run(t) })
		})
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// hold runs a check on a store of its own, in a bubble if it lets time pass and the store can live
// there. report is given the test to run the check in, and decides who hears of failures.
func (c *check) hold(t *testing.T, open Opener, bubble bool, report func(t *testing.T, run func(T))) {
	t.Helper()
	inside := func(t *testing.T) {
		fresh := open(t)
		report(t, func(to T) {
			h := NewHouse(to, fresh)
			h.bubble = bubble && c.time
			c.run(to, h)
			if !c.breaks {
				h.Audit(to)
			}
		})
	}
	if c.time && bubble {
		synctest.Test(t, inside)
	} else {
		inside(t)
	}
}

// Breaches are what a store's audit finds, all of it. The error is the audit's own.
func Breaches(ctx context.Context, store inventory.Store) (found []inventory.Breach, err error) {
	for b, err := range store.Audit(ctx) {
		if err != nil {
			return found, fmt.Errorf("audit: %w", err)
		}
		found = append(found, b)
	}
	return found, nil
}
