package inventory

import "context"

const bestTriesMax = 64 // shortlists before "try again"; each means that others took all that was on it

// Best asks for seats together: beside one another if any are, else in two rows, else apart. Together
// refuses all but the first.
type Best struct {
	Quantity   int64
	Type       string
	Section    string
	Accessible int64 // how many of them must be accessible places
	Together   bool
}

// claimBest proposes blocks from a board and lets the store take the first that is wholly free. "None",
// and anything less than seats together, is answered only from a board read after the question, with
// lapsed holds counted as free, on which there is no better; where others took all that was proposed,
// the board is looked at again.
func (s *Service) claimBest(ctx context.Context, best *Best, e *Event, c Command) (Outcome, error) {
	c.Best, c.BestType = true, -1
	if t, ok := e.Terms.TypeIndex(best.Type); ok && best.Type != "" {
		c.BestType = t
	}
	if !c.ByKey && best.Quantity > e.Terms.UnitsPerHold {
		return Outcome{Refusal: refuse(HoldLimitExceeded)}, nil
	}
	for range bestTriesMax {
		none, err := s.propose(ctx, best, e, &c)
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

// propose fills in the candidates. none says that there is no block at all.
func (s *Service) propose(ctx context.Context, best *Best, e *Event, c *Command) (none bool, err error) {
	d := s.desks.get(e.ID, newDesks)
	b, e, layout, err := s.liveOn(ctx, e)
	if err != nil {
		return false, err
	}
	if shortlisted(best, e, layout, &d.live, b, c); len(c.Candidates) > 0 {
		return false, nil
	}
	e, layout, err = s.inStep(ctx, e, func() (int64, error) {
		if b, err = s.fresh.do(ctx, e.ID, struct{}{}); err != nil {
			return 0, err
		}
		return b.Revision, nil
	})
	if err != nil {
		return false, err
	}
	shortlisted(best, e, layout, &d.fresh, b, c)
	return len(c.Candidates) == 0, nil
}

// shortlisted fills in the candidates that a board has; the event is as it was at that board, or later,
// and the layout is the one that the board is in.
func shortlisted(best *Best, e *Event, layout *Layout, d *desk, b *Board, c *Command) {
	q := questionOf(best, c, e.Revision)
	list := d.list(b, q, func() *shortlist { return newShortlist(b, layout, &e.Terms, q, d.last) })
	c.Candidates, c.Apart = list.read(q.quantity)
}
