package race

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// stageOf opens arms in this process, with around between Rowlock's inventory and its store.
func stageOf(t *testing.T, around func(*sqlite.Store) inventory.Store) Stage {
	t.Helper()
	return Stage{
		Serve: func(_ context.Context, m Make) (*Arm, error) {
			arm := &Arm{
				CPU:     func(context.Context) (time.Duration, error) { return processorTime(), nil },
				Heap:    func(context.Context) (int64, error) { return 1, nil },
				Profile: profileHere,
			}
			var closers []func()
			switch m {
			case Bare:
				canned := new(Canned)
				arm.Answer = func(_ context.Context, a Answers) error { canned.Set(a); return nil }
				server := httptest.NewServer(canned)
				arm.URLs, closers = []string{server.URL}, append(closers, server.Close)
			case StatementEach: // its seats are the business of whoever has the database
				return nil, nil
			case OneEach:
				arm.Target, _, closers = openStore(t, func(s *sqlite.Store) inventory.Store { return Separately(s) })
			case Rowlock:
				arm.Target, _, closers = openStore(t, around)
			}
			arm.Close = func() error { closeAll(closers); return nil }
			return arm, nil
		},
		Inside: func(context.Context) (*Inside, error) {
			target, store, closers := openStore(t, nil)
			return &Inside{
				Target: target, Store: store, Catalogue: records.New(store),
				Close: func() error { closeAll(closers); return nil },
			}, nil
		},
	}
}

func closeAll(closers []func()) {
	for _, fn := range closers {
		fn()
	}
}

// openStore serves a fresh file.
func openStore(t *testing.T, around func(*sqlite.Store) inventory.Store) (Target, *sqlite.Store, []func()) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "bench.db"))
	if err != nil {
		t.Fatal(err)
	}
	rec := records.New(store)
	people := office.New(rec)
	org, err := people.CreateOrganizer(t.Context(), "Test Organizer")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := people.CreateKey(t.Context(), org.ID, "bench", office.RoleOrganizer, nil)
	if err != nil {
		t.Fatal(err)
	}
	var seam inventory.Store = store
	if around != nil {
		seam = around(store)
	}
	service := inventory.New(inventory.Config{Store: seam, Catalogue: rec})
	server := httptest.NewServer(api.New(api.Config{Service: service, Office: people}).Handler())
	target := Target{URLs: []string{server.URL}, Key: secret, Audit: func(ctx context.Context) ([]inventory.Breach, error) {
		var all []inventory.Breach
		for b, err := range store.Audit(ctx) {
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
		return all, nil
	}}
	return target, store, []func(){server.Close, func() {
		if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}}
}
