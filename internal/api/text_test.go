package api

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
)

// sameAsLibrary holds what is written by hand to what the library writes: the same bytes, or no for both.
func sameAsLibrary(t *testing.T, v any) {
	t.Helper()
	want, err := json.Marshal(v, json.Deterministic(true))
	w := text{out: make([]byte, 0, 64)}
	if done := w.by(v); done != (err == nil) {
		t.Fatalf("of %+v by hand: %v, by the library: %v", v, done, err)
	} else if done && !bytes.Equal(w.out, want) {
		t.Fatalf("by hand     %s\nby library  %s", w.out, want)
	}
	var b bytes.Buffer
	b.WriteString("before")
	if again := render(&b, v); (again == nil) != (err == nil) || err == nil && b.String() != "before"+string(want) {
		t.Fatalf("rendered with %v as %s, want %s with %v", again, &b, want, err)
	}
}

// oddStrings are texts in which writers of JSON err.
var oddStrings = []string{
	"", "plain", `"quoted" \ and /`, "<script>&amp;</script>", "\u2028 and \u2029", "Ünïcödé 🎭", "\x00\x01\x1f\x7f\u0080", "\b\f\n\r\t",
	"\xff", "cut \xe2\x82", "\ud7ff\ue000\ufffd\uffff", ",", ":", "[", "{", "}", strings.Repeat("long ", 50),
}

// variants are values of a type such that each field of it, at any depth, is set in one of them to
// everything that is worth trying, and in the last one all are set.
func variants(t *testing.T, of reflect.Type) []reflect.Value {
	t.Helper()
	var all []reflect.Value
	add := func(v any) { all = append(all, reflect.ValueOf(v).Convert(of)) }
	switch of.Kind() {
	case reflect.String:
		for _, s := range oddStrings {
			add(s)
		}
		add("last")
	case reflect.Int, reflect.Int64:
		for _, n := range []int64{0, -1, math.MinInt64, math.MaxInt64, 7} {
			add(n)
		}
	case reflect.Pointer:
		all = append(all, reflect.Zero(of))
		for _, v := range variants(t, of.Elem()) {
			p := reflect.New(of.Elem())
			p.Elem().Set(v)
			all = append(all, p)
		}
	case reflect.Slice:
		all = append(all, reflect.Zero(of), reflect.MakeSlice(of, 0, 0))
		for _, v := range variants(t, of.Elem()) {
			all = append(all, reflect.Append(reflect.MakeSlice(of, 0, 1), v))
			all = append(all, reflect.Append(reflect.MakeSlice(of, 0, 2), v, v))
		}
	case reflect.Map:
		all = append(all, reflect.Zero(of), reflect.MakeMap(of))
		both := reflect.MakeMap(of)
		for _, v := range variants(t, of.Elem()) {
			one := reflect.MakeMap(of)
			one.SetMapIndex(v, v) // names are of the same type
			both.SetMapIndex(v, v)
			all = append(all, one)
		}
		two := reflect.MakeMap(of)
		for _, k := range []string{"b", "a", "aa", "Ω", "B"} {
			two.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf("of "+k))
		}
		all = append(all, both, two)
	case reflect.Struct:
		all = structVariants(t, of)
	default:
		t.Fatalf("no %v is known here: teach variants, fill and the writer", of)
	}
	return all
}

func structVariants(t *testing.T, of reflect.Type) []reflect.Value {
	t.Helper()
	if of == reflect.TypeFor[time.Time]() {
		all := []reflect.Value{reflect.Zero(of)}
		for _, moment := range []time.Time{
			time.Unix(0, 0).UTC(), time.Unix(0, 0).In(time.FixedZone("", 5400)), time.Unix(0, 0).In(time.FixedZone("", 25*3600)),
			time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 2, 19, 30, 0, 120_000, time.UTC), time.UnixMicro(1_790_000_000_123_456).UTC(),
		} {
			all = append(all, reflect.ValueOf(moment))
		}
		return all
	}
	all := []reflect.Value{reflect.Zero(of)}
	full := reflect.New(of).Elem()
	for i := range of.NumField() {
		values := variants(t, of.Field(i).Type)
		for _, v := range values {
			one := reflect.New(of).Elem()
			one.Field(i).Set(v)
			all = append(all, one)
		}
		full.Field(i).Set(values[len(values)-1])
	}
	return append(all, full)
}

// A member that is added to a type, and forgotten in the writer, is missed here.
func TestAnswersWrittenByHandAreThoseOfTheLibrary(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[client.Hold](), reflect.TypeFor[client.Problem]()} {
		all := variants(t, of)
		for _, v := range all {
			p := reflect.New(of)
			p.Elem().Set(v)
			sameAsLibrary(t, p.Interface())
		}
		full := all[len(all)-1]
		for i := range full.NumField() {
			if full.Field(i).IsZero() {
				t.Errorf("%v.%s was never tried together with the others", of, of.Field(i).Name)
			}
		}
	}
}

// filler makes values out of bytes.
type filler struct{ data []byte }

func (f *filler) next(n int) []byte {
	n = min(n, len(f.data))
	var taken []byte
	taken, f.data = f.data[:n], f.data[n:]
	return taken
}

func (f *filler) byte() int {
	if b := f.next(1); len(b) == 1 {
		return int(b[0])
	}
	return 0
}

func (f *filler) int() int64 {
	var b [8]byte
	copy(b[:], f.next(8))
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// fill gives a value as its bytes say. The bytes end, and so does it: what they do not reach stays zero.
func (f *filler) fill(v reflect.Value) {
	if len(f.data) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(f.next(f.byte())))
	case reflect.Int, reflect.Int64:
		v.SetInt(f.int())
	case reflect.Pointer:
		if f.byte()%2 == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if n := f.byte() % 4; n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
			for i := range n - 1 {
				f.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if n := f.byte() % 4; n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n - 1 {
				name, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				f.fill(name)
				f.fill(value)
				v.SetMapIndex(name, value)
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(f.int()).In(time.FixedZone("", f.byte()*600))))
			return
		}
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
	}
}

// FuzzAnswers holds that holds and problems are written by hand as by the library, whatever is in them.
func FuzzAnswers(f *testing.F) {
	for _, s := range oddStrings {
		f.Add(bytes.Repeat(append([]byte{byte(len(s))}, s...), 12))
	}
	f.Add(bytes.Repeat([]byte{3}, 400))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(client.Hold), new(client.Problem)} {
			in := filler{data}
			in.fill(reflect.ValueOf(v).Elem())
			sameAsLibrary(t, v)
		}
	})
}
