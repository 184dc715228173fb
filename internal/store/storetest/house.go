package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// The small hall that most tests happen in: two rows of five seats, and a floor. The last seat is
// withheld in a channel that houseCode opens.
const (
	houseRows     = 2
	houseRowSeats = 5
	seats         = houseRows * houseRowSeats
	withheld      = inventory.Unit(seats - 1)
	floor         = inventory.Unit(seats)
	floorCapacity = 6
	houseCode     = "open-sesame"
	perHoldMax    = 6
	perBuyerMax   = 8
	holdSeconds   = 600
	capSeconds    = 3 * holdSeconds

	standard, child           = 0, 1 // ticket types
	standardPrice, childPrice = 4500, 2000
)

// waitStep is how often a store's clock is looked at when it can only be waited for.
const waitStep = 20 * time.Millisecond

// House is a store with an organizer, a key, a venue, a map and an event on sale. Its methods report
// to the test they are given.
type House struct {
	Fresh
	Service *inventory.Service
	People  *office.Office
	Caller  inventory.Caller // the organizer
	Secret  string           // of the organizer's key
	Map     string
	Event   string

	bubble bool
}

// Enter makes an organizer with a key over an opened store, and a service; nothing is on sale yet.
func Enter(t T, f Fresh) *House {
	t.Helper()
	h := &House{Fresh: f, People: office.New(f.Records), Service: NewService(f.Store, f.Catalogue)}
	org, key, secret, err := h.People.CreateOrganizerWithKey(t.Context(), "Test Organizer", "tests", office.RoleOrganizer)
	if err != nil {
		t.Fatalf("organizer: %v", err)
	}
	h.Caller, h.Secret = inventory.Caller{Organizer: org.ID, Key: key.ID}, secret
	return h
}

// NewService is a service over a store, as a server has one, that logs nowhere.
func NewService(store inventory.Store, catalogue inventory.Catalogue) *inventory.Service {
	return inventory.New(inventory.Config{Store: store, Catalogue: catalogue, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

// NewHouse is a house with the small hall and an event on sale in it.
func NewHouse(t T, f Fresh) *House {
	t.Helper()
	h := Enter(t, f)
	m := seatmap.Grid(houseRows, houseRowSeats)
	m.Areas = append(m.Areas,
		seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: floorCapacity},
		seatmap.Area{Key: "BALCONY", Name: "Balcony", Capacity: 3}) // has no allocation, until a test inserts one
	h.Draw(t, m)
	h.Event = h.smallEvent(t)
	return h
}

// Draw gives the house a venue and a map version.
func (h *House) Draw(t T, m *seatmap.Map) {
	t.Helper()
	venue, err := h.Service.CreateVenue(t.Context(), h.Caller, inventory.VenueFields{Name: new("Test Hall")}, nil)
	if err != nil {
		t.Fatalf("venue: %v", err)
	}
	drawing, err := m.Encode()
	if err != nil {
		t.Fatalf("map: %v", err)
	}
	version, err := h.Service.CreateMap(t.Context(), h.Caller, venue.ID, drawing, nil)
	if err != nil {
		t.Fatalf("map: %v", err)
	}
	h.Map = version.ID
}

// smallEvent puts another event of the small hall on sale, with limits that are easily reached.
func (h *House) smallEvent(t T) string {
	t.Helper()
	spec := h.Spec(holdSeconds)
	spec.Fields.UnitsPerHold, spec.Fields.UnitsPerBuyer = new(int64(perHoldMax)), new(int64(perBuyerMax))
	spec.Channels = []inventory.ChannelSpec{{ID: "sponsors", Codes: []string{houseCode}}}
	m := h.plan(t)
	spec.Rules = append(spec.Rules, inventory.Rule{Where: inventory.Where{Seats: []string{m.Seats[withheld].Key}}, Channel: "sponsors"},
		inventory.Rule{Where: inventory.Where{Areas: []string{"BALCONY"}}, Exclude: true})
	return h.OnSale(t, spec)
}

// Spec is an event on the house's map: everything as standard (4500) or child (2000), holds of ttl
// seconds that live three times as long at most.
func (h *House) Spec(ttl int64) inventory.EventSpec {
	return inventory.EventSpec{
		Fields: inventory.EventFields{
			Name: new("Test Night"), StartsAt: new(inventory.InstantOf(time.Now().Add(24 * time.Hour))), Map: new(h.Map), Currency: new("EUR"),
			Types: []inventory.TicketType{
				{ID: "standard", Name: "Standard", Price: standardPrice},
				{ID: "child", Name: "Child", Price: childPrice},
			},
			HoldSeconds: new(ttl), HoldSecondsMax: new(3 * ttl),
		},
		Rules: []inventory.Rule{{Where: inventory.Where{All: true}, Types: []string{"standard", "child"}}},
	}
}

// OnSale makes an event, publishes and opens it, and returns its id.
func (h *House) OnSale(t T, spec inventory.EventSpec) string {
	t.Helper()
	made, err := h.Service.CreateEvents(t.Context(), h.Caller, []inventory.EventSpec{spec}, false, nil)
	if err != nil {
		t.Fatalf("event: %v", err)
	}
	id := made[0].Event.ID
	for _, verb := range []string{"publish", "open"} {
		if _, err := h.Service.Transition(t.Context(), h.Caller, id, verb, nil); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
	}
	return id
}

// Audit reports every breach that the store's audit finds.
func (h *House) Audit(t T) {
	t.Helper()
	found, err := Breaches(context.WithoutCancel(t.Context()), h.Store)
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, b := range found {
		t.Errorf("audit: promise %d: %s", b.Promise, b.What)
	}
}

func (h *House) plan(t T) *seatmap.Plan {
	t.Helper()
	_, data, err := h.Catalogue.Map(t.Context(), h.Map)
	if err != nil {
		t.Fatalf("map: %v", err)
	}
	m, err := seatmap.Parse(data)
	if err != nil {
		t.Fatalf("map: %v", err)
	}
	return seatmap.NewPlan(m)
}

// nodes are the house's handles on the data: one, or two.
func (h *House) nodes() []inventory.Store {
	if h.Second == nil || h.bubble {
		return []inventory.Store{h.Store}
	}
	return []inventory.Store{h.Store, h.Second}
}

// pass lets seconds pass by the store's clock, and one instant more, so that what ends then has ended.
func (h *House) pass(t T, seconds int64) {
	t.Helper()
	switch {
	case h.bubble:
		time.Sleep(time.Duration(seconds) * time.Second)
	case h.Step != nil:
		h.Step(seconds)
	default:
		until := h.board(t).Now.Add(seconds)
		tick := time.NewTicker(waitStep)
		defer tick.Stop()
		for h.board(t).Now < until {
			<-tick.C
		}
	}
}

func (h *House) board(t T) *inventory.Board {
	t.Helper()
	b, err := h.Store.Board(t.Context(), h.Event)
	if err != nil {
		t.Fatalf("board: %v", err)
	}
	return b
}

// wantUnit checks what of a unit is held and reserved.
func (h *House) wantUnit(t T, u inventory.Unit, held, reserved int64) {
	t.Helper()
	if s := h.board(t).Units[u]; s.Held != held || s.Reserved != reserved {
		t.Errorf("unit %d: held %d and reserved %d, want %d and %d", u, s.Held, s.Reserved, held, reserved)
	}
}

// wantUntouched checks that nothing has happened to the event since a board was read.
func (h *House) wantUntouched(t T, before *inventory.Board) {
	t.Helper()
	now := h.board(t)
	if !slices.Equal(before.Units, now.Units) {
		t.Errorf("the board has changed: %+v, was %+v", now.Units, before.Units)
	}
	if before.Position != now.Position {
		t.Errorf("the position has moved from %d to %d", before.Position.Version, now.Position.Version)
	}
}

// log reads an event's log, all of it.
func (h *House) log(t T) []inventory.LogEntry {
	t.Helper()
	const page = 500
	var all []inventory.LogEntry
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Number
		}
		entries, err := h.Catalogue.Log(t.Context(), h.Event, after, page)
		if err != nil {
			t.Fatalf("log: %v", err)
		}
		all = append(all, entries...)
		if len(entries) < page {
			return all
		}
	}
}

// alter changes the event as a service would, on the store itself: the event as it is, edited, one
// revision on.
func (h *House) alter(t T, kind inventory.LogKind, edit func(*inventory.Alteration)) {
	t.Helper()
	if _, err := h.Store.Alter(t.Context(), h.Event, h.alteration(t, kind, edit)); err != nil {
		t.Fatalf("alter: %v", err)
	}
}

func (h *House) alteration(t T, kind inventory.LogKind, edit func(*inventory.Alteration)) inventory.Alteration {
	t.Helper()
	e, err := h.Store.Event(t.Context(), h.Event)
	if err != nil {
		t.Fatalf("event: %v", err)
	}
	a := inventory.Alteration{Expect: e.Revision, Event: e, Kind: kind, By: h.Caller.Key}
	e.Revision++
	if edit != nil {
		edit(&a)
	}
	return a
}

// become moves the event to a state.
func (h *House) become(t T, state inventory.State) {
	t.Helper()
	kind := map[inventory.State]inventory.LogKind{
		inventory.OnSale: inventory.LogOpened, inventory.Paused: inventory.LogPaused,
		inventory.Closed: inventory.LogClosed, inventory.Cancelled: inventory.LogCancelled,
	}[state]
	h.alter(t, kind, func(a *inventory.Alteration) { a.Event.Terms.State = state })
}

// Commands, as a service makes them.

func newKey() inventory.HoldKey {
	key, _ := inventory.HashToken(inventory.NewToken())
	return key
}

func newCommandID() (id inventory.CommandID) {
	rand.Read(id[:])
	return id
}

func one(u inventory.Unit) inventory.Want { return some(u, 1, -1) }

func some(u inventory.Unit, quantity int64, ticketType int) inventory.Want {
	return inventory.Want{Unit: u, Type: ticketType, Quantity: quantity}
}

func claimOf(wants ...inventory.Want) inventory.Command {
	return inventory.Command{Verb: inventory.Claim, Key: newKey(), By: "buyer", Add: wants, BestType: -1}
}

func changeOf(key inventory.HoldKey, add, remove []inventory.Want) inventory.Command {
	return inventory.Command{Verb: inventory.Change, Key: key, ID: newCommandID(), By: "buyer", Add: add, Remove: remove}
}

func extendOf(key inventory.HoldKey) inventory.Command {
	return inventory.Command{Verb: inventory.Extend, Key: key, ID: newCommandID(), By: "buyer"}
}

func releaseOf(key inventory.HoldKey) inventory.Command {
	return inventory.Command{Verb: inventory.Release, Key: key, By: "buyer"}
}

func saleOf(key inventory.HoldKey, buyer string) inventory.Sale {
	hash := inventory.TokenHash("storetest", buyer)
	return inventory.Sale{
		Key: key, By: "buyer", Order: inventory.NewID(inventory.PrefixOrder), HasToken: true, TokenHash: inventory.TokenHash("storetest order", key.ID()),
		Buyer:   inventory.Buyer{Name: "Test Buyer", Email: buyer + "@example.com", Hash: [16]byte(hash[:16])},
		Payment: inventory.Payment{Method: inventory.PaymentNone},
	}
}

// apply runs a batch and checks the form of the answer.
func (h *House) apply(t T, batch ...inventory.Command) []inventory.Outcome {
	t.Helper()
	return applyAt(t, h.Store, h.Event, batch...)
}

func applyAt(t T, store inventory.Store, event string, batch ...inventory.Command) []inventory.Outcome {
	t.Helper()
	out, err := store.Apply(t.Context(), event, batch)
	if err == nil && len(out) != len(batch) {
		err = errors.New("one outcome a command is the contract")
	}
	if err != nil {
		t.Fatalf("a batch of %d: %v (%d outcomes)", len(batch), err, len(out))
	}
	return out
}

func (h *House) do(t T, c inventory.Command) inventory.Outcome {
	t.Helper()
	return h.apply(t, c)[0]
}

// held claims and must win.
func (h *House) held(t T, wants ...inventory.Want) *inventory.Hold {
	t.Helper()
	return h.win(t, claimOf(wants...))
}

func (h *House) win(t T, c inventory.Command) *inventory.Hold {
	t.Helper()
	out := h.do(t, c)
	if out.Hold == nil {
		t.Fatalf("wanted a hold, got %s", refusalClass(out.Refusal))
	}
	return out.Hold
}

func (h *House) sell(t T, batch ...inventory.Sale) []inventory.SaleOutcome {
	t.Helper()
	out, err := h.Store.Sell(t.Context(), h.Event, batch)
	if err == nil && len(out) != len(batch) {
		err = errors.New("one outcome a sale is the contract")
	}
	if err != nil {
		t.Fatalf("%d sales: %v (%d outcomes)", len(batch), err, len(out))
	}
	return out
}

// sold sells a hold and must win.
func (h *House) sold(t T, key inventory.HoldKey) *inventory.Order {
	t.Helper()
	out := h.sell(t, saleOf(key, "buyer"))[0]
	if out.Order == nil {
		t.Fatalf("wanted an order, got %s", refusalClass(out.Refusal))
	}
	return out.Order
}

func (h *House) giveBack(t T, r inventory.Return) inventory.ReturnOutcome {
	t.Helper()
	out, err := h.Store.Return(t.Context(), h.Event, r)
	if err != nil {
		t.Fatalf("return: %v", err)
	}
	return out
}

// wantCode checks that something was refused for one reason.
func wantCode(t T, what string, r *inventory.Refusal, code inventory.RefusalCode) {
	t.Helper()
	if r == nil || r.Code != code {
		t.Errorf("%s: %s, want %s", what, refusalClass(r), cmp.Or(code, "no refusal"))
	}
}

// wantNotFound checks an error of what does not exist.
func wantNotFound(t T, what string, err error) {
	t.Helper()
	if !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("%s: %v, want ErrNotFound", what, err)
	}
}
