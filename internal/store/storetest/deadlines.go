package storetest

import (
	"slices"

	"github.com/rowlock/rowlock/internal/inventory"
)

// ttl is how long a hold lives in the checks that wait for its end, in seconds: short, for a store
// whose clock cannot be moved is waited for.
const ttl = 2

// deadlines are the checks of promise 5: expiry needs no reaper.
func deadlines() []check {
	return []check{
		{name: "promise 5: a TTL is an interval, and the store makes the deadline", run: storeMakesDeadlines},
		{name: "promise 5: at the deadline the units are free and the token refused", time: true, run: atTheDeadline},
		{name: "promise 5: a sale after the deadline is refused", time: true, run: saleAfterDeadline},
		{name: "promise 5: takeover takes only as many lapsed lines as needed, oldest first, on what is wanted", time: true, run: takeoverIsFrugal},
		{name: "promise 5: what is left of a hold that was taken from is dead, and swept", time: true, run: restOfTheDead},
		{name: "promise 5: a hold that is let go after it has lapsed is ended, and was not let go", time: true, run: lapsedLetGo},
		{name: "promise 5: of rivals for one lapsed seat one wins", time: true, run: rivalsForLapsed},
		{name: "promise 5: sweeping ends what has lapsed, says so, and leaves the living alone", time: true, run: sweeping},
		{name: "extending restarts the countdown up to the cap, and so does adding", needs: []capability{clock}, time: true, run: extending},
		{name: "a claim by key may choose its TTL", run: chosenTTL},
	}
}

// brief claims for ttl seconds and must win.
func (h *House) brief(t T, wants ...inventory.Want) *inventory.Hold {
	t.Helper()
	c := claimOf(wants...)
	c.TTL = ttl
	return h.win(t, c)
}

func storeMakesDeadlines(t T, h *House) {
	before := h.board(t).Now
	out := h.do(t, claimOf(one(0)))
	if out.Hold == nil {
		t.Fatalf("%s", outcomeClass(out))
	}
	hold := out.Hold
	if hold.Created != out.Now || hold.Deadline != out.Now.Add(holdSeconds) || hold.Cap != out.Now.Add(capSeconds) || hold.TTL != holdSeconds {
		t.Errorf("made %d, ends %d, at the latest %d, TTL %d; it was %d", hold.Created, hold.Deadline, hold.Cap, hold.TTL, out.Now)
	}
	if after := h.board(t).Now; out.Now < before || out.Now > after {
		t.Errorf("judged at %d, not between %d and %d of the same clock", out.Now, before, after)
	}
	shown, now, err := h.Store.Hold(t.Context(), h.Event, hold.Key)
	if err != nil || shown.Deadline != hold.Deadline || shown.Cap != hold.Cap || shown.Created != hold.Created || now < out.Now {
		t.Errorf("shown as %+v at %d (%v)", shown, now, err)
	}
}

func chosenTTL(t T, h *House) {
	c := claimOf(one(0))
	c.ByKey, c.TTL = true, 5*capSeconds
	out := h.do(t, c)
	if out.Hold == nil || out.Hold.Deadline != out.Now.Add(5*capSeconds) || out.Hold.Cap != out.Hold.Deadline || !out.Hold.ByKey {
		t.Errorf("%+v", out)
	}
	big := claimOf(some(floor, floorCapacity, standard), one(1))
	wantCode(t, "more than a hold may have", h.do(t, big).Refusal, inventory.HoldLimitExceeded)
	big.ByKey = true
	h.win(t, big)
}

func atTheDeadline(t T, h *House) {
	mine := h.brief(t, one(0), some(floor, floorCapacity-1, standard))
	if out := h.do(t, claimOf(one(0))); out.Hold != nil {
		t.Errorf("claimed before the deadline")
	}
	h.pass(t, ttl)
	h.wantUnit(t, 0, 0, 0) // the board knows it, unswept
	h.wantUnit(t, floor, 0, 0)
	h.wantDead(t, mine.Key, inventory.HoldExpired)
	for _, node := range h.nodes() {
		_, _, err := node.Hold(t.Context(), h.Event, mine.Key)
		wantNotFound(t, "a lapsed hold", err)
	}
	wantCode(t, "its claim once more", h.do(t, inventory.Command{Verb: inventory.Claim, Key: mine.Key, Add: []inventory.Want{one(1)}, BestType: -1}).Refusal, inventory.HoldExpired)
	theirs := h.held(t, one(0), some(floor, floorCapacity-1, standard))
	h.wantUnit(t, 0, 1, 0)
	if out := h.do(t, releaseOf(mine.Key)); out.Released {
		t.Errorf("the old token released what the new one has")
	}
	h.sold(t, theirs.Key)
}

func saleAfterDeadline(t T, h *House) {
	mine, living := h.brief(t, one(0), one(floor)), h.held(t, one(1))
	h.pass(t, ttl)
	out := h.sell(t, saleOf(mine.Key, "late"), saleOf(living.Key, "early"))
	wantCode(t, "a sale after the deadline", out[0].Refusal, inventory.HoldExpired)
	if out[1].Order == nil {
		t.Errorf("its neighbour: %s", refusalClass(out[1].Refusal))
	}
	theirs := h.held(t, one(0))
	wantCode(t, "a sale of what another has", h.sell(t, saleOf(mine.Key, "late"))[0].Refusal, inventory.HoldExpired)
	h.sold(t, theirs.Key)
	h.wantUnit(t, 0, 0, 1)
	h.wantUnit(t, floor, 0, 0)
}

// expired lists what lapsed holds lost, from the log: whose, and what.
func (h *House) expired(t T) (keys []inventory.HoldKey, units []inventory.UnitDelta) {
	t.Helper()
	for _, e := range h.log(t) {
		if e.Kind == inventory.LogExpired {
			keys, units = append(keys, e.Key), append(units, e.Units...)
		}
	}
	return keys, units
}

func takeoverIsFrugal(t T, h *House) {
	oldest := h.brief(t, some(floor, 2, standard), one(0))
	h.pass(t, ttl)
	// A store whose clock cannot be moved has let the first one lapse; the next two lapse after it.
	second := h.brief(t, some(floor, 2, standard), one(1))
	h.pass(t, 1)
	third := h.brief(t, some(floor, 2, standard), one(2))
	h.pass(t, ttl)
	h.held(t, some(floor, 3, standard))
	keys, units := h.expired(t)
	if !slices.Equal(keys, []inventory.HoldKey{oldest.Key, second.Key}) {
		t.Errorf("3 of 6 were needed: %d holds lost something, want the two oldest", len(keys))
	}
	if !slices.Equal(units, []inventory.UnitDelta{{Unit: floor, Delta: -2}, {Unit: floor, Delta: -2}}) {
		t.Errorf("taken over: %+v, want the lines on the area alone", units)
	}
	h.wantUnit(t, floor, 3, 0)
	h.held(t, some(floor, 3, standard))
	if keys, _ = h.expired(t); len(keys) != 3 || keys[2] != third.Key {
		t.Errorf("the rest is in the third hold; %d lost something", len(keys))
	}
}

func restOfTheDead(t T, h *House) {
	mine := h.brief(t, one(0), one(1), some(floor, 2, standard))
	h.pass(t, ttl)
	h.held(t, one(0))
	before := h.board(t)
	h.wantDead(t, mine.Key, inventory.HoldExpired)
	h.wantUntouched(t, before)
	if n, err := h.Store.Sweep(t.Context(), 10); err != nil || n != 1 {
		t.Errorf("swept %d (%v), want the one", n, err)
	}
	_, units := h.expired(t)
	left := amounts{}
	for _, u := range units {
		left[[2]int{int(u.Unit), 0}] -= u.Delta
	}
	if got, want := left.String(), (amounts{{0, 0}: 1, {1, 0}: 1, {int(floor), 0}: 2}).String(); got != want {
		t.Errorf("of the dead hold %s ended, want %s", got, want)
	}
	h.wantUnit(t, 0, 1, 0)
	h.held(t, one(1), some(floor, floorCapacity-1, standard))
}

// lapsedLetGo: whoever let a hold go must not find it again, not even when the clock steps back.
func lapsedLetGo(t T, h *House) {
	mine := h.brief(t, one(0), some(floor, 2, standard))
	h.pass(t, ttl)
	for range 2 {
		if out := h.do(t, releaseOf(mine.Key)); out.Released || out.Refusal != nil {
			t.Errorf("a release after the deadline says %v (%v)", out.Released, out.Refusal)
		}
	}
	if keys, _ := h.expired(t); !slices.Equal(keys, []inventory.HoldKey{mine.Key}) {
		t.Errorf("the log says that %d holds ended, want this one, once", len(keys))
	}
	if n, err := h.Store.Sweep(t.Context(), 10); err != nil || n != 0 {
		t.Errorf("swept %d (%v), and nothing was left", n, err)
	}
	h.wantLogSound(t)
}

func rivalsForLapsed(t T, h *House) {
	for round := range rounds {
		lapsed := h.brief(t, one(0))
		if round%2 == 0 {
			h.brief(t, one(1))
		} else { // both seats are in one dead hold, and rivals for either take from it
			h.do(t, releaseOf(lapsed.Key))
			lapsed = h.brief(t, one(0), one(1), one(2))
		}
		h.pass(t, ttl)
		commands := make([]inventory.Command, rivals)
		for i := range commands {
			commands[i] = claimOf(one(inventory.Unit(i % 2)))
		}
		outcomes := h.atOnce(t, commands...)
		for seat := range 2 {
			won := 0
			for i, out := range outcomes {
				switch {
				case i%2 != seat:
				case out.Hold != nil:
					won++
					h.do(t, releaseOf(commands[i].Key))
				case refusalClass(out.Refusal) != lostClass([]lost{{inventory.Unit(seat), inventory.ReasonHeld, 0}}):
					t.Errorf("a loser is told %s", outcomeClass(out))
				}
			}
			if won != 1 {
				t.Fatalf("%d took over one lapsed seat", won)
			}
		}
		if out := h.do(t, extendOf(lapsed.Key)); out.Hold != nil {
			t.Errorf("the lapsed hold lives")
		}
		if !h.bubble && h.Step == nil {
			return // each round is waited for; one is enough
		}
	}
}

func sweeping(t T, h *House) {
	a, b := h.brief(t, one(0), some(floor, 2, child)), h.brief(t, one(1))
	living := h.held(t, one(2))
	if n, err := h.Store.Sweep(t.Context(), 10); err != nil || n != 0 {
		t.Errorf("swept %d living holds (%v)", n, err)
	}
	before := h.board(t)
	h.pass(t, ttl)
	if out := h.do(t, inventory.Command{Verb: inventory.Expire, Key: living.Key, By: "store"}); out.Released {
		t.Errorf("a living hold was made to expire")
	}
	for i, want := range []int{1, 1, 0} {
		if n, err := h.Store.Sweep(t.Context(), 1); err != nil || n != want {
			t.Errorf("sweep %d of at most 1 ended %d (%v), want %d", i, n, err, want)
		}
	}
	keys, _ := h.expired(t)
	if slices.SortFunc(keys, compareKeys); !slices.Equal(keys, sorted(a.Key, b.Key)) {
		t.Errorf("the log says that %d holds ended, want both", len(keys))
	}
	ch, err := h.Store.Changes(t.Context(), h.Event, before.Position)
	if err != nil || ch.Resync || len(ch.Units) != 3 {
		t.Fatalf("the map is told %+v (%v), want three units", ch, err)
	}
	for u, s := range ch.Units {
		if s.Held != 0 {
			t.Errorf("the map is told that unit %d is held", u)
		}
	}
	h.wantUnit(t, 2, 1, 0)
	h.sold(t, living.Key)
}

func compareKeys(a, b inventory.HoldKey) int { return slices.Compare(a[:], b[:]) }

func sorted(keys ...inventory.HoldKey) []inventory.HoldKey {
	slices.SortFunc(keys, compareKeys)
	return keys
}

func extending(t T, h *House) {
	mine := h.held(t, one(0))
	h.pass(t, holdSeconds-1)
	out := h.do(t, extendOf(mine.Key))
	if out.Hold == nil || out.Hold.Deadline != out.Now.Add(holdSeconds) {
		t.Fatalf("a second before the end: %s at %d", outcomeClass(out), out.Now)
	}
	h.pass(t, holdSeconds-1)
	out = h.do(t, changeOf(mine.Key, []inventory.Want{one(1)}, nil))
	if out.Hold == nil || out.Hold.Deadline != out.Now.Add(holdSeconds) {
		t.Fatalf("an addition: %s at %d", outcomeClass(out), out.Now)
	}
	h.pass(t, 10)
	out = h.do(t, extendOf(mine.Key))
	if out.Hold == nil || out.Hold.Deadline != mine.Cap {
		t.Fatalf("near the end of its life: %s, want the cap, %d", outcomeClass(out), mine.Cap)
	}
	wantCode(t, "at the cap", h.do(t, extendOf(mine.Key)).Refusal, inventory.HoldLifetimeReached)
	out = h.do(t, changeOf(mine.Key, []inventory.Want{one(2)}, nil))
	if out.Hold == nil || out.Hold.Deadline != mine.Cap {
		t.Errorf("an addition at the cap: %s, want no later end", outcomeClass(out))
	}
	h.pass(t, holdSeconds+2)
	h.wantDead(t, mine.Key, inventory.HoldExpired)
}
