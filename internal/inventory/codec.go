package inventory

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
)

// The forms in which stores keep what no constraint needs to see. They are JSON, so that people
// and the audit's SQL can read them.

// EncodeLines writes lines as [[unit,type,quantity,price],…].
func EncodeLines(lines []Line) []byte {
	b := make([]byte, 0, 2+20*len(lines))
	b = append(b, '[')
	for i, l := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInts(b, int64(l.Unit), int64(l.Type), l.Quantity, l.Price)
	}
	return append(b, ']')
}

// DecodeLines reads what EncodeLines wrote.
func DecodeLines(data []byte) ([]Line, error) {
	var rows [][4]int64
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("inventory: lines: %w", err)
	}
	lines := make([]Line, len(rows))
	for i, r := range rows {
		lines[i] = Line{Unit: Unit(r[0]), Type: int(r[1]), Quantity: r[2], Price: r[3]}
	}
	return lines, nil
}

// EncodeUnits writes a log entry's units as [[unit,quantity],…].
func EncodeUnits(units []UnitDelta) []byte {
	b := make([]byte, 0, 2+12*len(units))
	b = append(b, '[')
	for i, u := range units {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInts(b, int64(u.Unit), u.Delta)
	}
	return append(b, ']')
}

// DecodeUnits reads what EncodeUnits wrote.
func DecodeUnits(data []byte) ([]UnitDelta, error) {
	var rows [][2]int64
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("inventory: units: %w", err)
	}
	units := make([]UnitDelta, len(rows))
	for i, r := range rows {
		units[i] = UnitDelta{Unit: Unit(r[0]), Delta: r[1]}
	}
	return units, nil
}

func appendInts(b []byte, values ...int64) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return append(b, ']')
}

// EncodeEvent writes the document of an event's row.
func EncodeEvent(e *Event) ([]byte, error) {
	b, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("inventory: event: %w", err)
	}
	return b, nil
}

// DecodeEvent reads the document of an event's row. One from before there was a rule on single seats
// has the default.
func DecodeEvent(doc []byte) (*Event, error) {
	e := new(Event)
	if err := json.Unmarshal(doc, e); err != nil {
		return nil, fmt.Errorf("inventory: event: %w", err)
	}
	if e.Terms.SingleSeats == "" {
		e.Terms.SingleSeats = singleSeatsDefault
	}
	return e, nil
}

// EncodeMetadata writes metadata; none is nil.
func EncodeMetadata(m map[string]string) ([]byte, error) {
	if len(m) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("inventory: metadata: %w", err)
	}
	return b, nil
}

// DecodeMetadata reads metadata; nothing is nil.
func DecodeMetadata(data []byte) (map[string]string, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var m map[string]string
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("inventory: metadata: %w", err)
	}
	return m, nil
}

// answered is a command's answer as a record keeps it: the hold's own members, and the warnings.
type answered struct {
	*Hold    `json:",inline"`
	Warnings []Warning `json:",omitempty"`
}

// EncodeAnswer writes a hold, and what was said about it, as a record keeps them.
func EncodeAnswer(h *Hold, warnings []Warning) []byte {
	b, err := json.Marshal(answered{h, warnings})
	if err != nil {
		panic("inventory: a hold always encodes: " + err.Error()) // its fields are plain and its texts valid
	}
	return b
}

// DecodeAnswer reads what EncodeAnswer wrote.
func DecodeAnswer(data []byte) (*Hold, []Warning, error) {
	a := answered{Hold: new(Hold)}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, nil, fmt.Errorf("inventory: hold: %w", err)
	}
	return a.Hold, a.Warnings, nil
}
