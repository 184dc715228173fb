package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// send asks a handler and returns the answer, with the problem in it if it is one.
func send(t *testing.T, h http.Handler, r *http.Request) (*httptest.ResponseRecorder, client.Problem) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var p client.Problem
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/problem+json") {
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("the problem cannot be read: %v: %s", err, w.Body)
		}
		if p.Status != w.Code || p.RequestID != w.Header().Get("Request-Id") || p.Type != problemType(inventory.RefusalCode(p.Code)) {
			t.Errorf("the problem says %+v of a %d", p, w.Code)
		}
	}
	return w, p
}

// custom is a server with one more route, whose handler is the test's.
func custom(t *testing.T, c Config, rt Route, rule bodyRule, handle func(*Server, *exchange, *http.Request) error) http.Handler {
	t.Helper()
	s := New(c)
	r := &route{Route: rt, body: rule, handle: handle}
	s.mux.Handle(rt.Method+" "+rt.Pattern, s.serve(r))
	return s.Handler()
}

func TestWhatTheTableDoesNotHaveIsAProblem(t *testing.T) {
	h := New(Config{}).Handler()
	for _, c := range []struct {
		method, url string
		status      int
		code        inventory.RefusalCode
	}{
		{"GET", "/v1", 404, inventory.NotFound},
		{"GET", "/v1/", 404, inventory.NotFound},
		{"GET", "/v1/nothing", 404, inventory.NotFound},
		{"POST", "/v1/events/evt_1/nothing", 404, inventory.NotFound},
		{"GET", "/v1/events/", 404, inventory.NotFound},
		{"GET", "/v1//events", 404, inventory.NotFound},
		{"GET", "/v1/events/../events", 404, inventory.NotFound},
		{"GET", "/v1/events/%2e%2e/events", 404, inventory.NotFound},
		{"GET", "/nothing", 404, inventory.NotFound},
		{"DELETE", "/v1/events", 405, codeMethodNotAllowed},
		{"PUT", "/v1/events/evt_1/holds", 405, codeMethodNotAllowed},
		{"POST", "/healthz", 405, codeMethodNotAllowed},
		{"BREW", "/v1/venues", 405, codeMethodNotAllowed},
	} {
		r := httptest.NewRequest(c.method, "http://test"+c.url, nil)
		w, p := send(t, h, r)
		if w.Code != c.status || p.Code != string(c.code) {
			t.Errorf("%s %s: %d %q, want %d %s", c.method, c.url, w.Code, p.Code, c.status, c.code)
		}
	}
}

func TestAllowNamesTheMethodsOfAPath(t *testing.T) {
	h := New(Config{}).Handler()
	for _, method := range []string{"DELETE", "OPTIONS"} {
		w, _ := send(t, h, httptest.NewRequest(method, "http://test/v1/events", nil))
		if got, want := w.Header().Get("Allow"), "GET, HEAD, POST, OPTIONS"; got != want {
			t.Errorf("%s: Allow is %q, want %q", method, got, want)
		}
	}
}

func TestEveryRouteHasItsOwnPatternMethodAndBound(t *testing.T) {
	seen := make(map[string]bool)
	for _, rt := range table() {
		if seen[rt.label()] {
			t.Errorf("%s is there twice", rt.label())
		}
		seen[rt.label()] = true
		writes := rt.Method == "POST" || rt.Method == "PATCH" || rt.Method == "PUT"
		if writes != (rt.body != bodyNone) || writes != (rt.BodyMax > 0) {
			t.Errorf("%s reads a body of %d bytes", rt.label(), rt.BodyMax)
		}
		if rt.Access == AccessNone && strings.HasPrefix(rt.Pattern, "/v1") {
			t.Errorf("%s looks at no key", rt.label())
		}
	}
}

func TestRequestIds(t *testing.T) {
	h := New(Config{}).Handler()
	for id, kept := range map[string]bool{
		"":                        false,
		"abc-DEF_0.9":             true,
		strings.Repeat("x", 64):   true,
		strings.Repeat("x", 65):   false,
		"with space":              false,
		"<script>":                false,
		"ünïcode":                 false,
		"line\\nbreak{}\"quote\"": false,
	} {
		r := httptest.NewRequest("GET", "http://test/healthz", nil)
		if id != "" {
			r.Header["Request-Id"] = []string{id}
		}
		w, _ := send(t, h, r)
		got := w.Header().Get("Request-Id")
		if (got == id) != kept || got == "" {
			t.Errorf("the id %q is answered %q", id, got)
		}
	}
}

func TestCORS(t *testing.T) {
	for _, c := range []struct {
		name    string
		origins []string
		origin  string
		want    string
	}{
		{"nobody", nil, "https://shop.example.com", ""},
		{"anybody", []string{"*"}, "https://shop.example.com", "*"},
		{"one of the list", []string{"https://shop.example.com"}, "https://shop.example.com", "https://shop.example.com"},
		{"not of the list", []string{"https://shop.example.com"}, "https://shop.example.com.example.net", ""},
		{"in another case", []string{"https://shop.example.com"}, "https://SHOP.example.com", ""},
		{"null", []string{"https://shop.example.com"}, "null", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := New(Config{CORSOrigins: c.origins}).Handler()
			r := httptest.NewRequest("OPTIONS", "http://test/v1/events/evt_1/holds", nil)
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", "idempotency-key")
			w, _ := send(t, h, r)
			if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != c.want {
				t.Errorf("the preflight is answered %d %q, want 204 %q", w.Code, w.Header().Get("Access-Control-Allow-Origin"), c.want)
			}
			if allowed := strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Idempotency-Key"); allowed != (c.want != "") {
				t.Errorf("headers are allowed: %v", allowed)
			}
			if w.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed")
			}
			r = httptest.NewRequest("GET", "http://test/v1/nothing", nil)
			r.Header.Set("Origin", c.origin)
			w, _ = send(t, h, r)
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != c.want {
				t.Errorf("an error may be read by %q, want %q", got, c.want)
			}
			if exposed := w.Header().Get("Access-Control-Expose-Headers") == corsExposed; exposed != (c.want != "") {
				t.Errorf("headers are exposed: %v", exposed)
			}
		})
	}
}

func TestAnErrorsTextStaysInside(t *testing.T) {
	const secret = "disk sda1 of host db-7"
	for name, handle := range map[string]func(*Server, *exchange, *http.Request) error{
		"returned":        func(*Server, *exchange, *http.Request) error { return errors.New(secret) },
		"panicked":        func(*Server, *exchange, *http.Request) error { panic(secret) },
		"unknown refusal": func(*Server, *exchange, *http.Request) error { return &inventory.Refusal{Code: "NEW", Detail: secret} },
		"cannot be shown": func(_ *Server, x *exchange, _ *http.Request) error {
			return x.reply(200, map[string]any{secret: func() {}})
		},
		"a bug of the runtime's finding": func(_ *Server, x *exchange, _ *http.Request) error { return x.reply(200, secret[len(x.id[0])*100:]) },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h := custom(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, Route{Method: "GET", Pattern: "/v1/x"}, bodyNone, handle)
			w, p := send(t, h, httptest.NewRequest("GET", "http://test/v1/x", nil))
			status, code := 500, "INTERNAL"
			if name == "returned" { // by the contract of the Service, a fault of the store
				status, code = 503, "UNAVAILABLE"
			}
			if w.Code != status || p.Code != code || strings.Contains(w.Body.String(), "sda1") {
				t.Errorf("the answer is %d %s", w.Code, w.Body)
			}
			if line := log.String(); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "code="+code) || strings.Count(line, "\n") != 1 {
				t.Errorf("the log says %q", line)
			}
		})
	}
}

func TestPromise6AClientThatLeavesDoesNotTakeTheWorkWithIt(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		var deadline bool
		h := custom(t, Config{}, Route{Method: method, Pattern: "/v1/x", Access: AccessPublic}, bodyNone, func(_ *Server, x *exchange, r *http.Request) error {
			_, deadline = r.Context().Deadline()
			if err := r.Context().Err(); err != nil {
				return err
			}
			return x.reply(200, "done")
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w, _ := send(t, h, httptest.NewRequestWithContext(ctx, method, "http://test/v1/x", nil))
		if w.Code != 200 || !deadline {
			t.Errorf("%s: %d, bounded in time: %v", method, w.Code, deadline)
		}
	}
}

func TestAStoreThatTakesTooLongIsUnavailable(t *testing.T) {
	h := custom(t, Config{}, Route{Method: "GET", Pattern: "/v1/x"}, bodyNone,
		func(*Server, *exchange, *http.Request) error { return context.DeadlineExceeded })
	w, p := send(t, h, httptest.NewRequest("GET", "http://test/v1/x", nil))
	if w.Code != 503 || p.Code != "UNAVAILABLE" || w.Header().Get("Retry-After") == "" {
		t.Errorf("the answer is %d %s, Retry-After %q", w.Code, p.Code, w.Header().Get("Retry-After"))
	}
}

func TestReadinessSaysWhyOnlyToTheLog(t *testing.T) {
	var log bytes.Buffer
	h := New(Config{
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		Ready: func(context.Context) error { return errors.New("the disk is full") },
	}).Handler()
	w, p := send(t, h, httptest.NewRequest("GET", "http://test/readyz", nil))
	if w.Code != 503 || p.Code != "UNAVAILABLE" || strings.Contains(w.Body.String(), "disk") {
		t.Errorf("the answer is %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("the log says %q", log.String())
	}
}

// TestPromise11LoadIsRefusedAtOnce holds promise 11 for requests in flight.
func TestPromise11LoadIsRefusedAtOnce(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := custom(t, Config{InFlightMax: 1}, Route{Method: "GET", Pattern: "/v1/x", Access: AccessPublic}, bodyNone,
		func(_ *Server, x *exchange, _ *http.Request) error {
			close(entered)
			<-leave
			return x.reply(200, struct{}{})
		})
	first := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://test/v1/x", nil))
		first <- w.Code
	}()
	<-entered
	w, p := send(t, h, httptest.NewRequest("GET", "http://test/v1/x", nil))
	if w.Code != 503 || p.Code != "OVERLOADED" || w.Header().Get("Retry-After") == "" {
		t.Errorf("the second is answered %d %s", w.Code, p.Code)
	}
	if w, _ := send(t, h, httptest.NewRequest("GET", "http://test/healthz", nil)); w.Code != 200 {
		t.Errorf("under load, health is answered %d", w.Code)
	}
	close(leave)
	if code := <-first; code != 200 {
		t.Errorf("the first is answered %d", code)
	}
}

// TestPromise11WritesAreLimitedByAddress holds promise 11 for one client that asks too often.
func TestPromise11WritesAreLimitedByAddress(t *testing.T) {
	h := custom(t, Config{AddressRate: 0.001}, Route{Method: "POST", Pattern: "/v1/x", Access: AccessPublic}, bodyOptional,
		func(_ *Server, x *exchange, _ *http.Request) error { return x.reply(200, struct{}{}) })
	ask := func(from string) (*httptest.ResponseRecorder, client.Problem) {
		r := httptest.NewRequest("POST", "http://test/v1/x", nil)
		r.RemoteAddr = from
		return send(t, h, r)
	}
	if w, _ := ask("192.0.2.1:1000"); w.Code != 200 {
		t.Errorf("the first is answered %d", w.Code)
	}
	w, p := ask("192.0.2.1:1001")
	if w.Code != 429 || p.Code != "RATE_LIMITED" || w.Header().Get("Retry-After") != "1000" {
		t.Errorf("the second is answered %d %s, Retry-After %q", w.Code, p.Code, w.Header().Get("Retry-After"))
	}
	if w, _ := ask("192.0.2.2:1000"); w.Code != 200 {
		t.Errorf("another address is answered %d", w.Code)
	}
	if w, _ := ask("[2001:db8::1]:1"); w.Code != 200 {
		t.Errorf("a v6 address is answered %d", w.Code)
	}
	if w, _ := ask("[2001:db8::2]:1"); w.Code != 429 {
		t.Errorf("its neighbour in the /64 is answered %d", w.Code)
	}
}

func TestTheTableOfAddressesIsBounded(t *testing.T) {
	a := newAddresses(1)
	from := netip.MustParseAddr("10.0.0.0")
	for range 3*addressesMax + 7 {
		a.limiter(from)
		from = from.Next()
	}
	if len(a.young)+len(a.old) > 2*addressesMax {
		t.Errorf("the table has %d addresses", len(a.young)+len(a.old))
	}
	l := a.limiter(from)
	for range addressesMax {
		a.limiter(from.Next())
	}
	if a.limiter(from) != l {
		t.Error("an address that came lately was forgotten")
	}
}

func TestBodiesAreBounded(t *testing.T) {
	h := custom(t, Config{}, Route{Method: "POST", Pattern: "/v1/x", Access: AccessPublic, BodyMax: 100}, bodyRequired,
		func(_ *Server, x *exchange, _ *http.Request) error { return x.reply(200, len(x.body)) })
	ask := func(body io.Reader, contentType string) (int, string) {
		r := httptest.NewRequest("POST", "http://test/v1/x", body)
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		w, p := send(t, h, r)
		return w.Code, p.Code
	}
	unknownLength := func(n int) io.Reader { return io.MultiReader(strings.NewReader(strings.Repeat("1", n))) }
	for _, c := range []struct {
		name   string
		body   io.Reader
		kind   string
		status int
		code   string
	}{
		{"at the bound", strings.NewReader(strings.Repeat("1", 100)), "application/json", 200, ""},
		{"over it by its length", strings.NewReader(strings.Repeat("1", 101)), "application/json", 413, "BODY_TOO_LARGE"},
		{"at the bound, of unknown length", unknownLength(100), "application/json", 200, ""},
		{"over it, of unknown length", unknownLength(101), "application/json", 413, "BODY_TOO_LARGE"},
		{"a megabyte", strings.NewReader(strings.Repeat("1", 1<<20)), "application/json", 413, "BODY_TOO_LARGE"},
		{"empty", strings.NewReader(""), "application/json", 400, "MALFORMED"},
		{"of another type", strings.NewReader("1"), "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"of no type", strings.NewReader("1"), "", 415, "UNSUPPORTED_MEDIA_TYPE"},
	} {
		if status, code := ask(c.body, c.kind); status != c.status || code != c.code {
			t.Errorf("%s: %d %q, want %d %q", c.name, status, code, c.status, c.code)
		}
	}
}

// TestPromise11LargeBodiesAreFew holds promise 11 for the memory that maps take.
func TestPromise11LargeBodiesAreFew(t *testing.T) {
	s := New(Config{})
	for range mapUploadsMax {
		s.mapUploads <- struct{}{}
	}
	rt := &route{
		Route: Route{Method: "POST", Pattern: "/v1/x", Access: AccessPublic, BodyMax: mapBytesMax}, body: bodyRequired,
		handle: func(_ *Server, x *exchange, _ *http.Request) error { return x.reply(200, struct{}{}) },
	}
	s.mux.Handle("POST /v1/x", s.serve(rt))
	large := strings.Repeat(" ", bodyBytesMax) + "{}"
	post := func(body io.Reader) (*httptest.ResponseRecorder, client.Problem) {
		r := httptest.NewRequest("POST", "http://test/v1/x", body)
		r.Header.Set("Content-Type", "application/json")
		return send(t, s.Handler(), r)
	}
	ask := func() (*httptest.ResponseRecorder, client.Problem) { return post(strings.NewReader(large)) }
	if w, p := post(io.MultiReader(strings.NewReader("{}"))); w.Code != 503 || p.Code != "OVERLOADED" {
		t.Errorf("one of unknown length is answered %d %s", w.Code, p.Code)
	}
	if w, _ := post(strings.NewReader("{}")); w.Code != 200 {
		t.Errorf("a small one, where large ones may be, is answered %d", w.Code)
	}
	if w, p := ask(); w.Code != 503 || p.Code != "OVERLOADED" {
		t.Errorf("one more is answered %d %s", w.Code, p.Code)
	}
	<-s.mapUploads
	for range 2 {
		if w, _ := ask(); w.Code != 200 {
			t.Errorf("with a place free it is answered %d", w.Code)
		}
	}
	if got := len(s.mapUploads); got != mapUploadsMax-1 {
		t.Errorf("%d places are taken, want %d", got, mapUploadsMax-1)
	}
}

func TestIdempotencyKeysMeanSomethingForOneCallerMethodAndPath(t *testing.T) {
	id := func(x *exchange, method, path, key string) *inventory.Idempotency {
		r := httptest.NewRequest(method, "http://test"+path, nil)
		r.Header.Set("Idempotency-Key", key)
		got, err := x.idempotency(r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const key = "0123456789abcdef"
	public := &exchange{body: []byte("{}")}
	base := id(public, "POST", "/v1/events", key)
	if again := id(public, "POST", "/v1/events", key); again.ID != base.ID || again.Body != base.Body {
		t.Error("the same request has another id")
	}
	holder := &exchange{body: []byte("{}")}
	holder.holder, _ = inventory.HashToken(inventory.NewToken())
	for name, other := range map[string]*inventory.Idempotency{
		"key":    id(public, "POST", "/v1/events", key+"0"),
		"method": id(public, "PATCH", "/v1/events", key),
		"path":   id(public, "POST", "/v1/event", key),
		"caller": id(&exchange{body: []byte("{}"), caller: inventory.Caller{Key: "key_1"}}, "POST", "/v1/events", key),
		"holder": id(holder, "POST", "/v1/events", key),
	} {
		if other.ID == base.ID {
			t.Errorf("another %s has the same id", name)
		}
	}
	if other := id(&exchange{body: []byte("{ }")}, "POST", "/v1/events", key); other.ID != base.ID || other.Body == base.Body {
		t.Error("another body is not seen in Body alone")
	}
	for _, bad := range []string{"", "short", strings.Repeat("x", 129), "0123456789abcde\x7f", "0123456789 abcdef", "0123456789abcdeé"} {
		r := httptest.NewRequest("POST", "http://test/v1/events", nil)
		r.Header["Idempotency-Key"] = []string{bad}
		if _, err := public.idempotency(r); err == nil || refusalOf(err).Faults[0].Code != faultIdempotencyKey {
			t.Errorf("the key %q is answered %v", bad, err)
		}
	}
}

func TestTheLogSaysNoSecretsAndNoNames(t *testing.T) {
	var log bytes.Buffer
	h := New(Config{
		Log:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Office: office.New(noKeys{}),
	}).Handler()
	r := httptest.NewRequest("POST", "http://test/v1/events/evt_1/orders?token=query-secret", strings.NewReader(`{"buyer":{"email":"buyer@example.com"}}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Hold-Token", inventory.NewToken())
	r.Header.Set("Access-Code", "code-secret")
	r.Header.Set("Idempotency-Key", "idempotency-secret")
	w, _ := send(t, h, r)
	if w.Code != 422 {
		t.Fatalf("the answer is %d %s", w.Code, w.Body)
	}
	r.Header.Set("Authorization", "Bearer rk_keysecret")
	if w, _ := send(t, h, r); w.Code != 401 || w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Fatalf("the answer is %d", w.Code)
	}
	line := log.String()
	for _, secret := range []string{"secret", r.Header.Get("Hold-Token"), "buyer", "evt_1", "192.0.2.1"} {
		if strings.Contains(strings.ReplaceAll(line, "{event}", ""), secret) {
			t.Errorf("the log says %q: %s", secret, line)
		}
	}
	for _, want := range []string{"request_id=", `route="POST /v1/events/{event}/orders"`, "status=422", "duration=", "code=INVALID"} {
		if !strings.Contains(line, want) {
			t.Errorf("the log does not say %s: %s", want, line)
		}
	}
}

// noKeys is an office that knows nobody.
type noKeys struct{ office.Records }

func (noKeys) KeyByHash(context.Context, [32]byte) (*office.Key, error) {
	return nil, inventory.ErrNotFound
}

func TestMetricsAreBounded(t *testing.T) {
	h := New(Config{}).Handler()
	for _, url := range []string{"/v1/a", "/v1/b", "/v1/events/x/nothing", "/healthz"} {
		send(t, h, httptest.NewRequest("GET", "http://test"+url, nil))
	}
	w, _ := send(t, h, httptest.NewRequest("GET", "http://test/metrics", nil))
	page := w.Body.String()
	for _, want := range []string{
		`rowlock_http_requests_total{class="4xx",route="/v1/"} 3`,
		`rowlock_http_requests_total{class="2xx",route="GET /healthz"} 1`,
		`rowlock_http_refusals_total{code="NOT_FOUND"} 3`,
		`rowlock_http_request_duration_seconds_count{route="/v1/"} 3`,
		"rowlock_http_in_flight 0",
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page does not say %s", want)
		}
	}
}

func TestEmailsThatCannotBe(t *testing.T) {
	for s, want := range map[string]bool{
		"buyer@example.com":         true,
		"b.u-y+er@mail.example.com": true,
		"bücher@example.com":        true,
		"buyer":                     false,
		"@example.com":              false,
		"buyer@":                    false,
		"a@b@example.com":           false,
		"buyer@example..com":        false,
		"buyer@.example.com":        false,
		"Buyer <buyer@example.com>": false,
		"x@a.com\r\nBcc: y@a.com":   false,

		strings.Repeat("x", 65) + "@example.com": false,
		"buyer@" + strings.Repeat("x", 250):      false,
	} {
		if got := plausibleEmail(s); got != want {
			t.Errorf("plausibleEmail(%q) = %v", s, got)
		}
	}
}

func TestPagesOfAListing(t *testing.T) {
	for query, want := range map[string]string{
		"": "",
		"?limit=200&after=" + inventory.NewID("evt_"): "",
		"?limit=0":                           "?limit",
		"?limit=201":                         "?limit",
		"?limit=-1":                          "?limit",
		"?limit=1.5":                         "?limit",
		"?limit=":                            "?limit",
		"?limit=99999999999999999999":        "?limit",
		"?after=%00":                         "?after",
		"?after=" + strings.Repeat("x", 101): "?after",
		"?reference=":                        "?reference",
		"?reference=%ff":                     "?reference",
		"?reference=a%0ab":                   "?reference",
		"?limit=%zz":                         "?",
	} {
		r := httptest.NewRequest("GET", "http://test/v1/events", nil)
		r.URL.RawQuery = strings.TrimPrefix(query, "?")
		_, err := page(r, idsOf(inventory.PrefixEvent))
		got := ""
		if err != nil {
			got = refusalOf(err).Faults[0].Field
		}
		if got != want {
			t.Errorf("%s: a fault at %q, want %q", query, got, want)
		}
	}
}

func TestEntityTags(t *testing.T) {
	for value, want := range map[string]bool{
		`"k3-1042"`:      true,
		`W/"k3-1042"`:    true,
		`"x", "k3-1042"`: true,
		`*`:              true,
		`"k3-1043"`:      false,
		`k3-1042`:        false,
		`"k3-1042`:       false,
		``:               false,
	} {
		r := httptest.NewRequest("GET", "http://test/", nil)
		r.Header.Set("If-None-Match", value)
		if got := matches(r, `"k3-1042"`); got != want {
			t.Errorf("If-None-Match %s matches: %v", value, got)
		}
	}
}

func TestAcceptEncoding(t *testing.T) {
	for value, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "GZIP": true, "gzip;q=0": false, "gzip; q=0.000": false,
		"": false, "br": false, "identity, *": false,
	} {
		r := httptest.NewRequest("GET", "http://test/", nil)
		r.Header.Set("Accept-Encoding", value)
		if got := acceptsGzip(r); got != want {
			t.Errorf("Accept-Encoding %q takes gzip: %v", value, got)
		}
	}
}

func TestCompressedMapsAreBounded(t *testing.T) {
	c := newCompressed()
	data := bytes.Repeat([]byte("seat"), 1000)
	for i := range compressedMax + 5 {
		if got := c.get(strings.Repeat("m", i+1), func() ([]byte, error) { return data, nil }); len(got) >= len(data) {
			t.Fatalf("%d bytes were compressed to %d", len(data), len(got))
		}
	}
	if len(c.byID) != compressedMax || c.order.Len() != compressedMax {
		t.Errorf("%d maps are kept", len(c.byID))
	}
}

// TestALargeBoardIsSentCompressed shows that a board of 60,000 seats, whatever their states, stays under 16 KB.
func TestALargeBoardIsSentCompressed(t *testing.T) {
	seats := make([]byte, 60_000/4)
	rand.NewChaCha8([32]byte{1}).Read(seats)
	var b bytes.Buffer
	if err := render(&b, boardOf(&inventory.BoardView{Position: "k1-1", State: inventory.OnSale, Seats: seats})); err != nil {
		t.Fatal(err)
	}
	if got := len(zip(b.Bytes(), nil)); got >= 16<<10 {
		t.Errorf("a board of random states has %d bytes", got)
	}
}
