package api

import (
	"net/http"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// createOrder buys a hold. Every repeat is answered 201 with the same order.
func (s *Server) createOrder(x *exchange, r *http.Request) error {
	var in client.OrderRequest
	if err := decode(x.body, &in); err != nil {
		return err
	}
	var f faults
	f.order(&in)
	if err := f.err(); err != nil {
		return err
	}
	once, err := x.idempotency(r)
	if err != nil {
		return err
	}
	confirm := inventory.ConfirmRequest{
		Hold: inventory.HoldRef{
			Caller: x.caller, Event: r.PathValue("event"), ID: in.Hold, Token: r.Header.Get(headerHoldToken),
		},
		Metadata: in.Metadata,
		Payment:  inventory.Payment{Method: inventory.PaymentNone},
		Once:     once,
	}
	if in.Buyer != nil {
		confirm.Buyer = inventory.Buyer{Name: in.Buyer.Name, Email: in.Buyer.Email}
	}
	if in.Reference != nil {
		confirm.Reference = *in.Reference
	}
	if p := in.Payment; p != nil {
		confirm.Payment.Method = p.Method
		if p.Reference != nil {
			confirm.Payment.Reference = *p.Reference
		}
	}
	v, err := s.service.Confirm(r.Context(), confirm)
	if err != nil {
		return err
	}
	x.replayed(v.Replayed)
	x.Header().Set("Location", "/v1/events/"+v.Event.ID+"/orders/"+v.Order.ID)
	return x.reply(http.StatusCreated, orderOf(v))
}

// getOrder shows an order to whoever has its token, and to its organizer.
func (s *Server) getOrder(x *exchange, r *http.Request) error {
	v, err := s.service.Order(r.Context(), inventory.OrderRef{
		Caller: x.caller, Event: r.PathValue("event"), ID: r.PathValue("id"), Token: r.Header.Get(headerOrderToken),
	})
	return x.answerOrder(v, err)
}

func (x *exchange) answerOrder(v *inventory.OrderView, err error) error {
	if err != nil {
		return err
	}
	x.replayed(v.Replayed)
	out := orderOf(v)
	out.Token = "" // the caller has it, or is not to have it
	return x.reply(http.StatusOK, out)
}

// listOrders lists an event's orders.
func (s *Server) listOrders(x *exchange, r *http.Request) error {
	p, err := page(r, idsOf(inventory.PrefixOrder))
	if err != nil {
		return err
	}
	orders, next, err := s.service.Orders(r.Context(), x.caller, r.PathValue("event"), p)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, listOf(orders, next, func(v *inventory.OrderView) *client.Order {
		out := orderOf(v)
		out.Token = ""
		return out
	}))
}

// cancellation is the body of the two cancels.
type cancellation struct {
	Reason string `json:"reason"`
}

// cancelled reads what both cancels have in common.
func (x *exchange) cancelled(r *http.Request) (reason string, once *inventory.Idempotency, err error) {
	var in cancellation
	if err := decodeOptional(x.body, &in); err != nil {
		return "", nil, err
	}
	var f faults
	f.line("/reason", in.Reason, reasonRunesMax)
	if err := f.err(); err != nil {
		return "", nil, err
	}
	once, err = x.idempotency(r)
	return in.Reason, once, err
}

// cancelOrder cancels what is left of an order.
func (s *Server) cancelOrder(x *exchange, r *http.Request) error {
	reason, once, err := x.cancelled(r)
	if err != nil {
		return err
	}
	return x.answerOrder(s.service.CancelOrder(r.Context(), x.caller, r.PathValue("event"), r.PathValue("id"), reason, once))
}

// cancelTicket cancels one ticket and answers its order.
func (s *Server) cancelTicket(x *exchange, r *http.Request) error {
	reason, once, err := x.cancelled(r)
	if err != nil {
		return err
	}
	return x.answerOrder(s.service.CancelTicket(r.Context(), x.caller, r.PathValue("event"), r.PathValue("id"), reason, once))
}
