package inventory

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// hall is a board of a plain hall, all free and public.
func hall(rows, perRow int) (*Board, *seatmap.Plan, *Terms) {
	plan := seatmap.NewPlan(seatmap.Grid(rows, perRow))
	return allFree(plan), plan, testTerms()
}

func allFree(plan *seatmap.Plan) *Board {
	b := &Board{Units: make([]UnitState, len(plan.Seats))}
	for i := range b.Units {
		b.Units[i] = UnitState{Capacity: 1, Seat: true}
	}
	return b
}

func of(n int) bestQuestion { return bestQuestion{quantity: n, kind: -1} }

// candidates reads the whole of a list.
func candidates(b *Board, plan *seatmap.Plan, t *Terms, q bestQuestion) ([][]Unit, WarningCode) {
	l := newShortlist(b, NewLayout(plan), t, q, true)
	l.readers = shortlistUnitsMax
	return l.read(q.quantity)
}

// best is the first of a list; nil for none.
func best(b *Board, plan *seatmap.Plan, t *Terms, q bestQuestion) ([]Unit, WarningCode) {
	list, apart := candidates(b, plan, t, q)
	if len(list) == 0 {
		return nil, apart
	}
	return list[0], apart
}

// only leaves the seats with these keys free.
func only(b *Board, plan *seatmap.Plan, keys ...string) {
	for i := range plan.Seats {
		b.Units[i].Held = 1
	}
	for _, key := range keys {
		i, ok := plan.SeatIndex(key)
		if !ok {
			panic("no seat " + key)
		}
		b.Units[i].Held = 0
	}
}

func blockKeys(plan *seatmap.Plan, block []Unit) []string {
	keys := make([]string, len(block))
	for i, u := range block {
		keys[i] = plan.Seats[u].Key
	}
	slices.Sort(keys)
	return keys
}

// gridKeys names seats of a Grid: "2:1-3" are the seats 1 to 3 of row 2.
func gridKeys(spans ...string) (keys []string) {
	for _, span := range spans {
		var row, from, to int
		if n, _ := fmt.Sscanf(span, "%d:%d-%d", &row, &from, &to); n < 3 {
			to = from
		}
		for k := from; k <= to; k++ {
			keys = append(keys, fmt.Sprintf("S1-%d-%d", row, k))
		}
	}
	return keys
}

func TestTheOrderOfPreferences(t *testing.T) {
	for _, tt := range []struct {
		name  string
		free  []string
		n     int
		want  []string
		apart WarningCode
	}{
		{"together far away before two rows in front", []string{"1:4-5", "2:4-5", "9:1-4"}, 4, []string{"9:1-4"}, ""},
		{"two rows before apart in one row", []string{"1:1-3", "1:5-7", "8:1-2", "9:1-2"}, 4, []string{"8:1-2", "9:1-2"}, RowsApart},
		{"three behind one", []string{"3:4-6", "4:5"}, 4, []string{"3:4-6", "4:5"}, RowsApart},
		{"behind, as near as can be", []string{"3:3-5", "4:3", "4:5"}, 4, []string{"3:3-5", "4:5"}, RowsApart},
		{"two and two before three and one", []string{"3:4-6", "4:4-5"}, 4, []string{"3:4-5", "4:4-5"}, RowsApart},
		{"rows that are not behind one another are apart", []string{"3:4-5", "5:4-5"}, 4, []string{"3:4-5", "5:4-5"}, SeatsApart},
		{"columns that do not overlap are apart", []string{"3:1-2", "4:8-9"}, 4, []string{"3:1-2", "4:8-9"}, SeatsApart},
		{"nobody alone, though a single is nearer", []string{"1:1-3", "1:5", "9:8-9"}, 4, []string{"1:2-3", "9:8-9"}, SeatsApart},
		{"somebody alone only where it cannot be helped", []string{"1:1-3", "7:9"}, 4, []string{"1:1-3", "7:9"}, SeatsApart},
		{"few parts before near ones", []string{"1:1-2", "1:4-5", "1:7-8", "5:1-4", "9:7-9"}, 7, []string{"5:1-4", "9:7-9"}, SeatsApart},
		{"nearer short stretches give way to longer ones", []string{"1:1-3", "5:4-5", "5:7-8", "9:7-9"}, 8, []string{"1:1-3", "5:4-5", "9:7-9"}, SeatsApart},
		{"two and two of three and three", []string{"3:1-3", "3:5-7"}, 4, []string{"3:2-3", "3:5-6"}, SeatsApart},
		{"of as many parts the nearest together", []string{"1:1-2", "5:5-6", "5:8-9", "9:1-2"}, 4, []string{"5:5-6", "5:8-9"}, SeatsApart},
		{"all alone where there is nothing else", []string{"1:1", "3:5", "5:1", "5:3", "5:5"}, 3, []string{"5:1", "5:3", "5:5"}, SeatsApart},
		{"nothing left", []string{"1:1-2"}, 3, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, plan, terms := hall(9, 9)
			only(b, plan, gridKeys(tt.free...)...)
			got, apart := best(b, plan, terms, of(tt.n))
			want := gridKeys(tt.want...)
			slices.Sort(want)
			if !slices.Equal(blockKeys(plan, got), want) || (len(want) > 0 && apart != tt.apart) {
				t.Fatalf("%v %q, want %v %q", blockKeys(plan, got), apart, want, tt.apart)
			}
			q := of(tt.n)
			q.together = true
			if got, _ := best(b, plan, terms, q); (got != nil) != (tt.want != nil && tt.apart == "") {
				t.Errorf("together, or not at all: %v", blockKeys(plan, got))
			}
		})
	}
}

func TestTheBestBlockIsNearTheFocalPointAndLeavesNobodyAlone(t *testing.T) {
	b, plan, terms := hall(6, 9)
	first, _ := best(b, plan, terms, of(2))
	nearest := 0
	for i := range plan.Seats {
		if plan.FocalDistance(i) < plan.FocalDistance(nearest) {
			nearest = i
		}
	}
	if plan.Seats[first[0]].Row != plan.Seats[nearest].Row {
		t.Errorf("the best block is in row %s, the nearest seat in %s", plan.Seats[first[0]].Row, plan.Seats[nearest].Row)
	}
	// In a row of three, two in a row that leave one alone come after two elsewhere that do not.
	only(b, plan, gridKeys("1:1-3", "2:1-2")...)
	if got, _ := best(b, plan, terms, of(2)); !slices.Equal(blockKeys(plan, got), gridKeys("2:1-2")) {
		t.Errorf("%v leaves one seat alone", blockKeys(plan, got))
	}
}

func TestARestrictedViewComesAfterAGoodOneFurtherAway(t *testing.T) {
	b, plan, terms := hall(2, 8)
	for i := range 8 {
		plan.Seats[i].RestrictedView = true
	}
	if got, _ := best(b, plan, terms, of(2)); plan.Seats[got[0]].Row != "S1-2" {
		t.Errorf("%v is behind a pillar", blockKeys(plan, got))
	}
}

// Rows of sixteen hold four groups of four each, though the middle of an empty row is not where they begin.
func TestNoRoomIsWastedInAnEmptyRow(t *testing.T) {
	for n := 1; n <= 16; n++ {
		b, plan, terms := hall(5, 16)
		q := of(n)
		q.together = true
		if got, _ := candidates(b, plan, terms, q); len(got) != 5*(16/n) {
			t.Errorf("%d blocks of %d in 5 rows of 16", len(got), n)
		}
	}
}

func TestAccessiblePlacesAreForWhoAsksForThem(t *testing.T) {
	b, plan, terms := hall(4, 10)
	seat := func(key string) int { i, _ := plan.SeatIndex(key); return i }
	// The very seat that everybody would get first, and a companion's seat beside it.
	place := seat("S1-1-5")
	plan.Seats[place].Accessible, plan.Seats[place+1].Companion = true, true
	q := of(2)
	list, _ := candidates(b, plan, terms, q)
	for _, block := range list {
		if slices.Contains(block, Unit(place)) || slices.Contains(block, Unit(place+1)) {
			t.Errorf("not asked for: %v", blockKeys(plan, block))
		}
	}
	q.accessible = 1
	if got, _ := candidates(b, plan, terms, q); len(got) != 1 || !slices.Contains(got[0], Unit(place)) {
		t.Errorf("asked for an accessible place: %v", got)
	}
	q.accessible = 2
	if got, _ := best(b, plan, terms, q); got != nil {
		t.Errorf("there are no two: %v", blockKeys(plan, got))
	}
	// They fit others only where fewer other seats than asked for are left.
	only(b, plan, gridKeys("1:5-6", "3:1", "3:3")...)
	if got, apart := best(b, plan, terms, of(2)); !slices.Equal(blockKeys(plan, got), gridKeys("3:1", "3:3")) || apart != SeatsApart {
		t.Errorf("two others are left, and given are %v", blockKeys(plan, got))
	}
	together := of(2)
	together.together = true
	if got, _ := best(b, plan, terms, together); got != nil {
		t.Errorf("two others are left, if not together, and given are %v", blockKeys(plan, got))
	}
	only(b, plan, gridKeys("1:5-6", "3:1")...)
	if got, _ := best(b, plan, terms, of(2)); !slices.Equal(blockKeys(plan, got), gridKeys("1:5-6")) {
		t.Errorf("nothing else is left, and given are %v", blockKeys(plan, got))
	}
}

func TestCompanionsSitBesideAnAccessiblePlace(t *testing.T) {
	for _, tt := range []struct {
		name          string
		places        []string
		free          []string
		n, accessible int
		want          []string
		apart         WarningCode
	}{
		{"one with three companions", []string{"2:1"}, []string{"1:1-9", "2:1-9"}, 4, 1, []string{"2:1-4"}, ""},
		{"no more places than asked for", []string{"2:1", "2:2", "3:1"}, []string{"2:1-9", "3:1-9"}, 2, 1, []string{"3:1-2"}, ""},
		{"no more places than asked for, though nobody were alone", []string{"2:1", "2:3", "9:1"}, []string{"2:1-3", "9:1-3"}, 3, 1, []string{"9:1-3"}, ""},
		{"others take as few as can be", []string{"2:2", "2:3", "2:4", "9:1", "9:2"}, []string{"2:1-4", "9:1-4"}, 4, 0, []string{"9:1-4"}, ""},
		{"each with a companion beside", []string{"1:1", "1:2", "3:1", "3:4"}, []string{"1:1-4", "3:1-4"}, 4, 2, []string{"3:1-4"}, ""},
		{"at both ends of the house, each with a companion", []string{"9:1", "9:9"}, []string{"9:1-9"}, 4, 2, []string{"9:1-2", "9:8-9"}, SeatsApart},
		{"the odd companion goes with the first", []string{"9:1", "9:9"}, []string{"9:1-3", "9:8-9"}, 5, 2, []string{"9:1-3", "9:8-9"}, SeatsApart},
		{"nobody without a companion, though it be further", []string{"1:1", "1:3", "5:1", "5:2", "8:1"}, []string{"1:1-4", "5:1-4", "8:1-2"}, 6, 3, []string{"1:1-4", "5:2-3"}, SeatsApart},
		{"no companion's seat", []string{"9:1"}, []string{"9:1", "9:3"}, 2, 1, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, plan, terms := hall(9, 9)
			for _, key := range gridKeys(tt.places...) {
				i, _ := plan.SeatIndex(key)
				plan.Seats[i].Accessible = true
			}
			only(b, plan, gridKeys(tt.free...)...)
			q := of(tt.n)
			q.accessible = tt.accessible
			got, apart := best(b, plan, terms, q)
			if !slices.Equal(blockKeys(plan, got), gridKeys(tt.want...)) || (got != nil && apart != tt.apart) {
				t.Errorf("%v %q, want %v %q", blockKeys(plan, got), apart, gridKeys(tt.want...), tt.apart)
			}
		})
	}
}

// A list is as long as everybody who read it needs, and is shared: what was read before does not change.
func TestAListGrowsWithItsReaders(t *testing.T) {
	b, plan, terms := hall(50, 40)
	l := newShortlist(b, NewLayout(plan), terms, of(2), true)
	first, _ := l.read(2)
	if len(first) != 1+spareBlocks {
		t.Errorf("one reader is shown %d blocks", len(first))
	}
	had := fmt.Sprint(first)
	for readers := 2; readers <= 300; readers++ {
		if got, _ := l.read(2); len(got) != readers+spareBlocks {
			t.Fatalf("%d readers are shown %d blocks", readers, len(got))
		}
	}
	if fmt.Sprint(first) != had {
		t.Error("what was read has changed")
	}
	if all, _ := candidates(b, plan, terms, of(10)); len(all) != 200 {
		t.Errorf("%d blocks of 10 in 50 rows of 40", len(all))
	}
}

func TestADeskForgetsTheListsOfAnotherBoard(t *testing.T) {
	var d desk
	a, b, made := new(Board), new(Board), 0
	fresh := func() *shortlist { made++; return new(shortlist) }
	for range 3 {
		d.list(a, of(2), fresh)
	}
	d.list(a, of(3), fresh)
	d.list(b, of(2), fresh)
	d.list(a, of(2), fresh)
	if made != 4 {
		t.Errorf("%d lists were made", made)
	}
	for n := range 3 * questionsMax {
		d.list(a, of(n+1), fresh)
	}
	if len(d.lists) > questionsMax {
		t.Errorf("%d lists are kept", len(d.lists))
	}
}

// Rows need not face each other mutually in every drawing; a block whose seats went to another run's block
// is looked for again.
func TestARunWhoseBlockWentLooksAgain(t *testing.T) {
	b, plan, terms := hall(2, 9)
	s := newSeating(b, NewLayout(plan), terms, of(2))
	looked := 0
	find := &runSearch{
		seating: s, stamps: make([]int, 2), near: func(int) float64 { return 0 }, touched: func(*proposal) []int { return nil },
		best: func(run int) (proposal, bool) {
			looked++
			return proposal{cost: float64(looked), parts: [2]seatmap.Span{{From: 4 * (looked / 3), Count: 2}}}, looked <= 3
		},
	}
	first, _ := find.propose()
	second, ok := find.propose()
	if first[0].From != 0 || !ok || second[0].From != 4 || looked != 3 {
		t.Errorf("%v, then %v after %d looks", first, second, looked)
	}
}

// drawHouse draws a small house: rows of several lengths and pitches with aisles, in two sections.
func drawHouse(t *rapid.T) *seatmap.Plan {
	m := &seatmap.Map{Format: seatmap.Format, Name: "House", FocalPoint: seatmap.Point{X: rapid.Float64Range(-5, 15).Draw(t, "focal")}}
	y := 5.0
	for s := range 2 {
		section := seatmap.Section{Key: fmt.Sprint("S", s), Name: "S"}
		for r := range rapid.IntRange(1, 3).Draw(t, "rows") {
			row := seatmap.Row{Label: fmt.Sprint(r)}
			x := rapid.SampledFrom([]float64{0, 0, 0.5, 2}).Draw(t, "indent")
			for k := range rapid.IntRange(1, 7).Draw(t, "seats") {
				row.Seats = append(row.Seats, seatmap.Seat{
					Label: fmt.Sprint(k), X: x, Y: y, RestrictedView: rapid.IntRange(0, 9).Draw(t, "restricted") == 0,
					Accessible: rapid.IntRange(0, 9).Draw(t, "accessible") == 0, Companion: rapid.IntRange(0, 14).Draw(t, "companion") == 0,
					BreakAfter: rapid.IntRange(0, 7).Draw(t, "break") == 0,
				})
				x++
			}
			section.Rows = append(section.Rows, row)
			y += rapid.SampledFrom([]float64{2, 2, 2, 5}).Draw(t, "step")
		}
		m.Sections = append(m.Sections, section)
	}
	return seatmap.NewPlan(m)
}

// judged is a house at some point as the slow way sees it, by the definitions in ADR 11.
type judged struct {
	plan *seatmap.Plan
	q    bestQuestion
	open func(i int) bool // free and for this caller
	fits func(i int) bool // and for the question
}

// windows lists every block of n in a run.
func (j judged) windows(n int) (found []seatmap.Span) {
	for from := range len(j.plan.Seats) - n + 1 {
		ok := j.plan.RunOf(from) == j.plan.RunOf(from+n-1)
		for i := from; i < from+n; i++ {
			ok = ok && j.fits(i)
		}
		if ok {
			found = append(found, seatmap.Span{From: from, Count: n})
		}
	}
	return found
}

// same reports whether a seat is in the run of another, and as said.
func (j judged) same(i, of int, is func(int) bool) bool {
	return i >= 0 && i < len(j.plan.Seats) && j.plan.RunOf(i) == j.plan.RunOf(of) && is(i)
}

// cost is what the parts of a block cost, but for wasted room.
func (j judged) cost(parts ...seatmap.Span) (cost float64) {
	for _, p := range parts {
		for i := p.From; i < p.From+p.Count; i++ {
			s := &j.plan.Seats[i]
			c := j.plan.FocalDistance(i) / j.plan.Pitch()
			if s.RestrictedView {
				c += restrictedCost
			}
			if j.q.accessible == 0 && (s.Accessible || s.Companion) {
				c += keptCost
			}
			cost += c / float64(j.q.quantity)
		}
		before, after := p.From-1, p.From+p.Count
		if j.same(before, p.From, j.open) && !j.same(before-1, p.From, j.open) {
			cost += strandedCost
		}
		if j.same(after, p.From, j.open) && !j.same(after+1, p.From, j.open) {
			cost += strandedCost
		}
		if len(parts) > 1 && p.Count == 1 {
			cost += loneCost
		}
	}
	return cost
}

// together is the cost of a block in one run, and whether it has the accessible places.
func (j judged) together(w seatmap.Span) (cost float64, ok bool) {
	cost, places, lonely := j.cost(w), 0, 0
	for i := w.From; i < w.From+w.Count; i++ {
		if !j.plan.Seats[i].Accessible {
			continue
		}
		places++
		beside := false
		for _, k := range []int{i - 1, i + 1} {
			beside = beside || k >= w.From && k < w.From+w.Count && !j.plan.Seats[k].Accessible
		}
		if !beside {
			lonely++
		}
	}
	if j.q.accessible > 0 {
		cost += keptCost*float64(places-j.q.accessible) + loneCost*float64(lonely)
	}
	left, right := 0, 0
	for i := w.From - 1; j.same(i, w.From, j.fits); i-- {
		left++
	}
	for i := w.From + w.Count; j.same(i, w.From, j.fits); i++ {
		right++
	}
	if n := w.Count; left/n+right/n+1 < (left+right+n)/n {
		cost += wastedCost
	}
	return cost, places >= j.q.accessible
}

// behind reports whether b lies within the columns of a, on one side of it.
func (j judged) behind(a, b seatmap.Span) bool {
	for side := range 2 {
		var faced []int
		for i := a.From; i < a.From+a.Count; i++ {
			if f := j.plan.Facing()[i][side]; f >= 0 {
				faced = append(faced, int(f))
			}
		}
		if len(faced) == 0 {
			continue
		}
		first, last := min(faced[0], faced[len(faced)-1]), max(faced[0], faced[len(faced)-1])
		if j.plan.RunOf(first) == j.plan.RunOf(last) && b.From >= first && b.From+b.Count-1 <= last {
			return true
		}
	}
	return false
}

// rows is the least cost of a block in two rows.
func (j judged) rows() float64 {
	least := math.Inf(1)
	for m := 1; 2*m <= j.q.quantity; m++ {
		for _, a := range j.windows(j.q.quantity - m) {
			for _, b := range j.windows(m) {
				if j.behind(a, b) {
					least = min(least, j.cost(a, b))
				}
			}
		}
	}
	return least
}

// spread is how good a split is: people alone, parts, and how near the stretches lie that it is taken of.
type spread struct {
	alone, parts int
	radius       float64
}

func (s spread) worse(o spread) bool {
	if s.alone != o.alone || s.parts != o.parts {
		return s.alone > o.alone || s.alone == o.alone && s.parts > o.parts
	}
	return s.radius > o.radius+1e-9
}

// stretches lists the free stretches.
func (j judged) stretches() (found []seatmap.Span) {
	for n := range len(j.plan.Seats) {
		for _, w := range j.windows(n + 1) {
			if !j.same(w.From-1, w.From, j.fits) && !j.same(w.From+w.Count, w.From, j.fits) {
				found = append(found, w)
			}
		}
	}
	return found
}

// split tries every choice of stretches and every way to seat the group in them.
func (j judged) split() spread {
	list := j.stretches()
	least := spread{alone: math.MaxInt}
	var choose func(from int, chosen []seatmap.Span, room int)
	choose = func(from int, chosen []seatmap.Span, room int) {
		if room >= j.q.quantity {
			if alone := fewestAlone(chosen, j.q.quantity); alone >= 0 {
				if s := (spread{alone, len(chosen), j.radius(chosen)}); least.worse(s) {
					least = s
				}
			}
			return
		}
		for i := from; i < len(list); i++ {
			choose(i+1, append(slices.Clone(chosen), list[i]), room+list[i].Count)
		}
	}
	choose(0, nil, 0)
	return least
}

// fewestAlone seats n in all of the stretches and counts who sits alone; -1 when they are too many.
func fewestAlone(chosen []seatmap.Span, n int) int {
	if len(chosen) == 0 {
		if n == 0 {
			return 0
		}
		return -1
	}
	least := -1
	for k := 1; k <= min(n, chosen[0].Count); k++ {
		rest := fewestAlone(chosen[1:], n-k)
		if rest >= 0 && k == 1 {
			rest++
		}
		if rest >= 0 && (least < 0 || rest < least) {
			least = rest
		}
	}
	return least
}

// radius is how far the stretches lie from the one in their middle.
func (j judged) radius(chosen []seatmap.Span) float64 {
	middle := func(s seatmap.Span) (x, y float64) {
		a, b := j.plan.Seats[s.From], j.plan.Seats[s.From+s.Count-1]
		return (a.X + b.X) / 2, (a.Y + b.Y) / 2
	}
	least := math.Inf(1)
	for _, a := range chosen {
		far := 0.0
		for _, b := range chosen {
			ax, ay := middle(a)
			bx, by := middle(b)
			far = max(far, math.Hypot(ax-bx, ay-by))
		}
		least = min(least, far)
	}
	return least
}

// checkBlock holds one block of a list against all that could have been given in its place.
func (j judged) checkBlock(t *rapid.T, block []Unit, kind WarningCode) {
	parts := partsOf(j.plan, block)
	least := math.Inf(1)
	for _, w := range j.windows(j.q.quantity) {
		if cost, ok := j.together(w); ok {
			least = min(least, cost)
		}
	}
	switch kind {
	case "":
		if cost, ok := j.together(parts[0]); len(parts) != 1 || !ok || cost > least+1e-6 {
			t.Fatalf("%v costs %v, the best %v", parts, cost, least)
		}
	case RowsApart:
		if !math.IsInf(least, 1) || len(parts) != 2 {
			t.Fatalf("two rows %v, but together there is one for %v", parts, least)
		}
		a, b := parts[0], parts[1]
		if !j.behind(a, b) {
			a, b = b, a
		}
		if cost := j.cost(a, b); !j.behind(a, b) || cost > j.rows()+1e-6 {
			t.Fatalf("two rows %v cost %v, the best %v", parts, cost, j.rows())
		}
	case SeatsApart:
		if !math.IsInf(least, 1) || !math.IsInf(j.rows(), 1) {
			t.Fatalf("apart %v, but there is better", parts)
		}
		got := spread{parts: len(parts)}
		var from []seatmap.Span
		for _, p := range parts {
			if p.Count == 1 {
				got.alone++
			}
			for _, s := range j.stretches() {
				if s.From <= p.From && p.From < s.From+s.Count {
					from = append(from, s)
				}
			}
		}
		got.radius = j.radius(from)
		best := j.split()
		// Among the rest of a house of singles, only those round the people who are not alone are compared.
		if mixed := got.alone > 0 && got.alone < got.parts; got.worse(best) && (!mixed || got.alone != best.alone || got.parts != best.parts) {
			t.Fatalf("apart %v is %+v, the best %+v", parts, got, best)
		}
	}
}

// partsOf cuts a block where its seats are not beside one another.
func partsOf(plan *seatmap.Plan, block []Unit) (parts []seatmap.Span) {
	sorted := slices.Sorted(slices.Values(block))
	for _, u := range sorted {
		last := len(parts) - 1
		if last >= 0 && parts[last].From+parts[last].Count == int(u) && plan.RunOf(int(u)) == plan.RunOf(int(u)-1) {
			parts[last].Count++
			continue
		}
		parts = append(parts, seatmap.Span{From: int(u), Count: 1})
	}
	return parts
}

// TestPromise2EveryBlockIsFreeAndTheBestThatIsLeft holds whole lists against trying everything: by
// section, ticket type, access code and accessible places. Each block is judged on what the ones before
// it left, as if callers came one after another; and a list ends only where nothing of its kind is left.
func TestPromise2EveryBlockIsFreeAndTheBestThatIsLeft(t *testing.T) {
	kinds := make(map[WarningCode]int)
	rapid.Check(t, func(t *rapid.T) {
		plan, terms := drawHouse(t), testTerms()
		b := allFree(plan)
		full := rapid.IntRange(0, 6).Draw(t, "full")
		for i := range b.Units {
			u := &b.Units[i]
			switch rapid.IntRange(0, 9).Draw(t, "state") < full {
			case true:
				u.Held = 1
			default:
				u.Class = rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1}).Draw(t, "class")
			}
		}
		q := bestQuestion{quantity: rapid.IntRange(1, 7).Draw(t, "quantity"), kind: rapid.SampledFrom([]int{-1, -1, 0, 2}).Draw(t, "kind")}
		q.together = rapid.IntRange(0, 3).Draw(t, "together") == 0
		q.section = rapid.SampledFrom([]string{"", "", "S0", "S1"}).Draw(t, "section")
		if rapid.Bool().Draw(t, "code") {
			q.code = Code{1}
		}
		if rapid.IntRange(0, 3).Draw(t, "who") == 0 {
			q.accessible = rapid.IntRange(1, min(2, q.quantity)).Draw(t, "accessible")
		}
		list, kind := candidates(b, plan, terms, q)
		if len(list) > 0 {
			kinds[kind]++
		}
		checkList(t, b, plan, terms, q, list, kind)
	})
	t.Logf("lists by kind: %v", kinds)
}

func checkList(t *rapid.T, b *Board, plan *seatmap.Plan, terms *Terms, q bestQuestion, list [][]Unit, kind WarningCode) {
	taken := make(map[int]bool)
	j := judged{plan: plan, q: q}
	j.open = func(i int) bool {
		class := terms.Classes[b.Units[i].Class]
		return b.Units[i].Held == 0 && !taken[i] && (class.Channel == 0 || slices.Contains(terms.Channels[class.Channel].Codes, q.code))
	}
	eligible := func(i int) bool {
		return j.open(i) && (q.kind < 0 || slices.Contains(terms.Classes[b.Units[i].Class].Types, q.kind)) &&
			(q.section == "" || plan.Seats[i].Section == q.section)
	}
	kept := func(i int) bool { return plan.Seats[i].Accessible || plan.Seats[i].Companion }
	others := 0
	for i := range plan.Seats {
		if eligible(i) && !kept(i) {
			others++
		}
	}
	keep := q.accessible == 0 && others >= q.quantity
	j.fits = func(i int) bool { return eligible(i) && !(keep && kept(i)) }
	for _, block := range list {
		places := 0
		for _, u := range block {
			if !j.fits(int(u)) {
				t.Fatalf("%v of %v is not to be had", u, block)
			}
			places += count(plan.Seats[u].Accessible)
		}
		if len(block) != q.quantity || len(slices.Compact(slices.Sorted(slices.Values(block)))) != q.quantity || places < q.accessible {
			t.Fatalf("%v is no block of %d with %d accessible places", block, q.quantity, q.accessible)
		}
		if q.accessible == 0 || kind == "" {
			j.checkBlock(t, block, kind)
		}
		for _, u := range block {
			taken[int(u)] = true
		}
	}
	if kind != "" && len(list) > 0 {
		return // what a later kind leaves is for another list
	}
	for _, w := range j.windows(q.quantity) {
		if _, ok := j.together(w); ok {
			t.Fatalf("promise 2: %v is left", w)
		}
	}
	if len(list) > 0 || q.together || q.accessible > 0 {
		return
	}
	left := 0
	for i := range plan.Seats {
		left += count(j.fits(i))
	}
	if left >= q.quantity {
		t.Fatalf("promise 2: %d seats are left for %d", left, q.quantity)
	}
}
