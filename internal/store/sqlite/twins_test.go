package sqlite_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/race"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// The twins: every race again, against a store or server with one guard switched off. Each must be
// caught, or the race proves nothing. One combiner would hide most of these faults and two cores
// rarely hit them, so the twins run two servers on one file, and what is check-then-set parks between
// check and set until the other server stands there too.

// twin is the embedded store with a guard off. Zero fields break nothing.
type twin struct {
	*sqlite.Store
	outside  *barrier                                                                       // judge on a snapshot, meet the other there, write unjudged
	apart    *barrier                                                                       // judge single seats on a snapshot, meet the other there, and everything else inside
	inside   bool                                                                           // with apart: and single seats inside, too, so that nothing is wrong
	rows     func(inventory.Rows) inventory.Rows                                            // what the judge is shown
	skew     inventory.Instant                                                              // a clock of this server's own
	commands func([]inventory.Command) []inventory.Command                                  // what the judge is asked
	again    func(*twin, context.Context, string, []inventory.Command, []inventory.Outcome) // after a batch
}

func (w *twin) transact(ctx context.Context, event string, judge func(inventory.Instant, *inventory.Terms, inventory.Rows) *inventory.Effects) (inventory.Position, error) {
	broken := func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		if w.rows != nil {
			r = w.rows(r)
		}
		return judge(now+w.skew, terms, r)
	}
	if w.outside == nil {
		return w.JudgeInside(ctx, event, broken)
	}
	eff, err := w.JudgeOutside(ctx, event, broken)
	if err != nil {
		return inventory.Position{}, err
	}
	w.outside.meet()
	position, err := w.WriteUnjudged(ctx, event, eff)
	if err != nil {
		// What both wanted to delete only one could; the rest of it is written all the same.
		eff.DeleteHolds, eff.DeleteLines = nil, nil
		position, err = w.WriteUnjudged(ctx, event, eff)
	}
	return position, err
}

func (w *twin) Apply(ctx context.Context, event string, batch []inventory.Command) (outcomes []inventory.Outcome, err error) {
	if w.commands != nil {
		batch = w.commands(batch)
	}
	if w.apart != nil {
		return w.applyApart(ctx, event, batch)
	}
	position, err := w.transact(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) (eff *inventory.Effects) {
		outcomes, eff = inventory.Judge(now, terms, r, batch)
		return eff
	})
	for i := range outcomes {
		outcomes[i].Position = position
	}
	if err == nil && w.again != nil {
		w.again(w, ctx, event, batch, outcomes)
	}
	return outcomes, err
}

// applyApart asks each command by itself, on a snapshot, whether it leaves a seat alone, as a check
// before the store would. Whatever it lets pass is judged by every other rule in the batch and its lock.
func (w *twin) applyApart(ctx context.Context, event string, batch []inventory.Command) (outcomes []inventory.Outcome, err error) {
	outcomes = make([]inventory.Outcome, len(batch))
	_, err = w.JudgeOutside(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		for i := range batch {
			one, _ := inventory.Judge(now, terms, r, batch[i:i+1])
			outcomes[i] = one[0]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.apart.meet()
	var passed []inventory.Command
	var at []int
	for i, out := range outcomes {
		if out.Refusal == nil || out.Refusal.Code != inventory.SingleSeatRefused {
			passed, at = append(passed, batch[i]), append(at, i)
		}
	}
	position, err := w.JudgeInside(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		lax := *terms
		if !w.inside {
			lax.SingleSeats = inventory.SinglesOff
		}
		inside, eff := inventory.Judge(now, &lax, r, passed)
		for i, out := range inside {
			outcomes[at[i]] = out
		}
		return eff
	})
	for i := range outcomes {
		outcomes[i].Position = position
	}
	return outcomes, err
}

func (w *twin) Sell(ctx context.Context, event string, batch []inventory.Sale) (outcomes []inventory.SaleOutcome, err error) {
	_, err = w.transact(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) (eff *inventory.Effects) {
		outcomes, eff = inventory.JudgeSales(now, terms, r, batch)
		return eff
	})
	return outcomes, err
}

func (w *twin) Return(ctx context.Context, event string, ret inventory.Return) (out inventory.ReturnOutcome, err error) {
	_, err = w.transact(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) (eff *inventory.Effects) {
		out, eff = inventory.JudgeReturn(now, terms, r, ret)
		return eff
	})
	return out, err
}

// Sweep does nothing: a twin must not be saved by the sweeper.
func (w *twin) Sweep(context.Context, int) (int, error) { return 0, nil }

// barrier lets two servers meet between check and set. Who waits alone for too long goes on.
type barrier struct {
	mu      sync.Mutex
	waiting chan struct{}
}

const (
	aloneMax = 50 * time.Millisecond
	heatsMax = 5 // a race is held again, for on a busy machine two servers may miss each other
)

func (b *barrier) meet() {
	b.mu.Lock()
	if other := b.waiting; other != nil {
		b.waiting = nil
		close(other)
		b.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	b.waiting = mine
	b.mu.Unlock()
	select {
	case <-mine:
	case <-time.After(aloneMax):
		b.mu.Lock()
		if b.waiting == mine {
			b.waiting = nil
		}
		b.mu.Unlock()
	}
}

// Rows with a guard off.
type (
	neverLapsed struct{ inventory.Rows } // expiry by the sweeper alone
	immortal    struct{ inventory.Rows } // a deadline that nobody looks at
	noRecords   struct{ inventory.Rows } // Idempotency-Keys that are not remembered
	noOrders    struct{ inventory.Rows } // a sale that does not ask whether it happened
	allValid    struct{ inventory.Rows } // a return that does not ask whether it happened
	allPublic   struct{ inventory.Rows } // channels that open to everybody
)

func (neverLapsed) Lapsed(inventory.Unit, inventory.Instant, int) []inventory.HoldKey { return nil }

func (r immortal) Hold(k inventory.HoldKey) (*inventory.Hold, bool) {
	h, ok := r.Rows.Hold(k)
	if ok {
		c := *h
		c.Deadline += inventory.Instant(time.Hour.Microseconds())
		c.Cap += inventory.Instant(time.Hour.Microseconds())
		h = &c
	}
	return h, ok
}

func (noRecords) Record(inventory.CommandID) (inventory.Record, bool) {
	return inventory.Record{}, false
}
func (noOrders) OrderByHold(inventory.HoldKey) (*inventory.Order, bool) { return nil, false }
func (r allPublic) Allocation(u inventory.Unit) (inventory.Allocation, bool) {
	a, ok := r.Rows.Allocation(u)
	a.Class = 0
	return a, ok
}

func (r allValid) Order(id string) (*inventory.Order, bool) {
	o, ok := r.Rows.Order(id)
	if ok {
		c := *o
		c.Tickets = slices.Clone(o.Tickets)
		for i := range c.Tickets {
			c.Tickets[i].Valid = true
		}
		o = &c
	}
	return o, ok
}

// piecemeal gives of a basket what is to be had.
func piecemeal(w *twin, ctx context.Context, event string, batch []inventory.Command, outcomes []inventory.Outcome) {
	for i, out := range outcomes {
		if out.Refusal == nil || out.Refusal.Code != inventory.AllocationUnavailable || batch[i].Verb != inventory.Claim {
			continue
		}
		c := batch[i]
		c.Add = slices.DeleteFunc(slices.Clone(c.Add), func(want inventory.Want) bool {
			return slices.ContainsFunc(out.Refusal.Conflicts, func(conflict inventory.Conflict) bool { return conflict.Unit == want.Unit })
		})
		if len(c.Add) == 0 {
			continue
		}
		if less, err := w.Store.Apply(ctx, event, []inventory.Command{c}); err == nil {
			outcomes[i] = less[0]
		}
	}
}

// anyChangeRestarts restarts the countdown also when a change failed.
func anyChangeRestarts(w *twin, ctx context.Context, event string, batch []inventory.Command, outcomes []inventory.Outcome) {
	for i, c := range batch {
		if c.Verb == inventory.Change && outcomes[i].Refusal != nil {
			c = inventory.Command{Verb: inventory.Extend, Key: c.Key, By: c.By}
			_, _ = w.Store.Apply(ctx, event, []inventory.Command{c})
		}
	}
}

// bySeat makes releases free whoever has the seats now.
type bySeat struct {
	mu     sync.Mutex
	latest map[inventory.Unit]inventory.HoldKey
	seats  map[inventory.HoldKey][]inventory.Want
}

func (b *bySeat) rewrite(batch []inventory.Command) []inventory.Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch = slices.Clone(batch)
	for i := range batch {
		switch c := &batch[i]; c.Verb {
		case inventory.Claim:
			b.seats[c.Key] = c.Add
			for _, want := range c.Add {
				b.latest[want.Unit] = c.Key
			}
		case inventory.Release:
			for _, want := range b.seats[c.Key] {
				c.Key = b.latest[want.Unit]
			}
		}
	}
	return batch
}

// withoutTokens is a server that asks for no token: every request about a hold comes with a key that may do anything.
func withoutTokens(next http.Handler, key string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Hold-Token") != "" && r.Method == http.MethodDelete {
			r.Header.Del("Hold-Token")
			r.Header.Set("Authorization", "Bearer "+key)
		}
		next.ServeHTTP(w, r)
	})
}

// looseOrders is the orders table without UNIQUE (event, hold_hash).
const looseOrders = `
CREATE TABLE loose AS SELECT * FROM orders;
DROP TABLE orders;
ALTER TABLE loose RENAME TO orders;
CREATE TRIGGER answered AFTER INSERT ON orders BEGIN UPDATE orders SET answered = 1 WHERE rowid = new.rowid; END`

func TestEveryRaceCatchesItsTwin(t *testing.T) {
	checkThenSet := func() func(*twin, int) {
		b := new(barrier)
		return func(w *twin, _ int) { w.outside = b }
	}
	shown := func(rows func(inventory.Rows) inventory.Rows) func() func(*twin, int) {
		return func() func(*twin, int) { return func(w *twin, _ int) { w.rows = rows } }
	}
	after := func(again func(*twin, context.Context, string, []inventory.Command, []inventory.Outcome)) func() func(*twin, int) {
		return func() func(*twin, int) { return func(w *twin, _ int) { w.again = again } }
	}
	unguarded := []string{sqlite.WithoutCheck, sqlite.WithoutUnique}
	for _, tt := range []struct {
		race, off string
		says      string // a part of what the race must say of it, where it could be caught for something else
		schema    []string
		fault     func() func(*twin, int)
		front     func(http.Handler, string) http.Handler
	}{
		{race: "one-seat", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "one-seat-rounds", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "last-units", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "overlapping-baskets", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "overlapping-baskets", off: "all or nothing", fault: after(piecemeal)},
		{race: "opposite-order", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "failed-change", off: "only success restarts the countdown", fault: after(anyChangeRestarts)},
		{race: "last-seat-change", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "best-available-storm", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "wrong-token", off: "the token", front: withoutTokens},
		{race: "release-after-reacquisition", off: "compare before release", fault: func() func(*twin, int) {
			b := &bySeat{latest: make(map[inventory.Unit]inventory.HoldKey), seats: make(map[inventory.HoldKey][]inventory.Want)}
			return func(w *twin, _ int) { w.commands = b.rewrite }
		}},
		{race: "expired-resells", off: "takeover", fault: shown(func(r inventory.Rows) inventory.Rows { return neverLapsed{r} })},
		{race: "expired-resells", off: "the deadline", fault: shown(func(r inventory.Rows) inventory.Rows { return immortal{r} })},
		{race: "at-the-deadline", off: "one clock", fault: func() func(*twin, int) {
			return func(w *twin, server int) { w.skew = inventory.Instant(server) * 900_000 }
		}},
		{race: "one-key-one-hold", off: "the record", fault: shown(func(r inventory.Rows) inventory.Rows { return noRecords{r} })},
		{race: "one-hold-one-order", off: "asking the orders first", fault: shown(func(r inventory.Rows) inventory.Rows { return noOrders{r} })},
		{race: "one-hold-one-order", off: "UNIQUE (event, hold_hash)", schema: append([]string{looseOrders}, unguarded...), fault: checkThenSet},
		{race: "sell-or-release", off: "the row lock", schema: unguarded, fault: checkThenSet},
		{race: "cancel-twice", off: "the ticket's state", schema: unguarded, fault: shown(func(r inventory.Rows) inventory.Rows { return allValid{r} })},
		{race: "withheld-seat", off: "the channel", fault: shown(func(r inventory.Rows) inventory.Rows { return allPublic{r} })},
		{race: "no-single-seat", off: "the rule in the batch and its lock", says: "left alone between two baskets", fault: func() func(*twin, int) {
			b := new(barrier)
			return func(w *twin, _ int) { w.apart = b }
		}},
	} {
		t.Run(tt.race+" without "+tt.off, func(t *testing.T) {
			t.Parallel()
			fault := func(*twin, int) {}
			if tt.fault != nil {
				fault = tt.fault()
			}
			mustCatch(t, raceNamed(t, tt.race), openTwins(t, tt.schema, fault, tt.front), tt.says)
		})
	}
}

// mustCatch holds a race against a twin until a breach says what is wanted.
func mustCatch(t *testing.T, r race.Race, target race.Target, says string) {
	t.Helper()
	var last []string
	for range heatsMax {
		result := r.Run(t.Context(), target)
		if result.Failure != "" {
			t.Fatalf("the race could not be held: %s", result.Failure)
		}
		last = result.Breaches
		if i := slices.IndexFunc(last, func(b string) bool { return strings.Contains(b, says) }); i >= 0 {
			t.Logf("caught: %s; audit: %d breaches", last[i], len(auditOf(t, target)))
			return
		}
	}
	t.Fatalf("the race is not caught in %d heats: no %q in %q; the audit says %v", heatsMax, says, last, auditOf(t, target))
}

// What catches the twins is the guard that is off, and not that they are twins: with every guard on they
// keep every race. Nor is it the check on a snapshot that makes single seats, but that nothing follows it.
func TestATwinWithEveryGuardOnKeepsEveryRace(t *testing.T) {
	b := new(barrier)
	for _, tt := range []struct {
		what  string
		fault func(*twin, int)
		races []race.Race
	}{
		{"nothing off", func(*twin, int) {}, race.Races()},
		{"single seats judged twice", func(w *twin, _ int) { w.apart, w.inside = b, true }, []race.Race{raceNamed(t, "no-single-seat")}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			target := openTwins(t, nil, tt.fault, nil)
			for _, r := range tt.races {
				if result := r.Run(t.Context(), target); !result.Passed() {
					t.Errorf("%s: %s %q", r.Name, result.Failure, result.Breaches)
				}
			}
			if found := auditOf(t, target); len(found) > 0 {
				t.Errorf("the audit says %v", found)
			}
		})
	}
}

func auditOf(t *testing.T, target race.Target) []inventory.Breach {
	t.Helper()
	found, err := target.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func raceNamed(t *testing.T, name string) race.Race {
	t.Helper()
	for _, r := range race.Races() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no race %q", name)
	return race.Race{}
}

// openTwins starts two servers on one file, each with its own broken view of the store.
func openTwins(t *testing.T, schema []string, fault func(*twin, int), front func(http.Handler, string) http.Handler) race.Target {
	t.Helper()
	store, _ := openCopy(t)
	for _, s := range schema {
		if err := store.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	rec := records.New(store)
	house := storetest.Enter(t, storetest.Fresh{Store: store, Catalogue: rec, Records: rec})
	target := race.Target{Key: house.Secret, Audit: func(context.Context) ([]inventory.Breach, error) { return breaches(t, store), nil }}
	for i := range 2 {
		w := &twin{Store: store}
		fault(w, i)
		service := storetest.NewService(w, rec)
		handler := api.New(api.Config{Service: service, Office: house.People}).Handler()
		if front != nil {
			handler = front(handler, house.Secret)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(func() {
			server.Close()
			if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		target.URLs = append(target.URLs, server.URL)
	}
	return target
}
