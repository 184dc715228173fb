package inventory

import (
	"cmp"
	"math"
	"slices"

	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	unevenMax       = 16  // seats by which two rows of a block may differ: no group of up to 17 is bounded by it
	splitStretchMax = 512 // free stretches that a split group is seated in, nearest first; a smaller house is searched whole
	splitAnchorsMax = 32  // of them, those around which the others are looked for
	aloneMin        = 2   // so many together are not alone
	windowsMax      = 256 // places with accessible ones among them that are compared, nearest first
)

// rowsApart finds blocks in two rows of a section that lie behind one another. Every seat of the smaller
// part is within the columns of the larger one.
func (s *seating) rowsApart() func() ([]seatmap.Span, bool) {
	r := &rowPairs{seating: s, facing: s.plan.Facing(), sums: make([]float64, len(s.taken)+1), ahead: make([]int32, len(s.taken))}
	for i := range s.taken {
		r.sums[i+1] = r.sums[i] + s.seatCost(i)
	}
	runs := s.plan.Runs()
	for _, run := range runs {
		r.measure(run)
	}
	return (&runSearch{
		seating: s,
		best:    func(run int) (proposal, bool) { return r.best(runs[run]) },
		near:    func(int) float64 { return math.Inf(-1) },
		touched: r.touched,
		stamps:  make([]int, len(runs)),
	}).propose
}

// rowPairs looks for blocks in two rows.
type rowPairs struct {
	*seating
	facing [][2]int32
	sums   []float64 // of the costs of all seats before one
	ahead  []int32   // how many seats from one on fit, within its run
}

// measure counts what fits in a run.
func (r *rowPairs) measure(run seatmap.Span) {
	n := int32(0)
	for i := run.From + run.Count - 1; i >= run.From; i-- {
		n++
		if !r.fits(i) {
			n = 0
		}
		r.ahead[i] = n
	}
}

// touched are the runs of a block, and those before and behind them.
func (r *rowPairs) touched(p *proposal) []int {
	var runs []int
	add := func(i int32) {
		if i >= 0 && !slices.Contains(runs, r.plan.RunIndex(int(i))) {
			runs = append(runs, r.plan.RunIndex(int(i)))
		}
	}
	for _, part := range p.parts {
		run := r.plan.RunOf(part.From)
		r.measure(run)
		for i := run.From; i < run.From+run.Count; i++ {
			add(int32(i))
			add(r.facing[i][0])
			add(r.facing[i][1])
		}
	}
	return runs
}

// best finds the cheapest block in two rows of which the larger part is in this run.
func (r *rowPairs) best(run seatmap.Span) (best proposal, ok bool) {
	for larger := (r.n + 1) / 2; larger < r.n && 2*larger-r.n <= unevenMax; larger++ {
		smaller := r.n - larger
		for from := run.From; from+larger <= run.From+run.Count; from++ {
			if int(r.ahead[from]) < larger {
				continue
			}
			a := seatmap.Span{From: from, Count: larger}
			costA := r.stranded(run, a)
			for side := range 2 {
				b, costB, found := r.behind(a, side, smaller)
				if !found {
					continue
				}
				cost := costA + costB + (r.sum(a)+r.sum(b))/float64(r.n)
				if !ok || cost < best.cost {
					best, ok = proposal{cost: cost, parts: [2]seatmap.Span{a, b}, two: true}, true
				}
			}
		}
	}
	return best, ok
}

func (r *rowPairs) sum(span seatmap.Span) float64 {
	return r.sums[span.From+span.Count] - r.sums[span.From]
}

// behind finds the cheapest place for some seats on one side of a part, between those that face its ends.
// The cost is that of the place beside its seats.
func (r *rowPairs) behind(part seatmap.Span, side, count int) (best seatmap.Span, cost float64, ok bool) {
	first, last, ok := r.faced(part, side)
	if !ok {
		return best, 0, false
	}
	run := r.plan.RunOf(first)
	ok, total := false, 0.0
	for from := first; from+count <= last+1; from++ {
		if int(r.ahead[from]) < count {
			continue
		}
		b := seatmap.Span{From: from, Count: count}
		extra := r.stranded(run, b)
		if count < aloneMin {
			extra += loneCost
		}
		if t := extra + r.sum(b)/float64(r.n); !ok || t < total {
			best, cost, total, ok = b, extra, t, true
		}
	}
	return best, cost, ok
}

// faced gives the seats that face a part's ends, lower index first; they must be of one run.
func (r *rowPairs) faced(part seatmap.Span, side int) (first, last int, ok bool) {
	from, to := part.From, part.From+part.Count-1
	for from <= to && r.facing[from][side] < 0 {
		from++
	}
	for to >= from && r.facing[to][side] < 0 {
		to--
	}
	if from > to {
		return 0, 0, false
	}
	first, last = int(r.facing[from][side]), int(r.facing[to][side])
	if first > last {
		first, last = last, first
	}
	return first, last, r.plan.RunIndex(first) == r.plan.RunIndex(last)
}

// freeSpan is a stretch: a span of free seats, and where its middle is.
type freeSpan struct {
	seatmap.Span
	x, y float64
}

func (s *seating) stretchOf(span seatmap.Span) freeSpan {
	a, b := &s.plan.Seats[span.From], &s.plan.Seats[span.From+span.Count-1]
	return freeSpan{span, (a.X + b.X) / 2, (a.Y + b.Y) / 2}
}

func (a freeSpan) distance(b freeSpan) float64 { return math.Hypot(a.x-b.x, a.y-b.y) }

// apart finds seats for a group that nothing holds together: as few people alone as can be, then as few
// parts as can be, then as near together as can be, in that order.
func (s *seating) apart() ([]seatmap.Span, bool) {
	if s.spans == nil {
		s.spans = s.allStretches()
	}
	counts := make([]int, s.n+1) // of stretches, by their length; none is longer, or there would be a block
	pairs, total := 0, 0         // seats in stretches of two and more, and in all
	for _, span := range s.spans {
		counts[min(span.Count, s.n)]++
		total += span.Count
		if span.Count >= aloneMin {
			pairs += span.Count
		}
	}
	var parts []seatmap.Span
	switch {
	case total < s.n:
		return nil, false
	case pairs >= s.n:
		parts = s.nearTogether(counts, s.n, aloneMin, nil)
	case pairs == 0:
		parts = s.nearTogether(counts, s.n, 1, nil)
	default: // all that are not alone, and as many singles as are missing
		whole := s.collect(func(span seatmap.Span) bool { return span.Count >= aloneMin }, math.MaxInt)
		parts = s.nearTogether(counts, s.n-pairs, 1, whole)
	}
	slices.SortFunc(parts, func(a, b seatmap.Span) int { return cmp.Compare(a.From, b.From) })
	s.take(parts)
	s.spans = s.without(parts)
	return parts, true
}

func (s *seating) allStretches() []freeSpan {
	found := []freeSpan{}
	runs := s.plan.Runs()
	for _, run := range s.plan.NearRuns() {
		s.stretches(runs[run], func(span seatmap.Span) { found = append(found, s.stretchOf(span)) })
	}
	return found
}

// without is what is left of the stretches when parts at their ends are taken.
func (s *seating) without(parts []seatmap.Span) []freeSpan {
	left := s.spans[:0]
	for _, span := range s.spans {
		for _, part := range parts {
			switch {
			case part.From == span.From:
				span.From += part.Count
			case part.From+part.Count != span.From+span.Count:
				continue
			}
			if span.Count -= part.Count; span.Count > 0 {
				span = s.stretchOf(span.Span)
			}
			break
		}
		if span.Count > 0 {
			left = append(left, span)
		}
	}
	return left
}

// collect lists the stretches that are wanted, at most limit.
func (s *seating) collect(wanted func(seatmap.Span) bool, limit int) (found []freeSpan) {
	for _, span := range s.spans {
		if len(found) == limit {
			break
		}
		if wanted(span.Span) {
			found = append(found, span)
		}
	}
	return found
}

// nearTogether chooses as few stretches as have room for n, of a length of at least shortest, and takes n
// seats of them. Beside whole, which are parts already, they are singles.
func (s *seating) nearTogether(counts []int, n, shortest int, whole []freeSpan) (parts []seatmap.Span) {
	for _, w := range whole {
		parts = append(parts, w.Span)
	}
	longest := s.n
	if len(whole) > 0 {
		longest = 1
	}
	few, least, length := fewest(counts, n, shortest, longest)
	pool := s.collect(func(span seatmap.Span) bool { return span.Count >= least && span.Count <= longest }, splitStretchMax)
	if len(pool) == splitStretchMax { // so that there is room whatever is near
		has := func(span seatmap.Span) bool {
			return slices.ContainsFunc(pool, func(p freeSpan) bool { return p.Span == span })
		}
		pool = append(pool, s.collect(func(span seatmap.Span) bool {
			return span.Count >= length && span.Count <= longest && !has(span)
		}, few)...)
	}
	var best []freeSpan
	nearest := math.Inf(1)
	for _, anchor := range anchors(pool, whole) {
		if chosen, radius := around(anchor, pool, n, few, nearest); chosen != nil {
			best, nearest = chosen, radius
		}
	}
	return append(parts, s.trim(best, n)...)
}

// fewest counts how many stretches n people need, and how long each must then be at least; length is
// that of the shortest among as many of the longest.
func fewest(counts []int, n, shortest, longest int) (few, least, length int) {
	room := 0
	for length = longest; ; length-- {
		for range counts[length] {
			few++
			if room+length >= n {
				return few, max(shortest, n-room), length
			}
			room += length
		}
	}
}

// anchors are the stretches around which others are looked for: the middle of what is taken whole, or the
// nearest to the focal point.
func anchors(pool, whole []freeSpan) []freeSpan {
	if len(whole) == 0 {
		return pool[:min(len(pool), splitAnchorsMax)]
	}
	var middle freeSpan
	for _, w := range whole {
		middle.x += w.x / float64(len(whole))
		middle.y += w.y / float64(len(whole))
	}
	return []freeSpan{middle}
}

// around chooses few stretches with room for n, the anchor among them if it is one, out of the smallest
// circle around it that has them; nil when it is not smaller than within.
func around(anchor freeSpan, pool []freeSpan, n, few int, within float64) (chosen []freeSpan, radius float64) {
	type away struct {
		distance float64
		stretch  int
	}
	var near []away
	for i, p := range pool {
		if d := anchor.distance(p); d < within && p.Span != anchor.Span {
			near = append(near, away{d, i})
		}
	}
	slices.SortFunc(near, func(a, b away) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.stretch, b.stretch))
	})
	room := 0
	if anchor.Count > 0 {
		chosen, room = append(chosen, anchor), anchor.Count
		few--
	}
	others := make([]freeSpan, 0, few+1) // the longest so far, longest first
	for _, a := range near {
		next := pool[a.stretch]
		at, _ := slices.BinarySearchFunc(others, next, func(o, n freeSpan) int {
			if o.Count >= n.Count {
				return -1
			}
			return 1
		})
		others = slices.Insert(others, at, next)
		room += next.Count
		if len(others) > few {
			room -= others[few].Count
			others = others[:few]
		}
		if len(others) == few && room >= n {
			return append(chosen, others...), a.distance
		}
	}
	return nil, within
}

// trim takes n seats of stretches that have as many or more, from each those at the end that is nearer to
// the others. Nobody is left alone if that can be, and rather two seats are left over than one.
func (s *seating) trim(chosen []freeSpan, n int) []seatmap.Span {
	sizes, excess := make([]int, len(chosen)), -n
	var middle freeSpan
	for i, c := range chosen {
		sizes[i] = c.Count
		excess += c.Count
		middle.x += c.x / float64(len(chosen))
		middle.y += c.y / float64(len(chosen))
	}
	for ; excess > 0; excess-- {
		largest := 0
		for i, size := range sizes {
			if size > sizes[largest] {
				largest = i
			}
		}
		if sizes[largest]-excess >= aloneMin {
			sizes[largest] -= excess
			break
		}
		sizes[largest]--
	}
	parts := make([]seatmap.Span, len(chosen))
	for i, c := range chosen {
		parts[i] = seatmap.Span{From: c.From, Count: sizes[i]}
		end := seatmap.Span{From: c.From + c.Count - sizes[i], Count: sizes[i]}
		if middle.distance(s.stretchOf(end)) < middle.distance(s.stretchOf(parts[i])) {
			parts[i] = end
		}
	}
	return parts
}

// shape is a part of a group: so many seats, and so many of them accessible places.
type shape struct{ seats, accessible int }

// accessibleApart finds seats for several who need an accessible place where no block has as many: in as
// few parts as can be, each with its even share of the places and of the companions.
func (s *seating) accessibleApart() ([]seatmap.Span, bool) {
	for few := 2; few <= s.accessible; few++ {
		shapes := make([]shape, few)
		for i := range shapes {
			share := func(of int) int { return (of + few - 1 - i) / few } // the first parts get what is over
			shapes[i] = shape{share(s.accessible) + share(s.n-s.accessible), share(s.accessible)}
		}
		if parts := s.shaped(shapes); parts != nil {
			slices.SortFunc(parts, func(a, b seatmap.Span) int { return cmp.Compare(a.From, b.From) })
			s.take(parts)
			return parts, true
		}
	}
	return nil, false
}

// shaped finds a place for each shape, near the first one's; nil when there are not as many.
func (s *seating) shaped(shapes []shape) (best []seatmap.Span) {
	places := make(map[shape][]freeSpan)
	for _, sh := range shapes {
		if _, ok := places[sh]; !ok {
			places[sh] = s.places(sh)
		}
	}
	nearest := math.Inf(1)
	first := places[shapes[0]]
	for _, anchor := range first[:min(len(first), splitAnchorsMax)] {
		parts, radius := []seatmap.Span{anchor.Span}, 0.0
		for _, sh := range shapes[1:] {
			next, away := nearestPlace(anchor, places[sh], parts)
			parts, radius = append(parts, next), max(radius, away)
		}
		if radius < nearest {
			best, nearest = parts, radius
		}
	}
	return best
}

// nearestPlace is the place nearest to an anchor that shares no seat with the parts; infinitely far when
// there is none.
func nearestPlace(anchor freeSpan, places []freeSpan, parts []seatmap.Span) (nearest seatmap.Span, away float64) {
	away = math.Inf(1)
	for _, p := range places {
		overlaps := func(o seatmap.Span) bool { return p.From < o.From+o.Count && o.From < p.From+p.Count }
		if d := anchor.distance(p); d < away && !slices.ContainsFunc(parts, overlaps) {
			nearest, away = p.Span, d
		}
	}
	return nearest, away
}

// places are the free spans of a shape, those of near runs first. Where there are companions enough,
// nobody in an accessible place is without one.
func (s *seating) places(sh shape) (found []freeSpan) {
	runs := s.plan.Runs()
	for _, run := range s.plan.NearRuns() {
		s.stretches(runs[run], func(span seatmap.Span) {
			for from := span.From; from+sh.seats <= span.From+span.Count && len(found) < windowsMax; from++ {
				window, accessible := seatmap.Span{From: from, Count: sh.seats}, 0
				for i := range sh.seats {
					accessible += count(s.plan.Seats[from+i].Accessible)
				}
				if accessible == sh.accessible && (sh.seats < 2*accessible || s.unaccompanied(window) == 0) {
					found = append(found, s.stretchOf(window))
				}
			}
		})
	}
	return found
}
