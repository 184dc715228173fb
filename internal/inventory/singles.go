package inventory

import (
	"cmp"
	"slices"
)

// single is a free seat that a hold leaves alone: it had a free neighbour in its row and has none left.
type single struct {
	seat Unit
	// avoidable: as many seats could be taken from the same free seats so that none is left alone. It
	// could not when exactly one of them remains, wherever the others are taken.
	avoidable bool
}

// singles finds the seats that are left alone, in seat order, when somebody has the taken ones, whatever
// of them was had before. free says of any other seat whether that buyer could take it now. Of a block
// it is asked about two seats at each end, and about more only beyond other seats that are taken.
func singles(taken []Unit, free func(Unit) bool, beside Beside) []single {
	var found []single
	left := func(u Unit) bool { return !slices.Contains(taken, u) && free(u) }
	for _, u := range taken {
		for _, step := range [...]int{-1, 1} {
			n, ok := beside.Next(u, step)
			if !ok || !left(n) || slices.ContainsFunc(found, func(s single) bool { return s.seat == n }) {
				continue
			}
			if beyond, ok := beside.Next(n, step); ok && left(beyond) {
				continue
			}
			found = append(found, single{n, remains(n, taken, left, beside)})
		}
	}
	slices.SortFunc(found, func(a, b single) int { return cmp.Compare(a.seat, b.seat) })
	return found
}

// remains reports whether a second seat is left of the free ones that a seat left alone was among: the
// first on either side that is not taken.
func remains(alone Unit, taken []Unit, left func(Unit) bool, beside Beside) bool {
	for _, step := range [...]int{-1, 1} {
		u, ok := beside.Next(alone, step)
		for ok && slices.Contains(taken, u) {
			u, ok = beside.Next(u, step)
		}
		if ok && left(u) {
			return true
		}
	}
	return false
}

// alone finds the seats that a hold with these lines would leave alone, when it has had others until now.
// What it has counts as taken, what it gives back and what has lapsed as free; another's hold, a sale,
// an aisle, and a seat that is not for this caller are walls.
func (b *bench) alone(c *Command, had, lines []Line) []single {
	if b.terms.SingleSeats == SinglesOff || c.Beside == nil {
		return nil
	}
	var taken []Unit
	for _, l := range lines {
		if b.unit(l.Unit).Seat {
			taken = append(taken, l.Unit)
		}
	}
	free := func(u Unit) bool {
		uc := b.unit(u)
		if !uc.exists || !uc.Seat || !b.terms.Opens(b.terms.Classes[uc.Class].Channel, c.Code) {
			return false
		}
		return quantityOf(had, u) > 0 || b.free(u, 1) >= 1
	}
	return singles(taken, free, c.Beside)
}

// refuseSingles is the strict rule: a buyer may not leave a seat alone where that could be avoided. An
// organizer's key may, and what the server itself chose is no buyer's fault. had are the seats that the
// hold leaves alone already, for which no further change is refused.
func (b *bench) refuseSingles(c *Command, found, had []single) *Refusal {
	if b.terms.SingleSeats != SinglesStrict || c.ByKey || c.Best {
		return nil
	}
	var conflicts []Conflict
	for _, s := range found {
		before := slices.ContainsFunc(had, func(h single) bool { return h.seat == s.seat })
		if s.avoidable && !before {
			conflicts = append(conflicts, Conflict{Unit: s.seat, Reason: ReasonLeftAlone})
		}
	}
	if conflicts == nil {
		return nil
	}
	return &Refusal{Code: SingleSeatRefused, Conflicts: conflicts}
}

// mayLeave judges a change by the hold it makes, as if that were claimed at once. A change that takes no
// seat is never refused: letting go must always be possible, whatever it leaves behind.
func (b *bench) mayLeave(c *Command, had, lines []Line, more []unitQuantity) ([]Warning, *Refusal) {
	found := b.alone(c, had, lines)
	if len(found) > 0 && slices.ContainsFunc(more, func(n unitQuantity) bool { return b.unit(n.unit).Seat }) {
		if r := b.refuseSingles(c, found, b.alone(c, had, had)); r != nil {
			return nil, r
		}
	}
	return warningsOf(found), nil
}

func warningsOf(found []single) []Warning {
	var warnings []Warning
	for _, s := range found {
		warnings = append(warnings, Warning{Code: SingleSeatLeft, Unit: s.seat})
	}
	return warnings
}

// Next implements Beside.
func (l *Layout) Next(u Unit, step int) (Unit, bool) {
	place, ok := l.Place(u)
	if !ok || place >= len(l.Plan.Seats) {
		return 0, false
	}
	run, next := l.Plan.RunOf(place), place+step
	if next < run.From || next >= run.From+run.Count {
		return 0, false
	}
	return l.Unit(next), true
}
