package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

func newGrid(t testing.TB, rows, perRow int) *house {
	t.Helper()
	h := openHouse(t, filepath.Join(t.TempDir(), "storm.db"))
	h.furnishWith(t, seatmap.Grid(rows, perRow), 600)
	return h
}

func bestOf(h *house, n int, together bool) inventory.ClaimRequest {
	return inventory.ClaimRequest{Event: h.event, Best: &inventory.Best{Quantity: int64(n), Together: together}}
}

// storm lets callers ask for the best at once.
func storm(h *house, ctx context.Context, callers, n int, together bool) (views []*inventory.HoldView, errs []error) {
	views, errs = make([]*inventory.HoldView, callers), make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { views[i], errs[i] = h.service.Claim(ctx, bestOf(h, n, together)) })
	}
	wg.Wait()
	return views, errs
}

// isNoBlock reports whether an error is the 409 of who found no seats.
func isNoBlock(err error) bool {
	r, ok := errors.AsType[*inventory.Refusal](err)
	return ok && r.Code == inventory.AllocationUnavailable && len(r.Conflicts) == 1 && r.Conflicts[0].Reason == inventory.ReasonNoBlock
}

// winners counts them, and fails the test for a loser who was not told no_block, and for seats apart.
func winners(t *testing.T, views []*inventory.HoldView, errs []error) (won int) {
	t.Helper()
	for i, err := range errs {
		switch {
		case err == nil && apart(views[i]) == "":
			won++
		case err == nil:
			t.Errorf("promise 2: a caller was given seats with %v", views[i].Warnings)
		case !isNoBlock(err):
			t.Errorf("promise 2: a caller was answered %v", err)
		}
	}
	return won
}

func TestPromise2OfTwoHundredGroupsOfFourAHundredWinAHundredBlocks(t *testing.T) {
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprint("together=", together), func(t *testing.T) {
			h := newGrid(t, 25, 16)
			views, errs := storm(h, t.Context(), 200, 4, together)
			if won := winners(t, views, errs); won != 100 {
				t.Errorf("promise 2: %d of 200 won 100 blocks", won)
			}
			h.audit(t)
		})
	}
}

// Many callers read one board before the first of them is served: nobody has to look a second time.
func TestPromise2EverybodyWhoReadOneBoardWinsABlockOfIt(t *testing.T) {
	const callers = 200
	h := newGrid(t, 50, 16)
	gate := &gatedStore{Store: h.store, waiting: callers}
	gate.read.Add(callers)
	h.service = storetest.NewService(gate, h.records)
	views, errs := storm(h, t.Context(), callers, 4, true)
	if won := winners(t, views, errs); won != callers || gate.commands != callers {
		t.Errorf("promise 2: %d of %d won as many blocks, by %d commands", won, callers, gate.commands)
	}
	h.audit(t)
}

// gatedStore lets no batch in before every caller has read the board.
type gatedStore struct {
	inventory.Store
	read     sync.WaitGroup
	mu       sync.Mutex
	waiting  int
	commands int
}

func (s *gatedStore) Board(ctx context.Context, event string) (*inventory.Board, error) {
	s.reading()
	return s.Store.Board(ctx, event)
}

func (s *gatedStore) Changes(ctx context.Context, event string, after inventory.Position) (*inventory.Changes, error) {
	s.reading()
	return s.Store.Changes(ctx, event, after)
}

func (s *gatedStore) reading() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > 0 {
		s.waiting--
		s.read.Done()
	}
}

func (s *gatedStore) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	s.read.Wait()
	s.mu.Lock()
	s.commands += len(batch)
	s.mu.Unlock()
	return s.Store.Apply(ctx, event, batch)
}

func TestPromise2AThousandPairsInAnArenaAreNeverToldToTryAgain(t *testing.T) {
	h := newGrid(t, 600, 100)
	views, errs := storm(h, t.Context(), 1000, 2, false)
	if won := winners(t, views, errs); won != 1000 {
		t.Errorf("promise 2: %d of 1000 pairs won of 60,000 seats", won)
	}
	h.audit(t)
}

// TestPromise2NobodyHearsNoBlockWhileABlockFits lets groups of several sizes ask for the best, and others
// for seats by name, while both let go of what they have. Afterwards the log is played again, and every
// answer held against the boards between its question and itself.
func TestPromise2NobodyHearsNoBlockWhileABlockFits(t *testing.T) {
	h := newGrid(t, 8, 9)
	faults, answers := mixedStorm(t, h)
	for _, f := range faults {
		t.Error(f)
	}
	h.audit(t)
	t.Logf("%v", answers)
	answers["apart"] = answers[string(inventory.RowsApart)] + answers[string(inventory.SeatsApart)]
	for _, kind := range []string{"no_block", "together", "apart"} {
		if answers[kind] == 0 {
			t.Errorf("the storm gave no answer of the kind %s, and proves nothing about it", kind)
		}
	}
}

// The twin: a store that reads the board of some time ago. "None" and "apart" are then said wrongly, and
// the storm must notice.
func TestTheStormCatchesAnOldBoard(t *testing.T) {
	for try := range 5 {
		h := newGrid(t, 8, 9)
		h.service = storetest.NewService(&oldBoards{Store: h.store}, h.records)
		if faults, _ := mixedStorm(t, h); len(faults) > 0 {
			t.Logf("try %d: %s", try+1, faults[0])
			return
		}
	}
	t.Error("old boards went unnoticed")
}

// oldBoards reads a board only now and then.
type oldBoards struct {
	inventory.Store
	mu    sync.Mutex
	reads int
	board *inventory.Board
}

func (s *oldBoards) Board(ctx context.Context, event string) (*inventory.Board, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.reads%8 == 1 || s.board == nil {
		b, err := s.Store.Board(ctx, event)
		if err != nil {
			return nil, err
		}
		s.board = b
	}
	b := *s.board // a board belongs to who reads it
	b.Units = slices.Clone(b.Units)
	return &b, nil
}

// asked is a question about the best, and the positions of the board before it and after its answer.
type asked struct {
	n             int
	together      bool
	before, after int64
	view          *inventory.HoldView
	err           error
}

const (
	stormCallers = 24
	stormSteps   = 30
)

func mixedStorm(t *testing.T, h *house) (faults []string, answers map[string]int) {
	t.Helper()
	// Who looks at positions does so past the service under test, whose store may be a twin.
	version := func() int64 {
		b, err := h.store.Board(t.Context(), h.event)
		if err != nil {
			t.Error(err)
			return 0
		}
		return b.Position.Version
	}
	start, keys := version(), h.seats(t)
	var mu sync.Mutex
	var all []asked
	var wg sync.WaitGroup
	for i := range stormCallers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			var holds []*inventory.HoldView
			for range stormSteps {
				if len(holds) > 0 && random.IntN(3) == 0 {
					k := random.IntN(len(holds))
					if err := h.service.Release(t.Context(), inventory.HoldRef{Event: h.event, Token: holds[k].Token}); err != nil {
						t.Error(err)
					}
					holds = slices.Delete(holds, k, k+1)
					continue
				}
				if i%4 == 0 {
					if v, err := h.service.Claim(t.Context(), claimOf(h, keys[random.IntN(len(keys))])); err == nil {
						holds = append(holds, v)
					}
					continue
				}
				a := asked{n: 1 + random.IntN(5), together: random.IntN(3) == 0, before: version()}
				a.view, a.err = h.service.Claim(t.Context(), bestOf(h, a.n, a.together))
				a.after = version()
				if a.err == nil {
					holds = append(holds, a.view)
				}
				mu.Lock()
				all = append(all, a)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return judgeStorm(t, h, start, all)
}

// judgeStorm plays the log again and holds each answer against it.
func judgeStorm(t *testing.T, h *house, start int64, all []asked) (faults []string, answers map[string]int) {
	t.Helper()
	boards := replayed(t, h, start)
	answers = make(map[string]int)
	ever := func(a asked, is func(free []bool) bool) bool {
		for v := a.before; v <= a.after; v++ {
			if is(boards[v-start]) {
				return true
			}
		}
		return false
	}
	for _, a := range all {
		seats := func(free []bool) bool { return count(free) >= a.n }
		together := func(free []bool) bool { return rowHas(free, 9, a.n) }
		switch {
		case isNoBlock(a.err):
			answers["no_block"]++
			fits := seats
			if a.together {
				fits = together
			}
			if !ever(a, func(free []bool) bool { return !fits(free) }) {
				faults = append(faults, fmt.Sprintf("promise 2: no_block for %d (together: %v) between %d and %d, while a block fitted all the time", a.n, a.together, a.before, a.after))
			}
		case a.err != nil:
			faults = append(faults, fmt.Sprintf("promise 2: a caller was answered %v", a.err))
		case apart(a.view) == "":
			answers["together"]++
		default:
			answers[string(apart(a.view))]++
			if a.together || !ever(a, func(free []bool) bool { return !together(free) }) {
				faults = append(faults, fmt.Sprintf("%d were seated with %v between %d and %d, while a block fitted all the time", a.n, a.view.Warnings, a.before, a.after))
			}
		}
	}
	return faults, answers
}

// replayed are the boards after each entry of the log, from a version on.
func replayed(t *testing.T, h *house, start int64) (boards [][]bool) {
	t.Helper()
	free := slices.Repeat([]bool{true}, len(h.seats(t)))
	p := inventory.Page{Limit: 200}
	for {
		page, err := h.service.Log(t.Context(), h.caller, h.event, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			for _, u := range e.Units {
				if int(u.Unit) < len(free) && (e.Kind == inventory.LogHeld || e.Kind == inventory.LogReleased) {
					free[u.Unit] = u.Delta < 0
				}
			}
			if e.Number >= start {
				boards = append(boards, slices.Clone(free))
			}
		}
		if p.After = page.Next; p.After == "" {
			return boards
		}
	}
}

func count(free []bool) (n int) {
	for _, f := range free {
		if f {
			n++
		}
	}
	return n
}

// rowHas reports whether some row has n free seats beside one another.
func rowHas(free []bool, perRow, n int) bool {
	run := 0
	for i, f := range free {
		if i%perRow == 0 {
			run = 0
		}
		if run++; !f {
			run = 0
		}
		if run == n {
			return true
		}
	}
	return false
}

// A hold that has lapsed and that nobody has swept is still held on the board that everybody follows.
// Whoever asks for the best is not seated apart, nor told that there is none, for its sake.
func TestPromise5SeatsOfALapsedHoldAreFoundTogether(t *testing.T) {
	for _, free := range []int{0, 2} { // singles beside what has lapsed
		h := newHouse(t, 600)
		keys := h.seats(t)
		box := inventory.ClaimRequest{Caller: h.caller, Event: h.event, Basket: inventory.Basket{Seats: slices.Concat(keys[free*2:20], keys[23:])}}
		for k := range free {
			box.Basket.Seats = append(box.Basket.Seats, keys[2*k])
		}
		if _, err := h.service.Claim(t.Context(), box); err != nil {
			t.Fatal(err)
		}
		lapsing, err := h.service.Claim(t.Context(), claimOf(h, keys[20:23]...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.service.Board(t.Context(), inventory.Caller{}, h.event); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("x'%x'", lapsing.Hold.Key[:])
		if err := h.store.Exec("UPDATE holds SET deadline = 1 WHERE hold_hash = " + key + "; UPDATE hold_lines SET deadline = 1 WHERE hold_hash = " + key); err != nil {
			t.Fatal(err)
		}
		v, err := h.service.Claim(t.Context(), bestOf(h, 2, false))
		if err != nil || apart(v) != "" || int(v.Hold.Lines[0].Unit) < 20 || int(v.Hold.Lines[1].Unit) > 22 {
			t.Errorf("promise 5: with %d others free: %+v %v", free, v, err)
		}
		h.audit(t)
	}
}

// apart is what an answer says of seats that are not together; whom they leave alone is another matter.
func apart(v *inventory.HoldView) inventory.WarningCode {
	for _, w := range v.Warnings {
		if w.Code != inventory.SingleSeatLeft {
			return w.Code
		}
	}
	return ""
}
