package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/seatmap"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// BenchmarkRefusedHold measures what the server costs around the domain: a hold of an unknown event
// is routed, counted, read, checked and answered, and reaches the store only for the event's row.
func BenchmarkRefusedHold(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	rec := records.New(store)
	s := New(Config{
		Service: inventory.New(inventory.Config{Store: store, Catalogue: rec, Log: slog.New(slog.DiscardHandler)}),
		Office:  office.New(rec),
	})
	h := s.Handler()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "http://test/v1/events/evt_1/holds", strings.NewReader(`{"seats":["STALLS-A-1","STALLS-A-2"]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 404 {
			b.Fatalf("the answer is %d %s", w.Code, w.Body)
		}
	}
}

// BenchmarkDecodeHold measures the strict reading of a usual basket.
func BenchmarkDecodeHold(b *testing.B) {
	body := []byte(`{"seats":["STALLS-C-12","STALLS-C-13"],"ticket_types":{"STALLS-C-13":"concession"},"areas":[{"area":"FLOOR","quantity":2}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readHold(body); err != nil {
			b.Fatal(err)
		}
	}
}

// connection is what a benchmark answers to: it has deadlines, as a real one, and keeps the body.
type connection struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *connection) Header() http.Header             { return c.header }
func (c *connection) WriteHeader(status int)          { c.status = status }
func (c *connection) Write(p []byte) (int, error)     { return c.body.Write(p) }
func (c *connection) SetReadDeadline(time.Time) error { return nil }

// sender sends one request after another to a handler.
type sender struct {
	handler http.Handler
	to      connection
}

func (s *sender) send(method, path, body, token string) (status int) {
	r := &http.Request{
		Method: method, URL: &url.URL{Path: path}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 1), Body: http.NoBody, ContentLength: int64(len(body)), Host: "test",
	}
	if body != "" {
		r.Header["Content-Type"] = headerJSON
		r.Body = io.NopCloser(strings.NewReader(body))
	}
	if token != "" {
		r.Header["Hold-Token"] = []string{token}
	}
	s.to.header, s.to.status = make(http.Header), 0
	s.to.body.Reset()
	s.handler.ServeHTTP(&s.to, r)
	return s.to.status
}

// field is a string of the last answer.
func (s *sender) field(name string) string {
	_, rest, _ := strings.Cut(s.to.body.String(), `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// openHall opens a house without a log, and an event on sale in it with a thousand seats and a field.
func openHall(b *testing.B) (h *house, holds string) {
	h = openHouse(b)
	h.server = New(Config{Service: h.service, Office: h.office})
	m := seatmap.Grid(20, 50)
	m.Areas = []seatmap.Area{{Key: "FLOOR", Name: "Floor", Capacity: 10_000}}
	data, err := m.Encode()
	if err != nil {
		b.Fatal(err)
	}
	h.seatMap = h.made(h.as(h.key).post("/v1/venues/"+h.venue+"/maps", string(data)))
	event := h.made(h.as(h.key).post("/v1/events", `{"name":"Gala","starts_at":"2099-05-01T17:30:00Z","time_zone":"UTC","map":"`+h.seatMap+
		`","currency":"EUR","ticket_types":[{"id":"standard","name":"Standard","price":4500}]}`))
	for _, verb := range []string{"publish", "open"} {
		h.as(h.key).post("/v1/events/"+event+"/"+verb, "").want(200, "")
	}
	return h, "/v1/events/" + event + "/holds"
}

// crowd runs requests of callers who come at once, 64 to a processor, as batches are made of.
func crowd(b *testing.B, h *house, one func(s *sender) string) {
	b.ReportAllocs()
	b.SetParallelism(64)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		s := &sender{handler: h.server.Handler()}
		for pb.Next() {
			if fault := one(s); fault != "" {
				b.Errorf("%s: %d %s", fault, s.to.status, s.to.body.String())
				return
			}
		}
	})
}

// BenchmarkHotRejection is a seat that is lost by everybody, answered with what to ask for instead.
func BenchmarkHotRejection(b *testing.B) {
	h, path := openHall(b)
	const seat = `{"seats":["S1-1-1"]}`
	h.as("").post(path, seat).want(201, "")
	crowd(b, h, func(s *sender) string {
		if s.send("POST", path, seat, "") != 409 || s.field("code") != "ALLOCATION_UNAVAILABLE" {
			return "a claim in vain"
		}
		return ""
	})
}

// BenchmarkHotClaimAndRelease is a unit of an area, claimed and let go.
func BenchmarkHotClaimAndRelease(b *testing.B) {
	h, path := openHall(b)
	crowd(b, h, func(s *sender) string {
		if s.send("POST", path, `{"areas":[{"area":"FLOOR","quantity":1}]}`, "") != 201 {
			return "a claim"
		}
		if s.send("DELETE", path+"/"+s.field("id"), "", s.field("token")) != 204 {
			return "a release"
		}
		return ""
	})
}

// BenchmarkAnswers writes a usual hold and a usual problem, by hand and by the library.
func BenchmarkAnswers(b *testing.B) {
	at := time.UnixMicro(1_790_000_000_123_456).UTC()
	requested, free := int64(2), int64(1)
	for name, v := range map[string]any{
		"hold": &client.Hold{
			ID: "hld_0123456789abcdefghjkmnpqrstvwxyz", Token: "0123456789abcdefghjkmnpqrstvwxyz", Event: "evt_0123456789abcdefghjkmnpqrs", State: "live",
			ExpiresAt: at, ExpiresIn: 599, ExtendUntil: at, Currency: "EUR", Total: 3000, Warnings: []client.Warning{},
			Lines: []client.Line{{Area: "FLOOR", Label: "Floor", TicketType: "standing", Quantity: 2, Price: 1500, Amount: 3000}},
		},
		"problem": &client.Problem{
			Type: "/problems/allocation-unavailable", Title: "Not available", Status: 409, Code: "ALLOCATION_UNAVAILABLE", RequestID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
			Conflicts:    []client.Conflict{{Seat: "STALLS-A-1", Label: "Row A Seat 1", Reason: "held"}, {Area: "FLOOR", Label: "Floor", Reason: "sold_out", Requested: &requested, Free: &free}},
			Alternatives: []client.Alternative{{Seats: []string{"STALLS-A-4"}}},
		},
	} {
		var buffer bytes.Buffer
		for _, way := range []struct {
			name  string
			write func() error
		}{
			{"by-hand", func() error { return render(&buffer, v) }},
			{"library", func() error { return json.MarshalWrite(&buffer, v, json.Deterministic(true)) }},
		} {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					buffer.Reset()
					if err := way.write(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
