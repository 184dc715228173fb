package inventory

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

const (
	batchCommandsMax = 256              // more gains little and makes the first caller wait for the last
	batchUnitsMax    = 4096             // so that 256 large baskets do not become one huge transaction
	queueCommandsMax = 4096             // waiting commands of one event; past it the answer is a quick 503
	batchTimeMax     = 15 * time.Second // a store that takes longer has not answered
	batchTriesMax    = 2                // a batch is sent again once; its commands find their own effects
)

// combiner gathers the commands of one event while the previous batch is in flight, and sends them
// to the store together. It never waits on a timer: a lone command goes out at once, a crowd makes
// large batches. Since every caller waits while its batch runs, the result is linearizable. One batch
// an event is in flight, so a blocked event holds one connection and slows no other.
type combiner[C, O any] struct {
	send  func(ctx context.Context, event string, batch []C) ([]O, error)
	units func(*C) int          // how large a command is
	yield func(context.Context) // Config.Yield

	// Answers that want more than the store gave are finished beside the next batch, all of a batch
	// together. Finish closes the done of each; without more there are none.
	more   func(*O) bool
	finish func(event string, some []*ticketed[C, O])

	mu     sync.Mutex
	lanes  map[string]*lane[C, O]
	closed bool
	busy   sync.WaitGroup
}

// lane is one event's queue. It exists only while there is something to do.
type lane[C, O any] struct{ queue []*ticketed[C, O] }

// ticketed is a command and where its answer goes. A caller that leaves before its command was
// taken withdraws it; afterwards the work goes on without it.
type ticketed[C, O any] struct {
	ctx     context.Context
	command C
	out     O
	err     error
	done    chan struct{}
}

var (
	errQueueFull = &Refusal{Code: Overloaded, Detail: "too many commands wait for this event"}
	errClosing   = &Refusal{Code: Unavailable, Detail: "the server is shutting down"}
)

func newCombiner[C, O any](units func(*C) int, send func(context.Context, string, []C) ([]O, error)) *combiner[C, O] {
	return &combiner[C, O]{send: send, units: units, yield: func(context.Context) {}, lanes: make(map[string]*lane[C, O])}
}

// do runs one command in the next batch of its event and waits for the outcome. The error is the
// store's, the context's when the caller left, or a Refusal when the queue is full or closing.
func (c *combiner[C, O]) do(ctx context.Context, event string, command C) (O, error) {
	t := &ticketed[C, O]{ctx: ctx, command: command, done: make(chan struct{})}
	if err := c.enqueue(event, t); err != nil {
		return t.out, err
	}
	select {
	case <-t.done:
		c.yield(ctx)
		return t.out, t.err
	case <-ctx.Done():
		var none O
		return none, ctx.Err()
	}
}

func (c *combiner[C, O]) enqueue(event string, t *ticketed[C, O]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosing
	}
	l, running := c.lanes[event]
	if !running {
		l = new(lane[C, O])
		c.lanes[event] = l
	}
	if len(l.queue) >= queueCommandsMax {
		return errQueueFull
	}
	l.queue = append(l.queue, t)
	if !running {
		c.busy.Go(func() { c.drain(event, l) })
	}
	return nil
}

// drain sends batches until the lane is empty, then removes it.
func (c *combiner[C, O]) drain(event string, l *lane[C, O]) {
	for {
		c.gather(l)
		c.mu.Lock()
		batch := c.next(l)
		if len(batch) == 0 {
			delete(c.lanes, event)
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.run(event, batch)
	}
}

// gather lets goroutines run that are ready to, as long as they bring commands. It waits for nobody: with
// nobody ready it returns at once.
func (c *combiner[C, O]) gather(l *lane[C, O]) {
	for had := -1; ; {
		c.mu.Lock()
		have := len(l.queue)
		c.mu.Unlock()
		if have == had || have >= batchCommandsMax {
			return
		}
		had = have
		runtime.Gosched()
	}
}

// next takes the front of the queue, in arrival order, as far as the bounds allow, and drops
// commands whose callers have left.
func (c *combiner[C, O]) next(l *lane[C, O]) []*ticketed[C, O] {
	batch := make([]*ticketed[C, O], 0, min(len(l.queue), batchCommandsMax))
	size, taken := 0, 0
	for _, t := range l.queue {
		if len(batch) == batchCommandsMax {
			break
		}
		if t.ctx.Err() == nil {
			n := c.units(&t.command)
			if len(batch) > 0 && size+n > batchUnitsMax {
				break
			}
			size += n
			batch = append(batch, t)
		}
		taken++
	}
	rest := l.queue[taken:]
	if len(rest) == 0 {
		l.queue = nil // a burst's queue is not kept
	} else {
		l.queue = append(make([]*ticketed[C, O], 0, 2*len(rest)), rest...)
	}
	return batch
}

// run sends a batch and hands out the answers. The batch outlives its callers: what was accepted is done.
func (c *combiner[C, O]) run(event string, batch []*ticketed[C, O]) {
	commands := make([]C, len(batch))
	for i, t := range batch {
		commands[i] = t.command
	}
	outcomes, err := c.attempt(event, commands)
	var unfinished []*ticketed[C, O]
	for i, t := range batch {
		if err != nil {
			t.err = err
		} else if t.out = outcomes[i]; c.more != nil && c.more(&t.out) {
			unfinished = append(unfinished, t)
			continue
		}
		close(t.done)
	}
	if len(unfinished) > 0 {
		c.busy.Go(func() { c.finish(event, unfinished) })
	}
}

func (c *combiner[C, O]) attempt(event string, commands []C) (outcomes []O, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeMax)
	defer cancel()
	for range batchTriesMax {
		outcomes, err = c.send(ctx, event, commands)
		if err == nil || errors.Is(err, ErrNotFound) || ctx.Err() != nil {
			break
		}
	}
	return outcomes, err
}

// close refuses new commands and waits for those accepted, or for the context.
func (c *combiner[C, O]) close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
