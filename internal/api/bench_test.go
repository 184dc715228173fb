package api

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// BenchmarkRefusedHold measures what the server costs around the domain: a hold of an unknown event
// is routed, counted, read, checked and answered, and reaches the store only for the event's row.
func BenchmarkRefusedHold(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	rec := records.New(store)
	s := New(Config{
		Service: inventory.New(inventory.Config{Store: store, Catalogue: rec, Log: slog.New(slog.DiscardHandler)}),
		Office:  office.New(rec),
	})
	h := s.Handler()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "http://test/v1/events/evt_1/holds", strings.NewReader(`{"seats":["STALLS-A-1","STALLS-A-2"]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 404 {
			b.Fatalf("the answer is %d %s", w.Code, w.Body)
		}
	}
}

// BenchmarkDecodeHold measures the strict reading of a usual basket.
func BenchmarkDecodeHold(b *testing.B) {
	body := []byte(`{"seats":["STALLS-C-12","STALLS-C-13"],"ticket_types":{"STALLS-C-13":"concession"},"areas":[{"area":"FLOOR","quantity":2}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readHold(body); err != nil {
			b.Fatal(err)
		}
	}
}
