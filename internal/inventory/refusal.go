package inventory

import (
	"errors"
	"fmt"
)

// RefusalCode says why something was refused. Act on it, never on a text.
type RefusalCode string

// The codes. Their HTTP status stands in package api, in one table.
const (
	AllocationUnavailable RefusalCode = "ALLOCATION_UNAVAILABLE" // with Conflicts
	EventNotOnSale        RefusalCode = "EVENT_NOT_ON_SALE"
	HoldExpired           RefusalCode = "HOLD_EXPIRED" // also: the token never was one of this event
	HoldSold              RefusalCode = "HOLD_SOLD"
	HoldLifetimeReached   RefusalCode = "HOLD_LIFETIME_REACHED"
	HoldLimitExceeded     RefusalCode = "HOLD_LIMIT_EXCEEDED"  // more units than one hold may have
	SingleSeatRefused     RefusalCode = "SINGLE_SEAT_LEFT"     // under the strict rule; Conflicts name the seats
	BuyerLimitExceeded    RefusalCode = "BUYER_LIMIT_EXCEEDED" // more units than one buyer may have
	Invalid               RefusalCode = "INVALID"              // with Faults
	Malformed             RefusalCode = "MALFORMED"            // not even the form of what was asked for; with Faults
	KeyReused             RefusalCode = "IDEMPOTENCY_KEY_REUSED"
	NotFound              RefusalCode = "NOT_FOUND"
	StateConflict         RefusalCode = "EVENT_STATE_CONFLICT" // the event is not in a state for this
	ReferenceTaken        RefusalCode = "REFERENCE_TAKEN"
	ChangeUnsafe          RefusalCode = "CHANGE_UNSAFE" // it would take away what is held or sold; with Conflicts and Total
	Forbidden             RefusalCode = "FORBIDDEN"     // needs an organizer's key
	Overloaded            RefusalCode = "OVERLOADED"    // a queue is full; try again
	Unavailable           RefusalCode = "UNAVAILABLE"   // the store did not answer; the outcome may be unknown
	Contended             RefusalCode = "CONTENDED"     // best available lost too often in a row; try again
)

// Reason says of one unit why it could not be had.
type Reason string

// The reasons.
const (
	ReasonHeld      Reason = "held"
	ReasonSold      Reason = "sold"
	ReasonNotOnSale Reason = "not_on_sale"
	ReasonSoldOut   Reason = "sold_out"
	ReasonNoBlock   Reason = "no_block"
	ReasonLeftAlone Reason = "left_alone" // it is free, and would be the only free seat between others
)

// Conflict is one unit that could not be had. Requested and Free are set for areas.
// Unit is -1 for a no_block. Seat or Area (their keys) and Label are for whoever was refused: the
// Service, which has the plan, fills them in.
type Conflict struct {
	Unit      Unit
	Seat      string
	Area      string
	Label     string
	Reason    Reason
	Requested int64
	Free      int64
	Held      int64 // with ChangeUnsafe, as the next
	Reserved  int64
}

// conflictsMax bounds how many of the units that stand in a change's way are named.
const conflictsMax = 100

// Fault is one thing wrong in what was asked; Field is a JSON Pointer into the body.
type Fault struct {
	Field  string
	Code   string
	Detail string
}

// Codes of faults that the judge finds.
const (
	faultNotOffered = "NOT_OFFERED" // the unit is not sold as this ticket type
	faultNotHeld    = "NOT_HELD"    // the hold does not have it
)

// Refusal is an answer of no. It is an error.
type Refusal struct {
	Code      RefusalCode
	Detail    string
	Conflicts []Conflict
	Total     int // with ChangeUnsafe: how many conflicts there are; at most conflictsMax are listed
	Faults    []Fault
	// Alternatives may be set with AllocationUnavailable, by the Service: what to ask for instead.
	Alternatives []Alternative
	// Order is set with HoldSold: what the hold became.
	Order string
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Detail != "" {
		return fmt.Sprintf("%s: %s", r.Code, r.Detail)
	}
	return string(r.Code)
}

// refuse is a Refusal with a code only.
func refuse(code RefusalCode) *Refusal { return &Refusal{Code: code} }

// invalid is a Refusal of one fault.
func invalid(field, code, detail string) *Refusal {
	return &Refusal{Code: Invalid, Faults: []Fault{{Field: field, Code: code, Detail: detail}}}
}

// ErrStale is answered by Alter when the event was changed since it was read.
var ErrStale = errors.New("inventory: the event has changed meanwhile")

// ErrNotFound is answered by stores for what does not exist.
var ErrNotFound = errors.New("inventory: not found")
