package main

import (
	"context"
	_ "embed" // for the statements
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/race"
	"github.com/rowlock/rowlock/internal/seatmap"
)

//go:embed bench_statement.sql
var statementsSQL string

// The hold that a statement answers, as long as that of the benches' events.
const statementHoldLife = 30 * time.Minute

// statements is the reference of a caller alone: the server one writes first, with a conditional
// statement a request, an honest flush, and nothing else: no event's state, no offer, no log, no
// deadline, no batch. Its http.Server is Rowlock's. Safe for concurrent use.
type statements struct {
	mu       sync.Mutex
	conn     *sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
}

// openStatements makes a database with the seats of the benches' hall.
func openStatements(file string, rows int) (*statements, error) {
	conn, err := sqlite3.Open("file:" + file)
	if err != nil {
		return nil, fmt.Errorf("statements: %w", err)
	}
	s := &statements{conn: conn, prepared: make(map[string]*sqlite3.Stmt)}
	if err := s.furnish(rows); err != nil {
		return nil, errors.Join(fmt.Errorf("statements: %w", err), s.close())
	}
	return s, nil
}

func (s *statements) furnish(rows int) error {
	text := namedStatements()
	// As durable as the real store: the same journal, the same flush a commit.
	if err := s.conn.Exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + text["make"]); err != nil {
		return err
	}
	for _, name := range []string{"unit", "take", "keep", "drop", "give", "audit"} {
		st, _, err := s.conn.PrepareFlags(text[name], sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.prepared[name] = st
	}
	return s.transaction(func() error {
		for _, seat := range seatmap.NewPlan(race.BenchHall(rows)).Seats {
			if err := s.run("unit", seat.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

func namedStatements() map[string]string {
	named := make(map[string]string)
	for _, block := range strings.Split(statementsSQL, "-- name: ")[1:] {
		name, text, _ := strings.Cut(block, "\n")
		named[name] = text
	}
	return named
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.prepared {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// transaction runs fn alone and commits it, or nothing of it.
func (s *statements) transaction(fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return errors.Join(err, s.conn.Exec("ROLLBACK"))
	}
	return s.conn.Exec("COMMIT")
}

// bind gives a statement its parameters: keys of seats are text, hashes blobs.
func (s *statements) bind(name string, args ...any) (*sqlite3.Stmt, error) {
	st := s.prepared[name]
	for i, a := range args {
		var err error
		switch v := a.(type) {
		case string:
			err = st.BindText(i+1, v)
		case []byte:
			err = st.BindBlob(i+1, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return st, nil
}

func (s *statements) run(name string, args ...any) error {
	st, err := s.bind(name, args...)
	if err != nil {
		return err
	}
	return st.Exec()
}

// errTaken ends the transaction of a claim that came too late.
var errTaken = errors.New("taken")

// claim holds a seat for a token, if it is free.
func (s *statements) claim(seat string, hash []byte) error {
	return s.transaction(func() error {
		if err := s.run("take", seat); err != nil {
			return err
		}
		if s.conn.Changes() == 0 {
			return errTaken
		}
		return s.run("keep", hash, seat)
	})
}

// release gives a seat back; a token without one is no error.
func (s *statements) release(hash []byte) error {
	return s.transaction(func() error {
		st, err := s.bind("drop", hash)
		if err != nil {
			return err
		}
		seat := ""
		for st.Step() {
			seat = st.ColumnText(0)
		}
		if err := errors.Join(st.Err(), st.Reset()); err != nil || seat == "" {
			return err
		}
		return s.run("give", seat)
	})
}

// audit finds seats that are held without a hold, or free with one.
func (s *statements) audit(context.Context) (found []inventory.Breach, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.prepared["audit"]
	for st.Step() && len(found) < breachesMax {
		found = append(found, inventory.Breach{Promise: 1, What: "unit and hold disagree: " + st.ColumnText(0)})
	}
	return found, errors.Join(st.Err(), st.Reset())
}

// ServeHTTP implements http.Handler: claims of one seat, and releases.
func (s *statements) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		key, ok := inventory.HashToken(r.Header.Get("Hold-Token"))
		if err := s.release(key[:]); err != nil || !ok {
			http.Error(w, "not released", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var in client.HoldRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil || len(in.Seats) != 1 {
		http.Error(w, "not a claim of one seat", http.StatusBadRequest)
		return
	}
	token := inventory.NewToken()
	key, _ := inventory.HashToken(token)
	switch err := s.claim(in.Seats[0], key[:]); {
	case errors.Is(err, errTaken):
		http.Error(w, "taken", http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		s.answer(w, path.Dir(r.URL.Path), in.Seats[0], key.ID(), token)
	}
}

func (s *statements) answer(w http.ResponseWriter, event, seat, id, token string) {
	now := time.Now().UTC()
	hold := client.Hold{
		ID: id, Token: token, Event: path.Base(event), State: "live", ExpiresAt: now.Add(statementHoldLife),
		ExpiresIn: int64(statementHoldLife / time.Second), ExtendUntil: now.Add(statementHoldLife), Metadata: map[string]string{},
		Lines: []client.Line{{Seat: seat, Label: seat, TicketType: "standard", Quantity: 1}}, Currency: "EUR", Warnings: []client.Warning{},
	}
	out, err := json.Marshal(hold)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	w.Write(out)
}
