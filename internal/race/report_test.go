package race

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
)

func sampleReport() *Report {
	return &Report{
		StartedAt: time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC), Seconds: 1.5, Servers: 2,
		Races: []Result{{
			Name: "one-seat", Promises: []int{1, 2}, Claim: "many claim <one> seat", Promised: "one has it", Event: "evt_1",
			Phases: []Phase{{Name: "claims", Rounds: 3, SlowestSeconds: 0.01, Answers: []Count{
				{Answer: "201", Count: 4, Promised: "3"},
				{Answer: lostHeld, Count: 44, Promised: "45", Kept: true},
			}}},
			Breaches: []string{"promise 1: <script>alert(1)</script>"},
		}, {Name: "last-units", Failure: "a venue: refused"}},
		Audit: Audit{Ran: true, Breaches: []inventory.Breach{{Promise: 1, Event: "evt_1", What: "a unit is sold twice"}}},
	}
}

func TestTheTextReportShowsAnswersBesideWhatWasPromised(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"claims, 3 rounds", "BREACH", "FAILED", "breach: one-seat: promise 1", "failed: last-units: a venue: refused",
		"audit of the database: 1 breaches", "event evt_1: a unit is sold twice", "2 servers on one store", "NOT every promise",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "201") && (!strings.Contains(line, "4 ") || !strings.Contains(line, "BREACH")) {
			t.Errorf("a broken count is not marked: %q", line)
		}
	}
}

func TestTheHTMLReportNeedsNothingElseAndTakesTextAsText(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, banned := range []string{"<script", "src=", "href=", "url(", "@import", "http://", "https://"} {
		if strings.Contains(page, banned) {
			t.Errorf("the page contains %q", banned)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "many claim &lt;one&gt; seat", "a unit is sold twice", lostHeld, "could not be held"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestTheJSONReportReadsBack(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Passed || !back.Breached() ||
		back.Races[0].Phases[0].Answers[1] != sampleReport().Races[0].Phases[0].Answers[1] {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAReportPassesOnlyWhenEveryRaceWasHeldAndNothingWasFound(t *testing.T) {
	good := Report{Races: []Result{{Name: "one-seat"}}, Audit: Audit{Ran: true}}
	if !good.passed() {
		t.Error("a clean report does not pass")
	}
	notAudited := good
	notAudited.Audit = Audit{}
	if !notAudited.passed() || !strings.Contains(notAudited.Audit.text(), "not run") {
		t.Error("a run against a URL only must pass, and say that nothing was audited")
	}
	for what, bad := range map[string]Report{
		"no race":          {Audit: Audit{Ran: true}},
		"a failed race":    {Races: []Result{{Failure: "x"}}, Audit: Audit{Ran: true}},
		"a breach":         {Races: []Result{{Breaches: []string{"x"}}}, Audit: Audit{Ran: true}},
		"a failed audit":   {Races: []Result{{}}, Audit: Audit{Failure: "x"}},
		"an audited fault": {Races: []Result{{}}, Audit: Audit{Ran: true, Breaches: []inventory.Breach{{}}}},
	} {
		if bad.passed() {
			t.Errorf("%s passes", what)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestAReportThatCannotBeWrittenIsAnError(t *testing.T) {
	r := sampleReport()
	b := sampleBench()
	for _, write := range []func(io.Writer) error{
		r.WriteText, r.WriteJSON, r.WriteHTML, b.WriteText, b.WriteJSON, b.WriteMarkdown, b.WriteHTML,
	} {
		if err := write(fullDisk{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%v", err)
		}
	}
}
