package sqlite

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

//go:embed audit.sql
var auditSQL string

// errStopped ends an audit whose reader has seen enough.
var errStopped = errors.New("sqlite: the audit was stopped")

// Audit implements inventory.Store: every query of audit.sql, the units against their maps, and
// SQLite's own check of the file, in one snapshot, also beside a running server.
func (s *Store) Audit(ctx context.Context) iter.Seq2[inventory.Breach, error] {
	return func(yield func(inventory.Breach, error) bool) {
		err := s.read(ctx, func(c *conn) error { return auditAll(c, yield) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(inventory.Breach{}, fmt.Errorf("sqlite: audit: %w", explain(s.path, err)))
		}
	}
}

func auditAll(c *conn, yield func(inventory.Breach, error) bool) error {
	checks := namedQueries(auditSQL)
	names := make([]string, 0, len(checks))
	for name := range checks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		number, what, _ := strings.Cut(name, " ")
		promise, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("audit %q: %w", name, err)
		}
		if err := auditQuery(c, checks[name], func(event, detail string) bool {
			return yield(inventory.Breach{Promise: promise, Event: event, What: what + ": " + detail}, nil)
		}); err != nil {
			return fmt.Errorf("audit %q: %w", name, err)
		}
	}
	if err := auditLayouts(c, yield); err != nil {
		return err
	}
	return auditFile(c, yield)
}

// auditFile is SQLite's own check of the file. Where a page could not be read, whatever else it finds may be
// for that, and nothing is known.
func auditFile(c *conn, yield func(inventory.Breach, error) bool) error {
	var found []string // at most as many as SQLite tells of
	err := auditQuery(c, "SELECT '', integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'", func(_, detail string) bool {
		found = append(found, detail)
		return true
	})
	if err == nil {
		err = unread(strings.Join(found, "\n"))
	}
	if err != nil {
		return err
	}
	for _, detail := range found {
		if !yield(inventory.Breach{Promise: 7, What: "file: " + detail}, nil) {
			return errStopped
		}
	}
	return nil
}

func auditQuery(c *conn, text string, found func(event, what string) bool) error {
	st, _, err := c.Prepare(text)
	if err != nil {
		return err
	}
	for st.Step() {
		if !found(columnOr(st, 0), columnOr(st, 1)) {
			err = errStopped
			break
		}
	}
	return errors.Join(err, st.Close())
}

func columnOr(st *sqlite3.Stmt, col int) string {
	if st.ColumnType(col) == sqlite3.NULL {
		return "?"
	}
	return st.ColumnText(col)
}
