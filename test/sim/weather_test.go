package sim

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/records"
)

var (
	errBefore  = errors.New("sim: the store cannot be reached")
	errAfter   = errors.New("sim: the answer was lost")
	errCrashed = errors.New("sim: the server was killed")
)

// weather is a store that takes its time and sometimes fails: before and after each call it sleeps
// until an instant that is the seed's to choose. The call itself takes no time.
type weather struct {
	*generation
	node  int
	inner inventory.Store
}

// The verbs that combiners send with a context of their own.
const (
	verbApply = iota
	verbSell
	verbBoard
	verbOther
)

// who is asleep in a call: the request that makes it, or the lane of a combiner.
func (w *weather) who(ctx context.Context, verb int) *actor {
	if a, ok := ctx.Value(actorKey{}).(*actor); ok {
		return a
	}
	return w.drains[w.node][verb]
}

// call makes a call as the weather allows.
func call[T any](ctx context.Context, w *weather, verb int, name string, writes bool, fn func() (T, error)) (out T, err error) {
	a := w.who(ctx, verb)
	if writes {
		w.writing.Add(1)
		defer w.writing.Add(-1)
	}
	if err := w.delay(ctx, a, writes); err != nil {
		return out, err
	}
	stormy, c := w.world.stormy.Load(), &w.world.climate
	if stormy && a.chance(c.before) {
		a.say("%s fails", name)
		return out, errBefore
	}
	made, err := fn()
	a.say("%s: %v", name, codeOf(err))
	lost := stormy && a.chance(c.after)
	if late := w.delay(ctx, a, writes); late != nil {
		return out, late
	}
	if lost {
		a.say("%s: the answer is lost", name)
		return out, errAfter
	}
	return made, err
}

// delay sleeps. Who reads leaves with its context, as drivers do; a write that has begun is carried out.
func (w *weather) delay(ctx context.Context, a *actor, writes bool) error {
	d := time.Duration(a.rng.Int64N(int64(12 * time.Millisecond)))
	if c := &w.world.climate; w.world.stormy.Load() {
		switch {
		case a.chance(c.very):
			d += 16*time.Second + time.Duration(a.rng.Int64N(int64(2*time.Second)))
			w.world.count("delay past a batch's deadline")
		case a.chance(c.slow):
			d += time.Duration(a.rng.Int64N(int64(500 * time.Millisecond)))
		}
	}
	if writes {
		a.sleep(d)
	} else {
		timer := time.NewTimer(a.wait(d))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil && !w.dead.Load() {
			return ctx.Err()
		}
	}
	if w.dead.Load() {
		return errCrashed
	}
	return nil
}

func codeOf(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, inventory.ErrNotFound):
		return "not found"
	case errors.Is(err, inventory.ErrStale):
		return "stale"
	}
	if r, ok := errors.AsType[*inventory.Refusal](err); ok {
		return string(r.Code)
	}
	return "error"
}

func (w *weather) Apply(ctx context.Context, event string, batch []inventory.Command) ([]inventory.Outcome, error) {
	if len(batch) > 1 {
		w.world.count("batch of more than one")
	}
	return call(ctx, w, verbApply, "apply", true, func() ([]inventory.Outcome, error) {
		outcomes, err := w.inner.Apply(ctx, event, batch)
		for i, o := range outcomes {
			if o.Replayed && batch[i].Verb == inventory.Claim && batch[i].ID == (inventory.CommandID{}) {
				w.world.count("retried batch finds its own effect") // a hold's key is in two batches for no other reason
			}
		}
		return outcomes, err
	})
}

func (w *weather) Sell(ctx context.Context, event string, batch []inventory.Sale) ([]inventory.SaleOutcome, error) {
	if len(batch) > 1 {
		w.world.count("batch of more than one sale")
	}
	return call(ctx, w, verbSell, "sell", true, func() ([]inventory.SaleOutcome, error) { return w.inner.Sell(ctx, event, batch) })
}

func (w *weather) Return(ctx context.Context, event string, r inventory.Return) (inventory.ReturnOutcome, error) {
	return call(ctx, w, verbOther, "return", true, func() (inventory.ReturnOutcome, error) { return w.inner.Return(ctx, event, r) })
}

func (w *weather) Alter(ctx context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	return call(ctx, w, verbOther, "alter", true, func() (inventory.AlterResult, error) { return w.inner.Alter(ctx, event, a) })
}

func (w *weather) Event(ctx context.Context, event string) (*inventory.Event, error) {
	return call(ctx, w, verbOther, "event", false, func() (*inventory.Event, error) { return w.inner.Event(ctx, event) })
}

func (w *weather) Hold(ctx context.Context, event string, key inventory.HoldKey) (*inventory.Hold, inventory.Instant, error) {
	var now inventory.Instant
	h, err := call(ctx, w, verbOther, "hold", false, func() (h *inventory.Hold, err error) {
		h, now, err = w.inner.Hold(ctx, event, key)
		return h, err
	})
	return h, now, err
}

func (w *weather) Holds(ctx context.Context, event string, after inventory.HoldKey, limit int) ([]*inventory.Hold, inventory.Instant, error) {
	var now inventory.Instant
	hs, err := call(ctx, w, verbOther, "holds", false, func() (hs []*inventory.Hold, err error) {
		hs, now, err = w.inner.Holds(ctx, event, after, limit)
		return hs, err
	})
	return hs, now, err
}

func (w *weather) Board(ctx context.Context, event string) (*inventory.Board, error) {
	return call(ctx, w, verbBoard, "board", false, func() (*inventory.Board, error) { return w.inner.Board(ctx, event) })
}

func (w *weather) Changes(ctx context.Context, event string, after inventory.Position) (*inventory.Changes, error) {
	return call(ctx, w, verbOther, "changes", false, func() (*inventory.Changes, error) {
		ch, err := w.inner.Changes(ctx, event, after)
		if err == nil && ch.Resync && ch.Position.Epoch != after.Epoch {
			w.world.count("restart with resync")
		}
		return ch, err
	})
}

func (w *weather) Sweep(ctx context.Context, limit int) (int, error) {
	return call(ctx, w, verbOther, "sweep", true, func() (int, error) { return w.inner.Sweep(ctx, limit) })
}

func (w *weather) Audit(ctx context.Context) iter.Seq2[inventory.Breach, error] {
	return w.inner.Audit(ctx)
}

// paperwork is the catalogue, of which the weather has what buyers read.
type paperwork struct {
	*records.Records
	weather *weather
}

func (p *paperwork) Order(ctx context.Context, event, id string) (*inventory.Order, error) {
	return call(ctx, p.weather, verbOther, "order", false, func() (*inventory.Order, error) { return p.Records.Order(ctx, event, id) })
}

func (p *paperwork) OrderByHold(ctx context.Context, event string, key inventory.HoldKey) (*inventory.Order, error) {
	return call(ctx, p.weather, verbOther, "order by hold", false, func() (*inventory.Order, error) { return p.Records.OrderByHold(ctx, event, key) })
}

func (p *paperwork) Recorded(ctx context.Context, id inventory.CommandID, body [32]byte) error {
	_, err := call(ctx, p.weather, verbOther, "recorded", false, func() (struct{}, error) { return struct{}{}, p.Records.Recorded(ctx, id, body) })
	return err
}
