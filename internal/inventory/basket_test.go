package inventory

import (
	"slices"
	"testing"

	"github.com/rowlock/rowlock/internal/seatmap"
)

func TestFaultsOfTicketTypesComeInOneOrder(t *testing.T) {
	types := map[string]string{"A-1": "standard", "A-2": "standard", "A-3": "standard", "A-4": "standard", "A-5": "standard"}
	for range 20 { // a map's own order is another one nearly every time
		r := newBasketReader(new(Event), NewLayout(new(seatmap.Plan)))
		r.retypes(types)
		var fields []string
		for _, f := range r.faults.list {
			fields = append(fields, f.Field)
		}
		if len(fields) != len(types) || !slices.IsSorted(fields) {
			t.Fatalf("faults at %v", fields)
		}
	}
}
