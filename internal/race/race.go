// Package race fights the fights that a ticket sale loses when its inventory is wrong: many callers,
// one seat, the same instant. Each race goes through the public HTTP API only, so it can be run
// against any server, or against several servers on one store, which is where a guard that lives in
// one process shows that it is none.
//
// A race has two halves. Its run prepares an event of its own, releases its callers through one closed
// channel and writes down what they were answered; its judge is pure and compares what was observed
// with what was promised: the distribution of answers, never one particular answer, for nobody can say
// which caller wins. The promises are those numbered in the project's design: 1 never oversold,
// 2 exactly the right number win, 3 all or nothing, 4 only the token's owner, 5 expiry needs no
// reaper, 6 one hold one order.
//
// The package holds the benches as well (bench.go): callers without the referee, on connections of
// their own making (wire.go), measured beside references that take turns with the server, and audited.
package race

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
)

// requestTimeout bounds one call of a race. A server that needs longer hangs, which is a breach.
const requestTimeout = 30 * time.Second

// Target is what is raced against.
type Target struct {
	// URLs are the base URLs of one or more servers on one store; callers are spread over them in turn.
	URLs []string
	// Key is an organizer's API key: the races make a venue, a map and an event each.
	Key string
	// Audit proves the promises on the data. Nil when there is only a URL; a report then says that
	// the database was not audited.
	Audit func(context.Context) ([]inventory.Breach, error)
}

// Race is one of the races.
type Race struct {
	Name     string // kebab-case, stable
	Promises []int  // the numbers it holds the server to
	Claim    string // what happens, in one sentence
	Promised string // what must come of it, in one sentence

	run   func(context.Context, *arena) (*observation, error)
	judge func(*observation) *verdict
}

// Result is what came of one race.
type Result struct {
	Name     string  `json:"name"`
	Promises []int   `json:"promises"`
	Claim    string  `json:"claim"`
	Promised string  `json:"promised"`
	Event    string  `json:"event"` // where it took place, for whoever wants to look at the log
	Phases   []Phase `json:"phases"`
	// Breaches says what was promised and not kept, at most breachesMax sentences; empty is a pass.
	Breaches []string `json:"breaches"`
	// Failure says why the race could not be held at all: neither a pass nor a breach.
	Failure string  `json:"failure,omitzero"`
	Seconds float64 `json:"seconds"`
}

// Passed reports whether the race was held and every promise kept.
func (r *Result) Passed() bool { return r.Failure == "" && len(r.Breaches) == 0 }

// Phase is one volley of a race, or several of the same kind: its answers beside what was promised.
type Phase struct {
	Name    string  `json:"name"`
	Rounds  int     `json:"rounds"`
	Answers []Count `json:"answers"`
	// SlowestSeconds is the longest that a caller waited.
	SlowestSeconds float64 `json:"slowest_seconds"`
}

// Count is how often one answer was given.
type Count struct {
	Answer   string `json:"answer"` // status, code, and in brackets the reasons of the conflicts
	Count    int    `json:"count"`
	Promised string `json:"promised"`
	Kept     bool   `json:"kept"`
}

// Progress tells whoever watches where a run stands.
type Progress struct {
	Race    string
	Number  int // counted from 1
	Races   int
	Result  *Result // nil: the race begins
	Message string  // other steps: preparing, auditing
}

// Races lists every race, in the order in which they are run.
func Races() []Race {
	return []Race{
		oneSeat(), oneSeatRounds(), lastUnits(), overlappingBaskets(), oppositeOrder(), failedChange(), lastSeatChange(),
		bestAvailableStorm(), wrongToken(), releaseAfterReacquisition(), expiredResells(), atTheDeadline(),
		oneKeyOneHold(), oneHoldOneOrder(), sellOrRelease(), cancelTwice(), withheldSeat(), noSingleSeat(),
	}
}

// Run runs every race against a target, one after the other, and then audits its database. progress
// may be nil; it is called from this goroutine. A race that fails or breaches does not stop the rest.
// The error is for what prevents all of them: a target that does not answer or a key it does not know.
// When the audit is done the races' events are cancelled, so that they do not stay on sale.
func Run(ctx context.Context, t Target, progress func(Progress)) (*Report, error) {
	return RunOnly(ctx, t, Races(), progress)
}

// RunOnly is Run for some of the races, for instance those that were named.
func RunOnly(ctx context.Context, t Target, races []Race, progress func(Progress)) (*Report, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	began := time.Now()
	progress(Progress{Races: len(races), Message: "preparing a venue"})
	a, err := newArena(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("race: preparing: %w", err)
	}
	defer a.close()

	report := &Report{StartedAt: began.UTC().Truncate(time.Second), Servers: len(t.URLs)}
	for i, r := range races {
		progress(Progress{Race: r.Name, Number: i + 1, Races: len(races)})
		result := r.in(ctx, a)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("race: %s: %w", r.Name, err)
		}
		report.Races = append(report.Races, result)
		progress(Progress{Race: r.Name, Number: i + 1, Races: len(races), Result: &result})
	}
	progress(Progress{Races: len(races), Message: "auditing the database"})
	report.Audit = audit(ctx, t)
	report.Notes = a.cancelEvents(ctx)
	report.Seconds = time.Since(began).Seconds()
	report.Passed = report.passed()
	return report, nil
}

// Run runs this race alone, against a venue and an event of its own, and judges it. It does not audit,
// and leaves the event on sale.
func (r Race) Run(ctx context.Context, t Target) Result {
	a, err := newArena(ctx, t)
	if err != nil {
		result := r.blank()
		result.Failure = fmt.Sprintf("preparing: %v", err)
		return result
	}
	defer a.close()
	return r.in(ctx, a)
}

func (r Race) blank() Result {
	return Result{Name: r.Name, Promises: r.Promises, Claim: r.Claim, Promised: r.Promised, Phases: []Phase{}, Breaches: []string{}}
}

func (r Race) in(ctx context.Context, a *arena) Result {
	began := time.Now()
	result := r.blank()
	o, err := r.run(ctx, a)
	result.Seconds = time.Since(began).Seconds()
	if o != nil {
		result.Event = o.event
	}
	if broken, ok := errors.AsType[*brokenError](err); ok {
		// A step that the promises guarantee did not succeed: that is a finding, not a failure to run.
		result.Breaches = append(result.Breaches, broken.what)
		return result
	}
	if err != nil {
		result.Failure = err.Error()
		return result
	}
	v := r.judge(o)
	result.Phases = append(result.Phases, v.phases...)
	result.Breaches = append(result.Breaches, v.breaches...)
	return result
}

// audit asks the target's data, if it can be asked.
func audit(ctx context.Context, t Target) Audit {
	if t.Audit == nil {
		return Audit{Breaches: []inventory.Breach{}}
	}
	breaches, err := t.Audit(ctx)
	out := Audit{Ran: err == nil, Breaches: append([]inventory.Breach{}, breaches...)}
	if err != nil {
		out.Failure = err.Error()
	}
	return out
}
