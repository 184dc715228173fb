package inventory

import (
	"context"
	"errors"
	"maps"
	"slices"
)

const holdSecondsByKeyMax = 7 * 24 * 60 * 60 // what a box office may ask for

// ClaimRequest asks for a hold. Best stands alone. TTL (seconds, 0: the event's) needs a key.
type ClaimRequest struct {
	Caller    Caller
	Event     string
	Basket    Basket
	Best      *Best
	Code      string // access code
	TTL       int64
	Reference string
	Metadata  map[string]string
	Once      *Idempotency
}

// HoldRef names a hold and proves the right to it: by its token, or by the caller's key.
// ID may be empty when only a token is known.
type HoldRef struct {
	Caller Caller
	Event  string
	ID     string
	Token  string
}

// HoldView is a hold with what is needed to show it.
type HoldView struct {
	Hold     *Hold
	Warnings []Warning // of the claim or change that is answered
	Order    string    // what it became; the hold's lines are then the order's
	Token    string    // only in the answer that made it, and its replays
	Event    *Event
	Layout   *Layout // has every unit of the lines
	Now      Instant
	Replayed bool // by Idempotency-Key
}

// ChangeRequest changes a hold. Types chooses ticket types for seats that are added, and changes those of seats held.
type ChangeRequest struct {
	Hold   HoldRef
	Add    Basket
	Remove Basket
	Types  map[string]string
	Code   string
	Once   *Idempotency
}

// Claim makes a hold. Refusals: AllocationUnavailable, EventNotOnSale, HoldLimitExceeded, Invalid,
// NotFound, KeyReused, ReferenceTaken, SingleSeatRefused, Overloaded, Contended, Unavailable.
func (s *Service) Claim(ctx context.Context, r ClaimRequest) (*HoldView, error) {
	e, layout, err := s.visibleLayout(ctx, r.Caller, r.Event)
	if err != nil {
		return nil, err
	}
	reader := newBasketReader(e, layout)
	wants := reader.read("", &r.Basket)
	reader.unusedTypes(r.Basket.Types)
	reader.quantity(wants)
	reader.claim(&r)
	if err := reader.faults.err(); err != nil {
		return nil, err
	}
	token := NewToken()
	c := s.claimCommand(&r, layout, wants, token)
	out, err := s.sendClaim(ctx, &r, e, c)
	if err != nil {
		return nil, err
	}
	if out.Refusal != nil {
		return nil, reader.refused(&out)
	}
	if out.Replayed && r.Once != nil && len(out.Sealed) > 0 {
		plain, err := r.Once.Open(out.Sealed)
		if err != nil {
			return nil, err
		}
		token = string(plain)
	}
	v, err := s.holdView(ctx, e, layout, out)
	if err == nil {
		v.Token = token
	}
	return v, err
}

// claim checks what of a claim no map is needed for.
func (r *basketReader) claim(c *ClaimRequest) {
	switch {
	case c.Best != nil && !c.Basket.empty():
		r.faults.add("/best_available", "STANDS_ALONE", "Best available is asked for alone.")
	case c.Best != nil:
		r.best(c.Best)
	case c.Basket.empty():
		r.faults.add("", faultRequired, "Name seats or areas, or ask for best_available.")
	}
	if c.TTL != 0 && c.Caller.Key == "" {
		r.faults.add("/ttl_seconds", "NEEDS_KEY", "Only an organizer's key may choose how long a hold lives.")
	} else if c.TTL < 0 || c.TTL > holdSecondsByKeyMax {
		r.faults.addf("/ttl_seconds", faultOutOfRange, "A hold lives 1 to %d seconds.", holdSecondsByKeyMax)
	}
}

func (r *basketReader) best(b *Best) {
	if b.Quantity < 1 || b.Quantity > commandUnitsMax {
		r.faults.addf("/best_available/quantity", faultOutOfRange, "A quantity is 1 to %d.", commandUnitsMax)
	}
	if b.Accessible < 0 || b.Accessible > b.Quantity {
		r.faults.add("/best_available/accessible", faultOutOfRange, "At most all of the seats can be accessible places.")
	}
	if b.Type != "" {
		r.typeIndex("/best_available/ticket_type", b.Type)
	}
	if _, _, ok := r.layout.Plan.SectionSeats(b.Section); b.Section != "" && !ok {
		r.faults.add("/best_available/section", faultUnknown, "The map has no such section with seats.")
	}
}

func (s *Service) claimCommand(r *ClaimRequest, layout *Layout, wants []Want, token string) Command {
	key, _ := HashToken(token)
	c := Command{
		Verb: Claim, Key: key, By: r.Caller.by(), ByKey: r.Caller.Key != "", Code: codeOf(r.Event, r.Code),
		Add: wants, Beside: layout, TTL: r.TTL, Reference: r.Reference, Metadata: r.Metadata,
	}
	if r.Once != nil {
		c.ID, c.Body = r.Once.ID, r.Once.Body
		c.Sealed = r.Once.Seal([]byte(token))
	}
	return c
}

func (s *Service) sendClaim(ctx context.Context, r *ClaimRequest, e *Event, c Command) (Outcome, error) {
	if r.Best == nil {
		return s.holds.do(ctx, r.Event, c)
	}
	return s.claimBest(ctx, r.Best, e, c)
}

func codeOf(event, code string) *Code {
	if code == "" {
		return nil
	}
	h := CodeHash(event, code)
	return &h
}

// holdView adds to a hold what is needed to show it.
func (s *Service) holdView(ctx context.Context, e *Event, l *Layout, out Outcome) (*HoldView, error) {
	e, l, err := s.naming(ctx, e, l, out.Hold.Lines)
	if err != nil {
		return nil, err
	}
	return &HoldView{
		Hold: out.Hold, Warnings: out.Warnings, Event: e, Layout: l, Now: out.Now,
		Replayed: out.Replayed && len(out.Sealed) > 0,
	}, nil
}

// naming returns an event and its layout that can name all that lines do. A ticket type or a unit
// that the copies here do not know yet means that they are old.
func (s *Service) naming(ctx context.Context, e *Event, l *Layout, lines []Line) (*Event, *Layout, error) {
	known := true
	for _, line := range lines {
		known = known && line.Type < len(e.Terms.Types) && int(line.Unit) < l.Units()
	}
	if known {
		return e, l, nil
	}
	s.forget(e.ID)
	e, err := s.event(ctx, e.ID)
	if err != nil {
		return nil, nil, err
	}
	l, err = s.layout(ctx, e)
	return e, l, err
}

// resolve finds the key of the hold that is meant, and whether the caller may act on it: a wrong
// token is like no hold at all.
func (s *Service) resolve(ctx context.Context, r HoldRef) (*Event, *Layout, HoldKey, error) {
	var key HoldKey
	e, layout, err := s.visibleLayout(ctx, r.Caller, r.Event)
	if err != nil {
		return nil, nil, key, err
	}
	named, ok := ParseHoldID(r.ID)
	if r.ID != "" && !ok {
		return nil, nil, key, refuse(NotFound)
	}
	if r.Caller.Key != "" && r.ID != "" {
		return e, layout, named, nil
	}
	key, ok = HashToken(r.Token)
	if !ok || (r.ID != "" && key != named) {
		return e, layout, key, refuse(HoldExpired)
	}
	return e, layout, key, nil
}

// Look shows a hold that is alive or sold. Refusals: HoldExpired, NotFound.
func (s *Service) Look(ctx context.Context, r HoldRef) (*HoldView, error) {
	e, layout, key, err := s.resolve(ctx, r)
	if err != nil {
		return nil, err
	}
	h, now, err := s.store.Hold(ctx, r.Event, key)
	switch {
	case err == nil:
		return s.holdView(ctx, e, layout, Outcome{Hold: h, Now: now})
	case !errors.Is(err, ErrNotFound):
		return nil, err
	}
	o, err := s.catalogue.OrderByHold(ctx, r.Event, key)
	if errors.Is(err, ErrNotFound) {
		return nil, refuse(HoldExpired)
	}
	if err != nil {
		return nil, err
	}
	sold := &Hold{Key: key, Created: o.Created, Deadline: o.Created, Cap: o.Created, Reference: o.Reference, Metadata: o.Metadata, Lines: o.Lines}
	v, err := s.holdView(ctx, e, layout, Outcome{Hold: sold, Now: o.Created})
	if err == nil {
		v.Order = o.ID
	}
	return v, err
}

// Change adds to and removes from a hold, all or nothing. Refusals: as Claim's, and HoldExpired,
// HoldSold.
func (s *Service) Change(ctx context.Context, r ChangeRequest) (*HoldView, error) {
	e, layout, key, err := s.resolve(ctx, r.Hold)
	if err != nil {
		return nil, err
	}
	reader := newBasketReader(e, layout)
	c := Command{Verb: Change, Key: key, By: r.Hold.Caller.by(), ByKey: r.Hold.Caller.Key != "", Code: codeOf(r.Hold.Event, r.Code), Beside: layout}
	r.Add.Types = r.Types
	c.Remove = reader.read("/remove", &r.Remove)
	c.Add = reader.read("/add", &r.Add)
	c.Retype = reader.retypes(r.Types)
	reader.bothSides(c.Add, c.Remove)
	reader.bothSides(c.Retype, c.Remove)
	reader.quantity(c.Add)
	if r.Add.empty() && r.Remove.empty() && len(r.Types) == 0 {
		reader.faults.add("", faultRequired, "Say what to add, to remove or to sell as another ticket type.")
	}
	if err := reader.faults.err(); err != nil {
		return nil, err
	}
	c.ID, c.Body = r.Once.command()
	return s.changed(ctx, e, layout, reader, c, r.Once)
}

// changed sends a command to a hold that exists and shows the hold afterwards.
func (s *Service) changed(ctx context.Context, e *Event, l *Layout, reader *basketReader, c Command, once *Idempotency) (*HoldView, error) {
	out, err := s.holds.do(ctx, e.ID, c)
	if err != nil {
		return nil, err
	}
	if out.Refusal != nil {
		return nil, reader.refused(&out)
	}
	v, err := s.holdView(ctx, e, l, out)
	if err == nil {
		v.Replayed = out.Replayed && once != nil
	}
	return v, err
}

// refused makes a refusal ready for whoever asked: units by their keys, and what to ask for instead.
func (r *basketReader) refused(out *Outcome) *Refusal {
	refusal := r.place(out.Refusal)
	refusal.Alternatives = out.alternatives
	return refusal
}

// retypes reads the types that are not for seats being added: they are for seats held.
func (r *basketReader) retypes(types map[string]string) []Want {
	var wants []Want
	for _, key := range slices.Sorted(maps.Keys(types)) {
		if r.used[key] {
			continue
		}
		field := "/ticket_types/" + pointerToken(key)
		u, ok := r.seat(key)
		if !ok {
			r.faults.add(field, faultUnknown, "The map has no such seat.")
			continue
		}
		wants = append(wants, Want{Unit: u, Type: r.typeIndex(field, types[key]), Quantity: 1, Field: field, TypeField: field})
	}
	return wants
}

// bothSides faults a seat that is to be removed and something else at once.
func (r *basketReader) bothSides(others, remove []Want) {
	for _, a := range others {
		if name, _ := r.layout.Name(a.Unit); name.Seat == "" {
			continue
		}
		for _, w := range remove {
			if a.Unit == w.Unit {
				r.faults.add(a.Field, faultDuplicate, "The same seat is to be removed.")
			}
		}
	}
}

// Extend restarts the countdown, up to the cap. Refusals: HoldExpired, HoldSold, HoldLifetimeReached,
// EventNotOnSale, KeyReused.
func (s *Service) Extend(ctx context.Context, r HoldRef, once *Idempotency) (*HoldView, error) {
	e, layout, key, err := s.resolve(ctx, r)
	if err != nil {
		return nil, err
	}
	c := Command{Verb: Extend, Key: key, By: r.Caller.by()}
	c.ID, c.Body = once.command()
	return s.changed(ctx, e, layout, newBasketReader(e, layout), c, once)
}

// Release lets a hold go if it is alive; otherwise nothing happens. HoldSold is refused.
func (s *Service) Release(ctx context.Context, r HoldRef) error {
	_, _, key, err := s.resolve(ctx, r)
	if err != nil {
		if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Code == HoldExpired {
			return nil // a wrong token frees nothing, and is told nothing
		}
		return err
	}
	out, err := s.holds.do(ctx, r.Event, Command{Verb: Release, Key: key, By: r.Caller.by()})
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return out.Refusal
	}
	return nil
}

// Holds lists an event's live holds for its organizer.
func (s *Service) Holds(ctx context.Context, c Caller, event string, p Page) ([]*HoldView, string, error) {
	e, layout, err := s.ownedLayout(ctx, c, event)
	if err != nil {
		return nil, "", err
	}
	var after HoldKey
	if p.After != "" {
		var ok bool
		if after, ok = ParseHoldID(p.After); !ok {
			return nil, "", invalid("", faultInvalid, "The page's cursor is not one of this list.")
		}
	}
	list, now, err := s.listHolds(ctx, event, after, p)
	if err != nil {
		return nil, "", err
	}
	views := make([]*HoldView, len(list))
	for i, h := range list {
		if views[i], err = s.holdView(ctx, e, layout, Outcome{Hold: h, Now: now}); err != nil {
			return nil, "", err
		}
	}
	return views, nextAfter(len(list), p.Limit, func(i int) string { return list[i].Key.ID() }), nil
}

func (s *Service) listHolds(ctx context.Context, event string, after HoldKey, p Page) ([]*Hold, Instant, error) {
	if p.Reference == "" {
		return s.store.Holds(ctx, event, after, p.Limit)
	}
	key, err := s.catalogue.HoldByReference(ctx, event, p.Reference)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	h, now, err := s.store.Hold(ctx, event, key)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, nil
	}
	return []*Hold{h}, now, err
}

// nextAfter is the cursor behind a full page: the last one's id.
func nextAfter(n, limit int, id func(int) string) string {
	if n == 0 || n < limit {
		return ""
	}
	return id(n - 1)
}
