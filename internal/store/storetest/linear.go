package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Judging concurrent histories. An operation is one call of a store: a batch, a sale, a return, a board.
//
// Small histories are judged whole, against the model: is there one order of the calls, each between
// its beginning and its end, in which the model gives every answer that the store gave? That includes
// that baskets are all or nothing, and it takes time that grows quickly with the calls in flight.
//
// Large histories are judged unit by unit. A basket touches several units, and being linearizable is
// not in general a matter of each unit alone, so what is judged of a unit is what the answers say about
// it: who won took so much of it; who was refused over it found too little, exactly so much of an area;
// and who was refused over other units of the basket only found enough of this one, because an answer
// names every unit that was lost. Each of these is a sight of one unit at one moment between the call
// and its answer. If the whole history has an order, the same order restricted to what concerns one unit
// explains all sights of that unit; so a unit without an order proves the whole to have none, and a
// failure is never false. The other way round it proves less: that the moments at which a basket saw
// its units are one moment is what the small histories are for. What a batch says of one unit stays
// together and in the order of its commands, for a batch is judged as if it were alone.

// call is one operation and its answer. Exactly one of the kinds is set.
type call struct {
	client     int
	begun, end time.Duration // since the history began

	commands []inventory.Command
	outcomes []inventory.Outcome
	sale     *inventory.Sale
	sold     inventory.SaleOutcome
	giving   *inventory.Return
	given    inventory.ReturnOutcome
	order    inventory.HoldKey // of giving
	board    *inventory.Board

	was map[inventory.HoldKey]amounts // what holds had before commands about them
}

func (c *call) String() string {
	var parts []string
	for i, command := range c.commands {
		verb := [...]string{"?", "claim", "change", "extend", "release", "expire"}[command.Verb]
		parts = append(parts, fmt.Sprintf("%s %s +%s -%s: %s", verb, command.Key.ID()[20:], wantsText(command.Add), wantsText(command.Remove), outcomeClass(c.outcomes[i])))
	}
	switch {
	case c.sale != nil:
		parts = append(parts, "sell "+c.sale.Key.ID()[20:]+": "+answerClass(c.sold.Order, c.sold.Refusal))
	case c.giving != nil:
		parts = append(parts, "return: "+answerClass(c.given.Order, c.given.Refusal))
	case c.board != nil:
		parts = append(parts, "board: "+boardClass(c.board))
	}
	return strings.Join(parts, "; ")
}

func wantsText(wants []inventory.Want) string {
	a := make(amounts)
	for _, w := range wants {
		a[[2]int{int(w.Unit), max(w.Type, 0)}] += w.Quantity
	}
	return "[" + a.String() + "]"
}

// wholeModel judges calls by the model.
func wholeModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return newModel() },
		Step: func(state, input, _ any) (bool, any) {
			m, c := state.(*model).clone(), input.(*call)
			return m.explains(c), m
		},
		Equal:             func(a, b any) bool { return a.(*model).fingerprint() == b.(*model).fingerprint() },
		DescribeOperation: func(input, _ any) string { return input.(*call).String() },
		DescribeState:     func(state any) string { return state.(*model).board(0) },
	}
}

// explains does a call to the model and reports whether the answers are the same.
func (m *model) explains(c *call) bool {
	for i, command := range c.commands {
		if m.apply(command, c.outcomes[i].Now) != outcomeClass(c.outcomes[i]) {
			return false
		}
	}
	switch {
	case c.sale != nil:
		return m.sell(*c.sale, c.sold.Now) == answerClass(c.sold.Order, c.sold.Refusal)
	case c.giving != nil:
		return m.giveBack(c.order) == answerClass(c.given.Order, c.given.Refusal)
	case c.board != nil:
		return m.board(c.board.Now) == boardClass(c.board)
	}
	return true
}

// fingerprint is all of a model as text. Answers follow from the rest and from the calls that were done.
func (m *model) fingerprint() string {
	var parts []string
	for k, h := range m.holds {
		parts = append(parts, k.ID()+holdClass(h.has, h.deadline))
	}
	for k, o := range m.orders {
		parts = append(parts, k.ID()+o.class())
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// sight is what one command says of one unit: how much of it moved, and what must have been so.
type sight struct {
	unit           inventory.Unit
	held, reserved int64 // moved
	least          int64 // free before it, at least
	exact          bool  // free before it is exactly left, and less than asked for
	left, asked    int64
	reason         inventory.Reason // of a seat that was lost
	board          *inventory.UnitState
}

// glance is all that one call says of one unit, in the order of its commands.
type glance struct {
	unit   inventory.Unit
	sights []sight
	call   *call
}

// unitState is what of one unit is held and reserved.
type unitState struct{ held, reserved int64 }

func (s sight) step(u unitState, capacity int64) (bool, unitState) {
	free := capacity - u.held - u.reserved
	next := unitState{u.held + s.held, u.reserved + s.reserved}
	switch {
	case s.board != nil:
		return *s.board == inventory.UnitState{Capacity: capacity, Held: u.held, Reserved: u.reserved, Class: s.board.Class, Seat: s.board.Seat}, u
	case s.exact && s.reason == inventory.ReasonSoldOut:
		return free == s.left && free < s.asked, u
	case s.exact && s.reason == inventory.ReasonHeld:
		return u.held > 0, u
	case s.exact && s.reason == inventory.ReasonSold:
		return u.reserved > 0, u
	}
	return free >= s.least && next.held >= 0 && next.reserved >= 0 && next.held+next.reserved <= capacity, next
}

// sights are what a call says, unit by unit.
func (c *call) sights() (all []sight) {
	for i, command := range c.commands {
		all = append(all, c.sightsOf(command, c.outcomes[i])...)
	}
	switch {
	case c.sale != nil && c.sold.Order != nil:
		for _, l := range c.sold.Order.Lines {
			all = append(all, sight{unit: l.Unit, held: -l.Quantity, reserved: l.Quantity})
		}
	case c.giving != nil && c.given.Order != nil:
		for _, t := range c.given.Order.Tickets {
			all = append(all, sight{unit: t.Unit, reserved: -1})
		}
	case c.board != nil:
		for u := range c.board.Units {
			all = append(all, sight{unit: inventory.Unit(u), board: &c.board.Units[u]})
		}
	}
	return all
}

// glances are a call's sights, gathered by unit.
func (c *call) glances() (all []glance) {
	for _, s := range c.sights() {
		i := slices.IndexFunc(all, func(g glance) bool { return g.unit == s.unit })
		if i < 0 {
			i = len(all)
			all = append(all, glance{unit: s.unit, call: c})
		}
		all[i].sights = append(all[i].sights, s)
	}
	return all
}

func (c *call) sightsOf(command inventory.Command, out inventory.Outcome) (all []sight) {
	was := c.was[command.Key]
	if command.Verb == inventory.Release && out.Released {
		for u := range floor + 1 {
			if n := was.of(u); n > 0 {
				all = append(all, sight{unit: u, held: -n})
			}
		}
		return all
	}
	if out.Hold != nil {
		is := amountsOf(out.Hold.Lines)
		for u := range floor + 1 {
			if d := is.of(u) - was.of(u); d != 0 {
				all = append(all, sight{unit: u, held: d, least: max(d, 0)})
			}
		}
		return all
	}
	if out.Refusal == nil || out.Refusal.Code != inventory.AllocationUnavailable {
		return nil
	}
	asked := make(map[inventory.Unit]int64)
	for _, w := range command.Add {
		asked[w.Unit] += w.Quantity
	}
	for _, w := range command.Remove {
		asked[w.Unit] -= w.Quantity
	}
	for _, l := range out.Refusal.Conflicts {
		all = append(all, sight{unit: l.Unit, exact: true, reason: l.Reason, left: l.Free, asked: asked[l.Unit]})
		delete(asked, l.Unit)
	}
	for u, n := range asked {
		if n > 0 && was.of(u) == 0 {
			all = append(all, sight{unit: u, least: n})
		}
	}
	return all
}

// unitModel judges what calls say of one unit; histories are partitioned by unit.
func unitModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := make([][]porcupine.Operation, floor+1)
			for _, op := range history {
				u := op.Input.(glance).unit
				parts[u] = append(parts[u], op)
			}
			return parts
		},
		Init: func() any { return unitState{} },
		Step: func(state, input, _ any) (ok bool, next any) {
			u, g := state.(unitState), input.(glance)
			capacity := int64(1)
			if g.unit == floor {
				capacity = floorCapacity
			}
			for _, s := range g.sights {
				if ok, u = s.step(u, capacity); !ok {
					return false, u
				}
			}
			return true, u
		},
		DescribeOperation: func(input, _ any) string { return input.(glance).call.String() },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// operations are calls as porcupine reads them; by unit, one call is many.
func operations(calls []*call, byUnit bool) (ops []porcupine.Operation) {
	for _, c := range calls {
		op := porcupine.Operation{ClientId: c.client, Call: int64(c.begun), Return: int64(c.end), Input: c}
		if !byUnit {
			ops = append(ops, op)
			continue
		}
		for _, g := range c.glances() {
			op.Input = g
			ops = append(ops, op)
		}
	}
	return ops
}

// judgedMax is how long one history may be judged. One that takes longer proves nothing and fails.
const judgedMax = 20 * time.Second

// wantLinear judges a history and draws a picture of one that has no order.
func wantLinear(t T, seed uint64, model porcupine.Model, ops []porcupine.Operation) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(model, ops, judgedMax)
	if result == porcupine.Ok {
		return
	}
	t.Errorf("seed %d: %d operations: linearizable: %s; %s", seed, len(ops), result, draw(t, model, info))
}

// draw makes a picture of a history, which stays when the test is over, and says where it is.
func draw(t T, model porcupine.Model, info porcupine.LinearizationInfo) string {
	picture, err := os.CreateTemp("", "rowlock-history-*.html")
	if err == nil {
		err = errors.Join(porcupine.Visualize(model, info, picture), picture.Close())
	}
	if err != nil {
		return "there is no picture: " + err.Error()
	}
	if _, recording := t.(*recorder); recording { // nobody looks at what a store did that is wrong on purpose
		return fmt.Sprint("a picture was drawn and removed: ", os.Remove(picture.Name()))
	}
	return "the picture is " + picture.Name()
}

// sender is a way to the store: straight, or through a service and its combiner.
type sender interface {
	apply(ctx context.Context, c *call) error
	sell(ctx context.Context, c *call) error
	giveBack(ctx context.Context, c *call) error
}

// straight sends batches to one node. A call that fails is sent again as it was, once, which is all
// that a service does; its interval then covers both.
type straight struct {
	store inventory.Store
	event string
}

const triesMax = 2

func tried[O any](send func() (O, error)) (out O, err error) {
	for range triesMax {
		if out, err = send(); err == nil {
			break
		}
	}
	return out, err
}

func (s straight) apply(ctx context.Context, c *call) (err error) {
	c.outcomes, err = tried(func() ([]inventory.Outcome, error) { return s.store.Apply(ctx, s.event, c.commands) })
	return err
}

func (s straight) sell(ctx context.Context, c *call) error {
	out, err := tried(func() ([]inventory.SaleOutcome, error) { return s.store.Sell(ctx, s.event, []inventory.Sale{*c.sale}) })
	if err == nil {
		c.sold = out[0]
	}
	return err
}

func (s straight) giveBack(ctx context.Context, c *call) (err error) {
	c.given, err = tried(func() (inventory.ReturnOutcome, error) { return s.store.Return(ctx, s.event, *c.giving) })
	return err
}
