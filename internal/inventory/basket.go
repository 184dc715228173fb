package inventory

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// commandUnitsMax bounds one request, whatever an event allows.
const commandUnitsMax = 100

// Basket names seats and areas by their keys. Types chooses a ticket type for some seats.
type Basket struct {
	Seats []string
	Types map[string]string
	Areas []AreaWant
}

// AreaWant is some units of an area; an empty Type is the area's default.
type AreaWant struct {
	Area     string
	Quantity int64
	Type     string
}

func (b *Basket) empty() bool { return len(b.Seats) == 0 && len(b.Areas) == 0 }

// basketReader turns keys into units, and finds the faults that the map and the event can tell.
type basketReader struct {
	event  *Event
	layout *Layout
	faults faultList
	used   map[string]bool // keys of Types that named a seat of the basket
}

func newBasketReader(e *Event, l *Layout) *basketReader {
	return &basketReader{event: e, layout: l, used: make(map[string]bool)}
}

// read returns what a basket wants. at is where the basket stands in the body; types are pointed to
// from the body's root.
func (r *basketReader) read(at string, b *Basket) []Want {
	wants := make([]Want, 0, len(b.Seats)+len(b.Areas))
	seen := make(map[Unit]bool, len(b.Seats))
	for i, key := range b.Seats {
		field := at + "/seats/" + strconv.Itoa(i)
		u, ok := r.seat(key)
		switch {
		case !ok:
			r.faults.add(field, faultUnknown, "The map has no such seat.")
		case seen[u]:
			r.faults.add(field, faultDuplicate, "The seat is named twice.")
		default:
			seen[u] = true
			w := Want{Unit: u, Quantity: 1, Field: field, TypeField: "/ticket_types/" + pointerToken(key)}
			w.Type = r.typeOfSeat(key, w.TypeField, b.Types)
			wants = append(wants, w)
		}
	}
	return r.readAreas(at, b.Areas, wants)
}

// seat finds the unit of the seat with a key.
func (r *basketReader) seat(key string) (Unit, bool) {
	n, ok := r.layout.Plan.SeatIndex(key)
	if !ok {
		return 0, false
	}
	return r.layout.Unit(n), true
}

func (r *basketReader) typeOfSeat(key, field string, types map[string]string) int {
	id, ok := types[key]
	if !ok {
		return -1
	}
	r.used[key] = true
	return r.typeIndex(field, id)
}

func (r *basketReader) typeIndex(field, id string) int {
	t, ok := r.event.Terms.TypeIndex(id)
	if !ok {
		r.faults.add(field, faultUnknown, "The event has no such ticket type.")
		return -1
	}
	return t
}

func (r *basketReader) readAreas(at string, areas []AreaWant, wants []Want) []Want {
	seen := make(map[AreaWant]bool, len(areas))
	for i, a := range areas {
		field := at + "/areas/" + strconv.Itoa(i)
		n, ok := r.layout.Plan.AreaIndex(a.Area)
		if !ok {
			r.faults.add(field+"/area", faultUnknown, "The map has no such area.")
		}
		if a.Quantity < 1 || a.Quantity > commandUnitsMax {
			r.faults.addf(field+"/quantity", faultOutOfRange, "A quantity is 1 to %d.", commandUnitsMax)
			ok = false
		}
		key := AreaWant{Area: a.Area, Type: a.Type}
		if seen[key] {
			r.faults.add(field, faultDuplicate, "The area is named twice with one ticket type.")
		}
		seen[key] = true
		t := -1
		if a.Type != "" {
			t = r.typeIndex(field+"/ticket_type", a.Type)
		}
		if !ok {
			continue
		}
		wants = append(wants, Want{Unit: r.layout.AreaUnit(n), Type: t, Quantity: a.Quantity, Field: field, TypeField: field + "/ticket_type"})
	}
	return wants
}

// unusedTypes faults ticket types for seats that are not in the basket.
func (r *basketReader) unusedTypes(types map[string]string) {
	if len(types) == len(r.used) {
		return // each was used; most baskets name none
	}
	for _, key := range slices.Sorted(maps.Keys(types)) {
		if !r.used[key] {
			r.faults.add("/ticket_types/"+pointerToken(key), faultUnknown, "The basket has no such seat.")
		}
	}
}

// quantity refuses a basket that no event could sell in one request.
func (r *basketReader) quantity(wants []Want) {
	var n int64
	for _, w := range wants {
		n += w.Quantity
	}
	if n > commandUnitsMax {
		r.faults.addf("", faultTooMany, "One request has at most %d units.", commandUnitsMax)
	}
}

// place gives the conflicts of a refusal their keys: the judge knows units only.
func (r *basketReader) place(refusal *Refusal) *Refusal {
	out := *refusal
	out.Conflicts = slices.Clone(refusal.Conflicts)
	for i := range out.Conflicts {
		r.name(&out.Conflicts[i])
	}
	return &out
}

func (r *basketReader) name(c *Conflict) {
	name, _ := r.layout.Name(c.Unit)
	c.Seat, c.Area, c.Label = name.Seat, name.Area, name.Label
}

// pointerToken escapes a key for a JSON Pointer (RFC 6901). Few keys need it.
func pointerToken(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
