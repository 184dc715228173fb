package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

func TestFromAHoldToATicketAndBack(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	v := h.hold(event, `{"seats":["STALLS-A-1","STALLS-A-2"],"ticket_types":{"STALLS-A-2":"concession"},"areas":[{"area":"FLOOR","quantity":2}],"reference":"h-1","metadata":{"k":"v"}}`)
	if v.Total != 4500+3000+2*1500 || len(v.Lines) != 3 || v.State != "live" || v.ExpiresIn < 590 || v.ExpiresIn > 600 || len(v.Token) != 32 {
		t.Errorf("the hold is %+v", v)
	}
	if l := v.Lines[1]; l.Seat != "STALLS-A-2" || l.TicketType != "concession" || l.Label != "Row A Seat 2" || l.Section != "STALLS" {
		t.Errorf("the second line is %+v", l)
	}
	a := h.as("").post(at+"/holds", `{"seats":["STALLS-A-0","STALLS-A-1"],"areas":[{"area":"FLOOR","quantity":4}]}`).want(409, "ALLOCATION_UNAVAILABLE")
	if c := a.problem.Conflicts; len(c) != 2 || c[0].Seat != "STALLS-A-1" || c[0].Reason != "held" || c[0].Label != "Row A Seat 1" ||
		c[1].Area != "FLOOR" || c[1].Reason != "sold_out" || *c[1].Requested != 4 || *c[1].Free != 3 {
		t.Errorf("the conflicts are %s", a.body)
	}
	var seen client.Hold
	h.holder(v).get(at+"/holds/"+v.ID).want(200, "").read(&seen)
	if seen.Token != "" || seen.ID != v.ID || *seen.Reference != "h-1" || seen.Metadata["k"] != "v" {
		t.Errorf("the hold is seen as %+v", seen)
	}
	h.holder(v).patch(at+"/holds/"+v.ID, `{"remove":{"seats":["STALLS-A-1"],"areas":[{"area":"FLOOR","quantity":1}]},"add":{"seats":["STALLS-A-3"]}}`).want(200, "").read(&seen)
	if seen.Total != 4500+3000+1500 {
		t.Errorf("the changed hold is %+v", seen)
	}
	h.holder(v).post(at+"/holds/"+v.ID+"/extend", "").want(200, "")

	o := h.buy(v)
	if o.Token == "" || o.State != "confirmed" || o.Hold != v.ID || len(o.Tickets) != 3 || o.Total != seen.Total || o.Payment.Method != "none" {
		t.Errorf("the order is %+v", o)
	}
	if again := h.buy(v); again.ID != o.ID || again.Token != o.Token {
		t.Errorf("the second order is %+v", again)
	}
	h.holder(v).get(at+"/holds/"+v.ID).want(200, "").read(&seen)
	if seen.State != "sold" || seen.Order == nil || *seen.Order != o.ID || seen.ExpiresIn != 0 {
		t.Errorf("the sold hold is %+v", seen)
	}
	h.holder(v).delete(at+"/holds/"+v.ID).want(409, "HOLD_SOLD")
	h.holder(v).post(at+"/holds/"+v.ID+"/extend", "").want(409, "HOLD_SOLD")
	h.holder(v).patch(at+"/holds/"+v.ID, `{"add":{"seats":["STALLS-A-9"]}}`).want(409, "HOLD_SOLD")
	var back client.Order
	h.as("").with("Order-Token", o.Token).get(at+"/orders/"+o.ID).want(200, "").read(&back)
	if back.Token != "" || back.ID != o.ID || back.Buyer.Email != "buyer@example.com" {
		t.Errorf("the order is seen as %+v", back)
	}
	h.as(h.key).post(at+"/tickets/"+o.Tickets[0].ID+"/cancel", `{"reason":"ill"}`).want(200, "").read(&back)
	if back.State != "confirmed" || back.Tickets[0].State != "cancelled" || back.Tickets[1].State != "valid" {
		t.Errorf("with one ticket cancelled the order is %+v", back)
	}
	for range 2 {
		h.as(h.key).post(at+"/orders/"+o.ID+"/cancel", "").want(200, "").read(&back)
		if back.State != "cancelled" {
			t.Errorf("the cancelled order is %+v", back)
		}
	}
	h.auditReport(event, 0, 0)
	h.auditLog(event, "held", "changed", "extended", "sold", "returned")
}

// auditReport checks what is held and sold.
func (h *house) auditReport(event string, held, reserved int64) {
	h.t.Helper()
	var r client.Report
	h.as(h.key).get("/v1/events/"+event+"/report").want(200, "").read(&r)
	if r.Held != held || r.Reserved != reserved || r.Held+r.Reserved+r.Free != r.Capacity || r.Tickets != reserved {
		h.t.Errorf("the report says %+v, want %d held and %d reserved", r, held, reserved)
	}
}

// auditLog checks that kinds stand in an event's log in this order.
func (h *house) auditLog(event string, kinds ...string) {
	h.t.Helper()
	var log client.List[client.LogEntry]
	h.as(h.key).get("/v1/events/"+event+"/log").want(200, "").read(&log)
	for i, e := range log.Data {
		if e.Number != int64(i+1) {
			h.t.Errorf("entry %d has number %d", i, e.Number)
		}
		if len(kinds) > 0 && e.Kind == kinds[0] {
			kinds = kinds[1:]
		}
	}
	if len(kinds) > 0 {
		h.t.Errorf("the log does not go on with %v: %+v", kinds, log.Data)
	}
}

func TestPromise4OnlyTheTokensOwnerActsOnAHold(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	other := h.onSale(`,"reference":"other"`)
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	stranger := h.holder(h.hold(event, `{"seats":["STALLS-A-2"]}`))
	at := "/v1/events/" + event + "/holds/" + v.ID
	stranger.get(at).want(410, "HOLD_EXPIRED")
	stranger.patch(at, `{"add":{"seats":["STALLS-A-3"]}}`).want(410, "HOLD_EXPIRED")
	stranger.post(at+"/extend", "").want(410, "HOLD_EXPIRED")
	stranger.delete(at).want(204, "")
	stranger.post("/v1/events/"+event+"/orders", `{"hold":"`+v.ID+`","buyer":{"name":"","email":"buyer@example.com"}}`).want(410, "HOLD_EXPIRED")
	h.holder(v).get(at).want(200, "")
	// Its own token is worth nothing at another event.
	elsewhere := "/v1/events/" + other + "/holds/" + v.ID
	h.holder(v).get(elsewhere).want(410, "HOLD_EXPIRED")
	h.holder(v).delete(elsewhere).want(204, "")
	h.holder(v).post("/v1/events/"+other+"/orders", `{"hold":"`+v.ID+`","buyer":{"name":"","email":"buyer@example.com"}}`).want(410, "HOLD_EXPIRED")
	h.holder(v).get(at).want(200, "")
	// The organizer's key breaks it, and then it is gone for its owner.
	h.as(h.key).get(at).want(200, "")
	h.as(h.key).delete(at).want(204, "")
	h.holder(v).get(at).want(410, "HOLD_EXPIRED")
	h.holder(v).delete(at).want(204, "")
}

func TestAWithheldSeatNeedsItsChannel(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	for _, seat := range []string{"STALLS-B-8", "STALLS-B-9"} {
		a := h.as("").post(at+"/holds", `{"seats":["`+seat+`"]}`).want(409, "ALLOCATION_UNAVAILABLE")
		if len(a.problem.Conflicts) != 1 || a.problem.Conflicts[0].Reason != "not_on_sale" {
			t.Errorf("the conflicts are %s", a.body)
		}
	}
	sponsor := h.as("").with("Access-Code", "open-sesame")
	sponsor.post(at+"/holds", `{"seats":["STALLS-B-9"]}`).want(201, "")
	sponsor.post(at+"/holds", `{"seats":["STALLS-B-8"]}`).want(409, "ALLOCATION_UNAVAILABLE")

	public, private := h.as("").get(at+"/offer").want(200, ""), sponsor.get(at+"/offer").want(200, "")
	if bytes.Equal(public.body, private.body) || public.header.Get("ETag") == private.header.Get("ETag") {
		t.Error("the code changes nothing in the offer or its tag")
	}
	if !strings.HasPrefix(private.header.Get("Cache-Control"), "private") || !strings.Contains(strings.Join(private.header["Vary"], ","), "Access-Code") {
		t.Errorf("an offer for a code is answered with %v", private.header)
	}
	sponsor.with("If-None-Match", private.header.Get("ETag")).get(at+"/offer").want(304, "")
	h.as("").with("If-None-Match", private.header.Get("ETag")).get(at+"/offer").want(200, "")
	h.as(h.key).patch(at+"/allocations", `{"where":{"seats":["STALLS-B-8"]},"set":{"channel":"public"}}`).want(200, "")
	h.as("").with("If-None-Match", public.header.Get("ETag")).get(at+"/offer").want(200, "")
	h.as("").post(at+"/holds", `{"seats":["STALLS-B-8"]}`).want(201, "")
}

func TestBestAvailable(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"best_available":{"quantity":4,"ticket_type":"standard","section":"STALLS"}}`)
	if len(v.Lines) != 4 {
		t.Errorf("four seats together are %+v", v.Lines)
	}
	if len(v.Warnings) != 0 {
		t.Errorf("together, and warned of %+v", v.Warnings)
	}
	a := h.as("").post("/v1/events/"+event+"/holds", `{"best_available":{"quantity":10,"together":true}}`)
	a.want(409, "ALLOCATION_UNAVAILABLE")
	if len(a.problem.Conflicts) != 1 || a.problem.Conflicts[0].Reason != "no_block" {
		t.Errorf("the conflicts are %s", a.body)
	}
}

// What is said of a hold is said again in its replay.
func TestBestAvailableSaysWhenSeatsAreNotTogether(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	ask := func(key, body, code string) {
		t.Helper()
		for range 2 {
			var v client.Hold
			h.as("").with("Idempotency-Key", key).post("/v1/events/"+event+"/holds", body).want(201, "").read(&v)
			// What else there is to say of the seats is said behind it.
			if len(v.Warnings) == 0 || v.Warnings[0] != (client.Warning{Code: code}) {
				t.Errorf("%s: warned of %+v, want %s", body, v.Warnings, code)
			}
		}
	}
	h.hold(event, `{"seats":["STALLS-A-2","STALLS-A-3","STALLS-A-4","STALLS-A-5","STALLS-A-6","STALLS-A-7"]}`)
	ask("0123456789abcdef-1", `{"best_available":{"quantity":9}}`, "ROWS_APART")
	event = h.onSale("")
	h.hold(event, `{"seats":["STALLS-A-2","STALLS-A-3","STALLS-A-4","STALLS-A-5","STALLS-A-6","STALLS-A-7"]}`)
	h.hold(event, `{"best_available":{"quantity":8,"together":true}}`)
	ask("0123456789abcdef-2", `{"best_available":{"quantity":4}}`, "SEATS_APART")
}

func TestBoardAndChangesAgree(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	first := h.as("").get(at+"/board").want(200, "")
	tag := first.header.Get("ETag")
	h.as("").with("If-None-Match", tag).get(at+"/board").want(304, "")
	h.hold(event, `{"seats":["STALLS-A-1"],"areas":[{"area":"FLOOR","quantity":2}]}`)
	second := h.as("").with("If-None-Match", tag).get(at+"/board").want(200, "")
	var before, board client.Board
	first.read(&before)
	second.read(&board)
	if board.Seats[0]>>2&3 != 1 || board.Areas["FLOOR"].Held != 2 || second.header.Get("ETag") != `"`+board.Position+`"` {
		t.Errorf("the board is %+v", board)
	}
	var ch client.Changes
	h.as("").get(at+"/changes?after="+before.Position).want(200, "").read(&ch)
	if ch.Position != board.Position || len(ch.Seats) != 1 || ch.Seats[0] != [2]int{1, 1} || ch.Areas["FLOOR"].Held != 2 || ch.Resync {
		t.Errorf("the changes are %+v", ch)
	}
	h.as("").get(at+"/changes?after="+board.Position).want(200, "").read(&ch)
	if len(ch.Seats) != 0 || ch.Position != board.Position {
		t.Errorf("later changes are %+v", ch)
	}
	h.as("").get(at+"/changes?after=elsewhere-1").want(200, "").read(&ch)
	if !ch.Resync {
		t.Errorf("changes of another epoch are %+v", ch)
	}
	if got := first.header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("a board may be kept: %q", got)
	}
}

// A board compressed is other bytes, and so has another tag; both are good for asking again.
func TestALargeBoardIsCompressedForWhoeverTakesIt(t *testing.T) {
	h := openHouse(t)
	drawing, err := seatmap.Grid(50, 100).Encode()
	if err != nil {
		t.Fatal(err)
	}
	key := h.as(h.key)
	large := h.made(key.post("/v1/venues/"+h.venue+"/maps", string(drawing)))
	event := h.made(key.post("/v1/events", `{"name":"Gala","starts_at":"2099-05-01T17:30:00Z","time_zone":"Europe/Vienna","map":"`+large+`",
		"currency":"EUR","ticket_types":[{"id":"standard","name":"Standard","price":4500}]}`))
	key.post("/v1/events/"+event+"/publish", "").want(200, "")
	url := "/v1/events/" + event + "/board"
	plain := h.as("").get(url).want(200, "")
	zipped := h.as("").with("Accept-Encoding", "gzip").get(url).want(200, "")
	if zipped.header.Get("Content-Encoding") != "gzip" || plain.header.Get("Content-Encoding") != "" || plain.header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("gzip is answered with %v, and nothing with %v", zipped.header, plain.header)
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped.body))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, plain.body) {
		t.Errorf("the compressed board is another one: %v", err)
	}
	tags := [2]string{plain.header.Get("ETag"), zipped.header.Get("ETag")}
	if tags[0] == tags[1] {
		t.Errorf("both have the tag %s", tags[0])
	}
	h.as("").with("If-None-Match", tags[0]).get(url).want(304, "")
	h.as("").with("If-None-Match", tags[1]).with("Accept-Encoding", "gzip").get(url).want(304, "")
}

func TestMapsAreCompressedAndKept(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	for _, url := range []string{"/v1/events/" + event + "/map", "/v1/venues/" + h.venue + "/maps/" + h.seatMap} {
		asker := h.as("")
		if strings.HasPrefix(url, "/v1/venues") {
			asker = h.as(h.key)
		}
		plain := asker.get(url).want(200, "")
		zipped := asker.with("Accept-Encoding", "gzip").get(url).want(200, "")
		if zipped.header.Get("Content-Encoding") != "gzip" || zipped.header.Get("ETag") == plain.header.Get("ETag") {
			t.Fatalf("%s: gzip is answered with %v", url, zipped.header)
		}
		r, err := gzip.NewReader(bytes.NewReader(zipped.body))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(data, plain.body) {
			t.Errorf("%s: the compressed map is another one: %v", url, err)
		}
		asker.with("If-None-Match", plain.header.Get("ETag")).get(url).want(304, "")
		private := strings.HasPrefix(plain.header.Get("Cache-Control"), "private")
		if private != strings.HasPrefix(url, "/v1/venues") {
			t.Errorf("%s: it may be kept by %q", url, plain.header.Get("Cache-Control"))
		}
	}
}

func TestEventsShowTheirInsidesToTheirOrganizerOnly(t *testing.T) {
	h := openHouse(t)
	event := h.onSale(`,"metadata":{"cost":"100"}`)
	draft := h.made(h.as(h.key).post("/v1/events", h.eventBody("")))
	public := h.as("").get("/v1/events/"+event).want(200, "")
	if strings.Contains(string(public.body), "cost") || strings.Contains(string(public.body), "sponsors") {
		t.Errorf("the public sees %s", public.body)
	}
	owner := h.as(h.key).get("/v1/events/"+event).want(200, "")
	if !strings.Contains(string(owner.body), "cost") || !strings.Contains(string(owner.body), `"access_codes":1`) || strings.Contains(string(owner.body), "open-sesame") {
		t.Errorf("the organizer sees %s", owner.body)
	}
	h.as("").get("/v1/events/"+draft).want(404, "NOT_FOUND")
	h.as(h.foreign).get("/v1/events/"+event).want(404, "NOT_FOUND")
	var list client.List[client.Event]
	h.as("").get("/v1/events").want(200, "").read(&list)
	if len(list.Data) != 1 || list.Next != nil {
		t.Errorf("the public sees %d events", len(list.Data))
	}
	h.as(h.key).get("/v1/events?limit=1").want(200, "").read(&list)
	if len(list.Data) != 1 || list.Next == nil {
		t.Fatalf("the first page is %+v", list)
	}
	h.as(h.key).get("/v1/events?limit=1&after="+*list.Next).want(200, "").read(&list)
	if len(list.Data) != 1 || list.Data[0].ID != draft {
		t.Errorf("the second page is %+v", list)
	}
	h.as(h.foreign).get("/v1/events").want(200, "").read(&list)
	if len(list.Data) != 0 {
		t.Errorf("another organizer sees %+v", list.Data)
	}
}

func TestHoldsAndOrdersAreFoundByReference(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	v := h.hold(event, `{"seats":["STALLS-A-1"],"reference":"A 77"}`)
	h.hold(event, `{"seats":["STALLS-A-2"]}`)
	h.as("").post(at+"/holds", `{"seats":["STALLS-A-3"],"reference":"A 77"}`).want(409, "REFERENCE_TAKEN")
	var holds client.List[client.Hold]
	h.as(h.key).get(at+"/holds?reference=A+77").want(200, "").read(&holds)
	if len(holds.Data) != 1 || holds.Data[0].ID != v.ID || holds.Data[0].Token != "" {
		t.Errorf("the holds are %+v", holds.Data)
	}
	h.as(h.key).get(at+"/holds").want(200, "").read(&holds)
	if len(holds.Data) != 2 {
		t.Errorf("%d holds are listed", len(holds.Data))
	}
	h.holder(v).post(at+"/orders", `{"hold":"`+v.ID+`","reference":"O-1","buyer":{"name":"Test Buyer","email":"buyer@example.com"}}`).want(201, "")
	var orders client.List[client.Order]
	h.as(h.key).get(at+"/orders?reference=O-1").want(200, "").read(&orders)
	if len(orders.Data) != 1 || orders.Data[0].Token != "" {
		t.Errorf("the orders are %+v", orders.Data)
	}
	h.as(h.key).get(at+"/orders?reference=O-2").want(200, "").read(&orders)
	if len(orders.Data) != 0 {
		t.Errorf("the orders are %+v", orders.Data)
	}
}

func TestExternalPaymentsNeedAKey(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	body := `{"hold":"` + v.ID + `","buyer":{"name":"Test Buyer","email":"buyer@example.com"},"payment":{"method":"external","reference":"pi_1"}}`
	h.holder(v).post(at+"/orders", body).want(403, "FORBIDDEN")
	var o client.Order
	h.as(h.key).post(at+"/orders", body).want(201, "").read(&o)
	if o.Payment.Method != "external" || *o.Payment.Reference != "pi_1" || o.Payment.URL != nil {
		t.Errorf("the payment is %+v", o.Payment)
	}
}

func TestABoxOfficeChoosesHowLongAHoldLives(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event + "/holds"
	var v client.Hold
	h.as(h.key).post(at, `{"seats":["STALLS-A-1"],"ttl_seconds":86400}`).want(201, "").read(&v)
	if v.ExpiresIn < 86000 {
		t.Errorf("the hold is %+v", v)
	}
	h.as("").post(at, `{"seats":["STALLS-A-2"],"ttl_seconds":60}`).want(422, "INVALID").fault("/ttl_seconds", "NEEDS_KEY")
	h.as(h.key).post(at, `{"seats":["STALLS-A-2"],"ttl_seconds":0}`).want(422, "INVALID").fault("/ttl_seconds", "OUT_OF_RANGE")
	h.as(h.key).post(at, `{"seats":["STALLS-A-2"],"ttl_seconds":-1}`).want(422, "INVALID").fault("/ttl_seconds", "OUT_OF_RANGE")
}

func TestWhoLosesASeatIsToldWhatToAskFor(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event + "/holds"
	h.hold(event, `{"seats":["STALLS-A-4"]}`)
	a := h.as("").post(at, `{"seats":["STALLS-A-3","STALLS-A-4"],"ticket_types":{"STALLS-A-4":"concession"}}`).want(409, "ALLOCATION_UNAVAILABLE")
	alternatives := a.problem.Alternatives
	if len(alternatives) != 1 || !slices.Equal(alternatives[0].Seats, []string{"STALLS-A-2", "STALLS-A-3"}) ||
		len(alternatives[0].TicketTypes) != 1 || alternatives[0].TicketTypes["STALLS-A-3"] != "concession" {
		t.Fatalf("%s", a.body)
	}
	if v := h.hold(event, `{"seats":["STALLS-A-2","STALLS-A-3"],"ticket_types":{"STALLS-A-3":"concession"}}`); v.Total != 4500+3000 {
		t.Errorf("what was offered costs %d", v.Total)
	}
	a = h.as("").post(at, `{"seats":["STALLS-A-4"],"areas":[{"area":"FLOOR","quantity":6}]}`).want(409, "ALLOCATION_UNAVAILABLE")
	if strings.Contains(string(a.body), "alternatives") {
		t.Errorf("other seats would not help: %s", a.body)
	}
}

func TestASingleSeatIsWarnedOfOrRefused(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	if !slices.Equal(v.Warnings, []client.Warning{{Code: "SINGLE_SEAT_LEFT", Seat: "STALLS-A-0"}}) {
		t.Errorf("warnings %+v", v.Warnings)
	}
	event = h.onSale(`,"single_seats":"strict"`)
	a := h.as("").post("/v1/events/"+event+"/holds", `{"seats":["STALLS-A-1"]}`).want(422, "SINGLE_SEAT_LEFT")
	if c := a.problem.Conflicts; len(c) != 1 || c[0].Seat != "STALLS-A-0" || c[0].Label != "Row A Seat 0" || c[0].Reason != "left_alone" {
		t.Errorf("%s", a.body)
	}
	h.as(h.key).post("/v1/events/"+event+"/holds", `{"seats":["STALLS-A-1"]}`).want(201, "")
	h.as(h.key).patch("/v1/events/"+event, `{"single_seats":"sometimes"}`).want(422, "INVALID").fault("/single_seats", "INVALID")
	h.as(h.key).patch("/v1/events/"+event, `{"single_seats":"off"}`).want(200, "")
	if v = h.hold(event, `{"seats":["STALLS-A-8"]}`); len(v.Warnings) != 0 {
		t.Errorf("off warns of %+v", v.Warnings)
	}
}
