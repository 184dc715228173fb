package inventory

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// smallPlan has section S1 with the rows S1-1 and S1-2 of three seats each, units 0 to 5, and the
// area FLOOR of 40, unit 6.
func smallPlan() *seatmap.Plan {
	m := seatmap.Grid(2, 3)
	m.Areas = []seatmap.Area{{Key: "FLOOR", Name: "Floor", Capacity: 40}}
	return seatmap.NewPlan(m)
}

// smallEvent sells three ticket types through the public channel and the sponsors'.
func smallEvent(rules ...Rule) *Event {
	return &Event{ID: "evt_1", Rules: rules, Terms: Terms{
		Types:    []TicketType{{"standard", "Standard", 4500}, {"child", "Child", 2000}, {"standing", "Standing", 1500}},
		Channels: []Channel{{ID: PublicChannel, Name: "Public"}, {ID: "sponsors", Name: "Sponsors"}},
	}}
}

// described writes allocations as "unit channel types".
func described(e *Event, rows []Allocation) []string {
	var out []string
	for _, a := range rows {
		c := e.Terms.Classes[a.Class]
		var types []string
		for _, i := range c.Types {
			types = append(types, e.Terms.Types[i].ID)
		}
		out = append(out, fmt.Sprintf("%s×%d %s %v", a.Key, a.Capacity, e.Terms.Channels[c.Channel].ID, types))
	}
	return out
}

func TestRulesAreAppliedInOrder(t *testing.T) {
	e := smallEvent(
		Rule{Where: Where{Areas: []string{"FLOOR"}}, Types: []string{"standing"}},
		Rule{Where: Where{Rows: []string{"S1-1"}}, Types: []string{"standard", "child"}},
		Rule{Where: Where{Seats: []string{"S1-1-2"}}, Channel: "sponsors"},
		Rule{Where: Where{Seats: []string{"S1-2-3"}}, Exclude: true},
		Rule{Where: Where{Channels: []string{"sponsors"}}, Types: []string{"child"}},
		Rule{Where: Where{Seats: []string{"S1-2-2"}, Areas: []string{"FLOOR"}}, Channel: "withheld"},
	)
	plan := smallPlan()
	var found faultList
	found.rules(e.Rules, plan, &e.Terms)
	if len(found.list) > 0 {
		t.Fatal(codesOf(&found))
	}
	want := []string{
		"S1-1-1×1 public [standard child]",
		"S1-1-2×1 sponsors [child]",
		"S1-1-3×1 public [standard child]",
		"S1-2-1×1 public [standard]",
		"S1-2-2×1 withheld [standard]",
		"FLOOR×40 withheld [standing]",
	}
	rows := allocations(e, NewLayout(plan))
	if got := described(e, rows); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, a := range rows {
		if a.Seat != (a.Unit < 6) || a.Held != 0 || a.Reserved != 0 {
			t.Errorf("%+v", a)
		}
	}
	if e.Terms.Opens(2, new(CodeHash(e.ID, ""))) {
		t.Error("a channel declared by a rule can be opened")
	}
}

func TestWithoutRulesEverythingIsPublicAsTheFirstType(t *testing.T) {
	e := smallEvent()
	rows := allocations(e, NewLayout(smallPlan()))
	if len(rows) != 7 || len(e.Terms.Classes) != 1 {
		t.Fatalf("%d rows in %d classes", len(rows), len(e.Terms.Classes))
	}
	if got := described(e, rows)[6]; got != "FLOOR×40 public [standard]" {
		t.Error(got)
	}
}

func TestWhatIsExcludedDoesNotComeBack(t *testing.T) {
	e := smallEvent(
		Rule{Where: Where{Sections: []string{"S1"}}, Exclude: true},
		Rule{Where: Where{All: true}, Types: []string{"child"}},
	)
	if got := described(e, allocations(e, NewLayout(smallPlan()))); !slices.Equal(got, []string{"FLOOR×40 public [child]"}) {
		t.Error(got)
	}
}

func TestOnlyClassesInUseArePublished(t *testing.T) {
	e := smallEvent(
		Rule{Where: Where{All: true}, Channel: "sponsors"},
		Rule{Where: Where{All: true}, Channel: "public", Types: []string{"child"}},
	)
	rows := allocations(e, NewLayout(smallPlan()))
	if len(e.Terms.Classes) != 1 || rows[0].Class != 0 {
		t.Errorf("classes %v, first row %+v", e.Terms.Classes, rows[0])
	}
}

func TestARuleCountsWhatItSelectsAndChanges(t *testing.T) {
	e := smallEvent()
	p := blankPainting(NewLayout(smallPlan()), &e.Terms)
	p.apply(Rule{Where: Where{Seats: []string{"S1-1-1"}}, Channel: "sponsors"})
	for _, test := range []struct {
		rule              Rule
		selected, changed int
	}{
		{Rule{Where: Where{Rows: []string{"S1-1"}, Seats: []string{"S1-1-1", "S1-2-1"}}, Channel: "sponsors"}, 4, 3},
		{Rule{Where: Where{Channels: []string{"sponsors"}}, Channel: "sponsors"}, 4, 0},
		{Rule{Where: Where{Areas: []string{"FLOOR"}}, Exclude: true}, 1, 1},
		{Rule{Where: Where{All: true}, Types: []string{"child"}}, 6, 6},
	} {
		if selected, changed := p.apply(test.rule); selected != test.selected || changed != test.changed {
			t.Errorf("%+v: selects %d and changes %d, want %d and %d", test.rule, selected, changed, test.selected, test.changed)
		}
	}
}

func TestEveryUnknownNameInARuleIsNamed(t *testing.T) {
	e := smallEvent()
	var found faultList
	found.rules([]Rule{
		{Where: Where{Sections: []string{"S1", "S2"}, Rows: []string{"S1"}, Seats: []string{"S1-1-1", "FLOOR"}, Areas: []string{"S1"}, Channels: []string{"press"}}, Channel: "sponsors"},
		{Channel: "sponsors"},
		{Where: Where{All: true}},
		{Where: Where{All: true}, Exclude: true, Channel: "public"},
		{Where: Where{All: true}, Types: []string{"child", "gold", "child"}, Channel: "No Such"},
		{Where: Where{All: true}, Channel: "press"},
		{Where: Where{Channels: []string{"press"}}, Channel: "public"},
	}, smallPlan(), &e.Terms)
	want := []string{
		"/allocations/0/where/sections/1 UNKNOWN", "/allocations/0/where/rows/0 UNKNOWN", "/allocations/0/where/seats/1 UNKNOWN",
		"/allocations/0/where/areas/0 UNKNOWN", "/allocations/0/where/channels/0 UNKNOWN",
		"/allocations/1/where REQUIRED", "/allocations/2/set REQUIRED", "/allocations/3/set/exclude INVALID",
		"/allocations/4/set/ticket_types/1 UNKNOWN", "/allocations/4/set/ticket_types/2 DUPLICATE", "/allocations/4/set/channel INVALID",
	}
	if got := codesOf(&found); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, ok := e.Terms.ChannelIndex("press"); !ok {
		t.Error("a channel that a rule names is not declared")
	}
}

func TestRulesAreBounded(t *testing.T) {
	all := Where{All: true}
	for name, rules := range map[string][]Rule{
		"rules": slices.Repeat([]Rule{{Where: all, Channel: "sponsors"}}, rulesMax+1),
		"keys":  {{Where: Where{Seats: slices.Repeat([]string{"S1-1-1"}, ruleKeysMax+1)}, Channel: "sponsors"}},
	} {
		var found faultList
		found.rules(rules, smallPlan(), &smallEvent().Terms)
		if got := codesOf(&found); !slices.Equal(got, []string{"/allocations TOO_MANY"}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	e := smallEvent()
	var rules []Rule
	for i := range channelsMax {
		rules = append(rules, Rule{Where: all, Channel: fmt.Sprintf("c%d", i)})
	}
	var found faultList
	found.rules(rules, smallPlan(), &e.Terms)
	// Two channels are there, so the last two have no place.
	want := []string{"/allocations/48/set/channel TOO_MANY", "/allocations/49/set/channel TOO_MANY"}
	if got := codesOf(&found); !slices.Equal(got, want) || len(e.Terms.Channels) != channelsMax {
		t.Errorf("channels: got %v", got)
	}
	found = faultList{}
	for _, id := range []string{WithheldChannel, "one-more"} {
		found.rules([]Rule{{Where: all, Channel: id}}, smallPlan(), &e.Terms)
	}
	if got := codesOf(&found); !slices.Equal(got, []string{"/allocations/0/set/channel TOO_MANY"}) || !e.Terms.roomFor(WithheldChannel) {
		t.Errorf("with all the channels there may be, and to withhold: got %v", got)
	}
	found = faultList{}
	specs := []ChannelSpec{{ID: WithheldChannel}}
	for i := range channelsMax - 1 {
		specs = append(specs, ChannelSpec{ID: fmt.Sprintf("c%d", i)})
	}
	if found.channelSpecs(specs); found.err() != nil {
		t.Errorf("as many of a new event: %v", codesOf(&found))
	}
	if found.channelSpecs(append(specs, ChannelSpec{ID: "one-more"})); found.err() == nil {
		t.Error("one more of a new event is taken")
	}
}

func TestRunsGiveExactlyTheNewClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(rapid.IntRange(unallocated, 2), 0, 40).Draw(t, "before")
		after := slices.Clone(before)
		changes := 0
		for i := range after {
			if after[i] != unallocated && rapid.Bool().Draw(t, "changes") {
				after[i] = rapid.IntRange(0, 2).Draw(t, "class")
				if after[i] != before[i] {
					changes++
				}
			}
		}
		runs := repaints(before, after)
		painted := slices.Clone(before)
		for _, run := range runs {
			if run.Count < 1 || run.Class < 0 {
				t.Fatalf("%+v", run)
			}
			for unit := run.From; unit < run.From+run.Count; unit++ {
				if painted[unit] != unallocated { // a store finds no row to change there
					painted[unit] = run.Class
				}
			}
		}
		if !slices.Equal(painted, after) {
			t.Fatalf("%v by %+v gives %v, want %v", before, runs, painted, after)
		}
		if len(runs) > changes {
			t.Fatalf("%d runs for %d changes", len(runs), changes)
		}
	})
}

func TestARunReachesOverGapsAndUnitsPaintedAlready(t *testing.T) {
	before := []int{0, unallocated, 1, 0, 2, 0}
	after := []int{1, unallocated, 1, 1, 2, 1}
	want := []Repaint{{From: 0, Count: 4, Class: 1}, {From: 5, Count: 1, Class: 1}}
	if got := repaints(before, after); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAPublishedBoardIsPaintedByItsOwnClasses(t *testing.T) {
	e := smallEvent(Rule{Where: Where{Seats: []string{"S1-1-2"}}, Channel: "sponsors"}, Rule{Where: Where{Seats: []string{"S1-1-3"}}, Exclude: true})
	plan := smallPlan()
	board := &Board{Units: make([]UnitState, 6)} // the last unit's allocation is not there
	for _, a := range allocations(e, NewLayout(plan)) {
		if int(a.Unit) < len(board.Units) {
			board.Units[a.Unit] = UnitState{Capacity: a.Capacity, Class: a.Class, Seat: a.Seat, Held: 1}
		}
	}
	p := paintingOf(board, NewLayout(plan), &e.Terms)
	if want := []int{0, 1, unallocated, 0, 0, 0, unallocated}; !slices.Equal(p.class, want) {
		t.Fatalf("classes %v, want %v", p.class, want)
	}
	if selected, changed := p.apply(Rule{Where: Where{All: true}, Channel: "public"}); selected != 5 || changed != 1 {
		t.Errorf("selects %d and changes %d, want 5 and 1", selected, changed)
	}
}
