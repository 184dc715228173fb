package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// judgementAgeMax is how long before its transaction began a batch may have been judged.
const judgementAgeMax = 250 * time.Millisecond

// Apply implements inventory.Store.
func (s *Store) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	var outcomes []inventory.Outcome
	position, err := s.transact(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		var eff *inventory.Effects
		outcomes, eff = inventory.Judge(now, terms, r, batch)
		return eff
	})
	if errors.Is(err, sqlite3.CONSTRAINT) {
		return oneByOne(batch, func(c inventory.Command) ([]inventory.Outcome, error) {
			return s.Apply(ctx, event, []inventory.Command{c})
		}, inventory.Outcome{Refusal: denied(), Position: position})
	}
	if err != nil {
		return nil, err
	}
	for i := range outcomes {
		outcomes[i].Position = position
	}
	return outcomes, nil
}

// Sell implements inventory.Ledger.
func (s *Store) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	var outcomes []inventory.SaleOutcome
	_, err := s.transact(ctx, event, func(now inventory.Instant, terms *inventory.Terms, r inventory.Rows) *inventory.Effects {
		var eff *inventory.Effects
		outcomes, eff = inventory.JudgeSales(now, terms, r, batch)
		return eff
	})
	if errors.Is(err, sqlite3.CONSTRAINT) {
		return oneByOne(batch, func(sale inventory.Sale) ([]inventory.SaleOutcome, error) {
			return s.Sell(ctx, event, []inventory.Sale{sale})
		}, inventory.SaleOutcome{Refusal: denied()})
	}
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// Return implements inventory.Ledger.
func (s *Store) Return(ctx context.Context, event string, r inventory.Return) (inventory.ReturnOutcome, error) {
	var out inventory.ReturnOutcome
	_, err := s.transact(ctx, event, func(now inventory.Instant, terms *inventory.Terms, rows inventory.Rows) *inventory.Effects {
		var eff *inventory.Effects
		out, eff = inventory.JudgeReturn(now, terms, rows, r)
		return eff
	})
	return out, err
}

// oneByOne runs a batch again, each command alone, after a constraint stopped it: one bad command
// never fails its neighbours. What a constraint denies even alone is refused.
func oneByOne[C, O any](batch []C, run func(C) ([]O, error), denied O) ([]O, error) {
	outcomes := make([]O, len(batch))
	if len(batch) == 1 {
		outcomes[0] = denied
		return outcomes, nil
	}
	for i, c := range batch {
		one, err := run(c)
		if err != nil {
			return nil, err
		}
		outcomes[i] = one[0]
	}
	return outcomes, nil
}

// denied is the answer when the schema says no to what the judge had allowed: the rows contradict
// each other, the schema is right, and the audit will say where.
func denied() *inventory.Refusal {
	return &inventory.Refusal{Code: inventory.AllocationUnavailable, Detail: "the database refused it"}
}

// Sweep implements inventory.Store.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	type lapsed struct {
		event string
		batch []inventory.Command
	}
	var found []lapsed
	var now inventory.Instant
	err := s.read(ctx, func(c *conn) error {
		var err error
		if now, err = c.now(); err != nil {
			return err
		}
		index := make(map[string]int)
		return c.each("lapsed_holds_all", func(st *sqlite3.Stmt) bool {
			event := st.ColumnText(0)
			i, ok := index[event]
			if !ok {
				i = len(found)
				index[event] = i
				found = append(found, lapsed{event: event})
			}
			found[i].batch = append(found[i].batch, inventory.Command{Verb: inventory.Expire, Key: keyOf(st, 1), By: "store"})
			return true
		}, now, limit)
	})
	if err == nil {
		err = s.watchClock(now)
	}
	ended := 0
	for _, l := range found {
		if err != nil {
			break
		}
		var outcomes []inventory.Outcome
		outcomes, err = s.Apply(ctx, l.event, l.batch)
		for _, o := range outcomes {
			if o.Released {
				ended++
			}
		}
	}
	if err == nil {
		err = s.forgetRecords(limit)
	}
	if err == nil {
		err = s.trim(ctx)
	}
	return ended, err
}

// forgetRecords deletes some records that no longer count.
func (s *Store) forgetRecords(limit int) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.mayWrite(); err != nil {
		return err
	}
	now, err := s.writer.now()
	if err == nil {
		err = s.writer.exec("forget_records_all", now-inventory.Instant(recordLifetime.Microseconds()), limit)
	}
	if err != nil {
		err = s.fault(err)
	}
	return err
}

type judgement func(inventory.Instant, *inventory.Terms, inventory.Rows) *inventory.Effects

// transact runs one batch: judge, begin, write, commit. It returns the event's position after it.
// Nothing is answered before the commit has been flushed. The transaction begins with the first
// statement that needs one, so a batch that is refused from what is remembered has none.
func (s *Store) transact(_ context.Context, event string, judge judgement) (position inventory.Position, err error) {
	position.Epoch = s.epoch
	var sh *sheet
	var eff *inventory.Effects
	err = s.writing("batch", func(begin func() error) error {
		if s.lock == nil { // others write into this file, and what is judged must be what is locked
			if err := begin(); err != nil {
				return err
			}
		}
		if sh, err = s.sheetOf(event); err != nil {
			return err
		}
		eff, position.Version, err = s.judgeAndWrite(sh, judge, begin)
		return err
	}, func(err error) {
		if err == nil {
			sh.remember(position.Version, eff)
		} else {
			s.forget(event)
		}
	})
	return position, err
}

// judgeAndWrite judges a batch and writes what it does. Rows are what they were when the transaction has
// begun, for nobody else writes them; the clock is not, if a command beside the server kept the lock for
// long. Then the batch is judged again, by the time at which it has the lock.
func (s *Store) judgeAndWrite(sh *sheet, judge judgement, begin func() error) (*inventory.Effects, int64, error) {
	judged := time.Now()
	now, err := s.writer.now()
	if err != nil {
		return nil, 0, err
	}
	eff, err := s.judge(now, sh, judge, begin)
	if err != nil || eff.Empty() {
		return eff, sh.version, err
	}
	if err := begin(); err != nil {
		return nil, 0, err
	}
	if time.Since(judged) > judgementAgeMax {
		if now, err = s.writer.now(); err != nil {
			return nil, 0, err
		}
		if eff, err = s.judge(now, sh, judge, begin); err != nil {
			return nil, 0, err
		}
	}
	version, err := s.writer.write(sh.n, now, sh.version, eff)
	return eff, version, err
}

func (s *Store) judge(now inventory.Instant, sh *sheet, judge judgement, begin func() error) (*inventory.Effects, error) {
	r := &sheetRows{rows: rows{c: s.writer, n: sh.n, left: len(sh.event.Former), now: now, begin: begin}, sheet: sh}
	eff := judge(now, &sh.event.Terms, r)
	return eff, r.err
}

// lockedEvent returns an event as the transaction sees it. The terms are decoded once a revision.
func (s *Store) lockedEvent(c *conn, event string) (*cachedEvent, error) {
	var n, revision int64
	found, err := c.one("event_revision", func(st *sqlite3.Stmt) { n, revision = st.ColumnInt64(0), st.ColumnInt64(1) }, event)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, inventory.ErrNotFound
	}
	if have, ok := s.terms.Load(event); ok && have.(*cachedEvent).event.Revision == revision {
		return have.(*cachedEvent), nil
	}
	e, err := scanEvent(c, event)
	if err != nil {
		return nil, err
	}
	fresh := &cachedEvent{n: n, event: e}
	s.terms.Store(event, fresh)
	return fresh, nil
}

func scanEvent(c *conn, event string) (e *inventory.Event, err error) {
	var decodeErr error
	found, err := c.one("event", func(st *sqlite3.Stmt) {
		if e, decodeErr = inventory.DecodeEvent(st.ColumnRawText(3)); decodeErr == nil {
			e.Revision, e.Terms.State = st.ColumnInt64(1), inventory.State(st.ColumnText(2))
		}
	}, event)
	switch {
	case err != nil:
		return nil, err
	case decodeErr != nil:
		return nil, decodeErr
	case !found:
		return nil, inventory.ErrNotFound
	}
	return e, nil
}

func (c *conn) version(n int64) (v int64, err error) {
	found, err := c.one("position", func(st *sqlite3.Stmt) { v = st.ColumnInt64(0) }, n)
	if err == nil && !found {
		err = fmt.Errorf("sqlite: event %d has no position", n)
	}
	return v, err
}
