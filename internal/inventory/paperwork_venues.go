package inventory

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// CreateVenue makes a venue. Refusals: Invalid, NotFound (no organizer), ReferenceTaken, KeyReused;
// *Recorded for a replay.
func (s *Service) CreateVenue(ctx context.Context, c Caller, f VenueFields, once *Once) (*Venue, error) {
	if err := s.begin(ctx, c, once); err != nil {
		return nil, err
	}
	v := &Venue{ID: NewID(PrefixVenue), Organizer: c.Organizer}
	var found faultList
	if f.Name == nil {
		found.add("/name", faultRequired, "A name is needed.")
	}
	found.setVenue(v, f)
	if err := found.err(); err != nil {
		return nil, err
	}
	rec, err := once.record(v)
	if err != nil {
		return nil, err
	}
	if err := s.catalogue.InsertVenue(ctx, v, rec); err != nil {
		return nil, paperError("create venue", err)
	}
	return v, nil
}

// PatchVenue changes a venue; what is nil stays, and an empty reference takes it away. Events keep
// the name their venue had when they were made. Of two changes at once the later one stands.
//
// Refusals: Invalid, NotFound, ReferenceTaken, KeyReused; *Recorded for a replay.
func (s *Service) PatchVenue(ctx context.Context, c Caller, id string, f VenueFields, once *Once) (*Venue, error) {
	if err := s.begin(ctx, c, once); err != nil {
		return nil, err
	}
	v, err := s.Venue(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if f.Name == nil && f.Reference == nil && f.Metadata == nil {
		return v, nil
	}
	var found faultList
	found.setVenue(v, f)
	if err := found.err(); err != nil {
		return nil, err
	}
	rec, err := once.record(v)
	if err != nil {
		return nil, err
	}
	if err := s.catalogue.UpdateVenue(ctx, v, rec); err != nil {
		return nil, paperError("change venue", err)
	}
	return v, nil
}

// setVenue checks the fields that are given and takes them over.
func (f *faultList) setVenue(v *Venue, given VenueFields) {
	if given.Name != nil {
		v.Name = *given.Name
		f.name("/name", v.Name)
	}
	if given.Reference != nil {
		v.Reference = *given.Reference
		f.reference(v.Reference)
	}
	if given.Metadata != nil {
		v.Metadata = *given.Metadata
		f.metadata(v.Metadata)
	}
}

// Venue shows a venue of the caller's; NotFound for any other.
func (s *Service) Venue(ctx context.Context, c Caller, id string) (*Venue, error) {
	if c.Organizer == "" {
		return nil, refuse(NotFound)
	}
	v, err := s.catalogue.Venue(ctx, c.Organizer, id)
	if err != nil {
		return nil, paperError("read venue", err)
	}
	return v, nil
}

// Venues lists the caller's venues and the cursor of the next page, empty on the last one.
func (s *Service) Venues(ctx context.Context, c Caller, p Page) ([]*Venue, string, error) {
	if c.Organizer == "" {
		return nil, "", refuse(NotFound)
	}
	venues, next, err := page(p, func(p Page) ([]*Venue, error) { return s.catalogue.Venues(ctx, c.Organizer, p) },
		func(v *Venue) string { return v.ID })
	return venues, next, paperError("list venues", err)
}

// CreateMap adds a version to a venue's maps. A drawing with faults is Invalid with their places, and
// Malformed when it is not even one JSON text. What is kept is the drawing's canonical form.
//
// Other refusals: NotFound, KeyReused; *Recorded for a replay.
func (s *Service) CreateMap(ctx context.Context, c Caller, venue string, data []byte, once *Once) (*MapVersion, error) {
	if err := s.begin(ctx, c, once); err != nil {
		return nil, err
	}
	v, err := s.Venue(ctx, c, venue)
	if err != nil {
		return nil, err
	}
	drawing, err := seatmap.Parse(data)
	if err != nil {
		return nil, drawingError(err)
	}
	canonical, err := drawing.Encode()
	if err != nil {
		return nil, fmt.Errorf("inventory: encode a map: %w", err) // Parse found nothing wrong with it
	}
	plan := seatmap.NewPlan(drawing)
	m := &MapVersion{
		ID: NewID(PrefixMap), Venue: v.ID, Organizer: v.Organizer,
		Name: drawing.Name, Seats: len(plan.Seats), Areas: len(plan.Areas),
	}
	var rec *Record
	var answer func() ([]byte, error)
	if once != nil {
		rec = &Record{ID: once.ID, Body: once.Body}
		answer = func() ([]byte, error) {
			rendered, err := once.record(m) // only now is the version known
			if err != nil {
				return nil, err
			}
			return rendered.Answer, nil // a map has no secret to seal
		}
	}
	if err := s.catalogue.InsertMap(ctx, m, canonical, rec, answer); err != nil {
		return nil, paperError("create map", err)
	}
	return m, nil
}

// drawingError turns what is wrong with a drawing into a refusal.
func drawingError(err error) error {
	bad, ok := errors.AsType[*seatmap.InvalidError](err)
	if !ok {
		return fmt.Errorf("inventory: read a map: %w", err)
	}
	refusal := &Refusal{Code: Invalid}
	if bad.Malformed {
		refusal.Code = Malformed
	}
	for _, fault := range bad.Faults {
		refusal.Faults = append(refusal.Faults, Fault{Field: fault.Field, Code: fault.Code, Detail: fault.Detail})
	}
	return refusal
}

// Map returns a map version of a venue of the caller's, and its drawing. NotFound for any other.
func (s *Service) Map(ctx context.Context, c Caller, venue, id string) (*MapVersion, []byte, error) {
	if c.Organizer == "" {
		return nil, nil, refuse(NotFound)
	}
	m, data, err := s.catalogue.Map(ctx, id)
	if err != nil {
		return nil, nil, paperError("read map", err)
	}
	if m.Organizer != c.Organizer || m.Venue != venue {
		return nil, nil, refuse(NotFound)
	}
	return m, data, nil
}

// Maps lists a venue's maps and the cursor of the next page, empty on the last one.
func (s *Service) Maps(ctx context.Context, c Caller, venue string, p Page) ([]*MapVersion, string, error) {
	v, err := s.Venue(ctx, c, venue)
	if err != nil {
		return nil, "", err
	}
	maps, next, err := page(p, func(p Page) ([]*MapVersion, error) { return s.catalogue.Maps(ctx, v.ID, p) },
		func(m *MapVersion) string { return m.ID })
	return maps, next, paperError("list maps", err)
}

// EventMap returns the drawing of an event's map, our format, immutable for its id.
func (s *Service) EventMap(ctx context.Context, c Caller, event string) (id string, data []byte, err error) {
	e, err := s.visible(ctx, c, event)
	if err != nil {
		return "", nil, err
	}
	_, data, err = s.catalogue.Map(ctx, e.Map)
	if err != nil {
		return "", nil, paperError("read map", err)
	}
	return e.Map, data, nil
}
