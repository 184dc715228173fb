package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
)

// openInside opens a store in this process.
func (b *bench) openInside(ctx context.Context) (*Inside, error) {
	if b.stage.Inside == nil {
		return nil, errNotHere
	}
	in, err := b.stage.Inside(ctx)
	if err != nil {
		return nil, err
	}
	b.later(in.Close)
	return in, nil
}

// openService makes an inventory, with combiners of its own, on a store.
func (b *bench) openService(ctx context.Context, in *Inside, s inventory.Store) *inventory.Service {
	service := inventory.New(inventory.Config{Store: s, Catalogue: in.Catalogue})
	b.later(func() error { return service.Close(context.WithoutCancel(ctx)) })
	return service
}

// insider is a caller without a network.
type insider struct {
	service *inventory.Service
	claims  []inventory.ClaimRequest // taken in turn
	next    int
	kept    *inventory.HoldView
}

func (c *insider) claim(ctx context.Context) (*inventory.HoldView, error) {
	r := c.claims[c.next%len(c.claims)]
	c.next++
	return c.service.Claim(ctx, r)
}

func (c *insider) claimAndRelease(ctx context.Context, t *tally) bool {
	if !c.keep(ctx, t) {
		return false
	}
	t.intended = time.Now()
	return c.letGo(ctx, t)
}

func (c *insider) keep(ctx context.Context, t *tally) bool {
	v, err := c.claim(ctx)
	if err != nil {
		t.strange(err.Error())
		return false
	}
	c.kept = v
	t.count(opHold, t.intended)
	return true
}

func (c *insider) letGo(ctx context.Context, t *tally) bool {
	v := c.kept
	if err := c.service.Release(ctx, inventory.HoldRef{Event: v.Event.ID, ID: v.Hold.Key.ID(), Token: v.Token}); err != nil {
		t.strange(err.Error())
		return false
	}
	t.count(opRelease, t.intended)
	return true
}

func (c *insider) claimInVain(ctx context.Context, t *tally) bool {
	_, err := c.claim(ctx)
	refusal, ok := errors.AsType[*inventory.Refusal](err)
	if !ok || refusal.Code != inventory.AllocationUnavailable {
		t.strange(fmt.Sprintf("%d to what wants a refusal: %v", http.StatusCreated, err))
		return false
	}
	t.count(opRejection, t.intended)
	return true
}

// insideClaims are a load's claims as the inventory takes them.
func (l load) insideClaims(f *field, caller, callers int) []inventory.ClaimRequest {
	var all []inventory.ClaimRequest
	for _, r := range l.claims(f, caller, callers) {
		c := inventory.ClaimRequest{Event: f.event, Basket: inventory.Basket{Seats: r.Seats}}
		for _, a := range r.Areas {
			c.Basket.Areas = append(c.Basket.Areas, inventory.AreaWant{Area: a.Area, Quantity: a.Quantity})
		}
		all = append(all, c)
	}
	return all
}

// runInside puts a service under a load once.
func (l load) runInside(ctx context.Context, c BenchConfig, service *inventory.Service, f *field) (Figures, []string, error) {
	cycles := make([]cycle, c.Connections)
	var keepers []keeper
	for i := range cycles {
		claims := l.insideClaims(f, i, c.Connections)
		if len(claims) == 0 {
			return nil, nil, errNoUnits
		}
		one := &insider{service: service, claims: claims, next: rand.IntN(len(claims))}
		if l.kind == opRejection {
			cycles[i] = one.claimInVain
			continue
		}
		cycles[i], keepers = one.claimAndRelease, append(keepers, one)
	}
	own := processorTime()
	measured, warm, took := drive(ctx, pace{c.Duration, c.Rate}, cycles)
	own = processorTime() - own
	if breaches := append(warm.strangers(), measured.strangers()...); len(breaches) > 0 {
		return nil, breaches, nil
	}
	figures := measured.figures(l.kind, took)
	if answers := float64(measured.answers() + warm.answers()); answers > 0 {
		figures[CallersCPU] = float64(own/time.Microsecond) / answers // the store's and theirs
	}
	breaches, err := f.check(ctx, keepers, measured, warm)
	return figures, breaches, err
}

func (l load) insideContender(b *bench, name string, in *Inside, service *inventory.Service, f *field) contender {
	return contender{
		name: name, profile: profileHere,
		run: func(ctx context.Context) (Figures, []string, error) {
			return l.runInside(ctx, b.config, service, f)
		},
		audit: func(ctx context.Context) Audit { return audit(ctx, in.Target) },
	}
}

// inside compares the combiner with a transaction a request, on one file and one event.
func (l load) inside(ctx context.Context, b *bench) ([]contender, error) {
	in, err := b.openInside(ctx)
	if err != nil {
		return nil, err
	}
	f, err := b.openField(ctx, in.Target, b.config.Rows)
	if err == nil {
		err = f.stand(ctx)
	}
	if err != nil {
		return nil, err
	}
	return []contender{
		l.insideContender(b, string(Rowlock), in, b.openService(ctx, in, in.Store), f),
		l.insideContender(b, string(OneEach), in, b.openService(ctx, in, Separately(in.Store)), f),
	}, nil
}

// The arms of the scenarios that are about the size of a house.
const (
	largeArm = "large"
	smallArm = "small"
)

// The arms of the board: what the server needs to have it ready, and what a viewer waits for.
const (
	boardInside = "inside"
	boardHTTP   = "http"
)

// bySize compares a large house with a small one, in one store.
func bySize(ctx context.Context, b *bench) ([]contender, error) {
	in, err := b.openInside(ctx)
	if err != nil {
		return nil, err
	}
	service := b.openService(ctx, in, in.Store)
	var all []contender
	for _, house := range []struct {
		arm  string
		rows int
	}{{largeArm, b.config.Rows}, {smallArm, smallHallRows}} {
		f, err := b.openField(ctx, in.Target, house.rows)
		if err != nil {
			return nil, err
		}
		all = append(all, seatsLoad.insideContender(b, house.arm, in, service, f))
	}
	return all, nil
}

// openPublishing times the publishing of 60,000 seats.
func openPublishing(ctx context.Context, b *bench) ([]contender, error) {
	arm, a, err := b.openHall(ctx)
	if err != nil {
		return nil, err
	}
	return []contender{{
		name: string(Rowlock), profile: arm.Profile,
		run: func(ctx context.Context) (Figures, []string, error) {
			draft, err := a.organizer().CreateEvent(ctx, a.benchEvent())
			if err != nil {
				return nil, nil, fmt.Errorf("an event: %w", err)
			}
			began := time.Now()
			if _, err := a.organizer().PublishEvent(ctx, draft.ID); err != nil {
				return nil, nil, fmt.Errorf("publishing: %w", err)
			}
			took := time.Since(began)
			report, err := a.organizer().Report(ctx, draft.ID)
			if err != nil {
				return nil, nil, fmt.Errorf("the report: %w", err)
			}
			v := new(verdict)
			v.conserved(&observation{event: draft.ID, capacity: int64(2*b.config.Rows*hallPerRow + meadowUnits), report: report}, 0, 0)
			return Figures{Seconds: took.Seconds()}, v.breaches, nil
		},
		audit: func(ctx context.Context) Audit { return audit(ctx, arm.Target) },
	}}, nil
}

// openHall opens a server with the hall and no event.
func (b *bench) openHall(ctx context.Context) (*Arm, *arena, error) {
	arm, err := b.openArm(ctx, Rowlock)
	if err != nil {
		return nil, nil, err
	}
	a, err := b.openCallers(ctx, arm.Target, b.config.Rows)
	return arm, a, err
}

// openMemory weighs an event that is on sale, and has been looked at and sold from, while nobody asks
// for it. Its weight is the difference between the server's memory with two such events and with one,
// so that what every server has and what a map has once is not in it.
func openMemory(ctx context.Context, b *bench) ([]contender, error) {
	arm, a, err := b.openHall(ctx)
	if err != nil {
		return nil, err
	}
	if arm.Heap == nil {
		return nil, errNotHere
	}
	weigh := func(ctx context.Context) (int64, error) {
		o, err := a.open(ctx, a.benchEvent())
		if err != nil {
			return 0, err
		}
		buyer := a.buyer(0)
		if _, err := a.buy(ctx, o, units(fieldArea, 1)); err != nil {
			return 0, err
		}
		if _, err := buyer.Board(ctx, o.event); err != nil {
			return 0, fmt.Errorf("the board: %w", err)
		}
		return arm.Heap(ctx)
	}
	heap, err := weigh(ctx)
	if err != nil {
		return nil, err
	}
	return []contender{{
		name: string(Rowlock),
		run: func(ctx context.Context) (Figures, []string, error) {
			with, err := weigh(ctx)
			if err != nil {
				return nil, nil, err
			}
			without := heap
			heap = with
			return Figures{Bytes: float64(with - without), HeapWith: float64(with), HeapWithout: float64(without)}, nil, nil
		},
		audit: func(ctx context.Context) Audit { return audit(ctx, arm.Target) },
	}}, nil
}

// requestBoards is the board as a browser asks for it.
func requestBoards(to requests, event string) []byte {
	return to.get("/v1/events/"+event+"/board", "Accept-Encoding: gzip")
}

// openBoards reads the board after each claim and its release, so that what is read was never sent
// before: inside this process, where no network is waited for, and over HTTP from a process of its own.
// About a tenth of the house is held and a fifth sold, seat by seat.
func openBoards(ctx context.Context, b *bench) ([]contender, error) {
	alone := func() BenchConfig { c := b.config; c.Connections = 1; return c }
	var all []contender
	if b.stage.Inside != nil {
		in, err := b.openInside(ctx)
		if err != nil {
			return nil, err
		}
		f, err := b.openSold(ctx, in.Target)
		if err != nil {
			return nil, err
		}
		service := b.openService(ctx, in, in.Store)
		all = append(all, contender{
			name: boardInside, profile: profileHere,
			run:   func(ctx context.Context) (Figures, []string, error) { return f.watchInside(ctx, alone(), service) },
			audit: func(ctx context.Context) Audit { return audit(ctx, in.Target) },
		})
	}
	arm, err := b.openArm(ctx, Rowlock)
	if err != nil {
		return nil, err
	}
	f, err := b.openSold(ctx, arm.Target)
	if err != nil {
		return nil, err
	}
	return append(all, contender{
		name: boardHTTP, profile: arm.Profile,
		run: func(ctx context.Context) (Figures, []string, error) {
			return f.watchOverHTTP(ctx, alone(), arm.URLs[0])
		},
		audit: func(ctx context.Context) Audit { return audit(ctx, arm.Target) },
	}), nil
}

// openSold opens an event of which some is held and more is sold.
func (b *bench) openSold(ctx context.Context, t Target) (*field, error) {
	f, err := b.openField(ctx, t, b.config.Rows)
	if err == nil {
		err = f.stand(ctx)
	}
	if err == nil {
		err = f.sell(ctx)
	}
	return f, err
}

func (f *field) watchInside(ctx context.Context, c BenchConfig, service *inventory.Service) (Figures, []string, error) {
	one := &insider{service: service, claims: seatsLoad.insideClaims(f, 0, 1)}
	return f.watch(ctx, c, one.claimAndRelease, func(t *tally) int {
		began := time.Now()
		if _, err := service.Board(ctx, inventory.Caller{}, f.event); err != nil {
			t.strange(err.Error())
			return 0
		}
		t.count(opBoard, began)
		return 0
	})
}

func (f *field) watchOverHTTP(ctx context.Context, c BenchConfig, base string) (Figures, []string, error) {
	w, err := dial(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	defer w.conn.Close()
	if err := w.conn.SetDeadline(time.Now().Add(c.Duration + requestTimeout)); err != nil {
		return nil, nil, err
	}
	to, err := requestsTo(base)
	if err != nil {
		return nil, nil, err
	}
	claims, err := seatsLoad.requests(to, f, 0, 1)
	if err != nil {
		return nil, nil, err
	}
	one := &caller{wire: w, to: to, event: f.event, claims: claims}
	request := requestBoards(to, f.event)
	return f.watch(ctx, c, one.claimAndRelease, func(t *tally) int {
		if _, ok := one.answered(t, request, time.Now(), opBoard, http.StatusOK); !ok {
			return 0
		}
		return w.bytes
	})
}

// watch lets a caller claim and release, and look at the board each time.
func (f *field) watch(ctx context.Context, c BenchConfig, change cycle, look func(*tally) (size int)) (Figures, []string, error) {
	largest := 0
	measured, warm, took := drive(ctx, pace{c.Duration, c.Rate}, []cycle{func(ctx context.Context, t *tally) bool {
		if !change(ctx, t) {
			return false
		}
		largest = max(largest, look(t))
		return len(t.unexpected) == 0
	}})
	if breaches := append(warm.strangers(), measured.strangers()...); len(breaches) > 0 {
		return nil, breaches, nil
	}
	figures := measured.figures(opBoard, took)
	delete(figures, HoldsRate) // what changed the board is not what is measured
	if largest > 0 {
		figures[Bytes] = float64(largest)
	}
	breaches, err := f.check(ctx, nil, measured, warm)
	return figures, breaches, err
}
