package seatmap

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// check judges m by every rule that its JSON shape alone does not keep, adds
// what it finds to found, and brings m into canonical form: omitted keys are
// filled in. It is the one judge of maps that were read and of maps built in
// Go, so neither can hold what the other refuses.
func check(m *Map, found *faults) {
	c := &checker{
		faults: found,
		blocks: make(map[string]place),
		rows:   make(map[string]place),
		seats:  make(map[string]place),
		spots:  make(map[Point]place),
	}
	if !c.bounds(m) {
		// A map past its bounds was perhaps not read to its end, and what is
		// missing of it cannot be judged.
		return
	}
	c.header(m)
	for i := range m.Sections {
		c.section(place{section: i + 1}, &m.Sections[i])
	}
	for i := range m.Areas {
		c.area(place{area: i + 1}, &m.Areas[i])
	}
}

// place is where a section, row, seat or area stands, each counted from 1 so
// that the zero place is the map itself. Numbers are kept, not the pointer,
// because of 200,000 places only those with a fault are ever spelt out.
type place struct {
	section, row, seat int
	area               int
}

// String gives the place as a JSON Pointer.
func (p place) String() string {
	var b strings.Builder
	step := func(list string, n int) {
		if n > 0 {
			b.WriteString("/" + list + "/" + strconv.Itoa(n-1))
		}
	}
	step("sections", p.section)
	step("rows", p.row)
	step("seats", p.seat)
	step("areas", p.area)
	return b.String()
}

type checker struct {
	faults *faults
	blocks map[string]place // keys of sections and areas: one namespace, since both are chosen by key
	rows   map[string]place
	seats  map[string]place
	spots  map[Point]place // where each seat stands
}

// fault records a fault of a member of the thing at p, or of the thing itself
// when member is empty. Nothing is spelt out once there are enough.
func (c *checker) fault(p place, member, code, format string, args ...any) {
	if c.faults.full() {
		return
	}
	field := p.String()
	if member != "" {
		field += "/" + member
	}
	c.faults.add(field, code, fmt.Sprintf(format, args...))
}

// bounds reports the lists that take the map past its size. The bounds of rows
// and seats are of the whole map, so the list that passes one is named.
func (c *checker) bounds(m *Map) bool {
	ok := true
	tooMany := func(p place, list string, limit int) {
		c.fault(p, list, CodeTooMany, "A map has at most %d %s.", limit, list)
		ok = false
	}
	if len(m.Sections) > sectionsMax {
		tooMany(place{}, "sections", sectionsMax)
	}
	if len(m.Areas) > areasMax {
		tooMany(place{}, "areas", areasMax)
	}
	rows, seats := 0, 0
	for i := range m.Sections {
		before := rows
		rows += len(m.Sections[i].Rows)
		if before <= rowsMax && rows > rowsMax {
			tooMany(place{section: i + 1}, "rows", rowsMax)
		}
		for j := range m.Sections[i].Rows {
			before := seats
			seats += len(m.Sections[i].Rows[j].Seats)
			if before <= seatsMax && seats > seatsMax {
				tooMany(place{section: i + 1, row: j + 1}, "seats", seatsMax)
			}
		}
	}
	return ok
}

func (c *checker) header(m *Map) {
	switch m.Format {
	case Format:
	case "":
		c.fault(place{}, "format", CodeRequired, "The member %q is missing.", "format")
	default:
		c.fault(place{}, "format", CodeUnsupportedFormat, "This reads the format %q only.", Format)
	}
	c.text(place{}, "name", m.Name, nameRunesMax)
	c.coordinate(place{}, "focal_point/x", &m.FocalPoint.X)
	c.coordinate(place{}, "focal_point/y", &m.FocalPoint.Y)
	if m.FocalName != "" {
		c.text(place{}, "focal_name", m.FocalName, labelRunesMax)
	}

	// Sections always have seats, or a fault of their own that says so.
	empty := len(m.Sections) == 0 && len(m.Areas) == 0
	if empty && !c.faults.covers("/areas") {
		c.fault(place{}, "sections", CodeEmpty, "A map has at least one seat or one area.")
	}
}

func (c *checker) section(p place, s *Section) {
	keyOK := c.key(p, "section", &s.Key, c.blocks)
	c.text(p, "name", s.Name, nameRunesMax)
	if len(s.Rows) == 0 {
		c.fault(p, "rows", CodeEmpty, "A section has at least one row.")
	}
	for j := range s.Rows {
		p.row = j + 1
		c.row(p, &s.Rows[j], s.Key, keyOK)
	}
}

// row judges a row. parentOK says whether the section's key is sound: where it
// is not, keys derived from it are left alone, since they would only repeat
// the one fault for every row and seat.
func (c *checker) row(p place, r *Row, parent string, parentOK bool) {
	labelOK := c.text(p, "label", r.Label, labelRunesMax)
	keyOK := c.keyOrDefault(p, "row", &r.Key, parent, r.Label, parentOK && labelOK, c.rows)
	if len(r.Seats) == 0 {
		c.fault(p, "seats", CodeEmpty, "A row has at least one seat.")
	}
	for k := range r.Seats {
		p.seat = k + 1
		c.seat(p, &r.Seats[k], r.Key, keyOK)
	}
}

func (c *checker) seat(p place, s *Seat, parent string, parentOK bool) {
	labelOK := c.text(p, "label", s.Label, labelRunesMax)
	c.keyOrDefault(p, "seat", &s.Key, parent, s.Label, parentOK && labelOK, c.seats)
	xOK := c.coordinate(p, "x", &s.X)
	yOK := c.coordinate(p, "y", &s.Y)
	if !xOK || !yOK {
		return
	}
	spot := Point{X: s.X, Y: s.Y}
	if other, taken := c.spots[spot]; taken {
		// Of two seats drawn at one place a buyer can only ever choose one.
		c.fault(p, "", CodeOverlap, "The seat stands at the same place as the seat at %s.", other)
		return
	}
	c.spots[spot] = p
}

func (c *checker) area(p place, a *Area) {
	if c.key(p, "area", &a.Key, c.blocks) {
		// A seat and an area are both sold by key, and a line names only that.
		if other, taken := c.seats[a.Key]; taken {
			c.fault(p, "key", CodeDuplicate, "The key %q is already that of the seat at %s.", a.Key, other)
		}
	}
	c.text(p, "name", a.Name, nameRunesMax)
	if a.Capacity < 1 || a.Capacity > areaCapacityMax {
		c.fault(p, "capacity", CodeOutOfRange, "An area's capacity is from 1 to %d.", areaCapacityMax)
	}
	switch n := len(a.Outline); {
	case n > outlinePointsMax:
		c.fault(p, "outline", CodeTooMany, "An outline has at most %d points.", outlinePointsMax)
	case n > 0 && n < outlinePointsMin:
		c.fault(p, "outline", CodeTooFew, "An outline has at least %d points.", outlinePointsMin)
	}
	for i := range a.Outline {
		c.outlinePoint(p, i, &a.Outline[i])
	}
}

// outlinePoint spells out its fields only when they are wrong: a map may have a
// million of them.
func (c *checker) outlinePoint(p place, i int, at *Point) {
	for _, axis := range [...]struct {
		name  string
		value *float64
	}{{"x", &at.X}, {"y", &at.Y}} {
		if inRange(axis.value) {
			continue
		}
		c.outOfRange(p, fmt.Sprintf("outline/%d/%s", i, axis.name))
	}
}

// key judges a key that must be given.
func (c *checker) key(p place, what string, key *string, taken map[string]place) bool {
	if *key == "" {
		c.fault(p, "key", CodeRequired, "The member %q is missing.", "key")
		return false
	}
	return c.claim(p, what, *key, taken)
}

// keyOrDefault judges a key that may be omitted, and fills in its default. It
// answers false where there is no key that another could be derived from.
func (c *checker) keyOrDefault(
	p place, what string, key *string, parent, label string, derivable bool, taken map[string]place,
) bool {
	if *key != "" {
		return c.claim(p, what, *key, taken)
	}
	if !derivable {
		return false
	}
	derived := defaultKey(parent, label)
	if !validKey(derived) {
		c.fault(p, "key", CodeInvalidKey,
			"The default key %s is not a key (%s); give the %s one of its own.", quote(derived), keySyntax, what)
		return false
	}
	*key = derived
	return c.claim(p, what, derived, taken)
}

// claim takes a key for the thing at p, if it is a key and free.
func (c *checker) claim(p place, what, key string, taken map[string]place) bool {
	if !validKey(key) {
		c.fault(p, "key", CodeInvalidKey, "%s is not a key (%s).", quote(key), keySyntax)
		return false
	}
	if other, is := taken[key]; is {
		c.fault(p, "key", CodeDuplicate, "The %s key %q is already taken at %s.", what, key, other)
		return false
	}
	taken[key] = p
	return true
}

// keySyntax says in a sentence what validKey checks.
const keySyntax = "1 to 64 of A–Z a–z 0–9 . _ -, starting with a letter or digit"

// validKey keeps keys to characters that need no escaping wherever a key may
// stand: markup, URLs, SQL, and Redis keys, whose hash tags are written in
// braces.
func validKey(key string) bool {
	if key == "" || len(key) > keyCharactersMax {
		return false
	}
	for i := range len(key) {
		switch b := key[i]; {
		case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		case (b == '.' || b == '_' || b == '-') && i > 0:
		default:
			return false
		}
	}
	return true
}

// text judges a label or name, which is text and never markup: it is escaped
// by whoever shows it, so here only what no reader could see is refused.
func (c *checker) text(p place, member, s string, runesMax int) bool {
	switch {
	case s == "":
		c.fault(p, member, CodeRequired, "The member %q is missing.", member)
	case !utf8.ValidString(s):
		c.fault(p, member, CodeInvalidText, "The text is not valid UTF-8.")
	case utf8.RuneCountInString(s) > runesMax:
		c.fault(p, member, CodeInvalidText, "The text is longer than %d characters.", runesMax)
	case strings.ContainsFunc(s, breaksLine):
		c.fault(p, member, CodeInvalidText, "The text holds control characters or line breaks.")
	case strings.TrimSpace(s) == "":
		c.fault(p, member, CodeInvalidText, "The text is blank.")
	default:
		return true
	}
	return false
}

// breaksLine holds for the control characters and for Unicode's two own line
// breaks, which would split a label in a mail header or a log line.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// coordinate judges a coordinate.
func (c *checker) coordinate(p place, member string, v *float64) bool {
	if !inRange(v) {
		c.outOfRange(p, member)
		return false
	}
	return true
}

func (c *checker) outOfRange(p place, member string) {
	c.fault(p, member, CodeOutOfRange, "A coordinate is from -%d to %d map units.", coordinateMax, coordinateMax)
}

// inRange says whether v is a coordinate, and takes the sign from a negative
// zero: the same place must always have the same bytes.
func inRange(v *float64) bool {
	if *v == 0 {
		*v = 0
	}
	return math.Abs(*v) <= coordinateMax // false for NaN
}
