package inventory

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	sweepEvery   = 100 * time.Millisecond // how late the map may learn of a lapsed hold
	sweepMax     = 256                    // holds ended in one go
	eventAgeMax  = time.Second            // how old a copy of an event may be
	eventsKept   = 4096
	layoutsKept  = 256
	boardsKept   = 256
	errorsLogged = 10 * time.Second // between two lines about a sweep that fails
)

// Config wires a Service.
type Config struct {
	Store     Store
	Catalogue Catalogue
	Log       *slog.Logger

	// Yield is called by whoever has just been let on by somebody else, behind a gate or with an
	// answer, before it goes on. A simulation puts it to sleep there, so that a seed, and not the
	// scheduler, decides who goes on first. Servers leave it nil.
	Yield func(context.Context)
}

// Service is the inventory for a caller: keys instead of units, tokens instead of holds. It owns the
// combiners and the live boards. Methods return a *Refusal for every no, and other errors only for
// faults of the store. Safe for concurrent use.
type Service struct {
	store     Store
	catalogue Catalogue
	log       *slog.Logger
	holds     *combiner[Command, Outcome]
	sales     *combiner[Sale, SaleOutcome]
	fresh     *combiner[struct{}, *Board] // one reading answers everybody who asked before it began
	events    shelf[*cachedEvent]
	drawings  shelf[*lasting[Layout]] // by map
	layouts   shelf[*lasting[Layout]] // of events that have had several maps
	boards    shelf[*liveBoard]
	desks     shelf[*desks]
	altering  shelf[gate] // one change of an event at a time
	yield     func(context.Context)
}

// New makes a Service. Run must be running for lapsed holds to be tidied.
func New(c Config) *Service {
	yield := c.Yield
	if yield == nil {
		yield = func(context.Context) {}
	}
	s := &Service{
		store: c.Store, catalogue: c.Catalogue, log: c.Log, yield: yield,
		holds: newCombiner((*Command).units, c.Store.Apply),
		sales: newCombiner(func(*Sale) int { return 1 }, c.Store.Sell),
		fresh: newCombiner(func(*struct{}) int { return 1 }, func(ctx context.Context, event string, asked []struct{}) ([]*Board, error) {
			b, err := c.Store.Board(ctx, event)
			return slices.Repeat([]*Board{b}, len(asked)), err
		}),
		events:   newShelf[*cachedEvent](eventsKept),
		drawings: newShelf[*lasting[Layout]](layoutsKept),
		layouts:  newShelf[*lasting[Layout]](layoutsKept),
		boards:   newShelf[*liveBoard](boardsKept),
		desks:    newShelf[*desks](boardsKept),
		altering: newShelf[gate](eventsKept),
	}
	s.holds.more, s.holds.finish = (*Outcome).lost, s.console
	s.holds.yield, s.sales.yield, s.fresh.yield = yield, yield, yield
	return s
}

// enter goes through a gate.
func (s *Service) enter(ctx context.Context, g gate) error {
	err := g.enter(ctx)
	if err == nil {
		s.yield(ctx)
	}
	return err
}

// units is how many units a command can move, for the bound of a batch: of its candidates it takes one.
func (c *Command) units() int {
	n := len(c.Add) + len(c.Remove) + len(c.Retype)
	if len(c.Candidates) > 0 {
		n += len(c.Candidates[0])
	}
	return max(n, 1)
}

// Run sweeps lapsed holds until the context ends. Promises do not rest on it; the map does.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var said time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n, err := s.store.Sweep(ctx, sweepMax)
		for err == nil && n == sweepMax {
			n, err = s.store.Sweep(ctx, sweepMax)
		}
		if err != nil && ctx.Err() == nil && time.Since(said) > errorsLogged {
			said = time.Now()
			s.log.ErrorContext(ctx, "sweeping lapsed holds fails", "error", err)
		}
	}
}

// Close refuses new commands and waits until every accepted one is answered, or the context ends.
func (s *Service) Close(ctx context.Context) error {
	return errors.Join(s.holds.close(ctx), s.sales.close(ctx), s.fresh.close(ctx))
}

// Caller is who asks. The zero Caller is the public. Organizer and Key come from an API key, and
// whatever belongs to another organizer does not exist for it.
type Caller struct {
	Organizer string
	Key       string
}

// by names the caller in a log.
func (c Caller) by() string {
	if c.Key == "" {
		return "buyer"
	}
	return c.Key
}

// cachedEvent is a copy of an event's row; a young one saves a read.
type cachedEvent struct {
	gate
	event *Event
	read  time.Time
}

// event reads an event, from a copy of at most eventAgeMax. The event is shared and must not be changed.
func (s *Service) event(ctx context.Context, id string) (*Event, error) {
	ce := s.events.get(id, func() *cachedEvent { return &cachedEvent{gate: newGate()} })
	if err := s.enter(ctx, ce.gate); err != nil {
		return nil, err
	}
	defer ce.leave()
	if ce.event != nil && time.Since(ce.read) < eventAgeMax {
		return ce.event, nil
	}
	e, err := s.store.Event(ctx, id)
	if err != nil {
		s.events.drop(id)
		if errors.Is(err, ErrNotFound) {
			return nil, refuse(NotFound)
		}
		return nil, err
	}
	ce.event, ce.read = e, time.Now()
	return e, nil
}

// forget drops the copy of an event.
func (s *Service) forget(event string) { s.events.drop(event) }

// atLeast returns an event at a revision or a later one.
func (s *Service) atLeast(ctx context.Context, e *Event, revision int64) (*Event, error) {
	if e.Revision >= revision {
		return e, nil
	}
	s.forget(e.ID)
	return s.event(ctx, e.ID)
}

// inStep reads until what it reads is of the map that its event has, and returns the event at least
// at the revision read, and its layout. Copies and rows are read at different moments, and the units
// of one map shown in the order of another would be a lie.
func (s *Service) inStep(ctx context.Context, e *Event, read func() (revision int64, err error)) (*Event, *Layout, error) {
	for range staleTriesMax {
		revision, err := read()
		if err != nil {
			return nil, nil, err
		}
		if e, err = s.atLeast(ctx, e, revision); err != nil {
			return nil, nil, err
		}
		if revision >= e.MapSince {
			l, err := s.layout(ctx, e)
			return e, l, err
		}
	}
	return nil, nil, refuse(Contended)
}

// owned returns the caller's own event.
func (s *Service) owned(ctx context.Context, c Caller, id string) (*Event, error) {
	e, err := s.event(ctx, id)
	if err == nil && (c.Organizer == "" || e.Organizer != c.Organizer) {
		return nil, refuse(NotFound)
	}
	return e, err
}

// visible returns an event that the caller may see: the public what has been published, a key its own.
func (s *Service) visible(ctx context.Context, c Caller, id string) (*Event, error) {
	e, err := s.event(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.Organizer != "" && e.Organizer != c.Organizer || c.Organizer == "" && (e.Terms.State == Draft || e.Unpublished) {
		return nil, refuse(NotFound)
	}
	return e, nil
}

func (s *Service) visibleLayout(ctx context.Context, c Caller, id string) (*Event, *Layout, error) {
	e, err := s.visible(ctx, c, id)
	if err != nil {
		return nil, nil, err
	}
	l, err := s.layout(ctx, e)
	return e, l, err
}

func (s *Service) ownedLayout(ctx context.Context, c Caller, id string) (*Event, *Layout, error) {
	e, err := s.owned(ctx, c, id)
	if err != nil {
		return nil, nil, err
	}
	l, err := s.layout(ctx, e)
	return e, l, err
}

// lasting is something that is made once and never grows old.
type lasting[T any] struct {
	gate
	made *T
}

// lastingOf returns what is kept under a name, made by whoever comes first.
func lastingOf[T any](ctx context.Context, s *Service, kept *shelf[*lasting[T]], name string, fresh func() (*T, error)) (*T, error) {
	k := kept.get(name, func() *lasting[T] { return &lasting[T]{gate: newGate()} })
	if err := s.enter(ctx, k.gate); err != nil {
		return nil, err
	}
	defer k.leave()
	if k.made == nil {
		made, err := fresh()
		if err != nil {
			kept.drop(name)
			return nil, err
		}
		k.made = made
	}
	return k.made, nil
}

// plan returns the index of a map version.
func (s *Service) plan(ctx context.Context, mapID string) (*seatmap.Plan, error) {
	l, err := s.drawn(ctx, mapID)
	if err != nil {
		return nil, err
	}
	return l.Plan, nil
}

// drawn returns the layout of events that began with a map version and still have it.
func (s *Service) drawn(ctx context.Context, mapID string) (*Layout, error) {
	return lastingOf(ctx, s, &s.drawings, mapID, func() (*Layout, error) {
		_, data, err := s.catalogue.Map(ctx, mapID)
		if err != nil {
			return nil, err
		}
		m, err := seatmap.Parse(data)
		if err != nil {
			return nil, err
		}
		l := NewLayout(seatmap.NewPlan(m))
		l.Map = mapID
		return l, nil
	})
}

// shelf keeps a bounded number of things by name. When it is full, some other thing goes: what is
// needed is made again.
type shelf[T any] struct {
	mu   *sync.Mutex
	kept map[string]T
	max  int
}

func newShelf[T any](size int) shelf[T] {
	return shelf[T]{mu: new(sync.Mutex), kept: make(map[string]T), max: size}
}

func (s *shelf[T]) get(name string, fresh func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.kept[name]; ok {
		return t
	}
	if len(s.kept) >= s.max {
		for other := range s.kept {
			delete(s.kept, other)
			break
		}
	}
	t := fresh()
	s.kept[name] = t
	return t
}

func (s *shelf[T]) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, name)
}
