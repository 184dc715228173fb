package seatmap

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestTheatreIsAMap(t *testing.T) {
	m := Theatre()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, m) {
		t.Error("the theatre read from its bytes is another")
	}
	if again, _ := Theatre().Encode(); !slices.Equal(again, data) {
		t.Error("two calls draw two theatres")
	}
	checkPlan(t, NewPlan(m))
}

func TestTheatreIsTheHouseThatIsPromised(t *testing.T) {
	m := Theatre()
	p := NewPlan(m)
	if m.Name != "Demo Theatre" || len(p.Seats) != 300 {
		t.Errorf("%q has %d seats", m.Name, len(p.Seats))
	}
	var rows []string
	for _, r := range m.Sections[0].Rows {
		rows = append(rows, r.Key)
	}
	want := []string{
		"STALLS-A", "STALLS-B", "STALLS-C", "STALLS-D", "STALLS-E", "STALLS-F", "STALLS-G", "STALLS-H",
	}
	if !slices.Equal(rows, want) || m.Sections[0].Key != "STALLS" || m.Sections[1].Key != "BALCONY" {
		t.Errorf("sections %q, %q; stalls rows %q", m.Sections[0].Key, m.Sections[1].Key, rows)
	}
	if i, ok := p.AreaIndex("FLOOR"); !ok || p.Areas[i].Capacity != 500 || len(m.Areas[i].Outline) < outlinePointsMin {
		t.Errorf("no floor for 500: %+v", p.Areas)
	}
	if !beside(p, "STALLS-C-12", "STALLS-C-13") {
		t.Error("STALLS-C-12 and STALLS-C-13 are not neighbours")
	}
	// The aisle: every row of the stalls has two blocks.
	for _, key := range rows {
		from, count, _ := p.RowSeats(key)
		if run := p.RunOf(from); run.Count != count/2 {
			t.Errorf("%s: the first block has %d of %d seats", key, run.Count, count)
		}
	}
}

// beside says whether two seats follow each other in one run.
func beside(p *Plan, a, b string) bool {
	i, okA := p.SeatIndex(a)
	j, okB := p.SeatIndex(b)
	return okA && okB && j == i+1 && p.RunOf(i) == p.RunOf(j)
}

func TestTheatreHasWheelchairPlacesWithCompanions(t *testing.T) {
	p := NewPlan(Theatre())
	accessible, companions, restricted := 0, 0, 0
	for i := range p.Seats {
		s := &p.Seats[i]
		if s.Companion {
			companions++
		}
		if s.RestrictedView {
			restricted++
		}
		if !s.Accessible {
			continue
		}
		accessible++
		run := p.RunOf(i)
		left := i > run.From && p.Seats[i-1].Companion
		right := i+1 < run.From+run.Count && p.Seats[i+1].Companion
		if !left && !right {
			t.Errorf("%s has no companion's seat beside it", s.Key)
		}
	}
	if accessible != 2 || companions != 2 || restricted == 0 || restricted > 20 {
		t.Errorf("%d accessible, %d companion, %d restricted", accessible, companions, restricted)
	}
}

// The middle of each row is nearest, so that the best seats are where people
// think they are, and the rows bend towards the stage.
func TestTheatreIsCurvedRoundItsFocalPoint(t *testing.T) {
	m := Theatre()
	p := NewPlan(m)
	for _, section := range m.Sections {
		for _, row := range section.Rows {
			from, count, _ := p.RowSeats(row.Key)
			end, middle := from, from+count/2
			if p.FocalDistance(middle) >= p.FocalDistance(end) {
				t.Errorf("%s: the end is nearer than the middle", row.Key)
			}
			if p.Seats[end].Y >= p.Seats[middle].Y {
				t.Errorf("%s bends away from the stage", row.Key)
			}
			for i := from; i < from+count; i++ {
				mirrored := p.Seats[from+count-1-(i-from)]
				if p.Seats[i].X != -mirrored.X || p.Seats[i].Y != mirrored.Y {
					t.Errorf("%s is not the mirror of %s", p.Seats[i].Key, mirrored.Key)
				}
			}
		}
	}
	// Nobody sits in a neighbour's lap.
	for i := range p.Seats {
		for j := range i {
			if math.Hypot(p.Seats[i].X-p.Seats[j].X, p.Seats[i].Y-p.Seats[j].Y) < 45 {
				t.Errorf("%s and %s are under 45 cm apart", p.Seats[i].Key, p.Seats[j].Key)
			}
		}
	}
}

func TestGrid(t *testing.T) {
	for _, tt := range []struct{ rows, perRow, sections int }{{1, 1, 1}, {50, 3, 1}, {51, 2, 2}, {120, 10, 3}, {1, 200_000, 1}} {
		m := Grid(tt.rows, tt.perRow)
		data, err := m.Encode()
		if err != nil {
			t.Fatalf("Grid(%d, %d): %v", tt.rows, tt.perRow, err)
		}
		back, err := Parse(data)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("Grid(%d, %d) does not come back from its bytes: %v", tt.rows, tt.perRow, err)
		}
		p := NewPlan(m)
		if len(m.Sections) != tt.sections || len(p.Seats) != tt.rows*tt.perRow || len(p.Runs()) != tt.rows {
			t.Errorf("Grid(%d, %d): %d sections, %d seats, %d runs", tt.rows, tt.perRow, len(m.Sections), len(p.Seats), len(p.Runs()))
		}
	}
}

func TestGridRefusesWhatNoMapCanBe(t *testing.T) {
	for _, tt := range [][2]int{{0, 1}, {1, 0}, {-1, -1}, {10_001, 1}, {10_000, 21}, {1, 200_001}, {2, math.MaxInt}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Grid(%d, %d) drew something", tt[0], tt[1])
				}
			}()
			Grid(tt[0], tt[1])
		}()
	}
}
