package document

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowlock/rowlock/internal/inventory"
)

// nameBytesMax is how long a member's name may be to be looked for: no fault's pointer is longer.
const nameBytesMax = 256

// Lines finds the line of data, from 1, on which the value of each fault stands: for a member that is
// missing that of what lacks it, and for what is no JSON text the line where it stops being one. It
// costs the length of data, whatever is in it.
func Lines(data []byte, faults []inventory.Fault) []int {
	l := &locator{
		data: data, json: jsontext.NewDecoder(bytes.NewReader(data)), line: 1,
		wanted: make(map[jsontext.Pointer]bool), lines: make(map[jsontext.Pointer]int),
	}
	for _, f := range faults {
		for p := f.Field; p != ""; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
			l.wanted[jsontext.Pointer(p)] = true
		}
	}
	err := l.value("")
	if err == nil {
		_, err = l.json.ReadToken() // io.EOF, or what follows the end
	}
	broken := 0
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		broken = l.until(syntactic.ByteOffset)
	} else if !errors.Is(err, io.EOF) || l.counted == 0 {
		broken = l.until(l.json.InputOffset())
	}
	found := make([]int, len(faults))
	for i, f := range faults {
		if found[i] = broken; broken == 0 {
			found[i] = l.nearest(f.Field)
		}
	}
	return found
}

// locator walks a text, and goes into nothing that holds no value it looks for.
type locator struct {
	data    []byte
	json    *jsontext.Decoder
	wanted  map[jsontext.Pointer]bool // and what is around them
	lines   map[jsontext.Pointer]int
	line    int // of the byte at counted
	counted int
}

// until is the line at an offset, which never goes back.
func (l *locator) until(offset int64) int {
	to := max(min(int(offset), len(l.data)), l.counted)
	l.line += bytes.Count(l.data[l.counted:to], []byte("\n"))
	l.counted = to
	return l.line
}

// value reads the value at a pointer.
func (l *locator) value(at jsontext.Pointer) error {
	token, err := l.json.ReadToken()
	if err != nil {
		return err
	}
	kind := token.Kind()
	l.lines[at] = l.until(l.json.InputOffset())
	if kind != '{' && kind != '[' {
		return nil
	}
	for i := uint64(0); l.json.PeekKind() != '}' && l.json.PeekKind() != ']'; i++ {
		child, err := l.child(at, kind, i)
		if err != nil {
			return err
		}
		if l.wanted[child] {
			err = l.value(child)
		} else {
			err = l.json.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err = l.json.ReadToken()
	return err
}

// child is the pointer of the next value in a list or an object, whose name it reads; none is empty.
func (l *locator) child(at jsontext.Pointer, kind jsontext.Kind, i uint64) (jsontext.Pointer, error) {
	if kind == '[' {
		return at.AppendToken(jsontext.Uint(i).String()), nil
	}
	name, err := l.json.ReadToken()
	if err != nil {
		return "", err
	}
	if text := name.String(); len(text) <= nameBytesMax {
		return at.AppendToken(text), nil
	}
	return "", nil
}

// nearest is the line of a pointer, or of the closest thing around it.
func (l *locator) nearest(pointer string) int {
	for pointer != "" && l.lines[jsontext.Pointer(pointer)] == 0 {
		pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
	}
	return max(l.lines[jsontext.Pointer(pointer)], 1)
}
