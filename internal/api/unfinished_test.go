package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/client"
)

// wire is a connection that says only what it is told to.
type wire struct {
	*net.TCPConn
	t      *testing.T
	reader *bufio.Reader
}

func connect(t *testing.T, url string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	// What never comes fails the test, and does not hang it.
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &wire{c.(*net.TCPConn), t, bufio.NewReader(c)}
}

// ask sends a request whose body is said to have so many bytes, and those of them that are given.
func (c *wire) ask(method, path string, length int, body string, headers ...string) *wire {
	c.t.Helper()
	head := method + " " + path + " HTTP/1.1\r\nHost: test\r\n"
	if length > 0 {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", length)
	}
	for _, h := range headers {
		head += h + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"+body); err != nil {
		c.t.Fatal(err)
	}
	return c
}

func (c *wire) halfClose() *wire {
	c.t.Helper()
	if err := c.CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// answer reads one answer, and the problem in it if it is one.
func (c *wire) answer() (r *http.Response, body []byte, p client.Problem) {
	c.t.Helper()
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	body, err = io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if r.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.Unmarshal(body, &p); err != nil {
			c.t.Fatal(err)
		}
	}
	return r, body, p
}

// ended holds that the server closes the connection, and does not wait for what it will not read.
func (c *wire) ended() {
	c.t.Helper()
	_, err := c.reader.ReadByte()
	if timeout, ok := errors.AsType[net.Error](err); err == nil || ok && timeout.Timeout() {
		c.t.Errorf("the connection is still open: %v", err)
	}
}

// ebb gives a body's end only when the server has seen that its connection has closed, so that what
// comes after the body runs with a request that is over for certain.
type ebb struct {
	io.ReadCloser
	over <-chan struct{}
}

func (b ebb) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		<-b.over
	}
	return n, err
}

// listenToTheClosed serves a handler to clients that close their side, each seen before the work begins.
func listenToTheClosed(t *testing.T, h http.Handler) string {
	return listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		over := r.Context().Done()
		if r.ContentLength == 0 {
			<-over
		} else {
			r.Body = ebb{r.Body, over}
		}
		h.ServeHTTP(w, r)
	}))
}

const halfABody = `{"seats":[`

// holdsWithin is a house that waits so long for a body, a server of it, and the path of an event's holds.
func holdsWithin(t *testing.T, within time.Duration) (h *house, url, event string) {
	t.Helper()
	h = openHouse(t)
	h.server.bodyTime = within
	return h, listen(t, h.server.Handler()), "/v1/events/" + h.onSale("")
}

func TestPromise6AHalfClosedClientIsToldWhatWasDone(t *testing.T) {
	h := openHouse(t)
	event := "/v1/events/" + h.onSale("")
	url := listenToTheClosed(t, h.server.Handler())
	body := `{"seats":["STALLS-A-1"]}`
	r, told, _ := connect(t, url).ask("POST", event+"/holds", len(body), body).halfClose().answer()
	var v client.Hold
	if err := json.Unmarshal(told, &v); r.StatusCode != http.StatusCreated || err != nil {
		t.Fatalf("the hold is answered %s %s", r.Status, told)
	}
	at := event + "/holds/" + v.ID
	h.holder(&v).get(at).want(200, "")
	if r, told, _ := connect(t, url).ask("GET", event+"/board", 0, "").halfClose().answer(); r.StatusCode != http.StatusOK || len(told) == 0 {
		t.Errorf("a board is answered %s, %d bytes", r.Status, len(told))
	}
	// Without a body, and with a key to look up.
	for _, c := range []struct {
		method, path, header string
		status               int
	}{
		{"POST", at + "/extend", "Hold-Token: " + v.Token, 200},
		{"DELETE", at, "Hold-Token: " + v.Token, 204},
		{"POST", event + "/pause", "Authorization: Bearer " + h.key, 200},
	} {
		r, told, _ := connect(t, url).ask(c.method, c.path, 0, "", c.header).halfClose().answer()
		if r.StatusCode != c.status {
			t.Errorf("%s %s: %s %s, want %d", c.method, c.path, r.Status, told, c.status)
		}
	}
	h.holder(&v).get(at).want(410, "HOLD_EXPIRED")
}

func TestABodyThatDoesNotEndIsNotAnsweredWithSuccess(t *testing.T) {
	h, url, event := holdsWithin(t, 20*time.Millisecond)
	check := func(what string, c *wire, status int, code string) {
		t.Helper()
		r, body, p := c.answer()
		if r.StatusCode != status || p.Code != code || p.Status != status {
			t.Errorf("%s: %s %s, want %d %s", what, r.Status, body, status, code)
		}
		if err := h.doc.check("POST", pathEvent+"/holds", r.StatusCode, r.Header.Get("Content-Type"), body); err != nil {
			t.Errorf("%s: the answer is not the document's: %v", what, err)
		}
		c.ended()
	}
	check("a body that stops", connect(t, url).ask("POST", event+"/holds", 200, halfABody), 408, "REQUEST_TIMEOUT")
	check("a body that does not begin", connect(t, url).ask("POST", event+"/holds", 200, ""), 408, "REQUEST_TIMEOUT")
	check("a chunk that stops", connect(t, url).ask("POST", event+"/holds", 0, "c8\r\n"+halfABody, "Transfer-Encoding: chunked"),
		408, "REQUEST_TIMEOUT")
	h.server.bodyTime = time.Minute
	check("a body that breaks off", connect(t, url).ask("POST", event+"/holds", 200, halfABody).halfClose(), 400, "MALFORMED")
	check("a chunk that breaks off", connect(t, url).ask("POST", event+"/holds", 0, "c8\r\n"+halfABody, "Transfer-Encoding: chunked").halfClose(),
		400, "MALFORMED")
	check("a chunk that is none", connect(t, url).ask("POST", event+"/holds", 0, "zz\r\n", "Transfer-Encoding: chunked"), 400, "MALFORMED")
	h.auditReport(strings.TrimPrefix(event, "/v1/events/"), 0, 0)
}

func TestPromise11SlowBodiesKeepNobodyFromWhatHasNone(t *testing.T) {
	h, url, event := holdsWithin(t, time.Minute)
	v := h.hold(strings.TrimPrefix(event, "/v1/events/"), `{"seats":["STALLS-A-1"]}`)
	const most = 3
	h.server.receivingMax, h.server.inFlightMax = most, 1
	slow := make([]*wire, most)
	for i := range slow {
		slow[i] = connect(t, url).ask("POST", event+"/holds", 200, halfABody)
	}
	health := connect(t, url) // which is given up in the end
	arrived := func(n int64) {
		t.Helper()
		for h.server.receiving.Load() != n {
			if r, _, _ := health.ask("GET", "/healthz", 0, "").answer(); r.StatusCode != 200 {
				t.Fatalf("health is answered %s", r.Status)
			}
		}
	}
	arrived(most)
	// Whoever sends no body is served, though slow ones are more than may be answered at once.
	for _, c := range []struct{ method, path string }{
		{"GET", event + "/board"},
		{"GET", event + "/holds/" + v.ID},
		{"POST", event + "/holds/" + v.ID + "/extend"},
		{"DELETE", event + "/holds/" + v.ID},
	} {
		if r, body, _ := connect(t, url).ask(c.method, c.path, 0, "", "Hold-Token: "+v.Token).answer(); r.StatusCode >= 300 {
			t.Errorf("%s %s: %s %s", c.method, c.path, r.Status, body)
		}
	}
	// One body too many is refused at once, whether it is all there or not.
	body := `{"seats":["STALLS-A-2"]}`
	for _, length := range []int{len(body), 200} {
		c := connect(t, url).ask("POST", event+"/holds", length, body)
		if r, _, p := c.answer(); r.StatusCode != 503 || p.Code != "OVERLOADED" || r.Header.Get("Retry-After") == "" {
			t.Errorf("a body of %d bytes: %s %+v", length, r.Status, p)
		}
	}
	for _, c := range slow {
		if r, _, _ := c.halfClose().answer(); r.StatusCode != 400 {
			t.Errorf("a slow body is answered %s", r.Status)
		}
	}
	arrived(0)
	if r, told, _ := connect(t, url).ask("POST", event+"/holds", len(body), body).answer(); r.StatusCode != 201 {
		t.Errorf("with the places free again: %s %s", r.Status, told)
	}
}

// TestPromise11ABodyThatNobodyReadsKeepsNoPlace asks for more than net/http buffers, with a body that
// does not come: the answer must not wait for it.
func TestPromise11ABodyThatNobodyReadsKeepsNoPlace(t *testing.T) {
	large := strings.Repeat("x", 64<<10)
	url := listen(t, custom(t, Config{InFlightMax: 1}, Route{Method: "GET", Pattern: "/v1/x", Access: AccessPublic}, bodyNone,
		func(_ *Server, x *exchange, _ *http.Request) error { return x.reply(200, large) }))
	slow := connect(t, url).ask("GET", "/v1/x", 200, halfABody)
	if r, body, _ := slow.answer(); r.StatusCode != 200 || len(body) <= len(large) {
		t.Errorf("with half a body: %s of %d bytes", r.Status, len(body))
	}
	if r, _, _ := connect(t, url).ask("GET", "/v1/x", 0, "").answer(); r.StatusCode != 200 {
		t.Errorf("the next one: %s", r.Status)
	}
}

func TestAHandlerThatAnswersNothingHasNotSucceeded(t *testing.T) {
	h := custom(t, Config{}, Route{Method: "GET", Pattern: "/v1/x", Access: AccessPublic}, bodyNone,
		func(*Server, *exchange, *http.Request) error { return nil })
	if w, p := send(t, h, httptest.NewRequest("GET", "http://test/v1/x", nil)); w.Code != 500 || p.Code != "INTERNAL" {
		t.Errorf("the answer is %d %s", w.Code, p.Code)
	}
}

func TestAHandlerThatDropsItsConnectionGivesItsPlaceBack(t *testing.T) {
	s := New(Config{})
	rt := &route{
		Route: Route{Method: "POST", Pattern: "/v1/x", Access: AccessPublic, BodyMax: mapBytesMax}, body: bodyRequired,
		handle: func(*Server, *exchange, *http.Request) error { panic(http.ErrAbortHandler) },
	}
	s.mux.Handle("POST /v1/x", s.serve(rt))
	r := httptest.NewRequest("POST", "http://test/v1/x", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the panic is %v", p)
			}
		}()
		s.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}()
	if len(s.mapUploads) != 0 || s.inFlight.Load() != 0 || s.receiving.Load() != 0 {
		t.Errorf("kept are %d, %d and %d places", len(s.mapUploads), s.inFlight.Load(), s.receiving.Load())
	}
}

func TestEveryRouteThatReadsABodyDocumentsThatItMayNotCome(t *testing.T) {
	d := openDocument(t)
	for _, rt := range table() {
		responses := d.Paths[rt.Pattern][strings.ToLower(rt.Method)].Responses
		for _, status := range []string{"408", "503"} {
			if _, ok := responses[status]; rt.body != bodyNone && !ok {
				t.Errorf("%s: the document has no %s", rt.label(), status)
			}
		}
		if _, ok := responses["408"]; rt.body == bodyNone && ok {
			t.Errorf("%s reads no body, and the document has a 408", rt.label())
		}
	}
}
