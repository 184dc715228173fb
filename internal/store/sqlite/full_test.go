package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

const (
	smallDiskBytes = 1 << 20
	pageBytes      = 4096
)

// TestPromise7ADiskThatFillsUpAtAnyCommitLosesNothing sells on a disk of 1 MB until it is full, from every
// number of free pages, then makes room. Mounting needs root; TestPromise7AFaultAtAnyStepLosesNothing does
// the same to everybody's disk.
func TestPromise7ADiskThatFillsUpAtAnyCommitLosesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", smallDiskBytes)); err != nil {
		t.Logf("no disk could be mounted (%v): this ran on none", err)
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	made := furnished(t)
	full := 0
	for pages := range fullDisks {
		full += fillUp(t, made, dir, int64(pages*3))
	}
	if full < fullDisks {
		t.Errorf("%d claims failed on %d full disks, want one on each at least", full, fullDisks)
	}
}

// fillUp sells on a disk with some free pages, makes room, and returns how many claims failed before.
func fillUp(t *testing.T, made *made, dir string, pages int64) (failed int) {
	t.Helper()
	e := &evening{made: made, dir: dir}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(e.path(), made.data, 0o600); err != nil {
		t.Fatal(err)
	}
	defer removeAll(t, dir)
	store, err := sqlite.Open(t.Context(), e.path())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	leave(t, dir, ballast, pages*pageBytes)
	service, _ := serviceOn(store)
	r := rand.New(rand.NewPCG(uint64(pages), 1))
	claim := func() error {
		i := r.IntN(len(e.keys))
		v, err := service.Claim(t.Context(), inventory.ClaimRequest{
			Event: e.house.event, Basket: inventory.Basket{Seats: e.keys[i : i+1]}, Metadata: map[string]string{"ballast": fmt.Sprintf("%0400d", i)},
		})
		if err == nil {
			ref := inventory.HoldRef{Event: e.house.event, Token: v.Token}
			e.told = append(e.told, &story{token: v.Token, ref: ref, seller: e.house.caller, held: true, lines: fmt.Sprint(v.Hold.Lines)})
		}
		return err
	}
	unready := 0
	for range 4 * len(e.keys) {
		if err := claim(); err != nil && code(err) == "" {
			failed++
			if store.Ready(t.Context()) != nil {
				unready++
			}
		}
	}
	if unready < failed*9/10 {
		t.Errorf("with %d free pages: %d claims failed, and after %d of them only the store is not ready", pages, failed, unready)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Errorf("with room again it is not ready: %v", err)
	}
	if err := claim(); err != nil && code(err) != inventory.AllocationUnavailable {
		t.Errorf("with room again it does not sell: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	for _, l := range e.look(t, e.path()) {
		t.Errorf("with %d free pages: %s", pages, l)
	}
	return failed
}

// leave fills a disk up to some free bytes.
func leave(t *testing.T, dir, ballast string, free int64) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, max(0, int64(fs.Bavail)*fs.Bsize-free)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			t.Error(err)
		}
	}
}

// TestAStoreThatIsClosedInTheMiddleAnswersNothingFalse closes a store while callers use it.
func TestAStoreThatIsClosedInTheMiddleAnswersNothingFalse(t *testing.T) {
	made := furnished(t)
	for seed := range uint64(10) {
		e := newEvening(t, made, seed, "FULL")
		store := e.open(t)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			for e.disk.soFar() < 40 {
				runtime.Gosched()
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		e.act(t.Context(), store, func() bool {
			select {
			case <-closed:
				return true
			default:
				return false
			}
		})
		for _, l := range e.look(t, e.path()) {
			t.Errorf("seed %d: %s", seed, l)
		}
	}
}

func (d *disk) soFar() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps
}
