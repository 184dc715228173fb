package inventory

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// Layout says which unit stands where on an event's map. A unit keeps its number for the life of the
// event, whatever map the event moves to, for holds, tickets and the log name it by that; a place is
// where it stands on the map of now: seats in the map's order, then areas (docs/adr/0013).
//
// The numbers are a function of the maps that the event has had, which never change: the first map
// counts its places from 0, and every later one goes on counting with the keys that are new. So
// nothing is stored but the maps' ids, and of an event that never moved a place is its unit.
//
// A Layout never changes and is safe for concurrent use.
type Layout struct {
	Map  string        // the id of the map of now
	Plan *seatmap.Plan // its index

	units  []Unit     // by place; nil while a place is its unit
	places []int32    // by unit; -1: no longer on the map
	names  []UnitName // by unit, with units; as the last map that has it says
}

// UnitName is how people know a unit: a seat's or an area's key, and how it is written for them.
type UnitName struct {
	Seat    string // empty for an area
	Area    string // empty for a seat
	Label   string
	Section string // empty for an area
}

// unitKey is what makes a unit of one map the same as one of another.
type unitKey struct {
	area bool
	key  string
}

// NewLayout numbers the units of an event that has had these maps, oldest first; the last is that of
// now. There is at least one.
func NewLayout(plans ...*seatmap.Plan) *Layout {
	l := &Layout{Plan: plans[len(plans)-1]}
	if len(plans) == 1 {
		return l
	}
	numbers := make(map[unitKey]Unit)
	for _, plan := range plans {
		n := len(plan.Seats) + len(plan.Areas)
		l.units = make([]Unit, n)
		for place := range n {
			name := nameOf(plan, place)
			key := unitKey{name.Seat == "", name.Seat + name.Area}
			u, known := numbers[key]
			if !known {
				u = Unit(len(l.names))
				numbers[key] = u
				l.names = append(l.names, UnitName{})
			}
			l.names[u], l.units[place] = name, u
		}
	}
	l.places = make([]int32, len(l.names))
	for u := range l.places {
		l.places[u] = -1
	}
	for place, u := range l.units {
		l.places[u] = int32(place)
	}
	return l
}

// nameOf names what stands at a place of a map.
func nameOf(plan *seatmap.Plan, place int) UnitName {
	if place < len(plan.Seats) {
		s := &plan.Seats[place]
		return UnitName{Seat: s.Key, Label: s.Label, Section: s.Section}
	}
	a := &plan.Areas[place-len(plan.Seats)]
	return UnitName{Area: a.Key, Label: a.Name}
}

// Units counts the numbers given so far, those of units that are gone included.
func (l *Layout) Units() int {
	if l.units == nil {
		return l.Places()
	}
	return len(l.names)
}

// Places counts the places of the map: seats, then areas.
func (l *Layout) Places() int { return len(l.Plan.Seats) + len(l.Plan.Areas) }

// Unit gives the unit at a place.
func (l *Layout) Unit(place int) Unit {
	if l.units == nil {
		return Unit(place)
	}
	return l.units[place]
}

// AreaUnit gives the unit of the area with an index.
func (l *Layout) AreaUnit(area int) Unit { return l.Unit(len(l.Plan.Seats) + area) }

// Place gives the place of a unit; false for one that is not on the map of now, or never was on any.
func (l *Layout) Place(u Unit) (int, bool) {
	switch {
	case u < 0 || int(u) >= l.Units():
		return 0, false
	case l.units == nil:
		return int(u), true
	}
	return int(l.places[u]), l.places[u] >= 0
}

// Name names a unit, also one that is gone; false for a number that was never given.
func (l *Layout) Name(u Unit) (UnitName, bool) {
	switch {
	case u < 0 || int(u) >= l.Units():
		return UnitName{}, false
	case l.units == nil:
		return nameOf(l.Plan, int(u)), true
	}
	return l.names[u], true
}

// layout returns the layout of an event: of one that never moved, that of its map.
func (s *Service) layout(ctx context.Context, e *Event) (*Layout, error) {
	if len(e.Former) == 0 {
		return s.drawn(ctx, e.Map)
	}
	// The last map says it all: an event that went back to an earlier one has one more behind it.
	name := fmt.Sprintf("%s %d %s", e.ID, len(e.Former), e.Map)
	return lastingOf(ctx, s, &s.layouts, name, func() (*Layout, error) {
		plans := make([]*seatmap.Plan, 0, len(e.Former)+1)
		for _, id := range append(e.Former[:len(e.Former):len(e.Former)], e.Map) {
			plan, err := s.plan(ctx, id)
			if err != nil {
				return nil, err
			}
			plans = append(plans, plan)
		}
		l := NewLayout(plans...)
		l.Map = e.Map
		return l, nil
	})
}
