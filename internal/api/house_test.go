package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// house is a whole server over a real store, and its people. It is asked without sockets, so that it
// also works where time is virtual.
type house struct {
	t       testing.TB
	doc     *document
	server  *Server
	service *inventory.Service
	office  *office.Office
	log     bytes.Buffer

	organizer string // the organizer's id
	key       string // its key
	scanner   string // a scanner's key of the same organizer
	foreign   string // another organizer's key
	venue     string
	seatMap   string
}

// drawing has rows A and B of ten seats, and a floor for five.
func drawing() string {
	var b strings.Builder
	b.WriteString(`{"format":"rowlock-map/1","name":"Test House","focal_point":{"x":0,"y":0},"sections":[{"key":"STALLS","name":"Stalls","rows":[`)
	for r, row := range []string{"A", "B"} {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"label":"` + row + `","seats":[`)
		for i := range 10 {
			if i > 0 {
				b.WriteByte(',')
			}
			label, _ := json.Marshal(string(rune('0' + i)))
			x, _ := json.Marshal(10 * i)
			y, _ := json.Marshal(100 + 10*r)
			b.WriteString(`{"label":` + string(label) + `,"x":` + string(x) + `,"y":` + string(y) + `}`)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}],"areas":[{"key":"FLOOR","name":"Floor","capacity":5}]}`)
	return b.String()
}

func openHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, doc: openDocument(t)}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "house.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	log := slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rec := records.New(store)
	h.service = inventory.New(inventory.Config{Store: store, Catalogue: rec, Log: log})
	h.office = office.New(rec)
	h.server = New(Config{Service: h.service, Office: h.office, Log: log, CORSOrigins: []string{"*"}, Version: "test"})
	h.organizer, h.key = h.settle("Test Organizer")
	_, h.foreign = h.settle("Another Organizer")
	_, h.scanner, err = h.office.CreateKey(t.Context(), h.organizer, "door", office.RoleScanner, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.venue = h.made(h.as(h.key).post("/v1/venues", `{"name":"Test House"}`))
	h.seatMap = h.made(h.as(h.key).post("/v1/venues/"+h.venue+"/maps", drawing()))
	return h
}

// settle makes an organizer with a key.
func (h *house) settle(name string) (organizer, key string) {
	h.t.Helper()
	o, err := h.office.CreateOrganizer(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	_, key, err = h.office.CreateKey(h.t.Context(), o.ID, "box office", office.RoleOrganizer, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return o.ID, key
}

// eventBody describes an event whose row A is sold to everybody and row B to sponsors.
func (h *house) eventBody(more string) string {
	return `{"name":"Gala","starts_at":"2099-05-01T17:30:00Z","time_zone":"Europe/Vienna","map":"` + h.seatMap + `","currency":"EUR",
		"ticket_types":[{"id":"standard","name":"Standard","price":4500},{"id":"concession","name":"Concession","price":3000},{"id":"standing","name":"Standing","price":1500}],
		"channels":[{"id":"sponsors","name":"Sponsors","access_codes":["open-sesame"]}],
		"allocations":[
			{"where":{"all":true},"set":{"ticket_types":["standard","concession"]}},
			{"where":{"areas":["FLOOR"]},"set":{"ticket_types":["standing","concession"]}},
			{"where":{"seats":["STALLS-B-8"]},"set":{"channel":"withheld"}},
			{"where":{"seats":["STALLS-B-9"]},"set":{"channel":"sponsors"}}]` + more + `}`
}

// onSale makes an event and puts it on sale.
func (h *house) onSale(more string) string {
	h.t.Helper()
	event := h.made(h.as(h.key).post("/v1/events", h.eventBody(more)))
	for _, verb := range []string{"publish", "open"} {
		h.as(h.key).post("/v1/events/"+event+"/"+verb, "").want(200, "")
	}
	return event
}

// made is the id of what an answer of 201 made.
func (h *house) made(a *answered) string {
	h.t.Helper()
	a.want(201, "")
	var v struct {
		ID string `json:"id"`
	}
	a.read(&v)
	return v.ID
}

// asker is somebody with headers.
type asker struct {
	house  *house
	header http.Header
}

// as asks with a key; empty for none.
func (h *house) as(key string) *asker {
	a := &asker{house: h, header: make(http.Header)}
	if key != "" {
		a.header.Set("Authorization", "Bearer "+key)
	}
	return a
}

// with returns an asker with one more header.
func (a *asker) with(name, value string) *asker {
	header := a.header.Clone()
	header[http.CanonicalHeaderKey(name)] = []string{value}
	return &asker{house: a.house, header: header}
}

func (a *asker) get(url string) *answered { a.house.t.Helper(); return a.ask("GET", url, "") }

func (a *asker) delete(url string) *answered { a.house.t.Helper(); return a.ask("DELETE", url, "") }

func (a *asker) post(url, body string) *answered { a.house.t.Helper(); return a.ask("POST", url, body) }

func (a *asker) put(url, body string) *answered { a.house.t.Helper(); return a.ask("PUT", url, body) }

func (a *asker) patch(url, body string) *answered {
	a.house.t.Helper()
	return a.ask("PATCH", url, body)
}

// ask sends a request and holds the answer to the OpenAPI document.
func (a *asker) ask(method, url, body string) *answered {
	h := a.house
	h.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(h.t.Context(), method, "http://test"+url, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range a.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, r)
	out := &answered{house: h, what: method + " " + url, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	if w.Header().Get("Request-Id") == "" {
		h.t.Errorf("%s: the answer has no Request-Id", out.what)
	}
	if w.Code >= 500 {
		h.t.Errorf("%s: %d %s\n%s", out.what, w.Code, w.Body, &h.log)
	}
	_, pattern := h.server.mux.Handler(r)
	if m, p, ok := strings.Cut(pattern, " "); ok && w.Code != http.StatusMethodNotAllowed {
		if err := h.doc.check(m, p, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()); err != nil && w.Header().Get("Content-Encoding") == "" {
			h.t.Errorf("the answer is not the document's: %v", err)
		}
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/problem+json") {
		out.read(&out.problem)
	}
	return out
}

// answered is an answer.
type answered struct {
	house   *house
	what    string
	status  int
	header  http.Header
	body    []byte
	problem client.Problem
}

// want checks status and code.
func (a *answered) want(status int, code string) *answered {
	a.house.t.Helper()
	if a.status != status || a.problem.Code != code {
		a.house.t.Fatalf("%s: %d %s, want %d %s", a.what, a.status, a.body, status, code)
	}
	return a
}

// fault checks that the answer names a fault.
func (a *answered) fault(field, code string) *answered {
	a.house.t.Helper()
	for _, f := range a.problem.Errors {
		if f.Field == field && f.Code == code {
			return a
		}
	}
	a.house.t.Errorf("%s: %s, want a fault %s at %q", a.what, a.body, code, field)
	return a
}

func (a *answered) read(v any) {
	a.house.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.house.t.Errorf("%s: %v: %s", a.what, err, a.body)
	}
}

// hold makes a hold of a basket.
func (h *house) hold(event, body string) *client.Hold {
	h.t.Helper()
	var v client.Hold
	h.as("").post("/v1/events/"+event+"/holds", body).want(201, "").read(&v)
	return &v
}

// holder asks with a hold's token.
func (h *house) holder(v *client.Hold) *asker { return h.as("").with("Hold-Token", v.Token) }

// buy turns a hold into an order.
func (h *house) buy(v *client.Hold) *client.Order {
	h.t.Helper()
	var o client.Order
	h.holder(v).post("/v1/events/"+v.Event+"/orders", `{"hold":"`+v.ID+`","buyer":{"name":"Test Buyer","email":"buyer@example.com"}}`).
		want(201, "").read(&o)
	return &o
}

// listen serves a handler on a free port of this machine and returns its URL.
func listen(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config = NewHTTPServer(handler)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
