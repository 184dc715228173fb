package api

import (
	"slices"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

const microsecondsASecond = 1_000_000

// absent is nil for a text that is not there.
func absent(s string) *string {
	if s == "" {
		return nil
	}
	there := s // a name of its own, so that an absent text is not kept
	return &there
}

// listOf makes a page of a listing.
func listOf[T, W any](items []T, next string, show func(T) W) client.List[W] {
	list := client.List[W]{Data: make([]W, 0, len(items)), Next: absent(next)}
	for _, item := range items {
		list.Data = append(list.Data, show(item))
	}
	return list
}

// unit names a unit: a seat's key and section, or an area's key.
func unit(l *inventory.Layout, u inventory.Unit) (seat, area, label, section string) {
	n, _ := l.Name(u)
	return n.Seat, n.Area, n.Label, n.Section
}

func linesOf(lines []inventory.Line, e *inventory.Event, layout *inventory.Layout) (out []client.Line, total int64) {
	out = make([]client.Line, len(lines))
	for i, l := range lines {
		w := &out[i]
		w.Seat, w.Area, w.Label, w.Section = unit(layout, l.Unit)
		w.TicketType = e.Terms.Types[l.Type].ID
		w.Quantity, w.Price, w.Amount = l.Quantity, l.Price, l.Quantity*l.Price
		total += w.Amount
	}
	return out, total
}

func holdOf(v *inventory.HoldView) *client.Hold {
	h := v.Hold
	out := &client.Hold{
		ID: h.Key.ID(), Token: v.Token, Event: v.Event.ID, State: "live",
		ExpiresAt:   h.Deadline.Time(),
		ExpiresIn:   max(0, int64(h.Deadline-v.Now)/microsecondsASecond),
		ExtendUntil: h.Cap.Time(),
		Order:       absent(v.Order),
		Reference:   absent(h.Reference), Metadata: h.Metadata,
		Currency: v.Event.Terms.Currency,
	}
	if v.Order != "" {
		out.State = "sold"
	}
	out.Lines, out.Total = linesOf(h.Lines, v.Event, v.Layout)
	out.Warnings = warningsOf(v.Warnings, v.Layout)
	return out
}

func warningsOf(warnings []inventory.Warning, l *inventory.Layout) []client.Warning {
	out := make([]client.Warning, len(warnings))
	for i, w := range warnings {
		out[i].Code = string(w.Code)
		if w.Unit >= 0 {
			out[i].Seat, _, _, _ = unit(l, w.Unit)
		}
	}
	return out
}

func orderOf(v *inventory.OrderView) *client.Order {
	o := v.Order
	out := &client.Order{
		ID: o.ID, Token: v.Token, Event: v.Event.ID, Hold: o.Key.ID(), State: string(o.State),
		CreatedAt: o.Created.Time(),
		Reference: absent(o.Reference), Metadata: o.Metadata,
		Currency: v.Event.Terms.Currency, Total: o.Total,
		Payment: client.Payment{Method: o.Payment.Method, Reference: absent(o.Payment.Reference)},
		Tickets: make([]client.Ticket, len(o.Tickets)),
	}
	if o.Buyer.Name != "" || o.Buyer.Email != "" {
		out.Buyer = &client.Buyer{Name: o.Buyer.Name, Email: o.Buyer.Email}
	}
	out.Lines, _ = linesOf(o.Lines, v.Event, v.Layout)
	for i, t := range o.Tickets {
		w := &out.Tickets[i]
		w.ID, w.State = t.ID, "cancelled"
		if t.Valid {
			w.State = "valid"
		}
		w.Seat, w.Area, w.Label, _ = unit(v.Layout, t.Unit)
		w.TicketType = v.Event.Terms.Types[t.Type].ID
	}
	return out
}

func eventOf(v *inventory.EventView) *client.Event {
	e, t := v.Event, &v.Event.Terms
	out := &client.Event{
		ID: e.ID, Reference: absent(e.Reference), Name: e.Name, State: string(t.State),
		StartsAt: e.StartsAt.Time(), TimeZone: e.TimeZone,
		Venue: client.VenueRef{ID: e.Venue, Name: e.VenueName}, Map: e.Map, Currency: t.Currency,
		TicketTypes: make([]client.TicketType, len(t.Types)),
		Limits: client.Limits{
			HoldSeconds: t.HoldSeconds, HoldSecondsMax: t.HoldMax,
			UnitsPerHold: t.UnitsPerHold, UnitsPerBuyer: t.UnitsPerBuyer,
		},
		SingleSeats: string(t.SingleSeats),
	}
	for i, tt := range t.Types {
		out.TicketTypes[i] = client.TicketType{ID: tt.ID, Name: tt.Name, Price: tt.Price}
	}
	if t.SaleFrom != 0 {
		from := t.SaleFrom.Time()
		out.Sale.StartsAt = &from
	}
	if t.SaleUntil != 0 {
		until := t.SaleUntil.Time()
		out.Sale.EndsAt = &until
	}
	if v.Owner {
		out.Metadata = e.Metadata
		if out.Metadata == nil {
			out.Metadata = map[string]string{} // there, and empty
		}
		out.Channels = make([]client.Channel, len(t.Channels))
		for i := range t.Channels {
			out.Channels[i] = *channelOf(&t.Channels[i])
		}
	}
	return out
}

func channelOf(c *inventory.Channel) *client.Channel {
	return &client.Channel{ID: c.ID, Name: c.Name, AccessCodes: len(c.Codes)}
}

func venueOf(v *inventory.Venue) *client.Venue {
	return &client.Venue{ID: v.ID, Reference: absent(v.Reference), Name: v.Name, Metadata: v.Metadata}
}

func mapOf(m *inventory.MapVersion) *client.Map {
	return &client.Map{ID: m.ID, Venue: m.Venue, Version: m.Version, Name: m.Name, Seats: m.Seats, Areas: m.Areas}
}

func keyOf(k *office.Key) *client.Key {
	out := &client.Key{ID: k.ID, Name: k.Name, Role: string(k.Role), Hint: k.Hint, CreatedAt: k.Created.Time()}
	if k.Revoked != 0 {
		revoked := k.Revoked.Time()
		out.RevokedAt = &revoked
	}
	return out
}

func boardOf(v *inventory.BoardView) *client.Board {
	return &client.Board{Position: v.Position, Map: v.Map, State: string(v.State), Seats: v.Seats, Areas: areasOf(v.Areas)}
}

func changesOf(v *inventory.ChangesView) *client.Changes {
	return &client.Changes{
		Position: v.Position, Map: v.Map, State: string(v.State), Resync: v.Resync, Offer: v.Offer,
		Seats: v.Seats, Areas: areasOf(v.Areas),
	}
}

func areasOf(areas map[string]inventory.AreaState) map[string]client.BoardArea {
	out := make(map[string]client.BoardArea, len(areas))
	for key, a := range areas {
		out[key] = client.BoardArea(a)
	}
	return out
}

func offerOf(v *inventory.OfferView) *client.Offer {
	out := &client.Offer{Version: v.Version, Seats: make([]client.OfferRun, len(v.Seats)), Areas: v.Areas}
	for i, run := range v.Seats {
		out.Seats[i] = client.OfferRun{From: run.From, Count: run.Count, TicketTypes: run.Types}
	}
	return out
}

func logOf(v *inventory.LogView) client.List[client.LogEntry] {
	return listOf(v.Entries, v.Next, func(e inventory.LogEntry) client.LogEntry {
		out := client.LogEntry{
			Number: e.Number, At: e.At.Time(), Kind: string(e.Kind), By: e.By,
			Order: absent(e.Order), Units: make([]client.LogUnit, len(e.Units)), Reason: e.Reason,
		}
		if !e.Key.IsZero() {
			out.Hold = absent(e.Key.ID())
		}
		for i, u := range e.Units {
			out.Units[i].Quantity = u.Delta
			out.Units[i].Seat, out.Units[i].Area, _, _ = unit(v.Layout, u.Unit)
		}
		return out
	})
}

func reportOf(v *inventory.ReportView) *client.Report {
	u := v.Units
	out := &client.Report{
		Event: v.Event.ID, State: string(v.Event.Terms.State), Position: v.Position,
		Capacity: u.Capacity, Held: u.Held, Reserved: u.Reserved, Free: u.Capacity - u.Held - u.Reserved,
		Orders: v.Sums.Orders, Tickets: v.Sums.Tickets, Currency: v.Event.Terms.Currency, Total: v.Sums.Total,
		Sections: make([]client.ReportUnits, len(v.Parts)),
	}
	for i, p := range v.Parts {
		out.Sections[i] = client.ReportUnits{Key: p.Key, Capacity: p.Capacity, Held: p.Held, Reserved: p.Reserved}
	}
	return out
}

// ruleOf translates a rule.
func ruleOf(r client.AllocationRule) inventory.Rule {
	out := inventory.Rule{
		Where: inventory.Where{
			All: r.Where.All, Sections: r.Where.Sections, Rows: r.Where.Rows,
			Seats: r.Where.Seats, Areas: r.Where.Areas, Channels: r.Where.Channels,
		},
		Types: slices.Clone(r.Set.TicketTypes), Exclude: r.Set.Exclude,
	}
	if r.Set.Channel != nil {
		out.Channel = *r.Set.Channel
	}
	if n := r.Set.Capacity; n != nil {
		if out.Capacity = *n; *n == 0 {
			out.Capacity = -1 // to the inventory none is 0, and a capacity of nothing is refused like less
		}
	}
	return out
}

func allocationResultOf(v *inventory.RepaintResult, dryRun bool) *client.AllocationResult {
	out := &client.AllocationResult{
		DryRun: dryRun, Selected: v.Selected, Changed: v.Changed, Version: v.Version, Units: client.UnitCounts(v.Units),
		Changes: make([]client.ClassChange, len(v.Changes)), Capacities: capacitiesOf(v.Resizes),
	}
	for i, c := range v.Changes {
		out.Changes[i] = client.ClassChange{
			From: classOf(c.From), To: classOf(c.To), Allocations: c.Allocations,
			Units: client.UnitCounts(c.Units), Keys: keysOf(c.First),
		}
	}
	out.Conflicts, out.ConflictsTotal = unsafeOf(v.Unsafe)
	return out
}

func mapChangeOf(v *inventory.RemapResult, dryRun bool) *client.MapChange {
	named := func(n inventory.Named) client.NamedUnits {
		return client.NamedUnits{Count: n.Count, Keys: keysOf(n.First)}
	}
	out := &client.MapChange{
		DryRun: dryRun, Map: v.Map, Version: v.Version, Added: named(v.Added), ForSale: v.ForSale, Dropped: named(v.Dropped),
		Moved: named(v.Moved), Relabelled: named(v.Relabelled), Capacities: capacitiesOf(v.Resizes),
	}
	out.Conflicts, out.ConflictsTotal = unsafeOf(v.Unsafe)
	return out
}

// classOf names a way of being on sale; that of no allocation is null.
func classOf(c inventory.ClassName) *client.ClassName {
	if c.Channel == "" {
		return nil
	}
	return &client.ClassName{Channel: c.Channel, TicketTypes: c.Types}
}

func capacitiesOf(changes []inventory.CapacityChange) []client.CapacityChange {
	out := make([]client.CapacityChange, len(changes))
	for i, c := range changes {
		out[i] = client.CapacityChange(c)
	}
	return out
}

func keysOf(names []inventory.UnitName) []string {
	keys := make([]string, len(names))
	for i, n := range names {
		keys[i] = n.Seat + n.Area // one of them is empty
	}
	return keys
}

// unsafeOf lists what stands in a change's way.
func unsafeOf(r *inventory.Refusal) (conflicts []client.Conflict, total int) {
	if r == nil {
		return nil, 0
	}
	for _, c := range r.Conflicts {
		conflicts = append(conflicts, conflictOf(c))
	}
	return conflicts, r.Total
}
