package storetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/internal/inventory"
)

// model is what a correct store is, with no rows, locks, log or SQL: who holds how much of what until
// when, and what was sold. Nothing is counted: what is free of a unit is its capacity less what living
// holds and valid tickets have of it, so a lapsed hold needs no ending. It is written from the rules
// and shares no code with the judge; where the two differ, one of them is wrong.
//
// It knows one default type a unit, no access codes, and commands as the histories here draw them: a
// claim has a fresh key or is a copy, and a change does not add and remove the same thing.
type model struct {
	state    inventory.State
	capacity map[inventory.Unit]int64
	withheld map[inventory.Unit]bool
	holds    map[inventory.HoldKey]modelHold
	orders   map[inventory.HoldKey]modelOrder
	answers  map[inventory.CommandID]string // what a command that did something was answered
}

type modelHold struct {
	has           amounts
	deadline, cap inventory.Instant
}

type modelOrder struct {
	id    string
	buyer [16]byte
	has   amounts
	total int64
	units []inventory.Unit // of each ticket, in the order of tickets
	valid []bool
}

// newModel begins with an event as a house makes it, nothing held.
func newModel() *model {
	m := &model{
		state: inventory.OnSale, capacity: map[inventory.Unit]int64{floor: floorCapacity}, withheld: map[inventory.Unit]bool{withheld: true},
		holds: map[inventory.HoldKey]modelHold{}, orders: map[inventory.HoldKey]modelOrder{}, answers: map[inventory.CommandID]string{},
	}
	for u := range inventory.Unit(seats) {
		m.capacity[u] = 1
	}
	return m
}

// clone copies as deep as apply, sell and giveBack change.
func (m *model) clone() *model {
	c := *m
	c.holds, c.orders, c.answers = maps.Clone(m.holds), maps.Clone(m.orders), maps.Clone(m.answers)
	return &c
}

// taken is what of a unit living holds (except one) and valid tickets have.
func (m *model) taken(u inventory.Unit, now inventory.Instant, except inventory.HoldKey) (held, sold int64) {
	for k, h := range m.holds {
		if k != except && h.deadline > now {
			held += h.has.of(u)
		}
	}
	for _, o := range m.orders {
		for i, t := range o.units {
			if t == u && o.valid[i] {
				sold++
			}
		}
	}
	return held, sold
}

// of is how much there is of a unit, as whatever type.
func (a amounts) of(u inventory.Unit) (n int64) {
	for k, q := range a {
		if k[0] == int(u) {
			n += q
		}
	}
	return n
}

func (a amounts) sum() (n int64) {
	for _, q := range a {
		n += q
	}
	return n
}

// short lists what cannot be had: units not for sale to the public, and those of which a hold would
// have more than is left beside all others.
func (m *model) short(wants []inventory.Want, has amounts, now inventory.Instant, key inventory.HoldKey) (all []lost, closed bool) {
	seen := make(map[inventory.Unit]bool)
	for _, w := range wants {
		u := w.Unit
		if seen[u] {
			continue
		}
		seen[u] = true
		if m.capacity[u] == 0 || m.withheld[u] {
			all, closed = append(all, lost{u, inventory.ReasonNotOnSale, 0}), true
			continue
		}
		held, sold := m.taken(u, now, key)
		switch left := m.capacity[u] - held - sold; {
		case left >= has.of(u):
		case u == floor:
			all = append(all, lost{u, inventory.ReasonSoldOut, left - m.holds[key].has.of(u)})
		case sold > 0:
			all = append(all, lost{u, inventory.ReasonSold, 0})
		default:
			all = append(all, lost{u, inventory.ReasonHeld, 0})
		}
	}
	return all, closed
}

// apply does a command and classes its answer.
func (m *model) apply(c inventory.Command, now inventory.Instant) string {
	if answer, ok := m.answers[c.ID]; ok {
		return answer
	}
	h, alive := m.holds[c.Key]
	alive = alive && h.deadline > now
	_, sold := m.orders[c.Key]
	switch {
	case c.Verb == inventory.Claim:
		h = modelHold{has: amounts{}, deadline: now.Add(holdSeconds), cap: now.Add(capSeconds)}
	case !alive && sold:
		return string(inventory.HoldSold)
	case !alive && c.Verb == inventory.Release:
		return "let go"
	case !alive:
		return string(inventory.HoldExpired)
	case c.Verb == inventory.Release:
		delete(m.holds, c.Key)
		return "let go"
	}
	h, refusal := m.next(c, h, now)
	if refusal != "" {
		return refusal
	}
	m.holds[c.Key] = h
	answer := holdClass(h.has, h.deadline)
	if c.ID != (inventory.CommandID{}) {
		m.answers[c.ID] = answer
	}
	return answer
}

// next is a hold after a command that makes more of it, or why that cannot be.
func (m *model) next(c inventory.Command, h modelHold, now inventory.Instant) (modelHold, string) {
	restarted := max(h.deadline, min(now.Add(holdSeconds), h.cap))
	if c.Verb == inventory.Extend {
		switch {
		case m.state != inventory.OnSale:
			return h, string(inventory.EventNotOnSale)
		case h.deadline >= h.cap:
			return h, string(inventory.HoldLifetimeReached)
		}
		h.deadline = restarted
		return h, ""
	}
	before := h.has.sum()
	has := maps.Clone(h.has)
	for _, w := range c.Remove {
		k := [2]int{int(w.Unit), max(w.Type, 0)}
		if has[k] -= w.Quantity; has[k] < 0 {
			return h, string(inventory.Invalid)
		}
	}
	var added []inventory.Want
	for _, w := range c.Add {
		if w.Unit == floor || h.has.of(w.Unit) == 0 { // one's own seat once more is nothing
			has[[2]int{int(w.Unit), max(w.Type, 0)}] += w.Quantity
			added = append(added, w)
		}
	}
	short, closed := m.short(added, has, now, c.Key)
	switch n := has.sum(); {
	case c.Verb == inventory.Claim && m.state != inventory.OnSale:
		return h, string(inventory.EventNotOnSale)
	case closed:
		return h, lostClass(short)
	case n == 0:
		return h, string(inventory.Invalid)
	case len(added) > 0 && m.state != inventory.OnSale:
		return h, string(inventory.EventNotOnSale)
	case n > before && n > perHoldMax:
		return h, string(inventory.HoldLimitExceeded)
	case len(short) > 0:
		return h, lostClass(short)
	}
	h.has = has
	if c.Verb == inventory.Change && len(added) > 0 {
		h.deadline = restarted
	}
	return h, ""
}

// sell does a sale and classes its answer.
func (m *model) sell(s inventory.Sale, now inventory.Instant) string {
	if o, ok := m.orders[s.Key]; ok {
		return o.class()
	}
	h, ok := m.holds[s.Key]
	switch {
	case m.state == inventory.Cancelled:
		return string(inventory.EventNotOnSale)
	case !ok || h.deadline <= now:
		return string(inventory.HoldExpired)
	}
	bought := h.has.sum()
	for _, o := range m.orders {
		if o.buyer == s.Buyer.Hash {
			bought += int64(o.left())
		}
	}
	if bought > perBuyerMax {
		return string(inventory.BuyerLimitExceeded)
	}
	o := modelOrder{id: s.Order, buyer: s.Buyer.Hash, has: h.has}
	for k, q := range h.has {
		o.total += q * []int64{standardPrice, childPrice}[k[1]]
		o.units = append(o.units, slices.Repeat([]inventory.Unit{inventory.Unit(k[0])}, int(q))...)
	}
	o.valid = slices.Repeat([]bool{true}, len(o.units))
	delete(m.holds, s.Key)
	m.orders[s.Key] = o
	return o.class()
}

func (o *modelOrder) class() string { return orderClass(o.id, o.has, o.total, o.valid) }

func (o *modelOrder) left() (n int) {
	for _, valid := range o.valid {
		if valid {
			n++
		}
	}
	return n
}

// giveBack returns all of an order that is still valid.
func (m *model) giveBack(key inventory.HoldKey) string {
	o, ok := m.orders[key]
	if !ok {
		return string(inventory.NotFound)
	}
	o.valid = make([]bool, len(o.valid))
	m.orders[key] = o
	return o.class()
}

// become moves the event to a state; cancelling ends its holds.
func (m *model) become(state inventory.State) {
	m.state = state
	if state == inventory.Cancelled {
		clear(m.holds)
	}
}

// board is what is held and reserved of each unit, as text.
func (m *model) board(now inventory.Instant) string {
	var s string
	for u := range floor + 1 {
		held, sold := m.taken(u, now, inventory.HoldKey{})
		s += fmt.Sprintf("%d+%d ", held, sold)
	}
	return s
}

func boardClass(b *inventory.Board) string {
	var s string
	for _, u := range b.Units {
		s += fmt.Sprintf("%d+%d ", u.Held, u.Reserved)
	}
	return s
}
