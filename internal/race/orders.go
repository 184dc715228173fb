package race

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/rowlock/rowlock/client"
)

// The sizes of the races about orders.
const (
	checkouts      = 50
	checkoutRounds = 4
	sameKeyCallers = 20
	sellCallers    = 16 // half of them buy, half release
	sellRounds     = 20
	cancelCallers  = 20 // half of them cancel a ticket, half the order
	cancelTickets  = 4
)

func oneKeyOneHold() Race {
	return Race{
		Name: "one-key-one-hold", Promises: []int{2, 6},
		Claim:    fmt.Sprintf("%d copies of one claim with one Idempotency-Key arrive at once, then a repeat, then another body under the same key", sameKeyCallers),
		Promised: "one hold, and every answer is that hold with its token; the claim never loses to itself; the other body is refused",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("one key, one hold"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, sameKeyCallers); err != nil {
				return o, err
			}
			key := client.IdempotencyKey("race-" + rand.Text())
			o.add("copies at once", volley(sameKeyCallers, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, seats(a.seat(0), a.seat(1)), key)
			}))
			o.add("a repeat", volley(2, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, seats(a.seat(0), a.seat(1)), key)
			}))
			o.add("another body", volley(2, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, seats(a.seat(2)), key)
			}))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			copies, repeat := o.phase("copies at once"), o.phase("a repeat")
			v.distribution(6, copies, between(1, sameKeyCallers, created), between(0, sameKeyCallers-1, inFlight))
			v.distribution(6, repeat, exactly(2, created))
			v.distribution(6, o.phase("another body"), exactly(2, reused))
			holds := append(copies.winners(), repeat.winners()...)
			for _, h := range holds {
				if h.ID != holds[0].ID || h.Token != holds[0].Token {
					v.breach(6, "one key was answered with two holds")
				}
			}
			v.held(o, holds[:min(len(holds), 1)])
			return v
		},
	}
}

func oneHoldOneOrder() Race {
	return Race{
		Name: "one-hold-one-order", Promises: []int{6, 7},
		Claim:    fmt.Sprintf("%d checkouts of one hold arrive at once, with different Idempotency-Keys, one key in common and none; %d rounds", checkouts, checkoutRounds),
		Promised: "one order; every answer is 201 with that order",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("one hold, one order"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, checkouts); err != nil {
				return o, err
			}
			p := volleys{name: "checkouts"}
			for r := range checkoutRounds {
				basket := seats(a.seat(2*r), a.seat(2*r+1))
				h, err := must(claim(ctx, a.buyer(0), o.event, basket))
				if err != nil {
					return o, err
				}
				o.before = append(o.before, *h)
				common := "race-common-" + rand.Text()
				p.rounds = append(p.rounds, volley(checkouts, func(i int) answer {
					return confirm(ctx, a.buyer(i), h, h.Token, checkoutKey(i, common)...)
				}))
			}
			o.phases = append(o.phases, p)
			return a.finish(ctx, o)
		},
		judge: judgeOneOrder,
	}
}

// checkoutKey gives a third of the callers no Idempotency-Key, a third one of their own and a third a
// common one. The thirds are cut so that each comes to every server.
func checkoutKey(i int, common string) []client.CallOption {
	switch i / 2 % 3 {
	case 0:
		return nil
	case 1:
		return []client.CallOption{client.IdempotencyKey("race-" + strconv.Itoa(i) + "-" + rand.Text())}
	}
	return []client.CallOption{client.IdempotencyKey(common)}
}

func judgeOneOrder(o *observation) *verdict {
	v := new(verdict)
	p := o.phase("checkouts")
	v.distribution(6, p, exactly(checkouts, created))
	var seatsSold []string
	for r, round := range p.rounds {
		ids := make(map[string]bool)
		for i := range round {
			ord := round[i].order
			if ord == nil {
				continue
			}
			ids[ord.ID] = true
			if r < len(o.before) && (ord.Hold != o.before[r].ID || len(ord.Tickets) != 2 || ord.Total != o.before[r].Total) {
				v.breach(6, "round %d: an order does not sell what was held", r+1)
			}
		}
		if len(ids) > 1 {
			v.breach(6, "round %d: one hold became %d orders", r+1, len(ids))
		}
	}
	seatsSold = seatsOf(pointers(o.before))
	if len(o.orders) != checkoutRounds || o.log["sold"] != checkoutRounds {
		v.breach(6, "%d orders and %d sales in the log for %d holds", len(o.orders), o.log["sold"], checkoutRounds)
	}
	v.conserved(o, 0, int64(len(seatsSold)))
	v.onlyHolds(o)
	v.onlySeats(o, seatSold, seatsSold)
	return v
}

func sellOrRelease() Race {
	return Race{
		Name: "sell-or-release", Promises: []int{4, 6},
		Claim:    fmt.Sprintf("%d callers with one token: half buy the hold while half release it; %d rounds", sellCallers, sellRounds),
		Promised: "one side wins entirely: an order for every buyer and HOLD_SOLD for every release, or 204 and 410",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("sell or release"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, sellCallers); err != nil {
				return o, err
			}
			p := volleys{name: "buyers and releases"}
			for r := range sellRounds {
				h, err := must(claim(ctx, a.buyer(r), o.event, seats(a.seat(r))))
				if err != nil {
					return o, err
				}
				o.before = append(o.before, *h)
				p.rounds = append(p.rounds, volley(sellCallers, func(i int) answer {
					if (i/2+r)%2 == 0 {
						return confirm(ctx, a.buyer(i), h, h.Token)
					}
					return release(ctx, a.buyer(i), h, h.Token)
				}))
			}
			o.phases = append(o.phases, p)
			return a.finish(ctx, o)
		},
		judge: judgeSellOrRelease,
	}
}

func judgeSellOrRelease(o *observation) *verdict {
	const half = sellCallers / 2
	v := new(verdict)
	p := o.phase("buyers and releases")
	v.distribution(6, p, between(0, half, created), between(0, half, sold), between(0, half, letGo), between(0, half, gone))
	var soldSeats []string
	for r, round := range p.rounds {
		counts := make(map[string]int)
		for i := range round {
			counts[round[i].label()]++
		}
		bought := counts[created] == half && counts[sold] == half
		released := counts[letGo] == half && counts[gone] == half
		if bought == released {
			v.breach(4, "round %d: the hold was both bought and released: %v", r+1, counts)
		}
		if counts[created] > 0 && r < len(o.before) {
			soldSeats = append(soldSeats, seatsOf([]*client.Hold{&o.before[r]})...)
		}
	}
	v.conserved(o, 0, int64(len(soldSeats)))
	v.onlyHolds(o)
	v.onlySeats(o, seatSold, soldSeats)
	return v
}

func cancelTwice() Race {
	return Race{
		Name: "cancel-twice", Promises: []int{1, 6, 8},
		Claim: fmt.Sprintf("%d callers cancel a ticket and its order at once: seats, units of an area, ticket first, order first, and again when the seat is sold to somebody else",
			cancelCallers),
		Promised: "every answer is 200, each unit comes back once, and the next owner's order is left alone",
		run:      runCancelTwice,
		judge:    judgeCancelTwice,
	}
}

// buy holds and confirms units, and remembers the order.
func (a *arena) buy(ctx context.Context, o *observation, r client.HoldRequest) (*client.Order, error) {
	h, err := must(claim(ctx, a.buyer(0), o.event, r))
	if err != nil {
		return nil, err
	}
	ord, err := mustOrder(confirm(ctx, a.buyer(1), h, h.Token))
	if err != nil {
		return nil, err
	}
	o.sales = append(o.sales, *ord)
	return ord, nil
}

// cancelOrder and cancelTicket put units back as the organizer.
func (a *arena) cancelOrder(ctx context.Context, i int, ord *client.Order) answer {
	var after *client.Order
	got := ask("cancel order", func(status client.CallOption) (err error) {
		after, err = a.staff(i).CancelOrder(ctx, ord.Event, ord.ID, "race", status)
		return err
	})
	got.order = after
	return got
}

func (a *arena) cancelTicket(ctx context.Context, i int, ord *client.Order, ticket int) answer {
	var after *client.Order
	got := ask("cancel ticket", func(status client.CallOption) (err error) {
		after, err = a.staff(i).CancelTicket(ctx, ord.Event, ord.Tickets[ticket].ID, "race", status)
		return err
	})
	got.order = after
	return got
}

func runCancelTwice(ctx context.Context, a *arena) (*observation, error) {
	o, err := a.open(ctx, a.eventRequest("cancel twice"))
	if err != nil {
		return nil, err
	}
	if err := a.warm(ctx, cancelCallers); err != nil {
		return o, err
	}
	four := []string{a.seat(0), a.seat(1), a.seat(2), a.seat(3)}
	first, err := a.buy(ctx, o, seats(four...))
	if err != nil {
		return o, err
	}
	floor, err := a.buy(ctx, o, units(floorArea, floorUnits))
	if err != nil {
		return o, err
	}
	// Wanted tickets are found by place, so a sale that lost some is noticed here.
	if len(first.Tickets) != cancelTickets || len(floor.Tickets) != floorUnits {
		return o, &brokenError{fmt.Sprintf("promise 8: orders of %d and %d units have %d and %d tickets",
			cancelTickets, floorUnits, len(first.Tickets), len(floor.Tickets))}
	}
	o.add("ticket and order at once", volley(cancelCallers, func(i int) answer {
		if i/2%2 == 0 {
			return a.cancelTicket(ctx, i, first, i/4%cancelTickets)
		}
		return a.cancelOrder(ctx, i, first)
	}))
	o.add("one ticket of an area", volley(cancelCallers, func(i int) answer { return a.cancelTicket(ctx, i, floor, 0) }))
	// The one unit that is free again must sell, and only that one.
	o.add("the unit that came back", volley(2, func(i int) answer { return claim(ctx, a.buyer(i), o.event, units(floorArea, 1)) }))
	o.add("then its order", volley(cancelCallers, func(i int) answer { return a.cancelOrder(ctx, i, floor) }))
	second, err := a.buy(ctx, o, seats(four...))
	if err != nil {
		return o, err
	}
	o.add("again, with the seats sold to another", volley(cancelCallers, func(i int) answer {
		if i/2%2 == 0 {
			return a.cancelTicket(ctx, i, first, i/4%cancelTickets)
		}
		return a.cancelOrder(ctx, i, first)
	}))
	o.add("a ticket of the other", volley(cancelCallers, func(i int) answer { return a.cancelTicket(ctx, i, second, 3) }))
	return a.finish(ctx, o)
}

func judgeCancelTwice(o *observation) *verdict {
	v := new(verdict)
	for _, name := range []string{"ticket and order at once", "one ticket of an area", "then its order", "again, with the seats sold to another", "a ticket of the other"} {
		p := o.phase(name)
		v.distribution(6, p, exactly(cancelCallers, done))
	}
	back := o.phase("the unit that came back")
	v.distribution(1, back, exactly(1, created), exactly(1, soldOut))

	// What is left: three seats of the second order, and one unit held.
	v.conserved(o, 1, cancelTickets-1)
	if floor := o.part(floorArea); floor.Held != 1 || floor.Reserved != 0 {
		v.breach(1, "the area ends with %d held and %d sold; five were cancelled and one is held", floor.Held, floor.Reserved)
	}
	v.onlyHolds(o, back.winners()...)
	if len(o.orders) != len(o.sales) {
		v.breach(6, "%d orders are listed of %d made", len(o.orders), len(o.sales))
	}
	cancelled := 0
	for i := range o.orders {
		if o.orders[i].State == "cancelled" {
			cancelled++
		}
	}
	if cancelled != len(o.sales)-1 {
		v.breach(6, "%d orders are cancelled instead of %d: the next owner's was touched", cancelled, len(o.sales)-1)
	}
	if len(o.sales) == 0 {
		v.breach(6, "no order was observed")
		return v
	}
	var kept []string
	for i, t := range o.sales[len(o.sales)-1].Tickets {
		if i != cancelTickets-1 {
			kept = append(kept, t.Seat)
		}
	}
	v.onlySeats(o, seatSold, kept)
	return v
}
