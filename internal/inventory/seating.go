package inventory

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// What a block costs, in seats: the mean nearness of its seats to the focal point, and on top of it
// these. ADR 11 says why they are as they are.
const (
	strandedCost   = 3.0   // a free seat that the block leaves alone
	restrictedCost = 10.0  // each seat's share of a restricted view
	loneCost       = 6.0   // somebody alone in a row, or a wheelchair user with nobody beside
	keptCost       = 1e7   // each seat's share of one kept for others: more than any distance
	wastedCost     = 200.0 // room for one more such block that is lost: more than another place in the row can cost
)

// seating is a board as one question sees it, and the blocks that were proposed from it so far: what
// was proposed is not free any more. It looks at a seat when it is asked about it, for a good block is
// mostly found after a few.
type seating struct {
	board      *Board
	layout     *Layout // that the board is in; seats are counted by their places in it
	plan       *seatmap.Plan
	n          int // seats in a block
	accessible int // accessible places among them
	section    seatmap.Span
	offers     []classOffer // of each class
	keep       bool         // there are others enough: accessible places and companions' seats are not proposed
	few        bool         // not as many seats are left as asked for
	taken      []bool
	spans      []freeSpan // what is free, those of near runs first, once it is asked for
}

// classOffer says whether the seats of a class may be bought with a question's code, and as its ticket type.
type classOffer struct{ open, fits bool }

// newSeating looks at a board. Accessible places and the companions' seats beside them are kept for
// those who ask for them: they fit others only where fewer other seats than asked for are left.
func newSeating(b *Board, layout *Layout, t *Terms, q bestQuestion) *seating {
	plan := layout.Plan
	s := &seating{
		board: b, layout: layout, plan: plan, n: q.quantity, accessible: q.accessible,
		section: seatmap.Span{Count: len(plan.Seats)}, offers: offersOf(t, q), taken: make([]bool, len(plan.Seats)),
	}
	if q.section != "" {
		s.section.From, s.section.Count, _ = plan.SectionSeats(q.section)
	}
	left, others := 0, 0
	for i := s.section.From; i < s.section.From+s.section.Count && others < s.n; i++ {
		if s.fits(i) {
			left++
			others += count(!s.kept(i))
		}
	}
	s.few, s.keep = left < s.n, s.accessible == 0 && others == s.n
	return s
}

func offersOf(t *Terms, q bestQuestion) []classOffer {
	var code *Code
	if q.code != (Code{}) {
		code = &q.code
	}
	offers := make([]classOffer, len(t.Classes))
	for i, class := range t.Classes {
		offers[i].open = t.Opens(class.Channel, code)
		offers[i].fits = q.kind < 0 || slices.Contains(class.Types, q.kind)
	}
	return offers
}

// unit is a seat on the board; false when the board ends before it.
func (s *seating) unit(seat int) (*UnitState, bool) {
	u := s.layout.Unit(seat)
	if int(u) >= len(s.board.Units) {
		return nil, false
	}
	return &s.board.Units[u], true
}

// open reports whether a seat is free, and for this caller.
func (s *seating) open(i int) bool {
	u, ok := s.unit(i)
	return ok && !s.taken[i] && u.Capacity > 0 && u.Held == 0 && u.Reserved == 0 && s.offers[u.Class].open
}

// fits reports whether a seat is free and can be part of a block.
func (s *seating) fits(i int) bool {
	u, _ := s.unit(i)
	return s.open(i) && s.offers[u.Class].fits &&
		i >= s.section.From && i < s.section.From+s.section.Count && !(s.keep && s.kept(i))
}

// kept reports whether a seat is for those who ask for an accessible place.
func (s *seating) kept(i int) bool { return s.plan.Seats[i].Accessible || s.plan.Seats[i].Companion }

// seatCost is the cost of one seat, whatever is beside it.
func (s *seating) seatCost(i int) float64 {
	cost := s.plan.Nearness(i)
	if s.plan.Seats[i].RestrictedView {
		cost += restrictedCost
	}
	if s.accessible == 0 && s.kept(i) {
		cost += keptCost
	}
	return cost
}

// allFit reports whether none of the parts was proposed meanwhile.
func (s *seating) allFit(parts []seatmap.Span) bool {
	for _, part := range parts {
		for i := range part.Count {
			if !s.fits(part.From + i) {
				return false
			}
		}
	}
	return true
}

// take makes seats unfree: they have been proposed.
func (s *seating) take(parts []seatmap.Span) {
	for _, part := range parts {
		for i := range part.Count {
			s.taken[part.From+i] = true
		}
	}
}

// stretches calls fn with the longest spans of fitting seats in a run.
func (s *seating) stretches(run seatmap.Span, fn func(seatmap.Span)) {
	from := run.From
	for i := run.From; i <= run.From+run.Count; i++ {
		if i < run.From+run.Count && s.fits(i) {
			continue
		}
		if i > from {
			fn(seatmap.Span{From: from, Count: i - from})
		}
		from = i + 1
	}
}

// stranded is the cost of the single seats that taking a span of a run leaves on either side.
func (s *seating) stranded(run, span seatmap.Span) float64 {
	open := func(i int) bool { return i >= run.From && i < run.From+run.Count && s.open(i) }
	cost := 0.0
	if before := span.From - 1; open(before) && !open(before-1) {
		cost += strandedCost
	}
	if after := span.From + span.Count; open(after) && !open(after+1) {
		cost += strandedCost
	}
	return cost
}

// proposal is the best block that begins in a run.
type proposal struct {
	cost  float64
	run   int
	stamp int // of the run, when this was found
	parts [2]seatmap.Span
	two   bool // both parts count
}

func (p *proposal) spans() []seatmap.Span {
	if p.two {
		return p.parts[:]
	}
	return p.parts[:1]
}

// before orders proposals, best first; the seat order decides between equals.
func (p *proposal) before(o *proposal) bool {
	return cmp.Or(cmp.Compare(p.cost, o.cost), cmp.Compare(p.parts[0].From, o.parts[0].From), cmp.Compare(p.parts[1].From, o.parts[1].From)) < 0
}

// proposals is a heap whose root is the best.
type proposals []proposal

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h proposals) Len() int           { return len(h) }
func (h proposals) Less(i, j int) bool { return h[i].before(&h[j]) }
func (h proposals) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *proposals) Push(x any)        { *h = append(*h, x.(proposal)) }
func (h *proposals) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// runSearch proposes one block after the other, the best of all runs first. After each it looks again at
// the runs that are touched, so every block is the best of what the ones before it left.
type runSearch struct {
	seating *seating
	best    func(run int) (proposal, bool)
	near    func(run int) float64 // no block that begins in the run costs less
	touched func(*proposal) []int // the runs whose best block may be another once this one is taken
	next    int                   // in the order of near runs, the first not looked at
	stamps  []int                 // of each run, how often it was looked at
	found   proposals
}

func (s *runSearch) look(run int) {
	s.stamps[run]++
	if p, ok := s.best(run); ok {
		p.run, p.stamp = run, s.stamps[run]
		heap.Push(&s.found, p)
	}
}

// propose returns the next block's parts and takes them.
func (s *runSearch) propose() ([]seatmap.Span, bool) {
	runs := s.seating.plan.NearRuns()
	for {
		for s.next < len(runs) && (len(s.found) == 0 || s.near(int(runs[s.next])) <= s.found[0].cost) {
			s.look(int(runs[s.next]))
			s.next++
		}
		if len(s.found) == 0 {
			return nil, false
		}
		p := heap.Pop(&s.found).(proposal)
		if p.stamp != s.stamps[p.run] {
			continue // the run was looked at again since
		}
		if !s.seating.allFit(p.spans()) {
			s.look(p.run)
			continue
		}
		s.seating.take(p.spans())
		for _, run := range s.touched(&p) {
			if s.stamps[run] > 0 {
				s.look(run)
			}
		}
		return p.spans(), true
	}
}

// together finds blocks of seats beside one another.
func (s *seating) together() func() ([]seatmap.Span, bool) {
	runs := s.plan.Runs()
	return (&runSearch{
		seating: s,
		best:    func(run int) (proposal, bool) { return s.bestWindow(runs[run]) },
		near:    s.plan.RunNearness,
		touched: func(p *proposal) []int { return []int{p.run} },
		stamps:  make([]int, len(runs)),
	}).propose
}

// bestWindow finds the cheapest block within a run. Costs are summed as the window moves on, so that a
// seat is looked at twice however large the block is.
func (s *seating) bestWindow(run seatmap.Span) (best proposal, ok bool) {
	n := s.n
	if run.Count < n {
		return best, false
	}
	s.stretches(run, func(stretch seatmap.Span) {
		sum, accessible := 0.0, 0 // of the last n seats
		for i := stretch.From; i < stretch.From+stretch.Count; i++ {
			if i >= stretch.From+n {
				sum -= s.seatCost(i - n)
				accessible -= count(s.plan.Seats[i-n].Accessible)
			}
			sum += s.seatCost(i)
			accessible += count(s.plan.Seats[i].Accessible)
			window := seatmap.Span{From: i - n + 1, Count: n}
			cost := sum / float64(n)
			if window.From < stretch.From || accessible < s.accessible || (ok && cost >= best.cost) {
				continue // too few, or too far away, whatever it leaves alone
			}
			cost += s.windowCost(run, stretch, window, accessible)
			if !ok || cost < best.cost {
				best, ok = proposal{cost: cost, parts: [2]seatmap.Span{window}}, true
			}
		}
	})
	return best, ok
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// windowCost is what a block within a run costs beside its seats.
func (s *seating) windowCost(run, stretch, window seatmap.Span, accessible int) float64 {
	cost := s.stranded(run, window)
	if s.accessible > 0 {
		cost += keptCost*float64(accessible-s.accessible) + loneCost*float64(s.unaccompanied(window))
	}
	n, before := window.Count, window.From-stretch.From
	after := stretch.Count - before - n
	if before/n+1+after/n < stretch.Count/n {
		cost += wastedCost
	}
	return cost
}

// unaccompanied counts the accessible places of a window with nobody's ordinary seat beside them in it.
func (s *seating) unaccompanied(window seatmap.Span) (count int) {
	ordinary := func(i int) bool {
		return i >= window.From && i < window.From+window.Count && !s.plan.Seats[i].Accessible
	}
	for i := window.From; i < window.From+window.Count; i++ {
		if s.plan.Seats[i].Accessible && !ordinary(i-1) && !ordinary(i+1) {
			count++
		}
	}
	return count
}
