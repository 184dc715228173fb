package seatmap

import (
	"math"
)

// The shape of a generated theatre.
const (
	circleSeatsMin  = 220 // of the house; a smaller one has stalls only
	balconySeatsMin = 900
	bankRowsMax     = 20   // rows before an aisle crosses the level
	sectorSeatsMax  = 22   // seats between two aisles, about
	oneSectorMax    = 16   // a row of so many needs no aisle
	rowsOverWidth   = 2.4  // seats of a row for each row of the stalls, about
	stageDistance   = 350  // from what one looks at to the nearest seat, at least, centimetres
	tierGap         = 320  // from the last row of a level to the first of the next one on the drawing, centimetres
	fanHalfMax      = 1.05 // radians either side of the middle
	restrictedEnds  = 3    // seats at each end of an upper level's first row, behind the rail
)

// fan is a level of a theatre: rows on arcs round one centre, cut by aisles that point to it.
type fan struct {
	centre  float64 // y of the arcs' centre, behind the stage
	first   float64 // radius of the first row
	rows    int
	bank    int     // rows between aisles that cross the level
	sectors []int   // between aisles, for each bank
	half    float64 // radians either side of the middle
}

// theatre draws a theatre: 220 seats and more have a circle, 900 and more a balcony, too.
func theatre(seats int) *Map {
	m := &Map{Name: "Generated Theatre"}
	levels := []struct {
		key, name string
		seats     int
		number    func([]Seat)
	}{{"STALLS", "Stalls", seats, number}, {"CIRCLE", "Circle", 0, numberFromMiddle}, {"BALCONY", "Balcony", 0, number}}
	switch {
	case seats >= balconySeatsMin:
		levels[1].seats, levels[2].seats = seats*24/100, seats*20/100
	case seats >= circleSeatsMin:
		levels[1].seats = seats * 32 / 100
	}
	levels[0].seats -= levels[1].seats + levels[2].seats

	rows := max(1, int(math.Round(math.Sqrt(float64(levels[0].seats)/rowsOverWidth))))
	depth := float64(rows) * generatedRowStep
	f := fan{centre: -(500 + depth*0.6), rows: rows, half: fanHalfMax}
	f.first = -f.centre + stageDistance + depth*0.08
	for i, level := range levels {
		if level.seats == 0 {
			continue
		}
		if i > 0 {
			f.first, f.half = f.radius(f.rows-1)+tierGap, min(f.half*1.1, fanHalfMax)
			f.rows = max(1, int(float64(level.seats)*generatedPitch/(2*f.half*f.first)))
		}
		f.fit(level.seats)
		s := Section{Key: level.key, Name: level.name, Rows: f.draw(level.seats)}
		for j := range s.Rows {
			s.Rows[j].Label = rowLetter(j)
			level.number(s.Rows[j].Seats)
		}
		if i == 0 {
			openAccessible(f.crossAisles(s.Rows), seats)
			// The ends of a wide row come further round than its middle.
			ends := min(s.Rows[0].Seats[0].Y, s.Rows[0].Seats[len(s.Rows[0].Seats)-1].Y)
			m.FocalPoint.Y = tenth(min(0, ends-stageDistance))
		} else {
			hideBehindRail(s.Rows[0].Seats)
		}
		m.Sections = append(m.Sections, s)
	}
	return m
}

// crossAisles are the rows at which one gets in: the last of each bank, from the back.
func (f *fan) crossAisles(rows []Row) []Row {
	var entered []Row
	for j := len(rows) - 1; j >= 0; j-- {
		if j == len(rows)-1 || (j+1)%f.bank == 0 {
			entered = append(entered, rows[j])
		}
	}
	return entered
}

// hideBehindRail marks the ends of an upper level's first row.
func hideBehindRail(seats []Seat) {
	for k := range seats {
		seats[k].RestrictedView = min(k, len(seats)-1-k) < restrictedEnds && len(seats) > 4*restrictedEnds
	}
}

// radius is that of a row, from 0. Where an aisle crosses the house the next row is a step further.
func (f *fan) radius(row int) float64 {
	return f.first + float64(row)*generatedRowStep + float64(row/f.bank)*generatedAisle
}

// fit makes the level as wide, and if that is not enough as deep, as so many seats need.
func (f *fan) fit(seats int) {
	widest := f.half
	for ; ; f.rows++ {
		f.half = widest
		banks := (f.rows + bankRowsMax - 1) / bankRowsMax
		f.bank = (f.rows + banks - 1) / banks
		f.aisles(seats)
		if f.seats() >= seats {
			break
		}
	}
	// Wider holds never less as long as the aisles stay the same, so the narrowest can be searched for.
	low, high := 0.0, widest
	for range 40 {
		f.half = (low + high) / 2
		if f.seats() >= seats {
			high = f.half
		} else {
			low = f.half
		}
	}
	f.half = high
}

// aisles decides how many sectors each bank has, by how long its last row will be.
func (f *fan) aisles(seats int) {
	f.sectors = nil
	middle := f.radius(f.rows / 2)
	for from := 0; from < f.rows; from += f.bank {
		last := min(from+f.bank, f.rows) - 1
		width := float64(seats) / float64(f.rows) * f.radius(last) / middle
		n := 1
		if width > oneSectorMax {
			n = max(2, int(math.Ceil(width/sectorSeatsMax)))
		}
		f.sectors = append(f.sectors, n)
	}
}

// inSector is how many seats a row has between two aisles.
func (f *fan) inSector(row int) (sectors, seats int) {
	sectors = f.sectors[row/f.bank]
	return sectors, fitting(2*f.half/float64(sectors), f.radius(row))
}

// seats is how many the level holds.
func (f *fan) seats() int {
	n := 0
	for row := range f.rows {
		sectors, seats := f.inSector(row)
		n += sectors * seats
	}
	return n
}

// draw makes the rows, without labels. What the level holds too many is taken from the ends of its
// rows, from the back, where sound desks and doors are.
func (f *fan) draw(seats int) []Row {
	rows := make([]Row, f.rows)
	for row := range rows {
		rows[row].Seats = f.arc(row)
	}
	tooMany := f.seats() - seats
	for left := true; tooMany > 0; {
		for row := len(rows) - 1; row >= 0 && tooMany > 0; row-- {
			for range 2 {
				if tooMany > 0 && len(rows[row].Seats) > 1 {
					rows[row].Seats = narrow(rows[row].Seats, left)
					left = !left
					tooMany--
				}
			}
		}
	}
	return rows
}

// arc draws a row: each sector's seats stand in its middle.
func (f *fan) arc(row int) []Seat {
	radius := f.radius(row)
	sectors, count := f.inSector(row)
	width, step := 2*f.half/float64(sectors), stepAngle(radius)
	seats := make([]Seat, 0, sectors*count)
	for sector := range sectors {
		middle := -f.half + (float64(sector)+0.5)*width
		for k := range count {
			sin, cos := math.Sincos(middle + (float64(k)-float64(count-1)/2)*step)
			seats = append(seats, Seat{
				X: tenth(radius * sin), Y: tenth(radius*cos + f.centre),
				BreakAfter: k == count-1 && sector < sectors-1,
			})
		}
	}
	return seats
}
