package seatmap

import (
	"cmp"
	"math"
	"slices"
)

// nearness is how near the seats are to the focal point, and the runs in that
// order, measured once a map.
type nearness struct {
	seats []float64 // in seats
	runs  []int32   // indexes of runs, nearest first
	least []float64 // of each run: its nearest seat's
}

// measure fills in the nearness. One measure serves the whole map, so that
// seats of two sections compare as they lie in the drawing, whatever the seats
// are like.
func (p *Plan) measure() {
	pitch := p.Pitch()
	n := &p.nearness
	n.seats = make([]float64, len(p.Seats))
	for i := range p.Seats {
		n.seats[i] = p.FocalDistance(i) / pitch
	}
	n.runs, n.least = make([]int32, len(p.runs)), make([]float64, len(p.runs))
	for r, run := range p.runs {
		n.runs[r] = int32(r)
		n.least[r] = slices.Min(n.seats[run.From : run.From+run.Count])
	}
	slices.SortFunc(n.runs, func(a, b int32) int { return cmp.Or(cmp.Compare(n.least[a], n.least[b]), cmp.Compare(a, b)) })
}

// Pitch gives the usual distance between neighbours on this map, in map units:
// the median over its rows, or 1 where no two seats are neighbours.
func (p *Plan) Pitch() float64 {
	if len(p.pitches) == 0 {
		return 1
	}
	sorted := slices.Sorted(slices.Values(p.pitches))
	return sorted[(len(sorted)-1)/2]
}

// Nearness gives the distance from the seat with index i to the focal point, in
// seats: multiples of the map's pitch. It panics when there is no such seat.
func (p *Plan) Nearness(i int) float64 { return p.nearness.seats[i] }

// NearRuns gives the indexes of the runs in [Plan.Runs], ordered by their
// nearest seat's nearness. The slice is shared; do not write to it.
func (p *Plan) NearRuns() []int32 { return p.nearness.runs }

// RunNearness gives the nearness of the nearest seat of the run with index r.
func (p *Plan) RunNearness(r int) float64 { return p.nearness.least[r] }

const (
	rowReachMax = 4.0  // seats: rows further apart than this are not behind one another, whatever their section is like
	columnHalf  = 0.75 // seats to either side that still count as behind: rows are staggered by up to half a seat
	cellSeats   = 8    // about as many seats lie in one cell
	noSeat      = -1   // nobody faces this seat on this side
)

// Facing gives, for every seat, the seats right before and right behind it: of
// the nearest row of its section on either side of its own, as the rows lie in
// the drawing and whatever they are called, the seat in its column; -1 where
// there is none. Which side comes first depends on the direction in which the
// row was drawn, and is the same along a run. Rows that lie further apart than
// 1.6 times what is usual in their section have a gangway between them, and do
// not face each other. It is found on first use. The slice is shared; do not
// write to it.
func (p *Plan) Facing() [][2]int32 {
	p.finding.Do(func() {
		p.facing = make([][2]int32, len(p.Seats))
		for i := range p.facing {
			p.facing[i] = [2]int32{noSeat, noSeat}
		}
		for _, section := range p.sections {
			p.faceSection(section)
		}
	})
	return p.facing
}

// cell is a square of the drawing, as wide as the reach from row to row.
type cell struct{ x, y int32 }

// spot is a seat as it lies in the drawing.
type spot struct {
	x, y float64
	row  Span
}

// faceSection finds who faces whom in one section. Seats are looked up by
// squares of the drawing, so the cost does not grow with the number of rows.
func (p *Plan) faceSection(section Span) {
	pitch := p.Pitch()
	spots := make([]spot, section.Count)
	at := func(s *spot) cell {
		return cell{int32(math.Floor(s.x / (rowReachMax * pitch))), int32(math.Floor(s.y / (rowReachMax * pitch)))}
	}
	cells := make(map[cell][]int32, section.Count/cellSeats)
	for k := range spots {
		seat := &p.Seats[section.From+k]
		s := spot{x: seat.X, y: seat.Y}
		if k > 0 && seat.Row == p.Seats[section.From+k-1].Row {
			s.row = spots[k-1].row
		} else {
			s.row = p.rows[seat.Row]
			s.row.From -= section.From
		}
		spots[k] = s
		cells[at(&s)] = append(cells[at(&s)], int32(k))
	}
	glances := make([]glance, len(spots))
	var steps []float64 // from row to row, map units
	for k := range spots {
		g := glanceFrom(spots, k, p.focal)
		c := at(&spots[k])
		for dx := int32(-1); dx <= 1; dx++ {
			for dy := int32(-1); dy <= 1; dy++ {
				for _, j := range cells[cell{c.x + dx, c.y + dy}] {
					g.at(spots, j, pitch)
				}
			}
		}
		glances[k] = g
		for side, j := range g.found {
			if j != noSeat {
				steps = append(steps, g.across[side])
			}
		}
	}
	if len(steps) == 0 {
		return
	}
	slices.Sort(steps)
	stepMax := gapOverPitchMax * steps[(len(steps)-1)/2] * roundingSlack
	for k, g := range glances {
		for side, j := range g.found {
			if j != noSeat && g.across[side] <= stepMax {
				p.facing[section.From+k][side] = int32(section.From) + j
			}
		}
	}
}

// glance is what is seen from one seat across its row, to either side.
type glance struct {
	from   spot
	dx, dy float64    // along the row, of length 1
	found  [2]int32   // the spots that are faced
	across [2]float64 // how far it is to them across the row, in map units
	aside  [2]float64 // and along it
}

// glanceFrom begins to look from spot k. A row's direction at a seat is that of
// its neighbours in the row; a seat alone in its row looks at the focal point.
func glanceFrom(spots []spot, k int, focal Point) glance {
	g := glance{from: spots[k], found: [2]int32{noSeat, noSeat}}
	row := g.from.row
	a, b := &spots[max(k-1, row.From)], &spots[min(k+1, row.From+row.Count-1)]
	g.dx, g.dy = b.x-a.x, b.y-a.y
	if g.dx == 0 && g.dy == 0 {
		g.dx, g.dy = focal.Y-a.y, a.x-focal.X
	}
	if length := math.Hypot(g.dx, g.dy); length > 0 {
		g.dx, g.dy = g.dx/length, g.dy/length
	}
	return g
}

// at takes spot j into account: of the seats in the column, the nearest row's
// is the one, and in that row the one most nearly behind.
func (g *glance) at(spots []spot, j int32, pitch float64) {
	s := &spots[j]
	if s.row == g.from.row {
		return
	}
	x, y := s.x-g.from.x, s.y-g.from.y
	aside, across := math.Abs(x*g.dx+y*g.dy), y*g.dx-x*g.dy
	side := 0
	if across > 0 {
		side = 1
	}
	across = math.Abs(across)
	if aside > columnHalf*pitch || across > rowReachMax*pitch || across <= aside/2 {
		return
	}
	have := g.found[side]
	sameRow := have != noSeat && spots[have].row == s.row
	if have == noSeat || (sameRow && aside < g.aside[side]) || (!sameRow && across < g.across[side]) {
		g.found[side], g.across[side], g.aside[side] = j, across, aside
	}
}
