package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// The stages of the request on a connection, as a shutdown has to tell them apart.
const (
	stageArriving  int32 = iota // not whole yet: nothing was promised to its sender
	stageAccepted               // whole, and without an answer
	stageAnswering              // its answer is on the way
	stageCut                    // the connection was closed by a shutdown
)

// errCut ends the reading of a request whose connection was cut.
var errCut = errors.New("the server is shutting down")

// lines is a listener that knows, of every open connection, how far its request has come. Package
// http knows only that a connection is busy, and would wait as long for a client that never sends
// the rest of its request as for one that is owed an answer. Safe for concurrent use.
type lines struct {
	net.Listener

	mu   sync.Mutex
	open map[*line]struct{}
}

func newLines(l net.Listener) *lines {
	return &lines{Listener: l, open: make(map[*line]struct{})}
}

// Accept implements net.Listener.
func (l *lines) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &line{Conn: conn, among: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[one] = struct{}{}
	return one, nil
}

// cut closes the connections in a stage and returns how many those were. What arrives from one of
// them at the same moment is refused, so that nothing is done whose sender was counted out.
func (l *lines) cut(stage int32) int {
	var found []*line
	l.mu.Lock()
	for one := range l.open {
		if one.stage.CompareAndSwap(stage, stageCut) {
			found = append(found, one)
		}
	}
	l.mu.Unlock()
	for _, one := range found {
		one.Close() // there is nobody to tell: the connection is given up
	}
	return len(found)
}

// line is a connection and the stage of its latest request.
type line struct {
	net.Conn

	among *lines
	stage atomic.Int32
}

// Write implements net.Conn. The first bytes after a whole request are those of its answer.
func (l *line) Write(p []byte) (int, error) {
	l.stage.CompareAndSwap(stageAccepted, stageAnswering)
	return l.Conn.Write(p)
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.among.mu.Lock()
	delete(l.among.open, l)
	l.among.mu.Unlock()
	return l.Conn.Close()
}

// begin notes a request whose head is whole.
func (l *line) begin(hasBody bool) {
	stage := stageAccepted
	if hasBody {
		stage = stageArriving
	}
	for was := l.stage.Load(); was != stageCut && !l.stage.CompareAndSwap(was, stage); {
		was = l.stage.Load()
	}
}

// complete notes that the request is whole. It reports false when the connection was cut before.
func (l *line) complete() bool {
	return l.stage.CompareAndSwap(stageArriving, stageAccepted) || l.stage.Load() != stageCut
}

// lineKey finds the line of a request in its context.
type lineKey struct{}

// onLine is http.Server.ConnContext.
func onLine(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, lineKey{}, conn)
}

// watched notes the stages of the requests that a handler answers on lines.
func watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l, ok := r.Context().Value(lineKey{}).(*line); ok {
			hasBody := r.Body != nil && r.Body != http.NoBody
			l.begin(hasBody)
			if hasBody {
				// In a copy: package http looks at the body of its own request when it answers.
				r = r.WithContext(r.Context())
				r.Body = &watchedBody{ReadCloser: r.Body, line: l}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// watchedBody tells a line when the body has ended.
type watchedBody struct {
	io.ReadCloser

	line *line
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.line.complete() {
		err = errCut
	}
	return n, err
}
