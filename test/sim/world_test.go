// Package sim runs the whole server, from its handlers to its file, in virtual time: sixteen clients,
// two nodes on one store, and a weather of errors, delays, repeated and late requests, crashes and
// clocks that step. Everything that happens is decided by a seed, so that what went wrong once goes
// wrong again.
//
// Three things make a run repeat exactly. Nobody goes on without having slept until an instant that is
// nobody else's: an actor wakes only at nanoseconds that are its number past a whole millisecond, so
// the scheduler never has a choice to make. Randomness, also that of tokens, is drawn from the seed.
// And the database's clock is the bubble's, with an offset of the run's own.
package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

const (
	nodes       = 2  // servers on the store, each with combiners and copies of its own
	peopleCount = 16 // of them, boxOffices with a key
	boxOffices  = 3
	visits      = 9 // what each of them does, at most

	holdTTL  = 4 * time.Second
	holdLife = 10 * time.Second
)

// The numbers of actors. Each is an actor's own nanosecond past the millisecond.
const (
	organizerActor = iota + peopleCount
	followerActor
	sweeperActor
	fateActor
	calmActor
	requestSenders
)

const (
	drainActors   = 100  // and on: four a node and generation
	requestActors = 1000 // and on: one a delivery
	requestsEach  = 2000
)

// actor is whoever may be asleep: a client, a request on its way, a batch. Only its own goroutine uses it.
type actor struct {
	number int
	rng    *rand.Rand
	world  *world
	said   []said
}

// said is a line of the history.
type said struct {
	at    time.Duration
	actor int
	text  string
}

func (w *world) actor(number int) *actor {
	a := &actor{number: number, rng: rand.New(rand.NewPCG(w.seed, uint64(number))), world: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actors = append(w.actors, a)
	return a
}

func (a *actor) say(format string, args ...any) {
	a.said = append(a.said, said{a.world.now(), a.number, fmt.Sprintf(format, args...)})
}

// wait is how long about d is, for an actor: until the next instant that is its own.
func (a *actor) wait(d time.Duration) time.Duration {
	now := a.world.now()
	target := (now + d).Truncate(time.Millisecond) + time.Duration(a.number)
	if target <= now {
		target += time.Millisecond
	}
	return target - now
}

func (a *actor) sleep(d time.Duration) { time.Sleep(a.wait(d)) }

// doze sleeps for a while between two durations.
func (a *actor) doze(from, to time.Duration) {
	a.sleep(from + time.Duration(a.rng.Int64N(int64(to-from))))
}

// chance is true so many times in a thousand.
func (a *actor) chance(perMille int) bool { return a.rng.IntN(1000) < perMille }

type actorKey struct{}

func (a *actor) context() context.Context {
	return context.WithValue(context.Background(), actorKey{}, a)
}

// yield is Config.Yield.
func yield(ctx context.Context) {
	if a, ok := ctx.Value(actorKey{}).(*actor); ok {
		a.doze(0, 4*time.Millisecond)
	}
}

// climate says how bad the weather is, in chances of a thousand.
type climate struct {
	before, after, slow, very  int // a store call: an error before it, after it, half a second, past every deadline
	lost, gone, twice, late    int // a request: never arrives, its client leaves, arrives twice, arrives again much later
	crashes, steps, cancelled  int // how many
	organizer, sweeps, repaint bool
	moves, reprice             bool // to another map; of a row
}

func draw(rng *rand.Rand) climate {
	c := climate{organizer: rng.IntN(3) > 0, sweeps: rng.IntN(4) > 0, repaint: rng.IntN(3) == 0}
	c.moves, c.reprice = rng.IntN(2) == 0, rng.IntN(2) == 0
	if rng.IntN(8) == 0 {
		return c // fair weather
	}
	upTo := func(n int) int { return rng.IntN(n + 1) }
	c.before, c.after, c.slow, c.very = upTo(60), upTo(80), upTo(40), upTo(6)
	c.lost, c.gone, c.twice, c.late = upTo(40), upTo(80), upTo(150), upTo(120)
	c.crashes, c.steps = max(0, upTo(4)-2), max(0, upTo(5)-2)
	if rng.IntN(14) == 0 {
		c.cancelled = 1
	}
	return c
}

func (c climate) fair() bool {
	return c.before+c.after+c.slow+c.very+c.lost+c.gone+c.twice+c.late+c.crashes+c.steps == 0
}

// world is one run.
type world struct {
	seed    uint64
	dir     string
	climate climate
	began   time.Time
	mutant  mutant
	house   *template
	clock   *clock
	stormy  atomic.Bool // faults happen

	mu         sync.Mutex
	actors     []*actor
	current    *generation // nil between a crash and the restart
	all        []*generation
	ops        []*op
	known      []string          // holds that wrong tokens are tried on
	tokens     map[string]string // of them
	orders     []bought          // that box offices may cancel
	tally      map[string]int
	breaches   []string
	cancelAt   time.Duration // when the organizer began to cancel the event; never
	underway   sync.WaitGroup
	sent       [requestSenders]int // deliveries, by who asked
	confirming map[string]int      // confirmations under way, by hold
}

const never = time.Duration(1<<63 - 1)

func (w *world) now() time.Duration { return time.Since(w.began) }

func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tally[what]++
}

func (w *world) breach(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaches = append(w.breaches, fmt.Sprintf(format, args...))
}

// clock is the database's: the bubble's, with an offset.
type clock struct {
	mu    sync.Mutex
	began time.Time
	steps []step // the first is none
}

type step struct {
	at     time.Duration
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.steps[len(c.steps)-1].offset)
}

func (c *clock) step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, step{time.Since(c.began), c.steps[len(c.steps)-1].offset + by})
}

// at is what the clock said at a moment of the run.
func (c *clock) at(t time.Duration) time.Time {
	last := c.steps[0]
	for _, s := range c.steps {
		if s.at <= t {
			last = s
		}
	}
	return c.began.Add(t + last.offset)
}

// lastBefore is the last moment at which the clock is before an instant; zero when it never is.
func (c *clock) lastBefore(instant time.Time) time.Duration {
	var last time.Duration
	for i, s := range c.steps {
		until := instant.Sub(c.began) - s.offset
		if i+1 < len(c.steps) {
			until = min(until, c.steps[i+1].at)
		}
		if until > s.at {
			last = max(last, until)
		}
	}
	return last
}

// latest is the furthest that the clock gets within a span of the run.
func (c *clock) latest(from, to time.Duration) time.Time {
	latest := c.at(to)
	if t := c.at(from); t.After(latest) {
		latest = t
	}
	for i, s := range c.steps {
		if s.at <= from || s.at > to {
			continue
		}
		if before := c.began.Add(s.at + c.steps[i-1].offset); before.After(latest) {
			latest = before
		}
		if after := c.began.Add(s.at + s.offset); after.After(latest) {
			latest = after
		}
	}
	return latest
}

// after is when a span that began at a moment has certainly not passed yet for anybody's deadline: a
// clock that steps forward makes it shorter, and none makes it longer.
func (c *clock) after(from, span time.Duration) time.Duration {
	end := from + span
	for i, s := range c.steps {
		if i == 0 || s.at <= from || s.at >= end {
			continue
		}
		if forward := s.offset - c.steps[i-1].offset; forward > 0 {
			end = max(s.at, end-forward)
		}
	}
	return end
}

// back is how far the clock has stepped back in all.
func (c *clock) back() (all time.Duration) {
	for i, s := range c.steps {
		if i > 0 {
			all += max(0, c.steps[i-1].offset-s.offset)
		}
	}
	return all
}

// clocks are the clocks of open files. SQLite's extensions are for the whole process, so they are too.
var clocks struct {
	once sync.Once
	of   sync.Map // path → *clock
}

// useClocks gives every connection to a file of a run that run's clock.
func useClocks() {
	clocks.once.Do(func() {
		sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
			name := c.Filename("main")
			if name == nil {
				return nil
			}
			own, ok := clocks.of.Load(name.String())
			if !ok {
				return nil
			}
			return c.CreateFunction("unixepoch", 1, sqlite3.INNOCUOUS, func(ctx sqlite3.Context, _ ...sqlite3.Value) {
				ctx.ResultFloat(float64(own.(*clock).now().UnixMilli()) / 1000)
			})
		})
	})
}

// generation is the servers between two crashes: one store, and nodes on it.
type generation struct {
	number  int
	world   *world
	path    string
	store   *sqlite.Store
	records *records.Records
	nodes   [nodes]http.Handler
	sweeper *weather // the first node's store
	drains  [nodes][4]*actor
	dead    atomic.Bool
	diedAt  time.Duration
	writing atomic.Int64 // commands between asked and answered
	recent  []recent     // what a mutant may lose
}

// start opens the file for a new generation.
func (w *world) start(path string) error {
	clocks.of.Store(path, w.clock)
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return err
	}
	w.mu.Lock()
	g := &generation{number: len(w.all), world: w, path: path, store: store, records: records.New(store), diedAt: never}
	w.all = append(w.all, g)
	w.mu.Unlock()
	for n := range nodes {
		for k := range g.drains[n] {
			g.drains[n][k] = w.actor(drainActors + (g.number*nodes+n)*len(g.drains[n]) + k)
		}
		var store *weather
		g.nodes[n], store = g.node(n)
		if n == 0 {
			g.sweeper = store
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = g
	return nil
}

// node makes a server, and returns its store, too.
func (g *generation) node(n int) (http.Handler, *weather) {
	store := &weather{generation: g, node: n, inner: g.store}
	if g.world.mutant.store != nil {
		store.inner = g.world.mutant.store(g, n)
	}
	service := inventory.New(inventory.Config{Store: store, Catalogue: &paperwork{Records: g.records, weather: store}, Yield: yield})
	return api.New(api.Config{Service: service, Office: office.New(g.records)}).Handler(), store
}

// crash is kill -9: what was written is there, whoever waited for an answer gets none, and nothing
// that was under way goes on.
func (w *world) crash(a *actor) error {
	w.mu.Lock()
	g := w.current
	w.current = nil
	w.mu.Unlock()
	if g.writing.Load() > 0 {
		w.count("crash with a command in flight")
	}
	g.dead.Store(true)
	g.diedAt = w.now()
	next := filepath.Join(w.dir, fmt.Sprintf("%d.db", g.number+1))
	for _, end := range []string{"", "-wal"} {
		if err := copyFile(g.path+end, next+end); err != nil {
			return err
		}
	}
	if err := g.store.Close(); err != nil {
		return err
	}
	a.say("crash")
	a.doze(10*time.Millisecond, 500*time.Millisecond)
	if err := w.start(next); err != nil {
		return err
	}
	a.say("restart")
	w.audit("after a restart")
	if w.mutant.restarted != nil {
		w.mutant.restarted(g, w.current)
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// result is what a run leaves.
type result struct {
	Seed     uint64
	Breaches []string
	Tally    map[string]int
	history  []said
	enough   bool // no more seeds are wanted
}

// simulate runs one seed.
func simulate(t *testing.T, house *template, seed uint64, m mutant) (out *result) {
	t.Helper()
	useClocks()
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("%v\nseed %d: %s", p, seed, replay(seed)))
		}
	}()
	seedTokens(t, seed)
	dir, err := os.MkdirTemp(house.dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			seed: seed, dir: dir, began: time.Now(), mutant: m, house: house,
			tokens: make(map[string]string), confirming: make(map[string]int), tally: make(map[string]int), cancelAt: never,
		}
		w.climate = draw(rand.New(rand.NewPCG(seed, 0)))
		w.clock = &clock{began: w.began, steps: []step{{}}}
		out = w.run(t)
	})
	return out
}

func (w *world) run(t *testing.T) *result {
	path := filepath.Join(w.dir, "0.db")
	if err := errors.Join(copyFile(w.house.path, path), w.start(path)); err != nil {
		t.Fatal(err)
	}
	f := &follower{actor: w.actor(followerActor)}
	w.storm(f)
	w.calm(f)
	w.check()
	g := w.current
	if err := g.store.Close(); err != nil {
		t.Error(err)
	}
	for _, g := range w.all {
		clocks.of.Delete(g.path)
	}
	return &result{Seed: w.seed, Breaches: w.breaches, Tally: w.tally, history: w.history()}
}

// storm lets everybody loose until all have done what they came for, and nothing is under way.
func (w *world) storm(f *follower) {
	w.stormy.Store(true)
	var people, fate sync.WaitGroup
	for n := range peopleCount {
		p := &person{actor: w.actor(n), boxOffice: n < boxOffices}
		people.Go(p.live)
	}
	stop := make(chan struct{})
	fate.Go(func() {
		if err := w.fate(w.actor(fateActor)); err != nil {
			w.breach("restart: %v", err)
		}
	})
	if w.climate.organizer {
		people.Go((&person{actor: w.actor(organizerActor), boxOffice: true}).organize)
	}
	fate.Go(func() { f.follow(stop) })
	fate.Go(func() { w.sweep(w.actor(sweeperActor), stop) })
	people.Wait()
	close(stop)
	w.stormy.Store(false)
	fate.Wait()
	began := w.now()
	w.underway.Wait()
	if took := w.now() - began; took > time.Minute {
		w.breach("liveness: requests were under way for %v after the storm", took)
	}
}

// fate crashes the servers and moves the clock.
func (w *world) fate(a *actor) error {
	crashes, steps := w.climate.crashes, w.climate.steps
	for crashes+steps > 0 {
		a.doze(200*time.Millisecond, 5*time.Second)
		if !w.stormy.Load() {
			return nil
		}
		if steps == 0 || crashes > 0 && a.rng.IntN(crashes+steps) < crashes {
			crashes--
			if err := w.crash(a); err != nil {
				return err
			}
			continue
		}
		steps--
		by := time.Duration(a.rng.Int64N(int64(8 * time.Second)))
		if a.rng.IntN(2) == 0 {
			by = -2 * by
			if w.liveHolds() > 0 {
				w.count("clock step back with live holds")
			}
		}
		w.clock.step(by)
		a.say("the clock steps by %v", by)
	}
	return nil
}

func (w *world) liveHolds() int {
	_, holds := w.counters()
	return holds
}

// sweep is Service.Run, at the seed's own times: sometimes late enough for lapsed holds to be taken over.
func (w *world) sweep(a *actor, stop <-chan struct{}) {
	for {
		a.doze(100*time.Millisecond, 4*time.Second)
		select {
		case <-stop:
			return
		default:
		}
		w.mu.Lock()
		g := w.current
		w.mu.Unlock()
		if g == nil || !w.climate.sweeps {
			continue
		}
		n, err := g.sweeper.Sweep(a.context(), sweepMax)
		if err == nil && n > 0 {
			w.count("lapsed hold swept")
		}
	}
}

const sweepMax = 256

// counters reads what is held, and by how many holds, straight from the rows.
func (w *world) counters() (held int64, holds int) {
	w.mu.Lock()
	g := w.current
	w.mu.Unlock()
	if g == nil {
		return 0, 0
	}
	b, err := g.store.Board(context.Background(), w.house.event)
	if err != nil {
		w.breach("board: %v", err)
		return 0, 0
	}
	for _, u := range b.Units {
		held += u.Held
	}
	list, _, err := g.store.Holds(context.Background(), w.house.event, inventory.HoldKey{}, 1000)
	if err != nil {
		w.breach("holds: %v", err)
	}
	return held, len(list)
}
