package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Mutant is a store that is wrong on purpose, and the check that must notice.
type Mutant struct {
	// Off is the guard that is missing.
	Off  string
	Open Opener
	// Check is the name of the check that fails on it, and Says a part of what it reports.
	Check, Says string
}

// heatsMax is how often a mutant is put to its check: whether two callers meet is chance.
const heatsMax = 25

// RunMutants proves that the suite can fail: each mutant is put to its check, which must reject it
// for the reason named. To the store's own mutants it adds those that any store can be wrapped into.
func RunMutants(t *testing.T, open Opener, own ...Mutant) {
	probe := open(t)
	for _, w := range wrappings() {
		c, ok := checkNamed(w.check)
		if wrapped := w.wrap(probe); ok && c.missing(&wrapped) != nil {
			t.Logf("not shown: a store without %s, for the check needs: %s", w.off, list(c.missing(&wrapped)))
			continue
		}
		own = append(own, Mutant{w.off, func(t testing.TB) Fresh { return w.wrap(open(t)) }, w.check, w.says})
	}
	for _, m := range own {
		t.Run("without "+m.Off, func(t *testing.T) {
			t.Parallel()
			m.mustFail(t, probe.Bubble)
		})
	}
	t.Run("row locks taken in order are innocent", func(t *testing.T) {
		t.Parallel()
		c, _ := checkNamed(deadlockCheck)
		c.hold(t, func(t testing.TB) Fresh { return withRowLocks(open(t), true) }, probe.Bubble, func(t *testing.T, run func(T)) { run(t) })
	})
}

func checkNamed(name string) (check, bool) {
	for c := range checks() {
		if c.name == name {
			return c, true
		}
	}
	return check{}, false
}

func (m Mutant) mustFail(t *testing.T, bubble bool) {
	t.Helper()
	c, ok := checkNamed(m.Check)
	if !ok {
		t.Fatalf("there is no check %q", m.Check)
	}
	var failures []string
	for range heatsMax {
		c.hold(t, m.Open, bubble, func(t *testing.T, run func(T)) { failures = record(t.Context(), run) })
		if caught, ok := saying(failures, m.Says); ok {
			t.Logf("caught: %s", caught)
			return
		}
	}
	t.Fatalf("%q does not say %q; it says %q", m.Check, m.Says, failures)
}

// wrapping makes any store wrong from outside.
type wrapping struct {
	off   string
	wrap  func(Fresh) Fresh
	check string
	says  string
}

const deadlockCheck = "baskets in opposite order at once make no deadlock"

// wrappings are those that break how commands are carried out, then those that break when.
func wrappings() []wrapping {
	return append(timings(), []wrapping{
		{
			"comparing the token before a release", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				m := newMemory()
				return func(_ Fresh, s inventory.Store) inventory.Store { return releaser{s, m} }
			}),
			"promise 4: a release that comes after the seat was let go and had again frees nothing", "released twice",
		},
		{
			"lines of their own in a takeover", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				m := newMemory()
				return func(_ Fresh, s inventory.Store) inventory.Store { return holdTaker{s, m} }
			}),
			"promise 5: takeover takes only as many lapsed lines as needed, oldest first, on what is wanted", "want the lines on the area alone",
		},
		{
			"a commit behind a repeated confirmation", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				return func(f Fresh, s inventory.Store) inventory.Store { return readOnlyReplay{s, f.Catalogue} }
			}),
			"promise 7: every answer of an order is a write", "followed no commit of its own",
		},
		{
			"a memory of its own commands", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				m := newMemory()
				return func(_ Fresh, s inventory.Store) inventory.Store { return selfLoser{s, m} }
			}),
			"lost reply: a claim with an id sent again, also after somebody else, has one effect and one answer", "copy 2: ALLOCATION_UNAVAILABLE",
		},
		{
			"all or nothing", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				return func(_ Fresh, s inventory.Store) inventory.Store { return piecemeal{s} }
			}),
			"promise 3: a basket is all or nothing, and a loser leaves nothing", "the board has changed",
		},
		{
			"the rule that only success restarts the countdown", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				return func(_ Fresh, s inventory.Store) inventory.Store { return restarter{s} }
			}),
			"promise 3: a change that fails leaves the hold and its deadline", "until",
		},
		{
			"outcomes of their own for neighbours", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				return func(_ Fresh, s inventory.Store) inventory.Store { return allOrNoneBatch{s} }
			}),
			"one bad command never fails its neighbours", "command 0: INVALID",
		},
		{
			"comparing the revision of an alteration", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				return func(_ Fresh, s inventory.Store) inventory.Store { return lastWriter{s} }
			}),
			"an alteration decided on an old revision changes nothing", "want ErrStale",
		},
	}...)
}

// timings are wrong only when callers meet.
func timings() []wrapping {
	return []wrapping{
		{
			"one order of its row locks", func(f Fresh) Fresh { return withRowLocks(f, false) },
			deadlockCheck, "not everybody locks in one order",
		},
		{
			"waiting for a row that is only locked", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				busy := &sync.Map{}
				return func(_ Fresh, s inventory.Store) inventory.Store { return lockSkipper{s, busy} }
			}),
			"promise 2: a basket that fails hides nothing from who comes meanwhile", "the last unit is free",
		},
		{
			"reading a board anew", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				boards := &sync.Map{}
				return func(_ Fresh, s inventory.Store) inventory.Store { return staleBoards{s, boards} }
			}),
			"large concurrent histories are linearizable unit by unit, straight on the store", "linearizable: Illegal",
		},
		{
			"one moment for a basket", everyNode(func() func(Fresh, inventory.Store) inventory.Store {
				return func(_ Fresh, s inventory.Store) inventory.Store { return unitByUnit{s} }
			}),
			"small concurrent histories are linearizable as a whole", "linearizable: Illegal",
		},
	}
}

// everyNode wraps all handles of a house, which then share what the wrapping remembers.
func everyNode(fresh func() func(Fresh, inventory.Store) inventory.Store) func(Fresh) Fresh {
	return func(f Fresh) Fresh {
		wrap := fresh()
		if f.Second != nil {
			f.Second = wrap(f, f.Second)
		}
		f.Store = wrap(f, f.Store)
		return f
	}
}

// memory is what a mutant knows of the claims that went through it.
type memory struct {
	mu     sync.Mutex
	claims map[inventory.HoldKey]*inventory.Hold // nil for a claim that lost
	latest map[inventory.Unit]inventory.HoldKey
}

func newMemory() *memory {
	return &memory{claims: make(map[inventory.HoldKey]*inventory.Hold), latest: make(map[inventory.Unit]inventory.HoldKey)}
}

func (m *memory) keep(batch []inventory.Command, outcomes []inventory.Outcome) {
	for i, out := range outcomes {
		if batch[i].Verb != inventory.Claim {
			continue
		}
		m.claims[batch[i].Key] = out.Hold
		if out.Hold != nil {
			for _, l := range out.Hold.Lines {
				m.latest[l.Unit] = batch[i].Key
			}
		}
	}
}

// releaser lets go of whoever has the units now.
type releaser struct {
	inventory.Store
	m *memory
}

func (s releaser) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	batch = slices.Clone(batch)
	for i := range batch {
		if h := s.m.claims[batch[i].Key]; h != nil && batch[i].Verb == inventory.Release {
			batch[i].Key = s.m.latest[h.Lines[0].Unit]
		}
	}
	out, err := s.Store.Apply(ctx, event, batch)
	if err == nil {
		s.m.keep(batch, out)
	}
	return out, err
}

// holdTaker ends every lapsed hold that has something of what was claimed, with all it has.
type holdTaker struct {
	inventory.Store
	m *memory
}

func (s holdTaker) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	out, err := s.Store.Apply(ctx, event, batch)
	for i := range out {
		if out[i].Hold == nil {
			continue
		}
		for key, h := range s.m.claims {
			if h == nil || h.Deadline > out[i].Now || amountsOf(h.Lines).of(out[i].Hold.Lines[0].Unit) == 0 {
				continue
			}
			if _, err := s.Store.Apply(ctx, event, []inventory.Command{{Verb: inventory.Expire, Key: key, By: "store"}}); err != nil {
				return nil, err
			}
		}
	}
	if err == nil {
		s.m.keep(batch, out)
	}
	return out, err
}

// readOnlyReplay answers an order that there is without a transaction that writes.
type readOnlyReplay struct {
	inventory.Store
	catalogue inventory.Catalogue
}

func (s readOnlyReplay) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	if len(batch) == 1 {
		if o, err := s.catalogue.OrderByHold(ctx, event, batch[0].Key); err == nil {
			return []inventory.SaleOutcome{{Order: o}}, nil
		}
	}
	return s.Store.Sell(ctx, event, batch)
}

// selfLoser takes a claim that comes again for somebody else's.
type selfLoser struct {
	inventory.Store
	m *memory
}

func (s selfLoser) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	sent := slices.Clone(batch)
	for i := range sent {
		if _, again := s.m.claims[sent[i].Key]; again && sent[i].Verb == inventory.Claim {
			sent[i].Key, sent[i].ID = newKey(), inventory.CommandID{}
		}
	}
	out, err := s.Store.Apply(ctx, event, sent)
	if err == nil {
		s.m.keep(batch, out)
	}
	return out, err
}

// lockSkipper says of a unit that another call is looking at that it is gone.
type lockSkipper struct {
	inventory.Store
	busy *sync.Map // rowKey → true
}

func (s lockSkipper) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	for _, k := range rowsOf(event, batch) {
		if _, locked := s.busy.LoadOrStore(k, true); locked {
			refusal := &inventory.Refusal{Code: inventory.AllocationUnavailable, Conflicts: []inventory.Conflict{{Unit: k.unit, Reason: inventory.ReasonSoldOut}}}
			return slices.Repeat([]inventory.Outcome{{Refusal: refusal}}, len(batch)), nil
		}
		defer s.busy.Delete(k)
	}
	return s.Store.Apply(ctx, event, batch)
}

// piecemeal gives of a basket what is to be had.
type piecemeal struct{ inventory.Store }

func (s piecemeal) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	out, err := s.Store.Apply(ctx, event, batch)
	for i := range out {
		if out[i].Refusal == nil || batch[i].Verb != inventory.Claim {
			continue
		}
		less := batch[i]
		less.Add = slices.DeleteFunc(slices.Clone(less.Add), func(w inventory.Want) bool {
			return slices.ContainsFunc(out[i].Refusal.Conflicts, func(c inventory.Conflict) bool { return c.Unit == w.Unit })
		})
		if len(less.Add) == 0 || len(less.Add) == len(batch[i].Add) {
			continue
		}
		some, err := s.Store.Apply(ctx, event, []inventory.Command{less})
		if err != nil {
			return nil, err
		}
		out[i] = some[0]
	}
	return out, err
}

// restarter restarts the countdown also when a change failed.
type restarter struct{ inventory.Store }

func (s restarter) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	out, err := s.Store.Apply(ctx, event, batch)
	for i := range out {
		if batch[i].Verb == inventory.Change && out[i].Refusal != nil {
			if _, err := s.Store.Apply(ctx, event, []inventory.Command{extendOf(batch[i].Key)}); err != nil {
				return nil, err
			}
		}
	}
	return out, err
}

// allOrNoneBatch refuses a batch for one bad command in it.
type allOrNoneBatch struct{ inventory.Store }

func (s allOrNoneBatch) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	for _, c := range batch {
		if c.Verb > inventory.Expire {
			refusal := &inventory.Refusal{Code: inventory.Invalid}
			return slices.Repeat([]inventory.Outcome{{Refusal: refusal}}, len(batch)), nil
		}
	}
	return s.Store.Apply(ctx, event, batch)
}

// lastWriter alters whatever the revision is by now.
type lastWriter struct{ inventory.Store }

func (s lastWriter) Alter(ctx context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	result, err := s.Store.Alter(ctx, event, a)
	if !errors.Is(err, inventory.ErrStale) {
		return result, err
	}
	now, err := s.Event(ctx, event)
	if err != nil {
		return result, err
	}
	e := *a.Event
	a.Expect, e.Revision = now.Revision, now.Revision+1
	a.Event = &e
	return s.Store.Alter(ctx, event, a)
}

// staleBoards answers the board that was read before.
type staleBoards struct {
	inventory.Store
	boards *sync.Map // event → *inventory.Board
}

func (s staleBoards) Board(ctx context.Context, event string) (*inventory.Board, error) {
	b, err := s.Store.Board(ctx, event)
	if err != nil {
		return nil, err
	}
	if old, ok := s.boards.Swap(event, b); ok {
		return old.(*inventory.Board), nil
	}
	return b, nil
}

// unitByUnit lets go of a hold one unit after another, each in a transaction of its own, so that others
// see half of it gone. Of each unit alone that looks right.
type unitByUnit struct{ inventory.Store }

func (s unitByUnit) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	for _, c := range batch {
		if c.Verb != inventory.Release {
			continue
		}
		h, _, err := s.Hold(ctx, event, c.Key)
		if errors.Is(err, inventory.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, l := range h.Lines[1:] {
			if _, err := s.Store.Apply(ctx, event, []inventory.Command{changeOf(c.Key, nil, []inventory.Want{some(l.Unit, l.Quantity, l.Type)})}); err != nil {
				return nil, err
			}
		}
	}
	return s.Store.Apply(ctx, event, batch)
}
