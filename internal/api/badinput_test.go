package api

import (
	"strings"
	"testing"
)

// badHolds are bodies of POST …/holds. Each is refused with its code and its field, and takes nothing.
var badHolds = []struct {
	name, body   string
	status       int
	code         string
	field, fault string
}{
	{"unknown seat", `{"seats":["STALLS-Z-1"]}`, 422, "INVALID", "/seats/0", "UNKNOWN"},
	{"unknown seat among known ones", `{"seats":["STALLS-A-1","STALLS-Z-1"]}`, 422, "INVALID", "/seats/1", "UNKNOWN"},
	{"an area as a seat", `{"seats":["FLOOR"]}`, 422, "INVALID", "/seats/0", "UNKNOWN"},
	{"empty seat key", `{"seats":[""]}`, 422, "INVALID", "/seats/0", "UNKNOWN"},
	{"markup in a seat key", `{"seats":["<img src=x onerror=alert(1)>"]}`, 422, "INVALID", "/seats/0", "UNKNOWN"},
	{"a NUL in a seat key", `{"seats":["STALLS-A-1\u0000"]}`, 422, "INVALID", "/seats/0", "UNKNOWN"},
	{"seat key in another case", `{"seats":["stalls-a-1"]}`, 422, "INVALID", "/seats/0", "UNKNOWN"},
	{"unknown area", `{"areas":[{"area":"BALCONY","quantity":1}]}`, 422, "INVALID", "/areas/0/area", "UNKNOWN"},
	{"area without a key", `{"areas":[{"quantity":1}]}`, 422, "INVALID", "/areas/0/area", "UNKNOWN"},
	{"duplicate seat", `{"seats":["STALLS-A-1","STALLS-A-2","STALLS-A-1"]}`, 422, "INVALID", "/seats/2", "DUPLICATE"},
	{"area and ticket type twice", `{"areas":[{"area":"FLOOR","quantity":1,"ticket_type":"standing"},{"area":"FLOOR","quantity":1,"ticket_type":"standing"}]}`, 422, "INVALID", "/areas/1", "DUPLICATE"},
	{"area twice by default", `{"areas":[{"area":"FLOOR","quantity":1},{"area":"FLOOR","quantity":1}]}`, 422, "INVALID", "/areas/1", "DUPLICATE"},
	{"zero", `{"areas":[{"area":"FLOOR","quantity":0}]}`, 422, "INVALID", "/areas/0/quantity", "OUT_OF_RANGE"},
	{"no quantity", `{"areas":[{"area":"FLOOR"}]}`, 422, "INVALID", "/areas/0/quantity", "OUT_OF_RANGE"},
	{"null as a quantity", `{"areas":[{"area":"FLOOR","quantity":null}]}`, 422, "INVALID", "/areas/0/quantity", "TYPE"},
	{"negative", `{"areas":[{"area":"FLOOR","quantity":-1}]}`, 422, "INVALID", "/areas/0/quantity", "OUT_OF_RANGE"},
	{"huge", `{"areas":[{"area":"FLOOR","quantity":9223372036854775807}]}`, 422, "INVALID", "/areas/0/quantity", "OUT_OF_RANGE"},
	{"huger", `{"areas":[{"area":"FLOOR","quantity":9223372036854775808}]}`, 422, "INVALID", "/areas/0/quantity", "TYPE"},
	{"fractional", `{"areas":[{"area":"FLOOR","quantity":0.5}]}`, 422, "INVALID", "/areas/0/quantity", "TYPE"},
	{"as a string", `{"areas":[{"area":"FLOOR","quantity":"1"}]}`, 422, "INVALID", "/areas/0/quantity", "TYPE"},
	{"wrong type of seats", `{"seats":{"0":"STALLS-A-1"}}`, 422, "INVALID", "/seats", "TYPE"},
	{"seats in a seat", `{"seats":[["STALLS-A-1"]]}`, 422, "INVALID", "/seats/0", "TYPE"},
	{"duplicate name", `{"seats":["STALLS-A-1"],"seats":["STALLS-A-2"]}`, 400, "MALFORMED", "/seats", "DUPLICATE_KEY"},
	{"name in another case", `{"SEATS":["STALLS-A-1"]}`, 422, "INVALID", "/SEATS", "UNKNOWN_FIELD"},
	{"both cases of a name", `{"seats":["STALLS-A-1"],"Seats":["STALLS-A-2"]}`, 422, "INVALID", "/Seats", "UNKNOWN_FIELD"},
	{"a price of the client's", `{"seats":["STALLS-A-1"],"total":1}`, 422, "INVALID", "/total", "UNKNOWN_FIELD"},
	{"trailing bytes", `{"seats":["STALLS-A-1"]}}`, 400, "MALFORMED", "", "SYNTAX"},
	{"invalid UTF-8", "{\"seats\":[\"STALLS-A-1\xc3\"]}", 400, "MALFORMED", "/seats/0", "INVALID_UTF8"},
	{"null", `null`, 422, "INVALID", "", "TYPE"},
	{"nothing wanted", `{}`, 422, "INVALID", "", "REQUIRED"},
	{"empty lists", `{"seats":[],"areas":[]}`, 422, "INVALID", "", "REQUIRED"},
	{"unknown ticket type", `{"seats":["STALLS-A-1"],"ticket_types":{"STALLS-A-1":"vip"}}`, 422, "INVALID", "/ticket_types/STALLS-A-1", "UNKNOWN"},
	{"a type that is not offered", `{"seats":["STALLS-A-1"],"ticket_types":{"STALLS-A-1":"standing"}}`, 422, "INVALID", "/ticket_types/STALLS-A-1", "NOT_OFFERED"},
	{"a type for a seat that is not asked for", `{"seats":["STALLS-A-1"],"ticket_types":{"STALLS-A-2":"standard"}}`, 422, "INVALID", "/ticket_types/STALLS-A-2", "UNKNOWN"},
	{"unknown type in an area", `{"areas":[{"area":"FLOOR","quantity":1,"ticket_type":"vip"}]}`, 422, "INVALID", "/areas/0/ticket_type", "UNKNOWN"},
	{"best available beside seats", `{"seats":["STALLS-A-1"],"best_available":{"quantity":1}}`, 422, "INVALID", "/best_available", "STANDS_ALONE"},
	{"best of nothing", `{"best_available":{"quantity":0}}`, 422, "INVALID", "/best_available/quantity", "OUT_OF_RANGE"},
	{"best of an unknown section", `{"best_available":{"quantity":1,"section":"BALCONY"}}`, 422, "INVALID", "/best_available/section", "UNKNOWN"},
	{"more accessible seats than seats", `{"best_available":{"quantity":1,"accessible":2}}`, 422, "INVALID", "/best_available/accessible", "OUT_OF_RANGE"},
	{"too many seats", `{"seats":[` + strings.Repeat(`"STALLS-A-1",`, 100) + `"STALLS-A-1"]}`, 422, "INVALID", "/seats", "TOO_MANY"},
	{"more than one hold may have", `{"seats":["STALLS-A-0","STALLS-A-1","STALLS-A-2","STALLS-A-3","STALLS-A-4","STALLS-A-5","STALLS-A-6","STALLS-A-7","STALLS-A-8","STALLS-A-9","STALLS-B-0"]}`, 422, "HOLD_LIMIT_EXCEEDED", "", ""},
	{"an empty reference", `{"seats":["STALLS-A-1"],"reference":""}`, 422, "INVALID", "/reference", "INVALID"},
	{"a long reference", `{"seats":["STALLS-A-1"],"reference":"` + strings.Repeat("x", 101) + `"}`, 422, "INVALID", "/reference", "INVALID"},
	{"a reference of two lines", `{"seats":["STALLS-A-1"],"reference":"a\nb"}`, 422, "INVALID", "/reference", "INVALID"},
	{"a long value in metadata", `{"seats":["STALLS-A-1"],"metadata":{"k":"` + strings.Repeat("x", 501) + `"}}`, 422, "INVALID", "/metadata", "INVALID"},
	{"a number in metadata", `{"seats":["STALLS-A-1"],"metadata":{"k":1}}`, 422, "INVALID", "/metadata/k", "TYPE"},
	{"too much metadata", `{"seats":["STALLS-A-1"],"metadata":{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","10":"","11":"","12":"","13":"","14":"","15":"","16":"","17":"","18":"","19":"","20":"","21":""}}`, 422, "INVALID", "/metadata", "TOO_MANY"},
}

func TestBadHoldsAreRefusedWithTheirPlace(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	for _, c := range badHolds {
		t.Run(c.name, func(t *testing.T) {
			a := h.as("").post("/v1/events/"+event+"/holds", c.body).want(c.status, c.code)
			if c.fault != "" {
				a.fault(c.field, c.fault)
			}
			if body := string(a.body); strings.Contains(body, "<") || strings.Contains(body, "onerror") {
				t.Errorf("the answer echoes what was sent: %s", body)
			}
		})
	}
	h.auditReport(event, 0, 0)
}

func TestAllFaultsAreToldTogether(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	h.as("").post("/v1/events/"+event+"/holds", `{"seats":["X","STALLS-A-1","STALLS-A-1"],"areas":[{"area":"Y","quantity":0}]}`).want(422, "INVALID").
		fault("/seats/0", "UNKNOWN").fault("/seats/2", "DUPLICATE").fault("/areas/0/area", "UNKNOWN").fault("/areas/0/quantity", "OUT_OF_RANGE")
	h.holder(h.hold(event, `{"seats":["STALLS-A-1"]}`)).post("/v1/events/"+event+"/orders",
		`{"hold":"x","reference":"","buyer":{"name":"a\nb","email":"x"},"payment":{"method":"cash","reference":""}}`).want(422, "INVALID").
		fault("/hold", "INVALID").fault("/reference", "INVALID").fault("/buyer/name", "INVALID").fault("/buyer/email", "INVALID").
		fault("/payment/method", "UNKNOWN").fault("/payment/reference", "INVALID")
}

func TestABodyOfAMegabyteIsTooLarge(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	body := `{"seats":["` + strings.Repeat("x", 1<<20) + `"]}`
	h.as("").post("/v1/events/"+event+"/holds", body).want(413, "BODY_TOO_LARGE")
	h.as(h.key).post("/v1/events", body).want(413, "BODY_TOO_LARGE")
	h.as(h.key).post("/v1/venues", `{"name":"`+strings.Repeat("x", bodyBytesMax)+`"}`).want(413, "BODY_TOO_LARGE")
	// A map may be larger, and is then judged for what it is.
	h.as(h.key).post("/v1/venues/"+h.venue+"/maps", body).want(422, "INVALID")
	h.as(h.key).post("/v1/venues/"+h.venue+"/maps", strings.Repeat(" ", mapBytesMax+1)).want(413, "BODY_TOO_LARGE")
}

func TestDeepBodiesAreMalformed(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	h.as("").post("/v1/events/"+event+"/holds", `{"seats":`+deep+`}`).want(400, "MALFORMED")
	h.as(h.key).post("/v1/venues/"+h.venue+"/maps", deep).want(400, "MALFORMED")
}

func TestBadBodiesNeedTheirType(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event + "/holds"
	h.as("").post(at, "").want(400, "MALFORMED")
	h.as("").with("Content-Type", "text/plain").post(at, `{"seats":["STALLS-A-1"]}`).want(415, "UNSUPPORTED_MEDIA_TYPE")
	h.as("").with("Content-Type", "application/json; charset=latin1").post(at, `{"seats":["STALLS-A-1"]}`).want(415, "UNSUPPORTED_MEDIA_TYPE")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	h.holder(v).post(at+"/"+v.ID+"/extend", `{}`).want(200, "")
	h.holder(v).post(at+"/"+v.ID+"/extend", `{"seconds":600}`).want(422, "INVALID").fault("/seconds", "UNKNOWN_FIELD")
}

func TestUnknownThingsAreNotFound(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	for _, id := range []string{"evt_01", "x", "<script>", "%00", "%ff", "evt_%2e%2e", strings.Repeat("x", 3000)} {
		at := "/v1/events/" + id
		if id == "<script>" {
			at = "/v1/events/%3Cscript%3E"
		}
		h.as("").get(at).want(404, "NOT_FOUND")
		h.as("").get(at+"/map").want(404, "NOT_FOUND")
		h.as("").get(at+"/board").want(404, "NOT_FOUND")
		h.as("").get(at+"/offer").want(404, "NOT_FOUND")
		h.as("").get(at+"/changes?after=k3-1").want(404, "NOT_FOUND")
		h.as("").post(at+"/holds", `{"seats":["STALLS-A-1"]}`).want(404, "NOT_FOUND")
		h.holder(v).get(at+"/holds/"+v.ID).want(404, "NOT_FOUND")
		h.holder(v).delete(at+"/holds/"+v.ID).want(404, "NOT_FOUND")
		h.as(h.key).get(at+"/report").want(404, "NOT_FOUND")
		h.as(h.key).get(at+"/log").want(404, "NOT_FOUND")
		h.as(h.key).post(at+"/publish", "").want(404, "NOT_FOUND")
	}
	h.holder(v).get("/v1/events/"+event+"/holds/nothing").want(404, "NOT_FOUND")
	h.as(h.key).get("/v1/events/"+event+"/orders/ord_01").want(404, "NOT_FOUND")
	h.as(h.key).post("/v1/events/"+event+"/orders/ord_01/cancel", "").want(404, "NOT_FOUND")
	h.as(h.key).post("/v1/events/"+event+"/tickets/tkt_01/cancel", "").want(404, "NOT_FOUND")
	h.as(h.key).post("/v1/events/"+event+"/tickets/x/cancel", "").want(404, "NOT_FOUND")
	h.as(h.key).get("/v1/venues/ven_01").want(404, "NOT_FOUND")
	h.as(h.key).get("/v1/venues/"+h.venue+"/maps/map_01").want(404, "NOT_FOUND")
	h.as(h.key).post("/v1/venues/ven_01/maps", drawing()).want(404, "NOT_FOUND")
	h.as(h.key).post("/v1/keys/key_01/rotate", "").want(404, "NOT_FOUND")
	h.as(h.key).delete("/v1/keys/key_01").want(404, "NOT_FOUND")
}

func TestBadQueriesAreInvalid(t *testing.T) {
	h := openHouse(t)
	at := "/v1/events/" + h.onSale("")
	h.as("").get("/v1/events?limit=0").want(422, "INVALID").fault("?limit", "OUT_OF_RANGE")
	h.as("").get("/v1/events?limit=x&after=%20").want(422, "INVALID").fault("?limit", "OUT_OF_RANGE").fault("?after", "INVALID")
	h.as("").get(at+"/changes").want(422, "INVALID").fault("?after", "REQUIRED")
	h.as("").get(at+"/changes?after=1042").want(422, "INVALID").fault("?after", "INVALID")
	h.as("").get(at+"/changes?after=k3--1").want(422, "INVALID").fault("?after", "INVALID")
	h.as(h.key).get(at+"/log?after=x").want(422, "INVALID").fault("?after", "INVALID")
	h.as(h.key).get(at+"/log?after=99999999999999999999").want(422, "INVALID").fault("?after", "INVALID")
	h.as(h.key).get(at+"/holds?after=x").want(422, "INVALID").fault("?after", "INVALID")
}

func TestBadEventsAreRefusedWithTheirPlace(t *testing.T) {
	h := openHouse(t)
	good := h.eventBody("")
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the event has no %s", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for _, c := range []struct{ name, body, field, fault string }{
		{"nothing", `{}`, "/name", "REQUIRED"},
		{"a start in the past", replace("2099-05-01", "2019-05-01"), "/starts_at", "IN_THE_PAST"},
		{"a start before 1970", replace("2099-05-01", "1969-05-01"), "/starts_at", "INVALID"},
		{"the start of 1970", replace("2099-05-01T17:30:00Z", "1970-01-01T00:00:00Z"), "/starts_at", "IN_THE_PAST"},
		{"a start that cannot be written in UTC", replace("2099-05-01T17:30:00Z", "9999-12-31T23:59:59-01:00"), "/starts_at", "INVALID"},
		{"a start that is no instant", replace("2099-05-01T17:30:00Z", "soon"), "/starts_at", "INVALID"},
		{"a start of another type", replace(`"2099-05-01T17:30:00Z"`, "4081000000"), "/starts_at", "TYPE"},
		{"a sale that is over", replace(`"currency"`, `"sale":{"starts_at":null,"ends_at":"2019-01-01T00:00:00Z"},"currency"`), "/sale/ends_at", "IN_THE_PAST"},
		{"a sale that was over in 1970", replace(`"currency"`, `"sale":{"ends_at":"1970-01-01T00:00:00Z"},"currency"`), "/sale/ends_at", "IN_THE_PAST"},
		{"a sale that ends first", replace(`"currency"`, `"sale":{"starts_at":"2099-01-02T00:00:00Z","ends_at":"2099-01-01T00:00:00Z"},"currency"`), "/sale/ends_at", "INVALID"},
		{"an unknown time zone", replace("Europe/Vienna", "Europe/Atlantis"), "/time_zone", "UNKNOWN"},
		{"an unknown currency", replace("EUR", "EUX"), "/currency", "UNKNOWN"},
		{"an unknown map", replace(h.seatMap, "map_01"), "/map", "UNKNOWN"},
		{"a negative price", replace("4500", "-1"), "/ticket_types/0/price", "OUT_OF_RANGE"},
		{"no price", replace(`,"price":4500`, ""), "/ticket_types/0/price", "REQUIRED"},
		{"null as a price", replace("4500", "null"), "/ticket_types/0/price", "REQUIRED"},
		{"a long name of a ticket type", replace(`"name":"Concession"`, `"name":"`+strings.Repeat("x", 101)+`"`), "/ticket_types/1/name", "INVALID"},
		{"a fractional price", replace("4500", "45.00"), "/ticket_types/0/price", "TYPE"},
		{"a ticket type twice", replace(`"id":"concession"`, `"id":"standard"`), "/ticket_types/1/id", "DUPLICATE"},
		{"an unknown seat in a rule", replace("STALLS-B-8", "STALLS-Z-8"), "/allocations/2/where/seats/0", "UNKNOWN"},
		{"a rule tried out", replace(`"set":{"channel":"withheld"}`, `"set":{"channel":"withheld"},"dry_run":true`), "/allocations/2/dry_run", "NOT_ALLOWED"},
		{"no time at all", replace(`"currency"`, `"limits":{"hold_seconds":0},"currency"`), "/limits/hold_seconds", "OUT_OF_RANGE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.as(h.key).post("/v1/events", c.body).want(422, "INVALID").fault(c.field, c.fault)
		})
	}
	h.as(h.key).post("/v1/events", "["+good+","+replace("EUR", "EUX")+"]").want(422, "INVALID").fault("/1/currency", "UNKNOWN")
	h.as(h.key).post("/v1/events", `[]`).want(422, "INVALID").fault("", "REQUIRED")
	h.as(h.key).post("/v1/events", `[null]`).want(422, "INVALID").fault("/0", "TYPE")
	h.as(h.key).post("/v1/events", "["+good+","+replace(`,"price":4500`, "")+"]").want(422, "INVALID").fault("/1/ticket_types/0/price", "REQUIRED")
	a := h.as(h.key).get("/v1/events").want(200, "")
	if !strings.Contains(string(a.body), `"data":[]`) {
		t.Errorf("something was made: %s", a.body)
	}
}

func TestBadMapsAreRefusedWithTheirPlace(t *testing.T) {
	h := openHouse(t)
	at := "/v1/venues/" + h.venue + "/maps"
	for _, c := range []struct {
		name, old, with string
		status          int
		code            string
		field, fault    string
	}{
		{"two seats of one key", `{"label":"1",`, `{"label":"0",`, 422, "INVALID", "/sections/0/rows/0/seats/1/key", "DUPLICATE"},
		{"an area of capacity 0", `"capacity":5`, `"capacity":0`, 422, "INVALID", "/areas/0/capacity", "OUT_OF_RANGE"},
		{"a member twice", `"name":"Floor"`, `"name":"Floor","name":"Floor"`, 400, "MALFORMED", "/areas/0/name", "DUPLICATE_KEY"},
		{"an unknown member", `"name":"Floor"`, `"name":"Floor","colour":"red"`, 422, "INVALID", "/areas/0/colour", "UNKNOWN_FIELD"},
		{"another format", `rowlock-map/1`, `rowlock-map/9`, 422, "INVALID", "/format", "UNSUPPORTED_FORMAT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(drawing(), c.old) {
				t.Fatalf("the drawing has no %s", c.old)
			}
			h.as(h.key).post(at, strings.Replace(drawing(), c.old, c.with, 1)).want(c.status, c.code).fault(c.field, c.fault)
		})
	}
	h.as(h.key).post(at, `{"format":"rowlock-map/1","name":"x","focal_point":{"x":0,"y":0},"sections":[{"key":"S","name":"S","rows":[{"label":"A","seats":[]}]}],"areas":[]}`).
		want(422, "INVALID").fault("/sections/0/rows/0/seats", "EMPTY")
	h.as(h.key).post(at, drawing()+"x").want(400, "MALFORMED").fault("", "SYNTAX")
	h.as(h.key).post(at, strings.Replace(drawing(), "Floor", "\xff", 1)).want(400, "MALFORMED").fault("/areas/0/name", "INVALID_UTF8")
	h.as(h.key).post(at, `null`).want(422, "INVALID").fault("", "TYPE")
	h.as(h.key).post(at, `[]`).want(422, "INVALID").fault("", "TYPE")
}

func TestBadPaperworkIsRefusedWithItsPlace(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event
	key := h.as(h.key)
	key.post("/v1/venues", `{}`).want(422, "INVALID").fault("/name", "REQUIRED")
	key.post("/v1/venues", `{"name":"x","reference":"`+strings.Repeat("x", 101)+`"}`).want(422, "INVALID").fault("/reference", "INVALID")
	key.post("/v1/keys", `{"role":"owner"}`).want(422, "INVALID").fault("/name", "REQUIRED").fault("/role", "UNKNOWN")
	key.put(at+"/channels/public", `{"name":"x"}`).want(422, "INVALID")
	key.put(at+"/channels/Sponsors", `{"name":"x"}`).want(422, "INVALID")
	key.put(at+"/channels/press", `{"id":"sponsors","name":"x"}`).want(422, "INVALID").fault("/id", "INVALID")
	for _, code := range []string{"abc", "open sesame", " code", "grüße", strings.Repeat("x", 65)} {
		key.put(at+"/channels/press", `{"name":"Press","access_codes":["`+code+`"]}`).want(422, "INVALID").fault("/access_codes/0", "INVALID")
	}
	key.put(at+"/channels/press", `{"name":"Press","access_codes":["!~#;"]}`).want(200, "")
	key.put(at+"/channels/press", `{"name":"Press","access_codes":["abc"]}`).want(422, "INVALID").fault("/access_codes/0", "INVALID")
	key.patch(at+"/allocations", `{"where":{"seats":["STALLS-Z-1"]},"set":{"channel":"public"}}`).want(422, "INVALID").fault("/where/seats/0", "UNKNOWN")
	key.patch(at, `{"currency":"USD"}`).want(409, "EVENT_STATE_CONFLICT")
	key.patch(at, `{"starts_at":"2019-05-01T17:30:00Z"}`).want(422, "INVALID").fault("/starts_at", "IN_THE_PAST")
	key.patch(at, `{"starts_at":"2099-05-02T17:30:00Z"}`).want(200, "")
	key.patch(at, `{"name":""}`).want(422, "INVALID").fault("/name", "REQUIRED")
	key.post(at+"/publish", "").want(409, "EVENT_STATE_CONFLICT")
	key.post(at+"/orders/ord_1/cancel", `{"reason":"`+strings.Repeat("x", 201)+`"}`).want(422, "INVALID").fault("/reason", "INVALID")
	for _, bad := range []string{"short", strings.Repeat("x", 129), "with a space in it"} {
		key.with("Idempotency-Key", bad).post("/v1/venues", `{"name":"x"}`).want(422, "INVALID").fault("Idempotency-Key", "INVALID_IDEMPOTENCY_KEY")
	}
}

func TestAnEventThatIsNotOnSaleTakesNoClaims(t *testing.T) {
	h := openHouse(t)
	event := h.made(h.as(h.key).post("/v1/events", h.eventBody("")))
	at := "/v1/events/" + event
	const seat = `{"seats":["STALLS-A-1"]}`
	h.as("").post(at+"/holds", seat).want(404, "NOT_FOUND")
	h.as(h.key).post(at+"/publish", "").want(200, "")
	h.as("").post(at+"/holds", seat).want(409, "EVENT_NOT_ON_SALE")
	h.as(h.key).post(at+"/open", "").want(200, "")
	v := h.hold(event, seat)
	h.as(h.key).post(at+"/pause", "").want(200, "")
	h.as("").post(at+"/holds", `{"seats":["STALLS-A-2"]}`).want(409, "EVENT_NOT_ON_SALE")
	h.holder(v).post(at+"/holds/"+v.ID+"/extend", "").want(409, "EVENT_NOT_ON_SALE")
	h.as(h.key).post(at+"/cancel", "").want(200, "")
	h.holder(v).post(at+"/orders", `{"hold":"`+v.ID+`","buyer":{"name":"","email":"buyer@example.com"}}`).want(409, "EVENT_NOT_ON_SALE")
	h.holder(v).delete(at+"/holds/"+v.ID).want(204, "")
}

func TestMalformedTokensAreUnauthorized(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	o := h.buy(h.hold(event, `{"seats":["STALLS-A-2"]}`))
	at := "/v1/events/" + event
	for _, token := range []string{"", "x", strings.ToUpper(v.Token), v.Token + "0", v.Token[1:], "<b>", strings.Repeat("u", 32)} {
		bad := h.as("").with("Hold-Token", token)
		bad.get(at+"/holds/"+v.ID).want(401, "UNAUTHORIZED")
		bad.patch(at+"/holds/"+v.ID, `{}`).want(401, "UNAUTHORIZED")
		bad.delete(at+"/holds/"+v.ID).want(401, "UNAUTHORIZED")
		bad.post(at+"/orders", `{"hold":"`+v.ID+`"}`).want(401, "UNAUTHORIZED")
		a := h.as("").with("Order-Token", token).get(at+"/orders/"+o.ID).want(401, "UNAUTHORIZED")
		if a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%q is answered with %v", token, a.header)
		}
	}
	h.as("").with("Order-Token", v.Token).get(at+"/orders/"+o.ID).want(404, "NOT_FOUND")
	h.as("").with("Cookie", "token="+v.Token).get(at+"/holds/"+v.ID).want(401, "UNAUTHORIZED")
	h.as("").get(at+"/holds/"+v.ID+"?token="+v.Token).want(401, "UNAUTHORIZED")
}

func TestBadChangesLeaveTheHoldAsItWas(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	h.hold(event, `{"seats":["STALLS-A-9"]}`)
	v := h.hold(event, `{"seats":["STALLS-A-1","STALLS-A-2"],"areas":[{"area":"FLOOR","quantity":2}]}`)
	at := "/v1/events/" + event + "/holds/" + v.ID
	before := string(h.holder(v).get(at).want(200, "").body)
	for _, c := range []struct {
		name, body   string
		status       int
		code         string
		field, fault string
	}{
		{"nothing", `{}`, 422, "INVALID", "", "REQUIRED"},
		{"null", `null`, 422, "INVALID", "", "TYPE"},
		{"an unknown seat", `{"add":{"seats":["X"]}}`, 422, "INVALID", "/add/seats/0", "UNKNOWN"},
		{"a seat that somebody else has", `{"add":{"seats":["STALLS-A-3","STALLS-A-9"]}}`, 409, "ALLOCATION_UNAVAILABLE", "", ""},
		{"a seat that is not held", `{"remove":{"seats":["STALLS-A-3"]}}`, 422, "INVALID", "/remove/seats/0", "NOT_HELD"},
		{"more of an area than is held", `{"remove":{"areas":[{"area":"FLOOR","quantity":3}]}}`, 422, "INVALID", "/remove/areas/0", "NOT_HELD"},
		{"a seat on both sides", `{"add":{"seats":["STALLS-A-1"]},"remove":{"seats":["STALLS-A-1"]}}`, 422, "INVALID", "/add/seats/0", "DUPLICATE"},
		{"all of it", `{"remove":{"seats":["STALLS-A-1","STALLS-A-2"],"areas":[{"area":"FLOOR","quantity":2}]}}`, 422, "INVALID", "/remove", "EMPTY"},
		{"a negative delta", `{"add":{"areas":[{"area":"FLOOR","quantity":-1}]}}`, 422, "INVALID", "/add/areas/0/quantity", "OUT_OF_RANGE"},
		{"too many seats", `{"add":{"seats":[` + strings.Repeat(`"STALLS-A-3",`, 100) + `"STALLS-A-3"]}}`, 422, "INVALID", "/add/seats", "TOO_MANY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := h.holder(v).patch(at, c.body).want(c.status, c.code)
			if c.fault != "" {
				a.fault(c.field, c.fault)
			}
		})
	}
	cut := func(s string) string { return expiresIn.ReplaceAllString(s, "") }
	if after := string(h.holder(v).get(at).want(200, "").body); cut(after) != cut(before) {
		t.Errorf("the hold was %s and is %s", before, after)
	}
}
