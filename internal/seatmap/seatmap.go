// Package seatmap holds the seat map: Rowlock's file format for a venue's
// drawing, its strict reading, the index of its seats that everything else
// counts by, and which seats are neighbours.
//
// A map is read by [Parse], which refuses whatever it does not know and names
// every fault by its place. It is written by [Map.Encode] in one canonical
// form, so two maps are the same map when their bytes are. A [Plan] is built
// once from a map and then only read.
//
// The package knows nothing of prices, holds or events: a map says where a
// seat is, never whether it can be bought. The format is described for others
// in docs/seatmap.schema.json.
package seatmap

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Format is the one format this package reads and writes, as it stands in a
// map's "format" member.
const Format = "rowlock-map/1"

// The bounds of a map. They keep a map small enough to be held in memory by
// every node, sent to a phone, and indexed by 32-bit numbers.
const (
	sectionsMax      = 1_000
	rowsMax          = 10_000 // in all sections together
	seatsMax         = 200_000
	areasMax         = 1_000
	areaCapacityMax  = 1_000_000 // units of one area
	outlinePointsMin = 3         // fewer enclose nothing
	outlinePointsMax = 1_000
	keyCharactersMax = 64
	labelRunesMax    = 64
	nameRunesMax     = 100
	coordinateMax    = 1_000_000 // map units, either side of zero
	faultsMax        = 50        // reported at once
)

// Map is a drawing of a venue: its numbered seats and its general-admission
// areas. Coordinates are in map units, which are whatever the drawing uses; y
// grows away from the focal point in our own maps, but nothing depends on it.
//
// A Map is plain data and not safe for concurrent change. Only what [Parse],
// [Theatre], [Grid] and [Generate] return, or [Map.Encode] accepts, is known to be valid.
type Map struct {
	Format     string    `json:"format"`
	Name       string    `json:"name"`
	FocalPoint Point     `json:"focal_point"`         // what the audience looks at
	FocalName  string    `json:"focal_name,omitzero"` // what people call that: "Pitch"; empty: a stage
	Sections   []Section `json:"sections"`
	Areas      []Area    `json:"areas"`
}

// Point is a place on the drawing, in map units.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Section is a part of the house that has rows.
type Section struct {
	Key  string `json:"key"`
	Name string `json:"name"`
	Rows []Row  `json:"rows"`
}

// Row is a row of seats, in the order in which they stand beside each other.
// That order, not the labels, says which seats are neighbours, so a row may be
// numbered from either end.
type Row struct {
	Key   string `json:"key"` // empty: the section's key, "-", the label
	Label string `json:"label"`
	Seats []Seat `json:"seats"`
}

// Seat is one place to sit.
type Seat struct {
	Key            string  `json:"key"` // empty: the row's key, "-", the label
	Label          string  `json:"label"`
	X              float64 `json:"x"` // map units
	Y              float64 `json:"y"` // map units
	Accessible     bool    `json:"accessible,omitzero"`
	Companion      bool    `json:"companion,omitzero"` // belongs to the accessible seat beside it
	RestrictedView bool    `json:"restricted_view,omitzero"`
	BreakAfter     bool    `json:"break_after,omitzero"` // an aisle or pillar before the next seat of the row
}

// Area is a general-admission area: a number of units without seats.
type Area struct {
	Key      string  `json:"key"`
	Name     string  `json:"name"`
	Capacity int     `json:"capacity"`          // units
	Outline  []Point `json:"outline,omitempty"` // a polygon, not closed: the last point joins the first
}

// Parse reads a map and fills in the keys that it leaves to their defaults.
// The error is always an [*InvalidError] that lists up to 50 faults together,
// so that whoever draws the map mends them in one go. Parse does not bound the
// length of data; the caller does, before it reads it.
func Parse(data []byte) (*Map, error) {
	var found faults
	m, syntax := decode(data, &found)
	if syntax != nil {
		return nil, syntax
	}
	check(m, &found)
	if err := found.err(); err != nil {
		return nil, err
	}
	return m, nil
}

// Encode writes the canonical bytes of m: every key written out, members in
// the order of the types above, no white space. m itself is left as it is.
// The error is an [*InvalidError] when m breaks a rule of the format, so no map
// is ever written that [Parse] would refuse.
func (m *Map) Encode() ([]byte, error) {
	var found faults
	canonical := m.clone()
	check(canonical, &found)
	if err := found.err(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(canonical)
	if err != nil {
		return nil, fmt.Errorf("seat map: encode: %w", err)
	}
	return data, nil
}

// clone copies m as deep as check writes: the sections, rows and seats get
// their keys, and zeros lose their sign.
func (m *Map) clone() *Map {
	c := *m
	c.Sections = append([]Section(nil), m.Sections...)
	for i := range c.Sections {
		rows := append([]Row(nil), c.Sections[i].Rows...)
		for j := range rows {
			rows[j].Seats = append([]Seat(nil), rows[j].Seats...)
		}
		c.Sections[i].Rows = rows
	}
	c.Areas = append([]Area(nil), m.Areas...)
	for i := range c.Areas {
		c.Areas[i].Outline = append([]Point(nil), c.Areas[i].Outline...)
	}
	return &c
}

// defaultKey is the key of a row or seat that gives none: that of what it
// stands in, and its label.
func defaultKey(parent, label string) string { return parent + "-" + label }
