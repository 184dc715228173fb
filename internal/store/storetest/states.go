package storetest

import (
	"errors"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/internal/inventory"
)

// states are the checks of an event's state, its window and its changes, all judged inside the batch.
func states() []check {
	return []check{
		{name: "each state of an event allows what it allows and no more", run: eachState},
		{name: "the sale window is judged in the batch, by the store's clock", time: true, run: saleWindow},
		{name: "cancelling ends every hold, and no sale follows", run: cancelling},
		{name: "an alteration decided on an old revision changes nothing", run: staleAlteration},
		{name: "of alterations at once on every node one wins", run: alterationsAtOnce},
		{name: "repainting moves units to another class and tells the map to read anew", run: repainting},
		{name: "an event's allocations are inserted with it, all or none", run: insertions},
		{name: "what does not exist is ErrNotFound to every verb", run: unknownEvent},
	}
}

func eachState(t T, h *House) {
	for _, state := range []inventory.State{inventory.OnSale, inventory.Paused, inventory.Closed, inventory.Cancelled} {
		h.Event = h.smallEvent(t)
		var k []inventory.HoldKey
		for u := range inventory.Unit(6) {
			k = append(k, h.held(t, one(u), one(floor)).Key)
		}
		if state != inventory.OnSale {
			h.become(t, state)
		}
		shop, end := inventory.EventNotOnSale, inventory.RefusalCode("")
		switch state {
		case inventory.OnSale:
			shop = ""
		case inventory.Cancelled:
			end = inventory.HoldExpired
		}
		live := shop // what a change that adds, or an extension, of a hold is told
		if end != "" {
			live = end
		}
		out := h.apply(t, claimOf(one(8)), changeOf(k[0], []inventory.Want{one(7)}, nil), extendOf(k[1]),
			changeOf(k[2], nil, []inventory.Want{one(2)}), changeOf(k[3], []inventory.Want{one(3)}, nil), releaseOf(k[4]))
		for i, want := range []inventory.RefusalCode{shop, live, live, end, end} {
			got := inventory.RefusalCode("")
			if out[i].Refusal != nil {
				got = out[i].Refusal.Code
			}
			if got != want {
				t.Errorf("%s, command %d: %q, want %q", state, i, got, want)
			}
		}
		if out[5].Refusal != nil || out[5].Released != (state != inventory.Cancelled) {
			t.Errorf("%s: a release says %v (%v)", state, out[5].Released, out[5].Refusal)
		}
		sale := h.sell(t, saleOf(k[5], "buyer"))[0]
		if state == inventory.Cancelled {
			wantCode(t, "a sale of a cancelled event", sale.Refusal, inventory.EventNotOnSale)
		} else if sale.Order == nil {
			t.Errorf("%s: a live hold may be bought, but %s", state, refusalClass(sale.Refusal))
		}
	}
}

func saleWindow(t T, h *House) {
	now := h.board(t).Now
	mine := h.held(t, one(0))
	h.alter(t, inventory.LogEdited, func(a *inventory.Alteration) {
		a.Event.Terms.SaleFrom, a.Event.Terms.SaleUntil = now.Add(ttl), now.Add(2*ttl)
	})
	try := func(when string, open bool, add inventory.Unit) {
		t.Helper()
		out := h.apply(t, claimOf(one(1)), extendOf(mine.Key), changeOf(mine.Key, []inventory.Want{one(add)}, nil))
		for i, o := range out {
			if (o.Hold != nil) != open {
				t.Errorf("%s, command %d: %s", when, i, outcomeClass(o))
			}
		}
	}
	try("before the window", false, 2)
	h.pass(t, ttl)
	try("in it", true, 2)
	h.pass(t, ttl)
	try("after it", false, 3)
	h.win(t, changeOf(mine.Key, nil, []inventory.Want{one(2)}))
	h.sold(t, mine.Key)
}

func cancelling(t T, h *House) {
	mine, theirs := h.held(t, one(0), some(floor, 2, standard)), h.held(t, one(1))
	o := h.sold(t, h.held(t, one(2)).Key)
	before := h.board(t)
	h.become(t, inventory.Cancelled)
	for _, key := range []inventory.HoldKey{mine.Key, theirs.Key} {
		h.wantDead(t, key, inventory.HoldExpired)
	}
	wantCode(t, "a claim", h.do(t, claimOf(one(3))).Refusal, inventory.EventNotOnSale)
	for _, node := range h.nodes() {
		all, _, err := node.Holds(t.Context(), h.Event, inventory.HoldKey{}, 10)
		if err != nil || len(all) != 0 {
			t.Errorf("%d holds live on (%v)", len(all), err)
		}
	}
	h.wantUnit(t, 0, 0, 0)
	h.wantUnit(t, floor, 0, 0)
	h.wantUnit(t, 2, 0, 1)
	if again := h.sell(t, saleOf(o.Key, "buyer"))[0]; again.Order == nil || again.Order.ID != o.ID {
		t.Errorf("an order from before is answered %s", answerClass(again.Order, again.Refusal))
	}
	if b := h.board(t); b.State != inventory.Cancelled || b.Revision != before.Revision+1 {
		t.Errorf("the board says %s at revision %d", b.State, b.Revision)
	}
	if ch, err := h.Store.Changes(t.Context(), h.Event, before.Position); err != nil || !ch.Resync || ch.State != inventory.Cancelled {
		t.Errorf("the map is told %+v (%v)", ch, err)
	}
	if n, err := h.Store.Sweep(t.Context(), 10); err != nil || n != 2 {
		t.Errorf("swept %d (%v), want 2", n, err)
	}
	for _, e := range h.log(t) {
		if e.Kind == inventory.LogExpired && e.Reason == "" {
			t.Errorf("the log does not say why a hold of a cancelled event ended")
		}
	}
	if back := h.giveBack(t, inventory.Return{Order: o.ID}); back.Order == nil || back.Order.State != inventory.OrderCancelled {
		t.Errorf("an order of a cancelled event is given back: %s", answerClass(back.Order, back.Refusal))
	}
}

func staleAlteration(t T, h *House) {
	stale := h.alteration(t, inventory.LogCancelled, func(a *inventory.Alteration) {
		a.Event.Terms.State = inventory.Cancelled
		a.Repaint = []inventory.Repaint{{From: 0, Count: 2, Class: 1}}
	})
	stale.Record = &inventory.Record{ID: newCommandID(), Answer: []byte("{}")}
	h.become(t, inventory.Paused)
	mine := h.board(t)
	for range 2 {
		if _, err := h.Store.Alter(t.Context(), h.Event, stale); !errors.Is(err, inventory.ErrStale) {
			t.Errorf("%v, want ErrStale", err)
		}
	}
	h.wantUntouched(t, mine)
	if e, err := h.Store.Event(t.Context(), h.Event); err != nil || e.Terms.State != inventory.Paused {
		t.Errorf("the event is %+v (%v)", e, err)
	}
	again := h.alteration(t, inventory.LogOpened, func(a *inventory.Alteration) { a.Event.Terms.State = inventory.OnSale })
	again.Record = &inventory.Record{ID: newCommandID(), Answer: []byte(`{"opened":true}`), Sealed: []byte("sealed")}
	if _, err := h.Store.Alter(t.Context(), h.Event, again); err != nil {
		t.Fatalf("%v", err)
	}
	_, err := h.Store.Alter(t.Context(), h.Event, again)
	rec, ok := errors.AsType[*inventory.Recorded](err)
	if !ok || string(rec.Record.Answer) != string(again.Record.Answer) || string(rec.Record.Sealed) != "sealed" {
		t.Errorf("the same alteration again: %v", err)
	}
	again.Record.Body[0] = 1
	_, err = h.Store.Alter(t.Context(), h.Event, again)
	refusal, _ := errors.AsType[*inventory.Refusal](err)
	wantCode(t, "another alteration under its id", refusal, inventory.KeyReused)
	h.held(t, one(0))
}

func alterationsAtOnce(t T, h *House) {
	nodes := h.nodes()
	errs := make([]error, rivals)
	before := h.board(t)
	a := h.alteration(t, inventory.LogEdited, nil)
	var wg sync.WaitGroup
	for i := range errs {
		mine, e := a, *a.Event
		mine.Event = &e
		wg.Go(func() { _, errs[i] = nodes[i%len(nodes)].Alter(t.Context(), h.Event, mine) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, inventory.ErrStale) {
			t.Errorf("%v, want ErrStale", err)
		}
	}
	if b := h.board(t); won != 1 || b.Revision != before.Revision+1 || b.Position.Version != before.Position.Version+1 {
		t.Errorf("%d won; revision %d was %d, position %d was %d", won, b.Revision, before.Revision, b.Position.Version, before.Position.Version)
	}
}

func repainting(t T, h *House) {
	mine := h.held(t, one(1))
	before := h.board(t)
	sponsors, public := before.Units[withheld].Class, before.Units[0].Class
	h.alter(t, inventory.LogRepainted, func(a *inventory.Alteration) {
		a.Repaint = []inventory.Repaint{{From: 0, Count: 3, Class: sponsors}, {From: withheld, Count: 1, Class: public}}
	})
	for u, class := range map[inventory.Unit]int{0: sponsors, 1: sponsors, 2: sponsors, 3: public, withheld: public, floor: public} {
		if got := h.board(t).Units[u].Class; got != class {
			t.Errorf("unit %d is of class %d, want %d", u, got, class)
		}
	}
	if ch, err := h.Store.Changes(t.Context(), h.Event, before.Position); err != nil || !ch.Resync {
		t.Errorf("the map is told %+v (%v)", ch, err)
	}
	wantCode(t, "a seat that is withheld now", h.do(t, claimOf(one(0))).Refusal, inventory.AllocationUnavailable)
	h.held(t, one(withheld))
	h.sold(t, mine.Key)
}

func insertions(t T, h *House) {
	before := h.board(t)
	twice := h.alteration(t, inventory.LogEdited, func(a *inventory.Alteration) {
		a.Event.Name = "Never"
		a.Insert = []inventory.Allocation{
			{Unit: floor + 1, Key: "BALCONY", Capacity: 3},
			{Unit: 0, Key: "AGAIN", Seat: true, Capacity: 1}, // there is one already
		}
	})
	if _, err := h.Store.Alter(t.Context(), h.Event, twice); err == nil {
		t.Errorf("a unit has two allocations")
	}
	h.wantUntouched(t, before)
	if e, err := h.Store.Event(t.Context(), h.Event); err != nil || e.Name == "Never" {
		t.Errorf("half of an alteration was made: %+v (%v)", e, err)
	}
	h.alter(t, inventory.LogEdited, func(a *inventory.Alteration) {
		a.Insert = []inventory.Allocation{{Unit: floor + 1, Key: "BALCONY", Capacity: 3}}
	})
	h.held(t, some(floor+1, 3, standard))
	h.wantUnit(t, floor+1, 3, 0)
}

func unknownEvent(t T, h *House) {
	ctx, none := t.Context(), inventory.NewID(inventory.PrefixEvent)
	for _, node := range h.nodes() {
		_, err := node.Apply(ctx, none, []inventory.Command{claimOf(one(0))})
		wantNotFound(t, "Apply", err)
		_, err = node.Sell(ctx, none, []inventory.Sale{saleOf(newKey(), "buyer")})
		wantNotFound(t, "Sell", err)
		_, err = node.Return(ctx, none, inventory.Return{Order: "ord_1"})
		wantNotFound(t, "Return", err)
		_, err = node.Alter(ctx, none, h.alteration(t, inventory.LogEdited, nil))
		wantNotFound(t, "Alter", err)
		_, err = node.Event(ctx, none)
		wantNotFound(t, "Event", err)
		_, _, err = node.Hold(ctx, none, newKey())
		wantNotFound(t, "Hold", err)
		_, _, err = node.Holds(ctx, none, inventory.HoldKey{}, 1)
		wantNotFound(t, "Holds", err)
		_, err = node.Board(ctx, none)
		wantNotFound(t, "Board", err)
		_, err = node.Changes(ctx, none, inventory.Position{})
		wantNotFound(t, "Changes", err)
	}
}

// readings are the checks of promise 9, as far as a store keeps it, and of the log.
func readings() []check {
	return []check{
		{name: "promise 9: the board at a position and the changes after it are the board now", time: true, run: changesAgree},
		{name: "promise 9: a position of another epoch, or one that never was, resyncs", run: foreignPositions},
		{name: "promise 9: log numbers are gapless in commit order, and the log adds up to the board", run: logAddsUp},
		{name: "promise 9: what does nothing moves nothing", run: nothingMoves},
		{name: "holds are listed in key order, the living ones, by page", time: true, run: holdsByPage},
	}
}

func changesAgree(t T, h *House) {
	boards := []*inventory.Board{h.board(t)}
	key := h.brief(t, one(0), some(floor, 2, standard)).Key
	other := h.brief(t, one(7), some(floor, 1, child)).Key
	for _, step := range []func(){
		func() {
			h.do(t, changeOf(key, []inventory.Want{one(1), some(floor, 1, child)}, []inventory.Want{one(0)}))
		},
		func() { h.sold(t, key) },
		func() { h.held(t, one(2), one(3)) },
		func() { h.become(t, inventory.Paused) },
		func() { h.become(t, inventory.OnSale) },
		func() { h.do(t, releaseOf(h.held(t, one(4)).Key)) },
		func() { h.pass(t, ttl) },
		func() { h.held(t, one(7)) },
		func() {
			if _, err := h.Store.Sweep(t.Context(), 10); err != nil {
				t.Errorf("%v", err)
			}
		},
		func() { h.do(t, releaseOf(other)) },
	} {
		boards = append(boards, h.board(t))
		step()
	}
	now := h.board(t)
	for i, old := range boards {
		ch, err := h.Store.Changes(t.Context(), h.Event, old.Position)
		if err != nil || ch.Resync || ch.Position != now.Position || ch.State != now.State || ch.Revision != now.Revision {
			t.Fatalf("from board %d: %+v (%v)", i, ch, err)
		}
		units := slices.Clone(old.Units)
		for u, s := range ch.Units {
			units[u] = s
		}
		if !slices.Equal(units, now.Units) {
			t.Errorf("from board %d: %+v, want %+v", i, units, now.Units)
		}
	}
}

func foreignPositions(t T, h *House) {
	p := h.board(t).Position
	h.held(t, one(0))
	ahead, before, foreign := p, p, p
	ahead.Version += 1000
	before.Version = -1
	foreign.Epoch += "x"
	for name, after := range map[string]inventory.Position{"ahead": ahead, "negative": before, "of another epoch": foreign, "of none": {}} {
		ch, err := h.Store.Changes(t.Context(), h.Event, after)
		if err != nil || !ch.Resync || len(ch.Units) > 0 || ch.Position.Version != p.Version+1 {
			t.Errorf("a position %s: %+v (%v)", name, ch, err)
		}
	}
	now := h.board(t).Position
	if ch, err := h.Store.Changes(t.Context(), h.Event, now); err != nil || ch.Resync || len(ch.Units) > 0 || ch.Position != now {
		t.Errorf("no news: %+v (%v)", ch, err)
	}
}

func logAddsUp(t T, h *House) {
	nodes := h.nodes()
	var wg sync.WaitGroup
	errs := make([]error, rivals)
	for i := range rivals {
		wg.Go(func() {
			for n := range 4 {
				node, c := nodes[i%len(nodes)], claimOf(one(inventory.Unit((i+n)%int(withheld))), one(floor))
				out, err := node.Apply(t.Context(), h.Event, []inventory.Command{c})
				switch {
				case err == nil && out[0].Hold == nil:
				case err == nil && n%2 == 0:
					_, err = node.Apply(t.Context(), h.Event, []inventory.Command{releaseOf(c.Key)})
				case err == nil:
					_, err = node.Sell(t.Context(), h.Event, []inventory.Sale{saleOf(c.Key, c.Key.ID())})
				}
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
	h.wantLogSound(t)
}

// wantLogSound checks that the log has no gap and ends at the position, that its instants do not run
// backwards, and that what it says was taken and let go is what the board shows.
func (h *House) wantLogSound(t T) {
	t.Helper()
	board, entries := h.board(t), h.log(t)
	held, reserved := make(map[inventory.Unit]int64), make(map[inventory.Unit]int64)
	at := inventory.Instant(0)
	for i, e := range entries {
		if e.Number != int64(i)+1 || e.At < at {
			t.Fatalf("entry %d has number %d, at %d after %d", i, e.Number, e.At, at)
		}
		at = e.At
		for _, u := range e.Units {
			switch e.Kind {
			case inventory.LogSold:
				held[u.Unit] -= u.Delta
				reserved[u.Unit] += u.Delta
			case inventory.LogReturned:
				reserved[u.Unit] += u.Delta
			default:
				held[u.Unit] += u.Delta
			}
		}
	}
	if n := board.Position.Version; n != int64(len(entries)) {
		t.Errorf("the position is %d and the log has %d entries", n, len(entries))
	}
	for u, s := range board.Units {
		if s.Held != held[inventory.Unit(u)] || s.Reserved != reserved[inventory.Unit(u)] {
			t.Errorf("unit %d: the board says %d and %d, the log %d and %d", u, s.Held, s.Reserved, held[inventory.Unit(u)], reserved[inventory.Unit(u)])
		}
	}
}

func nothingMoves(t T, h *House) {
	mine := h.held(t, one(0))
	before := h.board(t)
	out := h.apply(t, claimOf(one(0)), releaseOf(newKey()), changeOf(mine.Key, []inventory.Want{one(0)}, nil))
	h.wantUntouched(t, before)
	if out[0].Position != before.Position {
		t.Errorf("a batch that did nothing stands at %v, the board at %v", out[0].Position, before.Position)
	}
	if out := h.do(t, claimOf(one(1))); out.Position.Version <= before.Position.Version || out.Position != h.board(t).Position {
		t.Errorf("a claim stands at %v, the board at %v", out.Position, h.board(t).Position)
	}
}

func holdsByPage(t T, h *House) {
	var living []inventory.HoldKey
	for u := range inventory.Unit(5) {
		living = append(living, h.held(t, one(u)).Key)
	}
	h.brief(t, one(5))
	h.do(t, releaseOf(h.held(t, one(6)).Key))
	h.sold(t, h.held(t, one(7)).Key)
	h.pass(t, ttl)
	var listed []inventory.HoldKey
	var after inventory.HoldKey
	for {
		page, now, err := h.Store.Holds(t.Context(), h.Event, after, 2)
		if err != nil || len(page) > 2 {
			t.Fatalf("%d holds in a page of 2 (%v)", len(page), err)
		}
		for _, o := range page {
			if o.Deadline <= now || len(o.Lines) != 1 {
				t.Errorf("listed at %d: %+v", now, o)
			}
			listed, after = append(listed, o.Key), o.Key
		}
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(listed, sorted(living...)) {
		t.Errorf("%d holds are listed, in an order of their own; want the %d living ones by key", len(listed), len(living))
	}
}
