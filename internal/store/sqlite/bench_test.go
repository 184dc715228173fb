package sqlite_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// benchCallers is how many callers fight at once, in the process.
const benchCallers = 256

const quietTime = 300 * time.Millisecond // as long as publishing takes, for comparison

// BenchmarkClaims compares the combiner with one transaction a request on the same file: holds/s on
// one hot area and on random seats, and rejections/s on one seat. A claim is released at once, so
// that little is ever taken; holds/s counts claims only.
func BenchmarkClaims(b *testing.B) {
	for _, way := range []struct {
		name string
		make func(*house) inventory.Store
	}{
		{"combined", func(h *house) inventory.Store { return h.store }},
		{"a-transaction-each", func(h *house) inventory.Store { return oneEach{h.store} }},
	} {
		b.Run("area/"+way.name, func(b *testing.B) { benchClaims(b, way.make, "area") })
		b.Run("seats/"+way.name, func(b *testing.B) { benchClaims(b, way.make, "seats") })
		b.Run("rejections/"+way.name, func(b *testing.B) { benchClaims(b, way.make, "rejections") })
	}
}

// oneEach runs every command of a batch in a transaction of its own.
type oneEach struct{ inventory.Store }

func (s oneEach) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	outcomes := make([]inventory.Outcome, 0, len(batch))
	for _, c := range batch {
		one, err := s.Store.Apply(ctx, event, []inventory.Command{c})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

func benchClaims(b *testing.B, way func(*house) inventory.Store, what string) {
	h := newBenchHouse(b)
	service := storetest.NewService(way(h), h.records)
	keys := h.seats(b)
	ctx := b.Context()
	if what == "rejections" {
		if _, err := service.Claim(ctx, claimOf(h, keys[0])); err != nil {
			b.Fatal(err)
		}
	}
	var next, answers atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range benchCallers {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				r := inventory.ClaimRequest{Event: h.event}
				switch what {
				case "area":
					r.Basket.Areas = []inventory.AreaWant{{Area: "FLOOR", Quantity: 1}}
				case "seats":
					r.Basket.Seats = keys[int(i*7919)%len(keys):][:1]
				default:
					r.Basket.Seats = keys[:1]
				}
				v, err := service.Claim(ctx, r)
				if (err != nil) != (what == "rejections") {
					b.Error(err)
					return
				}
				answers.Add(1)
				if err == nil {
					if err := service.Release(ctx, inventory.HoldRef{Event: h.event, Token: v.Token}); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(answers.Load())/b.Elapsed().Seconds(), what+"/s")
	h.audit(b)
}

// newBenchHouse has 60,000 seats and an area that never runs out.
func newBenchHouse(b testing.TB) *house {
	m := seatmap.Grid(600, 100)
	m.Areas = append(m.Areas, seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: 100_000})
	h := openHouse(b, b.TempDir()+"/bench.db")
	h.furnishWith(b, m, 600)
	return h
}

// BenchmarkPublish60000 publishes an event of 60,000 seats.
func BenchmarkPublish60000(b *testing.B) {
	h := newBenchHouse(b)
	for b.Loop() {
		h.inner.OnSale(b, h.inner.Spec(600))
	}
}

// BenchmarkBoard60000 reads a board of 60,000 seats as every viewer does.
func BenchmarkBoard60000(b *testing.B) {
	h := newBenchHouse(b)
	for b.Loop() {
		if _, err := h.service.Board(b.Context(), inventory.Caller{}, h.event); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBest60000 claims four together out of 60,000, one caller alone.
func BenchmarkBest60000(b *testing.B) {
	h := newBenchHouse(b)
	for b.Loop() {
		v, err := h.service.Claim(b.Context(), inventory.ClaimRequest{Event: h.event, Best: &inventory.Best{Quantity: 4}})
		if err != nil {
			b.Fatal(err)
		}
		if err := h.service.Release(b.Context(), inventory.HoldRef{Event: h.event, Token: v.Token}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBestStorm lets 1,000 callers at once ask for the best two of 60,000 seats. Everybody wins; the
// holds are let go between storms, off the clock.
func BenchmarkBestStorm(b *testing.B) {
	const callers = 1000
	h := newBenchHouse(b)
	for b.Loop() {
		views, errs := storm(h, b.Context(), callers, 2, false)
		b.StopTimer()
		for i, err := range errs {
			if err == nil {
				err = h.service.Release(b.Context(), inventory.HoldRef{Event: h.event, Token: views[i].Token})
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
	b.ReportMetric(callers*float64(b.N)/b.Elapsed().Seconds(), "holds/s")
	h.audit(b)
}

// BenchmarkRepaint10000 gives 10,000 of 60,000 seats another class, in one run or as runs of one seat, and
// reports the longest that the writer was held: at most that long, buyers wait for an organizer. The
// last pair is the measure of it, one seat.
func BenchmarkRepaint10000(b *testing.B) {
	for _, way := range []struct {
		name       string
		runs, each inventory.Unit
	}{{"contiguous", 1, 10_000}, {"scattered", 10_000, 1}, {"one-seat", 1, 1}} {
		b.Run(way.name, func(b *testing.B) {
			h := newBenchHouse(b)
			held := h.holdsTheWriter(b, func(a *inventory.Alteration, round int) {
				a.Kind = inventory.LogRepainted
				for i := range way.runs {
					a.Repaint = append(a.Repaint, inventory.Repaint{From: i * 6, Count: way.each, Class: round % 2})
				}
			})
			b.ReportMetric(float64(held.Microseconds())/1000, "ms-at-most")
		})
	}
}

// BenchmarkDrop10000 takes 10,000 seats off sale and puts them back.
func BenchmarkDrop10000(b *testing.B) {
	h := newBenchHouse(b)
	held := h.holdsTheWriter(b, func(a *inventory.Alteration, round int) {
		for u := range inventory.Unit(10_000) { // an alteration of no kind that comes in parts
			if round%2 == 0 {
				a.Drop = append(a.Drop, u*6)
			} else {
				a.Insert = append(a.Insert, inventory.Allocation{Unit: u * 6, Key: "back", Seat: true, Capacity: 1})
			}
		}
	})
	b.ReportMetric(float64(held.Microseconds())/1000, "ms-at-most")
}

// holdsTheWriter alters the event over and over and returns the longest that took.
func (h *house) holdsTheWriter(b *testing.B, how func(a *inventory.Alteration, round int)) (longest time.Duration) {
	round := 0
	for b.Loop() {
		b.StopTimer()
		a := h.alteration(b, inventory.LogRepainted)
		a.Event.Terms.Classes = append(a.Event.Terms.Classes[:1:1], a.Event.Terms.Classes[0])
		how(&a, round)
		round++
		b.StartTimer()
		start := time.Now()
		if _, err := h.store.Alter(b.Context(), h.event, a); err != nil {
			b.Fatal(err)
		}
		longest = max(longest, time.Since(start))
	}
	return longest
}

// BenchmarkOthersDuringPublish60000 reports the longest that a buyer of one event waited while another
// event of 60,000 seats was published, beside the longest he waited while nothing else was.
func BenchmarkOthersDuringPublish60000(b *testing.B) {
	h := newBenchHouse(b)
	var quiet, busy time.Duration
	for b.Loop() {
		quiet = max(quiet, longestClaim(b, h, func() { <-time.After(quietTime) }))
		busy = max(busy, longestClaim(b, h, func() { h.inner.OnSale(b, h.inner.Spec(600)) }))
	}
	b.ReportMetric(float64(quiet.Microseconds())/1000, "ms-quiet")
	b.ReportMetric(float64(busy.Microseconds())/1000, "ms-publishing")
}

// BenchmarkBuyersDuringNewMap60000 reports the longest that a buyer waited while his event moved to a map on
// which all but one of 60,000 seats are new, in parts and in one transaction, beside the longest he waited
// while nothing moved.
func BenchmarkBuyersDuringNewMap60000(b *testing.B) {
	b.Run("in-parts", func(b *testing.B) { benchNewMap(b, sqlite.StageRowsMax) })
	b.Run("at-once", func(b *testing.B) { benchNewMap(b, 60_000) })
}

func benchNewMap(b *testing.B, partRows int) {
	var quiet, busy time.Duration
	for b.Loop() {
		b.StopTimer()
		h := newBenchHouse(b)
		h.store.SetStageRows(partRows)
		m := seatmap.Grid(600, 100)
		for i := range m.Sections {
			for j := range m.Sections[i].Rows {
				for k := range m.Sections[i].Rows[j].Seats {
					m.Sections[i].Rows[j].Seats[k].Key += "B"
				}
			}
		}
		m.Sections[0].Rows[0].Seats[0].Key = "S1-1-1"
		to := h.newMap(b, m)
		b.StartTimer()
		quiet = max(quiet, longestClaim(b, h, func() { <-time.After(quietTime) }))
		busy = max(busy, longestClaim(b, h, func() {
			if err := h.moveTo(b, to); err != nil {
				b.Error(err)
			}
		}))
	}
	b.ReportMetric(float64(quiet.Microseconds())/1000, "ms-quiet")
	b.ReportMetric(float64(busy.Microseconds())/1000, "ms-moving")
}

// longestClaim claims and lets go, one after the other, while something goes on. The first, for which the
// map is read, does not count.
func longestClaim(b *testing.B, h *house, during func()) (longest time.Duration) {
	var done atomic.Bool
	var wg sync.WaitGroup
	claim := func() (took time.Duration) {
		start := time.Now()
		v, err := h.service.Claim(b.Context(), claimOf(h, "S1-1-1"))
		took = time.Since(start)
		if err == nil {
			err = h.service.Release(b.Context(), inventory.HoldRef{Event: h.event, Token: v.Token})
		}
		if err != nil {
			b.Error(err)
			done.Store(true)
		}
		return took
	}
	claim()
	wg.Go(func() {
		for !done.Load() {
			longest = max(longest, claim())
		}
	})
	during()
	done.Store(true)
	wg.Wait()
	return longest
}
