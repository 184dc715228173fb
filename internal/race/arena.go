package race

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// The house in which every race takes place: plain rows, a section of blocks of four, and two floors.
const (
	gridRows      = 20
	gridPerRow    = 20
	blocksSection = "BLOCKS"
	blocks        = 20
	blockSeats    = 4
	floorArea     = "FLOOR"
	floorUnits    = 5
	hallArea      = "HALL"
	hallUnits     = 200
	houseUnits    = gridRows*gridPerRow + blocks*blockSeats + floorUnits + hallUnits

	standardType  = "standard"
	standardPrice = 4500 // minor units
	withheld      = "withheld"

	eventHoldSeconds = 600
	eventHoldMax     = 1800
	unitsPerHold     = 10
	eventsAheadDays  = 30 * 24 * time.Hour
)

// arena is a venue with a map on the target, and callers to race in it.
type arena struct {
	organizers []*client.Client // one a URL
	buyers     []*client.Client // one a URL, without a key
	transport  *http.Transport
	plan       *seatmap.Plan
	venue      string
	mapID      string
	events     []string
}

// brokenError is a step of a race that had to succeed and did not, through no fault of the race.
type brokenError struct{ what string }

func (e *brokenError) Error() string { return e.what }

// newArena makes clients, a venue and its map.
func newArena(ctx context.Context, t Target) (*arena, error) {
	a, err := newCallers(t)
	if err != nil {
		return nil, err
	}
	if err := a.furnish(ctx, house()); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// newCallers makes an arena's clients on one pool of connections.
func newCallers(t Target) (*arena, error) {
	if len(t.URLs) == 0 {
		return nil, errors.New("no server to race against")
	}
	a := &arena{transport: client.NewTransport()}
	hc := &http.Client{
		Transport:     a.transport,
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, u := range t.URLs {
		a.organizers = append(a.organizers, client.New(u, client.WithHTTPClient(hc), client.WithKey(t.Key)))
		a.buyers = append(a.buyers, client.New(u, client.WithHTTPClient(hc)))
	}
	return a, nil
}

func (a *arena) furnish(ctx context.Context, m *seatmap.Map) error {
	name := "Race Hall"
	venue, err := a.organizer().CreateVenue(ctx, client.VenueRequest{Name: &name})
	if err != nil {
		return fmt.Errorf("a venue: %w", err)
	}
	drawing, err := m.Encode()
	if err != nil {
		return fmt.Errorf("a map: %w", err)
	}
	made, err := a.organizer().CreateMap(ctx, venue.ID, drawing)
	if err != nil {
		return fmt.Errorf("a map: %w", err)
	}
	a.venue, a.mapID, a.plan = venue.ID, made.ID, seatmap.NewPlan(m)
	return nil
}

// house draws the map of the races.
func house() *seatmap.Map {
	m := seatmap.Grid(gridRows, gridPerRow)
	m.Name = "Race Hall"
	section := seatmap.Section{Key: blocksSection, Name: "Blocks of four"}
	for r := range blocks {
		row := seatmap.Row{Label: strconv.Itoa(r + 1)}
		for s := range blockSeats {
			row.Seats = append(row.Seats, seatmap.Seat{
				Label: strconv.Itoa(s + 1), X: float64(s) * 10, Y: 1_000 + float64(r)*20,
			})
		}
		section.Rows = append(section.Rows, row)
	}
	m.Sections = append(m.Sections, section)
	m.Areas = append(m.Areas,
		seatmap.Area{Key: floorArea, Name: "Floor", Capacity: floorUnits},
		seatmap.Area{Key: hallArea, Name: "Hall", Capacity: hallUnits})
	return m
}

func (a *arena) close() { a.transport.CloseIdleConnections() }

// organizer is the caller with the key on the first server.
func (a *arena) organizer() *client.Client { return a.organizers[0] }

// buyer is the i-th caller without a key; neighbours sit on different servers.
func (a *arena) buyer(i int) *client.Client { return a.buyers[i%len(a.buyers)] }

// staff is the i-th caller with the key.
func (a *arena) staff(i int) *client.Client { return a.organizers[i%len(a.organizers)] }

// seat is the key of the i-th seat of the plain rows.
func (a *arena) seat(i int) string { return a.plan.Seats[i].Key }

// eventRequest is an event of the races, everything public.
func (a *arena) eventRequest(name string) client.EventRequest {
	starts := time.Now().Add(eventsAheadDays).UTC().Truncate(time.Hour)
	public := "public"
	return client.EventRequest{
		Name: "Race: " + name, StartsAt: &starts, TimeZone: "UTC", Map: a.mapID, Currency: "EUR",
		TicketTypes: []client.TicketTypeRequest{{ID: standardType, Name: "Standard", Price: new(int64(standardPrice))}},
		Limits: &client.LimitsRequest{
			HoldSeconds: new(int64(eventHoldSeconds)), HoldSecondsMax: new(int64(eventHoldMax)), UnitsPerHold: new(int64(unitsPerHold)),
		},
		Allocations: []client.AllocationRule{{
			Where: client.AllocationWhere{All: true},
			Set:   client.AllocationSet{Channel: &public, TicketTypes: []string{standardType}},
		}},
	}
}

// open makes an event and puts it on sale. It begins the observation of a race.
func (a *arena) open(ctx context.Context, r client.EventRequest) (*observation, error) {
	ev, err := a.organizer().CreateEvent(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("an event: %w", err)
	}
	a.events = append(a.events, ev.ID)
	if _, err := a.organizer().PublishEvent(ctx, ev.ID); err != nil {
		return nil, fmt.Errorf("publishing: %w", err)
	}
	if _, err := a.organizer().OpenEvent(ctx, ev.ID); err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	return &observation{event: ev.ID, capacity: houseUnits}, nil
}

// cancelEvents takes the races' events off sale, and says which could not be.
func (a *arena) cancelEvents(ctx context.Context) []string {
	var notes []string
	for _, id := range a.events {
		if _, err := a.organizer().CancelEvent(ctx, id); err != nil {
			notes = append(notes, fmt.Sprintf("event %s could not be cancelled: %v", id, err))
		}
	}
	return notes
}

// warm opens n connections in all before a volley, so that no caller starts with a handshake.
func (a *arena) warm(ctx context.Context, n int) error {
	answers := volley(n, func(i int) answer {
		return ask("warm", func(status client.CallOption) error { return a.buyer(i).Healthy(ctx) })
	})
	for _, got := range answers {
		if got.fault != "" {
			return fmt.Errorf("the server does not answer: %s", got.fault)
		}
	}
	return nil
}

// volley makes n calls at once: every caller is running and waiting before the one channel is closed
// that releases all of them.
func volley(n int, call func(i int) answer) []answer {
	answers := make([]answer, n)
	gate := make(chan struct{})
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-gate
			answers[i] = call(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	return answers
}

// until waits for a moment by the local clock, or for the context's end.
func until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask makes one call and writes down what was answered.
func ask(op string, call func(status client.CallOption) error) answer {
	got := answer{op: op, sent: time.Now()}
	err := call(client.StatusCode(&got.status))
	got.got = time.Now()
	if err == nil {
		return got
	}
	if p, ok := errors.AsType[*client.Problem](err); ok {
		got.code, got.conflicts, got.retryAfter = p.Code, p.Conflicts, p.RetryAfter
		return got
	}
	got.fault = err.Error()
	return got
}

// claim asks for a hold.
func claim(ctx context.Context, c *client.Client, event string, r client.HoldRequest, opts ...client.CallOption) answer {
	var hold *client.Hold
	got := ask("claim", func(status client.CallOption) (err error) {
		hold, err = c.CreateHold(ctx, event, r, append(opts, status)...)
		return err
	})
	got.asked, got.hold = &r, hold
	return got
}

// seats is a claim of seats.
func seats(keys ...string) client.HoldRequest { return client.HoldRequest{Seats: keys} }

// units is a claim of units of an area.
func units(area string, n int64) client.HoldRequest {
	return client.HoldRequest{Areas: []client.AreaRequest{{Area: area, Quantity: n}}}
}

// look asks for a hold with a token; an empty token asks as whoever the client is.
func look(ctx context.Context, c *client.Client, h *client.Hold, token string) answer {
	var hold *client.Hold
	got := ask("look", func(status client.CallOption) (err error) {
		hold, err = c.Hold(ctx, h.Event, h.ID, client.HoldToken(token), status)
		return err
	})
	got.hold = hold
	return got
}

// extend asks for the countdown to begin again.
func extend(ctx context.Context, c *client.Client, h *client.Hold, token string) answer {
	var hold *client.Hold
	got := ask("extend", func(status client.CallOption) (err error) {
		hold, err = c.ExtendHold(ctx, h.Event, h.ID, client.HoldToken(token), status)
		return err
	})
	got.hold = hold
	return got
}

// change asks for a change of a hold.
func change(ctx context.Context, c *client.Client, h *client.Hold, token string, p client.HoldPatch) answer {
	var hold *client.Hold
	got := ask("change", func(status client.CallOption) (err error) {
		hold, err = c.ChangeHold(ctx, h.Event, h.ID, p, client.HoldToken(token), status)
		return err
	})
	got.hold, got.patch = hold, &p
	return got
}

// release lets a hold go.
func release(ctx context.Context, c *client.Client, h *client.Hold, token string) answer {
	return ask("release", func(status client.CallOption) error {
		return c.ReleaseHold(ctx, h.Event, h.ID, client.HoldToken(token), status)
	})
}

// confirm asks for the order of a hold.
func confirm(ctx context.Context, c *client.Client, h *client.Hold, token string, opts ...client.CallOption) answer {
	var order *client.Order
	got := ask("confirm", func(status client.CallOption) (err error) {
		opts := append([]client.CallOption{client.HoldToken(token), status}, opts...)
		// A buyer a hold, so that no race is stopped by what one buyer may have.
		buyer := &client.Buyer{Name: "Race Buyer", Email: h.ID + "@example.com"}
		order, err = c.CreateOrder(ctx, h.Event, client.OrderRequest{Hold: h.ID, Buyer: buyer}, opts...)
		return err
	})
	got.order = order
	return got
}

// adding is a change that adds seats.
func adding(keys ...string) client.HoldPatch {
	return client.HoldPatch{Add: &client.BasketPart{Seats: keys}}
}

// must makes a hold that nothing stands in the way of. A refusal breaks a promise, since the units are free.
func must(got answer) (*client.Hold, error) {
	switch {
	case got.fault != "":
		return nil, fmt.Errorf("a hold: %s", got.fault)
	case got.hold == nil:
		return nil, &brokenError{fmt.Sprintf("promise 2: a claim of free units was answered %s", got.label())}
	}
	return got.hold, nil
}

// mustOrder makes an order of a hold that is alive.
func mustOrder(got answer) (*client.Order, error) {
	switch {
	case got.fault != "":
		return nil, fmt.Errorf("an order: %s", got.fault)
	case got.order == nil:
		return nil, &brokenError{fmt.Sprintf("promise 6: a live hold could not be bought: %s", got.label())}
	}
	return got.order, nil
}

// finish reads what is left when a race is over.
func (a *arena) finish(ctx context.Context, o *observation) (*observation, error) {
	var err error
	if o.report, err = a.organizer().Report(ctx, o.event); err != nil {
		return o, fmt.Errorf("the report: %w", err)
	}
	board, err := a.organizer().Board(ctx, o.event)
	if err != nil {
		return o, fmt.Errorf("the board: %w", err)
	}
	o.board = make(map[string]int)
	for i := range a.plan.Seats {
		if i/4 >= len(board.Seats) {
			return o, &brokenError{"promise 9: the board has fewer seats than the map"}
		}
		o.board[a.plan.Seats[i].Key] = int(board.Seats[i/4]>>(2*(i%4))) & 3
	}
	for h, err := range a.organizer().AllHolds(ctx, o.event, client.ListOptions{Limit: 200}) {
		if err != nil {
			return o, fmt.Errorf("the holds: %w", err)
		}
		o.holds = append(o.holds, *h)
	}
	for ord, err := range a.organizer().AllOrders(ctx, o.event, client.ListOptions{Limit: 200}) {
		if err != nil {
			return o, fmt.Errorf("the orders: %w", err)
		}
		o.orders = append(o.orders, *ord)
	}
	o.log = make(map[string]int)
	for e, err := range a.organizer().AllLog(ctx, o.event, client.ListOptions{Limit: 200}) {
		if err != nil {
			return o, fmt.Errorf("the log: %w", err)
		}
		o.log[e.Kind]++
	}
	return o, nil
}
