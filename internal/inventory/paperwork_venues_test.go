package inventory_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

func TestAVenueIsMadeChangedAndListed(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	v := must(d.CreateVenue(ctx, d.c, inventory.VenueFields{Name: new("Second Hall"), Reference: new("hall-2"), Metadata: &map[string]string{"k": "v"}}, nil))(t)
	must(d.PatchVenue(ctx, d.c, v.ID, inventory.VenueFields{Name: new("Third Hall")}, nil))(t)
	now := must(d.Venue(ctx, d.c, v.ID))(t)
	if now.Name != "Third Hall" || now.Reference != "hall-2" || now.Metadata["k"] != "v" || now.Created == 0 {
		t.Errorf("%+v", now)
	}
	all, next, err := d.Venues(ctx, d.c, inventory.Page{Limit: 1})
	if err != nil || len(all) != 1 || all[0].ID != d.venue.ID || next != d.venue.ID {
		t.Fatalf("first page %v, next %q, %v", all, next, err)
	}
	all, next, err = d.Venues(ctx, d.c, inventory.Page{Limit: 1, After: next})
	if err != nil || len(all) != 1 || all[0].ID != v.ID || next != "" {
		t.Fatalf("second page %v, next %q, %v", all, next, err)
	}
	_, err = d.CreateVenue(ctx, d.c, inventory.VenueFields{Name: new("x"), Reference: new("hall-2")}, nil)
	wantRefusal(t, err, inventory.ReferenceTaken)
	_, err = d.PatchVenue(ctx, d.c, d.venue.ID, inventory.VenueFields{Reference: new("hall-2")}, nil)
	wantRefusal(t, err, inventory.ReferenceTaken)
	must(d.CreateVenue(ctx, d.other, inventory.VenueFields{Name: new("x"), Reference: new("hall-2")}, nil))(t)
}

func TestABadVenueIsRefused(t *testing.T) {
	d := newDesk(t)
	_, err := d.CreateVenue(t.Context(), d.c, inventory.VenueFields{Reference: new("a\nb"), Metadata: &map[string]string{"": ""}}, nil)
	wantRefusal(t, err, inventory.Invalid, "/name REQUIRED", "/reference INVALID", "/metadata INVALID")
	_, err = d.PatchVenue(t.Context(), d.c, d.venue.ID, inventory.VenueFields{Name: new("")}, nil)
	wantRefusal(t, err, inventory.Invalid, "/name REQUIRED")
}

func TestAnothersVenuesDoNotExist(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	for _, c := range []inventory.Caller{d.other, {}} {
		_, err := d.Venue(ctx, c, d.venue.ID)
		wantRefusal(t, err, inventory.NotFound)
		_, err = d.PatchVenue(ctx, c, d.venue.ID, inventory.VenueFields{Name: new("x")}, nil)
		wantRefusal(t, err, inventory.NotFound)
		_, err = d.CreateMap(ctx, c, d.venue.ID, d.drawing, nil)
		wantRefusal(t, err, inventory.NotFound)
		_, _, err = d.Map(ctx, c, d.venue.ID, d.mapID)
		wantRefusal(t, err, inventory.NotFound)
		_, _, err = d.Maps(ctx, c, d.venue.ID, inventory.Page{Limit: 1})
		wantRefusal(t, err, inventory.NotFound)
	}
	_, err := d.CreateVenue(ctx, inventory.Caller{}, inventory.VenueFields{Name: new("x")}, nil)
	wantRefusal(t, err, inventory.NotFound)
	_, _, err = d.Venues(ctx, inventory.Caller{}, inventory.Page{Limit: 1})
	wantRefusal(t, err, inventory.NotFound)
	second := must(d.CreateVenue(ctx, d.c, inventory.VenueFields{Name: new("x")}, nil))(t)
	_, _, err = d.Map(ctx, d.c, second.ID, d.mapID)
	wantRefusal(t, err, inventory.NotFound)
}

func TestMapsAreVersionsInCanonicalForm(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	loose := []byte(`{"name":"Loose","format":"rowlock-map/1","focal_point":{"x":0,"y":0},"areas":[{"key":"A","name":"A","capacity":3}],"sections":[]}`)
	m := must(d.CreateMap(ctx, d.c, d.venue.ID, loose, nil))(t)
	if m.Version != 2 || m.Name != "Loose" || m.Seats != 0 || m.Areas != 1 || m.Created == 0 {
		t.Errorf("%+v", m)
	}
	kept, data, err := d.Map(ctx, d.c, d.venue.ID, m.ID)
	if err != nil || *kept != *m {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	canonical := must(must(seatmap.Parse(loose))(t).Encode())(t)
	if !bytes.Equal(data, canonical) {
		t.Errorf("kept %s", data)
	}
	maps, next, err := d.Maps(ctx, d.c, d.venue.ID, inventory.Page{Limit: 2})
	if err != nil || next != "" || len(maps) != 2 || maps[0].ID != d.mapID || maps[1].ID != m.ID {
		t.Errorf("maps %v, next %q, %v", maps, next, err)
	}
}

func TestABadDrawingIsNamedByPlace(t *testing.T) {
	d := newDesk(t)
	_, err := d.CreateMap(t.Context(), d.c, d.venue.ID, []byte(`{"name":`), nil)
	wantRefusal(t, err, inventory.Malformed)
	_, err = d.CreateMap(t.Context(), d.c, d.venue.ID,
		[]byte(`{"format":"rowlock-map/1","name":"X","focal_point":{"x":0,"y":0},"areas":[{"key":"A","name":"A","capacity":0}],"sections":[]}`), nil)
	wantRefusal(t, err, inventory.Invalid, "/areas/0/capacity OUT_OF_RANGE")
}

func TestARepeatedVenueOrMapFindsItsOwnEffect(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	f := inventory.VenueFields{Name: new("Hall"), Reference: new("hall")}
	v := must(d.CreateVenue(ctx, d.c, f, once(1, 1)))(t)
	_, err := d.CreateVenue(ctx, d.c, f, once(1, 1))
	wantReplay(t, err, v.ID+" Hall")
	must(d.PatchVenue(ctx, d.c, v.ID, inventory.VenueFields{Name: new("Barn")}, once(2, 1)))(t)
	must(d.PatchVenue(ctx, d.c, v.ID, inventory.VenueFields{Name: new("Shed")}, nil))(t)
	_, err = d.PatchVenue(ctx, d.c, v.ID, inventory.VenueFields{Name: new("Barn")}, once(2, 1))
	wantReplay(t, err, v.ID+" Barn")
	if now := must(d.Venue(ctx, d.c, v.ID))(t); now.Name != "Shed" {
		t.Errorf("a replay changed the name to %s", now.Name)
	}
	m := must(d.CreateMap(ctx, d.c, v.ID, d.drawing, once(3, 1)))(t)
	_, err = d.CreateMap(ctx, d.c, v.ID, d.drawing, once(3, 1))
	wantReplay(t, err, m.ID+" version 1")
	_, err = d.CreateMap(ctx, d.c, v.ID, d.drawing, once(3, 2))
	wantRefusal(t, err, inventory.KeyReused)
	maps, _, err := d.Maps(ctx, d.c, v.ID, inventory.Page{Limit: 9})
	if err != nil || len(maps) != 1 {
		t.Errorf("%d maps, %v", len(maps), err)
	}
}

func TestAReportCountsSectionsAndAreas(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	r := must(d.Report(t.Context(), d.c, e.ID))(t)
	if r.Units != (inventory.AreaState{}) || len(r.Parts) != 2 {
		t.Errorf("a draft: %+v", r)
	}
	d.pass(e.ID, "publish")
	claimed := inventory.Command{Verb: inventory.Claim, By: "buyer", Add: []inventory.Want{
		{Unit: 0, Type: -1, Quantity: 1}, {Unit: 6, Type: -1, Quantity: 3},
	}}
	claimed.Key, _ = inventory.HashToken(inventory.NewToken())
	d.pass(e.ID, "open")
	out, err := d.store.Apply(t.Context(), e.ID, []inventory.Command{claimed})
	if err != nil || out[0].Refusal != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	r = must(d.Report(t.Context(), d.c, e.ID))(t)
	want := []inventory.ReportPart{
		{Key: "S1", AreaState: inventory.AreaState{Capacity: 5, Held: 1}},
		{Key: "FLOOR", AreaState: inventory.AreaState{Capacity: 40, Held: 3}},
	}
	if !slices.Equal(r.Parts, want) || r.Units != (inventory.AreaState{Capacity: 45, Held: 4}) || r.Event.Terms.State != inventory.OnSale ||
		r.Position == "" || r.Sums != (inventory.Sums{}) {
		t.Errorf("%+v", r)
	}
}
