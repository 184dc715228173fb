package race_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/race"
)

func TestEveryLoadScenarioSellsWhatItsAnswersSay(t *testing.T) {
	config := race.LoadConfig{Connections: 8, Duration: 100 * time.Millisecond}
	report, err := race.Load(t.Context(), race.OpenTarget(t, 1), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	if !report.Passed || !report.Audit.Ran || len(report.Scenarios) != len(race.Scenarios()) {
		t.Errorf("%+v", report)
	}
	for _, s := range report.Scenarios {
		if len(s.Operations) == 0 {
			t.Errorf("%s measured nothing", s.Name)
		}
		rejecting := s.Name == "rejections"
		if rejecting == (s.Holds > 0) || rejecting != (s.Rejections > 0) || (s.Name == "purchase") != (s.Orders > 0) {
			t.Errorf("%s: %.0f holds/s, %.0f orders/s, %.0f rejections/s", s.Name, s.Holds, s.Orders, s.Rejections)
		}
		for _, op := range s.Operations {
			if op.P50 > op.P99 || op.P99 > op.P999 || op.P50 <= 0 {
				t.Errorf("%s: percentiles out of order: %+v", s.Name, op)
			}
		}
	}
	var out bytes.Buffer
	if err := report.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back race.LoadReport
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Scenarios[0].Holds != report.Scenarios[0].Holds {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestALoadOutOfBoundsIsRefusedBeforeItBegins(t *testing.T) {
	for _, c := range []race.LoadConfig{
		{Connections: -1}, {Connections: 513}, {Duration: -time.Second}, {Duration: time.Hour}, {Scenarios: []string{"unknown"}},
	} {
		if _, err := race.Load(t.Context(), race.Target{}, c, nil); err == nil || !strings.HasPrefix(err.Error(), "load: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
