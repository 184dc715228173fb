package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// The bounds of a bench.
const (
	connectionsDefault = 256
	connectionsMax     = 512
	durationDefault    = time.Second
	durationMax        = 5 * time.Minute
	profileDurationMin = 5 * time.Second // a hundred samples a second and a processor
	repeatsDefault     = 5
	repeatsMax         = 99
	rowsMin, rowsMax   = 2 * smallHallRows, 1_000
	rateMax            = 1_000_000 // cycles a second
)

// The halls of the benches. Standing holds keep a hall about a tenth full, as a sale is in its first
// minutes: 9.5 %, so that with a unit a caller it stays within the tenth.
const (
	hallRows         = 600 // of 100 seats
	smallHallRows    = 6
	hallPerRow       = 100
	fieldArea        = "FIELD" // as many units as there are seats
	meadowArea       = "MEADOW"
	meadowUnits      = 1_000_000 // for sales, which do not come back
	standingPerMille = 95
	soldPerMille     = 200
	standingPart     = 50     // of seats, and as many of the field, in one hold: a request has at most 100 units
	benchHoldSeconds = 86_400 // no run is so long that what it holds lapses
)

// BenchHall draws the map of the benches: rows of 100 seats, and two areas.
func BenchHall(rows int) *seatmap.Map {
	m := seatmap.Grid(rows, hallPerRow)
	m.Areas = []seatmap.Area{
		{Key: fieldArea, Name: "Field", Capacity: rows * hallPerRow},
		{Key: meadowArea, Name: "Meadow", Capacity: meadowUnits},
	}
	return m
}

// BenchConfig bounds a bench. Zero values are defaults: every scenario, 256 connections, a second a
// run, five repeats, no rate.
type BenchConfig struct {
	Scenarios   []string      // by name; empty: all
	Connections int           // callers at once, at most 512
	Duration    time.Duration // of each run, at most 5 minutes
	Repeats     int           // of each arm, at most 99
	Rows        int           // of 100 seats in the hall, 12 to 1,000; 600 is what targets are for
	// Rate makes callers begin their cycles when they are due, so many a second together, and measures
	// from then. What a server can do at most is then not measured, so there are no targets.
	Rate float64
	// Profiles is a directory for a CPU profile of each arm, taken in one more run that does not count.
	Profiles string
}

// target is what a figure of an arm should be: of another arm's figure in the same repeat, or more than
// that of the quiet arm, or, with no such arm, itself.
type target struct {
	figure, arm, against string
	least, most          float64 // 0: no bound
}

// scenario is one comparison. open makes its contenders, the first of them Rowlock's own.
type scenario struct {
	name    string
	claim   string
	targets []target
	open    func(context.Context, *bench) ([]contender, error)
}

// contender is one arm of a scenario.
type contender struct {
	name string
	// run measures once. Breaches are reasons why nothing of the scenario may be believed.
	run func(context.Context) (f Figures, breaches []string, err error)
	// audit proves the promises on what the runs left behind; nil when there is nothing that could.
	audit   func(context.Context) Audit
	profile func(ctx context.Context, file string) (stop func() error, err error)
}

// bench is a run of scenarios. It closes what they opened.
type bench struct {
	stage  Stage
	config BenchConfig
	opened []func() error
	notes  []string // what went wrong in tidying up
}

// errNotHere is a scenario that the stage has not what it needs for.
var errNotHere = errors.New("not with a server that is only known by its URL")

// BenchScenarios names the scenarios, in the order in which they are run, and says what each does.
func BenchScenarios() []Scenario {
	var all []Scenario
	for _, s := range scenarios() {
		all = append(all, Scenario{Name: s.name, Claim: s.claim})
	}
	return all
}

// Scenario is a scenario's name, and what it does in one sentence.
type Scenario struct{ Name, Claim string }

// Bench runs scenarios on a stage, one after the other: arms interleaved, A B A B, each figure the
// median of the repeats and each ratio the median of the ratios within a repeat. After every run the
// answers are compared with what the event has and what its log says, and after the last the database
// is audited; a scenario that fails either has no figures. progress may be nil; it is called from
// this goroutine. The error is for what prevents the bench; what a server answers never is one.
func Bench(ctx context.Context, stage Stage, c BenchConfig, progress func(Progress)) (*BenchReport, error) {
	chosen, err := c.settle()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if progress == nil {
		progress = func(Progress) {}
	}
	began := time.Now()
	report := &BenchReport{
		StartedAt: began.UTC().Truncate(time.Second), Machine: thisMachine(),
		Seats: c.Rows * hallPerRow, Connections: c.Connections, Seconds: c.Duration.Seconds(), Repeats: c.Repeats, Rate: c.Rate, Passed: true,
	}
	for i, s := range chosen {
		progress(Progress{Race: s.name, Number: i + 1, Races: len(chosen)})
		b := &bench{stage: stage, config: c}
		result, err := b.scenario(ctx, s, func(what string) { progress(Progress{Message: "  " + what}) })
		closing := b.close()
		report.Notes = append(report.Notes, b.notes...)
		if errors.Is(err, errNotHere) && closing == nil {
			report.Notes = append(report.Notes, s.name+" was not run: "+err.Error())
			continue
		}
		if err = errors.Join(err, closing); err != nil {
			return nil, fmt.Errorf("bench: %s: %w", s.name, err)
		}
		report.Passed = report.Passed && len(result.Breaches) == 0
		report.Scenarios = append(report.Scenarios, *result)
	}
	report.Took = time.Since(began).Seconds()
	return report, nil
}

// settle fills in defaults and refuses what is out of bounds.
func (c *BenchConfig) settle() ([]scenario, error) {
	c.Connections, c.Repeats = or(c.Connections, connectionsDefault), or(c.Repeats, repeatsDefault)
	c.Duration, c.Rows = or(c.Duration, durationDefault), or(c.Rows, hallRows)
	switch {
	case c.Connections < 1 || c.Connections > connectionsMax:
		return nil, fmt.Errorf("connections are 1 to %d", connectionsMax)
	case c.Duration <= 0 || c.Duration > durationMax:
		return nil, fmt.Errorf("the length of a run is more than nothing and at most %s", durationMax)
	case c.Repeats < 1 || c.Repeats > repeatsMax:
		return nil, fmt.Errorf("repeats are 1 to %d", repeatsMax)
	case c.Rows < rowsMin || c.Rows > rowsMax:
		return nil, fmt.Errorf("rows are %d to %d", rowsMin, rowsMax)
	case !(c.Rate >= 0 && c.Rate <= rateMax):
		return nil, fmt.Errorf("a rate is at most %d cycles a second", rateMax)
	}
	var chosen []scenario
	for _, s := range scenarios() {
		if len(c.Scenarios) == 0 || slices.Contains(c.Scenarios, s.name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range c.Scenarios {
		if !slices.ContainsFunc(chosen, func(s scenario) bool { return s.name == name }) {
			return nil, fmt.Errorf("there is no scenario %q", name)
		}
	}
	return chosen, nil
}

// or is a, or what it is by default.
func or[T comparable](a, byDefault T) T {
	if a == *new(T) {
		return byDefault
	}
	return a
}

// later closes something when the scenario is over.
func (b *bench) later(fn func() error) { b.opened = append(b.opened, fn) }

func (b *bench) close() error {
	var errs []error
	for _, fn := range slices.Backward(b.opened) {
		errs = append(errs, fn())
	}
	return errors.Join(errs...)
}

// scenario measures one scenario.
func (b *bench) scenario(ctx context.Context, s scenario, tell func(string)) (*BenchResult, error) {
	result := &BenchResult{Name: s.name, Claim: s.claim, Breaches: []string{}}
	arms, err := s.open(ctx, b)
	if err != nil {
		return nil, err
	}
	runs := make([][]Figures, len(arms)) // by arm, then by repeat
	for range b.config.Repeats {
		for i, arm := range arms {
			figures, breaches, err := arm.run(ctx)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, fmt.Errorf("%s: %w", arm.name, err)
			}
			for _, what := range breaches {
				result.breach(arm.name, what)
			}
			if len(breaches) > 0 {
				return result, nil // of what is wrong already nothing is measured
			}
			runs[i] = append(runs[i], figures)
			tell(arm.name + ": " + figures.short())
		}
	}
	for _, arm := range arms {
		if err := b.profile(ctx, s.name, arm); err != nil {
			return nil, fmt.Errorf("%s: profile: %w", arm.name, err)
		}
	}
	for _, arm := range arms {
		if arm.audit == nil {
			continue
		}
		result.audit(arm.name, arm.audit(ctx))
	}
	if len(result.Breaches) > 0 {
		return result, nil
	}
	for i, arm := range arms {
		result.Arms = append(result.Arms, ArmFigures{Name: arm.name, Median: median(runs[i]), Runs: runs[i]})
	}
	if b.config.Rate == 0 {
		result.Targets = judgeTargets(s.targets, result.Arms)
	}
	return result, nil
}

// profile runs an arm once more, only to look at it.
func (b *bench) profile(ctx context.Context, scenario string, arm contender) error {
	if b.config.Profiles == "" || arm.profile == nil {
		return nil
	}
	defer func(as time.Duration) { b.config.Duration = as }(b.config.Duration)
	b.config.Duration = max(b.config.Duration, profileDurationMin)
	stop, err := arm.profile(ctx, filepath.Join(b.config.Profiles, scenario+"."+arm.name+".pprof"))
	if err != nil {
		return err
	}
	_, breaches, err := arm.run(ctx)
	if len(breaches) > 0 {
		err = errors.Join(err, errors.New(breaches[0]))
	}
	return errors.Join(err, stop())
}
