package records_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

const (
	day = 24 * 60 * 60 * 1_000_000 // microseconds

	north = "org_north"
	south = "org_south"
)

// house is a fresh database with two organizers.
type house struct {
	*records.Records
	db *sqlite.Store
}

func open(t *testing.T) house {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rowlock.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	h := house{records.New(db), db}
	for _, id := range []string{south, north} {
		must(t, h.InsertOrganizer(t.Context(), &office.Organizer{ID: id, Name: "Organizer " + id}))
	}
	return h
}

// later is a database whose clock is ahead of the other's, by microseconds.
type later struct {
	records.Database
	by int64
}

func (l later) Clock() string { return fmt.Sprintf("(%s + %d)", l.Database.Clock(), l.by) }

// twice runs every write two times, and only the second time lets it be.
type twice struct{ records.Database }

func (d twice) Write(ctx context.Context, fn func(*sql.Tx) error) error {
	again := errors.New("again")
	err := d.Database.Write(ctx, func(tx *sql.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return again
	})
	if !errors.Is(err, again) {
		return err
	}
	return d.Database.Write(ctx, fn)
}

// exec writes rows that only a store would.
func (h house) exec(t *testing.T, text string, args ...any) {
	t.Helper()
	must(t, h.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), text, args...)
		return err
	}))
}

func (h house) count(t *testing.T, table string) int {
	t.Helper()
	var n int
	must(t, h.db.Reader().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

// now is the database's clock.
func (h house) now(t *testing.T) inventory.Instant {
	t.Helper()
	var now inventory.Instant
	must(t, h.db.Reader().QueryRowContext(t.Context(), "SELECT "+h.db.Clock()).Scan(&now))
	return now
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantRefusal asserts a refusal that is not wrapped.
func wantRefusal(t *testing.T, err error, code inventory.RefusalCode) {
	t.Helper()
	refusal, ok := err.(*inventory.Refusal) // bare, as the package promises
	if !ok || refusal.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func wantNotFound(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, inventory.ErrNotFound) {
		t.Fatalf("got %v, want not found", err)
	}
}

func wantRecorded(t *testing.T, err error, rec *inventory.Record) {
	t.Helper()
	found, ok := err.(*inventory.Recorded) // bare, as the package promises
	if !ok {
		t.Fatalf("got %v, want a replay", err)
	}
	got := found.Record
	if got.ID != rec.ID || got.Body != rec.Body || string(got.Answer) != string(rec.Answer) || string(got.Sealed) != string(rec.Sealed) {
		t.Fatalf("replayed %+v, want %+v", got, *rec)
	}
}

func record(id byte) *inventory.Record {
	return &inventory.Record{
		ID: inventory.CommandID{id, 1}, Body: [32]byte{7, 1},
		Answer: []byte(`{"made":` + fmt.Sprint(id) + `}`), Sealed: []byte{0, 255, id},
	}
}

// ids joins what a listing found.
func ids[T any](all []T, id func(T) string) string {
	var out []string
	for _, one := range all {
		out = append(out, id(one))
	}
	return strings.Join(out, " ")
}

func wantIDs(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("listed %q, want %q", got, want)
	}
}

func TestARepeatedCommandFindsItsOwnEffect(t *testing.T) {
	h, ctx := open(t), t.Context()
	rec := record(1)
	must(t, h.InsertVenue(ctx, venue("ven_1", north, "hall"), rec))
	// The repeat has a fresh id and the same reference: it must not lose to itself over that.
	wantRecorded(t, h.InsertVenue(ctx, venue("ven_2", north, "hall"), rec), rec)
	wantRecorded(t, h.Recorded(ctx, rec.ID, rec.Body), rec)
	if n := h.count(t, "venues"); n != 1 {
		t.Fatalf("%d venues, want 1", n)
	}
}

func TestARecordWithoutASealedTokenComesBackWithoutOne(t *testing.T) {
	h, ctx := open(t), t.Context()
	rec := &inventory.Record{ID: inventory.CommandID{1}}
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), rec))
	wantRecorded(t, h.InsertVenue(ctx, venue("ven_2", north, ""), rec), rec)
}

func TestAKeyWithAnotherBodyIsRefusedAndWritesNothing(t *testing.T) {
	h, ctx := open(t), t.Context()
	rec := record(1)
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), rec))
	other := record(1)
	other.Body[0]++
	wantRefusal(t, h.InsertVenue(ctx, venue("ven_2", north, ""), other), inventory.KeyReused)
	wantRefusal(t, h.Recorded(ctx, other.ID, other.Body), inventory.KeyReused)
	if n := h.count(t, "venues"); n != 1 {
		t.Fatalf("%d venues, want 1", n)
	}
	wantRecorded(t, h.Recorded(ctx, rec.ID, rec.Body), rec)
}

func TestARecordIsReplayedForADayAndThenReplaced(t *testing.T) {
	h, ctx := open(t), t.Context()
	rec := record(1)
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), rec))

	before := records.New(later{h.db, day - 60_000_000})
	wantRecorded(t, before.InsertVenue(ctx, venue("ven_2", north, ""), rec), rec)
	wantRecorded(t, before.Recorded(ctx, rec.ID, rec.Body), rec)

	after := records.New(later{h.db, day})
	must(t, after.Recorded(ctx, rec.ID, rec.Body))
	fresh := record(1)
	fresh.Body[0]++
	fresh.Answer = []byte(`"fresh"`)
	must(t, after.InsertVenue(ctx, venue("ven_3", north, ""), fresh))
	wantRecorded(t, after.Recorded(ctx, fresh.ID, fresh.Body), fresh)
	if n := h.count(t, "records"); n != 1 {
		t.Fatalf("%d records, want the old one replaced", n)
	}
}

func TestAnUnknownRecordIsNoAnswer(t *testing.T) {
	h := open(t)
	must(t, h.Recorded(t.Context(), inventory.CommandID{9}, [32]byte{}))
}

func TestARefusedCommandKeepsNoRecord(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, "hall"), nil))
	rec := record(1)
	wantRefusal(t, h.InsertVenue(ctx, venue("ven_2", north, "hall"), rec), inventory.ReferenceTaken)
	must(t, h.Recorded(ctx, rec.ID, rec.Body))
	must(t, h.InsertVenue(ctx, venue("ven_2", north, "other hall"), rec))
}

// storm lets writers insert a venue each, all at once, and counts their answers.
func storm(t *testing.T, h house, rec func(i int) *inventory.Record) (made, replayed int) {
	t.Helper()
	const writers = 8
	errs := make([]error, writers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			<-start
			errs[i] = h.InsertVenue(t.Context(), venue(fmt.Sprintf("ven_%d", i), north, ""), rec(i))
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		var recorded *inventory.Recorded
		switch {
		case err == nil:
			made++
		case errors.As(err, &recorded):
			replayed++
		default:
			t.Error(err)
		}
	}
	return made, replayed
}

func TestWritersWithOneRecordHaveOneEffect(t *testing.T) {
	h := open(t)
	made, replayed := storm(t, h, func(int) *inventory.Record { return record(1) })
	if n := h.count(t, "venues"); made != 1 || replayed != 7 || n != 1 {
		t.Fatalf("%d made, %d replayed, %d venues; want 1, 7, 1", made, replayed, n)
	}
}

// The twin of the race above: without the record that guards it, every writer has an effect.
func TestWritersWithoutARecordHaveAnEffectEach(t *testing.T) {
	h := open(t)
	made, replayed := storm(t, h, func(int) *inventory.Record { return nil })
	if n := h.count(t, "venues"); made != 8 || replayed != 0 || n != 8 {
		t.Fatalf("%d made, %d replayed, %d venues; want 8, 0, 8", made, replayed, n)
	}
}

func TestATransactionThatRunsAgainHasOneEffect(t *testing.T) {
	h, ctx := open(t), t.Context()
	again := records.New(twice{h.db})
	must(t, again.InsertVenue(ctx, venue("ven_1", north, "hall"), record(1)))
	m := seatMap("map_1", "ven_1", north)
	must(t, again.InsertMap(ctx, m, []byte("{}"), record(2), func() ([]byte, error) { return fmt.Appendf(nil, "%d", m.Version), nil }))
	if m.Version != 1 {
		t.Errorf("version %d, want 1", m.Version)
	}
	must(t, again.InsertEvents(ctx, []*inventory.Event{event("evt_1", north, "ven_1", "map_1", "gala")}, record(3)))
	must(t, again.InsertKey(ctx, key("key_1", north, 1), record(4)))
	must(t, again.RotateKey(ctx, north, "key_1", key("key_2", north, 2), record(5)))
	for table, want := range map[string]int{"venues": 1, "maps": 1, "events": 1, "positions": 1, "api_keys": 2, "records": 5} {
		if n := h.count(t, table); n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
}

func TestAFaultOfTheDatabaseIsWrappedAndIsNoAnswer(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), nil))
	err := h.InsertVenue(ctx, venue("ven_1", north, ""), nil) // ids are made to be unique: a repeated one is a fault
	if err == nil || !strings.HasPrefix(err.Error(), "records: insert venue: ") {
		t.Fatalf("got %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Venue(ended, north, "ven_1"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's end", err)
	}
}
