package seatmap

import (
	"math"
	"slices"
	"strconv"
)

// The shape of a generated bowl or arena, in rows, seats and blocks.
const (
	tierRowsMax      = 28    // rows of a tier before there is another above it
	tiersMax         = 4     // then tiers grow instead
	blockSeatsLeast  = 18    // seats of a row of a block, about; larger houses have wider blocks,
	blockWidensEvery = 9_000 // by one for each so many seats, which keeps a map within its rows
	ringTierGap      = 420   // from the last row of a tier to the first of the next, centimetres
	wedgeSeatsMin    = 3     // a corner block's row with fewer is left out
	vomitoryWidth    = 4     // seats that give way to the mouth of a tunnel
	vomitoryRows     = 3     // and rows
	vomitoryFrom     = 4     // below it, rows from the front
	floorUnitsEach   = 50    // an arena's floor has a multiple of so many places
	sideViewSlope    = 3.0   // so much further to the side than away, and a seat sees the stage from the side
)

// ring is a house around a floor: rows at growing distances from a rectangle with round corners. It
// has up to four straight sides and a corner after each of them.
type ring struct {
	half    [2]float64 // of the straight sides along x and y, centimetres
	corner  float64    // radius of the floor's corners
	middleY float64
	margin  float64 // from the floor to the first row
	open    bool    // no seats on the side of negative y, nor at its corners: a stage stands there
	rows    int     // of all tiers
	block   int     // seats of a block's row, about
	numbers bool    // rows are numbered and not lettered
}

// tier is a level of a ring: some of its rows.
type tier struct {
	first int // row of the ring
	rows  int
	gap   float64 // centimetres added by the tiers below
}

// wedge is where a block stands: a stretch of a straight side, or a sector of the corner after it.
type wedge struct {
	side   int // 0 at negative y, then clockwise on a screen
	corner bool
	from   float64 // along the side from its middle in centimetres, or radians from the side's normal
	to     float64
}

// block is a section while it is still decided which seats it has.
type block struct {
	wedge
	tier  tier
	seats []int // of each row, 0 for a row that is left out
}

// bowl draws a stadium around a pitch of 105 by 68 metres, or around less if there are few seats.
func bowl(seats int) *Map {
	r := &ring{numbers: true}
	r.fit(seats, [2]float64{4_350, 2_550}, 1_350, 0.08, 1.25)
	return &Map{Name: "Generated Bowl", FocalName: "Pitch", Sections: r.draw(seats)}
}

// arena draws a house for concerts: blocks on three sides of a floor for standing, which holds a
// fifth of what the seats do, and the stage on the fourth.
func arena(seats int) *Map {
	r := &ring{open: true}
	scale := r.fit(seats, [2]float64{750, 2_200}, 900, 0.25, 1.6)
	r.middleY = r.half[1] + r.corner - 500*scale
	m := &Map{Name: "Generated Arena", Sections: r.draw(seats)}
	hideSideViews(m)
	m.Areas = []Area{{Key: "FLOOR", Name: "Floor", Capacity: rounded(seats/5, floorUnitsEach), Outline: r.floor(scale)}}
	return m
}

// fit decides the size of the floor and the number of rows, so that the house is about as deep in
// proportion as real ones and holds at least so many seats. It returns the scale of the floor.
func (r *ring) fit(seats int, half [2]float64, corner, least, most float64) float64 {
	r.block = blockSeatsLeast + seats/blockWidensEvery
	// A house of 60,000 has about fifty rows. That makes the middle row so long, and with it the floor.
	wanted := max(1, math.Round(0.2*math.Sqrt(float64(seats))))
	around := float64(seats) / wanted * generatedPitch * 1.12 // stairs take their part
	sides := 4*half[0] + 4*half[1] + 2*math.Pi*corner
	bend := 2 * math.Pi
	if r.open {
		sides, bend = 2*half[0]+4*half[1]+math.Pi*corner, math.Pi
	}
	scale := (around - bend*wanted/2*generatedRowStep) / sides
	scale = min(max(scale, least), most)
	r.half, r.corner = [2]float64{half[0] * scale, half[1] * scale}, corner*scale
	r.margin = 200 + 400*min(scale, 1)
	for r.rows = 1; countSeats(r.blocks()) < seats; r.rows++ {
		continue // one row more
	}
	return scale
}

// tiers divides the rows; lower tiers have the odd ones.
func (r *ring) tiers() []tier {
	n := min((r.rows+tierRowsMax-1)/tierRowsMax, tiersMax)
	var all []tier
	for i, first := 0, 0; i < n; i++ {
		rows := (r.rows - first + n - i - 1) / (n - i)
		all = append(all, tier{first: first, rows: rows, gap: float64(i) * ringTierGap})
		first += rows
	}
	return all
}

// distance is how far a row of a tier is from the floor's edge.
func (r *ring) distance(t tier, row int) float64 {
	return r.margin + float64(t.first+row)*generatedRowStep + t.gap
}

// blocks lists the blocks of the house as full as they can be, tier by tier and clockwise.
func (r *ring) blocks() []block {
	var all []block
	for _, t := range r.tiers() {
		for side := range 4 {
			stage := r.open && side == 0
			if !stage {
				all = append(all, r.straight(t, side)...)
			}
			if !stage && !(r.open && side == 3) {
				all = append(all, r.bend(t, side)...)
			}
		}
	}
	return all
}

// straight cuts a side of a tier into blocks of equal width.
func (r *ring) straight(t tier, side int) []block {
	half := r.half[side%2]
	n := max(1, int(math.Round(2*half/(float64(r.block-1)*generatedPitch+generatedAisle))))
	width := 2 * half / float64(n)
	var all []block
	for i := range n {
		b := block{wedge: wedge{side: side, from: -half + float64(i)*width, to: -half + float64(i+1)*width}, tier: t}
		for range t.rows {
			b.seats = append(b.seats, max(0, 1+int(math.Floor((width-generatedAisle)/generatedPitch))))
		}
		all = append(all, b)
	}
	return all
}

// bend cuts a corner of a tier into sectors, whose rows grow with their distance.
func (r *ring) bend(t tier, side int) []block {
	middle := r.corner + r.distance(t, t.rows/2)
	n := max(1, int(math.Round(math.Pi/2*middle/(float64(r.block)*generatedPitch+generatedAisle))))
	angle := math.Pi / 2 / float64(n)
	var all []block
	for i := range n {
		b := block{wedge: wedge{side: side, corner: true, from: float64(i) * angle, to: float64(i+1) * angle}, tier: t}
		for row := range t.rows {
			seats := fitting(angle, r.corner+r.distance(t, row))
			if seats < wedgeSeatsMin {
				seats = 0
			}
			b.seats = append(b.seats, seats)
		}
		all = append(all, b)
	}
	return all
}

// vomitory says whether the mouth of a tunnel is in a row of the block, and takes seats from it.
func (b *block) vomitory(row int) bool {
	return b.tier.rows > 2*(vomitoryFrom+vomitoryRows) && row >= vomitoryFrom && row < vomitoryFrom+vomitoryRows &&
		b.seats[row] >= 3*vomitoryWidth
}

// held is how many seats a row of the block has.
func (b *block) held(row int) int {
	if b.vomitory(row) {
		return b.seats[row] - vomitoryWidth
	}
	return b.seats[row]
}

func countSeats(blocks []block) int {
	n := 0
	for i := range blocks {
		for row := range blocks[i].seats {
			n += blocks[i].held(row)
		}
	}
	return n
}

// draw makes the sections of a house that holds at least so many seats.
func (r *ring) draw(seats int) []Section {
	blocks := r.blocks()
	trim(blocks, countSeats(blocks)-seats)
	var sections []Section
	var entered []Row // the last rows of the lowest tier and the first of the others, by the passages
	number, before := 0, -1
	for i := range blocks {
		b := &blocks[i]
		if b.tier.first != before {
			number, before = (number/100+1)*100, b.tier.first
		}
		number++
		key := strconv.Itoa(number)
		s := Section{Key: key, Name: "Block " + key, Rows: r.rowsOf(b)}
		if len(s.Rows) > 0 {
			at := 0
			if b.tier.first == 0 {
				at = len(s.Rows) - 1
			}
			entered = append(entered, s.Rows[at])
		}
		sections = append(sections, s)
	}
	openAccessible(entered, seats)
	return withoutEmpty(sections)
}

// trim takes away what the blocks hold too many: of the last tier, whole last rows, of the corners
// before the sides, as many stadiums have them lower; and at last the rest, from one end of one row.
func trim(blocks []block, tooMany int) {
	last := blocks[len(blocks)-1].tier.first
	var order []*block
	for i := range blocks {
		if blocks[i].tier.first == last {
			order = append(order, &blocks[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *block) int { return a.rank() - b.rank() })
	for tooMany > 0 {
		for _, b := range order {
			tooMany -= b.shorten(tooMany)
		}
	}
}

// shorten takes at most so many seats from the block's last row, all of them if it may go. A block
// keeps its first row, and of that a seat, so that a small house stays one all around. It returns how
// many it took.
func (b *block) shorten(most int) int {
	row := len(b.seats) - 1
	held := b.held(row)
	switch {
	case row > 0 && held <= most:
		b.seats = b.seats[:row]
		return held
	case row > 0:
		b.seats[row] -= most
		return most
	case held > 1 && most > 0:
		b.seats[row]--
		return 1
	}
	return 0
}

// rank orders blocks for losing a row: corners, then ends, then the long sides.
func (b *block) rank() int {
	switch {
	case b.corner:
		return 0
	case b.side%2 == 1:
		return 1
	}
	return 2
}

// rowsOf draws the rows of a block.
func (r *ring) rowsOf(b *block) []Row {
	var rows []Row
	for row, count := range b.seats {
		if count == 0 {
			continue
		}
		label := rowLetter(row)
		if r.numbers {
			label = strconv.Itoa(row + 1)
		}
		seats := r.line(b, row, count)
		if b.vomitory(row) {
			at := (count - vomitoryWidth) / 2
			seats[at-1].BreakAfter = true
			seats = slices.Delete(seats, at, at+vomitoryWidth)
		}
		number(seats)
		rows = append(rows, Row{Label: label, Seats: seats})
	}
	return rows
}

// line draws a row of a block, centred in it.
func (r *ring) line(b *block, row, count int) []Seat {
	distance := r.distance(b.tier, row)
	seats := make([]Seat, count)
	for k := range seats {
		off := float64(k) - float64(count-1)/2
		var x, y float64
		if b.corner {
			radius := r.corner + distance
			x, y = r.onCorner(b.side, radius, (b.from+b.to)/2+off*stepAngle(radius))
		} else {
			x, y = r.onSide(b.side, distance, (b.from+b.to)/2+off*generatedPitch)
		}
		seats[k].X, seats[k].Y = tenth(x), tenth(y+r.middleY)
	}
	return seats
}

// onSide is the place so far along a side, clockwise from its middle, and so far outside the floor.
func (r *ring) onSide(side int, distance, along float64) (x, y float64) {
	out := r.half[(side+1)%2] + r.corner + distance
	return turned(side, along, -out)
}

// onCorner is the place on the arc of the corner after a side.
func (r *ring) onCorner(side int, radius, angle float64) (x, y float64) {
	sin, cos := math.Sincos(angle)
	return turned(side, r.half[side%2]+radius*sin, -(r.half[(side+1)%2] + radius*cos))
}

// turned turns a point on a screen clockwise by quarters.
func turned(quarters int, x, y float64) (float64, float64) {
	for range quarters {
		x, y = -y, x
	}
	return x, y
}

// floor is the outline of an arena's floor, from the stage to the barrier before the first row.
func (r *ring) floor(scale float64) []Point {
	x := r.half[0] + r.corner
	near, far := 700*scale, r.middleY+r.half[1]+r.corner
	cut := r.corner / 2
	points := []Point{
		{X: -x, Y: near},
		{X: x, Y: near},
		{X: x, Y: far - cut},
		{X: x - cut, Y: far},
		{X: cut - x, Y: far},
		{X: -x, Y: far - cut},
	}
	for i := range points {
		points[i].X, points[i].Y = tenth(points[i].X), tenth(points[i].Y)
	}
	return points
}

// hideSideViews marks the seats that look at the stage from beside it.
func hideSideViews(m *Map) {
	for i := range m.Sections {
		for j := range m.Sections[i].Rows {
			for k := range m.Sections[i].Rows[j].Seats {
				s := &m.Sections[i].Rows[j].Seats[k]
				s.RestrictedView = math.Abs(s.X) > sideViewSlope*s.Y
			}
		}
	}
}
