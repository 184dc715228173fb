package inventory

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	alternativeSeatsMax  = 10      // of a basket; larger ones are for best available
	alternativeLooksMax  = 1 << 16 // strips, and seats in those with free ones, looked at for the losers of one batch
	alternativeBlocksMax = batchCommandsMax
	alternativeTriesMax  = 4 // blocks tried for a basket whose parts get in each other's way

	alternativesTimeMax = 2 * time.Second // for the board; then the losers are answered without
)

// Alternative is what a loser may ask for instead: as many seats as it asked for, in the order of its
// request, at the same price, together where those were. They were free on a board at or after the
// position of the batch that was lost. Types has the ticket types that the request named, by the new seats.
type Alternative struct {
	Seats []string
	Types map[string]string
}

// spots is a live board as the search for alternatives sees it: with where its seats stand, and how many
// are free there. The board's gate guards it.
type spots struct {
	board  *Board
	layout *Layout // that the board is in; places are the search's, units the board's
	near   *nearby
	free   []int32 // of each of near's strips, how many seats are free
}

func newSpots(b *Board, l *Layout) *spots {
	s := &spots{board: b, layout: l, near: newNearby(l.Plan)}
	s.free = make([]int32, len(s.near.strips))
	for i := range l.Plan.Seats {
		s.count(l.Unit(i), UnitState{}, b.at(l.Unit(i)))
	}
	return s
}

// count keeps free up to date when a unit of the board changes.
func (s *spots) count(u Unit, was, is UnitState) {
	if i, ok := s.layout.Place(u); ok && i < len(s.near.of) {
		s.free[s.near.of[i]] += int32(count(seatState(is) == seatFree) - count(seatState(was) == seatFree))
	}
}

// openTo reports whether a seat is free and in a channel that a code opens.
func (s *spots) openTo(u Unit, t *Terms, code *Code) bool {
	st := s.board.at(u)
	return seatState(st) == seatFree && st.Class < len(t.Classes) && t.Opens(t.Classes[st.Class].Channel, code)
}

// spotsAt gives the spots of a live board, which the caller has entered, at a position or later; nil when
// the store does not show that position yet, or the event is moving to another map. Nothing is read when
// the board is there already.
func (s *Service) spotsAt(ctx context.Context, e *Event, lb *liveBoard, p Position) (*spots, error) {
	shown := func() bool {
		return lb.board != nil && lb.board.Position.Epoch == p.Epoch && lb.board.Position.Version >= p.Version
	}
	if !shown() {
		if err := s.refresh(ctx, e.ID, lb); err != nil || !shown() {
			return nil, err
		}
	}
	if lb.spots != nil {
		return lb.spots, nil // a board of another map is another board, and has no spots yet
	}
	e, err := s.atLeast(ctx, e, lb.board.Revision)
	if err != nil || lb.board.Revision < e.MapSince {
		return nil, err
	}
	l, err := s.layout(ctx, e)
	if err != nil {
		return nil, err
	}
	lb.spots = newSpots(lb.board, l)
	return lb.spots, nil
}

// losses is what the losers of one batch share, so that a thousand who wanted one seat cost one look at
// the house, and are sent to different seats instead of all to the next one. Not safe for concurrent use.
type losses struct {
	spots *spots
	asked map[lostQuestion]*answers
	given []seatmap.Span // what was offered already; short, and most batches lose little
	looks int            // seats looked at
}

// lostQuestion is what a lost block has to be replaced by. Losers who ask the same share the answers.
type lostQuestion struct {
	from, size int // the lost block: its first seat, and how many
	needs      [alternativeSeatsMax]need
	code       Code
	coded      bool
}

// need is what a seat of a block must be sold as: the ticket type that was named, or, counted down from
// -1, the default that the lost seat had.
type need int32

// metBy reports whether a class is sold as what is needed.
func (n need) metBy(c *Class) bool {
	if n < 0 {
		return c.Types[0] == int(-1-n)
	}
	return slices.Contains(c.Types, int(n))
}

// answers are the blocks found for a question, by their first seats, handed out in turn.
type answers struct {
	search *outward
	ended  bool
	found  []int
	turn   int
}

// lost reports whether somebody may be told what to ask for instead.
func (o *Outcome) lost() bool { return o.Refusal != nil && o.Refusal.Code == AllocationUnavailable }

// console answers the losers of one batch with what to ask for instead, one after another. They wait for
// it where they wait for their outcomes: if each looked for itself, they would all stand at the board's
// gate, which is more work than the looking. It is advice, and no fault on the way to it makes a refusal
// another one, or leaves anybody without.
func (s *Service) console(event string, losers []*ticketed[Command, Outcome]) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("looking for alternatives failed", "panic", p, "stack", string(debug.Stack()))
		}
		for _, t := range losers {
			close(t.done)
		}
	}()
	blocks, some := make([][]lostBlock, len(losers)), false
	for i, t := range losers {
		blocks[i] = lostBy(&t.command, &t.out)
		some = some || blocks[i] != nil
	}
	if !some {
		return
	}
	// What one of the requests carries, other than its end, goes with what is read here.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(losers[0].ctx), alternativesTimeMax)
	defer cancel()
	e, err := s.event(ctx, event)
	if err != nil {
		return
	}
	lb := s.boards.get(event, newLiveBoard)
	if s.enter(ctx, lb.gate) != nil {
		return
	}
	defer lb.leave()
	sp, err := s.spotsAt(ctx, e, lb, losers[0].out.Position)
	if err != nil || sp == nil {
		return
	}
	if e, err = s.atLeast(ctx, e, sp.board.Revision); err != nil {
		return
	}
	l := newLosses(sp)
	for len(losers) > 0 {
		t := losers[0]
		t.out.alternatives = l.alternatives(&e.Terms, &t.command, blocks[0])
		losers, blocks = losers[1:], blocks[1:]
		close(t.done)
	}
}

func newLosses(sp *spots) *losses {
	return &losses{spots: sp, asked: make(map[lostQuestion]*answers)}
}

// alternatives says what to ask for instead of blocks of a command's; nothing when nothing was found.
func (l *losses) alternatives(t *Terms, c *Command, blocks []lostBlock) []Alternative {
	layout, ok := c.Beside.(*Layout)
	if blocks == nil || !ok || l.spots.layout.Map != layout.Map {
		return nil
	}
	chosen := l.choose(t, blocks, c.Code)
	if chosen == nil {
		return nil
	}
	return []Alternative{alternativeOf(t, layout, c, chosen)}
}

// placed is a seat that was wanted, and its place on the map.
type placed struct {
	at   int
	want *Want
}

// lostBlock is some seats of a basket that stand together.
type lostBlock struct {
	from int
	lost bool // at least one of them
	want []*Want
}

// lostBy sorts the seats of a basket into blocks; nil when there is nothing to be offered for it: because
// something else was in the way than a seat that somebody else has, or the basket is large.
func lostBy(c *Command, out *Outcome) (blocks []lostBlock) {
	layout, ok := c.Beside.(*Layout)
	if !ok || out.Refusal == nil || c.Best {
		return nil
	}
	conflicts := out.Refusal.Conflicts
	for i := range conflicts {
		if reason := conflicts[i].Reason; reason != ReasonHeld && reason != ReasonSold {
			return nil
		}
	}
	plan := layout.Plan
	var room [alternativeSeatsMax]placed
	seats := room[:0]
	for i := range c.Add {
		if at, ok := layout.Place(c.Add[i].Unit); ok && at < len(plan.Seats) {
			if len(seats) == alternativeSeatsMax {
				return nil
			}
			seats = append(seats, placed{at, &c.Add[i]})
		}
	}
	if len(conflicts) == 0 || len(seats) == 0 {
		return nil
	}
	slices.SortFunc(seats, func(a, b placed) int { return a.at - b.at })
	for _, s := range seats {
		i, w, n := s.at, s.want, len(blocks)
		if n == 0 || blocks[n-1].from+len(blocks[n-1].want) != i || plan.RunOf(i) != plan.RunOf(i-1) {
			blocks = append(blocks, lostBlock{from: i})
			n++
		}
		b := &blocks[n-1]
		b.want = append(b.want, w)
		b.lost = b.lost || slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Unit == w.Unit })
	}
	return blocks
}

// choice is the seats to ask for, in the order of the seats that were wanted.
type choice struct{ wanted, seats []Unit }

func (c *choice) add(wanted, seat Unit) {
	c.wanted, c.seats = append(c.wanted, wanted), append(c.seats, seat)
}

// of gives the seat to ask for in place of one that was wanted.
func (c *choice) of(wanted Unit) (Unit, bool) {
	if i := slices.Index(c.wanted, wanted); i >= 0 {
		return c.seats[i], true
	}
	return 0, false
}

// choose finds for each block that was lost another one; nil for none. What was not lost stays.
func (l *losses) choose(t *Terms, blocks []lostBlock, code *Code) *choice {
	chosen := new(choice)
	for _, b := range blocks {
		for k := 0; !b.lost && k < len(b.want); k++ {
			u := b.want[k].Unit
			if seatState(l.spots.board.at(u)) != seatFree {
				return nil // it went as well, meanwhile
			}
			chosen.add(u, u)
		}
	}
	for _, b := range blocks {
		if !b.lost {
			continue
		}
		from, ok := l.blockApart(t, &b, code, chosen.seats)
		if !ok {
			return nil
		}
		for k, w := range b.want {
			chosen.add(w.Unit, l.spots.layout.Unit(from+k))
		}
	}
	return chosen
}

// blockApart finds a block for one that was lost, which goes together with seats that are in the basket
// already: apart from them, and leaving none alone between.
func (l *losses) blockApart(t *Terms, b *lostBlock, code *Code, taken []Unit) (int, bool) {
	q, ok := l.question(t, b, code)
	if !ok {
		return 0, false
	}
	for range alternativeTriesMax {
		from, ok := l.next(t, q, code)
		if !ok {
			return 0, false
		}
		if len(taken) == 0 {
			return from, true // the search has seen to it that it leaves none alone
		}
		inTheWay := func(u Unit) bool {
			at, _ := l.spots.layout.Place(u)
			return at >= from && at < from+q.size
		}
		if slices.ContainsFunc(taken, inTheWay) {
			continue
		}
		if all := l.spots.appendBlock(slices.Clone(taken), from, q.size); !l.strands(t, all, code) {
			return from, true
		}
	}
	return 0, false
}

// question says what would do instead of a block.
func (l *losses) question(t *Terms, b *lostBlock, code *Code) (lostQuestion, bool) {
	q := lostQuestion{from: b.from, size: len(b.want)}
	if code != nil {
		q.code, q.coded = *code, true
	}
	for k, w := range b.want {
		lost := l.spots.board.at(w.Unit)
		if lost.Capacity == 0 || lost.Class >= len(t.Classes) {
			return q, false
		}
		q.needs[k] = need(w.Type)
		if w.Type < 0 {
			q.needs[k] = need(-1 - t.Classes[lost.Class].Types[0])
		}
	}
	return q, true
}

// next hands out the next block for a question: one that nobody of this batch was offered as far as there
// are any, and then those again in turn.
func (l *losses) next(t *Terms, q lostQuestion, code *Code) (int, bool) {
	a, ok := l.asked[q]
	if !ok {
		a = &answers{search: l.search(t, q, code)}
		l.asked[q] = a
	}
	for !a.ended && len(a.found) < alternativeBlocksMax {
		before := a.search.looked
		from, ok := a.search.next(before + alternativeLooksMax - l.looks)
		l.looks += a.search.looked - before
		if !ok {
			a.ended = true
			break
		}
		if l.offer(from, q.size) {
			a.found = append(a.found, from)
			return from, true
		}
	}
	if len(a.found) == 0 {
		return 0, false
	}
	a.turn++
	return a.found[(a.turn-1)%len(a.found)], true
}

// offer marks a block as given, unless a seat of it is.
func (l *losses) offer(from, size int) bool {
	for _, g := range l.given {
		if from < g.From+g.Count && g.From < from+size {
			return false
		}
	}
	l.given = append(l.given, seatmap.Span{From: from, Count: size})
	return true
}

// search begins the search for a question.
func (l *losses) search(t *Terms, q lostQuestion, code *Code) *outward {
	sp := l.spots
	kind := kindOf(sp.layout.Plan, q.from, q.size)
	fits := make([][]bool, q.size) // by place in the block, then by class
	for k := range fits {
		fits[k] = make([]bool, len(t.Classes))
		for i := range t.Classes {
			fits[k][i] = t.Opens(t.Classes[i].Channel, code) && q.needs[k].metBy(&t.Classes[i])
		}
	}
	block := make([]Unit, 0, q.size)
	return newOutward(sp, middleOf(sp.layout.Plan, q.from, q.size), q.size, func(from int) int {
		for k := q.size - 1; k >= 0; k-- {
			switch st := sp.board.at(sp.layout.Unit(from + k)); {
			case seatState(st) != seatFree:
				return k + 1 // every block with this seat
			case st.Class >= len(fits[k]) || !fits[k][st.Class]:
				return 1
			}
		}
		return 0
	}, func(from int) bool {
		block = sp.appendBlock(block[:0], from, q.size)
		return kind.like(kindOf(sp.layout.Plan, from, q.size)) && !l.strands(t, block, code)
	})
}

// appendBlock adds the units at some places beside one another.
func (s *spots) appendBlock(units []Unit, from, size int) []Unit {
	for i := from; i < from+size; i++ {
		units = append(units, s.layout.Unit(i))
	}
	return units
}

// kind is what makes seats another thing to a buyer, beside their price.
type kind struct {
	accessible, companions int
	restricted             bool
}

func kindOf(plan *seatmap.Plan, from, size int) (k kind) {
	for i := from; i < from+size; i++ {
		seat := &plan.Seats[i]
		k.accessible += int(count(seat.Accessible))
		k.companions += int(count(seat.Companion))
		k.restricted = k.restricted || seat.RestrictedView
	}
	return k
}

// like reports whether other seats will do: accessible places and their companions' are for who had asked
// for as many, and no view is worse.
func (k kind) like(other kind) bool {
	return other.accessible == k.accessible && other.companions <= k.companions && (k.restricted || !other.restricted)
}

// strands reports whether seats would leave one alone that need not be: what the server proposes keeps
// the rule, whether the event insists on it or not.
func (l *losses) strands(t *Terms, taken []Unit, code *Code) bool {
	if t.SingleSeats == SinglesOff {
		return false
	}
	free := func(u Unit) bool { return l.spots.openTo(u, t, code) }
	return slices.ContainsFunc(singles(taken, free, l.spots.layout), func(s single) bool { return s.avoidable })
}

// alternativeOf names the chosen seats.
func alternativeOf(t *Terms, layout *Layout, c *Command, chosen *choice) Alternative {
	var a Alternative
	for _, w := range c.Add {
		u, ok := chosen.of(w.Unit)
		if !ok {
			continue // an area
		}
		name, _ := layout.Name(u)
		key := name.Seat
		a.Seats = append(a.Seats, key)
		if w.Type >= 0 {
			if a.Types == nil {
				a.Types = make(map[string]string)
			}
			a.Types[key] = t.Types[w.Type].ID
		}
	}
	return a
}
