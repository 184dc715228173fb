package api

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/client"
)

// raw sends bytes over a connection of its own and returns what came back.
type raw struct {
	*net.TCPConn
	t *testing.T
}

func dial(t *testing.T, server *httptest.Server) raw {
	t.Helper()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return raw{c.(*net.TCPConn), t}
}

func (c raw) send(text string) {
	c.t.Helper()
	if _, err := c.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))); err != nil {
		c.t.Fatal(err)
	}
}

func (c raw) answer() *http.Response {
	c.t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { r.Body.Close() })
	return r
}

// slowHouse is a house over real connections, whose bodies must arrive soon.
func slowHouse(t *testing.T) (h *house, event string, server *httptest.Server) {
	t.Helper()
	h = openHouse(t)
	h.server.bodyTime = 50 * time.Millisecond
	server = httptest.NewServer(h.server.Handler())
	t.Cleanup(server.Close)
	return h, h.onSale(""), server
}

func TestAHalfClosedClientIsAnsweredWhatWasDone(t *testing.T) {
	_, event, server := slowHouse(t)
	for i := range 5 {
		c := dial(t, server)
		body := `{"areas":[{"area":"FLOOR","quantity":1}]}`
		c.send(fmt.Sprintf("POST /v1/events/%s/holds HTTP/1.1\nHost: test\nContent-Type: application/json\nContent-Length: %d\n\n%s", event, len(body), body))
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if r := c.answer(); r.StatusCode != http.StatusCreated {
			t.Fatalf("client %d: %s", i, r.Status)
		}
		c = dial(t, server)
		c.send(fmt.Sprintf("GET /v1/events/%s/board HTTP/1.1\nHost: test\n\n", event))
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if r := c.answer(); r.StatusCode != http.StatusOK || r.ContentLength == 0 {
			t.Fatalf("reading client %d: %s of %d bytes", i, r.Status, r.ContentLength)
		}
	}
}

func TestABodyThatDoesNotComeIsNeverAnsweredOK(t *testing.T) {
	_, event, server := slowHouse(t)
	head := "POST /v1/events/" + event + "/holds HTTP/1.1\nHost: test\nContent-Type: application/json\nContent-Length: 200\n\n{"
	c := dial(t, server)
	c.send(head)
	if r := c.answer(); r.StatusCode != http.StatusRequestTimeout || !r.Close {
		t.Errorf("a body that stops: %s, closed %v", r.Status, r.Close)
	}
	c = dial(t, server)
	c.send(head)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if r := c.answer(); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a body that breaks off: %s", r.Status)
	}
}

func TestPromise11SlowBodiesCrowdOutOnlyEachOther(t *testing.T) {
	h, event, server := slowHouse(t)
	h.server.bodyTime = time.Minute
	h.server.receivingMax = 3
	head := "POST /v1/events/" + event + "/holds HTTP/1.1\nHost: test\nContent-Type: application/json\nContent-Length: 200\n\n{"
	for range 3 {
		dial(t, server).send(head)
	}
	for h.server.receiving.Load() < 3 { // they are on their way
		r, err := server.Client().Get(server.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
	}
	if _, err := client.New(server.URL).Board(t.Context(), event); err != nil {
		t.Errorf("a reader is refused: %v", err)
	}
	c := dial(t, server)
	c.send(head)
	if r := c.answer(); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("one body too many: %s", r.Status)
	}
}
