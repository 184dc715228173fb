package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/client"
)

// rebuilt is the house's drawing without seat 0 of row A, and with a floor for three.
func rebuilt() string {
	s := strings.Replace(drawing(), `{"label":"0","x":0,"y":100},`, "", 1)
	return strings.Replace(s, `"capacity":5`, `"capacity":3`, 1)
}

func TestAnEventMovesToAnotherMapOverHTTP(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	key := h.as(h.key)
	to := h.made(key.post("/v1/venues/"+h.venue+"/maps", rebuilt()))
	sold := h.buy(h.hold(event, `{"seats":["STALLS-A-1"],"areas":[{"area":"FLOOR","quantity":2}]}`))
	drawn := h.as("").get(at+"/map").want(200, "")
	if got := drawn.header.Get("Cache-Control"); got != "public, no-cache" {
		t.Errorf("the drawing under an event's URL is served with %q, and may change", got)
	}
	unchanged := h.as("").with("If-None-Match", drawn.header.Get("ETag"))
	unchanged.get(at+"/map").want(304, "")
	var board client.Board
	h.as("").get(at+"/board").want(200, "").read(&board)

	var dry, wet client.MapChange
	key.patch(at+"/map", `{"map":"`+to+`","dry_run":true}`).want(200, "").read(&dry)
	if !dry.DryRun || dry.Dropped.Count != 1 || !slices.Equal(dry.Dropped.Keys, []string{"STALLS-A-0"}) || len(dry.Conflicts) != 0 ||
		!slices.Equal(dry.Capacities, []client.CapacityChange{{Area: "FLOOR", From: 5, To: 3}}) {
		t.Errorf("%+v", dry)
	}
	unchanged.get(at+"/map").want(304, "") // a dry run is one
	once := key.with("Idempotency-Key", idempotencyKey)
	first := once.patch(at+"/map", `{"map":"`+to+`"}`).want(200, "")
	first.read(&wet)
	again := once.patch(at+"/map", `{"map":"`+to+`"}`).want(200, "")
	if again.header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(first.body) {
		t.Errorf("made again: %s", again.body)
	}
	unchanged.get(at+"/map").want(200, "")
	var v client.Event
	h.as("").get(at).want(200, "").read(&v)
	var now client.Board
	h.as("").get(at+"/board").want(200, "").read(&now)
	var ch client.Changes
	h.as("").get(at+"/changes?after="+board.Position).want(200, "").read(&ch)
	if v.Map != to || now.Map != to || ch.Map != to || !ch.Resync || board.Map != h.seatMap || now.Seats[0]&3 != 2 {
		t.Errorf("event %s, board %+v, changes %+v", v.Map, now, ch)
	}
	var o client.Order
	key.get(at+"/orders/"+sold.ID).want(200, "").read(&o)
	if o.Lines[0].Seat != "STALLS-A-1" || o.Lines[0].Label != "Row A Seat 1" {
		t.Errorf("%+v", o.Lines)
	}
}

func TestChangesThatTakeAwayWhatIsInUseAreConflicts(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	key := h.as(h.key)
	to := h.made(key.post("/v1/venues/"+h.venue+"/maps", rebuilt()))
	h.hold(event, `{"seats":["STALLS-A-0"]}`)
	h.buy(h.hold(event, `{"areas":[{"area":"FLOOR","quantity":4}]}`))
	var dry client.MapChange
	key.patch(at+"/map", `{"map":"`+to+`","dry_run":true}`).want(200, "").read(&dry)
	a := key.patch(at+"/map", `{"map":"`+to+`"}`).want(409, "CHANGE_UNSAFE")
	if a.problem.ConflictsTotal != 2 || len(a.problem.Conflicts) != 2 || dry.ConflictsTotal != 2 || len(dry.Conflicts) != 2 {
		t.Fatalf("%s, and the dry run %+v", a.body, dry)
	}
	seat, area := a.problem.Conflicts[0], a.problem.Conflicts[1]
	if seat.Seat != "STALLS-A-0" || seat.Label != "Row A Seat 0" || seat.Reason != "held" || seat.Held != nil {
		t.Errorf("%+v", seat)
	}
	if area.Area != "FLOOR" || area.Reason != "sold" || *area.Requested != 3 || *area.Held != 0 || *area.Reserved != 4 {
		t.Errorf("%+v", area)
	}
	key.patch(at+"/allocations", `{"where":{"areas":["FLOOR"]},"set":{"capacity":3}}`).want(409, "CHANGE_UNSAFE")
	key.patch(at+"/allocations", `{"where":{"areas":["FLOOR"]},"set":{"capacity":4}}`).want(200, "")
	key.patch(at, `{"map":"`+to+`"}`).want(409, "EVENT_STATE_CONFLICT")
}

// TestHostileChangesOverHTTP asks for changes that nobody should get.
func TestHostileChangesOverHTTP(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	key := h.as(h.key)
	seats := func(n int) string {
		return `{"where":{"seats":["STALLS-A-0"` + strings.Repeat(`,"STALLS-A-0"`, n-1) + `]},"set":{"channel":"withheld"}}`
	}
	key.patch(at+"/allocations", seats(60_000)).want(422, "INVALID").fault("/where", "TOO_MANY")
	key.patch(at+"/allocations", seats(100_000)).want(413, "BODY_TOO_LARGE")
	key.patch(at+"/allocations", seats(20_000)).want(200, "")
	key.patch(at+"/allocations", `{"where":{},"set":{"channel":"public"}}`).want(422, "INVALID").fault("/where", "REQUIRED")
	key.patch(at+"/allocations", `{"where":{"rows":["STALLS-Z"]},"set":{"channel":"public"},"dry_run":true}`).want(422, "INVALID").fault("/where/rows/0", "UNKNOWN")
	for _, n := range []string{"0", "-5", "1000001"} {
		key.patch(at+"/allocations", `{"where":{"areas":["FLOOR"]},"set":{"capacity":`+n+`}}`).want(422, "INVALID").fault("/set/capacity", "OUT_OF_RANGE")
	}
	key.patch(at+"/allocations", `{"where":{"seats":["STALLS-A-0"]},"set":{"capacity":1}}`).want(422, "INVALID").fault("/set/capacity", "INVALID")
	key.patch(at+"/map", `{}`).want(422, "INVALID").fault("/map", "REQUIRED")
	key.patch(at+"/map", `{"map":"map_none"}`).want(422, "INVALID").fault("/map", "UNKNOWN")
	h.as(h.foreign).patch(at+"/map", `{"map":"`+h.seatMap+`"}`).want(404, "NOT_FOUND")
	h.as("").patch(at+"/map", `{"map":"`+h.seatMap+`"}`).want(401, "UNAUTHORIZED")
	key.put(at+"/channels/withheld", `{"access_codes":["let-me-in"]}`).want(422, "INVALID").fault("/access_codes", "INVALID")
	key.patch(at, `{"ticket_types":[{"id":"standard","name":"Standard","price":1}]}`).want(422, "INVALID").fault("/ticket_types", "REQUIRED")
	// A dry run keeps no answer, so its key is still good for the change itself.
	once := key.with("Idempotency-Key", idempotencyKey)
	once.patch(at+"/allocations", `{"where":{"rows":["STALLS-A"]},"set":{"channel":"sponsors"},"dry_run":true}`).want(200, "")
	var r client.AllocationResult
	a := once.patch(at+"/allocations", `{"where":{"rows":["STALLS-A"]},"set":{"channel":"sponsors"}}`).want(200, "")
	if a.read(&r); r.Changed != 10 || r.DryRun || a.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%s", a.body)
	}
}
