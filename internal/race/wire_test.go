package race

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// script is a connection that answers anything with some bytes, a few at a time.
type script struct {
	net.Conn

	rest []byte
	step int
}

func (s *script) Write(p []byte) (int, error) { return len(p), nil }

func (s *script) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(s.step, len(p))], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func wireOf(answer string, step int) *wire {
	return &wire{conn: &script{rest: []byte(answer), step: step}, buf: make([]byte, 0, 16)}
}

func TestAnAnswerIsReadHoweverItArrives(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	for name, c := range map[string]struct {
		answer, body string
		status       int
	}{
		"sized":            {"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX: 1\r\n\r\nhello", "hello", 201},
		"in lower case":    {"HTTP/1.1 409 Conflict\r\ncontent-length:2\r\n\r\n{}", "{}", 409},
		"without a body":   {"HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", "", 204},
		"in chunks":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", 200},
		"long":             {"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + long, long, 200},
		"long and chunked": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2710\r\n" + long + "\r\n0\r\n\r\n", long, 200},
	} {
		for _, step := range []int{1, 2, 3, 7, 1 << 20} {
			w := wireOf(c.answer, step)
			got, err := w.exchange(nil)
			if err != nil || got.status != c.status || string(got.body) != c.body || w.bytes != len(c.answer) {
				t.Errorf("%s, %d bytes at a time: %d %.20q, %d bytes, %v", name, step, got.status, got.body, w.bytes, err)
			}
		}
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":             "",
		"cut in the head":     "HTTP/1.1 200 OK\r\nContent-Le",
		"cut in the body":     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		"cut in a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"another protocol":    "SSH-2.0-x\r\n\r\n",
		"no status":           "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
		"an interim one":      "HTTP/1.1 100 Continue\r\n\r\n",
		"no length":           "HTTP/1.1 200 OK\r\n\r\nhello",
		"no number":           "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
		"a negative length":   "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
		"a boundless length":  "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\nhello",
		"a bad chunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"a chunk too long":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
		"more than was asked": "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
	} {
		if got, err := wireOf(answer, 1<<20).exchange(nil); err == nil {
			t.Errorf("%s: %d %q", name, got.status, got.body)
		}
	}
}

func FuzzAnAnswerIsReadOrRefused(f *testing.F) {
	f.Add([]byte("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, answer []byte, step int) {
		step = max(step, 1)
		got, err := wireOf(string(answer), step).exchange(nil)
		again, errAgain := wireOf(string(answer), step+1).exchange(nil)
		if err == nil && errAgain == nil && (got.status != again.status || !bytes.Equal(got.body, again.body)) {
			t.Errorf("%d %q in one rhythm, %d %q in another", got.status, got.body, again.status, again.body)
		}
		if err == nil && (got.status < 200 || got.status > 999) {
			t.Errorf("a status of %d", got.status)
		}
	})
}

func TestFieldsOfAnAnswerAreFoundWithoutReadingIt(t *testing.T) {
	body := []byte(`{"id":"hld_1","token":"abc","lines":[{"id":"other"}]}`)
	if id, token := stringField(body, "id"), stringField(body, "token"); string(id) != "hld_1" || string(token) != "abc" {
		t.Errorf("%q %q", id, token)
	}
	for _, bad := range []string{`{}`, `{"id":1}`, `{"id":"cut`} {
		if got := stringField([]byte(bad), "id"); got != nil {
			t.Errorf("%s has %q", bad, got)
		}
	}
}

// Every request must be one that package http reads the same way; a length that is wrong would leave a
// connection out of step.
func TestRequestsSayWhatTheyAreMadeFrom(t *testing.T) {
	q := requests{host: "example.com"}
	for name, c := range map[string]struct {
		raw          []byte
		method, path string
		token, body  string
	}{
		"claim":   {q.claim("evt_1", `{"seats":["A"]}`), "POST", "/v1/events/evt_1/holds", "", `{"seats":["A"]}`},
		"release": {q.release(nil, "evt_1", []byte("hld_1"), []byte("tok")), "DELETE", "/v1/events/evt_1/holds/hld_1", "tok", ""},
		"order": {
			q.order(nil, "evt_1", []byte("hld_1"), []byte("tok")), "POST", "/v1/events/evt_1/orders", "tok",
			`{"hold":"hld_1","buyer":{"name":"Bench Buyer","email":"hld_1@example.com"}}`,
		},
		"get": {q.get("/x", "Accept-Encoding: gzip"), "GET", "/x", "", ""},
	} {
		r, body := readRequest(t, c.raw)
		if r.Method != c.method || r.URL.Path != c.path || r.Host != "example.com" || r.Header.Get("Hold-Token") != c.token || body != c.body {
			t.Errorf("%s: %s %s %v %q", name, r.Method, r.URL, r.Header, body)
		}
	}
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + listener.Addr().String()
	listener.Close()
	began := time.Now()
	if w, err := dial(t.Context(), base); err == nil {
		w.conn.Close()
		t.Errorf("connected to %s after %s", base, time.Since(began))
	}
}
