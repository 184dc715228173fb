package inventory

import (
	"slices"
)

// salesBench is what a batch of sales or a return has touched, beside units and holds.
type salesBench struct {
	orders    map[HoldKey]*Order // made or changed by this batch
	made      []*Order
	changed   []*Order
	answered  []string
	buyers    map[[16]byte]*buyerCase
	buyerKeys [][16]byte
}

type buyerCase struct{ was, is int64 }

// JudgeSales decides a batch of sales in order, at one instant. Like Judge it is pure.
func JudgeSales(now Instant, terms *Terms, rows Rows, batch []Sale) ([]SaleOutcome, *Effects) {
	b := newBench(now, terms, rows)
	outcomes := make([]SaleOutcome, len(batch))
	for i := range batch {
		outcomes[i] = b.sell(&batch[i])
		outcomes[i].Now = now
	}
	return outcomes, b.effects()
}

// JudgeReturn decides what cancelling tickets of one order does. Each ticket gives its unit back
// once, whatever was cancelled before and in whatever order.
func JudgeReturn(now Instant, terms *Terms, rows Rows, r Return) (ReturnOutcome, *Effects) {
	b := newBench(now, terms, rows)
	out := b.giveBack(&r)
	return out, b.effects()
}

// orderOf finds the order a hold became, in this batch or before.
func (b *bench) orderOf(k HoldKey) (*Order, bool) {
	if o, ok := b.sales.orders[k]; ok {
		return o, true
	}
	return b.rows.OrderByHold(k)
}

// sell consults the orders first, then the hold: the ledger decides, whatever else is believed.
func (b *bench) sell(s *Sale) SaleOutcome {
	rec, replayed := b.record(s.ID)
	if replayed && rec.Body != s.Body {
		return SaleOutcome{Refusal: refuse(KeyReused)}
	}
	if o, ok := b.orderOf(s.Key); ok {
		return SaleOutcome{Order: b.answerAgain(o, s), Replayed: replayed}
	}
	hc := b.hold(s.Key)
	if r := b.mayBuy(hc, s); r != nil {
		return SaleOutcome{Refusal: r}
	}
	o := b.newOrder(hc.is, s)
	for _, n := range perUnit(o.Lines) {
		uc := b.unit(n.unit)
		uc.Held -= n.quantity
		uc.Reserved += n.quantity
	}
	hc.is = nil
	b.buyer(s.Buyer.Hash, sumLines(o.Lines))
	b.rememberOrder(o)
	b.sales.made = append(b.sales.made, o)
	b.write(LogEntry{Kind: LogSold, By: s.By, Key: s.Key, Order: o.ID, Units: deltas(perUnit(o.Lines), 1)})
	if s.ID != (CommandID{}) {
		b.keep(Record{ID: s.ID, Body: s.Body, Answer: []byte(o.ID)})
	}
	return SaleOutcome{Order: o}
}

// mayBuy holds a sale to the rules: a live hold may be bought while the event is on sale, paused or
// closed, never when it is cancelled.
func (b *bench) mayBuy(hc *holdCase, s *Sale) *Refusal {
	if b.terms.State == Cancelled {
		return refuse(EventNotOnSale)
	}
	if hc.is == nil || hc.is.Deadline <= b.now {
		return refuse(HoldExpired)
	}
	if !s.ByKey && s.Buyer.Email == "" {
		return invalid("/buyer/email", faultRequired, "The tickets need an address to go to.")
	}
	if s.Reference != "" && b.orderReferenceTaken(s.Reference) {
		return refuse(ReferenceTaken)
	}
	if s.ByKey {
		return nil
	}
	if b.buyerCase(s.Buyer.Hash).is+sumLines(hc.is.Lines) > b.terms.UnitsPerBuyer {
		return refuse(BuyerLimitExceeded)
	}
	return nil
}

func (b *bench) orderReferenceTaken(reference string) bool {
	for _, o := range b.sales.made {
		if o.Reference == reference {
			return true
		}
	}
	return b.rows.OrderReferenceTaken(reference)
}

// answerAgain answers an order that exists. It is a write, so that the answer follows a commit that
// began after the question; and it learns the order's token if the sale was made without knowing it.
func (b *bench) answerAgain(o *Order, s *Sale) *Order {
	if s.HasToken && !o.HasToken {
		c := *o
		c.HasToken, c.TokenHash = true, s.TokenHash
		b.rememberOrder(&c)
		if i := slices.Index(b.sales.made, o); i >= 0 {
			b.sales.made[i] = &c
		} else {
			b.sales.changed = append(b.sales.changed, &c)
		}
		return &c
	}
	if !slices.Contains(b.sales.made, o) && !slices.Contains(b.sales.changed, o) && !slices.Contains(b.sales.answered, o.ID) {
		b.sales.answered = append(b.sales.answered, o.ID)
	}
	return o
}

func (b *bench) rememberOrder(o *Order) {
	if b.sales.orders == nil {
		b.sales.orders = make(map[HoldKey]*Order)
	}
	b.sales.orders[o.Key] = o
}

func (b *bench) newOrder(h *Hold, s *Sale) *Order {
	o := &Order{
		ID: s.Order, Key: s.Key, State: OrderConfirmed, Created: b.now, TokenHash: s.TokenHash, HasToken: s.HasToken,
		Buyer: s.Buyer, Reference: s.Reference, Metadata: s.Metadata, Payment: s.Payment, Lines: h.Lines,
	}
	for _, l := range h.Lines {
		o.Total += amount(l)
		for range l.Quantity {
			o.Tickets = append(o.Tickets, Ticket{
				ID: TicketID(o.ID, len(o.Tickets)+1), Unit: l.Unit, Seat: b.unit(l.Unit).Seat, Type: l.Type, Price: l.Price, Valid: true,
			})
		}
	}
	return o
}

func (b *bench) buyerCase(hash [16]byte) *buyerCase {
	if bc, ok := b.sales.buyers[hash]; ok {
		return bc
	}
	if b.sales.buyers == nil {
		b.sales.buyers = make(map[[16]byte]*buyerCase)
	}
	n := b.rows.BuyerUnits(hash)
	bc := &buyerCase{was: n, is: n}
	b.sales.buyers[hash] = bc
	b.sales.buyerKeys = append(b.sales.buyerKeys, hash)
	return bc
}

func (b *bench) buyer(hash [16]byte, units int64) {
	if hash != ([16]byte{}) {
		b.buyerCase(hash).is += units
	}
}

// giveBack cancels the tickets named, or all.
func (b *bench) giveBack(r *Return) ReturnOutcome {
	o, ok := b.rows.Order(r.Order)
	if !ok {
		return ReturnOutcome{Refusal: refuse(NotFound)}
	}
	if rec, ok := b.record(r.ID); ok {
		if rec.Body != r.Body {
			return ReturnOutcome{Refusal: refuse(KeyReused)}
		}
		return ReturnOutcome{Order: o, Replayed: true}
	}
	c := *o
	c.Tickets = slices.Clone(o.Tickets)
	var back []Line
	for _, id := range r.Tickets {
		if !slices.ContainsFunc(c.Tickets, func(t Ticket) bool { return t.ID == id }) {
			return ReturnOutcome{Refusal: refuse(NotFound)}
		}
	}
	for i := range c.Tickets {
		t := &c.Tickets[i]
		if !t.Valid || (len(r.Tickets) > 0 && !slices.Contains(r.Tickets, t.ID)) {
			continue
		}
		t.Valid = false
		b.unit(t.Unit).Reserved--
		back = append(back, Line{Unit: t.Unit, Quantity: 1})
	}
	if len(back) == 0 {
		return ReturnOutcome{Order: o}
	}
	if !slices.ContainsFunc(c.Tickets, func(t Ticket) bool { return t.Valid }) {
		c.State = OrderCancelled
	}
	b.buyer(c.Buyer.Hash, -int64(len(back)))
	b.sales.changed = append(b.sales.changed, &c)
	b.write(LogEntry{Kind: LogReturned, By: r.By, Key: c.Key, Order: c.ID, Units: deltas(perUnit(back), -1), Reason: r.Reason})
	if r.ID != (CommandID{}) {
		b.keep(Record{ID: r.ID, Body: r.Body, Answer: []byte(c.ID)})
	}
	return ReturnOutcome{Order: &c}
}

func (b *bench) effectsOfSales() {
	b.eff.InsertOrders = b.sales.made
	b.eff.UpdateOrders = b.sales.changed
	b.eff.Answered = b.sales.answered
	for _, k := range b.sales.buyerKeys {
		if bc := b.sales.buyers[k]; bc.is != bc.was {
			b.eff.Buyers = append(b.eff.Buyers, BuyerMove{k, bc.is - bc.was})
		}
	}
}
