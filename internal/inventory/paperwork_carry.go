package inventory

import (
	"context"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// Carried is an event as it can be made again elsewhere: what its organizer decided, and nothing of
// what was sold or held.
type Carried struct {
	Event   *Event
	Rules   []Rule // give a new event the allocations that this one has now, repaints included
	Venue   *Venue
	Drawing []byte // of its map, in canonical form
}

// Carry reads an event of the caller's for being made again. Access codes are kept hashed for one
// event, so the channels are carried without them; nobody else's secret is in it either.
//
// Refusals: NotFound.
func (s *Service) Carry(ctx context.Context, c Caller, id string) (*Carried, error) {
	e, err := s.current(ctx, c, id)
	if err != nil {
		return nil, err
	}
	rules, err := s.rulesOf(ctx, e)
	if err != nil {
		return nil, paperError("read the rules of an event", err)
	}
	venue, err := s.Venue(ctx, c, e.Venue)
	if err != nil {
		return nil, err
	}
	_, drawing, err := s.catalogue.Map(ctx, e.Map)
	if err != nil {
		return nil, paperError("read map", err)
	}
	return &Carried{Event: e, Rules: rules, Venue: venue, Drawing: drawing}, nil
}

// CheckSpec judges a spec as CreateEvents would if its map, which need not be kept anywhere yet, were
// the one of this plan. Fields.Map and Copy are not looked at. Whether a reference is free only the
// store can say.
//
// Refusals: Invalid.
func CheckSpec(spec EventSpec, plan *seatmap.Plan) error {
	e := blankDraft("")
	spec.Fields.Map = new(string)
	var found faultList
	found.spec(e, spec)
	found.rules(e.Rules, plan, &e.Terms)
	return found.err()
}
