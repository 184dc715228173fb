package race

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/client"
)

// The sizes of the races for free units, as they were promised.
const (
	oneSeatCallers    = 200
	roundsCallers     = 16
	rounds            = 50
	lastUnitsCallers  = 16
	basketCallers     = 60
	basketSeats       = 4
	oppositeCallers   = 8
	oppositeRounds    = 40
	crossedRounds     = 20
	bestCallers       = 40
	withheldCallers   = 20
	withheldReleasers = 8
)

func oneSeat() Race {
	return Race{
		Name: "one-seat", Promises: []int{1, 2},
		Claim:    fmt.Sprintf("%d callers claim one seat in the same instant", oneSeatCallers),
		Promised: "one has it, and every other is told that this seat is held",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("one seat"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, oneSeatCallers); err != nil {
				return o, err
			}
			o.add("claims", volley(oneSeatCallers, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, seats(a.seat(0)))
			}))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			p := o.phase("claims")
			v.distribution(2, p, exactly(1, created), exactly(oneSeatCallers-1, lostHeld))
			v.held(o, p.winners())
			return v
		},
	}
}

// held checks that the winners own what they won, and that nothing else is held and nothing sold.
func (v *verdict) held(o *observation, winners []*client.Hold) {
	v.oneOwner(winners)
	v.conserved(o, unitsOf(winners), 0)
	v.onlyHolds(o, winners...)
	v.onlySeats(o, seatHeld, seatsOf(winners))
}

func oneSeatRounds() Race {
	return Race{
		Name: "one-seat-rounds", Promises: []int{1, 2},
		Claim:    fmt.Sprintf("%d callers claim one seat, %d times over, each time another seat", roundsCallers, rounds),
		Promised: "each round has exactly one winner, and the losers leave nothing behind",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("one seat, many rounds"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, roundsCallers); err != nil {
				return o, err
			}
			p := volleys{name: "claims"}
			for r := range rounds {
				p.rounds = append(p.rounds, volley(roundsCallers, func(i int) answer {
					return claim(ctx, a.buyer(i), o.event, seats(a.seat(r)))
				}))
			}
			o.phases = append(o.phases, p)
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			p := o.phase("claims")
			v.distribution(2, p, exactly(1, created), exactly(roundsCallers-1, lostHeld))
			v.held(o, p.winners())
			if n := o.log["held"]; n != rounds {
				v.breach(2, "the log knows of %d holds made in %d rounds", n, rounds)
			}
			return v
		},
	}
}

func lastUnits() Race {
	return Race{
		Name: "last-units", Promises: []int{1, 2},
		Claim:    fmt.Sprintf("%d callers claim one unit each of an area that has %d", lastUnitsCallers, floorUnits),
		Promised: "exactly as many win as there are units, the rest hear sold_out, and the area ends full",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("last units"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, lastUnitsCallers); err != nil {
				return o, err
			}
			o.add("claims", volley(lastUnitsCallers, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, units(floorArea, 1))
			}))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			p := o.phase("claims")
			v.distribution(2, p, exactly(floorUnits, created), exactly(lastUnitsCallers-floorUnits, soldOut))
			for _, a := range p.all() {
				for _, c := range a.conflicts {
					if c.Free != nil && *c.Free > 0 {
						v.breach(2, "sold_out was answered with %d units free", *c.Free)
					}
				}
			}
			v.held(o, p.winners())
			if floor := o.part(floorArea); floor.Held != floorUnits || floor.Capacity != floorUnits {
				v.breach(1, "the area ends with %d of %d units held", floor.Held, floor.Capacity)
			}
			return v
		},
	}
}

// ring is the i-th of n baskets of four neighbours on a ring of n seats: each overlaps six others.
func (a *arena) ring(i, n int) []string {
	keys := make([]string, basketSeats)
	for k := range keys {
		keys[k] = a.seat((i + k) % n)
	}
	return keys
}

// starred is a basket of a seat that everybody wants and three that some others want too; where the
// coveted seat stands in it changes from caller to caller.
func (a *arena) starred(i int) []string {
	const from, pool = 100, 12
	keys := []string{a.seat(from + pool)}
	for k := range basketSeats - 1 {
		keys = append(keys, a.seat(from+(i+k*(1+i%3))%pool))
	}
	at := i % basketSeats
	keys[0], keys[at] = keys[at], keys[0]
	return keys
}

func overlappingBaskets() Race {
	return Race{
		Name: "overlapping-baskets", Promises: []int{1, 2, 3},
		Claim:    fmt.Sprintf("%d callers claim baskets of %d that share a seat; then %d baskets that overlap in a ring", basketCallers, basketSeats, basketCallers),
		Promised: "the shared seat has one winner, no seat has two owners, a winner has its whole basket and a loser nothing",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("overlapping baskets"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, basketCallers); err != nil {
				return o, err
			}
			o.add("baskets that share a seat", volley(basketCallers, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, seats(a.starred(i)...))
			}))
			o.add("baskets in a ring", volley(basketCallers, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, seats(a.ring(i, basketCallers)...))
			}))
			return a.finish(ctx, o)
		},
		judge: judgeBaskets,
	}
}

func judgeBaskets(o *observation) *verdict {
	// On the ring a winner keeps out the three baskets on either side, and a free run of four would
	// have been won: so between every seventh and every fourth basket wins.
	const fewest, most = (basketCallers + 2*basketSeats - 2) / (2*basketSeats - 1), basketCallers / basketSeats
	v := new(verdict)
	shared, ring := o.phase("baskets that share a seat"), o.phase("baskets in a ring")
	v.distribution(2, shared, exactly(1, created), exactly(basketCallers-1, lostHeld))
	v.distribution(2, ring, between(fewest, most, created), between(basketCallers-most, basketCallers-fewest, lostHeld))
	for _, p := range []volleys{shared, ring} {
		owned := seatsOf(p.winners())
		for _, a := range p.all() {
			for _, c := range a.conflicts {
				if c.Seat != "" && !slices.Contains(owned, c.Seat) {
					v.breach(2, "%s: a loser lost to seat %s, which nobody won", p.name, c.Seat)
				}
			}
		}
	}
	v.held(o, append(shared.winners(), ring.winners()...))
	return v
}

func oppositeOrder() Race {
	return Race{
		Name: "opposite-order", Promises: []int{2, 3, 11},
		Claim: fmt.Sprintf("%d callers claim two seats, half of them in the opposite order, %d rounds; then holders add each other's seats, %d rounds",
			oppositeCallers, oppositeRounds, crossedRounds),
		Promised: "one winner a round, no deadlock and no 5xx; crossed additions both lose and keep what they have",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("opposite order"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, oppositeCallers); err != nil {
				return o, err
			}
			p := volleys{name: "claims"}
			for r := range oppositeRounds {
				one, two := a.seat(2*r), a.seat(2*r+1)
				p.rounds = append(p.rounds, volley(oppositeCallers, func(i int) answer {
					// Not i%2: with two servers both orders must arrive at each of them.
					if i/2%2 == 0 {
						return claim(ctx, a.buyer(i), o.event, seats(one, two))
					}
					return claim(ctx, a.buyer(i), o.event, seats(two, one))
				}))
			}
			o.phases = append(o.phases, p)
			if err := a.crossed(ctx, o); err != nil {
				return o, err
			}
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			claims, crossed := o.phase("claims"), o.phase("crossed additions")
			v.distribution(2, claims, exactly(1, created), exactly(oppositeCallers-1, lostHeld))
			v.distribution(3, crossed, exactly(2, lostHeld))
			v.held(o, append(claims.winners(), pointers(o.before)...))
			return v
		},
	}
}

// crossed lets two holders at a time ask for each other's seat.
func (a *arena) crossed(ctx context.Context, o *observation) error {
	p := volleys{name: "crossed additions"}
	for r := range crossedRounds {
		var pair [2]*client.Hold
		for k := range pair {
			h, err := must(claim(ctx, a.buyer(k), o.event, seats(a.seat(200+2*r+k))))
			if err != nil {
				return err
			}
			pair[k] = h
			o.before = append(o.before, *h)
		}
		p.rounds = append(p.rounds, volley(len(pair), func(i int) answer {
			return change(ctx, a.buyer(i), pair[i], pair[i].Token, adding(a.seat(200+2*r+1-i)))
		}))
	}
	o.phases = append(o.phases, p)
	return nil
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func bestAvailableStorm() Race {
	return Race{
		Name: "best-available-storm", Promises: []int{1, 2, 3},
		Claim:    fmt.Sprintf("%d callers ask for the best %d, half of them for seats together or none, where %d blocks of %d are free", bestCallers, blockSeats, blocks, blockSeats),
		Promised: "every block is given to one caller, and no_block is heard only when none is left",
		run: func(ctx context.Context, a *arena) (*observation, error) {
			o, err := a.open(ctx, a.eventRequest("best available"))
			if err != nil {
				return nil, err
			}
			if err := a.warm(ctx, bestCallers); err != nil {
				return o, err
			}
			o.add("claims", volley(bestCallers, func(i int) answer {
				return claim(ctx, a.buyer(i), o.event, client.HoldRequest{
					BestAvailable: &client.BestRequest{Quantity: blockSeats, Section: blocksSection, Together: i%2 == 0},
				})
			}))
			return a.finish(ctx, o)
		},
		judge: func(o *observation) *verdict {
			v := new(verdict)
			p := o.phase("claims")
			v.distribution(2, p, exactly(blocks, created), exactly(bestCallers-blocks, noBlock))
			for _, h := range p.winners() {
				if !together(h) || len(h.Warnings) > 0 {
					v.breach(3, "seats that do not stand together were given as a block: %v", seatsOf([]*client.Hold{h}))
				}
			}
			v.held(o, p.winners())
			return v
		},
	}
}

// together reports whether a hold's seats are one whole block of the section of blocks, whose rows
// have as many seats as are asked for.
func together(h *client.Hold) bool {
	row := ""
	for _, l := range h.Lines {
		at := strings.LastIndexByte(l.Seat, '-')
		if at < 0 || l.Section != blocksSection || (row != "" && l.Seat[:at] != row) {
			return false
		}
		row = l.Seat[:at]
	}
	return len(h.Lines) == blockSeats
}

func withheldSeat() Race {
	return Race{
		Name: "withheld-seat", Promises: []int{2, 3},
		Claim:    fmt.Sprintf("%d callers post a withheld seat by hand, alone, in a basket and with a guessed code; then it is released to the public", withheldCallers),
		Promised: "not_on_sale for everybody, nothing held; once released, exactly one has it",
		run:      runWithheld,
		judge: func(o *observation) *verdict {
			v := new(verdict)
			v.distribution(2, o.phase("posted by hand"), exactly(withheldCallers, closed))
			v.distribution(3, o.phase("in a basket with a free seat"), exactly(withheldCallers, closed))
			v.distribution(2, o.phase("with a guessed code"), exactly(withheldCallers, closed))
			p := o.phase("released to the public")
			v.distribution(2, p, exactly(1, created), exactly(withheldReleasers-1, lostHeld))
			v.held(o, p.winners())
			return v
		},
	}
}

func runWithheld(ctx context.Context, a *arena) (*observation, error) {
	r := a.eventRequest("withheld seat")
	channel, public := withheld, "public"
	r.Channels = []client.ChannelRequest{{ID: withheld, Name: "Withheld", AccessCodes: []string{}}}
	r.Allocations = append(r.Allocations, client.AllocationRule{
		Where: client.AllocationWhere{Seats: []string{a.seat(0)}}, Set: client.AllocationSet{Channel: &channel},
	})
	o, err := a.open(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := a.warm(ctx, withheldCallers); err != nil {
		return o, err
	}
	o.add("posted by hand", volley(withheldCallers, func(i int) answer {
		return claim(ctx, a.buyer(i), o.event, seats(a.seat(0)))
	}))
	o.add("in a basket with a free seat", volley(withheldCallers, func(i int) answer {
		return claim(ctx, a.buyer(i), o.event, seats(a.seat(i+1), a.seat(0)))
	}))
	o.add("with a guessed code", volley(withheldCallers, func(i int) answer {
		return claim(ctx, a.buyer(i), o.event, seats(a.seat(0)), client.AccessCode(fmt.Sprintf("guess-%04d", i)))
	}))
	_, err = a.organizer().PatchAllocations(ctx, o.event, client.AllocationRule{
		Where: client.AllocationWhere{Channels: []string{withheld}}, Set: client.AllocationSet{Channel: &public},
	})
	if err != nil {
		return o, fmt.Errorf("releasing the withheld seat: %w", err)
	}
	o.add("released to the public", volley(withheldReleasers, func(i int) answer {
		return claim(ctx, a.buyer(i), o.event, seats(a.seat(0)))
	}))
	return a.finish(ctx, o)
}
