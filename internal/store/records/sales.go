package records

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Order reads an order of an event with its tickets, in id order.
func (r *Records) Order(ctx context.Context, event, id string) (*inventory.Order, error) {
	return r.order(ctx, "order", event, id)
}

// OrderByHold reads the order that a hold became.
func (r *Records) OrderByHold(ctx context.Context, event string, key inventory.HoldKey) (*inventory.Order, error) {
	return r.order(ctx, "order_by_hold", event, key[:])
}

// OrderByTicket reads the order that a ticket belongs to, with all its tickets.
func (r *Records) OrderByTicket(ctx context.Context, event, ticket string) (*inventory.Order, error) {
	return r.order(ctx, "order_by_ticket", event, ticket)
}

// Orders lists an event's orders. One that does not exist has none.
func (r *Records) Orders(ctx context.Context, event string, p inventory.Page) ([]*inventory.Order, error) {
	name, args := paged("orders", p, event)
	all, err := r.orders(ctx, name, args)
	return all, answer("orders", err)
}

func (r *Records) order(ctx context.Context, name string, args ...any) (*inventory.Order, error) {
	all, err := r.orders(ctx, name, args)
	if err != nil {
		return nil, answer("order", err)
	}
	if len(all) == 0 {
		return nil, inventory.ErrNotFound
	}
	return all[0], nil
}

// orders gathers rows, one a ticket, into orders. The rows of an order follow one another.
func (r *Records) orders(ctx context.Context, name string, args []any) ([]*inventory.Order, error) {
	var all []*inventory.Order
	err := r.each(ctx, name, args, func(row row) error {
		var c orderRow
		if err := c.scan(row); err != nil {
			return err
		}
		if n := len(all); n == 0 || all[n-1].ID != c.order.ID {
			o, err := c.made()
			if err != nil {
				return err
			}
			all = append(all, o)
		}
		if c.ticket.Valid {
			last := all[len(all)-1]
			last.Tickets = append(last.Tickets, c.ticketMade())
		}
		return nil
	})
	return all, err
}

// orderRow is an order beside one of its tickets, as the columns are. The ticket's are null together.
type orderRow struct {
	order                              inventory.Order
	key, token, buyer, metadata, lines []byte
	reference                          sql.NullString

	ticket                         sql.NullString
	unit, seat, class, price, live sql.NullInt64
}

func (c *orderRow) scan(row row) error {
	o := &c.order
	return row.Scan(&o.ID, &c.key, &o.State, &o.Created, &c.token, &o.Buyer.Name, &o.Buyer.Email,
		&c.buyer, &c.reference, &c.metadata, &c.lines, &o.Total, &o.Payment.Method, &o.Payment.Reference,
		&c.ticket, &c.unit, &c.seat, &c.class, &c.price, &c.live)
}

// made decodes the order.
func (c *orderRow) made() (*inventory.Order, error) {
	o := &c.order
	if err := fill(o.Key[:], c.key); err != nil {
		return nil, err
	}
	if o.HasToken = c.token != nil; o.HasToken {
		if err := fill(o.TokenHash[:], c.token); err != nil {
			return nil, err
		}
	}
	if c.buyer != nil {
		if err := fill(o.Buyer.Hash[:], c.buyer); err != nil {
			return nil, err
		}
	}
	o.Reference = c.reference.String
	var err error
	if o.Metadata, err = metadataOf(c.metadata); err != nil {
		return nil, err
	}
	o.Lines, err = inventory.DecodeLines(c.lines)
	return o, err
}

// ticketMade decodes the ticket.
func (c *orderRow) ticketMade() inventory.Ticket {
	return inventory.Ticket{
		ID: c.ticket.String, Unit: inventory.Unit(c.unit.Int64), Seat: c.seat.Int64 == 1,
		Type: int(c.class.Int64), Price: c.price.Int64, Valid: c.live.Int64 == 1,
	}
}

// HoldByReference finds a live or lapsed hold row.
func (r *Records) HoldByReference(ctx context.Context, event, reference string) (inventory.HoldKey, error) {
	var key inventory.HoldKey
	var column []byte
	err := r.row(ctx, "hold_by_reference", event, reference).Scan(&column)
	if err == nil {
		err = fill(key[:], column)
	}
	return key, answer("hold by reference", err)
}

// errEnough ends a listing that has what was asked for.
var errEnough = errors.New("records: enough")

// Log lists at most limit entries of an event's log after a number. An event that does not exist has none.
// A row has the entries of one transaction: the first may begin before what is asked for, the last end behind it.
func (r *Records) Log(ctx context.Context, event string, after int64, limit int) ([]inventory.LogEntry, error) {
	var all []inventory.LogEntry
	err := r.each(ctx, "log", []any{event, after, limit}, func(row row) error {
		var last int64
		var entries []byte
		if err := row.Scan(&last, &entries); err != nil {
			return err
		}
		of, err := inventory.DecodeLog(last, entries)
		if err != nil {
			return err
		}
		for _, e := range of {
			if e.Number > after {
				all = append(all, e)
			}
		}
		if len(all) >= limit {
			all = all[:limit]
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, answer("log", err)
}

// Sums adds an event's orders up, at one moment.
func (r *Records) Sums(ctx context.Context, event string) (inventory.Sums, error) {
	var s inventory.Sums
	err := r.row(ctx, "sums", event).Scan(&s.Orders, &s.Tickets, &s.Total)
	return s, answer("sums", err)
}
