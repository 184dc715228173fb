package sqlite_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// benchCallers is how many callers fight at once, in the process.
const benchCallers = 256

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
