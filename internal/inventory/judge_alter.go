package inventory

// JudgeAlteration decides whether allocations may be dropped, and areas become smaller: not while what
// would be taken away is held or sold. Holds that have lapsed stand in nobody's way; the effects end
// them, as far as they do. With a Refusal ChangeUnsafe there are none.
//
// Units that have no allocation, and areas that become larger, need no judgement and get none.
func JudgeAlteration(now Instant, terms *Terms, rows Rows, drop []Unit, resize []Resize) (*Effects, *Refusal) {
	b := newBench(now, terms, rows)
	refusal := refuse(ChangeUnsafe)
	for _, u := range drop {
		b.vacate(u, 0, refusal)
	}
	for _, r := range resize {
		b.vacate(r.Unit, r.Capacity, refusal)
	}
	if refusal.Total > 0 {
		return nil, refusal
	}
	return b.effects(), nil
}

// vacate ends lapsed holds on a unit until no more than capacity is in use, and says so where more stays.
func (b *bench) vacate(u Unit, capacity int64, refusal *Refusal) {
	uc := b.unit(u)
	for uc.Held+uc.Reserved > capacity && b.readLapsed(uc, uc.next) {
		if b.lapsedQuantity(uc, uc.next) > 0 {
			k := uc.lapsed[uc.next]
			b.end(k, b.hold(k))
		}
		uc.next++
	}
	if uc.Held+uc.Reserved > capacity {
		refusal.unsafe(uc.Allocation, capacity)
	}
}

// unsafe adds an allocation of which more is in use than the capacity it shall have.
func (r *Refusal) unsafe(a Allocation, capacity int64) {
	r.Total++
	if len(r.Conflicts) == conflictsMax {
		return
	}
	c := Conflict{Unit: a.Unit, Reason: ReasonHeld}
	if a.Reserved > capacity {
		c.Reason = ReasonSold
	}
	if !a.Seat {
		c.Requested, c.Held, c.Reserved = capacity, a.Held, a.Reserved
	}
	r.Conflicts = append(r.Conflicts, c)
}
