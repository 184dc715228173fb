package sim

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// house is one of the maps that the event moves between. The second has a row in front of the others, so
// that every seat has another place, a larger floor, and not the first seat of the first.
type house struct {
	rows  [][]string // keys of seats, in the map's order
	floor int64
}

const (
	leaving   = "STALLS-A-1" // the seat that the second map does not have
	newRow    = "C"
	newSeats  = 2
	floorUnit = inventory.Unit(2 * rowSeats) // on the first map, and so for ever

	standardPrice, premiumPrice = 4500, 6000 // minor units
	dearRow                     = "STALLS-B" // what is repainted to be one or the other

	// A node's copy of an event is a second old at most when a request begins to look at it, but reading it
	// may have taken as long as anything takes.
	copyAge = 20 * time.Second
)

func houses() []house {
	row := func(label string, from, to int) (keys []string) {
		for n := from; n <= to; n++ {
			keys = append(keys, fmt.Sprintf("STALLS-%s-%d", label, n))
		}
		return keys
	}
	return []house{
		{[][]string{row("A", 1, rowSeats), row("B", 1, rowSeats)}, floorSize},
		{[][]string{row(newRow, 1, newSeats), row("A", 2, rowSeats), row("B", 1, rowSeats)}, floorSize + 2},
	}
}

func (h house) seats() []string { return slices.Concat(h.rows...) }

func (h house) has(unit string) bool { return unit == floor || slices.Contains(h.seats(), unit) }

// arriving are the seats that only the second map has.
func arriving() []string { return houses()[1].rows[0] }

// passing says that a seat is on one map only.
func passing(seat string) bool { return seat == leaving || slices.Contains(arriving(), seat) }

// drawing is a house as a map's file.
func (h house) drawing() string {
	var rows []string
	for y, keys := range h.rows {
		places := make([]string, len(keys))
		for x, key := range keys {
			places[x] = fmt.Sprintf(`{"label":%q,"x":%d,"y":%d}`, key[strings.LastIndex(key, "-")+1:], 10*x, 100+10*y)
		}
		rows = append(rows, fmt.Sprintf(`{"label":%q,"seats":[%s]}`, strings.Split(keys[0], "-")[1], strings.Join(places, ",")))
	}
	return fmt.Sprintf(`{"format":"rowlock-map/1","name":"Test House","focal_point":{"x":25,"y":0},
		"sections":[{"key":"STALLS","name":"Stalls","rows":[%s]}],"areas":[{"key":%q,"name":"Floor","capacity":%d}]}`,
		strings.Join(rows, ","), floor, h.floor)
}

// shownOn is the house that a board is of.
func (w *world) shownOn(b *client.Board) house {
	i := slices.Index(w.house.maps, b.Map)
	if i < 0 {
		w.breach("promise 9: a board is of map %q", b.Map)
		i = 0
	}
	return houses()[i]
}

// The organizer's deeds.

// move takes the event to another map, as soon as nobody has what that lacks.
func (p *person) move(to int) {
	const attempts = 5
	body := fmt.Sprintf(`{"map":%q}`, p.world.house.maps[to])
	for range attempts {
		o := p.ask(op{kind: "move", to: to}, request{method: http.MethodPatch, path: "/map", body: body}, false)
		switch {
		case o.open():
		case o.status == http.StatusOK:
			p.world.count("moved to another map")
			if to == 0 {
				p.world.count("moved back to a map")
			}
			return
		case o.code == "CHANGE_UNSAFE":
			p.world.count("move refused for what is held or sold")
		default:
			return
		}
		p.doze(50*time.Millisecond, 700*time.Millisecond)
	}
}

// reprice repaints a row to the other ticket type.
func (p *person) reprice() {
	kind := []string{"standard", "premium"}[p.rng.IntN(2)]
	body := fmt.Sprintf(`{"where":{"rows":[%q]},"set":{"ticket_types":[%q]}}`, dearRow, kind)
	live := p.world.liveHolds()
	o := p.ask(op{kind: "repaint"}, request{method: http.MethodPatch, path: "/allocations", body: body, key: p.newKey()}, true)
	if o.seen && o.status == http.StatusOK && live > 0 {
		p.world.count("repaint beside live holds")
	}
}

// The checks.

// mayTakeEffect is when a move may have been made: from when it was sent to when it was answered, or as long after
// that as a command goes on by itself.
func (o *op) mayTakeEffect() lease {
	switch {
	case o.status == http.StatusOK:
		return lease{o.sent, o.answered}
	case o.unknown() || o.status == 0 && o.by != nil:
		return lease{o.sent, min(o.answered+aftermath, o.by.diedAt)}
	}
	return lease{never, never}
}

// readMoves collects the moves that may have been made.
func (l *ledger) readMoves() {
	l.moves = []*op{{kind: "move", status: http.StatusOK}} // to the first map, before anything
	for _, o := range l.ops {
		if o.kind == "move" && o.mayTakeEffect().from < never {
			l.moves = append(l.moves, o)
		}
	}
}

// onMaps are the houses that the event may have been in at some time of a span: each to which a move may
// have been made, unless another was certainly there between that and the span.
func (l *ledger) onMaps(from, to time.Duration) []house {
	var all []house
	for _, o := range l.moves {
		made := o.mayTakeEffect()
		left := func(other *op) bool {
			return other.status == http.StatusOK && other.to != o.to && other.sent >= made.to && other.answered <= from
		}
		if made.from <= to && !slices.ContainsFunc(l.moves, left) {
			all = append(all, houses()[o.to])
		}
	}
	return all
}

// lacks says that some unit may have been on no map that the event was on.
func (l *ledger) lacks(from, to time.Duration, units ...string) bool {
	return slices.ContainsFunc(l.onMaps(from, to), func(h house) bool {
		return slices.ContainsFunc(units, func(unit string) bool { return !h.has(unit) })
	})
}

// floors are the least and the most that the floor may have had in a span.
func (l *ledger) floors(from, to time.Duration) (least, most int64) {
	all := l.onMaps(from, to)
	by := func(a, b house) int { return cmp.Compare(a.floor, b.floor) }
	return slices.MinFunc(all, by).floor, slices.MaxFunc(all, by).floor
}

// floorOf is the least that the floor may have had while a request was answered.
func (l *ledger) floorOf(o *op) int64 {
	least, _ := l.floors(o.sent, o.answered)
	return least
}

// staying: promise 1. What somebody can count on, held or sold, is on the map that the event is on.
func (l *ledger) staying() {
	for unit, stakes := range l.sure {
		for _, s := range stakes {
			at := []time.Duration{s.from}
			for _, o := range l.moves {
				at = append(at, o.answered)
			}
			for _, t := range at {
				if on := func(h house) bool { return h.has(unit) }; s.covers(t, t) && !slices.ContainsFunc(l.onMaps(t, t), on) {
					l.breach("promise 1: %s is in %s, and at %v no longer on the map", unit, l.lives[s.hold], t)
					break
				}
			}
		}
	}
}

// priced: promise 8. What was claimed at a price keeps it, whatever becomes of its seat meanwhile.
func (l *ledger) priced(h *life) {
	changed := make(map[string]bool) // let go and claimed again, perhaps
	for _, o := range h.ops {
		for unit := range o.want.and(o.less) {
			changed[unit] = changed[unit] || o.kind == "change"
		}
	}
	prices := make(map[string]int64)
	for _, o := range slices.Concat(h.claims, h.ops) {
		var lines []client.Line
		switch {
		case o.held != nil:
			lines = o.held.Lines
		case o.order != nil && o.kind == "confirm":
			lines = o.order.Lines
		}
		for _, line := range lines {
			unit := line.Seat + line.Area
			if changed[unit] {
				continue
			}
			if was, known := prices[unit]; known && was != line.Price {
				l.breach("promise 8: %s in %v costs %d, and then %d in the answer to %s", unit, h, was, line.Price, o.kind)
			}
			prices[unit] = line.Price
		}
	}
}

// The mutants.

// oldSnapshot judges what a move takes away by a board that it has read some time before, and then makes
// it, whoever holds the seat by then.
type oldSnapshot struct {
	altered
	g    *generation
	node int
}

func (m *oldSnapshot) Alter(ctx context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	before, err := m.Board(ctx, event)
	if err != nil {
		return inventory.AlterResult{}, err
	}
	for _, u := range a.Drop {
		if int(u) < len(before.Units) && before.Units[u].Held+before.Units[u].Reserved > 0 {
			return inventory.AlterResult{}, &inventory.Refusal{Code: inventory.ChangeUnsafe, Total: 1}
		}
	}
	if len(a.Drop) > 0 {
		w := &weather{generation: m.g, node: m.node}
		w.who(ctx, verbOther).doze(0, 300*time.Millisecond)
		holds, _, err := m.Holds(ctx, event, inventory.HoldKey{}, 1000)
		if err != nil {
			return inventory.AlterResult{}, err
		}
		for _, h := range holds {
			if !slices.ContainsFunc(h.Lines, func(line inventory.Line) bool { return slices.Contains(a.Drop, line.Unit) }) {
				continue
			}
			if _, err := m.Apply(ctx, event, []inventory.Command{{Verb: inventory.Release, Key: h.Key, By: "mutant"}}); err != nil {
				return inventory.AlterResult{}, err
			}
		}
	}
	return m.altered.Alter(ctx, event, a)
}

// todaysPrices sells at what seats cost when they are bought.
type todaysPrices struct{ altered }

func (m *todaysPrices) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	outcomes, err := m.altered.Sell(ctx, event, batch)
	if err != nil {
		return nil, err
	}
	e, err := m.Event(ctx, event)
	if err != nil {
		return nil, err
	}
	b, err := m.Board(ctx, event)
	if err != nil {
		return nil, err
	}
	for i, o := range outcomes {
		if o.Order == nil {
			continue
		}
		dear := *o.Order
		dear.Lines = slices.Clone(o.Order.Lines)
		for j, line := range dear.Lines {
			class := e.Terms.Classes[b.Units[line.Unit].Class]
			dear.Lines[j].Price = e.Terms.Types[class.Types[0]].Price
		}
		outcomes[i].Order = &dear
	}
	return outcomes, nil
}
