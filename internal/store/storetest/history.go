package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/inventory"
)

// The sequential histories: what to do is drawn as plain data, with holds named by when they were
// made, and then done to the store and to the model alike.

const (
	stepsMax   = 14 // of one drawn history
	batchMax   = 5  // commands of a step
	examples   = 40 // histories that are not shrunk, when a recorder listens
	recentKeys = 6  // a command is about one of the holds made last

	// historyTime is what a history takes by the bubble's clock at least. By that clock rapid counts the half
	// minute in which it shrinks what fails; if none passed, it would never have enough.
	historyTime = 200 * time.Millisecond
)

// step is one call of the store.
type step struct {
	Does   string // "apply", "sell", "return", "state", "pass" or "sweep"
	Acts   []act
	State  inventory.State
	Second int64
}

// act is a command in outline. Hold counts back from the hold made last; Copy from the command sent last.
type act struct {
	Verb        inventory.Verb
	Hold, Copy  int // Copy 0: a new command
	Add, Remove []inventory.Want
	Buyer       int
}

var (
	drawUnit = rapid.Custom(func(t *rapid.T) inventory.Want {
		return one(inventory.Unit(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3, 4, 5, int(withheld)}).Draw(t, "seat")))
	})
	drawFloor = rapid.Custom(func(t *rapid.T) inventory.Want {
		return some(floor, int64(rapid.IntRange(1, 4).Draw(t, "quantity")), rapid.IntRange(standard, child).Draw(t, "type"))
	})
	drawAct = rapid.Custom(func(t *rapid.T) act {
		a := act{
			Verb: rapid.SampledFrom([]inventory.Verb{
				inventory.Claim, inventory.Claim, inventory.Claim, inventory.Change, inventory.Change, inventory.Extend, inventory.Release,
			}).Draw(t, "verb"),
			Hold: rapid.IntRange(1, recentKeys).Draw(t, "hold"), Buyer: rapid.IntRange(0, 1).Draw(t, "buyer"),
		}
		if rapid.IntRange(0, 7).Draw(t, "again") == 7 {
			a.Copy = rapid.IntRange(1, 2*recentKeys).Draw(t, "copy")
		}
		wants := rapid.SliceOfNDistinct(rapid.OneOf(drawUnit, drawUnit, drawFloor), 1, 4, func(w inventory.Want) [2]int { return [2]int{int(w.Unit), w.Type} })
		a.Add = wants.Draw(t, "add")
		if a.Verb == inventory.Change {
			a.Remove = wants.Draw(t, "remove")
			a.Add = slices.DeleteFunc(a.Add, func(w inventory.Want) bool { return w.Unit == withheld || names(a.Remove, w) })
		}
		return a
	})
	drawStep = rapid.Custom(func(t *rapid.T) step {
		s := step{Does: rapid.SampledFrom([]string{"apply", "apply", "apply", "apply", "sell", "sell", "return", "pass", "pass", "sweep", "state"}).Draw(t, "does")}
		s.Acts = rapid.SliceOfN(drawAct, 1, batchMax).Draw(t, "acts")
		s.Second = rapid.SampledFrom([]int64{1, 1, holdSeconds / 2, holdSeconds - 1, holdSeconds}).Draw(t, "seconds")
		s.State = rapid.SampledFrom([]inventory.State{
			inventory.OnSale, inventory.OnSale, inventory.Paused, inventory.Closed, inventory.Cancelled,
		}).Draw(t, "state")
		return s
	})
	drawHistory = rapid.SliceOfN(drawStep, 1, stepsMax)
)

func names(wants []inventory.Want, w inventory.Want) bool {
	return slices.ContainsFunc(wants, func(o inventory.Want) bool { return o.Unit == w.Unit && max(o.Type, 0) == max(w.Type, 0) })
}

// histories are the checks against the model.
func histories() []check {
	return append([]check{
		{name: "random histories: the store answers as the model does", needs: []capability{clock}, time: true, run: likeTheModel},
	}, concurrent()...)
}

// likeTheModel draws histories; with a real test behind it rapid draws them and shrinks what fails.
func likeTheModel(t T, h *House) {
	if test, ok := t.(*testing.T); ok {
		// Wrapped, for in a bubble rapid must not ask a test for its deadline.
		rapid.Check(struct{ rapid.TB }{test}, func(r *rapid.T) {
			if h.bubble {
				time.Sleep(historyTime)
			}
			play(r, h, drawHistory.Draw(r, "history"))
		})
		return
	}
	for range examples {
		seed := rand.IntN(1 << 30)
		t.Logf("seed %d", seed)
		play(t, h, drawHistory.Example(seed))
	}
}

// player does a history to a store and to the model.
type player struct {
	h     *House
	model *model
	keys  []inventory.HoldKey
	sent  []inventory.Command
}

// play does a history on a fresh event.
func play(t T, h *House, steps []step) {
	t.Helper()
	h.Event = h.smallEvent(t)
	p := &player{h: h, model: newModel()}
	for i, s := range steps {
		p.step(t, i, s)
		board := h.board(t)
		if got, want := boardClass(board), p.model.board(board.Now); got != want {
			t.Fatalf("after step %d (%s) the board is %s, the model's %s", i, s.Does, got, want)
		}
	}
	h.wantLogEnds(t)
}

// wantLogEnds checks that the log is gapless and ends at the position. What has lapsed unswept is
// still in the log's sums, so those are not compared here.
func (h *House) wantLogEnds(t T) {
	t.Helper()
	entries := h.log(t)
	for i, e := range entries {
		if e.Number != int64(i)+1 {
			t.Fatalf("log entry %d has number %d", i+1, e.Number)
		}
	}
	if v := h.board(t).Position.Version; v != int64(len(entries)) {
		t.Errorf("the position is %d and the log has %d entries", v, len(entries))
	}
}

func (p *player) step(t T, i int, s step) {
	t.Helper()
	same := func(what int, got, want string) {
		t.Helper()
		if got != want {
			t.Fatalf("step %d, %s %d: the store says %s, the model %s", i, s.Does, what, got, want)
		}
	}
	switch s.Does {
	case "apply":
		batch := make([]inventory.Command, len(s.Acts))
		for j, a := range s.Acts {
			batch[j] = p.command(a)
		}
		for j, out := range p.h.apply(t, batch...) {
			same(j, outcomeClass(out), p.model.apply(batch[j], out.Now))
		}
	case "sell":
		batch := make([]inventory.Sale, len(s.Acts))
		for j, a := range s.Acts {
			batch[j] = saleOf(p.key(a.Hold), string(rune('a'+a.Buyer)))
		}
		for j, out := range p.h.sell(t, batch...) {
			same(j, answerClass(out.Order, out.Refusal), p.model.sell(batch[j], out.Now))
		}
	case "return":
		key := p.key(s.Acts[0].Hold)
		out := p.h.giveBack(t, inventory.Return{Order: p.model.orders[key].id})
		same(0, answerClass(out.Order, out.Refusal), p.model.giveBack(key))
	case "state":
		if p.model.state != inventory.Cancelled {
			p.h.become(t, s.State)
			p.model.become(s.State)
		}
	case "pass":
		p.h.pass(t, s.Second)
	case "sweep":
		p.h.sweep(t)
	}
}

// key is the hold made so many claims ago; one that never was when there were not so many.
func (p *player) key(back int) inventory.HoldKey {
	if back > len(p.keys) {
		return newKey()
	}
	return p.keys[len(p.keys)-back]
}

func (p *player) command(a act) inventory.Command {
	if a.Copy > 0 && a.Copy <= len(p.sent) {
		return p.sent[len(p.sent)-a.Copy]
	}
	var c inventory.Command
	switch a.Verb {
	case inventory.Claim:
		c = claimOf(a.Add...)
		c.ID = newCommandID()
		p.keys = append(p.keys, c.Key)
	case inventory.Change:
		c = changeOf(p.key(a.Hold), a.Add, a.Remove)
	case inventory.Extend:
		c = extendOf(p.key(a.Hold))
	default:
		c = releaseOf(p.key(a.Hold))
	}
	p.sent = append(p.sent, c)
	return c
}
