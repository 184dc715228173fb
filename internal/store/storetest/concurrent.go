package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// The concurrent histories: clients that claim, change, release, buy and give back at random, each
// acting on holds of its own, over few seats and a small area so that they meet all the time.

const (
	smallClients, smallCalls = 4, 5
	largeClients, largeCalls = 8, 30
	smallHistories           = 8
	hotSeats                 = 5
)

func concurrent() []check {
	return []check{
		{name: "small concurrent histories are linearizable as a whole", run: smallAreLinear},
		{name: "large concurrent histories are linearizable unit by unit, straight on the store", run: func(t T, h *House) {
			h.large(t, func(i int) sender { n := h.nodes(); return straight{n[i%len(n)], h.Event} }, batchMax)
		}},
		{name: "large concurrent histories are linearizable unit by unit, through services", run: func(t T, h *House) {
			services := make([]*inventory.Service, 2)
			for i := range services {
				n := h.nodes()
				services[i] = NewService(n[i%len(n)], h.Catalogue)
			}
			plan := h.plan(t)
			h.large(t, func(i int) sender { return throughService{services[i%2], h, plan} }, 1)
		}},
	}
}

func smallAreLinear(t T, h *House) {
	for range smallHistories {
		h.Event = h.smallEvent(t)
		n, seed := h.nodes(), rand.Uint64()
		calls := h.history(t, seed, smallClients, smallCalls, 2, func(i int) sender { return straight{n[i%len(n)], h.Event} })
		wantLinear(t, seed, wholeModel(), operations(calls, false))
		h.wantLogSound(t)
	}
}

func (h *House) large(t T, senders func(int) sender, batch int) {
	seed := rand.Uint64()
	calls := h.history(t, seed, largeClients, largeCalls, batch, senders)
	wantLinear(t, seed, unitModel(), operations(calls, true))
	h.wantLogSound(t)
	h.wantTotals(t, seed, calls)
}

// wantTotals adds up what the answers say and compares it with the board at the end.
func (h *House) wantTotals(t T, seed uint64, calls []*call) {
	t.Helper()
	sums := make(map[inventory.Unit]unitState)
	for _, c := range calls {
		for _, s := range c.sights() {
			was := sums[s.unit]
			sums[s.unit] = unitState{was.held + s.held, was.reserved + s.reserved}
		}
	}
	for u, s := range h.board(t).Units {
		if want := sums[inventory.Unit(u)]; (unitState{s.Held, s.Reserved}) != want {
			t.Errorf("seed %d: unit %d: the board says %+v, the answers add up to %+v", seed, u, unitState{s.Held, s.Reserved}, want)
		}
	}
}

// history lets clients loose and returns their calls, with a board at the end.
func (h *House) history(t T, seed uint64, clients, calls, batch int, senders func(int) sender) []*call {
	t.Helper()
	start := time.Now()
	all := make([]*client, clients)
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for i := range all {
		c := &client{
			number: i, start: start, random: rand.New(rand.NewPCG(seed, uint64(i))), to: senders(i), nodes: h.nodes(), event: h.Event,
			mine: make(map[inventory.HoldKey]amounts),
		}
		all[i] = c
		wg.Go(func() {
			for range calls {
				if err := c.act(t.Context(), batch); err != nil {
					errs[i] = fmt.Errorf("client %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var made []*call
	for _, c := range all {
		made = append(made, c.made...)
	}
	last := &call{client: clients, begun: time.Since(start), board: h.board(t)}
	last.end = time.Since(start)
	return append(made, last)
}

// client is one of those who fight. It alone acts on its holds and orders, so it knows what they have.
type client struct {
	number int
	start  time.Time
	random *rand.Rand
	to     sender
	nodes  []inventory.Store
	event  string
	made   []*call
	mine   map[inventory.HoldKey]amounts
	keys   []inventory.HoldKey // of mine, so that a seed draws the same again
	bought []*inventory.Order
}

// act makes one call.
func (c *client) act(ctx context.Context, batch int) error {
	made := &call{client: c.number, was: make(map[inventory.HoldKey]amounts)}
	c.made = append(c.made, made)
	send := func() error { return c.to.apply(ctx, made) }
	switch d := c.random.IntN(10); {
	case d == 0:
		node := c.nodes[c.number%len(c.nodes)]
		send = func() (err error) { made.board, err = node.Board(ctx, c.event); return err }
	case d == 1 && len(c.bought) > 0:
		o := c.bought[0]
		c.bought = c.bought[1:]
		made.giving, made.order = &inventory.Return{Order: o.ID, By: "key"}, o.Key
		send = func() error { return c.to.giveBack(ctx, made) }
	case d < 4 && len(c.keys) > 0:
		made.sale = new(saleOf(c.pick(), fmt.Sprintf("buyer%d-%d", c.number, len(c.made))))
		send = func() error { return c.to.sell(ctx, made) }
	default:
		about := make(map[inventory.HoldKey]bool) // one command a hold and batch, so that was is what it had
		for range 1 + c.random.IntN(batch) {
			if command := c.command(); !about[command.Key] {
				about[command.Key] = true
				made.commands, made.was[command.Key] = append(made.commands, command), c.mine[command.Key]
			}
		}
	}
	made.begun = time.Since(c.start)
	err := send()
	made.end = time.Since(c.start)
	if err == nil {
		c.learn(made)
	}
	return err
}

// learn keeps what the answers say of the client's holds and orders.
func (c *client) learn(made *call) {
	for i, out := range made.outcomes {
		key := made.commands[i].Key
		switch {
		case out.Hold != nil:
			if _, known := c.mine[key]; !known {
				c.keys = append(c.keys, key)
			}
			c.mine[key] = amountsOf(out.Hold.Lines)
		case out.Released:
			c.forget(key)
		}
	}
	if made.sold.Order != nil {
		c.forget(made.sale.Key)
		c.bought = append(c.bought, made.sold.Order)
	}
}

func (c *client) forget(key inventory.HoldKey) {
	delete(c.mine, key)
	for i, k := range c.keys {
		if k == key {
			c.keys = append(c.keys[:i:i], c.keys[i+1:]...)
			return
		}
	}
}

func (c *client) pick() inventory.HoldKey { return c.keys[c.random.IntN(len(c.keys))] }

func (c *client) wants() []inventory.Want {
	var wants []inventory.Want
	first := c.random.IntN(hotSeats)
	for i := range c.random.IntN(3) {
		wants = append(wants, one(inventory.Unit((first+i)%hotSeats)))
	}
	if len(wants) == 0 || c.random.IntN(2) == 0 {
		wants = append(wants, some(floor, 1+c.random.Int64N(3), standard))
	}
	return wants
}

func (c *client) command() inventory.Command {
	d := c.random.IntN(6)
	if len(c.keys) == 0 || d < 2 {
		claim := claimOf(c.wants()...)
		claim.ID = newCommandID()
		return claim
	}
	key := c.pick()
	if d == 2 {
		return changeOf(key, c.wants(), nil)
	}
	if d == 3 { // one kind of what it has goes
		for u := range floor + 1 {
			if n := c.mine[key].of(u); n > 0 {
				return changeOf(key, nil, []inventory.Want{some(u, n, standard)})
			}
		}
	}
	return releaseOf(key)
}

// throughService sends single commands through a service, which batches them with everybody else's.
type throughService struct {
	service *inventory.Service
	h       *House
	plan    *seatmap.Plan
}

// tokenless names a hold by the organizer's right to it: the clients here make keys, not tokens.
func (s throughService) ref(key inventory.HoldKey) inventory.HoldRef {
	return inventory.HoldRef{Caller: s.h.Caller, Event: s.h.Event, ID: key.ID()}
}

func (s throughService) basket(wants []inventory.Want) (b inventory.Basket) {
	for _, w := range wants {
		if w.Unit == floor {
			b.Areas = append(b.Areas, inventory.AreaWant{Area: "FLOOR", Quantity: w.Quantity, Type: "standard"})
		} else {
			b.Seats = append(b.Seats, s.plan.Seats[w.Unit].Key)
		}
	}
	return b
}

// apply sends the one command of a call. A claim is given its key by the service.
func (s throughService) apply(ctx context.Context, c *call) error {
	command := &c.commands[0]
	var view *inventory.HoldView
	var err error
	out := inventory.Outcome{}
	switch command.Verb {
	case inventory.Claim:
		view, err = s.service.Claim(ctx, inventory.ClaimRequest{Event: s.h.Event, Basket: s.basket(command.Add)})
	case inventory.Change:
		view, err = s.service.Change(ctx, inventory.ChangeRequest{Hold: s.ref(command.Key), Add: s.basket(command.Add), Remove: s.basket(command.Remove)})
	case inventory.Release:
		err = s.service.Release(ctx, s.ref(command.Key))
		out.Released = err == nil
	}
	if out.Refusal, err = refused(err); err != nil {
		return err
	}
	if view != nil {
		out.Hold, out.Now = view.Hold, view.Now
		command.Key = view.Hold.Key
	}
	c.outcomes = []inventory.Outcome{out}
	return nil
}

func (s throughService) sell(ctx context.Context, c *call) error {
	view, err := s.service.Confirm(ctx, inventory.ConfirmRequest{Hold: s.ref(c.sale.Key), Buyer: c.sale.Buyer})
	if c.sold.Refusal, err = refused(err); view != nil {
		c.sold.Order = view.Order
	}
	return err
}

func (s throughService) giveBack(ctx context.Context, c *call) error {
	view, err := s.service.CancelOrder(ctx, s.h.Caller, s.h.Event, c.giving.Order, "test", nil)
	if c.given.Refusal, err = refused(err); view != nil {
		c.given.Order = view.Order
	}
	return err
}

// refused tells a refusal, which is an answer, from an error.
func refused(err error) (*inventory.Refusal, error) {
	if r, ok := errors.AsType[*inventory.Refusal](err); ok {
		return r, nil
	}
	return nil, err
}
