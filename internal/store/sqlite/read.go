package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// changesLogMax bounds how far back Changes looks; a reader further behind takes the whole board,
// which is smaller by then.
const changesLogMax = 10_000

// Event implements inventory.Ledger.
func (s *Store) Event(ctx context.Context, event string) (e *inventory.Event, err error) {
	err = s.read(ctx, func(c *conn) error {
		e, err = scanEvent(c, event)
		return err
	})
	return e, err
}

// Hold implements inventory.Store.
func (s *Store) Hold(ctx context.Context, event string, key inventory.HoldKey) (h *inventory.Hold, now inventory.Instant, err error) {
	err = s.read(ctx, func(c *conn) error {
		var r *rows
		var e *inventory.Event
		if r, e, err = s.snapshot(c, event); err != nil {
			return err
		}
		now = r.now
		found, ok := r.Hold(key)
		if r.err != nil {
			return r.err
		}
		if !ok || found.Deadline <= now || e.Terms.State == inventory.Cancelled {
			return inventory.ErrNotFound
		}
		h = found
		return nil
	})
	return h, now, err
}

// Holds implements inventory.Store.
func (s *Store) Holds(ctx context.Context, event string, after inventory.HoldKey, limit int) (hs []*inventory.Hold, now inventory.Instant, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, _, err := s.snapshot(c, event)
		if err != nil {
			return err
		}
		now = r.now
		var scanErr error
		err = c.each("holds_page", func(st *sqlite3.Stmt) bool {
			var h *inventory.Hold
			if h, scanErr = scanHold(st, keyOf(st, 8)); scanErr == nil {
				hs = append(hs, h)
			}
			return scanErr == nil
		}, r.n, &after, now, limit)
		return errors.Join(err, scanErr)
	})
	return hs, now, err
}

// snapshot begins a read: the event as it is, and the clock.
func (s *Store) snapshot(c *conn, event string) (*rows, *inventory.Event, error) {
	cached, err := s.lockedEvent(c, event)
	if err != nil {
		return nil, nil, err
	}
	now, err := c.now()
	if err != nil {
		return nil, nil, err
	}
	return cached.rows(c, now), cached.event, nil
}

// Board implements inventory.Store.
func (s *Store) Board(ctx context.Context, event string) (*inventory.Board, error) {
	b := new(inventory.Board)
	err := s.read(ctx, func(c *conn) error {
		r, e, err := s.snapshot(c, event)
		if err != nil {
			return err
		}
		b.Now, b.Revision, b.State = r.now, e.Revision, e.Terms.State
		if b.Position, err = s.position(c, r.n); err != nil || b.State == inventory.Draft {
			return err // a draft's rows are of a publishing under way, or of one that failed
		}
		return c.each("board", func(st *sqlite3.Stmt) bool {
			u := st.ColumnInt(0)
			for len(b.Units) <= u {
				b.Units = append(b.Units, inventory.UnitState{})
			}
			b.Units[u] = inventory.UnitState{
				Capacity: st.ColumnInt64(1), Held: st.ColumnInt64(2), Reserved: st.ColumnInt64(3),
				Class: st.ColumnInt(4), Seat: st.ColumnInt(5) == 1,
			}
			return true
		}, r.n, r.now, r.left)
	})
	return b, err
}

func (s *Store) position(c *conn, n int64) (inventory.Position, error) {
	v, err := c.version(n)
	return inventory.Position{Epoch: s.epoch, Version: v}, err
}

// Changes implements inventory.Store.
func (s *Store) Changes(ctx context.Context, event string, after inventory.Position) (*inventory.Changes, error) {
	ch := new(inventory.Changes)
	err := s.read(ctx, func(c *conn) error {
		r, e, err := s.snapshot(c, event)
		if err != nil {
			return err
		}
		ch.Revision, ch.State = e.Revision, e.Terms.State
		if ch.Position, err = s.position(c, r.n); err != nil {
			return err
		}
		v := ch.Position.Version
		if after.Epoch != s.epoch || after.Version > v || after.Version < 0 || v-after.Version > changesLogMax {
			ch.Resync = true
			return nil
		}
		if after.Version == v {
			return nil
		}
		return r.touched(after.Version, ch)
	})
	return ch, err
}

// touched reads the present state of every unit that a log entry after a number names. Entries
// that repaint name none of the units they touch, and so ask for the whole board.
func (r *rows) touched(after int64, ch *inventory.Changes) error {
	ch.Units = make(map[inventory.Unit]inventory.UnitState)
	var decodeErr error
	err := r.c.each("log_after", func(st *sqlite3.Stmt) bool {
		var entries []inventory.LogEntry
		if entries, decodeErr = inventory.DecodeLog(st.ColumnInt64(0), st.ColumnRawText(1)); decodeErr != nil {
			return false
		}
		for _, e := range entries {
			if e.Number <= after {
				continue
			}
			if ch.Resync = repaints(e.Kind); ch.Resync {
				return false
			}
			for _, u := range e.Units {
				ch.Units[u.Unit] = inventory.UnitState{}
			}
		}
		return true
	}, r.n, after)
	if err = errors.Join(err, decodeErr); err != nil || ch.Resync {
		ch.Units = nil
		return err
	}
	for u := range ch.Units {
		a, ok := r.Allocation(u)
		if !ok {
			return errors.Join(r.err, fmt.Errorf("sqlite: the log names unit %d, which has no allocation", u))
		}
		held, err := r.heldAlive(u, a)
		if err != nil {
			return err
		}
		ch.Units[u] = inventory.UnitState{Capacity: a.Capacity, Held: held, Reserved: a.Reserved, Class: a.Class, Seat: a.Seat}
	}
	return r.err
}

// repaints reports whether an entry of this kind may have touched units that it does not name.
func repaints(kind inventory.LogKind) bool {
	switch kind {
	case inventory.LogPublished, inventory.LogRepainted, inventory.LogRemapped, inventory.LogCancelled:
		return true
	}
	return false
}

// heldAlive is what of an allocation is held by lines that have not lapsed, as the board counts it.
func (r *rows) heldAlive(u inventory.Unit, a inventory.Allocation) (int64, error) {
	if a.Held == 0 {
		return 0, nil
	}
	held := a.Held
	_, err := r.c.one("lapsed_quantity", func(st *sqlite3.Stmt) { held -= st.ColumnInt64(0) }, r.n, u, r.now)
	return held, err
}
