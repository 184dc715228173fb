package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/internal/inventory"
)

// sales are the checks of promise 6: one hold, one order; and of what promise 7 asks of answers.
func sales() []check {
	return []check{
		{name: "promise 6: a sale moves what was held, at its price, a ticket a unit", run: saleMoves},
		{name: "promise 6: any number of confirms of one hold, in any way, give one order", run: confirmsAreOne},
		{name: "promise 6: many at once on every node get the same order", run: confirmsAtOnce},
		{name: "promise 7: every answer of an order is a write", needs: []capability{commits}, run: answersAreWrites},
		{name: "promise 7: what one node answered the other knows", needs: []capability{second}, run: otherNodeKnows},
		{name: "a hold that was sold is sold to every verb", run: soldToAll},
		{name: "an order made without its token learns it", run: orderLearnsToken},
		{name: "a buyer's limit counts across orders, and what is returned no more", run: buyersLimit},
		{name: "a reference is one living hold's, and one order's", time: true, run: references},
	}
}

func saleMoves(t T, h *House) {
	c := claimOf(one(0), some(floor, 2, child))
	c.Reference, c.Metadata = "cart-7", map[string]string{"till": "3"}
	h.win(t, c)
	s := saleOf(c.Key, "buyer")
	s.Reference, s.Metadata, s.Payment = "A-77", map[string]string{"shift": "late"}, inventory.Payment{Method: inventory.PaymentExternal, Reference: "pi_1"}
	out := h.sell(t, s)[0]
	if out.Order == nil {
		t.Fatalf("%s", refusalClass(out.Refusal))
	}
	o := out.Order
	if got, want := orderClassOf(o), orderClass(s.Order, amounts{{0, 0}: 1, {int(floor), child}: 2}, standardPrice+2*childPrice, []bool{true, true, true}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	kept, err := h.Catalogue.Order(t.Context(), h.Event, s.Order)
	if err != nil {
		t.Fatalf("the order is not kept: %v", err)
	}
	if orderClassOf(kept) != orderClassOf(o) || kept.Reference != "A-77" || kept.Metadata["shift"] != "late" || kept.Payment != s.Payment ||
		kept.Buyer != s.Buyer || kept.TokenHash != s.TokenHash || kept.Created != out.Now || kept.Key != c.Key || kept.State != inventory.OrderConfirmed {
		t.Errorf("kept as %+v", kept)
	}
	ids := make(map[string]bool)
	for _, ticket := range o.Tickets {
		if id, ok := inventory.OrderOfTicket(ticket.ID); !ok || id != o.ID || ids[ticket.ID] {
			t.Errorf("ticket %s of order %s", ticket.ID, o.ID)
		}
		ids[ticket.ID] = true
	}
	h.wantUnit(t, 0, 0, 1)
	h.wantUnit(t, floor, 0, 2)
	_, _, err = h.Store.Hold(t.Context(), h.Event, c.Key)
	wantNotFound(t, "the hold of an order", err)
}

func confirmsAreOne(t T, h *House) {
	mine := h.held(t, one(0), some(floor, 2, standard))
	batch := make([]inventory.Sale, 50)
	for i := range batch {
		batch[i] = saleOf(mine.Key, fmt.Sprintf("buyer%d", i%2))
		if i%3 == 0 {
			batch[i].ID = newCommandID()
		}
	}
	out := h.sell(t, batch...)
	want := answerClass(out[0].Order, out[0].Refusal)
	if out[0].Order == nil || out[0].Order.ID != batch[0].Order {
		t.Fatalf("the first: %s", want)
	}
	for _, node := range h.nodes() {
		again, err := node.Sell(t.Context(), h.Event, []inventory.Sale{saleOf(mine.Key, "somebody else")})
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, again...)
	}
	for i, o := range out {
		if got := answerClass(o.Order, o.Refusal); got != want {
			t.Errorf("confirm %d: %s, want %s", i, got, want)
		}
	}
	h.wantUnit(t, 0, 0, 1)
	h.wantUnit(t, floor, 0, 2)
	all, err := h.Catalogue.Orders(t.Context(), h.Event, inventory.Page{Limit: 10})
	if err != nil || len(all) != 1 {
		t.Errorf("%d orders (%v), want one", len(all), err)
	}
}

func confirmsAtOnce(t T, h *House) {
	for u := range inventory.Unit(4) {
		mine := h.held(t, one(u))
		nodes := h.nodes()
		answers := make([]string, rivals)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				out, err := nodes[i%len(nodes)].Sell(t.Context(), h.Event, []inventory.Sale{saleOf(mine.Key, "buyer")})
				if err != nil {
					answers[i] = err.Error()
				} else {
					answers[i] = answerClass(out[0].Order, out[0].Refusal)
				}
			})
		}
		wg.Wait()
		kept, err := h.Catalogue.OrderByHold(t.Context(), h.Event, mine.Key)
		if err != nil {
			t.Fatalf("no order: %v", err)
		}
		for i, got := range answers {
			if got != orderClassOf(kept) {
				t.Errorf("confirm %d: %s, want %s", i, got, orderClassOf(kept))
			}
		}
		h.wantUnit(t, u, 0, 1)
	}
}

func answersAreWrites(t T, h *House) {
	mine := h.held(t, one(0))
	keyed := saleOf(mine.Key, "buyer")
	keyed.ID = newCommandID()
	for i, s := range []inventory.Sale{saleOf(mine.Key, "buyer"), saleOf(mine.Key, "buyer"), keyed, keyed, saleOf(mine.Key, "other")} {
		before, err := h.Commits(t.Context())
		if err != nil {
			t.Fatalf("commits: %v", err)
		}
		out := h.sell(t, s)[0]
		after, err := h.Commits(t.Context())
		if err != nil {
			t.Fatalf("commits: %v", err)
		}
		if out.Order == nil || before == after {
			t.Errorf("answer %d (%s) followed no commit of its own", i, answerClass(out.Order, out.Refusal))
		}
	}
}

func otherNodeKnows(t T, h *House) {
	for u := range inventory.Unit(3) {
		mine := h.held(t, one(u))
		if _, _, err := h.Second.Hold(t.Context(), h.Event, mine.Key); err != nil {
			t.Errorf("a hold that was answered: %v", err)
		}
		if out := applyAt(t, h.Second, h.Event, claimOf(one(u)))[0]; out.Hold != nil {
			t.Errorf("the other node gave seat %d again", u)
		}
		if out := applyAt(t, h.Second, h.Event, extendOf(mine.Key))[0]; out.Hold == nil {
			t.Errorf("extended there: %s", outcomeClass(out))
		}
		h.sold(t, mine.Key)
		b, err := h.Second.Board(t.Context(), h.Event)
		if err != nil || b.Units[u].Reserved != 1 {
			t.Errorf("the other node's board does not show the sale (%v)", err)
		}
	}
	h.become(t, inventory.Paused)
	wantCode(t, "claimed there, paused here", applyAt(t, h.Second, h.Event, claimOf(one(5)))[0].Refusal, inventory.EventNotOnSale)
}

func soldToAll(t T, h *House) {
	mine := h.held(t, one(0), some(floor, 2, standard))
	o := h.sold(t, mine.Key)
	before := h.board(t)
	h.wantDead(t, mine.Key, inventory.HoldSold)
	again := claimOf(one(1))
	again.Key = mine.Key
	for name, c := range map[string]inventory.Command{"release": releaseOf(mine.Key), "extend": extendOf(mine.Key), "its claim": again} {
		out := h.do(t, c)
		if wantCode(t, name, out.Refusal, inventory.HoldSold); out.Refusal != nil && out.Refusal.Order != o.ID {
			t.Errorf("%s is told of order %q, want %q", name, out.Refusal.Order, o.ID)
		}
	}
	h.wantUntouched(t, before)
}

func orderLearnsToken(t T, h *House) {
	mine := h.held(t, one(0))
	byKey, withToken := saleOf(mine.Key, "buyer"), saleOf(mine.Key, "buyer")
	byKey.HasToken, byKey.TokenHash, byKey.ByKey = false, [32]byte{}, true
	h.sell(t, byKey)
	for range 2 {
		if out := h.sell(t, withToken)[0]; out.Order == nil || out.Order.ID != byKey.Order || out.Order.TokenHash != withToken.TokenHash {
			t.Errorf("%+v", out)
		}
	}
	kept, err := h.Catalogue.Order(t.Context(), h.Event, byKey.Order)
	if err != nil || !kept.HasToken || kept.TokenHash != withToken.TokenHash {
		t.Errorf("kept: %+v (%v)", kept, err)
	}
}

func buyersLimit(t T, h *House) {
	h.alter(t, inventory.LogEdited, func(a *inventory.Alteration) { a.Event.Terms.UnitsPerBuyer = 4 })
	first, second, third := h.held(t, one(0), one(1)), h.held(t, one(2), one(3)), h.held(t, one(4))
	out := h.sell(t, saleOf(first.Key, "greedy"), saleOf(second.Key, "greedy"), saleOf(third.Key, "greedy"))
	if out[0].Order == nil || out[1].Order == nil {
		t.Fatalf("within the limit: %s, %s", refusalClass(out[0].Refusal), refusalClass(out[1].Refusal))
	}
	wantCode(t, "5 of 4, in one batch", out[2].Refusal, inventory.BuyerLimitExceeded)
	wantCode(t, "5 of 4", h.sell(t, saleOf(third.Key, "greedy"))[0].Refusal, inventory.BuyerLimitExceeded)
	if _, now, err := h.Store.Hold(t.Context(), h.Event, third.Key); err != nil || now >= third.Deadline {
		t.Errorf("the hold did not outlive the refusal: %v", err)
	}
	h.giveBack(t, inventory.Return{Order: out[0].Order.ID, Tickets: []string{out[0].Order.Tickets[0].ID}})
	if again := h.sell(t, saleOf(third.Key, "greedy"))[0]; again.Order == nil {
		t.Errorf("after a return: %s", refusalClass(again.Refusal))
	}
	byKey := saleOf(h.held(t, one(5)).Key, "greedy")
	byKey.ByKey = true
	if out := h.sell(t, byKey)[0]; out.Order == nil {
		t.Errorf("the organizer may: %s", refusalClass(out.Refusal))
	}
}

func references(t T, h *House) {
	a, b := claimOf(one(0)), claimOf(one(1))
	a.Reference, b.Reference, a.TTL = "cart-1", "cart-1", ttl
	h.win(t, a)
	wantCode(t, "a reference that a living hold has", h.do(t, b).Refusal, inventory.ReferenceTaken)
	h.wantUnit(t, 1, 0, 0)
	h.pass(t, ttl)
	h.win(t, b) // a lapsed hold loses it with its life
	h.wantUnit(t, 0, 0, 0)
	first, second := saleOf(b.Key, "buyer"), saleOf(h.held(t, one(2)).Key, "buyer")
	first.Reference, second.Reference = "A-77", "A-77"
	out := h.sell(t, first, second)
	wantCode(t, "a reference that an order of this batch has", out[1].Refusal, inventory.ReferenceTaken)
	wantCode(t, "a reference that an order has", h.sell(t, second)[0].Refusal, inventory.ReferenceTaken)
	if out[0].Order == nil {
		t.Errorf("the first: %s", refusalClass(out[0].Refusal))
	}
	h.wantUnit(t, 2, 1, 0)
}

// returns are the checks of giving back: each unit once, whatever is cancelled first.
func returns() []check {
	return []check{
		{name: "a ticket and then its order give each unit back once, in any order", run: returnOnce},
		{name: "returns at once on every node give each unit back once", run: returnsAtOnce},
		{name: "what was returned sells again, and what is not there cannot be returned", run: returnedSells},
	}
}

func returnOnce(t T, h *House) {
	for n, steps := range [][][]int{{{}, {0}}, {{0}, {}}, {{}, {}}, {{1}, {1, 0}, {2}}, {{0}, {0}, {1, 2}}} {
		u := inventory.Unit(n)
		o := h.sold(t, h.held(t, one(u), some(floor, 2, child)).Key)
		for i, step := range steps {
			r := inventory.Return{Order: o.ID, By: h.Caller.Key, Reason: "test"}
			for _, ticket := range step {
				r.Tickets = append(r.Tickets, o.Tickets[ticket].ID)
			}
			out := h.giveBack(t, r)
			if out.Order == nil {
				t.Fatalf("%v, step %d: %s", steps, i, refusalClass(out.Refusal))
			}
			if all := i == len(steps)-1 || len(step) == 0; all != (out.Order.State == inventory.OrderCancelled) {
				t.Errorf("%v, step %d: the order is %s", steps, i, out.Order.State)
			}
		}
		h.wantUnit(t, u, 0, 0)
		h.wantUnit(t, floor, 0, 0)
		before := h.board(t)
		h.giveBack(t, inventory.Return{Order: o.ID})
		h.wantUntouched(t, before)
	}
}

func returnsAtOnce(t T, h *House) {
	o := h.sold(t, h.held(t, one(0), some(floor, 3, standard)).Key)
	kept := h.sold(t, h.held(t, some(floor, 3, standard)).Key)
	nodes := h.nodes()
	errs := make([]error, rivals)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			r := inventory.Return{Order: o.ID}
			if i%2 == 0 {
				r.Tickets = []string{o.Tickets[i/2%len(o.Tickets)].ID}
			}
			_, errs[i] = nodes[i/2%len(nodes)].Return(t.Context(), h.Event, r)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	h.wantUnit(t, 0, 0, 0)
	h.wantUnit(t, floor, 0, int64(len(kept.Tickets)))
}

func returnedSells(t T, h *House) {
	mine := h.held(t, one(0), one(1))
	o := h.sold(t, mine.Key)
	before := h.board(t)
	for name, r := range map[string]inventory.Return{
		"no such order":                {Order: inventory.NewID(inventory.PrefixOrder)},
		"no such ticket":               {Order: o.ID, Tickets: []string{inventory.TicketID(o.ID, 9)}},
		"a ticket of it and one of no": {Order: o.ID, Tickets: []string{o.Tickets[0].ID, inventory.TicketID(o.ID, 9)}},
	} {
		wantCode(t, name, h.giveBack(t, r).Refusal, inventory.NotFound)
	}
	h.wantUntouched(t, before)
	h.giveBack(t, inventory.Return{Order: o.ID, Tickets: []string{o.Tickets[0].ID}})
	theirs := h.sold(t, h.held(t, one(0)).Key)
	h.giveBack(t, inventory.Return{Order: o.ID})
	h.wantUnit(t, 0, 0, 1)
	h.wantUnit(t, 1, 0, 0)
	if out := h.sell(t, saleOf(mine.Key, "buyer"))[0]; out.Order == nil || out.Order.ID != o.ID || out.Order.State != inventory.OrderCancelled {
		t.Errorf("confirming a cancelled order's hold again: %s", answerClass(out.Order, out.Refusal))
	}
	h.wantUnit(t, 0, 0, int64(len(theirs.Tickets)))
}

// identities are the checks of command ids: another request under the same id is refused, and a
// record is kept for a day.
func identities() []check {
	return []check{
		{name: "another request under the same id is refused and does nothing", run: idReused},
		{name: "a replay answers what was kept, token and all", run: replayKeeps},
		{name: "an id counts for 24 hours", needs: []capability{clock}, time: true, run: idsAreForgotten},
	}
}

func idReused(t T, h *House) {
	mine := h.held(t, one(0))
	o := h.sold(t, h.held(t, one(1), one(2)).Key)
	claim, add := claimOf(one(3)), changeOf(mine.Key, []inventory.Want{one(4)}, nil)
	claim.ID = newCommandID()
	sale, ret := saleOf(mine.Key, "buyer"), inventory.Return{Order: o.ID, Tickets: []string{o.Tickets[0].ID}, ID: newCommandID()}
	sale.ID = newCommandID()
	h.apply(t, claim, add)
	h.giveBack(t, ret)
	otherClaim, otherAdd := claimOf(one(5)), changeOf(mine.Key, []inventory.Want{one(6)}, nil)
	otherClaim.ID, otherAdd.ID = claim.ID, add.ID
	otherClaim.Body[0], otherAdd.Body[0] = 1, 1
	before := h.board(t)
	for _, out := range h.apply(t, otherClaim, otherAdd) {
		wantCode(t, "a command", out.Refusal, inventory.KeyReused)
	}
	otherRet := inventory.Return{Order: o.ID, ID: ret.ID, Body: [32]byte{1}}
	wantCode(t, "a return", h.giveBack(t, otherRet).Refusal, inventory.KeyReused)
	h.wantUntouched(t, before)
	h.sell(t, sale)
	otherSale := saleOf(claim.Key, "buyer")
	otherSale.ID, otherSale.Body = sale.ID, [32]byte{1}
	wantCode(t, "a sale", h.sell(t, otherSale)[0].Refusal, inventory.KeyReused)
	h.wantUnit(t, 3, 1, 0)
}

func replayKeeps(t T, h *House) {
	c := claimOf(one(0))
	c.ID, c.Sealed = newCommandID(), []byte("sealed for the client")
	first := h.do(t, c)
	h.do(t, extendOf(c.Key))
	again := h.do(t, c)
	if outcomeClass(again) != outcomeClass(first) || !again.Replayed || first.Replayed || string(again.Sealed) != string(c.Sealed) {
		t.Errorf("%+v, was %+v", again, first)
	}
	fresh := c // another try of the client's, with a token of its own: the first one's counts
	fresh.Key, fresh.Sealed = newKey(), []byte("another")
	again = h.do(t, fresh)
	if again.Hold == nil || again.Hold.Key != c.Key || string(again.Sealed) != string(c.Sealed) {
		t.Errorf("under a new token: %+v", again)
	}
	refused := claimOf(one(0))
	refused.ID = newCommandID()
	if out := h.do(t, refused); out.Refusal == nil {
		t.Fatalf("%s", outcomeClass(out))
	}
	h.do(t, releaseOf(c.Key))
	if out := h.do(t, refused); out.Hold == nil || out.Replayed {
		t.Errorf("a refusal is judged again, not replayed: %s", outcomeClass(out))
	}
}

func idsAreForgotten(t T, h *House) {
	const day = 24 * 60 * 60
	c := claimOf(one(0))
	c.ID = newCommandID()
	h.win(t, c)
	other := claimOf(one(1))
	other.ID, other.Body = c.ID, [32]byte{1}
	h.pass(t, day-1)
	wantCode(t, "a second before", h.do(t, other).Refusal, inventory.KeyReused)
	if _, err := h.Store.Sweep(t.Context(), 100); err != nil {
		t.Fatalf("%v", err)
	}
	wantCode(t, "a second before, swept", h.do(t, other).Refusal, inventory.KeyReused)
	h.pass(t, 2)
	h.win(t, other)
	third := claimOf(one(2))
	third.ID, third.Body = c.ID, [32]byte{2}
	wantCode(t, "the new record's", h.do(t, third).Refusal, inventory.KeyReused)
	if slices.ContainsFunc(h.apply(t, other), func(o inventory.Outcome) bool { return !o.Replayed }) {
		t.Errorf("the new record is not replayed")
	}
}
