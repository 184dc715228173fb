package inventory

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// hall is a board of a plain hall, all free and public.
func hall(rows, perRow int) (*Board, *seatmap.Plan, *Terms) {
	plan := seatmap.NewPlan(seatmap.Grid(rows, perRow))
	b := &Board{Units: make([]UnitState, len(plan.Seats))}
	for i := range b.Units {
		b.Units[i] = UnitState{Capacity: 1, Seat: true}
	}
	return b, plan, testTerms()
}

func anyType() *Command { return &Command{Best: true, BestType: -1} }

func TestCandidatesAreFreeTogetherInARunAndDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, plan, terms := hall(4, 12)
		for i := range b.Units {
			if rapid.Bool().Draw(t, "held") {
				b.Units[i].Held = 1
			}
		}
		n := rapid.IntRange(1, 5).Draw(t, "quantity")
		got := candidates(b, plan, terms, &Best{Quantity: int64(n)}, anyType())
		seen := make(map[Unit]bool)
		for _, block := range got {
			for i, u := range block {
				if seen[u] || b.Units[u].Held > 0 || plan.RunOf(int(u)) != plan.RunOf(int(block[0])) || u != block[0]+Unit(i) {
					t.Fatalf("block %v of %v", block, got)
				}
				seen[u] = true
			}
		}
		if exists := anyWindow(b, plan, n); exists != (len(got) > 0) {
			t.Fatalf("promise 2: a block of %d exists: %v, offered: %v", n, exists, got)
		}
	})
}

// anyWindow looks for a block the slow way.
func anyWindow(b *Board, plan *seatmap.Plan, n int) bool {
	for from := range len(plan.Seats) - n + 1 {
		ok := plan.RunOf(from) == plan.RunOf(from+n-1)
		for i := from; i < from+n; i++ {
			ok = ok && b.Units[i].Held == 0
		}
		if ok {
			return true
		}
	}
	return false
}

func TestTheBestBlockIsNearTheFocalPointAndLeavesNobodyAlone(t *testing.T) {
	b, plan, terms := hall(6, 9)
	got := candidates(b, plan, terms, &Best{Quantity: 2}, anyType())
	if len(got) == 0 {
		t.Fatal("none")
	}
	first, nearest := got[0], 0
	for i := range plan.Seats {
		if plan.FocalDistance(i) < plan.FocalDistance(nearest) {
			nearest = i
		}
	}
	if plan.Seats[first[0]].Row != plan.Seats[nearest].Row {
		t.Errorf("the best block is in row %s, the nearest seat in %s", plan.Seats[first[0]].Row, plan.Seats[nearest].Row)
	}
	// In a row of three, two in a row that leave one alone come after two elsewhere that do not.
	run := plan.RunOf(nearest)
	for i := run.From; i < run.From+run.Count; i++ {
		b.Units[i].Held = 1
	}
	for i := run.From; i < run.From+3; i++ {
		b.Units[i].Held = 0
	}
	for _, block := range candidates(b, plan, terms, &Best{Quantity: 2}, anyType())[:1] {
		if int(block[0]) >= run.From && int(block[0]) < run.From+3 {
			t.Errorf("block %v leaves one seat alone", block)
		}
	}
}

func TestAccessiblePlacesAreForWhoAsksForThem(t *testing.T) {
	b, plan, terms := hall(4, 10)
	// The very seat that everybody would get first.
	nearest := int(candidates(b, plan, terms, &Best{Quantity: 2}, anyType())[0][0])
	plan.Seats[nearest].Accessible = true
	asked := candidates(b, plan, terms, &Best{Quantity: 2, Accessible: 1}, anyType())
	if len(asked) != 1 || !slices.Contains(asked[0], Unit(nearest)) {
		t.Errorf("asked for an accessible place: %v", asked)
	}
	if got := candidates(b, plan, terms, &Best{Quantity: 2}, anyType()); slices.Contains(got[0], Unit(nearest)) || slices.Contains(got[1], Unit(nearest)) {
		t.Errorf("not asked for: %v", got[:2])
	}
	if got := candidates(b, plan, terms, &Best{Quantity: 2, Accessible: 2}, anyType()); len(got) != 0 {
		t.Errorf("there are no two: %v", got)
	}
}

func TestCandidatesKeepToSectionTypeAndChannel(t *testing.T) {
	b, plan, terms := hall(100, 10) // two sections of 50 rows
	second := plan.Seats[len(plan.Seats)-1].Section
	for _, block := range candidates(b, plan, terms, &Best{Quantity: 3, Section: second}, anyType()) {
		if plan.Seats[block[0]].Section != second {
			t.Fatalf("block %v is elsewhere", block)
		}
	}
	for i := range b.Units {
		b.Units[i].Class = 1 // the sponsors' channel, vip only
	}
	if got := candidates(b, plan, terms, &Best{Quantity: 3}, anyType()); len(got) != 0 {
		t.Errorf("withheld seats are offered: %v", got[:1])
	}
	c := anyType()
	c.Code = &Code{1}
	if got := candidates(b, plan, terms, &Best{Quantity: 3}, c); len(got) == 0 {
		t.Error("the code opens nothing")
	}
	c.BestType = 0
	if got := candidates(b, plan, terms, &Best{Quantity: 3}, c); len(got) != 0 {
		t.Error("sold as a type they do not have")
	}
}
