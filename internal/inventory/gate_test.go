package inventory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuckStore answers nothing until it is told to.
type stuckStore struct {
	Store
	Catalogue
	answer chan struct{}
}

func (s *stuckStore) Event(_ context.Context, id string) (*Event, error) {
	<-s.answer
	return &Event{ID: id, Organizer: "org"}, nil
}

func (s *stuckStore) Board(context.Context, string) (*Board, error) {
	<-s.answer
	return new(Board), nil
}

func (s *stuckStore) Map(context.Context, string) (*MapVersion, []byte, error) {
	<-s.answer
	return nil, []byte("no map"), nil
}

func TestWhoWaitsForACopyWaitsNoLongerThanItsCaller(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *Service) error{
		"event": func(ctx context.Context, s *Service) error { _, err := s.event(ctx, "evt"); return err },
		"board": func(ctx context.Context, s *Service) error { _, err := s.live(ctx, "evt"); return err },
		"view": func(ctx context.Context, s *Service) error {
			_, err := s.liveView(ctx, &Event{ID: "evt"})
			return err
		},
		"layout": func(ctx context.Context, s *Service) error {
			_, err := s.layout(ctx, &Event{ID: "evt", Map: "map", Former: []string{"before"}})
			return err
		},
		"plan": func(ctx context.Context, s *Service) error { _, err := s.plan(ctx, "map"); return err },
		"alter": func(ctx context.Context, s *Service) error {
			_, err := s.alter(ctx, Caller{Organizer: "org", Key: "key"}, "evt", nil, func(*Event) (*Alteration, error) { return nil, nil }, madeEvent)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &stuckStore{answer: make(chan struct{})}
				s := New(Config{Store: slow, Catalogue: slow})
				first := make(chan error, 1)
				go func() { first <- ask(t.Context(), s) }()
				synctest.Wait() // the first stands at the store
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				if err := ask(ctx, s); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
					t.Errorf("the second is told %v after %v", err, time.Since(began))
				}
				close(slow.answer)
				<-first
				if err := ask(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("who had left before it came is told %v", err)
				}
			})
		})
	}
}

func TestAGateLetsThemInOneByOneInTheOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if err := g.enter(t.Context()); err != nil {
					t.Error(err)
				}
				order = append(order, i) // alone behind the gate
				time.Sleep(time.Second)
				g.leave()
			})
			synctest.Wait()
		}
		g.leave()
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("they came in as %v", order)
		}
	})
}
