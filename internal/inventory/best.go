package inventory

import (
	"cmp"
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
	b, _, err := s.live(ctx, e.ID, plan)
	if err != nil {
		return false, err
	}
	if e, err = s.atLeast(ctx, e, b.Revision); err != nil {
		return false, err
	}
	if c.Candidates = candidates(b, plan, &e.Terms, best, c); len(c.Candidates) > 0 {
		return false, nil
	}
	if b, err = s.store.Board(ctx, e.ID); err != nil {
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

// candidates ranks the free blocks of a board, best first. Blocks do not overlap, so that many
// callers ranking from one board can all win in one batch.
func candidates(b *Board, plan *seatmap.Plan, t *Terms, best *Best, c *Command) [][]Unit {
	n := int(best.Quantity)
	from, count := 0, len(plan.Seats)
	if best.Section != "" {
		from, count, _ = plan.SectionSeats(best.Section)
	}
	fits := eligible(b, t, c)
	var blocks []block
	for _, run := range plan.Runs() {
		if run.From >= from && run.From < from+count {
			blocks = appendBlocks(blocks, plan, run, n, best, fits)
		}
	}
	slices.SortFunc(blocks, func(x, y block) int { return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.from, y.from)) })
	taken := make(map[int]bool)
	var out [][]Unit
	for _, bl := range blocks {
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

// appendBlocks adds every window of n free seats in a run.
func appendBlocks(blocks []block, plan *seatmap.Plan, run seatmap.Span, n int, best *Best, fits func(int) bool) []block {
	free := 0 // seats free in a row up to and including i
	end := run.From + run.Count
	for i := run.From; i < end; i++ {
		if !fits(i) {
			free = 0
			continue
		}
		free++
		if free < n {
			continue
		}
		from := i - n + 1
		if accessible, cost := weigh(plan, from, n); accessible >= best.Accessible {
			if best.Accessible == 0 {
				cost += float64(accessible) * strandedCost // keep those places for who needs them
			}
			blocks = append(blocks, block{from, cost + stranded(run, from, n, fits)})
		}
	}
	return blocks
}

// weigh counts accessible places and averages the distance from the focal point, in seats, so that
// costs compare across maps.
func weigh(plan *seatmap.Plan, from, n int) (accessible int64, cost float64) {
	for i := from; i < from+n; i++ {
		cost += plan.FocalDistance(i)
		if plan.Seats[i].Accessible {
			accessible++
		}
	}
	return accessible, cost / (float64(n) * pitch(plan, from))
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
