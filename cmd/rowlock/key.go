package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

const (
	keyNameMax  = 200 // characters
	keyPageSize = 200 // keys read at once
)

// keyCommand looks after API keys, in the database, beside a server. It is how the first key of an
// organizer is made; later ones may come from the API.
type keyCommand struct {
	Create keyCreateCommand `cmd:"" help:"Create a key, and its organizer if there is none of that name. Prints the secret, once."`
	List   keyListCommand   `cmd:"" help:"List keys, without their secrets."`
	Revoke keyRevokeCommand `cmd:"" help:"End a key at once."`
}

// keyDatabase is the setting that the three have in common.
type keyDatabase struct {
	DB string `help:"Database: sqlite:PATH. It may be in use." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
}

// with opens the office of the database for the time of fn.
func (d *keyDatabase) with(ctx context.Context, fn func(*office.Office) error) (err error) {
	path, err := existingPath("--db", d.DB)
	if err != nil {
		return err
	}
	store, err := sqlite.OpenBeside(ctx, path)
	if err != nil {
		return aboutDatabase(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(office.New(records.New(store)))
}

type keyCreateCommand struct {
	keyDatabase `embed:""`

	Organizer string `help:"Name or id of the organizer." required:"" placeholder:"NAME"`
	Name      string `help:"What the key is for." default:"command line"`
	Role      string `help:"What it may do: ${enum}." enum:"organizer,scanner" default:"organizer"`
}

// Run implements the verb. Only the secret goes to standard output, for scripts to take it from there.
func (c *keyCreateCommand) Run(ctx context.Context, s streams) error {
	if err := errors.Join(checkKeyName("--organizer", c.Organizer), checkKeyName("--name", c.Name)); err != nil {
		return err
	}
	return c.with(ctx, func(people *office.Office) error {
		o, err := organizerNamed(ctx, people, c.Organizer)
		if err != nil {
			return err
		}
		var k *office.Key
		var secret string
		if o == nil {
			// Both or neither: an organizer that nobody has a key for is of no use.
			if o, k, secret, err = people.CreateOrganizerWithKey(ctx, c.Organizer, c.Name, office.Role(c.Role)); err != nil {
				return fmt.Errorf("create the organizer and the key: %w", err)
			}
			fmt.Fprintf(s.err, "organizer %s (%s) is new\n", o.ID, o.Name)
		} else if k, secret, err = people.CreateKey(ctx, o.ID, c.Name, office.Role(c.Role), nil); err != nil {
			return fmt.Errorf("create the key: %w", err)
		}
		fmt.Fprintf(s.err, "key %s (%s) of %s; its secret is shown only now:\n", k.ID, k.Role, o.Name)
		fmt.Fprintln(s.out, secret)
		return nil
	})
}

type keyListCommand struct {
	keyDatabase `embed:""`

	Organizer string `help:"Name or id of the organizer; omitted, all." placeholder:"NAME"`
}

// Run implements the verb.
func (c *keyListCommand) Run(ctx context.Context, s streams) error {
	return c.with(ctx, func(people *office.Office) error {
		organizers, err := people.Organizers(ctx)
		if err != nil {
			return fmt.Errorf("list the organizers: %w", err)
		}
		known := c.Organizer == ""
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "KEY\tORGANIZER\tROLE\tHINT\tCREATED\tREVOKED\tNAME")
		for _, o := range organizers {
			if c.Organizer != "" && c.Organizer != o.ID && c.Organizer != o.Name {
				continue
			}
			known = true
			for k, err := range everyKey(ctx, people, o.ID) {
				if err != nil {
					return fmt.Errorf("list the keys: %w", err)
				}
				fmt.Fprintf(w, "%s\t%q\t%s\t%s…\t%s\t%s\t%q\n", k.ID, o.Name, k.Role, k.Hint, instant(k.Created), instant(k.Revoked), k.Name)
			}
		}
		if !known {
			return badSetting("--organizer", "there is none of the name or id %q", c.Organizer)
		}
		return w.Flush()
	})
}

type keyRevokeCommand struct {
	keyDatabase `embed:""`

	Key string `arg:"" help:"Id of the key, as listed." placeholder:"KEY"`
}

// Run implements the verb.
func (c *keyRevokeCommand) Run(ctx context.Context, s streams) error {
	return c.with(ctx, func(people *office.Office) error {
		organizers, err := people.Organizers(ctx)
		if err != nil {
			return fmt.Errorf("list the organizers: %w", err)
		}
		for _, o := range organizers {
			k, err := people.RevokeKey(ctx, o.ID, c.Key)
			if errors.Is(err, inventory.ErrNotFound) {
				continue // it is another organizer's, if anybody's
			}
			if err != nil {
				return fmt.Errorf("revoke the key: %w", err)
			}
			fmt.Fprintf(s.out, "key %s of %s is revoked since %s\n", k.ID, o.Name, instant(k.Revoked))
			return nil
		}
		return badSetting("<key>", "there is no key %q", c.Key)
	})
}

// organizerNamed finds an organizer by id or name, the oldest of several; nil when there is none.
// checkKeyName refuses names that no list could show in a line.
func checkKeyName(setting, name string) error {
	if strings.TrimSpace(name) == "" || !inventory.PlainText(name, keyNameMax) {
		return badSetting(setting, "must be one line of 1 to %d characters", keyNameMax)
	}
	return nil
}

func organizerNamed(ctx context.Context, people *office.Office, name string) (*office.Organizer, error) {
	organizers, err := people.Organizers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the organizers: %w", err)
	}
	for _, o := range organizers {
		if o.ID == name || o.Name == name {
			return o, nil
		}
	}
	return nil, nil
}

// everyKey walks an organizer's keys, page by page.
func everyKey(ctx context.Context, people *office.Office, organizer string) func(func(*office.Key, error) bool) {
	return func(yield func(*office.Key, error) bool) {
		page := inventory.Page{Limit: keyPageSize}
		for {
			keys, err := people.Keys(ctx, organizer, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, k := range keys {
				if !yield(k, nil) {
					return
				}
			}
			if len(keys) < keyPageSize {
				return
			}
			page.After = keys[len(keys)-1].ID
		}
	}
}

// instant shows a moment to people; a dash for none.
func instant(i inventory.Instant) string {
	if i == 0 {
		return "-"
	}
	return i.Time().Format(time.RFC3339)
}
