package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/internal/inventory"
)

// A class is what of an answer a correct store has no choice about, as text: what is held until when,
// or why not and of which units. Two answers of one class are the same answer.

// amounts are how much of what: unit and ticket type to quantity.
type amounts map[[2]int]int64

func amountsOf(lines []inventory.Line) amounts {
	a := make(amounts)
	for _, l := range lines {
		a[[2]int{int(l.Unit), l.Type}] += l.Quantity
	}
	return a
}

func (a amounts) String() string {
	var parts []string
	for k, q := range a {
		if q > 0 {
			parts = append(parts, fmt.Sprintf("%02d/%d×%d", k[0], k[1], q))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func holdClass(a amounts, deadline inventory.Instant) string {
	return fmt.Sprintf("held %s until %d", a, deadline)
}

// lost is a unit that could not be had. What is free of it counts for areas only.
type lost struct {
	unit   inventory.Unit
	reason inventory.Reason
	free   int64
}

func lostClass(all []lost) string {
	parts := make([]string, len(all))
	for i, l := range all {
		parts[i] = fmt.Sprintf("%02d:%s:%d", l.unit, l.reason, l.free)
	}
	slices.Sort(parts)
	return string(inventory.AllocationUnavailable) + " " + strings.Join(parts, " ")
}

func refusalClass(r *inventory.Refusal) string {
	if r == nil {
		return "no refusal"
	}
	if r.Code != inventory.AllocationUnavailable {
		return string(r.Code)
	}
	all := make([]lost, len(r.Conflicts))
	for i, c := range r.Conflicts {
		all[i] = lost{unit: c.Unit, reason: c.Reason}
		if c.Reason == inventory.ReasonSoldOut {
			all[i].free = c.Free
		}
	}
	return lostClass(all)
}

// outcomeClass classes the answer to a command. A release that found nothing answers as one that did:
// whoever asks twice may be told either.
func outcomeClass(out inventory.Outcome) string {
	switch {
	case out.Refusal != nil && out.Hold != nil:
		return "a hold and a refusal"
	case out.Refusal != nil:
		return refusalClass(out.Refusal)
	case out.Hold != nil:
		return holdClass(amountsOf(out.Hold.Lines), out.Hold.Deadline)
	}
	return "let go"
}

func orderClass(id string, a amounts, total int64, valid []bool) string {
	return fmt.Sprintf("order %s of %s for %d, valid %v", id, a, total, valid)
}

func orderClassOf(o *inventory.Order) string {
	valid := make([]bool, len(o.Tickets))
	for i, t := range o.Tickets {
		valid[i] = t.Valid
	}
	return orderClass(o.ID, amountsOf(o.Lines), o.Total, valid)
}

func answerClass(o *inventory.Order, r *inventory.Refusal) string {
	switch {
	case o != nil && r != nil:
		return "an order and a refusal"
	case o != nil:
		return orderClassOf(o)
	}
	return refusalClass(r)
}

// alterClass classes the answer to an alteration: one that finds its own effect has happened.
func alterClass(err error) string {
	_, replayed := errors.AsType[*inventory.Recorded](err)
	refusal, refused := errors.AsType[*inventory.Refusal](err)
	switch {
	case err == nil || replayed:
		return "altered"
	case refused:
		return refusalClass(refusal)
	}
	return err.Error()
}
