package sqlite

import (
	"fmt"

	"github.com/rowlock/rowlock/internal/inventory"
)

// write executes the effects of a batch inside its transaction and returns the event's new version.
// Deletions come before insertions: a seat that changes hands keeps its one line.
func (c *conn) write(n int64, now inventory.Instant, version int64, eff *inventory.Effects) (int64, error) {
	steps := []func() error{
		func() error { return c.writeDeletions(n, eff) },
		func() error { return c.writeMoves(n, eff) },
		func() error { return c.writeHolds(n, eff) },
		func() error { return c.writeOrders(n, eff) },
		func() error { return c.writeRecords(now, eff.Records) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return version, err
		}
	}
	return c.writeLog(n, version, eff.Log)
}

func (c *conn) writeDeletions(n int64, eff *inventory.Effects) error {
	for i := range eff.DeleteLines {
		l := &eff.DeleteLines[i]
		if err := c.execOne("delete_line", n, l.Unit, l.Deadline, &l.Key); err != nil {
			return err
		}
	}
	for i := range eff.DeleteHolds {
		if err := c.execOne("delete_hold", n, &eff.DeleteHolds[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) writeMoves(n int64, eff *inventory.Effects) error {
	for _, m := range eff.Moves {
		if err := c.execOne("move_allocation", m.Held, m.Reserved, n, m.Unit); err != nil {
			return err
		}
	}
	for _, m := range eff.Buyers {
		if err := c.exec("insert_buyer", n, m.Buyer[:]); err != nil {
			return err
		}
		if err := c.execOne("move_buyer", m.Units, n, m.Buyer[:]); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) writeHolds(n int64, eff *inventory.Effects) error {
	for _, h := range eff.InsertHolds {
		metadata, err := inventory.EncodeMetadata(h.Metadata)
		if err != nil {
			return err
		}
		err = c.exec("insert_hold", n, &h.Key, h.Created, h.Deadline, h.Cap, h.TTL, h.ByKey, nullable(h.Reference),
			rawText(metadata), rawText(inventory.EncodeLines(h.Lines)))
		if err != nil {
			return err
		}
	}
	for _, h := range eff.UpdateHolds {
		if err := c.execOne("update_hold", h.Deadline, rawText(inventory.EncodeLines(h.Lines)), n, &h.Key); err != nil {
			return err
		}
	}
	for i := range eff.InsertLines {
		l := &eff.InsertLines[i]
		if err := c.exec("insert_line", n, l.Unit, l.Deadline, &l.Key, l.Seat, l.Quantity); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) writeOrders(n int64, eff *inventory.Effects) error {
	for _, o := range eff.InsertOrders {
		if err := c.insertOrder(n, o); err != nil {
			return err
		}
	}
	for _, o := range eff.UpdateOrders {
		if err := c.execOne("update_order", string(o.State), tokenHash(o), n, o.ID); err != nil {
			return err
		}
		for _, t := range o.Tickets {
			if err := c.execOne("update_ticket", t.Valid, n, t.ID); err != nil {
				return err
			}
		}
	}
	for _, id := range eff.Answered {
		if err := c.execOne("answer_order", n, id); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) insertOrder(n int64, o *inventory.Order) error {
	metadata, err := inventory.EncodeMetadata(o.Metadata)
	if err != nil {
		return err
	}
	var buyer []byte
	if o.Buyer.Hash != ([16]byte{}) {
		buyer = o.Buyer.Hash[:]
	}
	err = c.exec("insert_order", n, o.ID, &o.Key, string(o.State), o.Created, tokenHash(o), o.Buyer.Name, o.Buyer.Email, buyer,
		nullable(o.Reference), rawText(metadata), rawText(inventory.EncodeLines(o.Lines)), o.Total, o.Payment.Method, o.Payment.Reference)
	if err != nil {
		return err
	}
	for _, t := range o.Tickets {
		if err := c.exec("insert_ticket", n, t.ID, o.ID, t.Unit, t.Seat, t.Type, t.Price, t.Valid); err != nil {
			return err
		}
	}
	return nil
}

func tokenHash(o *inventory.Order) []byte {
	if !o.HasToken {
		return nil
	}
	return o.TokenHash[:]
}

func (c *conn) writeRecords(now inventory.Instant, records []inventory.Record) error {
	for _, r := range records {
		if err := c.exec("put_record_any", r.ID[:], r.Body[:], r.Answer, r.Sealed, now); err != nil {
			return err
		}
	}
	return nil
}

// writeLog numbers the entries and moves the event's position behind them. They are one row, as they
// were one transaction.
func (c *conn) writeLog(n, version int64, log []inventory.LogEntry) (int64, error) {
	if len(log) == 0 {
		return version, nil
	}
	version += int64(len(log))
	if err := c.exec("insert_log", n, version, rawText(inventory.EncodeLog(log))); err != nil {
		return version, err
	}
	return version, c.execOne("move_position", version, n)
}

// execOne runs a statement that must change exactly one row: what the judge read is what is written
// to, or the batch is not committed.
func (c *conn) execOne(name string, args ...any) error {
	if err := c.exec(name, args...); err != nil {
		return err
	}
	if changed := c.Changes(); changed != 1 {
		return fmt.Errorf("sqlite: %s changed %d rows, want 1", name, changed)
	}
	return nil
}
