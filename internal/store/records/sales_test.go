package records_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
)

// insertOrder writes an order as a store would.
func (h house) insertOrder(t *testing.T, event string, o *inventory.Order) {
	t.Helper()
	var token, buyer, reference, metadata any
	if o.HasToken {
		token = o.TokenHash[:]
	}
	if o.Buyer.Hash != [16]byte{} {
		buyer = o.Buyer.Hash[:]
	}
	if o.Reference != "" {
		reference = o.Reference
	}
	if o.Metadata != nil {
		b, err := inventory.EncodeMetadata(o.Metadata)
		must(t, err)
		metadata = string(b)
	}
	h.exec(t, `INSERT INTO orders (event, id, hold_hash, state, created_at, token_hash, buyer_name, buyer_email, buyer_hash,
		reference, metadata, lines, total, payment_method, payment_reference)
		VALUES ((SELECT n FROM events WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		event, o.ID, o.Key[:], string(o.State), int64(o.Created), token, o.Buyer.Name, o.Buyer.Email, buyer,
		reference, metadata, string(inventory.EncodeLines(o.Lines)), o.Total, o.Payment.Method, o.Payment.Reference)
	for _, k := range o.Tickets {
		h.exec(t, `INSERT INTO tickets (event, id, order_id, unit, seat, type, price, valid)
			VALUES ((SELECT n FROM events WHERE id = ?), ?, ?, ?, ?, ?, ?, ?)`,
			event, k.ID, o.ID, int64(k.Unit), k.Seat, k.Type, k.Price, k.Valid)
	}
}

func holdKey(i byte) inventory.HoldKey { return inventory.HoldKey{0, 0, 0, 1, i} }

// order makes one with two tickets: a seat, and a unit of an area that was returned.
func order(i byte, reference string) *inventory.Order {
	return &inventory.Order{
		ID: fmt.Sprintf("ord_%d", i), Key: holdKey(i), State: inventory.OrderConfirmed, Created: 1_700_000_000_000_001,
		TokenHash: [32]byte{i, 255}, HasToken: true,
		Buyer:     inventory.Buyer{Name: "Test Buyer", Email: "buyer@example.com", Hash: [16]byte{i, 3}},
		Reference: reference, Metadata: map[string]string{"desk": "1"},
		Lines:   []inventory.Line{{Unit: inventory.Unit(i), Type: 0, Quantity: 1, Price: 4500}, {Unit: 900, Type: 1, Quantity: 1, Price: 1500}},
		Total:   6000,
		Payment: inventory.Payment{Method: "external", Reference: "pi_1"},
		Tickets: []inventory.Ticket{
			{ID: fmt.Sprintf("tkt_%d_a", i), Unit: inventory.Unit(i), Seat: true, Type: 0, Price: 4500, Valid: true},
			{ID: fmt.Sprintf("tkt_%d_b", i), Unit: 900, Type: 1, Price: 1500},
		},
	}
}

func orderID(o *inventory.Order) string { return o.ID }

// boxOffice has two events of one organizer, evt_1 and evt_2.
func boxOffice(t *testing.T) house {
	t.Helper()
	h := stage(t)
	h.insert(t, northern("evt_1", ""), northern("evt_2", ""))
	return h
}

func TestAnOrderIsFoundByItsIDItsHoldAndEachOfItsTickets(t *testing.T) {
	h, ctx := boxOffice(t), t.Context()
	want := order(1, "A-77")
	h.insertOrder(t, "evt_1", want)
	h.insertOrder(t, "evt_1", order(2, ""))
	for name, find := range map[string]func() (*inventory.Order, error){
		"id":            func() (*inventory.Order, error) { return h.Order(ctx, "evt_1", "ord_1") },
		"hold":          func() (*inventory.Order, error) { return h.OrderByHold(ctx, "evt_1", holdKey(1)) },
		"first ticket":  func() (*inventory.Order, error) { return h.OrderByTicket(ctx, "evt_1", "tkt_1_a") },
		"second ticket": func() (*inventory.Order, error) { return h.OrderByTicket(ctx, "evt_1", "tkt_1_b") },
	} {
		got, err := find()
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("by %s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestAnOrderOfAnotherEventIsNotFound(t *testing.T) {
	h, ctx := boxOffice(t), t.Context()
	h.insertOrder(t, "evt_1", order(1, ""))
	for _, event := range []string{"evt_2", "evt_none"} {
		_, err := h.Order(ctx, event, "ord_1")
		wantNotFound(t, err)
		_, err = h.OrderByHold(ctx, event, holdKey(1))
		wantNotFound(t, err)
		_, err = h.OrderByTicket(ctx, event, "tkt_1_a")
		wantNotFound(t, err)
		list, err := h.Orders(ctx, event, inventory.Page{Limit: 10})
		must(t, err)
		wantIDs(t, ids(list, orderID), "")
	}
	for _, id := range []string{"ord_none", ""} {
		_, err := h.Order(ctx, "evt_1", id)
		wantNotFound(t, err)
		_, err = h.OrderByTicket(ctx, "evt_1", id)
		wantNotFound(t, err)
	}
}

func TestAnOrderNeedsNoTokenBuyerReferenceOrTickets(t *testing.T) {
	h := boxOffice(t)
	want := &inventory.Order{
		ID: "ord_1", Key: holdKey(1), State: inventory.OrderCancelled, Created: 5,
		Lines: []inventory.Line{}, Payment: inventory.Payment{Method: "none"},
	}
	h.insertOrder(t, "evt_1", want)
	got, err := h.Order(t.Context(), "evt_1", "ord_1")
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestOrdersAreListedByPageAndReferenceWithTheirOwnTickets(t *testing.T) {
	h, ctx := boxOffice(t), t.Context()
	for _, i := range []byte{3, 1, 4, 2} {
		h.insertOrder(t, "evt_1", order(i, fmt.Sprintf("ref-%d", i)))
	}
	h.insertOrder(t, "evt_2", order(1, "ref-1"))
	for _, c := range []struct {
		page inventory.Page
		want []byte
	}{
		{inventory.Page{Limit: 10}, []byte{1, 2, 3, 4}},
		{inventory.Page{Limit: 3}, []byte{1, 2, 3}}, // a page counts orders, not tickets
		{inventory.Page{Limit: 3, After: "ord_3"}, []byte{4}},
		{inventory.Page{Limit: 3, Reference: "ref-3"}, []byte{3}},
		{inventory.Page{Limit: 3, Reference: "ref-3", After: "ord_3"}, nil},
	} {
		list, err := h.Orders(ctx, "evt_1", c.page)
		must(t, err)
		var want []*inventory.Order
		for _, i := range c.want {
			want = append(want, order(i, fmt.Sprintf("ref-%d", i)))
		}
		if !reflect.DeepEqual(list, want) {
			t.Errorf("%+v: got %s", c.page, ids(list, orderID))
		}
	}
}

func TestAHoldIsFoundByItsReferenceInItsEvent(t *testing.T) {
	h, ctx := boxOffice(t), t.Context()
	want := holdKey(7)
	h.exec(t, `INSERT INTO holds (event, hold_hash, created, deadline, cap, ttl, by_key, reference, lines)
		VALUES ((SELECT n FROM events WHERE id = 'evt_1'), ?, 1, 2, 3, 600, 1, 'desk-1', '[]')`, want[:])
	got, err := h.HoldByReference(ctx, "evt_1", "desk-1")
	must(t, err)
	if got != want {
		t.Errorf("got %x, want %x", got, want)
	}
	for _, c := range [][2]string{{"evt_2", "desk-1"}, {"evt_1", "desk-2"}, {"evt_1", ""}} {
		_, err = h.HoldByReference(ctx, c[0], c[1])
		wantNotFound(t, err)
	}
}

func TestTheLogIsReadAfterANumber(t *testing.T) {
	h, ctx := boxOffice(t), t.Context()
	key := holdKey(1)
	insert := func(event string, last int64, entries ...inventory.LogEntry) {
		h.exec(t, `INSERT INTO log (event, number, entries) VALUES ((SELECT n FROM events WHERE id = ?), ?, ?)`,
			event, last, string(inventory.EncodeLog(entries)))
	}
	entries := []inventory.LogEntry{
		{Number: 1, At: 10, Kind: inventory.LogPublished, By: "key_1"},
		{
			Number: 2, At: 20, Kind: inventory.LogBroken, By: "store", Key: key,
			Units: []inventory.UnitDelta{{Unit: 4, Delta: -1}, {Unit: 9, Delta: -2}}, Reason: "asked by phone",
		},
		{Number: 3, At: 30, Kind: inventory.LogSold, By: "key_1", Key: key, Order: "ord_1", Units: []inventory.UnitDelta{{Unit: 4, Delta: 1}}},
	}
	insert("evt_1", 3, entries[1:]...) // a transaction of two
	insert("evt_1", 1, entries[0])
	insert("evt_2", 1, inventory.LogEntry{At: 10, Kind: inventory.LogOpened, By: "key_2"})
	for _, c := range []struct {
		after int64
		limit int
		want  []inventory.LogEntry
	}{{0, 10, entries}, {0, 1, entries[:1]}, {0, 2, entries[:2]}, {1, 1, entries[1:2]}, {2, 10, entries[2:]}, {3, 10, nil}} {
		got, err := h.Log(ctx, "evt_1", c.after, c.limit)
		must(t, err)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("after %d at most %d: got %+v", c.after, c.limit, got)
		}
	}
	got, err := h.Log(ctx, "evt_none", 0, 10)
	must(t, err)
	if len(got) != 0 {
		t.Errorf("an event that does not exist has a log: %+v", got)
	}
}

func TestSumsCountWhatIsConfirmedAndValid(t *testing.T) {
	h, ctx := boxOffice(t), t.Context()
	h.insertOrder(t, "evt_1", order(1, ""))
	h.insertOrder(t, "evt_1", order(2, ""))
	cancelled := order(3, "")
	cancelled.State, cancelled.Tickets[0].Valid = inventory.OrderCancelled, false
	h.insertOrder(t, "evt_1", cancelled)
	for id, want := range map[string]inventory.Sums{"evt_1": {Orders: 2, Tickets: 2, Total: 9000}, "evt_2": {}} {
		got, err := h.Sums(ctx, id)
		must(t, err)
		if got != want {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
		}
	}
	_, err := h.Sums(ctx, "evt_none")
	wantNotFound(t, err)
}

func TestAPageOfOrdersIsOneSearchInTheIndex(t *testing.T) {
	h := boxOffice(t)
	rows, err := h.db.Reader().QueryContext(t.Context(), `EXPLAIN QUERY PLAN
		SELECT o.id, t.id FROM (SELECT * FROM orders WHERE event = (SELECT n FROM events WHERE id = 'evt_1') AND id > '' ORDER BY id LIMIT 50) o
		LEFT JOIN tickets t ON t.event = o.event AND t.order_id = o.id ORDER BY o.id, t.id`)
	must(t, err)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var a, b, c int
		var detail string
		must(t, rows.Scan(&a, &b, &c, &detail))
		plan = append(plan, detail)
	}
	must(t, rows.Err())
	all := strings.Join(plan, "\n")
	if strings.Contains(all, "SCAN orders") || strings.Contains(all, "SCAN t ") || !strings.Contains(all, "tickets_order") {
		t.Fatalf("the plan reads more than the page:\n%s", all)
	}
}
