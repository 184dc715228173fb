package records_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
)

func venue(id, organizer, reference string) *inventory.Venue {
	return &inventory.Venue{
		ID: id, Organizer: organizer, Reference: reference, Name: "Hall <b>" + id,
		Metadata: map[string]string{"door": `"north" \ 'side'`},
	}
}

func venueID(v *inventory.Venue) string { return v.ID }

func seatMap(id, venue, organizer string) *inventory.MapVersion {
	return &inventory.MapVersion{ID: id, Venue: venue, Organizer: organizer, Name: "Map " + id, Seats: 12, Areas: 2}
}

func TestAVenueIsReadAsItWasWritten(t *testing.T) {
	h, ctx := open(t), t.Context()
	from := h.now(t)
	v := venue("ven_1", north, "hall")
	must(t, h.InsertVenue(ctx, v, nil))
	if v.Created < from || v.Created > h.now(t) {
		t.Errorf("created at %d, not by the database's clock", v.Created)
	}
	got, err := h.Venue(ctx, north, "ven_1")
	must(t, err)
	if got.ID != v.ID || got.Organizer != v.Organizer || got.Reference != v.Reference || got.Name != v.Name ||
		got.Created != v.Created || !maps.Equal(got.Metadata, v.Metadata) {
		t.Errorf("got %+v, want %+v", got, v)
	}
}

func TestAVenueNeedsNoReferenceAndNoMetadata(t *testing.T) {
	h, ctx := open(t), t.Context()
	for _, id := range []string{"ven_1", "ven_2"} {
		must(t, h.InsertVenue(ctx, &inventory.Venue{ID: id, Organizer: north, Name: "Bare"}, nil))
	}
	got, err := h.Venue(ctx, north, "ven_2")
	must(t, err)
	if got.Reference != "" || got.Metadata != nil {
		t.Errorf("got %+v", got)
	}
}

func TestAVenueIsItsOrganizersAlone(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, "hall"), nil))
	_, err := h.Venue(ctx, south, "ven_1")
	wantNotFound(t, err)
	_, err = h.Venue(ctx, north, "ven_none")
	wantNotFound(t, err)
	stolen := venue("ven_1", south, "")
	stolen.Name = "Stolen"
	wantNotFound(t, h.UpdateVenue(ctx, stolen, nil))
	wantNotFound(t, h.InsertVenue(ctx, venue("ven_2", "org_none", ""), nil))
	list, err := h.Venues(ctx, south, inventory.Page{Limit: 10})
	must(t, err)
	wantIDs(t, ids(list, venueID), "")
	got, err := h.Venue(ctx, north, "ven_1")
	must(t, err)
	if got.Name == "Stolen" {
		t.Error("another organizer changed it")
	}
}

func TestAVenueChanges(t *testing.T) {
	h, ctx := open(t), t.Context()
	v := venue("ven_1", north, "hall")
	must(t, h.InsertVenue(ctx, v, nil))
	v.Name, v.Metadata, v.Reference = "Renamed", nil, "new hall"
	rec := record(1)
	must(t, h.UpdateVenue(ctx, v, rec))
	wantRecorded(t, h.UpdateVenue(ctx, v, rec), rec)
	must(t, h.UpdateVenue(ctx, v, nil)) // keeping its own reference
	got, err := h.Venue(ctx, north, "ven_1")
	must(t, err)
	if got.Name != "Renamed" || got.Metadata != nil || got.Reference != "new hall" || got.Created != v.Created {
		t.Errorf("got %+v", got)
	}
}

func TestAVenuesReferenceIsUniqueInItsOrganizer(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, "hall"), nil))
	must(t, h.InsertVenue(ctx, venue("ven_2", south, "hall"), nil))
	must(t, h.InsertVenue(ctx, venue("ven_3", north, "barn"), nil))
	wantRefusal(t, h.InsertVenue(ctx, venue("ven_4", north, "hall"), nil), inventory.ReferenceTaken)
	wantRefusal(t, h.UpdateVenue(ctx, venue("ven_3", north, "hall"), nil), inventory.ReferenceTaken)
	got, err := h.Venue(ctx, north, "ven_3")
	must(t, err)
	if got.Reference != "barn" {
		t.Errorf("a refused change was kept: %+v", got)
	}
}

func TestVenuesAreListedByPageAndReference(t *testing.T) {
	h, ctx := open(t), t.Context()
	for _, id := range []string{"ven_3", "ven_1", "ven_2"} {
		must(t, h.InsertVenue(ctx, venue(id, north, "ref-"+id), nil))
	}
	for _, c := range []struct {
		page inventory.Page
		want string
	}{
		{inventory.Page{Limit: 10}, "ven_1 ven_2 ven_3"},
		{inventory.Page{Limit: 2}, "ven_1 ven_2"},
		{inventory.Page{Limit: 2, After: "ven_2"}, "ven_3"},
		{inventory.Page{Limit: 2, After: "ven_3"}, ""},
		{inventory.Page{Limit: 2, Reference: "ref-ven_2"}, "ven_2"},
		{inventory.Page{Limit: 2, Reference: "ref-ven_2", After: "ven_2"}, ""},
		{inventory.Page{Limit: 2, Reference: "' OR 1=1 --"}, ""},
	} {
		list, err := h.Venues(ctx, north, c.page)
		must(t, err)
		wantIDs(t, ids(list, venueID), c.want)
	}
}

func TestMapVersionsCountUpInTheirVenue(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), nil))
	must(t, h.InsertVenue(ctx, venue("ven_2", north, ""), nil))
	for _, c := range []struct {
		id, venue string
		version   int64
	}{{"map_1", "ven_1", 1}, {"map_2", "ven_1", 2}, {"map_3", "ven_2", 1}, {"map_4", "ven_1", 3}} {
		m := seatMap(c.id, c.venue, north)
		must(t, h.InsertMap(ctx, m, []byte("drawing of "+c.id), nil, nil))
		if m.Version != c.version || m.Created == 0 {
			t.Errorf("%s: version %d created %d, want version %d", c.id, m.Version, m.Created, c.version)
		}
		got, data, err := h.Map(ctx, c.id)
		must(t, err)
		if *got != *m || string(data) != "drawing of "+c.id {
			t.Errorf("got %+v %q, want %+v", got, data, m)
		}
	}
	_, _, err := h.Map(ctx, "map_none")
	wantNotFound(t, err)
	mapID := func(m *inventory.MapVersion) string { return m.ID }
	list, err := h.Maps(ctx, "ven_1", inventory.Page{Limit: 2})
	must(t, err)
	wantIDs(t, ids(list, mapID), "map_1 map_2")
	list, err = h.Maps(ctx, "ven_1", inventory.Page{Limit: 2, After: "map_2"})
	must(t, err)
	wantIDs(t, ids(list, mapID), "map_4")
}

func TestMapsAddedAtOnceHaveAVersionEach(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), nil))
	const writers = 8
	all := make([]*inventory.MapVersion, writers)
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			all[i] = seatMap(fmt.Sprintf("map_%d", i), "ven_1", north)
			errs[i] = h.InsertMap(ctx, all[i], nil, nil, nil)
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	var versions []int64
	for _, m := range all {
		versions = append(versions, m.Version)
	}
	slices.Sort(versions)
	if !slices.Equal(versions, []int64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Fatalf("versions %v", versions)
	}
}

func TestAMapIsAddedByItsVenuesOrganizerAlone(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), nil))
	wantNotFound(t, h.InsertMap(ctx, seatMap("map_1", "ven_1", south), nil, nil, nil))
	wantNotFound(t, h.InsertMap(ctx, seatMap("map_1", "ven_none", north), nil, nil, nil))
	if n := h.count(t, "maps"); n != 0 {
		t.Fatalf("%d maps", n)
	}
}

func TestAMapsRecordKeepsTheAnswerThatKnowsItsVersion(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), nil))
	rec, m := record(1), seatMap("map_1", "ven_1", north)
	answer := func() ([]byte, error) { return fmt.Appendf(nil, "version %d", m.Version), nil }
	must(t, h.InsertMap(ctx, m, nil, rec, answer))
	want := *rec
	want.Answer = []byte("version 1")
	wantRecorded(t, h.InsertMap(ctx, seatMap("map_2", "ven_1", north), nil, rec, func() ([]byte, error) {
		t.Error("a replay was rendered again")
		return nil, nil
	}), &want)
}

func TestAMapWhoseAnswerFailsIsNotKept(t *testing.T) {
	h, ctx := open(t), t.Context()
	must(t, h.InsertVenue(ctx, venue("ven_1", north, ""), nil))
	broken := errors.New("cannot be rendered")
	err := h.InsertMap(ctx, seatMap("map_1", "ven_1", north), nil, record(1), func() ([]byte, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if n := h.count(t, "maps") + h.count(t, "records"); n != 0 {
		t.Fatalf("%d rows were kept", n)
	}
}
