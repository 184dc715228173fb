package race

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/client"
)

// The sizes of the races about the life of a hold.
const (
	failedChanges  = 20
	changeCallers  = 16
	wrongTokens    = 20
	lateReleases   = 20
	expiredSeats   = 16
	shortSeconds   = 1 // the shortest life of a hold
	deadlineSeats  = 12
	deadlineClaims = 24
	deadlineProbes = 2 // of them, long before the deadline
	deadlineLooks  = 12
	// Claims are spread over the deadline by this much on either side, since nobody outside the
	// server knows the instant itself.
	deadlineMargin = 60 * time.Millisecond
)

// short claims units with a key for the shortest possible time, and says from when on they must be
// free again: the store made the deadline before its answer arrived here, so no two clocks are compared.
func (a *arena) short(ctx context.Context, i int, event string, r client.HoldRequest) (*client.Hold, time.Time, error) {
	r.TTLSeconds = new(int64(shortSeconds))
	got := claim(ctx, a.staff(i), event, r)
	h, err := must(got)
	return h, got.got.Add(shortSeconds * time.Second), err
}

func failedChange() Race {
	return Race{
		Name: "failed-change", Promises: []int{3},
		Claim:    fmt.Sprintf("a holder asks %d times at once to give one seat up for another's and a free one", failedChanges),
		Promised: "all are refused; the basket and its deadline stay as they were, and the free seat stays free",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("failed change"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, failedChanges); err != nil {
				return o, err
			}
			mine, err := must(claim(ctx, a.buyer(0), o.event, seats(a.seat(0), a.seat(1))))
			if err != nil {
				return o, err
			}
			theirs, err := must(claim(ctx, a.buyer(1), o.event, seats(a.seat(2))))
			if err != nil {
				return o, err
			}
			o.before = []client.Hold{*mine, *theirs}
			patch := adding(a.seat(3), a.seat(2))
			patch.Remove = &client.BasketPart{Seats: []string{a.seat(0)}}
			o.add("changes", volley(failedChanges, func(i int) answer {
				return change(ctx, a.buyer(i), mine, mine.Token, patch)
			}))
			o.add("a look afterwards", volley(1, func(i int) answer { return look(ctx, a.buyer(i), mine, mine.Token) }))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			v.distribution(3, o.phase("changes"), exactly(failedChanges, lostHeld))
			p := o.phase("a look afterwards")
			v.distribution(3, p, exactly(1, done))
			for _, h := range p.winners() {
				if !sameBasket(h, &o.before[0]) {
					v.breach(3, "a change that failed moved the basket or its deadline")
				}
			}
			v.held(o, pointers(o.before))
			return v
		},
	}
}

func lastSeatChange() Race {
	return Race{
		Name: "last-seat-change", Promises: []int{1, 2, 3},
		Claim:    fmt.Sprintf("%d holders add the same free seat to their baskets in the same instant", changeCallers),
		Promised: "one gets it; the others keep their baskets and their deadlines as they were",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("last seat by change"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, changeCallers); err != nil {
				return o, err
			}
			for i := range changeCallers {
				h, err := must(claim(ctx, a.buyer(i), o.event, seats(a.seat(i+1))))
				if err != nil {
					return o, err
				}
				o.before = append(o.before, *h)
			}
			o.add("changes", volley(changeCallers, func(i int) answer {
				return change(ctx, a.buyer(i), &o.before[i], o.before[i].Token, adding(a.seat(0)))
			}))
			o.add("a look afterwards", volley(changeCallers, func(i int) answer {
				return look(ctx, a.buyer(i), &o.before[i], o.before[i].Token)
			}))
			return a.finish(ctx, o)
		},
		judge: judgeLastSeatChange,
	}
}

func judgeLastSeatChange(o *observation) *verdict {
	v := new(verdict)
	changes, looks := o.phase("changes"), o.phase("a look afterwards")
	v.distribution(2, changes, exactly(1, done), exactly(changeCallers-1, lostHeld))
	v.distribution(4, looks, exactly(changeCallers, done))
	asked, seen := changes.all(), looks.all()
	for i := range min(len(asked), len(seen), len(o.before)) {
		switch h := seen[i].hold; {
		case h == nil: // the distribution has said so
		case asked[i].won() && len(h.Lines) != 2:
			v.breach(3, "the winner's basket has %d seats instead of 2", len(h.Lines))
		case asked[i].won() && h.ExpiresAt.Before(o.before[i].ExpiresAt):
			v.breach(3, "a successful change brought the deadline forward")
		case !asked[i].won() && !sameBasket(h, &o.before[i]):
			v.breach(3, "a change that failed moved a basket or its deadline")
		}
	}
	v.held(o, looks.winners())
	return v
}

func wrongToken() Race {
	return Race{
		Name: "wrong-token", Promises: []int{4},
		Claim:    fmt.Sprintf("%d callers release, extend, change and buy a hold with another hold's token", wrongTokens),
		Promised: "releases are answered 204 and do nothing, the rest 410; both holds live on unchanged",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("wrong token"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, wrongTokens); err != nil {
				return o, err
			}
			for i := range 2 {
				h, err := must(claim(ctx, a.buyer(i), o.event, seats(a.seat(i))))
				if err != nil {
					return o, err
				}
				o.before = append(o.before, *h)
			}
			mine, wrong := &o.before[0], o.before[1].Token
			o.add("releases", volley(wrongTokens, func(i int) answer { return release(ctx, a.buyer(i), mine, wrong) }))
			o.add("extensions", volley(wrongTokens, func(i int) answer { return extend(ctx, a.buyer(i), mine, wrong) }))
			o.add("changes", volley(wrongTokens, func(i int) answer {
				return change(ctx, a.buyer(i), mine, wrong, adding(a.seat(2)))
			}))
			o.add("orders", volley(wrongTokens, func(i int) answer { return confirm(ctx, a.buyer(i), mine, wrong) }))
			o.add("the owners' looks", volley(2, func(i int) answer {
				return look(ctx, a.buyer(i), &o.before[i], o.before[i].Token)
			}))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			v.distribution(4, o.phase("releases"), exactly(wrongTokens, letGo))
			for _, name := range []string{"extensions", "changes", "orders"} {
				v.distribution(4, o.phase(name), exactly(wrongTokens, gone))
			}
			v.untouched(o, o.phase("the owners' looks"))
			v.held(o, pointers(o.before))
			return v
		},
	}
}

// untouched checks that holds look as they did before.
func (v *verdict) untouched(o *observation, looks volleys) {
	v.distribution(4, looks, exactly(len(o.before), done))
	for i, a := range looks.all() {
		if a.won() && i < len(o.before) && !sameBasket(a.hold, &o.before[i]) {
			v.breach(4, "a hold was changed by somebody who does not own it")
		}
	}
}

func releaseAfterReacquisition() Race {
	return Race{
		Name: "release-after-reacquisition", Promises: []int{4, 5},
		Claim:    fmt.Sprintf("a hold runs out, another caller takes its seat, and %d late releases arrive with the old token", lateReleases),
		Promised: "they are answered 204 and the new owner's hold lives",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("release after re-acquisition"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, lateReleases); err != nil {
				return o, err
			}
			old, free, err := a.short(ctx, 0, o.event, seats(a.seat(0)))
			if err != nil {
				return o, err
			}
			if err := until(ctx, free); err != nil {
				return o, err
			}
			mine, err := must(claim(ctx, a.buyer(1), o.event, seats(a.seat(0))))
			if err != nil {
				return o, err
			}
			o.before = []client.Hold{*mine}
			o.add("late releases", volley(lateReleases, func(i int) answer { return release(ctx, a.buyer(i), old, old.Token) }))
			o.add("late extensions", volley(lateReleases, func(i int) answer { return extend(ctx, a.buyer(i), old, old.Token) }))
			o.add("late orders", volley(lateReleases, func(i int) answer { return confirm(ctx, a.buyer(i), old, old.Token) }))
			o.add("the new owner's look", volley(1, func(i int) answer { return look(ctx, a.buyer(i), mine, mine.Token) }))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			v.distribution(4, o.phase("late releases"), exactly(lateReleases, letGo))
			v.distribution(5, o.phase("late extensions"), exactly(lateReleases, gone))
			v.distribution(5, o.phase("late orders"), exactly(lateReleases, gone))
			v.untouched(o, o.phase("the new owner's look"))
			v.held(o, pointers(o.before))
			return v
		},
	}
}

func expiredResells() Race {
	return Race{
		Name: "expired-resells", Promises: []int{5},
		Claim:    fmt.Sprintf("%d seats and a full area run out; at once others claim them while the old tokens try to buy", expiredSeats),
		Promised: "every claim wins without waiting for a sweep, and every old token is refused 410",
		run:      runExpiredResells,
		judge: func(o *observation) *verdict {
			v := new(verdict)
			claims := o.phase("claims of what ran out")
			v.distribution(5, claims, exactly(expiredSeats+1, created))
			for _, name := range []string{"old tokens that buy", "old tokens that look", "old tokens that extend"} {
				v.distribution(5, o.phase(name), exactly(expiredSeats+1, gone))
			}
			v.held(o, claims.winners())
			return v
		},
	}
}

func runExpiredResells(ctx context.Context, a *arena) (*observation, error) {
	o, err := a.open(ctx, a.eventRequest("expired resells"))
	if err != nil {
		return nil, err
	}
	const all = expiredSeats + 1
	if err := a.warm(ctx, 2*all); err != nil {
		return o, err
	}
	wanted := func(i int) client.HoldRequest {
		if i == expiredSeats {
			return units(floorArea, floorUnits)
		}
		return seats(a.seat(i))
	}
	var free time.Time
	for i := range all {
		h, from, err := a.short(ctx, i, o.event, wanted(i))
		if err != nil {
			return o, err
		}
		o.before, free = append(o.before, *h), from
	}
	if err := until(ctx, free); err != nil {
		return o, err
	}
	// Old owners and new ones arrive in the same instant; that the old ones are too late does not
	// depend on who is first.
	both := volley(2*all, func(i int) answer {
		if i < all {
			return claim(ctx, a.buyer(i), o.event, wanted(i))
		}
		return confirm(ctx, a.buyer(i), &o.before[i-all], o.before[i-all].Token)
	})
	o.add("claims of what ran out", both[:all])
	o.add("old tokens that buy", both[all:])
	o.add("old tokens that look", volley(all, func(i int) answer { return look(ctx, a.buyer(i), &o.before[i], o.before[i].Token) }))
	o.add("old tokens that extend", volley(all, func(i int) answer { return extend(ctx, a.buyer(i), &o.before[i], o.before[i].Token) }))
	return a.finish(ctx, o)
}
