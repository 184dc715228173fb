package records

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/internal/inventory"
)

// InsertEvents stores new events and sets their Created, all or none. ErrNotFound when a map is not
// its venue's, or the venue not its organizer's.
func (r *Records) InsertEvents(ctx context.Context, events []*inventory.Event, rec *inventory.Record) error {
	return r.write(ctx, "insert events", rec, func(t *transaction) error {
		for _, e := range events {
			if err := t.insertEvent(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *transaction) insertEvent(e *inventory.Event) error {
	owned, err := t.finds("map_of", e.Map, e.Venue, e.Organizer)
	if err != nil {
		return err
	}
	if !owned {
		return inventory.ErrNotFound
	}
	e.Created = t.now // before the document is made, for it is in there
	doc, err := inventory.EncodeEvent(e)
	if err != nil {
		return err
	}
	n, err := t.exec("insert_event", e.ID, e.Organizer, e.Venue, e.Map, text(e.Reference),
		string(e.Terms.State), string(doc), e.Revision, int64(e.Created))
	if err != nil {
		return err
	}
	if n == 0 {
		return t.whyNot(e)
	}
	return t.must("insert_position", e.ID)
}

// whyNot says why an event was not inserted: its reference is in use, or its id is, and only the
// first is the caller's doing.
func (t *transaction) whyNot(e *inventory.Event) error {
	used, err := t.finds("event_with_reference", e.Organizer, text(e.Reference))
	if err != nil {
		return err
	}
	if used {
		return taken(e.Reference)
	}
	return fmt.Errorf("the event id %s is in use", e.ID)
}

// Events lists an organizer's events, or, with an empty organizer, those of everybody that are
// neither draft nor cancelled. State and revision are the row's.
func (r *Records) Events(ctx context.Context, organizer string, p inventory.Page) ([]*inventory.Event, error) {
	name, args := paged("public_events", p)
	if organizer != "" {
		name, args = paged("events", p, organizer)
	}
	all, err := list(ctx, r, name, args, scanEvent)
	return all, answer("events", err)
}

func scanEvent(row row) (*inventory.Event, error) {
	var doc []byte
	var state inventory.State
	var revision int64
	if err := row.Scan(&doc, &state, &revision); err != nil {
		return nil, err
	}
	e, err := inventory.DecodeEvent(doc)
	if err != nil {
		return nil, err
	}
	e.Terms.State, e.Revision = state, revision
	return e, nil
}
