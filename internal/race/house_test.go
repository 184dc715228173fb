package race

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

// OpenTarget starts servers on one SQLite file and returns them as a target. Each server has a service,
// and so a combiner, of its own: what one of them guards in memory, the others do not know.
func OpenTarget(t testing.TB, servers int) Target {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "race.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	rec := records.New(store)
	house := storetest.Enter(t, storetest.Fresh{Store: store, Catalogue: rec, Records: rec})
	target := Target{Key: house.Secret, Audit: func(ctx context.Context) ([]inventory.Breach, error) { return storetest.Breaches(ctx, store) }}
	for range servers {
		service := storetest.NewService(store, rec)
		server := httptest.NewServer(api.New(api.Config{Service: service, Office: house.People}).Handler())
		t.Cleanup(func() {
			server.Close()
			if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		target.URLs = append(target.URLs, server.URL)
	}
	return target
}
