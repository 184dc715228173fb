package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// rows answers the judge from the database, on demand: the transaction has the file to itself, so a
// row read late is the row as it was read early. The first error is kept, and the verdict dropped.
type rows struct {
	c     *conn
	n     int64 // the event's number
	left  int   // how many maps it has left behind: allocations of later ones are not there
	now   inventory.Instant
	begin func() error // begins the transaction if it has not begun; nil when it has
	err   error
}

// rows are those of an event, in a transaction that has begun.
func (e *cachedEvent) rows(c *conn, now inventory.Instant) *rows {
	return &rows{c: c, n: e.n, left: len(e.event.Former), now: now}
}

// ready begins the transaction before its first statement, and reports whether anything may be read.
func (r *rows) ready() bool {
	if r.err == nil && r.begin != nil {
		r.err = r.begin()
	}
	return r.err == nil
}

func (r *rows) one(name string, fn func(*sqlite3.Stmt), args ...any) bool {
	if !r.ready() {
		return false
	}
	found, err := r.c.one(name, fn, args...)
	r.err = err
	return found && err == nil
}

func (r *rows) Allocation(u inventory.Unit) (a inventory.Allocation, ok bool) {
	ok = r.one("allocation", func(st *sqlite3.Stmt) {
		a = inventory.Allocation{
			Unit: u, Key: st.ColumnText(0), Seat: st.ColumnInt(1) == 1, Class: st.ColumnInt(2),
			Capacity: st.ColumnInt64(3), Held: st.ColumnInt64(4), Reserved: st.ColumnInt64(5),
		}
	}, r.n, u, r.left)
	return a, ok
}

func (r *rows) Hold(k inventory.HoldKey) (h *inventory.Hold, ok bool) {
	var err error
	ok = r.one("hold", func(st *sqlite3.Stmt) { h, err = scanHold(st, k) }, r.n, &k)
	if r.err == nil {
		r.err = err
	}
	return h, ok && r.err == nil
}

// scanHold reads the columns of the queries hold and holds_page.
func scanHold(st *sqlite3.Stmt, k inventory.HoldKey) (*inventory.Hold, error) {
	lines, err := inventory.DecodeLines(st.ColumnRawText(7))
	if err != nil {
		return nil, err
	}
	metadata, err := inventory.DecodeMetadata(st.ColumnRawText(6))
	if err != nil {
		return nil, err
	}
	return &inventory.Hold{
		Key: k, Created: inventory.Instant(st.ColumnInt64(0)), Deadline: inventory.Instant(st.ColumnInt64(1)),
		Cap: inventory.Instant(st.ColumnInt64(2)), TTL: st.ColumnInt64(3), ByKey: st.ColumnInt(4) == 1,
		Reference: st.ColumnText(5), Metadata: metadata, Lines: lines,
	}, nil
}

func (r *rows) HoldByReference(reference string) (k inventory.HoldKey, ok bool) {
	ok = r.one("hold_by_reference", func(st *sqlite3.Stmt) { k = keyOf(st, 0) }, r.n, reference)
	return k, ok
}

func (r *rows) Lapsed(u inventory.Unit, now inventory.Instant, limit int) (keys []inventory.HoldKey) {
	if !r.ready() {
		return nil
	}
	r.err = r.c.each("lapsed_lines", func(st *sqlite3.Stmt) bool {
		keys = append(keys, keyOf(st, 0))
		return true
	}, r.n, u, now, limit)
	return keys
}

// soonest is the earliest deadline among a unit's lines.
func (r *rows) soonest(u inventory.Unit) (deadline inventory.Instant) {
	deadline = never
	r.one("soonest_line", func(st *sqlite3.Stmt) { deadline = inventory.Instant(st.ColumnInt64(0)) }, r.n, u)
	return deadline
}

func (r *rows) Record(id inventory.CommandID) (rec inventory.Record, ok bool) {
	ok = r.one("record_any", func(st *sqlite3.Stmt) {
		rec = inventory.Record{ID: id, Answer: st.ColumnBlob(1, nil), Sealed: st.ColumnBlob(2, nil)}
		copy(rec.Body[:], st.ColumnRawBlob(0))
	}, id[:], r.now-inventory.Instant(recordLifetime.Microseconds()))
	return rec, ok
}

func (r *rows) Order(id string) (*inventory.Order, bool) {
	return r.order("order", id)
}

func (r *rows) OrderByHold(k inventory.HoldKey) (*inventory.Order, bool) {
	return r.order("order_by_hold", &k)
}

func (r *rows) order(query string, by any) (o *inventory.Order, ok bool) {
	var err error
	ok = r.one(query, func(st *sqlite3.Stmt) { o, err = scanOrder(st) }, r.n, by)
	if r.err == nil {
		r.err = err
	}
	if !ok || r.err != nil {
		return nil, false
	}
	r.err = r.c.each("tickets", func(st *sqlite3.Stmt) bool {
		o.Tickets = append(o.Tickets, inventory.Ticket{
			ID: st.ColumnText(0), Unit: inventory.Unit(st.ColumnInt64(1)), Seat: st.ColumnInt(2) == 1,
			Type: st.ColumnInt(3), Price: st.ColumnInt64(4), Valid: st.ColumnInt(5) == 1,
		})
		return true
	}, r.n, o.ID)
	return o, r.err == nil
}

func scanOrder(st *sqlite3.Stmt) (*inventory.Order, error) {
	lines, err := inventory.DecodeLines(st.ColumnRawText(10))
	if err != nil {
		return nil, err
	}
	metadata, err := inventory.DecodeMetadata(st.ColumnRawText(9))
	if err != nil {
		return nil, err
	}
	o := &inventory.Order{
		ID: st.ColumnText(0), Key: keyOf(st, 1), State: inventory.OrderState(st.ColumnText(2)),
		Created: inventory.Instant(st.ColumnInt64(3)), HasToken: st.ColumnType(4) != sqlite3.NULL,
		Buyer:     inventory.Buyer{Name: st.ColumnText(5), Email: st.ColumnText(6)},
		Reference: st.ColumnText(8), Metadata: metadata, Lines: lines, Total: st.ColumnInt64(11),
		Payment: inventory.Payment{Method: st.ColumnText(12), Reference: st.ColumnText(13)},
	}
	copy(o.TokenHash[:], st.ColumnRawBlob(4))
	copy(o.Buyer.Hash[:], st.ColumnRawBlob(7))
	return o, nil
}

func (r *rows) OrderReferenceTaken(reference string) bool {
	return r.one("order_reference", func(*sqlite3.Stmt) {}, r.n, reference)
}

func (r *rows) BuyerUnits(buyer [16]byte) (units int64) {
	r.one("buyer", func(st *sqlite3.Stmt) { units = st.ColumnInt64(0) }, r.n, buyer[:])
	return units
}
