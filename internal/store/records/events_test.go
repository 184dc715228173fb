package records_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
)

func event(id, organizer, venue, seats, reference string) *inventory.Event {
	return &inventory.Event{
		ID: id, Organizer: organizer, Venue: venue, VenueName: "Hall", Map: seats, Reference: reference,
		Name: "Gala & <i>" + id, StartsAt: 1_800_000_000_000_000, TimeZone: "Europe/Vienna",
		Metadata: map[string]string{"season": "27"},
		Rules:    []inventory.Rule{{Where: inventory.Where{Rows: []string{"STALLS-H"}}, Channel: "sponsors"}},
		Terms: inventory.Terms{
			State: inventory.Draft, Currency: "EUR", HoldSeconds: 600, HoldMax: 1800, UnitsPerHold: 10, UnitsPerBuyer: 10, SingleSeats: inventory.SinglesNudge,
			Types:    []inventory.TicketType{{ID: "standard", Name: "Standard", Price: 4500}},
			Channels: []inventory.Channel{{ID: inventory.PublicChannel}, {ID: "sponsors", Codes: []inventory.Code{{1, 255}}}},
			Classes:  []inventory.Class{{Channel: 0, Types: []int{0}}},
		},
		Revision: 1,
	}
}

func eventID(e *inventory.Event) string { return e.ID }

// stage makes a venue with a map for each organizer: ven_north, map_north, ven_south, map_south.
func stage(t *testing.T) house {
	t.Helper()
	h := open(t)
	for _, name := range []string{"north", "south"} {
		must(t, h.InsertVenue(t.Context(), venue("ven_"+name, "org_"+name, ""), nil))
		must(t, h.InsertMap(t.Context(), seatMap("map_"+name, "ven_"+name, "org_"+name), []byte("{}"), nil, nil))
	}
	return h
}

func northern(id, reference string) *inventory.Event {
	return event(id, north, "ven_north", "map_north", reference)
}

func southern(id, reference string) *inventory.Event {
	return event(id, south, "ven_south", "map_south", reference)
}

func (h house) insert(t *testing.T, events ...*inventory.Event) {
	t.Helper()
	must(t, h.InsertEvents(t.Context(), events, nil))
}

func TestAnEventIsReadAsItWasWritten(t *testing.T) {
	h, ctx := stage(t), t.Context()
	from := h.now(t)
	e := northern("evt_1", "gala")
	h.insert(t, e)
	if e.Created < from || e.Created > h.now(t) {
		t.Errorf("created at %d, not by the database's clock", e.Created)
	}
	list, err := h.Events(ctx, north, inventory.Page{Limit: 10})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%d events, want 1", len(list))
	}
	got, err := inventory.EncodeEvent(list[0]) // the document has every field
	must(t, err)
	want, err := inventory.EncodeEvent(e)
	must(t, err)
	if string(got) != string(want) {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestAnEventBeginsAtPositionZero(t *testing.T) {
	h, ctx := stage(t), t.Context()
	h.insert(t, northern("evt_1", ""), northern("evt_2", ""))
	var n, sum int
	must(t, h.db.Reader().QueryRowContext(ctx,
		"SELECT COUNT(*), SUM(version) FROM positions JOIN events ON events.n = positions.event").Scan(&n, &sum))
	if n != 2 || sum != 0 {
		t.Fatalf("%d positions, versions add up to %d", n, sum)
	}
}

func TestTheEventsColumnsMirrorItsDocument(t *testing.T) {
	h, ctx := stage(t), t.Context()
	e := northern("evt_1", "gala")
	h.insert(t, e)
	var organizer, venue, seats, reference, state, doc string
	var revision, created int64
	must(t, h.db.Reader().QueryRowContext(ctx,
		"SELECT organizer, venue, map, reference, state, doc, revision, created_at FROM events WHERE id = 'evt_1'").
		Scan(&organizer, &venue, &seats, &reference, &state, &doc, &revision, &created))
	want, err := inventory.EncodeEvent(e)
	must(t, err)
	if organizer != north || venue != "ven_north" || seats != "map_north" || reference != "gala" ||
		state != "draft" || revision != 1 || created != int64(e.Created) || doc != string(want) {
		t.Fatal(organizer, venue, seats, reference, state, revision, created, doc)
	}
}

func TestTheEventsRowWinsOverItsDocument(t *testing.T) {
	h, ctx := stage(t), t.Context()
	h.insert(t, northern("evt_1", ""))
	h.exec(t, "UPDATE events SET state = 'paused', revision = 9")
	list, err := h.Events(ctx, north, inventory.Page{Limit: 10})
	must(t, err)
	if len(list) != 1 || list[0].Terms.State != inventory.Paused || list[0].Revision != 9 {
		t.Fatalf("got %+v", list)
	}
}

func TestEventsAreInsertedAllOrNone(t *testing.T) {
	h, ctx := stage(t), t.Context()
	h.insert(t, northern("evt_1", "gala"))
	rec := record(1)
	batch := []*inventory.Event{northern("evt_2", "second"), northern("evt_3", "gala")}
	wantRefusal(t, h.InsertEvents(ctx, batch, rec), inventory.ReferenceTaken)
	wantRefusal(t, h.InsertEvents(ctx, []*inventory.Event{northern("evt_4", "twin"), northern("evt_5", "twin")}, rec), inventory.ReferenceTaken)
	wantNotFound(t, h.InsertEvents(ctx, []*inventory.Event{northern("evt_6", ""), event("evt_7", north, "ven_north", "map_none", "")}, rec))
	if n, positions := h.count(t, "events"), h.count(t, "positions"); n != 1 || positions != 1 {
		t.Fatalf("%d events, %d positions; want 1, 1", n, positions)
	}
	must(t, h.Recorded(ctx, rec.ID, rec.Body))
	batch[1].Reference = "third"
	must(t, h.InsertEvents(ctx, batch, rec))
	wantRecorded(t, h.InsertEvents(ctx, batch, rec), rec)
}

func TestAnEventsReferenceIsUniqueInItsOrganizer(t *testing.T) {
	h := stage(t)
	h.insert(t, northern("evt_1", "gala"), southern("evt_2", "gala"), northern("evt_3", ""), northern("evt_4", ""))
	wantRefusal(t, h.InsertEvents(t.Context(), []*inventory.Event{southern("evt_5", "gala")}, nil), inventory.ReferenceTaken)
}

func TestAnEventsIDInUseIsAFaultAndNoRefusal(t *testing.T) {
	h := stage(t)
	h.insert(t, northern("evt_1", "gala"))
	err := h.InsertEvents(t.Context(), []*inventory.Event{northern("evt_1", "other")}, nil)
	const want = "records: insert events: the event id evt_1 is in use"
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func TestAnEventStandsOnItsOrganizersOwnMap(t *testing.T) {
	h, ctx := stage(t), t.Context()
	for _, e := range []*inventory.Event{
		event("evt_1", north, "ven_south", "map_south", ""),
		event("evt_2", north, "ven_north", "map_south", ""),
		event("evt_3", "org_none", "ven_north", "map_north", ""),
	} {
		wantNotFound(t, h.InsertEvents(ctx, []*inventory.Event{e}, nil))
	}
}

func TestAnOrganizersEventsAreListedByPageAndReference(t *testing.T) {
	h, ctx := stage(t), t.Context()
	h.insert(t, northern("evt_3", "c"), northern("evt_1", "a"), southern("evt_2", "a"), northern("evt_4", ""))
	for _, c := range []struct {
		organizer string
		page      inventory.Page
		want      string
	}{
		{north, inventory.Page{Limit: 10}, "evt_1 evt_3 evt_4"},
		{north, inventory.Page{Limit: 1, After: "evt_1"}, "evt_3"},
		{north, inventory.Page{Limit: 10, Reference: "a"}, "evt_1"},
		{north, inventory.Page{Limit: 10, Reference: "a", After: "evt_1"}, ""},
		{south, inventory.Page{Limit: 10}, "evt_2"},
		{south, inventory.Page{Limit: 10, Reference: "c"}, ""},
	} {
		list, err := h.Events(ctx, c.organizer, c.page)
		must(t, err)
		wantIDs(t, ids(list, eventID), c.want)
	}
}

func TestThePublicSeesEverybodysEventsOnceTheyArePublished(t *testing.T) {
	h, ctx := stage(t), t.Context()
	states := []inventory.State{inventory.Draft, inventory.Published, inventory.OnSale, inventory.Paused, inventory.Closed, inventory.Cancelled}
	for i, state := range states {
		n, s := northern("evt_n"+string(rune('0'+i)), "ref-"+string(state)), southern("evt_s"+string(rune('0'+i)), "ref-"+string(state))
		n.Terms.State, s.Terms.State = state, state
		h.insert(t, n, s)
	}
	for _, c := range []struct {
		page inventory.Page
		want string
	}{
		{inventory.Page{Limit: 20}, "evt_n1 evt_n2 evt_n3 evt_n4 evt_s1 evt_s2 evt_s3 evt_s4"},
		{inventory.Page{Limit: 2, After: "evt_n4"}, "evt_s1 evt_s2"},
		{inventory.Page{Limit: 20, Reference: "ref-paused"}, "evt_n3 evt_s3"},
		{inventory.Page{Limit: 20, Reference: "ref-paused", After: "evt_n3"}, "evt_s3"},
		{inventory.Page{Limit: 20, Reference: "ref-draft"}, ""},
	} {
		list, err := h.Events(ctx, "", c.page)
		must(t, err)
		wantIDs(t, ids(list, eventID), c.want)
	}
}
