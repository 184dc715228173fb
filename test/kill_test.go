package test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	kills        = 25
	buyersAtOnce = 16
)

// TestPromise7KillsUnderLoadLoseNothingAcknowledged kills the server in the middle of a sale, 25
// times (ROWLOCK_KILLS for more), and asks the next one for every hold and order that was answered.
func TestPromise7KillsUnderLoadLoseNothingAcknowledged(t *testing.T) {
	rounds := kills
	if n, err := strconv.Atoi(os.Getenv("ROWLOCK_KILLS")); err == nil {
		rounds = n
	}
	db, key := newDatabase(t)
	serve := []string{"serve", "--db", db, "--listen", "127.0.0.1:0"}
	s := start(t, serve...)
	event := newSale(t, s.url, key, seatmap.Grid(100, 100))
	said := &answers{holds: make(map[string]string), orders: make(map[string]string), uncertain: make(map[string]bool)}
	for round := range rounds {
		sellUntilKilled(t, s, event, said, 20+round*7)
		s = start(t, serve...)
		said.recheck(t, s.url, event)
	}
	report, err := client.New(s.url, client.WithKey(key)).Report(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	if report.Held+report.Reserved+report.Free != report.Capacity || report.Tickets != report.Reserved {
		t.Errorf("units vanished or appeared: %+v", report)
	}
	if report.Orders < int64(len(said.orders)) {
		t.Errorf("%d orders in the report, %d were acknowledged", report.Orders, len(said.orders))
	}
	rowlock(t, "audit", "--db", db) // beside the running server; a breach is exit 1
	t.Logf("%d kills: %d holds and %d orders acknowledged, none lost", rounds, len(said.holds), len(said.orders))
	if len(said.orders) < rounds || len(said.holds) < rounds {
		t.Errorf("too little was going on to show anything")
	}
}

// newSale puts an event on sale: long holds, no limits that would get in the way.
func newSale(t testing.TB, url, key string, m *seatmap.Map) string {
	t.Helper()
	ctx, c := t.Context(), client.New(url, client.WithKey(key))
	venue, err := c.CreateVenue(ctx, client.VenueRequest{Name: ptr("Test Hall")})
	if err != nil {
		t.Fatal(err)
	}
	drawing, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	version, err := c.CreateMap(ctx, venue.ID, drawing)
	if err != nil {
		t.Fatal(err)
	}
	event, err := c.CreateEvent(ctx, client.EventRequest{
		Name: "Test Night", StartsAt: ptr(time.Now().Add(48 * time.Hour)), Map: version.ID, Currency: "EUR",
		TicketTypes: []client.TicketType{{ID: "standard", Name: "Standard", Price: 4500}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PublishEvent(ctx, event.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.OpenEvent(ctx, event.ID); err != nil {
		t.Fatal(err)
	}
	return event.ID
}

func ptr[T any](v T) *T { return &v }

// answers are what buyers were told: holds by id and orders by hold id, with their tokens. A hold
// whose order was asked for and not answered may be either.
type answers struct {
	mu        sync.Mutex
	holds     map[string]string // id → token
	orders    map[string]string // token → id
	uncertain map[string]bool   // hold ids
}

// sellUntilKilled lets buyers buy and kills the server after so many answers.
func sellUntilKilled(t *testing.T, s *server, event string, said *answers, after int) {
	t.Helper()
	enough := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	count := make(chan struct{}, 1024)
	for range buyersAtOnce {
		wg.Go(func() { buy(t.Context(), client.New(s.url), event, said, count) })
	}
	go func() {
		for n := 0; ; n++ {
			if _, ok := <-count; !ok {
				return
			}
			if n == after {
				once.Do(func() { close(enough) })
			}
		}
	}()
	<-enough
	s.kill()
	wg.Wait()
	close(count)
}

// buy claims and buys seats at random until the server is gone.
func buy(ctx context.Context, c *client.Client, event string, said *answers, count chan<- struct{}) {
	for ctx.Err() == nil {
		seat := randomSeat()
		h, err := c.CreateHold(ctx, event, client.HoldRequest{Seats: []string{seat}})
		if problem, ok := errors.AsType[*client.Problem](err); ok && problem.Status == 409 {
			continue
		}
		if err != nil {
			return
		}
		said.mu.Lock()
		said.holds[h.ID] = h.Token
		said.mu.Unlock()
		count <- struct{}{}
		if h.ID[len(h.ID)-1]%2 == 0 {
			continue
		}
		said.mu.Lock()
		said.uncertain[h.ID] = true
		said.mu.Unlock()
		o, err := c.CreateOrder(ctx, event, client.OrderRequest{Hold: h.ID, Buyer: &client.Buyer{Name: "Test Buyer", Email: rand.Text() + "@example.com"}}, client.HoldToken(h.Token))
		if err != nil {
			return
		}
		said.mu.Lock()
		said.orders[o.Token] = o.ID
		delete(said.uncertain, h.ID)
		delete(said.holds, h.ID)
		said.mu.Unlock()
		count <- struct{}{}
	}
}

var seatKeys = sync.OnceValue(func() []string {
	plan := seatmap.NewPlan(seatmap.Grid(100, 100))
	keys := make([]string, len(plan.Seats))
	for i, s := range plan.Seats {
		keys[i] = s.Key
	}
	return keys
})

func randomSeat() string {
	var b [2]byte
	rand.Read(b[:])
	return seatKeys()[(int(b[0])<<8|int(b[1]))%len(seatKeys())]
}

// recheck asks a fresh server for everything that was acknowledged. Orders are asked for by
// confirming again, which must answer the same order.
func (a *answers) recheck(t *testing.T, url, event string) {
	t.Helper()
	ctx, c := t.Context(), client.New(url)
	for id, token := range a.holds {
		h, err := c.Hold(ctx, event, id, client.HoldToken(token))
		if err != nil {
			t.Fatalf("acknowledged hold %s is gone: %v", id, err)
		}
		if h.State == "sold" && !a.uncertain[id] {
			t.Fatalf("hold %s was sold though nobody asked", id)
		}
	}
	for token, id := range a.orders {
		o, err := c.Order(ctx, event, id, client.OrderToken(token))
		if err != nil || o.State != "confirmed" || len(o.Tickets) != 1 {
			t.Fatalf("acknowledged order %s: %+v %v", id, o, err)
		}
	}
}
