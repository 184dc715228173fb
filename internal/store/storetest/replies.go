package storetest

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/internal/inventory"
)

// A letter is a command whose answer may get lost, so that it is sent again as it was. However often
// and whenever a copy comes, there is one effect, and the answer is the first one's.
type letter struct {
	verb string
	// write makes what the command needs, and the command.
	write func(t T, h *House) posted
}

// posted is a letter under way. send delivers one copy and classes the answer; twice delivers two
// copies in one batch, nil for what knows no batches. hold is the hold that it is about, zero for none.
type posted struct {
	send  func(ctx context.Context, node inventory.Store) (string, error)
	twice func(ctx context.Context, node inventory.Store) (first, second string, err error)
	hold  inventory.HoldKey
	// forgotten says that a copy which comes after the hold was let go or swept is a new command: a claim
	// without an id is known by its hold alone.
	forgotten bool
}

func letters() []letter {
	return []letter{
		{"a claim with an id", func(_ T, h *House) posted {
			c := claimOf(one(0), some(floor, 2, standard))
			c.ID = newCommandID()
			return h.command(c)
		}},
		{"a claim without an id", func(_ T, h *House) posted {
			p := h.command(claimOf(one(0), some(floor, 2, standard)))
			p.forgotten = true
			return p
		}},
		{"a change", func(t T, h *House) posted {
			mine := h.held(t, one(0), one(1))
			return h.command(changeOf(mine.Key, []inventory.Want{one(2), some(floor, 2, child)}, []inventory.Want{one(1)}))
		}},
		{"an extension", func(t T, h *House) posted { return h.command(extendOf(h.held(t, one(0)).Key)) }},
		{"a release", func(t T, h *House) posted {
			p := h.command(releaseOf(h.held(t, one(0), some(floor, 2, child)).Key))
			p.hold = inventory.HoldKey{} // it has ended already
			return p
		}},
		{"a sale with an id", func(t T, h *House) posted {
			s := saleOf(h.held(t, one(0), some(floor, 2, child)).Key, "buyer")
			s.ID = newCommandID()
			return h.sale(s)
		}},
		{"a sale without an id", func(t T, h *House) posted {
			return h.sale(saleOf(h.held(t, one(0), some(floor, 2, child)).Key, "buyer"))
		}},
		{"a return with an id", func(t T, h *House) posted {
			o := h.sold(t, h.held(t, one(0), some(floor, 2, child)).Key)
			return h.giving(inventory.Return{Order: o.ID, Tickets: []string{o.Tickets[0].ID}, ID: newCommandID()})
		}},
		{"a return without an id", func(t T, h *House) posted {
			return h.giving(inventory.Return{Order: h.sold(t, h.held(t, one(0), some(floor, 2, child)).Key).ID})
		}},
		{"an alteration", func(t T, h *House) posted {
			a := h.alteration(t, inventory.LogEdited, func(a *inventory.Alteration) { a.Event.Name = "Another Night" })
			a.Record = &inventory.Record{ID: newCommandID(), Answer: []byte("{}")}
			return posted{send: func(ctx context.Context, node inventory.Store) (string, error) {
				mine, e := a, *a.Event
				mine.Event = &e
				_, err := node.Alter(ctx, h.Event, mine)
				return alterClass(err), nil
			}}
		}},
	}
}

func (h *House) command(c inventory.Command) posted {
	event := h.Event
	return posted{
		hold: c.Key,
		send: func(ctx context.Context, node inventory.Store) (string, error) {
			out, err := node.Apply(ctx, event, []inventory.Command{c})
			if err != nil {
				return "", err
			}
			return outcomeClass(out[0]), nil
		},
		twice: func(ctx context.Context, node inventory.Store) (first, second string, err error) {
			out, err := node.Apply(ctx, event, []inventory.Command{c, claimOf(one(7)), c})
			if err != nil {
				return "", "", err
			}
			return outcomeClass(out[0]), outcomeClass(out[2]), nil
		},
	}
}

func (h *House) sale(s inventory.Sale) posted {
	event := h.Event
	return posted{
		send: func(ctx context.Context, node inventory.Store) (string, error) {
			out, err := node.Sell(ctx, event, []inventory.Sale{s})
			if err != nil {
				return "", err
			}
			return answerClass(out[0].Order, out[0].Refusal), nil
		},
		twice: func(ctx context.Context, node inventory.Store) (first, second string, err error) {
			out, err := node.Sell(ctx, event, []inventory.Sale{s, saleOf(newKey(), "nobody"), s})
			if err != nil {
				return "", "", err
			}
			return answerClass(out[0].Order, out[0].Refusal), answerClass(out[2].Order, out[2].Refusal), nil
		},
	}
}

func (h *House) giving(r inventory.Return) posted {
	event := h.Event
	return posted{send: func(ctx context.Context, node inventory.Store) (string, error) {
		out, err := node.Return(ctx, event, r)
		if err != nil {
			return "", err
		}
		return answerClass(out.Order, out.Refusal), nil
	}}
}

// replies are the checks of lost replies, three a verb.
func replies() []check {
	var all []check
	for _, l := range letters() {
		all = append(
			all,
			check{name: "lost reply: " + l.verb + " sent again, also after somebody else, has one effect and one answer", run: l.again},
			check{name: "lost reply: " + l.verb + " sent again in the same batch, or at once, has one effect and one answer", run: l.together},
		)
		if l.verb != "an alteration" {
			all = append(all, check{name: "lost reply: " + l.verb + " that comes late wakes no dead", run: l.late, time: true})
		}
	}
	return all
}

func (p posted) deliver(t T, node inventory.Store) string {
	t.Helper()
	answer, err := p.send(t.Context(), node)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return answer
}

func (l letter) again(t T, h *House) {
	p := l.write(t, h)
	start := h.board(t)
	first := p.deliver(t, h.Store)
	if h.board(t).Position == start.Position {
		t.Fatalf("%s: the first copy did nothing", first)
	}
	nodes := h.nodes()
	for i := range 3 {
		before := h.board(t)
		if answer := p.deliver(t, nodes[i%len(nodes)]); answer != first {
			t.Errorf("copy %d: %s, the first was answered %s", i+2, answer, first)
		}
		h.wantUntouched(t, before)
		// Somebody else has the same seats in mind, and gets others.
		h.apply(t, claimOf(one(0), one(2)), claimOf(some(floor, 1, standard)), claimOf(one(inventory.Unit(4+i))), claimOf(one(1)))
		h.sell(t, saleOf(h.held(t, one(inventory.Unit(8))).Key, "somebody else"))
		h.giveBack(t, inventory.Return{Order: h.lastOrder(t)})
	}
}

// lastOrder is the id of the order that was made last.
func (h *House) lastOrder(t T) string {
	t.Helper()
	last := ""
	for _, e := range h.log(t) {
		if e.Kind == inventory.LogSold {
			last = e.Order
		}
	}
	return last
}

func (l letter) together(t T, h *House) {
	if p := l.write(t, h); p.twice != nil {
		first, second, err := p.twice(t.Context(), h.Store)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if first != second {
			t.Errorf("in one batch: %s, then %s", first, second)
		}
		if third := p.deliver(t, h.Store); third != first {
			t.Errorf("after the batch: %s, in it %s", third, first)
		}
		h.wantLogSound(t)
	}
	h.Event = h.smallEvent(t)
	p := l.write(t, h)
	before := h.board(t).Position
	nodes := h.nodes()
	answers := make([]string, rivals)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answer, err := p.send(t.Context(), nodes[i%len(nodes)])
			if err != nil {
				answer = err.Error()
			}
			answers[i] = answer
		})
	}
	wg.Wait()
	for i, answer := range answers {
		if answer != answers[0] {
			t.Errorf("copy %d at once: %s, another: %s", i, answer, answers[0])
		}
	}
	if n := h.board(t).Position.Version - before.Version; n != 1 {
		t.Errorf("%d copies at once had %d effects", rivals, n)
	}
}

// late lets the hold end in every way, or the world go on, before the copy comes.
func (l letter) late(t T, h *House) {
	for name, end := range map[string]func(inventory.HoldKey){
		"released":            func(k inventory.HoldKey) { h.do(t, releaseOf(k)) },
		"lapsed":              func(inventory.HoldKey) { h.pass(t, ttl) },
		"swept":               func(inventory.HoldKey) { h.pass(t, ttl); h.sweep(t) },
		"taken over":          func(inventory.HoldKey) { h.pass(t, ttl); h.held(t, one(0)) },
		"sold":                func(k inventory.HoldKey) { h.sold(t, k) },
		"sold and given back": func(k inventory.HoldKey) { h.giveBack(t, inventory.Return{Order: h.sold(t, k).ID}) },
	} {
		h.Event = h.briefEvent(t)
		p := l.write(t, h)
		first := p.deliver(t, h.Store)
		if p.forgotten && (name == "released" || name == "swept") {
			continue
		}
		if !p.hold.IsZero() {
			end(p.hold)
		} else {
			h.do(t, claimOf(one(0), some(floor, 1, standard))) // what was let go is somebody else's now
		}
		before := h.board(t)
		answer := p.deliver(t, h.Store)
		h.wantUntouched(t, before)
		if answer != first && !p.forgotten {
			t.Errorf("%s: the late copy is answered %s, the first was %s", name, answer, first)
		}
		if _, _, err := h.Store.Hold(t.Context(), h.Event, p.hold); err == nil {
			t.Errorf("%s: the late copy has woken the hold", name)
		}
		h.Audit(t)
	}
}

func (h *House) sweep(t T) {
	t.Helper()
	if _, err := h.Store.Sweep(t.Context(), 100); err != nil {
		t.Fatalf("sweep: %v", err)
	}
}

// briefEvent is a small event whose holds live for ttl seconds.
func (h *House) briefEvent(t T) string {
	t.Helper()
	id := h.smallEvent(t)
	e := h.Event
	h.Event = id
	h.alter(t, inventory.LogEdited, func(a *inventory.Alteration) { a.Event.Terms.HoldSeconds = ttl })
	h.Event = e
	return id
}
