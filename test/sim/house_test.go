package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// template is a file that every run begins with a copy of: an event of twelve seats and a floor of
// five, on sale, and a second map for it. Making it takes longer than a run.
type template struct {
	dir    string // in memory where there is such a place
	path   string
	event  string
	maps   []string // that it moves between, as houses has them
	secret string   // the organizer's key
}

// seedTokens makes every token and id the seed's.
func seedTokens(t *testing.T, seed uint64) { cryptotest.SetGlobalRandom(t, seed) }

func newTemplate(t *testing.T) *template {
	t.Helper()
	h := &template{dir: t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "rowlock-sim-"); err == nil {
		h.dir = dir // flushing to memory costs nothing
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	h.path = filepath.Join(h.dir, "template.db")
	synctest.Test(t, func(t *testing.T) { h.furnish(t) })
	return h
}

func (h *template) furnish(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, h.path)
	if err != nil {
		t.Fatal(err)
	}
	rec := records.New(store)
	people := office.New(rec)
	service := inventory.New(inventory.Config{Store: store, Catalogue: rec})
	handler := api.New(api.Config{Service: service, Office: people}).Handler()
	if _, _, h.secret, err = people.CreateOrganizerWithKey(ctx, "Test Organizer", "box office", office.RoleOrganizer); err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) string {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://sim"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+h.secret)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var made struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return made.ID
	}
	venue := post("/v1/venues", `{"name":"Test House"}`)
	for _, house := range houses() {
		h.maps = append(h.maps, post("/v1/venues/"+venue+"/maps", house.drawing()))
	}
	h.event = post("/v1/events", fmt.Sprintf(`{"name":"Gala","starts_at":"2099-05-01T17:30:00Z","time_zone":"Europe/Vienna","map":%q,"currency":"EUR",
		"ticket_types":[{"id":"standard","name":"Standard","price":%d},{"id":"premium","name":"Premium","price":%d}],
		"channels":[{"id":"sponsors","name":"Sponsors","access_codes":[%q]}],
		"allocations":[{"where":{"all":true},"set":{"ticket_types":["standard"]}}],
		"limits":{"hold_seconds":%d,"hold_seconds_max":%d,"units_per_hold":6,"units_per_buyer":8}}`,
		h.maps[0], standardPrice, premiumPrice, openWith, int(holdTTL.Seconds()), int(holdLife.Seconds())))
	post("/v1/events/"+h.event+"/publish", "")
	post("/v1/events/"+h.event+"/open", "")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
