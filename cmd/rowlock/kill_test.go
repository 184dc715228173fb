package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	killsUsual      = 25
	killBuyers      = 8
	killAfterLeast  = 30 // acknowledgements in one life of the server
	killAfterStep   = 7  // more in each life, so that the kill falls elsewhere in a batch
	killAfterSpan   = 40
	killHallRows    = 200
	killHallPerRow  = 50
	killHallSection = 50 // rows, in the maps of seatmap.Grid
)

// acknowledged is what buyers were told in one life of the server.
type acknowledged struct {
	mu      sync.Mutex
	holds   []*client.Hold  // 201, and not asked to be sold
	orders  []*client.Order // 201
	unknown []*client.Hold  // asked to be sold, and no answer came
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.holds) + len(a.orders)
}

// TestPromise7KillingTheServerUnderLoadLosesNothingAcknowledged kills the real binary with SIGKILL
// while buyers hold and buy, and starts it again on the same file. Every hold and order that was
// answered 201 is there, a confirmation without an answer can be repeated and gives one order, and
// the audit finds nothing. ROWLOCK_TEST_KILLS asks for more than the usual 25 lives.
func TestPromise7KillingTheServerUnderLoadLosesNothingAcknowledged(t *testing.T) {
	kills := killsUsual
	if text := os.Getenv("ROWLOCK_TEST_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("ROWLOCK_TEST_KILLS is %q, not a number of kills", text)
		}
		kills = n
	}
	clean(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "rowlock")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	path := filepath.Join(dir, "kill.db")
	mustCall(t, "migrate", "--db", "sqlite:"+path)
	key := strings.TrimSpace(mustCall(t, "key", "create", "--organizer", "Example House", "--db", "sqlite:"+path))

	life := startBinary(t, binary, path)
	event := killEvent(t, client.New(life.url, client.WithKey(key)))
	var seat atomic.Int64
	holds, orders := 0, 0
	for kill := range kills {
		told := life.sellUntilKilled(t, event, &seat, killAfterLeast+kill*killAfterStep%killAfterSpan)
		life = startBinary(t, binary, path)
		told.verify(t, client.New(life.url), event)
		holds, orders = holds+len(told.holds), orders+len(told.orders)
		if t.Failed() {
			t.Fatalf("after kill %d", kill+1)
		}
	}
	if holds == 0 || orders == 0 {
		t.Errorf("%d holds and %d orders were acknowledged, which proves nothing", holds, orders)
	}
	breaches, err := auditFile(t.Context(), path)
	if err != nil || len(breaches) > 0 {
		t.Errorf("the audit says %v, %v", breaches, err)
	}
	life.kill(t)
	t.Logf("%d kills; acknowledged and found again: %d holds, %d orders", kills, holds, orders)
}

// life is one process of the server.
type life struct {
	url  string
	cmd  *exec.Cmd
	http *http.Client
}

// startBinary starts the server on a free port and waits until it says where.
func startBinary(t *testing.T, binary, path string) *life {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+path)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // so that the server never waits for its log to be read
				}
			}()
			transport := &http.Transport{MaxIdleConnsPerHost: killBuyers}
			return &life{url: "http://" + m[1], cmd: cmd, http: &http.Client{Transport: transport, Timeout: time.Minute}}
		}
	}
	t.Fatalf("the server did not start: %v", cmd.Wait())
	return nil
}

// kill ends the process as a power switch would, and waits until it is gone.
func (l *life) kill(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Wait(); err == nil {
		t.Fatal("the server ended by itself before it was killed")
	}
	l.http.CloseIdleConnections()
}

// sellUntilKilled lets buyers hold and buy until the server has acknowledged enough, kills it in the
// middle of what they do next, and returns what they were told.
func (l *life) sellUntilKilled(t *testing.T, event string, seat *atomic.Int64, enough int) *acknowledged {
	t.Helper()
	told := new(acknowledged)
	reached := make(chan struct{})
	var once sync.Once
	var buyers sync.WaitGroup
	c := client.New(l.url, client.WithHTTPClient(l.http))
	for range killBuyers {
		buyers.Go(func() {
			for told.buy(t, c, event, seat.Add(1)-1) {
				if told.count() >= enough {
					once.Do(func() { close(reached) })
				}
			}
			once.Do(func() { close(reached) }) // a buyer that failed must not leave the test waiting
		})
	}
	<-reached
	l.kill(t)
	buyers.Wait()
	return told
}

// buy holds a seat, and buys two of three. It reports whether the server still answers.
func (a *acknowledged) buy(t *testing.T, c *client.Client, event string, seat int64) bool {
	row := seat / killHallPerRow
	if row >= killHallRows {
		t.Error("the hall is too small for this test")
		return false
	}
	name := fmt.Sprintf("S%d-%d-%d", row/killHallSection+1, row+1, seat%killHallPerRow+1)
	hold, err := c.CreateHold(t.Context(), event, client.HoldRequest{Seats: []string{name}})
	if err != nil {
		return a.gone(t, err)
	}
	if seat%3 == 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.holds = append(a.holds, hold)
		return true
	}
	order, err := confirmHold(t.Context(), c, hold)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.unknown = append(a.unknown, hold)
		return a.gone(t, err)
	}
	a.orders = append(a.orders, order)
	return true
}

// gone says that a buyer is done. A connection that broke is what the test is about; an answer of no is not.
func (a *acknowledged) gone(t *testing.T, err error) bool {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		t.Errorf("a free seat is answered %v", problem)
	}
	return false
}

func confirmHold(ctx context.Context, c *client.Client, hold *client.Hold) (*client.Order, error) {
	return c.CreateOrder(ctx, hold.Event, client.OrderRequest{
		Hold: hold.ID, Buyer: &client.Buyer{Name: "Test Buyer", Email: "buyer@example.com"},
	}, client.HoldToken(hold.Token))
}

// verify asks the next life of the server for everything the last one acknowledged.
func (a *acknowledged) verify(t *testing.T, c *client.Client, event string) {
	t.Helper()
	for _, h := range a.holds {
		again, err := c.Hold(t.Context(), event, h.ID, client.HoldToken(h.Token))
		if err != nil || !reflect.DeepEqual(again.Lines, h.Lines) || !again.ExpiresAt.Equal(h.ExpiresAt) {
			t.Errorf("hold %s is now %+v, %v", h.ID, again, err)
		}
	}
	for _, o := range a.orders {
		again, err := c.Order(t.Context(), event, o.ID, client.OrderToken(o.Token))
		if err != nil || !reflect.DeepEqual(again.Tickets, o.Tickets) || again.Total != o.Total {
			t.Errorf("order %s is now %+v, %v", o.ID, again, err)
		}
	}
	for _, h := range a.unknown {
		first, err := confirmHold(t.Context(), c, h)
		if err != nil {
			t.Errorf("hold %s, which was alive, cannot be bought: %v", h.ID, err)
			continue
		}
		if second, err := confirmHold(t.Context(), c, h); err != nil || second.ID != first.ID {
			t.Errorf("hold %s became %s and %+v, %v", h.ID, first.ID, second, err)
		}
	}
}

// killEvent puts a large hall on sale, with holds that outlive the test.
func killEvent(t *testing.T, organizer *client.Client) string {
	t.Helper()
	ctx := t.Context()
	name := "Example House"
	venue, err := organizer.CreateVenue(ctx, client.VenueRequest{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	drawing, err := seatmap.Grid(killHallRows, killHallPerRow).Encode()
	if err != nil {
		t.Fatal(err)
	}
	hall, err := organizer.CreateMap(ctx, venue.ID, drawing)
	if err != nil {
		t.Fatal(err)
	}
	starts, hour, many := time.Now().AddDate(0, 1, 0), int64(3600), int64(10_000)
	event, err := organizer.CreateEvent(ctx, client.EventRequest{
		Name: "Example Evening", StartsAt: &starts, Map: hall.ID, Currency: "EUR",
		TicketTypes: []client.TicketTypeRequest{{ID: "standard", Name: "Standard", Price: new(int64(4500))}},
		Limits:      &client.LimitsRequest{HoldSeconds: &hour, HoldSecondsMax: &hour, UnitsPerBuyer: &many},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := organizer.PublishEvent(ctx, event.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := organizer.OpenEvent(ctx, event.ID); err != nil {
		t.Fatal(err)
	}
	return event.ID
}
