package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

// conn is a connection with its prepared statements. One goroutine at a time.
type conn struct {
	*sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
}

func (m medium) open(writable bool) (*conn, error) {
	c, err := sqlite3.Open(m.uri("rw"))
	if err != nil {
		return nil, err
	}
	if err := m.settings(writable)(c); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{Conn: c, prepared: make(map[string]*sqlite3.Stmt)}, nil
}

// Close finalizes the statements, then closes the connection.
func (c *conn) Close() error {
	var errs []error
	for _, st := range c.prepared {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, c.Conn.Close())...)
}

// stmt returns a named statement with its parameters bound.
func (c *conn) stmt(name string, args ...any) (*sqlite3.Stmt, error) {
	st, ok := c.prepared[name]
	if !ok {
		text, known := queries[name]
		if !known {
			return nil, fmt.Errorf("sqlite: no statement %q", name)
		}
		var err error
		if st, _, err = c.PrepareFlags(text, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, fmt.Errorf("sqlite: prepare %s: %w", name, err)
		}
		c.prepared[name] = st
	}
	for i, a := range args {
		if err := bind(st, i+1, a); err != nil {
			return nil, fmt.Errorf("sqlite: %s: parameter %d: %w", name, i+1, err)
		}
	}
	return st, nil
}

func bind(st *sqlite3.Stmt, i int, a any) error {
	switch v := a.(type) {
	case int64:
		return st.BindInt64(i, v)
	case inventory.Instant:
		return st.BindInt64(i, int64(v))
	case inventory.Unit:
		return st.BindInt64(i, int64(v))
	case int:
		return st.BindInt(i, v)
	case bool:
		return st.BindBool(i, v)
	case string:
		return st.BindText(i, v)
	case *inventory.HoldKey:
		return st.BindBlob(i, v[:])
	case rawText:
		if v == nil {
			return st.BindNull(i)
		}
		return st.BindRawText(i, v)
	case []byte:
		if v == nil {
			return st.BindNull(i)
		}
		return st.BindBlob(i, v)
	case nil:
		return st.BindNull(i)
	default:
		return fmt.Errorf("no binding for %T", a)
	}
}

// rawText binds bytes as text; nil is NULL.
type rawText []byte

// nullable binds an empty text as NULL.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// exec runs a named statement that returns no rows.
func (c *conn) exec(name string, args ...any) error {
	st, err := c.stmt(name, args...)
	if err != nil {
		return err
	}
	if err := st.Exec(); err != nil {
		return fmt.Errorf("sqlite: %s: %w", name, err)
	}
	return nil
}

// each runs a named query and calls fn for each row, until it returns false.
func (c *conn) each(name string, fn func(*sqlite3.Stmt) bool, args ...any) error {
	st, err := c.stmt(name, args...)
	if err != nil {
		return err
	}
	for st.Step() && fn(st) {
	}
	stepErr := st.Err()
	if err := st.Reset(); stepErr == nil {
		stepErr = err
	}
	if stepErr != nil {
		return fmt.Errorf("sqlite: %s: %w", name, stepErr)
	}
	return nil
}

// one runs a named query for its first row; found says whether there was one.
func (c *conn) one(name string, fn func(*sqlite3.Stmt), args ...any) (found bool, err error) {
	err = c.each(name, func(st *sqlite3.Stmt) bool {
		found = true
		fn(st)
		return false
	}, args...)
	return found, err
}

// now reads the database's clock.
func (c *conn) now() (inventory.Instant, error) {
	var now inventory.Instant
	_, err := c.one("clock", func(st *sqlite3.Stmt) { now = inventory.Instant(st.ColumnInt64(0)) })
	return now, err
}

// keyOf reads a hold's key from a column.
func keyOf(st *sqlite3.Stmt, col int) (k inventory.HoldKey) {
	copy(k[:], st.ColumnRawBlob(col))
	return k
}
