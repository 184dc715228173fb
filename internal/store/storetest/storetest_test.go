package storetest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

func TestTheRecorderKeepsWhatIsReportedAndEndsWithFatal(t *testing.T) {
	failures := record(t.Context(), func(to T) {
		to.Errorf("first %d", 1)
		to.Fatalf("second")
		to.Errorf("never")
	})
	if strings.Join(failures, ", ") != "first 1, second" {
		t.Errorf("kept %q", failures)
	}
	if failures = record(t.Context(), func(T) { panic("oh") }); len(failures) != 1 || failures[0] != "panic: oh" {
		t.Errorf("of a panic %q is kept", failures)
	}
	if failures = record(t.Context(), func(to T) {
		for range 2 * failuresMax {
			to.Errorf("again")
		}
	}); len(failures) != failuresMax {
		t.Errorf("%d failures are kept", len(failures))
	}
}

func TestEveryCheckHasANameOfItsOwnAndEveryWrappingACheck(t *testing.T) {
	seen := make(map[string]bool)
	for c := range checks() {
		if seen[c.name] || c.run == nil {
			t.Errorf("check %q stands twice, or does nothing", c.name)
		}
		seen[c.name] = true
	}
	for _, w := range wrappings() {
		if !seen[w.check] {
			t.Errorf("%q: there is no check %q", w.off, w.check)
		}
	}
}

func TestWhatAStoreLacksIsNotAskedOfIt(t *testing.T) {
	bare, full := &Fresh{}, &Fresh{
		Step: func(int64) {}, Unjudged: func(context.Context, string, *inventory.Effects) error { return nil },
		Commits: func(context.Context) (int64, error) { return 0, nil }, Deadlocks: func(context.Context) (int64, error) { return 0, nil },
		Second: (*sqlite.Store)(nil),
	}
	asked := 0
	for c := range checks() {
		if (c.missing(bare) != nil) != (len(c.needs) > 0) || c.missing(full) != nil {
			t.Errorf("%q misses %v of nothing and %v of everything", c.name, c.missing(bare), c.missing(full))
		}
		if c.missing(bare) == nil {
			asked++
		}
	}
	if asked == 0 {
		t.Error("a store that offers nothing is asked nothing")
	}
}

// TestTheModelAnswersAsTheRulesSay holds the model to answers worked out by hand.
func TestTheModelAnswersAsTheRulesSay(t *testing.T) {
	const t0 = inventory.Instant(1_800_000_000_000_000)
	m := newModel()
	a, b, c := claimOf(one(0), some(floor, 4, child)), claimOf(one(0), some(floor, 3, standard)), claimOf(one(0))
	a.ID = newCommandID()
	heldA := holdClass(amounts{{0, 0}: 1, {int(floor), child}: 4}, t0.Add(holdSeconds))
	sale := saleOf(c.Key, "buyer")
	order := orderClass(sale.Order, amounts{{0, 0}: 1}, standardPrice, []bool{true})
	for i, step := range []struct{ got, want string }{
		{m.apply(a, t0), heldA},
		{m.apply(a, t0+5), heldA},
		{m.apply(b, t0), lostClass([]lost{{0, inventory.ReasonHeld, 0}, {floor, inventory.ReasonSoldOut, 2}})},
		{m.apply(changeOf(a.Key, []inventory.Want{one(1)}, []inventory.Want{one(2)}), t0), "INVALID"},
		{m.apply(changeOf(a.Key, []inventory.Want{one(1), one(2)}, nil), t0), "HOLD_LIMIT_EXCEEDED"},
		{m.apply(extendOf(a.Key), t0.Add(holdSeconds)-1), holdClass(amountsOf([]inventory.Line{{Unit: 0, Quantity: 1}, {Unit: floor, Type: child, Quantity: 4}}), t0.Add(2*holdSeconds)-1)},
		{m.apply(c, t0.Add(2*holdSeconds)-2), lostClass([]lost{{0, inventory.ReasonHeld, 0}})},
		{m.apply(c, t0.Add(2*holdSeconds)-1), holdClass(amounts{{0, 0}: 1}, t0.Add(3*holdSeconds)-1)},
		{m.apply(extendOf(a.Key), t0.Add(2*holdSeconds)-1), "HOLD_EXPIRED"},
		{m.sell(saleOf(a.Key, "buyer"), t0.Add(2*holdSeconds)-1), "HOLD_EXPIRED"},
		{m.sell(sale, t0.Add(3*holdSeconds)-2), order},
		{m.sell(saleOf(c.Key, "other"), t0.Add(9*holdSeconds)), order},
		{m.apply(releaseOf(c.Key), t0.Add(9*holdSeconds)), "HOLD_SOLD"},
		{m.apply(claimOf(one(0)), t0.Add(9*holdSeconds)), lostClass([]lost{{0, inventory.ReasonSold, 0}})},
		{m.giveBack(c.Key), orderClass(sale.Order, amounts{{0, 0}: 1}, standardPrice, []bool{false})},
		{m.giveBack(newKey()), "NOT_FOUND"},
		{m.board(t0.Add(9 * holdSeconds)), strings.Repeat("0+0 ", seats+1)},
		{m.apply(claimOf(one(withheld)), t0), lostClass([]lost{{withheld, inventory.ReasonNotOnSale, 0}})},
	} {
		if step.got != step.want {
			t.Errorf("step %d: %s, want %s", i, step.got, step.want)
		}
	}
}

// listener is a recorder for whom pictures stay.
type listener struct{ *recorder }

// won is a call in which a client claims a seat and has it.
func won(client int, begun, end time.Duration) *call {
	c := claimOf(one(0))
	return &call{
		client: client, begun: begun, end: end, commands: []inventory.Command{c},
		outcomes: []inventory.Outcome{{Hold: &inventory.Hold{Key: c.Key, Deadline: 1 + holdSeconds*1_000_000, Lines: []inventory.Line{{Unit: 0, Quantity: 1}}}, Now: 1}},
	}
}

func lostCall(client int, begun, end time.Duration, reason inventory.Reason) *call {
	return &call{
		client: client, begun: begun, end: end, commands: []inventory.Command{claimOf(one(0))},
		outcomes: []inventory.Outcome{{Now: 1, Refusal: &inventory.Refusal{Code: inventory.AllocationUnavailable, Conflicts: []inventory.Conflict{{Unit: 0, Reason: reason}}}}},
	}
}

func TestAHistoryWithoutAnOrderIsFoundAndDrawn(t *testing.T) {
	path := regexp.MustCompile(`the picture is (\S+)`)
	for name, h := range map[string]struct {
		calls []*call
		ok    bool
	}{
		"one wins and one loses, at once":    {[]*call{won(0, 0, 10), lostCall(1, 0, 10, inventory.ReasonHeld)}, true},
		"both win, at once":                  {[]*call{won(0, 0, 10), won(1, 0, 10)}, false},
		"both win, one after the other":      {[]*call{won(0, 0, 10), won(1, 20, 30)}, false},
		"who comes first loses to the later": {[]*call{lostCall(0, 0, 10, inventory.ReasonHeld), won(1, 20, 30)}, false},
		"a held seat is called sold":         {[]*call{won(0, 0, 10), lostCall(1, 20, 30, inventory.ReasonSold)}, false},
	} {
		for _, byUnit := range []bool{false, true} {
			model := wholeModel()
			if byUnit {
				model = unitModel()
			}
			l := listener{&recorder{ctx: t.Context()}}
			wantLinear(l, 1, model, operations(h.calls, byUnit))
			if h.ok != (len(l.failures) == 0) {
				t.Errorf("%s, by unit %v: %q", name, byUnit, l.failures)
			}
			for _, f := range l.failures {
				found := path.FindStringSubmatch(f)
				if found == nil {
					t.Fatalf("%s: no picture: %s", name, f)
				}
				if data, err := os.ReadFile(found[1]); err != nil || !strings.Contains(string(data), "<html") {
					t.Errorf("the picture has %d bytes (%v)", len(data), err)
				}
				if err := os.Remove(found[1]); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestHalfABasketIsSeenInTheWholeOnly shows what judging unit by unit cannot see, and the whole does:
// somebody reads a board on which a hold of two seats has one.
func TestHalfABasketIsSeenInTheWholeOnly(t *testing.T) {
	c := claimOf(one(0), one(1))
	basket := &call{begun: 0, end: 100, commands: []inventory.Command{c}, outcomes: []inventory.Outcome{{Now: 1, Hold: &inventory.Hold{
		Key: c.Key, Deadline: 1 + holdSeconds*1_000_000, Lines: []inventory.Line{{Unit: 0, Quantity: 1}, {Unit: 1, Quantity: 1}},
	}}}}
	half := &call{client: 1, begun: 10, end: 20, board: &inventory.Board{Now: 1, Units: make([]inventory.UnitState, floor+1)}}
	for u := range half.board.Units {
		half.board.Units[u].Capacity = 1
	}
	half.board.Units[floor].Capacity, half.board.Units[0].Held = floorCapacity, 1
	calls := []*call{basket, half}
	if !porcupine.CheckOperations(unitModel(), operations(calls, true)) {
		t.Error("each unit alone has an order, and none is found")
	}
	if porcupine.CheckOperations(wholeModel(), operations(calls, false)) {
		t.Error("half a basket was seen, and nobody minds")
	}
}

// TestAClockThatOnlyRunsIsWaitedFor holds a store to the deadlines whose clock nobody can move: a real
// one, outside of any bubble.
func TestAClockThatOnlyRunsIsWaitedFor(t *testing.T) {
	open := func(t testing.TB) Fresh {
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "real.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		rec := records.New(store)
		return Fresh{Store: store, Catalogue: rec, Records: rec}
	}
	held := 0
	for _, c := range deadlines() {
		if !c.time || c.missing(&Fresh{}) != nil {
			continue
		}
		held++
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.hold(t, open, false, func(t *testing.T, run func(T)) { run(t) })
		})
	}
	if held == 0 {
		t.Error("no deadline is held")
	}
}
