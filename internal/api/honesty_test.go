package api

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

func TestNothingIsSoldForFreeByAnOmission(t *testing.T) {
	h := openHouse(t)
	draft := h.made(h.as(h.key).post("/v1/events", h.eventBody("")))
	at := "/v1/events/" + draft
	for _, price := range []string{"", `,"price":null`} {
		h.as(h.key).patch(at, `{"ticket_types":[{"id":"standard","name":"Standard","price":1},{"id":"free","name":"Free"`+price+`}]}`).
			want(422, "INVALID").fault("/ticket_types/1/price", "REQUIRED")
	}
	// A price of 0 that is given is meant.
	free := `{"ticket_types":[{"id":"standard","name":"S","price":0},{"id":"concession","name":"C","price":0},{"id":"standing","name":"T","price":0}]}`
	var e client.Event
	h.as(h.key).patch(at, free).want(200, "").read(&e)
	if len(e.TicketTypes) != 3 || e.TicketTypes[0].Price != 0 {
		t.Errorf("the ticket types are %+v", e.TicketTypes)
	}
}

func TestFaultsOfABodyAreBounded(t *testing.T) {
	h := openHouse(t)
	body := strings.Replace(h.eventBody(""), `"ticket_types":[`, `"ticket_types":[`+strings.Repeat("{},", 5000), 1)
	a := h.as(h.key).post("/v1/events", body).want(422, "INVALID")
	if n := len(a.problem.Errors); n != faultsMax {
		t.Errorf("%d faults are told, want %d", n, faultsMax)
	}
}

func TestAKeyThatRotatesItselfTakesNoIdempotencyKey(t *testing.T) {
	h := openHouse(t)
	var own, other client.Key
	h.as(h.key).post("/v1/keys", `{"name":"own"}`).want(201, "").read(&own)
	h.as(h.key).post("/v1/keys", `{"name":"other"}`).want(201, "").read(&other)
	with := func(key string) *asker { return h.as(key).with("Idempotency-Key", idempotencyKey) }

	with(own.Secret).post("/v1/keys/"+own.ID+"/rotate", "").want(422, "INVALID").fault("Idempotency-Key", "NEEDS_ANOTHER_KEY")
	h.as(own.Secret).get("/v1/keys").want(200, "") // the key is in force still

	// Another key's rotation can be repeated, and its own can be had without the promise.
	first := with(own.Secret).post("/v1/keys/"+other.ID+"/rotate", "").want(201, "")
	second := with(own.Secret).post("/v1/keys/"+other.ID+"/rotate", "").want(201, "")
	if !bytes.Equal(first.body, second.body) || second.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the first is %s, the second %s", first.body, second.body)
	}
	h.as(own.Secret).post("/v1/keys/"+own.ID+"/rotate", "").want(201, "")
	h.as(own.Secret).get("/v1/keys").want(401, "UNAUTHORIZED")
}

func TestURLsOfTheAPIThatAreNotInTheirShortestFormAreUnknown(t *testing.T) {
	h := openHouse(t)
	for _, url := range []string{
		"//v1/events", "///v1/events", "//v1", "//v1/", "/./v1/events", "/pages/../v1/events", "/%2fv1/events",
		"/v1//events", "/v1/./events", "/v1/../v1/events", "/v1/../healthz", "/v1//",
	} {
		a := h.as("").get(url).want(404, "NOT_FOUND") // asking holds the answer to having a Request-Id
		if got := a.header.Get("Content-Type"); got != "application/problem+json" || a.header.Get("Location") != "" {
			t.Errorf("%s is answered with %v", url, a.header)
		}
	}
	h.as("").get("/v1/events").want(200, "")
}

func TestABodyWithAContentCodingIsRefused(t *testing.T) {
	h := openHouse(t)
	at := "/v1/events/" + h.onSale("") + "/holds"
	for _, coding := range []string{"gzip", "GZIP", "br", "deflate, gzip", "identity, gzip", "x"} {
		a := h.as("").with("Content-Encoding", coding).post(at, `{"seats":["STALLS-A-1"]}`).want(415, "UNSUPPORTED_MEDIA_TYPE")
		if a.header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: the answer does not say what is taken: %v", coding, a.header)
		}
	}
	for i, coding := range []string{"identity", "Identity", "", "identity, identity"} {
		h.as("").with("Content-Encoding", coding).post(at, `{"seats":["STALLS-A-`+string(rune('1'+i))+`"]}`).want(201, "")
	}
}

func TestACursorOfAnotherListIsRefused(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	o := h.buy(h.hold(event, `{"seats":["STALLS-A-2"]}`))
	good := map[string]string{
		"/v1/events":                      event,
		"/v1/venues":                      h.venue,
		"/v1/venues/" + h.venue + "/maps": h.seatMap,
		"/v1/keys":                        inventory.NewID(inventory.PrefixKey),
		"/v1/events/" + event + "/holds":  v.ID,
		"/v1/events/" + event + "/orders": o.ID,
		"/v1/events/" + event + "/log":    "1",
	}
	for list, own := range good {
		h.as(h.key).get(list+"?after="+own).want(200, "")
		h.as(h.key).get(list+"?after=").want(200, "")
		bad := []string{"zzz", own + "x", own[:len(own)-1] + "%00", "%0a" + own, "-1", "%2b1", "99999999999999999999"}
		for other, cursor := range good {
			if other != list {
				bad = append(bad, cursor)
			}
		}
		for _, cursor := range bad {
			h.as(h.key).get(list+"?after="+cursor).want(422, "INVALID").fault("?after", "INVALID")
		}
	}
}

func TestAReferenceThatIsNoTextIsCalledThat(t *testing.T) {
	h := openHouse(t)
	for query, want := range map[string]string{"%ff": "not valid text", "": "not empty", "a%0ab": "one line"} {
		a := h.as(h.key).get("/v1/events?reference="+query).want(422, "INVALID").fault("?reference", "INVALID")
		if len(a.problem.Errors) != 1 || !strings.Contains(a.problem.Errors[0].Detail, want) {
			t.Errorf("?reference=%s: %+v, want one that says %q", query, a.problem.Errors, want)
		}
	}
}

// The document says of a buyer what the server does.
func TestABuyerWithAHoldTokenHasAnAddress(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	at := "/v1/events/" + event + "/orders"
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	order := func(buyer string) string { return `{"hold":"` + v.ID + `"` + buyer + `}` }
	h.holder(v).post(at, order("")).want(422, "INVALID").fault("/buyer/email", "REQUIRED")
	h.holder(v).post(at, order(`,"buyer":null`)).want(422, "INVALID").fault("/buyer/email", "REQUIRED")
	h.holder(v).post(at, order(`,"buyer":{"name":"Test Buyer"}`)).want(422, "INVALID").fault("/buyer/email", "REQUIRED")
	a := h.holder(v).post(at, order(`,"buyer":{}`)).want(422, "INVALID").fault("/buyer", "REQUIRED")
	if !strings.Contains(a.problem.Errors[0].Detail, "by key") {
		t.Errorf("the fault does not say who may leave the address out: %+v", a.problem.Errors)
	}
	h.holder(v).post(at, order(`,"buyer":{"email":"buyer@example.com"}`)).want(201, "")
	v = h.hold(event, `{"seats":["STALLS-A-2"]}`)
	h.as(h.key).post(at, order(`,"buyer":{"name":"Test Buyer"}`)).want(201, "")
	v = h.hold(event, `{"seats":["STALLS-A-3"]}`)
	h.as(h.key).post(at, order("")).want(201, "")
}

// boundedSchema is the part of a schema that bounds a value.
type boundedSchema struct {
	MaxLength int            `json:"maxLength"`
	MinLength int            `json:"minLength"`
	MaxItems  int            `json:"maxItems"`
	Pattern   string         `json:"pattern"`
	Items     *boundedSchema `json:"items"`
}

// TestTheDocumentsBoundsAreTheServers holds the bounds that stand in both places to each other. Those
// of the inventory are written out: that they hold is for TestBadPaperworkIsRefusedWithItsPlace.
func TestTheDocumentsBoundsAreTheServers(t *testing.T) {
	schemas := componentSchemas[struct {
		Properties map[string]boundedSchema `json:"properties"`
	}](t)
	of := func(schema, member string) boundedSchema { return schemas[schema].Properties[member] }
	for what, pair := range map[string][2]int{
		"a cancel's reason":         {of("CancelRequest", "reason").MaxLength, reasonRunesMax},
		"a ticket type's name":      {of("TicketTypeRequest", "name").MaxLength, 100},
		"an event's other channels": {of("EventRequest", "channels").MaxItems, 50}, // one of them withheld
		"a key's name":              {of("KeyRequest", "name").MaxLength, keyNameRunesMax},
		"a hold's reference":        {of("HoldRequest", "reference").MaxLength, referenceRunesMax},
		"a payment's reference":     {of("PaymentRequest", "reference").MaxLength, paymentReferenceRunesMax},
		"a buyer's name":            {of("BuyerRequest", "name").MaxLength, buyerNameRunesMax},
		"a buyer's address":         {of("BuyerRequest", "email").MaxLength, emailBytesMax},
		"an emptied reference":      {of("EventPatch", "reference").MinLength + of("VenueRequest", "reference").MinLength, 0},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: the document says %d, the server %d", what, pair[0], pair[1])
		}
	}
	for _, schema := range []string{"ChannelRequest", "ChannelPut"} {
		if code := of(schema, "access_codes").Items; code.Pattern != "^[!-~]+$" || code.MinLength != 4 || code.MaxLength != 64 {
			t.Errorf("%s: a code is %+v", schema, code)
		}
	}
	var doc struct {
		Components struct {
			Parameters map[string]struct {
				Schema boundedSchema `json:"schema"`
			} `json:"parameters"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	if key := doc.Components.Parameters["idempotencyKey"].Schema; key.Pattern != "^[!-~]{16,128}$" ||
		key.MinLength != idempotencyCharactersMin || key.MaxLength != idempotencyCharactersMax {
		t.Errorf("an Idempotency-Key is %+v", key)
	}
}
