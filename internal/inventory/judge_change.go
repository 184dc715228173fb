package inventory

import "slices"

// change judges additions and removals together, net per allocation, against what is free plus what
// the hold already has. A change that fails leaves the hold and its deadline as they were.
func (b *bench) change(c *Command) Outcome {
	hc, ok := b.alive(c.Key)
	if !ok {
		return Outcome{Refusal: b.dead(c.Key)}
	}
	lines, r := subtract(hc.is.Lines, c.Remove)
	wants, retype := b.own(hc.is.Lines, c)
	var added []Line
	if r == nil {
		added, r = b.price(wants, c.Code)
	}
	if r != nil {
		return Outcome{Refusal: r}
	}
	lines = merge(lines, added)
	if len(lines) == 0 {
		return Outcome{Refusal: invalid("/remove", "EMPTY", "a hold cannot be emptied; release it")}
	}
	if lines, r = b.retype(lines, retype, c.Code); r != nil {
		return Outcome{Refusal: r}
	}
	if len(added) > 0 {
		if r = b.mayAdd(hc.is.Lines, lines, c.ByKey); r != nil {
			return Outcome{Refusal: r}
		}
	}
	more, fewer := net(hc.is.Lines, lines)
	if r = b.fits(more); r != nil {
		return Outcome{Refusal: r}
	}
	warnings, r := b.mayLeave(c, hc.is.Lines, lines, more)
	if r != nil {
		return Outcome{Refusal: r}
	}
	if slices.Equal(lines, hc.is.Lines) {
		return Outcome{Hold: hc.is, Warnings: warnings}
	}
	h := *hc.is
	h.Lines = lines
	if len(added) > 0 {
		h.Deadline = b.restarted(&h)
	}
	hc.is = &h
	for _, n := range fewer {
		b.unit(n.unit).Held -= n.quantity
		b.freed++
	}
	b.take(more)
	b.write(LogEntry{Kind: LogChanged, By: c.By, Key: c.Key, Units: append(deltas(more, 1), deltas(fewer, -1)...)})
	return Outcome{Hold: &h, Warnings: warnings}
}

// mayAdd holds a change that adds to the rules of a claim: the event is on sale, the hold not too large.
func (b *bench) mayAdd(before, after []Line, byKey bool) *Refusal {
	if !b.terms.OnSaleAt(b.now) {
		return refuse(EventNotOnSale)
	}
	if n := sumLines(after); n > sumLines(before) {
		return b.limit(n, byKey)
	}
	return nil
}

// own sorts out the seats to be added that the hold already has: adding one does nothing, but the
// ticket type that is named for it counts.
func (b *bench) own(have []Line, c *Command) (wants, retype []Want) {
	retype = slices.Clone(c.Retype)
	for _, w := range c.Add {
		switch {
		case !b.unit(w.Unit).Seat || quantityOf(have, w.Unit) == 0:
			wants = append(wants, w)
		case w.Type >= 0:
			retype = append(retype, w)
		}
	}
	return wants, retype
}

// subtract takes wants from lines, the latest price first. What is not there is refused, and so is a
// want that does not say of which ticket type where there are several.
func subtract(lines []Line, remove []Want) ([]Line, *Refusal) {
	rest := slices.Clone(lines)
	var faults []Fault
	for _, w := range remove {
		if w.Type < 0 && typesOf(rest, w.Unit) > 1 {
			faults = append(faults, Fault{Field: w.TypeField, Code: faultRequired, Detail: "the hold has several ticket types of this"})
			continue
		}
		left := w.Quantity
		for i := len(rest) - 1; i >= 0 && left > 0; i-- {
			l := &rest[i]
			if l.Unit != w.Unit || (w.Type >= 0 && l.Type != w.Type) {
				continue
			}
			n := min(left, l.Quantity)
			l.Quantity -= n
			left -= n
		}
		if left > 0 {
			faults = append(faults, Fault{Field: w.Field, Code: faultNotHeld, Detail: "the hold does not have this"})
		}
	}
	if faults != nil {
		return nil, &Refusal{Code: Invalid, Faults: faults}
	}
	return slices.DeleteFunc(rest, func(l Line) bool { return l.Quantity == 0 }), nil
}

// typesOf counts the ticket types of a unit.
func typesOf(lines []Line, u Unit) int {
	seen := make(map[int]bool)
	for _, l := range lines {
		if l.Unit == u && l.Quantity > 0 {
			seen[l.Type] = true
		}
	}
	return len(seen)
}

// merge appends lines, adding quantities up where unit, type and price agree.
func merge(lines, added []Line) []Line {
	for _, a := range added {
		i := slices.IndexFunc(lines, func(l Line) bool { return l.Unit == a.Unit && l.Type == a.Type && l.Price == a.Price })
		if i >= 0 {
			lines[i].Quantity += a.Quantity
		} else {
			lines = append(lines, a)
		}
	}
	return lines
}

// retype sells seats of the hold as other ticket types, at today's price of the new type. What is kept
// stays with whoever holds it; what is new, as a ticket type is, is offered to whom the channel is open.
func (b *bench) retype(lines []Line, wants []Want, code *Code) ([]Line, *Refusal) {
	var faults []Fault
	var conflicts []Conflict
	for _, w := range wants {
		i := slices.IndexFunc(lines, func(l Line) bool { return l.Unit == w.Unit })
		uc := b.unit(w.Unit)
		switch {
		case i < 0:
			faults = append(faults, Fault{Field: w.TypeField, Code: faultNotHeld, Detail: "the hold does not have this seat"})
		case lines[i].Type == w.Type:
		case !uc.exists || !b.terms.Opens(b.terms.Classes[uc.Class].Channel, code):
			conflicts = append(conflicts, Conflict{Unit: w.Unit, Reason: ReasonNotOnSale, Requested: w.Quantity})
		case !slices.Contains(b.terms.Classes[uc.Class].Types, w.Type):
			faults = append(faults, Fault{Field: w.TypeField, Code: faultNotOffered, Detail: "not sold as this ticket type"})
		default:
			lines[i].Type, lines[i].Price = w.Type, b.terms.Types[w.Type].Price
		}
	}
	switch {
	case faults != nil:
		return nil, &Refusal{Code: Invalid, Faults: faults}
	case conflicts != nil:
		return nil, &Refusal{Code: AllocationUnavailable, Conflicts: conflicts}
	}
	return lines, nil
}

// net compares two states of a hold by allocation.
func net(before, after []Line) (more, fewer []unitQuantity) {
	was, is := perUnit(before), perUnit(after)
	for _, n := range is {
		if d := n.quantity - quantityOf(before, n.unit); d > 0 {
			more = append(more, unitQuantity{n.unit, d})
		}
	}
	for _, n := range was {
		if d := n.quantity - quantityOf(after, n.unit); d > 0 {
			fewer = append(fewer, unitQuantity{n.unit, d})
		}
	}
	return more, fewer
}
