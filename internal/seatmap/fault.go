package seatmap

import (
	"fmt"
	"strings"
)

// The codes of faults. They are part of the API: clients act on them, so a
// code is never renamed and never given another meaning.
const (
	CodeSyntax            = "SYNTAX"             // not one JSON text
	CodeDuplicateKey      = "DUPLICATE_KEY"      // a member name given twice
	CodeInvalidUTF8       = "INVALID_UTF8"       // not text in UTF-8
	CodeType              = "TYPE"               // another JSON type than the format wants
	CodeUnknownField      = "UNKNOWN_FIELD"      // a member the format does not have; names are case-sensitive
	CodeUnsupportedFormat = "UNSUPPORTED_FORMAT" // another format than [Format]
	CodeRequired          = "REQUIRED"           // a member that must be there is not
	CodeEmpty             = "EMPTY"              // a list that must hold something does not
	CodeTooFew            = "TOO_FEW"            // an outline that encloses nothing
	CodeTooMany           = "TOO_MANY"           // more than the bound of a map
	CodeOutOfRange        = "OUT_OF_RANGE"       // a number outside its bounds
	CodeInvalidKey        = "INVALID_KEY"        // not of a key's syntax
	CodeInvalidText       = "INVALID_TEXT"       // empty, blank, too long, or with control characters
	CodeDuplicate         = "DUPLICATE"          // a key that is taken already
	CodeOverlap           = "OVERLAP"            // two seats at the same place
)

// Fault is one thing that is wrong with a map.
type Fault struct {
	Field  string `json:"field"`  // JSON Pointer (RFC 6901) into the map; empty for the whole of it
	Code   string `json:"code"`   // one of the Code constants
	Detail string `json:"detail"` // a sentence for a person, safe to show once escaped; never act on it
}

// InvalidError is what [Parse] and [Map.Encode] say of a map that is refused.
// It holds at least one fault and at most 50, at most one a field: the first
// found stands, for what follows from it would only hide it.
type InvalidError struct {
	Faults []Fault

	// Malformed says that the bytes were not one JSON text at all: broken
	// syntax, invalid UTF-8, a member name given twice, or bytes after the
	// end. HTTP calls that a 400, and every other fault a 422.
	Malformed bool
}

// Error gives the first fault and how many there are.
func (e *InvalidError) Error() string {
	if len(e.Faults) == 0 {
		return "seat map: invalid"
	}
	first := e.Faults[0]
	text := fmt.Sprintf("seat map: %s at %q: %s", first.Code, first.Field, first.Detail)
	if more := len(e.Faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// fieldBytesMax bounds a fault's pointer.
const fieldBytesMax = 256

// faults gathers what is found, at most faultsMax and one a field.
type faults struct {
	list []Fault
}

func (f *faults) full() bool { return len(f.list) >= faultsMax }

func (f *faults) add(field, code, detail string) {
	// Only names that the format does not have can make a pointer this long.
	// It then ends at what holds them, so that no answer grows with a body.
	if len(field) > fieldBytesMax {
		field = field[:strings.LastIndexByte(field[:fieldBytesMax+1], '/')]
	}
	if f.full() || f.covers(field) {
		return
	}
	f.list = append(f.list, Fault{Field: field, Code: code, Detail: detail})
}

// covers says whether a fault at field would tell nothing new: the field has
// one already, or it lies in a value that is missing or of the wrong type, and
// then nothing in it was read.
func (f *faults) covers(field string) bool {
	for i := range f.list {
		old := &f.list[i]
		if old.Field == field {
			return true
		}
		unread := old.Code == CodeType || old.Code == CodeRequired
		if unread && strings.HasPrefix(field, old.Field+"/") {
			return true
		}
	}
	return false
}

func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &InvalidError{Faults: f.list}
}

// quote shows a refused value in a sentence. It is cut, since an answer should
// not grow with what was sent.
func quote(s string) string {
	const runesMax = 80
	runes := 0
	for i := range s {
		if runes == runesMax {
			return fmt.Sprintf("%q…", s[:i])
		}
		runes++
	}
	return fmt.Sprintf("%q", s)
}
