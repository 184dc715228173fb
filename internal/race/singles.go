package race

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/client"
)

// The sizes of the race for the rule on single seats. Gaps lie in the plain rows, two a row, so far from
// one another and from the rows' ends that only the two baskets of one gap are in each other's way.
const (
	singlesCallers = 8
	singlesRounds  = 28
	singlesCrossed = 12
	gapsPerRow     = 2
	gapFrom        = 2 // seats before a row's first gap
	gapPitch       = 8 // seats from gap to gap
	gapBasket      = 2
)

// gap is a seat between two baskets. Each basket alone leaves it a free neighbour, and both together none.
type gap struct {
	left  []string
	alone string
	right []string
}

// gap is the i-th of the house.
func (a *arena) gap(i int) gap {
	at := i/gapsPerRow*gridPerRow + gapFrom + i%gapsPerRow*gapPitch
	return gap{
		left: []string{a.seat(at), a.seat(at + 1)}, alone: a.seat(at + gapBasket),
		right: []string{a.seat(at + 3), a.seat(at + 4)},
	}
}

// basket is what the i-th caller wants of a gap: with two servers both baskets arrive at each of them.
func (g gap) basket(i int) []string {
	if i/2%2 == 0 {
		return g.left
	}
	return g.right
}

func noSingleSeat() Race {
	return Race{
		Name: "no-single-seat", Promises: []int{2, 3},
		Claim: fmt.Sprintf("in a strict event %d callers claim one of two baskets that are allowed alone and leave a seat alone together, %d rounds; then two holders add them, %d rounds",
			singlesCallers, singlesRounds, singlesCrossed),
		Promised: "one basket a gap, the other is refused for the seat between them, and no seat is left alone",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			r := a.eventRequest("no single seat")
			r.SingleSeats = "strict"
			o, err := a.open(ctx, r)
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, singlesCallers); err != nil {
				return o, err
			}
			p := volleys{name: "claims"}
			for r := range singlesRounds {
				g := a.gap(r)
				o.gaps = append(o.gaps, g)
				p.rounds = append(p.rounds, volley(singlesCallers, func(i int) answer {
					return claim(ctx, a.buyer(i), o.event, seats(g.basket(i)...))
				}))
			}
			o.phases = append(o.phases, p)
			if err := a.crossedGaps(ctx, o); err != nil {
				return o, err
			}
			return a.finish(ctx, o)
		},
		judge: judgeSingles,
	}
}

// crossedGaps lets two holders at a time add the two baskets of a gap to what they have.
func (a *arena) crossedGaps(ctx context.Context, o *observation) error {
	p, looks := volleys{name: "additions"}, volleys{name: "a look afterwards"}
	for r := range singlesCrossed {
		g := a.gap(singlesRounds + r)
		o.gaps = append(o.gaps, g)
		var pair [2]*client.Hold
		for k := range pair {
			h, err := must(claim(ctx, a.buyer(k), o.event, units(hallArea, 1)))
			if err != nil {
				return err
			}
			pair[k] = h
		}
		p.rounds = append(p.rounds, volley(len(pair), func(i int) answer {
			return change(ctx, a.buyer(i), pair[i], pair[i].Token, adding(g.basket(2*i)...))
		}))
		looks.rounds = append(looks.rounds, volley(len(pair), func(i int) answer {
			return look(ctx, a.buyer(i), pair[i], pair[i].Token)
		}))
	}
	o.phases = append(o.phases, p, looks)
	return nil
}

func judgeSingles(o *observation) *verdict {
	const half = singlesCallers / 2
	v := new(verdict)
	claims, additions, looks := o.phase("claims"), o.phase("additions"), o.phase("a look afterwards")
	// Whichever basket comes first is allowed, so nobody can say "one, or none": one wins.
	v.distribution(2, claims, exactly(1, created), exactly(half-1, lostHeld), exactly(half, leftAlone))
	v.distribution(2, additions, exactly(1, done), exactly(1, leftAlone))
	v.distribution(3, looks, exactly(2, done))
	for i, round := range append(claims.rounds[:len(claims.rounds):len(claims.rounds)], additions.rounds...) {
		g := o.gaps[i]
		for _, a := range round {
			if a.code == "SINGLE_SEAT_LEFT" && (len(a.conflicts) != 1 || a.conflicts[0].Seat != g.alone) {
				v.breach(2, "a caller is told that it leaves something else alone than seat %s: %v", g.alone, a.conflicts)
			}
			if a.won() && len(a.hold.Warnings) > 0 {
				v.breach(2, "the basket that was allowed at seat %s comes with a warning: %v", g.alone, a.hold.Warnings)
			}
		}
		if o.board[g.alone] != seatFree {
			v.breach(3, "seat %s is %s, and nobody asked for it", g.alone, stateName(o.board[g.alone]))
		} else if o.board[g.left[gapBasket-1]] != seatFree && o.board[g.right[0]] != seatFree {
			v.breach(2, "seat %s is left alone between two baskets", g.alone)
		}
	}
	// Both holders of a pair have their unit of the hall, and one of them its seats.
	v.held(o, append(claims.winners(), looks.winners()...))
	return v
}
