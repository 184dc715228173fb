package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

func newMigrator(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files)
}

// migrate brings the schema to this program's version, each step in its own transaction.
func migrate(ctx context.Context, db *sql.DB) error {
	m, err := newMigrator(db)
	if err != nil {
		return err
	}
	current, target, err := m.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if current > target {
		return ErrNewer
	}
	if _, err = m.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

// checkVersion refuses a schema that is not this program's, without changing it.
func checkVersion(ctx context.Context, db *sql.DB) error {
	m, err := newMigrator(db)
	if err != nil {
		return err
	}
	var current int64
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&current); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	sources := m.ListSources()
	target := sources[len(sources)-1].Version
	switch {
	case current > target:
		return ErrNewer
	case current < target:
		return fmt.Errorf("the database is at version %d, this program at %d; run rowlock migrate first", current, target)
	}
	return nil
}
