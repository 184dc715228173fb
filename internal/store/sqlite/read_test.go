package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

const (
	visitSeats  = 6 // keys that one round of a visit has to itself
	visitRounds = 2
)

// unreadable are the ways in which a read goes wrong. Of each the first half of what was asked for arrives.
var unreadable = map[string]error{
	"a read that fails":        sqlite3.IOERR_READ,
	"a file that seems to end": io.EOF,
	"half a read":              io.ErrUnexpectedEOF,
}

// TestPromise7AReadThatFailsLosesNothingAndIsNoAnswer makes reads all over a visit, that of the opening
// included, fail in some way, once or for a while; with faultReads large, every single one. Who asked hears of an error or the truth: no refusal and no empty answer comes from
// what could not be read, nothing that was acknowledged is lost, nothing false is remembered, and when reads
// work again the store sells.
func TestPromise7AReadThatFailsLosesNothingAndIsNoAnswer(t *testing.T) {
	made := furnished(t)
	kinds := 0
	for _, bounds := range []string{"as every day", "little remembered"} {
		for name, fault := range unreadable {
			for _, lasting := range []int{1, 15} {
				kinds++
				kind := kinds
				t.Run(fmt.Sprintf("%s, %s, %d times", bounds, name, lasting), func(t *testing.T) {
					t.Parallel()
					reads := newVisit(t, made, 0, bounds).run(nil, 0, 0)
					step := max(1, reads/faultReads)
					tried := 0
					for n := kind % step; n < reads; n += step { // each kind begins at another read
						newVisit(t, made, n+1, bounds).run(fault, n, lasting)
						tried++
					}
					t.Logf("%d of %d reads failed", tried, reads)
					if tried < min(faultReads, reads) {
						t.Errorf("%d of %d reads failed, so little is known", tried, reads)
					}
				})
			}
		}
	}
}

// visit is one caller at a store that cannot read everything. Nobody else is there, so the caller knows
// what has to be true.
type visit struct {
	*evening
	t       *testing.T
	what    string // is wrong
	bounds  string
	store   *sqlite.Store
	service *inventory.Service
	failed  int // reads so far
}

func newVisit(t *testing.T, m *made, n int, bounds string) *visit {
	t.Helper()
	return &visit{evening: newEvening(t, m, uint64(n), "FULL"), t: t, bounds: bounds, what: fmt.Sprintf("from read %d on", n)}
}

// run makes the visit, with some reads failing, and returns how many there were.
func (v *visit) run(fault error, from, lasting int) (reads int) {
	v.t.Helper()
	if fault != nil {
		v.disk.failRead = func(s step) error {
			if s.n <= from || s.n > from+lasting {
				return nil
			}
			v.failed++
			v.what = fmt.Sprintf("%v at read %d of %s", fault, s.n, s.file)
			return fault
		}
	}
	if v.enter() {
		for r := range visitRounds {
			v.round(v.keys[r*visitSeats:])
		}
		v.audit()
		v.disk.mu.Lock()
		v.disk.failRead, reads = nil, v.disk.reads
		v.disk.mu.Unlock()
		v.after()
	}
	for _, l := range v.lookAfter(v.t) {
		v.errorf("lost: %s", l)
	}
	return reads
}

func (v *visit) errorf(format string, args ...any) {
	v.t.Helper()
	v.t.Errorf("%s: "+format, append([]any{v.what}, args...)...)
}

// enter opens the store, if it can be.
func (v *visit) enter() bool {
	store, err := v.tryOpen(v.t)
	if err != nil {
		if v.failed == 0 || errors.Is(err, sqlite.ErrCorrupt) || errors.Is(err, sqlite.ErrNewer) {
			v.errorf("opening: %v", err)
		}
		return false
	}
	// Hardly a page is kept, so that nearly everything is read again each time.
	if err := store.Exec("PRAGMA cache_size = 1"); err != nil && v.failed == 0 {
		v.errorf("%v", err)
	}
	if v.bounds == "little remembered" {
		store.SetSheetBounds(1, 2, 1, 1)
	}
	v.store = store
	v.service, _ = serviceOn(store)
	v.t.Cleanup(func() { store.Close() })
	return true
}

// ask asks for what must be answered with a code, or must succeed with none, and reports whether it was.
// An error is no lie as long as it is not a refusal; then nobody knows what became of it.
func (v *visit) ask(what string, want inventory.RefusalCode, do func() error) (known bool) {
	v.t.Helper()
	err := do()
	got := code(err)
	switch {
	case err == nil && want == "", want != "" && got == want:
		return true
	case err == nil:
		v.errorf("%s: granted, and must not be", what)
	case got != "" && got != inventory.Unavailable:
		v.errorf("%s: refused as %s, want %q: %v", what, got, want, err)
	case v.failed == 0:
		v.errorf("%s: no read failed, and it says %v", what, err)
	}
	return false
}

// claim asks for what is free; nil when nobody knows.
func (v *visit) claim(what string, r inventory.ClaimRequest) *story {
	v.t.Helper()
	r.Event = v.house.event
	var s *story
	v.ask(what, "", func() error {
		h, err := v.service.Claim(v.t.Context(), r)
		if err == nil {
			s = &story{
				token: h.Token, ref: inventory.HoldRef{Event: v.house.event, Token: h.Token},
				seller: v.house.caller, held: true, lines: fmt.Sprint(h.Hold.Lines),
			}
			v.told = append(v.told, s)
		}
		return err
	})
	return s
}

func (v *visit) seats(keys ...string) inventory.ClaimRequest {
	return inventory.ClaimRequest{Basket: inventory.Basket{Seats: slices.Clone(keys)}}
}

// taken asks for a seat that somebody has.
func (v *visit) taken(key string, reason inventory.Reason) {
	v.t.Helper()
	v.ask("a seat that is "+string(reason), inventory.AllocationUnavailable, func() error {
		r := v.seats(key)
		r.Event = v.house.event
		_, err := v.service.Claim(v.t.Context(), r)
		if refusal, ok := errors.AsType[*inventory.Refusal](err); ok && refusal.Code == inventory.AllocationUnavailable && refusal.Conflicts[0].Reason != reason {
			v.errorf("a seat that is %s is said to be %s", reason, refusal.Conflicts[0].Reason)
		}
		return err
	})
}

// round is what a buyer and the organizer do, on seats that nobody else wants.
func (v *visit) round(k []string) {
	ctx := v.t.Context()
	for _, old := range v.told { // of the round before, which this one has forgotten by now
		if old.held && !old.unknown {
			v.ask("more time", "", func() error {
				_, err := v.service.Extend(ctx, old.ref, nil)
				return err
			})
		}
	}
	s := v.claim("a claim", v.seats(k[0], k[1]))
	if s != nil {
		v.taken(k[0], inventory.ReasonHeld)
		v.shop(ctx, s, k[2])
	}
	if floor := v.claim("a claim of an area", inventory.ClaimRequest{Basket: inventory.Basket{Areas: []inventory.AreaWant{{Area: "FLOOR", Quantity: 1}}}}); floor != nil {
		floor.held, floor.unknown = false, !v.ask("a release", "", func() error { return v.service.Release(ctx, floor.ref) })
	}
	v.claim("the best", inventory.ClaimRequest{Best: &inventory.Best{Quantity: 2}})
	if s != nil && s.order != "" {
		v.taken(k[0], inventory.ReasonSold)
		v.onBoard(ctx, k[0], 2)
		s.unknown = !v.ask("a cancellation", "", func() error {
			_, err := v.service.CancelOrder(ctx, v.house.caller, v.house.event, s.order, "", nil)
			return err
		})
		if !s.unknown {
			s.valid = 0
			v.claim("what came back", v.seats(k[0]))
		}
	}
	v.compare() // before paperwork drops what is remembered
	v.office(ctx)
	if _, err := v.store.Sweep(ctx, 10); err != nil && v.failed == 0 {
		v.errorf("a sweep: %v", err)
	}
}

// shop looks at a hold, adds a seat and buys it.
func (v *visit) shop(ctx context.Context, s *story, more string) {
	v.ask("a look", "", func() error {
		h, err := v.service.Look(ctx, s.ref)
		if err == nil && fmt.Sprint(h.Hold.Lines) != s.lines {
			v.errorf("a hold of %s is shown as %v", s.lines, h.Hold.Lines)
		}
		return err
	})
	s.unknown = !v.ask("a change", "", func() error {
		h, err := v.service.Change(ctx, inventory.ChangeRequest{Hold: s.ref, Add: inventory.Basket{Seats: []string{more}}})
		if err == nil {
			s.lines = fmt.Sprint(h.Hold.Lines)
		}
		return err
	})
	if s.unknown {
		return
	}
	s.unknown = true
	for range 3 { // a repeat finds the order, whatever became of the first
		if v.ask("an order", "", func() error {
			o, err := v.service.Confirm(ctx, inventory.ConfirmRequest{Hold: s.ref, Buyer: inventory.Buyer{Email: "buyer@example.com"}})
			if err == nil {
				s.held, s.order, s.valid = false, o.Order.ID, validTickets(o.Order)
			}
			return err
		}) {
			s.unknown = false
			return
		}
	}
}

// onBoard looks at a seat on the board.
func (v *visit) onBoard(ctx context.Context, key string, want byte) {
	v.t.Helper()
	v.ask("the board", "", func() error {
		b, err := v.service.Board(ctx, inventory.Caller{}, v.house.event)
		if err != nil {
			return err
		}
		if i := slices.Index(v.keys, key); b.Seats[i/4]>>(2*(i%4))&3 != want {
			v.errorf("seat %s is in state %d on the board, want %d", key, b.Seats[i/4]>>(2*(i%4))&3, want)
		}
		return nil
	})
}

// office does paperwork, and reads lists that are not empty.
func (v *visit) office(ctx context.Context) {
	v.ask("the event", "", func() error {
		_, err := v.service.Event(ctx, v.house.caller, v.house.event)
		return err
	})
	v.ask("a venue", "", func() error {
		made, err := v.service.CreateVenue(ctx, v.house.caller, inventory.VenueFields{Name: ptr("Hall")}, nil)
		if err == nil {
			v.venues = append(v.venues, made.ID)
		}
		return err
	})
	v.ask("another name", "", func() error {
		e, err := v.service.PatchEvent(ctx, v.house.caller, v.house.event, inventory.EventFields{Name: ptr("Night")}, nil)
		if err == nil {
			v.revision = e.Event.Revision
		}
		return err
	})
	v.ask("the log", "", func() error {
		l, err := v.service.Log(ctx, v.house.caller, v.house.event, inventory.Page{Limit: 200})
		if err == nil && len(l.Entries) < len(v.told) {
			v.errorf("the log has %d entries after %d holds", len(l.Entries), len(v.told))
		}
		return err
	})
	v.ask("the holds", "", func() error {
		list, _, err := v.service.Holds(ctx, v.house.caller, v.house.event, inventory.Page{Limit: 200})
		live := 0
		for _, s := range v.told {
			if s.held && !s.unknown {
				live++
			}
		}
		if err == nil && len(list) < live {
			v.errorf("%d holds are listed, and %d live", len(list), live)
		}
		return err
	})
}

// audit asks for breaches. What it cannot read is none.
func (v *visit) audit() {
	v.t.Helper()
	found, err := storetest.Breaches(v.t.Context(), v.store)
	if err != nil && (v.failed == 0 || errors.Is(err, sqlite.ErrCorrupt)) {
		v.errorf("the audit: %v", err)
	}
	for _, b := range found {
		v.errorf("promise %d: %s", b.Promise, b.What)
	}
}

// compare holds what is remembered, and of how many events, against what stands there.
func (v *visit) compare() (remembered int) {
	v.t.Helper()
	remembered, differences, err := v.store.CompareSheets()
	switch {
	case err != nil && v.failed > 0: // nobody can say
	case err != nil || len(differences) > 0:
		v.errorf("something else is remembered than stands there: %q %v", differences, err)
	}
	return remembered
}

// after looks at the store when reads work again: it goes on at once, and remembers nothing false.
func (v *visit) after() {
	ctx := v.t.Context()
	v.failed = 0
	if err := v.store.Ready(ctx); err != nil {
		v.errorf("reads work again, and it is not ready: %v", err)
	}
	v.office(ctx)
	v.claim("a claim when reads work again", v.seats(v.keys[len(v.keys)-1]))
	if v.compare() == 0 {
		v.errorf("nothing is remembered when reads work again")
	}
	v.audit()
	v.disk.cut()
	v.store.Close() // nothing of it reaches the disk any more
}
