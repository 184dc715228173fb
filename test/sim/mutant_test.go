package sim

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
)

// mutant is a server with a fault of the kind that others have had. The simulation must catch each, or
// it proves nothing. Zero fields change nothing.
type mutant struct {
	name      string
	store     func(g *generation, node int) inventory.Store
	request   func(*world, *http.Request)
	restarted func(old, fresh *generation)
}

func mutants() []mutant {
	return []mutant{
		{name: "check, then set", store: func(g *generation, node int) inventory.Store { return &checkThenSet{altered{g.store}, g, node} }},
		{name: "no token check", request: anyToken},
		{name: "a retry that loses to itself", store: func(g *generation, _ int) inventory.Store { return &losesToItself{altered{g.store}} }},
		{
			name:      "answered before the commit",
			store:     func(g *generation, _ int) inventory.Store { return &early{altered{g.store}, g} },
			restarted: loseEarly,
		},
		{name: "expiry by the application's clock", store: func(g *generation, _ int) inventory.Store { return &ownClock{altered{g.store}} }},
		{name: "half a basket", store: func(g *generation, _ int) inventory.Store { return &halfBasket{altered{g.store}} }},
		{name: "another order for who asks again", store: func(g *generation, _ int) inventory.Store {
			return &newOrders{altered{g.store}, make(map[inventory.HoldKey]bool)}
		}},
		{
			name:      "an order that a crash forgets",
			store:     func(g *generation, _ int) inventory.Store { return &earlySale{altered{g.store}, g} },
			restarted: loseOrders,
		},
		{name: "a map that is not told", store: func(g *generation, _ int) inventory.Store { return &silent{altered{g.store}} }},
		{name: "a move judged by an old snapshot", store: func(g *generation, node int) inventory.Store { return &oldSnapshot{altered{g.store}, g, node} }},
		{name: "the price of today", store: func(g *generation, _ int) inventory.Store { return &todaysPrices{altered{g.store}} }},
		{name: "holds that are left", store: func(g *generation, _ int) inventory.Store { return &unswept{altered{g.store}} }},
	}
}

// altered is the real store, for what a mutant leaves as it is.
type altered struct{ inventory.Store }

// overlaps says that a hold has something that a command claims.
func overlaps(h *inventory.Hold, c *inventory.Command) bool {
	for _, l := range h.Lines {
		for _, w := range c.Add {
			if l.Unit == w.Unit {
				return true
			}
		}
	}
	return false
}

// checkThenSet looks whether seats are free, and some time later writes its hold over whatever is
// there by then: SET without NX.
type checkThenSet struct {
	altered
	g    *generation
	node int
}

func (m *checkThenSet) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	free := func(c *inventory.Command, holds []*inventory.Hold) bool {
		for _, h := range holds {
			if overlaps(h, c) {
				return false
			}
		}
		return true
	}
	before, _, err := m.Holds(ctx, event, inventory.HoldKey{}, 1000)
	if err != nil {
		return nil, err
	}
	w := &weather{generation: m.g, node: m.node}
	w.who(ctx, verbApply).doze(0, 80*time.Millisecond)
	after, _, err := m.Holds(ctx, event, inventory.HoldKey{}, 1000)
	if err != nil {
		return nil, err
	}
	for i := range batch {
		c := &batch[i]
		if c.Verb != inventory.Claim || !free(c, before) {
			continue
		}
		for _, h := range after {
			if overlaps(h, c) && h.Key != c.Key && !allAreas(h) {
				if _, err := m.altered.Apply(ctx, event, []inventory.Command{{Verb: inventory.Release, Key: h.Key, By: "mutant"}}); err != nil {
					return nil, err
				}
			}
		}
	}
	return m.altered.Apply(ctx, event, batch)
}

// allAreas says that a hold has no seats: areas are counted, not set.
func allAreas(h *inventory.Hold) bool {
	for _, l := range h.Lines {
		if l.Unit != floorUnit {
			return false
		}
	}
	return true
}

// anyToken acts on a hold for whoever knows its id.
func anyToken(w *world, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Header.Get("Hold-Token") == "" {
		return
	}
	for id, token := range w.tokens {
		if strings.Contains(r.URL.Path, id) {
			r.Header.Set("Hold-Token", token)
		}
	}
}

// losesToItself does not know a claim again that it has made: it finds the seats held.
type losesToItself struct{ altered }

func (m *losesToItself) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	outcomes, err := m.altered.Apply(ctx, event, batch)
	for i, o := range outcomes {
		if o.Replayed && batch[i].Verb == inventory.Claim && o.Hold != nil {
			refusal := &inventory.Refusal{Code: inventory.AllocationUnavailable}
			for _, l := range o.Hold.Lines {
				c := inventory.Conflict{Unit: l.Unit, Requested: l.Quantity, Reason: inventory.ReasonHeld}
				if l.Unit == floorUnit {
					c.Reason = inventory.ReasonSoldOut
				}
				refusal.Conflicts = append(refusal.Conflicts, c)
			}
			outcomes[i] = inventory.Outcome{Refusal: refusal, Now: o.Now}
		}
	}
	return outcomes, err
}

// early answers holds that are written some time later: those of the last moments do not outlive a crash.
type early struct {
	altered
	g *generation
}

const unwritten = 400 * time.Millisecond

func (m *early) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	outcomes, err := m.altered.Apply(ctx, event, batch)
	for i, o := range outcomes {
		if batch[i].Verb == inventory.Claim && o.Hold != nil {
			m.g.remember(recent{key: o.Hold.Key})
		}
	}
	return outcomes, err
}

// recent is a hold or an order, and when it was made.
type recent struct {
	key   inventory.HoldKey
	order string
	at    time.Duration
}

func (g *generation) remember(r recent) {
	r.at = g.world.now()
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	g.recent = append(g.recent, r)
}

func loseEarly(old, fresh *generation) {
	for _, r := range old.recent {
		if old.diedAt-r.at < unwritten {
			lost := inventory.Command{Verb: inventory.Release, Key: r.key, By: "mutant"}
			if _, err := fresh.store.Apply(context.Background(), old.world.house.event, []inventory.Command{lost}); err != nil {
				old.world.breach("mutant: %v", err)
			}
		}
	}
}

// ownClock ends holds by the server's clock, which is not the database's.
type ownClock struct{ altered }

func (m *ownClock) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	holds, _, err := m.Holds(ctx, event, inventory.HoldKey{}, 1000)
	if err != nil {
		return nil, err
	}
	var end []inventory.Command
	for _, h := range holds {
		if h.Deadline <= inventory.InstantOf(time.Now()) {
			end = append(end, inventory.Command{Verb: inventory.Release, Key: h.Key, By: "mutant"})
		}
	}
	if len(end) > 0 {
		if _, err := m.altered.Apply(ctx, event, end); err != nil {
			return nil, err
		}
	}
	return m.altered.Apply(ctx, event, batch)
}

// halfBasket gives what it can.
type halfBasket struct{ altered }

func (m *halfBasket) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	batch = slices.Clone(batch)
	for i := range batch {
		if c := &batch[i]; c.Verb == inventory.Claim && len(c.Add) > 1 {
			c.Add = c.Add[:len(c.Add)-1]
		}
	}
	return m.altered.Apply(ctx, event, batch)
}

// newOrders answers a second confirmation with an order of its own.
type newOrders struct {
	altered
	sold map[inventory.HoldKey]bool
}

func (m *newOrders) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	outcomes, err := m.altered.Sell(ctx, event, batch)
	for i := range outcomes {
		o := &outcomes[i]
		if o.Order == nil {
			continue
		}
		if m.sold[batch[i].Key] {
			another := *o.Order
			another.ID = batch[i].Order
			o.Order = &another
		}
		m.sold[batch[i].Key] = true
	}
	return outcomes, err
}

// earlySale answers orders that are written some time later.
type earlySale struct {
	altered
	g *generation
}

func (m *earlySale) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	outcomes, err := m.altered.Sell(ctx, event, batch)
	for _, o := range outcomes {
		if o.Order != nil {
			m.g.remember(recent{order: o.Order.ID})
		}
	}
	return outcomes, err
}

func loseOrders(old, fresh *generation) {
	for _, r := range old.recent {
		if old.diedAt-r.at < unwritten {
			if _, err := fresh.store.Return(context.Background(), old.world.house.event, inventory.Return{Order: r.order, By: "mutant"}); err != nil {
				old.world.breach("mutant: %v", err)
			}
		}
	}
}

// silent tells nobody what became of a seat.
type silent struct{ altered }

func (m *silent) Changes(ctx context.Context, event string, after inventory.Position) (*inventory.Changes, error) {
	ch, err := m.altered.Changes(ctx, event, after)
	if err == nil {
		delete(ch.Units, 3)
	}
	return ch, err
}

// unswept leaves lapsed holds where they are.
type unswept struct{ altered }

func (*unswept) Sweep(context.Context, int) (int, error) { return 0, nil }
