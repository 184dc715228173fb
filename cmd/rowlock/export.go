package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/document"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// exportCommand writes a map, or an event with its map, as a document that import reads.
type exportCommand struct {
	Event   string `help:"Id of an event to write whole: its settings, ticket types, allocations, venue and map, without access codes and buyers." placeholder:"EVENT"`
	Map     string `help:"Id of a map to write." placeholder:"MAP"`
	Venue   string `help:"Id of a venue, to write the latest version of its map." placeholder:"VENUE"`
	MapOnly bool   `help:"Of an event, only its map."`
	To      string `help:"New file to write to; omitted, standard output." placeholder:"FILE"`
	DB      string `help:"Database: sqlite:PATH. It may be in use, and nothing in it is changed." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
}

// exporter reads what is exported.
type exporter struct {
	store   *sqlite.Store
	records *records.Records
	service *inventory.Service
}

// Run implements the verb.
func (c *exportCommand) Run(ctx context.Context, s streams) (err error) {
	asked := 0
	for _, id := range []string{c.Event, c.Map, c.Venue} {
		if id != "" {
			asked++
		}
	}
	if asked != 1 {
		return badSetting("--event", "name one thing to write: --event, --map or --venue")
	}
	if c.MapOnly && c.Event == "" {
		return badSetting("--map-only", "is for --event; the others are maps already")
	}
	path, err := existingPath("--db", c.DB)
	if err != nil {
		return err
	}
	store, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return aboutDatabase(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	paperwork := records.New(store)
	x := &exporter{
		store: store, records: paperwork,
		service: inventory.New(inventory.Config{Store: store, Catalogue: paperwork}),
	}
	data, err := c.read(ctx, x)
	if err != nil {
		return err
	}
	data = document.LayOut(data)
	if err := writeDocument(s, c.To, data); err != nil {
		return err
	}
	return readable(data)
}

// readable says of a document that is written what import would say of it. An event can be repainted
// until no rules of a draft can tell what has become of it. That it is past is no matter: --starts-at helps.
func readable(data []byte) error {
	_, err := document.Read(data, func(e *client.EventRequest) { new(importCommand).change(e, time.Now().Add(time.Hour)) })
	if refusal, ok := errors.AsType[*inventory.Refusal](err); ok {
		fault := refusal.Faults[0]
		return fmt.Errorf("it is written, but import will refuse it: %s %s: %s", fault.Field, fault.Code, fault.Detail)
	}
	return err
}

// read finds what is asked for.
func (c *exportCommand) read(ctx context.Context, x *exporter) ([]byte, error) {
	switch {
	case c.Map != "":
		_, data, err := x.records.Map(ctx, c.Map)
		return data, absent("--map", c.Map, err)
	case c.Venue != "":
		data, err := x.latest(ctx, c.Venue)
		return data, absent("--venue", c.Venue, err)
	}
	e, err := x.store.Event(ctx, c.Event)
	if err != nil {
		return nil, absent("--event", c.Event, err)
	}
	carried, err := x.service.Carry(ctx, inventory.Caller{Organizer: e.Organizer}, c.Event)
	if err != nil {
		return nil, absent("--event", c.Event, err)
	}
	if c.MapOnly {
		return carried.Drawing, nil
	}
	return document.OfEvent(carried)
}

// latest is the drawing of a venue's newest map.
func (x *exporter) latest(ctx context.Context, venue string) ([]byte, error) {
	newest, page := inventory.MapVersion{}, inventory.Page{Limit: demoPageMax}
	for {
		maps, err := x.records.Maps(ctx, venue, page)
		if err != nil {
			return nil, err
		}
		for _, m := range maps {
			if m.Version > newest.Version {
				newest = *m
			}
		}
		if len(maps) < page.Limit {
			break
		}
		page.After = maps[len(maps)-1].ID
	}
	if newest.ID == "" {
		return nil, inventory.ErrNotFound
	}
	_, data, err := x.records.Map(ctx, newest.ID)
	return data, err
}

// absent says of what was asked for by its id that it is not there.
func absent(setting, id string, err error) error {
	refusal, refused := errors.AsType[*inventory.Refusal](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, inventory.ErrNotFound), refused && refusal.Code == inventory.NotFound:
		return badSetting(setting, "there is no %q with a map in the database", id)
	}
	return fmt.Errorf("%s: %w", setting, err)
}
