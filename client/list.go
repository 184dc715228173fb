package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

// ListOptions narrow a listing. The zero value asks for the first page of the server's own size.
type ListOptions struct {
	Limit     int    // entries a page, at most 200
	After     string // the Next of the page before
	Reference string // only what has this reference
}

func (o ListOptions) query() url.Values {
	q := make(url.Values, 3)
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.After != "" {
		q.Set("after", o.After)
	}
	if o.Reference != "" {
		q.Set("reference", o.Reference)
	}
	return q
}

// Events lists the key's events, or without a key those that are published.
func (c *Client) Events(ctx context.Context, o ListOptions, opts ...CallOption) (*List[Event], error) {
	return get[List[Event]](ctx, c, pathOf("events"), o.query(), opts)
}

// Holds lists an event's live holds. Needs an organizer's key.
func (c *Client) Holds(ctx context.Context, event string, o ListOptions, opts ...CallOption) (*List[Hold], error) {
	return get[List[Hold]](ctx, c, pathOf("events", event, "holds"), o.query(), opts)
}

// Orders lists an event's orders. Needs an organizer's key.
func (c *Client) Orders(ctx context.Context, event string, o ListOptions, opts ...CallOption) (*List[Order], error) {
	return get[List[Order]](ctx, c, pathOf("events", event, "orders"), o.query(), opts)
}

// Log lists who had which unit when, in commit order. Needs an organizer's key.
func (c *Client) Log(ctx context.Context, event string, o ListOptions, opts ...CallOption) (*List[LogEntry], error) {
	return get[List[LogEntry]](ctx, c, pathOf("events", event, "log"), o.query(), opts)
}

// Venues lists the organizer's venues.
func (c *Client) Venues(ctx context.Context, o ListOptions, opts ...CallOption) (*List[Venue], error) {
	return get[List[Venue]](ctx, c, pathOf("venues"), o.query(), opts)
}

// Maps lists the versions of a venue's maps.
func (c *Client) Maps(ctx context.Context, venue string, o ListOptions, opts ...CallOption) (*List[Map], error) {
	return get[List[Map]](ctx, c, pathOf("venues", venue, "maps"), o.query(), opts)
}

// Keys lists the organizer's API keys, without their secrets.
func (c *Client) Keys(ctx context.Context, o ListOptions, opts ...CallOption) (*List[Key], error) {
	return get[List[Key]](ctx, c, pathOf("keys"), o.query(), opts)
}

// AllEvents iterates over Events, page by page. An error ends the iteration.
func (c *Client) AllEvents(ctx context.Context, o ListOptions, opts ...CallOption) iter.Seq2[*Event, error] {
	return pages(o, func(o ListOptions) (*List[Event], error) { return c.Events(ctx, o, opts...) })
}

// AllHolds iterates over Holds, page by page. An error ends the iteration.
func (c *Client) AllHolds(ctx context.Context, event string, o ListOptions, opts ...CallOption) iter.Seq2[*Hold, error] {
	return pages(o, func(o ListOptions) (*List[Hold], error) { return c.Holds(ctx, event, o, opts...) })
}

// AllOrders iterates over Orders, page by page. An error ends the iteration.
func (c *Client) AllOrders(ctx context.Context, event string, o ListOptions, opts ...CallOption) iter.Seq2[*Order, error] {
	return pages(o, func(o ListOptions) (*List[Order], error) { return c.Orders(ctx, event, o, opts...) })
}

// AllLog iterates over Log, page by page. An error ends the iteration.
func (c *Client) AllLog(ctx context.Context, event string, o ListOptions, opts ...CallOption) iter.Seq2[*LogEntry, error] {
	return pages(o, func(o ListOptions) (*List[LogEntry], error) { return c.Log(ctx, event, o, opts...) })
}

// AllVenues iterates over Venues, page by page. An error ends the iteration.
func (c *Client) AllVenues(ctx context.Context, o ListOptions, opts ...CallOption) iter.Seq2[*Venue, error] {
	return pages(o, func(o ListOptions) (*List[Venue], error) { return c.Venues(ctx, o, opts...) })
}

// AllMaps iterates over Maps, page by page. An error ends the iteration.
func (c *Client) AllMaps(ctx context.Context, venue string, o ListOptions, opts ...CallOption) iter.Seq2[*Map, error] {
	return pages(o, func(o ListOptions) (*List[Map], error) { return c.Maps(ctx, venue, o, opts...) })
}

// AllKeys iterates over Keys, page by page. An error ends the iteration.
func (c *Client) AllKeys(ctx context.Context, o ListOptions, opts ...CallOption) iter.Seq2[*Key, error] {
	return pages(o, func(o ListOptions) (*List[Key], error) { return c.Keys(ctx, o, opts...) })
}

// pages follows Next until there is none. A page whose Next is its own cursor would never end, so it ends there.
func pages[T any](o ListOptions, fetch func(ListOptions) (*List[T], error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		at := o
		for {
			page, err := fetch(at)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Data {
				if !yield(&page.Data[i], nil) {
					return
				}
			}
			if page.Next == nil || *page.Next == "" || *page.Next == at.After {
				return
			}
			at.After = *page.Next
		}
	}
}
