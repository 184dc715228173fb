package sqlite_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/inventory"
)

func claimOf(h *house, seats ...string) inventory.ClaimRequest {
	return inventory.ClaimRequest{Event: h.event, Basket: inventory.Basket{Seats: seats}}
}

// seats are the keys of the event's seats in map order.
func (h *house) seats(t testing.TB) []string {
	t.Helper()
	_, data, err := h.service.EventMap(t.Context(), inventory.Caller{}, h.event)
	if err != nil {
		t.Fatal(err)
	}
	return seatKeys(t, data)
}

func code(err error) inventory.RefusalCode {
	if r, ok := errors.AsType[*inventory.Refusal](err); ok {
		return r.Code
	}
	return ""
}

func TestFaultsPointToWhatWasAsked(t *testing.T) {
	h := newHouse(t, 600)
	ctx := t.Context()
	seat := h.seats(t)[0]
	hold, err := h.service.Claim(ctx, claimOf(h, seat))
	if err != nil {
		t.Fatal(err)
	}
	floor := func(ticketType string) inventory.AreaWant {
		return inventory.AreaWant{Area: "FLOOR", Quantity: 1, Type: ticketType}
	}
	for want, r := range map[string]inventory.ChangeRequest{
		"/remove/areas/0 NOT_HELD, /remove/areas/1 NOT_HELD": {
			Remove: inventory.Basket{Areas: []inventory.AreaWant{floor(""), floor("child")}},
		},
		"/remove/areas/0 NOT_HELD": {
			Add: inventory.Basket{Areas: []inventory.AreaWant{floor("")}}, Remove: inventory.Basket{Areas: []inventory.AreaWant{floor("")}},
		},
		"/ticket_types/" + seat + " DUPLICATE": {
			Remove: inventory.Basket{Seats: []string{seat}}, Types: map[string]string{seat: "child"},
		},
		"/add/seats/0 DUPLICATE": {
			Add: inventory.Basket{Seats: []string{seat}}, Remove: inventory.Basket{Seats: []string{seat}},
		},
	} {
		r.Hold = inventory.HoldRef{Event: h.event, ID: hold.Hold.Key.ID(), Token: hold.Token}
		_, err := h.service.Change(ctx, r)
		refusal, ok := errors.AsType[*inventory.Refusal](err)
		if !ok || refusal.Code != inventory.Invalid {
			t.Errorf("want %s, got %v", want, err)
			continue
		}
		var got []string
		for _, f := range refusal.Faults {
			got = append(got, f.Field+" "+f.Code)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("want %s, got %s", want, s)
		}
	}
}
