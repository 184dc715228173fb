package api

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// decodeCases are bodies of a hold that say something else than a hold is.
var decodeCases = []struct {
	name, body string
	code       inventory.RefusalCode
	field      string
	fault      string
}{
	{"half an object", `{"seats":["A-1-1"`, inventory.Malformed, "/seats", faultSyntax},
	{"no JSON", `seats=A-1-1`, inventory.Malformed, "", faultSyntax},
	{"a comment", `{} // seats`, inventory.Malformed, "", faultSyntax},
	{"a second text", `{}{}`, inventory.Malformed, "", faultSyntax},
	{"trailing bytes", `{"seats":["A-1-1"]}x`, inventory.Malformed, "", faultSyntax},
	{"trailing bytes after an unknown member", `{"seatz":[]}x`, inventory.Malformed, "", faultSyntax},
	{"a member twice", `{"seats":["A-1-1"],"seats":["A-1-2"]}`, inventory.Malformed, "/seats", faultDuplicateKey},
	{"a member of a map twice", `{"metadata":{"a":"1","a":"2"}}`, inventory.Malformed, "/metadata/a", faultDuplicateKey},
	{"an unknown member twice", `{"x":1,"x":2}`, inventory.Malformed, "/x", faultDuplicateKey},
	{"bytes that are no UTF-8", "{\"seats\":[\"\xff\"]}", inventory.Malformed, "/seats/0", faultUTF8},
	{"half a surrogate pair", `{"seats":["\ud800"]}`, inventory.Malformed, "/seats/0", faultSyntax},
	{"a byte order mark", "\xef\xbb\xbf{}", inventory.Malformed, "", faultSyntax},
	{"only white space", "  \n", inventory.Malformed, "", faultSyntax},
	{"null", `null`, inventory.Invalid, "", faultType},
	{"null in white space", " null\n", inventory.Invalid, "", faultType},
	{"an array", `[]`, inventory.Invalid, "", faultType},
	{"a string", `"seats"`, inventory.Invalid, "", faultType},
	{"an unknown member", `{"seatz":[]}`, inventory.Invalid, "/seatz", faultUnknownField},
	{"a member in another case", `{"Seats":["A-1-1"]}`, inventory.Invalid, "/Seats", faultUnknownField},
	{"an unknown member deep down", `{"areas":[{"area":"FLOOR","quantity":1,"price":1}]}`, inventory.Invalid, "/areas/0/price", faultUnknownField},
	{"a string for a list", `{"seats":"A-1-1"}`, inventory.Invalid, "/seats", faultType},
	{"a number for a seat", `{"seats":[12]}`, inventory.Invalid, "/seats/0", faultType},
	{"a fraction", `{"areas":[{"area":"FLOOR","quantity":1.5}]}`, inventory.Invalid, "/areas/0/quantity", faultType},
	{"a fraction that is whole", `{"areas":[{"area":"FLOOR","quantity":1.0}]}`, inventory.Invalid, "/areas/0/quantity", faultType},
	{"an exponent", `{"areas":[{"area":"FLOOR","quantity":1e2}]}`, inventory.Invalid, "/areas/0/quantity", faultType},
	{"a number that does not fit", `{"areas":[{"area":"FLOOR","quantity":99999999999999999999}]}`, inventory.Invalid, "/areas/0/quantity", faultType},
	{"a number as a string", `{"areas":[{"area":"FLOOR","quantity":"2"}]}`, inventory.Invalid, "/areas/0/quantity", faultType},
	{"a boolean for an object", `{"best_available":true}`, inventory.Invalid, "/best_available", faultType},
}

func TestDecodeRefusesWhatAHoldIsNot(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			var in client.HoldRequest
			err := decode([]byte(c.body), &in)
			refusal, ok := errors.AsType[*inventory.Refusal](err)
			if !ok {
				t.Fatalf("decode answers %v, want a refusal", err)
			}
			if refusal.Code != c.code {
				t.Errorf("the code is %s, want %s", refusal.Code, c.code)
			}
			if len(refusal.Faults) != 1 || refusal.Faults[0].Code != c.fault || refusal.Faults[0].Field != c.field {
				t.Errorf("the faults are %+v, want %s at %q", refusal.Faults, c.fault, c.field)
			}
		})
	}
}

func TestDecodeTakesWhatAHoldIs(t *testing.T) {
	var in client.HoldRequest
	body := ` {"seats":["<b>","A\u0000"],"areas":[{"area":"FLOOR","quantity":2}],"reference":null,"metadata":{"Ä":"🎟"}} ` + "\n"
	if err := decode([]byte(body), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Seats) != 2 || in.Seats[0] != "<b>" || in.Areas[0].Quantity != 2 || in.Reference != nil || in.Metadata["Ä"] != "🎟" {
		t.Errorf("decode read %+v", in)
	}
}

func TestDecodeNamesATimeThatIsNone(t *testing.T) {
	for body, want := range map[string]string{
		`{"starts_at":"tomorrow"}`:             faultInvalid,
		`{"starts_at":"2027-02-30T00:00:00Z"}`: faultInvalid,
		`{"starts_at":"2027-05-01 17:30:00"}`:  faultInvalid,
		`{"starts_at":1777651200}`:             faultType,
	} {
		err := decode([]byte(body), &client.EventRequest{})
		refusal, ok := errors.AsType[*inventory.Refusal](err)
		if !ok || refusal.Code != inventory.Invalid || refusal.Faults[0].Field != "/starts_at" || refusal.Faults[0].Code != want {
			t.Errorf("%s: %v %+v, want %s at /starts_at", body, err, refusal, want)
		}
	}
}

func TestAFaultsPointerIsBounded(t *testing.T) {
	long := strings.Repeat("é", 30_000)
	err := decode([]byte(`{"add":{"`+long+`":1}}`), &client.HoldPatch{})
	refusal, ok := errors.AsType[*inventory.Refusal](err)
	if !ok || refusal.Faults[0].Field != "/add" {
		t.Fatalf("a long name is answered %v %+v, want a fault at /add", err, refusal)
	}
	if got := boundedPointer(strings.Repeat("x", fieldBytesMax+1)); len(got) > fieldBytesMax {
		t.Errorf("a pointer without a slash keeps %d bytes", len(got))
	}
}

func TestContentTypes(t *testing.T) {
	for value, want := range map[string]bool{
		"application/json":                         true,
		"application/json; charset=utf-8":          true,
		`Application/JSON;charset="UTF-8"`:         true,
		"":                                         false,
		"text/plain":                               false,
		"application/json; charset=iso-8859-1":     false,
		"application/json; boundary=x":             false,
		"application/x-www-form-urlencoded":        false,
		"application/problem+json":                 false,
		"application/json; charset=utf-8; broken ": false,
	} {
		if got := isJSON(value); got != want {
			t.Errorf("isJSON(%q) = %v, want %v", value, got, want)
		}
	}
}

// FuzzDecode holds that every body is either read or refused with a code of ours, that what is read
// can be written and read again, and that no answer grows with a body.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add([]byte(c.body))
	}
	f.Add([]byte(`{"copy":"evt_1","starts_at":"2027-05-01T17:30:00Z","limits":{"hold_seconds":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, into := range []any{
			&client.HoldRequest{}, &client.HoldPatch{}, &client.OrderRequest{}, &client.EventRequest{},
			&[]client.EventRequest{}, &client.AllocationRule{}, &client.ChannelRequest{}, &client.KeyRequest{},
		} {
			err := decode(body, into)
			if err == nil {
				if !utf8.Valid(body) {
					t.Fatal("a body that is no UTF-8 was read")
				}
				again, err := json.Marshal(into)
				if err != nil {
					t.Fatalf("what was read cannot be written: %v", err)
				}
				if err := decode(again, into); err != nil {
					t.Fatalf("what was written cannot be read: %v", err)
				}
				continue
			}
			refusal, ok := errors.AsType[*inventory.Refusal](err)
			if !ok || refusal.Code != inventory.Malformed && refusal.Code != inventory.Invalid {
				t.Fatalf("%T: %v", into, err)
			}
			for _, fault := range refusal.Faults {
				if len(fault.Field) > fieldBytesMax || !utf8.ValidString(fault.Field) {
					t.Fatalf("the field of a fault is %q", fault.Field)
				}
			}
		}
	})
}

// FuzzHoldBody holds that a body that passes every check is within the bounds of a hold, and that the
// answer to any other is a problem that can be written.
func FuzzHoldBody(f *testing.F) {
	f.Add([]byte(`{"seats":["A-1-1"],"areas":[{"area":"FLOOR","quantity":100}],"reference":"a","ttl_seconds":9}`))
	f.Add([]byte(`{"best_available":{"quantity":4,"accessible":5}}`))
	f.Add([]byte(`{"areas":[{"area":"FLOOR","quantity":-1}],"metadata":{"":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := readHold(body)
		if err != nil {
			refusal := refusalOf(err)
			var b bytes.Buffer
			if err := render(&b, problemOf(refusal, problemTable[refusal.Code], "r-1")); err != nil {
				t.Fatal(err)
			}
			return
		}
		if len(in.Seats) > unitsMax || len(in.Areas) > unitsMax || len(in.TicketTypes) > unitsMax || len(in.Metadata) > metadataEntriesMax {
			t.Fatalf("%s passed", body)
		}
		if in.Reference != nil && (*in.Reference == "" || utf8.RuneCountInString(*in.Reference) > referenceRunesMax) {
			t.Fatalf("the reference %q passed", *in.Reference)
		}
	})
}
