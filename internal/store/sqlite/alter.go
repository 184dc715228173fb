package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Alter implements inventory.Ledger.
func (s *Store) Alter(_ context.Context, event string, a inventory.Alteration) (result inventory.AlterResult, err error) {
	err = s.writing("alter", func(begin func() error) error {
		if err := begin(); err != nil {
			return err
		}
		result, err = s.alter(event, a)
		return err
	}, func(error) {
		s.terms.Delete(event)
		s.forget(event)
	})
	return result, err
}

func (s *Store) alter(event string, a inventory.Alteration) (result inventory.AlterResult, err error) {
	c := s.writer
	cached, err := s.lockedEvent(c, event)
	if err != nil {
		return result, err
	}
	if result.Now, err = c.now(); err != nil {
		return result, err
	}
	r := &rows{c: c, n: cached.n, now: result.Now}
	if err := r.refuseAlteration(cached.event, a); err != nil {
		return result, err
	}
	if err := c.writeAlteration(cached.n, a); err != nil {
		return result, err
	}
	if a.Record != nil {
		if err := c.writeRecords(result.Now, []inventory.Record{*a.Record}); err != nil {
			return result, err
		}
	}
	version, err := c.version(cached.n)
	if err != nil {
		return result, err
	}
	version, err = c.writeLog(cached.n, version, []inventory.LogEntry{{At: result.Now, Kind: a.Kind, By: a.By, Reason: a.Reason}})
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

func (c *conn) writeAlteration(n int64, a inventory.Alteration) error {
	doc, err := inventory.EncodeEvent(a.Event)
	if err != nil {
		return err
	}
	err = c.execOne("update_event", string(a.Event.Terms.State), nullable(a.Event.Reference), rawText(doc), a.Event.Revision, a.Event.Map, a.Event.Venue, n, a.Expect)
	if err != nil {
		return err
	}
	for i := range a.Insert {
		al := &a.Insert[i]
		if err := c.exec("insert_allocation", n, al.Unit, al.Key, al.Seat, al.Class, al.Capacity); err != nil {
			return err
		}
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
