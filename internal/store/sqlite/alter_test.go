package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// alteration is one of the event as it stands, which changes nothing yet.
func (h *house) alteration(t testing.TB, kind inventory.LogKind) inventory.Alteration {
	t.Helper()
	e, err := h.store.Event(t.Context(), h.event)
	if err != nil {
		t.Fatal(err)
	}
	next := *e
	next.Revision++
	return inventory.Alteration{Expect: e.Revision, Event: &next, Kind: kind, By: "key_test"}
}

func (h *house) claim(t testing.TB, seats ...string) *inventory.HoldView {
	t.Helper()
	v, err := h.service.Claim(t.Context(), claimOf(h, seats...))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h *house) confirm(t testing.TB, v *inventory.HoldView) *inventory.OrderView {
	t.Helper()
	o, err := h.service.Confirm(t.Context(), inventory.ConfirmRequest{
		Hold: inventory.HoldRef{Event: h.event, Token: v.Token}, Buyer: inventory.Buyer{Email: "buyer@example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// kinds are those of an event's last log entries.
func (h *house) kinds(t testing.TB, last int) (kinds []inventory.LogKind) {
	t.Helper()
	entries, err := h.records.Log(t.Context(), h.event, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries[max(0, len(entries)-last):] {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// without is the house's map without the first of its seats, so that every other seat has another place.
func without(first int) *seatmap.Map {
	m := seatmap.Grid(4, 10)
	m.Sections[0].Rows[0].Seats = m.Sections[0].Rows[0].Seats[first:]
	m.Areas = append(m.Areas, seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: 5})
	return m
}

// newMap adds a version to the venue's maps.
func (h *house) newMap(t testing.TB, m *seatmap.Map) string {
	t.Helper()
	e, err := h.store.Event(t.Context(), h.event)
	if err != nil {
		t.Fatal(err)
	}
	drawing, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	version, err := h.service.CreateMap(t.Context(), h.caller, e.Venue, drawing, nil)
	if err != nil {
		t.Fatal(err)
	}
	return version.ID
}

func TestPromise1NothingThatIsHeldOrSoldIsTakenAway(t *testing.T) {
	h := newHouse(t, 60)
	h.claim(t, "S1-1-1")
	h.confirm(t, h.claim(t, "S1-1-2"))
	area := func(n int64) inventory.ClaimRequest {
		return inventory.ClaimRequest{Event: h.event, Basket: inventory.Basket{Areas: []inventory.AreaWant{{Area: "FLOOR", Quantity: n}}}}
	}
	held, err := h.service.Claim(t.Context(), area(1))
	if err != nil {
		t.Fatal(err)
	}
	h.confirm(t, held)
	if _, err := h.service.Claim(t.Context(), area(2)); err != nil {
		t.Fatal(err)
	}
	before := h.kinds(t, 100)
	for _, test := range []struct {
		what   string
		drop   []inventory.Unit
		resize []inventory.Resize
		want   []inventory.Conflict
	}{
		{"a held seat among free ones", []inventory.Unit{5, 0, 6}, nil, []inventory.Conflict{{Unit: 0, Reason: "held"}}},
		{"a sold seat", []inventory.Unit{1}, nil, []inventory.Conflict{{Unit: 1, Reason: "sold"}}},
		{"both, and an area", []inventory.Unit{0, 1, 40}, nil, []inventory.Conflict{
			{Unit: 0, Reason: "held"}, {Unit: 1, Reason: "sold"}, {Unit: 40, Reason: "sold", Held: 2, Reserved: 1},
		}},
		{"an area's held units", nil, []inventory.Resize{{Unit: 40, Capacity: 2}}, []inventory.Conflict{
			{Unit: 40, Reason: "held", Requested: 2, Held: 2, Reserved: 1},
		}},
	} {
		a := h.alteration(t, inventory.LogRemapped)
		a.Drop, a.Resize = test.drop, test.resize
		a.Repaint = []inventory.Repaint{{From: 10, Count: 5, Class: 0}}
		_, err := h.store.Alter(t.Context(), h.event, a)
		refusal, ok := errors.AsType[*inventory.Refusal](err)
		if !ok || refusal.Code != inventory.ChangeUnsafe || refusal.Total != len(test.want) || !slices.Equal(refusal.Conflicts, test.want) {
			t.Errorf("%s: %v %+v, want %+v", test.what, err, refusal, test.want)
		}
	}
	if after := h.kinds(t, 100); !slices.Equal(after, before) {
		t.Errorf("refusals left %v in the log", after)
	}
	a := h.alteration(t, inventory.LogRemapped)
	a.Drop, a.Resize = []inventory.Unit{5}, []inventory.Resize{{Unit: 40, Capacity: 3}}
	if _, err := h.store.Alter(t.Context(), h.event, a); err != nil {
		t.Errorf("what is free: %v", err)
	}
	if n, _ := h.store.Count("SELECT count(*) FROM allocations"); n != 40 {
		t.Errorf("%d allocations are left of 41, one of which was dropped", n)
	}
	if _, err := h.service.Claim(t.Context(), area(1)); err == nil {
		t.Error("an area that became smaller sells more than it has")
	}
}

func TestRefusalsNameAHundredAndCountAll(t *testing.T) {
	h := openHouse(t, t.TempDir()+"/many.db")
	h.furnishWith(t, seatmap.Grid(13, 10), 60)
	seats := seatsOf(t, h)
	for i := 0; i < 130; i += 10 {
		h.claim(t, seats[i:i+10]...)
	}
	a := h.alteration(t, inventory.LogRemapped)
	for u := range inventory.Unit(130) {
		a.Drop = append(a.Drop, u)
	}
	_, err := h.store.Alter(t.Context(), h.event, a)
	refusal, ok := errors.AsType[*inventory.Refusal](err)
	if !ok || refusal.Total != 130 || len(refusal.Conflicts) != 100 {
		t.Errorf("%v: %d of %d are named", err, len(refusal.Conflicts), refusal.Total)
	}
}

func seatsOf(t testing.TB, h *house) []string {
	t.Helper()
	_, drawing, err := h.service.EventMap(t.Context(), inventory.Caller{}, h.event)
	if err != nil {
		t.Fatal(err)
	}
	return seatKeys(t, drawing)
}

// TestPromise5LapsedHoldsStandInNobodysWay drops a seat of a basket whose time is up, and makes the area
// of another smaller than what lies there: nothing has swept, and both end as they go.
func TestPromise5LapsedHoldsStandInNobodysWay(t *testing.T) {
	h := newHouse(t, 600)
	lapsed := h.claim(t, "S1-1-1", "S1-1-2")
	area, err := h.service.Claim(t.Context(), inventory.ClaimRequest{Event: h.event, Basket: inventory.Basket{Areas: []inventory.AreaWant{{Area: "FLOOR", Quantity: 4}}}})
	if err != nil {
		t.Fatal(err)
	}
	live := h.claim(t, "S1-1-4")
	h.lapse(t, lapsed, area)
	a := h.alteration(t, inventory.LogRemapped)
	a.Drop, a.Resize = []inventory.Unit{0}, []inventory.Resize{{Unit: 40, Capacity: 1}}
	if _, err := h.store.Alter(t.Context(), h.event, a); err != nil {
		t.Fatal(err)
	}
	if got, want := h.kinds(t, 3), []inventory.LogKind{inventory.LogExpired, inventory.LogExpired, inventory.LogRemapped}; !slices.Equal(got, want) {
		t.Errorf("the log ends with %v, want %v", got, want)
	}
	for v, want := range map[*inventory.HoldView]bool{lapsed: false, area: false, live: true} {
		if _, err := h.service.Look(t.Context(), inventory.HoldRef{Event: h.event, Token: v.Token}); (err == nil) != want {
			t.Errorf("hold %s: %v", v.Hold.Key.ID(), err)
		}
	}
	h.claim(t, "S1-1-2") // of the basket that ended; the other seat of it is gone
	for _, b := range breaches(t, h.store) {
		if !strings.Contains(b.What, "has no place") { // the map still has the seat, since this test goes past the Service
			t.Errorf("%+v", b)
		}
	}
}

// lapse lets the time of holds be up, as a clock would.
func (h *house) lapse(t testing.TB, views ...*inventory.HoldView) {
	t.Helper()
	for _, v := range views {
		for _, table := range []string{"holds", "hold_lines"} {
			if err := h.store.Exec(fmt.Sprintf("UPDATE %s SET deadline = 1 WHERE hold_hash = x'%x'", table, v.Hold.Key)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// remapper is what both sides of the race want to do to a map.
type remapper func(ctx context.Context, to string) error

// raceForTheSeat lets buyers claim the seat that a new map no longer has, while the event moves there,
// and reports how often both were told that they have won, and how often the claim did.
func raceForTheSeat(t *testing.T, rounds int, remap func(*house) remapper) (both, claims int) {
	t.Helper()
	for range rounds {
		h := newHouse(t, 60)
		to := h.newMap(t, without(1))
		var wg sync.WaitGroup
		var claimed, moved atomic.Bool
		start := make(chan struct{})
		wg.Go(func() {
			<-start
			_, err := h.service.Claim(t.Context(), claimOf(h, "S1-1-1"))
			claimed.Store(err == nil)
			if refusal, ok := errors.AsType[*inventory.Refusal](err); err != nil && !ok {
				t.Error(err)
			} else if ok && refusal.Code != inventory.AllocationUnavailable && refusal.Code != inventory.Invalid {
				t.Errorf("the claim is told %v", err)
			}
		})
		wg.Go(func() {
			<-start
			err := remap(h)(t.Context(), to)
			moved.Store(err == nil)
			if refusal, ok := errors.AsType[*inventory.Refusal](err); err != nil && (!ok || refusal.Code != inventory.ChangeUnsafe) {
				t.Errorf("the change is told %v", err)
			}
		})
		close(start)
		wg.Wait()
		if claimed.Load() {
			claims++
		}
		switch found := breaches(t, h.store); {
		case claimed.Load() == moved.Load():
			both++
		case len(found) > 0:
			t.Errorf("one of them won, and the audit finds %v", found)
		}
	}
	return both, claims
}

// TestPromise1AClaimAndTheDropOfItsSeatHaveOneWinner races them, and then with the drop's guard off: the
// change looks at the board, and what it saw is what it goes by.
func TestPromise1AClaimAndTheDropOfItsSeatHaveOneWinner(t *testing.T) {
	both, claims := raceForTheSeat(t, 20, func(h *house) remapper {
		return func(ctx context.Context, to string) error {
			_, err := h.service.Remap(ctx, h.caller, h.event, to, false, nil)
			return err
		}
	})
	if both > 0 {
		t.Errorf("in %d rounds both have won, or neither", both)
	}
	t.Logf("the claim won %d rounds of 20", claims)
}

func TestTheRaceForADroppedSeatCatchesACheckAheadOfTheChange(t *testing.T) {
	for range heatsMax {
		both, _ := raceForTheSeat(t, 3, func(h *house) remapper {
			return func(ctx context.Context, to string) error {
				board, err := h.store.Board(ctx, h.event)
				if err != nil || board.Units[0].Held > 0 {
					return errors.Join(err, &inventory.Refusal{Code: inventory.ChangeUnsafe})
				}
				h.awaitHold(ctx)
				return h.store.Exec("DELETE FROM allocations WHERE unit = 0")
			}
		})
		if both > 0 {
			return
		}
	}
	t.Error("a seat that was looked at and then dropped was never held by somebody in between")
}

// awaitHold waits for the hold that slips in between a check and what follows it.
func (h *house) awaitHold(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, aloneMax)
	defer cancel()
	for ctx.Err() == nil {
		if n, err := h.store.Count("SELECT count(*) FROM holds"); err != nil || n > 0 {
			return
		}
	}
}

// spied is a store that shows the alterations that a Service asks for.
type spied struct {
	inventory.Store
	alter func(inventory.Alteration) error
}

func (s spied) Alter(ctx context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	if err := s.alter(a); err != nil {
		return inventory.AlterResult{}, err
	}
	return s.Store.Alter(ctx, event, a)
}

// largeDraft is a house with an event on sale and the draft of another of 20,000 seats, which is
// published in parts.
func largeDraft(t testing.TB) (h *house, draft string) {
	h = newHouse(t, 60)
	id := h.newMap(t, seatmap.Grid(200, 100))
	spec := inventory.EventSpec{Fields: inventory.EventFields{
		Name: ptr("Large Night"), StartsAt: ptr(inventory.InstantOf(time.Now().Add(24 * time.Hour))), Map: &id, Currency: ptr("EUR"),
		Types: []inventory.TicketType{{ID: "standard", Name: "Standard", Price: 4500}},
	}}
	made, err := h.service.CreateEvents(t.Context(), h.caller, []inventory.EventSpec{spec}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h, made[0].Event.ID
}

// publishHalf does of publishing what comes before a crash, and returns what was to be done.
func publishHalf(t *testing.T, h *house, draft string, parts int) (whole inventory.Alteration) {
	t.Helper()
	crash := errors.New("the power is cut")
	broken := storetest.NewService(spied{h.store, func(a inventory.Alteration) error {
		whole = a
		return errors.Join(h.store.StageParts(draft, a, parts), crash)
	}}, h.records)
	if _, err := broken.Transition(t.Context(), h.caller, draft, "publish", nil); !errors.Is(err, crash) {
		t.Fatal(err)
	}
	if n, _ := h.store.Count("SELECT count(*) FROM allocations WHERE event = 2"); n != int64(parts*sqlite.StageRowsMax) {
		t.Fatalf("%d allocations are there, want those of %d parts", n, parts)
	}
	return whole
}

func TestPromise3AHalfPublishedDraftIsStillADraft(t *testing.T) {
	for _, parts := range []int{1, 3} {
		h, draft := largeDraft(t)
		publishHalf(t, h, draft, parts)
		board, err := h.store.Board(t.Context(), draft)
		if err != nil || len(board.Units) != 0 || board.State != inventory.Draft {
			t.Errorf("%d units of it are shown, %v", len(board.Units), err)
		}
		h.audit(t)
		if _, err := h.service.Transition(t.Context(), h.caller, draft, "publish", nil); err != nil {
			t.Fatal(err)
		}
		board, err = h.store.Board(t.Context(), draft)
		if err != nil || len(board.Units) != 20_000 || board.Units[19_999].Capacity != 1 {
			t.Errorf("%d units are for sale once it is published, %v", len(board.Units), err)
		}
		h.audit(t)
	}
}

// TestWhatAFailedPublishingLeftNeverComesToLight leaves a draft half published and then takes another
// way: fewer seats, a small map, or none at all.
func TestWhatAFailedPublishingLeftNeverComesToLight(t *testing.T) {
	for name, test := range map[string]struct {
		then func(h *house, draft string) error
		want int64
	}{
		"cancelled": {func(h *house, draft string) error {
			_, err := h.service.Transition(t.Context(), h.caller, draft, "cancel", nil)
			return err
		}, 0},
		"published on a small map": {func(h *house, draft string) error {
			small := h.newMap(t, seatmap.Grid(2, 3))
			if _, err := h.service.PatchEvent(t.Context(), h.caller, draft, inventory.EventFields{Map: &small}, nil); err != nil {
				return err
			}
			_, err := h.service.Transition(t.Context(), h.caller, draft, "publish", nil)
			return err
		}, 6},
		"published without its last rows and its first": {func(h *house, draft string) error {
			where := inventory.Where{Rows: []string{"S1-1", "S2-100", "S4-200"}}
			if _, err := h.service.Repaint(t.Context(), h.caller, draft, inventory.Rule{Where: where, Exclude: true}, false, nil); err != nil {
				return err
			}
			_, err := h.service.Transition(t.Context(), h.caller, draft, "publish", nil)
			return err
		}, 19_700},
		"published without the seats between two parts": {func(h *house, draft string) error {
			where := inventory.Where{Seats: []string{"S1-41-97", "S1-41-98", "S1-41-99", "S1-41-100"}} // the first is unit 4096
			if _, err := h.service.Repaint(t.Context(), h.caller, draft, inventory.Rule{Where: where, Exclude: true}, false, nil); err != nil {
				return err
			}
			_, err := h.service.Transition(t.Context(), h.caller, draft, "publish", nil)
			return err
		}, 19_996},
	} {
		t.Run(name, func(t *testing.T) {
			h, draft := largeDraft(t)
			publishHalf(t, h, draft, 4)
			if err := test.then(h, draft); err != nil {
				t.Fatal(err)
			}
			if n, _ := h.store.Count("SELECT count(*) FROM allocations WHERE event = 2"); n != test.want {
				t.Errorf("%d allocations, want %d", n, test.want)
			}
			h.audit(t)
		})
	}
}

func TestAPublishingThatWasOvertakenIsStale(t *testing.T) {
	h, draft := largeDraft(t)
	whole := publishHalf(t, h, draft, 2)
	if _, err := h.service.PatchEvent(t.Context(), h.caller, draft, inventory.EventFields{Name: ptr("Other Night")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Alter(t.Context(), draft, whole); !errors.Is(err, inventory.ErrStale) {
		t.Errorf("got %v", err)
	}
}

// TestPromise11PublishingALargeHouseLetsBuyersOfOthersIn holds the structure behind the bound: between
// the parts of a publishing, others write. With all of it in one transaction none of them could.
func TestPromise11PublishingALargeHouseLetsBuyersOfOthersIn(t *testing.T) {
	const heats = 8 // whether a claim meets a gap is the scheduler's; without gaps none ever does
	for range heats {
		if claimsWhilePublishing(t) > 0 {
			return
		}
	}
	t.Errorf("in %d publishings no claim was made while the other event was being published", heats)
}

// claimsWhilePublishing publishes a large house, and counts the claims of another event made meanwhile.
func claimsWhilePublishing(t *testing.T) int64 {
	t.Helper()
	h, draft := largeDraft(t)
	var published atomic.Bool
	var within atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for !published.Load() {
			v, err := h.service.Claim(t.Context(), claimOf(h, "S1-1-1"))
			if err != nil {
				t.Error(err)
				return
			}
			// What is there of the other event's allocations says how far its publishing is.
			n, err := h.store.Count("SELECT count(*) FROM allocations WHERE event = 2")
			if n > 0 && n < 20_000 {
				within.Add(1)
			}
			err = errors.Join(err, h.service.Release(t.Context(), inventory.HoldRef{Event: h.event, Token: v.Token}))
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	_, err := h.service.Transition(t.Context(), h.caller, draft, "publish", nil)
	published.Store(true)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	h.audit(t)
	return within.Load()
}
