package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

func TestASecondServerIsToldWhoHasTheFileAndCommandsMayOpenBeside(t *testing.T) {
	h := newHouse(t, 600)
	path := h.path(t)
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, sqlite.ErrLocked) {
		t.Fatalf("a second server: %v", err)
	}
	for name, open := range map[string]func() (*sqlite.Store, error){
		"beside": func() (*sqlite.Store, error) { return sqlite.OpenBeside(t.Context(), path) },
		"reader": func() (*sqlite.Store, error) { return sqlite.OpenReader(t.Context(), path) },
	} {
		other, err := open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := breaches(t, other); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		if err := other.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.service.Claim(t.Context(), claimOf(h, h.seats(t)[0])); err != nil {
		t.Errorf("the server was disturbed: %v", err)
	}
}

func (h *house) path(t testing.TB) string {
	t.Helper()
	var path string
	if err := h.store.Reader().QueryRowContext(t.Context(), `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&path); err != nil {
		t.Fatal(err)
	}
	return path
}

// closed makes a furnished file and gives it up.
func closedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "closed.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileOfANewerVersionIsRefusedAndLeftAlone(t *testing.T) {
	path := closedFile(t)
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("server: %v", err)
	}
	if _, err := sqlite.OpenReader(t.Context(), path); !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("reader: %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestADamagedOrForeignFileIsRefusedAndLeftAlone(t *testing.T) {
	sound, err := os.ReadFile(closedFile(t))
	if err != nil {
		t.Fatal(err)
	}
	holed := append([]byte(nil), sound...)
	for i := 4096; i < len(holed); i++ {
		holed[i] = 0xA5
	}
	for name, content := range map[string][]byte{
		"text":             []byte("this is a letter, not a database, however long it may go on and on and on and on and on and on and on"),
		"damaged pages":    holed,
		"cut short":        sound[:len(sound)/2+100],
		"another database": foreign(t),
	} {
		path := filepath.Join(t.TempDir(), "bad.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := sqlite.Open(t.Context(), path); !errors.Is(err, sqlite.ErrCorrupt) {
			t.Errorf("%s: store %v, error %v", name, s, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(content) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
}

// foreign is an SQLite database of some other program.
func foreign(t *testing.T) []byte {
	t.Helper()
	path := closedFile(t)
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Exec("PRAGMA application_id = 42"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAReadOnlyFileIsRefusedWithItsName runs itself again as somebody without rights, for to root no
// file is read-only.
func TestAReadOnlyFileIsRefusedWithItsName(t *testing.T) {
	if path := os.Getenv("ROWLOCK_TEST_READ_ONLY"); path != "" {
		_, err := sqlite.Open(t.Context(), path)
		if !errors.Is(err, os.ErrPermission) {
			t.Fatalf("want permission denied, got %v", err)
		}
		fmt.Println("refused:", err)
		return
	}
	path := closedFile(t)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestAReadOnlyFileIsRefusedWithItsName$", "-test.v")
	cmd.Env = append(os.Environ(), "ROWLOCK_TEST_READ_ONLY="+path)
	if os.Getuid() == 0 {
		for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		copied := filepath.Join(filepath.Dir(path), "test.bin") // where somebody without rights can run it
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, data, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Dir = copied, filepath.Dir(path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !contains(string(out), "refused: database "+path) {
		t.Fatalf("%v\n%s", err, out)
	}
}

func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

func TestAFullDiskRefusesAndLosesNothing(t *testing.T) {
	h := newHouse(t, 600)
	ctx := t.Context()
	seats := h.seats(t)
	kept, err := h.service.Claim(ctx, claimOf(h, seats[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.Exec("PRAGMA max_page_count = 1"); err != nil { // the smallest: no page more than there are
		t.Fatal(err)
	}
	failed := 0
	for i := 1; i < len(seats); i++ {
		r := claimOf(h, seats[i])
		r.Metadata = map[string]string{"ballast": fmt.Sprintf("%0400d", i)}
		if _, err := h.service.Claim(ctx, r); err != nil {
			if code(err) != "" {
				t.Errorf("a full disk is not a refusal of the seat: %v", err)
			}
			failed++
		}
	}
	if failed == 0 {
		t.Fatal("the disk never was full")
	}
	h.audit(t)
	if err := h.store.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.service.Look(ctx, inventory.HoldRef{Event: h.event, ID: kept.Hold.Key.ID(), Token: kept.Token}); err != nil {
		t.Errorf("a hold from before is gone: %v", err)
	}
	if _, err := h.service.Claim(ctx, claimOf(h, seats[len(seats)-1])); err != nil {
		t.Errorf("with room again: %v", err)
	}
	h.audit(t)
}

func TestWhatWasAnsweredIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "again.db")
	h := openHouse(t, path)
	h.furnish(t, 600)
	ctx := t.Context()
	hold, err := h.service.Claim(ctx, claimOf(h, h.seats(t)[0]))
	if err != nil {
		t.Fatal(err)
	}
	before, err := h.service.Board(ctx, inventory.Caller{}, h.event)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := openHouse(t, path)
	if _, err := again.service.Look(ctx, inventory.HoldRef{Event: h.event, Token: hold.Token}); err != nil {
		t.Errorf("the hold: %v", err)
	}
	ch, err := again.service.Changes(ctx, inventory.Caller{}, h.event, before.Position)
	if err != nil || !ch.Resync {
		t.Errorf("a position of an earlier opening must resync: %+v %v", ch, err)
	}
	again.audit(t)
}

func TestNobodyElseMayReadTheFilesNorABackup(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a file & more?.db")
	h := openHouse(t, path)
	h.furnish(t, 600)
	copied := filepath.Join(dir, "copy.db")
	if err := h.store.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 {
		t.Fatalf("%v %v, want the file, what stands beside it, and the copy", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", f.Name(), info.Mode(), err)
		}
	}
	if err := h.store.Backup(t.Context(), copied); !errors.Is(err, os.ErrExist) {
		t.Errorf("a backup over another: %v", err)
	}
	reader, err := sqlite.OpenReader(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	if found := breaches(t, reader); len(found) > 0 {
		t.Errorf("the copy: %v", found)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsMovedAwayIsNotWrittenAndItsLogNotTakenOver(t *testing.T) {
	h := newHouse(t, 600)
	ctx, path := t.Context(), h.path(t)
	seats := h.seats(t)
	kept, err := h.service.Claim(ctx, claimOf(h, seats[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.service.Claim(ctx, claimOf(h, seats[1])); !errors.Is(err, sqlite.ErrMoved) {
		t.Errorf("a claim: %v", err)
	}
	if _, err := h.service.CreateVenue(ctx, h.caller, inventory.VenueFields{Name: ptr("Elsewhere")}, nil); !errors.Is(err, sqlite.ErrMoved) {
		t.Errorf("paperwork: %v", err)
	}
	if err := h.store.Ready(ctx); !errors.Is(err, sqlite.ErrMoved) {
		t.Errorf("ready: %v", err)
	}
	if _, err := sqlite.Open(ctx, path); !errors.Is(err, sqlite.ErrOrphan) {
		t.Errorf("a second server on what is left: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // somebody puts an empty file there
		t.Fatal(err)
	}
	if _, err := sqlite.Open(ctx, path); !errors.Is(err, sqlite.ErrOrphan) {
		t.Errorf("a second server on an empty file: %v", err)
	}
	if err := h.store.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	again := openHouse(t, path)
	if _, err := again.service.Look(ctx, inventory.HoldRef{Event: h.event, Token: kept.Token}); err != nil {
		t.Errorf("brought back: %v", err)
	}
	again.audit(t)
}

// TestPromise7ALogThatIsRemovedIsNotWrittenAndWhatIsInItSaved removes the log under a store that is then killed.
func TestPromise7ALogThatIsRemovedIsNotWrittenAndWhatIsInItSaved(t *testing.T) {
	h := newHouse(t, 600)
	ctx, path := t.Context(), h.path(t)
	seats := h.seats(t)
	kept, err := h.service.Claim(ctx, claimOf(h, seats[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + beside); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.service.Claim(ctx, claimOf(h, seats[1])); !errors.Is(err, sqlite.ErrMoved) {
		t.Errorf("a claim: %v", err)
	}
	if err := h.store.Ready(ctx); !errors.Is(err, sqlite.ErrMoved) {
		t.Errorf("ready: %v", err)
	}
	data, err := os.ReadFile(path) // all that is left when the server is killed now
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "left.db")
	if err := os.WriteFile(left, data, 0o600); err != nil {
		t.Fatal(err)
	}
	again := openHouse(t, left)
	if _, err := again.service.Look(ctx, inventory.HoldRef{Event: h.event, Token: kept.Token}); err != nil {
		t.Errorf("a hold from before: %v", err)
	}
	again.audit(t)
}

// TestNothingIsMadeWhereTheFileWas reads and writes through new connections after the file was moved away.
func TestNothingIsMadeWhereTheFileWas(t *testing.T) {
	h := openHouse(t, closedFile(t))
	path := h.path(t)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := h.store.Board(t.Context(), "evt_none"); err == nil {
			t.Error("a board was read")
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

func TestTheLogIsBegunAnewPastItsBound(t *testing.T) {
	h := newHouse(t, 600)
	ctx := t.Context()
	h.store.SetWALMax(16 << 10)
	wal := h.path(t) + "-wal"
	for _, seat := range h.seats(t)[:8] {
		if _, err := h.service.Claim(ctx, claimOf(h, seat)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(wal); err != nil || info.Size() <= 16<<10 {
		t.Fatalf("the log has %v bytes (%v), too few for this test", info.Size(), err)
	}
	begun, stop, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { read <- h.store.ReadAllAlong(ctx, begun, stop) }()
	<-begun
	swept := make(chan error, 1)
	go func() { _, err := h.store.Sweep(ctx, 10); swept <- err }()
	close(stop)
	for _, done := range []chan error{read, swept} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(wal); err != nil || info.Size() > 16<<10 {
		t.Errorf("the log still has %v bytes (%v)", info.Size(), err)
	}
	h.audit(t)
}

func TestPromise5AClockThatWasAheadLeaksNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock.db")
	h := openHouse(t, path)
	h.furnish(t, 60)
	ctx := t.Context()
	hold, err := h.service.Claim(ctx, claimOf(h, h.seats(t)[0]))
	if err != nil {
		t.Fatal(err)
	}
	// As if it had been made when the clock was a hundred years ahead.
	const ahead = "3153600000000000"
	for _, sql := range []string{
		"UPDATE holds SET created = created + " + ahead + ", deadline = deadline + " + ahead + ", cap = cap + " + ahead,
		"UPDATE hold_lines SET deadline = deadline + " + ahead,
	} {
		if err := h.store.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := openHouse(t, path)
	v, err := again.service.Look(ctx, inventory.HoldRef{Event: h.event, Token: hold.Token})
	if err != nil {
		t.Fatal(err)
	}
	if left := v.Hold.Deadline - v.Now; left > 60_000_000 || v.Hold.Cap-v.Now > 180_000_000 {
		t.Errorf("it lives for %d s more", left/1_000_000)
	}
	again.audit(t)
}

func TestAnEmptyOrForeignFileCannotBeReadAsOurs(t *testing.T) {
	dir := t.TempDir()
	empty, other := filepath.Join(dir, "empty.db"), filepath.Join(dir, "other.db")
	for path, content := range map[string][]byte{empty: nil, other: foreign(t)} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.OpenReader(t.Context(), path); !errors.Is(err, sqlite.ErrCorrupt) {
			t.Errorf("%s: %v", path, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(content) {
			t.Errorf("%s was changed (%v)", path, err)
		}
	}
}

func TestAFileWhoseMakerDiedBeforeItWasMarkedIsFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "begun.db")
	if err := sqlite.BeginFile(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Fatalf("nothing was begun: %v", err)
	}
	openHouse(t, path).furnish(t, 600)
}

// TestPromise5WaitingForACommandBesideKeepsNoHoldAlive keeps the file's lock from outside while somebody
// buys, until the hold has lapsed: the sale is judged by the time at which it can be written.
func TestPromise5WaitingForACommandBesideKeepsNoHoldAlive(t *testing.T) {
	h := newHouse(t, 1)
	beside := openBeside(t, h.path(t))
	v, err := h.service.Claim(t.Context(), claimOf(h, h.seats(t)[0]))
	if err != nil {
		t.Fatal(err)
	}
	ref := inventory.HoldRef{Event: h.event, Token: v.Token}
	locked, bought := make(chan struct{}), make(chan error, 1)
	go func() {
		<-locked
		_, err := h.service.Confirm(t.Context(), inventory.ConfirmRequest{Hold: ref, Buyer: inventory.Buyer{Email: "buyer@example.com"}})
		bought <- err
	}()
	err = beside.Write(t.Context(), func(tx *sql.Tx) error {
		close(locked)
		for range time.Tick(20 * time.Millisecond) {
			if _, err := h.service.Look(t.Context(), ref); code(err) == inventory.HoldExpired {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-bought; code(err) != inventory.HoldExpired {
		t.Errorf("a hold that lapsed while the sale waited was bought: %v", err)
	}
	h.audit(t)
}
