package api

import (
	"net/http"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// holdRef is the hold that a request names, with whatever proves the right to it.
func (x *exchange) holdRef(r *http.Request) inventory.HoldRef {
	return inventory.HoldRef{
		Caller: x.caller, Event: r.PathValue("event"), ID: r.PathValue("id"), Token: r.Header.Get(headerHoldToken),
	}
}

func areaWants(areas []client.AreaRequest) []inventory.AreaWant {
	if len(areas) == 0 {
		return nil
	}
	wants := make([]inventory.AreaWant, len(areas))
	for i, a := range areas {
		wants[i] = inventory.AreaWant{Area: a.Area, Quantity: a.Quantity, Type: a.TicketType}
	}
	return wants
}

// readHold reads what is wanted.
func readHold(body []byte) (*client.HoldRequest, error) {
	in := new(client.HoldRequest)
	if err := decode(body, in); err != nil {
		return nil, err
	}
	var f faults
	f.hold(in)
	return in, f.err()
}

// createHold claims units.
func (s *Server) createHold(x *exchange, r *http.Request) error {
	in, err := readHold(x.body)
	if err != nil {
		return err
	}
	once, err := x.idempotency(r)
	if err != nil {
		return err
	}
	claim := inventory.ClaimRequest{
		Caller: x.caller, Event: r.PathValue("event"),
		Basket:   inventory.Basket{Seats: in.Seats, Types: in.TicketTypes, Areas: areaWants(in.Areas)},
		Code:     r.Header.Get(headerAccessCode),
		Metadata: in.Metadata, Once: once,
	}
	if b := in.BestAvailable; b != nil {
		claim.Best = &inventory.Best{Quantity: b.Quantity, Type: b.TicketType, Section: b.Section, Accessible: b.Accessible, Together: b.Together}
	}
	if in.Reference != nil {
		claim.Reference = *in.Reference
	}
	if in.TTLSeconds != nil {
		claim.TTL = *in.TTLSeconds
		if claim.TTL == 0 {
			claim.TTL = -1 // to the inventory, 0 is "not asked for"; a 0 that was asked for is out of range
		}
	}
	v, err := s.service.Claim(r.Context(), claim)
	if err != nil {
		return err
	}
	x.replayed(v.Replayed)
	out := holdOf(v)
	x.Header().Set("Location", "/v1/events/"+out.Event+"/holds/"+out.ID)
	return x.reply(http.StatusCreated, out)
}

// answerHold sends a hold without its token, which only the answer that made it may show.
func (x *exchange) answerHold(v *inventory.HoldView, err error) error {
	if err != nil {
		return err
	}
	x.replayed(v.Replayed)
	out := holdOf(v)
	out.Token = ""
	return x.reply(http.StatusOK, out)
}

// getHold shows a hold that is alive or sold.
func (s *Server) getHold(x *exchange, r *http.Request) error {
	return x.answerHold(s.service.Look(r.Context(), x.holdRef(r)))
}

// patchHold adds to a hold and takes from it.
func (s *Server) patchHold(x *exchange, r *http.Request) error {
	var in client.HoldPatch
	if err := decode(x.body, &in); err != nil {
		return err
	}
	change := inventory.ChangeRequest{Hold: x.holdRef(r), Types: in.TicketTypes, Code: r.Header.Get(headerAccessCode)}
	var f faults
	f.basket("", nil, in.TicketTypes, nil)
	if in.Add != nil {
		f.basket("/add", in.Add.Seats, nil, in.Add.Areas)
		change.Add = inventory.Basket{Seats: in.Add.Seats, Areas: areaWants(in.Add.Areas)}
	}
	if in.Remove != nil {
		f.basket("/remove", in.Remove.Seats, nil, in.Remove.Areas)
		change.Remove = inventory.Basket{Seats: in.Remove.Seats, Areas: areaWants(in.Remove.Areas)}
	}
	if err := f.err(); err != nil {
		return err
	}
	once, err := x.idempotency(r)
	if err != nil {
		return err
	}
	change.Once = once
	return x.answerHold(s.service.Change(r.Context(), change))
}

// deleteHold lets a hold go; it is 204 also when there was nothing to let go.
func (s *Server) deleteHold(x *exchange, r *http.Request) error {
	if err := s.service.Release(r.Context(), x.holdRef(r)); err != nil {
		return err
	}
	x.WriteHeader(http.StatusNoContent)
	return nil
}

// extendHold restarts the countdown.
func (s *Server) extendHold(x *exchange, r *http.Request) error {
	if err := decodeOptional(x.body, &struct{}{}); err != nil {
		return err
	}
	once, err := x.idempotency(r)
	if err != nil {
		return err
	}
	return x.answerHold(s.service.Extend(r.Context(), x.holdRef(r), once))
}

// listHolds lists an event's live holds.
func (s *Server) listHolds(x *exchange, r *http.Request) error {
	p, err := page(r, isHoldID)
	if err != nil {
		return err
	}
	holds, next, err := s.service.Holds(r.Context(), x.caller, r.PathValue("event"), p)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, listOf(holds, next, func(v *inventory.HoldView) *client.Hold {
		out := holdOf(v)
		out.Token = ""
		return out
	}))
}
