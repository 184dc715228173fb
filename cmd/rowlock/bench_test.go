package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/race"
)

// benchHere makes the test's binary the one that the arms of a bench are started from, and returns the
// directory of what is temporary.
func benchHere(t *testing.T) string {
	t.Helper()
	clean(t)
	temporary := t.TempDir()
	t.Setenv(beRowlock, "1")
	t.Setenv("TMPDIR", temporary)
	return temporary
}

// Each arm is a process of its own, with the real store under the real server; afterwards nothing of
// them is left.
func TestBenchMeasuresProcessesOfItsOwn(t *testing.T) {
	temporary := benchHere(t)
	profiles, page := t.TempDir(), filepath.Join(t.TempDir(), "bench.html")
	code, out, errs := call(t, "bench", "--scenario", "http-orders", "--scenario", "http-rejections", "--scenario", "alone",
		"--seconds", "0.1", "--connections", "4", "--repeats", "1", "--rows", "12", "--cpuprofile", profiles, "--report", page, "--json")
	var report race.BenchReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if !report.Passed || report.Connections != 4 || report.Repeats != 1 || len(report.Scenarios) != 3 {
		t.Fatalf("reported %+v", report)
	}
	arms := map[string]int{"http-orders": 2, "http-rejections": 3, "alone": 2}
	for _, s := range report.Scenarios {
		if len(s.Arms) != arms[s.Name] || len(s.Audits) != 2 {
			t.Errorf("%s has %d arms, and audits of %v", s.Name, len(s.Arms), s.Audits)
		}
		for _, a := range s.Arms {
			f := a.Median
			if (s.Name == "http-orders") != (f[race.OrdersRate] > 0) || (s.Name == "http-rejections") != (f[race.RejectionsRate] > 0) || f[race.ServerCPU] <= 0 {
				t.Errorf("%s, %s: %v", s.Name, a.Name, f)
			}
			if info, err := os.Stat(filepath.Join(profiles, s.Name+"."+a.Name+".pprof")); err != nil || info.Size() == 0 {
				t.Errorf("%s, %s: the profile: %v", s.Name, a.Name, err)
			}
		}
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "http-orders") {
		t.Errorf("the page is %d bytes, %v", len(html), err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if !strings.Contains(errs, "[2/3] http-orders") && !strings.Contains(errs, "[1/3] http-rejections") {
		t.Errorf("progress is\n%s", errs)
	}
}

// forgetful is a store that answers buyers' claims as kept and keeps nothing.
type forgetful struct{ inventory.Store }

func (f forgetful) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	var outcomes []inventory.Outcome
	for i, c := range batch {
		one, err := f.Store.Apply(ctx, event, batch[i:i+1])
		if err != nil {
			return nil, err
		}
		if c.Verb == inventory.Claim && !c.ByKey {
			_, err = f.Store.Apply(ctx, event, []inventory.Command{{Verb: inventory.Release, Key: c.Key, By: "nobody"}})
		}
		outcomes = append(outcomes, one...)
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

func TestBenchEndsWithOneAndWithoutAFigureWhenTheStoreLies(t *testing.T) {
	clean(t)
	h, err := openHouse(t.Context(), houseConfig{
		Path: filepath.Join(t.TempDir(), "bench.db"), Log: slog.New(slog.DiscardHandler),
		Around: func(s inventory.Store) inventory.Store { return forgetful{s} },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	url, key := serveHouse(t, h)
	code, out, errs := call(t, "bench", "--url", url, "--key", key, "--scenario", "http-area", "--seconds", "0.05", "--connections", "2", "--repeats", "1", "--rows", "12")
	if code != exitFailure || !strings.Contains(out, "has no figures") || strings.Contains(out, "holds/s") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestBenchMeasuresAServerByItsURL(t *testing.T) {
	clean(t)
	h, _ := demoHouse(t)
	url, key := serveHouse(t, h)
	code, out, errs := call(t, "bench", "--url", url+"/", "--key", key, "--scenario", "http-area", "--scenario", "size", "--seconds", "0.05", "--connections", "2", "--repeats", "1", "--rows", "12", "--markdown")
	if code != exitOK || !strings.Contains(out, "| rowlock |") || strings.Contains(out, "bare") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// serveHouse serves a house for a test, and makes a key for it.
func serveHouse(t *testing.T, h *house) (url, key string) {
	t.Helper()
	key, err := arenaKey(t.Context(), h.office)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.handler)
	t.Cleanup(server.Close)
	return server.URL, key
}

func TestBenchRefusesSettingsBeforeItBegins(t *testing.T) {
	clean(t)
	for _, args := range [][]string{
		{"--connections", "0"},
		{"--connections", "513"},
		{"--seconds", "0"},
		{"--seconds", "301"},
		{"--seconds", "nan"},
		{"--repeats", "0"},
		{"--repeats", "100"},
		{"--rate", "-1"},
		{"--scenario", "unknown"},
		{"--json", "--markdown"},
		{"--url", "http://127.0.0.1:1"},
		{"--report", filepath.Join(t.TempDir(), "no", "page.html")},
	} {
		code, out, errs := call(t, append([]string{"bench"}, args...)...)
		if code != exitSetting || !strings.Contains(errs, args[0]) && args[0] != "--url" {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	if out := mustCall(t, "bench", "--list"); !strings.Contains(out, "http-seats") {
		t.Errorf("listed\n%s", out)
	}
	if out := mustCall(t, "--help"); strings.Contains(out, "bench-arm") {
		t.Errorf("the help shows what is only for the bench:\n%s", out)
	}
}

// An arm that is asked what it does not know says so, and goes on; one whose bench is gone ends.
func TestAnArmAnswersQuestionsAndEndsWithThem(t *testing.T) {
	b := &benchServer{canned: new(race.Canned)}
	var out bytes.Buffer
	in := strings.NewReader(`{"ask":"heap"}{"ask":"nonsense"}{"ask":"cpu"}`)
	if err := b.converse(t.Context(), in, &out, armAnswer{URL: "http://x"}); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(&out)
	var answers []armAnswer
	for decoder.More() {
		var a armAnswer
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != 4 || answers[0].URL != "http://x" || answers[1].Amount <= 0 || answers[2].Error == "" || answers[3].Amount <= 0 {
		t.Errorf("%+v", answers)
	}
	if err := b.converse(t.Context(), strings.NewReader("{"), &out, armAnswer{}); err == nil {
		t.Error("half a question is no error")
	}
}

// The reference of a caller alone keeps what it says it keeps: a seat once, and none without a hold.
func TestStatementsHoldASeatOnce(t *testing.T) {
	s, err := openStatements(filepath.Join(t.TempDir(), "statements.db"), 12)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(method, token, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/v1/events/evt_1/holds", strings.NewReader(body))
		r.Header.Set("Hold-Token", token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const seat = `{"seats":["S1-1-1"]}`
	first := ask("POST", "", seat)
	var hold struct{ ID, Token, Event string }
	if err := json.Unmarshal(first.Body.Bytes(), &hold); err != nil || first.Code != http.StatusCreated || hold.Event != "evt_1" {
		t.Fatalf("%d %s, %v", first.Code, first.Body, err)
	}
	for what, c := range map[string]struct {
		got  *httptest.ResponseRecorder
		want int
	}{
		"again":          {ask("POST", "", seat), 409},
		"an unknown one": {ask("POST", "", `{"seats":["nowhere"]}`), 409},
		"two":            {ask("POST", "", `{"seats":["S1-1-2","S1-1-3"]}`), 400},
		"no token":       {ask("DELETE", "", ""), 500},
		"another's":      {ask("DELETE", inventory.NewToken(), ""), 204},
	} {
		if c.got.Code != c.want {
			t.Errorf("%s: %d %s", what, c.got.Code, c.got.Body)
		}
	}
	if found, err := s.audit(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if got := ask("DELETE", hold.Token, ""); got.Code != http.StatusNoContent {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := ask("POST", "", seat); got.Code != http.StatusCreated {
		t.Errorf("after its release: %d %s", got.Code, got.Body)
	}
	if err := s.conn.Exec("DELETE FROM holds"); err != nil {
		t.Fatal(err)
	}
	if found, err := s.audit(t.Context()); err != nil || len(found) != 1 {
		t.Errorf("a seat that is held by nobody is not found: %v, %v", found, err)
	}
}

// A bench that is stopped takes its processes and files with it.
func TestABenchThatIsStoppedLeavesNothing(t *testing.T) {
	temporary := benchHere(t)
	ctx, stop := context.WithCancel(t.Context())
	b := &benchStage{dir: temporary, rows: 12, s: streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}}}
	arm, err := b.serve(ctx, race.Rowlock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := arm.Heap(ctx); err != nil {
		t.Error(err)
	}
	stop()
	began := time.Now()
	if err := arm.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := http.Get(arm.URLs[0] + "/healthz"); err == nil {
		t.Errorf("the arm still answers after %s", time.Since(began))
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
