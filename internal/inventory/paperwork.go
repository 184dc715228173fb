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

// RepaintResult says what a rule selects and changes.
type RepaintResult struct {
	Selected, Changed int
	Version           int64
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
