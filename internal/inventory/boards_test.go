package inventory

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// TestPromise9AViewThatFollowsChangesIsTheViewOfTheBoard changes a board at random, and compares the view that was
// changed along with one made anew, and what was handed out with what it was.
func TestPromise9AViewThatFollowsChangesIsTheViewOfTheBoard(t *testing.T) {
	m := seatmap.Grid(5, 7)
	m.Areas = append(m.Areas, seatmap.Area{Key: "FLOOR", Name: "Floor", Capacity: 9}, seatmap.Area{Key: "HALL", Name: "Hall", Capacity: 3})
	plan := seatmap.NewPlan(m)
	m.Sections[0].Rows = m.Sections[0].Rows[2:] // other places, and units that are gone
	m.Areas = m.Areas[1:]
	t.Run("on its first map", func(t *testing.T) { followsChanges(t, NewLayout(plan)) })
	t.Run("on another", func(t *testing.T) { followsChanges(t, NewLayout(plan, seatmap.NewPlan(m))) })
}

func followsChanges(t *testing.T, l *Layout) {
	units := l.Units()
	r := rand.New(rand.NewPCG(1, 2))
	random := func(u int) UnitState {
		if name, _ := l.Name(Unit(u)); name.Seat != "" {
			return []UnitState{{}, {Capacity: 1, Seat: true}, {Capacity: 1, Held: 1, Seat: true}, {Capacity: 1, Reserved: 1, Seat: true}}[r.IntN(4)]
		}
		return UnitState{Capacity: 9 * r.Int64N(2), Held: r.Int64N(4), Reserved: r.Int64N(4)}
	}
	lb := newLiveBoard()
	lb.board, lb.layout = &Board{Position: Position{Epoch: "k1"}, State: OnSale, Units: make([]UnitState, units)}, l
	lb.view = viewBoard(lb.board, l)
	for step := range 500 {
		before, bytes := lb.view, append([]byte(nil), lb.view.Seats...)
		kept, keptUnits := lb.share(), slices.Clone(lb.share().Units)
		ch := &Changes{Position: Position{Epoch: "k1", Version: int64(step + 1)}, State: OnSale, Units: make(map[Unit]UnitState)}
		for range r.IntN(6) {
			u := r.IntN(units)
			ch.Units[Unit(u)] = random(u)
		}
		lb.follow(ch)
		if want := viewBoard(lb.board, l); !reflect.DeepEqual(lb.view, want) {
			t.Fatalf("step %d: the view is %+v, want %+v", step, lb.view, want)
		}
		if !reflect.DeepEqual(before.Seats, bytes) || !reflect.DeepEqual(kept.Units, keptUnits) {
			t.Fatalf("step %d: a view or a board that was handed out has changed", step)
		}
		if !reflect.DeepEqual(lb.share(), lb.board) {
			t.Fatalf("step %d: what is shared is not the board", step)
		}
	}
}
