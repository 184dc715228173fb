package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/race"
)

// benchArmCommand is one server of a bench, in a process of its own, so that it and the callers share
// nothing but the machine. It says on standard output where it serves, answers the questions that come
// on standard input, a line of JSON each, and ends when that ends.
type benchArmCommand struct {
	Make race.Make `help:"What kind of server: ${enum}." enum:"rowlock,transaction-each,statement-each,bare" required:""`
	DB   string    `help:"Path of the database's file, which is made." required:""`
	Rows int       `help:"Rows of seats that statements hold." required:""`
}

// armQuestion is a line from the bench.
type armQuestion struct {
	Ask     string       `json:"ask"` // cpu, heap, profile, profiled, answer, audit
	File    string       `json:"file,omitzero"`
	Answers race.Answers `json:"answers,omitzero"`
}

// armAnswer is a line to the bench. The first one, unasked, has the URL and the key.
type armAnswer struct {
	URL      string             `json:"url,omitzero"`
	Key      string             `json:"key,omitzero"`
	Amount   int64              `json:"amount,omitzero"` // nanoseconds of cpu, bytes of heap
	Breaches []inventory.Breach `json:"breaches,omitzero"`
	Error    string             `json:"error,omitzero"`
}

// benchServer is what is behind one make.
type benchServer struct {
	key    string
	serve  func(context.Context, net.Listener) error
	audit  func(context.Context) ([]inventory.Breach, error)
	canned *race.Canned // of a bare one
	close  func() error
}

// Run implements the verb.
func (c *benchArmCommand) Run(ctx context.Context, s streams) (err error) {
	listener, err := listen(ctx, demoListenAny)
	if err != nil {
		return err
	}
	server, err := c.open(ctx, s)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, server.close()) }()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.serve(serving, listener) }()
	first := armAnswer{URL: "http://" + listener.Addr().String(), Key: server.key}
	err = server.converse(ctx, os.Stdin, s.out, first)
	stop()
	return errors.Join(err, <-ended)
}

func (c *benchArmCommand) open(ctx context.Context, s streams) (*benchServer, error) {
	switch c.Make {
	case race.Bare:
		canned := new(race.Canned)
		return &benchServer{canned: canned, serve: serveHandler(canned), close: func() error { return nil }}, nil
	case race.StatementEach:
		statements, err := openStatements(c.DB, c.Rows)
		if err != nil {
			return nil, err
		}
		return &benchServer{serve: serveHandler(statements), audit: statements.audit, close: statements.close}, nil
	case race.Rowlock, race.OneEach:
	}
	// Rejections come by the thousand, and at info each would be a line in the log.
	config := houseConfig{Path: c.DB, Log: slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if c.Make == race.OneEach {
		config.Around = race.Separately
	}
	h, err := openHouse(ctx, config)
	if err != nil {
		return nil, err
	}
	key, err := arenaKey(ctx, h.office)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return &benchServer{
		key: key, serve: h.serve, close: h.close,
		audit: func(ctx context.Context) ([]inventory.Breach, error) { return auditFile(ctx, c.DB) },
	}, nil
}

// serveHandler serves a handler behind the same settings as the real server, until the context ends.
func serveHandler(handler http.Handler) func(context.Context, net.Listener) error {
	return func(ctx context.Context, listener net.Listener) error {
		server := api.NewHTTPServer(handler)
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	}
}

// converse answers questions until there are no more, or the context ends.
func (b *benchServer) converse(ctx context.Context, in io.Reader, out io.Writer, first armAnswer) error {
	questions := make(chan armQuestion)
	broken := make(chan error, 1)
	go func() {
		defer close(questions)
		decoder := json.NewDecoder(bufio.NewReader(in))
		for {
			var q armQuestion
			if err := decoder.Decode(&q); err != nil {
				if !errors.Is(err, io.EOF) {
					broken <- fmt.Errorf("a question: %w", err)
				}
				return
			}
			questions <- q
		}
	}()
	encoder := json.NewEncoder(out)
	for answer := first; ; {
		if err := encoder.Encode(answer); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case q, more := <-questions:
			if !more {
				select {
				case err := <-broken:
					return err
				default:
					return nil
				}
			}
			answer = b.answer(ctx, q)
		}
	}
}

func (b *benchServer) answer(ctx context.Context, q armQuestion) (a armAnswer) {
	var err error
	switch q.Ask {
	case "cpu":
		a.Amount = processorTime()
	case "heap":
		a.Amount = liveHeap()
	case "profile":
		err = startProfile(q.File)
	case "profiled":
		pprof.StopCPUProfile()
	case "answer":
		b.canned.Set(q.Answers)
	case "audit":
		a.Breaches, err = b.audit(ctx)
	default:
		err = fmt.Errorf("no such question: %q", q.Ask)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// processorTime is what this process has used of processors, in nanoseconds.
func processorTime() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// liveHeap is what is alive in this process, in bytes. The second collection takes what the first left
// to finalizers and pools.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// startProfile writes a CPU profile to a file until pprof.StopCPUProfile, which leaves the file whole;
// its descriptor ends with the process.
func startProfile(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

// armProcess is the bench's end of an arm.
type armProcess struct {
	in      io.Closer
	encoder *json.Encoder
	decoder *json.Decoder
	wait    func() error
}

// ask asks a question. The processes take turns, so one goroutine at a time.
func (p *armProcess) ask(q armQuestion) (armAnswer, error) {
	var a armAnswer
	if err := p.encoder.Encode(q); err != nil {
		return a, fmt.Errorf("ask an arm for %s: %w", q.Ask, err)
	}
	err := p.read(&a, q.Ask)
	return a, err
}

func (p *armProcess) read(a *armAnswer, what string) error {
	if err := p.decoder.Decode(a); err != nil {
		return fmt.Errorf("ask an arm for %s: %w", what, err)
	}
	if a.Error != "" {
		return fmt.Errorf("ask an arm for %s: %s", what, a.Error)
	}
	return nil
}

func (p *armProcess) amount(ask string) (int64, error) {
	a, err := p.ask(armQuestion{Ask: ask})
	return a.Amount, err
}

// arm gives an arm's process to the bench.
func (p *armProcess) arm(make race.Make, first armAnswer) *race.Arm {
	arm := &race.Arm{
		Target: race.Target{URLs: []string{first.URL}, Key: first.Key},
		CPU: func(context.Context) (time.Duration, error) {
			used, err := p.amount("cpu")
			return time.Duration(used), err
		},
		Heap: func(context.Context) (int64, error) { return p.amount("heap") },
		Profile: func(_ context.Context, file string) (func() error, error) {
			_, err := p.ask(armQuestion{Ask: "profile", File: file})
			return func() error { _, err := p.ask(armQuestion{Ask: "profiled"}); return err }, err
		},
		Close: func() error { return errors.Join(p.in.Close(), p.wait()) },
	}
	if make == race.Bare {
		arm.Answer = func(_ context.Context, a race.Answers) error {
			_, err := p.ask(armQuestion{Ask: "answer", Answers: a})
			return err
		}
		return arm
	}
	arm.Audit = func(context.Context) ([]inventory.Breach, error) {
		a, err := p.ask(armQuestion{Ask: "audit"})
		return a.Breaches, err
	}
	return arm
}
