package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// matrixBodies are good bodies of the routes that need one.
func (h *house) matrixBodies(v *client.Hold) map[string]string {
	return map[string]string{
		"POST /v1/events":                           h.eventBody(""),
		"PATCH /v1/events/{event}":                  `{"name":"Gala"}`,
		"PATCH /v1/events/{event}/map":              `{"map":"map_none"}`,
		"PATCH /v1/events/{event}/allocations":      `{"where":{"all":true},"set":{"channel":"public"},"dry_run":true}`,
		"PUT /v1/events/{event}/channels/{channel}": `{"name":"Press"}`,
		"POST /v1/events/{event}/holds":             `{"seats":["STALLS-A-5"]}`,
		"PATCH /v1/events/{event}/holds/{id}":       `{"add":{"seats":["STALLS-A-6"]}}`,
		"POST /v1/events/{event}/orders":            `{"hold":"` + v.ID + `","buyer":{"name":"Test Buyer","email":"buyer@example.com"}}`,
		"POST /v1/venues":                           `{"name":"Another House"}`,
		"PATCH /v1/venues/{venue}":                  `{"name":"Same House"}`,
		"POST /v1/venues/{venue}/maps":              drawing(),
		"POST /v1/keys":                             `{"name":"spare"}`,
	}
}

// cell is one caller of one route and what he hears; status 0 is anything but 401, 403 and 404.
type cell struct {
	who    string
	asker  *asker
	status int
}

// cells are all who are not the organizer or the owner, and what the route's access means for each.
func (h *house) cells(rt Route) []cell {
	foreign := http.StatusNotFound // another's things do not exist
	if !strings.Contains(rt.Pattern, "{") {
		foreign = 0 // its own list
	}
	nobody, scanner := 0, 403
	bad := 401 // a key that is none is refused wherever a key is looked at
	switch rt.Access {
	case AccessNone:
		scanner, bad = 0, 0
	case AccessPublic:
		scanner = 0
	case AccessBuyer:
	case AccessHolder, AccessOrderer, AccessOrganizer:
		nobody = 401
	}
	token := inventory.NewToken()
	return []cell{
		{"nobody", h.as(""), nobody},
		{"nobody with a cookie", h.as("").with("Cookie", "key="+h.key), nobody},
		{"an unknown key", h.as("rk_00000000000000000000000000"), bad},
		{"a key that is none", h.as("nonsense"), bad},
		{"basic authentication", h.as("").with("Authorization", "Basic "+h.key), bad},
		{"an empty bearer", h.as("").with("Authorization", "Bearer "), bad},
		{"a long bearer", h.as(strings.Repeat("x", 10_000)), bad},
		{"a scanner", h.as(h.scanner), scanner},
		{"a scanner with a token", h.as(h.scanner).with("Hold-Token", token).with("Order-Token", token), scanner},
		{"another organizer", h.as(h.foreign), foreign},
	}
}

// TestAuthorizationMatrix asks every route of the table as everybody. Each cell follows from the
// route's access alone, so a route that forgets to ask is found.
func TestAuthorizationMatrix(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
	o := h.buy(h.hold(event, `{"seats":["STALLS-A-2"]}`))
	var spare client.Key
	h.as(h.key).post("/v1/keys", `{"name":"spare"}`).want(201, "").read(&spare)
	bodies := h.matrixBodies(v)

	ask := func(a *asker, rt Route) *answered {
		id := v.ID
		switch {
		case strings.Contains(rt.Pattern, "/orders/"):
			id = o.ID
		case strings.Contains(rt.Pattern, "/tickets/"):
			id = o.Tickets[0].ID
		}
		url := strings.NewReplacer("{event}", event, "{id}", id, "{venue}", h.venue, "{map}", h.seatMap,
			"{channel}", "press", "{key}", spare.ID).Replace(rt.Pattern)
		if strings.HasSuffix(rt.Pattern, "/changes") {
			url += "?after=k3-1"
		}
		return a.ask(rt.Method, url, bodies[rt.Method+" "+rt.Pattern])
	}
	for _, rt := range Routes() {
		for _, c := range h.cells(rt) {
			a := ask(c.asker, rt)
			if c.status != 0 && a.status != c.status {
				t.Errorf("%s %s, %s: %d %s, want %d", rt.Method, rt.Pattern, c.who, a.status, a.body, c.status)
			}
			if c.status == 0 && (a.status == 401 || a.status == 403 || a.status == 404) {
				t.Errorf("%s %s, %s: %d %s", rt.Method, rt.Pattern, c.who, a.status, a.body)
			}
			if a.status == 401 && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s, %s: a 401 does not say how to ask", rt.Method, rt.Pattern, c.who)
			}
		}
	}
	// Nobody of them changed anything.
	h.auditReport(event, 2, 1) // STALLS-A-1, and STALLS-A-5 that the public held
	for _, rt := range Routes() {
		if a := ask(h.as(h.key), rt); a.status == 401 || a.status == 403 || a.status == 404 {
			t.Errorf("%s %s, the organizer: %d %s", rt.Method, rt.Pattern, a.status, a.body)
		}
	}
}

func TestARevokedKeyEndsAtOnce(t *testing.T) {
	h := openHouse(t)
	var k, rotated client.Key
	h.as(h.key).post("/v1/keys", `{"name":"spare","role":"scanner"}`).want(201, "").read(&k)
	h.as(k.Secret).get("/v1/events").want(200, "")
	a := h.as(h.key).post("/v1/keys/"+k.ID+"/rotate", "").want(201, "")
	a.read(&rotated)
	if rotated.Role != "scanner" || rotated.Name != "spare" || rotated.ID == k.ID || rotated.Secret == k.Secret {
		t.Errorf("the rotated key is %+v", rotated)
	}
	h.as(k.Secret).get("/v1/events").want(401, "UNAUTHORIZED")
	h.as(rotated.Secret).get("/v1/events").want(200, "")
	var gone client.Key
	h.as(h.key).delete("/v1/keys/"+rotated.ID).want(200, "").read(&gone)
	if gone.RevokedAt == nil || gone.Secret != "" {
		t.Errorf("the revoked key is %+v", gone)
	}
	h.as(rotated.Secret).get("/v1/events").want(401, "UNAUTHORIZED")
	list := h.as(h.key).get("/v1/keys").want(200, "")
	if strings.Contains(string(list.body), "secret") || strings.Contains(string(list.body), k.Secret) {
		t.Errorf("the list tells secrets: %s", list.body)
	}
	var page client.List[client.Key]
	h.as(h.key).get("/v1/keys?limit=2").want(200, "").read(&page)
	if len(page.Data) != 2 || page.Next == nil {
		t.Fatalf("the first page is %+v", page)
	}
	h.as(h.key).get("/v1/keys?limit=2&after="+*page.Next).want(200, "").read(&page)
	if len(page.Data) != 2 || page.Next != nil {
		t.Errorf("the last page is %+v", page)
	}
}
