package race

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// hallSeed deals the seats out: the same for every arm and every run.
const hallSeed = 60_000

// field is an event under load on one arm, and what it should have.
type field struct {
	a        *arena
	event    string
	free     []string // keys of seats that nobody has, in the order in which they are dealt out
	hot      string   // the key of the seat that was dealt first
	capacity int64
	known    *client.Report // as it was when the last run was over
	moves    int            // to another map, so far
}

// openArm opens a server of a make; nil when the stage has none.
func (b *bench) openArm(ctx context.Context, m Make) (*Arm, error) {
	arm, err := b.stage.Serve(ctx, m)
	if err != nil || arm == nil {
		return nil, err
	}
	b.later(arm.Close)
	return arm, nil
}

// openCallers makes clients of a target and a hall of some rows on it. What was opened there goes off
// sale when the scenario is over.
func (b *bench) openCallers(ctx context.Context, t Target, rows int) (*arena, error) {
	a, err := newCallers(t)
	if err != nil {
		return nil, err
	}
	b.later(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		b.notes = append(b.notes, a.cancelEvents(ctx)...)
		a.close()
		return nil
	})
	return a, a.furnish(ctx, BenchHall(rows))
}

// benchEvent is an event in which no hold lapses while it is measured.
func (a *arena) benchEvent() client.EventRequest {
	request := a.eventRequest("bench")
	request.Limits = &client.LimitsRequest{
		HoldSeconds: new(int64(benchHoldSeconds)), HoldSecondsMax: new(int64(benchHoldSeconds)), UnitsPerHold: new(int64(unitsPerHold)),
	}
	return request
}

// openField makes a hall of some rows on a target and puts an event in it on sale.
func (b *bench) openField(ctx context.Context, t Target, rows int) (*field, error) {
	a, err := b.openCallers(ctx, t, rows)
	if err != nil {
		return nil, err
	}
	o, err := a.open(ctx, a.benchEvent())
	if err != nil {
		return nil, err
	}
	f := &field{a: a, event: o.event, capacity: int64(2*rows*hallPerRow + meadowUnits)}
	for _, i := range rand.New(rand.NewPCG(hallSeed, hallSeed)).Perm(len(a.plan.Seats)) {
		f.free = append(f.free, a.seat(i))
	}
	f.hot = f.free[0]
	f.known, err = a.organizer().Report(ctx, f.event)
	return f, err
}

// stand makes standing holds: of the next seats that are dealt out, and of as many units of the field.
func (f *field) stand(ctx context.Context) error {
	return f.take(ctx, len(f.a.plan.Seats)*standingPerMille/1000, func(seats []string) error {
		r := units(fieldArea, int64(len(seats)))
		r.Seats = seats
		if _, err := f.a.organizer().CreateHold(ctx, f.event, r); err != nil {
			return fmt.Errorf("a standing hold: %w", err)
		}
		return nil
	})
}

// sell sells the next seats that are dealt out.
func (f *field) sell(ctx context.Context) error {
	return f.take(ctx, len(f.a.plan.Seats)*soldPerMille/1000, func(keys []string) error {
		hold, err := f.a.organizer().CreateHold(ctx, f.event, seats(keys...))
		if err != nil {
			return fmt.Errorf("a hold to sell: %w", err)
		}
		if _, err := f.a.organizer().CreateOrder(ctx, f.event, client.OrderRequest{Hold: hold.ID, Buyer: &client.Buyer{Name: "Box Office"}}); err != nil {
			return fmt.Errorf("a sale: %w", err)
		}
		return nil
	})
}

// take gives n seats to fn, some at a time.
func (f *field) take(ctx context.Context, n int, fn func(seats []string) error) error {
	for n > 0 {
		part := min(n, standingPart)
		if err := fn(f.free[:part]); err != nil {
			return err
		}
		f.free, n = f.free[part:], n-part
	}
	var err error
	f.known, err = f.a.organizer().Report(ctx, f.event)
	return err
}

// check compares the event with the answers of a run. Everything that was answered as done must be an
// entry of the log, and what is held and sold what the answers add up to. A store that keeps nothing
// would pass that, too, since every hold was let go: so each keeper claims once more, and the event must
// have these holds while they last.
func (f *field) check(ctx context.Context, keepers []keeper, runs ...*tally) ([]string, error) {
	keeping, going := make([]cycle, len(keepers)), make([]cycle, len(keepers))
	for i, k := range keepers {
		keeping[i], going[i] = k.keep, k.letGo
	}
	_, kept, _ := drive(ctx, pace{}, keeping)
	breaches, err := f.compare(ctx, append(runs, kept)...)
	if len(keepers) == 0 || len(breaches) > 0 || err != nil {
		return breaches, err
	}
	_, gone, _ := drive(ctx, pace{}, going)
	return f.compare(ctx, gone)
}

// compare is a check of what happened since the last one.
func (f *field) compare(ctx context.Context, runs ...*tally) ([]string, error) {
	before := f.known
	report, err := f.a.organizer().Report(ctx, f.event)
	if err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	f.known = report
	var t tally
	v := new(verdict)
	for _, run := range runs {
		for kind := range opKinds {
			t.counts[kind] += run.counts[kind]
		}
		v.breaches = append(v.breaches, run.strangers()...)
	}
	o := &observation{event: f.event, capacity: f.capacity, report: report}
	v.conserved(o, before.Held+t.counts[opHold]-t.counts[opRelease]-t.counts[opOrder], before.Reserved+t.counts[opOrder])
	was, _ := inventory.ParsePosition(before.Position)
	is, _ := inventory.ParsePosition(report.Position)
	if moved, said := is.Version-was.Version, t.counts[opHold]+t.counts[opRelease]+t.counts[opOrder]+t.counts[opChange]; moved != said || is.Epoch != was.Epoch {
		v.breach(9, "the log has %d entries of what the answers say was done %d times", moved, said)
	}
	return v.breaches, nil
}

// load is what callers do over HTTP.
type load struct {
	kind    int // what the load is about
	callers int // 0: as many as there are connections
	claims  func(f *field, caller, callers int) []client.HoldRequest
	cycle   func(*caller) cycle
	beside  func(context.Context, *tally) // what an organizer does meanwhile; nil for nothing
}

// The loads.
var (
	areaLoad = load{kind: opHold, claims: oneUnit(fieldArea), cycle: func(c *caller) cycle { return c.claimAndRelease }}
	// A caller's seats are its own, so that no caller waits for another's luck.
	seatsLoad      = load{kind: opHold, claims: ownSeats, cycle: func(c *caller) cycle { return c.claimAndRelease }}
	rejectionsLoad = load{kind: opRejection, claims: hotSeat, cycle: func(c *caller) cycle { return c.claimInVain }}
	purchaseLoad   = load{kind: opOrder, claims: oneUnit(meadowArea), cycle: func(c *caller) cycle { return c.claimAndBuy }}
)

// errNoUnits is a hall that is too small for the callers.
var errNoUnits = errors.New("there is not a unit for every caller")

func oneUnit(area string) func(*field, int, int) []client.HoldRequest {
	return func(*field, int, int) []client.HoldRequest { return []client.HoldRequest{units(area, 1)} }
}

func ownSeats(f *field, caller, callers int) []client.HoldRequest {
	var own []client.HoldRequest
	for i := caller; i < len(f.free); i += callers {
		own = append(own, seats(f.free[i]))
	}
	return own
}

// hotSeat is one seat of a standing hold.
func hotSeat(f *field, _, _ int) []client.HoldRequest { return []client.HoldRequest{seats(f.hot)} }

// requests renders the claims of a caller to one server.
func (l load) requests(to requests, f *field, caller, callers int) ([][]byte, error) {
	var all [][]byte
	for _, r := range l.claims(f, caller, callers) {
		body, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("a claim: %w", err)
		}
		all = append(all, to.claim(f.event, string(body)))
	}
	if len(all) == 0 {
		return nil, errNoUnits
	}
	return all, nil
}

// run puts an arm under a load once. f says what is claimed; checked says whether the arm has it.
func (l load) run(ctx context.Context, c BenchConfig, arm *Arm, f *field, checked bool) (Figures, []string, error) {
	n := or(l.callers, c.Connections)
	cycles := make([]cycle, n)
	var keepers []keeper
	deadline := time.Now().Add(c.Duration + 2*requestTimeout) // the run, and the check of it
	for i := range n {
		base := arm.URLs[i%len(arm.URLs)]
		w, err := dial(ctx, base)
		if err != nil {
			return nil, nil, err
		}
		defer w.conn.Close()
		if err := w.conn.SetDeadline(deadline); err != nil {
			return nil, nil, fmt.Errorf("a deadline: %w", err)
		}
		to, err := requestsTo(base)
		if err != nil {
			return nil, nil, err
		}
		claims, err := l.requests(to, f, i, n)
		if err != nil {
			return nil, nil, err
		}
		// Each run begins elsewhere among a caller's seats: a second time over the same would be warm.
		one := &caller{wire: w, to: to, event: f.event, claims: claims, next: rand.IntN(len(claims))}
		if cycles[i] = l.cycle(one); l.kind == opHold {
			keepers = append(keepers, one)
		}
	}
	before, err := arm.processorTime(ctx)
	if err != nil {
		return nil, nil, err
	}
	own := processorTime()
	organizer, done := new(tally), make(chan struct{})
	go func() {
		defer close(done)
		if l.beside != nil {
			l.beside(ctx, organizer)
		}
	}()
	measured, warm, took := drive(ctx, pace{c.Duration, c.Rate}, cycles)
	<-done
	own = processorTime() - own
	after, err := arm.processorTime(ctx)
	if err != nil {
		return nil, nil, err
	}
	if breaches := slices.Concat(warm.strangers(), measured.strangers(), organizer.strangers()); len(breaches) > 0 {
		return nil, breaches, nil // of what was not answered nobody knows whether it happened
	}
	figures := measured.figures(l.kind, took)
	if answers := float64(measured.answers() + warm.answers()); answers > 0 && after > 0 {
		figures[ServerCPU] = float64((after-before)/time.Microsecond) / answers
		figures[CallersCPU] = float64(own/time.Microsecond) / answers
	}
	if !checked {
		return figures, nil, nil
	}
	breaches, err := f.check(ctx, keepers, measured, warm, organizer)
	return figures, breaches, err
}

// processorTime is what the arm has used, 0 when nobody knows.
func (a *Arm) processorTime(ctx context.Context) (time.Duration, error) {
	if a.CPU == nil {
		return 0, nil
	}
	return a.CPU(ctx)
}

// contender makes an arm of a scenario.
func (l load) contender(b *bench, name string, arm *Arm, f *field, checked bool) contender {
	return contender{name: name, profile: arm.Profile, audit: arm.auditor(), run: func(ctx context.Context) (Figures, []string, error) {
		return l.run(ctx, b.config, arm, f, checked)
	}}
}

// openStanding opens a server of a make with an event that is about a tenth full.
func (b *bench) openStanding(ctx context.Context, m Make) (*Arm, *field, error) {
	arm, err := b.openArm(ctx, m)
	if err != nil || arm == nil {
		return nil, nil, err
	}
	f, err := b.openField(ctx, arm.Target, b.config.Rows)
	if err != nil {
		return nil, nil, err
	}
	return arm, f, f.stand(ctx)
}

// against opens Rowlock and what it is measured against under a load over HTTP.
func (l load) against(makes ...Make) func(context.Context, *bench) ([]contender, error) {
	return func(ctx context.Context, b *bench) ([]contender, error) {
		arm, own, err := b.openStanding(ctx, Rowlock)
		if err != nil {
			return nil, err
		}
		all := []contender{l.contender(b, string(Rowlock), arm, own, true)}
		for _, m := range makes {
			var other *Arm
			f := own
			if m == OneEach {
				other, f, err = b.openStanding(ctx, m)
			} else {
				other, err = b.openArm(ctx, m) // it has seats of these names, or answers whatever is asked
			}
			if err == nil && m == Bare && other != nil {
				_, err = l.teach(ctx, own, arm, other)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m, err)
			}
			if other != nil {
				all = append(all, l.contender(b, string(m), other, f, m == OneEach))
			}
		}
		return all, nil
	}
}

// teach tells a Bare what Rowlock answers, and returns it.
func (l load) teach(ctx context.Context, f *field, real, bare *Arm) (Answers, error) {
	to, err := requestsTo(real.URLs[0])
	if err != nil {
		return nil, err
	}
	claims, err := l.requests(to, f, 0, 1)
	if err != nil {
		return nil, err
	}
	answers, err := record(ctx, real.URLs[0], f.event, claims[0], l.kind == opRejection)
	if err != nil {
		return nil, err
	}
	if f.known, err = f.a.organizer().Report(ctx, f.event); err != nil { // what was recorded is in the log
		return nil, fmt.Errorf("the report: %w", err)
	}
	return answers, bare.Answer(ctx, answers)
}

// strangers lists what should not have been answered.
func (t *tally) strangers() []string {
	var all []string
	for _, label := range slices.Sorted(maps.Keys(t.unexpected)) {
		all = append(all, fmt.Sprintf("%d × %s", t.unexpected[label], label))
	}
	return all
}
