package race

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
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
	people := office.New(rec)
	org, err := people.CreateOrganizer(t.Context(), "Test Organizer")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := people.CreateKey(t.Context(), org.ID, "races", office.RoleOrganizer, nil)
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Key: secret, Audit: func(ctx context.Context) ([]inventory.Breach, error) {
		var all []inventory.Breach
		for b, err := range store.Audit(ctx) {
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
		return all, nil
	}}
	for range servers {
		service := inventory.New(inventory.Config{Store: store, Catalogue: rec})
		server := httptest.NewServer(api.New(api.Config{Service: service, Office: people}).Handler())
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
