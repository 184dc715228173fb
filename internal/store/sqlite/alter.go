package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// stageRowsMax bounds how many allocations one turn inserts, so that publishing a large house keeps no
// buyer of another event waiting for more than a few hundredths of a second.
const stageRowsMax = 4_096

const unitsEnd = inventory.Unit(math.MaxInt32) // behind every unit

// Alter implements inventory.Ledger. Allocations of a draft that is published are inserted ahead, a part
// a transaction, for nobody can see them; all else is one transaction.
func (s *Store) Alter(_ context.Context, event string, a inventory.Alteration) (result inventory.AlterResult, err error) {
	staged := a.Kind == inventory.LogPublished && len(a.Insert) > stageRowsMax
	if staged {
		s.staging.Lock() // of two that publish one event, parts must not mix
		defer s.staging.Unlock()
		if err := s.stage(event, a); err != nil {
			return result, err
		}
	}
	err = s.altering(event, func(now inventory.Instant, e *cachedEvent) error {
		result, err = s.alter(now, e, a, staged)
		return err
	})
	return result, err
}

// altering runs fn in a transaction that changes an event.
func (s *Store) altering(event string, fn func(inventory.Instant, *cachedEvent) error) error {
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
	}, func(error) {
		s.terms.Delete(event)
		s.forget(event)
	})
}

// stage inserts the allocations of a draft, each part in a transaction of its own that takes the place
// of whatever an earlier attempt left in its span. A draft shows no allocation and sells none, so what
// a crash leaves half done is as if it were not there.
func (s *Store) stage(event string, a inventory.Alteration) error {
	for from := 0; from < len(a.Insert); from += stageRowsMax {
		part := a.Insert[from:min(from+stageRowsMax, len(a.Insert))]
		low, high := inventory.Unit(0), unitsEnd // the first and the last part reach beyond their rows
		if from > 0 {
			low = part[0].Unit
		}
		if end := from + len(part); end < len(a.Insert) {
			high = a.Insert[end].Unit
		}
		err := s.altering(event, func(now inventory.Instant, e *cachedEvent) error {
			r := &rows{c: s.writer, n: e.n, now: now}
			if err := r.refuseAlteration(e.event, a); err != nil {
				return err
			}
			if e.event.Terms.State != inventory.Draft {
				return fmt.Errorf("sqlite: event %s is published twice", event)
			}
			if err := s.writer.exec("drop_allocations", e.n, low, high); err != nil {
				return err
			}
			return s.writer.insertAllocations(e.n, part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) alter(now inventory.Instant, cached *cachedEvent, a inventory.Alteration, staged bool) (result inventory.AlterResult, err error) {
	c, n := s.writer, cached.n
	result.Now = now
	r := &rows{c: c, n: n, now: now}
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
	if !staged {
		if err := c.insert(n, cached.event.Terms.State, a); err != nil {
			return result, err
		}
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
	var used []inventory.Unit
	for _, u := range a.Drop {
		if err := c.exec("drop_free_allocation", r.n, u); err != nil {
			return version, err
		}
		if c.Changes() == 0 {
			used = append(used, u)
		}
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
	version, err := c.write(r.n, r.now, version, eff)
	if err != nil {
		return version, err
	}
	for _, u := range used {
		if err := c.execOne("drop_free_allocation", r.n, u); err != nil {
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

// insert makes new allocations. An event that is no longer a draft has those and no others: what an
// attempt to publish it left behind would come to light.
func (c *conn) insert(n int64, was inventory.State, a inventory.Alteration) error {
	if was == inventory.Draft && a.Event.Terms.State != inventory.Draft {
		if err := c.exec("drop_allocations", n, inventory.Unit(0), unitsEnd); err != nil {
			return err
		}
	}
	return c.insertAllocations(n, a.Insert)
}

func (c *conn) insertAllocations(n int64, rows []inventory.Allocation) error {
	for i := range rows {
		al := &rows[i]
		if err := c.exec("insert_allocation", n, al.Unit, al.Key, al.Seat, al.Class, al.Capacity); err != nil {
			return err
		}
	}
	return nil
}
