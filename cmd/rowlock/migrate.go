package main

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// migrateCommand makes a database or brings it to this version. A server does the same when it
// starts; the verb is for doing it at a time of one's choosing.
type migrateCommand struct {
	DB string `help:"Database: sqlite:PATH. No server may have it open." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
}

// Run implements the verb.
func (c *migrateCommand) Run(ctx context.Context, s streams) error {
	path, err := databasePath("--db", c.DB)
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return aboutDatabase(err)
	}
	if err := store.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	fmt.Fprintf(s.out, "%s is up to date\n", c.DB)
	return nil
}
