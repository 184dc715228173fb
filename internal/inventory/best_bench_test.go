package inventory

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkShortlist60000 makes one caller's list from a board of 60,000 seats: all free, one seat in ten
// free so that hardly two are together, and sold out but for what must be sought in two rows or apart.
func BenchmarkShortlist60000(b *testing.B) {
	board, plan, terms := hall(600, 100)
	plan.Facing()
	for _, house := range []struct {
		name     string
		free     int // of 100 seats
		quantity int
	}{{"free/2", 100, 2}, {"free/10", 100, 10}, {"half/4", 50, 4}, {"scattered/4", 10, 4}, {"scattered/10", 10, 10}, {"last/4", 1, 4}, {"sold-out/4", 0, 4}} {
		random := rand.New(rand.NewPCG(1, 2))
		for i := range board.Units {
			board.Units[i].Held = int64(count(random.IntN(100) >= house.free))
		}
		b.Run(house.name, func(b *testing.B) {
			for b.Loop() {
				newShortlist(board, NewLayout(plan), terms, of(house.quantity), true).read(house.quantity)
			}
		})
	}
}
