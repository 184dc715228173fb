package sqlite

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Alter implements inventory.Ledger. Many allocations of a draft that is published, or of the map that an
// event moves to, are inserted ahead, a part a transaction (stage.go); all else is one transaction.
func (s *Store) Alter(_ context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	if len(a.Insert) > s.stageMax && (a.Kind == inventory.LogPublished || a.Kind == inventory.LogRemapped) {
		return s.alterInParts(event, a)
	}
	return s.alterAtOnce(event, a, false)
}

// alterAtOnce is an alteration's one transaction, or the last of them when its allocations lie ready.
func (s *Store) alterAtOnce(event string, a inventory.Alteration, ready bool) (result inventory.AlterResult, err error) {
	err = s.altering(event, func(now inventory.Instant, e *cachedEvent) error {
		result, err = s.alter(now, e, a, ready)
		return err
	}, func(error) {
		s.terms.Delete(event)
		s.forget(event)
	})
	return result, err
}

// altering runs fn in a transaction that is about an event. Before the next writer's turn, after is told
// how that ended.
func (s *Store) altering(event string, fn func(inventory.Instant, *cachedEvent) error, after func(error)) error {
	return s.writing("alter", func(begin func() error) error {
		if err := begin(); err != nil {
			return err
		}
		cached, err := s.lockedEvent(s.writer, event)
		if err != nil {
			return err
		}
		now, err := s.writer.now()
		if err != nil {
			return err
		}
		return fn(now, cached)
	}, after)
}

func (s *Store) alter(now inventory.Instant, cached *cachedEvent, a inventory.Alteration, ready bool) (result inventory.AlterResult, err error) {
	c, n := s.writer, cached.n
	result.Now = now
	r := cached.rows(c, now)
	if err := r.refuseAlteration(cached.event, a); err != nil {
		return result, err
	}
	version, err := c.version(n)
	if err != nil {
		return result, err
	}
	if version, err = c.takeAway(r, version, cached.event, a); err != nil {
		return result, err
	}
	if err := c.bringIn(n, cached.event, a, ready); err != nil {
		return result, err
	}
	if err := c.writeAlteration(n, a); err != nil {
		return result, err
	}
	if a.Record != nil {
		if err := c.writeRecords(result.Now, []inventory.Record{*a.Record}); err != nil {
			return result, err
		}
	}
	version, err = c.writeLog(n, version, []inventory.LogEntry{{At: result.Now, Kind: a.Kind, By: a.By, Reason: a.Reason}})
	result.Position = inventory.Position{Epoch: s.epoch, Version: version}
	return result, err
}

// refuseAlteration looks for what forbids it: an earlier effect under its id, a change since it was
// decided, a reference in use.
func (r *rows) refuseAlteration(now *inventory.Event, a inventory.Alteration) error {
	if a.Record != nil {
		if rec, ok := r.Record(a.Record.ID); ok {
			if rec.Body != a.Record.Body {
				return &inventory.Refusal{Code: inventory.KeyReused}
			}
			return &inventory.Recorded{Record: rec}
		}
	}
	if now.Revision != a.Expect {
		return inventory.ErrStale
	}
	if ref := a.Event.Reference; ref != "" && ref != now.Reference &&
		r.one("event_reference", func(*sqlite3.Stmt) {}, now.Organizer, ref, now.ID) {
		return &inventory.Refusal{Code: inventory.ReferenceTaken}
	}
	return r.err
}

// takeAway drops allocations and makes areas smaller or larger. What is free goes by one statement each,
// which is its own guard; only what is not is judged, and if it may go its lapsed holds go first.
func (c *conn) takeAway(r *rows, version int64, e *inventory.Event, a inventory.Alteration) (int64, error) {
	used, err := c.dropFree(r, a.Drop)
	if err != nil {
		return version, err
	}
	if len(used)+len(a.Resize) == 0 {
		return version, nil
	}
	eff, refusal := inventory.JudgeAlteration(r.now, &e.Terms, r, used, a.Resize)
	if r.err != nil {
		return version, r.err
	}
	if refusal != nil {
		return version, refusal
	}
	if version, err = c.write(r.n, r.now, version, eff); err != nil {
		return version, err
	}
	for _, u := range used {
		if err := c.execOne("drop_free_allocations", r.n, u, u+1); err != nil {
			return version, err
		}
	}
	for _, z := range a.Resize {
		if err := c.execOne("resize_allocation", z.Capacity, r.n, z.Unit); err != nil {
			return version, err
		}
	}
	return version, nil
}

// dropFree drops those allocations that are free, a statement a run of units, and returns the others.
func (c *conn) dropFree(r *rows, drop []inventory.Unit) (used []inventory.Unit, err error) {
	for len(drop) > 0 {
		run := 1
		for run < len(drop) && drop[run] == drop[run-1]+1 {
			run++
		}
		low, high := drop[0], drop[run-1]+1
		if err := c.exec("drop_free_allocations", r.n, low, high); err != nil {
			return nil, err
		}
		if gone := int(c.Changes()); gone < run {
			before := len(used)
			err := c.each("allocated_units", func(st *sqlite3.Stmt) bool {
				used = append(used, inventory.Unit(st.ColumnInt64(0)))
				return true
			}, r.n, low, high)
			if err != nil {
				return nil, err
			}
			if left := len(used) - before; gone+left != run {
				return nil, fmt.Errorf("sqlite: of %d allocations %d were dropped and %d are left", run, gone, left)
			}
		}
		drop = drop[run:]
	}
	return used, nil
}

func (c *conn) writeAlteration(n int64, a inventory.Alteration) error {
	doc, err := inventory.EncodeEvent(a.Event)
	if err != nil {
		return err
	}
	err = c.execOne("update_event", string(a.Event.Terms.State), nullable(a.Event.Reference), rawText(doc), a.Event.Revision, a.Event.Map, a.Event.Venue, n, a.Expect)
	if err != nil {
		return err
	}
	for _, p := range a.Repaint {
		if err := c.exec("repaint", p.Class, n, p.From, p.From+p.Count); err != nil {
			return err
		}
	}
	if a.Kind != inventory.LogCancelled {
		return nil
	}
	if err := c.exec("end_lines", n); err != nil {
		return err
	}
	return c.exec("end_holds", n)
}
