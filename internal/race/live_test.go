package race_test

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/race"
)

func TestEveryRaceIsKeptByTwoServersOnOneStore(t *testing.T) { raceAll(t, race.OpenTarget(t, 2)) }

func TestEveryRaceIsKeptByOneServer(t *testing.T) { raceAll(t, race.OpenTarget(t, 1)) }

func raceAll(t *testing.T, target race.Target) {
	t.Helper()
	var seen []string
	report, err := race.Run(t.Context(), target, func(p race.Progress) {
		if p.Result != nil {
			seen = append(seen, p.Race)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	if !report.Passed || report.Breached() || !report.Audit.Ran || len(report.Notes) > 0 {
		t.Errorf("passed %v, breached %v, audit %+v, notes %v", report.Passed, report.Breached(), report.Audit, report.Notes)
	}
	var names []string
	for _, r := range race.Races() {
		names = append(names, r.Name)
	}
	if !slices.Equal(seen, names) {
		t.Errorf("progress told of %v, the races are %v", seen, names)
	}
}

func TestARaceRunsAlone(t *testing.T) {
	result := race.Races()[0].Run(t.Context(), race.OpenTarget(t, 1))
	if !result.Passed() || result.Event == "" || len(result.Phases) != 1 {
		t.Errorf("%+v", result)
	}
}

func TestARaceAgainstNobodyIsAFailureAndNoPass(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	target := race.Target{URLs: []string{server.URL}, Key: "rk_none"}
	if result := race.Races()[0].Run(t.Context(), target); result.Passed() || result.Failure == "" || len(result.Breaches) > 0 {
		t.Errorf("%+v", result)
	}
	if _, err := race.Run(t.Context(), target, nil); err == nil {
		t.Error("no error for a server that is not there")
	}
}

func TestAnUnknownKeyIsSaidToBeUnknown(t *testing.T) {
	target := race.OpenTarget(t, 1)
	target.Key = "rk_unknown"
	if _, err := race.Run(t.Context(), target, nil); err == nil || !strings.Contains(err.Error(), "UNAUTHORIZED") {
		t.Errorf("%v", err)
	}
}
