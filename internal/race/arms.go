package race

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// Make says what kind of server an arm of a bench is.
type Make string

// The makes. All of them stand behind the same http.Server settings, in the same arrangement.
const (
	Rowlock       Make = "rowlock"          // the server as it is shipped
	OneEach       Make = "transaction-each" // the same without batches: every command in a transaction of its own
	StatementEach Make = "statement-each"   // the least that holds a unit durably: one conditional statement and its row
	Bare          Make = "bare"             // net/http alone: decodes the same body and answers the same bytes
)

// Arm is a server under load, and what can be asked of the process that runs it. Functions that are
// nil are questions that nobody can answer, as for a server that is only known by its URL.
type Arm struct {
	Target

	// CPU is what the server's process has used of processors since it began.
	CPU func(context.Context) (time.Duration, error)
	// Heap is what is alive in the server's memory, in bytes, after everything else was collected.
	Heap func(context.Context) (int64, error)
	// Profile writes a CPU profile of the server to a file until the function it returns is called.
	Profile func(ctx context.Context, file string) (stop func() error, err error)
	// Answer sets what a Bare answers, by method.
	Answer func(context.Context, Answers) error
	Close  func() error // never nil
}

// Inside is a store in this process, for callers that need no network. Target is a server on the same
// store, through which events are made and looked at.
type Inside struct {
	Target

	Store     inventory.Store
	Catalogue inventory.Catalogue
	Close     func() error
}

// Stage opens what a bench compares, each on a database of its own. Every stage has Rowlock; for makes
// that it does not have Serve answers nil.
type Stage struct {
	Serve  func(context.Context, Make) (*Arm, error)
	Inside func(context.Context) (*Inside, error) // nil: no load inside the process
}

// Separately is a store that runs every command and every sale in a transaction of its own, whatever
// the combiner gathered: the reference that batches are measured against.
func Separately(s inventory.Store) inventory.Store { return separately{s} }

type separately struct{ inventory.Store }

// Apply implements inventory.Store.
func (s separately) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	return oneByOne(batch, func(one []inventory.Command) ([]inventory.Outcome, error) { return s.Store.Apply(ctx, event, one) })
}

// Sell implements inventory.Ledger.
func (s separately) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	return oneByOne(batch, func(one []inventory.Sale) ([]inventory.SaleOutcome, error) { return s.Store.Sell(ctx, event, one) })
}

func oneByOne[C, O any](batch []C, run func([]C) ([]O, error)) ([]O, error) {
	outcomes := make([]O, 0, len(batch))
	for i := range batch {
		one, err := run(batch[i : i+1])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

// Recorded is an answer that a real server gave.
type Recorded struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"` // without what net/http writes by itself
	Body   []byte      `json:"body"`
}

// Answers are recorded answers by method.
type Answers map[string]Recorded

// bareBodyBytesMax bounds what a Canned reads, as the API does.
const bareBodyBytesMax = 64 << 10

// Canned is the handler of a Bare arm. It reads a body as anybody would, with io.ReadAll and
// json.Unmarshal into the type it has, and answers what was recorded. Safe for concurrent use.
type Canned struct{ answers atomic.Pointer[Answers] }

// Set replaces the answers.
func (c *Canned) Set(a Answers) { c.answers.Store(&a) }

// ServeHTTP implements http.Handler. 404 for a method without an answer, 400 for a body that is not JSON.
func (c *Canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answers := c.answers.Load()
	if answers == nil {
		http.NotFound(w, r)
		return
	}
	recorded, ok := (*answers)[r.Method]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bareBodyBytesMax))
		var wanted client.HoldRequest
		if err == nil {
			err = json.Unmarshal(body, &wanted)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	header := w.Header()
	for name, values := range recorded.Header {
		header[name] = values
	}
	w.WriteHeader(recorded.Status)
	w.Write(recorded.Body)
}

// record asks a real server for the answers that a Bare repeats: for a claim and its release, or for a
// claim that is refused.
func record(ctx context.Context, base, event string, claim []byte, refused bool) (Answers, error) {
	w, err := dial(ctx, base)
	if err != nil {
		return nil, err
	}
	defer w.conn.Close()
	to, err := requestsTo(base)
	if err != nil {
		return nil, err
	}
	got, err := w.exchange(claim)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	want := http.StatusCreated
	if refused {
		want = http.StatusConflict
	}
	if got.status != want {
		return nil, fmt.Errorf("record: a claim was answered %d instead of %d", got.status, want)
	}
	answers := Answers{http.MethodPost: recorded(got)}
	if refused {
		return answers, nil
	}
	release := to.release(nil, event, stringField(got.body, "id"), stringField(got.body, "token"))
	if got, err = w.exchange(release); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if got.status != http.StatusNoContent {
		return nil, fmt.Errorf("record: a release was answered %d", got.status)
	}
	answers[http.MethodDelete] = recorded(got)
	return answers, nil
}

// recorded keeps an answer beyond the next request, without what every server of package http adds.
func recorded(got reply) Recorded {
	r := Recorded{Status: got.status, Header: headerOf(got.head), Body: append([]byte{}, got.body...)}
	for _, name := range []string{"Date", "Content-Length", "Transfer-Encoding", "Connection"} {
		r.Header.Del(name)
	}
	return r
}
