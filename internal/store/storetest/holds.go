package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/internal/inventory"
)

const (
	crowd  = 100 // claims of one unit in one batch
	rivals = 16  // callers at once
	rounds = 12  // of a race that may go well by chance
)

// winners are the checks of promise 2: exactly the right number win, and losers are told what they lost.
func winners() []check {
	return []check{
		{name: "promise 2: of a hundred claims on one seat in one batch the first wins", run: oneSeatOneBatch},
		{name: "promise 2: an area gives exactly what it has", run: areaInOneBatch},
		{name: "promise 2: of rivals at once on every node one wins each seat and an area is used up", run: rivalsAtOnce},
		{name: "promise 2: a loser is told each unit it lost, and why", run: losersAreTold},
		{name: "promise 2: a basket that fails hides nothing from who comes meanwhile", run: doomedBaskets},
		{name: "best available takes the first block that is wholly free", run: bestAvailable},
		{name: "what is withheld needs its code", run: withheldNeedsCode},
	}
}

func oneSeatOneBatch(t T, h *House) {
	batch := make([]inventory.Command, crowd)
	for i := range batch {
		batch[i] = claimOf(one(2))
	}
	for i, out := range h.apply(t, batch...) {
		switch {
		case i == 0 && out.Hold == nil:
			t.Errorf("the first in line lost: %s", outcomeClass(out))
		case i > 0 && refusalClass(out.Refusal) != lostClass([]lost{{2, inventory.ReasonHeld, 0}}):
			t.Errorf("loser %d is told %s", i, outcomeClass(out))
		}
	}
	h.wantUnit(t, 2, 1, 0)
}

func areaInOneBatch(t T, h *House) {
	batch := make([]inventory.Command, crowd)
	for i := range batch {
		batch[i] = claimOf(some(floor, 1, i%2))
	}
	won := 0
	for _, out := range h.apply(t, batch...) {
		if out.Hold != nil {
			won++
		} else if refusalClass(out.Refusal) != lostClass([]lost{{floor, inventory.ReasonSoldOut, 0}}) {
			t.Errorf("a loser is told %s", outcomeClass(out))
		}
	}
	if won != floorCapacity {
		t.Errorf("%d won, want %d", won, floorCapacity)
	}
	h.wantUnit(t, floor, floorCapacity, 0)
}

// atOnce sends commands together, each from a goroutine of its own, in turns on every node.
func (h *House) atOnce(t T, commands ...inventory.Command) []inventory.Outcome {
	t.Helper()
	outcomes := make([]inventory.Outcome, len(commands))
	errs := make([]error, len(commands))
	nodes := h.nodes()
	var wg sync.WaitGroup
	for i, c := range commands {
		wg.Go(func() {
			out, err := nodes[i%len(nodes)].Apply(t.Context(), h.Event, []inventory.Command{c})
			if err == nil && len(out) == 1 {
				outcomes[i] = out[0]
			} else {
				errs[i] = fmt.Errorf("%d outcomes: %w", len(out), err)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("command %d of %d at once: %v", i, len(commands), err)
		}
	}
	return outcomes
}

func winnersOf(outcomes []inventory.Outcome) (won int) {
	for _, out := range outcomes {
		if out.Hold != nil {
			won++
		}
	}
	return won
}

func rivalsAtOnce(t T, h *House) {
	for u := range inventory.Unit(4) {
		commands := make([]inventory.Command, rivals)
		for i := range commands {
			commands[i] = claimOf(one(u))
		}
		outcomes := h.atOnce(t, commands...)
		if won := winnersOf(outcomes); won != 1 {
			t.Errorf("%d have seat %d", won, u)
		}
		for _, out := range outcomes {
			if out.Refusal != nil && refusalClass(out.Refusal) != lostClass([]lost{{u, inventory.ReasonHeld, 0}}) {
				t.Errorf("a loser of seat %d is told %s", u, outcomeClass(out))
			}
		}
		h.wantUnit(t, u, 1, 0)
	}
	commands := make([]inventory.Command, rivals)
	for i := range commands {
		commands[i] = claimOf(one(floor))
	}
	if won := winnersOf(h.atOnce(t, commands...)); won != floorCapacity {
		t.Errorf("%d have one of %d", won, floorCapacity)
	}
	h.wantUnit(t, floor, floorCapacity, 0)
}

func losersAreTold(t T, h *House) {
	h.held(t, one(0))
	h.sold(t, h.held(t, one(1)).Key)
	h.held(t, some(floor, 4, standard))
	out := h.do(t, claimOf(one(0), one(1), one(2), some(floor, 3, standard)))
	want := lostClass([]lost{{0, inventory.ReasonHeld, 0}, {1, inventory.ReasonSold, 0}, {floor, inventory.ReasonSoldOut, 2}})
	if outcomeClass(out) != want {
		t.Fatalf("told %s, want %s", outcomeClass(out), want)
	}
	if c := out.Refusal.Conflicts[2]; c.Requested != 3 {
		t.Errorf("of the area %d were requested, want 3", c.Requested)
	}
	want = lostClass([]lost{{0, inventory.ReasonHeld, 0}, {withheld, inventory.ReasonNotOnSale, 0}, {99, inventory.ReasonNotOnSale, 0}})
	if got := outcomeClass(h.do(t, claimOf(one(0), one(withheld), one(99)))); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// doomedBaskets holds SKIP LOCKED and its like to the rule: a unit that is only locked, by a basket
// that will fail over another seat, is not gone.
func doomedBaskets(t T, h *House) {
	h.held(t, one(0))
	h.held(t, some(floor, floorCapacity-1, standard))
	for range rounds {
		commands := make([]inventory.Command, rivals)
		for i := range commands {
			commands[i] = claimOf(one(floor), one(0)) // never to be had
		}
		honest := claimOf(one(floor))
		commands[rivals/2] = honest
		if out := h.atOnce(t, commands...)[rivals/2]; out.Hold == nil {
			t.Fatalf("the last unit is free, and who asks for it hears %s", outcomeClass(out))
		}
		h.do(t, releaseOf(honest.Key))
	}
}

func bestAvailable(t T, h *House) {
	h.held(t, one(1))
	best := claimOf()
	best.Best, best.Candidates = true, [][]inventory.Unit{{0, 1}, {withheld, 8}, {3, 4}, {5, 6}}
	if got := amountsOf(h.win(t, best).Lines).String(); got != (amounts{{3, 0}: 1, {4, 0}: 1}).String() {
		t.Errorf("took %s, want seats 3 and 4", got)
	}
	before := h.board(t)
	best.Key, best.Candidates = newKey(), [][]inventory.Unit{{0, 1}, {4, 5}}
	if got, want := outcomeClass(h.do(t, best)), lostClass([]lost{{-1, inventory.ReasonNoBlock, 0}}); got != want {
		t.Errorf("no block is free, and the answer is %s", got)
	}
	h.wantUntouched(t, before)
}

func withheldNeedsCode(t T, h *House) {
	before := h.board(t)
	wrong, right := inventory.CodeHash(h.Event, "something else"), inventory.CodeHash(h.Event, houseCode)
	for _, code := range []*inventory.Code{nil, &wrong} {
		c := claimOf(one(withheld))
		c.Code = code
		if got, want := outcomeClass(h.do(t, c)), lostClass([]lost{{withheld, inventory.ReasonNotOnSale, 0}}); got != want {
			t.Errorf("without the code: %s", got)
		}
	}
	h.wantUntouched(t, before)
	c := claimOf(one(withheld))
	c.Code = &right
	mine := h.win(t, c)
	h.wantUnit(t, withheld, 1, 0)
	retype := changeOf(mine.Key, nil, nil)
	retype.Retype = []inventory.Want{some(withheld, 1, child)}
	for _, code := range []*inventory.Code{nil, &wrong} {
		retype.Code = code
		if got, want := outcomeClass(h.do(t, retype)), lostClass([]lost{{withheld, inventory.ReasonNotOnSale, 0}}); got != want {
			t.Errorf("another ticket type without the code: %s", got)
		}
	}
	retype.Code = &right
	if as := h.win(t, retype); as.Lines[0].Price != childPrice {
		t.Errorf("another ticket type with the code: %+v", as)
	}
}

// baskets are the checks of promise 3: all or nothing, and of batches.
func baskets() []check {
	return []check{
		{name: "promise 3: a basket is all or nothing, and a loser leaves nothing", run: allOrNothing},
		{name: "promise 3: two lines on one allocation are summed before they are judged", run: linesAreSummed},
		{name: "promise 3: a change that fails leaves the hold and its deadline", time: true, run: failedChange},
		{name: "a change is judged net, and one's own seat is free to oneself", time: true, run: netChange},
		{name: "a batch of mixed verbs is judged in order, at one instant", run: mixedBatch},
		{name: "one bad command never fails its neighbours", run: badNeighbours},
		{name: "baskets in opposite order at once neither fail nor wait for each other", run: oppositeOrder},
		{name: "baskets in opposite order at once make no deadlock", needs: []capability{deadlocks}, run: noDeadlock},
		{name: "events do not touch each other", run: eventsApart},
		{name: "prices stay as claimed", run: pricesStay},
	}
}

func allOrNothing(t T, h *House) {
	h.held(t, one(2))
	h.held(t, some(floor, 5, standard))
	before := h.board(t)
	for _, wants := range [][]inventory.Want{
		{one(1), one(2), one(3)},
		{one(3), some(floor, 2, child)},
		{one(3), one(withheld)},
		{one(0), one(1), one(3), one(4), one(5), one(6), one(7)}, // more than one hold may have
		{one(3), some(4, 1, 7)},                                  // no such ticket type
	} {
		c := claimOf(wants...)
		if out := h.do(t, c); out.Refusal == nil {
			t.Errorf("%v: %s", wants, outcomeClass(out))
		}
		_, _, err := h.Store.Hold(t.Context(), h.Event, c.Key)
		wantNotFound(t, "the hold of a loser", err)
	}
	h.wantUntouched(t, before)
}

func linesAreSummed(t T, h *House) {
	out := h.do(t, claimOf(some(floor, 3, standard), some(floor, 3, child)))
	if out.Hold == nil {
		t.Fatalf("3 + 3 of 6: %s", outcomeClass(out))
	}
	h.do(t, releaseOf(out.Hold.Key))
	h.held(t, one(0), some(floor, 1, standard))
	before := h.board(t)
	if got, want := outcomeClass(h.do(t, claimOf(some(floor, 3, standard), some(floor, 3, child)))), lostClass([]lost{{floor, inventory.ReasonSoldOut, 5}}); got != want {
		t.Errorf("3 + 3 of 5: %s, want %s", got, want)
	}
	wantCode(t, "one area and type twice", h.do(t, claimOf(some(floor, 1, standard), some(floor, 1, -1))).Refusal, inventory.Invalid)
	h.wantUntouched(t, before)
}

func failedChange(t T, h *House) {
	mine := h.held(t, one(0), some(floor, 2, standard))
	h.held(t, one(1))
	h.pass(t, holdSeconds/2)
	before := h.board(t)
	for name, c := range map[string]inventory.Command{
		"a held seat":       changeOf(mine.Key, []inventory.Want{one(1)}, nil),
		"one of two":        changeOf(mine.Key, []inventory.Want{one(3), one(1)}, nil),
		"too much":          changeOf(mine.Key, []inventory.Want{some(floor, 5, standard)}, nil),
		"for another":       changeOf(mine.Key, []inventory.Want{one(1)}, []inventory.Want{one(0)}),
		"what is not there": changeOf(mine.Key, []inventory.Want{one(3)}, []inventory.Want{one(4)}),
		"everything away":   changeOf(mine.Key, nil, []inventory.Want{one(0), some(floor, 2, standard)}),
		"too many away":     changeOf(mine.Key, nil, []inventory.Want{some(floor, 3, standard)}),
		"a withheld seat":   changeOf(mine.Key, []inventory.Want{one(withheld)}, nil),
	} {
		if out := h.do(t, c); out.Refusal == nil {
			t.Errorf("%s: %s", name, outcomeClass(out))
		}
	}
	h.wantUntouched(t, before)
	now, _, err := h.Store.Hold(t.Context(), h.Event, mine.Key)
	if err != nil {
		t.Fatalf("the hold is gone: %v", err)
	}
	if got, want := holdClass(amountsOf(now.Lines), now.Deadline), holdClass(amountsOf(mine.Lines), mine.Deadline); got != want {
		t.Errorf("%s, was %s", got, want)
	}
}

func netChange(t T, h *House) {
	mine := h.held(t, one(0), some(floor, 3, standard))
	h.held(t, some(floor, 3, standard)) // the area is full
	h.pass(t, 10)
	own := h.win(t, changeOf(mine.Key, []inventory.Want{one(0)}, nil))
	if got, want := holdClass(amountsOf(own.Lines), own.Deadline), holdClass(amountsOf(mine.Lines), mine.Deadline); got != want {
		t.Errorf("adding one's own seat makes %s of %s", got, want)
	}
	swap := h.win(t, changeOf(mine.Key, []inventory.Want{some(floor, 2, child)}, []inventory.Want{some(floor, 2, standard)}))
	if got, want := amountsOf(swap.Lines).String(), (amounts{{0, 0}: 1, {int(floor), standard}: 1, {int(floor), child}: 2}).String(); got != want {
		t.Errorf("swapping types in a full area makes %s, want %s", got, want)
	}
	h.wantUnit(t, floor, floorCapacity, 0)
	h.pass(t, 10)
	retype := changeOf(mine.Key, nil, nil)
	retype.Retype = []inventory.Want{some(0, 1, child)}
	if as := h.win(t, retype); as.Deadline != swap.Deadline || as.Lines[0].Price != childPrice {
		t.Errorf("selling a seat as another type makes %+v; only adding and extending move the deadline", as)
	}
	less := h.win(t, changeOf(mine.Key, nil, []inventory.Want{one(0)}))
	if less.Deadline != swap.Deadline {
		t.Errorf("removing moved the deadline; only adding and extending do")
	}
	h.wantUnit(t, 0, 0, 0)
}

func mixedBatch(t T, h *House) {
	a, b, c := claimOf(one(0)), claimOf(one(0)), claimOf(one(0), one(1))
	out := h.apply(t,
		a, b, releaseOf(a.Key), c, // b loses to a; c has what a let go
		changeOf(c.Key, []inventory.Want{one(2)}, []inventory.Want{one(0)}), b, // b again: now it is free
		extendOf(c.Key), claimOf(one(2)), releaseOf(newKey()),
	)
	for i, won := range []bool{true, false, false, true, true, true, true, false, false} {
		if (out[i].Hold != nil) != won {
			t.Errorf("command %d: %s", i, outcomeClass(out[i]))
		}
		if out[i].Now != out[0].Now || out[i].Position != out[0].Position {
			t.Errorf("command %d was judged at %d and stands at %v, the first at %d and %v", i, out[i].Now, out[i].Position, out[0].Now, out[0].Position)
		}
	}
	if !out[2].Released || out[8].Released {
		t.Errorf("released: %v, of nothing: %v", out[2].Released, out[8].Released)
	}
	for u, held := range []int64{1, 1, 1, 0} {
		h.wantUnit(t, inventory.Unit(u), held, 0)
	}
	if out := h.apply(t); len(out) != 0 {
		t.Errorf("an empty batch has %d outcomes", len(out))
	}
}

func badNeighbours(t T, h *House) {
	named := claimOf(one(0))
	named.Reference = "cart-1"
	again := claimOf(one(1))
	again.Reference = "cart-1"
	best := claimOf()
	best.Best = true
	good := []inventory.Command{named, claimOf(one(2)), claimOf(one(3)), claimOf(one(4)), claimOf(one(5))}
	bad := []inventory.Command{
		again, claimOf(some(6, 1, 9)), {Verb: 99, Key: newKey()}, best,
	}
	batch := []inventory.Command{good[0]}
	for i, c := range bad {
		batch = append(batch, c, good[i+1])
	}
	for i, out := range h.apply(t, batch...) {
		if isGood := i%2 == 0; isGood != (out.Hold != nil) {
			t.Errorf("command %d: %s", i, outcomeClass(out))
		}
	}
	sales := []inventory.Sale{saleOf(good[0].Key, "a"), saleOf(newKey(), "b"), saleOf(good[1].Key, "c")}
	sales[2].Buyer.Email = "" // the tickets need somewhere to go
	sales = append(sales, saleOf(good[2].Key, "d"))
	for i, out := range h.sell(t, sales...) {
		if (i == 0 || i == 3) != (out.Order != nil) {
			t.Errorf("sale %d: %s", i, answerClass(out.Order, out.Refusal))
		}
	}
}

// oppose sends two baskets of the same units, named in opposite orders, from all nodes at once.
func oppose(t T, h *House) {
	forth := []inventory.Want{one(0), one(3), one(6), one(floor)}
	back := slices.Clone(forth)
	slices.Reverse(back)
	for range rounds {
		commands := make([]inventory.Command, rivals)
		for i := range commands {
			commands[i] = claimOf([][]inventory.Want{forth, back}[i/2%2]...)
		}
		outcomes := h.atOnce(t, commands...)
		if won := winnersOf(outcomes); won != 1 {
			t.Fatalf("%d have one basket", won)
		}
		for i, out := range outcomes {
			if out.Hold != nil {
				h.do(t, releaseOf(commands[i].Key))
			}
		}
	}
}

func oppositeOrder(t T, h *House) { oppose(t, h) }

func noDeadlock(t T, h *House) {
	count := func() int64 {
		n, err := h.Deadlocks(t.Context())
		if err != nil {
			t.Fatalf("deadlocks: %v", err)
		}
		return n
	}
	before := count()
	oppose(t, h)
	if n := count() - before; n != 0 {
		t.Errorf("%d deadlocks: not everybody locks in one order", n)
	}
}

func eventsApart(t T, h *House) {
	first := h.Event
	mine := h.held(t, one(0), some(floor, floorCapacity-1, standard))
	h.Event = h.smallEvent(t)
	before := h.board(t)
	if out := h.do(t, releaseOf(mine.Key)); out.Released {
		t.Errorf("a hold was let go through another event")
	}
	wantCode(t, "extended through another event", h.do(t, extendOf(mine.Key)).Refusal, inventory.HoldExpired)
	wantCode(t, "sold through another event", h.sell(t, saleOf(mine.Key, "buyer"))[0].Refusal, inventory.HoldExpired)
	h.wantUntouched(t, before)
	h.held(t, one(0), some(floor, floorCapacity-1, standard))
	h.become(t, inventory.Cancelled)
	h.Event = first
	h.wantUnit(t, 0, 1, 0)
	h.sold(t, mine.Key)
}

func pricesStay(t T, h *House) {
	mine := h.held(t, one(0), one(1))
	h.alter(t, inventory.LogEdited, func(a *inventory.Alteration) {
		a.Event.Terms.Types = slices.Clone(a.Event.Terms.Types)
		a.Event.Terms.Types[standard].Price = 9900
		a.Event.Terms.Types[child].Price = 3300
	})
	c := changeOf(mine.Key, []inventory.Want{one(2)}, nil)
	c.Retype = []inventory.Want{some(1, 1, child)}
	h.win(t, c)
	if o := h.sold(t, mine.Key); o.Total != standardPrice+3300+9900 || len(o.Tickets) != 3 {
		t.Errorf("%d tickets for %d: what was held stays at its price, what is added or sold as another type has today's", len(o.Tickets), o.Total)
	}
}

// owners are the checks of promise 4: who does not have the key has nothing.
func owners() []check {
	return []check{
		{name: "promise 4: another key releases, changes, extends and buys nothing", run: otherKeys},
		{name: "promise 4: a release that comes after the seat was let go and had again frees nothing", run: lateRelease},
		{name: "promise 4: a hold that was let go is dead to every verb", run: deadToAll},
	}
}

func otherKeys(t T, h *House) {
	mine := h.held(t, one(0))
	near := mine.Key
	near[len(near)-1] ^= 1
	before := h.board(t)
	for _, key := range []inventory.HoldKey{newKey(), near, {}} {
		if out := h.do(t, releaseOf(key)); out.Released || out.Refusal != nil {
			t.Errorf("release: %+v", out)
		}
		h.wantDead(t, key, inventory.HoldExpired)
	}
	h.wantUntouched(t, before)
	h.sold(t, mine.Key)
}

// wantDead checks that a hold answers no verb and is not shown. It is not released here: that may end
// what is left of it.
func (h *House) wantDead(t T, key inventory.HoldKey, code inventory.RefusalCode) {
	t.Helper()
	wantCode(t, "extended", h.do(t, extendOf(key)).Refusal, code)
	wantCode(t, "added to", h.do(t, changeOf(key, []inventory.Want{one(7)}, nil)).Refusal, code)
	wantCode(t, "taken from", h.do(t, changeOf(key, nil, []inventory.Want{one(0)})).Refusal, code)
	if code == inventory.HoldExpired {
		if out := h.sell(t, saleOf(key, "buyer"))[0]; out.Refusal == nil {
			t.Errorf("sold what is dead")
		}
	}
	_, _, err := h.Store.Hold(t.Context(), h.Event, key)
	wantNotFound(t, "a dead hold", err)
	all, _, err := h.Store.Holds(t.Context(), h.Event, inventory.HoldKey{}, 100)
	if err != nil || slices.ContainsFunc(all, func(o *inventory.Hold) bool { return o.Key == key }) {
		t.Errorf("a dead hold is listed (%v)", err)
	}
}

func lateRelease(t T, h *House) {
	mine := claimOf(one(0), some(floor, 2, standard))
	h.win(t, mine)
	if out := h.do(t, releaseOf(mine.Key)); !out.Released {
		t.Fatalf("not released: %s", outcomeClass(out))
	}
	theirs := h.held(t, one(0), some(floor, 2, standard))
	before := h.board(t)
	if out := h.do(t, releaseOf(mine.Key)); out.Released {
		t.Errorf("released twice")
	}
	h.wantUntouched(t, before)
	h.sold(t, theirs.Key)
}

func deadToAll(t T, h *House) {
	mine := h.held(t, one(0))
	h.do(t, releaseOf(mine.Key))
	h.wantUnit(t, 0, 0, 0)
	before := h.board(t)
	h.wantDead(t, mine.Key, inventory.HoldExpired)
	if out := h.do(t, releaseOf(mine.Key)); out.Released || out.Refusal != nil {
		t.Errorf("released again: %+v", out)
	}
	h.wantUntouched(t, before)
}
