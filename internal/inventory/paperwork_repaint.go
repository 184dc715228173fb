package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The bounds of what is told of a change.
const (
	namesMax   = 20 // units named of each kind
	changesMax = 50 // kinds of change told apart
)

// Repaint applies a rule: to the allocations of a published event at once, to a draft when it is
// published. With dryRun it only says what it would do. A channel that was never declared is declared
// by it, without codes. Units that are held or sold change, too; what they were claimed at stays as it
// was, and whoever holds them may still buy them. A rule that changes nothing leaves no trace.
//
// Refusals: Invalid, StateConflict (closed or cancelled), ChangeUnsafe (a capacity below what is in use),
// NotFound, KeyReused, Contended; *Recorded for a replay.
func (s *Service) Repaint(ctx context.Context, c Caller, id string, r Rule, dryRun bool, once *Once) (*RepaintResult, error) {
	var result RepaintResult
	var layout *Layout
	e, err := s.alter(ctx, c, id, once, func(e *Event) (*Alteration, error) {
		result = RepaintResult{}
		if err := changeable(e); err != nil {
			return nil, err
		}
		if r.Exclude && e.Terms.State != Draft {
			return nil, invalid("/set/exclude", faultInvalid, "Only a draft's units can be excluded; a published event's can be withheld.")
		}
		var err error
		if layout, err = s.layout(ctx, e); err != nil {
			return nil, err
		}
		var found faultList
		found.live(&r, layout, &e.Terms)
		if err := found.err(); err != nil {
			return nil, err
		}
		a := &Alteration{Kind: LogRepainted}
		changed := false
		if e.Terms.State == Draft {
			changed, err = true, repaintDraft(e, r, layout, &result)
		} else {
			changed, err = s.repaintBoard(ctx, e, r, layout, a, &result)
		}
		if err != nil || dryRun || !changed {
			return nil, err
		}
		a.Reason = fmt.Sprintf("%d allocations: %s", result.Changed, r.said())
		result.Unsafe = nil // the store judges that on rows that are locked
		return a, nil
	}, func(e *Event) any {
		result.Version = e.Revision
		return &result
	})
	if err != nil {
		return nil, named(err, layout)
	}
	result.Version = e.Revision
	return &result, nil
}

// changeable refuses to change what is on sale of an event that sells no more.
func changeable(e *Event) error {
	if e.Terms.State == Closed || e.Terms.State == Cancelled {
		return &Refusal{Code: StateConflict, Detail: fmt.Sprintf("The event is %s.", e.Terms.State)}
	}
	return nil
}

// named gives the conflicts of a refusal their names; other errors stay as they are.
func named(err error, l *Layout) error {
	refusal, ok := err.(*Refusal)
	if !ok || l == nil || len(refusal.Conflicts) == 0 {
		return err
	}
	return (&basketReader{layout: l}).place(refusal)
}

// said tells the log what a rule sets.
func (r *Rule) said() string {
	var said []string
	if r.Exclude {
		said = append(said, "excluded")
	}
	if r.Channel != "" {
		said = append(said, "channel "+r.Channel)
	}
	if len(r.Types) > 0 {
		said = append(said, "ticket types "+strings.Join(r.Types, ", "))
	}
	if r.Capacity > 0 {
		said = append(said, fmt.Sprintf("capacity %d", r.Capacity))
	}
	return strings.Join(said, "; ")
}

// repaintDraft keeps a rule for publishing, and counts what it would do after those before it.
func repaintDraft(e *Event, r Rule, l *Layout, result *RepaintResult) error {
	if len(e.Rules) >= rulesMax || keysOf(e.Rules)+keysOf([]Rule{r}) > ruleKeysMax {
		return &Refusal{Code: StateConflict, Detail: fmt.Sprintf("A draft keeps at most %d rules, which name at most %d things.", rulesMax, ruleKeysMax)}
	}
	scratch := e.clone().Terms
	scratch.Classes = nil
	p := blankPainting(l, &scratch)
	for _, before := range e.Rules {
		p.apply(before)
	}
	before := p.clone()
	result.Selected, result.Changed = p.apply(r)
	result.tell(before, p, func(u Unit) UnitState { return UnitState{Capacity: before.capacityOf(u)} })
	e.Rules = append(e.Rules, r)
	return nil
}

// repaintBoard paints the allocations of a published event and reports whether that changes any. It
// answers ErrStale when the board is not of the event's revision, for class numbers mean something only
// within one.
func (s *Service) repaintBoard(ctx context.Context, e *Event, r Rule, l *Layout, a *Alteration, result *RepaintResult) (bool, error) {
	board, err := s.decidedOn(ctx, e)
	if err != nil {
		return false, err
	}
	p := paintingOf(board, l, &e.Terms)
	before := p.clone()
	result.Selected, result.Changed = p.apply(r)
	if len(e.Terms.Classes) > classesMax {
		return false, invalid("/set", faultTooMany, fmt.Sprintf("An event has at most %d ways of being on sale.", classesMax))
	}
	result.tell(before, p, board.at)
	a.Repaint = repaints(before.class, p.class)
	unsafe := refuse(ChangeUnsafe)
	for _, u := range slices.Sorted(maps.Keys(p.capacity)) {
		if p.capacity[u] == before.capacity[u] {
			continue
		}
		a.Resize = append(a.Resize, Resize{Unit: u, Capacity: p.capacity[u]})
		if st := board.at(u); st.Held+st.Reserved > p.capacity[u] {
			unsafe.unsafe(allocationOf(u, st), p.capacity[u])
		}
	}
	result.Unsafe = unsafe.on(l)
	return len(a.Repaint)+len(a.Resize) > 0, nil
}

// decidedOn reads the board that a change of e, the event as it shall be, is decided on.
func (s *Service) decidedOn(ctx context.Context, e *Event) (*Board, error) {
	board, err := s.store.Board(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	if board.Revision != e.Revision-1 {
		return nil, ErrStale
	}
	return board, nil
}

func allocationOf(u Unit, st UnitState) Allocation {
	return Allocation{Unit: u, Seat: st.Seat, Class: st.Class, Capacity: st.Capacity, Held: st.Held, Reserved: st.Reserved}
}

// on is the refusal with names, or nil when nothing stands in the way.
func (r *Refusal) on(l *Layout) *Refusal {
	if r.Total == 0 {
		return nil
	}
	return (&basketReader{layout: l}).place(r)
}

// tell says what becomes of the units between two paintings of one map; at is a unit as it stands before.
func (r *RepaintResult) tell(before, after *painting, at func(Unit) UnitState) {
	l := before.layout
	type move struct{ from, to int }
	index := make(map[move]int)
	for place := range l.Places() {
		u := l.Unit(place)
		m := move{before.class[u], after.class[u]}
		resized := before.capacity[u] != after.capacity[u] && m.to != unallocated
		if m.from == m.to && !resized {
			continue
		}
		tally := at(u).tally()
		r.Units.add(tally)
		if resized {
			r.Resizes = append(r.Resizes, CapacityChange{Area: nameOf(l.Plan, place).Area, From: before.capacity[u], To: after.capacity[u]})
		}
		if m.from == m.to {
			continue
		}
		i, met := index[m]
		if !met {
			if i = len(r.Changes); i == changesMax {
				continue
			}
			index[m] = i
			r.Changes = append(r.Changes, ClassChange{From: before.classNamed(m.from), To: after.classNamed(m.to)})
		}
		change := &r.Changes[i]
		change.Allocations++
		change.Units.add(tally)
		if len(change.First) < namesMax {
			change.First = append(change.First, nameOf(l.Plan, place))
		}
	}
}

func (st UnitState) tally() Tally {
	return Tally{Free: st.Capacity - st.Held - st.Reserved, Held: st.Held, Sold: st.Reserved}
}

func (t *Tally) add(other Tally) {
	t.Free += other.Free
	t.Held += other.Held
	t.Sold += other.Sold
}

// classNamed names a class; none for what is excluded.
func (p *painting) classNamed(class int) ClassName {
	if class == unallocated {
		return ClassName{}
	}
	c := p.terms.Classes[class]
	return ClassName{Channel: p.terms.Channels[c.Channel].ID, Types: p.terms.typeIDs(c.Types)}
}
