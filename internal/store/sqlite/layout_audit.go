package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// auditLayouts proves that the units of every published event are what its maps say: an allocation
// stands on the map under its own key and is on sale in a way that the event has, and whatever a
// ticket is for has a name, though it may be gone. What was put there for a map that is not in use yet
// has neither holds nor tickets. No query can tell, for the numbers are not stored.
func auditLayouts(c *conn, yield func(inventory.Breach, error) bool) error {
	type published struct {
		n     int64
		event *inventory.Event
	}
	var events []published
	var decodeErr error
	err := c.each("published_all", func(st *sqlite3.Stmt) bool {
		var e *inventory.Event
		if e, decodeErr = inventory.DecodeEvent(st.ColumnRawText(1)); decodeErr == nil {
			e.Terms.State = inventory.State(st.ColumnText(2))
			events = append(events, published{st.ColumnInt64(0), e})
		}
		return decodeErr == nil
	})
	if err = errors.Join(err, decodeErr); err != nil {
		return err
	}
	for _, e := range events {
		layout, err := c.layoutOf(e.event)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.event.ID, err)
		}
		stopped := false
		report := func(what string) bool {
			stopped = !yield(inventory.Breach{Promise: 9, Event: e.event.ID, What: "units: " + what}, nil)
			return !stopped
		}
		if err := auditUnits(c, e.n, e.event, layout, report); err != nil {
			return err
		}
		if stopped {
			return errStopped
		}
	}
	return nil
}

// auditUnits looks at an event's allocations and at what its tickets are for, until report has enough.
func auditUnits(c *conn, n int64, e *inventory.Event, l *inventory.Layout, report func(what string) bool) error {
	more := true
	err := c.each("allocation_keys", func(st *sqlite3.Stmt) bool {
		u, key, seat, class := inventory.Unit(st.ColumnInt64(0)), st.ColumnText(1), st.ColumnInt(2) == 1, st.ColumnInt(3)
		name, _ := l.Name(u)
		_, on := l.Place(u)
		switch {
		case st.ColumnInt(4) > len(e.Former):
			if st.ColumnInt64(5) > 0 {
				more = report(fmt.Sprintf("unit %d (%s) is held or sold ahead of its map", u, key))
			}
		case !on:
			more = report(fmt.Sprintf("unit %d (%s) has an allocation and no place on the map", u, key))
		case seat && name.Seat != key || !seat && name.Area != key:
			more = report(fmt.Sprintf("unit %d is %q in its allocation and %q on the map", u, key, name.Seat+name.Area))
		case !sold(&e.Terms, class):
			more = report(fmt.Sprintf("unit %d (%s) is on sale in way %d, which the event does not have", u, key, class))
		}
		return more
	}, n)
	if err != nil || !more {
		return err
	}
	return c.each("ticket_units", func(st *sqlite3.Stmt) bool {
		u := inventory.Unit(st.ColumnInt64(0))
		if _, ok := l.Name(u); ok {
			return true
		}
		return report(fmt.Sprintf("ticket %s is for unit %d, which was on no map", st.ColumnText(1), u))
	}, n)
}

// sold reports whether a class is one of the event's, of channels and ticket types that it has.
func sold(t *inventory.Terms, class int) bool {
	if class < 0 || class >= len(t.Classes) {
		return false
	}
	c := t.Classes[class]
	for _, i := range c.Types {
		if i < 0 || i >= len(t.Types) {
			return false
		}
	}
	return len(c.Types) > 0 && c.Channel >= 0 && c.Channel < len(t.Channels)
}

// layoutOf numbers an event's units from the maps it has had.
func (c *conn) layoutOf(e *inventory.Event) (*inventory.Layout, error) {
	plans := make([]*seatmap.Plan, 0, len(e.Former)+1)
	for i := range len(e.Former) + 1 {
		id := e.Map
		if i < len(e.Former) {
			id = e.Former[i]
		}
		var m *seatmap.Map
		var parseErr error
		found, err := c.one("map_data", func(st *sqlite3.Stmt) { m, parseErr = seatmap.Parse(st.ColumnBlob(0, nil)) }, id)
		if err = errors.Join(err, parseErr); err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("map %s is not there", id)
		}
		plans = append(plans, seatmap.NewPlan(m))
	}
	return inventory.NewLayout(plans...), nil
}
