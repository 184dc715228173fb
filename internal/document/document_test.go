package document

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// FuzzRead holds that whatever is read is refused with a line for every fault, or is written
// as a document that reads the same.
func FuzzRead(f *testing.F) {
	small, err := os.ReadFile("testdata/event.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	m, err := seatmap.Generate(seatmap.KindArena, 12)
	if err != nil {
		f.Fatal(err)
	}
	data, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(LayOut(data))
	f.Add([]byte(`{"format":"rowlock-event/1","map":{}}`))
	f.Add([]byte("[1,\n\xff"))
	same := func(*client.EventRequest) {}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(data, same)
		if err != nil {
			refusal, ok := errors.AsType[*inventory.Refusal](err)
			if !ok || len(refusal.Faults) == 0 {
				t.Fatalf("refused with %v", err)
			}
			last := strings.Count(string(data), "\n") + 1
			for i, line := range Lines(data, refusal.Faults) {
				if line < 1 || line > last {
					t.Fatalf("%v is on line %d of %d", refusal.Faults[i], line, last)
				}
			}
			return
		}
		again, err := Read(LayOut(d.Drawing), same)
		if err != nil || string(again.Drawing) != string(d.Drawing) {
			t.Fatalf("the map comes back with %v as %s", err, again.Drawing)
		}
	})
}

// A map is laid out with a line a seat, and says the same.
func TestADocumentIsLaidOutWithALineForEachSeat(t *testing.T) {
	m, err := seatmap.Generate(seatmap.KindBowl, 100)
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(LayOut(data)), "\n")
	seats := 0
	for _, line := range lines {
		if n := strings.Count(line, `"x":`); strings.Contains(line, `"label":`) && n > 0 {
			seats += n
			if n > 1 {
				t.Errorf("two seats on the line %s", line)
			}
		}
	}
	if seats != 100 {
		t.Errorf("%d seats in %d lines", seats, len(lines))
	}
}

// A hostile document costs its own length and no multiple of it, also when its faults are located.
func TestLinesCostTheLengthOfTheDocument(t *testing.T) {
	const elements = 1 << 20
	faults := []inventory.Fault{{Field: "/map/a"}, {Field: "/event"}}
	for name, data := range map[string]string{
		"deep and wide": strings.Repeat("[", 1_000) + strings.Repeat("1,", elements) + "1" + strings.Repeat("]", 1_000),
		"a long name":   `{"` + strings.Repeat("x", elements) + `":[` + strings.Repeat("1,", elements) + "1]}",
		"under the map": `{"map":{"a":{"` + strings.Repeat("x", elements) + `":[` + strings.Repeat("1,", elements) + "1]}}}",
	} {
		t.Run(name, func(t *testing.T) {
			allocated := testing.AllocsPerRun(1, func() { Lines([]byte(data), faults) })
			if allocated > 10_000 {
				t.Errorf("%.0f allocations", allocated)
			}
		})
	}
}

// TestARulesCapacityIsCarried writes an event whose area has a capacity of its own, and reads it again.
func TestARulesCapacityIsCarried(t *testing.T) {
	m := seatmap.Grid(2, 3)
	m.Areas = []seatmap.Area{{Key: "FLOOR", Name: "Floor", Capacity: 40}}
	drawing, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	rules := []inventory.Rule{{Where: inventory.Where{Areas: []string{"FLOOR"}}, Capacity: 25}, {Where: inventory.Where{All: true}, Channel: "public"}}
	e := &inventory.Event{Name: "Gala", StartsAt: inventory.InstantOf(time.Date(2099, 5, 1, 17, 30, 0, 0, time.UTC)), TimeZone: "UTC", Terms: inventory.Terms{
		Currency: "EUR", HoldSeconds: 600, HoldMax: 1800, UnitsPerHold: 10, UnitsPerBuyer: 10,
		Types: []inventory.TicketType{{ID: "standard", Name: "Standard", Price: 4500}}, Channels: []inventory.Channel{{ID: "public", Name: "Public"}},
	}}
	data, err := OfEvent(&inventory.Carried{Event: e, Rules: rules, Venue: &inventory.Venue{Name: "Hall"}, Drawing: drawing})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(data, func(*client.EventRequest) {})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Spec.Rules; len(got) != 2 || got[0].Capacity != 25 || got[1].Capacity != 0 {
		t.Errorf("the rules come back as %+v", got)
	}
}
