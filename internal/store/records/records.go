// Package records keeps the paperwork of every SQL store: venues, seat maps, drafts of events, keys,
// idempotency records, and the reading of orders and logs. It fulfils inventory.Catalogue and
// office.Records once, in SQL that SQLite and PostgreSQL share, so that a store has to bring only its
// contended verbs. Nothing here is contended: what many buyers want at once never passes through it.
//
// Methods answer *inventory.Refusal, *inventory.Recorded and inventory.ErrNotFound as they are, and
// other errors wrapped. Instants are the store's clock, read once a transaction.
package records

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// recordLifetimeMicros is how long an idempotency record is replayed: 24 hours.
const recordLifetimeMicros = 24 * 60 * 60 * 1_000_000

// Database is how records reaches a store's database.
type Database interface {
	// Reader is for queries that write nothing. It sees every committed write.
	Reader() *sql.DB
	// Write runs fn in one transaction, serialized with the store's own writes, and commits it; an
	// error of fn rolls it back and is returned. fn may run again, each time on a fresh transaction.
	Write(ctx context.Context, fn func(*sql.Tx) error) error
	// Clock is an SQL expression: now, in whole microseconds since 1970 UTC.
	Clock() string
}

// Records is the paperwork in a database. Safe for concurrent use.
type Records struct {
	db  Database
	sql statements
}

var (
	_ inventory.Catalogue = (*Records)(nil)
	_ office.Records      = (*Records)(nil)
)

// New makes the Records of a database whose schema is in place.
func New(db Database) *Records { return &Records{db: db, sql: load(db.Clock())} }

// transaction is one write: its statements share an instant.
type transaction struct {
	ctx context.Context
	tx  *sql.Tx
	sql statements
	now inventory.Instant
}

// write runs fn in a transaction that keeps rec, when there is one, with what fn does. The record is
// written first: of two writers with one id the later one stops there, and learns of the earlier
// one's effect instead of losing to it over a reference.
func (r *Records) write(ctx context.Context, what string, rec *inventory.Record, fn func(*transaction) error) error {
	err := r.db.Write(ctx, func(tx *sql.Tx) error {
		t := &transaction{ctx: ctx, tx: tx, sql: r.sql}
		if err := t.row("now").Scan(&t.now); err != nil {
			return err
		}
		if rec != nil {
			if err := t.keep(rec); err != nil {
				return err
			}
		}
		return fn(t)
	})
	return answer(what, err)
}

// keep writes a record, or answers what the earlier one of its id says.
func (t *transaction) keep(rec *inventory.Record) error {
	if _, err := t.exec("drop_record", rec.ID[:], int64(t.now)-recordLifetimeMicros); err != nil {
		return err
	}
	n, err := t.exec("insert_record", rec.ID[:], rec.Body[:], present(rec.Answer), optional(rec.Sealed), int64(t.now))
	if err != nil || n == 1 {
		return err
	}
	return replay(t.row("record", rec.ID[:]), rec.ID, rec.Body)
}

// Recorded answers as a writer would that found a record with this id: a *Recorded (same body) or a
// Refusal KeyReused (another), and nil when none is in force.
func (r *Records) Recorded(ctx context.Context, id inventory.CommandID, body [32]byte) error {
	err := replay(r.row(ctx, "record_in_force", id[:], recordLifetimeMicros), id, body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return answer("record", err)
}

// replay turns the record of an earlier command into what this one is answered.
func replay(row row, id inventory.CommandID, body [32]byte) error {
	found := inventory.Record{ID: id}
	var kept []byte
	if err := row.Scan(&kept, &found.Answer, &found.Sealed); err != nil {
		return err
	}
	if err := fill(found.Body[:], kept); err != nil {
		return err
	}
	if found.Body != body {
		return &inventory.Refusal{Code: inventory.KeyReused}
	}
	return &inventory.Recorded{Record: found}
}

// exec runs a statement and returns how many rows it touched.
func (t *transaction) exec(name string, args ...any) (int64, error) {
	res, err := t.tx.ExecContext(t.ctx, t.sql.named(name), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// must runs a statement that finds its row, or answers ErrNotFound.
func (t *transaction) must(name string, args ...any) error {
	n, err := t.exec(name, args...)
	if err == nil && n == 0 {
		return inventory.ErrNotFound
	}
	return err
}

// row reads one row inside the transaction.
func (t *transaction) row(name string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(t.ctx, t.sql.named(name), args...)
}

// finds reports whether a query has a row.
func (t *transaction) finds(name string, args ...any) (bool, error) {
	var id string
	err := t.row(name, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// row reads one row outside any transaction.
func (r *Records) row(ctx context.Context, name string, args ...any) *sql.Row {
	return r.db.Reader().QueryRowContext(ctx, r.sql.named(name), args...)
}

// each reads a query's rows one by one.
func (r *Records) each(ctx context.Context, name string, args []any, scan func(row) error) error {
	rows, err := r.db.Reader().QueryContext(ctx, r.sql.named(name), args...)
	if err != nil {
		return err
	}
	defer rows.Close() // read only: what matters is rows.Err
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list reads a query's rows into a slice.
func list[T any](ctx context.Context, r *Records, name string, args []any, read func(row) (T, error)) ([]T, error) {
	var all []T
	err := r.each(ctx, name, args, func(row row) error {
		one, err := read(row)
		if err != nil {
			return err
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

// paged chooses between a listing and its form by reference, and completes the arguments of either.
func paged(name string, p inventory.Page, scope ...any) (string, []any) {
	if p.Reference == "" {
		return name, append(scope, p.After, p.Limit)
	}
	return name + "_by_reference", append(scope, p.After, p.Reference, p.Limit)
}

// row is what *sql.Row and *sql.Rows have in common.
type row interface{ Scan(dest ...any) error }

// answer makes an error the caller's: answers of the domain bare, everything else wrapped.
func answer(what string, err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*inventory.Refusal](err); ok {
		return refusal
	}
	if recorded, ok := errors.AsType[*inventory.Recorded](err); ok {
		return recorded
	}
	if errors.Is(err, inventory.ErrNotFound) || errors.Is(err, sql.ErrNoRows) {
		return inventory.ErrNotFound
	}
	return fmt.Errorf("records: %s: %w", what, err)
}

// taken is the refusal of a reference that is in use.
func taken(reference string) error {
	return &inventory.Refusal{Code: inventory.ReferenceTaken, Detail: fmt.Sprintf("the reference %q is in use", reference)}
}

// text makes an absent text null.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// optional makes absent bytes null.
func optional(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// present makes absent bytes empty, for columns that are never null.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// fill copies a hash out of its column. One of another length is corruption, not an answer.
func fill(hash, column []byte) error {
	if len(column) != len(hash) {
		return fmt.Errorf("a hash of %d bytes where %d belong", len(column), len(hash))
	}
	copy(hash, column)
	return nil
}

// metadataText writes metadata for a column; none is an empty object.
func metadataText(m map[string]string) (string, error) {
	b, err := inventory.EncodeMetadata(m)
	if err != nil || b == nil {
		return "{}", err
	}
	return string(b), nil
}

// metadataOf reads a metadata column; an empty object, like null, is none.
func metadataOf(column []byte) (map[string]string, error) {
	m, err := inventory.DecodeMetadata(column)
	if err != nil || len(m) == 0 {
		return nil, err
	}
	return m, nil
}
