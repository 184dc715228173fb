package inventory

import (
	"cmp"
	"math"
	"slices"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// stripSeatsMax is how much of a long row is looked into at once.
const stripSeatsMax = 32

// nearby is where the seats of a map stand, so that a search can begin at one and go outwards. It never
// changes.
type nearby struct {
	strips []strip // by mid
	reach  float64 // how far one stands out above and below its mid at most, map units
	of     []int32 // the strip of each seat
}

// strip is where a block may begin, all in one run, and the rectangle around every block that does, in
// map units.
type strip struct {
	seatmap.Span
	left, right, top, bottom, mid float64
}

func newNearby(plan *seatmap.Plan) *nearby {
	near := new(nearby)
	for _, run := range plan.Runs() {
		end := run.From + run.Count
		for from := run.From; from < end; from += stripSeatsMax {
			s := strip{
				Span: seatmap.Span{From: from, Count: min(stripSeatsMax, end-from)},
				left: math.Inf(1), right: math.Inf(-1), top: math.Inf(1), bottom: math.Inf(-1),
			}
			for _, seat := range plan.Seats[from:min(from+stripSeatsMax+alternativeSeatsMax, end)] {
				s.left, s.right = min(s.left, seat.X), max(s.right, seat.X)
				s.top, s.bottom = min(s.top, seat.Y), max(s.bottom, seat.Y)
			}
			s.mid = (s.top + s.bottom) / 2
			near.strips, near.reach = append(near.strips, s), max(near.reach, (s.bottom-s.top)/2)
		}
	}
	slices.SortFunc(near.strips, func(a, b strip) int {
		return cmp.Or(cmp.Compare(a.mid, b.mid), cmp.Compare(a.From, b.From))
	})
	near.of = make([]int32, len(plan.Seats))
	for i, s := range near.strips {
		for k := range s.Count {
			near.of[s.From+k] = int32(i)
		}
	}
	return near
}

// distance is how far a point is from the rectangle; the middle of no block is nearer.
func (s *strip) distance(p seatmap.Point) float64 {
	return length(max(s.left-p.X, p.X-s.right, 0), max(s.top-p.Y, p.Y-s.bottom, 0))
}

// length is that of a vector. Coordinates are bounded, so it needs none of the care of math.Hypot.
func length(dx, dy float64) float64 { return math.Sqrt(dx*dx + dy*dy) }

// middleOf is the point between the first and the last of n seats that stand together.
func middleOf(plan *seatmap.Plan, from, n int) seatmap.Point {
	a, b := &plan.Seats[from], &plan.Seats[from+n-1]
	return seatmap.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
}

// ahead is something the search will come to: a strip to look into, or a block.
type ahead struct {
	distance float64
	from     int // the block's first seat, or the strip's place in nearby
	strip    bool
}

func (a ahead) before(b ahead) bool {
	if a.distance != b.distance {
		return a.distance < b.distance
	}
	if a.strip != b.strip {
		return a.strip // it may hold a block as near, and the seat order decides between equals
	}
	return a.from < b.from
}

// frontier is a heap: the nearest is first.
type frontier []ahead

func (f *frontier) push(a ahead) {
	h := append(*f, a)
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
	*f = h
}

func (f *frontier) pop() ahead {
	h := *f
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*f = h
	return first
}

// outward is a search that finds blocks of one size, the nearest to a point first, and no more of them than are asked
// for: strips are opened in the order in which they could hold the next one. Not safe for concurrent use.
type outward struct {
	near  *nearby
	free  []int32 // of each strip, how many seats are free
	plan  *seatmap.Plan
	from  seatmap.Point
	size  int
	ahead frontier
	below int // in near.strips: the next towards its start
	above int // and towards its end
	// fits returns 0 for a block that may do, and otherwise how many blocks on the next may.
	fits func(from int) int
	// will is asked last, of a block that fits, when its turn has come.
	will func(from int) bool
	// looked counts strips, and the seats of those that were opened.
	looked int
}

// newOutward begins a search around a point for blocks of a size, on spots that may move meanwhile.
func newOutward(sp *spots, from seatmap.Point, size int, fits func(int) int, will func(int) bool) *outward {
	near := sp.near
	above, _ := slices.BinarySearchFunc(near.strips, from.Y, func(s strip, y float64) int { return cmp.Compare(s.mid, y) })
	return &outward{
		near: near, free: sp.free, plan: sp.layout.Plan, from: from, size: size, fits: fits, will: will,
		below: above - 1, above: above,
	}
}

// next returns the first seat of the next block; false when there is none, or none among as many seats
// as it may look at.
func (s *outward) next(looksMax int) (int, bool) {
	for s.looked <= looksMax {
		if len(s.ahead) == 0 || s.ahead[0].distance >= s.unseen() {
			if !s.reachOut() {
				return 0, false
			}
			continue
		}
		a := s.ahead.pop()
		if a.strip {
			s.open(&s.near.strips[a.from])
			continue
		}
		if s.fits(a.from) == 0 && s.will(a.from) { // the board may have moved since it was opened
			return a.from, true
		}
	}
	return 0, false
}

// unseen is the least distance at which a strip can be that the search has not come to yet.
func (s *outward) unseen() float64 {
	d := math.Inf(1)
	if s.below >= 0 {
		d = s.from.Y - s.near.strips[s.below].mid
	}
	if s.above < len(s.near.strips) {
		d = min(d, s.near.strips[s.above].mid-s.from.Y)
	}
	return d - s.near.reach
}

// reachOut comes to the strip that is next in height, and passes by one that has nothing free; false when
// there are no more.
func (s *outward) reachOut() bool {
	i := s.above
	switch {
	case s.below < 0 && s.above >= len(s.near.strips):
		return false
	case s.above >= len(s.near.strips), s.below >= 0 && s.from.Y-s.near.strips[s.below].mid <= s.near.strips[s.above].mid-s.from.Y:
		i = s.below
		s.below--
	default:
		s.above++
	}
	s.looked++
	if s.free[i] > 0 {
		s.ahead.push(ahead{s.near.strips[i].distance(s.from), i, true})
	}
	return true
}

// open puts the blocks of a strip that may do on the frontier.
func (s *outward) open(in *strip) {
	s.looked += in.Count
	run := s.plan.RunOf(in.From)
	last := min(in.From+in.Count-1, run.From+run.Count-s.size)
	for from := in.From; from <= last; {
		if skip := s.fits(from); skip > 0 {
			from += skip
			continue
		}
		m := middleOf(s.plan, from, s.size)
		s.ahead.push(ahead{length(m.X-s.from.X, m.Y-s.from.Y), from, false})
		from++
	}
}
