package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/rowlock/rowlock/internal/inventory"
)

// What tests may do that nobody else may: run statements on the writer, and take the store's
// transaction apart to show what each part is for.

// Exec runs SQL on the writing connection.
func (s *Store) Exec(sql string) error {
	s.write.Lock()
	defer s.write.Unlock()
	defer s.forget("")
	return s.writer.Exec(sql)
}

// Count runs a query for one integer.
func (s *Store) Count(sql string) (n int64, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	st, _, err := s.writer.Prepare(sql)
	if err != nil {
		return 0, err
	}
	st.Step()
	n = st.ColumnInt64(0)
	return n, st.Close()
}

// JudgeOutside judges on a snapshot, outside the writer's transaction: the check of a check-then-set.
func (s *Store) JudgeOutside(ctx context.Context, event string, judge func(inventory.Instant, *inventory.Terms, inventory.Rows) *inventory.Effects) (*inventory.Effects, error) {
	var eff *inventory.Effects
	err := s.read(ctx, func(c *conn) error {
		r, e, err := s.snapshot(c, event)
		if err != nil {
			return err
		}
		eff = judge(r.now, &e.Terms, r)
		return r.err
	})
	return eff, err
}

// WriteUnjudged writes effects without looking again: the set of a check-then-set.
func (s *Store) WriteUnjudged(ctx context.Context, event string, eff *inventory.Effects) (inventory.Position, error) {
	return s.transact(ctx, event, func(inventory.Instant, *inventory.Terms, inventory.Rows) *inventory.Effects { return eff })
}

// JudgeInside runs a batch with a judge of the test's own.
func (s *Store) JudgeInside(ctx context.Context, event string, judge func(inventory.Instant, *inventory.Terms, inventory.Rows) *inventory.Effects) (inventory.Position, error) {
	return s.transact(ctx, event, judge)
}

// Constraints of the schema that a twin switches off.
const (
	WithoutCheck  = "PRAGMA ignore_check_constraints = 1"
	WithoutUnique = "DROP INDEX one_hold_a_seat; DROP INDEX one_ticket_a_seat"
)

// SetWALMax sets the size past which the write-ahead log is begun anew.
func (s *Store) SetWALMax(bytes int64) { s.walMax = bytes }

// ReadAllAlong keeps a snapshot open on one reading connection until stop is closed.
func (s *Store) ReadAllAlong(ctx context.Context, begun chan<- struct{}, stop <-chan struct{}) error {
	return s.read(ctx, func(c *conn) error {
		_, err := c.one("position", func(*sqlite3.Stmt) {}, 1) // the clock alone takes no snapshot
		close(begun)
		<-stop
		return err
	})
}

// BeginFile does of the making of a file what comes before it is marked as ours.
func BeginFile(path string) error {
	if err := os.WriteFile(path, nil, fileMode); err != nil {
		return err
	}
	c, err := onDisk(path).open(true)
	if err != nil {
		return err
	}
	return c.Close()
}

// Medium is where a test's store has its files: what is beneath the buffers of the log, how durable a
// commit is, and how many pages the log may have before they are copied back.
type Medium struct {
	Files       vfs.VFS
	Name        string // of Files, among the process's
	Synchronous string
	Checkpoint  int
}

// OpenOn opens a file on another medium than the machine's disk.
func OpenOn(ctx context.Context, path string, m Medium) (*Store, error) {
	vfs.Register(m.Name, newFiles(m.Files))
	return openServer(ctx, medium{path: path, files: m.Name, synchronous: m.Synchronous, checkpoint: m.Checkpoint})
}

// SetSheetBounds makes little be remembered: how many events, units and holds of one, and holds read to begin with.
func (s *Store) SetSheetBounds(sheets, units, holds, holdsRead int) {
	s.write.Lock()
	defer s.write.Unlock()
	s.forget("")
	s.bounds = sheetBounds{sheets: sheets, units: units, holds: holds, holdsRead: holdsRead, orders: holds}
}

// PlainRows are the rows behind what a judge is shown, without what is remembered; failed is why they
// could not be read.
func PlainRows(r inventory.Rows) (plain inventory.Rows, failed func() error) {
	remembered := r.(*sheetRows)
	return &remembered.rows, func() error { return remembered.err }
}

// SettleClock does what the store does when its clock has stepped back.
func (s *Store) SettleClock() error { return s.settleClock() }

// ReopenWriter does what the store does when its writing connection cannot be trusted.
func (s *Store) ReopenWriter() error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.reopenWriter()
}

// CompareSheets says how many events are remembered, and where what is remembered differs from the rows.
func (s *Store) CompareSheets() (remembered int, differences []string, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	note := func(event, format string, args ...any) {
		differences = append(differences, event+": "+fmt.Sprintf(format, args...))
	}
	for id, sh := range s.sheets {
		if err := s.compareSheet(sh, func(format string, args ...any) { note(id, format, args...) }); err != nil {
			return 0, nil, err
		}
	}
	return len(s.sheets), differences, nil
}

func (s *Store) compareSheet(sh *sheet, note func(format string, args ...any)) error {
	e, err := scanEvent(s.writer, sh.event.ID)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(e, sh.event) {
		note("the event is %+v, not %+v", e, sh.event)
	}
	version, err := s.writer.version(sh.n)
	if err != nil {
		return err
	}
	if version != sh.version {
		note("version %d, not %d", version, sh.version)
	}
	r := &rows{c: s.writer, n: sh.n, left: len(sh.event.Former)}
	for u, is := range sh.units {
		if !is.read {
			continue
		}
		a, _ := r.Allocation(inventory.Unit(u))
		row := unitRow{capacity: a.Capacity, held: a.Held, reserved: a.Reserved, class: int32(a.Class), seat: a.Seat, read: true, soonest: is.soonest}
		if row != is {
			note("unit %d is %+v, not %+v", u, row, is)
		}
		if soonest := r.soonest(inventory.Unit(u)); soonest < is.soonest {
			note("a line on unit %d ends at %d, before %d", u, soonest, is.soonest)
		}
	}
	for k, is := range sh.holds {
		if h, _ := r.Hold(k); !reflect.DeepEqual(h, is) {
			note("hold %x is %+v, not %+v", k, h, is)
		}
	}
	if sh.every {
		count := 0
		err = s.writer.each("holds_all", func(*sqlite3.Stmt) bool { count++; return true }, sh.n, math.MaxInt32)
		if count != len(sh.holds) {
			note("%d holds, not %d, and all are said to be there", count, len(sh.holds))
		}
	}
	return errors.Join(r.err, err)
}

// StageRowsMax is how many allocations one part of a publishing or of a new map has.
const StageRowsMax = stageRowsMax

// SetStageRows makes parts of another size.
func (s *Store) SetStageRows(rows int) { s.stageMax = rows }

// StageParts does the first parts of a publishing or of a move to a new map, and no more.
func (s *Store) StageParts(event string, a inventory.Alteration, parts int) error {
	a.Insert = a.Insert[:min(parts*s.stageMax, len(a.Insert))]
	return s.stage(event, a)
}
