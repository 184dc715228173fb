package inventory

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"
)

// How an order is paid.
const (
	PaymentNone     = "none"     // free, or paid later
	PaymentExternal = "external" // the platform took the money itself
)

// ConfirmRequest turns a hold into an order.
type ConfirmRequest struct {
	Hold      HoldRef
	Buyer     Buyer // Hash is filled in here
	Reference string
	Metadata  map[string]string
	Payment   Payment // Method empty: none
	Once      *Idempotency
}

// OrderView is an order with what is needed to show it.
type OrderView struct {
	Order    *Order
	Token    string // only for whoever has the hold's token
	Event    *Event
	Layout   *Layout // has every unit of the order
	Replayed bool    // by Idempotency-Key
}

// OrderRef names an order and proves the right to it.
type OrderRef struct {
	Caller Caller
	Event  string
	ID     string
	Token  string
}

// Confirm sells a hold, at most once, and answers the same order however often it is asked.
// Refusals: HoldExpired, EventNotOnSale, BuyerLimitExceeded, ReferenceTaken, Invalid, Forbidden,
// KeyReused, NotFound.
func (s *Service) Confirm(ctx context.Context, r ConfirmRequest) (*OrderView, error) {
	e, layout, key, err := s.resolve(ctx, r.Hold)
	if err != nil {
		return nil, err
	}
	byKey := r.Hold.Caller.Key != ""
	sale := Sale{
		Key: key, By: r.Hold.Caller.by(), ByKey: byKey, Order: NewID(PrefixOrder), Buyer: r.Buyer,
		Reference: r.Reference, Metadata: r.Metadata, Payment: r.Payment,
	}
	sale.Buyer.Hash = buyerHash(e.ID, r.Buyer.Email)
	if err := checkSale(&sale); err != nil {
		return nil, err
	}
	var token string
	if k, ok := HashToken(r.Hold.Token); ok && k == key {
		token = OrderToken(r.Hold.Token)
		sale.TokenHash, sale.HasToken = orderTokenHash(token), true
	}
	if r.Once != nil {
		sale.ID, sale.Body = r.Once.ID, r.Once.Body
	}
	out, err := s.sales.do(ctx, e.ID, sale)
	if err != nil {
		return nil, err
	}
	if out.Refusal != nil {
		return nil, newBasketReader(e, layout).place(out.Refusal)
	}
	return s.orderView(ctx, e, layout, out.Order, token, out.Replayed)
}

func checkSale(sale *Sale) error {
	switch sale.Payment.Method {
	case "":
		sale.Payment.Method = PaymentNone
	case PaymentNone:
	case PaymentExternal:
		if !sale.ByKey {
			return refuse(Forbidden)
		}
	default:
		return invalid("/payment/method", faultInvalid, "A payment is none or external.")
	}
	return nil
}

// buyerHash identifies a buyer within an event; addresses that differ in case are one.
func buyerHash(event, email string) (h [16]byte) {
	if email == "" {
		return h
	}
	sum := TokenHash("rowlock buyer "+event, strings.ToLower(strings.TrimSpace(email)))
	return [16]byte(sum[:16])
}

func orderTokenHash(token string) [32]byte { return TokenHash("rowlock order token", token) }

func (s *Service) orderView(ctx context.Context, e *Event, l *Layout, o *Order, token string, replayed bool) (*OrderView, error) {
	e, l, err := s.naming(ctx, e, l, o.Lines)
	if err != nil {
		return nil, err
	}
	return &OrderView{Order: o, Token: token, Event: e, Layout: l, Replayed: replayed}, nil
}

// Order shows an order to its owner or its organizer; to anybody else there is none.
func (s *Service) Order(ctx context.Context, r OrderRef) (*OrderView, error) {
	e, layout, err := s.visibleLayout(ctx, r.Caller, r.Event)
	if err != nil {
		return nil, err
	}
	o, err := s.catalogue.Order(ctx, r.Event, r.ID)
	if errors.Is(err, ErrNotFound) {
		return nil, refuse(NotFound)
	}
	if err != nil {
		return nil, err
	}
	if r.Caller.Key == "" {
		hash := orderTokenHash(r.Token)
		if !o.HasToken || subtle.ConstantTimeCompare(hash[:], o.TokenHash[:]) != 1 {
			return nil, refuse(NotFound)
		}
	}
	return s.orderView(ctx, e, layout, o, "", false)
}

// Orders lists an event's orders for its organizer.
func (s *Service) Orders(ctx context.Context, c Caller, event string, p Page) ([]*OrderView, string, error) {
	e, layout, err := s.ownedLayout(ctx, c, event)
	if err != nil {
		return nil, "", err
	}
	list, err := s.catalogue.Orders(ctx, event, p)
	if err != nil {
		return nil, "", err
	}
	views := make([]*OrderView, len(list))
	for i, o := range list {
		if views[i], err = s.orderView(ctx, e, layout, o, "", false); err != nil {
			return nil, "", err
		}
	}
	return views, nextAfter(len(list), p.Limit, func(i int) string { return list[i].ID }), nil
}

// CancelOrder cancels every valid ticket of an order; done twice, it answers the same.
func (s *Service) CancelOrder(ctx context.Context, c Caller, event, order, reason string, once *Idempotency) (*OrderView, error) {
	return s.giveBack(ctx, c, event, Return{Order: order, Reason: reason}, once)
}

// CancelTicket cancels one ticket and answers its order.
func (s *Service) CancelTicket(ctx context.Context, c Caller, event, ticket, reason string, once *Idempotency) (*OrderView, error) {
	order, ok := OrderOfTicket(ticket)
	if !ok {
		return nil, refuse(NotFound)
	}
	return s.giveBack(ctx, c, event, Return{Order: order, Tickets: []string{ticket}, Reason: reason}, once)
}

func (s *Service) giveBack(ctx context.Context, c Caller, event string, r Return, once *Idempotency) (*OrderView, error) {
	e, layout, err := s.ownedLayout(ctx, c, event)
	if err != nil {
		return nil, err
	}
	r.By = c.by()
	if once != nil {
		r.ID, r.Body = once.ID, once.Body
	}
	out, err := s.store.Return(ctx, event, r)
	if err != nil {
		return nil, err
	}
	if out.Refusal != nil {
		return nil, out.Refusal
	}
	return s.orderView(ctx, e, layout, out.Order, "", out.Replayed)
}
