package sqlite_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// TestTheStoreIsCorrect holds a server's store to it: it has the file to itself, and remembers rows.
func TestTheStoreIsCorrect(t *testing.T) { storetest.Run(t, openFresh) }

// TestTwoStoresOnOneFileAreCorrect holds stores to it that do not have the file to themselves, as those
// of commands beside a server: they remember nothing, and are nodes to each other.
func TestTwoStoresOnOneFileAreCorrect(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Fresh {
		path := emptyFile(t)
		return freshOf(t, openBeside(t, path), openBeside(t, path))
	})
}

// migrated is an empty database with its schema in place. Every test gets a copy, which is ten times
// quicker than making one.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "rowlock-contract-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// openFresh makes an empty store as a server opens it.
func openFresh(t testing.TB) storetest.Fresh {
	t.Helper()
	store, _ := openCopy(t)
	return freshOf(t, store, nil)
}

func emptyFile(t testing.TB) string {
	t.Helper()
	empty, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "contract.db")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openCopy(t testing.TB) (*sqlite.Store, string) {
	t.Helper()
	path := emptyFile(t)
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	return store, path
}

func openBeside(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.OpenBeside(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	return store
}

func closeAfter(t testing.TB, store *sqlite.Store) {
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// freshOf says what the embedded store offers: a clock that is the bubble's, a way past the judge, and
// by data_version of a connection of its own whether anything was committed.
func freshOf(t testing.TB, store *sqlite.Store, second inventory.Store) storetest.Fresh {
	rec := records.New(store)
	var watch *sql.Conn
	t.Cleanup(func() {
		if watch != nil {
			watch.Close()
		}
	})
	return storetest.Fresh{
		Store: store, Catalogue: rec, Records: rec, Second: second, Bubble: true,
		Unjudged: func(ctx context.Context, event string, eff *inventory.Effects) error {
			_, err := store.WriteUnjudged(ctx, event, eff)
			return err
		},
		Commits: func(ctx context.Context) (n int64, err error) {
			if watch == nil {
				if watch, err = store.Reader().Conn(ctx); err != nil {
					return 0, err
				}
			}
			err = watch.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n)
			return n, err
		},
	}
}

// TestWrongStoresAreCaught shows that the suite can fail. The judge of the first ones stands outside the
// transaction, or is shown rows with a guard off; of the others the schema is wrong.
func TestWrongStoresAreCaught(t *testing.T) {
	shown := func(rows func(inventory.Rows) inventory.Rows) storetest.Opener {
		return openTwin(nil, func(w *twin) { w.rows = rows })
	}
	unlocked := openTwin([]string{sqlite.WithoutCheck, sqlite.WithoutUnique}, func(w *twin) { w.outside = new(barrier) })
	storetest.RunMutants(
		t, openFresh,
		storetest.Mutant{
			Off: "the row lock", Open: unlocked,
			Check: "promise 2: of rivals at once on every node one wins each seat and an area is used up", Says: "have seat",
		},
		storetest.Mutant{
			Off: "the row lock in a takeover, judged by an old snapshot", Open: unlocked,
			Check: "promise 5: of rivals for one lapsed seat one wins", Says: "took over one lapsed seat",
		},
		storetest.Mutant{
			Off: "the row lock, in a random history", Open: unlocked,
			Check: "small concurrent histories are linearizable as a whole", Says: "linearizable: Illegal",
		},
		storetest.Mutant{
			Off: "having the file to itself, of a server that remembers", Open: openShared,
			Check: "small concurrent histories are linearizable as a whole", Says: "linearizable: Illegal",
		},
		storetest.Mutant{
			Off: "CHECK", Open: openTwin([]string{sqlite.WithoutCheck}, nil),
			Check: "promise 1: the schema refuses to oversell", Says: "the schema lets pass: a free seat held twice",
		},
		storetest.Mutant{
			Off: "UNIQUE on seat lines", Open: openTwin([]string{sqlite.WithoutUnique}, nil),
			Check: "promise 1: the schema refuses a seat's second hold line", Says: "the schema lets pass",
		},
		storetest.Mutant{
			Off: "UNIQUE on valid tickets", Open: openTwin([]string{sqlite.WithoutUnique}, nil),
			Check: "promise 1: the schema refuses a seat's second valid ticket", Says: "the schema lets pass",
		},
		storetest.Mutant{
			Off: "UNIQUE (event, hold_hash)", Open: openTwin([]string{looseOrders}, nil),
			Check: "promise 6: the schema refuses a hold's second order", Says: "the schema lets pass",
		},
		storetest.Mutant{
			Off: "takeover", Open: shown(func(r inventory.Rows) inventory.Rows { return neverLapsed{r} }),
			Check: "random histories: the store answers as the model does", Says: "the model held",
		},
		storetest.Mutant{
			Off: "the deadline", Open: openWrong(func(s *sqlite.Store) inventory.Store { return lateSeller{s} }),
			Check: "promise 5: a sale after the deadline is refused", Says: "want HOLD_EXPIRED",
		},
		storetest.Mutant{
			Off: "one clock", Open: openTwin(nil, func(w *twin) { w.skew = -5_000_000 }),
			Check: "promise 5: a TTL is an interval, and the store makes the deadline", Says: "of the same clock",
		},
		storetest.Mutant{
			Off: "the record", Open: shown(func(r inventory.Rows) inventory.Rows { return noRecords{r} }),
			Check: "lost reply: a change sent again, also after somebody else, has one effect and one answer", Says: "copy 2",
		},
		storetest.Mutant{
			Off: "asking the orders before a claim", Open: shown(func(r inventory.Rows) inventory.Rows { return noOrders{r} }),
			Check: "lost reply: a claim without an id that comes late wakes no dead", Says: "has woken the hold",
		},
		storetest.Mutant{
			Off: "the ticket's state", Open: shown(func(r inventory.Rows) inventory.Rows { return allValid{r} }),
			Check: "what was returned sells again, and what is not there cannot be returned", Says: "unit 0",
		},
		storetest.Mutant{
			Off: "the channel", Open: shown(func(r inventory.Rows) inventory.Rows { return allPublic{r} }),
			Check: "what is withheld needs its code", Says: "without the code: held",
		},
	)
}

// openShared opens a server's store, and another that writes into its file behind its back.
func openShared(t testing.TB) storetest.Fresh {
	t.Helper()
	store, path := openCopy(t)
	return freshOf(t, store, openBeside(t, path))
}

// openTwin opens stores of which both nodes have a guard off: in the schema, or in how they judge.
func openTwin(schema []string, fault func(*twin)) storetest.Opener {
	return func(t testing.TB) storetest.Fresh {
		t.Helper()
		store, _ := openCopy(t)
		for _, s := range schema {
			if err := store.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		if fault == nil {
			return freshOf(t, store, nil)
		}
		w := &twin{Store: store}
		fault(w)
		fresh := freshOf(t, store, nil)
		fresh.Store = w
		return fresh
	}
}

func openWrong(wrong func(*sqlite.Store) inventory.Store) storetest.Opener {
	return func(t testing.TB) storetest.Fresh {
		t.Helper()
		store, _ := openCopy(t)
		fresh := freshOf(t, store, nil)
		fresh.Store = wrong(store)
		return fresh
	}
}

// lateSeller judges sales by a clock that is ten seconds slow.
type lateSeller struct{ *sqlite.Store }

func (s lateSeller) Sell(ctx context.Context, event string, batch []inventory.Sale) (out []inventory.SaleOutcome, err error) {
	_, err = s.JudgeInside(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) (eff *inventory.Effects) {
		out, eff = inventory.JudgeSales(now.Add(-10), terms, r, batch)
		return eff
	})
	return out, err
}
