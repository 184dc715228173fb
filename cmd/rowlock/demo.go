package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// demoCommand serves a synthetic venue.
type demoCommand struct {
	Seats    *int   `help:"Draw a venue with so many seats, 10 to 200000. Each kind and size is made once." placeholder:"N"`
	Venue    string `help:"Kind of venue to draw: theatre, arena or bowl. With neither of the two it is a theatre of 300." placeholder:"KIND"`
	Listen   string `help:"Address to listen on; 127.0.0.1:8080, or a free port if that is taken." placeholder:"HOST:PORT"`
	DB       string `help:"Database: sqlite:PATH. The default is a file in the user's cache." placeholder:"URL"`
	LogLevel string `help:"Least level that is logged: ${enum}." enum:"debug,info,warn,error" default:"warn"`
}

// What the demo is found by again. All of it is plainly made up.
const (
	demoListen    = "127.0.0.1:8080"
	demoListenAny = "127.0.0.1:0"
	demoOrganizer = "Demo Organizer"
	demoZone      = "Europe/Vienna"
	demoDaysAhead = 90 // how far away a new evening is
	demoPageMax   = 200
)

// Run implements the verb.
func (c *demoCommand) Run(ctx context.Context, s streams) (err error) {
	show, err := c.staging()
	if err != nil {
		return err
	}
	path, err := c.path()
	if err != nil {
		return err
	}
	log, err := newLog(s.err, "text", c.LogLevel)
	if err != nil {
		return err
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	h, err := openHouse(ctx, houseConfig{Path: path, Log: log, CORSOrigins: []string{"*"}})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, h.close()) }()
	d, err := setUpDemo(ctx, h, show, time.Now())
	if err != nil {
		return errors.Join(fmt.Errorf("demo: %w", err), listener.Close())
	}
	base := "http://" + listener.Addr().String()
	fmt.Fprintf(s.out, `%[5]s is on sale.

  Page  %[1]s/events/%[2]s
  API   %[1]s/docs
  Key   %[3]s
        an organizer's; every start makes one, and rowlock key revokes them
  Data  %[4]s

Ctrl-C ends it.
`, base, d.event, d.secret, path, show.venue)
	return h.serve(ctx, listener)
}

// path finds the demo's file, making the directory of the default one.
func (c *demoCommand) path() (string, error) {
	if c.DB != "" {
		return databasePath("--db", c.DB)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", badSetting("--db", "there is no cache directory to put the demo's file in, so name one: %w", err)
	}
	dir := filepath.Join(cache, "rowlock")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", badSetting("--db", "%w", err)
	}
	return filepath.Join(dir, "rowlock-demo.db"), nil
}

// listen takes the usual port, or any when that is busy and none was asked for.
func (c *demoCommand) listen(ctx context.Context) (net.Listener, error) {
	if c.Listen != "" {
		if err := checkListen(c.Listen); err != nil {
			return nil, err
		}
		return listen(ctx, c.Listen)
	}
	listener, err := listen(ctx, demoListen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return listen(ctx, demoListenAny)
	}
	return listener, err
}

// demo is what the demo prints.
type demo struct{ event, secret string }

// setUpDemo makes whatever is not there yet. Each step looks for its own effect first, so that a
// start that was interrupted is completed by the next, and nothing is made twice.
func setUpDemo(ctx context.Context, h *house, show staging, now time.Time) (demo, error) {
	organizer, err := demoOrganizerID(ctx, h.office)
	if err != nil {
		return demo{}, err
	}
	_, secret, err := h.office.CreateKey(ctx, organizer, "demo start", office.RoleOrganizer, nil)
	if err != nil {
		return demo{}, err
	}
	caller := inventory.Caller{Organizer: organizer}
	seatMap, err := demoMap(ctx, h.service, caller, show)
	if err != nil {
		return demo{}, err
	}
	event, err := demoEvent(ctx, h.service, caller, show, seatMap, now)
	if err != nil {
		return demo{}, err
	}
	return demo{event: event, secret: secret}, nil
}

func demoOrganizerID(ctx context.Context, people *office.Office) (string, error) {
	o, err := organizerNamed(ctx, people, demoOrganizer)
	if err != nil || o != nil {
		return organizerID(o), err
	}
	o, err = people.CreateOrganizer(ctx, demoOrganizer)
	return organizerID(o), err
}

func organizerID(o *office.Organizer) string {
	if o == nil {
		return ""
	}
	return o.ID
}

// demoMap finds or makes the venue and its map, and returns the map's id.
func demoMap(ctx context.Context, service *inventory.Service, caller inventory.Caller, show staging) (string, error) {
	venues, _, err := service.Venues(ctx, caller, inventory.Page{Reference: show.venueReference, Limit: 1})
	if err != nil {
		return "", err
	}
	var venue *inventory.Venue
	if len(venues) > 0 {
		venue = venues[0]
	} else {
		venue, err = service.CreateVenue(ctx, caller, inventory.VenueFields{Reference: &show.venueReference, Name: &show.venue}, nil)
		if err != nil {
			return "", err
		}
	}
	maps, _, err := service.Maps(ctx, caller, venue.ID, inventory.Page{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(maps) > 0 {
		return maps[0].ID, nil
	}
	drawing, err := show.drawing.Encode()
	if err != nil {
		return "", err
	}
	made, err := service.CreateMap(ctx, caller, venue.ID, drawing, nil)
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// demoEvent finds an evening that is still to come, or makes one, and puts it on sale. What its
// organizer paused or closed stays so.
func demoEvent(ctx context.Context, service *inventory.Service, caller inventory.Caller, show staging, seatMap string, now time.Time) (string, error) {
	event, err := comingDemoEvent(ctx, service, caller, show, now)
	if err != nil {
		return "", err
	}
	if event == nil {
		made, err := service.CreateEvents(ctx, caller, []inventory.EventSpec{show.spec(seatMap, now)}, false, nil)
		if err != nil {
			return "", err
		}
		event = made[0].Event
	}
	steps := []struct {
		from inventory.State
		verb string
	}{{inventory.Draft, "publish"}, {inventory.Published, "open"}}
	for _, step := range steps {
		if event.Terms.State != step.from {
			continue
		}
		moved, err := service.Transition(ctx, caller, event.ID, step.verb, nil)
		if err != nil {
			return "", err
		}
		event = moved.Event
	}
	return event.ID, nil
}

// comingDemoEvent finds the latest evening of the demo that has not begun; nil when there is none.
func comingDemoEvent(ctx context.Context, service *inventory.Service, caller inventory.Caller, show staging, now time.Time) (*inventory.Event, error) {
	var found *inventory.Event
	page := inventory.Page{Limit: demoPageMax}
	for {
		events, next, err := service.Events(ctx, caller, page)
		if err != nil {
			return nil, err
		}
		for _, v := range events {
			ours := strings.HasPrefix(v.Event.Reference, show.eventReference) && v.Event.Terms.State != inventory.Cancelled
			if ours && v.Event.StartsAt > inventory.InstantOf(now) {
				found = v.Event
			}
		}
		if next == "" {
			return found, nil
		}
		page.After = next
	}
}

// demoStart is half past seven in the evening, in the zone of the demo, some months away.
func demoStart(now time.Time) time.Time {
	zone, err := time.LoadLocation(demoZone)
	if err != nil {
		zone = time.UTC // cannot be: the zones are linked in
	}
	day := now.In(zone).AddDate(0, 0, demoDaysAhead)
	return time.Date(day.Year(), day.Month(), day.Day(), 19, 30, 0, 0, zone)
}
