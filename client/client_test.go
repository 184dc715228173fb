package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowlock/rowlock/client"
)

// serve answers every request with one function.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return client.New(s.URL+"/", client.WithKey("rk_test"), client.WithAccessCode("OPEN"))
}

// op is one operation and the request line it must make.
type op struct {
	line string
	body string
	call func(context.Context, *client.Client) error
}

// did turns an operation's results into its error.
func did[T any](_ T, err error) error { return err }

// saleOperations are what a buyer's page calls.
func saleOperations() []op {
	return []op{
		{"GET /v1/events?after=evt_1&limit=7&reference=a+b", "", func(ctx context.Context, c *client.Client) error {
			return did(c.Events(ctx, client.ListOptions{Limit: 7, After: "evt_1", Reference: "a b"}))
		}},
		{"GET /v1/events/e%2F1", "", func(ctx context.Context, c *client.Client) error { return did(c.Event(ctx, "e/1")) }},
		{"GET /v1/events/_", "", func(ctx context.Context, c *client.Client) error { return did(c.Event(ctx, "..")) }},
		{"GET /v1/events/e/map", "", func(ctx context.Context, c *client.Client) error { return did(c.EventMap(ctx, "e")) }},
		{"GET /v1/events/e/offer", "", func(ctx context.Context, c *client.Client) error { return did(c.Offer(ctx, "e")) }},
		{"GET /v1/events/e/board", "", func(ctx context.Context, c *client.Client) error { return did(c.Board(ctx, "e")) }},
		{"GET /v1/events/e/changes?after=k-1", "", func(ctx context.Context, c *client.Client) error { return did(c.Changes(ctx, "e", "k-1")) }},
		{"POST /v1/events/e/holds", `{"seats":["S"]}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateHold(ctx, "e", client.HoldRequest{Seats: []string{"S"}}))
		}},
		{"GET /v1/events/e/holds/h", "", func(ctx context.Context, c *client.Client) error { return did(c.Hold(ctx, "e", "h")) }},
		{"PATCH /v1/events/e/holds/h", `{"add":{"seats":["S"]}}`, func(ctx context.Context, c *client.Client) error {
			return did(c.ChangeHold(ctx, "e", "h", client.HoldPatch{Add: &client.BasketPart{Seats: []string{"S"}}}))
		}},
		{"POST /v1/events/e/holds/h/extend", "", func(ctx context.Context, c *client.Client) error { return did(c.ExtendHold(ctx, "e", "h")) }},
		{"DELETE /v1/events/e/holds/h", "", func(ctx context.Context, c *client.Client) error { return c.ReleaseHold(ctx, "e", "h") }},
		{"GET /v1/events/e/holds", "", func(ctx context.Context, c *client.Client) error {
			return did(c.Holds(ctx, "e", client.ListOptions{}))
		}},
		{"POST /v1/events/e/orders", `{"hold":"h"}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateOrder(ctx, "e", client.OrderRequest{Hold: "h"}))
		}},
		{"GET /v1/events/e/orders/o", "", func(ctx context.Context, c *client.Client) error { return did(c.Order(ctx, "e", "o")) }},
		{"GET /v1/events/e/orders", "", func(ctx context.Context, c *client.Client) error {
			return did(c.Orders(ctx, "e", client.ListOptions{}))
		}},
		{"POST /v1/events/e/orders/o/cancel", `{"reason":"rain"}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CancelOrder(ctx, "e", "o", "rain"))
		}},
		{"POST /v1/events/e/tickets/t/cancel", `{}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CancelTicket(ctx, "e", "t", ""))
		}},
	}
}

// organizerOperations are what needs a key, and the probes.
func organizerOperations() []op {
	name := "Hall"
	return []op{
		{"POST /v1/venues", `{"name":"Hall"}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateVenue(ctx, client.VenueRequest{Name: &name}))
		}},
		{"GET /v1/venues", "", func(ctx context.Context, c *client.Client) error { return did(c.Venues(ctx, client.ListOptions{})) }},
		{"GET /v1/venues/v", "", func(ctx context.Context, c *client.Client) error { return did(c.Venue(ctx, "v")) }},
		{"PATCH /v1/venues/v", `{}`, func(ctx context.Context, c *client.Client) error {
			return did(c.PatchVenue(ctx, "v", client.VenueRequest{}))
		}},
		{"POST /v1/venues/v/maps", `{"format": "x"}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateMap(ctx, "v", []byte(`{"format": "x"}`)))
		}},
		{"GET /v1/venues/v/maps", "", func(ctx context.Context, c *client.Client) error {
			return did(c.Maps(ctx, "v", client.ListOptions{}))
		}},
		{"GET /v1/venues/v/maps/m", "", func(ctx context.Context, c *client.Client) error { return did(c.Map(ctx, "v", "m")) }},
		{"POST /v1/events", `{"name":"Gala"}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateEvent(ctx, client.EventRequest{Name: "Gala"}))
		}},
		{"POST /v1/events", `[{"name":"Gala"}]`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateEvents(ctx, []client.EventRequest{{Name: "Gala"}}))
		}},
		{"PATCH /v1/events/e", `{}`, func(ctx context.Context, c *client.Client) error {
			return did(c.PatchEvent(ctx, "e", client.EventPatch{}))
		}},
		{"POST /v1/events/e/publish", "", func(ctx context.Context, c *client.Client) error { return did(c.PublishEvent(ctx, "e")) }},
		{"POST /v1/events/e/open", "", func(ctx context.Context, c *client.Client) error { return did(c.OpenEvent(ctx, "e")) }},
		{"POST /v1/events/e/pause", "", func(ctx context.Context, c *client.Client) error { return did(c.PauseEvent(ctx, "e")) }},
		{"POST /v1/events/e/close", "", func(ctx context.Context, c *client.Client) error { return did(c.CloseEvent(ctx, "e")) }},
		{"POST /v1/events/e/cancel", "", func(ctx context.Context, c *client.Client) error { return did(c.CancelEvent(ctx, "e")) }},
		{"PATCH /v1/events/e/allocations", `{"where":{"all":true},"set":{}}`, func(ctx context.Context, c *client.Client) error {
			return did(c.PatchAllocations(ctx, "e", client.AllocationRule{Where: client.AllocationWhere{All: true}}))
		}},
		{"PUT /v1/events/e/channels/sponsors", `{"id":"sponsors","name":"Sponsors","access_codes":[]}`, func(ctx context.Context, c *client.Client) error {
			return did(c.PutChannel(ctx, "e", client.ChannelRequest{ID: "sponsors", Name: "Sponsors", AccessCodes: []string{}}))
		}},
		{"GET /v1/events/e/log?after=12", "", func(ctx context.Context, c *client.Client) error {
			return did(c.Log(ctx, "e", client.ListOptions{After: "12"}))
		}},
		{"GET /v1/events/e/report", "", func(ctx context.Context, c *client.Client) error { return did(c.Report(ctx, "e")) }},
		{"GET /v1/keys", "", func(ctx context.Context, c *client.Client) error { return did(c.Keys(ctx, client.ListOptions{})) }},
		{"POST /v1/keys", `{"name":"door","role":"scanner"}`, func(ctx context.Context, c *client.Client) error {
			return did(c.CreateKey(ctx, client.KeyRequest{Name: "door", Role: "scanner"}))
		}},
		{"POST /v1/keys/k/rotate", "", func(ctx context.Context, c *client.Client) error { return did(c.RotateKey(ctx, "k")) }},
		{"DELETE /v1/keys/k", "", func(ctx context.Context, c *client.Client) error { return did(c.RevokeKey(ctx, "k")) }},
		{"GET /healthz", "", func(ctx context.Context, c *client.Client) error { return c.Healthy(ctx) }},
		{"GET /readyz", "", func(ctx context.Context, c *client.Client) error { return c.Ready(ctx) }},
	}
}

func TestEachOperationMakesItsRequestAndSaysWhoAsks(t *testing.T) {
	var line, body string
	var head http.Header
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		line, body, head = r.Method+" "+r.RequestURI, string(data), r.Header
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/holds/") {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		io.WriteString(w, `{}`)
	})
	for _, o := range append(saleOperations(), organizerOperations()...) {
		if err := o.call(t.Context(), c); err != nil {
			t.Errorf("%s: %v", o.line, err)
		}
		if line != o.line || body != o.body {
			t.Errorf("asked %q with %q, want %q with %q", line, body, o.line, o.body)
		}
		if head.Get("Authorization") != "Bearer rk_test" || head.Get("Access-Code") != "OPEN" {
			t.Errorf("%s: headers %v", o.line, head)
		}
		if want := map[bool]string{true: "application/json"}[o.body != ""]; head.Get("Content-Type") != want {
			t.Errorf("%s: content type %q, want %q", o.line, head.Get("Content-Type"), want)
		}
	}
}

func TestOptionsOfOneCallReachThatCallOnly(t *testing.T) {
	var head http.Header
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		head = r.Header
		w.Header().Set("Idempotent-Replayed", "true")
		w.Header().Set("ETag", `"k-1"`)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"hld_1","token":"secret","unknown_to_this_client":true}`)
	})
	var replayed bool
	var etag string
	var status int
	h, err := c.CreateHold(t.Context(), "e", client.HoldRequest{}, client.HoldToken("hold"), client.OrderToken("order"),
		client.IdempotencyKey("0123456789abcdef"), client.AccessCode("OTHER"), client.RequestID("r-1"),
		client.Replayed(&replayed), client.ETag(&etag), client.StatusCode(&status))
	if err != nil || h.Token != "secret" || !replayed || etag != `"k-1"` || status != http.StatusCreated {
		t.Errorf("%+v, %v, replayed %v, etag %q, status %d", h, err, replayed, etag, status)
	}
	for name, want := range map[string]string{
		"Hold-Token": "hold", "Order-Token": "order", "Idempotency-Key": "0123456789abcdef", "Access-Code": "OTHER", "Request-Id": "r-1",
	} {
		if head.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, head.Get(name), want)
		}
	}
	if _, err := c.Hold(t.Context(), "e", "h"); err != nil || head.Get("Hold-Token") != "" || head.Get("Access-Code") != "OPEN" {
		t.Errorf("%v: a later call carries %v", err, head)
	}
}

func TestAProblemIsATypedErrorWithItsDataAndRetryAfter(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"type":"/problems/allocation-unavailable","title":"Not available","status":409,"code":"ALLOCATION_UNAVAILABLE",
			"request_id":"r-1","conflicts":[{"seat":"A-1","reason":"held"}],"errors":[{"field":"/seats/1","code":"DUPLICATE"}]}`)
	})
	_, err := c.CreateHold(t.Context(), "e", client.HoldRequest{})
	p, ok := errors.AsType[*client.Problem](fmt.Errorf("buying: %w", err))
	if !ok || p.Status != 409 || p.Code != "ALLOCATION_UNAVAILABLE" || p.RetryAfter != 3 ||
		len(p.Conflicts) != 1 || p.Conflicts[0].Reason != "held" || len(p.Errors) != 1 || p.Errors[0].Field != "/seats/1" {
		t.Errorf("%#v", err)
	}
}

func TestWhatIsNotOursBecomesAProblemThatSaysSo(t *testing.T) {
	for name, answer := range map[string]struct {
		media, body string
	}{
		"a page":                {"text/html", "<h1>Bad gateway</h1>"},
		"an empty answer":       {"", ""},
		"a problem of another":  {"application/problem+json", `{"title":"No"}`},
		"a broken problem":      {"application/problem+json", `{"code":`},
		"an over-long document": {"application/problem+json", `{"code":"X","title":"` + strings.Repeat("x", 2<<20) + `"}`},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", answer.media)
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, answer.body)
		})
		_, err := c.Event(t.Context(), "e")
		p, ok := errors.AsType[*client.Problem](err)
		if !ok || p.Status != http.StatusBadGateway || p.Code != client.CodeUnexpected || len(p.Detail) > 200 {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func TestARedirectIsNotFollowedWithTheToken(t *testing.T) {
	var reached atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(elsewhere.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	_, err := c.Hold(t.Context(), "e", "h", client.HoldToken("secret"))
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusTemporaryRedirect {
		t.Errorf("%v", err)
	}
	if reached.Load() {
		t.Error("the call was made again elsewhere")
	}
}

func TestAnAnswerWithoutEndIsNotReadToTheEnd(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if _, err := c.EventMap(t.Context(), "e"); !errors.Is(err, client.ErrAnswerTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerThatIsCutOrIsNoJSONIsAnErrorAndNoProblem(t *testing.T) {
	for _, body := range []string{`{"id":`, ``, `<html>`} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, body) })
		h, err := c.Hold(t.Context(), "e", "h")
		if _, ok := errors.AsType[*client.Problem](err); err == nil || ok || h != nil {
			t.Errorf("%q: %v, %v", body, h, err)
		}
	}
}

func TestABoardThatIsCurrentIsNotSentAgain(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"k-1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"k-1"`)
		io.WriteString(w, `{"position":"k-1","seats":"AAEC"}`)
	})
	var etag string
	b, err := c.Board(t.Context(), "e", client.ETag(&etag))
	if err != nil || string(b.Seats) != "\x00\x01\x02" {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := c.Board(t.Context(), "e", client.IfNoneMatch(etag)); !errors.Is(err, client.ErrNotModified) {
		t.Errorf("%v", err)
	}
}

func TestABaseURLThatCannotBeUsedIsSaidByTheFirstCall(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1/?key=1", "http://[::1"} {
		if err := client.New(base).Healthy(t.Context()); err == nil {
			t.Errorf("%q was accepted", base)
		}
	}
}

func TestACallEndsWithItsContextAndDoesNotShowTheKey(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-release
	})
	_, err := c.Event(ctx, "e")
	close(release)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "rk_test") {
		t.Errorf("%v", err)
	}
}

func TestListingsAreIteratedOverAllTheirPages(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch r.URL.Query().Get("after") {
		case "":
			io.WriteString(w, `{"data":[{"id":"a"},{"id":"b"}],"next":"b"}`)
		case "b":
			io.WriteString(w, `{"data":[{"id":"c"}],"next":"c"}`)
		case "c":
			io.WriteString(w, `{"data":[],"next":null}`)
		}
	})
	var ids []string
	for o, err := range c.AllOrders(t.Context(), "e", client.ListOptions{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.ID)
	}
	if got := strings.Join(ids, " "); got != "a b c" {
		t.Errorf("%q", got)
	}
	if got := strings.Join(asked, " "); got != "limit=2 after=b&limit=2 after=c&limit=2" {
		t.Errorf("%q", got)
	}
	asked = nil
	for range c.AllHolds(t.Context(), "e", client.ListOptions{}) {
		break
	}
	if len(asked) != 1 {
		t.Errorf("a loop that was left asked %d times", len(asked))
	}
}

func TestIterationEndsAtAnErrorAndAtACursorThatStandsStill(t *testing.T) {
	calls := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if strings.HasSuffix(r.URL.Path, "/log") && calls > 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, `{"data":[{}],"next":"1"}`)
	})
	var errs, entries int
	for _, err := range c.AllLog(t.Context(), "e", client.ListOptions{}) {
		if err != nil {
			errs++
		} else {
			entries++
		}
	}
	if errs != 1 || entries != 1 {
		t.Errorf("%d errors, %d entries", errs, entries)
	}
	calls = 0
	for _, err := range c.AllVenues(t.Context(), client.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("a cursor that stands still was followed %d times", calls)
	}
}

func TestManyCallersKeepTheirConnections(t *testing.T) {
	const callers = 128
	var opened atomic.Int64
	var arrived sync.WaitGroup
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Nobody is answered before everybody has arrived, so each caller needs a connection of its own.
		arrived.Done()
		arrived.Wait()
		io.WriteString(w, `{"id":"e"}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client.New(s.URL)
	for range 3 {
		arrived.Add(callers)
		var done sync.WaitGroup
		for range callers {
			done.Go(func() {
				if _, err := c.Event(t.Context(), "e"); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
	}
	// Without room for idle connections each of the three rounds would dial nearly all of them anew.
	if n := opened.Load(); n >= 2*callers {
		t.Errorf("%d callers opened %d connections in three rounds", callers, n)
	}
}
