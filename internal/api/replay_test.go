package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/client"
)

const idempotencyKey = "7d8f2c9e-0000-4000-8000-000000000001"

// TestReplaysAnswerTheSameBytes sends each request twice under one Idempotency-Key. The second answer
// is the first, byte by byte, and nothing is made twice.
func TestReplaysAnswerTheSameBytes(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	draft := h.made(h.as(h.key).post("/v1/events", h.eventBody("")))
	var spare client.Key
	h.as(h.key).post("/v1/keys", `{"name":"spare"}`).want(201, "").read(&spare)
	for i, c := range []struct {
		name, method, url, body string
		public                  bool
	}{
		{"a venue", "POST", "/v1/venues", `{"name":"Second House"}`, false},
		{"a changed venue", "PATCH", "/v1/venues/" + h.venue, `{"name":"Renamed House"}`, false},
		{"a map", "POST", "/v1/venues/" + h.venue + "/maps", drawing(), false},
		{"an event", "POST", "/v1/events", h.eventBody(`,"reference":"once"`), false},
		{"a changed event", "PATCH", "/v1/events/" + draft, `{"name":"Late Gala"}`, false},
		{"a published event", "POST", "/v1/events/" + draft + "/publish", "", false},
		{"a repainted seat", "PATCH", "/v1/events/" + event + "/allocations", `{"where":{"seats":["STALLS-B-0"]},"set":{"channel":"sponsors"}}`, false},
		{"a key", "POST", "/v1/keys", `{"name":"once"}`, false},
		{"a rotated key", "POST", "/v1/keys/" + spare.ID + "/rotate", "", false},
		{"a hold", "POST", "/v1/events/" + event + "/holds", `{"seats":["STALLS-A-1"]}`, true},
		{"an organizer's hold", "POST", "/v1/events/" + event + "/holds", `{"seats":["STALLS-A-2"]}`, false},
		{"the best seats", "POST", "/v1/events/" + event + "/holds", `{"best_available":{"quantity":2}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			who := h.as(h.key)
			if c.public {
				who = h.as("")
			}
			who = who.with("Idempotency-Key", idempotencyKey+string(rune('a'+i)))
			first, second := who.ask(c.method, c.url, c.body), who.ask(c.method, c.url, c.body)
			if first.status >= 300 || first.header.Get("Idempotent-Replayed") != "" {
				t.Fatalf("the first is %d %s", first.status, first.body)
			}
			if second.status != first.status || second.header.Get("Idempotent-Replayed") != "true" ||
				second.header.Get("Location") != first.header.Get("Location") || string(second.body) != string(first.body) {
				if expiresIn.ReplaceAllString(string(second.body), "") != expiresIn.ReplaceAllString(string(first.body), "") {
					t.Errorf("the first is %d %v %s\nthe second %d %v %s", first.status, first.header, first.body, second.status, second.header, second.body)
				}
			}
			if c.body == "" {
				who.with("Content-Type", "application/json").ask(c.method, c.url, " ").want(400, "MALFORMED")
				return
			}
			other := strings.Replace(c.body, "{", "{ ", 1)
			who.ask(c.method, c.url, other).want(422, "IDEMPOTENCY_KEY_REUSED")
		})
	}
	h.auditReport(event, 4, 0)
}

func TestAReplayedChangeHappensOnce(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"areas":[{"area":"FLOOR","quantity":1}]}`)
	at := "/v1/events/" + event + "/holds/" + v.ID
	who := h.holder(v).with("Idempotency-Key", idempotencyKey)
	for i := range 3 {
		a := who.patch(at, `{"add":{"areas":[{"area":"FLOOR","quantity":1}]}}`).want(200, "")
		if replayed := a.header.Get("Idempotent-Replayed") == "true"; replayed != (i > 0) {
			t.Errorf("answer %d is replayed: %v", i, replayed)
		}
	}
	h.auditReport(event, 2, 0)
	for range 2 {
		who.post(at+"/extend", "").want(200, "")
	}
}

func TestARefusalIsJudgedAgain(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event + "/holds"
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	who := h.as("").with("Idempotency-Key", idempotencyKey)
	who.post(at, `{"seats":["STALLS-A-1"]}`).want(409, "ALLOCATION_UNAVAILABLE")
	h.holder(v).delete(at+"/"+v.ID).want(204, "")
	who.post(at, `{"seats":["STALLS-A-1"]}`).want(201, "")
}

func TestOneKeyOfTwoCallersIsTwoKeys(t *testing.T) {
	h := openHouse(t)
	for _, key := range []string{h.key, h.foreign} {
		a := h.as(key).with("Idempotency-Key", idempotencyKey).post("/v1/venues", `{"name":"House"}`).want(201, "")
		if a.header.Get("Idempotent-Replayed") != "" {
			t.Error("one caller's answer was replayed to another")
		}
	}
}

// TestPromise6OneHoldOneOrder holds promise 6 over HTTP: any number of confirms, under the same
// Idempotency-Key, others and none, give one order.
func TestPromise6OneHoldOneOrder(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1","STALLS-A-2"]}`)
	body := `{"hold":"` + v.ID + `","buyer":{"name":"Test Buyer","email":"buyer@example.com"}}`
	var mu sync.Mutex
	seen := make(map[string]int)
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			who := h.holder(v)
			if i%3 > 0 {
				who = who.with("Idempotency-Key", idempotencyKey+strings.Repeat("x", i%3*(i%5)))
			}
			var o client.Order
			a := who.post("/v1/events/"+event+"/orders", body)
			if a.status == http.StatusCreated {
				a.read(&o)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[o.ID+o.Token]++
		})
	}
	all.Wait()
	if len(seen) != 1 || seen[""] != 0 {
		t.Errorf("the answers are %v", seen)
	}
	h.auditReport(event, 0, 2)
}

func TestRequestsAtOnceUnderOneKeyMakeOneThing(t *testing.T) {
	h := openHouse(t)
	var mu sync.Mutex
	seen := make(map[string]int)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			a := h.as(h.key).with("Idempotency-Key", idempotencyKey).post("/v1/venues", `{"name":"Second House"}`)
			mu.Lock()
			defer mu.Unlock()
			seen[string(a.body)]++
		})
	}
	all.Wait()
	if len(seen) != 1 {
		t.Errorf("the answers are %v", seen)
	}
	var list client.List[client.Venue]
	h.as(h.key).get("/v1/venues").want(200, "").read(&list)
	if len(list.Data) != 2 {
		t.Errorf("there are %d venues, want the house's own and one", len(list.Data))
	}
}

func TestAnOrderAndItsCancellationAreReplayed(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	at := "/v1/events/" + event + "/orders"
	body := `{"hold":"` + v.ID + `","buyer":{"name":"Test Buyer","email":"buyer@example.com"}}`
	buyer := h.holder(v).with("Idempotency-Key", idempotencyKey)
	first, second := buyer.post(at, body).want(201, ""), buyer.post(at, body).want(201, "")
	if string(first.body) != string(second.body) || first.header.Get("Idempotent-Replayed") != "" || second.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the first is %s\nthe second %v %s", first.body, second.header, second.body)
	}
	buyer.post(at, strings.Replace(body, "Test", "Other", 1)).want(422, "IDEMPOTENCY_KEY_REUSED")
	var o client.Order
	first.read(&o)
	key := h.as(h.key).with("Idempotency-Key", idempotencyKey)
	for range 2 {
		key.post(at+"/"+o.ID+"/cancel", `{"reason":"ill"}`).want(200, "")
	}
	key.post(at+"/"+o.ID+"/cancel", `{"reason":"well"}`).want(422, "IDEMPOTENCY_KEY_REUSED")
	h.auditReport(event, 0, 0)
}

// TestNoSecretStandsInARecord holds that a stolen database tells no keys and no tokens.
func TestNoSecretStandsInARecord(t *testing.T) {
	h := openHouse(t)
	r := httptest.NewRequest("POST", "http://test/v1/keys", nil)
	r.Header.Set("Idempotency-Key", idempotencyKey)
	id, err := (&exchange{}).idempotency(r)
	if err != nil {
		t.Fatal(err)
	}
	a := rendered{status: 201, location: "/x", value: map[string]string{"secret": "rk_secret"}, secret: true}
	answer, sealed, err := a.kept(id)
	if err != nil || strings.Contains(string(answer)+string(sealed), "rk_secret") {
		t.Errorf("what is kept is %q %q, %v", answer, sealed, err)
	}
	plain, err := id.Open(sealed)
	if err != nil || string(plain) != `{"secret":"rk_secret"}` {
		t.Errorf("opened, it is %q, %v", plain, err)
	}
	other := *id
	other.Secret += "x"
	if _, err := other.Open(sealed); err == nil {
		t.Error("another key opens it")
	}
	h.as(h.key).get("/v1/keys").want(200, "")
}
