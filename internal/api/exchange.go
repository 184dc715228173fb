package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

const (
	requestIDCharactersMax = 64
	pooledBytesMax         = 128 << 10 // a larger buffer is left to the collector
)

// exchange is one request and its answer, for the handler that has it. It is the handler's
// http.ResponseWriter and knows who asks. Not safe for concurrent use.
type exchange struct {
	http.ResponseWriter
	server *Server
	route  *route
	id     [1]string // Request-Id, as a header has it
	caller inventory.Caller
	role   office.Role // empty: no key
	holder inventory.HoldKey
	body   []byte // valid until the handler returns
	buffer *bytes.Buffer
	large  bool // the body took one of the places for large ones

	status int // 0: nothing was answered yet
	code   inventory.RefusalCode
	err    error
}

// Header values that most answers have. Nobody appends to them.
var (
	headerNoSniff = []string{"nosniff"}
	headerNoStore = []string{"no-store"}
	headerJSON    = []string{"application/json"}
	headerProblem = []string{"application/problem+json"}
)

// buffers are for bodies in both directions.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= pooledBytesMax {
		b.Reset()
		buffers.Put(b)
	}
}

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// serve makes the handler of a route.
func (s *Server) serve(rt *route) http.Handler {
	series := s.metrics.series(rt)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ResponseWriter: w, server: s, route: rt, id: [1]string{requestID(r)}}
		start := time.Now()
		defer func() { x.finish(r, series, time.Since(start)) }() // a dropped connection's too
		defer func() {
			if p := recover(); p != nil {
				x.panicked(r, p)
			}
		}()
		err := x.run(r)
		if err == nil && x.status == 0 && rt.Pattern != "/" {
			err = errUnanswered
		}
		if err != nil {
			x.fail(r, err)
		}
	})
}

// errUnanswered is a handler's bug. Left alone, net/http would answer 200 to what was perhaps not done.
var errUnanswered = fmt.Errorf("api: the handler answered nothing: %w", refuse(codeInternal))

// run does what every request needs before and around its handler, cheapest refusals first.
func (x *exchange) run(r *http.Request) error {
	s, rt := x.server, x.route
	header := x.Header()
	header["Request-Id"] = x.id[:] // names as net/http writes them, so that it need not look
	if rt.Pattern != "/" {
		header["X-Content-Type-Options"] = headerNoSniff
		header["Cache-Control"] = headerNoStore
	}
	s.origins.expose(x, r)
	if rt.Access == AccessNone {
		return rt.handle(s, x, r)
	}
	if rt.Method != http.MethodGet && !s.addresses.allow(x, r) {
		return refuse(codeRateLimited)
	}
	if rt.body != bodyNone {
		// A body takes its place before the request does: slow senders crowd out each other, nobody else.
		if err := x.receive(r); err != nil {
			return err
		}
	} else if r.ContentLength != 0 {
		// Nobody reads this body. Unless the connection is to be closed, net/http waits for the rest
		// of it before it sends an answer, while the request keeps its place.
		header.Set("Connection", "close")
	}
	if s.inFlight.Add(1) > s.inFlightMax {
		s.inFlight.Add(-1)
		return refuse(inventory.Overloaded)
	}
	defer s.inFlight.Add(-1)
	// From here on the work does not hang on the connection: a client that has only closed its side
	// waits for the answer, and one that is gone must not leave half of it done.
	r = r.WithContext(s.ends.next(r))
	if rt.body == bodyNone {
		if err := x.authorize(r); err != nil {
			return err
		}
	}
	return rt.handle(s, x, r)
}

// ends gives the requests that begin within a second one end: not their connections', and one that a
// timer for each would cost more than many a handler for. Safe for concurrent use.
type ends struct {
	mu    sync.Mutex
	until time.Time // for whom the end is: those who come before
	ctx   context.Context
}

// next is a context that ends after handlerTimeMax, or up to a second later, with the request's values.
func (e *ends) next(r *http.Request) context.Context {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || !now.Before(e.until) {
		ctx, cancel := context.WithTimeout(valueless{context.WithoutCancel(r.Context())}, handlerTimeMax+time.Second)
		context.AfterFunc(ctx, cancel)
		e.ctx, e.until = ctx, now.Add(time.Second)
	}
	return detached{e.ctx, r.Context()}
}

// valueless is a context without its values, for what many requests share.
type valueless struct{ context.Context }

// Value implements context.Context.
func (valueless) Value(any) any { return nil }

// detached is a request's context with an end that it shares. The end is asked for a value first: by
// one of its own, contexts made from this one find it without a goroutine each.
type detached struct {
	context.Context
	request context.Context
}

// Value implements context.Context.
func (d detached) Value(key any) any {
	if v := d.Context.Value(key); v != nil {
		return v
	}
	return d.request.Value(key)
}

// receive finds out who sends a body and reads it. A request without one waits for nobody, and takes
// no place.
func (x *exchange) receive(r *http.Request) error {
	s := x.server
	if r.ContentLength != 0 {
		if s.receiving.Add(1) > s.receivingMax {
			s.receiving.Add(-1)
			return refuse(inventory.Overloaded)
		}
		defer s.receiving.Add(-1)
	}
	if err := x.authorize(r); err != nil {
		return err
	}
	return x.readBody(r)
}

// panicked makes a bug in one handler an answer of 500 and a line in the log.
func (x *exchange) panicked(r *http.Request, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		x.status = statusDropped
		panic(p) // net/http's own way to drop a connection
	}
	x.fail(r, &panicError{value: p, stack: debug.Stack()})
	x.code = codeInternal
}

// panicError carries a panic to the log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// finish gives buffers back, counts, and writes the request's one line in the log.
func (x *exchange) finish(r *http.Request, series *series, took time.Duration) {
	if x.buffer != nil {
		x.body = nil
		putBuffer(x.buffer)
	}
	if x.large {
		<-x.server.mapUploads
	}
	if x.status == 0 {
		x.status = http.StatusOK // the handler wrote nothing, and net/http answers that
	}
	series.observe(x.status, took)
	if x.code != "" {
		x.server.metrics.refused(x.code)
	}
	level := slog.LevelInfo
	switch {
	case x.status >= http.StatusInternalServerError && !x.plain():
		level = slog.LevelError
	case x.status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case x.route.hot && x.status < http.StatusInternalServerError:
		level = slog.LevelDebug // a lost seat is business as usual, and there are thousands of them
	}
	if !x.server.log.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 6)
	attrs = append(attrs,
		slog.String("request_id", x.id[0]),
		slog.String("route", x.route.label()),
		slog.Int("status", x.status),
		slog.Duration("duration", took))
	if x.code != "" {
		attrs = append(attrs, slog.String("code", string(x.code)))
	}
	// A plain refusal says all with its code; only what is behind a fault of ours is worth keeping.
	if level >= slog.LevelError && x.err != nil {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	// The line is written when the client may be gone, so it does not hang on the request's context.
	x.server.log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// plain reports whether what was answered is a refusal that was meant, and not a fault behind it.
func (x *exchange) plain() bool {
	if x.err == nil || x.code == codeInternal {
		return x.code != codeInternal
	}
	_, refusal := x.err.(*inventory.Refusal)
	return refusal
}

// label names a route in logs and metrics: a bounded set, whatever is asked for.
func (rt *route) label() string {
	if rt.Method == "" {
		return rt.Pattern
	}
	return rt.Method + " " + rt.Pattern
}

// reply sends v as JSON.
func (x *exchange) reply(status int, v any) error {
	x.Header()["Content-Type"] = headerJSON
	x.writeJSON(status, v)
	return nil
}

// writeJSON renders before it writes, so that a value that cannot be rendered is still a 500. An
// error of writing means that the client is gone, which changes nothing.
func (x *exchange) writeJSON(status int, v any) {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if err := render(b, v); err != nil {
		x.err, x.code = err, codeInternal
		b.Reset()
		status = http.StatusInternalServerError
		x.Header()["Content-Type"] = headerProblem
		fmt.Fprintf(b, `{"type":%q,"title":"Internal error","status":500,"code":%q,"request_id":%q}`,
			problemType(codeInternal), codeInternal, x.id[0])
	}
	x.writeBytes(status, b.Bytes())
}

// writeBytes sends an answer of known length.
func (x *exchange) writeBytes(status int, data []byte) {
	x.WriteHeader(status)
	x.Write(data)
}

// render writes v as JSON that is the same for the same value.
func render(b *bytes.Buffer, v any) error {
	w := text{out: b.AvailableBuffer()}
	if w.by(v) {
		b.Write(w.out)
		return nil
	}
	if err := json.MarshalWrite(b, v, json.Deterministic(true)); err != nil {
		return fmt.Errorf("api: render: %w", err)
	}
	return nil
}

// requestID takes the client's id for a request if it is harmless, and makes one otherwise.
func requestID(r *http.Request) string {
	id := r.Header.Get("Request-Id")
	if id == "" || len(id) > requestIDCharactersMax {
		return rand.Text()
	}
	for i := range len(id) {
		c := id[i]
		alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alphanumeric && c != '.' && c != '_' && c != '-' {
			return rand.Text()
		}
	}
	return id
}
