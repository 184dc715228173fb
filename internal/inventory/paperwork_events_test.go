package inventory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// desk is a Service over a database of its own, with an organizer who has a venue and a map of two
// rows of three seats and a floor of 40, and another organizer who has nothing.
type desk struct {
	*inventory.Service
	t         *testing.T
	store     *sqlite.Store
	records   *records.Records
	c, other  inventory.Caller
	venue     *inventory.Venue
	drawing   []byte
	mapID     string
	eventTime inventory.Instant
}

func newDesk(t *testing.T) *desk {
	return deskOver(t, func(s inventory.Store) inventory.Store { return s })
}

// deskOver puts something between the Service and its store.
func deskOver(t *testing.T, between func(inventory.Store) inventory.Store) *desk {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "paper.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{t: t, store: store, records: records.New(store), eventTime: inventory.InstantOf(time.Now().Add(48 * time.Hour))}
	d.Service = inventory.New(inventory.Config{Store: between(store), Catalogue: d.records, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := d.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	d.c, d.other = d.organizer("House"), d.organizer("Other house")
	d.venue = must(d.CreateVenue(ctx, d.c, inventory.VenueFields{Name: new("Demo Hall")}, nil))(t)
	drawing := seatmap.Grid(2, 3)
	drawing.Areas = []seatmap.Area{{Key: "FLOOR", Name: "Floor", Capacity: 40}}
	d.drawing = must(drawing.Encode())(t)
	d.mapID = must(d.CreateMap(ctx, d.c, d.venue.ID, d.drawing, nil))(t).ID
	return d
}

func (d *desk) organizer(name string) inventory.Caller {
	d.t.Helper()
	o := must(office.New(d.records).CreateOrganizer(d.t.Context(), name))(d.t)
	return inventory.Caller{Organizer: o.ID, Key: "key_" + o.ID}
}

// must unwraps what may not fail.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// spec is an event of every kind of thing.
func (d *desk) spec() inventory.EventSpec {
	return inventory.EventSpec{
		Fields: inventory.EventFields{
			Name: new("Test Evening"), StartsAt: &d.eventTime, Map: &d.mapID, Currency: new("EUR"), TimeZone: new("Europe/Vienna"),
			Types: []inventory.TicketType{{ID: "standard", Name: "Standard", Price: 4500}, {ID: "standing", Name: "Standing", Price: 1500}},
		},
		Rules: []inventory.Rule{
			{Where: inventory.Where{Areas: []string{"FLOOR"}}, Types: []string{"standing"}},
			{Where: inventory.Where{Rows: []string{"S1-2"}}, Channel: "sponsors"},
			{Where: inventory.Where{Seats: []string{"S1-2-3"}}, Exclude: true},
		},
		Channels: []inventory.ChannelSpec{{ID: "sponsors", Name: "Sponsors", Codes: []string{"open-sesame"}}},
	}
}

func (d *desk) create(spec inventory.EventSpec) *inventory.Event {
	d.t.Helper()
	return must(d.CreateEvents(d.t.Context(), d.c, []inventory.EventSpec{spec}, false, nil))(d.t)[0].Event
}

// pass runs verbs one after the other and returns the event as the store then has it.
func (d *desk) pass(id string, verbs ...string) *inventory.Event {
	d.t.Helper()
	for _, verb := range verbs {
		must(d.Transition(d.t.Context(), d.c, id, verb, nil))(d.t)
	}
	return must(d.store.Event(d.t.Context(), id))(d.t)
}

// once is an Idempotency-Key whose answer is what was made, printed.
func once(key, body byte) *inventory.Once {
	o := &inventory.Once{Render: func(made any) ([]byte, []byte, error) {
		switch m := made.(type) {
		case *inventory.EventView:
			return []byte(m.Event.ID + " " + string(m.Event.Terms.State)), nil, nil
		case []*inventory.EventView:
			return fmt.Appendf(nil, "%d events, the first %s", len(m), m[0].Event.ID), nil, nil
		case *inventory.RepaintResult:
			return fmt.Appendf(nil, "%+v", *m), nil, nil
		case *inventory.RemapResult:
			return fmt.Appendf(nil, "%+v", *m), nil, nil
		case *inventory.Venue:
			return []byte(m.ID + " " + m.Name), nil, nil
		case *inventory.MapVersion:
			return fmt.Appendf(nil, "%s version %d", m.ID, m.Version), nil, nil
		}
		return nil, nil, fmt.Errorf("no answer for a %T", made)
	}}
	o.ID[0], o.Body[0] = key, body
	return o
}

// wantRefusal checks the code and, if any are given, the faults as "field code".
func wantRefusal(t *testing.T, err error, code inventory.RefusalCode, faults ...string) {
	t.Helper()
	refusal, ok := errors.AsType[*inventory.Refusal](err)
	if !ok || refusal.Code != code {
		t.Fatalf("got %v, want the refusal %s", err, code)
	}
	var got []string
	for _, f := range refusal.Faults {
		got = append(got, f.Field+" "+f.Code)
	}
	if len(faults) > 0 && !slices.Equal(got, faults) {
		t.Fatalf("faults %v, want %v", got, faults)
	}
}

// wantReplay checks that the answer is one that was kept.
func wantReplay(t *testing.T, err error, answer string) {
	t.Helper()
	recorded, ok := errors.AsType[*inventory.Recorded](err)
	if !ok || string(recorded.Record.Answer) != answer {
		t.Fatalf("got %v (%+v), want a replay of %q", err, recorded, answer)
	}
}

func TestPublishingTakesTheSnapshot(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	if e.Terms.State != inventory.Draft || e.VenueName != "Demo Hall" || e.Terms.HoldSeconds != 600 || e.Terms.HoldMax != 1800 ||
		e.Terms.UnitsPerHold != 10 || e.Terms.UnitsPerBuyer != 10 || e.Created == 0 {
		t.Fatalf("a new event: %+v", e)
	}
	e = d.pass(e.ID, "publish")
	if e.Terms.State != inventory.Published || len(e.Rules) != 3 {
		t.Fatalf("state %s with %d rules", e.Terms.State, len(e.Rules))
	}
	board := must(d.store.Board(t.Context(), e.ID))(t)
	var got []string
	for _, u := range board.Units {
		if u.Capacity == 0 {
			got = append(got, "none")
			continue
		}
		class := e.Terms.Classes[u.Class]
		got = append(got, fmt.Sprintf("%d %s %s", u.Capacity, e.Terms.Channels[class.Channel].ID, e.Terms.Types[class.Types[0]].ID))
	}
	want := []string{
		"1 public standard", "1 public standard", "1 public standard",
		"1 sponsors standard", "1 sponsors standard", "none", "40 public standing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTheLifeCycleTakesOnlyItsOwnSteps(t *testing.T) {
	verbs := []string{"publish", "open", "pause", "close", "cancel"}
	ways := map[inventory.State][]string{
		inventory.Draft: nil, inventory.Published: {"publish"}, inventory.OnSale: {"publish", "open"},
		inventory.Paused: {"publish", "open", "pause"}, inventory.Closed: {"publish", "close"}, inventory.Cancelled: {"cancel"},
	}
	leads := map[inventory.State]map[string]inventory.State{
		inventory.Draft:     {"publish": "published", "cancel": "cancelled"},
		inventory.Published: {"publish": "published", "open": "on_sale", "close": "closed", "cancel": "cancelled"},
		inventory.OnSale:    {"open": "on_sale", "pause": "paused", "close": "closed", "cancel": "cancelled"},
		inventory.Paused:    {"pause": "paused", "open": "on_sale", "close": "closed", "cancel": "cancelled"},
		inventory.Closed:    {"close": "closed", "cancel": "cancelled"},
		inventory.Cancelled: {"cancel": "cancelled"},
	}
	d := newDesk(t)
	for from, way := range ways {
		for _, verb := range verbs {
			before := d.pass(d.create(d.spec()).ID, way...)
			v, err := d.Transition(t.Context(), d.c, before.ID, verb, nil)
			after := must(d.store.Event(t.Context(), before.ID))(t)
			to, allowed := leads[from][verb]
			switch {
			case !allowed:
				wantRefusal(t, err, inventory.StateConflict)
				to = from
			case err != nil:
				t.Errorf("%s in %s: %v", verb, from, err)
			case v.Event.Terms.State != to:
				t.Errorf("%s in %s answers %s", verb, from, v.Event.Terms.State)
			}
			if after.Terms.State != to || (after.Revision != before.Revision) != (to != from) {
				t.Errorf("%s in %s: %s at revision %d after %d", verb, from, after.Terms.State, after.Revision, before.Revision)
			}
		}
	}
	_, err := d.Transition(t.Context(), d.c, d.create(d.spec()).ID, "explode", nil)
	wantRefusal(t, err, inventory.NotFound)
}

func TestThePublicNeverHearsOfADraft(t *testing.T) {
	d := newDesk(t)
	for way, seen := range map[string]bool{"": false, "cancel": false, "publish": true, "publish cancel": true} {
		e := d.pass(d.create(d.spec()).ID, strings.Fields(way)...)
		_, err := d.Event(t.Context(), inventory.Caller{}, e.ID)
		if seen && err != nil {
			t.Errorf("after %q: %v", way, err)
		} else if !seen {
			wantRefusal(t, err, inventory.NotFound)
		}
		if _, err := d.Event(t.Context(), d.c, e.ID); err != nil {
			t.Errorf("its organizer, after %q: %v", way, err)
		}
	}
}

func TestAnEventWithNothingToSellIsNotPublished(t *testing.T) {
	d := newDesk(t)
	bare := d.spec()
	bare.Fields.Types, bare.Rules = nil, nil
	_, err := d.Transition(t.Context(), d.c, d.create(bare).ID, "publish", nil)
	wantRefusal(t, err, inventory.StateConflict)
	empty := d.spec()
	empty.Rules = []inventory.Rule{{Where: inventory.Where{All: true}, Exclude: true}}
	_, err = d.Transition(t.Context(), d.c, d.create(empty).ID, "publish", nil)
	wantRefusal(t, err, inventory.StateConflict)
}

func TestAllFaultsOfAListAreNamedAndNothingIsMade(t *testing.T) {
	d := newDesk(t)
	bad := d.spec()
	bad.Fields.Name, bad.Fields.Map = nil, new("map_none")
	doubled := d.spec()
	doubled.Fields.Reference = new("gala")
	doubled.Fields.Types = nil
	first := d.spec()
	first.Fields.Reference = new("gala")
	_, err := d.CreateEvents(t.Context(), d.c, []inventory.EventSpec{first, bad, doubled}, true, nil)
	wantRefusal(t, err, inventory.Invalid, "/1/name REQUIRED", "/1/map UNKNOWN", "/2/allocations/0/set/ticket_types/0 UNKNOWN", "/2/reference DUPLICATE")
	events, next, err := d.Events(t.Context(), d.c, inventory.Page{Limit: 10})
	if err != nil || len(events) != 0 || next != "" {
		t.Errorf("%d events, next %q, %v", len(events), next, err)
	}
	_, err = d.CreateEvents(t.Context(), d.c, nil, true, nil)
	wantRefusal(t, err, inventory.Invalid, " REQUIRED")
	_, err = d.CreateEvents(t.Context(), d.c, make([]inventory.EventSpec, 51), true, nil)
	wantRefusal(t, err, inventory.Invalid, " TOO_MANY")
}

func TestAMapOfAnotherOrganizerIsUnknown(t *testing.T) {
	d := newDesk(t)
	_, err := d.CreateEvents(t.Context(), d.other, []inventory.EventSpec{d.spec()}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/map UNKNOWN")
}

func TestACopyTakesAllButReferenceAndCodes(t *testing.T) {
	d := newDesk(t)
	spec := d.spec()
	spec.Fields.Reference = new("gala")
	spec.Fields.Metadata = &map[string]string{"hall": "1"}
	spec.Fields.UnitsPerHold = new(int64(4))
	from := d.create(spec)
	d.pass(from.ID, "publish")
	// What was withheld after publishing is withheld in the copy, too.
	withhold := inventory.Rule{Where: inventory.Where{Rows: []string{"S1-1"}}, Channel: "withheld"}
	if _, err := d.Repaint(t.Context(), d.c, from.ID, withhold, false, nil); err != nil {
		t.Fatal(err)
	}
	to := d.create(inventory.EventSpec{Copy: from.ID, Fields: inventory.EventFields{Name: new("Second Evening")}})
	if to.Name != "Second Evening" || to.Reference != "" || to.Terms.State != inventory.Draft || to.StartsAt != from.StartsAt || to.Map != from.Map ||
		to.TimeZone != "Europe/Vienna" || to.Metadata["hall"] != "1" || to.Terms.UnitsPerHold != 4 || len(to.Terms.Types) != 2 {
		t.Fatalf("copy: %+v", to)
	}
	if ch := to.Terms.Channels; len(ch) != 3 || ch[1].ID != "sponsors" || ch[1].Name != "Sponsors" || len(ch[1].Codes) != 0 {
		t.Errorf("channels %+v", ch)
	}
	d.pass(to.ID, "publish")
	if a, b := d.onSale(t, from.ID), d.onSale(t, to.ID); !slices.Equal(a, b) || !slices.Contains(a, "1 withheld [standard]") {
		t.Errorf("the copy sells %v, its origin %v", b, a)
	}
}

// onSale describes how each unit of an event is on sale, whatever its classes are numbered.
func (d *desk) onSale(t *testing.T, id string) (units []string) {
	t.Helper()
	e, b := must(d.store.Event(t.Context(), id))(t), must(d.store.Board(t.Context(), id))(t)
	for _, u := range b.Units {
		if u.Capacity == 0 {
			units = append(units, "none")
			continue
		}
		c := e.Terms.Classes[u.Class]
		var types []string
		for _, n := range c.Types {
			types = append(types, e.Terms.Types[n].ID)
		}
		units = append(units, fmt.Sprint(u.Capacity, " ", e.Terms.Channels[c.Channel].ID, " ", types))
	}
	return units
}

func TestACopyThatDoesNotFitSaysSo(t *testing.T) {
	d := newDesk(t)
	from := d.create(d.spec())
	_, err := d.CreateEvents(t.Context(), d.c, []inventory.EventSpec{{Copy: from.ID, Fields: inventory.EventFields{
		Types: []inventory.TicketType{{ID: "other", Name: "Other"}},
	}}}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/copy INVALID")
	_, err = d.CreateEvents(t.Context(), d.other, []inventory.EventSpec{{Copy: from.ID}}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/copy UNKNOWN", "/starts_at REQUIRED", "/name REQUIRED", "/map REQUIRED", "/currency REQUIRED")
}

func TestWhatCanChangeDependsOnTheState(t *testing.T) {
	d := newDesk(t)
	fields := map[string]inventory.EventFields{
		"name": {Name: new("New")}, "reference": {Reference: new("")}, "metadata": {Metadata: &map[string]string{}},
		"starts_at": {StartsAt: new(d.eventTime + 1)}, "time_zone": {TimeZone: new("UTC")}, "sale": {SaleUntil: &d.eventTime},
		"limits": {UnitsPerBuyer: new(int64(3))},
		"map":    {Map: &d.mapID}, "currency": {Currency: new("USD")},
		"types": {Types: []inventory.TicketType{{ID: "standard", Name: "S", Price: 1}, {ID: "standing", Name: "T", Price: 1}}},
	}
	always := []string{"name", "reference", "metadata"}
	untilClosed := append([]string{"starts_at", "time_zone", "sale", "limits", "types"}, always...)
	everything := append([]string{"map", "currency"}, untilClosed...)
	for _, test := range []struct {
		verbs   []string
		allowed []string
	}{
		{nil, everything},
		{[]string{"publish"}, untilClosed},
		{[]string{"publish", "open"}, untilClosed},
		{[]string{"publish", "open", "pause"}, untilClosed},
		{[]string{"publish", "close"}, always},
		{[]string{"cancel"}, always},
	} {
		e := d.create(d.spec())
		d.pass(e.ID, test.verbs...)
		for name, f := range fields {
			_, err := d.PatchEvent(t.Context(), d.c, e.ID, f, nil)
			if slices.Contains(test.allowed, name) {
				if err != nil {
					t.Errorf("%s after %v: %v", name, test.verbs, err)
				}
				continue
			}
			wantRefusal(t, err, inventory.StateConflict)
		}
	}
}

func TestAPatchThatSaysNothingChangesNothing(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	v := must(d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{}, once(1, 1)))(t)
	if v.Event.Revision != e.Revision {
		t.Errorf("revision %d after %d", v.Event.Revision, e.Revision)
	}
}

func TestADraftKeepsRulesThatFit(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	_, err := d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Types: []inventory.TicketType{{ID: "standard", Name: "S"}}}, nil)
	wantRefusal(t, err, inventory.Invalid, "/ticket_types INVALID")
	seats := must(seatmap.Grid(1, 3).Encode())(t)
	other := must(d.CreateMap(t.Context(), d.c, d.venue.ID, seats, nil))(t)
	_, err = d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Map: &other.ID}, nil)
	wantRefusal(t, err, inventory.Invalid, "/map INVALID")
}

func TestAReferenceIsUniqueForItsOrganizer(t *testing.T) {
	d := newDesk(t)
	spec := d.spec()
	spec.Fields.Reference = new("gala")
	d.create(spec)
	_, err := d.CreateEvents(t.Context(), d.c, []inventory.EventSpec{spec}, false, nil)
	wantRefusal(t, err, inventory.ReferenceTaken)
	e := d.create(d.spec())
	_, err = d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Reference: new("gala")}, nil)
	wantRefusal(t, err, inventory.ReferenceTaken)
	found, _, err := d.Events(t.Context(), d.c, inventory.Page{Limit: 10, Reference: "gala"})
	if err != nil || len(found) != 1 {
		t.Errorf("found %d, %v", len(found), err)
	}
}

func TestAnothersEventsDoNotExist(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	draft, published := d.create(d.spec()), d.create(d.spec())
	d.pass(published.ID, "publish")
	rule := inventory.Rule{Where: inventory.Where{All: true}, Channel: "withheld"}
	for _, c := range []inventory.Caller{d.other, {}} {
		for name, call := range map[string]func(id string) error{
			"patch": func(id string) error {
				_, err := d.PatchEvent(ctx, c, id, inventory.EventFields{Name: new("x")}, nil)
				return err
			},
			"transition": func(id string) error { _, err := d.Transition(ctx, c, id, "cancel", nil); return err },
			"repaint":    func(id string) error { _, err := d.Repaint(ctx, c, id, rule, false, nil); return err },
			"channel":    func(id string) error { _, err := d.PutChannel(ctx, c, id, inventory.ChannelSpec{ID: "x"}); return err },
			"log":        func(id string) error { _, err := d.Log(ctx, c, id, inventory.Page{Limit: 1}); return err },
			"report":     func(id string) error { _, err := d.Report(ctx, c, id); return err },
		} {
			for _, id := range []string{draft.ID, published.ID, "evt_none"} {
				if err := call(id); err == nil {
					t.Errorf("%s of %s by %q works", name, id, c.Organizer)
				} else {
					wantRefusal(t, err, inventory.NotFound)
				}
			}
		}
		_, err := d.Event(ctx, c, draft.ID)
		wantRefusal(t, err, inventory.NotFound)
		_, _, err = d.EventMap(ctx, c, draft.ID)
		wantRefusal(t, err, inventory.NotFound)
	}
	_, err := d.Event(ctx, d.other, published.ID)
	wantRefusal(t, err, inventory.NotFound)
	v := must(d.Event(ctx, inventory.Caller{}, published.ID))(t)
	if v.Owner {
		t.Error("the public owns an event")
	}
	if v = must(d.Event(ctx, d.c, draft.ID))(t); !v.Owner {
		t.Error("the organizer does not own a draft")
	}
}

func TestListsArePagedToTheirEnd(t *testing.T) {
	d := newDesk(t)
	var want, got []string
	for range 4 {
		want = append(want, d.create(d.spec()).ID)
	}
	d.pass(want[2], "publish")
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		views, next, err := d.Events(t.Context(), d.c, inventory.Page{After: after, Limit: 2})
		if err != nil || pages > 1 {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, v := range views {
			got = append(got, v.Event.ID)
		}
		after = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	public, next, err := d.Events(t.Context(), inventory.Caller{}, inventory.Page{Limit: 2})
	if err != nil || next != "" || len(public) != 1 || public[0].Event.ID != want[2] || public[0].Owner {
		t.Errorf("the public sees %v, next %q, %v", public, next, err)
	}
}

func TestARepaintedDraftIsPublishedSo(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	rule := inventory.Rule{Where: inventory.Where{All: true}, Channel: "withheld"}
	r := must(d.Repaint(t.Context(), d.c, e.ID, rule, true, nil))(t)
	if r.Selected != 6 || r.Changed != 6 || r.Version != e.Revision {
		t.Errorf("dry run: %+v", r)
	}
	if now := must(d.store.Event(t.Context(), e.ID))(t); len(now.Rules) != 3 || len(now.Terms.Channels) != 2 {
		t.Errorf("a dry run left %+v", now)
	}
	r = must(d.Repaint(t.Context(), d.c, e.ID, rule, false, nil))(t)
	if r.Selected != 6 || r.Changed != 6 || r.Version != e.Revision+1 {
		t.Errorf("for real: %+v", r)
	}
	after := d.pass(e.ID, "publish")
	for _, class := range after.Terms.Classes {
		if after.Terms.Channels[class.Channel].ID != "withheld" {
			t.Errorf("classes %+v", after.Terms.Classes)
		}
	}
}

func TestARepaintChangesAllocationsAtOnce(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	d.pass(e.ID, "publish", "open")
	release := inventory.Rule{Where: inventory.Where{Channels: []string{"sponsors"}, Seats: []string{"S1-1-1"}}, Channel: "public"}
	dry := must(d.Repaint(t.Context(), d.c, e.ID, release, true, nil))(t)
	before := must(d.store.Event(t.Context(), e.ID))(t)
	wet := must(d.Repaint(t.Context(), d.c, e.ID, release, false, nil))(t)
	if dry.Selected != 3 || dry.Changed != 2 || wet.Selected != 3 || wet.Changed != 2 || dry.Version != before.Revision || wet.Version != before.Revision+1 {
		t.Errorf("dry %+v, wet %+v, from revision %d", dry, wet, before.Revision)
	}
	after := must(d.store.Event(t.Context(), e.ID))(t)
	board := must(d.store.Board(t.Context(), e.ID))(t)
	for unit, u := range board.Units {
		if u.Capacity > 0 && after.Terms.Classes[u.Class].Channel != 0 {
			t.Errorf("unit %d is still in channel %d", unit, after.Terms.Classes[u.Class].Channel)
		}
	}
	again := must(d.Repaint(t.Context(), d.c, e.ID, release, false, nil))(t)
	if again.Selected != 1 || again.Changed != 0 || again.Version != wet.Version {
		t.Errorf("again: %+v", again)
	}
	_, err := d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{All: true}, Exclude: true}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/set/exclude INVALID")
	_, err = d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{Seats: []string{"S1-1-1", "S9"}}, Channel: "public"}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/where/seats/1 UNKNOWN")
	d.pass(e.ID, "close")
	_, err = d.Repaint(t.Context(), d.c, e.ID, release, false, nil)
	wantRefusal(t, err, inventory.StateConflict)
}

func TestAChannelKeepsWhatIsNotReplaced(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	put := func(spec inventory.ChannelSpec) inventory.Channel {
		t.Helper()
		must(d.PutChannel(t.Context(), d.c, e.ID, spec))(t)
		now := must(d.store.Event(t.Context(), e.ID))(t)
		i, ok := now.Terms.ChannelIndex(spec.ID)
		if !ok {
			t.Fatalf("no channel %s", spec.ID)
		}
		return now.Terms.Channels[i]
	}
	if c := put(inventory.ChannelSpec{ID: "press"}); c.Name != "press" || len(c.Codes) != 0 {
		t.Errorf("new: %+v", c)
	}
	if c := put(inventory.ChannelSpec{ID: "sponsors", Name: "Friends"}); c.Name != "Friends" || !slices.Equal(c.Codes, []inventory.Code{inventory.CodeHash(e.ID, "open-sesame")}) {
		t.Errorf("renamed: %+v", c)
	}
	if c := put(inventory.ChannelSpec{ID: "sponsors", Codes: []string{"another"}}); c.Name != "Friends" || !slices.Equal(c.Codes, []inventory.Code{inventory.CodeHash(e.ID, "another")}) {
		t.Errorf("new codes: %+v", c)
	}
	if c := put(inventory.ChannelSpec{ID: "sponsors", Codes: []string{}}); len(c.Codes) != 0 {
		t.Errorf("closed: %+v", c)
	}
	_, err := d.PutChannel(t.Context(), d.c, e.ID, inventory.ChannelSpec{ID: "public", Codes: []string{"x"}})
	wantRefusal(t, err, inventory.Invalid, "/id INVALID", "/access_codes/0 INVALID")
}

func TestEveryChangeStandsInTheLog(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	d.pass(e.ID, "publish", "open")
	must(d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Name: new("x")}, nil))(t)
	must(d.PutChannel(t.Context(), d.c, e.ID, inventory.ChannelSpec{ID: "press"}))(t)
	must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{All: true}, Channel: "press"}, false, nil))(t)
	d.pass(e.ID, "pause", "close", "cancel")
	var kinds []string
	after := ""
	for range 4 {
		page := must(d.Log(t.Context(), d.c, e.ID, inventory.Page{After: after, Limit: 3}))(t)
		for _, entry := range page.Entries {
			kinds = append(kinds, string(entry.Kind))
			if entry.By != d.c.Key || entry.At == 0 || int(entry.Number) != len(kinds) {
				t.Errorf("entry %+v", entry)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if want := "published opened edited edited repainted paused closed cancelled"; strings.Join(kinds, " ") != want {
		t.Errorf("got %v, want %s", kinds, want)
	}
	for _, cursor := range []string{"x", "-1", "99999999999999999999"} {
		_, err := d.Log(t.Context(), d.c, e.ID, inventory.Page{After: cursor, Limit: 3})
		wantRefusal(t, err, inventory.Invalid, "?after INVALID")
	}
}

func TestARepeatedCommandFindsItsOwnEffect(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	spec := d.spec()
	spec.Fields.Reference = new("gala")
	e := must(d.CreateEvents(ctx, d.c, []inventory.EventSpec{spec}, false, once(1, 1)))(t)[0].Event
	_, err := d.CreateEvents(ctx, d.c, []inventory.EventSpec{spec}, false, once(1, 1))
	wantReplay(t, err, "1 events, the first "+e.ID)
	spec.Fields.Name = nil // another body, and a bad one: the key still decides
	_, err = d.CreateEvents(ctx, d.c, []inventory.EventSpec{spec}, false, once(1, 2))
	wantRefusal(t, err, inventory.KeyReused)

	must(d.Transition(ctx, d.c, e.ID, "publish", once(2, 1)))(t)
	must(d.Transition(ctx, d.c, e.ID, "open", once(3, 1)))(t)
	rule := inventory.Rule{Where: inventory.Where{Seats: []string{"S1-1-1"}}, Channel: "sponsors"}
	r := must(d.Repaint(ctx, d.c, e.ID, rule, false, once(4, 1)))(t)
	must(d.PatchEvent(ctx, d.c, e.ID, inventory.EventFields{StartsAt: new(d.eventTime + 1)}, once(5, 1)))(t)
	d.pass(e.ID, "pause", "close")

	// Each of these would now be refused, or do nothing, or do it again.
	_, err = d.Transition(ctx, d.c, e.ID, "publish", once(2, 1))
	wantReplay(t, err, e.ID+" published")
	_, err = d.Transition(ctx, d.c, e.ID, "open", once(3, 1))
	wantReplay(t, err, e.ID+" on_sale")
	_, err = d.Repaint(ctx, d.c, e.ID, rule, false, once(4, 1))
	wantReplay(t, err, fmt.Sprintf("%+v", *r))
	_, err = d.PatchEvent(ctx, d.c, e.ID, inventory.EventFields{StartsAt: new(d.eventTime + 1)}, once(5, 1))
	wantReplay(t, err, e.ID+" on_sale")
	_, err = d.Transition(ctx, d.c, e.ID, "close", once(3, 2))
	wantRefusal(t, err, inventory.KeyReused)
}

func TestWhatChangesNothingIsNotRecorded(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	d.pass(e.ID, "publish")
	must(d.Transition(t.Context(), d.c, e.ID, "publish", once(1, 1)))(t)
	_, err := d.Transition(t.Context(), d.c, e.ID, "pause", once(1, 1))
	wantRefusal(t, err, inventory.StateConflict)
	// The key was used for nothing so far, so that another body may still use it.
	must(d.Transition(t.Context(), d.c, e.ID, "open", once(1, 2)))(t)
}

func TestManyAtOnceChangeAnEventOneAfterTheOther(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	var wg sync.WaitGroup
	var changed, contended atomic.Int64
	for i := range 12 {
		wg.Go(func() {
			var err error
			switch i % 3 {
			case 0:
				_, err = d.Transition(t.Context(), d.c, e.ID, "publish", nil)
				if err == nil {
					return // only the first of them changes anything
				}
			case 1:
				_, err = d.PutChannel(t.Context(), d.c, e.ID, inventory.ChannelSpec{ID: fmt.Sprintf("c%d", i)})
			case 2:
				_, err = d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Metadata: &map[string]string{"by": fmt.Sprint(i)}}, nil)
			}
			refusal, refused := errors.AsType[*inventory.Refusal](err)
			switch {
			case err == nil:
				changed.Add(1)
			case refused && refusal.Code == inventory.Contended:
				contended.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	after := d.pass(e.ID, "publish")
	if want := e.Revision + changed.Load() + 1; after.Revision != want {
		t.Errorf("revision %d, want %d (%d gave up)", after.Revision, want, contended.Load())
	}
	board := must(d.store.Board(t.Context(), e.ID))(t)
	if len(board.Units) != 7 || board.Revision != after.Revision {
		t.Errorf("board of %d units at revision %d", len(board.Units), board.Revision)
	}
}

// restless changes an event behind the back of whoever alters it, a number of times.
type restless struct {
	inventory.Store
	times int
}

func (r *restless) Alter(ctx context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	if r.times > 0 {
		r.times--
		e, err := r.Store.Event(ctx, event)
		if err != nil {
			return inventory.AlterResult{}, err
		}
		other := inventory.Alteration{Expect: e.Revision, Event: e, Kind: inventory.LogEdited, By: "key_other"}
		e.Revision++
		e.Name += "!"
		if _, err := r.Store.Alter(ctx, event, other); err != nil {
			return inventory.AlterResult{}, err
		}
	}
	return r.Store.Alter(ctx, event, a)
}

func TestAStaleDecisionIsMadeAgainAndBounded(t *testing.T) {
	between := new(restless)
	d := deskOver(t, func(s inventory.Store) inventory.Store {
		between.Store = s
		return between
	})
	e := d.create(d.spec())
	between.times = 4
	v := must(d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{TimeZone: new("UTC")}, nil))(t)
	if v.Event.Name != "Test Evening!!!!" || v.Event.TimeZone != "UTC" {
		t.Errorf("a change was lost: %+v", v.Event)
	}
	between.times = 5
	_, err := d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{TimeZone: new("Europe/Vienna")}, nil)
	wantRefusal(t, err, inventory.Contended)
	if now := must(d.store.Event(t.Context(), e.ID))(t); now.TimeZone != "UTC" {
		t.Error("what was refused was done")
	}
}

func TestAChangeIsSeenByTheNextReader(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	for _, verb := range []string{"publish", "open", "pause"} {
		must(d.Event(t.Context(), d.c, e.ID))(t)
		made := must(d.Transition(t.Context(), d.c, e.ID, verb, nil))(t)
		if now := must(d.Event(t.Context(), d.c, e.ID))(t); now.Event.Terms.State != made.Event.Terms.State {
			t.Errorf("after %s the event is read as %s", verb, now.Event.Terms.State)
		}
	}
}

func TestWaysOfBeingOnSaleAreBounded(t *testing.T) {
	const rows, most = 40, 25 // together the bound
	d := newDesk(t)
	d.mapID = must(d.CreateMap(t.Context(), d.c, d.venue.ID, must(seatmap.Grid(rows, most+1).Encode())(t), nil))(t).ID
	event := func(columns int) string {
		spec := d.spec()
		spec.Rules, spec.Channels, spec.Fields.Types = nil, nil, nil
		for row := range rows {
			spec.Rules = append(spec.Rules, inventory.Rule{Where: inventory.Where{Rows: []string{fmt.Sprintf("S1-%d", row+1)}}, Channel: fmt.Sprintf("c%d", row)})
		}
		for column := range most + 1 {
			rule := inventory.Rule{Exclude: true}
			if column < columns {
				rule = inventory.Rule{Types: []string{fmt.Sprintf("t%d", column)}}
				spec.Fields.Types = append(spec.Fields.Types, inventory.TicketType{ID: rule.Types[0], Name: "T"})
			}
			for row := range rows {
				rule.Where.Seats = append(rule.Where.Seats, fmt.Sprintf("S1-%d-%d", row+1, column+1))
			}
			spec.Rules = append(spec.Rules, rule)
		}
		return d.create(spec).ID
	}
	_, err := d.Transition(t.Context(), d.c, event(most+1), "publish", nil)
	wantRefusal(t, err, inventory.StateConflict)
	id := event(most)
	d.pass(id, "publish")
	one := inventory.Where{Seats: []string{"S1-1-1"}}
	_, err = d.Repaint(t.Context(), d.c, id, inventory.Rule{Where: one, Types: []string{"t1", "t0"}}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/set TOO_MANY")
	must(d.Repaint(t.Context(), d.c, id, inventory.Rule{Where: one, Types: []string{"t1"}}, false, nil))(t)
}

func TestADraftKeepsABoundedNumberOfRules(t *testing.T) {
	d := newDesk(t)
	spec := d.spec()
	spec.Rules = slices.Repeat([]inventory.Rule{{Where: inventory.Where{All: true}, Channel: "sponsors"}}, 200)
	_, err := d.Repaint(t.Context(), d.c, d.create(spec).ID, spec.Rules[0], false, nil)
	wantRefusal(t, err, inventory.StateConflict)
}

func TestAnEventShowsItsMap(t *testing.T) {
	d := newDesk(t)
	e := d.create(d.spec())
	d.pass(e.ID, "publish")
	id, data, err := d.EventMap(t.Context(), inventory.Caller{}, e.ID)
	if err != nil || id != d.mapID || !bytes.Equal(data, d.drawing) {
		t.Errorf("map %s of %d bytes, %v", id, len(data), err)
	}
}
