package main

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/rowlock/rowlock/internal/inventory"
)

func demoHouse(t *testing.T) (*house, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.db")
	log, err := newLog(&bytes.Buffer{}, "text", "error")
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHouse(t.Context(), houseConfig{Path: path, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.service.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h, path
}

func setUp(t *testing.T, h *house, now time.Time) demo {
	t.Helper()
	d, err := setUpDemo(t.Context(), h, now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDemoIsTheTheatreThatWasPromised(t *testing.T) {
	h, _ := demoHouse(t)
	d := setUp(t, h, time.Now())
	event, err := h.service.Event(t.Context(), inventory.Caller{}, d.event)
	if err != nil {
		t.Fatal(err)
	}
	if event.Event.Terms.State != inventory.OnSale || event.Event.TimeZone != demoZone || event.Event.StartsAt <= inventory.InstantOf(time.Now()) {
		t.Errorf("the event is %+v", event.Event)
	}
	offer, err := h.service.Offer(t.Context(), inventory.Caller{}, d.event, "")
	if err != nil {
		t.Fatal(err)
	}
	first := make(map[string]int)
	for _, run := range offer.Seats {
		if len(run.Types) > 0 {
			first[strings.Join(run.Types, "+")] += run.Count
		}
	}
	// 300 seats: rows A to C (62) are premium, row H (26) is withheld.
	if first["premium"] != 62 || first["standard+concession"] != 300-62-26 || len(first) != 2 {
		t.Errorf("seats are offered as %v", first)
	}
	if got := offer.Areas["FLOOR"]; len(got) != 1 || got[0] != "standing" {
		t.Errorf("the floor is offered as %v", got)
	}
	_, err = h.service.Claim(t.Context(), inventory.ClaimRequest{Event: d.event, Basket: inventory.Basket{Seats: []string{"STALLS-H-3"}}})
	if refusal, ok := err.(*inventory.Refusal); !ok || len(refusal.Conflicts) != 1 || refusal.Conflicts[0].Reason != inventory.ReasonNotOnSale {
		t.Errorf("a withheld seat is answered %v", err)
	}
}

func TestTheDemoIsMadeOnce(t *testing.T) {
	h, _ := demoHouse(t)
	now := time.Now()
	first, second := setUp(t, h, now), setUp(t, h, now.Add(time.Hour))
	if first.event != second.event {
		t.Errorf("two starts made the events %s and %s", first.event, second.event)
	}
	if first.secret == second.secret {
		t.Error("two starts printed one key, so a key is kept in the clear")
	}
	if third := setUp(t, h, now.AddDate(1, 0, 0)); third.event == first.event {
		t.Error("an evening that is past is still on sale")
	}
	organizers, err := h.office.Organizers(t.Context())
	if err != nil || len(organizers) != 1 {
		t.Errorf("%d organizers, %v", len(organizers), err)
	}
}

func TestAnInterruptedStartOfTheDemoIsCompleted(t *testing.T) {
	h, _ := demoHouse(t)
	now := time.Now()
	organizer, err := demoOrganizerID(t.Context(), h.office)
	if err != nil {
		t.Fatal(err)
	}
	caller := inventory.Caller{Organizer: organizer}
	seatMap, err := demoMap(t.Context(), h.service, caller)
	if err != nil {
		t.Fatal(err)
	}
	drafts, err := h.service.CreateEvents(t.Context(), caller, []inventory.EventSpec{demoSpec(seatMap, now)}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := setUp(t, h, now)
	if d.event != drafts[0].Event.ID {
		t.Errorf("the draft %s was left for a new event %s", drafts[0].Event.ID, d.event)
	}
	event, err := h.service.Event(t.Context(), inventory.Caller{}, d.event)
	if err != nil || event.Event.Terms.State != inventory.OnSale {
		t.Errorf("it is not on sale: %+v, %v", event, err)
	}
}

func TestTheDemoTakesAFreePortWhenItsOwnIsBusy(t *testing.T) {
	if taken, err := net.Listen("tcp", demoListen); err == nil {
		defer taken.Close()
	} // else somebody else has it, which is as good
	listener, err := new(demoCommand).listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if host, _, _ := net.SplitHostPort(listener.Addr().String()); host != "127.0.0.1" || listener.Addr().String() == demoListen {
		t.Errorf("listens on %s", listener.Addr())
	}
	asked := demoCommand{Listen: listener.Addr().String()}
	if second, err := asked.listen(t.Context()); err == nil {
		second.Close()
		t.Error("an address that was asked for is replaced by another")
	}
}

func TestAuditFindsWhatIsBrokenAndEndsWithOne(t *testing.T) {
	clean(t)
	h, path := demoHouse(t)
	d := setUp(t, h, time.Now())
	if out := mustCall(t, "audit", "--db", "sqlite:"+path); !strings.Contains(out, "every promise holds") {
		t.Errorf("a sound database is reported as %q", out)
	}
	db, err := driver.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	breakCounter(t, db)
	code, out, _ := call(t, "audit", "--db", "sqlite:"+path)
	if code != exitFailure || !strings.Contains(out, d.event) || !strings.Contains(out, "promise ") {
		t.Errorf("exit code %d, %q", code, out)
	}
	code, out, _ = call(t, "audit", "--db", "sqlite:"+path, "--json")
	if code != exitFailure || !strings.Contains(out, `"ok": false`) {
		t.Errorf("exit code %d, %q", code, out)
	}
}

// breakCounter makes a seat count as held by nobody.
func breakCounter(t *testing.T, db *sql.DB) {
	t.Helper()
	done, err := db.ExecContext(t.Context(), `UPDATE allocations SET held = 1 WHERE unit = 0`)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d rows changed, %v", n, err)
	}
}
