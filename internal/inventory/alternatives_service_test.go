package inventory_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
)

// gate is a store that holds a batch back until everybody else has come, and counts what is read.
type gate struct {
	inventory.Store
	mu      sync.Mutex
	shut    chan struct{} // nil: open
	batches []int
	reads   int
	fault   func(context.Context) error // of whoever reads a board; nil: none
}

func (g *gate) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	g.mu.Lock()
	shut := g.shut
	g.shut = nil
	g.batches = append(g.batches, len(batch))
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
	return g.Store.Apply(ctx, event, batch)
}

// read counts a reading of a board, and makes it fail when it shall.
func (g *gate) read(ctx context.Context) error {
	g.mu.Lock()
	g.reads++
	fault := g.fault
	g.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx)
}

func (g *gate) Changes(ctx context.Context, event string, after inventory.Position) (*inventory.Changes, error) {
	if err := g.read(ctx); err != nil {
		return nil, err
	}
	return g.Store.Changes(ctx, event, after)
}

func (g *gate) Board(ctx context.Context, event string) (*inventory.Board, error) {
	if err := g.read(ctx); err != nil {
		return nil, err
	}
	return g.Store.Board(ctx, event)
}

// gated is a desk over a gate.
func gated(t *testing.T) (*desk, *gate) {
	g := new(gate)
	return deskOver(t, func(s inventory.Store) inventory.Store {
		g.Store = s
		return g
	}), g
}

// together makes claims that arrive while one for a seat of nobody's interest is in flight, and so are
// one batch, in this order.
func (g *gate) together(d *desk, event, other string, claims ...inventory.ClaimRequest) []error {
	d.t.Helper()
	open := make(chan struct{})
	g.mu.Lock()
	g.shut = open
	g.mu.Unlock()
	errs := make([]error, len(claims))
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := d.claim(event, other); err != nil {
			d.t.Error(err)
		}
	})
	synctest.Wait()
	for i := range claims {
		claims[i].Event = event
		wg.Go(func() { _, errs[i] = d.Claim(d.t.Context(), claims[i]) })
		synctest.Wait()
	}
	close(open)
	wg.Wait()
	if g.batches[len(g.batches)-1] != len(claims) {
		d.t.Fatalf("batches of %v", g.batches)
	}
	return errs
}

func wanting(seats ...string) inventory.ClaimRequest {
	return inventory.ClaimRequest{Basket: inventory.Basket{Seats: seats}}
}

// offered gives what a loser was told to ask for instead; nil for nothing.
func offered(t *testing.T, err error) []string {
	t.Helper()
	r, ok := errors.AsType[*inventory.Refusal](err)
	if !ok || r.Code != inventory.AllocationUnavailable || len(r.Conflicts) == 0 {
		t.Fatalf("lost with %v", err)
	}
	if len(r.Alternatives) == 0 {
		return nil
	}
	return r.Alternatives[0].Seats
}

func TestTheLosersOfAStormAreSentToDifferentSeatsAndFindThemFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := gated(t)
		event := d.hallOnSale(12, 20, func(spec *inventory.EventSpec) { spec.Fields.SingleSeats = new("off") })
		const hot = "S1-6-10"
		claims := slices.Repeat([]inventory.ClaimRequest{wanting(hot)}, 200)
		g.reads = 0
		errs := g.together(d, event, "S1-1-1", claims...)
		if errs[0] != nil || g.reads > 1 {
			t.Fatalf("the first in line: %v; %d reads for one batch", errs[0], g.reads)
		}
		second := make([]inventory.ClaimRequest, 0, len(errs))
		seen := map[string]bool{hot: true, "S1-1-1": true}
		for _, err := range errs[1:] {
			seats := offered(t, err)
			if len(seats) != 1 || seen[seats[0]] {
				t.Fatalf("offered %v", seats)
			}
			seen[seats[0]] = true
			second = append(second, wanting(seats...))
		}
		for i, err := range g.together(d, event, "S1-1-20", second...) {
			if err != nil && seats(second[i]) != "S1-1-20" {
				t.Errorf("%v was free a moment ago, and nobody else was told of it: %v", second[i].Basket.Seats, err)
			}
		}
		// Where nothing has happened since, nothing is read again.
		g.reads = 0
		if _, err := d.claim(event, hot); offered(t, err) == nil || g.reads > 1 {
			t.Errorf("%v after %d reads", err, g.reads)
		}
		g.reads = 0
		if _, err := d.claim(event, hot); offered(t, err) == nil || g.reads != 0 {
			t.Errorf("%v after %d reads", err, g.reads)
		}
	})
}

func seats(r inventory.ClaimRequest) string { return r.Basket.Seats[0] }

func TestNobodyIsSentToASeatThatWentInTheSameBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := gated(t)
		event := d.hallOnSale(4, 9, func(spec *inventory.EventSpec) { spec.Fields.SingleSeats = new("off") })
		errs := g.together(d, event, "S1-4-9",
			wanting("S1-2-5"), wanting("S1-2-5"), wanting("S1-2-4"), wanting("S1-2-6"), wanting("S1-1-5"), wanting("S1-3-5"))
		for i, err := range errs {
			if (err != nil) != (i == 1) {
				t.Fatalf("claim %d: %v", i, err)
			}
		}
		if got := offered(t, errs[1]); len(got) != 1 || slices.Contains([]string{"S1-2-5", "S1-2-4", "S1-2-6", "S1-1-5", "S1-3-5"}, got[0]) {
			t.Errorf("offered %v", got)
		}
	})
}

// Advice may fail in any way, and take no longer than its time: whoever lost is told so, whoever won in
// the same batch does not wait for it, and neither does the next batch.
func TestWhatBecomesOfTheAdviceIsNothingToTheAnswers(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("the board cannot be read") },
		"a panic":  func(context.Context) error { panic("the board cannot be read") },
		"no answer": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, g := gated(t)
				event := d.hallOnSale(4, 9, nil)
				must(d.claim(event, "S1-2-5"))(t)
				g.fault = fault
				began := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := d.claim(event, "S1-2-5"); offered(t, err) != nil {
						t.Errorf("offered %v", offered(t, err))
					}
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("the loser is told after %v", took)
					}
				})
				synctest.Wait()
				if _, err := d.claim(event, "S1-4-5"); err != nil || !time.Now().Equal(began) {
					t.Errorf("the next one is told %v after %v", err, time.Since(began))
				}
				wg.Wait()
			})
		})
	}
}

func TestForWhomNoOtherSeatWouldHelpNothingIsRead(t *testing.T) {
	d, g := gated(t)
	spec := d.spec()
	spec.Rules = spec.Rules[:1]
	e := d.create(spec)
	d.pass(e.ID, "publish", "open")
	floor := inventory.ClaimRequest{Event: e.ID, Basket: inventory.Basket{Areas: []inventory.AreaWant{{Area: "FLOOR", Quantity: 9}}}}
	for range 4 {
		must(d.Claim(t.Context(), floor))(t)
	}
	if _, err := d.Claim(t.Context(), floor); offered(t, err) != nil || g.reads > 0 {
		t.Errorf("offered %v for an area that is full, after %d reads", offered(t, err), g.reads)
	}
}

func TestAnAlternativeIsTogetherAtTheSamePriceAndForThisCaller(t *testing.T) {
	d := newDesk(t)
	event := d.hallOnSale(3, 8, func(spec *inventory.EventSpec) {
		spec.Fields.Types = []inventory.TicketType{{ID: "standard", Name: "Standard", Price: 4500}, {ID: "child", Name: "Child", Price: 900}, {ID: "box", Name: "Box", Price: 9000}}
		spec.Rules = []inventory.Rule{
			{Where: inventory.Where{All: true}, Types: []string{"standard", "child"}},
			{Where: inventory.Where{Rows: []string{"S1-3"}}, Types: []string{"box"}},
			{Where: inventory.Where{Seats: []string{"S1-2-1", "S1-2-2", "S1-2-3", "S1-2-4"}}, Channel: "sponsors"},
		}
		spec.Fields.SingleSeats = new("strict")
	})
	must(d.claim(event, "S1-1-1", "S1-1-2", "S1-1-3", "S1-1-4", "S1-1-5", "S1-1-6", "S1-1-7", "S1-1-8"))(t)
	lost := func(edit func(*inventory.ClaimRequest), seats ...string) inventory.Alternative {
		t.Helper()
		r := wanting(seats...)
		r.Event = event
		if edit != nil {
			edit(&r)
		}
		_, err := d.Claim(t.Context(), r)
		if offered(t, err) == nil {
			return inventory.Alternative{}
		}
		refusal, _ := errors.AsType[*inventory.Refusal](err)
		a := refusal.Alternatives[0]
		again := r
		again.Basket.Seats, again.Basket.Types = a.Seats, a.Types
		v := must(d.Claim(t.Context(), again))(t)
		if err := d.Release(t.Context(), inventory.HoldRef{Event: event, ID: v.Hold.Key.ID(), Token: v.Token}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	// Row 3 costs more, and the left of row 2 is the sponsors'.
	if a := lost(nil, "S1-1-4", "S1-1-5"); !slices.Equal(a.Seats, []string{"S1-2-5", "S1-2-6"}) || a.Types != nil {
		t.Errorf("%+v", a)
	}
	if a := lost(func(r *inventory.ClaimRequest) { r.Code = "open-sesame" }, "S1-1-4", "S1-1-5"); !slices.Equal(a.Seats, []string{"S1-2-4", "S1-2-5"}) {
		t.Errorf("with a code: %+v", a)
	}
	child := func(r *inventory.ClaimRequest) { r.Basket.Types = map[string]string{"S1-1-5": "child"} }
	if a := lost(child, "S1-1-5", "S1-1-4"); !slices.Equal(a.Seats, []string{"S1-2-6", "S1-2-5"}) || a.Types["S1-2-6"] != "child" || len(a.Types) != 1 {
		t.Errorf("a child: %+v", a)
	}
	if a := lost(nil, "S1-1-4", "S1-1-5", "S1-1-6", "S1-1-7", "S1-1-8"); a.Seats != nil {
		t.Errorf("five together are nowhere: %+v", a)
	}
	ref := must(d.claim(event, "S1-2-8", "S1-2-7"))(t)
	_, err := d.Change(t.Context(), inventory.ChangeRequest{
		Hold: inventory.HoldRef{Event: event, ID: ref.Hold.Key.ID(), Token: ref.Token}, Add: inventory.Basket{Seats: []string{"S1-1-5"}},
	})
	if got := offered(t, err); !slices.Equal(got, []string{"S1-2-5"}) {
		t.Errorf("a seat that a hold was to have as well: %v", got)
	}
}

func TestABasketWithAnAreaIsOfferedOtherSeatsUnlessTheAreaIsShort(t *testing.T) {
	d := newDesk(t)
	spec := d.spec()
	spec.Rules = spec.Rules[:1]
	e := d.create(spec)
	d.pass(e.ID, "publish", "open")
	must(d.claim(e.ID, "S1-1-2"))(t)
	r := wanting("S1-1-2")
	r.Event, r.Basket.Areas = e.ID, []inventory.AreaWant{{Area: "FLOOR", Quantity: 9}}
	_, err := d.Claim(t.Context(), r)
	if got := offered(t, err); len(got) != 1 {
		t.Errorf("offered %v", got)
	}
	for range 4 {
		must(d.Claim(t.Context(), inventory.ClaimRequest{Event: e.ID, Basket: inventory.Basket{Areas: r.Basket.Areas}}))(t)
	}
	if _, err = d.Claim(t.Context(), r); offered(t, err) != nil {
		t.Errorf("offered %v, and the area is full", offered(t, err))
	}
}

func TestAlternativesFollowARepaint(t *testing.T) {
	d := newDesk(t)
	event := d.hallOnSale(2, 4, nil)
	must(d.claim(event, "S1-1-1", "S1-1-2"))(t)
	_, err := d.claim(event, "S1-1-1")
	if got := offered(t, err); !slices.Equal(got, []string{"S1-2-1"}) && !slices.Equal(got, []string{"S1-1-3"}) {
		t.Fatalf("offered %v", got)
	}
	rule := inventory.Rule{Where: inventory.Where{Rows: []string{"S1-2"}, Seats: []string{"S1-1-3"}}, Channel: "sponsors"}
	must(d.Repaint(t.Context(), d.c, event, rule, false, nil))(t)
	if _, err = d.claim(event, "S1-1-1"); !slices.Equal(offered(t, err), []string{"S1-1-4"}) {
		t.Errorf("offered %v", offered(t, err))
	}
}
