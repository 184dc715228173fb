package sqlite_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/store/storetest"
)

const (
	historyEvents = 3
	historySeats  = 40 // of an event; one area stands behind them
	historyHolds  = 20 // what is asked of holds is asked of the last so many
	historyOrders = 12 // numbers of orders, few, so that some are taken already
)

// TestWhatIsRememberedIsWhatTheRowsSay takes a store through random histories: every verb in batches, at a
// clock that jumps both ways, alterations, paperwork, backups, sweeps, connections that are opened again, and
// a disk that fails. Each batch is judged twice, from what is remembered and from the rows alone, and after
// each step whatever is remembered is compared with its row. So little is remembered that most of it is
// forgotten all the time; one history in four has the bounds of every day.
func TestWhatIsRememberedIsWhatTheRowsSay(t *testing.T) {
	made := furnished(t)
	seen := make(map[string]int)
	for seed := range uint64(histories) {
		h := newHistory(t, made, seed, seen)
		if seed%4 != 0 {
			h.store.SetSheetBounds(2, 1+h.r.IntN(historySeats), 1+h.r.IntN(historyHolds), 1+h.r.IntN(6))
		}
		for range historySteps {
			h.step()
			h.compare()
		}
		h.end()
	}
	t.Logf("seen: %v", seen)
	for _, what := range []string{
		"batch", "remembered", "forgotten", "took over", "held", "refused", "expired", "sold", "returned", "failed", "altered",
		"settled", "reopened", "backed up", "written beside", "swept",
	} {
		if seen[what] == 0 {
			t.Errorf("nothing was %q, so little is known", what)
		}
	}
}

// history is a store under random steps.
type history struct {
	*evening
	t      *testing.T
	r      *rand.Rand
	store  *sqlite.Store
	events []string
	keys   int // of holds that were claimed
	bought map[inventory.HoldKey]bool
	held   map[string][]inventory.HoldKey // by event, the last ones made
	skew   inventory.Instant              // of the judge's clock
	seen   map[string]int                 // what happened, over all histories
	n      int                            // steps
}

func newHistory(t *testing.T, m *made, seed uint64, seen map[string]int) *history {
	t.Helper()
	h := &history{evening: newEvening(t, m, seed, "FULL"), t: t, r: rand.New(rand.NewPCG(seed, 11)), seen: seen, bought: make(map[inventory.HoldKey]bool), held: make(map[string][]inventory.HoldKey)}
	h.store = h.open(t)
	service, _ := serviceOn(h.store)
	first, err := service.Event(t.Context(), m.house.caller, m.house.event)
	if err != nil {
		t.Fatal(err)
	}
	another := storetest.House{Service: service, Caller: m.house.caller, Map: first.Event.Map}
	h.events = append(h.events, m.house.event)
	for len(h.events) < historyEvents {
		h.events = append(h.events, another.OnSale(t, another.Spec(600)))
	}
	h.deny(h.events[0])
	h.disk.fail = func(step) error {
		if h.r.IntN(150) > 0 {
			return nil
		}
		h.seen["failed"]++
		return []error{sqlite3.FULL, sqlite3.IOERR_WRITE, errShort, sqlite3.IOERR_FSYNC}[h.r.IntN(4)]
	}
	return h
}

// deny sells two holds under one number, which the judge does not look at: the schema denies one of them.
func (h *history) deny(event string) {
	h.t.Helper()
	batch, sales := make([]inventory.Command, 2), make([]inventory.Sale, 2)
	for i := range batch {
		key := h.claimed(event)
		batch[i] = inventory.Command{Verb: inventory.Claim, Key: key, By: "buyer", Add: []inventory.Want{{Unit: inventory.Unit(10 + i), Type: -1, Quantity: 1}}}
		sales[i] = inventory.Sale{Key: key, Order: "ord_twice", By: "key_test", ByKey: true, Payment: inventory.Payment{Method: inventory.PaymentNone}}
		h.bought[key] = true
	}
	if _, err := h.store.Apply(h.t.Context(), event, batch); err != nil {
		h.t.Fatal(err)
	}
	outcomes, err := h.store.Sell(h.t.Context(), event, sales)
	if err != nil || outcomes[0].Order == nil || outcomes[1].Refusal == nil {
		h.t.Fatalf("two sales under one number: %+v %v", outcomes, err)
	}
	h.compare()
}

// step does one thing. It may fail for what the disk does; anything else is a fault.
func (h *history) step() {
	ctx, event := h.t.Context(), h.events[h.r.IntN(historyEvents)]
	h.n++
	h.skew += inventory.Instant(h.r.IntN(400)-150) * 1_000_000
	var err error
	switch what := h.r.IntN(40); {
	case what < 22:
		err = h.judge(ctx, event)
	case what < 26:
		err = h.judgeSales(ctx, event)
	case what < 30:
		err = h.judgeReturn(ctx, event)
	case what < 33: // the real clock, and what a constraint stops is done one by one
		err = h.sell(ctx, event)
	case what < 35:
		_, err = h.store.Apply(ctx, event, h.commands(event))
	case what < 36:
		var n int
		n, err = h.store.Sweep(ctx, 1+h.r.IntN(20))
		h.seen["swept"] += n
	default:
		err = h.disturb(ctx, event, what-36)
	}
	if err != nil && !expected(err) {
		h.t.Errorf("seed %d, step %d: %v", h.seed, h.n, err)
	}
}

// disturb does what batches should not notice.
func (h *history) disturb(ctx context.Context, event string, what int) error {
	switch what {
	case 0:
		h.seen["altered"]++
		return h.alter(ctx, event)
	case 1:
		h.seen["settled"]++
		return h.store.SettleClock()
	case 2:
		h.seen["reopened"]++
		if err := h.store.ReopenWriter(); err != nil {
			return err
		}
		h.seen["backed up"]++
		return h.store.Backup(ctx, filepath.Join(h.dir, fmt.Sprintf("copy-%d", h.n)))
	default:
		h.seen["written beside"]++
		service, _ := serviceOn(h.store)
		_, err := service.CreateVenue(ctx, h.house.caller, inventory.VenueFields{Name: ptr("Beside")}, nil)
		return err
	}
}

// expected reports whether an error is of the disk, or of a constraint that no retry was asked of.
func expected(err error) bool {
	for _, known := range []error{sqlite3.FULL, sqlite3.IOERR, sqlite3.CONSTRAINT, inventory.ErrStale} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.ABORT)
}

// judge lets a batch be judged from the sheet and from the rows.
func (h *history) judge(ctx context.Context, event string) error {
	batch := h.commands(event)
	_, err := h.store.JudgeInside(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		outcomes, eff := inventory.Judge(now+h.skew, terms, r, batch)
		plain, failed := sqlite.PlainRows(r)
		again, want := inventory.Judge(now+h.skew, terms, plain, batch)
		h.same(failed(), outcomes, again, eff, want)
		h.note(event, eff)
		for _, o := range outcomes {
			if o.Refusal != nil {
				h.seen["refused"]++
			}
		}
		return eff
	})
	return err
}

func (h *history) judgeSales(ctx context.Context, event string) error {
	batch := h.sales(event)
	_, err := h.store.JudgeInside(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		outcomes, eff := inventory.JudgeSales(now+h.skew, terms, r, batch)
		plain, failed := sqlite.PlainRows(r)
		again, want := inventory.JudgeSales(now+h.skew, terms, plain, batch)
		h.same(failed(), outcomes, again, eff, want)
		h.note(event, eff)
		return eff
	})
	return err
}

func (h *history) judgeReturn(ctx context.Context, event string) error {
	back := inventory.Return{Order: orderN(1 + h.r.IntN(historyOrders)), By: "key_test"}
	_, err := h.store.JudgeInside(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		outcome, eff := inventory.JudgeReturn(now+h.skew, terms, r, back)
		plain, failed := sqlite.PlainRows(r)
		again, want := inventory.JudgeReturn(now+h.skew, terms, plain, back)
		h.same(failed(), outcome, again, eff, want)
		h.note(event, eff)
		return eff
	})
	return err
}

// same compares a verdict with the one from the rows alone.
func (h *history) same(failed error, outcomes, wantOutcomes any, eff, want *inventory.Effects) {
	h.seen["batch"]++
	if failed != nil {
		return // a row could not be read; the store throws the verdict away
	}
	if !reflect.DeepEqual(outcomes, wantOutcomes) {
		h.t.Errorf("seed %d, step %d: answered %+v, and the rows say %+v", h.seed, h.n, outcomes, wantOutcomes)
	}
	if !reflect.DeepEqual(eff, want) {
		h.t.Errorf("seed %d, step %d: the effects are %+v, and by the rows %+v", h.seed, h.n, eff, want)
	}
}

// note counts what happens, from the log.
func (h *history) note(event string, eff *inventory.Effects) {
	for _, made := range eff.InsertHolds {
		h.held[event] = append(h.held[event], made.Key)
	}
	for _, e := range eff.Log {
		h.seen[string(e.Kind)]++
		if e.Kind == inventory.LogExpired && len(eff.InsertHolds) > 0 {
			h.seen["took over"]++
		}
	}
}

// sell sells, sometimes under the number of an order there is: the schema denies that, and only that.
func (h *history) sell(ctx context.Context, event string) error {
	_, err := h.store.Sell(ctx, event, h.sales(event))
	return err
}

// recent is the key of one of the last holds, mostly of an event's.
func (h *history) recent(event string) (k inventory.HoldKey) {
	if held := h.held[event]; len(held) > 0 && h.r.IntN(3) > 0 {
		return held[max(0, len(held)-1-h.r.IntN(6))]
	}
	binary.BigEndian.PutUint32(k[:], uint32(max(0, h.keys-h.r.IntN(historyHolds))))
	return k
}

// claimed is a key to claim under: mostly a new one, sometimes one of the last again, as a retry has it. A
// hold that was bought had been answered, and nobody claims it again.
func (h *history) claimed(event string) inventory.HoldKey {
	if k := h.recent(event); h.r.IntN(5) == 0 && !h.bought[k] {
		return k
	}
	h.keys++
	var k inventory.HoldKey
	binary.BigEndian.PutUint32(k[:], uint32(h.keys))
	return k
}

func orderN(n int) string { return fmt.Sprintf("ord_%d", n) }

func (h *history) sales(event string) []inventory.Sale {
	sales := make([]inventory.Sale, 1+h.r.IntN(3))
	for i := range sales {
		sales[i] = inventory.Sale{
			Key: h.recent(event), Order: orderN(1 + h.r.IntN(historyOrders)), By: "key_test", ByKey: true, Payment: inventory.Payment{Method: inventory.PaymentNone},
		}
		h.bought[sales[i].Key] = true // perhaps
	}
	return sales
}

func (h *history) commands(event string) []inventory.Command {
	batch := make([]inventory.Command, 1+h.r.IntN(8))
	for i := range batch {
		c := &batch[i]
		*c = inventory.Command{Verb: inventory.Verb(1 + h.r.IntN(5)), Key: h.recent(event), By: "buyer", BestType: -1}
		if h.r.IntN(2) == 0 {
			c.Verb = inventory.Claim
		}
		if c.Verb == inventory.Claim {
			c.Key = h.claimed(event)
		}
		if h.r.IntN(4) == 0 {
			c.ID = inventory.CommandID{1, byte(h.r.IntN(30))}
		}
		if c.Verb == inventory.Claim && h.r.IntN(4) == 0 {
			c.Reference = fmt.Sprintf("ref %d", h.r.IntN(4))
		}
		if c.Verb == inventory.Claim && h.r.IntN(5) == 0 {
			c.Best, c.Candidates = true, [][]inventory.Unit{{0, 1}, {2, 3}, {30, 31}}
			continue
		}
		c.Add = h.wants()
		if c.Verb == inventory.Change && h.r.IntN(2) == 0 {
			c.Add, c.Remove = nil, c.Add
		}
	}
	return batch
}

// wants are one to three units of the first few and the last ones, so that they are fought over and stand
// on both sides of every bound; one of them is not for sale.
func (h *history) wants() []inventory.Want {
	var wants []inventory.Want
	taken := make(map[int]bool)
	for range 1 + h.r.IntN(3) {
		u := h.r.IntN(6)
		if h.r.IntN(2) == 0 {
			u = historySeats + 1 - h.r.IntN(5)
		}
		if taken[u] {
			continue
		}
		taken[u] = true
		wants = append(wants, inventory.Want{Unit: inventory.Unit(u), Type: -1, Quantity: 1})
	}
	return wants
}

// alter pauses an event or opens it again, gives seats another class, and sometimes allocates a unit that
// was not for sale.
func (h *history) alter(ctx context.Context, event string) error {
	e, err := h.store.Event(ctx, event)
	if err != nil {
		return err
	}
	a := inventory.Alteration{Expect: e.Revision, Event: e, Kind: inventory.LogPaused, By: "key_test"}
	e.Revision++
	switch {
	case h.r.IntN(20) == 0:
		a.Kind, e.Terms.State = inventory.LogCancelled, inventory.Cancelled
	case e.Terms.State == inventory.OnSale:
		e.Terms.State = inventory.Paused
	default:
		a.Kind, e.Terms.State = inventory.LogOpened, inventory.OnSale
	}
	e.Terms.Classes = append(e.Terms.Classes, inventory.Class{Types: []int{1}})
	a.Repaint = []inventory.Repaint{{From: inventory.Unit(h.r.IntN(historySeats)), Count: 3, Class: len(e.Terms.Classes) - 1}}
	if h.r.IntN(3) == 0 {
		a.Insert = []inventory.Allocation{{Unit: historySeats + 1, Key: "LATE", Capacity: 2}}
	}
	if h.r.IntN(3) == 0 {
		a.Expect-- // somebody was quicker
	}
	_, err = h.store.Alter(ctx, event, a)
	return err
}

func (h *history) compare() {
	remembered, differences, err := h.store.CompareSheets()
	if err != nil && !expected(err) {
		h.t.Errorf("seed %d, step %d: %v", h.seed, h.n, err)
	}
	for _, d := range differences {
		h.t.Errorf("seed %d, step %d: %s", h.seed, h.n, d)
	}
	h.seen["remembered"] += remembered
	h.seen["forgotten"] += historyEvents - remembered
	if h.t.Failed() {
		h.t.FailNow() // what follows would only follow from it
	}
}

// end looks at what the rows have come to.
func (h *history) end() {
	h.disk.mu.Lock()
	h.disk.fail = nil
	h.disk.mu.Unlock()
	for _, b := range breaches(h.t, h.store) {
		if strings.Contains(b.What, "(LATE) has an allocation and no place on the map") || strings.HasSuffix(b.What, fmt.Sprintf("is for unit %d, which was on no map", historySeats+1)) {
			continue // the histories insert one, and it may be sold
		}
		h.t.Errorf("seed %d: promise %d: %s", h.seed, b.Promise, b.What)
	}
	if err := h.store.Close(); err != nil {
		h.t.Errorf("seed %d: %v", h.seed, err)
	}
}

// TestAStoreBesideAServerRemembersNothing, for another writes the rows that it would remember.
func TestAStoreBesideAServerRemembersNothing(t *testing.T) {
	h := newHouse(t, 600)
	beside, err := sqlite.OpenBeside(t.Context(), h.path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	seats := h.seats(t)
	for i, service := range []*inventory.Service{storetest.NewService(beside, h.records), h.service, storetest.NewService(beside, h.records)} {
		if _, err := service.Claim(t.Context(), claimOf(h, seats[i%2])); (i == 2) != (code(err) == inventory.AllocationUnavailable) {
			t.Errorf("claim %d: %v", i, err)
		}
	}
	if remembered, _, err := beside.CompareSheets(); err != nil || remembered > 0 {
		t.Errorf("%d events are remembered (%v)", remembered, err)
	}
}
