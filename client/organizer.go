package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// The calls in this file need an organizer's key.

// CreateVenue makes a venue.
func (c *Client) CreateVenue(ctx context.Context, r VenueRequest, opts ...CallOption) (*Venue, error) {
	return send[Venue](ctx, c, http.MethodPost, pathOf("venues"), r, opts)
}

// Venue shows a venue.
func (c *Client) Venue(ctx context.Context, venue string, opts ...CallOption) (*Venue, error) {
	return get[Venue](ctx, c, pathOf("venues", venue), nil, opts)
}

// PatchVenue changes a venue.
func (c *Client) PatchVenue(ctx context.Context, venue string, r VenueRequest, opts ...CallOption) (*Venue, error) {
	return send[Venue](ctx, c, http.MethodPatch, pathOf("venues", venue), r, opts)
}

// CreateMap adds a version to a venue's maps. drawing is a document of Rowlock's map format; every
// fault in it comes back with its place.
func (c *Client) CreateMap(ctx context.Context, venue string, drawing []byte, opts ...CallOption) (*Map, error) {
	return send[Map](ctx, c, http.MethodPost, pathOf("venues", venue, "maps"), json.RawMessage(drawing), opts)
}

// Map fetches the drawing of a map version.
func (c *Client) Map(ctx context.Context, venue, id string, opts ...CallOption) ([]byte, error) {
	var data []byte
	err := c.do(ctx, http.MethodGet, pathOf("venues", venue, "maps", id), nil, nil, &data, opts)
	return data, err
}

// CreateEvent makes a draft.
func (c *Client) CreateEvent(ctx context.Context, r EventRequest, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPost, pathOf("events"), r, opts)
}

// CreateEvents makes drafts, all or none, answered in the order asked for. The pointers of faults
// begin with an event's index.
func (c *Client) CreateEvents(ctx context.Context, r []EventRequest, opts ...CallOption) ([]Event, error) {
	if r == nil {
		r = []EventRequest{}
	}
	list, err := send[List[Event]](ctx, c, http.MethodPost, pathOf("events"), r, opts)
	if err != nil {
		return nil, err
	}
	return list.Data, nil
}

// PatchEvent changes an event; see EventPatch for what may change after publishing.
func (c *Client) PatchEvent(ctx context.Context, event string, p EventPatch, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPatch, pathOf("events", event), p, opts)
}

// PublishEvent takes the snapshot of what is for sale and shows the event to everybody.
func (c *Client) PublishEvent(ctx context.Context, event string, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPost, pathOf("events", event, "publish"), nil, opts)
}

// OpenEvent puts a published or paused event on sale.
func (c *Client) OpenEvent(ctx context.Context, event string, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPost, pathOf("events", event, "open"), nil, opts)
}

// PauseEvent stops new claims; live holds may still be bought.
func (c *Client) PauseEvent(ctx context.Context, event string, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPost, pathOf("events", event, "pause"), nil, opts)
}

// CloseEvent ends the sale; live holds may still be bought.
func (c *Client) CloseEvent(ctx context.Context, event string, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPost, pathOf("events", event, "close"), nil, opts)
}

// CancelEvent cancels an event and every hold on it, for good.
func (c *Client) CancelEvent(ctx context.Context, event string, opts ...CallOption) (*Event, error) {
	return send[Event](ctx, c, http.MethodPost, pathOf("events", event, "cancel"), nil, opts)
}

// PatchAllocations moves units to a channel, sells them as other ticket types or changes an area's
// capacity: at once on a published event, at publishing on a draft. CHANGE_UNSAFE when more of an area
// is held or sold.
func (c *Client) PatchAllocations(ctx context.Context, event string, r AllocationRule, opts ...CallOption) (*AllocationResult, error) {
	return send[AllocationResult](ctx, c, http.MethodPatch, pathOf("events", event, "allocations"), r, opts)
}

// PatchMap moves a published event to another version of its map. CHANGE_UNSAFE when that takes away
// what is held or sold.
func (c *Client) PatchMap(ctx context.Context, event string, p MapPatch, opts ...CallOption) (*MapChange, error) {
	return send[MapChange](ctx, c, http.MethodPatch, pathOf("events", event, "map"), p, opts)
}

// PutChannel creates or replaces the channel with r.ID.
func (c *Client) PutChannel(ctx context.Context, event string, r ChannelRequest, opts ...CallOption) (*Channel, error) {
	return send[Channel](ctx, c, http.MethodPut, pathOf("events", event, "channels", r.ID), r, opts)
}

// Report sums an event up.
func (c *Client) Report(ctx context.Context, event string, opts ...CallOption) (*Report, error) {
	return get[Report](ctx, c, pathOf("events", event, "report"), nil, opts)
}

// CreateKey makes an API key. The answer's Secret is not shown again.
func (c *Client) CreateKey(ctx context.Context, r KeyRequest, opts ...CallOption) (*Key, error) {
	return send[Key](ctx, c, http.MethodPost, pathOf("keys"), r, opts)
}

// RotateKey replaces a key by a new one of the same name and role, and revokes the old.
func (c *Client) RotateKey(ctx context.Context, key string, opts ...CallOption) (*Key, error) {
	return send[Key](ctx, c, http.MethodPost, pathOf("keys", key, "rotate"), nil, opts)
}

// RevokeKey ends a key at once, and answers it as it then is. One that is revoked already stays so.
func (c *Client) RevokeKey(ctx context.Context, key string, opts ...CallOption) (*Key, error) {
	return send[Key](ctx, c, http.MethodDelete, pathOf("keys", key), nil, opts)
}
