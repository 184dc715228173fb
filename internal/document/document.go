// Package document knows how a map, or a whole event, stands in a file: what export writes and import
// reads. A map is a document of the seat map's own format; an event is one of [EventFormat], with what
// its organizer decided, the venue and the map, and without secrets and buyers.
//
// Reading judges everything that can be judged without a store, and says of each fault where it is.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	// EventFormat is the format of a whole event, as it stands in the document's "format" member. A
	// map alone is a document of seatmap.Format.
	EventFormat = "rowlock-event/1"
	// BytesMax bounds a document: a map that a server takes, written with a line a seat, and the
	// event around it. The caller of Read keeps it.
	BytesMax = 32 << 20
)

// eventDocument is a whole event in a file: what its organizer decided, and the venue and the map it
// takes place in. Event is what POST /v1/events takes, without map and copy. No secrets and no buyers
// are in it.
type eventDocument struct {
	Format string              `json:"format"`
	Venue  client.VenueRequest `json:"venue"`
	Event  client.EventRequest `json:"event"`
	Map    jsontext.Value      `json:"map"`
}

// Document is a file that was read: a map, and perhaps an event on it.
type Document struct {
	Drawing []byte // of the map, in canonical form
	Plan    *seatmap.Plan
	Venue   client.VenueRequest  // of a map alone: a venue of its name
	Event   *client.EventRequest // without a map; nil for a map alone
	Spec    inventory.EventSpec  // what Event asks for
}

// Read reads a map or an event and judges all of it that can be judged without a store. An event is
// given to change before it is judged. The error is an *inventory.Refusal with faults, Malformed or
// Invalid, whose pointers lead into data.
func Read(data []byte, change func(*client.EventRequest)) (*Document, error) {
	var head struct {
		Format jsontext.Value `json:"format"`
	}
	// What is no JSON text is read as a map, and refused as one.
	if json.Unmarshal(data, &head) == nil {
		switch format := string(head.Format); {
		case format == strconv.Quote(EventFormat):
			return readEvent(data, change)
		case format != strconv.Quote(seatmap.Format):
			return nil, faulty("/format", seatmap.CodeUnsupportedFormat, fmt.Sprintf("This reads the formats %q and %q.", EventFormat, seatmap.Format))
		}
	}
	return readMap(data, "")
}

// readMap reads a drawing; at is the pointer to where it stands in the file.
func readMap(data []byte, at string) (*Document, error) {
	m, err := seatmap.Parse(data)
	if err == nil {
		var canonical []byte
		if canonical, err = m.Encode(); err == nil {
			return &Document{Drawing: canonical, Plan: seatmap.NewPlan(m), Venue: client.VenueRequest{Name: &m.Name}}, nil
		}
	}
	bad, ok := errors.AsType[*seatmap.InvalidError](err)
	if !ok {
		return nil, err
	}
	refusal := &inventory.Refusal{Code: inventory.Invalid}
	if bad.Malformed {
		refusal.Code = inventory.Malformed
	}
	for _, f := range bad.Faults {
		refusal.Faults = append(refusal.Faults, inventory.Fault{Field: at + f.Field, Code: f.Code, Detail: f.Detail})
	}
	return nil, refusal
}

func readEvent(data []byte, change func(*client.EventRequest)) (*Document, error) {
	var in eventDocument
	if err := api.Decode(data, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Event.Map != "":
		return nil, faulty("/event/map", seatmap.CodeUnknownField, "The event takes place on the map of this file.")
	case in.Event.Copy != nil:
		return nil, faulty("/event/copy", seatmap.CodeUnknownField, "An event in a file is whole.")
	case len(in.Map) == 0:
		return nil, faulty("/map", seatmap.CodeRequired, "There is no map.")
	case in.Venue.Name == nil:
		return nil, faulty("/venue/name", seatmap.CodeRequired, "A venue has a name.")
	}
	change(&in.Event)
	d, err := readMap(in.Map, "/map")
	if err != nil {
		return nil, err
	}
	d.Venue, d.Event = in.Venue, &in.Event
	if d.Spec, err = api.Spec(d.Event); err == nil {
		err = inventory.CheckSpec(d.Spec, d.Plan)
	}
	return d, within("/event", err)
}

// faulty is a refusal of one fault.
func faulty(field, code, detail string) error {
	return &inventory.Refusal{Code: inventory.Invalid, Faults: []inventory.Fault{{Field: field, Code: code, Detail: detail}}}
}

// within puts the faults of a refusal under the pointer of what was refused.
func within(at string, err error) error {
	refusal, ok := errors.AsType[*inventory.Refusal](err)
	if !ok {
		return err
	}
	inside := *refusal
	inside.Faults = slices.Clone(refusal.Faults)
	for i := range inside.Faults {
		inside.Faults[i].Field = at + inside.Faults[i].Field
	}
	return &inside
}

// OfEvent writes an event as a document, compact: the same event is always the same bytes.
func OfEvent(c *inventory.Carried) ([]byte, error) {
	e := c.Event
	event := client.EventRequest{
		Reference: given(e.Reference), Name: e.Name, StartsAt: momentOf(e.StartsAt), TimeZone: e.TimeZone, Currency: e.Terms.Currency,
		Limits: &client.LimitsRequest{
			HoldSeconds: &e.Terms.HoldSeconds, HoldSecondsMax: &e.Terms.HoldMax,
			UnitsPerHold: &e.Terms.UnitsPerHold, UnitsPerBuyer: &e.Terms.UnitsPerBuyer,
		},
		SingleSeats: string(e.Terms.SingleSeats),
	}
	if len(e.Metadata) > 0 {
		event.Metadata = e.Metadata
	}
	if e.Terms.SaleFrom != 0 || e.Terms.SaleUntil != 0 {
		event.Sale = &client.SaleWindow{StartsAt: momentOf(e.Terms.SaleFrom), EndsAt: momentOf(e.Terms.SaleUntil)}
	}
	for _, t := range e.Terms.Types {
		event.TicketTypes = append(event.TicketTypes, client.TicketTypeRequest{ID: t.ID, Name: t.Name, Price: &t.Price})
	}
	for _, channel := range e.Terms.Channels[1:] {
		event.Channels = append(event.Channels, client.ChannelRequest{ID: channel.ID, Name: channel.Name})
	}
	for _, r := range c.Rules {
		event.Allocations = append(event.Allocations, client.AllocationRule{
			Where: client.AllocationWhere(r.Where),
			Set:   client.AllocationSet{Channel: given(r.Channel), TicketTypes: r.Types, Exclude: r.Exclude, Capacity: capacityOf(r)},
		})
	}
	venue := client.VenueRequest{Reference: given(c.Venue.Reference), Name: &c.Venue.Name}
	if len(c.Venue.Metadata) > 0 {
		venue.Metadata = &c.Venue.Metadata
	}
	data, err := json.Marshal(eventDocument{Format: EventFormat, Venue: venue, Event: event, Map: c.Drawing}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write the event: %w", err)
	}
	return data, nil
}

// capacityOf is the capacity that a rule sets; absent when it sets none.
func capacityOf(r inventory.Rule) *int64 {
	if r.Capacity == 0 {
		return nil
	}
	return &r.Capacity
}

// given is a text that may be absent.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// momentOf is an instant that may be absent.
func momentOf(i inventory.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}

// LayOut writes compact JSON for people: a line for each value that holds no other list or object, so that a
// seat is a line, and two versions of a map can be compared by lines.
func LayOut(data []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(data) * 5 / 4)
	layOut(&b, data, "\n")
	b.WriteByte('\n')
	return b.Bytes()
}

// layOut writes one compact value; newline is a line's end with the indentation of the next.
func layOut(b *bytes.Buffer, v jsontext.Value, newline string) {
	if !nests(v) {
		b.Write(v)
		return
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v))
	open, _ := d.ReadToken() // of what was marshalled: no error is possible
	b.WriteString(open.String())
	for first := true; d.PeekKind() != '}' && d.PeekKind() != ']'; first = false {
		if !first {
			b.WriteByte(',')
		}
		b.WriteString(newline + "  ")
		if v.Kind() == '{' {
			name, _ := d.ReadValue()
			b.Write(name)
			b.WriteString(": ")
		}
		inner, err := d.ReadValue()
		if err != nil {
			return
		}
		layOut(b, inner, newline+"  ")
	}
	b.WriteString(newline)
	b.WriteByte(v[len(v)-1])
}

// nests says whether a value is a list or an object that holds another; brackets in texts are none.
func nests(v jsontext.Value) bool {
	depth, text := 0, false
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++ // in a text, and what follows does not end it
		case '"':
			text = !text
		case '{', '[':
			if text {
				continue
			}
			if depth++; depth > 1 {
				return true
			}
		}
	}
	return false
}
