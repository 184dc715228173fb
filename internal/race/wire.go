package race

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The bounds of a connection of the generator.
const (
	wireBufferBytes = 4 << 10
	answerBytesMax  = 8 << 20
	wireDialTime    = 10 * time.Second
)

// wire is one connection to a server and the little of HTTP/1.1 that a load needs: bytes that were made
// beforehand out, a status and a body back. A client of package http spends more than the server does
// on each request, and would so measure itself. One goroutine at a time; what it answers is valid until
// the next request.
type wire struct {
	conn  net.Conn
	buf   []byte // what was received; an answer begins at 0
	body  []byte // of an answer in chunks
	bytes int    // of the last answer, head and framing included
}

// reply is an answer. Head and Body are the connection's own buffers.
type reply struct {
	status int
	head   []byte // the status line and the header fields, with the empty line
	body   []byte
}

// errWire is an answer that is no HTTP/1.1 a load can read.
var errWire = errors.New("the answer is not HTTP/1.1 as a load reads it")

// dial connects to the server of a base URL, http or https.
func dial(ctx context.Context, base string) (*wire, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, wireDialTime)
	defer cancel()
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), u.Scheme) // the services have their schemes' names
	}
	var conn net.Conn
	if u.Scheme == "https" {
		conn, err = (&tls.Dialer{Config: &tls.Config{ServerName: u.Hostname()}}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return &wire{conn: conn, buf: make([]byte, 0, wireBufferBytes)}, nil
}

// exchange sends a request and reads its answer. After an error the connection is of no use.
func (w *wire) exchange(request []byte) (reply, error) {
	if _, err := w.conn.Write(request); err != nil {
		return reply{}, err
	}
	w.buf, w.bytes = w.buf[:0], 0
	head := 0
	for from := 0; ; {
		if i := bytes.Index(w.buf[from:], []byte("\r\n\r\n")); i >= 0 {
			head = from + i + 4
			break
		}
		from = max(0, len(w.buf)-3) // the empty line may be cut anywhere
		if err := w.more(); err != nil {
			return reply{}, err
		}
	}
	status, length, chunked, err := readHead(w.buf[:head])
	if err != nil {
		return reply{}, err
	}
	if chunked {
		return w.readChunks(status, head)
	}
	if length > answerBytesMax {
		return reply{}, errWire
	}
	end := head + length
	for len(w.buf) < end {
		if err := w.more(); err != nil {
			return reply{}, err
		}
	}
	if len(w.buf) > end {
		return reply{}, errWire // nothing was asked that this could answer
	}
	w.bytes = end
	return reply{status: status, head: w.buf[:head], body: w.buf[head:end]}, nil
}

// more receives what there is.
func (w *wire) more() error {
	if len(w.buf) == cap(w.buf) {
		if len(w.buf) >= answerBytesMax {
			return errWire
		}
		w.buf = append(w.buf, 0)[:len(w.buf)] // let append choose how to grow
	}
	n, err := w.conn.Read(w.buf[len(w.buf):cap(w.buf)])
	w.buf = w.buf[:len(w.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// readHead finds what of a head a load needs: the status, and how the body ends.
func readHead(head []byte) (status, length int, chunked bool, err error) {
	first, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if len(first) < len("HTTP/1.1 200") || !bytes.HasPrefix(first, []byte("HTTP/1.1 ")) {
		return 0, 0, false, errWire
	}
	if status, err = strconv.Atoi(string(first[9:12])); err != nil || status < 200 {
		return 0, 0, false, errWire
	}
	sized := false
	for len(rest) > 2 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				return 0, 0, false, errWire
			}
			sized = true
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked"))
		}
	}
	if status == 204 || status == 304 {
		return status, 0, false, nil
	}
	if !sized && !chunked {
		return 0, 0, false, errWire
	}
	return status, length, chunked, nil
}

// readChunks reads a body that comes in chunks, without trailers.
func (w *wire) readChunks(status, head int) (reply, error) {
	w.body = w.body[:0]
	for at := head; ; {
		i := bytes.Index(w.buf[at:], []byte("\r\n"))
		if i < 0 {
			if err := w.more(); err != nil {
				return reply{}, err
			}
			continue
		}
		size, err := strconv.ParseUint(string(w.buf[at:at+i]), 16, 31)
		if err != nil || size > answerBytesMax {
			return reply{}, errWire
		}
		begin := at + i + 2
		end := begin + int(size)
		for len(w.buf) < end+2 {
			if err := w.more(); err != nil {
				return reply{}, err
			}
		}
		if !bytes.Equal(w.buf[end:end+2], []byte("\r\n")) {
			return reply{}, errWire
		}
		w.body = append(w.body, w.buf[begin:end]...)
		at = end + 2
		if size == 0 {
			w.bytes = at
			return reply{status: status, head: w.buf[:head], body: w.body}, nil
		}
	}
}

// stringField finds the first string of a name in a JSON object, without reading the rest of it. It is
// for ids and tokens, which have nothing to escape.
func stringField(body []byte, name string) []byte {
	_, rest, found := bytes.Cut(body, []byte(`"`+name+`":"`))
	if !found {
		return nil
	}
	value, _, closed := bytes.Cut(rest, []byte(`"`))
	if !closed {
		return nil
	}
	return value
}

// requests makes the bytes of requests to one server.
type requests struct{ host string }

func requestsTo(base string) (requests, error) {
	u, err := url.Parse(base)
	if err != nil {
		return requests{}, fmt.Errorf("requests: %w", err)
	}
	return requests{host: u.Host}, nil
}

// get is a request without a body.
func (q requests) get(path string, fields ...string) []byte {
	b := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n", path, q.host)
	for _, f := range fields {
		b = append(append(b, f...), "\r\n"...)
	}
	return append(b, "\r\n"...)
}

// claim asks for a hold with a body that is JSON already.
func (q requests) claim(event, body string) []byte {
	return fmt.Appendf(nil, "POST /v1/events/%s/holds HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		event, q.host, len(body), body)
}

// release lets a hold go; it is appended to b, which the caller keeps.
func (q requests) release(b []byte, event string, id, token []byte) []byte {
	b = append(b, "DELETE /v1/events/"...)
	b = append(b, event...)
	b = append(b, "/holds/"...)
	b = append(b, id...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, q.host...)
	b = append(b, "\r\nHold-Token: "...)
	b = append(b, token...)
	return append(b, "\r\n\r\n"...)
}

// order buys a hold; it is appended to b, which the caller keeps. Each hold has a buyer of its own, so
// that no run is stopped by what one buyer may have.
func (q requests) order(b []byte, event string, id, token []byte) []byte {
	const body = `{"hold":"%s","buyer":{"name":"Bench Buyer","email":"%s@example.com"}}`
	b = fmt.Appendf(b, "POST /v1/events/%s/orders HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nHold-Token: %s\r\nContent-Length: %d\r\n\r\n",
		event, q.host, token, len(body)-2*len("%s")+2*len(id))
	return fmt.Appendf(b, body, id, id)
}

// headerOf reads the fields of a head.
func headerOf(head []byte) http.Header {
	header := make(http.Header)
	_, rest, _ := bytes.Cut(head, []byte("\r\n"))
	for line := range bytes.SplitSeq(rest, []byte("\r\n")) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			header.Add(string(name), string(bytes.TrimSpace(value)))
		}
	}
	return header
}
