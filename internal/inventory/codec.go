package inventory

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// EncodeLog writes a transaction's log entries as [[at,kind,by,hold,order,[[unit,quantity],…],reason],…],
// hold in hexadecimal and empty for none. Numbers are not in it: the store numbers entries without
// gaps, and a row that knows the last one's knows them all.
func EncodeLog(entries []LogEntry) []byte {
	b := make([]byte, 0, 2+160*len(entries))
	b = append(b, '[')
	for i := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEntry(b, &entries[i])
	}
	return append(b, ']')
}

func appendEntry(b []byte, e *LogEntry) []byte {
	b = append(b, '[')
	b = strconv.AppendInt(b, int64(e.At), 10)
	b = appendText(append(b, ','), string(e.Kind))
	b = appendText(append(b, ','), e.By)
	b = append(b, `,"`...)
	if !e.Key.IsZero() {
		b = hex.AppendEncode(b, e.Key[:])
	}
	b = appendText(append(b, `",`...), e.Order)
	b = append(b, ",["...)
	for i, u := range e.Units {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInts(b, int64(u.Unit), u.Delta)
	}
	b = appendText(append(b, "],"...), e.Reason)
	return append(b, ']')
}

// appendText appends a JSON string. What is not UTF-8, which no gate lets in, is replaced: a log that
// is legible is worth more than a batch that is refused for it.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// DecodeLog reads what EncodeLog wrote and numbers it: last is the last entry's number. Units is nil
// where an entry names none.
func DecodeLog(last int64, data []byte) ([]LogEntry, error) {
	var rows []loggedEntry
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("inventory: log up to %d: %w", last, err)
	}
	entries := make([]LogEntry, len(rows))
	for i := range rows {
		entries[i] = LogEntry(rows[i])
		entries[i].Number = last - int64(len(rows)-1-i)
	}
	return entries, nil
}

// loggedEntry reads an entry that appendEntry wrote.
type loggedEntry LogEntry

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (e *loggedEntry) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var key string
	var units [][2]int64
	if err := unmarshalMembers(dec, &e.At, &e.Kind, &e.By, &key, &e.Order, &units, &e.Reason); err != nil {
		return err
	}
	if key != "" {
		if n, err := hex.Decode(e.Key[:], []byte(key[:min(len(key), 2*len(e.Key))])); err != nil || n != len(e.Key) || len(key) != 2*n {
			return fmt.Errorf("inventory: %q is no hold", key)
		}
	}
	for _, u := range units {
		e.Units = append(e.Units, UnitDelta{Unit: Unit(u[0]), Delta: u[1]})
	}
	return nil
}

// unmarshalMembers reads an array of exactly these members.
func unmarshalMembers(dec *jsontext.Decoder, members ...any) error {
	if kind := dec.PeekKind(); kind != '[' {
		return fmt.Errorf("inventory: a log entry begins with %v, not with an array", kind)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for _, m := range members {
		if err := json.UnmarshalDecode(dec, m); err != nil {
			return err
		}
	}
	end, err := dec.ReadToken()
	if err == nil && end.Kind() != ']' {
		err = fmt.Errorf("inventory: a log entry of more than %d members", len(members))
	}
	return err
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
