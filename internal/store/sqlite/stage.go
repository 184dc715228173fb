package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// stageRowsMax bounds how many allocations one turn inserts or clears away, so that publishing a large
// house, or moving to another map of it, keeps no buyer waiting for more than a few hundredths of a second.
const stageRowsMax = 4_096

// alterInParts puts an alteration's allocations where they do not count, a part a transaction, and lets the
// last transaction make them count. What a failure leaves behind is cleared away at once, what a crash
// leaves by whoever tries next; until then it is as if it were not there.
func (s *Store) alterInParts(event string, a inventory.Alteration) (result inventory.AlterResult, err error) {
	s.staging.Lock() // of two that move one event, parts must not mix
	defer s.staging.Unlock()
	if err = s.stage(event, a); err == nil {
		result, err = s.alterAtOnce(event, a, true)
	}
	if err != nil {
		err = errors.Join(err, s.unstage(event))
	}
	return result, err
}

// counting is the last of an event's maps whose allocations count, -1 for a draft, which shows none and
// sells none.
func counting(e *inventory.Event) int {
	if e.Terms.State == inventory.Draft {
		return -1
	}
	return len(e.Former)
}

// stage inserts the allocations of an alteration, each part in a transaction of its own.
func (s *Store) stage(event string, a inventory.Alteration) error {
	if err := s.unstage(event); err != nil {
		return err
	}
	for part := range slices.Chunk(a.Insert, s.stageMax) {
		err := s.aside(event, func(now inventory.Instant, e *cachedEvent) error {
			if err := e.rows(s.writer, now).refuseAlteration(e.event, a); err != nil {
				return err
			}
			if counting(a.Event) <= counting(e.event) {
				return fmt.Errorf("sqlite: event %s has that map, and what is put there would be on sale at once", event)
			}
			return s.writer.insertAllocations(e.n, a.Event, part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unstage clears away what lies ahead of an event's next map, or of a draft's publishing.
func (s *Store) unstage(event string) error {
	for {
		var gone int64
		err := s.aside(event, func(_ inventory.Instant, e *cachedEvent) error {
			err := s.writer.exec("drop_staged", e.n, counting(e.event), s.stageMax)
			gone = s.writer.Changes()
			return err
		})
		if err != nil || gone < int64(s.stageMax) {
			return err
		}
	}
}

// aside runs fn in a transaction that touches only rows which do not count, so that what is remembered of
// the event stays true.
func (s *Store) aside(event string, fn func(inventory.Instant, *cachedEvent) error) error {
	return s.altering(event, fn, func(err error) {
		if err != nil {
			s.forget(event)
		}
	})
}

// bringIn makes new allocations count: those that lie ready, or others. What an earlier attempt left behind
// would come to light with them.
func (c *conn) bringIn(n int64, was *inventory.Event, a inventory.Alteration, ready bool) error {
	if ready {
		lie := 0
		if _, err := c.one("count_staged", func(st *sqlite3.Stmt) { lie = st.ColumnInt(0) }, n, counting(was)); err != nil {
			return err
		}
		if lie != len(a.Insert) {
			return fmt.Errorf("sqlite: %d allocations lie ready, want %d", lie, len(a.Insert))
		}
		return nil
	}
	if counting(a.Event) > counting(was) {
		if err := c.exec("drop_staged", n, counting(was), -1); err != nil {
			return err
		}
	}
	return c.insertAllocations(n, a.Event, a.Insert)
}

func (c *conn) insertAllocations(n int64, e *inventory.Event, rows []inventory.Allocation) error {
	for i := range rows {
		al := &rows[i]
		if err := c.exec("insert_allocation", n, al.Unit, al.Key, al.Seat, al.Class, al.Capacity, len(e.Former)); err != nil {
			return err
		}
	}
	return nil
}
