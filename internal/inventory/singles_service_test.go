package inventory_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// hallOnSale puts a hall of rows of seats on sale, all to the public as the first ticket type.
func (d *desk) hallOnSale(rows, perRow int, edit func(*inventory.EventSpec)) string {
	d.t.Helper()
	drawing := must(seatmap.Grid(rows, perRow).Encode())(d.t)
	m := must(d.CreateMap(d.t.Context(), d.c, d.venue.ID, drawing, nil))(d.t)
	spec := d.spec()
	spec.Fields.Map, spec.Rules = &m.ID, nil
	if edit != nil {
		edit(&spec)
	}
	e := d.create(spec)
	d.pass(e.ID, "publish", "open")
	return e.ID
}

func strict(spec *inventory.EventSpec) { spec.Fields.SingleSeats = new("strict") }

func (d *desk) claim(event string, seats ...string) (*inventory.HoldView, error) {
	return d.Claim(d.t.Context(), inventory.ClaimRequest{Event: event, Basket: inventory.Basket{Seats: seats}})
}

func TestTheRuleIsASettingOfTheEvent(t *testing.T) {
	d := newDesk(t)
	spec := d.spec()
	if e := d.create(spec); e.Terms.SingleSeats != inventory.SinglesNudge {
		t.Errorf("the default is %q", e.Terms.SingleSeats)
	}
	spec.Fields.SingleSeats = new("strict")
	e := d.create(spec)
	if copied := d.create(inventory.EventSpec{Copy: e.ID}); copied.Terms.SingleSeats != inventory.SinglesStrict {
		t.Errorf("the copy has %q", copied.Terms.SingleSeats)
	}
	patch := func(rule string) error {
		_, err := d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{SingleSeats: &rule}, nil)
		return err
	}
	d.pass(e.ID, "publish", "open")
	if err := patch("off"); err != nil {
		t.Fatal(err)
	}
	if now := must(d.store.Event(t.Context(), e.ID))(t); now.Terms.SingleSeats != inventory.SinglesOff {
		t.Errorf("the store has %q", now.Terms.SingleSeats)
	}
	for _, bad := range []string{"", "Strict", "on"} {
		wantRefusal(t, patch(bad), inventory.Invalid, "/single_seats INVALID")
	}
	d.pass(e.ID, "close")
	wantRefusal(t, patch("nudge"), inventory.StateConflict)
}

func TestStrictNamesTheSeatsAndNudgeWarnsOfThem(t *testing.T) {
	d := newDesk(t)
	event := d.hallOnSale(2, 6, strict)
	_, err := d.claim(event, "S1-1-2")
	r, ok := errors.AsType[*inventory.Refusal](err)
	if !ok || r.Code != inventory.SingleSeatRefused || len(r.Conflicts) != 1 || r.Conflicts[0].Seat != "S1-1-1" || r.Conflicts[0].Label == "" {
		t.Fatalf("%+v", err)
	}
	best, err := d.Claim(t.Context(), inventory.ClaimRequest{Event: event, Best: &inventory.Best{Quantity: 5}})
	if err != nil || len(best.Warnings) != 1 {
		t.Fatalf("best available of five in rows of six: %+v, %v", best, err)
	}
	event = d.hallOnSale(2, 6, nil)
	v := must(d.claim(event, "S1-1-2"))(t)
	if len(v.Warnings) != 1 || v.Layout.Plan.Seats[v.Warnings[0].Unit].Key != "S1-1-1" {
		t.Fatalf("%+v", v.Warnings)
	}
	ref := inventory.HoldRef{Event: event, ID: v.Hold.Key.ID(), Token: v.Token}
	v = must(d.Change(t.Context(), inventory.ChangeRequest{Hold: ref, Add: inventory.Basket{Seats: []string{"S1-1-1"}}}))(t)
	if len(v.Warnings) != 0 {
		t.Errorf("nobody is alone any more: %+v", v.Warnings)
	}
}

// Each of two claims alone leaves nobody alone, both together would: whoever comes first has it, and the
// other is told which seat it would have left.
func TestOfTwoNeighboursAtOnceUnderTheStrictRuleTheFirstWins(t *testing.T) {
	d := newDesk(t)
	const rounds = 20
	event := d.hallOnSale(rounds, 7, strict)
	for round := range rounds {
		row := must(d.planOf(event))(t).Seats[round*7].Row
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, seat := range []string{row + "-3", row + "-5"} {
			wg.Go(func() { _, errs[i] = d.claim(event, seat) })
		}
		wg.Wait()
		lost := errs[0]
		if lost == nil {
			lost = errs[1]
		}
		r, ok := errors.AsType[*inventory.Refusal](lost)
		if !ok || (errs[0] == nil) == (errs[1] == nil) || r.Code != inventory.SingleSeatRefused || r.Conflicts[0].Seat != row+"-4" {
			t.Fatalf("round %d: %v and %v", round, errs[0], errs[1])
		}
	}
}

// planOf reads the plan of an event's map.
func (d *desk) planOf(event string) (*seatmap.Plan, error) {
	e, err := d.store.Event(d.t.Context(), event)
	if err != nil {
		return nil, err
	}
	_, data, err := d.records.Map(d.t.Context(), e.Map)
	if err != nil {
		return nil, err
	}
	m, err := seatmap.Parse(data)
	if err != nil {
		return nil, err
	}
	return seatmap.NewPlan(m), nil
}
