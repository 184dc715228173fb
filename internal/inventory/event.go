package inventory

import (
	"slices"
	"time"
)

// Instant is a moment by the store's clock, in microseconds since 1970 UTC. Zero means none.
type Instant int64

// InstantOf converts a time; the zero time is no instant.
func InstantOf(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// Time converts to UTC; no instant is the zero time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Add moves an instant by seconds.
func (i Instant) Add(seconds int64) Instant { return i + Instant(seconds*1_000_000) }

// State is where an event is in its life: draft → published → on_sale ⇄ paused → closed, or cancelled.
type State string

// The states of an event.
const (
	Draft     State = "draft"
	Published State = "published"
	OnSale    State = "on_sale"
	Paused    State = "paused"
	Closed    State = "closed"
	Cancelled State = "cancelled"
)

// transitions lists, for each verb, the states it may start from and where it leads.
var transitions = map[string]struct {
	from []State
	to   State
	kind LogKind
}{
	"publish": {[]State{Draft}, Published, LogPublished},
	"open":    {[]State{Published, Paused}, OnSale, LogOpened},
	"pause":   {[]State{OnSale}, Paused, LogPaused},
	"close":   {[]State{Published, OnSale, Paused}, Closed, LogClosed},
	"cancel":  {[]State{Draft, Published, OnSale, Paused, Closed}, Cancelled, LogCancelled},
}

// Event is one performance on one seat map: what its organizer decided. Revision counts its
// changes; the store's row is the truth and a copy may be old.
type Event struct {
	ID        string
	Organizer string
	Venue     string
	VenueName string
	Map       string
	Former    []string `json:",omitzero"` // the maps it had before, oldest first; units are numbered by them
	MapSince  int64    `json:",omitzero"` // the revision that the present map came with; 0: it was the first
	// Unpublished: cancelled before it was published. The public never hears of it.
	Unpublished bool `json:",omitzero"`
	Reference   string
	Name        string
	StartsAt    Instant
	TimeZone    string
	Metadata    map[string]string
	Created     Instant
	Rules       []Rule // applied at publishing, and kept afterwards for events copied from this one
	Terms       Terms
	Revision    int64
}

// Rule assigns units to a channel and ticket types.
type Rule struct {
	Where   Where    `json:"where"`
	Channel string   `json:"channel,omitempty"` // empty: stays
	Types   []string `json:"types,omitempty"`   // empty: stays
	Exclude bool     `json:"exclude,omitempty"` // no allocation at all
	// Capacity of the areas named, in units; 0: stays.
	Capacity int64 `json:"capacity,omitzero"`
}

// Where selects the union of what it names.
type Where struct {
	All      bool     `json:"all,omitempty"`
	Sections []string `json:"sections,omitempty"`
	Rows     []string `json:"rows,omitempty"`
	Seats    []string `json:"seats,omitempty"`
	Areas    []string `json:"areas,omitempty"`
	Channels []string `json:"channels,omitempty"`
}

// Terms are what the judge needs to know of an event. Types, Channels and Classes are append-only
// once published, since allocations, holds and orders name them by index.
type Terms struct {
	State         State
	Currency      string
	SaleFrom      Instant // 0: no bound
	SaleUntil     Instant // 0: no bound
	HoldSeconds   int64
	HoldMax       int64 // absolute lifetime of a hold, seconds
	UnitsPerHold  int64
	UnitsPerBuyer int64
	SingleSeats   SingleSeats // what happens when a hold would leave a free seat alone
	Types         []TicketType
	Channels      []Channel // the first is the public one
	Classes       []Class   // what an allocation's class number means
}

// SingleSeats says what an event does about holds that leave a free seat alone. Empty is nudge.
type SingleSeats string

// The rules on single seats.
const (
	SinglesOff    SingleSeats = "off"    // nothing, and nothing is read for it
	SinglesNudge  SingleSeats = "nudge"  // the hold is made, with a warning
	SinglesStrict SingleSeats = "strict" // a buyer is refused where it could be avoided
)

// TicketType is what a unit is sold as. Price is in minor units.
type TicketType struct {
	ID    string
	Name  string
	Price int64
}

// Channel says who may buy. Codes are hashed with CodeHash.
type Channel struct {
	ID    string
	Name  string
	Codes []Code
}

// Code is a hashed access code.
type Code [16]byte

// PublicChannel is the channel that everybody may buy from.
const PublicChannel = "public"

// WithheldChannel is the channel that nobody can open: it never has a code. To withhold units is to
// move them there, to release them to move them to the public one.
const WithheldChannel = "withheld"

// Class is a way of being on sale: in one channel, as some ticket types, of which the first is the default.
type Class struct {
	Channel int
	Types   []int
}

// CodeHash hashes an access code for one event, so that equal codes of two events look different.
func CodeHash(event, code string) Code {
	sum := TokenHash("rowlock access code "+event, code)
	return Code(sum[:16])
}

// Opens reports whether a channel may be bought from with the given code (nil: none).
func (t *Terms) Opens(channel int, code *Code) bool {
	if channel == 0 {
		return true
	}
	return code != nil && channel < len(t.Channels) && slices.Contains(t.Channels[channel].Codes, *code)
}

// OnSaleAt reports whether claims are taken at an instant.
func (t *Terms) OnSaleAt(now Instant) bool {
	return t.State == OnSale && (t.SaleFrom == 0 || now >= t.SaleFrom) && (t.SaleUntil == 0 || now < t.SaleUntil)
}

// TypeIndex finds a ticket type by its id.
func (t *Terms) TypeIndex(id string) (int, bool) {
	i := slices.IndexFunc(t.Types, func(tt TicketType) bool { return tt.ID == id })
	return i, i >= 0
}

// ChannelIndex finds a channel by its id.
func (t *Terms) ChannelIndex(id string) (int, bool) {
	i := slices.IndexFunc(t.Channels, func(c Channel) bool { return c.ID == id })
	return i, i >= 0
}

// classOf returns the number of a class, appending it when it is new.
func (t *Terms) classOf(c Class) int {
	for i, have := range t.Classes {
		if have.Channel == c.Channel && slices.Equal(have.Types, c.Types) {
			return i
		}
	}
	t.Classes = append(t.Classes, c)
	return len(t.Classes) - 1
}

// clone returns a deep enough copy to change without touching readers of the old one.
func (e *Event) clone() *Event {
	c := *e
	c.Rules = slices.Clone(e.Rules)
	c.Former = slices.Clone(e.Former)
	c.Terms.Types = slices.Clone(e.Terms.Types)
	c.Terms.Channels = slices.Clone(e.Terms.Channels)
	c.Terms.Classes = slices.Clone(e.Terms.Classes)
	return &c
}
