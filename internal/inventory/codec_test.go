package inventory

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheLogIsReadAsItWasWritten(t *testing.T) {
	key := HoldKey{1, 2, 0xfe}
	want := []LogEntry{
		{Number: 41, At: 10, Kind: LogPublished, By: "key_1"},
		{Number: 42, At: 11, Kind: LogHeld, By: "key_1", Key: key, Units: []UnitDelta{{Unit: 4, Delta: 1}, {Unit: 59999, Delta: 12}}},
		{Number: 43, At: 12, Kind: LogSold, By: "key_1", Key: key, Order: "ord_1", Units: []UnitDelta{{Unit: 4, Delta: 1}}},
		{Number: 44, At: 13, Kind: LogBroken, By: "store", Key: key, Units: []UnitDelta{{Unit: 4, Delta: -1}}, Reason: "said \"no\"\n</b> \u2028"},
	}
	data := EncodeLog(want)
	got, err := DecodeLog(44, data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("from %s\n got %+v\nwant %+v", data, got, want)
	}
	if got, err := DecodeLog(7, EncodeLog(nil)); err != nil || len(got) != 0 {
		t.Errorf("no entries: %v, %v", got, err)
	}
}

func TestALogThatNobodyWroteIsRefused(t *testing.T) {
	hold := strings.Repeat("0a", len(HoldKey{}))
	good := `[[1,"held","key_1","` + hold + `","",[[4,1]],""]]`
	if _, err := DecodeLog(1, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		``, `{}`, `[1]`, `["held"]`, `[[]]`, good + `]`,
		`[[1,"held","key_1","` + hold + `","",[[4,1]]]]`,       // no reason
		`[[1,"held","key_1","` + hold + `","",[[4,1]],"",""]]`, // one member more
		`[["1","held","key_1","` + hold + `","",[[4,1]],""]]`,
		`[[1,"held","key_1","` + hold[1:] + `","",[[4,1]],""]]`,
		`[[1,"held","key_1","` + hold[2:] + `","",[[4,1]],""]]`,
		`[[1,"held","key_1","` + hold + `0a","",[[4,1]],""]]`,
		`[[1,"held","key_1","` + strings.Repeat("0g", len(HoldKey{})) + `","",[[4,1]],""]]`,
		`[[1,"held","key_1","` + hold + `","",[[4]],""]]`,
		`[[1,"held","key_1","` + hold + `","",[[4,1,1]],""]]`,
		`[[1,"held","key_1","` + hold + `","",[[4,1.5]],""]]`,
	} {
		if got, err := DecodeLog(1, []byte(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, got)
		}
	}
}

// FuzzLog writes entries of any content and reads them, and reads anything.
func FuzzLog(f *testing.F) {
	f.Add(int64(1), "held", "key_1", []byte{1}, "", uint32(4), int64(-1), "sold \"twice\"", []byte(`[[1,"held","key_1","","",[[4,1]],""]]`))
	f.Add(int64(-1), "", "\xff", []byte{}, "ord_\u2028", uint32(0), int64(0), "\x00", []byte(`[[]]`))
	f.Fuzz(func(t *testing.T, at int64, kind, by string, key []byte, order string, unit uint32, delta int64, reason string, stored []byte) {
		e := LogEntry{
			At: Instant(at), Kind: LogKind(kind), By: by, Order: order, Units: []UnitDelta{{Unit: Unit(unit), Delta: delta}}, Reason: reason,
		}
		copy(e.Key[:], key)
		data := EncodeLog([]LogEntry{e, e})
		got, err := DecodeLog(9, data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		for i := range got {
			if got[i].Number != int64(8+i) {
				t.Errorf("entry %d has number %d", i, got[i].Number)
			}
			got[i].Number = 0
			for _, text := range []struct{ got, want string }{
				{string(got[i].Kind), kind}, {got[i].By, by}, {got[i].Order, order}, {got[i].Reason, reason},
			} {
				if utf8.ValidString(text.want) && text.got != text.want {
					t.Errorf("%q was read as %q", text.want, text.got)
				}
			}
			if got[i].Key != e.Key || got[i].At != e.At || !reflect.DeepEqual(got[i].Units, e.Units) {
				t.Errorf("%+v was read as %+v", e, got[i])
			}
		}
		if entries, err := DecodeLog(1, stored); err == nil {
			again, err := DecodeLog(1, EncodeLog(entries))
			if err != nil || !reflect.DeepEqual(again, entries) && len(entries) > 0 {
				t.Errorf("%q: %+v was written as %+v, %v", stored, entries, again, err)
			}
		}
	})
}

// The migration of SQLite's schema writes the same text by SQL, so what is not ASCII stands in it unescaped.
func TestTheLogIsPlainJSON(t *testing.T) {
	data := EncodeLog([]LogEntry{{At: 1, Kind: LogBroken, By: "key_1", Units: []UnitDelta{{Unit: 1, Delta: -1}}, Reason: "für <b>"}})
	if want := `[[1,"broken","key_1","","",[[1,-1]],"für <b>"]]`; string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
}
