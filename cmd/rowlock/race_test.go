package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/rowlock/rowlock/internal/race"
)

func TestRacePrintsATableAndWritesAPage(t *testing.T) {
	clean(t)
	page := filepath.Join(t.TempDir(), "race.html")
	code, out, errs := call(t, "race", "--only", "one-seat", "--only", "withheld-seat", "--report", page)
	if code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{"one-seat", "withheld-seat", "409 ALLOCATION_UNAVAILABLE (held)", "199", "audit"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "last-units") {
		t.Errorf("a race was run that was not asked for:\n%s", out)
	}
	if !strings.Contains(errs, "[2/2] withheld-seat") {
		t.Errorf("progress is\n%s", errs)
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "one-seat") {
		t.Errorf("the page is %d bytes, %v", len(html), err)
	}
}

func TestRacePrintsJSONAlone(t *testing.T) {
	clean(t)
	code, out, errs := call(t, "race", "--only", "one-seat", "--json")
	var report race.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if !report.Passed || len(report.Races) != 1 || !report.Audit.Ran {
		t.Errorf("reported %+v", report)
	}
}

// The races are kept, but the database they ran on was broken before: the audit that follows says so.
func TestRaceEndsWithOneWhenAPromiseIsBroken(t *testing.T) {
	clean(t)
	h, path := demoHouse(t)
	setUp(t, h, time.Now())
	if err := h.close(); err != nil { // the race needs the file to itself
		t.Fatal(err)
	}
	db, err := driver.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	breakCounter(t, db)
	code, out, errs := call(t, "race", "--only", "one-seat", "--db", "sqlite:"+path)
	if code != exitFailure || !strings.Contains(out, "breach") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestRaceRunsAgainstAServerByItsURL(t *testing.T) {
	clean(t)
	h, _ := demoHouse(t)
	d := setUp(t, h, time.Now())
	server := httptest.NewServer(h.handler)
	defer server.Close()
	code, out, errs := call(t, "race", "--only", "one-seat", "--url", server.URL+"/", "--key", d.secret)
	if code != exitOK || !strings.Contains(out, "not run") {
		t.Errorf("exit code %d, and the table must say that there was no audit:\n%s%s", code, out, errs)
	}
	if code, out, _ := call(t, "race", "--only", "one-seat", "--url", server.URL, "--key", "rk_wrong"); code != exitFailure {
		t.Errorf("with a wrong key the exit code is %d\n%s", code, out)
	}
}
