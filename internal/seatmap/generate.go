package seatmap

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Kind is a kind of venue that [Generate] draws.
type Kind string

// The kinds of venues.
const (
	KindTheatre Kind = "theatre" // curved rows before a stage: stalls, and above them a circle and a balcony
	KindArena   Kind = "arena"   // blocks on three sides of a standing floor, the stage at its end
	KindBowl    Kind = "bowl"    // a stadium: tiers of blocks all around a pitch
)

// Kinds lists the kinds of venues.
func Kinds() []Kind { return []Kind{KindTheatre, KindArena, KindBowl} }

// The bounds of a generated venue, in seats.
const (
	GenerateSeatsMin = 10
	GenerateSeatsMax = seatsMax
)

// What seats need of a floor, in centimetres, as all generated venues are drawn. Real houses have
// 50 to 55 from seat to seat and 80 to 100 from row to row; an aisle is a person's width more.
const (
	generatedPitch   = 52.0
	generatedRowStep = 90.0
	generatedAisle   = 130.0 // from seat to seat across it
)

// accessibleOneIn is how many seats there are for each wheelchair place, as building codes ask of
// large houses.
const accessibleOneIn = 100

// Generate draws a synthetic venue with exactly so many seats. It depends on nothing but its
// arguments: the same call always draws the same map, with the same keys. An arena has a standing
// floor besides, whose capacity is not among the seats.
//
// Sections are keyed as people would call them ("STALLS", "104"), rows by letters that leave out I
// and O, or by numbers in a bowl, so that seats are "STALLS-C-12", "104-C-12" and "104-3-12". Wheelchair
// places have a companion's seat beside them. The drawing's unit is a centimetre.
//
// An error says that the kind is none of [Kinds], or that the seats are not from GenerateSeatsMin to
// GenerateSeatsMax.
func Generate(kind Kind, seats int) (*Map, error) {
	if seats < GenerateSeatsMin || seats > GenerateSeatsMax {
		return nil, fmt.Errorf("seat map: a venue has %d to %d seats, not %d", GenerateSeatsMin, GenerateSeatsMax, seats)
	}
	var m *Map
	switch kind {
	case KindTheatre:
		m = theatre(seats)
	case KindArena:
		m = arena(seats)
	case KindBowl:
		m = bowl(seats)
	default:
		return nil, fmt.Errorf("seat map: there is no kind of venue %q", string(kind))
	}
	m.Format = Format
	fillKeys(m)
	return m, nil
}

// rowLetters are the letters of rows. I and O are left out, for they read as 1 and 0.
const rowLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ"

// rowLetter labels the rows of a section, from 0: A to Z, then AA, AB and so on.
func rowLetter(n int) string {
	label := ""
	for n++; n > 0; n = (n - 1) / len(rowLetters) {
		label = string(rowLetters[(n-1)%len(rowLetters)]) + label
	}
	return label
}

// number labels the seats of a row from one end to the other.
func number(seats []Seat) {
	for k := range seats {
		seats[k].Label = strconv.Itoa(k + 1)
	}
}

// numberFromMiddle labels the seats of a row as many playhouses do: from the middle outwards, odd
// numbers to the left and even ones to the right, so that 1 and 2 are neighbours and 1 and 3 are, too.
func numberFromMiddle(seats []Seat) {
	left := (len(seats) + 1) / 2
	for k := range seats {
		n := 2 * (k - left + 1)
		if k < left {
			n = 2*(left-1-k) + 1
		}
		seats[k].Label = strconv.Itoa(n)
	}
}

// narrow takes a seat from an end of a row, from the left one if left. An aisle at the new end is
// none any more.
func narrow(seats []Seat, left bool) []Seat {
	if left {
		return seats[1:]
	}
	seats = seats[:len(seats)-1]
	seats[len(seats)-1].BreakAfter = false
	return seats
}

// openAccessible makes wheelchair places in some rows, each beside its companion's seat, until there
// are enough for so many seats. They begin at the aisles: a pair at each end of each block before the
// next one inwards in any.
func openAccessible(rows []Row, seats int) {
	var ends [][]Seat
	for i := range rows {
		ends = append(ends, between(rows[i].Seats)...)
	}
	missing := (seats + accessibleOneIn - 1) / accessibleOneIn
	for inwards := 0; missing > 0; inwards += 2 {
		before := missing
		for _, seats := range ends {
			last := len(seats) - 1
			for _, pair := range [...][2]int{{inwards, inwards + 1}, {last - inwards, last - inwards - 1}} {
				if missing > 0 && openPair(seats, pair[0], pair[1]) {
					missing--
				}
			}
		}
		if missing == before {
			return // every row is full of them
		}
	}
}

// between cuts a row at its aisles. The parts share its seats.
func between(seats []Seat) [][]Seat {
	var parts [][]Seat
	from := 0
	for k := range seats {
		if seats[k].BreakAfter || k == len(seats)-1 {
			parts = append(parts, seats[from:k+1])
			from = k + 1
		}
	}
	return parts
}

// openPair makes a wheelchair place of a seat, and a companion's of its neighbour. It reports whether
// both were there to be had.
func openPair(seats []Seat, wheelchair, companion int) bool {
	if min(wheelchair, companion) < 0 || max(wheelchair, companion) >= len(seats) ||
		taken(seats[wheelchair]) || taken(seats[companion]) {
		return false
	}
	seats[wheelchair].Accessible, seats[companion].Companion = true, true
	return true
}

func taken(s Seat) bool { return s.Accessible || s.Companion }

// stepAngle is the angle between neighbours on an arc, so that they are a pitch apart as the crow flies.
func stepAngle(radius float64) float64 { return 2 * math.Asin(generatedPitch/2/radius) }

// fitting is how many seats fit on an arc of an angle that gives up an aisle's width.
func fitting(angle, radius float64) int {
	room := angle - generatedAisle/radius
	if room < 0 {
		return 0
	}
	return 1 + int(room/stepAngle(radius))
}

// rounded rounds to a whole multiple of unit, and to no less than one of it.
func rounded(n, unit int) int { return max((n+unit/2)/unit*unit, unit) }

// withoutEmpty drops sections without rows, which a map may not have.
func withoutEmpty(sections []Section) []Section {
	return slices.DeleteFunc(sections, func(s Section) bool { return len(s.Rows) == 0 })
}
