package seatmap

import (
	"fmt"
	"math"
	"strconv"
)

// The demo theatre is drawn in centimetres: the focal point is the middle of
// the stage's edge, the audience sits at positive y, and x grows to its right.
const (
	stallsStart   = 1_250.0 // from the stage's edge to row A: the floor lies between
	stallsRowStep = 95.0
	stallsPitch   = 54.0
	balconyStart  = 2_300.0
	balconyStep   = 100.0
	balconyPitch  = 56.0
	aisleWidth    = 110.0 // from seat to seat across it
	// The rows bend round a point well behind the stage, which is slighter than
	// circles round the stage itself and keeps the middle seats the nearest.
	curveDepth = 1_800.0
)

// Theatre is the demo: a synthetic theatre of 300 seats and a standing floor
// for 500. Each call returns a map of its own.
func Theatre() *Map {
	m := &Map{
		Format: Format,
		Name:   "Demo Theatre",
		Sections: []Section{
			{Key: "STALLS", Name: "Stalls", Rows: stalls()},
			{Key: "BALCONY", Name: "Balcony", Rows: balcony()},
		},
		Areas: []Area{{Key: "FLOOR", Name: "Floor", Capacity: 500, Outline: []Point{
			{X: -700, Y: 200}, {X: 700, Y: 200}, {X: 800, Y: 600}, {X: 700, Y: 1_000}, {X: -700, Y: 1_000}, {X: -800, Y: 600},
		}}},
	}
	fillKeys(m)
	return m
}

// stalls are the rows A to H with an aisle down the middle. The last row has a
// wheelchair place at each end, by the doors, and a companion's seat beside it.
func stalls() []Row {
	var rows []Row
	for i, count := range []int{20, 20, 22, 22, 24, 24, 26, 26} {
		y := stallsStart + float64(i)*stallsRowStep
		row := curvedRow(string(rune('A'+i)), y, stallsPitch, count, count/2)
		rows = append(rows, row)
	}
	last := rows[len(rows)-1].Seats
	last[0].Accessible, last[1].Companion = true, true
	last[len(last)-1].Accessible, last[len(last)-2].Companion = true, true
	return rows
}

// balcony are four rows with two aisles. The rail hides part of the stage from
// the outer seats of the first row.
func balcony() []Row {
	var rows []Row
	for i, count := range []int{30, 30, 28, 28} {
		y := balconyStart + float64(i)*balconyStep
		row := curvedRow(string(rune('A'+i)), y, balconyPitch, count, 10, count-10)
		rows = append(rows, row)
	}
	first := rows[0].Seats
	for _, k := range []int{0, 1, 2, len(first) - 3, len(first) - 2, len(first) - 1} {
		first[k].RestrictedView = true
	}
	return rows
}

// curvedRow draws count seats numbered from 1 on an arc whose middle is at y,
// with an aisle after each of the numbers in aisles.
func curvedRow(label string, y, pitch float64, count int, aisles ...int) Row {
	radius := y + curveDepth
	// Places along the row first, then the whole of it is centred and bent.
	along := make([]float64, count)
	for k := 1; k < count; k++ {
		step := pitch
		for _, after := range aisles {
			if k == after {
				step = aisleWidth
			}
		}
		along[k] = along[k-1] + step
	}
	middle := along[count-1] / 2

	row := Row{Label: label, Seats: make([]Seat, count)}
	for k := range row.Seats {
		sin, cos := math.Sincos((along[k] - middle) / radius)
		row.Seats[k] = Seat{
			Label: strconv.Itoa(k + 1),
			X:     tenth(radius * sin),
			Y:     tenth(radius*cos - curveDepth),
		}
	}
	for _, after := range aisles {
		row.Seats[after-1].BreakAfter = true
	}
	return row
}

// tenth rounds to a millimetre of a drawing in centimetres. A drawing needs no
// more, and the digits that processors disagree on are gone.
func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// Grid is a plain hall for tests and load runs: rows of perRow seats in straight
// lines, 50 rows a section, rows labelled through the whole hall. The sections
// are "S1", "S2"…, so the first seat is "S1-1-1". It panics when the hall has
// no seats or is past the bounds of a map.
func Grid(rows, perRow int) *Map {
	const (
		rowsPerSection = 50
		pitch          = 10.0 // map units, as are the two below
		rowStep        = 20.0
		start          = 100.0
	)
	if rows < 1 || rows > rowsMax || perRow < 1 || perRow > seatsMax/rows {
		panic(fmt.Sprintf("seatmap: no map has %d rows of %d seats", rows, perRow))
	}
	m := &Map{Format: Format, Name: fmt.Sprintf("Grid of %d rows of %d", rows, perRow)}
	for r := range rows {
		if r%rowsPerSection == 0 {
			n := strconv.Itoa(len(m.Sections) + 1)
			m.Sections = append(m.Sections, Section{Key: "S" + n, Name: "Section " + n})
		}
		row := Row{Label: strconv.Itoa(r + 1), Seats: make([]Seat, perRow)}
		for k := range row.Seats {
			row.Seats[k] = Seat{
				Label: strconv.Itoa(k + 1),
				X:     (float64(k) - float64(perRow-1)/2) * pitch,
				Y:     start + float64(r)*rowStep,
			}
		}
		section := &m.Sections[len(m.Sections)-1]
		section.Rows = append(section.Rows, row)
	}
	fillKeys(m)
	return m
}

// fillKeys writes out the default keys of a map that gives none, so that a map
// made here equals the same map read from its bytes.
func fillKeys(m *Map) {
	for i := range m.Sections {
		s := &m.Sections[i]
		for j := range s.Rows {
			r := &s.Rows[j]
			r.Key = defaultKey(s.Key, r.Label)
			for k := range r.Seats {
				r.Seats[k].Key = defaultKey(r.Key, r.Seats[k].Label)
			}
		}
	}
}
