package inventory

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	candidatesMax = 64 // blocks offered to the store at once
	bestTriesMax  = 16 // rankings before "try again"; each means that others won meanwhile
	strandedCost  = 3  // seats' worth of distance that leaving one seat alone weighs
)

// Best asks for seats together.
type Best struct {
	Quantity   int64
	Type       string
	Section    string
	Accessible int64 // how many of them must be accessible places
}

// claimBest ranks blocks from a board and lets the store take the first that is wholly free. "None"
// is answered only from a board read after the question, with lapsed holds counted as free, on which
// no block fits; a block that others took meanwhile means ranking again.
func (s *Service) claimBest(ctx context.Context, best *Best, e *Event, plan *seatmap.Plan, c Command) (Outcome, error) {
	c.Best, c.BestType = true, -1
	if t, ok := e.Terms.TypeIndex(best.Type); ok && best.Type != "" {
		c.BestType = t
	}
	if !c.ByKey && best.Quantity > e.Terms.UnitsPerHold {
		return Outcome{Refusal: refuse(HoldLimitExceeded)}, nil
	}
	for range bestTriesMax {
		none, err := s.rank(ctx, best, e, plan, &c)
		if err != nil {
			return Outcome{}, err
		}
		out, err := s.holds.do(ctx, e.ID, c)
		if err != nil || out.Refusal == nil || !out.Refusal.noBlock() {
			return out, err
		}
		if none {
			out.Refusal.Conflicts[0].Requested = best.Quantity
			return out, nil
		}
	}
	return Outcome{Refusal: refuse(Contended)}, nil
}

func (r *Refusal) noBlock() bool {
	return len(r.Conflicts) == 1 && r.Conflicts[0].Reason == ReasonNoBlock
}

// rank fills in the candidates. none says that there is no block at all.
func (s *Service) rank(ctx context.Context, best *Best, e *Event, plan *seatmap.Plan, c *Command) (none bool, err error) {
	b, err := s.live(ctx, e.ID)
	if err != nil {
		return false, err
	}
	if e, err = s.atLeast(ctx, e, b.Revision); err != nil {
		return false, err
	}
	if c.Candidates = candidates(b, plan, &e.Terms, best, c); len(c.Candidates) > 0 {
		return false, nil
	}
	if b, err = s.fresh.do(ctx, e.ID, struct{}{}); err != nil {
		return false, err
	}
	if e, err = s.atLeast(ctx, e, b.Revision); err != nil {
		return false, err
	}
	c.Candidates = candidates(b, plan, &e.Terms, best, c)
	return len(c.Candidates) == 0, nil
}

// block is a candidate with its cost: lower is better.
type block struct {
	from int
	cost float64
}

// before orders blocks, best first; the seat order decides between equals.
func (x block) before(y block) int {
	return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.from, y.from))
}

// candidates ranks the free blocks of a board, best first. Blocks do not overlap, so that many
// callers ranking from one board can all win in one batch.
func candidates(b *Board, plan *seatmap.Plan, t *Terms, best *Best, c *Command) [][]Unit {
	n := int(best.Quantity)
	from, count := 0, len(plan.Seats)
	if best.Section != "" {
		from, count, _ = plan.SectionSeats(best.Section)
	}
	fits := eligible(b, t, c)
	// A block that is chosen rules out at most 2n-2 others, so these are enough to choose from.
	ranked := cheapest{max: candidatesMax * (2*n - 1)}
	for _, run := range plan.Runs() {
		if run.From >= from && run.From < from+count && run.Count >= n {
			ranked.addRun(plan, run, n, best, fits)
		}
	}
	slices.SortFunc(ranked.blocks, block.before)
	taken := make(map[int]bool)
	var out [][]Unit
	for _, bl := range ranked.blocks {
		if len(out) == candidatesMax {
			break
		}
		if taken[bl.from] || taken[bl.from+n-1] {
			continue
		}
		units := make([]Unit, n)
		for i := range units {
			units[i] = Unit(bl.from + i)
			taken[bl.from+i] = true
		}
		out = append(out, units)
	}
	return out
}

// cheapest keeps the best blocks it was shown, at most max, as a heap whose root is the worst kept.
type cheapest struct {
	blocks []block
	max    int
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *cheapest) Len() int           { return len(h.blocks) }
func (h *cheapest) Less(i, j int) bool { return h.blocks[j].before(h.blocks[i]) < 0 }
func (h *cheapest) Swap(i, j int)      { h.blocks[i], h.blocks[j] = h.blocks[j], h.blocks[i] }
func (h *cheapest) Push(x any)         { h.blocks = append(h.blocks, x.(block)) }
func (h *cheapest) Pop() any {
	last := h.blocks[len(h.blocks)-1]
	h.blocks = h.blocks[:len(h.blocks)-1]
	return last
}

func (h *cheapest) add(b block) {
	switch {
	case len(h.blocks) < h.max:
		heap.Push(h, b)
	case b.before(h.blocks[0]) < 0:
		h.blocks[0] = b
		heap.Fix(h, 0)
	}
}

// eligible reports whether a seat is free and for this caller.
func eligible(b *Board, t *Terms, c *Command) func(seat int) bool {
	open := make([]bool, len(t.Classes))
	for i, class := range t.Classes {
		open[i] = t.Opens(class.Channel, c.Code) && (c.BestType < 0 || slices.Contains(class.Types, c.BestType))
	}
	return func(seat int) bool {
		st := b.at(seat)
		return seatState(st) == seatFree && open[st.Class]
	}
}

// addRun adds every window of n free seats in a run. Distances and accessible places are summed as
// the window moves on, so a seat is looked at once however large the windows are.
func (h *cheapest) addRun(plan *seatmap.Plan, run seatmap.Span, n int, best *Best, fits func(int) bool) {
	free, accessible, distance := 0, int64(0), 0.0 // of the free seats up to i, at most n of them
	scale := float64(n) * pitch(plan, run.From)
	for i := run.From; i < run.From+run.Count; i++ {
		if !fits(i) {
			free, accessible, distance = 0, 0, 0
			continue
		}
		if free == n {
			free--
			accessible -= count(plan.Seats[i-n].Accessible)
			distance -= plan.FocalDistance(i - n)
		}
		free++
		accessible += count(plan.Seats[i].Accessible)
		distance += plan.FocalDistance(i)
		if free < n || accessible < best.Accessible {
			continue
		}
		bl := block{i - n + 1, distance / scale}
		if best.Accessible == 0 {
			bl.cost += float64(accessible) * strandedCost // keep those places for who needs them
		}
		if len(h.blocks) == h.max && bl.before(h.blocks[0]) > 0 {
			continue // too far away, whatever it leaves alone
		}
		bl.cost += stranded(run, bl.from, n, fits)
		h.add(bl)
	}
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// pitch is the distance of a seat to a neighbour in its run, or 1 for a seat alone.
func pitch(plan *seatmap.Plan, i int) float64 {
	run := plan.RunOf(i)
	k := i + 1
	if k == run.From+run.Count {
		k = i - 1
	}
	if k < run.From {
		return 1
	}
	return max(math.Hypot(plan.Seats[i].X-plan.Seats[k].X, plan.Seats[i].Y-plan.Seats[k].Y), 1e-9)
}

// stranded is the cost of leaving a single free seat on either side.
func stranded(run seatmap.Span, from, n int, fits func(int) bool) float64 {
	cost := 0.0
	alone := func(i, beyond int) bool {
		inRun := func(k int) bool { return k >= run.From && k < run.From+run.Count }
		return inRun(i) && fits(i) && !(inRun(beyond) && fits(beyond))
	}
	if alone(from-1, from-2) {
		cost += strandedCost
	}
	if alone(from+n, from+n+1) {
		cost += strandedCost
	}
	return cost
}
