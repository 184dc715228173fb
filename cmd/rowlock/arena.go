package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/race"
)

// arenaOrganizer owns what races and load runs make on a server of their own.
const arenaOrganizer = "Rowlock races"

// targetSettings choose what a race runs against. They have no variables and no keys in the
// settings file, so that a race never lands on the database of a real server by accident.
type targetSettings struct {
	URL []string `help:"Server to run against; omitted, one is started. Repeatable, for servers on one store." placeholder:"URL"`
	Key string   `help:"Organizer's key for --url." env:"ROWLOCK_KEY" placeholder:"KEY"`
	DB  string   `help:"Database of the server that is started: sqlite:PATH. Omitted, a temporary file." placeholder:"URL"`
}

// with runs fn against the target, starting and stopping a server for it when none is named. The
// server answers until fn is back, also when the context ended.
func (c *targetSettings) with(ctx context.Context, s streams, fn func(race.Target) error) error {
	if len(c.URL) > 0 {
		target, err := c.remote()
		if err != nil {
			return err
		}
		return fn(target)
	}
	if c.Key != "" {
		fmt.Fprintln(s.err, "--key is not used without --url")
	}
	path, cleanUp, err := c.database()
	if err != nil {
		return err
	}
	return errors.Join(serveFor(ctx, s, path, fn), cleanUp())
}

func (c *targetSettings) remote() (race.Target, error) {
	if c.DB != "" {
		return race.Target{}, badSetting("--db", "a server at --url has its own database; leave one of the two out")
	}
	if c.Key == "" {
		return race.Target{}, badSetting("--key", "a server at --url needs an organizer's key; rowlock key create makes one")
	}
	target := race.Target{Key: c.Key}
	for _, u := range c.URL {
		parsed, err := url.Parse(u)
		if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
			return race.Target{}, badSetting("--url", "%q is no URL such as http://127.0.0.1:8080", u)
		}
		target.URLs = append(target.URLs, strings.TrimRight(u, "/"))
	}
	return target, nil
}

// database names the file, and how to be rid of it.
func (c *targetSettings) database() (path string, cleanUp func() error, err error) {
	if c.DB != "" {
		path, err = databasePath("--db", c.DB)
		return path, func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "rowlock-race-")
	if err != nil {
		return "", nil, fmt.Errorf("temporary database: %w", err)
	}
	return filepath.Join(dir, "race.db"), func() error { return os.RemoveAll(dir) }, nil
}

// serveFor serves a database on a free port while fn runs.
func serveFor(ctx context.Context, s streams, path string, fn func(race.Target) error) (err error) {
	listener, err := listen(ctx, demoListenAny)
	if err != nil {
		return err
	}
	// Races provoke refusals by the thousand; what deserves a line is what should not happen.
	log := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	h, err := openHouse(ctx, houseConfig{Path: path, Log: log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, h.close()) }()
	key, err := arenaKey(ctx, h.office)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- h.serve(serving, listener) }()
	failure := fn(race.Target{
		URLs: []string{"http://" + listener.Addr().String()},
		Key:  key,
		// Through a connection of its own, as an auditor beside a running server.
		Audit: func(ctx context.Context) ([]inventory.Breach, error) { return auditFile(ctx, path) },
	})
	stop()
	return errors.Join(failure, <-ended)
}

// arenaKey makes a key for this run, of one organizer however often it runs on a database.
func arenaKey(ctx context.Context, people *office.Office) (string, error) {
	o, err := organizerNamed(ctx, people, arenaOrganizer)
	if err != nil {
		return "", err
	}
	if o == nil {
		if o, err = people.CreateOrganizer(ctx, arenaOrganizer); err != nil {
			return "", fmt.Errorf("create the organizer: %w", err)
		}
	}
	_, secret, err := people.CreateKey(ctx, o.ID, "one run", office.RoleOrganizer, nil)
	if err != nil {
		return "", fmt.Errorf("create the key: %w", err)
	}
	return secret, nil
}
