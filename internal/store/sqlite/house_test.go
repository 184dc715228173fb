package sqlite_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// house is a store with one organizer and one event on sale: 4 rows of 10 seats, and an area of 5.
type house struct {
	store   *sqlite.Store
	records *records.Records
	service *inventory.Service
	caller  inventory.Caller
	event   string
}

func openHouse(t testing.TB, path string) *house {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &house{store: store, records: records.New(store)}
	h.service = newService(store, h.records)
	return h
}

func newService(store inventory.Store, catalogue inventory.Catalogue) *inventory.Service {
	return inventory.New(inventory.Config{Store: store, Catalogue: catalogue, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func ptr[T any](v T) *T { return &v }

// newHouse opens a fresh file with an event whose holds live for ttl seconds.
func newHouse(t testing.TB, ttl int64) *house {
	t.Helper()
	h := openHouse(t, filepath.Join(t.TempDir(), "house.db"))
	h.furnish(t, ttl)
	return h
}

func (h *house) furnish(t testing.TB, ttl int64) {
	t.Helper()
	m := seatmap.Grid(4, 10)
	m.Areas = append(m.Areas, seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: 5})
	h.furnishWith(t, m, ttl)
}

func (h *house) furnishWith(t testing.TB, m *seatmap.Map, ttl int64) {
	t.Helper()
	ctx := t.Context()
	org, err := office.New(h.records).CreateOrganizer(ctx, "Test Organizer")
	if err != nil {
		t.Fatal(err)
	}
	h.caller = inventory.Caller{Organizer: org.ID, Key: "key_test"}
	venue, err := h.service.CreateVenue(ctx, h.caller, inventory.VenueFields{Name: ptr("Test Hall")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	drawing, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	version, err := h.service.CreateMap(ctx, h.caller, venue.ID, drawing, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.event = h.newEvent(t, version.ID, ttl)
}

func (h *house) newEvent(t testing.TB, mapID string, ttl int64) string {
	t.Helper()
	ctx := t.Context()
	spec := inventory.EventSpec{Fields: inventory.EventFields{
		Name: ptr("Test Night"), StartsAt: ptr(inventory.InstantOf(time.Now().Add(24 * time.Hour))), Map: &mapID, Currency: ptr("EUR"),
		Types:       []inventory.TicketType{{ID: "standard", Name: "Standard", Price: 4500}, {ID: "child", Name: "Child", Price: 2000}},
		HoldSeconds: &ttl, HoldSecondsMax: ptr(3 * ttl),
	}, Rules: []inventory.Rule{{Where: inventory.Where{All: true}, Types: []string{"standard", "child"}}}}
	made, err := h.service.CreateEvents(ctx, h.caller, []inventory.EventSpec{spec}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := made[0].Event.ID
	for _, verb := range []string{"publish", "open"} {
		if _, err := h.service.Transition(ctx, h.caller, id, verb, nil); err != nil {
			t.Fatal(verb, err)
		}
	}
	return id
}

// audit fails the test for every breach.
func (h *house) audit(t testing.TB) {
	t.Helper()
	for _, b := range breaches(t, h.store) {
		t.Errorf("promise %d: %s", b.Promise, b.What)
	}
}

func breaches(t testing.TB, store inventory.Store) (found []inventory.Breach) {
	t.Helper()
	for b, err := range store.Audit(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, b)
	}
	return found
}

func seatKeys(t testing.TB, drawing []byte) (keys []string) {
	t.Helper()
	m, err := seatmap.Parse(drawing)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seatmap.NewPlan(m).Seats {
		keys = append(keys, s.Key)
	}
	return keys
}
