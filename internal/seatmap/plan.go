package seatmap

import (
	"math"
	"slices"
	"sync"
)

// gapOverPitchMax is how much wider than its row's usual pitch the gap between
// two seats may be before they no longer count as neighbours. Rows are drawn
// with some play, and an aisle that nobody marked is at least a step wide.
const gapOverPitchMax = 1.6

// roundingSlack keeps a gap of exactly the limit on its side of it, since
// coordinates such as 0.1 are not exact and their differences less so.
const roundingSlack = 1 + 1e-9

// Plan is the index of a map, in the order that everything else counts by:
// a seat's index is its place in the order of appearance (sections, rows,
// seats), and so is an area's among the areas. Boards and deltas speak of
// seats by this number alone.
//
// A Plan never changes and is safe for concurrent use. Its slices are shared
// with every caller; nobody writes to them.
type Plan struct {
	Seats []PlanSeat
	Areas []PlanArea

	focal     Point
	seatIndex map[string]int32
	areaIndex map[string]int32
	sections  map[string]Span
	rows      map[string]Span
	runs      []Span
	runOf     []int32   // the run of each seat, as an index of runs
	pitches   []float64 // the median pitch of each row that has one, in seat order; map units
	nearness  nearness
	finding   sync.Once
	facing    [][2]int32 // once found
}

// PlanSeat is a seat as the index knows it.
type PlanSeat struct {
	Key            string
	Label          string  // for people: "Row C Seat 12"
	Section        string  // the section's key
	Row            string  // the row's key
	X, Y           float64 // map units
	Accessible     bool
	Companion      bool
	RestrictedView bool
}

// PlanArea is a general-admission area as the index knows it.
type PlanArea struct {
	Key      string
	Name     string
	Capacity int // units
}

// Span is a range of seat indexes: Count of them, starting at From.
type Span struct {
	From  int
	Count int
}

// NewPlan builds the index of a valid map, and keeps nothing of m. It does not
// judge m: of a map that [Map.Encode] would refuse, the keys in the index may
// name the wrong things.
func NewPlan(m *Map) *Plan {
	rows, seats := 0, 0
	for i := range m.Sections {
		rows += len(m.Sections[i].Rows)
		for j := range m.Sections[i].Rows {
			seats += len(m.Sections[i].Rows[j].Seats)
		}
	}
	p := &Plan{
		Seats:     make([]PlanSeat, 0, seats),
		Areas:     make([]PlanArea, 0, len(m.Areas)),
		focal:     m.FocalPoint,
		seatIndex: make(map[string]int32, seats),
		areaIndex: make(map[string]int32, len(m.Areas)),
		sections:  make(map[string]Span, len(m.Sections)),
		rows:      make(map[string]Span, rows),
		runs:      make([]Span, 0, rows),
		runOf:     make([]int32, 0, seats),
	}
	for i := range m.Sections {
		p.addSection(&m.Sections[i])
	}
	for i := range m.Areas {
		a := &m.Areas[i]
		p.areaIndex[a.Key] = int32(i)
		p.Areas = append(p.Areas, PlanArea{Key: a.Key, Name: a.Name, Capacity: a.Capacity})
	}
	p.measure()
	return p
}

func (p *Plan) addSection(s *Section) {
	from := len(p.Seats)
	for j := range s.Rows {
		p.addRow(s.Key, &s.Rows[j])
	}
	p.sections[s.Key] = Span{From: from, Count: len(p.Seats) - from}
}

func (p *Plan) addRow(section string, r *Row) {
	from := len(p.Seats)
	rowKey := r.Key
	if rowKey == "" {
		rowKey = defaultKey(section, r.Label)
	}
	for k := range r.Seats {
		s := &r.Seats[k]
		key := s.Key
		if key == "" {
			key = defaultKey(rowKey, s.Label)
		}
		p.seatIndex[key] = int32(len(p.Seats))
		p.Seats = append(p.Seats, PlanSeat{
			Key:     key,
			Label:   "Row " + r.Label + " Seat " + s.Label,
			Section: section, Row: rowKey,
			X: s.X, Y: s.Y,
			Accessible: s.Accessible, Companion: s.Companion, RestrictedView: s.RestrictedView,
		})
	}
	p.rows[rowKey] = Span{From: from, Count: len(r.Seats)}
	p.addRuns(from, r.Seats)
}

// addRuns cuts one row, whose first seat has index from, into its runs.
func (p *Plan) addRuns(from int, seats []Seat) {
	pitch := medianPitch(seats)
	if pitch > 0 {
		p.pitches = append(p.pitches, pitch)
	}
	gapMax := gapOverPitchMax * pitch * roundingSlack
	start := 0
	for k := range seats {
		p.runOf = append(p.runOf, int32(len(p.runs)))
		last := k == len(seats)-1
		if last || seats[k].BreakAfter || gap(seats, k) > gapMax {
			p.runs = append(p.runs, Span{From: from + start, Count: k + 1 - start})
			start = k + 1
		}
	}
}

// medianPitch is the usual distance between neighbours in a row, in map units.
// Gaps at a marked break are known to be none, so they do not count; of an even
// number the smaller middle one is taken, so that in a short row an aisle does
// not widen what passes for a pitch.
func medianPitch(seats []Seat) float64 {
	var gaps []float64
	for k := range len(seats) - 1 {
		if !seats[k].BreakAfter {
			gaps = append(gaps, gap(seats, k))
		}
	}
	if len(gaps) == 0 {
		return 0 // every gap is a break
	}
	slices.Sort(gaps)
	return gaps[(len(gaps)-1)/2]
}

// gap is the distance from seat k to the next, in map units.
func gap(seats []Seat, k int) float64 {
	return math.Hypot(seats[k+1].X-seats[k].X, seats[k+1].Y-seats[k].Y)
}

// SeatIndex gives the index of the seat with a key.
func (p *Plan) SeatIndex(key string) (int, bool) {
	i, ok := p.seatIndex[key]
	return int(i), ok
}

// AreaIndex gives the index of the area with a key.
func (p *Plan) AreaIndex(key string) (int, bool) {
	i, ok := p.areaIndex[key]
	return int(i), ok
}

// SectionSeats gives the seats of the section with a key: count of them, from
// the index from. An area's key is no section's.
func (p *Plan) SectionSeats(key string) (from, count int, ok bool) {
	s, ok := p.sections[key]
	return s.From, s.Count, ok
}

// RowSeats gives the seats of the row with a key: count of them, from the index
// from.
func (p *Plan) RowSeats(rowKey string) (from, count int, ok bool) {
	s, ok := p.rows[rowKey]
	return s.From, s.Count, ok
}

// Runs gives the maximal runs of seats that are beside one another, in seat
// order: within one row, cut at its breaks and wherever two seats stand further
// apart than 1.6 times the row's median pitch. Every seat is in exactly one
// run. The slice is shared; do not write to it.
func (p *Plan) Runs() []Span { return p.runs }

// RunIndex gives the place in [Plan.Runs] of the run that the seat with index i
// is in. It panics when there is no such seat.
func (p *Plan) RunIndex(i int) int { return int(p.runOf[i]) }

// RunOf gives the run that the seat with index i is in. It panics when there is
// no such seat.
func (p *Plan) RunOf(i int) Span { return p.runs[p.runOf[i]] }

// FocalDistance gives the distance from the seat with index i to the focal
// point, in map units. It panics when there is no such seat.
func (p *Plan) FocalDistance(i int) float64 {
	return math.Hypot(p.Seats[i].X-p.focal.X, p.Seats[i].Y-p.focal.Y)
}
