package seatmap

import (
	"fmt"
	"slices"
	"strings"
)

// house wraps sections and areas, each the inside of an array, in a map that
// is sound otherwise.
func house(sections, areas string) string {
	return `{"format":"rowlock-map/1","name":"House","focal_point":{"x":0,"y":-100},` +
		`"sections":[` + sections + `],"areas":[` + areas + `]}`
}

// stall wraps seats in section S, row A.
func stall(seats string) string {
	return house(`{"key":"S","name":"Stalls","rows":[{"label":"A","seats":[`+seats+`]}]}`, "")
}

const (
	soundSeat = `{"label":"1","x":0,"y":0}`
	soundArea = `{"key":"FLOOR","name":"Floor","capacity":500}`
	seat0     = "/sections/0/rows/0/seats/0"
	seat1     = "/sections/0/rows/0/seats/1"
)

// many joins n elements, each made from its number.
func many(n int, element func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return strings.Join(all, ",")
}

func numberedSeat(i int) string { return fmt.Sprintf(`{"label":"%d","x":%d,"y":0}`, i, i) }

// refusal is a map that Parse refuses, and why.
type refusal struct {
	name string
	data string
	want []string // "field CODE", in the order they are reported
	// notInSchema marks faults that a schema has no words for: it takes the map.
	notInSchema bool
}

// mapRefusals are faults of the map's own members.
func mapRefusals() []refusal {
	return []refusal{
		{name: "nothing in it", data: `{}`, want: []string{
			"/format REQUIRED", "/name REQUIRED", "/focal_point REQUIRED", "/sections EMPTY",
		}},
		{name: "no seat and no area", data: house("", ""), want: []string{"/sections EMPTY"}},
		{
			name: "another version",
			data: strings.Replace(house("", soundArea), "map/1", "map/2", 1),
			want: []string{"/format UNSUPPORTED_FORMAT"},
		},
		{
			name: "empty format",
			data: strings.Replace(house("", soundArea), "rowlock-map/1", "", 1),
			want: []string{"/format UNSUPPORTED_FORMAT"},
		},
		{
			name: "unknown field at the top",
			data: strings.Replace(house("", soundArea), `{"format"`, `{"colour":{"deep":[1]},"format"`, 1),
			want: []string{"/colour UNKNOWN_FIELD"},
		},
		{
			name: "wrong case",
			data: strings.Replace(house("", soundArea), `"name":"House"`, `"Name":"House"`, 1),
			want: []string{"/Name UNKNOWN_FIELD", "/name REQUIRED"},
		},
		{
			name: "null is no value",
			data: strings.Replace(house("", soundArea), `"name":"House"`, `"name":null`, 1),
			want: []string{"/name TYPE"},
		},
		{
			name: "sections of the wrong type hide that there are none",
			data: strings.Replace(house("", ""), `"sections":[]`, `"sections":{}`, 1),
			want: []string{"/sections TYPE"},
		},
		{
			name: "areas of the wrong type hide that there are none",
			data: strings.Replace(house("", ""), `"areas":[]`, `"areas":7`, 1),
			want: []string{"/areas TYPE"},
		},
		{
			name: "focal point half there",
			data: strings.Replace(house("", soundArea), `{"x":0,"y":-100}`, `{"x":0,"z":1}`, 1),
			want: []string{"/focal_point/z UNKNOWN_FIELD", "/focal_point/y REQUIRED"},
		},
		{
			name: "focal point out of range",
			data: strings.Replace(house("", soundArea), `"y":-100`, `"y":-1000000.5`, 1),
			want: []string{"/focal_point/y OUT_OF_RANGE"},
		},
		{
			name: "focal name empty",
			data: strings.Replace(house("", soundArea), `"name":"House"`, `"name":"House","focal_name":""`, 1),
			want: []string{"/focal_name INVALID_TEXT"},
		},
		{
			name: "focal name too long",
			data: strings.Replace(house("", soundArea), `"name":"House"`, `"name":"House","focal_name":"`+strings.Repeat("x", 65)+`"`, 1),
			want: []string{"/focal_name INVALID_TEXT"},
		},
		{
			name: "focal point of the wrong type",
			data: strings.Replace(house("", soundArea), `{"x":0,"y":-100}`, `[0,-100]`, 1),
			want: []string{"/focal_point TYPE"},
		},
	}
}

// shapeRefusals are members that are missing, unknown or of the wrong type.
func shapeRefusals() []refusal {
	return []refusal{
		{
			name: "wrong types everywhere in a seat",
			data: stall(`{"key":1,"label":2,"x":"3","y":null,"accessible":1,"companion":"no","restricted_view":null,"break_after":[]}`),
			want: []string{
				seat0 + "/key TYPE", seat0 + "/label TYPE", seat0 + "/x TYPE", seat0 + "/y TYPE", seat0 + "/accessible TYPE",
				seat0 + "/companion TYPE", seat0 + "/restricted_view TYPE", seat0 + "/break_after TYPE",
			},
		},
		{
			name: "elements that are no objects",
			data: house(`7,{"key":"S","name":"S","rows":["A",{"label":"B","seats":[null,`+soundSeat+`]}]}`, "true"),
			want: []string{"/sections/0 TYPE", "/sections/1/rows/0 TYPE", "/sections/1/rows/1/seats/0 TYPE", "/areas/0 TYPE"},
		},
		{name: "seat without anything", data: stall(`{}`), want: []string{
			seat0 + "/label REQUIRED", seat0 + "/x REQUIRED", seat0 + "/y REQUIRED",
		}},
		{name: "row and section without anything", data: house(`{},{"key":"S","name":"S","rows":[{}]}`, ""), want: []string{
			"/sections/0/key REQUIRED", "/sections/0/name REQUIRED", "/sections/0/rows REQUIRED",
			"/sections/1/rows/0/label REQUIRED", "/sections/1/rows/0/seats REQUIRED",
		}},
		{name: "area without anything", data: house("", `{}`), want: []string{
			"/areas/0/key REQUIRED", "/areas/0/name REQUIRED", "/areas/0/capacity REQUIRED",
		}},
		{
			name: "section without rows", data: house(`{"key":"S","name":"S","rows":[]}`, ""),
			want: []string{"/sections/0/rows EMPTY"},
		},
		{
			name: "row without seats", data: stall(""),
			want: []string{"/sections/0/rows/0/seats EMPTY"},
		},
		{name: "unknown field of a seat", data: stall(`{"label":"1","x":0,"y":0,"Accessible":true,"price":1}`), want: []string{
			seat0 + "/Accessible UNKNOWN_FIELD", seat0 + "/price UNKNOWN_FIELD",
		}},
		{
			name: "pointer of an odd name is escaped",
			data: strings.Replace(house("", soundArea), `{"format"`, `{"a/b~c":1,"format"`, 1),
			want: []string{"/a~1b~0c UNKNOWN_FIELD"},
		},
		{
			name: "pointer of a very long name ends above it",
			data: stall(`{"label":"1","x":0,"y":0,"` + strings.Repeat("n", 10_000) + `":1}`),
			want: []string{seat0 + " UNKNOWN_FIELD"},
		},
	}
}

// twoRows is a section whose rows have the given keys.
func twoRows(first, second string) string {
	return house(`{"key":"S","name":"S","rows":[{"key":"`+first+`","label":"A","seats":[`+soundSeat+
		`]},{"key":"`+second+`","label":"B","seats":[{"label":"1","x":1,"y":0}]}]}`, "")
}

// keyRefusals are keys that are no keys.
func keyRefusals() []refusal {
	seatKey := func(key string) string { return stall(`{"key":"` + key + `","label":"1","x":0,"y":0}`) }
	return []refusal{
		{name: "empty key", data: seatKey(""), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key of 65", data: seatKey(strings.Repeat("k", 65)), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key with braces", data: seatKey("{S}"), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key with a slash", data: seatKey("S/1"), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key with a space", data: seatKey("S 1"), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key with a line break", data: seatKey(`S1\n`), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key with markup", data: seatKey("<b>"), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key that starts with a hyphen", data: seatKey("-S1"), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key that starts with a dot", data: seatKey(".S1"), want: []string{seat0 + "/key INVALID_KEY"}},
		{name: "key of other letters", data: seatKey("Ä1"), want: []string{seat0 + "/key INVALID_KEY"}},
		{
			name: "a bad section key stands alone, not once for every row and seat",
			data: strings.Replace(stall(soundSeat), `"key":"S"`, `"key":"S 1"`, 1),
			want: []string{"/sections/0/key INVALID_KEY"},
		},
		{name: "a bad row key stands alone", data: twoRows("!", "B"), want: []string{"/sections/0/rows/0/key INVALID_KEY"}},
		{
			name: "a default key that is no key", data: stall(`{"label":"1 bis","x":0,"y":0}`),
			want: []string{seat0 + "/key INVALID_KEY"}, notInSchema: true,
		},
		{
			name: "a default key that grows too long", data: stall(`{"label":"` + strings.Repeat("1", 64) + `","x":0,"y":0}`),
			want: []string{seat0 + "/key INVALID_KEY"}, notInSchema: true,
		},
		{
			name: "a default row key that is no key", data: strings.Replace(stall(soundSeat), `"label":"A"`, `"label":"Ä"`, 1),
			want: []string{"/sections/0/rows/0/key INVALID_KEY"}, notInSchema: true,
		},
	}
}

// takenRefusals are keys that are taken.
func takenRefusals() []refusal {
	return []refusal{
		{
			name: "two seats of one key", notInSchema: true,
			data: stall(`{"key":"K","label":"1","x":0,"y":0},{"key":"K","label":"2","x":1,"y":0}`),
			want: []string{seat1 + "/key DUPLICATE"},
		},
		{
			name: "a key that cannot be read takes no other's", data: stall(`{"key":7,"label":"1","x":0,"y":0},{"key":"S-A-1","label":"2","x":1,"y":0}`),
			want: []string{seat0 + "/key TYPE"},
		},
		{
			name: "two seats of one label and no keys", notInSchema: true,
			data: stall(soundSeat + `,{"label":"1","x":1,"y":0}`),
			want: []string{seat1 + "/key DUPLICATE"},
		},
		{
			name: "a key that is another's default", notInSchema: true,
			data: stall(soundSeat + `,{"key":"S-A-1","label":"2","x":1,"y":0}`),
			want: []string{seat1 + "/key DUPLICATE"},
		},
		{
			name: "two rows of one key", data: twoRows("R", "R"), notInSchema: true,
			want: []string{"/sections/0/rows/1/key DUPLICATE"},
		},
		{
			name: "two sections of one key", notInSchema: true,
			data: house(many(2, func(i int) string {
				return fmt.Sprintf(`{"key":"S","name":"S","rows":[{"label":"A","seats":[{"label":"1","x":%d,"y":0}]}]}`, i)
			}), ""),
			want: []string{"/sections/1/key DUPLICATE"},
		},
		{
			name: "two areas of one key", data: house("", soundArea+","+soundArea), notInSchema: true,
			want: []string{"/areas/1/key DUPLICATE"},
		},
		{
			name: "an area with a section's key", notInSchema: true,
			data: strings.Replace(stall(soundSeat), `"areas":[]`, `"areas":[{"key":"S","name":"S","capacity":1}]`, 1),
			want: []string{"/areas/0/key DUPLICATE"},
		},
		{
			name: "an area with a seat's key", notInSchema: true,
			data: strings.Replace(stall(soundSeat), `"areas":[]`, `"areas":[{"key":"S-A-1","name":"S","capacity":1}]`, 1),
			want: []string{"/areas/0/key DUPLICATE"},
		},
	}
}

// valueRefusals are texts, numbers and outlines out of bounds.
func valueRefusals() []refusal {
	label := func(text string) string { return stall(`{"key":"K","label":"` + text + `","x":0,"y":0}`) }
	x := func(number string) string { return stall(`{"label":"1","x":` + number + `,"y":0}`) }
	capacity := func(number string) string {
		return house("", `{"key":"FLOOR","name":"Floor","capacity":`+number+`}`)
	}
	outline := func(points string) string {
		return house("", `{"key":"FLOOR","name":"Floor","capacity":1,"outline":[`+points+`]}`)
	}
	point := func(i int) string { return fmt.Sprintf(`{"x":%d,"y":0}`, i) }
	return []refusal{
		{name: "empty label", data: label(""), want: []string{seat0 + "/label INVALID_TEXT"}},
		{name: "blank label", data: label("  "), want: []string{seat0 + "/label INVALID_TEXT"}},
		{name: "label of 65", data: label(strings.Repeat("ö", 65)), want: []string{seat0 + "/label INVALID_TEXT"}},
		{name: "label with a line break", data: label(`1\n2`), want: []string{seat0 + "/label INVALID_TEXT"}},
		{name: "label with a NUL", data: label(`1\u0000`), want: []string{seat0 + "/label INVALID_TEXT"}},
		{name: "label with a C1 control", data: label(`1\u0085`), want: []string{seat0 + "/label INVALID_TEXT"}},
		{name: "label with a line separator", data: label(`1\u2028`), want: []string{seat0 + "/label INVALID_TEXT"}},
		{
			name: "a bad label leaves the default key alone", data: stall(`{"label":"1\t","x":0,"y":0}`),
			want: []string{seat0 + "/label INVALID_TEXT"},
		},
		{
			name: "name of 101", data: strings.Replace(house("", soundArea), "House", strings.Repeat("H", 101), 1),
			want: []string{"/name INVALID_TEXT"},
		},
		{
			name: "section name with a control", data: strings.Replace(stall(soundSeat), "Stalls", `\u007f`, 1),
			want: []string{"/sections/0/name INVALID_TEXT"},
		},
		{
			name: "blank area name", data: strings.Replace(house("", soundArea), "Floor", ` `, 1),
			want: []string{"/areas/0/name INVALID_TEXT"},
		},
		{name: "coordinate too large", data: x("1000000.1"), want: []string{seat0 + "/x OUT_OF_RANGE"}},
		{name: "coordinate too small", data: x("-1000001"), want: []string{seat0 + "/x OUT_OF_RANGE"}},
		{name: "coordinate past any float", data: x("1e999"), want: []string{seat0 + "/x OUT_OF_RANGE"}},
		{
			name: "two seats at one place", data: stall(soundSeat + `,{"label":"2","x":-0.0,"y":0e5}`), notInSchema: true,
			want: []string{seat1 + " OVERLAP"},
		},
		{
			name: "seats that are nowhere do not overlap",
			data: stall(`{"label":"1","x":0,"y":2e6},{"label":"2","x":0,"y":2e6}`),
			want: []string{seat0 + "/y OUT_OF_RANGE", seat1 + "/y OUT_OF_RANGE"},
		},
		{name: "capacity 0", data: capacity("0"), want: []string{"/areas/0/capacity OUT_OF_RANGE"}},
		{name: "capacity -1", data: capacity("-1"), want: []string{"/areas/0/capacity OUT_OF_RANGE"}},
		{name: "capacity 1000001", data: capacity("1000001"), want: []string{"/areas/0/capacity OUT_OF_RANGE"}},
		{name: "capacity past any integer", data: capacity("1e30"), want: []string{"/areas/0/capacity OUT_OF_RANGE"}},
		{name: "capacity of a half", data: capacity("1.5"), want: []string{"/areas/0/capacity TYPE"}},
		{name: "capacity in words", data: capacity(`"5"`), want: []string{"/areas/0/capacity TYPE"}},
		{name: "empty outline", data: outline(""), want: []string{"/areas/0/outline EMPTY"}},
		{name: "outline of two points", data: outline(many(2, point)), want: []string{"/areas/0/outline TOO_FEW"}},
		{name: "outline of 1001 points", data: outline(many(1001, point)), want: []string{"/areas/0/outline TOO_MANY"}},
		{
			name: "outline that leaves the map", data: outline(many(3, point) + `,{"x":0,"y":1000001}`),
			want: []string{"/areas/0/outline/3/y OUT_OF_RANGE"},
		},
		{
			name: "outline with a bad point", data: outline(many(3, point) + `,{"x":"0"}`),
			want: []string{"/areas/0/outline/3/x TYPE", "/areas/0/outline/3/y REQUIRED"},
		},
	}
}

// sizeRefusals are maps past their bounds.
func sizeRefusals() []refusal {
	section := func(i int) string {
		return fmt.Sprintf(`{"key":"S%d","name":"S","rows":[{"label":"A","seats":[{"label":"1","x":%d,"y":0}]}]}`, i, i)
	}
	row := func(i int) string {
		return fmt.Sprintf(`{"label":"%d","seats":[{"label":"1","x":%d,"y":0}]}`, i, i)
	}
	rows := func(key string, n int) string {
		return `{"key":"` + key + `","name":"S","rows":[` + many(n, row) + `]}`
	}
	return []refusal{
		{name: "1001 sections", data: house(many(1001, section), ""), want: []string{"/sections TOO_MANY"}},
		{name: "1001 areas", data: house("", many(1001, func(i int) string {
			return fmt.Sprintf(`{"key":"F%d","name":"F","capacity":1}`, i)
		})), want: []string{"/areas TOO_MANY"}},
		{name: "10001 rows", data: house(rows("S", 10_001), ""), want: []string{"/sections/0/rows TOO_MANY"}},
		{
			name: "10001 rows in three sections", notInSchema: true,
			data: house(rows("S", 6_000)+","+rows("T", 4_001)+","+rows("U", 1), ""),
			want: []string{"/sections/1/rows TOO_MANY"},
		},
		{
			name: "200001 seats", data: stall(many(200_001, numberedSeat)),
			want: []string{"/sections/0/rows/0/seats TOO_MANY"},
		},
		{
			// The rows after the excess are not judged: their seats were skipped.
			name: "200001 seats in three rows", notInSchema: true,
			data: house(`{"key":"S","name":"S","rows":[`+many(3, func(i int) string {
				return fmt.Sprintf(`{"label":"%d","seats":[%s]}`, i, many(100_001, numberedSeat))
			})+`]}`, ""),
			want: []string{"/sections/0/rows/1/seats TOO_MANY"},
		},
	}
}

func refusals() []refusal {
	return slices.Concat(
		mapRefusals(), shapeRefusals(), keyRefusals(), takenRefusals(), valueRefusals(), sizeRefusals(),
	)
}
