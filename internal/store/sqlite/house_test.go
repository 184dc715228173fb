package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// house is a store with one organizer and one event on sale: 4 rows of 10 seats, and an area of 5.
type house struct {
	file    string
	store   *sqlite.Store
	records *records.Records
	service *inventory.Service
	caller  inventory.Caller
	event   string
	inner   *storetest.House
}

func openHouse(t testing.TB, path string) *house {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	h := &house{file: path, store: store, records: records.New(store)}
	h.service = storetest.NewService(store, h.records)
	return h
}

func (h *house) fresh() storetest.Fresh {
	return storetest.Fresh{Store: h.store, Catalogue: h.records, Records: h.records}
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
	h.inner = storetest.Enter(t, h.fresh())
	h.inner.Draw(t, m)
	h.caller, h.event = h.inner.Caller, h.inner.OnSale(t, h.inner.Spec(ttl))
}

// audit fails the test for every breach.
func (h *house) audit(t testing.TB) {
	t.Helper()
	for _, b := range breaches(t, h.store) {
		t.Errorf("promise %d: %s", b.Promise, b.What)
	}
}

func breaches(t testing.TB, store inventory.Store) []inventory.Breach {
	t.Helper()
	found, err := storetest.Breaches(context.WithoutCancel(t.Context()), store)
	if err != nil {
		t.Fatal(err)
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
