package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/document"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// importCommand makes what a document describes, in a database or on a server.
type importCommand struct {
	File      string  `arg:"" help:"File to read, as export and generate write it; - for standard input." placeholder:"FILE"`
	Check     bool    `help:"Only say what is wrong with it, and make nothing."`
	DB        string  `help:"Database: sqlite:PATH. It may be in use." default:"sqlite:rowlock.db" env:"ROWLOCK_DB"`
	Organizer string  `help:"Name or id of the organizer in the database; one is made if there is none of that name." placeholder:"NAME"`
	URL       string  `help:"Server to import into, instead of a database." placeholder:"URL"`
	Key       string  `help:"Organizer's key for --url." env:"ROWLOCK_KEY" placeholder:"KEY"`
	Venue     string  `help:"Id of the venue that gets the map; omitted, a venue is made." placeholder:"VENUE"`
	Reference *string `help:"Another reference for the event; empty for none." placeholder:"REF"`
	StartsAt  string  `help:"Another start for the event, as in 2027-05-01T17:30:00Z; its sale window moves with it." placeholder:"TIME"`
}

// importTarget is where a document goes. References that are in use and venues that are not there
// are errors that name the setting to use.
type importTarget interface {
	// referred is the id of an event with this reference, empty when there is none.
	referred(ctx context.Context, reference string) (string, error)
	makeVenue(ctx context.Context, v client.VenueRequest) (string, error)
	makeMap(ctx context.Context, venue string, drawing []byte) (string, error)
	makeEvent(ctx context.Context, d *document.Document, seatMap string) (string, error)
}

// Run implements the verb.
func (c *importCommand) Run(ctx context.Context, s streams) error {
	start, err := c.start()
	if err != nil {
		return err
	}
	if !c.Check {
		if err := c.checkTarget(); err != nil {
			return err
		}
	}
	data, err := readFile(s, c.File)
	if err != nil {
		return err
	}
	d, err := document.Read(data, func(e *client.EventRequest) { c.change(e, start) })
	if refusal, ok := errors.AsType[*inventory.Refusal](err); ok {
		return tellFaults(s, c.File, data, refusal.Faults)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if d.Event == nil && (c.Reference != nil || c.StartsAt != "") {
		return badSetting("<file>", "%s is a map, and --reference and --starts-at are for an event", c.File)
	}
	if c.Check {
		what := "a map"
		if d.Event != nil {
			what = "an event and its map"
		}
		fmt.Fprintf(s.out, "%s is %s with %d seats and %d areas, and nothing is wrong with it\n", c.File, what, len(d.Plan.Seats), len(d.Plan.Areas))
		return nil
	}
	return c.with(ctx, s, func(t importTarget) error { return c.carry(ctx, s, t, d) })
}

// start reads --starts-at; the zero time when it is not given.
func (c *importCommand) start() (time.Time, error) {
	if c.StartsAt == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, c.StartsAt)
	if err != nil {
		return time.Time{}, badSetting("--starts-at", "%q is no time such as 2027-05-01T17:30:00Z", c.StartsAt)
	}
	return t, nil
}

// checkTarget refuses settings that do not say where to.
func (c *importCommand) checkTarget() error {
	if c.URL != "" {
		if c.Organizer != "" {
			return badSetting("--organizer", "a server at --url takes that of the key; leave one of the two out")
		}
		_, err := c.server().remote()
		return err
	}
	if c.Organizer == "" {
		return badSetting("--organizer", "an import into a database needs one")
	}
	if err := checkKeyName("--organizer", c.Organizer); err != nil {
		return err
	}
	_, err := existingPath("--db", c.DB)
	return err
}

func (c *importCommand) server() *targetSettings {
	return &targetSettings{URL: []string{c.URL}, Key: c.Key}
}

// change applies the settings to the event before it is judged.
func (c *importCommand) change(e *client.EventRequest, start time.Time) {
	if c.Reference != nil {
		e.Reference = c.Reference
		if *c.Reference == "" {
			e.Reference = nil
		}
	}
	if start.IsZero() {
		return
	}
	if e.StartsAt != nil && e.Sale != nil {
		by := start.Sub(*e.StartsAt)
		for _, bound := range []**time.Time{&e.Sale.StartsAt, &e.Sale.EndsAt} {
			if *bound != nil {
				moved := (*bound).Add(by)
				*bound = &moved
			}
		}
	}
	e.StartsAt = &start
}

// with opens the target for the time of fn.
func (c *importCommand) with(ctx context.Context, s streams, fn func(importTarget) error) (err error) {
	if c.URL != "" {
		target, err := c.server().remote()
		if err != nil {
			return err
		}
		return fn(&serverTarget{client.New(target.URLs[0], client.WithKey(c.Key))})
	}
	path, err := existingPath("--db", c.DB)
	if err != nil {
		return err
	}
	store, err := sqlite.OpenBeside(ctx, path)
	if err != nil {
		return aboutDatabase(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	paperwork := records.New(store)
	people := office.New(paperwork)
	o, err := organizerNamed(ctx, people, c.Organizer)
	if err == nil && o == nil {
		if c.Venue != "" {
			return badSetting("--organizer", "there is none of the name or id %q, and so no venue of theirs", c.Organizer)
		}
		if o, err = people.CreateOrganizer(ctx, c.Organizer); err == nil {
			fmt.Fprintf(s.err, "organizer %s (%s) is new; rowlock key create makes a key\n", o.ID, o.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("find the organizer: %w", err)
	}
	service := inventory.New(inventory.Config{Store: store, Catalogue: paperwork})
	return fn(&databaseTarget{service, inventory.Caller{Organizer: o.ID}})
}

// carry makes venue, map and event, in this order, and prints the id of each as soon as it is there:
// should a later step fail, they tell what can be used with --venue.
func (c *importCommand) carry(ctx context.Context, s streams, t importTarget, d *document.Document) error {
	if d.Event != nil && d.Event.Reference != nil {
		// Before anything is made, since this is what most often stands in the way.
		event, err := t.referred(ctx, *d.Event.Reference)
		if err != nil {
			return fmt.Errorf("look for the event's reference: %w", err)
		}
		if event != "" {
			return badSetting("--reference", "the event %s has the reference %q already; give the new one another", event, *d.Event.Reference)
		}
	}
	venue := c.Venue
	if venue == "" {
		var err error
		if venue, err = t.makeVenue(ctx, d.Venue); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "venue %s\n", venue)
	}
	seatMap, err := t.makeMap(ctx, venue, d.Drawing)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "map %s\n", seatMap)
	if d.Event == nil {
		return nil
	}
	event, err := t.makeEvent(ctx, d, seatMap)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "event %s\n", event)
	return nil
}

// tellFaults prints each fault with its line and answers how many there are.
func tellFaults(s streams, file string, data []byte, faults []inventory.Fault) error {
	lines := document.Lines(data, faults)
	for i, f := range faults {
		text := f.Code
		if f.Field != "" { // else it is the whole of it
			text = plain(f.Field) + " " + text
		}
		if f.Detail != "" {
			text += ": " + plain(f.Detail)
		}
		fmt.Fprintf(s.err, "%s:%d: %s\n", file, lines[i], text)
	}
	count := "a fault"
	if len(faults) > 1 {
		count = fmt.Sprintf("%d faults", len(faults))
	}
	if len(faults) >= inventory.FaultsMax {
		count += ", and perhaps more"
	}
	return fmt.Errorf("%s: %s; nothing was made", file, count)
}

// plain shows a text that came from a file without letting it steer a terminal.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// databaseTarget imports into a database, also beside its server.
type databaseTarget struct {
	service *inventory.Service
	caller  inventory.Caller
}

func (t *databaseTarget) referred(ctx context.Context, reference string) (string, error) {
	events, _, err := t.service.Events(ctx, t.caller, inventory.Page{Reference: reference, Limit: 1})
	if err != nil || len(events) == 0 {
		return "", err
	}
	return events[0].Event.ID, nil
}

func (t *databaseTarget) makeVenue(ctx context.Context, in client.VenueRequest) (string, error) {
	v, err := t.service.CreateVenue(ctx, t.caller, inventory.VenueFields{Reference: in.Reference, Name: in.Name, Metadata: in.Metadata}, nil)
	if err != nil {
		return "", aboutVenue("create the venue", err)
	}
	return v.ID, nil
}

func (t *databaseTarget) makeMap(ctx context.Context, venue string, drawing []byte) (string, error) {
	m, err := t.service.CreateMap(ctx, t.caller, venue, drawing, nil)
	if err != nil {
		return "", aboutVenue("create the map", err)
	}
	return m.ID, nil
}

func (t *databaseTarget) makeEvent(ctx context.Context, d *document.Document, seatMap string) (string, error) {
	spec := d.Spec
	spec.Fields.Map = &seatMap
	made, err := t.service.CreateEvents(ctx, t.caller, []inventory.EventSpec{spec}, false, nil)
	if err != nil {
		return "", aboutVenue("create the event", err)
	}
	return made[0].Event.ID, nil
}

// serverTarget imports through the API.
type serverTarget struct{ client *client.Client }

func (t *serverTarget) referred(ctx context.Context, reference string) (string, error) {
	events, err := t.client.Events(ctx, client.ListOptions{Reference: reference, Limit: 1})
	if err != nil || len(events.Data) == 0 {
		return "", err
	}
	return events.Data[0].ID, nil
}

func (t *serverTarget) makeVenue(ctx context.Context, in client.VenueRequest) (string, error) {
	v, err := t.client.CreateVenue(ctx, in)
	if err != nil {
		return "", aboutVenue("create the venue", err)
	}
	return v.ID, nil
}

func (t *serverTarget) makeMap(ctx context.Context, venue string, drawing []byte) (string, error) {
	m, err := t.client.CreateMap(ctx, venue, drawing)
	if err != nil {
		return "", aboutVenue("create the map", err)
	}
	return m.ID, nil
}

func (t *serverTarget) makeEvent(ctx context.Context, d *document.Document, seatMap string) (string, error) {
	in := *d.Event
	in.Map = seatMap
	e, err := t.client.CreateEvent(ctx, in)
	if err != nil {
		return "", aboutVenue("create the event", err)
	}
	return e.ID, nil
}

// aboutVenue names the setting that helps, where one does.
func aboutVenue(doing string, err error) error {
	code := ""
	if refusal, ok := errors.AsType[*inventory.Refusal](err); ok {
		code = string(refusal.Code)
	} else if problem, ok := errors.AsType[*client.Problem](err); ok {
		code = problem.Code
	}
	switch code {
	case string(inventory.NotFound):
		return badSetting("--venue", "the organizer has no such venue")
	case string(inventory.ReferenceTaken):
		return badSetting("--venue", "the reference is in use already; to import into a venue that is there, name it (%w)", err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
