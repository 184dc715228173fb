package inventory

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// mapOf draws one section of one row with these seats, in this order, and areas of 10.
func mapOf(seats, areas []string) *seatmap.Map {
	m := &seatmap.Map{Format: seatmap.Format, Name: "Test"}
	if len(seats) > 0 {
		row := seatmap.Row{Label: "R"}
		for i, key := range seats {
			row.Seats = append(row.Seats, seatmap.Seat{Key: key, Label: fmt.Sprint(i + 1), X: float64(i)})
		}
		m.Sections = []seatmap.Section{{Key: "S", Name: "S", Rows: []seatmap.Row{row}}}
	}
	for _, key := range areas {
		m.Areas = append(m.Areas, seatmap.Area{Key: key, Name: "Area " + key, Capacity: 10})
	}
	return m
}

func planOf(seats, areas string) *seatmap.Plan {
	split := func(s string) (keys []string) {
		for _, r := range s {
			keys = append(keys, string(r))
		}
		return keys
	}
	return seatmap.NewPlan(mapOf(split(seats), split(areas)))
}

func TestAUnitKeepsItsNumberWhateverMapItIsOn(t *testing.T) {
	l := NewLayout(planOf("abc", "X"), planOf("dcb", "YX"))
	want := []Unit{4, 2, 1, 5, 3} // d is new; c and b changed places; Y is new, X moved behind it
	for place, u := range want {
		if got := l.Unit(place); got != u {
			t.Errorf("place %d is unit %d, want %d", place, got, u)
		}
		if at, ok := l.Place(u); !ok || at != place {
			t.Errorf("unit %d is at %d %v, want %d", u, at, ok, place)
		}
	}
	if _, ok := l.Place(0); ok {
		t.Error("a seat that is gone has a place")
	}
	if name, ok := l.Name(0); !ok || name != (UnitName{Seat: "a", Label: "Row R Seat 1", Section: "S"}) {
		t.Errorf("a seat that is gone is named %+v %v", name, ok)
	}
	if name, _ := l.Name(1); name.Label != "Row R Seat 3" {
		t.Errorf("a seat that moved is named %+v, not as the map of now says", name)
	}
	if name, _ := l.Name(3); name != (UnitName{Area: "X", Label: "Area X"}) {
		t.Errorf("the area is named %+v", name)
	}
	for _, u := range []Unit{-1, 6} {
		if _, ok := l.Name(u); ok {
			t.Errorf("unit %d has a name", u)
		}
		if _, ok := l.Place(u); ok {
			t.Errorf("unit %d has a place", u)
		}
	}
	back := NewLayout(planOf("abc", "X"), planOf("dcb", "YX"), planOf("a", ""))
	if back.Unit(0) != 0 || back.Units() != 6 || back.Places() != 1 {
		t.Errorf("what comes back is unit %d of %d at %d places", back.Unit(0), back.Units(), back.Places())
	}
}

func TestASeatAndAnAreaOfOneKeyAreTwoUnits(t *testing.T) {
	l := NewLayout(planOf("a", "b"), planOf("b", "a"))
	if l.Unit(0) != 2 || l.AreaUnit(0) != 3 {
		t.Errorf("the seat is unit %d and the area %d, want 2 and 3", l.Unit(0), l.AreaUnit(0))
	}
}

func TestWithoutAChangeAPlaceIsItsUnit(t *testing.T) {
	plan := planOf("abc", "X")
	l, same := NewLayout(plan), NewLayout(plan, plan)
	if l.units != nil {
		t.Error("a layout that translates nothing keeps a table")
	}
	for place := range 4 {
		u := Unit(place)
		name, _ := l.Name(u)
		other, _ := same.Name(u)
		if l.Unit(place) != u || same.Unit(place) != u || name != other {
			t.Errorf("place %d is unit %d, or %d after a change to the same map", place, l.Unit(place), same.Unit(place))
		}
		if at, ok := l.Place(u); !ok || at != place {
			t.Errorf("unit %d is at %d %v", u, at, ok)
		}
	}
	if l.Units() != 4 || same.Units() != 4 {
		t.Errorf("%d and %d units", l.Units(), same.Units())
	}
}

// TestNoLaterMapRenumbersAUnit holds what the log, holds and tickets rest on, for any history.
func TestNoLaterMapRenumbersAUnit(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e", "f", "g"}
	rapid.Check(t, func(t *rapid.T) {
		var plans []*seatmap.Plan
		var before *Layout
		for range rapid.IntRange(1, 6).Draw(t, "maps") {
			order := rapid.Permutation(keys).Draw(t, "order")
			seats := rapid.IntRange(0, len(keys)).Draw(t, "seats")
			areas := rapid.IntRange(0, len(keys)-seats).Draw(t, "areas")
			plans = append(plans, seatmap.NewPlan(mapOf(order[:seats], order[seats:seats+areas])))
			l := NewLayout(plans...)
			for place := range l.Places() {
				u := l.Unit(place)
				if at, ok := l.Place(u); !ok || at != place {
					t.Fatalf("unit %d stands at %d, and its place is %d %v", u, place, at, ok)
				}
				if got, _ := l.Name(u); got != nameOf(l.Plan, place) {
					t.Fatalf("unit %d is %+v, the map says %+v", u, got, nameOf(l.Plan, place))
				}
			}
			if before != nil {
				for u := range Unit(before.Units()) {
					was, _ := before.Name(u)
					is, _ := l.Name(u)
					if was.Seat != is.Seat || was.Area != is.Area {
						t.Fatalf("unit %d was %+v and is %+v", u, was, is)
					}
				}
			}
			if on := slices.DeleteFunc(slices.Clone(l.places), func(p int32) bool { return p < 0 }); l.places != nil && len(on) != l.Places() {
				t.Fatalf("%d units stand on %d places", len(on), l.Places())
			}
			before = l
		}
	})
}

// movedStore has an event that has moved to a map with one more seat, of which a Service may still
// have a copy from before.
type movedStore struct {
	Store
	Catalogue
	reads int
}

func (s *movedStore) Event(context.Context, string) (*Event, error) {
	s.reads++
	return &Event{ID: "evt", Map: "new", Former: []string{"old"}, Revision: 5, MapSince: 5}, nil
}

func (s *movedStore) Map(_ context.Context, id string) (*MapVersion, []byte, error) {
	seats := map[string][]string{"old": {"a", "b"}, "new": {"c", "b", "a"}}
	m := mapOf(seats[id], nil)
	data, err := m.Encode()
	return nil, data, err
}

// TestPromise9WhatWasReadIsShownInItsOwnOrder reads a board from before a change of the map with a copy
// of the event from after it, and the other way round. Both are read again.
func TestPromise9WhatWasReadIsShownInItsOwnOrder(t *testing.T) {
	before := &Event{ID: "evt", Map: "old", Revision: 4}
	after := &Event{ID: "evt", Map: "new", Former: []string{"old"}, Revision: 5, MapSince: 5}
	for _, test := range []struct {
		copy      *Event
		revisions []int64 // of what is read, time after time
		want      string
	}{
		{before, []int64{4}, "old"},
		{before, []int64{5}, "new"},
		{after, []int64{4, 4, 5}, "new"},
		{after, []int64{7}, "new"},
	} {
		store := new(movedStore)
		s := New(Config{Store: store, Catalogue: store})
		read := 0
		_, l, err := s.inStep(t.Context(), test.copy, func() (int64, error) {
			read++
			return test.revisions[read-1], nil
		})
		if err != nil || l.Map != test.want || read != len(test.revisions) {
			t.Errorf("a copy at %d and revisions %v: %v on %+v after %d readings", test.copy.Revision, test.revisions, err, l, read)
		}
	}
	store := new(movedStore)
	s := New(Config{Store: store, Catalogue: store})
	if _, _, err := s.inStep(t.Context(), after, func() (int64, error) { return 4, nil }); err == nil {
		t.Error("what never comes into step is shown")
	}
}

func TestAUnitThatACopyDoesNotKnowMakesItRead(t *testing.T) {
	store := new(movedStore)
	s := New(Config{Store: store, Catalogue: store})
	before := &Event{ID: "evt", Map: "old", Revision: 4, Terms: Terms{Types: make([]TicketType, 1)}}
	l, err := s.layout(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	if e, same, err := s.naming(t.Context(), before, l, []Line{{Unit: 1}}); err != nil || e != before || same != l || store.reads != 0 {
		t.Errorf("a copy that knows all is read again: %v", err)
	}
	_, l, err = s.naming(t.Context(), before, l, []Line{{Unit: 1}, {Unit: 2}})
	if name, ok := l.Name(2); err != nil || !ok || name.Seat != "c" {
		t.Errorf("unit 2 is %+v, %v", name, err)
	}
}
