package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// tick is how exactly deadlines are known: the database's clock has milliseconds.
const tick = 2 * time.Millisecond

// aftermath is how long a command can still be done after its handler has given up: it was in a batch
// by then, and a batch is tried twice, the second time only before its deadline.
const aftermath = 40 * time.Second

// life is all that is known of one hold when the run is over.
type life struct {
	id     string
	claims []*op // answered 201, first sent first
	ops    []*op // meant for it, in the order in which they were sent
	ttl    time.Duration
	born   time.Duration // first asked for
	last   time.Time     // the latest deadline that it may have had
	leases []lease       // when its client could count on it
	gone   time.Duration // when its end was answered: a release, or never
	sold   *op           // the first confirmation that was answered and seen
	bought bool          // some confirmation may have been done
}

// String names a hold as the history does not have to: by who asked for it, and when.
func (h *life) String() string { return fmt.Sprintf("client %d's hold of %v", h.claims[0].who, h.born) }

// lease is a span of a run.
type lease struct{ from, to time.Duration }

func (l lease) covers(from, to time.Duration) bool { return l.from <= from && to <= l.to-tick }

// stake is some of a unit that is somebody's for a while.
type stake struct {
	lease
	hold     string
	quantity int64
}

// ledger is what the clients know, put together.
type ledger struct {
	*world
	lives    map[string]*life
	order    []*life
	sure     map[string][]stake       // what clients could count on, by unit
	possible map[string][]stake       // whatever anybody may have had, by unit
	given    map[string]time.Duration // when the cancelling of a ticket was first asked for
	back     map[string]time.Duration // when it was answered
	moves    []*op                    // to another map, that may have been made
}

// check holds the run to the promises.
func (w *world) check() {
	slices.SortStableFunc(w.ops, func(a, b *op) int { return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.who, b.who)) })
	l := &ledger{
		world: w, lives: make(map[string]*life), sure: make(map[string][]stake), possible: make(map[string][]stake),
		given: make(map[string]time.Duration), back: make(map[string]time.Duration),
	}
	l.readCancellations()
	l.readMoves()
	l.readLives()
	for _, h := range l.order {
		l.follow(h)
		l.suppose(h)
		l.priced(h)
	}
	l.supposeUnknown()
	l.exclusive()
	l.staying()
	for _, o := range w.ops {
		l.plain(o)
		l.refused(o)
		l.shown(o)
		l.acted(o)
	}
	l.replays()
	l.kept()
	l.audit("at the end")
}

func (l *ledger) readCancellations() {
	note := func(into map[string]time.Duration, id string, at time.Duration) {
		if old, ok := into[id]; !ok || at < old {
			into[id] = at
		}
	}
	for _, o := range l.ops {
		if o.kind != "cancel order" && o.kind != "cancel ticket" {
			continue
		}
		note(l.given, o.hold, o.sent)
		if o.status == http.StatusOK {
			l.count("ticket given back")
			note(l.back, o.hold, o.answered)
		}
	}
}

// cancelled is when a ticket's cancelling was in one of the two maps: by itself or with its order.
func cancelled(in map[string]time.Duration, order, ticket string) time.Duration {
	at := never
	for _, id := range []string{order, ticket} {
		if t, ok := in[id]; ok {
			at = min(at, t)
		}
	}
	return at
}

func (l *ledger) readLives() {
	for _, o := range l.ops {
		if o.kind != "claim" || o.status != http.StatusCreated {
			continue
		}
		h := l.lives[o.held.ID]
		if h == nil {
			h = &life{id: o.held.ID, ttl: o.ttl, born: o.first, gone: never}
			l.lives[h.id] = h
			l.order = append(l.order, h)
		}
		h.claims = append(h.claims, o)
		h.last = later(h.last, o.held.ExpiresAt)
	}
	for _, o := range l.ops {
		if h := l.lives[o.hold]; h != nil && !o.wrong {
			h.ops = append(h.ops, o)
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// follow goes through a hold's life as its client saw it, and notes what the client could count on.
func (l *ledger) follow(h *life) {
	cap := l.clock.after(h.born, max(holdLife, h.ttl))
	lines, from := basket(nil), time.Duration(0)
	for _, o := range h.claims {
		if o.seen && !o.echo {
			h.leases = append(h.leases, lease{o.answered, l.clock.after(h.born, h.ttl)})
			if lines == nil {
				lines, from = linesOf(o.held), o.answered
			}
		}
	}
	type span struct {
		lease
		lines basket
	}
	var spans []span
	cut := func(at time.Duration, next basket, again time.Duration) {
		if lines != nil {
			spans = append(spans, span{lease{from, at}, lines})
		}
		lines, from = next, again
	}
	for _, o := range h.ops {
		l.deadlines(h, o, cap)
		switch {
		case o.echo:
		case o.kind == "release" && h.sold == nil:
			cut(o.sent, nil, 0)
		case o.kind == "change" && o.seen && o.status == http.StatusOK && o.before != nil:
			cut(o.first, linesOf(o.held), o.answered)
		case o.kind == "change" && o.mayStillBeDone():
			cut(o.first, nil, 0)
		case o.kind == "confirm" && o.seen && o.status == http.StatusCreated && h.sold == nil:
			h.sold = o
			cut(o.answered, nil, 0)
			l.own(h, o)
		}
	}
	cut(never, nil, 0)
	for _, s := range spans {
		for _, t := range h.leases {
			for unit, n := range s.lines {
				l.stake(l.sure, unit, stake{lease{max(s.from, t.from), min(s.to, t.to, l.cancelAt)}, h.id, n})
			}
		}
	}
}

// deadlines notes what an op did, or may have done, to how long a hold lives.
func (l *ledger) deadlines(h *life, o *op, cap time.Duration) {
	prolongs := o.kind == "extend" || o.kind == "change" && len(o.want) > 0
	switch {
	case o.status == http.StatusOK && o.held != nil && o.held.State == "live":
		h.last = later(h.last, o.held.ExpiresAt)
		if prolongs && o.seen && !o.echo && (o.kind == "extend" || o.before != nil) { // adding what the hold has does nothing
			h.leases = append(h.leases, lease{o.answered, min(cap, l.clock.after(o.first, h.ttl))})
		}
	case prolongs && o.unknown():
		h.last = later(h.last, h.claims[0].held.ExtendUntil)
	case o.kind == "release" && o.status == http.StatusNoContent:
		h.gone = min(h.gone, o.answered)
	case o.kind == "confirm" && (o.status == http.StatusCreated || o.unknown()):
		h.bought = true
	}
}

func (l *ledger) stake(in map[string][]stake, unit string, s stake) {
	if s.from < s.to {
		in[unit] = append(in[unit], s)
	}
}

// own is what an order that was answered is worth: its tickets, until somebody asks for their cancelling.
func (l *ledger) own(h *life, o *op) {
	for _, t := range o.order.Tickets {
		l.stake(l.sure, t.Seat+t.Area, stake{lease{o.answered, min(cancelled(l.given, o.order.ID, t.ID), l.cancelAt)}, h.id, 1})
	}
}

// suppose notes all that a hold may have had at any time.
func (l *ledger) suppose(h *life) {
	ever := linesOf(h.claims[0].held)
	for _, o := range h.ops {
		if o.kind == "change" && (o.status == http.StatusOK || o.unknown()) {
			for unit, n := range o.want {
				ever[unit] += n
			}
		}
	}
	until := min(h.gone, l.clock.lastBefore(h.last)+tick)
	if h.bought {
		until = never
		if h.sold != nil {
			until = l.wholeBack(h.sold.order)
		}
	}
	for unit, n := range ever {
		l.stake(l.possible, unit, stake{lease{h.born, until}, h.id, n})
	}
}

// wholeBack is when the last ticket of an order was given back.
func (l *ledger) wholeBack(o *client.Order) time.Duration {
	var last time.Duration
	for _, t := range o.Tickets {
		last = max(last, cancelled(l.back, o.ID, t.ID))
	}
	return last
}

// supposeUnknown notes what claims without an answer may have held.
func (l *ledger) supposeUnknown() {
	for n, o := range l.ops {
		if o.kind != "claim" || !o.unknown() {
			continue
		}
		latest := min(o.answered+aftermath, o.by.diedAt)
		until := l.clock.lastBefore(l.clock.latest(o.sent, latest).Add(o.ttl)) + tick
		want := o.want
		if o.best > 0 {
			want = basket{}
			for _, h := range houses() {
				for _, seat := range h.seats() {
					want[seat] = 1
				}
			}
		}
		for unit, quantity := range want {
			l.stake(l.possible, unit, stake{lease{o.sent, until}, cmp.Or(o.key, fmt.Sprint("unknown ", n)), quantity})
		}
	}
}

// exclusive: promises 1 and 2, as clients see them. What they can count on at any one moment is never more than there is.
func (l *ledger) exclusive() {
	for unit, stakes := range l.sure {
		for _, s := range stakes {
			capacity := int64(1)
			if unit == floor {
				_, capacity = l.floors(s.from, s.from)
			}
			most := basket{} // by hold
			for _, other := range stakes {
				if other.from <= s.from && s.from < other.to-tick {
					most[other.hold] = max(most[other.hold], other.quantity)
				}
			}
			if n := total(most); n > capacity {
				var whose []string
				for id := range most {
					whose = append(whose, l.lives[id].String())
				}
				slices.Sort(whose)
				l.breach("promise 1: %d of %d of %s are somebody's at %v: %s", n, capacity, unit, s.from, strings.Join(whose, ", "))
				break
			}
		}
	}
}

// plain: statuses that are never right, or not in this weather.
func (l *ledger) plain(o *op) {
	if o.status >= http.StatusInternalServerError && o.status != http.StatusServiceUnavailable {
		l.breach("%s is answered %d", o.kind, o.status)
	}
	if l.climate.fair() && (o.status == 0 || o.unknown() || o.code == "OVERLOADED") {
		l.breach("%s is answered %d %s in fair weather", o.kind, o.status, o.code)
	}
	if o.code == "EVENT_NOT_ON_SALE" {
		l.count("event not on sale")
		if !l.mayBeOff(o.answered) {
			l.breach("promise 2: %s hears that an event is not on sale that always was", o.kind)
		}
	}
	if o.code == "INVALID" && (o.kind == "claim" || o.kind == "change" && o.before != nil && !o.mayStillBeDone()) {
		l.unknownSeat(o)
	}
}

// unknownSeat: a claim and a change are only wrong when they name a seat that is not on the map, and what a
// living hold has is on it.
func (l *ledger) unknownSeat(o *op) {
	l.count("seat that is on another map")
	asked := slices.Collect(maps.Keys(o.want))
	if h := l.lives[o.hold]; h == nil || h.bought || !l.alive(h, o) {
		asked = slices.AppendSeq(asked, maps.Keys(o.less))
	}
	if !l.lacks(o.sent-copyAge, o.answered, asked...) {
		l.breach("promise 3: a %s of what there is, is %d %v", o.kind, o.status, o.problem.Errors)
	}
}

func (l *ledger) mayBeOff(t time.Duration) bool {
	return slices.ContainsFunc(l.ops, func(o *op) bool { return (o.kind == "pause" || o.kind == "cancel") && o.sent < t })
}

// refused: promise 2. Whoever hears that a unit is taken can be shown who may have had it.
func (l *ledger) refused(o *op) {
	if o.kind != "claim" && o.kind != "change" || o.code != "ALLOCATION_UNAVAILABLE" {
		return
	}
	l.count("rejected claim")
	if len(o.problem.Conflicts) == 0 {
		l.breach("promise 2: a %s is refused and not told why", o.kind)
	}
	for _, c := range o.problem.Conflicts {
		switch c.Reason {
		case "held", "sold":
			if l.taken(o, c.Seat, o.hold) == 0 {
				l.breach("promise 2: client %d's %s of %v hears %q of %s, which nobody can have had", o.who, o.kind, o.sent, c.Reason, c.Seat)
			}
		case "sold_out":
			if n, size := l.taken(o, c.Area, ""), l.floorOf(o); n+*c.Requested <= size || *c.Free >= *c.Requested {
				l.breach("promise 2: %d of %s asked for, %d said to be free, %d can have been taken", *c.Requested, c.Area, *c.Free, n)
			}
		case "no_block":
			l.count("no_block")
			if free := l.block(o); free != "" {
				l.breach("promise 2: no %d seats together, and nobody can have had %s", o.best, free)
			}
		case "not_on_sale":
			if c.Seat != painted && !l.lacks(o.sent, o.answered, c.Seat) {
				l.breach("promise 2: %s is said not to be on sale", c.Seat)
			}
		}
	}
}

// taken is how much of a unit may have been somebody's, but not a certain hold's nor what the request
// itself has made, while it was answered.
func (l *ledger) taken(o *op, unit, but string) int64 {
	most := basket{} // by hold
	for _, s := range l.possible[unit] {
		if s.from <= o.answered && o.sent <= s.to && (but == "" || s.hold != but) && !(o.key != "" && l.keyOf(s.hold) == o.key) {
			most[s.hold] = max(most[s.hold], s.quantity)
		}
	}
	return total(most)
}

// keyOf is the Idempotency-Key that a hold was asked for with.
func (l *ledger) keyOf(hold string) string {
	if h := l.lives[hold]; h != nil {
		return h.claims[0].key
	}
	return hold
}

// block finds seats that nobody can have had and that would have done.
func (l *ledger) block(o *op) string {
	all, somewhere := seats(), []string(nil)
	for row := 0; row < len(all); row += rowSeats {
		free := 0
		for i, seat := range all[row : row+rowSeats] {
			if seat == painted || passing(seat) && l.lacks(o.sent-copyAge, o.answered, seat) || l.taken(o, seat, "") > 0 {
				free = 0
				continue
			}
			if free++; free == o.best {
				return strings.Join(all[row+i+1-free:row+i+1], " ")
			}
			somewhere = append(somewhere, seat)
		}
	}
	if !o.together && len(somewhere) >= o.best {
		return strings.Join(somewhere, " ")
	}
	return ""
}

// shown: promise 9. A board does not show as free what a client has.
func (l *ledger) shown(o *op) {
	if o.board == nil {
		return
	}
	for i, seat := range l.shownOn(o.board).seats() {
		if stateOf(o.board, i) != 0 {
			continue
		}
		for _, s := range l.sure[seat] {
			if s.covers(o.sent, o.answered) && !l.revived(l.lives[s.hold], o.answered) {
				l.breach("promise 9: the board of %v..%v shows %s as free, which is in %s", o.sent, o.answered, seat, l.lives[s.hold])
			}
		}
	}
}

// revived says that a hold may have lapsed by some time, and lived again when the clock stepped back. A board
// that was read in between has its seats as free until something is written about them.
func (l *ledger) revived(h *life, by time.Duration) bool {
	for i, s := range l.clock.steps {
		back := i > 0 && s.offset < l.clock.steps[i-1].offset && h.born < s.at && s.at < by
		if back && !slices.ContainsFunc(h.leases, func(t lease) bool { return t.covers(s.at, s.at) }) {
			return true
		}
	}
	return false
}

// stateOf is a seat's state on a board: 0 free, 1 held, 2 sold.
func stateOf(b *client.Board, seat int) int { return int(b.Seats[seat/4]>>(2*(seat%4))) & 3 }

// acted: promises 3 to 6, for everything that was done to holds.
func (l *ledger) acted(o *op) {
	done := o.status == http.StatusOK || o.status == http.StatusCreated
	switch {
	case o.kind == "claim" && done:
		l.claimed(o)
		return
	case o.wrong && done:
		l.breach("promise 4: %s with a wrong token is answered %d", o.kind, o.status)
		return
	case o.wrong && o.code == "HOLD_EXPIRED":
		l.count("wrong token refused")
	}
	h := l.lives[o.hold]
	if h == nil || o.wrong {
		return
	}
	if o.code == "HOLD_EXPIRED" && l.alive(h, o) {
		l.breach("promise 4: a %s of %v hears that %v is dead, and it lives", o.kind, o.sent, h)
	}
	if !done || o.replayed {
		return
	}
	if o.kind == "confirm" {
		l.sold(h, o)
		return
	}
	if o.kind == "change" && o.before != nil && !equal(linesOf(o.held), o.before.and(o.want).less(o.less)) {
		l.breach("promise 3: %v and %v without %v is answered as %v", o.before, o.want, o.less, linesOf(o.held))
	}
	if o.held != nil && o.held.State == "live" && (o.sent > h.gone || o.sent > l.clock.lastBefore(h.last)+tick) {
		l.breach("promise 4: a %s of %v acts on %v, which is dead", o.kind, o.sent, h)
	}
}

// claimed: promise 3 for what was claimed.
func (l *ledger) claimed(o *op) {
	got := linesOf(o.held)
	if o.best == 0 {
		if !equal(got, o.want) {
			l.breach("promise 3: %v is claimed and %v held", o.want, got)
		}
		return
	}
	apart := slices.ContainsFunc(o.held.Warnings, func(w client.Warning) bool { return w.Code == "ROWS_APART" || w.Code == "SEATS_APART" })
	if apart {
		l.count("seats apart")
	}
	if total(got) != int64(o.best) || len(got) != o.best || apart && o.together || !apart && !beside(got) {
		l.breach("promise 3: of the best %d seats, together %v and said to be apart %v, %v are held", o.best, o.together, apart, got)
	}
}

// beside reports whether seats are one after the other in one row.
func beside(got basket) bool {
	for _, row := range append(houses()[0].rows, arriving()) {
		run := 0
		for _, seat := range row {
			if got[seat] == 0 {
				run = 0
			}
			if run += int(got[seat]); run == len(got) {
				return true
			}
		}
	}
	return false
}

// alive says that a client could count on a hold all the while a request was answered.
func (l *ledger) alive(h *life, o *op) bool {
	for _, other := range h.ops {
		if other.kind == "release" && other.sent <= o.answered {
			return false
		}
	}
	return o.answered < l.cancelAt && slices.ContainsFunc(h.leases, func(t lease) bool { return t.covers(o.sent, o.answered) })
}

// sold: promise 6, and 4 for the first sale.
func (l *ledger) sold(h *life, o *op) {
	l.count("order")
	if h.sold != nil && h.sold.order.ID != o.order.ID {
		l.breach("promise 6: %v is two orders", h)
	}
	if o.before != nil && !equal(sum(o.order.Lines), o.before) && !l.changedSince(h, o) {
		l.breach("promise 3: a hold of %v is sold as %v", o.before, sum(o.order.Lines))
	}
	if int64(len(o.order.Tickets)) != total(sum(o.order.Lines)) {
		l.breach("promise 3: %d tickets for %v", len(o.order.Tickets), sum(o.order.Lines))
	}
	first := !slices.ContainsFunc(h.ops, func(p *op) bool { return p.kind == "confirm" && p.sent < o.sent })
	if o.sent > h.gone || first && o.sent > l.clock.lastBefore(h.last)+tick {
		l.breach("promise 4: a confirm of %v sells %v, which is dead", o.sent, h)
	}
}

// changedSince says that what the client knew of a hold may have been too little.
func (l *ledger) changedSince(h *life, o *op) bool {
	return slices.ContainsFunc(h.ops, func(p *op) bool { return p.kind == "change" && p.answered > o.first && p.first < o.answered })
}

// replays: promise 6. Under one key there is one answer; of one hold there is one order, for ever.
func (l *ledger) replays() {
	byKey := make(map[string]*op)
	for _, o := range l.ops {
		if o.replayed {
			l.count("idempotent replay")
		}
		if o.held != nil && o.key != "" && (o.status == http.StatusOK || o.status == http.StatusCreated) {
			first, ok := byKey[o.key]
			if !ok {
				byKey[o.key] = o
			} else if first.held.ID != o.held.ID || first.held.Token != o.held.Token || !equal(linesOf(first.held), linesOf(o.held)) {
				l.breach("promise 6: two answers under one key: %v %v", linesOf(first.held), linesOf(o.held))
			}
		}
	}
	for _, h := range l.order {
		for _, o := range h.ops {
			if h.sold == nil || o.kind != "confirm" || o.sent <= h.sold.answered || o.unknown() || o.status == 0 {
				continue
			}
			if o.status != http.StatusCreated || o.order.Total != h.sold.order.Total || !slices.Equal(ticketsOf(o.order), ticketsOf(h.sold.order)) {
				l.breach("promise 6: confirmed again at %v, %v is answered %d %s", o.sent, h, o.status, o.code)
			}
		}
	}
}

// kept: promise 7. What was answered is in the rows, once, and nothing else is.
func (l *ledger) kept() {
	orders, err := l.current.records.Orders(context.Background(), l.house.event, inventory.Page{Limit: 1000})
	if err != nil {
		l.breach("orders: %v", err)
	}
	rows := make(map[string]*inventory.Order, len(orders))
	asked := make(map[string]bool)
	for _, o := range l.ops {
		asked[o.hold] = asked[o.hold] || o.kind == "confirm"
	}
	for _, o := range orders {
		if id := o.Key.ID(); rows[id] != nil || !asked[id] {
			l.breach("promise 6: order %s of hold %s, of which there is another, or which nobody confirmed", o.ID, id)
		}
		rows[o.Key.ID()] = o
	}
	for _, h := range l.order {
		if h.sold == nil {
			continue
		}
		row := rows[h.id]
		if row == nil || row.ID != h.sold.order.ID {
			l.breach("promise 7: %v was sold and the order is not there", h)
			continue
		}
		for i, t := range h.sold.order.Tickets {
			if row.Tickets[i].ID != t.ID || row.Tickets[i].Valid && cancelled(l.back, row.ID, t.ID) < never ||
				!row.Tickets[i].Valid && cancelled(l.given, row.ID, t.ID) == never {
				l.breach("promise 7: ticket %d of %v is not as it was answered", i+1, h)
			}
		}
	}
}

// audit proves the promises on the rows: counters, lines, tickets, and the log without gaps.
func (w *world) audit(when string) {
	for b, err := range w.current.store.Audit(context.Background()) {
		w.breach("audit %s: promise %d: %s %v", when, b.Promise, b.What, err)
	}
}

func (b basket) and(more basket) basket {
	out := basket{}
	for _, from := range []basket{b, more} {
		for unit, n := range from {
			out[unit] += n
		}
	}
	return out
}

func (b basket) less(fewer basket) basket {
	out := b.and(nil)
	for unit, n := range fewer {
		if out[unit] -= n; out[unit] == 0 {
			delete(out, unit)
		}
	}
	return out
}

func equal(a, b basket) bool { return len(a) == len(b) && len(a.less(b)) == 0 }

func total(b basket) (n int64) {
	for _, q := range b {
		n += q
	}
	return n
}
