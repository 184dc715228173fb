package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// backupCommand copies a database, as it is at one moment, to a new file.
type backupCommand struct {
	To string `arg:"" help:"File to make. It must not exist." placeholder:"FILE"`
	DB string `help:"Database: sqlite:PATH. It may be in use." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
}

// Run implements the verb.
func (c *backupCommand) Run(ctx context.Context, s streams) (err error) {
	path, err := existingPath("--db", c.DB)
	if err != nil {
		return err
	}
	if err := checkCopy(c.To); err != nil {
		return err
	}
	if _, err := os.Lstat(c.To); err == nil {
		return badSetting("<to>", "%s exists already, and a backup overwrites nothing", c.To)
	} else if !errors.Is(err, os.ErrNotExist) {
		return badSetting("<to>", "%w", err)
	}
	store, err := sqlite.OpenBeside(ctx, path)
	if err != nil {
		return aboutDatabase(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Backup(ctx, c.To); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(s.out, "%s is copied to %s\n", c.DB, c.To)
	return nil
}

// checkCopy refuses what is no plain path: SQLite gives file: and a leading colon meanings of their
// own, and a file that is called sqlite:copy.db is nobody's wish. Of a URL it repeats only the scheme.
func checkCopy(to string) error {
	switch {
	case to == "":
		return badSetting("<to>", "needs the path of the new file")
	case strings.HasPrefix(to, ":"):
		return badSetting("<to>", "takes the plain path of the new file, which does not begin with a colon")
	case strings.Contains(to, "://") || strings.HasPrefix(to, sqliteScheme) || strings.HasPrefix(to, "file:"):
		return badSetting("<to>", "takes the plain path of the new file, without %s", scheme(to))
	}
	return nil
}
