package race

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// quick is a bench in a small hall, whose figures are worth nothing.
var quick = BenchConfig{Connections: 8, Duration: 50 * time.Millisecond, Repeats: 2, Rows: rowsMin}

func readRequest(t *testing.T, raw []byte) (*http.Request, string) {
	t.Helper()
	from := bufio.NewReader(bytes.NewReader(raw))
	r, err := http.ReadRequest(from)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || from.Buffered() > 0 {
		t.Fatalf("%v, and %d bytes behind the request\n%s", err, from.Buffered(), raw)
	}
	return r, string(body)
}

func TestEveryScenarioMeasuresItsArmsAndIsAudited(t *testing.T) {
	config := quick
	var told []string
	report, err := Bench(t.Context(), stageOf(t, nil), config, func(p Progress) { told = append(told, p.Race+p.Message) })
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	if !report.Passed || len(report.Scenarios) != len(BenchScenarios()) || len(report.Notes) > 0 {
		t.Errorf("passed %v, %d scenarios, notes %v", report.Passed, len(report.Scenarios), report.Notes)
	}
	figure := map[string]string{
		"inside-rejections": RejectionsRate, "http-rejections": RejectionsRate, "http-orders": OrdersRate, "alone": P50,
		"publish": Seconds, "board": P50, "memory": HeapWith,
	}
	arms := map[string]int{"http-area": 3, "http-seats": 3, "http-rejections": 3, "alone": 1, "publish": 1, "repaint": 5, "memory": 1}
	for _, s := range report.Scenarios {
		if len(s.Arms) != or(arms[s.Name], 2) || len(s.Audits) == 0 {
			t.Errorf("%s has %d arms, and audits of %v", s.Name, len(s.Arms), s.Audits)
		}
		for _, a := range s.Arms {
			if a.Median[or(figure[s.Name], HoldsRate)] <= 0 || len(a.Runs) != 2 {
				t.Errorf("%s, %s: %v in %d runs", s.Name, a.Name, a.Median, len(a.Runs))
			}
			if a.Median[P50] > a.Median[P99] || a.Median[P99] > a.Median[Longest]+0.01 {
				t.Errorf("%s, %s: percentiles out of order: %v", s.Name, a.Name, a.Median)
			}
			if rejects := a.Median[RejectionsRate] > 0; rejects && a.Median[HoldsRate] > 0 {
				t.Errorf("%s, %s: holds and rejections in one: %v", s.Name, a.Name, a.Median)
			}
		}
	}
	if !slices.Contains(told, "board") {
		t.Errorf("progress told of %q", told)
	}
}

// What a Bare answers is what the real server answered, byte for byte, over the network and in a
// recording of it.
func TestTheBareArmAnswersTheBytesOfTheRealServer(t *testing.T) {
	for name, l := range map[string]load{"area": areaLoad, "seats": seatsLoad, "rejections": rejectionsLoad} {
		b := &bench{stage: stageOf(t, nil), config: quick}
		arm, f, err := b.openStanding(t.Context(), Rowlock)
		if err != nil {
			t.Fatal(err)
		}
		bare, err := b.openArm(t.Context(), Bare)
		if err != nil {
			t.Fatal(err)
		}
		want, err := l.teach(t.Context(), f, arm, bare)
		if err != nil {
			t.Fatal(err)
		}
		to, err := requestsTo(bare.URLs[0])
		if err != nil {
			t.Fatal(err)
		}
		claims, err := l.requests(to, f, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record(t.Context(), bare.URLs[0], f.event, claims[0], l.kind == opRejection)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: a Bare answers %v, and the real server answered %v; %v", name, got, want, err)
		}
		if post := want["POST"]; post.Header.Get("Content-Type") == "" || post.Header.Get("Request-Id") == "" || len(post.Body) < 100 {
			t.Errorf("%s: recorded %v", name, post)
		}
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestABareArmDecodesWhatItIsSent(t *testing.T) {
	canned := new(Canned)
	ask := func(method, body string) int {
		w := httptest.NewRecorder()
		canned.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader(body)))
		return w.Code
	}
	if got := ask("POST", "{}"); got != http.StatusNotFound {
		t.Errorf("%d before it was taught", got)
	}
	canned.Set(Answers{"POST": {Status: 201}})
	for body, want := range map[string]int{`{"seats":["A"]}`: 201, `{"seats":"A"}`: 400, `{`: 400, strings.Repeat(" ", bareBodyBytesMax+1): 400} {
		if got := ask("POST", body); got != want {
			t.Errorf("%.20s: %d instead of %d", body, got, want)
		}
	}
	if got := ask("DELETE", ""); got != http.StatusNotFound {
		t.Errorf("%d to a method it was not taught", got)
	}
}

const madeHold = `{"id":"hld_1","token":"abc"}`

// The generator counts what a server really did: each answer once, and nothing that was not wanted.
func TestTheGeneratorCountsWhatTheServerAnswered(t *testing.T) {
	var claims, releases atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			releases.Add(1)
			if r.Header.Get("Hold-Token") != "abc" || r.URL.Path != "/v1/events/evt_1/holds/hld_1" {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
		claims.Add(1)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, madeHold)
	}))
	defer server.Close()
	c := callerOf(t, server.URL)
	measured, warm, _ := drive(t.Context(), pace{length: 50 * time.Millisecond}, []cycle{c.claimAndRelease})
	if n := measured.counts[opHold] + warm.counts[opHold]; n != claims.Load() || warm.counts[opHold] != 1 || n < 2 {
		t.Errorf("%d and %d holds counted, %d answered", warm.counts[opHold], measured.counts[opHold], claims.Load())
	}
	if n := measured.counts[opRelease] + warm.counts[opRelease]; n != releases.Load() || measured.answers() != 2*measured.counts[opHold] {
		t.Errorf("%d releases counted, %d answered; %d answers in all", n, releases.Load(), measured.answers())
	}
	if len(measured.strangers()) > 0 || int64(len(measured.latencies[opHold])) != measured.counts[opHold] {
		t.Errorf("%v, %d latencies", measured.strangers(), len(measured.latencies[opHold]))
	}
}

func callerOf(t *testing.T, base string) *caller {
	t.Helper()
	w, err := dial(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.conn.Close() })
	to, err := requestsTo(base)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{wire: w, to: to, event: "evt_1", claims: [][]byte{to.claim("evt_1", `{"seats":["A"]}`)}}
}

func TestAnAnswerThatIsNotWantedIsNamedAndStopsItsCaller(t *testing.T) {
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); io.WriteString(w, body) }
	}
	dropping := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		server http.HandlerFunc
		cycle  func(*caller) cycle
		want   string
	}{
		"500":                {say(500, `{"code":"INTERNAL"}`), areaLoad.cycle, "1 × 500 INTERNAL to what wants 201"},
		"503":                {say(503, ``), areaLoad.cycle, "1 × 503 to what wants 201"},
		"a refusal":          {say(409, `{"code":"ALLOCATION_UNAVAILABLE"}`), seatsLoad.cycle, "1 × 409 ALLOCATION_UNAVAILABLE to what wants 201"},
		"no answer":          {dropping, areaLoad.cycle, noAnswer},
		"a hold without id":  {say(201, `{}`), areaLoad.cycle, "1 × a hold without an id or a token"},
		"a release of 201":   {say(201, madeHold), areaLoad.cycle, "1 × 201 to what wants 204"},
		"a hold of a lost":   {say(201, madeHold), rejectionsLoad.cycle, "1 × 201 to what wants 409"},
		"another refusal":    {say(409, `{"code":"EVENT_NOT_ON_SALE"}`), rejectionsLoad.cycle, "1 × a rejection with code EVENT_NOT_ON_SALE"},
		"an order of 409":    {sayThen(say(201, madeHold), say(409, `{"code":"HOLD_SOLD"}`)), purchaseLoad.cycle, "1 × 409 HOLD_SOLD to what wants 201"},
		"a release that 500": {sayThen(say(201, madeHold), say(500, ``)), areaLoad.cycle, "1 × 500 to what wants 204"},
	} {
		server := httptest.NewServer(c.server)
		one := callerOf(t, server.URL)
		var tally tally
		if c.cycle(one)(t.Context(), &tally) {
			t.Errorf("%s: the caller goes on", name)
		}
		if got := tally.strangers(); len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %v", name, got)
		}
		server.Close()
	}
}

// sayThen answers the first request one way and the others another.
func sayThen(first, rest http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			first(w, r)
			return
		}
		rest(w, r)
	}
}

// misled is a store that lies, in one of several ways.
type misled struct {
	*sqlite.Store

	apply func(ctx context.Context, s *sqlite.Store, event string, batch []inventory.Command) ([]inventory.Outcome, error)
}

func (m misled) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	return m.apply(ctx, m.Store, event, batch)
}

// doubleSelling gives a seat to everybody who asks for it: who is refused gets a hold all the same.
func doubleSelling(ctx context.Context, s *sqlite.Store, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	outcomes, err := s.Apply(ctx, event, batch)
	for i := range outcomes {
		if outcomes[i].Refusal != nil {
			outcomes[i] = promised(batch[i], outcomes[i].Now)
		}
	}
	return outcomes, err
}

// promised is a hold that is nowhere but in its answer.
func promised(c inventory.Command, now inventory.Instant) inventory.Outcome {
	var lines []inventory.Line
	for _, w := range c.Add {
		lines = append(lines, inventory.Line{Unit: w.Unit, Quantity: w.Quantity})
	}
	return inventory.Outcome{Hold: &inventory.Hold{Key: c.Key, Created: now, Deadline: now + 1e9, Cap: now + 1e9, Lines: lines}, Now: now}
}

// idle answers buyers' claims and releases and does nothing; the organizer's it does.
func idle(ctx context.Context, s *sqlite.Store, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	var outcomes []inventory.Outcome
	for i, c := range batch {
		switch {
		case c.ByKey:
			one, err := s.Apply(ctx, event, batch[i:i+1])
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, one...)
		case c.Verb == inventory.Claim:
			outcomes = append(outcomes, promised(c, 1e15))
		default:
			outcomes = append(outcomes, inventory.Outcome{Released: true})
		}
	}
	return outcomes, nil
}

// leaking does every release but the first, and says that it did all.
func leaking() func(ctx context.Context, s *sqlite.Store, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	var once atomic.Bool
	return func(ctx context.Context, s *sqlite.Store, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
		var outcomes []inventory.Outcome
		for i, c := range batch {
			if c.Verb == inventory.Release && once.CompareAndSwap(false, true) {
				outcomes = append(outcomes, inventory.Outcome{Released: true})
				continue
			}
			one, err := s.Apply(ctx, event, batch[i:i+1])
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, one...)
		}
		return outcomes, nil
	}
}

func TestAStoreThatLiesHasNoFigures(t *testing.T) {
	for name, c := range map[string]struct {
		apply    func(context.Context, *sqlite.Store, string, []inventory.Command) ([]inventory.Outcome, error)
		scenario string
		want     string
	}{
		"sells a seat twice":               {doubleSelling, "http-rejections", "201"},
		"answers and does nothing":         {idle, "http-area", "promise 9: the log has 0 entries"},
		"says it let go, and did not once": {leaking(), "http-area", "units are held; the answers say"},
	} {
		t.Run(name, func(t *testing.T) {
			stage := stageOf(t, func(s *sqlite.Store) inventory.Store { return misled{s, c.apply} })
			stage.Serve = without(stage.Serve, Bare) // what it answers to be recorded is wrong already
			config := quick
			config.Scenarios = []string{c.scenario}
			report, err := Bench(t.Context(), stage, config, nil)
			if err != nil {
				t.Fatal(err)
			}
			mustHaveNoFigures(t, report, c.want)
		})
	}
}

func without(serve func(context.Context, Make) (*Arm, error), missing Make) func(context.Context, Make) (*Arm, error) {
	return func(ctx context.Context, m Make) (*Arm, error) {
		if m == missing {
			return nil, nil
		}
		return serve(ctx, m)
	}
}

func mustHaveNoFigures(t *testing.T, report *BenchReport, want string) {
	t.Helper()
	s := report.Scenarios[0]
	if report.Passed || len(s.Arms) > 0 || len(s.Targets) > 0 {
		t.Errorf("passed %v, with figures %v and targets %v", report.Passed, s.Arms, s.Targets)
	}
	if len(s.Breaches) == 0 || !strings.Contains(strings.Join(s.Breaches, "\n"), want) {
		t.Errorf("breaches are %q, without %q", s.Breaches, want)
	}
	var text, markdown bytes.Buffer
	if err := errors.Join(report.WriteText(&text), report.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), markdown.String()} {
		if !strings.Contains(out, "no figures") || strings.Contains(out, "holds/s") || strings.Contains(out, " met") {
			t.Errorf("printed\n%s", out)
		}
	}
}

// The audit is the last word: the answers, the counters and the log agree here, and a hold's line is
// missing.
func TestADatabaseThatIsBrokenHasNoFigures(t *testing.T) {
	var broken sync.Once
	stage := stageOf(t, nil)
	inside := stage.Inside
	stage.Inside = func(ctx context.Context) (*Inside, error) {
		in, err := inside(ctx)
		if err != nil {
			return nil, err
		}
		audit, store := in.Audit, in.Store.(*sqlite.Store)
		in.Audit = func(ctx context.Context) ([]inventory.Breach, error) {
			broken.Do(func() {
				err = store.Write(ctx, func(tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "DELETE FROM hold_lines WHERE seat = 0")
					return err
				})
			})
			if err != nil {
				return nil, err
			}
			return audit(ctx)
		}
		return in, nil
	}
	config := quick
	config.Scenarios = []string{"inside-area"}
	report, err := Bench(t.Context(), stage, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHaveNoFigures(t, report, "promise 1")
}

func TestAnAuditThatCannotBeMadeIsABreach(t *testing.T) {
	b := &bench{config: BenchConfig{Repeats: 1}}
	s := scenario{name: "x", claim: "x", open: func(context.Context, *bench) ([]contender, error) {
		return []contender{{
			name:  "a",
			run:   func(context.Context) (Figures, []string, error) { return Figures{HoldsRate: 1}, nil, nil },
			audit: func(context.Context) Audit { return Audit{Failure: "unreadable"} },
		}}, nil
	}}
	got, err := b.scenario(t.Context(), s, func(string) {})
	if err != nil || len(got.Breaches) != 1 || len(got.Arms) > 0 || len(got.Audits) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Two arms of which the second is half as fast in every repeat, on a machine that slows down: the
// ratio is of what ran side by side, and the medians are of each arm alone.
func TestArmsTakeTurnsAndTheRatioIsWithinARepeat(t *testing.T) {
	var order []string
	arm := func(name string, rates ...float64) contender {
		n := 0
		return contender{name: name, run: func(context.Context) (Figures, []string, error) {
			order = append(order, name)
			n++
			return Figures{HoldsRate: rates[n-1]}, nil, nil
		}}
	}
	b := &bench{config: BenchConfig{Repeats: 5}}
	s := scenario{
		name: "x", claim: "x",
		targets: []target{{HoldsRate, "a", "b", 1.9, 0}, {HoldsRate, "a", "b", 2.1, 0}, {HoldsRate, "a", "", 0, 300}, {HoldsRate, "a", "c", 1, 0}, {P50, "a", "b", 1, 0}},
		open: func(context.Context, *bench) ([]contender, error) {
			return []contender{arm("a", 1000, 800, 400, 200, 100), arm("b", 500, 400, 200, 100, 50)}, nil
		},
	}
	got, err := b.scenario(t.Context(), s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(order, "") != "ababababab" {
		t.Errorf("the order was %v", order)
	}
	if got.Arms[0].Median[HoldsRate] != 400 || got.Arms[1].Median[HoldsRate] != 200 || len(got.Arms[0].Runs) != 5 {
		t.Errorf("%+v", got.Arms)
	}
	want := []TargetResult{
		{Figure: HoldsRate, Arm: "a", Against: "b", Least: 1.9, Got: 2, Lowest: 2, Highest: 2, Met: true},
		{Figure: HoldsRate, Arm: "a", Against: "b", Least: 2.1, Got: 2, Lowest: 2, Highest: 2},
		{Figure: HoldsRate, Arm: "a", Most: 300, Got: 400, Lowest: 100, Highest: 1000},
	}
	if !reflect.DeepEqual(got.Targets, want) {
		t.Errorf("%+v", got.Targets)
	}
	b.config.Rate = 10
	order = nil
	if got, err := b.scenario(t.Context(), s, func(string) {}); err != nil || len(got.Targets) > 0 {
		t.Errorf("with a rate there are targets %v, %v", got.Targets, err)
	}
}

func TestMediansAreOfWhatEveryRunHas(t *testing.T) {
	got := median([]Figures{{P50: 3, P99: 9}, {P50: 1, P99: 7}, {P50: 2}, {P50: 10}})
	if !reflect.DeepEqual(got, Figures{P50: 2.5}) {
		t.Errorf("%v", got)
	}
}

func TestPercentilesAreOfEveryAnswer(t *testing.T) {
	var c tally
	for us := range int32(1000) {
		c.latencies[opHold] = append(c.latencies[opHold], (us+1)*1000)
	}
	c.counts[opHold] = 1000
	f := c.figures(opHold, 2*time.Second)
	for name, want := range map[string]float64{P50: 500, P95: 950, P99: 990, Longest: 1000, HoldsRate: 500} {
		if got := f[name]; got < want*0.998 || got > want*1.002 {
			t.Errorf("%s is %v instead of %v", name, got, want)
		}
	}
}

// With a rate, a server that stops for a second is charged for every request that was due meanwhile,
// and not for the one that was under way alone.
func TestAStallIsPaidByEverybodyWhoWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		stalling := func(_ context.Context, c *tally) bool {
			if n++; n == 12 { // the warm-up, ten cycles, and this one
				time.Sleep(time.Second)
			} else {
				time.Sleep(time.Millisecond)
			}
			c.count(opHold, c.intended)
			return true
		}
		measured, warm, took := drive(t.Context(), pace{length: 2 * time.Second, rate: 10}, []cycle{stalling})
		if measured.counts[opHold] != 20 || warm.counts[opHold] != 1 || took != 2009*time.Millisecond {
			t.Errorf("%d cycles in %s", measured.counts[opHold], took)
		}
		want := []int32{1_000_000, 901_000, 802_000, 703_000, 604_000, 505_000, 406_000, 307_000, 208_000, 109_000}
		if got := measured.latencies[opHold]; !slices.Equal(got[:10], slices.Repeat([]int32{1000}, 10)) || !slices.Equal(got[10:], want) {
			t.Errorf("latencies are %v", got)
		}
	})
}

func TestWithoutARateCyclesFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(_ context.Context, c *tally) bool {
			time.Sleep(10 * time.Millisecond)
			c.count(opHold, c.intended)
			return true
		}
		measured, warm, took := drive(t.Context(), pace{length: time.Second}, []cycle{work, work, work})
		if measured.counts[opHold] != 300 || warm.counts[opHold] != 3 || took != time.Second {
			t.Errorf("%d and %d cycles in %s", warm.counts[opHold], measured.counts[opHold], took)
		}
	})
}

func TestABenchOutOfBoundsIsRefusedBeforeItBegins(t *testing.T) {
	for _, c := range []BenchConfig{
		{Connections: -1},
		{Connections: 513},
		{Duration: -time.Second},
		{Duration: time.Hour},
		{Repeats: -1},
		{Repeats: 100},
		{Rate: -1},
		{Rate: 2e6},
		{Scenarios: []string{"unknown"}},
	} {
		if _, err := Bench(t.Context(), Stage{}, c, nil); err == nil || !strings.HasPrefix(err.Error(), "bench: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A server that is only known by its URL can be measured, and what it would be compared with is left out.
func TestAServerByItsURLIsMeasuredAlone(t *testing.T) {
	stage := stageOf(t, nil)
	serve := stage.Serve
	stage.Inside = nil
	stage.Serve = func(ctx context.Context, m Make) (*Arm, error) {
		if m != Rowlock {
			return nil, nil
		}
		arm, err := serve(ctx, m)
		if err != nil {
			return nil, err
		}
		return &Arm{Target: Target{URLs: arm.URLs, Key: arm.Key}, Close: arm.Close}, nil
	}
	config := quick
	config.Scenarios = []string{"inside-area", "http-area", "board", "memory"}
	report, err := Bench(t.Context(), stage, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Scenarios) != 2 || len(report.Notes) != 2 || !report.Passed {
		t.Fatalf("%+v", report)
	}
	for _, s := range report.Scenarios {
		if len(s.Arms) != 1 || len(s.Audits) > 0 {
			t.Errorf("%s: %v, audits %v", s.Name, s.Arms, s.Audits)
		}
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "was not audited") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestABenchThatIsStoppedIsAnErrorAndNoReport(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	config := quick
	config.Scenarios = []string{"http-area"}
	report, err := Bench(ctx, stageOf(t, nil), config, func(p Progress) {
		if p.Message != "" {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || report != nil {
		t.Errorf("%v, %v", report, err)
	}
}

func sampleBench() *BenchReport {
	return &BenchReport{
		StartedAt: time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC), Took: 12.5, Seats: 60_000, Connections: 256, Seconds: 1, Repeats: 5, Passed: true,
		Machine: Machine{CPU: "Example CPU", Cores: 2, Kernel: "Linux 6", Go: "go1.26 amd64", FlushMS: 0.5},
		Scenarios: []BenchResult{{
			Name: "http-area", Claim: "callers <claim>", Audits: []string{"rowlock"},
			Arms: []ArmFigures{{Name: "rowlock", Median: Figures{HoldsRate: 1234567, P50: 1.234}}, {Name: "bare", Median: Figures{HoldsRate: 99.96, P50: 0.01}}},
			Targets: []TargetResult{
				{Figure: HoldsRate, Arm: "rowlock", Against: "bare", Least: 0.6, Got: 0.7, Lowest: 0.65, Highest: 0.75, Met: true},
				{Figure: P50, Arm: "rowlock", Most: 1, Got: 1.234, Lowest: 1, Highest: 2},
			},
		}},
		Notes: []string{"a note"},
	}
}

func TestTheBenchReportSaysWhatWasMeasuredOnWhat(t *testing.T) {
	r := sampleBench()
	var text, markdown, page bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteMarkdown(&markdown), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	wanted := []string{
		"Example CPU, 2 cores, Linux 6, go1.26 amd64, a flush of 4 KiB 0.50 ms", "60,000 seats, 256 connections, runs of 1s, medians of 5 interleaved repeats",
		"1,234,567", "1.23", "0.010", "holds/s, rowlock against bare: 0.70× (0.65 to 0.75), wanted at least 0.60: met", "p50 ms of rowlock: 1.23 (1.00 to 2.00), wanted at most 1.00: NOT met",
	}
	for name, out := range map[string]string{"text": text.String(), "markdown": markdown.String(), "page": page.String()} {
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("the %s has no %q:\n%s", name, want, out)
			}
		}
		if strings.Contains(out, "orders/s") {
			t.Errorf("the %s has a column without a figure:\n%s", name, out)
		}
	}
	if !strings.Contains(markdown.String(), "| arm | holds/s | p50 ms |\n|---|--:|--:|\n| rowlock | 1,234,567 | 1.23 |\n") {
		t.Errorf("the table is\n%s", markdown.String())
	}
	if strings.Contains(page.String(), "<claim>") {
		t.Errorf("text is markup:\n%s", page.String())
	}
	if !strings.Contains(text.String(), "note: a note") {
		t.Errorf("no note in\n%s", text.String())
	}
}

func TestNumbersAreShownToThePrecisionOfAReader(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000", 0.0123: "0.012", 0.5: "0.50", 9.999: "10.00", 12.34: "12.3", 99.96: "100.0", 100: "100", 1e6: "1,000,000", 999.6: "1,000", 123456: "123,456"} {
		if got := number(v); got != want {
			t.Errorf("%v is %s instead of %s", v, got, want)
		}
	}
}

func TestSeparatelyRunsACommandATransactionInOrder(t *testing.T) {
	s := &recorder{}
	batch := []inventory.Command{{Reason: "a"}, {Reason: "b"}, {Reason: "c"}}
	outcomes, err := Separately(s).Apply(t.Context(), "evt", batch)
	if err != nil || fmt.Sprint(s.seen) != "[[a] [b] [c]]" || len(outcomes) != 3 || outcomes[2].Sealed[0] != 'c' {
		t.Errorf("%v, %v, %v", s.seen, outcomes, err)
	}
	s.fail = "b"
	if outcomes, err := Separately(s).Apply(t.Context(), "evt", batch); err == nil || outcomes != nil {
		t.Errorf("a batch of which a part is unknown is %v, %v", outcomes, err)
	}
}

// recorder is the part of a store that Separately calls.
type recorder struct {
	inventory.Store

	seen [][]string
	fail string
}

func (r *recorder) Apply(_ context.Context, _ string, batch []inventory.Command) ([]inventory.Outcome, error) {
	var names []string
	var outcomes []inventory.Outcome
	for _, c := range batch {
		if c.Reason == r.fail {
			return nil, errors.New("no answer")
		}
		names = append(names, c.Reason)
		outcomes = append(outcomes, inventory.Outcome{Sealed: []byte(c.Reason)})
	}
	r.seen = append(r.seen, names)
	return outcomes, nil
}

func TestARunThatIsStoppedHalfWayHasNoFigure(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := scenario{name: "x", claim: "x", open: func(context.Context, *bench) ([]contender, error) {
		return []contender{{name: "a", run: func(context.Context) (Figures, []string, error) {
			stop()
			return Figures{HoldsRate: 1}, nil, nil
		}}}, nil
	}}
	b := &bench{config: BenchConfig{Repeats: 1}}
	if got, err := b.scenario(ctx, s, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEveryScenarioIsDocumentedWithItsCommand(t *testing.T) {
	page, err := os.ReadFile("../../docs/PERFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range BenchScenarios() {
		if !strings.Contains(string(page), "`rowlock bench --scenario "+s.Name+"`") {
			t.Errorf("docs/PERFORMANCE.md does not say how to reproduce %s", s.Name)
		}
	}
}
