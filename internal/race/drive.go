package race

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The bounds of a percentile.
const (
	latencyMax  = int64(requestTimeout / time.Microsecond)
	latencyFigs = 3 // significant figures
)

// The kinds of answers that are counted apart.
const (
	opHold = iota
	opOrder
	opRelease
	opRejection
	opBoard
	opChange // of what is on sale, by the organizer: an entry of the log
	opKinds
)

// tally is what one caller was answered. It belongs to that caller until the run is over, so that
// counting costs no lock.
type tally struct {
	intended   time.Time // when the caller's present cycle should have begun
	counts     [opKinds]int64
	latencies  [opKinds][]int32 // microseconds
	unexpected map[string]int   // answers that the load does not allow, and what went wrong
}

// count records an answer that was waited for since a moment.
func (t *tally) count(kind int, since time.Time) {
	t.counts[kind]++
	took := min(max(int64(time.Since(since)/time.Microsecond), 1), latencyMax)
	t.latencies[kind] = append(t.latencies[kind], int32(took))
}

// strange records what should not have been answered.
func (t *tally) strange(label string) {
	if t.unexpected == nil {
		t.unexpected = make(map[string]int)
	}
	t.unexpected[label]++
}

// cycle is what a caller repeats. It reports false when it cannot go on.
type cycle func(ctx context.Context, t *tally) (more bool)

// pace is how long callers repeat their cycles, and how often.
type pace struct {
	length time.Duration
	rate   float64 // cycles a second of all callers together; 0: each as soon as the last one is done
}

// drive lets every caller go through one cycle that is not measured, so that nobody begins with a
// handshake, and then repeat cycles until the time is over. A cycle that has begun is finished, so the
// counts are those of the server. With a rate, cycles begin when they are due, and what is measured is
// from that moment: a server that stalls is not spared the requests that would have come meanwhile.
// It returns what was measured, what came before that, and how long the measuring took.
func drive(ctx context.Context, p pace, cycles []cycle) (measured, before *tally, took time.Duration) {
	warm, tallies := make([]tally, len(cycles)), make([]tally, len(cycles))
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	var began time.Time
	ready.Add(len(cycles))
	for w, next := range cycles {
		done.Go(func() {
			warm[w].intended = time.Now()
			more := next(ctx, &warm[w])
			ready.Done()
			<-gate
			t := &tallies[w]
			for n := 0; more && ctx.Err() == nil; n++ {
				t.intended = time.Now()
				if p.rate > 0 {
					t.intended = began.Add(time.Duration(float64(n*len(cycles)+w) / p.rate * float64(time.Second)))
				}
				if t.intended.Sub(began) >= p.length || p.rate > 0 && until(ctx, t.intended) != nil {
					return
				}
				more = next(ctx, t)
			}
		})
	}
	ready.Wait()
	began = time.Now()
	close(gate)
	done.Wait()
	took = time.Since(began)
	return addUp(tallies), addUp(warm), took
}

// addUp adds the callers' tallies up.
func addUp(tallies []tally) *tally {
	sum := new(tally)
	for i := range tallies {
		for kind := range opKinds {
			sum.counts[kind] += tallies[i].counts[kind]
			sum.latencies[kind] = append(sum.latencies[kind], tallies[i].latencies[kind]...)
		}
		for label, n := range tallies[i].unexpected {
			if sum.unexpected == nil {
				sum.unexpected = make(map[string]int)
			}
			sum.unexpected[label] += n
		}
	}
	return sum
}

// answers is how many answers were counted.
func (t *tally) answers() int64 {
	var n int64
	for _, c := range t.counts {
		n += c
	}
	return n
}

// percentiles returns milliseconds of one kind of answer: p50, p95, p99 and the longest.
func (t *tally) percentiles(kind int) (p50, p95, p99, longest float64) {
	h := hdrhistogram.New(1, latencyMax, latencyFigs)
	for _, us := range t.latencies[kind] {
		if h.RecordValue(int64(us)) != nil {
			t.strange("a latency that cannot be recorded")
		}
	}
	ms := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	return ms(50), ms(95), ms(99), float64(h.Max()) / 1000
}
