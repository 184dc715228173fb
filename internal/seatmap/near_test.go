package seatmap

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// facingOf names whom a seat faces, in either order.
func facingOf(p *Plan, key string) map[string]bool {
	i, _ := p.SeatIndex(key)
	found := make(map[string]bool)
	for _, j := range p.Facing()[i] {
		if j >= 0 {
			found[p.Seats[j].Key] = true
		}
	}
	return found
}

func TestRowsFaceEachOtherAsTheyAreDrawnWhateverTheyAreCalled(t *testing.T) {
	for _, tt := range []struct {
		name string
		rows []Row
		seat string
		want []string
	}{
		{"the row before and the row behind", []Row{rowAt("A", 0, 0, 1, 2), rowAt("B", 2, 0, 1, 2), rowAt("C", 4, 0, 1, 2)}, "S-B-2", []string{"S-A-2", "S-C-2"}},
		{"listed in another order", []Row{rowAt("C", 4, 0, 1, 2), rowAt("A", 0, 0, 1, 2), rowAt("B", 2, 0, 1, 2)}, "S-A-1", []string{"S-B-1"}},
		{"numbered from the other end", []Row{rowAt("A", 0, 0, 1, 2), rowAt("B", 2, 2, 1, 0)}, "S-A-1", []string{"S-B-3"}},
		{"staggered by half a seat", []Row{rowAt("A", 0, 0, 1, 2), rowAt("B", 2, 0.4, 1.4)}, "S-A-2", []string{"S-B-2"}},
		{"nobody in the column", []Row{rowAt("A", 0, 0, 1, 2, 3), rowAt("B", 2, 0, 1)}, "S-A-4", nil},
		{"another row of the same line", []Row{rowAt("A", 0, 0, 1, 2), rowAt("B", 0, 3, 4, 5)}, "S-A-3", nil},
		{"a gangway between rows", []Row{rowAt("A", 0, 0, 1), rowAt("B", 2, 0, 1), rowAt("C", 5.3, 0, 1), rowAt("D", 7.3, 0, 1), rowAt("E", 9.3, 0, 1)}, "S-B-1", []string{"S-A-1"}},
		{"rows further apart than anybody calls behind", []Row{rowAt("A", 0, 0, 1), rowAt("B", 4.1, 0, 1)}, "S-A-1", nil},
		{"a row of one seat", []Row{rowAt("A", 2, 0, 1), rowAt("B", 4, 0)}, "S-B-1", []string{"S-A-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := facingOf(NewPlan(mapOf(tt.rows...)), tt.seat)
			if len(got) != len(tt.want) {
				t.Fatalf("%s faces %v, want %v", tt.seat, got, tt.want)
			}
			for _, key := range tt.want {
				if !got[key] {
					t.Fatalf("%s faces %v, want %v", tt.seat, got, tt.want)
				}
			}
		})
	}
}

func TestSectionsDoNotFaceEachOther(t *testing.T) {
	m := mapOf(rowAt("A", 0, 0, 1))
	m.Sections = append(m.Sections, Section{Key: "T", Name: "T", Rows: []Row{rowAt("B", 2, 0, 1)}})
	if got := facingOf(NewPlan(m), "S-A-1"); len(got) > 0 {
		t.Errorf("faces %v of another section", got)
	}
}

// A house may be drawn at any place, turned and in any unit: who faces whom, and what is how near, stay.
func TestFacingAndNearnessDoNotDependOnHowTheMapLies(t *testing.T) {
	straight := NewPlan(Theatre())
	rapid.Check(t, func(t *rapid.T) {
		angle := rapid.Float64Range(0, 2*math.Pi).Draw(t, "angle")
		scale := rapid.Float64Range(0.1, 10).Draw(t, "scale")
		dx, dy := rapid.Float64Range(-5000, 5000).Draw(t, "dx"), rapid.Float64Range(-5000, 5000).Draw(t, "dy")
		sin, cos := math.Sincos(angle)
		turn := func(x, y float64) (float64, float64) {
			return scale*(x*cos-y*sin) + dx, scale*(x*sin+y*cos) + dy
		}
		m := Theatre()
		m.FocalPoint.X, m.FocalPoint.Y = turn(m.FocalPoint.X, m.FocalPoint.Y)
		for i := range m.Sections {
			for j := range m.Sections[i].Rows {
				for k := range m.Sections[i].Rows[j].Seats {
					s := &m.Sections[i].Rows[j].Seats[k]
					s.X, s.Y = turn(s.X, s.Y)
				}
			}
		}
		turned := NewPlan(m)
		for i := range straight.Seats {
			if straight.Facing()[i] != turned.Facing()[i] {
				t.Fatalf("%s faces %v, turned %v", straight.Seats[i].Key, straight.Facing()[i], turned.Facing()[i])
			}
			if math.Abs(straight.Nearness(i)-turned.Nearness(i)) > 1e-6 {
				t.Fatalf("%s is %v seats away, turned %v", straight.Seats[i].Key, straight.Nearness(i), turned.Nearness(i))
			}
		}
	})
}

func TestNearRunsAreOrderedByTheirNearestSeat(t *testing.T) {
	p := NewPlan(Theatre())
	seen, last := make(map[int32]bool), 0.0
	for _, r := range p.NearRuns() {
		run := p.Runs()[r]
		least := math.Inf(1)
		for i := run.From; i < run.From+run.Count; i++ {
			least = min(least, p.Nearness(i))
		}
		if least != p.RunNearness(int(r)) || least < last || seen[r] {
			t.Fatalf("run %d: nearest seat %v, said %v, the run before %v", r, least, p.RunNearness(int(r)), last)
		}
		seen[r], last = true, least
	}
	if len(seen) != len(p.Runs()) {
		t.Errorf("%d runs of %d", len(seen), len(p.Runs()))
	}
}

func TestAMapWithoutNeighboursHasAPitch(t *testing.T) {
	p := NewPlan(mapOf(rowAt("A", 3, 4)))
	if p.Pitch() != 1 || p.Nearness(0) != 5 {
		t.Errorf("pitch %v, nearness %v", p.Pitch(), p.Nearness(0))
	}
}

func BenchmarkFacing60000(b *testing.B) {
	m := Grid(600, 100)
	for b.Loop() {
		if n := len(NewPlan(m).Facing()); n != 60_000 {
			b.Fatal(fmt.Sprint(n))
		}
	}
}

func BenchmarkPlan60000(b *testing.B) {
	m := Grid(600, 100)
	for b.Loop() {
		NewPlan(m)
	}
}
