package client

import (
	"encoding/json"
	"time"
)

// List is one page of a listing. Next is the cursor of the following page, nil on the last one.
type List[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"`
}

// Event is one performance on one seat map.
type Event struct {
	ID          string       `json:"id"`
	Reference   *string      `json:"reference"`
	Name        string       `json:"name"`
	State       string       `json:"state"` // draft, published, on_sale, paused, closed, cancelled
	StartsAt    time.Time    `json:"starts_at"`
	TimeZone    string       `json:"time_zone"` // IANA name, for display
	Venue       VenueRef     `json:"venue"`
	Map         string       `json:"map"`
	Currency    string       `json:"currency"` // ISO 4217
	TicketTypes []TicketType `json:"ticket_types"`
	Sale        SaleWindow   `json:"sale"`
	Limits      Limits       `json:"limits"`
	SingleSeats string       `json:"single_seats"` // off, nudge or strict
	// Metadata and Channels are shown to the organizer's key only.
	Metadata map[string]string `json:"metadata,omitzero"`
	Channels []Channel         `json:"channels,omitzero"`
}

// VenueRef names a venue inside an event.
type VenueRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// TicketType is what a unit is sold as, and so its price in minor units.
type TicketType struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Price int64  `json:"price"`
}

// TicketTypeRequest is a ticket type of an event being made or changed. Price is needed: nil is
// refused, so that nothing is ever sold for free by an omission; a price of 0 is given as one.
type TicketTypeRequest struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Price *int64 `json:"price,omitzero"`
}

// SaleWindow bounds claims in time, as judged by the store's clock. Nil ends are open.
type SaleWindow struct {
	StartsAt *time.Time `json:"starts_at"`
	EndsAt   *time.Time `json:"ends_at"`
}

// Limits of an event: lifetimes in seconds, counts in units.
type Limits struct {
	HoldSeconds    int64 `json:"hold_seconds"`
	HoldSecondsMax int64 `json:"hold_seconds_max"`
	UnitsPerHold   int64 `json:"units_per_hold"`
	UnitsPerBuyer  int64 `json:"units_per_buyer"`
}

// Channel says who may buy an allocation. Codes themselves are kept hashed, so only their count is shown.
type Channel struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	AccessCodes int    `json:"access_codes"`
}

// EventRequest creates an event. Copy, if set, takes everything not given from another event of the same organizer.
type EventRequest struct {
	Copy        *string             `json:"copy,omitzero"`
	Reference   *string             `json:"reference,omitzero"`
	Name        string              `json:"name,omitzero"`
	StartsAt    *time.Time          `json:"starts_at,omitzero"`
	TimeZone    string              `json:"time_zone,omitzero"`
	Map         string              `json:"map,omitzero"`
	Currency    string              `json:"currency,omitzero"`
	TicketTypes []TicketTypeRequest `json:"ticket_types,omitzero"`
	Sale        *SaleWindow         `json:"sale,omitzero"`
	Limits      *LimitsRequest      `json:"limits,omitzero"`
	SingleSeats string              `json:"single_seats,omitzero"` // off, nudge (the default) or strict
	Metadata    map[string]string   `json:"metadata,omitzero"`
	Allocations []AllocationRule    `json:"allocations,omitzero"`
	Channels    []ChannelRequest    `json:"channels,omitzero"`
}

// EventPatch changes an event. What is nil stays. After publishing, the currency is fixed, the map changes
// by a MapPatch, and ticket types may be renamed, re-priced and added, but all that there are are named.
type EventPatch struct {
	Reference   *string             `json:"reference,omitzero"`
	Name        *string             `json:"name,omitzero"`
	StartsAt    *time.Time          `json:"starts_at,omitzero"`
	TimeZone    *string             `json:"time_zone,omitzero"`
	Map         *string             `json:"map,omitzero"`
	Currency    *string             `json:"currency,omitzero"`
	TicketTypes []TicketTypeRequest `json:"ticket_types,omitzero"`
	Sale        *SaleWindow         `json:"sale,omitzero"`
	Limits      *LimitsRequest      `json:"limits,omitzero"`
	SingleSeats *string             `json:"single_seats,omitzero"` // may change until the event is closed
	Metadata    *map[string]string  `json:"metadata,omitzero"`
}

// LimitsRequest sets some of the limits; nil keeps the default or the present value.
type LimitsRequest struct {
	HoldSeconds    *int64 `json:"hold_seconds,omitzero"`
	HoldSecondsMax *int64 `json:"hold_seconds_max,omitzero"`
	UnitsPerHold   *int64 `json:"units_per_hold,omitzero"`
	UnitsPerBuyer  *int64 `json:"units_per_buyer,omitzero"`
}

// AllocationRule says for some units in which channel and as which ticket types they are sold.
// On an event being created the rules are applied in order at publishing; as the body of
// PATCH …/allocations they apply at once.
type AllocationRule struct {
	Where  AllocationWhere `json:"where"`
	Set    AllocationSet   `json:"set"`
	DryRun bool            `json:"dry_run,omitzero"`
}

// AllocationWhere selects the union of what it names; All selects every unit.
type AllocationWhere struct {
	All      bool     `json:"all,omitzero"`
	Sections []string `json:"sections,omitzero"`
	Rows     []string `json:"rows,omitzero"`
	Seats    []string `json:"seats,omitzero"`
	Areas    []string `json:"areas,omitzero"`
	Channels []string `json:"channels,omitzero"`
}

// AllocationSet holds the new values; what is absent stays. The first ticket type is the default.
// Withheld units are in a channel that nobody can open. Exclude gives units no allocation at all:
// it stands alone, and only in the rules of an event that is not published yet. Capacity is of areas, in
// units, and not below what is held and sold of them.
type AllocationSet struct {
	Channel     *string  `json:"channel,omitzero"`
	TicketTypes []string `json:"ticket_types,omitzero"`
	Exclude     bool     `json:"exclude,omitzero"`
	Capacity    *int64   `json:"capacity,omitzero"`
}

// WithheldChannel is the channel that nobody can open; PublicChannel is open to everybody. To withhold
// units is to move them to the one, to release them to move them to the other.
const (
	WithheldChannel = "withheld"
	PublicChannel   = "public"
)

// AllocationResult says how many allocations a rule selects and how many it changes, and what becomes
// of which. Of a dry run, Conflicts say why it would be refused as things stand.
type AllocationResult struct {
	DryRun         bool             `json:"dry_run"`
	Selected       int              `json:"selected"`
	Changed        int              `json:"changed"`
	Version        int64            `json:"version"`
	Units          UnitCounts       `json:"units"` // of what is changed
	Changes        []ClassChange    `json:"changes"`
	Capacities     []CapacityChange `json:"capacities"`
	Conflicts      []Conflict       `json:"conflicts,omitzero"`
	ConflictsTotal int              `json:"conflicts_total,omitzero"`
}

// UnitCounts counts units.
type UnitCounts struct {
	Free int64 `json:"free"`
	Held int64 `json:"held"`
	Sold int64 `json:"sold"`
}

// ClassChange is allocations that were on sale in one way and are then in another. From or To is null
// for none; Keys are those of the first.
type ClassChange struct {
	From        *ClassName `json:"from"`
	To          *ClassName `json:"to"`
	Allocations int        `json:"allocations"`
	Units       UnitCounts `json:"units"`
	Keys        []string   `json:"keys"`
}

// ClassName is a way of being on sale.
type ClassName struct {
	Channel     string   `json:"channel"`
	TicketTypes []string `json:"ticket_types"`
}

// CapacityChange is an area that becomes larger or smaller, in units.
type CapacityChange struct {
	Area string `json:"area"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// MapPatch moves a published event to another version of its venue's map.
type MapPatch struct {
	Map    string `json:"map"`
	DryRun bool   `json:"dry_run,omitzero"`
}

// MapChange says what another version of its map means for an event, seat by seat and area by area.
// ForSale is how many of those added are for sale, by the event's rules. Of a dry run, Conflicts say why
// it would be refused as things stand.
type MapChange struct {
	DryRun         bool             `json:"dry_run"`
	Map            string           `json:"map"`
	Version        int64            `json:"version"`
	Added          NamedUnits       `json:"added"`
	ForSale        int              `json:"for_sale"`
	Dropped        NamedUnits       `json:"dropped"`
	Moved          NamedUnits       `json:"moved"`
	Relabelled     NamedUnits       `json:"relabelled"`
	Capacities     []CapacityChange `json:"capacities"`
	Conflicts      []Conflict       `json:"conflicts,omitzero"`
	ConflictsTotal int              `json:"conflicts_total,omitzero"`
}

// NamedUnits counts seats and areas; Keys are those of the first.
type NamedUnits struct {
	Count int      `json:"count"`
	Keys  []string `json:"keys"`
}

// ChannelRequest creates or replaces a channel. AccessCodes nil keeps the present ones; empty closes the channel.
type ChannelRequest struct {
	ID          string   `json:"id,omitzero"`
	Name        string   `json:"name,omitzero"`
	AccessCodes []string `json:"access_codes,omitzero"`
}

// Venue is a place with seat maps.
type Venue struct {
	ID        string            `json:"id"`
	Reference *string           `json:"reference"`
	Name      string            `json:"name"`
	Metadata  map[string]string `json:"metadata"`
}

// VenueRequest creates a venue or, with PATCH, changes it.
type VenueRequest struct {
	Reference *string            `json:"reference,omitzero"`
	Name      *string            `json:"name,omitzero"`
	Metadata  *map[string]string `json:"metadata,omitzero"`
}

// Map is one version of a seat map; a version never changes. Its drawing is at …/maps/{map} of its
// venue for the organizer and at …/map of each published event for everybody.
type Map struct {
	ID      string `json:"id"`
	Venue   string `json:"venue"`
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Seats   int    `json:"seats"`
	Areas   int    `json:"areas"`
}

// Key is an API key without its secret.
type Key struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role"` // organizer or scanner
	Hint      string     `json:"hint"` // the first characters, to tell keys apart
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	// Secret is present only in the answer that made the key, and its replays.
	Secret string `json:"secret,omitzero"`
}

// KeyRequest creates a key.
type KeyRequest struct {
	Name string `json:"name"`
	Role string `json:"role,omitzero"`
}

// Offer is what may be bought with one access code, or without.
type Offer struct {
	Version int64               `json:"version"`
	Seats   []OfferRun          `json:"seats"`
	Areas   map[string][]string `json:"areas"`
}

// OfferRun is a run of seats, by index in the map's seat order, sold as the same ticket types.
type OfferRun struct {
	From        int      `json:"from"`
	Count       int      `json:"count"`
	TicketTypes []string `json:"ticket_types"`
}

// Board is every unit's state at one position: two bits a seat, low bits first, base64:
// 0 free, 1 held, 2 sold, 3 no allocation. A withheld seat is free like any other: the offer says
// who may buy it.
type Board struct {
	Position string               `json:"position"`
	Map      string               `json:"map"` // whose seat order Seats is in
	State    string               `json:"state"`
	Seats    []byte               `json:"seats"`
	Areas    map[string]BoardArea `json:"areas"`
}

// BoardArea counts one general-admission area.
type BoardArea struct {
	Capacity int64 `json:"capacity"`
	Held     int64 `json:"held"`
	Reserved int64 `json:"reserved"`
}

// Changes is what happened after a position, as absolute values. With Resync the reader
// must fetch the board again; the rest is then empty.
type Changes struct {
	Position string               `json:"position"`
	Map      string               `json:"map"` // another one than before: fetch the drawing again
	State    string               `json:"state"`
	Resync   bool                 `json:"resync"`
	Offer    int64                `json:"offer"` // version of the offer at this position
	Seats    [][2]int             `json:"seats"` // [index, state]
	Areas    map[string]BoardArea `json:"areas"`
}

// HoldRequest claims units: seats and areas, or best_available, which stands alone.
type HoldRequest struct {
	Seats         []string          `json:"seats,omitzero"`
	TicketTypes   map[string]string `json:"ticket_types,omitzero"`
	Areas         []AreaRequest     `json:"areas,omitzero"`
	BestAvailable *BestRequest      `json:"best_available,omitzero"`
	Reference     *string           `json:"reference,omitzero"`
	Metadata      map[string]string `json:"metadata,omitzero"`
	TTLSeconds    *int64            `json:"ttl_seconds,omitzero"` // with an organizer's key only
}

// AreaRequest asks for some units of a general-admission area.
type AreaRequest struct {
	Area       string `json:"area"`
	Quantity   int64  `json:"quantity"`
	TicketType string `json:"ticket_type,omitzero"`
}

// BestRequest asks for the best seats that are free: together if any are, else in two rows, else apart, as the
// hold's warnings then say. Only Quantity is required. Accessible is how many of them must be accessible
// places. Together refuses (409, no_block) all but seats beside one another.
type BestRequest struct {
	Quantity   int64  `json:"quantity"`
	TicketType string `json:"ticket_type,omitzero"`
	Section    string `json:"section,omitzero"`
	Accessible int64  `json:"accessible,omitzero"`
	Together   bool   `json:"together,omitzero"`
}

// BasketPart is one side of a change; area quantities are deltas.
type BasketPart struct {
	Seats []string      `json:"seats,omitzero"`
	Areas []AreaRequest `json:"areas,omitzero"`
}

// HoldPatch changes a hold, all or nothing. TicketTypes names types for added seats and changes those of seats held.
type HoldPatch struct {
	Remove      *BasketPart       `json:"remove,omitzero"`
	Add         *BasketPart       `json:"add,omitzero"`
	TicketTypes map[string]string `json:"ticket_types,omitzero"`
}

// Hold is a short claim on units, owned by whoever has its token.
type Hold struct {
	ID          string            `json:"id"`
	Token       string            `json:"token,omitzero"` // only in the answer that made it, and its replays
	Event       string            `json:"event"`
	State       string            `json:"state"` // live or sold
	ExpiresAt   time.Time         `json:"expires_at"`
	ExpiresIn   int64             `json:"expires_in"` // seconds, by the store's clock, rounded down
	ExtendUntil time.Time         `json:"extend_until"`
	Order       *string           `json:"order"`
	Reference   *string           `json:"reference"`
	Metadata    map[string]string `json:"metadata"`
	Lines       []Line            `json:"lines"`
	Currency    string            `json:"currency"`
	Total       int64             `json:"total"`
	Warnings    []Warning         `json:"warnings"`
}

// Line is a seat, or some units of an area of one ticket type. Price and Amount are minor units.
type Line struct {
	Seat       string `json:"seat,omitzero"`
	Area       string `json:"area,omitzero"`
	Label      string `json:"label"`
	Section    string `json:"section,omitzero"`
	TicketType string `json:"ticket_type"`
	Quantity   int64  `json:"quantity"`
	Price      int64  `json:"price"`
	Amount     int64  `json:"amount"`
}

// Warning is advice that did not prevent a hold. SINGLE_SEAT_LEFT: the hold leaves this seat free with
// no free neighbour in its row; whoever adds it leaves nobody alone. ROWS_APART: best available found
// seats in two rows, one behind the other. SEATS_APART: it found seats in several places.
type Warning struct {
	Code string `json:"code"`
	Seat string `json:"seat,omitzero"`
}

// OrderRequest confirms a hold.
type OrderRequest struct {
	Hold      string            `json:"hold"`
	Buyer     *Buyer            `json:"buyer,omitzero"`
	Reference *string           `json:"reference,omitzero"`
	Metadata  map[string]string `json:"metadata,omitzero"`
	Payment   *PaymentRequest   `json:"payment,omitzero"`
}

// Buyer is who the tickets are for. An order by Hold-Token needs the address; one by key may do with a name.
type Buyer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// PaymentRequest says how the order is paid. `external` (the platform took the money) needs a key.
type PaymentRequest struct {
	Method    string  `json:"method"`
	Reference *string `json:"reference,omitzero"`
}

// Order is a hold that was bought.
type Order struct {
	ID        string            `json:"id"`
	Token     string            `json:"token,omitzero"` // only in answers to whoever has the hold's token
	Event     string            `json:"event"`
	Hold      string            `json:"hold"`
	State     string            `json:"state"` // confirmed or cancelled
	CreatedAt time.Time         `json:"created_at"`
	Buyer     *Buyer            `json:"buyer"`
	Reference *string           `json:"reference"`
	Metadata  map[string]string `json:"metadata"`
	Lines     []Line            `json:"lines"`
	Currency  string            `json:"currency"`
	Total     int64             `json:"total"`
	Payment   Payment           `json:"payment"`
	Tickets   []Ticket          `json:"tickets"`
}

// Payment of an order: none (free or paid later) or external. URL is where the buyer pays, null when nowhere.
type Payment struct {
	Method    string  `json:"method"`
	Reference *string `json:"reference"`
	URL       *string `json:"url"`
}

// Ticket is one unit of an order.
type Ticket struct {
	ID         string `json:"id"`
	Seat       string `json:"seat,omitzero"`
	Area       string `json:"area,omitzero"`
	Label      string `json:"label"`
	TicketType string `json:"ticket_type"`
	State      string `json:"state"` // valid or cancelled
}

// LogEntry is one line of an event's log: who had which unit when, and why it was let go.
type LogEntry struct {
	Number int64     `json:"number"`
	At     time.Time `json:"at"`
	// Kind is held, changed, extended, released, broken, expired, sold, returned, published, opened,
	// paused, closed, cancelled, repainted, remapped or edited.
	Kind   string    `json:"kind"`
	By     string    `json:"by"` // buyer, store, or the key's id
	Hold   *string   `json:"hold"`
	Order  *string   `json:"order"`
	Units  []LogUnit `json:"units"`
	Reason string    `json:"reason,omitzero"`
}

// LogUnit is a unit in a log entry; Quantity is negative for what was let go.
type LogUnit struct {
	Seat     string `json:"seat,omitzero"`
	Area     string `json:"area,omitzero"`
	Quantity int64  `json:"quantity"`
}

// Report sums an event up.
type Report struct {
	Event    string        `json:"event"`
	State    string        `json:"state"`
	Position string        `json:"position"`
	Capacity int64         `json:"capacity"`
	Held     int64         `json:"held"`
	Reserved int64         `json:"reserved"`
	Free     int64         `json:"free"`
	Orders   int64         `json:"orders"`
	Tickets  int64         `json:"tickets"` // valid ones
	Currency string        `json:"currency"`
	Total    int64         `json:"total"` // of valid tickets
	Sections []ReportUnits `json:"sections"`
}

// ReportUnits counts one section or area.
type ReportUnits struct {
	Key      string `json:"key"`
	Capacity int64  `json:"capacity"`
	Held     int64  `json:"held"`
	Reserved int64  `json:"reserved"`
}

// Problem is an error answer, application/problem+json. Act on Code.
type Problem struct {
	Type      string     `json:"type"`
	Title     string     `json:"title"`
	Status    int        `json:"status"`
	Code      string     `json:"code"`
	RequestID string     `json:"request_id"`
	Detail    string     `json:"detail,omitzero"`
	Conflicts []Conflict `json:"conflicts,omitzero"`
	// Alternatives may be there with ALLOCATION_UNAVAILABLE: what to ask for instead.
	Alternatives []Alternative `json:"alternatives,omitzero"`
	// ConflictsTotal is with CHANGE_UNSAFE how many conflicts there are; the first are listed.
	ConflictsTotal int     `json:"conflicts_total,omitzero"`
	Errors         []Fault `json:"errors,omitzero"`
	// RetryAfter is the Retry-After header in seconds, filled in by the client.
	RetryAfter int64 `json:"-"`
}

// Error makes a Problem an error.
func (p *Problem) Error() string {
	b, err := json.Marshal(p)
	if err != nil {
		return p.Code
	}
	return string(b)
}

// Conflict says of one unit why it could not be had: held, sold, not_on_sale, sold_out, no_block;
// or, with SINGLE_SEAT_LEFT, that the basket would leave it free between others: left_alone. With
// CHANGE_UNSAFE it says why the unit cannot be taken away; an area then has Held and Reserved, and
// Requested is the capacity that was asked for.
type Conflict struct {
	Seat      string `json:"seat,omitzero"`
	Area      string `json:"area,omitzero"`
	Label     string `json:"label,omitzero"`
	Reason    string `json:"reason"`
	Requested *int64 `json:"requested,omitzero"`
	Free      *int64 `json:"free,omitzero"`
	Held      *int64 `json:"held,omitzero"`
	Reserved  *int64 `json:"reserved,omitzero"`
}

// Alternative is seats to ask for in place of those of a request that lost some: as many, in its order,
// at the same price, together where those were. They were free a moment ago and may be gone. TicketTypes
// has the types that the request named, by the new seats, ready to be sent with them.
type Alternative struct {
	Seats       []string          `json:"seats"`
	TicketTypes map[string]string `json:"ticket_types,omitzero"`
}

// Fault is one thing wrong in a body; Field is a JSON Pointer. What stands elsewhere is named
// there: a query parameter such as "?after", or a header.
type Fault struct {
	Field  string `json:"field"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitzero"`
}
