package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// breachesMax bounds what an audit reports; a database with more is as broken as it can be.
const breachesMax = 1000

// auditCommand proves the promises on a database.
type auditCommand struct {
	DB   string `help:"Database: sqlite:PATH. It may be in use, and nothing in it is changed." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
	JSON bool   `help:"Print JSON."`
}

// auditResult is what --json prints.
type auditResult struct {
	OK       bool               `json:"ok"`
	Breaches []inventory.Breach `json:"breaches"`
	// Truncated says that there are more breaches than are listed.
	Truncated bool `json:"truncated"`
}

// Run implements the verb.
func (c *auditCommand) Run(ctx context.Context, s streams) (err error) {
	path, err := existingPath("--db", c.DB)
	if err != nil {
		return err
	}
	breaches, err := auditFile(ctx, path)
	if err != nil {
		return err
	}
	result := auditResult{OK: len(breaches) == 0, Breaches: breaches, Truncated: len(breaches) == breachesMax}
	if c.JSON {
		if err := json.MarshalWrite(s.out, result, jsontext.Multiline(true)); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
		fmt.Fprintln(s.out)
	} else {
		for _, b := range breaches {
			fmt.Fprintf(s.out, "promise %d  event %s  %s\n", b.Promise, b.Event, b.What)
		}
		fmt.Fprintf(s.out, "audit of %s: %s\n", c.DB, countOf(len(breaches)))
	}
	return breachError(len(breaches))
}

// auditFile reads a database beside whoever serves it and returns what it breaks, at most
// breachesMax. The slice is never nil.
func auditFile(ctx context.Context, path string) (found []inventory.Breach, err error) {
	store, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return nil, aboutDatabase(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return auditStore(ctx, store)
}

// auditStore collects the breaches of an open store, at most breachesMax.
func auditStore(ctx context.Context, store *sqlite.Store) ([]inventory.Breach, error) {
	found := []inventory.Breach{}
	for b, err := range store.Audit(ctx) {
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		found = append(found, b)
		if len(found) == breachesMax {
			break
		}
	}
	return found, nil
}

func countOf(breaches int) string {
	switch breaches {
	case 0:
		return "every promise holds"
	case 1:
		return "1 breach"
	case breachesMax:
		return fmt.Sprintf("%d breaches or more", breaches)
	}
	return fmt.Sprintf("%d breaches", breaches)
}

// breachError turns a number of breaches into the verb's failure, nil for none.
func breachError(breaches int) error {
	if breaches == 0 {
		return nil
	}
	return fmt.Errorf("promises are broken: %s", countOf(breaches))
}
