package inventory

// EventView is an event for somebody: Owner says whether the caller owns it.
type EventView struct {
	Event *Event
	Owner bool
}

// EventSpec describes an event to make; with Copy, what is absent comes from that event.
type EventSpec struct {
	Copy     string
	Fields   EventFields
	Rules    []Rule
	Channels []ChannelSpec
}

// EventFields are an event's settings; nil is absent.
type EventFields struct {
	Reference *string
	Name      *string
	StartsAt  *Instant
	TimeZone  *string
	Map       *string
	Currency  *string
	Types     []TicketType
	SaleFrom  *Instant // 0: no bound
	SaleUntil *Instant
	Metadata  *map[string]string
	// SingleSeats is one of the rules on single seats.
	SingleSeats *string

	HoldSeconds, HoldSecondsMax, UnitsPerHold, UnitsPerBuyer *int64
}

// ChannelSpec creates or replaces a channel. Codes nil keeps the present ones.
type ChannelSpec struct {
	ID    string
	Name  string
	Codes []string
}

// RepaintResult says what a rule selects and changes, in allocations.
type RepaintResult struct {
	Selected, Changed int
	Version           int64
	Units             Tally            // of what is changed
	Changes           []ClassChange    // in the map's order, at most changesMax
	Resizes           []CapacityChange // areas, in the map's order
	Unsafe            *Refusal         // of a dry run: why it would be refused now; nil when it would not be
}

// Tally counts units by what has become of them.
type Tally struct{ Free, Held, Sold int64 }

// ClassChange is allocations that were on sale in one way and are then in another.
type ClassChange struct {
	From, To    ClassName
	Allocations int
	Units       Tally
	First       []UnitName // at most namesMax
}

// ClassName is a way of being on sale, by the ids of its channel and ticket types.
type ClassName struct {
	Channel string
	Types   []string
}

// CapacityChange is an area that becomes larger or smaller, in units.
type CapacityChange struct {
	Area     string
	From, To int64
}

// RemapResult says what another version of its map means for an event.
type RemapResult struct {
	Map        string
	Version    int64
	Added      Named            // new on the map
	ForSale    int              // how many of those get an allocation
	Dropped    Named            // no longer on it
	Moved      Named            // drawn elsewhere or otherwise
	Relabelled Named            // called otherwise
	Resizes    []CapacityChange // areas, in the new map's order
	Unsafe     *Refusal         // of a dry run: why it would be refused now; nil when it would not be
}

// Named counts units and names the first, at most namesMax.
type Named struct {
	Count int
	First []UnitName
}

// LogView is a page of an event's log.
type LogView struct {
	Entries []LogEntry
	Layout  *Layout // has every unit of the entries
	Next    string
}

// ReportView sums an event up.
type ReportView struct {
	Event    *Event
	Position string
	Sums     Sums
	Units    AreaState // all of it
	Parts    []ReportPart
}

// ReportPart counts a section or an area.
type ReportPart struct {
	Key string
	AreaState
}

// VenueFields are a venue's settings; nil is absent.
type VenueFields struct {
	Reference *string
	Name      *string
	Metadata  *map[string]string
}
