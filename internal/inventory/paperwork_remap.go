package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// Remap moves an event that is published, on sale or not, to another version of its venue's map.
// Seats and areas of the same key are the same units: they keep what they are, whoever holds or bought
// them keeps them, and they are shown as the new map draws them. What is new on the map is for sale as
// the event's rules say. What the new map no longer has is no longer for sale, and that is refused
// while any of it is held or sold. An area's allocation takes the new map's capacity, unless somebody
// had given it one of its own. With dryRun it only says what it would do.
//
// Refusals: Invalid, StateConflict (draft, closed or cancelled), ChangeUnsafe, NotFound, KeyReused,
// Contended; *Recorded for a replay.
func (s *Service) Remap(ctx context.Context, c Caller, id, mapID string, dryRun bool, once *Once) (*RemapResult, error) {
	var result RemapResult
	var next *Layout
	e, err := s.alter(ctx, c, id, once, func(e *Event) (*Alteration, error) {
		result = RemapResult{Map: mapID}
		if e.Terms.State == Draft {
			return nil, &Refusal{Code: StateConflict, Detail: "A draft's map is changed with the event itself."}
		}
		if err := changeable(e); err != nil {
			return nil, err
		}
		if mapID == e.Map {
			return nil, s.knownMap(ctx, e, mapID)
		}
		var a *Alteration
		var err error
		if a, next, err = s.remapping(ctx, e, mapID, &result); err != nil || dryRun {
			return nil, err
		}
		result.Unsafe = nil // the store judges that on rows that are locked
		return a, nil
	}, func(e *Event) any {
		result.Version = e.Revision
		return &result
	})
	if err != nil {
		return nil, named(err, next)
	}
	result.Version = e.Revision
	return &result, nil
}

// knownMap refuses a map that is not one of the event's venue.
func (s *Service) knownMap(ctx context.Context, e *Event, id string) error {
	m, _, err := s.catalogue.Map(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && (m.Organizer != e.Organizer || m.Venue != e.Venue) {
		return invalid("/map", faultUnknown, "The event's venue has no such map.")
	}
	return err
}

// remapping decides on the move of e, the event as it shall be, to a map, and moves e.
func (s *Service) remapping(ctx context.Context, e *Event, mapID string, result *RemapResult) (*Alteration, *Layout, error) {
	if err := s.knownMap(ctx, e, mapID); err != nil {
		return nil, nil, err
	}
	if len(e.Former) >= mapChangesMax {
		return nil, nil, &Refusal{Code: StateConflict, Detail: fmt.Sprintf("An event changes its map at most %d times.", mapChangesMax)}
	}
	before, err := s.layout(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	from := e.Map
	e.Former, e.Map, e.MapSince = append(e.Former, e.Map), mapID, e.Revision
	next, err := s.layout(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	if next.Units() > unitsEverMax {
		return nil, nil, &Refusal{Code: StateConflict, Detail: fmt.Sprintf("An event has at most %d units over its life.", unitsEverMax)}
	}
	board, err := s.decidedOn(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	m := &remap{before: before, next: next, board: board, result: result, a: &Alteration{Kind: LogRemapped}}
	m.arrivals(e)
	m.departures()
	slices.SortFunc(m.a.Insert, func(x, y Allocation) int { return cmp.Compare(x.Unit, y.Unit) })
	slices.Sort(m.a.Drop)
	if result.Unsafe != nil {
		result.Unsafe = result.Unsafe.on(next)
	}
	if len(e.Terms.Classes) > classesMax {
		return nil, nil, &Refusal{Code: StateConflict, Detail: fmt.Sprintf("An event has at most %d ways of being on sale.", classesMax)}
	}
	m.a.Reason = fmt.Sprintf("map %s → %s: %d added, %d dropped, %d moved, %d relabelled, %d resized",
		from, mapID, result.Added.Count, result.Dropped.Count, result.Moved.Count, result.Relabelled.Count, len(result.Resizes))
	return m.a, next, nil
}

// remap is a move from one layout to the next, as it is found out.
type remap struct {
	before, next *Layout
	board        *Board
	result       *RemapResult
	a            *Alteration
}

// arrivals goes over the new map: what is new gets an allocation by the event's rules, what was there
// before may be drawn or called otherwise, and an area may be larger or smaller.
func (m *remap) arrivals(e *Event) {
	rows := make(map[Unit]Allocation)
	for _, row := range m.added(e) {
		rows[row.Unit] = row
	}
	for place := range m.next.Places() {
		u, name := m.next.Unit(place), nameOf(m.next.Plan, place)
		was, stayed := m.before.Place(u)
		if !stayed {
			m.result.Added.add(name)
			if row, forSale := rows[u]; forSale {
				m.a.Insert = append(m.a.Insert, row)
				m.result.ForSale++
			}
			continue
		}
		if name != nameOf(m.before.Plan, was) {
			m.result.Relabelled.add(name)
		}
		if name.Seat == "" {
			m.resize(u, m.before.Plan.Areas[was-len(m.before.Plan.Seats)], m.next.Plan.Areas[place-len(m.next.Plan.Seats)])
		} else if !drawnAlike(m.before.Plan.Seats[was], m.next.Plan.Seats[place]) {
			m.result.Moved.add(name)
		}
	}
}

// added paints the new map by the event's rules, as if it were published on it now, and returns the
// allocations of what was not on the map before. Rules that name what is gone select nothing there.
func (m *remap) added(e *Event) []Allocation {
	scratch := e.clone()
	scratch.Terms.Classes = nil
	all := allocations(scratch, m.next)
	rows := all[:0]
	for _, row := range all {
		if _, stayed := m.before.Place(row.Unit); !stayed {
			row.Class = e.Terms.classOf(scratch.Terms.Classes[row.Class])
			rows = append(rows, row)
		}
	}
	return rows
}

// resize lets an area's allocation follow its map, if it had the map's capacity.
func (m *remap) resize(u Unit, was, is seatmap.PlanArea) {
	st := m.board.at(u)
	if st.Capacity == 0 || st.Capacity != int64(was.Capacity) || was.Capacity == is.Capacity {
		return
	}
	capacity := int64(is.Capacity)
	m.a.Resize = append(m.a.Resize, Resize{Unit: u, Capacity: capacity})
	m.result.Resizes = append(m.result.Resizes, CapacityChange{Area: is.Key, From: st.Capacity, To: capacity})
	m.inUse(u, st, capacity)
}

// departures goes over the old map for what the new one no longer has.
func (m *remap) departures() {
	for place := range m.before.Places() {
		u := m.before.Unit(place)
		if _, stays := m.next.Place(u); stays {
			continue
		}
		m.result.Dropped.add(nameOf(m.before.Plan, place))
		if st := m.board.at(u); st.Capacity > 0 {
			m.a.Drop = append(m.a.Drop, u)
			m.inUse(u, st, 0)
		}
	}
}

// inUse notes what stands in the way, by a board that may be a little old: for who only asks.
func (m *remap) inUse(u Unit, st UnitState, capacity int64) {
	if st.Held+st.Reserved <= capacity {
		return
	}
	if m.result.Unsafe == nil {
		m.result.Unsafe = refuse(ChangeUnsafe)
	}
	m.result.Unsafe.unsafe(allocationOf(u, st), capacity)
}

// drawnAlike reports whether a seat stands where it stood, and is the same kind of place.
func drawnAlike(a, b seatmap.PlanSeat) bool {
	a.Label, a.Section = b.Label, b.Section
	return a == b
}

func (n *Named) add(name UnitName) {
	n.Count++
	if len(n.First) < namesMax {
		n.First = append(n.First, name)
	}
}
