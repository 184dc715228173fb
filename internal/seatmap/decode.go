package seatmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// unreadableKey stands in for a key that was given but could not be used. It
// is no valid key, so check neither derives the default in its place nor
// takes it for one of another's keys.
const unreadableKey = "\x00"

// decoder walks the tokens of one map. It is written by hand, rather than left
// to json.Unmarshal, because that stops at the first fault, takes null for a
// zero, and cannot tell a member that is missing from one that is zero.
//
// Whatever cannot be read leaves a fault and a value that check passes over:
// NaN for a number, unreadableKey for a key, nothing for the rest.
type decoder struct {
	json   *jsontext.Decoder
	faults *faults
	err    error // the first syntax error; nothing is read after it

	// How many more elements are kept, one more than the bound allows so that
	// check sees the excess. What comes after is skipped, so that a hostile
	// body costs its own length and no multiple of it.
	sectionsLeft, rowsLeft, seatsLeft, areasLeft int
}

// decode reads data into a map. A syntax error is returned at once and alone:
// it hides whatever follows it. Every other fault goes to found.
func decode(data []byte, found *faults) (*Map, error) {
	d := &decoder{
		json:         jsontext.NewDecoder(bytes.NewReader(data)),
		faults:       found,
		sectionsLeft: sectionsMax + 1,
		rowsLeft:     rowsMax + 1,
		seatsLeft:    seatsMax + 1,
		areasLeft:    areasMax + 1,
	}
	m := d.document()
	if d.err == nil {
		switch _, err := d.json.ReadToken(); {
		case err == nil:
			return nil, malformed("", CodeSyntax, "Something follows the end of the map.")
		case err != io.EOF: //nolint:errorlint // the decoder promises a bare io.EOF
			d.err = err
		}
	}
	if d.err != nil {
		return nil, d.syntaxError(data)
	}
	return m, nil
}

// malformed is the error of a text that could not be read to its end.
func malformed(field, code, detail string) error {
	var only faults
	only.add(field, code, detail)
	return &InvalidError{Faults: only.list, Malformed: true}
}

// syntaxError puts the JSON reader's error in our words: its own text is no
// promise and may change with it.
func (d *decoder) syntaxError(data []byte) error {
	field, offset := "", int64(len(data))
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](d.err); ok {
		field, offset = string(syntactic.JSONPointer), syntactic.ByteOffset
	}
	switch {
	case errors.Is(d.err, jsontext.ErrDuplicateName):
		return malformed(field, CodeDuplicateKey,
			fmt.Sprintf("The object has this member already; the second stands at byte %d.", offset))
	case !utf8.Valid(data):
		return malformed(field, CodeInvalidUTF8, "The text is not valid UTF-8.")
	case errors.Is(d.err, io.EOF), errors.Is(d.err, io.ErrUnexpectedEOF):
		return malformed(field, CodeSyntax, "The text ends before the map does.")
	}
	return malformed(field, CodeSyntax, fmt.Sprintf("The text is not valid JSON at byte %d.", offset))
}

func (d *decoder) document() *Map {
	m := &Map{}
	d.object([]string{"format", "name", "focal_point"}, func(name string) bool {
		switch name {
		case "format":
			m.Format = d.format()
		case "name":
			m.Name = d.text()
		case "focal_point":
			m.FocalPoint = d.point()
		case "focal_name":
			m.FocalName = d.text()
		case "sections":
			m.Sections = list(d, &d.sectionsLeft, d.section)
		case "areas":
			m.Areas = list(d, &d.areasLeft, d.area)
		default:
			return false
		}
		return true
	})
	return m
}

func (d *decoder) section() Section {
	var s Section
	d.object([]string{"key", "name", "rows"}, func(name string) bool {
		switch name {
		case "key":
			s.Key = d.key()
		case "name":
			s.Name = d.text()
		case "rows":
			s.Rows = list(d, &d.rowsLeft, d.row)
		default:
			return false
		}
		return true
	})
	return s
}

func (d *decoder) row() Row {
	var r Row
	d.object([]string{"label", "seats"}, func(name string) bool {
		switch name {
		case "key":
			r.Key = d.key()
		case "label":
			r.Label = d.text()
		case "seats":
			r.Seats = list(d, &d.seatsLeft, d.seat)
		default:
			return false
		}
		return true
	})
	return r
}

func (d *decoder) seat() Seat {
	s := Seat{X: math.NaN(), Y: math.NaN()}
	d.object([]string{"label", "x", "y"}, func(name string) bool {
		switch name {
		case "key":
			s.Key = d.key()
		case "label":
			s.Label = d.text()
		case "x":
			s.X = d.number()
		case "y":
			s.Y = d.number()
		case "accessible":
			s.Accessible = d.boolean()
		case "companion":
			s.Companion = d.boolean()
		case "restricted_view":
			s.RestrictedView = d.boolean()
		case "break_after":
			s.BreakAfter = d.boolean()
		default:
			return false
		}
		return true
	})
	return s
}

func (d *decoder) area() Area {
	var a Area
	d.object([]string{"key", "name", "capacity"}, func(name string) bool {
		switch name {
		case "key":
			a.Key = d.key()
		case "name":
			a.Name = d.text()
		case "capacity":
			a.Capacity = d.integer()
		case "outline":
			a.Outline = d.outline()
		default:
			return false
		}
		return true
	})
	return a
}

// outline reads a polygon. One that is given and empty is refused here, since
// the map keeps no difference between that and none.
func (d *decoder) outline() []Point {
	left := outlinePointsMax + 1
	points := list(d, &left, d.point)
	if len(points) == 0 {
		d.fault(CodeEmpty, "The outline has no points; leave it out when there is none.")
	}
	return points
}

func (d *decoder) point() Point {
	p := Point{X: math.NaN(), Y: math.NaN()}
	d.object([]string{"x", "y"}, func(name string) bool {
		switch name {
		case "x":
			p.X = d.number()
		case "y":
			p.Y = d.number()
		default:
			return false
		}
		return true
	})
	return p
}

// format reads the format's name. An empty one is refused here, since check
// takes it for a missing one.
func (d *decoder) format() string {
	s, ok := d.str()
	if ok && s == "" {
		d.fault(CodeUnsupportedFormat, fmt.Sprintf("This reads the format %q only.", Format))
	}
	return s
}

// text reads a label or name. An empty one is refused here, since check takes
// it for a missing one.
func (d *decoder) text() string {
	s, ok := d.str()
	if ok && s == "" {
		d.fault(CodeInvalidText, "The text is empty.")
	}
	return s
}

// key reads a key. An empty one is refused here, since check takes it for one
// that is left to its default.
func (d *decoder) key() string {
	s, ok := d.str()
	if ok && s == "" {
		d.fault(CodeInvalidKey, "The key is empty.")
	}
	if s == "" {
		return unreadableKey
	}
	return s
}

func (d *decoder) str() (s string, ok bool) {
	if !d.is('"') {
		return "", false
	}
	return d.token().String(), d.err == nil
}

func (d *decoder) boolean() bool {
	if d.err == nil && d.json.PeekKind() == 'f' {
		d.token()
		return false
	}
	// Either is a boolean, and a fault names the type once.
	if !d.is('t') {
		return false
	}
	d.token()
	return true
}

// number reads a float. One beyond a float's range becomes an infinity, which
// check refuses as out of range.
func (d *decoder) number() float64 {
	if !d.is('0') {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(d.token().String(), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return math.NaN() // no token: d.err says why
	}
	return v
}

// integer reads a whole number, written in whichever way: JSON and JSON Schema
// both take 500, 500.0 and 5e2 for the same one.
func (d *decoder) integer() int {
	v := d.number()
	switch {
	case math.IsNaN(v):
		return 0
	case math.Abs(v) > math.MaxInt32:
		return math.MaxInt32 // far out of range, and check says so
	case v != math.Trunc(v):
		d.fault(CodeType, "This must be a whole number.")
		return 0
	}
	return int(v)
}

// object reads an object, and calls member after each name to read the value.
// member answers false, having read nothing, when the format has no such name.
func (d *decoder) object(required []string, member func(name string) bool) {
	if !d.is('{') {
		return
	}
	d.token()
	var seen uint // a bit for each of required
	for d.err == nil && d.json.PeekKind() != '}' {
		name := d.token().String()
		if d.err != nil {
			return
		}
		if i := slices.Index(required, name); i >= 0 {
			seen |= 1 << i
		}
		if !member(name) {
			d.fault(CodeUnknownField,
				fmt.Sprintf("The format has no member %s here; names are case-sensitive.", quote(name)))
			d.skip()
		}
	}
	d.token()
	for i, name := range required {
		if seen&(1<<i) == 0 && d.err == nil && !d.faults.full() {
			d.faults.add(d.pointer()+"/"+name, CodeRequired, fmt.Sprintf("The member %q is missing.", name))
		}
	}
}

// list reads an array, keeping at most left elements of it and taking those
// from left. An empty array is nil, as is one that is not there.
func list[T any](d *decoder, left *int, read func() T) []T {
	if !d.is('[') {
		return nil
	}
	d.token()
	var kept []T
	for d.err == nil && d.json.PeekKind() != ']' {
		if *left == 0 {
			d.skip()
			continue
		}
		*left--
		kept = append(kept, read())
	}
	d.token()
	return kept
}

// is says whether the next value is of a kind. If it is not, the value is
// skipped and leaves a fault.
func (d *decoder) is(want jsontext.Kind) bool {
	if d.err != nil {
		return false
	}
	got := d.json.PeekKind()
	if got == want {
		return true
	}
	d.skip()
	d.fault(CodeType, fmt.Sprintf("This must be %s, not %s.", kindName(want), kindName(got)))
	return false
}

// kindName names a JSON type as a sentence would.
func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	default:
		return "null"
	}
}

func (d *decoder) token() jsontext.Token {
	if d.err != nil {
		return jsontext.Null
	}
	t, err := d.json.ReadToken()
	if err != nil {
		d.err = err
		return jsontext.Null
	}
	return t
}

func (d *decoder) skip() {
	if d.err == nil {
		d.err = d.json.SkipValue()
	}
}

// fault records a fault at what was read last: a value, or a member's name.
func (d *decoder) fault(code, detail string) {
	if d.err == nil && !d.faults.full() {
		d.faults.add(d.pointer(), code, detail)
	}
}

func (d *decoder) pointer() string { return string(d.json.StackPointer()) }
