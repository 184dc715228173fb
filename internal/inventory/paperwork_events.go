package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// staleTriesMax bounds how often a change of an event is decided again because the event changed meanwhile.
const staleTriesMax = 5

// Event shows one event. NotFound for a draft of another organizer, and with a key for any event of another.
func (s *Service) Event(ctx context.Context, c Caller, id string) (*EventView, error) {
	e, err := s.visible(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return viewFor(c, e), nil
}

// viewFor is an event as its caller may see it.
func viewFor(c Caller, e *Event) *EventView {
	return &EventView{Event: e, Owner: c.Organizer != "" && c.Organizer == e.Organizer}
}

// Events lists the caller's events, or for the public those published. It returns the cursor of the
// next page, empty on the last one.
func (s *Service) Events(ctx context.Context, c Caller, p Page) ([]*EventView, string, error) {
	events, next, err := page(p, func(p Page) ([]*Event, error) { return s.catalogue.Events(ctx, c.Organizer, p) },
		func(e *Event) string { return e.ID })
	if err != nil {
		return nil, "", paperError("list events", err)
	}
	views := make([]*EventView, len(events))
	for i, e := range events {
		views[i] = viewFor(c, e)
	}
	return views, next, nil
}

// page reads one item more than was asked for, to know whether another page follows.
func page[T any](p Page, read func(Page) ([]T, error), id func(T) string) (items []T, next string, err error) {
	limit := p.Limit
	p.Limit++
	if items, err = read(p); err != nil || len(items) <= limit {
		return items, "", err
	}
	items = items[:limit]
	if limit > 0 {
		next = id(items[limit-1])
	}
	return items, next, nil
}

// CreateEvents makes drafts, all or none. With many, the pointers of faults begin with the event's
// index ("/2/name"); with one they do not.
//
// A copy takes what its spec leaves out from the other event: settings, channels and how its units
// are on sale now, repaints included. It does not take the reference, which is unique, nor any access code: codes
// are kept hashed for one event and cannot be carried over to another.
//
// Refusals: Invalid, NotFound (no organizer), ReferenceTaken, KeyReused; *Recorded for a replay.
func (s *Service) CreateEvents(ctx context.Context, c Caller, specs []EventSpec, many bool, once *Once) ([]*EventView, error) {
	if err := s.begin(ctx, c, once); err != nil {
		return nil, err
	}
	var found faultList
	switch {
	case len(specs) == 0:
		found.add("", faultRequired, "There must be at least one event.")
	case len(specs) > eventsPerListMax:
		found.addf("", faultTooMany, "One list has at most %d events.", eventsPerListMax)
		specs = nil
	}
	events := make([]*Event, len(specs))
	views := make([]*EventView, len(specs))
	references := make(map[string]bool, len(specs))
	for i, spec := range specs {
		if many {
			found.at = "/" + strconv.Itoa(i)
		}
		e, err := s.draft(ctx, c, spec, &found)
		if err != nil {
			return nil, paperError("create event", err)
		}
		if e.Reference != "" && references[e.Reference] {
			found.add("/reference", faultDuplicate, "Another event of the list has this reference.")
		}
		references[e.Reference] = true
		events[i], views[i] = e, viewFor(c, e)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	rec, err := once.record(views)
	if err != nil {
		return nil, err
	}
	if err := s.catalogue.InsertEvents(ctx, events, rec); err != nil {
		return nil, paperError("create events", err)
	}
	return views, nil
}

// blankDraft is an event before anybody has said anything of it.
func blankDraft(organizer string) *Event {
	return &Event{
		ID: NewID(PrefixEvent), Organizer: organizer, TimeZone: timeZoneDefault,
		Terms: Terms{
			State: Draft, HoldSeconds: holdSecondsDefault, HoldMax: holdLifetimeDefault,
			UnitsPerHold: unitsPerHoldDefault, UnitsPerBuyer: unitsPerBuyerDefault,
			SingleSeats: singleSeatsDefault, Channels: []Channel{{ID: PublicChannel, Name: publicChannelName}},
		},
	}
}

// draft makes an event of a spec. What is wrong with it goes to found; the error is the store's.
func (s *Service) draft(ctx context.Context, c Caller, spec EventSpec, found *faultList) (*Event, error) {
	e := blankDraft(c.Organizer)
	copied, err := s.copied(ctx, c, e, &spec, found)
	if err != nil {
		return nil, err
	}
	found.spec(e, spec)
	plan, err := s.setMap(ctx, e, spec.Fields.Map, found)
	if err != nil || plan == nil {
		return e, err
	}
	if !copied {
		found.rules(e.Rules, plan, &e.Terms)
		return e, nil
	}
	// The body does not hold the rules, so no pointer into it can name the one that fails.
	inner := faultList{}
	inner.rules(e.Rules, plan, &e.Terms)
	if len(inner.list) > 0 {
		found.addf("/copy", faultInvalid, "The copied rules do not fit: %s", inner.first())
	}
	return e, nil
}

// spec checks what a spec says of a new event and takes it over, all but the map and what has to fit it.
func (f *faultList) spec(e *Event, spec EventSpec) {
	// The application's clock is good enough here: it keeps slips of the pen out and decides no sale.
	now := InstantOf(time.Now())
	f.required(spec.Fields)
	f.set(e, spec.Fields, now)
	f.channelSpecs(spec.Channels)
	for _, channel := range spec.Channels {
		e.Terms.Channels = append(e.Terms.Channels, channelOf(e.ID, channel))
	}
	e.Rules = spec.Rules
}

// copied completes a spec from the event it copies, if any, and reports whether its rules are from there.
func (s *Service) copied(ctx context.Context, c Caller, e *Event, spec *EventSpec, found *faultList) (bool, error) {
	if spec.Copy == "" {
		return false, nil
	}
	from, err := s.current(ctx, c, spec.Copy)
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Code == NotFound {
		found.add("/copy", faultUnknown, "There is no such event.")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	spec.Fields = inherit(spec.Fields, from)
	if spec.Channels == nil {
		for _, channel := range from.Terms.Channels[1:] {
			e.Terms.Channels = append(e.Terms.Channels, Channel{ID: channel.ID, Name: channel.Name})
		}
	}
	if spec.Rules == nil {
		spec.Rules, err = s.rulesOf(ctx, from)
		return true, err
	}
	return false, nil
}

// rulesOf are rules that give another event the allocations that this one has now: a draft's own,
// and of a published event what its repaints have made of it.
func (s *Service) rulesOf(ctx context.Context, e *Event) ([]Rule, error) {
	if e.Terms.State == Draft {
		return slices.Clone(e.Rules), nil
	}
	var board *Board
	e, l, err := s.inStep(ctx, e, func() (revision int64, err error) {
		if board, err = s.store.Board(ctx, e.ID); err != nil {
			return 0, err
		}
		return board.Revision, nil
	})
	if err != nil {
		return nil, err
	}
	if len(board.Units) == 0 { // cancelled before it was published
		return slices.Clone(e.Rules), nil
	}
	return paintingOf(board, l, &e.Terms).asRules(), nil
}

// inherit fills what f leaves out from another event, all but its reference.
func inherit(f EventFields, from *Event) EventFields {
	fill(&f.Name, from.Name)
	fill(&f.StartsAt, from.StartsAt)
	fill(&f.TimeZone, from.TimeZone)
	fill(&f.Map, from.Map)
	fill(&f.Currency, from.Terms.Currency)
	if f.SaleFrom == nil && f.SaleUntil == nil { // a window is one thing
		fill(&f.SaleFrom, from.Terms.SaleFrom)
		fill(&f.SaleUntil, from.Terms.SaleUntil)
	}
	fill(&f.Metadata, from.Metadata)
	fill(&f.HoldSeconds, from.Terms.HoldSeconds)
	fill(&f.HoldSecondsMax, from.Terms.HoldMax)
	fill(&f.UnitsPerHold, from.Terms.UnitsPerHold)
	fill(&f.UnitsPerBuyer, from.Terms.UnitsPerBuyer)
	fill(&f.SingleSeats, string(from.Terms.SingleSeats))
	if f.Types == nil {
		f.Types = slices.Clone(from.Terms.Types)
	}
	return f
}

func fill[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// setMap moves e to a map of its organizer and returns its plan; nil with a fault.
func (s *Service) setMap(ctx context.Context, e *Event, id *string, found *faultList) (*seatmap.Plan, error) {
	if id == nil {
		return nil, nil // a new event without one has its fault already
	}
	m, _, err := s.catalogue.Map(ctx, *id)
	if errors.Is(err, ErrNotFound) || err == nil && m.Organizer != e.Organizer {
		found.add("/map", faultUnknown, "There is no such map.")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	venue, err := s.catalogue.Venue(ctx, e.Organizer, m.Venue)
	if err != nil {
		return nil, err
	}
	e.Map, e.Venue, e.VenueName = m.ID, venue.ID, venue.Name
	return s.plan(ctx, e.Map)
}

// channelOf makes a channel of its spec; without a name it is called by its id.
func channelOf(event string, spec ChannelSpec) Channel {
	name := spec.Name
	if name == "" {
		name = spec.ID
	}
	return Channel{ID: spec.ID, Name: name, Codes: hashCodes(event, spec.Codes)}
}

func hashCodes(event string, codes []string) []Code {
	hashed := make([]Code, len(codes))
	for i, code := range codes {
		hashed[i] = CodeHash(event, code)
	}
	return hashed
}

// begin refuses who may not write, and answers a command that was carried out before, ahead of any
// judgement: what it did may be the very reason why it would be refused or do nothing now.
func (s *Service) begin(ctx context.Context, c Caller, once *Once) error {
	if c.Organizer == "" {
		return refuse(NotFound)
	}
	if once == nil {
		return nil
	}
	return paperError("look for a replay", s.catalogue.Recorded(ctx, once.ID, once.Body))
}

// record renders the answer to keep of what a command made; nil without an Idempotency-Key.
func (o *Once) record(made any) (*Record, error) {
	if o == nil {
		return nil, nil
	}
	answer, sealed, err := o.Render(made)
	if err != nil {
		return nil, fmt.Errorf("inventory: render the answer to keep: %w", err)
	}
	return &Record{ID: o.ID, Body: o.Body, Answer: answer, Sealed: sealed}, nil
}

// paperError makes an error of a store the caller's: answers bare, everything else wrapped.
func paperError(doing string, err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	if recorded, ok := errors.AsType[*Recorded](err); ok {
		return recorded
	}
	if errors.Is(err, ErrNotFound) {
		return refuse(NotFound)
	}
	return fmt.Errorf("inventory: %s: %w", doing, err)
}

// current reads the caller's own event from the store itself, since what is decided on a copy that
// is a little old would be refused for what is no longer so.
func (s *Service) current(ctx context.Context, c Caller, id string) (*Event, error) {
	e, err := s.store.Event(ctx, id)
	if err != nil {
		return nil, paperError("read event", err)
	}
	if c.Organizer == "" || e.Organizer != c.Organizer {
		return nil, refuse(NotFound)
	}
	return e, nil
}

// alter decides a change on the event as it is and carries it out, again when the event changed
// meanwhile. decide gets a copy that it makes into the event as it shall be; it returns nil when
// there is nothing to do. made is what the Idempotency-Key's record shall render. The event that is
// returned is the one that now holds.
func (s *Service) alter(ctx context.Context, c Caller, id string, once *Once,
	decide func(e *Event) (*Alteration, error), made func(e *Event) any,
) (*Event, error) {
	// One change of an event at a time from here, so that only other nodes can make a decision stale, and a
	// repeat of a command that is under way finds its answer.
	turn := s.altering.get(id, newGate)
	if err := s.enter(ctx, turn); err != nil {
		return nil, err
	}
	defer turn.leave()
	if err := s.begin(ctx, c, once); err != nil {
		return nil, err
	}
	for range staleTriesMax {
		e, err := s.current(ctx, c, id)
		if err != nil {
			return nil, err
		}
		next := e.clone()
		next.Revision++
		a, err := decide(next)
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return nil, paperError("decide on an event", err)
		}
		if a == nil {
			return e, nil
		}
		a.Expect, a.Event, a.By = e.Revision, next, c.Key
		if a.Record, err = once.record(made(next)); err != nil {
			return nil, err
		}
		_, err = s.store.Alter(ctx, id, *a)
		s.forget(id) // after a failure, too, for its outcome may be unknown
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return nil, paperError("alter event", err)
		}
		return next, nil
	}
	return nil, refuse(Contended)
}

// madeEvent renders an event for its owner.
func madeEvent(e *Event) any { return &EventView{Event: e, Owner: true} }

// PatchEvent changes an event; what is nil stays, and an empty reference takes it away. A draft may
// change wholly. From publishing on the currency is fixed, the map changes by Remap, and ticket types may
// be renamed, re-priced and added but stay, for holds and orders count by them: what is held or sold
// keeps the price that it was claimed at. From closing or cancelling on, only name, reference and
// metadata may change.
//
// Refusals: Invalid, StateConflict, NotFound, ReferenceTaken, KeyReused, Contended; *Recorded for a replay.
func (s *Service) PatchEvent(ctx context.Context, c Caller, id string, f EventFields, once *Once) (*EventView, error) {
	e, err := s.alter(ctx, c, id, once, func(e *Event) (*Alteration, error) {
		if f.empty() {
			return nil, nil
		}
		if err := f.allowed(e.Terms.State); err != nil {
			return nil, err
		}
		var found faultList
		types := e.Terms.Types
		found.set(e, f, InstantOf(time.Now())) // against slips of the pen only, as in draft
		switch {
		case e.Terms.State != Draft && f.Types != nil:
			e.Terms.Types = found.keepTypes(types, f.Types)
		case f.Map != nil || f.Types != nil:
			if err := s.refit(ctx, e, f, &found); err != nil {
				return nil, err
			}
		}
		if err := found.err(); err != nil {
			return nil, err
		}
		return &Alteration{Kind: LogEdited, Reason: f.said(types)}, nil
	}, madeEvent)
	if err != nil {
		return nil, err
	}
	return viewFor(c, e), nil
}

// keepTypes puts new ticket types behind those there are, in whose places their successors go: a
// number means one ticket type for the life of an event.
func (f *faultList) keepTypes(present, given []TicketType) []TicketType {
	kept := slices.Clone(present)
	for _, t := range given {
		if i := slices.IndexFunc(kept, func(k TicketType) bool { return k.ID == t.ID }); i >= 0 {
			kept[i] = t
		} else {
			kept = append(kept, t)
		}
	}
	for _, t := range present {
		if !slices.ContainsFunc(given, func(g TicketType) bool { return g.ID == t.ID }) {
			f.addf("/ticket_types", faultRequired, "A published event keeps its ticket types, and %s is not there.", t.ID)
		}
	}
	return kept
}

// said names for the log what is given, and what becomes of prices.
func (f *EventFields) said(before []TicketType) string {
	var said []string
	for _, field := range []struct {
		given bool
		name  string
	}{
		{f.Reference != nil, "reference"},
		{f.Name != nil, "name"},
		{f.StartsAt != nil, "start"},
		{f.TimeZone != nil, "time zone"},
		{f.Map != nil, "map"},
		{f.Currency != nil, "currency"},
		{f.Types != nil, "ticket types"},
		{f.SaleFrom != nil || f.SaleUntil != nil, "sale"},
		{f.Metadata != nil, "metadata"},
		{f.limits(), "limits"},
		{f.SingleSeats != nil, "single seats"},
	} {
		if field.given {
			said = append(said, field.name)
		}
	}
	for _, t := range f.Types {
		i := slices.IndexFunc(before, func(b TicketType) bool { return b.ID == t.ID })
		if i >= 0 && before[i].Price != t.Price {
			said = append(said, fmt.Sprintf("price of %s %d → %d", t.ID, before[i].Price, t.Price))
		}
	}
	return strings.Join(said, ", ")
}

// refit gives a draft another map or other ticket types, to which its rules must still apply: a rule
// cannot be taken back, so a draft that they no longer fit could never be published.
func (s *Service) refit(ctx context.Context, e *Event, f EventFields, found *faultList) error {
	id := f.Map
	if id == nil {
		id = &e.Map
	}
	plan, err := s.setMap(ctx, e, id, found)
	if err != nil || plan == nil {
		return err
	}
	var inner faultList
	inner.rules(e.Rules, plan, &e.Terms)
	if len(inner.list) == 0 {
		return nil
	}
	field := "/ticket_types"
	if f.Map != nil {
		field = "/map"
	}
	found.addf(field, faultInvalid, "The event's rules no longer fit: %s", inner.first())
	return nil
}

// empty reports whether nothing is given.
func (f *EventFields) empty() bool {
	return f.Reference == nil && f.Name == nil && f.Metadata == nil && !f.timed() && f.Map == nil && f.Currency == nil
}

// timed reports whether anything is given that may change until the event is closed.
func (f *EventFields) timed() bool {
	return f.StartsAt != nil || f.TimeZone != nil || f.SaleFrom != nil || f.SaleUntil != nil || f.Types != nil ||
		f.SingleSeats != nil || f.limits()
}

// limits reports whether a limit is given.
func (f *EventFields) limits() bool {
	return f.HoldSeconds != nil || f.HoldSecondsMax != nil || f.UnitsPerHold != nil || f.UnitsPerBuyer != nil
}

// allowed refuses what can no longer change.
func (f *EventFields) allowed(state State) error {
	switch {
	case state != Draft && f.Currency != nil:
		return &Refusal{Code: StateConflict, Detail: "The currency is fixed by publishing."}
	case state != Draft && f.Map != nil:
		return &Refusal{Code: StateConflict, Detail: "From publishing on an event is moved to another version of its map by PATCH …/map."}
	case (state == Closed || state == Cancelled) && f.timed():
		return &Refusal{Code: StateConflict, Detail: "Of a closed or cancelled event only name, reference and metadata can change."}
	}
	return nil
}

// Transition runs a verb of the life cycle: publish, open, pause, close, cancel. In the state it
// leads to, it does nothing and records nothing. Publishing takes the snapshot of allocations.
//
// Refusals: StateConflict, NotFound (also: no such verb), KeyReused, Contended; *Recorded for a replay.
func (s *Service) Transition(ctx context.Context, c Caller, id, verb string, once *Once) (*EventView, error) {
	step, ok := transitions[verb]
	if !ok {
		return nil, refuse(NotFound)
	}
	e, err := s.alter(ctx, c, id, once, func(e *Event) (*Alteration, error) {
		switch {
		case e.Terms.State == step.to:
			return nil, nil
		case !slices.Contains(step.from, e.Terms.State):
			return nil, &Refusal{Code: StateConflict, Detail: fmt.Sprintf("The event is %s.", e.Terms.State)}
		}
		a := &Alteration{Kind: step.kind}
		if step.to == Published {
			var err error
			if a.Insert, err = s.snapshot(ctx, e); err != nil {
				return nil, err
			}
		}
		e.Unpublished = e.Terms.State == Draft && step.to == Cancelled
		e.Terms.State = step.to
		return a, nil
	}, madeEvent)
	if err != nil {
		return nil, err
	}
	return viewFor(c, e), nil
}

// snapshot makes the allocations of an event to be published, and the classes they are in.
func (s *Service) snapshot(ctx context.Context, e *Event) ([]Allocation, error) {
	conflict := func(detail string) error { return &Refusal{Code: StateConflict, Detail: detail} }
	if len(e.Terms.Types) == 0 {
		return nil, conflict("The event has no ticket types.")
	}
	plan, err := s.plan(ctx, e.Map)
	if err != nil {
		return nil, err
	}
	var found faultList
	found.rules(e.Rules, plan, &e.Terms)
	if len(found.list) > 0 {
		return nil, conflict("The event's rules do not fit: " + found.first())
	}
	rows := allocations(e, NewLayout(plan))
	switch {
	case len(rows) == 0:
		return nil, conflict("Nothing of the map would be for sale.")
	case len(e.Terms.Classes) > classesMax:
		return nil, conflict(fmt.Sprintf("The rules make more than %d ways of being on sale.", classesMax))
	}
	return rows, nil
}

// PutChannel creates or replaces a channel. Without a name it keeps the present one, or is called by
// its id; Codes nil keeps the present ones, and empty lets nobody in. The public channel is Invalid.
//
// Refusals: Invalid, StateConflict (closed or cancelled), NotFound, Contended.
func (s *Service) PutChannel(ctx context.Context, c Caller, id string, spec ChannelSpec) (*Channel, error) {
	var made Channel
	_, err := s.alter(ctx, c, id, nil, func(e *Event) (*Alteration, error) {
		if e.Terms.State == Closed || e.Terms.State == Cancelled {
			return nil, &Refusal{Code: StateConflict, Detail: fmt.Sprintf("The event is %s.", e.Terms.State)}
		}
		i, exists := e.Terms.ChannelIndex(spec.ID)
		var found faultList
		found.slug("/id", spec.ID, make(map[string]bool))
		if spec.ID == PublicChannel {
			found.add("/id", faultInvalid, "The public channel is always there and has no codes.")
		}
		found.channel("", spec)
		found.withheld("", spec)
		if !exists && !e.Terms.roomFor(spec.ID) {
			found.addf("", faultTooMany, "An event has at most %d channels.", channelsMax)
		}
		if err := found.err(); err != nil {
			return nil, err
		}
		if !exists {
			made = channelOf(e.ID, spec)
			e.Terms.Channels = append(e.Terms.Channels, made)
			return &Alteration{Kind: LogEdited, Reason: "channel " + spec.ID}, nil
		}
		channel := &e.Terms.Channels[i]
		if spec.Name != "" {
			channel.Name = spec.Name
		}
		if spec.Codes != nil {
			channel.Codes = hashCodes(e.ID, spec.Codes)
		}
		made = *channel
		return &Alteration{Kind: LogEdited, Reason: "channel " + spec.ID}, nil
	}, madeEvent)
	if err != nil {
		return nil, err
	}
	return &made, nil
}
