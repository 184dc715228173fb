package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// drawHall is a small hall with rows at any place and slant, aisles, and seats of every kind.
func drawHall(t *rapid.T) *seatmap.Plan {
	m := seatmap.Map{Sections: []seatmap.Section{{Key: "S"}}}
	for r := range rapid.IntRange(1, 6).Draw(t, "rows") {
		x, y := float64(rapid.IntRange(0, 20).Draw(t, "x")), float64(rapid.IntRange(0, 12).Draw(t, "y"))
		dx, dy := 1.0, 0.0
		if rapid.IntRange(0, 3).Draw(t, "upright") == 0 {
			dx, dy = 0, 1
		}
		row := seatmap.Row{Label: fmt.Sprint(r)}
		for i := range rapid.IntRange(1, 9).Draw(t, "seats") {
			kind := rapid.IntRange(0, 19).Draw(t, "kind")
			row.Seats = append(row.Seats, seatmap.Seat{
				Label: fmt.Sprint(i), X: x + dx*float64(i), Y: y + dy*float64(i),
				Accessible: kind == 0, Companion: kind == 1, RestrictedView: kind == 2, BreakAfter: kind == 3,
			})
		}
		m.Sections[0].Rows = append(m.Sections[0].Rows, row)
	}
	return seatmap.NewPlan(&m)
}

// drawBoard is a board of a hall on which anything may have happened, and classes that differ in who may
// buy and as what.
func drawBoard(t *rapid.T, plan *seatmap.Plan) (*Board, *Terms) {
	terms := testTerms()
	terms.Classes = append(terms.Classes, Class{Channel: 0, Types: []int{1, 0}}, Class{Channel: 0, Types: []int{2}})
	terms.SingleSeats = rapid.SampledFrom([]SingleSeats{SinglesOff, SinglesNudge, SinglesStrict}).Draw(t, "rule")
	b := &Board{Units: make([]UnitState, len(plan.Seats))}
	for i := range b.Units {
		u := UnitState{Capacity: 1, Seat: true, Class: rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3}).Draw(t, "class")}
		switch rapid.IntRange(0, 9).Draw(t, "state") {
		case 0, 1:
			u.Held = 1
		case 2:
			u.Reserved = 1
		case 3:
			u = UnitState{}
		}
		b.Units[i] = u
	}
	return b, terms
}

// house is a board with what is asked of it.
type house struct {
	plan  *seatmap.Plan
	board *Board
	terms *Terms
	code  *Code
}

func (h *house) open(u Unit) bool {
	st := h.board.Units[u]
	return seatState(st) == seatFree && h.terms.Opens(h.terms.Classes[st.Class].Channel, h.code)
}

// instead says by the words of the rule whether some seats will do in place of a block that was wanted.
func (h *house) instead(wants []Want, from int) bool {
	n := len(wants)
	var accessible, companions, restricted [2]int
	block := make([]Unit, n)
	for k, w := range wants {
		u := Unit(from + k)
		if int(u) >= len(h.plan.Seats) || h.plan.RunOf(int(u)) != h.plan.RunOf(from) || !h.open(u) {
			return false
		}
		types, lost := h.terms.Classes[h.board.Units[u].Class].Types, h.terms.Classes[h.board.Units[w.Unit].Class].Types
		if w.Type >= 0 && !slices.Contains(types, w.Type) || w.Type < 0 && types[0] != lost[0] {
			return false
		}
		for side, seat := range []seatmap.PlanSeat{h.plan.Seats[w.Unit], h.plan.Seats[u]} {
			accessible[side] += int(count(seat.Accessible))
			companions[side] += int(count(seat.Companion))
			restricted[side] += int(count(seat.RestrictedView))
		}
		block[k] = u
	}
	if accessible[0] != accessible[1] || companions[1] > companions[0] || restricted[1] > 0 && restricted[0] == 0 {
		return false
	}
	alone := singles(block, h.open, NewLayout(h.plan))
	return h.terms.SingleSeats == SinglesOff || !slices.ContainsFunc(alone, func(s single) bool { return s.avoidable })
}

// all lists what will do, the nearest first, by looking everywhere; blocks that overlap nearer ones left out.
func (h *house) all(wants []Want) (starts []int) {
	n, from := len(wants), int(wants[0].Unit)
	for i := range h.plan.Seats {
		if h.instead(wants, i) {
			starts = append(starts, i)
		}
	}
	far := func(i int) float64 {
		a, b := middleOf(h.plan, from, n), middleOf(h.plan, i, n)
		return length(a.X-b.X, a.Y-b.Y)
	}
	slices.SortFunc(starts, func(a, b int) int { return cmp.Or(cmp.Compare(far(a), far(b)), cmp.Compare(a, b)) })
	var apart []int
	for _, i := range starts {
		if !slices.ContainsFunc(apart, func(k int) bool { return max(i-k, k-i) < n }) {
			apart = append(apart, i)
		}
	}
	return apart
}

// drawLost is a block that was lost: seats of one run that have allocations, of which one is not free.
func drawLost(t *rapid.T, h *house) []Want {
	run := rapid.SampledFrom(h.plan.Runs()).Draw(t, "run")
	n := rapid.IntRange(1, min(run.Count, 4)).Draw(t, "size")
	from := run.From + rapid.IntRange(0, run.Count-n).Draw(t, "from")
	wants := make([]Want, n)
	for k := range wants {
		u := Unit(from + k)
		wants[k] = Want{Unit: u, Type: rapid.SampledFrom([]int{-1, -1, 0, 1}).Draw(t, "type"), Quantity: 1}
		if h.board.Units[u].Capacity == 0 {
			h.board.Units[u] = UnitState{Capacity: 1, Seat: true}
		}
	}
	h.board.Units[from+rapid.IntRange(0, n-1).Draw(t, "lost")].Held = 1
	return wants
}

func (h *house) losses() *losses {
	return newLosses(newSpots(h.board, NewLayout(h.plan)))
}

// at is the seat to ask for in place of one that was wanted; -1 for none.
func at(c *choice, wanted Unit) Unit {
	if c != nil {
		if u, ok := c.of(wanted); ok {
			return u
		}
	}
	return -1
}

func TestAlternativesAreTheNearestBlocksThatWillDoEachOnceAndThenInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &house{plan: drawHall(t)}
		h.board, h.terms = drawBoard(t, h.plan)
		if rapid.Bool().Draw(t, "code") {
			h.code = &Code{1}
		}
		wants := drawLost(t, h)
		block := lostBlock{from: int(wants[0].Unit), lost: true}
		for k := range wants {
			block.want = append(block.want, &wants[k])
		}
		want, l := h.all(wants), h.losses()
		for turn := range len(want) + 3 {
			chosen := l.choose(h.terms, []lostBlock{block}, h.code)
			if len(want) == 0 {
				if chosen != nil {
					t.Fatalf("nothing will do, offered %v", chosen)
				}
				continue
			}
			for k, w := range wants {
				if from := Unit(want[turn%len(want)]); at(chosen, w.Unit) != from+Unit(k) {
					t.Fatalf("turn %d: %v, want from %d of %v", turn, chosen, from, want)
				}
			}
		}
	})
}

func TestNoTwoLosersOfABatchAreOfferedOneSeatWhateverTheyLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, plan, terms := hall(6, 10)
		h := &house{plan: plan, board: b, terms: terms}
		l, seen, turns := h.losses(), make(map[Unit]bool), make(map[lostQuestion]bool)
		for range rapid.IntRange(1, 12).Draw(t, "losers") {
			from, n := rapid.IntRange(0, 59).Draw(t, "from"), rapid.IntRange(1, 3).Draw(t, "size")
			n = min(n, plan.RunOf(from).From+plan.RunOf(from).Count-from)
			block := lostBlock{from: from, lost: true}
			for k := range n {
				block.want = append(block.want, &Want{Unit: Unit(from + k), Type: -1, Quantity: 1})
			}
			chosen := l.choose(terms, []lostBlock{block}, nil)
			q, _ := l.question(terms, &block, nil)
			if l.asked[q].turn > 0 || turns[q] {
				turns[q] = true
				continue // it has come round to what it had offered
			}
			if chosen == nil {
				continue
			}
			for _, u := range chosen.seats {
				if seen[u] {
					t.Fatalf("seat %d is offered twice", u)
				}
				seen[u] = true
			}
		}
	})
}

func TestOnlyTheBlockThatWasLostIsReplaced(t *testing.T) {
	b, plan, terms := hall(3, 8)
	b.Units[1].Held = 1
	h := &house{plan: plan, board: b, terms: terms}
	c := claimN(1, seatWant(1), seatWant(0), seatWant(4), Want{Unit: 10, Type: 1, Quantity: 1})
	out := Outcome{Refusal: &Refusal{Conflicts: []Conflict{{Unit: 1, Reason: ReasonHeld}}}}
	c.Beside = NewLayout(plan)
	blocks := lostBy(&c, &out)
	chosen := h.losses().choose(terms, blocks, nil)
	if at(chosen, 4) != 4 || at(chosen, 10) != 10 || at(chosen, 1) != at(chosen, 0)+1 || at(chosen, 0) < 0 {
		t.Fatalf("%v of %+v", chosen, blocks)
	}
	a := alternativeOf(terms, NewLayout(plan), &c, chosen)
	if want := []string{plan.Seats[at(chosen, 1)].Key, plan.Seats[at(chosen, 0)].Key, plan.Seats[4].Key, plan.Seats[10].Key}; !slices.Equal(a.Seats, want) {
		t.Errorf("%v, want the order of the request: %v", a.Seats, want)
	}
	if len(a.Types) != 1 || a.Types[plan.Seats[10].Key] != "child" {
		t.Errorf("types %v", a.Types)
	}
	b.Units[4].Held = 1 // what was not lost in that batch went after it
	if l := h.losses(); l.choose(terms, blocks, nil) != nil {
		t.Error("a seat that is known not to be free is offered")
	}
}

// lostSeat is a basket's block of one seat.
func lostSeat(u Unit) lostBlock {
	return lostBlock{from: int(u), lost: true, want: []*Want{{Unit: u, Type: -1, Quantity: 1}}}
}

// drawn is a house of rows given by their seats' places, all free.
func drawn(rows ...[]seatmap.Point) *house {
	m := seatmap.Map{Sections: []seatmap.Section{{Key: "S"}}}
	for r, places := range rows {
		row := seatmap.Row{Label: fmt.Sprint(r)}
		for i, p := range places {
			row.Seats = append(row.Seats, seatmap.Seat{Label: fmt.Sprint(i), X: p.X, Y: p.Y})
		}
		m.Sections[0].Rows = append(m.Sections[0].Rows, row)
	}
	h := &house{plan: seatmap.NewPlan(&m), board: new(Board), terms: testTerms()}
	h.terms.SingleSeats = SinglesOff
	for range h.plan.Seats {
		h.board.Units = append(h.board.Units, UnitState{Capacity: 1, Seat: true})
	}
	return h
}

func TestANearBlockIsFoundWhereverItsRowBegins(t *testing.T) {
	column := make([]seatmap.Point, 30) // beside the lost seat, and its middle far above
	for i := range column {
		column[i] = seatmap.Point{X: 2, Y: float64(i)}
	}
	h := drawn([]seatmap.Point{{X: 0, Y: 0}}, []seatmap.Point{{X: 0, Y: 5}}, column)
	h.board.Units[0].Held = 1
	if got := at(h.losses().choose(h.terms, []lostBlock{lostSeat(0)}, nil), 0); got != 2 {
		t.Errorf("offered seat %d, the nearest is 2", got)
	}
	// Of two as near the first in seat order, though it is come to later.
	h = drawn([]seatmap.Point{{X: 0, Y: 3}}, []seatmap.Point{{X: 0, Y: 0}}, []seatmap.Point{{X: 3, Y: 0}})
	h.board.Units[1].Held = 1
	if got := at(h.losses().choose(h.terms, []lostBlock{lostSeat(1)}, nil), 1); got != 0 {
		t.Errorf("offered seat %d, the first of the nearest is 0", got)
	}
	// A block may begin in one strip of a long row and end in the next.
	long := make([]seatmap.Point, 2*stripSeatsMax)
	for i := range long {
		long[i] = seatmap.Point{X: float64(i)}
	}
	h = drawn(long, []seatmap.Point{{X: 33, Y: 3}, {X: 34, Y: 3}})
	for i := range long {
		h.board.Units[i].Held = int64(count(i < stripSeatsMax-1 || i > stripSeatsMax))
	}
	lost := lostBlock{from: 34, lost: true, want: []*Want{{Unit: 34, Type: -1, Quantity: 1}, {Unit: 35, Type: -1, Quantity: 1}}}
	if got := at(h.losses().choose(h.terms, []lostBlock{lost}, nil), 34); got != stripSeatsMax-1 {
		t.Errorf("offered from seat %d, %d and the next are free", got, stripSeatsMax-1)
	}
}

func TestASearchThatWasBegunSeesWhatHasGoneSince(t *testing.T) {
	h := drawn([]seatmap.Point{{X: 0}, {X: 1}, {X: 2}, {X: 3}})
	h.board.Units[0].Held = 1
	l := h.losses()
	if got := at(l.choose(h.terms, []lostBlock{lostSeat(0)}, nil), 0); got != 1 {
		t.Fatalf("offered %d", got)
	}
	h.board.Units[2].Held = 1
	if got := at(l.choose(h.terms, []lostBlock{lostSeat(0)}, nil), 0); got != 3 {
		t.Errorf("offered %d, 2 has gone", got)
	}
}

func TestWhatIsOfferedGoesTogetherWithWhatIsKept(t *testing.T) {
	h := drawn([]seatmap.Point{{X: 0}, {X: 1}, {X: 2}, {X: 3}, {X: 4}, {X: 5}, {X: 6}, {X: 7}, {X: 8}, {X: 9}})
	kept := func(u Unit) lostBlock { b := lostSeat(u); b.lost = false; return b }
	h.board.Units[0].Held, h.board.Units[1].Held, h.board.Units[2].Held = 1, 1, 1
	if got := at(h.losses().choose(h.terms, []lostBlock{lostSeat(1), kept(3)}, nil), 1); got != 4 {
		t.Errorf("offered %d in place of 1 beside 3", got)
	}
	h.terms.SingleSeats = SinglesNudge
	if got := at(h.losses().choose(h.terms, []lostBlock{lostSeat(1), kept(5)}, nil), 1); got != 6 {
		t.Errorf("offered %d, and 3 would leave 4 alone beside 5", got)
	}
	aisle := rowOf(8, 4).Plan
	c := claimN(1, seatWant(3), seatWant(4))
	c.Beside = NewLayout(aisle)
	blocks := lostBy(&c, &Outcome{Refusal: &Refusal{Conflicts: []Conflict{{Unit: 3, Reason: ReasonHeld}}}})
	if len(blocks) != 2 || !blocks[0].lost || blocks[1].lost {
		t.Errorf("two seats with an aisle between are not together: %+v", blocks)
	}
	c = claimN(1, seatWant(1), seatWant(2))
	c.Beside = NewLayout(aisle)
	if blocks = lostBy(&c, &Outcome{Refusal: &Refusal{Conflicts: []Conflict{{Unit: 1, Reason: ReasonHeld}}}}); len(blocks) != 1 || !blocks[0].lost {
		t.Errorf("of two seats together one is lost: %+v", blocks)
	}
}

func TestLosersWithAndWithoutACodeAskDifferentQuestions(t *testing.T) {
	h := drawn([]seatmap.Point{{X: 0}, {X: 1}, {X: 2}, {X: 3}})
	h.terms.Classes[1].Types = []int{0}
	h.board.Units[0].Held, h.board.Units[1].Class, h.board.Units[2].Class = 1, 1, 1
	l := h.losses()
	for _, test := range []struct {
		code *Code
		want Unit
	}{{&Code{1}, 1}, {nil, 3}, {&Code{1}, 2}, {&Code{2}, -1}} {
		if got := at(l.choose(h.terms, []lostBlock{lostSeat(0)}, test.code), 0); got != test.want {
			t.Errorf("code %v: offered %d, want %d", test.code, got, test.want)
		}
	}
}

func TestNothingIsOfferedForWhatNoOtherSeatWouldMend(t *testing.T) {
	_, plan, _ := hall(2, 8)
	held := Conflict{Unit: 1, Reason: ReasonHeld}
	many := claimN(1)
	for u := range Unit(alternativeSeatsMax + 1) {
		many.Add = append(many.Add, seatWant(u))
	}
	best := claimN(1, seatWant(1))
	best.Best = true
	for name, test := range map[string]struct {
		c         Command
		conflicts []Conflict
	}{
		"an area is short":     {claimN(1, seatWant(1), Want{Unit: 16, Type: -1, Quantity: 2}), []Conflict{held, {Unit: 16, Reason: ReasonSoldOut}}},
		"not for this caller":  {claimN(1, seatWant(1), seatWant(2)), []Conflict{held, {Unit: 2, Reason: ReasonNotOnSale}}},
		"a large basket":       {many, []Conflict{held}},
		"best available":       {best, []Conflict{held}},
		"the database refused": {claimN(1, seatWant(1)), nil},
		"areas only":           {claimN(1, Want{Unit: 16, Type: -1, Quantity: 2}), []Conflict{held}},
	} {
		out := Outcome{Refusal: &Refusal{Conflicts: test.conflicts}}
		test.c.Beside = NewLayout(plan)
		if blocks := lostBy(&test.c, &out); blocks != nil {
			t.Errorf("%s: %+v", name, blocks)
		}
	}
	c := claimN(1, seatWant(1), Want{Unit: 16, Type: -1, Quantity: 2})
	c.Beside = NewLayout(plan)
	if lostBy(&c, &Outcome{Refusal: &Refusal{Conflicts: []Conflict{held}}}) == nil {
		t.Error("an area that was not short is in the way")
	}
}

func TestTheSearchIsBoundedAndLooksNoFurtherThanItMust(t *testing.T) {
	b, plan, terms := hall(200, 300) // 60,000 seats
	h := &house{plan: plan, board: b, terms: terms}
	block := lostBlock{from: 30_150, lost: true, want: []*Want{{Unit: 30_150, Type: -1, Quantity: 1}}}
	b.Units[30_150].Held = 1
	l := h.losses()
	if l.choose(terms, []lostBlock{block}, nil); l.looks > 3_000 {
		t.Errorf("a neighbour is free, and %d seats were looked at", l.looks)
	}
	for i := range b.Units {
		b.Units[i].Held = 1
	}
	b.Units[0].Held = 0
	l = h.losses()
	if chosen := l.choose(terms, []lostBlock{block}, nil); at(chosen, 30_150) != 0 || l.looks > 2_000+stripSeatsMax {
		t.Errorf("the last free seat of the house: %v, after %d", chosen, l.looks)
	}
	for i := range b.Units {
		b.Units[i].Held, b.Units[i].Class = 0, 1 // free, and not for this caller
	}
	l = h.losses()
	for i := range 50 {
		lost := 30_000 + i
		l.choose(terms, []lostBlock{{from: lost, lost: true, want: []*Want{{Unit: Unit(lost), Type: 0, Quantity: 1}}}}, nil)
	}
	if l.looks > alternativeLooksMax+400 {
		t.Errorf("one batch looked at %d seats", l.looks)
	}
}

// BenchmarkAlternatives60000 is what the losers of one batch cost: 255 of them lost one seat of 60,000.
// The board has moved since, by one claim.
func BenchmarkAlternatives60000(b *testing.B) {
	board, plan, terms := hall(200, 300)
	h := &house{plan: plan, board: board, terms: terms}
	for name, sold := range map[string]bool{"fresh": false, "nearly sold out": true} {
		b.Run(name, func(b *testing.B) {
			for i := range board.Units {
				board.Units[i].Reserved = int64(count(sold && i%500 != 0))
			}
			board.Units[30_150].Reserved = 1
			block := lostBlock{from: 30_150, lost: true, want: []*Want{{Unit: 30_150, Type: -1, Quantity: 1}}}
			l := h.losses()
			for b.Loop() {
				l = &losses{spots: l.spots, asked: make(map[lostQuestion]*answers)}
				for range batchCommandsMax - 1 {
					if l.choose(terms, []lostBlock{block}, nil) == nil {
						break
					}
				}
			}
			b.ReportMetric(float64(l.looks), "seats/batch")
		})
	}
}

func TestFreeSeatsAreCountedAsTheBoardChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &house{plan: drawHall(t)}
		h.board, h.terms = drawBoard(t, h.plan)
		h.board.Units = append(h.board.Units, UnitState{Capacity: 9})
		lb := &liveBoard{board: h.board, spots: newSpots(h.board, NewLayout(h.plan))}
		for v := range int64(3) {
			next, _ := drawBoard(t, h.plan)
			ch := &Changes{Position: Position{Epoch: "k1", Version: v + 1}, Units: map[Unit]UnitState{Unit(len(h.plan.Seats)): {Capacity: 9, Held: v}}}
			for i, st := range next.Units {
				if rapid.Bool().Draw(t, "changed") {
					ch.Units[Unit(i)] = st
				}
			}
			lb.follow(ch)
		}
		if want := newSpots(lb.board, NewLayout(h.plan)).free; !slices.Equal(lb.spots.free, want) {
			t.Fatalf("counted %v, there are %v", lb.spots.free, want)
		}
	})
}
