package inventory

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sheet is the rows of one event in memory: the smallest store that the judge can be tested on.
type sheet struct {
	allocations map[Unit]Allocation
	holds       map[HoldKey]*Hold
	orders      map[string]*Order
	buyers      map[[16]byte]int64
	records     map[CommandID]Record
	log         []LogEntry
}

// newSheet has seats 0 to seats-1 and one area of a capacity behind them.
func newSheet(seats int, capacity int64) *sheet {
	s := &sheet{
		allocations: make(map[Unit]Allocation), holds: make(map[HoldKey]*Hold), orders: make(map[string]*Order),
		buyers: make(map[[16]byte]int64), records: make(map[CommandID]Record),
	}
	for i := range seats {
		s.allocations[Unit(i)] = Allocation{Unit: Unit(i), Seat: true, Capacity: 1}
	}
	s.allocations[Unit(seats)] = Allocation{Unit: Unit(seats), Capacity: capacity}
	return s
}

func (s *sheet) Allocation(u Unit) (Allocation, bool) { a, ok := s.allocations[u]; return a, ok }
func (s *sheet) Hold(k HoldKey) (*Hold, bool)         { h, ok := s.holds[k]; return h, ok }
func (s *sheet) Record(id CommandID) (Record, bool)   { r, ok := s.records[id]; return r, ok }
func (s *sheet) Order(id string) (*Order, bool)       { o, ok := s.orders[id]; return o, ok }
func (s *sheet) BuyerUnits(b [16]byte) int64          { return s.buyers[b] }

func (s *sheet) HoldByReference(ref string) (HoldKey, bool) {
	for k, h := range s.holds {
		if h.Reference == ref {
			return k, true
		}
	}
	return HoldKey{}, false
}

func (s *sheet) Lapsed(u Unit, now Instant, limit int) (keys []HoldKey) {
	for k, h := range s.holds {
		if h.Deadline <= now && quantityOf(h.Lines, u) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b HoldKey) int {
		if d := s.holds[a].Deadline - s.holds[b].Deadline; d != 0 {
			return int(d)
		}
		return slices.Compare(a[:], b[:])
	})
	return keys[:min(limit, len(keys))]
}

func (s *sheet) OrderByHold(k HoldKey) (*Order, bool) {
	for _, o := range s.orders {
		if o.Key == k {
			return o, true
		}
	}
	return nil, false
}

func (s *sheet) OrderReferenceTaken(ref string) bool {
	for _, o := range s.orders {
		if o.Reference == ref {
			return true
		}
	}
	return false
}

// write does what a store does with effects, and is as strict as a schema.
func (s *sheet) write(t rapid.TB, eff *Effects) {
	t.Helper()
	for _, m := range eff.Moves {
		a := s.allocations[m.Unit]
		a.Held += m.Held
		a.Reserved += m.Reserved
		if a.Held < 0 || a.Reserved < 0 || a.Held+a.Reserved > a.Capacity {
			t.Fatalf("CHECK: unit %d would have held %d + reserved %d of %d", m.Unit, a.Held, a.Reserved, a.Capacity)
		}
		s.allocations[m.Unit] = a
	}
	for _, k := range eff.DeleteHolds {
		delete(s.holds, k)
	}
	for _, h := range slices.Concat(eff.InsertHolds, eff.UpdateHolds) {
		s.holds[h.Key] = h
	}
	for _, o := range slices.Concat(eff.InsertOrders, eff.UpdateOrders) {
		s.orders[o.ID] = o
	}
	for _, b := range eff.Buyers {
		s.buyers[b.Buyer] += b.Units
	}
	for _, r := range eff.Records {
		s.records[r.ID] = r
	}
	s.log = append(s.log, eff.Log...)
}

func (s *sheet) judge(t rapid.TB, now Instant, terms *Terms, batch ...Command) []Outcome {
	t.Helper()
	out, eff := Judge(now, terms, s, batch)
	s.write(t, eff)
	return out
}

// check proves the sheet against itself: counters are the sums of lines and tickets.
func (s *sheet) check(t rapid.TB) {
	t.Helper()
	held, sold := make(map[Unit]int64), make(map[Unit]int64)
	for _, h := range s.holds {
		if len(h.Lines) == 0 {
			t.Fatalf("promise 3: hold %x has nothing", h.Key)
		}
		for _, l := range h.Lines {
			held[l.Unit] += l.Quantity
		}
	}
	for _, o := range s.orders {
		for _, tk := range o.Tickets {
			if tk.Valid {
				sold[tk.Unit]++
			}
		}
	}
	for u, a := range s.allocations {
		if a.Held != held[u] || a.Reserved != sold[u] {
			t.Fatalf("promise 1: unit %d counts held %d reserved %d, has lines %d tickets %d", u, a.Held, a.Reserved, held[u], sold[u])
		}
	}
}

func testTerms() *Terms {
	return &Terms{
		State: OnSale, HoldSeconds: 10, HoldMax: 30, UnitsPerHold: 6, UnitsPerBuyer: 8,
		Types:    []TicketType{{ID: "standard", Price: 4500}, {ID: "child", Price: 2000}, {ID: "vip", Price: 9000}},
		Channels: []Channel{{ID: PublicChannel}, {ID: "sponsors", Codes: []Code{{1}}}},
		Classes:  []Class{{Channel: 0, Types: []int{0, 1}}, {Channel: 1, Types: []int{2}}},
	}
}

const start = Instant(1_800_000_000_000_000)

func keyN(n int) (k HoldKey) { k[0], k[1], k[19] = byte(n>>8), byte(n), 1; return k }

func claimN(n int, wants ...Want) Command {
	return Command{Verb: Claim, Key: keyN(n), By: "buyer", Add: wants, BestType: -1}
}

func seatWant(u Unit) Want { return Want{Unit: u, Type: -1, Quantity: 1} }

func TestPromise2OfAHundredClaimsOnOneSeatInOneBatchOneWins(t *testing.T) {
	s := newSheet(4, 5)
	batch := make([]Command, 100)
	for i := range batch {
		batch[i] = claimN(i+1, seatWant(2))
	}
	won := 0
	for i, out := range s.judge(t, start, testTerms(), batch...) {
		if out.Hold != nil {
			won++
			if i != 0 {
				t.Errorf("command %d won; the first in line does", i)
			}
			continue
		}
		if c := out.Refusal.Conflicts; len(c) != 1 || c[0].Unit != 2 || c[0].Reason != ReasonHeld {
			t.Fatalf("loser %d is told %+v", i, out.Refusal)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
	s.check(t)
}

func TestPromise2AnAreaGivesExactlyWhatItHas(t *testing.T) {
	s := newSheet(1, 5)
	batch := make([]Command, 16)
	for i := range batch {
		batch[i] = claimN(i+1, Want{Unit: 1, Type: -1, Quantity: 1})
	}
	won := 0
	for _, out := range s.judge(t, start, testTerms(), batch...) {
		if out.Hold != nil {
			won++
		} else if c := out.Refusal.Conflicts[0]; c.Reason != ReasonSoldOut || c.Free != 0 || c.Requested != 1 {
			t.Errorf("conflict %+v", c)
		}
	}
	if won != 5 || s.allocations[1].Held != 5 {
		t.Errorf("%d won, held %d", won, s.allocations[1].Held)
	}
}

func TestTwoLinesOfOneAreaAreSummedBeforeTheyAreJudged(t *testing.T) {
	s := newSheet(1, 5)
	out := s.judge(t, start, testTerms(), claimN(1, Want{Unit: 1, Type: 0, Quantity: 3}, Want{Unit: 1, Type: 1, Quantity: 3}))[0]
	if out.Refusal == nil || out.Refusal.Conflicts[0].Requested != 6 || out.Refusal.Conflicts[0].Free != 5 {
		t.Fatalf("3 + 3 of 5: %+v", out)
	}
	if out = s.judge(t, start, testTerms(), claimN(1, Want{Unit: 1, Type: 0, Quantity: 3}, Want{Unit: 1, Type: 1, Quantity: 2}))[0]; out.Hold == nil {
		t.Fatalf("3 + 2 of 5: %+v", out.Refusal)
	}
	s.check(t)
}

func TestOneAreaAndTypeTwiceIsRefusedAlsoByItsDefault(t *testing.T) {
	s := newSheet(1, 5)
	out := s.judge(t, start, testTerms(), claimN(1, Want{Unit: 1, Type: -1, Quantity: 1}, Want{Unit: 1, Type: 0, Quantity: 1}))[0]
	if out.Refusal == nil || out.Refusal.Code != Invalid || out.Refusal.Faults[0].Code != faultDuplicate {
		t.Fatalf("%+v", out)
	}
}

func TestPromise3ABasketIsAllOrNothing(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(2)))
	before := maps.Clone(s.allocations)
	out := s.judge(t, start, terms, claimN(2, seatWant(1), seatWant(2), seatWant(3)))[0]
	if out.Refusal == nil || len(out.Refusal.Conflicts) != 1 || out.Refusal.Conflicts[0].Unit != 2 {
		t.Fatalf("%+v", out)
	}
	if !maps.Equal(before, s.allocations) || len(s.holds) != 1 {
		t.Error("the loser left something behind")
	}
}

func TestPromise4AHoldLetGoAfterItLapsedIsGoneForWhateverTheClockSays(t *testing.T) {
	s, terms := newSheet(2, 5), testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(0), seatWant(1)))
	lapsed := start.Add(terms.HoldSeconds)
	if out := s.judge(t, lapsed, terms, Command{Verb: Release, Key: keyN(1), By: "buyer"})[0]; out.Refusal != nil || out.Released {
		t.Errorf("the release is answered %+v", out)
	}
	if out := s.judge(t, start, terms, Command{Verb: Extend, Key: keyN(1)})[0]; out.Refusal == nil || out.Refusal.Code != HoldExpired {
		t.Errorf("it lives again when the clock has stepped back: %+v", out)
	}
	if out := s.judge(t, start, terms, claimN(2, seatWant(0), seatWant(1)))[0]; out.Refusal != nil {
		t.Errorf("its seats are not to be had: %v", out.Refusal)
	}
	s.check(t)
}

func TestPromise5AtTheDeadlineTheUnitIsFreeAndTheTokenRefused(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(0), seatWant(1)))
	deadline := start.Add(10)
	if out := s.judge(t, deadline-1, terms, claimN(2, seatWant(0)))[0]; out.Hold != nil {
		t.Fatal("claimed before the deadline")
	}
	if out := s.judge(t, deadline, terms, claimN(2, seatWant(0)))[0]; out.Hold == nil {
		t.Fatalf("not claimed at the deadline: %v", out.Refusal)
	}
	for _, verb := range []Verb{Extend, Change} {
		c := Command{Verb: verb, Key: keyN(1), Add: []Want{seatWant(3)}}
		if out := s.judge(t, deadline, terms, c)[0]; out.Refusal == nil || out.Refusal.Code != HoldExpired {
			t.Errorf("verb %d on a dead hold: %+v", verb, out)
		}
	}
	// A clock that steps back must not bring half of the basket to life.
	if out := s.judge(t, deadline-5_000_000, terms, Command{Verb: Extend, Key: keyN(1)})[0]; out.Refusal == nil {
		t.Error("a hold that lost a line lives again")
	}
	s.check(t)
	s.judge(t, deadline, terms, Command{Verb: Expire, Key: keyN(1)})
	if _, ok := s.holds[keyN(1)]; ok || s.allocations[1].Held != 0 {
		t.Error("sweeping left something of the dead hold")
	}
	s.check(t)
}

func TestTakeoverTakesOnlyAsManyLapsedLinesAsAreNeededOldestFirst(t *testing.T) {
	s := newSheet(0, 6)
	terms := testTerms()
	for i := range 3 {
		s.judge(t, start.Add(int64(i)), terms, claimN(i+1, Want{Unit: 0, Type: -1, Quantity: 2}))
	}
	if out := s.judge(t, start.Add(60), terms, claimN(9, Want{Unit: 0, Type: -1, Quantity: 3}))[0]; out.Hold == nil {
		t.Fatal(out.Refusal)
	}
	if _, ok := s.holds[keyN(3)]; !ok || len(s.holds) != 2 {
		t.Errorf("want the youngest lapsed hold and the new one, have %d holds", len(s.holds))
	}
	s.check(t)
}

func TestExtensionStopsAtTheCapAndAFailedAddChangesNoDeadline(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(0)), claimN(2, seatWant(1)))
	now := start
	for range 2 {
		now = now.Add(9)
		add := Command{Verb: Change, Key: keyN(1), Add: []Want{seatWant(1)}}
		deadline := s.holds[keyN(1)].Deadline
		if out := s.judge(t, now, terms, add)[0]; out.Refusal == nil && now < start.Add(10) {
			t.Fatal("took a held seat")
		}
		if h := s.holds[keyN(1)]; now < start.Add(10) && h.Deadline != deadline {
			t.Error("a failed add moved the deadline")
		}
		if out := s.judge(t, now, terms, Command{Verb: Extend, Key: keyN(1)})[0]; out.Refusal != nil {
			t.Fatal(out.Refusal)
		}
	}
	for range 3 { // 18 s in: three more extensions reach the cap at 30 s and stop there
		now = now.Add(3)
		s.judge(t, now, terms, Command{Verb: Extend, Key: keyN(1)})
	}
	out := s.judge(t, now, terms, Command{Verb: Extend, Key: keyN(1)})[0]
	if h := s.holds[keyN(1)]; h.Deadline != h.Cap {
		t.Fatalf("deadline %d, cap %d", h.Deadline, h.Cap)
	}
	if out.Refusal == nil || out.Refusal.Code != HoldLifetimeReached {
		t.Errorf("past the cap: %+v", out)
	}
}

func TestAChangeIsJudgedNetAndOnesOwnSeatIsFreeToOneself(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(0), Want{Unit: 4, Type: 0, Quantity: 5}))
	deadline := s.holds[keyN(1)].Deadline
	own := Command{Verb: Change, Key: keyN(1), Add: []Want{seatWant(0)}}
	if out := s.judge(t, start.Add(3), terms, own)[0]; out.Hold == nil || out.Hold.Deadline != deadline || len(out.Hold.Lines) != 2 {
		t.Fatalf("adding one's own seat: %+v", out)
	}
	swap := Command{Verb: Change, Key: keyN(1), Remove: []Want{{Unit: 4, Type: 0, Quantity: 2}}, Add: []Want{{Unit: 4, Type: 1, Quantity: 2}}}
	if out := s.judge(t, start.Add(3), terms, swap)[0]; out.Hold == nil {
		t.Fatalf("swapping types in a full area: %v", out.Refusal)
	}
	s.check(t)
	for name, c := range map[string]Command{
		"what is not held": {Verb: Change, Key: keyN(1), Remove: []Want{seatWant(3)}},
		"too many":         {Verb: Change, Key: keyN(1), Remove: []Want{{Unit: 4, Type: 1, Quantity: 3}}},
		"everything":       {Verb: Change, Key: keyN(1), Remove: []Want{seatWant(0), {Unit: 4, Type: -1, Quantity: 5}}},
	} {
		if out := s.judge(t, start.Add(3), terms, c)[0]; out.Refusal == nil || out.Refusal.Code != Invalid {
			t.Errorf("removing %s: %+v", name, out)
		}
	}
	s.check(t)
}

func TestPromise6ManySalesOfOneHoldAreOneOrder(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(0), Want{Unit: 4, Type: 0, Quantity: 2}))
	batch := make([]Sale, 50)
	for i := range batch {
		batch[i] = Sale{Key: keyN(1), Order: fmt.Sprintf("ord_%d", i), By: "buyer", Buyer: Buyer{Email: "buyer@example.com", Hash: [16]byte{7}}}
	}
	outs, eff := JudgeSales(start, terms, s, batch)
	s.write(t, eff)
	for _, out := range outs {
		if out.Order == nil || out.Order.ID != "ord_0" || len(out.Order.Tickets) != 3 || out.Order.Total != 3*4500 {
			t.Fatalf("%+v", out)
		}
	}
	if len(s.orders) != 1 || len(s.holds) != 0 || s.buyers[[16]byte{7}] != 3 {
		t.Errorf("orders %d holds %d buyer %d", len(s.orders), len(s.holds), s.buyers[[16]byte{7}])
	}
	outs, eff = JudgeSales(start.Add(100), terms, s, batch[:1])
	if outs[0].Order.ID != "ord_0" || !slices.Equal(eff.Answered, []string{"ord_0"}) {
		t.Errorf("a replay is a write of its own: %+v", eff)
	}
	s.check(t)
}

func TestABuyersLimitCountsAcrossOrders(t *testing.T) {
	s := newSheet(0, 50)
	terms := testTerms()
	sell := func(n int, byKey bool) *Refusal {
		s.judge(t, start, terms, claimN(n, Want{Unit: 0, Type: 0, Quantity: 4}))
		outs, eff := JudgeSales(start, terms, s, []Sale{{Key: keyN(n), Order: fmt.Sprintf("ord_%d", n), ByKey: byKey, Buyer: Buyer{Email: "buyer@example.com", Hash: [16]byte{7}}}})
		s.write(t, eff)
		return outs[0].Refusal
	}
	if r := sell(1, false); r != nil {
		t.Fatal(r)
	}
	if r := sell(2, false); r != nil {
		t.Fatal(r)
	}
	if r := sell(3, false); r == nil || r.Code != BuyerLimitExceeded {
		t.Errorf("12 of 8: %v", r)
	}
	if r := sell(4, true); r != nil {
		t.Errorf("the organizer may: %v", r)
	}
	s.check(t)
}

func TestReturnsGiveUnitsBackOnceInAnyOrder(t *testing.T) {
	for _, order := range [][]Return{
		{{Order: "ord_1"}, {Order: "ord_1", Tickets: []string{"tkt_1-01"}}},
		{{Order: "ord_1", Tickets: []string{"tkt_1-01"}}, {Order: "ord_1"}},
		{{Order: "ord_1"}, {Order: "ord_1"}},
		{{Order: "ord_1", Tickets: []string{"tkt_1-02"}}, {Order: "ord_1", Tickets: []string{"tkt_1-02", "tkt_1-01"}}},
	} {
		s := newSheet(2, 5)
		terms := testTerms()
		s.judge(t, start, terms, claimN(1, seatWant(0), seatWant(1)))
		_, eff := JudgeSales(start, terms, s, []Sale{{Key: keyN(1), Order: "ord_1", Buyer: Buyer{Email: "buyer@example.com", Hash: [16]byte{7}}}})
		s.write(t, eff)
		for _, r := range order {
			out, eff := JudgeReturn(start, terms, s, r)
			if out.Order == nil {
				t.Fatal(out.Refusal)
			}
			s.write(t, eff)
		}
		if s.orders["ord_1"].State != OrderCancelled || s.buyers[[16]byte{7}] != 0 {
			t.Errorf("%+v: state %s, buyer %d", order, s.orders["ord_1"].State, s.buyers[[16]byte{7}])
		}
		s.check(t)
	}
}

func TestWithheldUnitsNeedACodeAndAreNotOnSaleWithout(t *testing.T) {
	s := newSheet(2, 5)
	a := s.allocations[1]
	a.Class = 1
	s.allocations[1] = a
	terms := testTerms()
	out := s.judge(t, start, terms, claimN(1, seatWant(1)))[0]
	if out.Refusal == nil || out.Refusal.Conflicts[0].Reason != ReasonNotOnSale {
		t.Fatalf("%+v", out)
	}
	c := claimN(1, seatWant(1))
	c.Code = &Code{2}
	if out = s.judge(t, start, terms, c)[0]; out.Refusal == nil {
		t.Fatal("a wrong code opened the channel")
	}
	c.Code = &Code{1}
	if out = s.judge(t, start, terms, c)[0]; out.Hold == nil || out.Hold.Lines[0].Price != 9000 {
		t.Fatalf("%+v", out)
	}
}

func TestRulesOfTheEventsState(t *testing.T) {
	for _, state := range []State{Draft, Published, OnSale, Paused, Closed, Cancelled} {
		s := newSheet(4, 5)
		open := testTerms()
		s.judge(t, start, open, claimN(1, seatWant(0)), claimN(2, seatWant(1)), claimN(3, seatWant(2)))
		terms := testTerms()
		terms.State = state
		claim := s.judge(t, start, terms, claimN(9, seatWant(3)))[0]
		if (claim.Hold != nil) != (state == OnSale) {
			t.Errorf("%s: claim %+v", state, claim.Refusal)
		}
		extend := s.judge(t, start, terms, Command{Verb: Extend, Key: keyN(1)})[0]
		if (extend.Hold != nil) != (state == OnSale) {
			t.Errorf("%s: extend %+v", state, extend.Refusal)
		}
		release := s.judge(t, start, terms, Command{Verb: Release, Key: keyN(2), By: "buyer"})[0]
		if release.Released != (state != Cancelled) {
			t.Errorf("%s: release %+v", state, release)
		}
		outs, eff := JudgeSales(start, terms, s, []Sale{{Key: keyN(3), Order: "ord_3", Buyer: Buyer{Email: "buyer@example.com"}}})
		s.write(t, eff)
		if state == Cancelled && (outs[0].Refusal == nil || outs[0].Refusal.Code != EventNotOnSale) {
			t.Errorf("sold in a cancelled event: %+v", outs[0])
		}
		if state == Closed && outs[0].Order == nil {
			t.Errorf("a live hold may be bought when closed: %v", outs[0].Refusal)
		}
		s.check(t)
	}
}

func TestTheSaleWindowIsJudgedInTheBatch(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	terms.SaleFrom, terms.SaleUntil = start, start.Add(5)
	for at, want := range map[Instant]bool{start - 1: false, start: true, start.Add(5) - 1: true, start.Add(5): false} {
		out, _ := Judge(at, terms, s, []Command{claimN(1, seatWant(0))})
		if (out[0].Hold != nil) != want {
			t.Errorf("at %d: %+v", at-start, out[0].Refusal)
		}
	}
}

func TestARetriedCommandFindsItsOwnEffect(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	claim := claimN(1, seatWant(0))
	first := s.judge(t, start, terms, claim, claim)
	if first[0].Hold == nil || first[1].Hold == nil || !first[1].Replayed {
		t.Fatalf("%+v", first)
	}
	add := Command{Verb: Change, Key: keyN(1), ID: CommandID{9}, Add: []Want{{Unit: 4, Type: 0, Quantity: 2}}}
	s.judge(t, start, terms, add, add)
	s.judge(t, start.Add(1), terms, add)
	if s.allocations[4].Held != 2 {
		t.Errorf("added %d times over", s.allocations[4].Held/2)
	}
	add.Body[0] = 1
	if out := s.judge(t, start, terms, add)[0]; out.Refusal == nil || out.Refusal.Code != KeyReused {
		t.Errorf("another request under the same id: %+v", out)
	}
	s.check(t)
}

func TestAClaimThatComesOnceMoreAfterItsHoldWasSoldWakesNothing(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	claim := claimN(1, seatWant(0), Want{Unit: 4, Type: 0, Quantity: 2})
	s.judge(t, start, terms, claim)
	_, eff := JudgeSales(start, terms, s, []Sale{{Key: keyN(1), Order: "ord_1", Buyer: Buyer{Email: "buyer@example.com", Hash: [16]byte{7}}}})
	s.write(t, eff)
	_, eff = JudgeReturn(start, terms, s, Return{Order: "ord_1"}) // so that its units are free
	s.write(t, eff)
	out := s.judge(t, start, terms, claim)[0]
	if out.Refusal == nil || out.Refusal.Code != HoldSold || out.Refusal.Order != "ord_1" || len(s.holds) != 0 {
		t.Errorf("%+v, %d holds", out, len(s.holds))
	}
	s.check(t)
}

func TestBestAvailableTakesTheFirstBlockThatIsWhollyFree(t *testing.T) {
	s := newSheet(6, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(1)))
	best := Command{Verb: Claim, Key: keyN(2), Best: true, BestType: -1, Candidates: [][]Unit{{0, 1}, {1, 2}, {3, 4}, {4, 5}}}
	out := s.judge(t, start, terms, best)[0]
	if out.Hold == nil || out.Hold.Lines[0].Unit != 3 {
		t.Fatalf("%+v", out)
	}
	best.Key = keyN(3)
	out = s.judge(t, start, terms, best)[0]
	if out.Refusal == nil || !out.Refusal.noBlock() {
		t.Fatalf("%+v", out)
	}
}

// Commands that share a list are served as if each went through it from the front.
func TestPromise2CommandsThatShareAListTakeOneBlockEach(t *testing.T) {
	s := newSheet(8, 5)
	terms := testTerms()
	list := [][]Unit{{0, 1}, {2, 3}, {4, 5}, {6, 7}}
	best := func(n, length int) Command {
		return Command{Verb: Claim, Key: keyN(n), ID: CommandID{byte(n)}, Best: true, BestType: -1, Candidates: list[:length], Apart: RowsApart}
	}
	out := s.judge(t, start, terms,
		best(1, 4), best(2, 4), best(3, 4), best(4, 1), // who read a shorter list finds nothing left on it
		Command{Verb: Release, Key: keyN(1), By: "buyer"}, best(5, 2), // what was let go is taken again
		claimN(6, seatWant(6), seatWant(7)), best(7, 4), best(5, 2))
	for i, want := range map[int]Unit{0: 0, 1: 2, 2: 4, 5: 0, 8: 0} {
		if o := out[i]; o.Hold == nil || o.Hold.Lines[0].Unit != want || len(o.Warnings) != 1 || o.Warnings[0] != (Warning{RowsApart, -1}) {
			t.Errorf("command %d: %+v, want the block at %d", i, o, want)
		}
	}
	for _, i := range []int{3, 7} {
		if out[i].Refusal == nil || !out[i].Refusal.noBlock() {
			t.Errorf("command %d: %+v, want no block", i, out[i])
		}
	}
	if !out[8].Replayed {
		t.Error("a repeat is no replay")
	}
	s.check(t)
	// A change lets go, too.
	s, list = newSheet(8, 5), [][]Unit{{0}, {1}}
	out = s.judge(t, start, terms, claimN(1, seatWant(0), seatWant(1)), best(2, 2), Command{Verb: Change, Key: keyN(1), By: "buyer", Remove: []Want{seatWant(0)}}, best(3, 2))
	if out[1].Hold != nil || out[3].Hold == nil || out[3].Hold.Lines[0].Unit != 0 {
		t.Errorf("before the change %+v, after it %+v", out[1], out[3])
	}
	s.check(t)
	list = [][]Unit{{0, 1}, {2, 3}, {4, 5}, {6, 7}}
	// What another code opens is another matter, though the list be the same.
	sponsors := newSheet(8, 5)
	for u, a := range sponsors.allocations {
		a.Class = 1
		sponsors.allocations[u] = a
	}
	without, with := best(1, 4), best(2, 4)
	with.Code = &Code{1}
	out = sponsors.judge(t, start, terms, without, with)
	if out[0].Hold != nil || out[1].Hold == nil || out[1].Hold.Lines[0].Unit != 0 {
		t.Errorf("without a code %+v, with it %+v", out[0], out[1])
	}
	sponsors.check(t)
}

func TestAReferenceIsOneLivingHolds(t *testing.T) {
	s := newSheet(4, 5)
	terms := testTerms()
	a, b := claimN(1, seatWant(0)), claimN(2, seatWant(1))
	a.Reference, b.Reference = "cart-1", "cart-1"
	out := s.judge(t, start, terms, a, b)
	if out[0].Hold == nil || out[1].Refusal == nil || out[1].Refusal.Code != ReferenceTaken {
		t.Fatalf("%+v", out)
	}
	if got := s.judge(t, start.Add(11), terms, b)[0]; got.Hold == nil {
		t.Fatalf("a lapsed hold keeps its reference: %v", got.Refusal)
	}
	s.check(t)
}

// TestPromisesHoldUnderAnyCommands drives the judge with random batches at a clock that also steps
// back, against a sheet that is as strict as the schema.
func TestPromisesHoldUnderAnyCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSheet(6, 4)
		terms := testTerms()
		now := start
		for range rapid.IntRange(1, 25).Draw(t, "batches") {
			now = now.Add(int64(rapid.IntRange(-4, 9).Draw(t, "step")))
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				sales := rapid.SliceOfN(rapid.Custom(drawSale), 1, 4).Draw(t, "sales")
				_, eff := JudgeSales(now, terms, s, sales)
				s.write(t, eff)
			} else {
				s.judge(t, now, terms, rapid.SliceOfN(rapid.Custom(drawCommand), 1, 8).Draw(t, "batch")...)
			}
			s.check(t)
		}
	})
}

// TestAClaimThatComesAgainIsNotMadeAnewInTheBatchThatEndedItsHold: what the rows keep of a hold is when it was
// made and how long it may live, so under its key there is no other.
func TestAClaimThatComesAgainIsNotMadeAnewInTheBatchThatEndedItsHold(t *testing.T) {
	s := newSheet(2, 5)
	terms := testTerms()
	first := claimN(1, Want{Unit: 0, Type: 0, Quantity: 1})
	s.judge(t, start, terms, first)
	later := start.Add(terms.HoldSeconds)
	out := s.judge(t, later, terms, Command{Verb: Expire, Key: keyN(1), By: "store"}, first)
	if out[1].Refusal == nil || out[1].Refusal.Code != HoldExpired {
		t.Errorf("the claim again: %+v", out[1])
	}
	if h, there := s.holds[keyN(1)]; there {
		t.Errorf("there is a hold: %+v", h)
	}
}

func drawSale(t *rapid.T) Sale {
	n := rapid.IntRange(1, 12).Draw(t, "hold")
	return Sale{Key: keyN(n), Order: fmt.Sprintf("ord_%d_%d", n, rapid.IntRange(1, 9).Draw(t, "order")), Buyer: Buyer{Email: "buyer@example.com", Hash: [16]byte{byte(n % 3)}}}
}

func drawCommand(t *rapid.T) Command {
	c := Command{
		Verb: Verb(rapid.IntRange(1, 5).Draw(t, "verb")), Key: keyN(rapid.IntRange(1, 12).Draw(t, "hold")), By: "buyer",
		ID: CommandID{byte(rapid.IntRange(0, 30).Draw(t, "id"))}, BestType: -1,
	}
	wants := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Want {
		w := Want{Unit: Unit(rapid.IntRange(0, 7).Draw(t, "unit")), Type: rapid.IntRange(-1, 2).Draw(t, "type"), Quantity: 1}
		if w.Unit == 6 {
			w.Quantity = int64(rapid.IntRange(1, 3).Draw(t, "quantity"))
		}
		return w
	}), 1, 3, func(w Want) Unit { return w.Unit })
	c.Add = wants.Draw(t, "add")
	if c.Verb == Change {
		c.Remove = wants.Draw(t, "remove")
		c.Add = slices.DeleteFunc(c.Add, func(a Want) bool {
			return slices.ContainsFunc(c.Remove, func(r Want) bool { return r.Unit == a.Unit })
		})
	}
	if c.Verb == Claim && rapid.Bool().Draw(t, "best") {
		c.Best, c.Candidates = true, [][]Unit{{0, 1}, {2, 3}, {4, 5}}
	}
	return c
}

func TestAWantOfOneOfSeveralTypesMustSayWhich(t *testing.T) {
	s := newSheet(1, 9)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, Want{Unit: 1, Type: 0, Quantity: 2}, Want{Unit: 1, Type: 1, Quantity: 2}))
	c := Command{Verb: Change, Key: keyN(1), Remove: []Want{{Unit: 1, Type: -1, Quantity: 1, Field: "/remove/areas/0", TypeField: "/remove/areas/0/ticket_type"}}}
	out := s.judge(t, start, terms, c)[0]
	if out.Refusal == nil || out.Refusal.Faults[0] != (Fault{Field: "/remove/areas/0/ticket_type", Code: faultRequired, Detail: out.Refusal.Faults[0].Detail}) {
		t.Fatalf("%+v", out)
	}
	c.Remove[0].Type = 1
	if out = s.judge(t, start, terms, c)[0]; out.Hold == nil || out.Hold.Lines[1].Quantity != 1 {
		t.Fatalf("%+v", out)
	}
}

func TestATypeNamedForAnOwnSeatCountsAlsoWhenItIsAdded(t *testing.T) {
	s := newSheet(2, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, Want{Unit: 0, Type: 1, Quantity: 1}))
	deadline := s.holds[keyN(1)].Deadline
	add := Command{Verb: Change, Key: keyN(1), Add: []Want{{Unit: 0, Type: 0, Quantity: 1}}}
	out := s.judge(t, start.Add(2), terms, add)[0]
	if out.Hold == nil || out.Hold.Lines[0].Type != 0 || out.Hold.Lines[0].Price != 4500 || out.Hold.Deadline != deadline {
		t.Fatalf("%+v", out)
	}
	add.Add[0].Type, add.Add[0].TypeField = 2, "/ticket_types/A"
	if out = s.judge(t, start.Add(2), terms, add)[0]; out.Refusal == nil || out.Refusal.Faults[0].Field != "/ticket_types/A" {
		t.Fatalf("a type that is not offered: %+v", out)
	}
}

func TestTheLogSaysWhyHoldsOfACancelledEventEnded(t *testing.T) {
	s := newSheet(1, 5)
	terms := testTerms()
	s.judge(t, start, terms, claimN(1, seatWant(0)))
	terms.State = Cancelled
	s.judge(t, start, terms, Command{Verb: Expire, Key: keyN(1)})
	if last := s.log[len(s.log)-1]; last.Kind != LogExpired || last.Reason == "" {
		t.Errorf("%+v", last)
	}
}
