package storetest

import (
	"slices"

	"github.com/rowlock/rowlock/internal/inventory"
)

// guards are the checks of promise 1: what the schema forbids whatever the code above it does, and
// what the audit sees. They write past the judge.
func guards() []check {
	can := []capability{unjudged}
	return []check{
		{name: "promise 1: the schema refuses to oversell", needs: can, run: neverOversold},
		{name: "promise 1: the schema refuses a seat's second hold line", needs: can, run: oneHoldASeat},
		{name: "promise 1: the schema refuses a seat's second valid ticket", needs: can, run: oneTicketASeat},
		{name: "promise 6: the schema refuses a hold's second order", needs: can, run: oneOrderAHold},
		{name: "a command that the schema refuses does not fail its neighbours", needs: can, breaks: true, run: deniedAlone},
		{name: "promise 1: the audit sees counters and lines that differ", needs: can, breaks: true, run: auditSees},
	}
}

// wantDenied checks that effects cannot be written, and left nothing.
func (h *House) wantDenied(t T, what string, eff *inventory.Effects) {
	t.Helper()
	before := h.board(t)
	if err := h.Unjudged(t.Context(), h.Event, eff); err == nil {
		t.Errorf("the schema lets pass: %s", what)
		return
	}
	h.wantUntouched(t, before)
}

func moves(m ...inventory.Move) *inventory.Effects { return &inventory.Effects{Moves: m} }

func neverOversold(t T, h *House) {
	h.sold(t, h.held(t, one(0), some(floor, 2, standard)).Key)
	h.held(t, one(1), some(floor, 3, standard))
	h.wantDenied(t, "a sold seat held", moves(inventory.Move{Unit: 0, Held: 1}))
	h.wantDenied(t, "a held seat sold", moves(inventory.Move{Unit: 1, Reserved: 1}))
	h.wantDenied(t, "a free seat held twice", moves(inventory.Move{Unit: 2, Held: 2}))
	h.wantDenied(t, "an area beyond its capacity", moves(inventory.Move{Unit: floor, Held: 2}))
	h.wantDenied(t, "held below zero", moves(inventory.Move{Unit: floor, Held: -4, Reserved: 4}))
	h.wantDenied(t, "reserved below zero", moves(inventory.Move{Unit: floor, Held: 1, Reserved: -3}))
	h.wantDenied(t, "a unit without allocation held", moves(inventory.Move{Unit: 99, Held: 1}))
	h.wantDenied(t, "one good and one bad move", moves(inventory.Move{Unit: 3, Held: 1}, inventory.Move{Unit: 0, Held: 1}))
}

// anotherHold is a hold of a seat as a judge that forgot to look would make it; its counter stays, so
// that only the line can be in the way.
func (h *House) anotherHold(t T, u inventory.Unit) *inventory.Effects {
	t.Helper()
	now := h.board(t).Now
	o := &inventory.Hold{
		Key: newKey(), Created: now, Deadline: now.Add(holdSeconds), Cap: now.Add(capSeconds), TTL: holdSeconds,
		Lines: []inventory.Line{{Unit: u, Quantity: 1, Price: standardPrice}},
	}
	return &inventory.Effects{
		InsertHolds: []*inventory.Hold{o},
		InsertLines: []inventory.HoldLine{{Unit: u, Deadline: o.Deadline, Key: o.Key, Seat: true, Quantity: 1}},
	}
}

func oneHoldASeat(t T, h *House) {
	h.held(t, one(0))
	h.wantDenied(t, "a seat in two holds", h.anotherHold(t, 0))
}

// anotherOrder is an order of a hold's key for one seat.
func anotherOrder(key inventory.HoldKey, u inventory.Unit, now inventory.Instant) *inventory.Effects {
	s := saleOf(key, "buyer")
	return &inventory.Effects{InsertOrders: []*inventory.Order{{
		ID: s.Order, Key: key, State: inventory.OrderConfirmed, Created: now, Buyer: inventory.Buyer{Name: "Test Buyer", Email: "buyer@example.com"},
		Payment: s.Payment, Total: standardPrice, Lines: []inventory.Line{{Unit: u, Quantity: 1, Price: standardPrice}},
		Tickets: []inventory.Ticket{{ID: inventory.TicketID(s.Order, 1), Unit: u, Seat: true, Price: standardPrice, Valid: true}},
	}}}
}

func oneTicketASeat(t T, h *House) {
	o := h.sold(t, h.held(t, one(0)).Key)
	h.wantDenied(t, "a seat on two valid tickets", anotherOrder(newKey(), 0, o.Created))
	h.giveBack(t, inventory.Return{Order: o.ID})
	h.sold(t, h.held(t, one(0)).Key) // a returned seat sells again: only valid tickets count
}

func oneOrderAHold(t T, h *House) {
	o := h.sold(t, h.held(t, one(0)).Key)
	eff := anotherOrder(o.Key, 1, o.Created)
	eff.Moves = []inventory.Move{{Unit: 1, Reserved: 1}}
	h.wantDenied(t, "two orders of one hold", eff)
}

// deniedAlone makes the rows contradict each other: a seat has a line and its counter says free. The
// judge believes the counter; the schema has the last word, and only over who asks for that seat.
func deniedAlone(t T, h *House) {
	if err := h.Unjudged(t.Context(), h.Event, h.anotherHold(t, 1)); err != nil {
		t.Fatalf("%v", err)
	}
	for i, out := range h.apply(t, claimOf(one(0)), claimOf(one(1)), claimOf(one(2))) {
		if (i == 1) == (out.Hold != nil) {
			t.Errorf("command %d: %s", i, outcomeClass(out))
		}
	}
	h.wantUnit(t, 0, 1, 0)
	h.wantUnit(t, 2, 1, 0)
}

func auditSees(t T, h *House) {
	sees := func(what string, promise int, eff *inventory.Effects) {
		t.Helper()
		h.Event = h.smallEvent(t)
		mine := h.held(t, one(0))
		if eff == nil {
			eff = &inventory.Effects{DeleteLines: []inventory.HoldLine{{Unit: 0, Deadline: mine.Deadline, Key: mine.Key, Seat: true, Quantity: 1}}}
		}
		if err := h.Unjudged(t.Context(), h.Event, eff); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		found, err := Breaches(t.Context(), h.Store)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if !slices.ContainsFunc(found, func(b inventory.Breach) bool { return b.Event == h.Event && b.Promise == promise }) {
			t.Errorf("the audit does not see %s: %+v", what, found)
		}
	}
	h.Audit(t) // before anything is wrong
	sees("a counter without a line", 1, moves(inventory.Move{Unit: 3, Held: 1}))
	sees("a sold unit without a ticket", 1, moves(inventory.Move{Unit: floor, Reserved: 1}))
	sees("a hold without its line", 3, nil)
	now := h.board(t).Now
	sees("a ticket without its counter", 1, anotherOrder(newKey(), 5, now))
	short := anotherOrder(newKey(), 5, now)
	short.Moves, short.InsertOrders[0].Total = []inventory.Move{{Unit: 5, Reserved: 1}}, 1
	sees("an order whose total is not its tickets'", 8, short)
}
