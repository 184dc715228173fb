package seatmap

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// invalid returns what Parse says of data, and fails if it says nothing.
func invalid(t *testing.T, data string) *InvalidError {
	t.Helper()
	m, err := Parse([]byte(data))
	if err == nil {
		t.Fatalf("Parse took it: %.300s", data)
	}
	if m != nil {
		t.Error("Parse returned a map beside the error")
	}
	refused, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("Parse: %T, want *InvalidError", err)
	}
	return refused
}

func placesAndCodes(refused *InvalidError) []string {
	var got []string
	for _, f := range refused.Faults {
		got = append(got, f.Field+" "+f.Code)
	}
	return got
}

func TestParseNamesEveryFault(t *testing.T) {
	for _, tt := range refusals() {
		t.Run(tt.name, func(t *testing.T) {
			refused := invalid(t, tt.data)
			if got := placesAndCodes(refused); !slices.Equal(got, tt.want) {
				t.Errorf("faults:\n got %q\nwant %q", got, tt.want)
			}
			if refused.Malformed {
				t.Error("called malformed, and is not")
			}
			for _, f := range refused.Faults {
				if !strings.HasSuffix(f.Detail, ".") || len(f.Detail) > 400 {
					t.Errorf("detail of %s is no short sentence: %q", f.Field, f.Detail)
				}
			}
		})
	}
}

func TestParseCallsBrokenTextMalformed(t *testing.T) {
	sound := stall(soundSeat)
	for _, tt := range []struct{ name, data, want string }{
		{"nothing", "", " SYNTAX"},
		{"white space", " \n", " SYNTAX"},
		{"cut off", sound[:len(sound)-1], " SYNTAX"},
		{"cut off in a string", sound[:12], "/format SYNTAX"},
		{"not JSON", "format: rowlock-map/1", " SYNTAX"},
		{"a comma too many", strings.Replace(sound, `"y":0}`, `"y":0,}`, 1), seat0 + " SYNTAX"},
		{"a comment", sound + "// the end", " SYNTAX"},
		{"a second map", sound + sound, " SYNTAX"},
		{"bytes after the end", sound + "\x00", " SYNTAX"},
		{"a byte order mark", "\ufeff" + sound, " SYNTAX"},
		{"NaN", strings.Replace(sound, `"y":0`, `"y":NaN`, 1), seat0 + "/y SYNTAX"},
		{"invalid UTF-8", strings.Replace(sound, "Stalls", "\xff", 1), "/sections/0/name INVALID_UTF8"},
		{"half a surrogate", strings.Replace(sound, "Stalls", `\ud800`, 1), "/sections/0/name SYNTAX"},
		{"a field twice", strings.Replace(sound, `"y":0`, `"y":0,"x":1`, 1), seat0 + "/x DUPLICATE_KEY"},
		{"a field twice, once escaped", strings.Replace(sound, `"y":0`, `"y":0,"\u0078":1`, 1), seat0 + "/x DUPLICATE_KEY"},
		{"a field twice in what is unknown", `{"u":{"a":1,"a":2}}`, "/u/a DUPLICATE_KEY"},
		{"too deep", `{"u":` + strings.Repeat("[", 20_000), ""},
		{"another value, and more", `1 2`, " SYNTAX"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused := invalid(t, tt.data)
			if !refused.Malformed || len(refused.Faults) != 1 {
				t.Fatalf("malformed %v, faults %q; want one fault, malformed", refused.Malformed, placesAndCodes(refused))
			}
			if got := placesAndCodes(refused)[0]; tt.want != "" && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if field := refused.Faults[0].Field; len(field) > fieldBytesMax {
				t.Errorf("field is %d bytes long", len(field))
			}
		})
	}
}

// A text that is JSON but no object is another type, as it is of every other body.
func TestAnotherValueThanAnObjectIsOfAnotherType(t *testing.T) {
	for _, data := range []string{`null`, ` null `, `[` + stall(soundSeat) + `]`, `"rowlock-map/1"`, `1`, `true`} {
		refused := invalid(t, data)
		if got := placesAndCodes(refused); refused.Malformed || !slices.Equal(got, []string{" TYPE"}) {
			t.Errorf("%.40s: malformed %v, faults %q; want TYPE alone, not malformed", data, refused.Malformed, got)
		}
	}
}

func TestDuplicatesNameTheOtherPlace(t *testing.T) {
	areas := `{"key":"S","name":"a","capacity":1},{"key":"S-A-1","name":"b","capacity":1}`
	data := strings.Replace(
		stall(soundSeat+`,{"label":"1","x":0,"y":0}`), `"areas":[]`, `"areas":[`+areas+`]`, 1)
	want := map[string]string{
		seat1 + "/key": "taken at " + seat0 + ".",
		seat1:          "the seat at " + seat0 + ".",
		"/areas/0/key": "taken at /sections/0.",
		"/areas/1/key": "the seat at " + seat0 + ".",
	}
	refused := invalid(t, data)
	if len(refused.Faults) != len(want) {
		t.Errorf("got %q", placesAndCodes(refused))
	}
	for _, f := range refused.Faults {
		if !strings.HasSuffix(f.Detail, want[f.Field]) || want[f.Field] == "" {
			t.Errorf("%s: %q, want it to end with %q", f.Field, f.Detail, want[f.Field])
		}
	}
}

func TestFaultsAreReportedTogetherUpToTheirBound(t *testing.T) {
	for _, tt := range []struct {
		name string
		seat string
	}{
		{"of shape", `{"label":"%d","x":%d}`},
		{"of meaning", `{"label":"%d","x":%d,"y":2000000}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{2, faultsMax, faultsMax + 10} {
				data := stall(many(n, func(i int) string { return fmt.Sprintf(tt.seat, i, i) }))
				if got := len(invalid(t, data).Faults); got != min(n, faultsMax) {
					t.Errorf("%d bad seats: %d faults", n, got)
				}
			}
		})
	}
}

// A text that breaks off after any number of faults is still malformed.
func TestSyntaxIsReadToTheEndPastTheBound(t *testing.T) {
	data := stall(many(faultsMax+10, func(int) string { return "0" }))
	if refused := invalid(t, data+"]"); !refused.Malformed || len(refused.Faults) != 1 {
		t.Errorf("got %q", placesAndCodes(refused))
	}
}

func TestErrorTextIsOneLine(t *testing.T) {
	err := invalid(t, `{"areas":[`+soundArea+`]}`)
	want := `seat map: REQUIRED at "/format": The member "format" is missing. (and 2 more)`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if got := (&InvalidError{}).Error(); got != "seat map: invalid" {
		t.Errorf("without faults: %q", got)
	}
}

func TestParseFillsInWhatMayBeOmitted(t *testing.T) {
	data := `{"name":"House","sections":[{"rows":[{"seats":[{"y":2e0,"x":-0.0,"label":"1"},` +
		`{"label":"2","x":1,"y":2,"key":"odd.one","accessible":true,"companion":false,"restricted_view":true,"break_after":true}],` +
		`"label":"A"}],"name":"Stalls","key":"S"}],"focal_point":{"y":1000000,"x":-1000000},"format":"rowlock-map/1"}`
	m, err := Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	want := &Map{
		Format: Format, Name: "House", FocalPoint: Point{X: -1_000_000, Y: 1_000_000},
		Sections: []Section{{Key: "S", Name: "Stalls", Rows: []Row{{Key: "S-A", Label: "A", Seats: []Seat{
			{Key: "S-A-1", Label: "1", X: 0, Y: 2},
			{Key: "odd.one", Label: "2", X: 1, Y: 2, Accessible: true, RestrictedView: true, BreakAfter: true},
		}}}}},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	bytes, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	canonical := `{"format":"rowlock-map/1","name":"House","focal_point":{"x":-1000000,"y":1000000},"sections":[{"key":"S",` +
		`"name":"Stalls","rows":[{"key":"S-A","label":"A","seats":[{"key":"S-A-1","label":"1","x":0,"y":2},` +
		`{"key":"odd.one","label":"2","x":1,"y":2,"accessible":true,"restricted_view":true,"break_after":true}]}]}],"areas":[]}`
	if string(bytes) != canonical {
		t.Errorf("canonical bytes:\n got %s\nwant %s", bytes, canonical)
	}
}

// Everything at its bound is taken, so the bounds are where they are said to be.
func TestBoundsAreInclusive(t *testing.T) {
	wide := func(n int) string { return strings.Repeat("ö", n) }
	outline := many(1000, func(i int) string { return fmt.Sprintf(`{"x":%d,"y":-1000000}`, i) })
	for name, data := range map[string]string{
		"texts, keys, capacity, outline": house(
			`{"key":"`+strings.Repeat("k", 64)+`","name":"`+wide(100)+`","rows":[{"key":"R","label":"`+wide(64)+
				`","seats":[{"key":"0","label":"`+wide(64)+`","x":1000000,"y":-1e6}]}]}`,
			`{"key":"A._-","name":"<b>&amp;</b>","capacity":1000000,"outline":[`+outline+`]},{"key":"B","name":"b","capacity":1.0}`),
		"sections and areas": house(many(1000, func(i int) string {
			return fmt.Sprintf(`{"key":"S%d","name":"S","rows":[{"label":"A","seats":[{"label":"1","x":%d,"y":0}]}]}`, i, i)
		}), many(1000, func(i int) string { return fmt.Sprintf(`{"key":"A%d","name":"A","capacity":1}`, i) })),
	} {
		if _, err := Parse([]byte(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, m := range map[string]*Map{"rows": Grid(10_000, 1), "seats": Grid(1_000, 200)} {
		if _, err := m.Encode(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeRefusesWhatParseWould(t *testing.T) {
	change := func(edit func(m *Map)) *Map {
		m := Theatre()
		edit(m)
		return m
	}
	seat := func(m *Map) *Seat { return &m.Sections[0].Rows[1].Seats[2] }
	for _, tt := range []struct {
		want string
		m    *Map
	}{
		{"/format REQUIRED", change(func(m *Map) { m.Format = "" })},
		{"/format UNSUPPORTED_FORMAT", change(func(m *Map) { m.Format = "rowlock-map/2" })},
		{"/name REQUIRED", change(func(m *Map) { m.Name = "" })},
		{"/name INVALID_TEXT", change(func(m *Map) { m.Name = "\xff" })},
		{"/focal_point/x OUT_OF_RANGE", change(func(m *Map) { m.FocalPoint.X = math.NaN() })},
		{"/sections/0/rows/1/seats/2/y OUT_OF_RANGE", change(func(m *Map) { seat(m).Y = math.Inf(1) })},
		{"/sections/0/rows/1/seats/2/label REQUIRED", change(func(m *Map) { seat(m).Label = "" })},
		{"/sections/0/rows/1/seats/2/key DUPLICATE", change(func(m *Map) { seat(m).Key = "STALLS-A-1" })},
		{"/sections/0/key REQUIRED", change(func(m *Map) { m.Sections[0].Key = "" })},
		{"/areas/0/capacity OUT_OF_RANGE", change(func(m *Map) { m.Areas[0].Capacity = -1 })},
	} {
		t.Run(tt.want, func(t *testing.T) {
			data, err := tt.m.Encode()
			refused, ok := errors.AsType[*InvalidError](err)
			if !ok {
				t.Fatalf("Encode: %v", err)
			}
			if got := placesAndCodes(refused); !slices.Equal(got, []string{tt.want}) || refused.Malformed || data != nil {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestEncodeLeavesTheMapAlone(t *testing.T) {
	build := func() *Map {
		return &Map{
			Format: Format, Name: "House", FocalPoint: Point{X: math.Copysign(0, -1)},
			Sections: []Section{{Key: "S", Name: "S", Rows: []Row{{Label: "A", Seats: []Seat{{Label: "1", X: math.Copysign(0, -1)}}}}}},
			Areas:    []Area{{Key: "F", Name: "F", Capacity: 1, Outline: []Point{{X: math.Copysign(0, -1)}, {X: 1}, {Y: 1}}}},
		}
	}
	m, want := build(), build()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, want) || !math.Signbit(m.Sections[0].Rows[0].Seats[0].X) || !math.Signbit(m.Areas[0].Outline[0].X) {
		t.Errorf("Encode changed the map to %+v", m)
	}
	if strings.Contains(string(data), "-0") || !strings.Contains(string(data), `"key":"S-A-1"`) {
		t.Errorf("not canonical: %s", data)
	}
}
