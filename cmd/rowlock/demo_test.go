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
	"github.com/rowlock/rowlock/internal/seatmap"
)

func demoHouse(t testing.TB) (*house, string) {
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
	return setUpShow(t, h, theatreStaging(), now)
}

func setUpShow(t testing.TB, h *house, show staging, now time.Time) demo {
	t.Helper()
	d, err := setUpDemo(t.Context(), h, show, now)
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

// drawnFor is the demo of a command line.
func drawnFor(t testing.TB, kind seatmap.Kind, seats int) staging {
	t.Helper()
	show, err := (&demoCommand{Venue: string(kind), Seats: &seats}).staging()
	if err != nil {
		t.Fatal(err)
	}
	return show
}

func TestAGeneratedDemoIsDearerTheNearer(t *testing.T) {
	h, _ := demoHouse(t)
	for _, kind := range seatmap.Kinds() {
		const seats = 3_000
		d := setUpShow(t, h, drawnFor(t, kind, seats), time.Now())
		offer, err := h.service.Offer(t.Context(), inventory.Caller{}, d.event, "")
		if err != nil {
			t.Fatal(err)
		}
		_, data, err := h.service.EventMap(t.Context(), inventory.Caller{}, d.event)
		if err != nil {
			t.Fatal(err)
		}
		drawing, err := seatmap.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		plan := seatmap.NewPlan(drawing)
		sold, far := make(map[string]int), make(map[string]float64)
		for _, run := range offer.Seats {
			sold[run.Types[0]] += run.Count
			for i := run.From; i < run.From+run.Count; i++ {
				far[run.Types[0]] += plan.FocalDistance(i)
			}
		}
		for id := range far {
			far[id] /= float64(sold[id])
		}
		if sold[demoPremium]+sold[demoStandard]+sold[demoEconomy] != seats || len(sold) != 3 {
			t.Errorf("%s: seats are offered as %v", kind, sold)
		}
		if sold[demoPremium] < seats/10 || sold[demoPremium] > seats*2/5 || sold[demoEconomy] < seats/5 {
			t.Errorf("%s: the zones have %v seats", kind, sold)
		}
		if far[demoPremium] >= far[demoStandard] || far[demoStandard] >= far[demoEconomy] {
			t.Errorf("%s: the zones are %v from what is to be seen", kind, far)
		}
		if got := offer.Areas["FLOOR"]; kind == seatmap.KindArena && (len(got) != 1 || got[0] != demoStanding) {
			t.Errorf("the floor is offered as %v", got)
		}
	}
}

// A stadium is priced alike on both of its sides.
func TestBothHalvesOfAStadiumHaveTheSamePrices(t *testing.T) {
	show := drawnFor(t, seatmap.KindBowl, 20_000)
	plan := seatmap.NewPlan(show.drawing)
	premium := make(map[bool]int)
	for _, rule := range show.rules {
		for _, key := range rule.Where.Sections {
			if from, count, _ := plan.SectionSeats(key); rule.Types[0] == demoPremium {
				premium[plan.Seats[from+count/2].Y > 0] += count
			}
		}
	}
	if a, b := premium[true], premium[false]; a == 0 || b == 0 || a > b*11/10 || b > a*11/10 {
		t.Errorf("one half has %d premium seats, the other %d", a, b)
	}
}

func TestOneFileHasAnEventOfEachKindAndSize(t *testing.T) {
	h, _ := demoHouse(t)
	now := time.Now()
	seen := make(map[string]bool)
	for range 2 {
		for _, show := range []staging{
			theatreStaging(), drawnFor(t, seatmap.KindTheatre, 100), drawnFor(t, seatmap.KindTheatre, 1000), drawnFor(t, seatmap.KindArena, 100),
		} {
			seen[setUpShow(t, h, show, now).event] = true
		}
	}
	events, _, err := h.service.Events(t.Context(), inventory.Caller{}, inventory.Page{Limit: demoPageMax})
	if err != nil || len(events) != 4 || len(seen) != 4 {
		t.Errorf("there are %d events and %d were shown: %v", len(events), len(seen), err)
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
	show := theatreStaging()
	seatMap, err := demoMap(t.Context(), h.service, caller, show)
	if err != nil {
		t.Fatal(err)
	}
	drafts, err := h.service.CreateEvents(t.Context(), caller, []inventory.EventSpec{show.spec(seatMap, now)}, false, nil)
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

// What a first start with --seats 60000 costs: drawing, keeping the map, publishing and opening.
func BenchmarkDemo60000(b *testing.B) {
	for _, kind := range seatmap.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			for b.Loop() {
				h, _ := demoHouse(b)
				setUpShow(b, h, drawnFor(b, kind, 60_000), time.Now())
			}
		})
	}
}
