package inventory

import (
	"context"
)

// Catalogue is what the Service needs of paperwork: venues, maps, events before they are contended,
// and reading what was written. Package records fulfils it, once, in portable SQL.
//
// Writers take an optional Record: when one with its ID exists, nothing is written and the answer is
// a *Recorded (same Body) or a Refusal KeyReused (another); otherwise it is kept in the same
// transaction. A reference in use is a Refusal ReferenceTaken; what does not exist, or belongs to
// another organizer, is ErrNotFound. Lists are in id order, after an id (empty: from the start), at
// most limit long, and filtered by reference when it is not empty.
type Catalogue interface {
	InsertVenue(ctx context.Context, v *Venue, rec *Record) error
	UpdateVenue(ctx context.Context, v *Venue, rec *Record) error
	Venue(ctx context.Context, organizer, id string) (*Venue, error)
	Venues(ctx context.Context, organizer string, p Page) ([]*Venue, error)

	// InsertMap stores a map and sets m.Version to the next of its venue before it calls answer
	// (nil without a record) to learn what the record shall keep.
	InsertMap(ctx context.Context, m *MapVersion, data []byte, rec *Record, answer func() ([]byte, error)) error
	Map(ctx context.Context, id string) (*MapVersion, []byte, error)
	Maps(ctx context.Context, venue string, p Page) ([]*MapVersion, error)

	// InsertEvents stores new events, all or none, with their position rows at 0.
	InsertEvents(ctx context.Context, events []*Event, rec *Record) error
	// Events lists an organizer's events, or, with an empty organizer, those of everybody that are
	// neither draft nor cancelled.
	Events(ctx context.Context, organizer string, p Page) ([]*Event, error)

	Order(ctx context.Context, event, id string) (*Order, error)
	OrderByHold(ctx context.Context, event string, key HoldKey) (*Order, error)
	OrderByTicket(ctx context.Context, event, ticket string) (*Order, error)
	Orders(ctx context.Context, event string, p Page) ([]*Order, error)
	// HoldByReference finds a live or lapsed hold row; the Service asks the store whether it lives.
	HoldByReference(ctx context.Context, event, reference string) (HoldKey, error)
	// Log lists an event's log after a number.
	Log(ctx context.Context, event string, after int64, limit int) ([]LogEntry, error)
	// Sums adds an event's orders up.
	Sums(ctx context.Context, event string) (Sums, error)

	// Recorded answers as a writer would that found a record with this ID: a *Recorded (same Body) or
	// a Refusal KeyReused (another), and nil when none is in force. It is asked before a command is
	// judged, because what the command did may be why it would be refused now.
	Recorded(ctx context.Context, id CommandID, body [32]byte) error
}

// Page is a slice of a listing.
type Page struct {
	After     string
	Limit     int
	Reference string
}

// Venue is a place, owned by an organizer.
type Venue struct {
	ID        string
	Organizer string
	Reference string
	Name      string
	Metadata  map[string]string
	Created   Instant
}

// MapVersion is one version of a venue's seat map, without its drawing. It never changes.
type MapVersion struct {
	ID        string
	Venue     string
	Organizer string
	Version   int64
	Name      string
	Seats     int
	Areas     int
	Created   Instant
}

// Sums of an event. Total is minor units, of valid tickets.
type Sums struct {
	Orders  int64 // confirmed ones
	Tickets int64 // valid ones
	Total   int64
}

// Recorded is answered by a writer that found its own earlier effect under the same command id.
type Recorded struct{ Record Record }

// Error implements error.
func (r *Recorded) Error() string { return "inventory: the change was made before" }
