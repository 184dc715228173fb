package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// The bounds of a load run. The duration stays far below the life of a hold, so that what the answers
// add up to is what must be held at the end.
const (
	connectionsDefault = 64
	connectionsMax     = 512
	durationDefault    = 5 * time.Second
	durationMax        = 5 * time.Minute
	loadHoldSeconds    = 1800

	loadRows    = 250
	loadPerRow  = 100
	fieldArea   = "FIELD"
	fieldUnits  = 1_000_000
	loadUnits   = loadRows*loadPerRow + fieldUnits
	latencyMax  = int64(requestTimeout / time.Microsecond)
	latencyFigs = 3 // significant figures of a percentile
)

// LoadConfig bounds a load run. Zero values are defaults: every scenario, 64 connections, 5 seconds each.
type LoadConfig struct {
	Connections int           // callers, each with a connection of its own, at most 512
	Duration    time.Duration // of each scenario, at most 5 minutes
	Scenarios   []string      // by name; empty: all
}

// LoadReport is what a load run measured. Rejections stand apart from what was sold, for a server
// that says no quickly has sold nothing.
type LoadReport struct {
	StartedAt   time.Time    `json:"started_at"`
	Servers     int          `json:"servers"`
	Connections int          `json:"connections"`
	Scenarios   []LoadResult `json:"scenarios"`
	Audit       Audit        `json:"audit"`
	Notes       []string     `json:"notes,omitzero"`
	Passed      bool         `json:"passed"` // no unexpected answer, no breach
}

// LoadResult is one scenario. Rates are a second over the whole of it.
type LoadResult struct {
	Name       string      `json:"name"`
	Claim      string      `json:"claim"`
	Event      string      `json:"event"`
	Seconds    float64     `json:"seconds"`
	Holds      float64     `json:"holds_per_second"`
	Orders     float64     `json:"orders_per_second"`
	Rejections float64     `json:"rejections_per_second"`
	Operations []Operation `json:"operations"`
	// Exhausted: everything was sold before the time was over, and the rates are of that shorter time.
	Exhausted  bool           `json:"exhausted"`
	Unexpected map[string]int `json:"unexpected"` // answers that the scenario does not allow
	Breaches   []string       `json:"breaches"`
}

// Operation is one kind of answer: how many, and how long callers waited for it, in milliseconds.
type Operation struct {
	Name      string  `json:"name"`
	Count     int64   `json:"count"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p999_ms"`
	Max       float64 `json:"max_ms"`
}

// The kinds of answers that are counted apart.
const (
	opHold = iota
	opOrder
	opRelease
	opRejection
	opKinds
)

var opNames = [opKinds]string{"holds", "orders", "releases", "rejections"}

// scenario is a load: prepare makes what it needs and returns the step that each caller repeats until
// the time is over or the step says that nothing is left.
type scenario struct {
	name    string
	claim   string
	allowed []string // answers besides success
	prepare func(context.Context, *arena, *observation) (step, error)
}

type step func(ctx context.Context, m *meter, worker int) (more bool)

// Scenarios names the load scenarios, in the order in which they are run.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

func scenarios() []scenario {
	return []scenario{
		{"hot-area", "every caller claims one unit of one general-admission area", nil, prepareHotArea},
		{"random-seats", "every caller claims seats spread over the house, each seat once", nil, prepareRandomSeats},
		{"rejections", "every caller claims one seat that is sold", []string{"409 ALLOCATION_UNAVAILABLE (sold)"}, prepareRejections},
		{"claim-release", "every caller claims a seat of its own and lets it go, over and over", nil, prepareCycles},
		{"purchase", "every caller claims a unit and buys it, over and over", nil, preparePurchases},
	}
}

// Load runs load scenarios against a target, one after the other, and then audits its database.
// progress may be nil. The error is for what prevents the run; what a server answers never is one.
func Load(ctx context.Context, t Target, c LoadConfig, progress func(Progress)) (*LoadReport, error) {
	chosen, err := c.settle()
	if err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(Progress) {}
	}
	report := &LoadReport{StartedAt: time.Now().UTC().Truncate(time.Second), Servers: len(t.URLs), Connections: c.Connections}
	progress(Progress{Races: len(chosen), Message: "preparing a venue"})
	a, err := newCallers(t)
	if err != nil {
		return nil, fmt.Errorf("load: preparing: %w", err)
	}
	defer a.close()
	m := seatmap.Grid(loadRows, loadPerRow)
	m.Areas = []seatmap.Area{{Key: fieldArea, Name: "Field", Capacity: fieldUnits}}
	if err := a.furnish(ctx, m); err != nil {
		return nil, fmt.Errorf("load: preparing: %w", err)
	}
	report.Passed = true
	for i, s := range chosen {
		progress(Progress{Race: s.name, Number: i + 1, Races: len(chosen)})
		result, err := s.run(ctx, a, c)
		if err != nil {
			return nil, fmt.Errorf("load: %s: %w", s.name, err)
		}
		report.Passed = report.Passed && len(result.Unexpected) == 0 && len(result.Breaches) == 0
		report.Scenarios = append(report.Scenarios, *result)
	}
	progress(Progress{Races: len(chosen), Message: "auditing the database"})
	report.Audit = audit(ctx, t)
	report.Notes = a.cancelEvents(ctx)
	report.Passed = report.Passed && report.Audit.Failure == "" && len(report.Audit.Breaches) == 0
	return report, nil
}

// settle fills in defaults, refuses what is out of bounds, and finds the scenarios.
func (c *LoadConfig) settle() ([]scenario, error) {
	if c.Connections == 0 {
		c.Connections = connectionsDefault
	}
	if c.Duration == 0 {
		c.Duration = durationDefault
	}
	if c.Connections < 1 || c.Connections > connectionsMax {
		return nil, fmt.Errorf("load: connections must be 1 to %d", connectionsMax)
	}
	if c.Duration < 0 || c.Duration > durationMax {
		return nil, fmt.Errorf("load: the duration of a scenario must be at most %s", durationMax)
	}
	all := scenarios()
	if len(c.Scenarios) == 0 {
		return all, nil
	}
	var chosen []scenario
	for _, name := range c.Scenarios {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("load: no scenario %q; there are %s", name, strings.Join(Scenarios(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// run makes an event, lets every caller repeat the scenario's step, and checks that what the answers
// add up to is what the event says.
func (s scenario) run(ctx context.Context, a *arena, c LoadConfig) (*LoadResult, error) {
	request := a.eventRequest("load, " + s.name)
	request.Limits.HoldSeconds = new(int64(loadHoldSeconds))
	o, err := a.open(ctx, request)
	if err != nil {
		return nil, err
	}
	o.capacity = loadUnits
	next, err := s.prepare(ctx, a, o)
	if err != nil {
		return nil, err
	}
	if err := a.warm(ctx, c.Connections); err != nil {
		return nil, err
	}
	m := newMeter(s.allowed)
	began := time.Now()
	exhausted := spend(ctx, c, m, next)
	took := time.Since(began).Seconds()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result := m.result(took)
	result.Name, result.Claim, result.Event, result.Exhausted = s.name, s.claim, o.event, exhausted
	if o.report, err = a.organizer().Report(ctx, o.event); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	if len(result.Unexpected) > 0 {
		return result, nil // of what was not answered nobody knows whether it happened
	}
	v := new(verdict)
	sales := m.counts[opOrder] + int64(len(o.sales))
	v.conserved(o, m.counts[opHold]-m.counts[opRelease]-m.counts[opOrder], sales)
	result.Breaches = append(result.Breaches, v.breaches...)
	return result, nil
}

// spend lets every caller repeat a step until the time is over or nothing is left. A call that has
// begun is answered before it ends, so that the counts are those of the server.
func spend(ctx context.Context, c LoadConfig, m *meter, next step) (exhausted bool) {
	var empty atomic.Bool
	var done sync.WaitGroup
	end := time.Now().Add(c.Duration)
	for w := range c.Connections {
		done.Go(func() {
			for ctx.Err() == nil && time.Now().Before(end) {
				if !next(ctx, m, w) {
					empty.Store(true)
					return
				}
			}
		})
	}
	done.Wait()
	return empty.Load()
}

// meter counts answers and how long they took. Safe for concurrent use.
type meter struct {
	mu         sync.Mutex
	allowed    []string
	counts     [opKinds]int64
	latencies  [opKinds]*hdrhistogram.Histogram // microseconds
	unexpected map[string]int
}

func newMeter(allowed []string) *meter {
	m := &meter{allowed: allowed, unexpected: make(map[string]int)}
	for i := range m.latencies {
		m.latencies[i] = hdrhistogram.New(1, latencyMax, latencyFigs)
	}
	return m
}

// record counts an answer and reports whether it was a success.
func (m *meter) record(kind int, got answer) bool {
	success := got.status >= 200 && got.status <= 299
	m.mu.Lock()
	defer m.mu.Unlock()
	if !success {
		label := got.label()
		if !slices.Contains(m.allowed, label) {
			m.unexpected[label]++
			return false
		}
		kind = opRejection
	}
	m.counts[kind]++
	took := min(max(int64(got.got.Sub(got.sent)/time.Microsecond), 1), latencyMax)
	if err := m.latencies[kind].RecordValue(took); err != nil {
		m.unexpected["a latency that cannot be recorded"]++
	}
	return success
}

func (m *meter) result(took float64) *LoadResult {
	r := &LoadResult{Seconds: took, Operations: []Operation{}, Unexpected: m.unexpected, Breaches: []string{}}
	rate := func(kind int) float64 { return float64(m.counts[kind]) / max(took, 1e-9) }
	r.Holds, r.Orders, r.Rejections = rate(opHold), rate(opOrder), rate(opRejection)
	for kind, h := range m.latencies {
		if m.counts[kind] == 0 {
			continue
		}
		ms := func(percentile float64) float64 { return float64(h.ValueAtQuantile(percentile)) / 1000 }
		r.Operations = append(r.Operations, Operation{
			Name: opNames[kind], Count: m.counts[kind], PerSecond: rate(kind),
			P50: ms(50), P90: ms(90), P99: ms(99), P999: ms(99.9), Max: float64(h.Max()) / 1000,
		})
	}
	return r
}

func prepareHotArea(_ context.Context, a *arena, o *observation) (step, error) {
	var taken atomic.Int64
	return func(ctx context.Context, m *meter, w int) bool {
		if taken.Add(1) > fieldUnits {
			return false
		}
		m.record(opHold, claim(ctx, a.buyer(w), o.event, units(fieldArea, 1)))
		return true
	}, nil
}

func prepareRandomSeats(_ context.Context, a *arena, o *observation) (step, error) {
	order := rand.Perm(len(a.plan.Seats))
	var taken atomic.Int64
	return func(ctx context.Context, m *meter, w int) bool {
		i := taken.Add(1) - 1
		if i >= int64(len(order)) {
			return false
		}
		m.record(opHold, claim(ctx, a.buyer(w), o.event, seats(a.seat(order[i]))))
		return true
	}, nil
}

func prepareRejections(ctx context.Context, a *arena, o *observation) (step, error) {
	if _, err := a.buy(ctx, o, seats(a.seat(0))); err != nil {
		return nil, err
	}
	return func(ctx context.Context, m *meter, w int) bool {
		m.record(opHold, claim(ctx, a.buyer(w), o.event, seats(a.seat(0))))
		return true
	}, nil
}

func prepareCycles(_ context.Context, a *arena, o *observation) (step, error) {
	if len(a.plan.Seats) < connectionsMax {
		return nil, errors.New("there is not a seat for every caller")
	}
	return func(ctx context.Context, m *meter, w int) bool {
		got := claim(ctx, a.buyer(w), o.event, seats(a.seat(w)))
		if m.record(opHold, got) {
			m.record(opRelease, release(ctx, a.buyer(w), got.hold, got.hold.Token))
		}
		return true
	}, nil
}

func preparePurchases(_ context.Context, a *arena, o *observation) (step, error) {
	var taken atomic.Int64
	return func(ctx context.Context, m *meter, w int) bool {
		if taken.Add(1) > fieldUnits {
			return false
		}
		got := claim(ctx, a.buyer(w), o.event, units(fieldArea, 1))
		if m.record(opHold, got) {
			m.record(opOrder, confirm(ctx, a.buyer(w), got.hold, got.hold.Token))
		}
		return true
	}, nil
}
