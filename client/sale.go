package client

import (
	"context"
	"net/http"
	"net/url"
)

// Event shows one event.
func (c *Client) Event(ctx context.Context, event string, opts ...CallOption) (*Event, error) {
	return get[Event](ctx, c, pathOf("events", event), nil, opts)
}

// EventMap fetches the drawing of an event's map, in Rowlock's own format. It never changes for a
// map's id, so it can be kept; its seat order is the index that boards and offers count by.
func (c *Client) EventMap(ctx context.Context, event string, opts ...CallOption) ([]byte, error) {
	var data []byte
	err := c.do(ctx, http.MethodGet, pathOf("events", event, "map"), nil, nil, &data, opts)
	return data, err
}

// Offer shows what may be bought, with the access code of the call or of the Client, or without.
func (c *Client) Offer(ctx context.Context, event string, opts ...CallOption) (*Offer, error) {
	return get[Offer](ctx, c, pathOf("events", event, "offer"), nil, opts)
}

// Board shows every unit's state at one position.
func (c *Client) Board(ctx context.Context, event string, opts ...CallOption) (*Board, error) {
	return get[Board](ctx, c, pathOf("events", event, "board"), nil, opts)
}

// Changes shows what happened after a position of this event's board.
func (c *Client) Changes(ctx context.Context, event, after string, opts ...CallOption) (*Changes, error) {
	return get[Changes](ctx, c, pathOf("events", event, "changes"), url.Values{"after": {after}}, opts)
}

// CreateHold claims units, all or nothing. The answer's Token owns them until ExpiresAt; it is not
// shown again. What could not be had is in the Conflicts of a Problem with code ALLOCATION_UNAVAILABLE.
func (c *Client) CreateHold(ctx context.Context, event string, r HoldRequest, opts ...CallOption) (*Hold, error) {
	return send[Hold](ctx, c, http.MethodPost, pathOf("events", event, "holds"), r, opts)
}

// Hold shows a hold, with its HoldToken or a key. A dead one is a Problem with code HOLD_EXPIRED.
func (c *Client) Hold(ctx context.Context, event, hold string, opts ...CallOption) (*Hold, error) {
	return get[Hold](ctx, c, pathOf("events", event, "holds", hold), nil, opts)
}

// ChangeHold adds to and removes from a hold, all or nothing; a change that fails leaves the hold and
// its deadline as they were.
func (c *Client) ChangeHold(ctx context.Context, event, hold string, p HoldPatch, opts ...CallOption) (*Hold, error) {
	return send[Hold](ctx, c, http.MethodPatch, pathOf("events", event, "holds", hold), p, opts)
}

// ExtendHold restarts the countdown, up to ExtendUntil.
func (c *Client) ExtendHold(ctx context.Context, event, hold string, opts ...CallOption) (*Hold, error) {
	return send[Hold](ctx, c, http.MethodPost, pathOf("events", event, "holds", hold, "extend"), nil, opts)
}

// ReleaseHold lets a hold go. It succeeds as well when the hold is gone already or the token is
// another's, and then nothing happens. With a key it breaks any hold of the organizer's events.
func (c *Client) ReleaseHold(ctx context.Context, event, hold string, opts ...CallOption) error {
	return c.do(ctx, http.MethodDelete, pathOf("events", event, "holds", hold), nil, nil, nil, opts)
}

// CreateOrder confirms a hold, with its HoldToken or a key. Every repeat answers the same order.
func (c *Client) CreateOrder(ctx context.Context, event string, r OrderRequest, opts ...CallOption) (*Order, error) {
	return send[Order](ctx, c, http.MethodPost, pathOf("events", event, "orders"), r, opts)
}

// Order shows an order, with its OrderToken or a key.
func (c *Client) Order(ctx context.Context, event, order string, opts ...CallOption) (*Order, error) {
	return get[Order](ctx, c, pathOf("events", event, "orders", order), nil, opts)
}

// reasonBody says why something is cancelled; it goes into the event's log.
type reasonBody struct {
	Reason string `json:"reason,omitzero"`
}

// CancelOrder cancels every valid ticket of an order and puts the units back on sale, once, however
// often it is called. Needs an organizer's key. The reason may be empty.
func (c *Client) CancelOrder(ctx context.Context, event, order, reason string, opts ...CallOption) (*Order, error) {
	return send[Order](ctx, c, http.MethodPost, pathOf("events", event, "orders", order, "cancel"), reasonBody{reason}, opts)
}

// CancelTicket cancels one ticket, as CancelOrder does all of them, and answers its order.
func (c *Client) CancelTicket(ctx context.Context, event, ticket, reason string, opts ...CallOption) (*Order, error) {
	return send[Order](ctx, c, http.MethodPost, pathOf("events", event, "tickets", ticket, "cancel"), reasonBody{reason}, opts)
}

// get fetches a T.
func get[T any](ctx context.Context, c *Client, path string, query url.Values, opts []CallOption) (*T, error) {
	out := new(T)
	if err := c.do(ctx, http.MethodGet, path, query, nil, out, opts); err != nil {
		return nil, err
	}
	return out, nil
}

// send sends a body (nil: none) and reads a T.
func send[T any](ctx context.Context, c *Client, method, path string, body any, opts []CallOption) (*T, error) {
	out := new(T)
	if err := c.do(ctx, method, path, nil, body, out, opts); err != nil {
		return nil, err
	}
	return out, nil
}
