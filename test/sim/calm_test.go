package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// follower is an open map: it has read a board, and asks for what happened since.
type follower struct {
	*actor
	board *client.Board
}

func (f *follower) follow(stop <-chan struct{}) {
	for {
		f.doze(300*time.Millisecond, 3*time.Second)
		select {
		case <-stop:
			return
		default:
			f.poll()
		}
	}
}

// poll asks once. What fails is asked for again by the next one.
func (f *follower) poll() {
	path := "/board"
	if f.board != nil {
		path = "/changes?after=" + f.board.Position
	}
	answer, ok := f.get(path)
	if !ok {
		return
	}
	if f.board == nil {
		var b client.Board
		if err := json.Unmarshal(answer, &b); err != nil {
			f.world.breach("board: %v", err)
		}
		f.board = &b
		return
	}
	var ch client.Changes
	if err := json.Unmarshal(answer, &ch); err != nil {
		f.world.breach("changes: %v", err)
	}
	if ch.Resync {
		f.board = nil
		return
	}
	if ch.Map != f.board.Map {
		f.world.breach("promise 9: changes after a board of map %s are of map %s, and not to be read anew", f.board.Map, ch.Map)
	}
	f.board.Position, f.board.State = ch.Position, ch.State
	for _, s := range ch.Seats {
		shift := 2 * (s[0] % 4)
		f.board.Seats[s[0]/4] = f.board.Seats[s[0]/4]&^(3<<shift) | byte(s[1])<<shift
	}
	maps.Copy(f.board.Areas, ch.Areas)
}

// get reads from some node, with the store's weather but not the network's.
func (f *follower) get(path string) ([]byte, bool) {
	w := f.world
	w.mu.Lock()
	g := w.current
	w.mu.Unlock()
	if g == nil {
		return nil, false
	}
	ctx := context.WithValue(context.Background(), actorKey{}, f.actor)
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://sim/v1/events/"+w.house.event+path, nil)
	r.Header.Set("Request-Id", "sim")
	g.nodes[f.rng.IntN(nodes)].ServeHTTP(rec, r)
	f.say("%s: %d", strings.SplitN(path, "?", 2)[0], rec.Code)
	return rec.Body.Bytes(), rec.Code == http.StatusOK && !g.dead.Load()
}

// converge: promise 9. However long it was away and whatever happened, a map shows what is.
func (f *follower) converge() {
	for range 3 { // what happened, the board after a resync, and what happened since
		f.poll()
	}
	answer, ok := f.get("/board")
	var now client.Board
	if err := json.Unmarshal(answer, &now); !ok || err != nil || f.board == nil {
		f.world.breach("promise 9: no board in calm weather: %v", err)
		return
	}
	if f.board.Position != now.Position || f.board.State != now.State || f.board.Map != now.Map || string(f.board.Seats) != string(now.Seats) || !maps.Equal(f.board.Areas, now.Areas) {
		f.world.breach("promise 9: a map shows %+v, and the board is %+v", *f.board, now)
	}
}

// longest is more than a hold lives, and a step back that no sweep was there to notice.
const longest = 36 * time.Second

// calm: once the faults have stopped everything comes right by itself. Holds lapse, a sweep leaves
// none, maps converge, and every unit that is free can be had.
func (w *world) calm(f *follower) {
	p := &person{actor: w.actor(calmActor), boxOffice: true}
	cancelled := w.cancelAt != never
	if !cancelled {
		p.settle("open") // 409 when it is open
	} else {
		p.settle("cancel")
	}
	sweeper := w.current.sweeper
	if !w.climate.sweeps {
		p.sleep(w.clock.back()) // nobody has noticed that the clock stepped back, so holds live as much longer
	} else if _, err := sweeper.Sweep(p.context(), sweepMax); err != nil {
		w.breach("liveness: the sweep fails in calm weather: %v", err)
	}
	p.sleep(longest)
	for range 2 {
		if _, err := sweeper.Sweep(p.context(), sweepMax); err != nil {
			w.breach("liveness: the sweep fails in calm weather: %v", err)
		}
	}
	if held, holds := w.counters(); held != 0 || holds != 0 {
		w.breach("liveness: %d units in %d holds are left", held, holds)
	}
	f.converge()
	w.takeAll(p, f, cancelled)
	w.readLog()
}

// takeAll: promise 2. Of what is free every unit is given to who asks for it, and then none is left.
func (w *world) takeAll(p *person, f *follower, cancelled bool) {
	free := basket{}
	for i, seat := range w.shownOn(f.board).seats() {
		if stateOf(f.board, i) == 0 {
			free[seat] = 1
		}
	}
	if a := f.board.Areas[floor]; a.Reserved < a.Capacity {
		free[floor] = a.Capacity - a.Reserved
	}
	want := http.StatusCreated
	if cancelled {
		want = http.StatusConflict
	}
	for _, unit := range slices.Sorted(maps.Keys(free)) {
		body := fmt.Sprintf(`{"seats":[%q]}`, unit)
		if unit == floor {
			body = fmt.Sprintf(`{"areas":[{"area":%q,"quantity":%d}]}`, floor, free[unit])
		}
		o := p.ask(op{kind: "claim", want: basket{unit: free[unit]}, ttl: holdTTL}, request{method: http.MethodPost, path: "/holds", body: body, via: openWith}, false)
		if o.status != want {
			w.breach("liveness: %d of %s are free, and asking for them is answered %d %s %v", free[unit], unit, o.status, o.code, conflictsOf(o))
		}
	}
}

// readLog checks that numbers have no gaps, and counts what only the log tells: a lapsed hold's units
// that went to somebody at the instant at which they were found to have lapsed.
func (w *world) readLog() {
	log, err := w.current.records.Log(context.Background(), w.house.event, 0, 100_000)
	if err != nil {
		w.breach("log: %v", err)
	}
	var ended inventory.LogEntry
	for i, e := range log {
		if e.Number != int64(i+1) {
			w.breach("promise 9: log entry %d is where %d belongs", e.Number, i+1)
		}
		switch e.Kind {
		case inventory.LogExpired:
			ended = e
		case inventory.LogHeld, inventory.LogChanged:
			if ended.Kind != "" && e.At == ended.At && shareUnit(e, ended) {
				w.count("takeover of a lapsed hold")
			}
		}
	}
}

func shareUnit(a, b inventory.LogEntry) bool {
	return slices.ContainsFunc(a.Units, func(x inventory.UnitDelta) bool {
		return slices.ContainsFunc(b.Units, func(y inventory.UnitDelta) bool { return x.Unit == y.Unit })
	})
}

// history is what everybody said, in the order of time.
func (w *world) history() []said {
	var all []said
	for _, a := range w.actors {
		all = append(all, a.said...)
	}
	slices.SortStableFunc(all, func(a, b said) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.actor - b.actor
	})
	return all
}

// digest is the same for the same history.
func (r *result) digest() string {
	h := sha256.New()
	for _, s := range r.history {
		fmt.Fprintln(h, s.at, s.actor, s.text)
	}
	for _, b := range r.Breaches {
		fmt.Fprintln(h, b)
	}
	for _, what := range slices.Sorted(maps.Keys(r.Tally)) {
		fmt.Fprintln(h, what, r.Tally[what])
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
