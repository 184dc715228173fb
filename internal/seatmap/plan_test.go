package seatmap

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// rowAt draws a row with seats at the given places along x; a negative number
// is a break after the seat before it.
func rowAt(label string, y float64, xs ...float64) Row {
	row := Row{Label: label}
	for _, x := range xs {
		if x < 0 {
			row.Seats[len(row.Seats)-1].BreakAfter = true
			continue
		}
		row.Seats = append(row.Seats, Seat{Label: fmt.Sprint(len(row.Seats) + 1), X: x, Y: y})
	}
	return row
}

func mapOf(rows ...Row) *Map {
	return &Map{Format: Format, Name: "House", Sections: []Section{{Key: "S", Name: "S", Rows: rows}}}
}

func runLengths(p *Plan) []int {
	var counts []int
	for _, run := range p.Runs() {
		counts = append(counts, run.Count)
	}
	return counts
}

func TestRuns(t *testing.T) {
	const aisle = -1
	for _, tt := range []struct {
		name string
		row  Row
		want []int
	}{
		{"one seat", rowAt("A", 0, 5), []int{1}},
		{"one seat before a break", rowAt("A", 0, 5, aisle), []int{1}},
		{"even pitch", rowAt("A", 0, 0, 1, 2, 3, 4), []int{5}},
		{"numbered from the right", rowAt("A", 0, 4, 3, 2, 1, 0), []int{5}},
		{"a marked break, however narrow", rowAt("A", 0, 0, 1, aisle, 2, 3), []int{2, 2}},
		{"two breaks", rowAt("A", 0, 0, 1, aisle, 2, 3, 4, aisle, 5), []int{2, 3, 1}},
		{"a break after the last seat cuts nothing off", rowAt("A", 0, 0, 1, 2, aisle), []int{3}},
		{"a gap nobody marked", rowAt("A", 0, 0, 1, 2, 4, 5), []int{3, 2}},
		{"a gap, numbered from the right", rowAt("A", 0, 5, 4, 2, 1, 0), []int{2, 3}},
		{"a gap just at the limit", rowAt("A", 0, 0, 0.1, 0.2, 0.36, 0.46), []int{5}},
		{"a gap at the limit that rounding takes over it", rowAt("A", 0, 0, 0.3, 0.6, 1.08, 1.38), []int{5}},
		{"a gap just over the limit", rowAt("A", 0, 0, 0.1, 0.2, 0.361, 0.461), []int{3, 2}},
		{"two seats are neighbours at any distance", rowAt("A", 0, 0, 50), []int{2}},
		{"a marked break is no pitch", rowAt("A", 0, 0, aisle, 3, 4, 7), []int{1, 2, 1}},
		{"every gap a break", rowAt("A", 0, 0, aisle, 1, aisle, 2), []int{1, 1, 1}},
		{"an aisle does not pass for a pitch in a short row", rowAt("A", 0, 0, 1, 4), []int{2, 1}},
		{"numbered odd to one side and even to the other", rowAt("A", 0, 3, 2, 1, 4, 5, 6), []int{3, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := runLengths(NewPlan(mapOf(tt.row))); !slices.Equal(got, tt.want) {
				t.Errorf("runs of %v, want %v", got, tt.want)
			}
		})
	}
}

// A wide-pitched row keeps its run beside a narrow one, and rows never join.
func TestRunsUseEachRowsOwnPitch(t *testing.T) {
	p := NewPlan(mapOf(
		rowAt("A", 0, 0, 1, 2, 3),
		rowAt("B", 1, 0, 3, 6, 9),
		rowAt("C", 2, 0, 1, 2, 5, 6),
	))
	want := []Span{{0, 4}, {4, 4}, {8, 3}, {11, 2}}
	if !slices.Equal(p.Runs(), want) {
		t.Errorf("got %v, want %v", p.Runs(), want)
	}
	if got := p.RunOf(12); got != (Span{11, 2}) {
		t.Errorf("RunOf(12) = %v", got)
	}
}

func TestRunsFollowACurve(t *testing.T) {
	row := Row{Label: "A"}
	for k := range 9 {
		sin, cos := math.Sincos(float64(k) * math.Pi / 8)
		row.Seats = append(row.Seats, Seat{Label: fmt.Sprint(k + 1), X: 100 * cos, Y: 100 * sin})
	}
	if got := runLengths(NewPlan(mapOf(row))); !slices.Equal(got, []int{9}) {
		t.Errorf("a half circle has runs of %v", got)
	}
}

func TestPlanIndexesByAppearance(t *testing.T) {
	m := &Map{
		Format: Format, Name: "House", FocalPoint: Point{X: 1, Y: 1},
		Sections: []Section{
			{Key: "Z", Name: "Z", Rows: []Row{
				{Label: "B", Seats: []Seat{{Label: "2", X: 4, Y: 5, Accessible: true}, {Label: "1", X: 5, Y: 5, Companion: true}}},
				{Key: "odd", Label: "A", Seats: []Seat{{Label: "1", X: 4, Y: 6, RestrictedView: true}}},
			}},
			{Key: "A", Name: "A", Rows: []Row{{Label: "A", Seats: []Seat{{Key: "last", Label: "9", X: 0, Y: 9}}}}},
		},
		Areas: []Area{{Key: "G2", Name: "Two", Capacity: 2}, {Key: "G1", Name: "One", Capacity: 1}},
	}
	p := NewPlan(m)
	want := []PlanSeat{
		{Key: "Z-B-2", Label: "Row B Seat 2", Section: "Z", Row: "Z-B", X: 4, Y: 5, Accessible: true},
		{Key: "Z-B-1", Label: "Row B Seat 1", Section: "Z", Row: "Z-B", X: 5, Y: 5, Companion: true},
		{Key: "odd-1", Label: "Row A Seat 1", Section: "Z", Row: "odd", X: 4, Y: 6, RestrictedView: true},
		{Key: "last", Label: "Row A Seat 9", Section: "A", Row: "A-A", X: 0, Y: 9},
	}
	if !reflect.DeepEqual(p.Seats, want) {
		t.Errorf("seats:\n got %+v\nwant %+v", p.Seats, want)
	}
	if !slices.Equal(p.Areas, []PlanArea{{"G2", "Two", 2}, {"G1", "One", 1}}) {
		t.Errorf("areas: %+v", p.Areas)
	}
	if i, ok := p.AreaIndex("G1"); i != 1 || !ok {
		t.Errorf("AreaIndex(G1) = %d, %v", i, ok)
	}
	if from, count, ok := p.SectionSeats("Z"); from != 0 || count != 3 || !ok {
		t.Errorf("SectionSeats(Z) = %d, %d, %v", from, count, ok)
	}
	if from, count, ok := p.RowSeats("A-A"); from != 3 || count != 1 || !ok {
		t.Errorf("RowSeats(A-A) = %d, %d, %v", from, count, ok)
	}
	if got := p.FocalDistance(0); got != 5 {
		t.Errorf("FocalDistance(0) = %v, want 5", got)
	}
	for _, key := range []string{"", "Z-B", "z-b-2", "G1", "Z"} {
		if _, ok := p.SeatIndex(key); ok {
			t.Errorf("SeatIndex(%q) finds a seat", key)
		}
	}
	_, area := p.AreaIndex("Z")
	_, _, section := p.SectionSeats("G1")
	_, _, row := p.RowSeats("Z")
	if area || section || row {
		t.Error("a key is found as something it is not")
	}
}

// What is done to a map after its plan was built does not reach the plan.
func TestPlanKeepsNothingOfTheMap(t *testing.T) {
	m := Theatre()
	p, want := NewPlan(m), NewPlan(Theatre())
	for i := range m.Sections {
		for j := range m.Sections[i].Rows {
			clear(m.Sections[i].Rows[j].Seats)
		}
		clear(m.Sections[i].Rows)
	}
	clear(m.Sections)
	clear(m.Areas)
	m.FocalPoint = Point{X: 9, Y: 9}
	if !reflect.DeepEqual(p, want) {
		t.Error("the plan changed with the map")
	}
}

func TestPlanIsSafeForConcurrentUse(t *testing.T) {
	p := NewPlan(Grid(20, 20))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range p.Seats {
				j, ok := p.SeatIndex(p.Seats[i].Key)
				if !ok || j != i || p.RunOf(i).Count != 20 || p.FocalDistance(i) <= 0 {
					t.Errorf("seat %d is not where it should be", i)
				}
			}
		})
	}
	wg.Wait()
}

func TestPlanOf60000Seats(t *testing.T) {
	p := NewPlan(Grid(1200, 50))
	if len(p.Seats) != 60_000 || len(p.Runs()) != 1_200 {
		t.Fatalf("%d seats in %d runs", len(p.Seats), len(p.Runs()))
	}
	checkPlan(t, p)
	if i, ok := p.SeatIndex("S24-1200-50"); i != 59_999 || !ok {
		t.Errorf("the last seat has index %d, %v", i, ok)
	}
	if from, count, ok := p.SectionSeats("S2"); from != 2_500 || count != 2_500 || !ok {
		t.Errorf("SectionSeats(S2) = %d, %d, %v", from, count, ok)
	}
}

// checkPlan holds what is true of every plan of a valid map.
func checkPlan(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, p *Plan,
) {
	t.Helper()
	next := 0
	for _, run := range p.Runs() {
		if run.From != next || run.Count < 1 {
			t.Fatalf("run %v does not follow seat %d", run, next)
		}
		for i := run.From; i < run.From+run.Count; i++ {
			if p.RunOf(i) != run || p.Seats[i].Row != p.Seats[run.From].Row {
				t.Fatalf("seat %d is not in run %v", i, run)
			}
		}
		next += run.Count
	}
	if next != len(p.Seats) {
		t.Fatalf("the runs hold %d of %d seats", next, len(p.Seats))
	}
	for i := range p.Seats {
		s := &p.Seats[i]
		if j, ok := p.SeatIndex(s.Key); j != i || !ok {
			t.Fatalf("seat %q has index %d, found as %d", s.Key, i, j)
		}
		from, count, ok := p.SectionSeats(s.Section)
		rowFrom, rowCount, rowOK := p.RowSeats(s.Row)
		if !ok || i < from || i >= from+count || !rowOK || i < rowFrom || i >= rowFrom+rowCount {
			t.Fatalf("seat %d lies outside its section or row", i)
		}
	}
	for i := range p.Areas {
		if j, ok := p.AreaIndex(p.Areas[i].Key); j != i || !ok {
			t.Fatalf("area %q has index %d, found as %d", p.Areas[i].Key, i, j)
		}
	}
}

// The runs of any row are those of the rule, said as plainly as it can be.
func TestRunsKeepTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Whole pitches keep clear of the rounding at the limit itself.
		gaps := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 20).Draw(t, "gaps")
		breaks := rapid.SliceOfN(rapid.Bool(), len(gaps), len(gaps)).Draw(t, "breaks")
		sign := rapid.SampledFrom([]float64{1, -1}).Draw(t, "direction")

		row := Row{Label: "A", Seats: []Seat{{Label: "0"}}}
		var pitches []int
		for k, g := range gaps {
			row.Seats[k].BreakAfter = breaks[k]
			row.Seats = append(row.Seats, Seat{Label: fmt.Sprint(k + 1), X: row.Seats[k].X + sign*float64(g)})
			if !breaks[k] {
				pitches = append(pitches, g)
			}
		}
		slices.Sort(pitches)
		var want []int
		count := 1
		for k, g := range gaps {
			if breaks[k] || 10*g > 16*pitches[(len(pitches)-1)/2] {
				want = append(want, count)
				count = 0
			}
			count++
		}
		want = append(want, count)

		p := NewPlan(mapOf(row))
		checkPlan(t, p)
		if got := runLengths(p); !slices.Equal(got, want) {
			t.Fatalf("runs of %v, want %v", got, want)
		}
	})
}

func BenchmarkNewPlan60000(b *testing.B) {
	m := Grid(1200, 50)
	for b.Loop() {
		NewPlan(m)
	}
}
