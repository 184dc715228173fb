package seatmap

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawMap draws any valid map: keys given or left out, any texts, any places.
func drawMap(t *rapid.T) *Map {
	d := &drawer{t: t, name: rapid.StringMatching(`[^\p{Cc}\p{Z}]{1,10}`)}
	m := &Map{Format: Format, Name: d.name.Draw(t, "name"), FocalPoint: d.point()}
	if rapid.Bool().Draw(t, "focal name given") {
		m.FocalName = d.name.Draw(t, "focal name")
	}
	sections := rapid.IntRange(0, 3).Draw(t, "sections")
	areas := rapid.IntRange(0, 3).Draw(t, "areas")
	if sections == 0 {
		areas++
	}
	for i := range sections {
		s := Section{Key: fmt.Sprintf("S%d", i), Name: d.name.Draw(t, "section name")}
		for j := range rapid.IntRange(1, 4).Draw(t, "rows") {
			s.Rows = append(s.Rows, d.row(i, j))
		}
		m.Sections = append(m.Sections, s)
	}
	for i := range areas {
		a := Area{Key: fmt.Sprintf("F%d", i), Name: d.name.Draw(t, "area name"), Capacity: rapid.IntRange(1, areaCapacityMax).Draw(t, "capacity")}
		if rapid.Bool().Draw(t, "outlined") {
			for range rapid.IntRange(outlinePointsMin, 6).Draw(t, "points") {
				a.Outline = append(a.Outline, d.point())
			}
		}
		m.Areas = append(m.Areas, a)
	}
	return m
}

type drawer struct {
	t     *rapid.T
	name  *rapid.Generator[string]
	seats int // so far; a seat's share of its x, so that no two stand at one place
}

func (d *drawer) point() Point {
	v := rapid.Float64Range(-coordinateMax, coordinateMax)
	return Point{X: v.Draw(d.t, "x"), Y: v.Draw(d.t, "y")}
}

func (d *drawer) row(i, j int) Row {
	r := Row{Label: fmt.Sprint(j)}
	if rapid.Bool().Draw(d.t, "row key given") {
		r.Key = fmt.Sprintf("row.%d_%d", i, j)
		r.Label = d.name.Draw(d.t, "row label")
	}
	flag := rapid.Bool()
	for k := range rapid.IntRange(1, 5).Draw(d.t, "seats") {
		d.seats++
		s := Seat{
			Label:          fmt.Sprint(k),
			X:              float64(d.seats) + rapid.Float64Range(0, 0.9).Draw(d.t, "x"),
			Y:              rapid.Float64Range(-coordinateMax, coordinateMax).Draw(d.t, "y"),
			Accessible:     flag.Draw(d.t, "accessible"),
			Companion:      flag.Draw(d.t, "companion"),
			RestrictedView: flag.Draw(d.t, "restricted"),
			BreakAfter:     flag.Draw(d.t, "break"),
		}
		if flag.Draw(d.t, "seat key given") {
			s.Key = fmt.Sprintf("seat.%d_%d_%d", i, j, k)
			s.Label = d.name.Draw(d.t, "seat label")
		}
		r.Seats = append(r.Seats, s)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	schema := compileSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawMap(t)
		data, err := drawn.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		again, err := read.Encode()
		if err != nil || string(again) != string(data) {
			t.Fatalf("encoded twice: %v\n%s\n%s", err, data, again)
		}
		back, err := Parse(again)
		if err != nil || !reflect.DeepEqual(back, read) {
			t.Fatalf("read twice: %v\n%+v\n%+v", err, read, back)
		}
		if err := schema.Validate(instance(t, data)); err != nil {
			t.Fatalf("the schema refuses what Parse takes: %v\n%s", err, data)
		}
		p := NewPlan(read)
		checkPlan(t, p)
		if !reflect.DeepEqual(p, NewPlan(drawn)) {
			t.Fatal("a map with its defaults left out has another plan")
		}
	})
}

// Whatever the bytes, Parse answers with a map that comes back from its own
// bytes, or with faults that a client can act on.
func FuzzParse(f *testing.F) {
	theatre, err := Theatre().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(theatre)
	f.Add([]byte(stall(soundSeat + `,{"label":"2","x":1,"y":0,"break_after":true}`)))
	f.Add([]byte(house("", soundArea)))
	f.Add([]byte("\x9c")) // no text at all
	for _, tt := range refusals() {
		if len(tt.data) < 10_000 { // long ones only slow the mutations down
			f.Add([]byte(tt.data))
		}
	}
	code := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			checkRefusal(t, err, code)
			return
		}
		encoded, err := m.Encode()
		if err != nil {
			t.Fatalf("parsed and does not encode: %v", err)
		}
		back, err := Parse(encoded)
		if err != nil {
			t.Fatalf("encoded and does not parse: %v", err)
		}
		if !reflect.DeepEqual(back, m) {
			t.Fatalf("comes back as another map:\n%+v\n%+v", m, back)
		}
		checkPlan(t, NewPlan(m))
	})
}

func checkRefusal(t *testing.T, err error, code *regexp.Regexp) {
	t.Helper()
	refused, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("%T is no *InvalidError", err)
	}
	if n := len(refused.Faults); n < 1 || n > faultsMax || refused.Malformed && n > 1 {
		t.Fatalf("%d faults, malformed %v", n, refused.Malformed)
	}
	seen := make(map[string]bool)
	for _, fault := range refused.Faults {
		if fault.Field != "" && !strings.HasPrefix(fault.Field, "/") || len(fault.Field) > fieldBytesMax {
			t.Errorf("field %q is no pointer", fault.Field)
		}
		if !code.MatchString(fault.Code) || fault.Detail == "" {
			t.Errorf("fault %+v", fault)
		}
		if seen[fault.Field] {
			t.Errorf("two faults at %q", fault.Field)
		}
		seen[fault.Field] = true
	}
}

func BenchmarkParse60000(b *testing.B) {
	data, err := Grid(1200, 50).Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
