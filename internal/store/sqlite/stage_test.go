package sqlite_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

const (
	partRows = 8 // of a part, in tests of small houses
	newParts = 8 // that the 60 seats of the large map which are new come in
)

// enlarged is the house's map without its first seat, and with six more rows.
func enlarged() *seatmap.Map {
	m := seatmap.Grid(10, 10)
	m.Sections[0].Rows[0].Seats = m.Sections[0].Rows[0].Seats[1:]
	m.Areas = append(m.Areas, seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: 5})
	return m
}

// stagedHouse is a house whose event shall move to the large map, in parts of a few rows.
func stagedHouse(t testing.TB) (h *house, large string) {
	t.Helper()
	h = openHouse(t, filepath.Join(t.TempDir(), "house.db"))
	h.store.SetStageRows(partRows)
	h.furnish(t, 600)
	return h, h.newMap(t, enlarged())
}

// moveHalf does of a move to a map what comes before a crash, and returns what was to be done.
func moveHalf(t *testing.T, h *house, to string, parts int) (whole inventory.Alteration) {
	t.Helper()
	crash := errors.New("the power is cut")
	broken := storetest.NewService(spied{h.store, func(a inventory.Alteration) error {
		whole = a
		return errors.Join(h.store.StageParts(h.event, a, parts), crash)
	}}, h.records)
	if _, err := broken.Remap(t.Context(), h.caller, h.event, to, false, nil); !errors.Is(err, crash) {
		t.Fatal(err)
	}
	h.wantRows(t, 41+min(parts*partRows, len(whole.Insert)))
	return whole
}

// wantRows says how many allocations the file has, whether they count or not.
func (h *house) wantRows(t testing.TB, want int) {
	t.Helper()
	if n, err := h.store.Count("SELECT count(*) FROM allocations"); err != nil || n != int64(want) {
		t.Errorf("%d allocations are in the file, want %d (%v)", n, want, err)
	}
}

func (h *house) board(t testing.TB) *inventory.Board {
	t.Helper()
	b, err := h.store.Board(t.Context(), h.event)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (h *house) moveTo(t testing.TB, m string) error {
	t.Helper()
	_, err := h.service.Remap(t.Context(), h.caller, h.event, m, false, nil)
	return err
}

// reopened is the house after its server has ended and another has begun.
func (h *house) reopened(t testing.TB) *house {
	t.Helper()
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := openHouse(t, h.file)
	again.store.SetStageRows(partRows)
	again.caller, again.event = h.caller, h.event
	return again
}

// wantLarge says that the event is on the large map, all of it on sale but what is held.
func (h *house) wantLarge(t testing.TB, held int64) {
	t.Helper()
	var capacity, taken int64
	for _, u := range h.board(t).Units {
		capacity, taken = capacity+u.Capacity, taken+u.Held
	}
	if capacity != 104 || taken != held {
		t.Errorf("the large map has %d places on sale, %d of them held; want 104 and %d", capacity, taken, held)
	}
	h.wantRows(t, 100)
	h.audit(t)
}

// wantHalf says that an event which is half moved is as it was: to who looks, to who buys, and to the audit.
func (h *house) wantHalf(t testing.TB, before *inventory.Board) {
	t.Helper()
	after := *h.board(t)
	after.Now, after.Position.Epoch = before.Now, before.Position.Epoch
	if !reflect.DeepEqual(&after, before) {
		t.Errorf("the board has %d units at %v, or other ones than the %d at %v", len(after.Units), after.Position, len(before.Units), before.Position)
	}
	for _, u := range []inventory.Unit{41, 48} { // the first of two parts, if they are there
		claim := inventory.Command{
			Verb: inventory.Claim, Key: inventory.HoldKey{1, byte(u)}, By: "buyer",
			Add: []inventory.Want{{Unit: u, Type: -1, Quantity: 1}},
		}
		outcomes, err := h.store.Apply(t.Context(), h.event, []inventory.Command{claim})
		if err != nil || outcomes[0].Refusal == nil || outcomes[0].Refusal.Conflicts[0].Reason != inventory.ReasonNotOnSale {
			t.Errorf("a claim of unit %d, which is of the map to come: %+v, %v", u, outcomes, err)
		}
	}
	h.audit(t)
}

// TestPromise3AMapThatIsHalfInsertedIsNotThere crashes after each part of a move to a larger map. The event
// sells on by its old map, to whoever asks, and the move can be made again.
func TestPromise3AMapThatIsHalfInsertedIsNotThere(t *testing.T) {
	for parts := 1; parts <= newParts; parts++ {
		h, large := stagedHouse(t)
		h.claim(t, "S1-1-3") // by now the event is remembered
		before := h.board(t)
		moveHalf(t, h, large, parts)
		h.wantHalf(t, before)
		again := h.reopened(t)
		again.wantHalf(t, before)
		if err := again.moveTo(t, large); err != nil {
			t.Fatalf("after a crash behind %d parts: %v", parts, err)
		}
		again.wantLarge(t, 1)
		if got, want := again.kinds(t, 2), []inventory.LogKind{inventory.LogHeld, inventory.LogRemapped}; !slices.Equal(got, want) {
			t.Errorf("the log ends with %v, want %v", got, want)
		}
	}
}

// TestTheAuditFindsWhatIsSoldAheadOfItsMap sells a place of a map that the event is not on yet.
func TestTheAuditFindsWhatIsSoldAheadOfItsMap(t *testing.T) {
	h, large := stagedHouse(t)
	moveHalf(t, h, large, 1)
	if err := h.store.Exec("UPDATE allocations SET reserved = 1 WHERE unit = 41"); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(breaches(t, h.store), func(b inventory.Breach) bool { return strings.HasSuffix(b.What, "ahead of its map") }) {
		t.Error("the audit does not")
	}
}

// TestWhatAFailedMoveLeftNeverComesToLight leaves an event half moved and then goes another way, by which
// the same numbers are other places, or none.
func TestWhatAFailedMoveLeftNeverComesToLight(t *testing.T) {
	repaint := func(t *testing.T, h *house, _ string) error {
		rule := inventory.Rule{Where: inventory.Where{Sections: []string{"S1"}}, Channel: "friends"}
		_, err := h.service.Repaint(t.Context(), h.caller, h.event, rule, false, nil)
		return err
	}
	for name, test := range map[string]struct {
		then func(t *testing.T, h *house, large string) error
		want int // allocations
	}{
		"to a small map at once": {func(t *testing.T, h *house, _ string) error {
			m := without(1)
			m.Areas = append(m.Areas, seatmap.Area{Key: "BOX", Name: "Box", Capacity: 3})
			return h.moveTo(t, h.newMap(t, m))
		}, 41},
		"to another in parts": {func(t *testing.T, h *house, _ string) error {
			m := seatmap.Grid(7, 10)
			m.Sections[0].Rows[5].Seats = m.Sections[0].Rows[5].Seats[:3]
			return h.moveTo(t, h.newMap(t, m))
		}, 63},
		"repainted, and then there": {func(t *testing.T, h *house, large string) error {
			if err := repaint(t, h, large); err != nil {
				return err
			}
			return h.moveTo(t, large)
		}, 100},
		"nowhere": {repaint, 41 + 5*partRows},
	} {
		t.Run(name, func(t *testing.T) {
			h, large := stagedHouse(t)
			moveHalf(t, h, large, 5)
			if err := test.then(t, h, large); err != nil {
				t.Fatal(err)
			}
			h.wantRows(t, test.want)
			h.audit(t)
		})
	}
}

// TestUnitsThatComeBackComeInParts goes to the large map, back and there again: what is new the second
// time has old numbers, among those that stay.
func TestUnitsThatComeBackComeInParts(t *testing.T) {
	h, large := stagedHouse(t)
	small := h.newMap(t, without(0))
	h.claim(t, "S1-2-1")
	if err := h.moveTo(t, large); err != nil {
		t.Fatal(err)
	}
	h.wantLarge(t, 1)
	units := len(h.board(t).Units)
	last := h.claim(t, "S1-10-10")
	if refusal, ok := errors.AsType[*inventory.Refusal](h.moveTo(t, small)); !ok || refusal.Code != inventory.ChangeUnsafe {
		t.Errorf("away from a seat that is held: %v", refusal)
	}
	if err := h.service.Release(t.Context(), inventory.HoldRef{Event: h.event, Token: last.Token}); err != nil {
		t.Fatal(err)
	}
	if err := h.moveTo(t, small); err != nil {
		t.Fatal(err)
	}
	h.wantRows(t, 41)
	h.audit(t)
	if err := h.moveTo(t, large); err != nil {
		t.Fatal(err)
	}
	h.wantLarge(t, 1)
	if n := len(h.board(t).Units); n != units {
		t.Errorf("the event has had %d units, and then %d", units, n)
	}
}

func TestAMoveThatWasOvertakenIsStaleAndLeavesNothing(t *testing.T) {
	h, large := stagedHouse(t)
	whole := moveHalf(t, h, large, 2)
	if _, err := h.service.PatchEvent(t.Context(), h.caller, h.event, inventory.EventFields{Name: ptr("Other Night")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Alter(t.Context(), h.event, whole); !errors.Is(err, inventory.ErrStale) {
		t.Errorf("got %v", err)
	}
	h.wantRows(t, 41)
}

// TestPromise1ASeatThatIsTakenBetweenThePartsStandsInTheWay moves an event to a map of 20,000 places, which
// no longer has a seat that somebody claims while the parts go in. Buyers of the event do get in between
// them, and who does is not robbed: nothing of the move is left, and it can be made again.
func TestPromise1ASeatThatIsTakenBetweenThePartsStandsInTheWay(t *testing.T) {
	const heats = 8 // whether the claim meets a gap is the scheduler's; without gaps none ever does
	m := seatmap.Grid(200, 100)
	m.Sections[0].Rows[0].Seats = m.Sections[0].Rows[0].Seats[1:]
	for range heats {
		h := newHouse(t, 600)
		to := h.newMap(t, m)
		before := h.board(t)
		taken, err := h.takenBetween(t, "S1-1-1", to)
		if taken == nil {
			continue // all parts were in, and the move made, or none was
		}
		refusal, ok := errors.AsType[*inventory.Refusal](err)
		if !ok || refusal.Code != inventory.ChangeUnsafe || refusal.Total != 1 || refusal.Conflicts[0].Seat != "S1-1-1" {
			t.Fatalf("the seat is taken, and the move is told %v", err)
		}
		h.wantRows(t, 41)
		h.audit(t)
		if err := h.service.Release(t.Context(), inventory.HoldRef{Event: h.event, Token: taken.Token}); err != nil {
			t.Fatal(err)
		}
		before.Position.Version += 2
		h.wantHalf(t, before)
		if err := h.moveTo(t, to); err != nil {
			t.Fatal(err)
		}
		h.wantRows(t, 19_999)
		h.audit(t)
		return
	}
	t.Errorf("in %d moves no claim came between the parts", heats)
}

// takenBetween moves the event and claims a seat of it as soon as the first part is in. It returns the
// hold, if that came before the last part, and what the move was told.
func (h *house) takenBetween(t *testing.T, seat, to string) (taken *inventory.HoldView, err error) {
	t.Helper()
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			if n, err := h.store.Count("SELECT count(*) FROM allocations"); err != nil || n == 41 {
				continue
			}
			taken, _ = h.service.Claim(t.Context(), claimOf(h, seat)) // refused once the move is made
			return
		}
	})
	err = h.moveTo(t, to)
	done.Store(true)
	wg.Wait()
	return taken, err
}

// TestAllocationsOfAnOlderFileCount opens a file whose allocations do not say from which map on they count.
func TestAllocationsOfAnOlderFileCount(t *testing.T) {
	h, large := stagedHouse(t)
	held := h.claim(t, "S1-1-3")
	if err := h.moveTo(t, large); err != nil {
		t.Fatal(err)
	}
	before := h.board(t)
	if err := h.store.Exec("ALTER TABLE allocations DROP COLUMN since; DELETE FROM goose_db_version WHERE version_id = 3"); err != nil {
		t.Fatal(err)
	}
	again := h.reopened(t)
	after := *again.board(t)
	after.Now, after.Position.Epoch = before.Now, before.Position.Epoch
	if !reflect.DeepEqual(&after, before) {
		t.Errorf("the board has %d units, or other ones than the %d", len(after.Units), len(before.Units))
	}
	again.confirm(t, held)
	again.claim(t, "S1-9-9")
	again.audit(t)
}
