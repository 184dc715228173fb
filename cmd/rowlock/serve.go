package main

import (
	"context"
	"errors"
)

// serveCommand serves until it is told to stop.
type serveCommand struct {
	serveSettings `embed:""`

	CheckConfig bool `help:"Validate and print the effective settings, then exit."`
}

// Run implements the verb.
func (c *serveCommand) Run(ctx context.Context, s streams) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	if c.CheckConfig {
		return c.print(s.out)
	}
	log, err := newLog(s.err, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	path, err := databasePath("--db", c.DB)
	if err != nil {
		return err
	}
	// The address first: a busy one should not cost the opening of a database.
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	h, err := openHouse(ctx, houseConfig{Path: path, Log: log, CORSOrigins: c.CORSOrigin, AddressRate: c.LimitPerAddress})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, h.close()) }()
	log.Info("serving", "address", "http://"+listener.Addr().String(), "db", c.DB, "version", version())
	if err := h.serve(ctx, listener); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}
