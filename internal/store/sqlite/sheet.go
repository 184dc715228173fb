package sqlite

import (
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

const (
	sheetsMax      = 64      // events whose rows are remembered
	sheetUnitsMax  = 1 << 20 // units of one event that are; rows of others are read each time
	sheetHoldsMax  = 1 << 16 // holds of one event that are
	sheetHoldsRead = 1 << 12 // holds that are read to begin with
	sheetOrdersMax = 1 << 16 // orders of one event, of which it is remembered what hold they were
)

// sheetBounds says how much is remembered. Numbers as the constants have them, but in tests.
type sheetBounds struct{ sheets, units, holds, holdsRead, orders int }

func boundsOfSheets() sheetBounds {
	return sheetBounds{sheets: sheetsMax, units: sheetUnitsMax, holds: sheetHoldsMax, holdsRead: sheetHoldsRead, orders: sheetOrdersMax}
}

// sheet remembers rows of one event as the last commit left them. The server has the file to itself,
// so what it wrote itself is what stands there: a batch judged from a sheet is judged by the locked
// rows, and one that changes nothing costs the database nothing. The rows stay the authority: whatever
// is written says which row it expects, the schema has the last word, and a transaction that does not
// commit takes its sheet with it. Used by who holds the writer.
type sheet struct {
	n      int64 // the event's number
	event  *inventory.Event
	bounds sheetBounds
	// version of the last commit. Whoever has it need not read it.
	version int64
	units   []unitRow // by unit, as far as they were asked for
	holds   map[inventory.HoldKey]*inventory.Hold
	every   bool // holds has all there are
	// The holds that became orders, all of them; nil when they are too many. Every claim asks whether it comes
	// after its own hold was sold.
	sold map[inventory.HoldKey]struct{}
}

// unitRow is an allocation as it was read or written last.
type unitRow struct {
	capacity int64 // 0: no allocation
	held     int64
	reserved int64
	// No line on this unit has an earlier deadline.
	soonest inventory.Instant
	class   int32
	seat    bool
	read    bool
}

const never = inventory.Instant(math.MaxInt64)

// sheetOf returns the sheet of an event, read or remembered.
func (s *Store) sheetOf(event string) (*sheet, error) {
	if sh, ok := s.sheets[event]; ok {
		return sh, nil
	}
	cached, err := s.lockedEvent(s.writer, event)
	if err != nil {
		return nil, err
	}
	sh := &sheet{n: cached.n, event: cached.event, bounds: s.bounds, holds: make(map[inventory.HoldKey]*inventory.Hold)}
	if sh.version, err = s.writer.version(sh.n); err != nil {
		return nil, err
	}
	if err := sh.readHolds(s.writer); err != nil {
		return nil, err
	}
	if err := sh.readOrders(s.writer); err != nil {
		return nil, err
	}
	if s.lock == nil {
		return sh, nil // beside a server nothing can be remembered
	}
	if len(s.sheets) >= s.bounds.sheets {
		for other := range s.sheets {
			delete(s.sheets, other)
			break
		}
	}
	s.sheets[event] = sh
	return sh, nil
}

// readHolds reads the event's holds, unless there are many.
func (sh *sheet) readHolds(c *conn) error {
	var decodeErr error
	err := c.each("holds_all", func(st *sqlite3.Stmt) bool {
		k := keyOf(st, 8)
		sh.holds[k], decodeErr = scanHold(st, k)
		return decodeErr == nil
	}, sh.n, sh.bounds.holdsRead+1)
	if err == nil {
		err = decodeErr
	}
	if sh.every = len(sh.holds) <= sh.bounds.holdsRead; !sh.every {
		clear(sh.holds)
	}
	return err
}

// readOrders reads which holds became orders, unless there are many.
func (sh *sheet) readOrders(c *conn) error {
	sh.sold = make(map[inventory.HoldKey]struct{})
	err := c.each("orders_holds", func(st *sqlite3.Stmt) bool {
		sh.sold[keyOf(st, 0)] = struct{}{}
		return true
	}, sh.n, sh.bounds.orders+1)
	if len(sh.sold) > sh.bounds.orders {
		sh.sold = nil
	}
	return err
}

// forget drops what is remembered of an event; empty for all.
func (s *Store) forget(event string) {
	if event == "" {
		clear(s.sheets)
		return
	}
	delete(s.sheets, event)
}

// remember brings the sheet to where a commit has brought the rows.
func (sh *sheet) remember(version int64, eff *inventory.Effects) {
	sh.version = version
	for _, m := range eff.Moves {
		if u := sh.unit(m.Unit); u != nil && u.read {
			u.held += m.Held
			u.reserved += m.Reserved
			if u.held == 0 {
				u.soonest = never
			}
		}
	}
	for i := range eff.InsertLines {
		l := &eff.InsertLines[i]
		if u := sh.unit(l.Unit); u != nil && u.read {
			u.soonest = min(u.soonest, l.Deadline)
		}
	}
	for _, k := range eff.DeleteHolds {
		delete(sh.holds, k)
	}
	for _, o := range eff.InsertOrders {
		if sh.sold != nil {
			sh.sold[o.Key] = struct{}{}
		}
	}
	if len(sh.sold) > sh.bounds.orders {
		sh.sold = nil
	}
	for _, h := range eff.UpdateHolds {
		sh.keep(h)
	}
	for _, h := range eff.InsertHolds {
		sh.keep(h)
	}
}

// keep remembers a hold. Where there is no room for another, all are forgotten and read as they are asked for.
func (sh *sheet) keep(h *inventory.Hold) {
	if _, there := sh.holds[h.Key]; !there && len(sh.holds) >= sh.bounds.holds {
		clear(sh.holds)
		sh.every = false
	}
	sh.holds[h.Key] = h
}

// unit is where a unit's row is remembered, nil for one that is not.
func (sh *sheet) unit(u inventory.Unit) *unitRow {
	if u < 0 || int(u) >= sh.bounds.units {
		return nil
	}
	if int(u) >= len(sh.units) {
		grown := make([]unitRow, max(int(u)+1, min(2*len(sh.units), sh.bounds.units)))
		copy(grown, sh.units)
		sh.units = grown
	}
	return &sh.units[u]
}

// sheetRows answers the judge from a sheet, and from the database what the sheet does not know.
type sheetRows struct {
	rows
	sheet *sheet
}

// Allocation implements inventory.Rows. The key, which is for people, is left out.
func (r *sheetRows) Allocation(u inventory.Unit) (inventory.Allocation, bool) {
	row := r.sheet.unit(u)
	if row == nil {
		return r.rows.Allocation(u)
	}
	if !row.read {
		a, ok := r.rows.Allocation(u)
		if r.err != nil {
			return a, false
		}
		*row = unitRow{capacity: a.Capacity, held: a.Held, reserved: a.Reserved, class: int32(a.Class), seat: a.Seat, read: true, soonest: never}
		if ok && a.Held > 0 {
			row.soonest = r.soonest(u)
		}
		row.read = r.err == nil
	}
	return inventory.Allocation{
		Unit: u, Seat: row.seat, Class: int(row.class), Capacity: row.capacity, Held: row.held, Reserved: row.reserved,
	}, row.capacity > 0 && r.err == nil
}

// Hold implements inventory.Rows.
func (r *sheetRows) Hold(k inventory.HoldKey) (*inventory.Hold, bool) {
	if h, ok := r.sheet.holds[k]; ok || r.sheet.every {
		return h, ok
	}
	return r.rows.Hold(k)
}

// OrderByHold implements inventory.Rows.
func (r *sheetRows) OrderByHold(k inventory.HoldKey) (*inventory.Order, bool) {
	if _, ok := r.sheet.sold[k]; !ok && r.sheet.sold != nil {
		return nil, false
	}
	return r.rows.OrderByHold(k)
}

// Lapsed implements inventory.Rows. Where the soonest deadline has not passed there is nothing to read.
func (r *sheetRows) Lapsed(u inventory.Unit, now inventory.Instant, limit int) []inventory.HoldKey {
	row := r.sheet.unit(u)
	if row == nil || !row.read {
		return r.rows.Lapsed(u, now, limit)
	}
	if row.soonest > now {
		return nil
	}
	keys := r.rows.Lapsed(u, now, limit)
	if len(keys) == 0 && r.err == nil {
		row.soonest = r.soonest(u) // the hold it was is gone
	}
	return keys
}
