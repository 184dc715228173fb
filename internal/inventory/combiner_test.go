package inventory

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bench of a combiner: a store that takes its time and remembers the batches.
type slowStore struct {
	mu      sync.Mutex
	batches [][]int
	takes   time.Duration
	fail    func(batch int) error
}

func (s *slowStore) send(ctx context.Context, _ string, batch []int) ([]int, error) {
	s.mu.Lock()
	s.batches = append(s.batches, slices.Clone(batch))
	n := len(s.batches)
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fail != nil {
		if err := s.fail(n); err != nil {
			return nil, err
		}
	}
	out := make([]int, len(batch))
	for i, c := range batch {
		out[i] = 10 * c
	}
	return out, nil
}

func oneUnit(*int) int { return 1 }

func TestCommandsGatherWhileABatchIsInFlightAndNeverWaitForATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{takes: time.Second}
		c := newCombiner(oneUnit, s.send)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				out, err := c.do(t.Context(), "e", i)
				if err != nil || out != 10*i {
					t.Errorf("command %d: %d %v", i, out, err)
				}
			})
			synctest.Wait() // arrival order is then the order of i
		}
		wg.Wait()
		var sizes []int
		var all []int
		for _, b := range s.batches {
			sizes = append(sizes, len(b))
			all = append(all, b...)
		}
		if want := []int{1, 256, 256, 256, 231}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
		if !slices.IsSorted(all) || len(all) != 1000 {
			t.Errorf("not in arrival order, or not all: %d", len(all))
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("five batches of a second took %v", took)
		}
		synctest.Wait()
		if len(c.lanes) != 0 {
			t.Errorf("%d lanes are left", len(c.lanes))
		}
	})
}

func TestABlockedEventSlowsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		c := newCombiner(oneUnit, func(_ context.Context, event string, batch []int) ([]int, error) {
			if event == "blocked" {
				<-blocked
			}
			return batch, nil
		})
		go c.do(t.Context(), "blocked", 1)
		synctest.Wait()
		if out, err := c.do(t.Context(), "free", 2); out != 2 || err != nil {
			t.Errorf("%d %v", out, err)
		}
		close(blocked)
	})
}

func TestABatchIsBoundedInUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{takes: time.Second}
		c := newCombiner(func(*int) int { return 1500 }, s.send)
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() { c.do(t.Context(), "e", i) })
			synctest.Wait()
		}
		wg.Wait()
		for _, b := range s.batches {
			if len(b)*1500 > batchUnitsMax {
				t.Errorf("a batch of %d units", len(b)*1500)
			}
		}
	})
}

func TestPromise11AFullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{takes: time.Second}
		c := newCombiner(oneUnit, s.send)
		var full atomic.Int64
		var wg sync.WaitGroup
		for i := range queueCommandsMax + 10 {
			wg.Go(func() {
				_, err := c.do(t.Context(), "e", i)
				if r, ok := errors.AsType[*Refusal](err); ok && r.Code == Overloaded {
					full.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if got := full.Load(); got != 9 { // one is in flight, so the queue took one more
			t.Errorf("%d were refused at once, want 9", got)
		}
		wg.Wait()
	})
}

func TestACallerThatLeavesWithdrawsWhatWasNotTakenAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{takes: time.Second}
		c := newCombiner(oneUnit, s.send)
		ctx, leave := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() { _, err := c.do(ctx, "e", 1); results <- err }()
		synctest.Wait() // 1 is in flight
		go func() { _, err := c.do(ctx, "e", 2); results <- err }()
		synctest.Wait() // 2 waits
		leave()
		for range 2 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that left is answered %v", err)
			}
		}
		if out, err := c.do(t.Context(), "e", 3); out != 30 || err != nil {
			t.Errorf("%d %v", out, err)
		}
		if want := [][]int{{1}, {3}}; !slices.EqualFunc(s.batches, want, slices.Equal) {
			t.Errorf("the store saw %v, want %v: accepted work goes on, waiting work is withdrawn", s.batches, want)
		}
	})
}

func TestABatchThatFailedIsSentAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("the answer was lost")
		s := &slowStore{takes: time.Second, fail: func(n int) error {
			if n == 1 {
				return lost
			}
			return nil
		}}
		c := newCombiner(oneUnit, s.send)
		if out, err := c.do(t.Context(), "e", 4); out != 40 || err != nil {
			t.Errorf("%d %v", out, err)
		}
		s.fail = func(int) error { return lost }
		if _, err := c.do(t.Context(), "e", 5); !errors.Is(err, lost) {
			t.Errorf("%v", err)
		}
		if want := [][]int{{4}, {4}, {5}, {5}}; !slices.EqualFunc(s.batches, want, slices.Equal) {
			t.Errorf("the store saw %v, want %v", s.batches, want)
		}
	})
}

func TestClosingAnswersWhatWasAcceptedAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{takes: time.Second}
		c := newCombiner(oneUnit, s.send)
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				if _, err := c.do(t.Context(), "e", i); err != nil {
					t.Errorf("accepted and not done: %v", err)
				}
			})
			synctest.Wait()
		}
		closed := make(chan error, 1)
		go func() { closed <- c.close(t.Context()) }()
		synctest.Wait()
		if _, err := c.do(t.Context(), "e", 1); err == nil {
			t.Error("accepted while closing")
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

func TestClosingGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{takes: time.Minute}
		c := newCombiner(oneUnit, s.send)
		go c.do(t.Context(), "e", 1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(2 * batchTimeMax) // in the bubble: the batch gives up, and the bubble can end
	})
}

// TestABatchTakesAlongWhoeverIsReady lets a crowd that is ready to run go at once, on one processor, where a
// lane that did not look around would send the first alone.
func TestABatchTakesAlongWhoeverIsReady(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const crowd = 100
	s := &slowStore{}
	c := newCombiner(oneUnit, s.send)
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			if _, err := c.do(t.Context(), "e", i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.batches[0]); n < crowd/2 {
		t.Errorf("the first batch has %d of a crowd of %d", n, crowd)
	}
}
