package inventory_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// selling is an event of every kind of thing, on sale.
func (d *desk) selling() *inventory.Event {
	d.t.Helper()
	return d.pass(d.create(d.spec()).ID, "publish", "open")
}

// hold claims for a buyer with the sponsors' code.
func (d *desk) hold(event string, basket inventory.Basket) *inventory.HoldView {
	d.t.Helper()
	return must(d.Claim(d.t.Context(), inventory.ClaimRequest{Event: event, Basket: basket, Code: "open-sesame"}))(d.t)
}

func basketOf(keys ...string) inventory.Basket { return inventory.Basket{Seats: keys} }

func floor(n int64) inventory.Basket {
	return inventory.Basket{Areas: []inventory.AreaWant{{Area: "FLOOR", Quantity: n}}}
}

func (d *desk) buy(event string, basket inventory.Basket) *inventory.OrderView {
	d.t.Helper()
	v := d.hold(event, basket)
	return must(d.Confirm(d.t.Context(), inventory.ConfirmRequest{
		Hold: inventory.HoldRef{Event: event, Token: v.Token}, Buyer: inventory.Buyer{Email: "buyer@example.com"},
	}))(d.t)
}

// state is all that a change could change, to be compared with what it is later.
func (d *desk) state(event string) string {
	d.t.Helper()
	e := must(d.store.Event(d.t.Context(), event))(d.t)
	b := must(d.store.Board(d.t.Context(), event))(d.t)
	return fmt.Sprintf("%+v %v %+v", *e, b.Position.Version, b.Units)
}

// auditOK fails for every breach.
func (d *desk) auditOK() {
	d.t.Helper()
	for b, err := range d.store.Audit(d.t.Context()) {
		if err != nil || b.What != "" {
			d.t.Errorf("%+v %v", b, err)
		}
	}
}

// execute runs SQL on the database, behind everybody's back.
func (d *desk) execute(text string) error {
	return d.store.Write(d.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(d.t.Context(), text)
		return err
	})
}

// lastReason is why the event's log says that it was changed last.
func (d *desk) lastReason(event string) string {
	d.t.Helper()
	entries := must(d.records.Log(d.t.Context(), event, 0, 1000))(d.t)
	last := entries[len(entries)-1]
	return string(last.Kind) + ": " + last.Reason
}

func TestRepeatsInFlightHaveOneAnswer(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	rule := inventory.Rule{Where: inventory.Where{Sections: []string{"S1"}}, Channel: inventory.WithheldChannel}
	answers := make(chan error, 12)
	for range cap(answers) {
		go func() {
			result, err := d.Repaint(t.Context(), d.c, e.ID, rule, false, once(7, 7))
			if err == nil && result.Changed != 5 {
				err = fmt.Errorf("%d are changed", result.Changed)
			}
			answers <- err
		}()
	}
	first := 0
	for range cap(answers) {
		err := <-answers
		if err == nil {
			first++
		} else if _, replay := errors.AsType[*inventory.Recorded](err); !replay {
			t.Errorf("a repeat is answered: %v", err)
		}
	}
	if first != 1 {
		t.Errorf("%d of the same command did something", first)
	}
}

func TestWithholdingAndReleasingByEverySelection(t *testing.T) {
	for name, test := range map[string]struct {
		where   inventory.Where
		changed int
		keys    []string
	}{
		"section":      {inventory.Where{Sections: []string{"S1"}}, 5, []string{"S1-1-1", "S1-1-2", "S1-1-3", "S1-2-1", "S1-2-2"}},
		"row":          {inventory.Where{Rows: []string{"S1-1"}}, 3, []string{"S1-1-1", "S1-1-2", "S1-1-3"}},
		"seats":        {inventory.Where{Seats: []string{"S1-1-3", "S1-1-1"}}, 2, []string{"S1-1-1", "S1-1-3"}},
		"area":         {inventory.Where{Areas: []string{"FLOOR"}}, 1, []string{"FLOOR"}},
		"channel":      {inventory.Where{Channels: []string{"sponsors"}}, 2, []string{"S1-2-1", "S1-2-2"}},
		"what is not":  {inventory.Where{Seats: []string{"S1-2-3"}}, 0, nil},
		"an empty one": {inventory.Where{Channels: []string{"withheld"}}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			e := d.selling()
			if name == "an empty one" {
				must(d.PutChannel(t.Context(), d.c, e.ID, inventory.ChannelSpec{ID: "withheld"}))(t)
			}
			before := d.state(e.ID)
			rule := inventory.Rule{Where: test.where, Channel: inventory.WithheldChannel}
			dry := must(d.Repaint(t.Context(), d.c, e.ID, rule, true, once(9, 9)))(t)
			if after := d.state(e.ID); after != before {
				t.Errorf("a dry run changes\n%s to\n%s", before, after)
			}
			wet := must(d.Repaint(t.Context(), d.c, e.ID, rule, false, once(9, 9)))(t) // a dry run's key is still unused
			var keys []string
			for _, c := range wet.Changes {
				if c.To.Channel != "withheld" {
					t.Errorf("%+v", c)
				}
				for _, n := range c.First {
					keys = append(keys, n.Seat+n.Area)
				}
			}
			if wet.Changed != test.changed || !slices.Equal(keys, test.keys) {
				t.Errorf("%d are changed: %v", wet.Changed, keys)
			}
			if dry.Version, wet.Version = 0, 0; fmt.Sprintf("%+v", dry) != fmt.Sprintf("%+v", wet) {
				t.Errorf("the dry run said %+v, and then it was %+v", dry, wet)
			}
			for _, key := range keys {
				basket := basketOf(key)
				if key == "FLOOR" {
					basket = floor(1)
				}
				_, err := d.Claim(t.Context(), inventory.ClaimRequest{Event: e.ID, Basket: basket, Code: "open-sesame"})
				wantRefusal(t, err, inventory.AllocationUnavailable)
			}
			if test.changed > 0 {
				if want := fmt.Sprintf("repainted: %d allocations: channel withheld", test.changed); d.lastReason(e.ID) != want {
					t.Errorf("the log says %q", d.lastReason(e.ID))
				}
				back := must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{
					Where: inventory.Where{Channels: []string{"withheld"}}, Channel: inventory.PublicChannel,
				}, false, nil))(t)
				if back.Changed != test.changed {
					t.Errorf("%d are released of %d", back.Changed, test.changed)
				}
				if keys[0] != "FLOOR" {
					must(d.Claim(t.Context(), inventory.ClaimRequest{Event: e.ID, Basket: basketOf(keys...)}))(t)
				}
			}
			d.auditOK()
		})
	}
}

func TestNobodyCanOpenTheWithheldChannel(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	_, err := d.PutChannel(t.Context(), d.c, e.ID, inventory.ChannelSpec{ID: "withheld", Codes: []string{"let-me-in"}})
	wantRefusal(t, err, inventory.Invalid, "/access_codes INVALID")
	must(d.PutChannel(t.Context(), d.c, e.ID, inventory.ChannelSpec{ID: "withheld", Name: "Kept back", Codes: []string{}}))(t)
	spec := d.spec()
	spec.Channels = append(spec.Channels, inventory.ChannelSpec{ID: "withheld", Codes: []string{"let-me-in"}})
	_, err = d.CreateEvents(t.Context(), d.c, []inventory.EventSpec{spec}, false, nil)
	wantRefusal(t, err, inventory.Invalid, "/channels/1/access_codes INVALID")
}

func TestARepaintCountsWhatIsHeldAndSold(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	d.hold(e.ID, basketOf("S1-1-1"))
	d.buy(e.ID, basketOf("S1-1-2"))
	d.hold(e.ID, floor(3))
	d.buy(e.ID, floor(2))
	r := must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{All: true}, Types: []string{"standing", "standard"}}, true, nil))(t)
	if r.Selected != 6 || r.Changed != 6 || r.Units != (inventory.Tally{Free: 38, Held: 4, Sold: 3}) {
		t.Errorf("%+v", r)
	}
	want := []string{
		"{public [standard]} {public [standing standard]} 3 {1 1 1}",
		"{sponsors [standard]} {sponsors [standing standard]} 2 {2 0 0}",
		"{public [standing]} {public [standing standard]} 1 {35 3 2}",
	}
	var got []string
	for _, c := range r.Changes {
		got = append(got, fmt.Sprint(c.From, c.To, c.Allocations, c.Units))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestPricesOfWhatIsHeldStayAsClaimed re-prices a ticket type and puts seats under another while they are held.
func TestPricesOfWhatIsHeldStayAsClaimed(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	held := d.hold(e.ID, basketOf("S1-1-1"))
	types := []inventory.TicketType{
		{ID: "child", Name: "Child", Price: 900}, {ID: "standing", Name: "Standing", Price: 1500}, {ID: "standard", Name: "Stalls", Price: 9900},
	}
	v := must(d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Types: types}, once(1, 1)))(t)
	if want := []inventory.TicketType{types[2], types[1], types[0]}; !slices.Equal(v.Event.Terms.Types, want) {
		t.Errorf("the types are %v, want %v: each in its place", v.Event.Terms.Types, want)
	}
	if want := "edited: ticket types, price of standard 4500 → 9900"; d.lastReason(e.ID) != want {
		t.Errorf("the log says %q", d.lastReason(e.ID))
	}
	if dear := d.hold(e.ID, basketOf("S1-1-2")); dear.Hold.Lines[0].Price != 9900 {
		t.Errorf("a hold afterwards costs %d", dear.Hold.Lines[0].Price)
	}
	must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{Rows: []string{"S1-1"}}, Types: []string{"child"}}, false, nil))(t)
	if cheap := d.hold(e.ID, basketOf("S1-1-3")); cheap.Hold.Lines[0].Price != 900 {
		t.Errorf("a seat that is sold as another type costs %d", cheap.Hold.Lines[0].Price)
	}
	o := must(d.Confirm(t.Context(), inventory.ConfirmRequest{
		Hold: inventory.HoldRef{Event: e.ID, Token: held.Token}, Buyer: inventory.Buyer{Email: "buyer@example.com"},
	}))(t)
	if o.Order.Total != 4500 {
		t.Errorf("what was claimed at 4500 was sold at %d", o.Order.Total)
	}
	_, err := d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Types: types[:2]}, nil)
	wantRefusal(t, err, inventory.Invalid, "/ticket_types REQUIRED")
	_, err = d.PatchEvent(t.Context(), d.c, e.ID, inventory.EventFields{Types: append(types[:3:3], inventory.TicketType{ID: "x", Name: "X", Price: -1})}, nil)
	wantRefusal(t, err, inventory.Invalid, "/ticket_types/3/price OUT_OF_RANGE")
	d.auditOK()
}

func TestPromise1AnAreaGrowsAndShrinksDownToWhatIsInUse(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	d.hold(e.ID, floor(3))
	d.buy(e.ID, floor(2))
	resize := func(n int64, dry bool) (*inventory.RepaintResult, error) {
		return d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{Areas: []string{"FLOOR"}}, Capacity: n}, dry, nil)
	}
	capacity := func() int64 { return must(d.Board(t.Context(), inventory.Caller{}, e.ID))(t).Areas["FLOOR"].Capacity }
	up := must(resize(60, false))(t)
	if want := []inventory.CapacityChange{{Area: "FLOOR", From: 40, To: 60}}; !slices.Equal(up.Resizes, want) || up.Changed != 1 || capacity() != 60 {
		t.Errorf("%+v, and the board says %d", up, capacity())
	}
	if want := "repainted: 1 allocations: capacity 60"; d.lastReason(e.ID) != want {
		t.Errorf("the log says %q", d.lastReason(e.ID))
	}
	must(resize(5, false))(t)
	if _, err := d.Claim(t.Context(), inventory.ClaimRequest{Event: e.ID, Basket: floor(1)}); err == nil {
		t.Error("a full area sells")
	}
	before := d.state(e.ID)
	_, err := resize(4, false)
	wantRefusal(t, err, inventory.ChangeUnsafe)
	refusal := err.(*inventory.Refusal)
	want := inventory.Conflict{Unit: 6, Area: "FLOOR", Label: "Floor", Reason: inventory.ReasonHeld, Requested: 4, Held: 3, Reserved: 2}
	if len(refusal.Conflicts) != 1 || refusal.Conflicts[0] != want || refusal.Total != 1 {
		t.Errorf("%+v", refusal)
	}
	dry := must(resize(4, true))(t)
	if dry.Unsafe == nil || dry.Unsafe.Conflicts[0] != want {
		t.Errorf("the dry run says %+v", dry)
	}
	if after := d.state(e.ID); after != before {
		t.Error("a refusal has changed something")
	}
	must(resize(5, false))(t)
	if after := d.state(e.ID); after != before {
		t.Error("a change to what it is has left a trace")
	}
	d.auditOK()
}

func TestADraftsCapacityIsItsOwnAndCopied(t *testing.T) {
	d := newDesk(t)
	spec := d.spec()
	spec.Rules = append(spec.Rules, inventory.Rule{Where: inventory.Where{Areas: []string{"FLOOR"}}, Capacity: 25})
	e := d.pass(d.create(spec).ID, "publish")
	copied := d.pass(d.create(inventory.EventSpec{Copy: e.ID}).ID, "publish")
	for _, id := range []string{e.ID, copied.ID} {
		if b := must(d.Board(t.Context(), d.c, id))(t); b.Areas["FLOOR"].Capacity != 25 {
			t.Errorf("%+v", b.Areas)
		}
	}
	draft := d.create(d.spec())
	r := must(d.Repaint(t.Context(), d.c, draft.ID, inventory.Rule{Where: inventory.Where{Areas: []string{"FLOOR"}}, Capacity: 30}, false, nil))(t)
	if len(r.Resizes) != 1 || r.Units.Free != 40 {
		t.Errorf("%+v", r)
	}
}

func TestHostileRulesAreNamedFault(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	many := make([]string, 60_000)
	for i := range many {
		many[i] = "S1-1-1"
	}
	area := inventory.Where{Areas: []string{"FLOOR"}}
	for name, test := range map[string]struct {
		rule   inventory.Rule
		faults []string
	}{
		"nowhere":            {inventory.Rule{Channel: "public"}, []string{"/where REQUIRED"}},
		"nothing":            {inventory.Rule{Where: area}, []string{"/set REQUIRED"}},
		"60,000 seats":       {inventory.Rule{Where: inventory.Where{Seats: many}, Channel: "public"}, []string{"/where TOO_MANY"}},
		"no such row":        {inventory.Rule{Where: inventory.Where{Rows: []string{"S1-1", "S9-9"}}, Channel: "public"}, []string{"/where/rows/1 UNKNOWN"}},
		"capacity 0":         {inventory.Rule{Where: area, Capacity: -1}, []string{"/set/capacity OUT_OF_RANGE"}},
		"capacity too large": {inventory.Rule{Where: area, Capacity: 1_000_001}, []string{"/set/capacity OUT_OF_RANGE"}},
		"capacity of seats":  {inventory.Rule{Where: inventory.Where{Seats: []string{"S1-1-1"}, Areas: area.Areas}, Capacity: 5}, []string{"/set/capacity INVALID"}},
		"capacity of all":    {inventory.Rule{Where: inventory.Where{All: true}, Capacity: 5}, []string{"/set/capacity INVALID"}},
		"exclude":            {inventory.Rule{Where: area, Exclude: true}, []string{"/set/exclude INVALID"}},
	} {
		for _, dry := range []bool{true, false} {
			_, err := d.Repaint(t.Context(), d.c, e.ID, test.rule, dry, nil)
			refusal, ok := err.(*inventory.Refusal)
			if !ok || refusal.Code != inventory.Invalid || refusal.Faults[0].Field+" "+refusal.Faults[0].Code != test.faults[0] {
				t.Errorf("%s: %v %+v", name, err, refusal)
			}
		}
	}
	// The other organizer's events do not exist, dry or not.
	_, err := d.Repaint(t.Context(), d.other, e.ID, inventory.Rule{Where: area, Channel: "public"}, true, nil)
	wantRefusal(t, err, inventory.NotFound)
	_, err = d.Remap(t.Context(), d.other, e.ID, d.mapID, true, nil)
	wantRefusal(t, err, inventory.NotFound)
}

// newMap adds a version to the desk's venue: what change makes of the first.
func (d *desk) newMap(change func(m *seatmap.Map)) string {
	d.t.Helper()
	m := must(seatmap.Parse(d.drawing))(d.t)
	change(m)
	drawing := must(m.Encode())(d.t)
	return must(d.CreateMap(d.t.Context(), d.c, d.venue.ID, drawing, nil))(d.t).ID
}

// rebuilt is the desk's house with its first seat gone, a new seat and a new area in front of the rest,
// a row that is called otherwise, and a larger floor.
func rebuilt(m *seatmap.Map) {
	rows := m.Sections[0].Rows
	added := seatmap.Seat{Key: "S1-1-0", Label: "0", X: -10, Y: 100}
	rows[0].Seats = append([]seatmap.Seat{added}, rows[0].Seats[1:]...)
	rows[1].Label, rows[1].Key = "B", "S1-2"
	rows[0].Seats[2].X += 0.5
	m.Areas[0].Capacity = 50
	m.Areas = append([]seatmap.Area{{Key: "BOX", Name: "Box", Capacity: 4}}, m.Areas...)
}

func names(n inventory.Named) string {
	var keys []string
	for _, name := range n.First {
		keys = append(keys, name.Seat+name.Area)
	}
	return fmt.Sprint(n.Count, " ", strings.Join(keys, " "))
}

// boardOf writes a board as people see it: by key, on the map of now.
func (d *desk) boardOf(event string) string {
	d.t.Helper()
	_, drawing, err := d.EventMap(d.t.Context(), d.c, event)
	if err != nil {
		d.t.Fatal(err)
	}
	plan := seatmap.NewPlan(must(seatmap.Parse(drawing))(d.t))
	v := must(d.Board(d.t.Context(), d.c, event))(d.t)
	var out []string
	for i, s := range plan.Seats {
		out = append(out, fmt.Sprintf("%s:%d", s.Key, v.Seats[i/4]>>(2*(i%4))&3))
	}
	for _, a := range plan.Areas {
		if st, ok := v.Areas[a.Key]; ok {
			out = append(out, fmt.Sprintf("%s:%d/%d/%d", a.Key, st.Held, st.Reserved, st.Capacity))
		}
	}
	return strings.Join(out, " ")
}

func TestPromise9OnANewMapEveryUnitIsWhatItWas(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	held := d.hold(e.ID, inventory.Basket{Seats: []string{"S1-1-2", "S1-2-1"}, Areas: []inventory.AreaWant{{Area: "FLOOR", Quantity: 3}}})
	sold := d.buy(e.ID, basketOf("S1-1-3"))
	gone := d.buy(e.ID, basketOf("S1-1-1"))
	must(d.CancelOrder(t.Context(), d.c, e.ID, gone.Order.ID, "", nil))(t)
	before := must(d.Board(t.Context(), d.c, e.ID))(t)
	to := d.newMap(rebuilt)

	state := d.state(e.ID)
	dry := must(d.Remap(t.Context(), d.c, e.ID, to, true, once(7, 7)))(t)
	if after := d.state(e.ID); after != state {
		t.Fatalf("a dry run changes\n%s to\n%s", state, after)
	}
	wet := must(d.Remap(t.Context(), d.c, e.ID, to, false, once(7, 7)))(t)
	if wet.Version != dry.Version+1 {
		t.Errorf("version %d after %d", wet.Version, dry.Version)
	}
	if dry.Version = wet.Version; fmt.Sprintf("%+v", dry) != fmt.Sprintf("%+v", wet) {
		t.Errorf("the dry run said %+v, and then it was %+v", dry, wet)
	}
	got := []string{names(wet.Added), names(wet.Dropped), names(wet.Moved), names(wet.Relabelled), fmt.Sprint(wet.Resizes, wet.ForSale)}
	want := []string{"2 S1-1-0 BOX", "1 S1-1-1", "1 S1-1-3", "3 S1-2-1 S1-2-2 S1-2-3", "[{FLOOR 40 50}] 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := d.boardOf(e.ID), "S1-1-0:0 S1-1-2:1 S1-1-3:2 S1-2-1:1 S1-2-2:0 S1-2-3:3 BOX:0/0/4 FLOOR:3/0/50"; got != want {
		t.Errorf("the board is %s\nwant         %s", got, want)
	}
	if !strings.HasPrefix(d.lastReason(e.ID), "remapped: map "+d.mapID+" → "+to+": 2 added, 1 dropped") {
		t.Errorf("the log says %q", d.lastReason(e.ID))
	}
	d.followersAreTold(e.ID, before.Position, to)
	d.everybodyKeepsWhatIsTheirs(e.ID, held, sold, gone)
	d.auditOK()
}

// followersAreTold holds that who follows from before a change of the map is sent to the board, and who
// follows from after it is not.
func (d *desk) followersAreTold(event, before, to string) {
	d.t.Helper()
	ch := must(d.Changes(d.t.Context(), inventory.Caller{}, event, before))(d.t)
	if !ch.Resync || ch.Map != to {
		d.t.Errorf("a follower from before is told %+v", ch)
	}
	hold := d.hold(event, basketOf("S1-2-2"))
	ch = must(d.Changes(d.t.Context(), inventory.Caller{}, event, ch.Position))(d.t)
	if ch.Resync || !slices.Equal(ch.Seats, [][2]int{{4, 1}}) {
		d.t.Errorf("a follower from after is told %+v", ch)
	}
	if err := d.Release(d.t.Context(), inventory.HoldRef{Event: event, Token: hold.Token}); err != nil {
		d.t.Error(err)
	}
}

// everybodyKeepsWhatIsTheirs looks at a hold and at orders after the change that rebuilt the house.
func (d *desk) everybodyKeepsWhatIsTheirs(event string, held *inventory.HoldView, sold, gone *inventory.OrderView) {
	d.t.Helper()
	ctx := d.t.Context()
	label := func(l *inventory.Layout, u inventory.Unit) string {
		n, _ := l.Name(u)
		return n.Seat + n.Area + " " + n.Label
	}
	v := must(d.Look(ctx, inventory.HoldRef{Event: event, Token: held.Token}))(d.t)
	var lines []string
	for _, l := range v.Hold.Lines {
		lines = append(lines, label(v.Layout, l.Unit))
	}
	if want := []string{"S1-1-2 Row 1 Seat 2", "S1-2-1 Row B Seat 1", "FLOOR Floor"}; !slices.Equal(lines, want) {
		d.t.Errorf("the hold has %q, want %q", lines, want)
	}
	for o, want := range map[*inventory.OrderView]string{sold: "S1-1-3 Row 1 Seat 3", gone: "S1-1-1 Row 1 Seat 1"} {
		v := must(d.Order(ctx, inventory.OrderRef{Caller: d.c, Event: event, ID: o.Order.ID}))(d.t)
		if got := label(v.Layout, v.Order.Tickets[0].Unit); got != want {
			d.t.Errorf("the ticket is for %q, want %q", got, want)
		}
	}
	log := must(d.Log(ctx, d.c, event, inventory.Page{Limit: 100}))(d.t)
	for _, entry := range log.Entries {
		for _, u := range entry.Units {
			if _, ok := log.Layout.Name(u.Unit); !ok {
				d.t.Errorf("%s names unit %d, which has no name", entry.Kind, u.Unit)
			}
		}
	}
	changed := must(d.Change(ctx, inventory.ChangeRequest{
		Hold: inventory.HoldRef{Event: event, Token: held.Token}, Add: basketOf("S1-1-0"), Remove: basketOf("S1-2-1"), Code: "open-sesame",
	}))(d.t)
	if len(changed.Hold.Lines) != 3 {
		d.t.Errorf("after a change over two maps the hold has %+v", changed.Hold.Lines)
	}
	must(d.Confirm(ctx, inventory.ConfirmRequest{
		Hold: inventory.HoldRef{Event: event, Token: held.Token}, Buyer: inventory.Buyer{Email: "buyer@example.com"},
	}))(d.t)
	_, err := d.Claim(ctx, inventory.ClaimRequest{Event: event, Basket: basketOf("S1-1-1")})
	wantRefusal(d.t, err, inventory.Invalid, "/seats/0 UNKNOWN")
	_, err = d.Claim(ctx, inventory.ClaimRequest{Event: event, Basket: basketOf("S1-1-3")})
	wantRefusal(d.t, err, inventory.AllocationUnavailable)
	if c := err.(*inventory.Refusal).Conflicts[0]; c.Seat != "S1-1-3" || c.Reason != inventory.ReasonSold {
		d.t.Errorf("%+v", c)
	}
}

// TestPromise1WhatIsHeldOrSoldStaysOnTheMap refuses a map without it, and says so beforehand.
func TestPromise1WhatIsHeldOrSoldStaysOnTheMap(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	d.hold(e.ID, basketOf("S1-1-1"))
	d.buy(e.ID, basketOf("S1-1-2"))
	d.buy(e.ID, floor(5))
	to := d.newMap(func(m *seatmap.Map) {
		m.Sections[0].Rows = m.Sections[0].Rows[1:]
		m.Areas[0].Capacity = 4
	})
	before := d.state(e.ID)
	want := []string{"S1-1-1 Row 1 Seat 1 held", "S1-1-2 Row 1 Seat 2 sold", "FLOOR Floor sold"}
	said := func(r *inventory.Refusal) (out []string) {
		for _, c := range r.Conflicts {
			out = append(out, fmt.Sprintf("%s%s %s %s", c.Seat, c.Area, c.Label, c.Reason))
		}
		slices.Sort(out)
		return out
	}
	slices.Sort(want)
	dry := must(d.Remap(t.Context(), d.c, e.ID, to, true, nil))(t)
	if dry.Unsafe == nil || dry.Unsafe.Total != 3 || !slices.Equal(said(dry.Unsafe), want) {
		t.Errorf("the dry run says %+v", dry.Unsafe)
	}
	_, err := d.Remap(t.Context(), d.c, e.ID, to, false, once(1, 1))
	wantRefusal(t, err, inventory.ChangeUnsafe)
	if got := said(err.(*inventory.Refusal)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if after := d.state(e.ID); after != before {
		t.Error("a refusal has changed something")
	}
	d.auditOK()
}

func TestAMapCanBeGoneBackTo(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	to := d.newMap(rebuilt)
	held := d.hold(e.ID, basketOf("S1-1-2"))
	first := d.boardOf(e.ID)
	must(d.Remap(t.Context(), d.c, e.ID, to, false, nil))(t)
	back := must(d.Remap(t.Context(), d.c, e.ID, d.mapID, false, nil))(t)
	if names(back.Added) != "1 S1-1-1" || names(back.Dropped) != "2 S1-1-0 BOX" {
		t.Errorf("%+v", back)
	}
	if got := d.boardOf(e.ID); got != first {
		t.Errorf("the board is %s\nwant         %s", got, first)
	}
	must(d.Claim(t.Context(), inventory.ClaimRequest{Event: e.ID, Basket: basketOf("S1-1-1")}))(t)
	if v := must(d.Look(t.Context(), inventory.HoldRef{Event: e.ID, Token: held.Token}))(t); v.Hold.Lines[0].Unit != held.Hold.Lines[0].Unit {
		t.Error("a unit has another number")
	}
	same := must(d.Remap(t.Context(), d.c, e.ID, d.mapID, false, nil))(t)
	if same.Version != back.Version {
		t.Error("a move to where it is counts as a change")
	}
	d.auditOK()
}

// TestOnANewMapTheRestOfTheHouseCountsByIt looks at what else turns units into keys.
func TestOnANewMapTheRestOfTheHouseCountsByIt(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	d.buy(e.ID, basketOf("S1-2-2"))
	to := d.newMap(rebuilt)
	must(d.Remap(t.Context(), d.c, e.ID, to, false, nil))(t)
	o := must(d.Offer(t.Context(), inventory.Caller{}, e.ID, "open-sesame"))(t)
	if got := fmt.Sprintf("%+v %v", o.Seats, o.Areas); got != "[{From:0 Count:3 Types:[standard]} {From:3 Count:2 Types:[standard]}] map[BOX:[standard] FLOOR:[standing]]" {
		t.Errorf("the offer is %s", got)
	}
	best := must(d.Claim(t.Context(), inventory.ClaimRequest{Event: e.ID, Best: &inventory.Best{Quantity: 3}}))(t)
	var keys []string
	for _, l := range best.Hold.Lines {
		n, _ := best.Layout.Name(l.Unit)
		keys = append(keys, n.Seat)
	}
	if !slices.Equal(keys, []string{"S1-1-0", "S1-1-2", "S1-1-3"}) {
		t.Errorf("best available gives %v", keys)
	}
	report := must(d.Report(t.Context(), d.c, e.ID))(t)
	if got := fmt.Sprint(report.Parts); got != "[{S1 {5 3 1}} {BOX {4 0 0}} {FLOOR {50 0 0}}]" {
		t.Errorf("the report counts %s", got)
	}
	withheld := must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{Rows: []string{"S1-2"}, Seats: []string{"S1-1-0"}}, Channel: "withheld"}, false, nil))(t)
	if withheld.Changed != 3 {
		t.Errorf("%+v", withheld)
	}
	resized := must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{Areas: []string{"BOX"}}, Capacity: 6}, false, nil))(t)
	if resized.Changed != 1 {
		t.Errorf("%+v", resized)
	}
	copied := d.pass(d.create(inventory.EventSpec{Copy: e.ID}).ID, "publish")
	if got, want := d.boardOf(copied.ID), "S1-1-0:0 S1-1-2:0 S1-1-3:0 S1-2-1:0 S1-2-2:0 S1-2-3:3 BOX:0/0/6 FLOOR:0/0/50"; got != want {
		t.Errorf("a copy has %s\nwant       %s", got, want)
	}
	d.auditOK()
}

func TestACapacityOfItsOwnSurvivesAnotherMap(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	must(d.Repaint(t.Context(), d.c, e.ID, inventory.Rule{Where: inventory.Where{Areas: []string{"FLOOR"}}, Capacity: 33}, false, nil))(t)
	r := must(d.Remap(t.Context(), d.c, e.ID, d.newMap(rebuilt), false, nil))(t)
	if len(r.Resizes) != 0 || !strings.HasSuffix(d.boardOf(e.ID), "FLOOR:0/0/33") {
		t.Errorf("%+v %s", r, d.boardOf(e.ID))
	}
}

func TestWhenAMapCanChange(t *testing.T) {
	d := newDesk(t)
	to := d.newMap(rebuilt)
	for _, test := range []struct {
		verbs []string
		code  inventory.RefusalCode
	}{
		{nil, inventory.StateConflict},
		{[]string{"publish"}, ""},
		{[]string{"publish", "open"}, ""},
		{[]string{"publish", "open", "pause"}, ""},
		{[]string{"publish", "close"}, inventory.StateConflict},
		{[]string{"cancel"}, inventory.StateConflict},
	} {
		e := d.pass(d.create(d.spec()).ID, test.verbs...)
		_, err := d.Remap(t.Context(), d.c, e.ID, to, false, nil)
		if test.code == "" {
			if err != nil {
				t.Errorf("after %v: %v", test.verbs, err)
			}
			continue
		}
		wantRefusal(t, err, test.code)
	}
	e := d.selling()
	venue := must(d.CreateVenue(t.Context(), d.c, inventory.VenueFields{Name: new("Elsewhere")}, nil))(t)
	elsewhere := must(d.CreateMap(t.Context(), d.c, venue.ID, d.drawing, nil))(t).ID
	for _, id := range []string{"map_none", "", elsewhere} {
		_, err := d.Remap(t.Context(), d.c, e.ID, id, false, nil)
		wantRefusal(t, err, inventory.Invalid, "/map UNKNOWN")
	}
	// It may go to and fro twenty times, and is then told that this is enough.
	for i := range 20 {
		must(d.Remap(t.Context(), d.c, e.ID, []string{to, d.mapID}[i%2], false, nil))(t)
	}
	_, err := d.Remap(t.Context(), d.c, e.ID, to, false, nil)
	wantRefusal(t, err, inventory.StateConflict)
	if got := d.boardOf(e.ID); !strings.HasPrefix(got, "S1-1-1:0 S1-1-2:0") {
		t.Error(got)
	}
	d.auditOK()
}

func TestAChangeIsMadeOnceForOneKey(t *testing.T) {
	d := newDesk(t)
	e := d.selling()
	to := d.newMap(rebuilt)
	made := must(d.Remap(t.Context(), d.c, e.ID, to, false, once(3, 3)))(t)
	_, err := d.Remap(t.Context(), d.c, e.ID, to, false, once(3, 3))
	wantReplay(t, err, fmt.Sprintf("%+v", *made))
	_, err = d.Remap(t.Context(), d.c, e.ID, to, true, once(3, 3)) // what was done is what is answered, dry or not
	wantReplay(t, err, fmt.Sprintf("%+v", *made))
	_, err = d.Remap(t.Context(), d.c, e.ID, d.mapID, false, once(3, 4))
	wantRefusal(t, err, inventory.KeyReused)
}

// TestTheAuditFindsUnitsThatAreNotWhatTheirMapSays damages what no query of the audit can tell.
func TestTheAuditFindsUnitsThatAreNotWhatTheirMapSays(t *testing.T) {
	for name, test := range map[string]struct{ damage, want string }{
		"a key":     {"UPDATE allocations SET key = 'S1-1-2' WHERE unit = 2", "\"S1-1-2\" in its allocation"},
		"a kind":    {"UPDATE allocations SET seat = 0 WHERE unit = 2", "in its allocation"},
		"a place":   {"INSERT INTO allocations (event, unit, key, seat, class, capacity) SELECT event, 0, 'S1-1-1', 1, 0, 1 FROM allocations LIMIT 1", "no place on the map"},
		"a class":   {"UPDATE allocations SET class = 77 WHERE unit = 2", "way 77"},
		"a number":  {"INSERT INTO allocations (event, unit, key, seat, class, capacity) SELECT event, 999, 'S9', 1, 0, 1 FROM allocations LIMIT 1", "no place on the map"},
		"a ticket":  {"UPDATE tickets SET unit = 999, valid = 0", "on no map"},
		"a history": {"UPDATE events SET doc = json_remove(doc, '$.Former')", "in its allocation"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			e := d.selling()
			d.buy(e.ID, basketOf("S1-1-2"))
			must(d.Remap(t.Context(), d.c, e.ID, d.newMap(rebuilt), false, nil))(t)
			d.auditOK()
			if err := d.execute(test.damage); err != nil {
				t.Fatal(err)
			}
			var found []string
			for b, err := range d.store.Audit(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, b.What)
			}
			if !slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, "units: ") && strings.Contains(s, test.want) }) {
				t.Errorf("the audit finds %q", found)
			}
		})
	}
}

// TestOnANewMapNeighboursAreThoseOfNow drops the middle of a row and puts another seat in front of it:
// whoever is left alone, and what is offered instead, goes by the map of now.
func TestOnANewMapNeighboursAreThoseOfNow(t *testing.T) {
	d := newDesk(t)
	event := d.hallOnSale(2, 6, strict)
	m := seatmap.Grid(2, 6)
	rows := m.Sections[0].Rows
	rows[0].Seats[3].BreakAfter = true // S1-1-4 | S1-1-5 S1-1-6
	front := seatmap.Seat{Key: "S1-1-0", Label: "0", X: rows[0].Seats[0].X - 10, Y: rows[0].Seats[0].Y}
	rows[0].Seats = append([]seatmap.Seat{front}, rows[0].Seats...)
	to := must(d.CreateMap(t.Context(), d.c, d.venue.ID, must(m.Encode())(t), nil))(t).ID
	must(d.Remap(t.Context(), d.c, event, to, false, nil))(t)

	v := must(d.claim(event, "S1-1-5"))(t) // leaves S1-1-6 alone behind the new aisle, which nobody could avoid
	if len(v.Warnings) != 1 {
		t.Fatalf("warned of %+v", v.Warnings)
	}
	if name, _ := v.Layout.Name(v.Warnings[0].Unit); name.Seat != "S1-1-6" {
		t.Errorf("warned of %+v", name)
	}
	_, err := d.claim(event, "S1-1-1") // leaves the new seat alone in front
	wantRefusal(t, err, inventory.SingleSeatRefused)
	if c := err.(*inventory.Refusal).Conflicts; len(c) != 1 || c[0].Seat != "S1-1-0" {
		t.Errorf("left alone: %+v", c)
	}
	must(d.claim(event, "S1-1-2", "S1-1-3", "S1-1-4"))(t)
	_, err = d.claim(event, "S1-1-2", "S1-1-3")
	wantRefusal(t, err, inventory.AllocationUnavailable)
	got := err.(*inventory.Refusal).Alternatives
	if len(got) != 1 || !slices.Equal(got[0].Seats, []string{"S1-1-0", "S1-1-1"}) { // the new seat and its neighbour are nearest
		t.Fatalf("offered %+v", got)
	}
	must(d.claim(event, got[0].Seats...))(t) // what is offered can be had, by its key
	_, err = d.claim(event, "S1-1-4")
	wantRefusal(t, err, inventory.AllocationUnavailable)
	d.auditOK()
}
