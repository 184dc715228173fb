package race

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

func atTheDeadline() Race {
	return Race{
		Name: "at-the-deadline", Promises: []int{1, 2, 4, 5},
		Claim: fmt.Sprintf("around the very instant at which %d holds run out, %d claims a seat arrive while the owner looks and, on half of them, extends",
			deadlineSeats, deadlineClaims),
		Promised: "at any instant a seat has one owner, it is never left with none that is told it is held, and the old token is refused afterwards",
		run:      runAtTheDeadline,
		judge:    judgeAtTheDeadline,
	}
}

// The phases of the race. Their rounds are its seats, in one order.
const (
	deadlineFirst   = "the first owners"
	deadlineClaimed = "claims around the deadline"
	deadlineLooked  = "the first owners' looks"
	deadlineExtends = "the first owners' extensions"
	deadlineAfter   = "the old tokens afterwards"
)

func runAtTheDeadline(ctx context.Context, a *arena) (*observation, error) {
	r := a.eventRequest("at the deadline")
	r.Limits.HoldSeconds = new(int64(shortSeconds))
	o, err := a.open(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := a.warm(ctx, deadlineSeats*(deadlineClaims+deadlineLooks)/4); err != nil {
		return o, err
	}
	first, claims, looks := volleys{name: deadlineFirst}, volleys{name: deadlineClaimed}, volleys{name: deadlineLooked}
	extensions, after := volleys{name: deadlineExtends}, volleys{name: deadlineAfter}

	owners := volley(deadlineSeats, func(i int) answer { return claim(ctx, a.buyer(i), o.event, seats(a.seat(i))) })
	for i := range owners {
		if _, err := must(owners[i]); err != nil {
			return o, err
		}
		first.rounds = append(first.rounds, owners[i:i+1])
	}
	const each = deadlineClaims + deadlineLooks + 1
	all := volley(deadlineSeats*each, func(i int) answer {
		return a.aroundDeadline(ctx, o.event, &owners[i/each], i/each, i%each)
	})
	last := time.Now()
	for s := range deadlineSeats {
		mine := all[s*each : (s+1)*each]
		claims.rounds = append(claims.rounds, mine[:deadlineClaims])
		looks.rounds = append(looks.rounds, mine[deadlineClaims:each-1])
		if s%2 == 1 {
			extensions.rounds = append(extensions.rounds, mine[each-1:])
		}
	}
	// Whoever extended in time is dead by now plus one more life.
	if err := until(ctx, last.Add(shortSeconds*time.Second)); err != nil {
		return o, err
	}
	for s := range deadlineSeats {
		h := owners[s].hold
		after.rounds = append(after.rounds, []answer{
			look(ctx, a.buyer(s), h, h.Token), extend(ctx, a.buyer(s+1), h, h.Token), confirm(ctx, a.buyer(s), h, h.Token),
		})
	}
	o.phases = append(o.phases, first, claims, looks, extensions, after)
	return a.finish(ctx, o)
}

// aroundDeadline makes one call about a seat near its deadline, which lies between one life after the
// claim was sent and one life after it was answered. The last claim is later than that in any case,
// and the first ones come at half of the life, one to each of two servers, to find a clock that is ahead.
func (a *arena) aroundDeadline(ctx context.Context, event string, owner *answer, seat, k int) answer {
	from := owner.sent.Add(shortSeconds*time.Second - deadlineMargin)
	to := owner.got.Add(shortSeconds*time.Second + deadlineMargin)
	spread := func(i, n int) time.Time { return from.Add(to.Sub(from) * time.Duration(i) / time.Duration(n-1)) }
	at, call := spread(k, deadlineClaims), func() answer {
		return claim(ctx, a.buyer(k), event, seats(a.seat(seat)))
	}
	switch {
	case k < deadlineProbes:
		at = owner.sent.Add(shortSeconds * time.Second / 2)
	case k == deadlineClaims+deadlineLooks:
		if seat%2 == 0 {
			return answer{} // the owners of even seats do not extend
		}
		at, call = from.Add(to.Sub(from)/2), func() answer { return extend(ctx, a.buyer(seat), owner.hold, owner.hold.Token) }
	case k >= deadlineClaims:
		at, call = spread(k-deadlineClaims, deadlineLooks), func() answer {
			return look(ctx, a.buyer(k), owner.hold, owner.hold.Token)
		}
	}
	if err := until(ctx, at); err != nil {
		return answer{fault: err.Error()}
	}
	return call()
}

func judgeAtTheDeadline(o *observation) *verdict {
	v := new(verdict)
	v.distribution(2, o.phase(deadlineFirst), exactly(1, created))
	v.distribution(2, o.phase(deadlineClaimed), between(0, deadlineClaims, created), between(0, deadlineClaims, lostHeld))
	v.distribution(5, o.phase(deadlineLooked), between(0, deadlineLooks, done), between(0, deadlineLooks, gone))
	v.distribution(5, o.phase(deadlineExtends), between(0, 1, done), between(0, 1, gone))
	v.distribution(5, o.phase(deadlineAfter), exactly(3, gone))
	first, claims, looks := o.phase(deadlineFirst), o.phase(deadlineClaimed), o.phase(deadlineLooked)
	extensions := o.phase(deadlineExtends)
	for s := range min(len(first.rounds), len(claims.rounds), len(looks.rounds)) {
		var extension *answer
		if s%2 == 1 && s/2 < len(extensions.rounds) && len(extensions.rounds[s/2]) == 1 {
			extension = &extensions.rounds[s/2][0]
		}
		v.owners(s, &first.rounds[s][0], claims.rounds[s], looks.rounds[s], extension)
	}
	v.conserved(o, any64, 0)
	return v
}

// owners checks one seat: the lives of its owners by the store's own clock must not overlap, somebody
// must have it once it is free, and whoever has seen it in another's hand must not own it any more.
func (v *verdict) owners(seat int, first *answer, claims, looks []answer, extension *answer) {
	if first.hold == nil {
		return
	}
	free := first.hold.ExpiresAt
	extended := extension != nil && extension.won()
	if extended {
		free = extension.hold.ExpiresAt
	}
	var won []*answer
	for i := range claims {
		if claims[i].won() {
			won = append(won, &claims[i])
		}
	}
	slices.SortFunc(won, func(a, b *answer) int { return cmp.Compare(begin(a), begin(b)) })
	if len(won) == 0 && !extended {
		v.breach(2, "seat %d: it was free and nobody got it", seat+1)
	}
	for i, w := range won {
		if i == 0 {
			v.late(seat, w, looks, extension)
			v.early(seat, first, w, extended)
		}
		if begin(w) < free.UnixMicro() {
			v.breach(1, "seat %d: a new owner's hold began %d µs before the old one ended", seat+1, free.UnixMicro()-begin(w))
		}
		free = w.hold.ExpiresAt
	}
}

// late checks that the first owner saw nothing of its hold after the answer that gave the seat away.
func (v *verdict) late(seat int, w *answer, looks []answer, extension *answer) {
	for i := range looks {
		if looks[i].won() && looks[i].sent.After(w.got) {
			v.breach(5, "seat %d: the old owner still had it after a new one was answered", seat+1)
		}
	}
	if extension != nil && extension.won() && extension.sent.After(w.got) {
		v.breach(5, "seat %d: the old owner extended it after a new one was answered", seat+1)
	}
}

// early checks by the caller's own watch, which no server can set: the first hold was made after it
// was asked for, so nobody can have its seat sooner than one life after that.
func (v *verdict) early(seat int, first, w *answer, extended bool) {
	if life := w.got.Sub(first.sent); !extended && life < shortSeconds*time.Second {
		v.breach(5, "seat %d: given away %d µs after it was asked for, which is before its time", seat+1, life.Microseconds())
	}
}

// begin is when a hold of one short life was made, by the store's clock, in microseconds.
func begin(a *answer) int64 {
	return a.hold.ExpiresAt.Add(-shortSeconds * time.Second).UnixMicro()
}
