package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

const (
	powerCallers    = 4
	powerCheckpoint = 24  // pages: every few commits
	powerStepsMax   = 500 // a cut comes before
	faultStepsMax   = 120 // of an evening with faults
	openingReads    = 100 // about
)

// TestPromise7APowerCutLosesNothingAcknowledged cuts the power in the middle of a busy evening, and looks
// for everything that was acknowledged on what the disk may have kept.
func TestPromise7APowerCutLosesNothingAcknowledged(t *testing.T) {
	made := furnished(t)
	where := make(map[string]int)
	half := 0 // cuts that left parts of a map which was not in use yet
	var mu sync.Mutex
	t.Run("cuts", func(t *testing.T) {
		for shard := range 2 {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := shard; seed < powerCuts; seed += 2 {
					e := newEvening(t, made, uint64(seed), "FULL")
					at, lost := e.cutAndLook(t)
					for _, l := range lost {
						t.Errorf("seed %d, cut at %s: %s", seed, at, l)
					}
					mu.Lock()
					where[at]++
					if e.ahead > 0 {
						half++
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("cuts came at %v, %d of them between the parts of a map", where, half)
	if half == 0 && powerCuts >= 300 {
		t.Error("no cut came between the parts of a map, so nothing is known of that")
	}
	for _, at := range []string{"write wal", "restart wal", "sync wal", "write db", "sync db"} {
		if where[at] == 0 && powerCuts >= 300 { // fewer may miss the rare ones
			t.Errorf("no cut came at %q, so nothing is known of it", at)
		}
	}
}

// TestTheCutsNoticeWhatIsNotFlushed makes the same cuts with synchronous=NORMAL, which flushes the log at
// checkpoints only. The file stays sound, and what was acknowledged is lost.
func TestTheCutsNoticeWhatIsNotFlushed(t *testing.T) {
	made := furnished(t)
	lost, losing := 0, 0
	for seed := range powerCutsOfTwin {
		if _, l := newEvening(t, made, uint64(seed), "NORMAL").cutAndLook(t); len(l) > 0 {
			lost += len(l)
			losing++
		}
	}
	t.Logf("%d of %d cuts lost %d acknowledged effects", losing, powerCutsOfTwin, lost)
	if lost == 0 {
		t.Error("nothing was lost, so the cuts prove nothing")
	}
}

// TestPromise7ACutWhileTheFileIsMadeIsNoLoss cuts the power before each step of making a file. Nothing
// was acknowledged, and whatever is left is finished by the next start.
func TestPromise7ACutWhileTheFileIsMadeIsNoLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := 1; ; n++ {
		e := &evening{dir: t.TempDir(), disk: newDisk(), synchronous: "FULL", seed: uint64(n)}
		e.disk.cutAt = n
		store, err := e.tryOpen(t)
		if err == nil {
			e.disk.cut()
			store.Close()
		}
		after := t.TempDir()
		if err := e.disk.image(after, r); err != nil {
			t.Fatal(err)
		}
		again, openErr := sqlite.Open(t.Context(), filepath.Join(after, "evening.db"))
		if openErr != nil {
			t.Errorf("cut at step %d (%s): %v", n, e.disk.at, openErr)
			continue
		}
		if found := breaches(t, again); len(found) > 0 {
			t.Errorf("cut at step %d (%s): %v", n, e.disk.at, found)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if err == nil {
			if n < 10 {
				t.Errorf("the file was made in %d steps, so little was tried", n)
			}
			return
		}
	}
}

// TestPromise7AFaultAtAnyStepLosesNothing makes each of the first steps of an evening fail in some way,
// once or for a while, goes on, and cuts the power in the end.
func TestPromise7AFaultAtAnyStepLosesNothing(t *testing.T) {
	made := furnished(t)
	faults := map[string]struct {
		what string // the steps it befalls
		err  error
	}{
		"no room":             {"write", sqlite3.FULL},
		"a write that fails":  {"write", sqlite3.IOERR_WRITE},
		"half a write":        {"write", errShort},
		"a flush that fails":  {"sync", sqlite3.IOERR_FSYNC},
		"a log not cut short": {"truncate", sqlite3.IOERR_TRUNCATE},
		"a read that fails":   {"read", sqlite3.IOERR_READ},
	}
	for name, fault := range faults {
		for _, lasting := range []int{1, 25} {
			t.Run(fmt.Sprintf("%s, %d times", name, lasting), func(t *testing.T) {
				t.Parallel()
				failed := 0
				for n := range faultSteps {
					e := newEvening(t, made, uint64(n), "FULL")
					seen, from := 0, n
					fail := &e.disk.fail
					if fault.what == "read" { // there are many, and what opening reads is the visits' matter
						fail, from = &e.disk.failRead, openingReads+n*5
					}
					*fail = func(s step) error {
						if s.what != fault.what && !(s.what == "restart" && fault.what == "write") {
							return nil
						}
						if seen++; seen <= from || seen > from+lasting {
							return nil
						}
						failed++
						return fault.err
					}
					for _, l := range e.goOnAndLook(t) {
						t.Errorf("the steps from %d failed: %s", n, l)
					}
				}
				if failed == 0 && fault.what != "truncate" {
					t.Error("no step failed, so nothing is known")
				}
			})
		}
	}
}

// made is a furnished file, ready to be copied.
type made struct {
	data  []byte
	house house
	keys  []string
	maps  [2]string // one of thirty seats more, and one without those
}

func furnished(t *testing.T) *made {
	t.Helper()
	h := newHouse(t, 600)
	large := seatmap.Grid(7, 10)
	large.Areas = append(large.Areas, seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: 5})
	m := &made{house: *h, keys: h.seats(t), maps: [2]string{h.newMap(t, large), h.newMap(t, without(0))}}
	path := filepath.Join(t.TempDir(), "made.db")
	if err := h.store.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m.data = data
	return m
}

// evening is a store on a disk whose power will be cut, and what its callers were told.
type evening struct {
	*made
	seed        uint64
	dir         string
	disk        *disk
	synchronous string

	mu     sync.Mutex
	told   []*story
	venues []string // that were made
	// The event's revision as acknowledged last.
	revision int64
	ahead    int64 // allocations that were found for a map which was not in use yet
}

// story is what one caller knows of one hold: what was acknowledged last, and whether something was
// asked since that was not answered.
type story struct {
	token   string
	ref     inventory.HoldRef
	seller  inventory.Caller
	held    bool
	order   string
	valid   int    // tickets
	lines   string // as the last answer had them
	unknown bool
}

func newEvening(t *testing.T, m *made, seed uint64, synchronous string) *evening {
	t.Helper()
	e := &evening{made: m, seed: seed, dir: t.TempDir(), disk: newDisk(), synchronous: synchronous}
	if err := os.WriteFile(e.path(), m.data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.disk.insert(e.path()); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *evening) path() string { return filepath.Join(e.dir, "evening.db") }

// cutAndLook lets callers act until the power is cut, and returns where that was and what is lost.
func (e *evening) cutAndLook(t *testing.T) (at string, lost []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(e.seed, 7))
	store := e.open(t)
	e.disk.mu.Lock()
	e.disk.cutAt = e.disk.steps + 1 + r.IntN(powerStepsMax)
	e.disk.mu.Unlock()
	e.act(t.Context(), store, func() bool { return e.disk.dark() })
	e.disk.cut()
	store.Close() // nothing of it reaches the disk any more
	return e.disk.at, e.lookAfter(t)
}

// goOnAndLook lets callers act for some steps, whatever fails, and looks at what the disk has kept. In
// the end the store sells again by itself.
func (e *evening) goOnAndLook(t *testing.T) []string {
	t.Helper()
	store, err := e.tryOpen(t)
	if err != nil {
		return e.lookAfter(t) // the fault came while it was opened
	}
	e.act(t.Context(), store, func() bool {
		e.disk.mu.Lock()
		defer e.disk.mu.Unlock()
		return e.disk.steps > faultStepsMax
	})
	e.disk.mu.Lock()
	e.disk.fail, e.disk.failRead = nil, nil
	e.disk.mu.Unlock()
	service, _ := serviceOn(store)
	v, err := service.Claim(t.Context(), inventory.ClaimRequest{Event: e.house.event, Basket: inventory.Basket{Seats: e.keys[len(e.keys)-1:]}})
	if refusal, taken := errors.AsType[*inventory.Refusal](err); taken && refusal.Code == inventory.AllocationUnavailable {
		err = nil // somebody has it; that is an answer, too
	}
	if err != nil {
		t.Errorf("seed %d: the faults are over, and it does not sell: %v", e.seed, err)
	} else if v != nil {
		e.told = append(e.told, &story{token: v.Token, ref: inventory.HoldRef{Event: e.house.event, Token: v.Token}, held: true, lines: fmt.Sprint(v.Hold.Lines)})
	}
	e.disk.cut()
	store.Close()
	return e.lookAfter(t)
}

// lookAfter looks at what the disk may have kept.
func (e *evening) lookAfter(t *testing.T) []string {
	t.Helper()
	return e.look(t, e.imageAfter(t))
}

// imageAfter is the file as the disk may have kept it.
func (e *evening) imageAfter(t *testing.T) (path string) {
	t.Helper()
	e.disk.cut()
	after := t.TempDir()
	if err := e.disk.image(after, rand.New(rand.NewPCG(e.seed, 7))); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(after, "evening.db")
}

func (e *evening) open(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := e.tryOpen(t)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (e *evening) tryOpen(t *testing.T) (*sqlite.Store, error) {
	t.Helper()
	store, err := sqlite.OpenOn(t.Context(), e.path(), sqlite.Medium{
		Files: e.disk, Name: fmt.Sprintf("%s-%d", strings.NewReplacer("/", "-", ",", "", "#", "").Replace(t.Name()), e.seed),
		Synchronous: e.synchronous, Checkpoint: powerCheckpoint,
	})
	if err == nil {
		store.SetStageRows(partRows)
	}
	return store, err
}

func serviceOn(store *sqlite.Store) (*inventory.Service, *records.Records) {
	r := records.New(store)
	return inventory.New(inventory.Config{Store: store, Catalogue: r, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}), r
}

// act runs callers until done says so, and one organizer beside them.
func (e *evening) act(ctx context.Context, store *sqlite.Store, done func() bool) {
	service, _ := serviceOn(store)
	var wg sync.WaitGroup
	for n := range powerCallers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(e.seed, uint64(100+n)))
			for !done() {
				e.buyer(ctx, service, r)
			}
		})
	}
	wg.Go(func() {
		for i := 0; !done(); i++ {
			e.organizer(ctx, service, i)
		}
	})
	wg.Wait()
}

// buyer claims something, and then changes, extends, lets go, buys or returns it, or leaves it.
func (e *evening) buyer(ctx context.Context, service *inventory.Service, r *rand.Rand) {
	claim := inventory.ClaimRequest{Event: e.house.event}
	if r.IntN(3) == 0 {
		claim.Basket.Areas = []inventory.AreaWant{{Area: "FLOOR", Quantity: 1}}
	} else {
		i := r.IntN(len(e.keys) - 1)
		claim.Basket.Seats = e.keys[i : i+1+r.IntN(2)]
	}
	v, err := service.Claim(ctx, claim)
	if err != nil {
		return // refused, or never answered; a hold whose token nobody has lapses
	}
	s := &story{token: v.Token, ref: inventory.HoldRef{Event: e.house.event, Token: v.Token}, seller: e.house.caller, held: true, lines: fmt.Sprint(v.Hold.Lines)}
	e.mu.Lock()
	e.told = append(e.told, s)
	e.mu.Unlock()
	for range r.IntN(4) {
		s.goOn(ctx, service, r, e.keys)
	}
}

// goOn does one more thing to a hold or its order.
func (s *story) goOn(ctx context.Context, service *inventory.Service, r *rand.Rand, keys []string) {
	if s.unknown || (!s.held && s.order == "") {
		return
	}
	s.unknown = true // until it is answered
	var refusal *inventory.Refusal
	var err error
	switch {
	case s.order != "":
		var v *inventory.OrderView
		if v, err = service.CancelOrder(ctx, s.seller, s.ref.Event, s.order, "", nil); err == nil {
			s.valid = validTickets(v.Order)
		}
	case r.IntN(3) == 0:
		if err = service.Release(ctx, s.ref); err == nil {
			s.held = false
		}
	case r.IntN(2) == 0:
		var v *inventory.HoldView
		if v, err = service.Change(ctx, inventory.ChangeRequest{Hold: s.ref, Add: inventory.Basket{Seats: keys[r.IntN(len(keys)):][:1]}}); err == nil {
			s.lines = fmt.Sprint(v.Hold.Lines)
		}
	default:
		var v *inventory.OrderView
		if v, err = service.Confirm(ctx, inventory.ConfirmRequest{Hold: s.ref, Buyer: inventory.Buyer{Email: s.token + "@example.com"}}); err == nil {
			s.held, s.order, s.valid = false, v.Order.ID, validTickets(v.Order)
		}
	}
	if err == nil || errors.As(err, &refusal) && refusal.Code != inventory.Unavailable {
		s.unknown = false
	}
}

func validTickets(o *inventory.Order) (n int) {
	for _, t := range o.Tickets {
		if t.Valid {
			n++
		}
	}
	return n
}

// organizer makes venues, renames the event and moves it to the larger map and back.
func (e *evening) organizer(ctx context.Context, service *inventory.Service, i int) {
	if v, err := service.CreateVenue(ctx, e.house.caller, inventory.VenueFields{Name: ptr(fmt.Sprintf("Hall %d", i))}, nil); err == nil {
		e.venues = append(e.venues, v.ID)
	}
	if v, err := service.PatchEvent(ctx, e.house.caller, e.house.event, inventory.EventFields{Name: ptr(fmt.Sprintf("Night %d", i))}, nil); err == nil {
		e.revision = v.Event.Revision
	}
	if i%2 == 1 {
		if v, err := service.Remap(ctx, e.house.caller, e.house.event, e.maps[i/2%2], false, nil); err == nil {
			e.revision = v.Version
		}
	}
}

// look opens what is left, and returns what of all that was acknowledged is not there. The file is sound
// and keeps every promise, or the test fails.
func (e *evening) look(t *testing.T, path string) (lost []string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("seed %d: what is left does not open: %v", e.seed, err)
	}
	defer store.Close()
	for _, b := range breaches(t, store) {
		t.Errorf("seed %d: promise %d: %s", e.seed, b.Promise, b.What)
	}
	if unsound, err := store.Count("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"); err != nil || unsound > 0 {
		t.Errorf("seed %d: the file is not sound: %d faults, %v", e.seed, unsound, err)
	}
	service, paperwork := serviceOn(store)
	for _, s := range e.told {
		if what := s.compare(t.Context(), service, paperwork); what != "" {
			lost = append(lost, what)
		}
	}
	for _, id := range e.venues {
		if _, err := service.Venue(t.Context(), e.house.caller, id); err != nil {
			lost = append(lost, fmt.Sprintf("a venue: %v", err))
		}
	}
	if v, err := service.Event(t.Context(), e.house.caller, e.house.event); err != nil || v.Event.Revision < e.revision {
		lost = append(lost, fmt.Sprintf("revision %d of the event (%v)", e.revision, err))
	}
	e.moveOn(t, store, service)
	return lost
}

// moveOn finds that an event whose move was cut short can be moved.
func (e *evening) moveOn(t *testing.T, store *sqlite.Store, service *inventory.Service) {
	t.Helper()
	var err error
	if e.ahead, err = store.Count("SELECT count(*) FROM allocations a JOIN events e ON e.n = a.event WHERE a.since > coalesce(json_array_length(e.doc, '$.Former'), 0)"); err != nil {
		t.Fatal(err)
	}
	if e.ahead == 0 {
		return
	}
	if _, err := service.Remap(t.Context(), e.house.caller, e.house.event, e.maps[0], false, nil); err != nil {
		t.Errorf("seed %d: %d allocations lie ahead, and the event cannot be moved: %v", e.seed, e.ahead, err)
	}
	for _, b := range breaches(t, store) {
		t.Errorf("seed %d: after it was moved: promise %d: %s", e.seed, b.Promise, b.What)
	}
}

// compare says what of a story is not so.
func (s *story) compare(ctx context.Context, service *inventory.Service, paperwork *records.Records) string {
	key, _ := inventory.HashToken(s.token)
	order, err := paperwork.OrderByHold(ctx, s.ref.Event, key)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return err.Error()
	}
	sold := err == nil
	v, err := service.Look(ctx, s.ref)
	held := err == nil && v.Order == ""
	if held && sold {
		return "a hold lives beside its order"
	}
	switch {
	case s.order != "" && !sold:
		return "an order is gone"
	case s.order != "" && !s.unknown && validTickets(order) != s.valid:
		return fmt.Sprintf("%d tickets are valid, want %d", validTickets(order), s.valid)
	case s.unknown:
		return ""
	case s.held && !held:
		return "a hold is gone"
	case s.held && fmt.Sprint(v.Hold.Lines) != s.lines:
		return fmt.Sprintf("a hold has %v, want %s", v.Hold.Lines, s.lines)
	case !s.held && held:
		return "a hold that was let go is back"
	}
	return ""
}
